"""The doctor names what is wrong, and what to do about it, in plain words of both languages."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import sys
import tempfile
from collections import namedtuple
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar
from unittest import mock, skipUnless

import msgspec
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.access import authority
from dmtwisted.access.certificates import read_pem
from dmtwisted.access.tls_install import certify, install_at
from dmtwisted.commands import doctor as command
from dmtwisted.commands import ready
from dmtwisted.commands.doctor import DoctorOptions
from dmtwisted.commands.ready import ReadyOptions
from dmtwisted.config import PRESENCE_FILE, Config, DatabaseConfig, LogConfig, ServerConfig, ServiceConfig, TlsConfig
from dmtwisted.doctor import client, clock, database, devices, files, port, tls
from dmtwisted.doctor.findings import Finding, Fix, Level
from dmtwisted.doctor.service import Doctor, of_machine
from dmtwisted.programs import ROW, Program
from dmtwisted.results import Refused, Res
from dmtwisted.secrets import KEY_FILE
from dmtwisted.store.revisions import head
from dmtwisted.store.sqlite.file import IN_USE
from tests.certificates import make_certificate, make_key, pem, write_pair
from tests.prro_shop import PrroShop, keys
from tests.shop import MORNING, Shop
from tests.test_tls import without_limits
from tests.web_case import WebCase
from web.site import Door

Usage = namedtuple("Usage", "total used free")
POSIX = skipUnless(os.name == "posix", "permissions of POSIX")
DOCTOR = "/dm/api/v3/doctor"


class FaultCase(SynchronousTestCase):
    """A state folder of its own, and what is found in it."""

    def setUp(self) -> None:
        """An empty state folder, closed to others."""
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.state = self.folder / "state"
        self.state.mkdir(mode=0o700)
        self.config = Config(service=ServiceConfig(state=str(self.state)))

    def names(self, found: list[Finding], uk: str, en: str, level: Level, fix: Fix = Fix.NONE) -> Finding:
        """The one finding that says ``uk`` and ``en``, of that level, with advice in both languages."""
        hits = [one for one in found if en in one.text.en]
        self.assertEqual(len(hits), 1, [one.text.en for one in found])
        [one] = hits
        self.assertIn(uk, one.text.uk)
        self.assertEqual((one.level, one.fix), (level, fix))
        self.assertTrue(one.advice.uk and one.advice.en, one)
        return one


class FileFaultTests(FaultCase):
    """Folders, files, disk, the key of the secrets."""

    def found(self) -> list[Finding]:
        """What is found of the files."""
        return files.look(self.config, MORNING)

    def test_all_well(self) -> None:
        """A folder in order is reported as good."""
        (self.state / KEY_FILE).write_text("ab" * 32, "utf-8")
        (self.state / KEY_FILE).chmod(0o600)
        self.config = replace(self.config, service=replace(self.config.service, training=True))
        self.assertEqual({one.level for one in self.found()}, {Level.GOOD})

    def test_no_state_folder(self) -> None:
        """A state folder that is not there, such as on a disk that is not attached; it is not made."""
        self.state.rmdir()
        self.names(self.found(), "немає", "does not exist", Level.BAD)
        self.assertFalse(self.state.exists())

    def test_state_is_no_folder(self) -> None:
        """A state folder that cannot be written."""
        self.state.rmdir()
        self.state.write_text("", "utf-8")
        self.names(self.found(), "не можна писати", "cannot be written", Level.BAD)

    @POSIX
    def test_from_outside(self) -> None:
        """Without access to the folder the advice names its user, and nothing is reported as missing."""
        uid = self.state.stat().st_uid
        self.patch(os, "geteuid", lambda: uid + 1)
        self.patch(os, "access", lambda *_: False)
        [one] = self.found()
        self.names([one], "належить іншому", "belongs to another user", Level.WARN)
        self.assertIn(f"sudo -u '#{uid}'", one.advice.en)
        found = database.look(self.state / "dmtwisted.db")
        self.names(found, "звідси не видно", "cannot be read from here", Level.WARN)

    @POSIX
    def test_open_folder(self) -> None:
        """A state folder that everybody can enter."""
        self.state.chmod(0o755)
        one = self.names(
            self.found(), "можуть читати", "Other users of this machine can read", Level.WARN, Fix.PERMISSIONS
        )
        self.assertIn(f"chmod 700 {self.state}", one.advice.en)

    @POSIX
    def test_open_secret(self) -> None:
        """A key of the secrets that everybody can read."""
        file = self.state / KEY_FILE
        file.write_text("ab" * 32, "utf-8")
        file.chmod(0o644)
        one = self.names(
            self.found(), "можуть читати", "Other users of this machine can read", Level.WARN, Fix.PERMISSIONS
        )
        self.assertIn(f"chmod 600 {file}", one.advice.uk)

    @POSIX
    def test_open_database(self) -> None:
        """A database that all users can read, unless its folder is closed."""
        file = self.state / "dmtwisted.db"
        file.touch()
        file.chmod(0o644)
        self.assertNotIn(str(file), [one.about for one in self.found()])
        self.state.chmod(0o755)
        found = [one for one in self.found() if one.about == str(file)]
        self.names(found, "можуть читати", "Other users of this machine can read", Level.WARN, Fix.PERMISSIONS)

    def test_damaged_secret(self) -> None:
        """A file that is not a key of the secrets."""
        (self.state / KEY_FILE).write_text("half", "utf-8")
        (self.state / KEY_FILE).chmod(0o600)
        self.names(self.found(), "непридатний", "cannot be used", Level.BAD)

    def test_full_disk(self) -> None:
        """A disk that is nearly full, and one with little room."""
        for free, level, uk, en in (
            (50 << 20, Level.BAD, "майже повний", "nearly full"),
            (1 << 30, Level.WARN, "замало", "too little"),
        ):
            self.patch(shutil, "disk_usage", lambda _, free=free: Usage(0, 0, free))
            self.names(self.found(), uk, en, level)

    def test_no_log_folder(self) -> None:
        """A log whose folder is not there."""
        self.config = replace(self.config, log=LogConfig(file=str(self.folder / "log" / "our.log")))
        self.names(self.found(), "Теки журналу", "The log folder", Level.BAD, Fix.FOLDER)

    def test_no_backup(self) -> None:
        """A service without a backup, and one whose newest is old."""
        self.names(self.found(), "копії ще немає", "There is no backup yet", Level.WARN, Fix.BACKUP)
        backup = self.state / "backups" / "dmtwisted-20260101-000000.tar.gz"
        backup.parent.mkdir(mode=0o700)
        backup.touch(0o600)
        backup.chmod(0o600)
        os.utime(backup, (MORNING - 30 * 86400,) * 2)
        self.names(self.found(), "30 дн. тому", "30 days old", Level.WARN, Fix.BACKUP)


class CertificateFaultTests(FaultCase):
    """The certificate of HTTPS."""

    def found(self, **more: Any) -> list[Finding]:
        """What is found of a certificate that is good at `MORNING` unless ``more`` says otherwise."""
        key = make_key()
        file, key_file = write_pair(self.folder, make_certificate(MORNING, key, **more), key)
        self.config = replace(self.config, tls=TlsConfig(str(file), str(key_file)))
        return tls.look(self.config, MORNING)

    def test_good(self) -> None:
        """A good one is reported with its days and names."""
        [one] = self.found()
        self.assertEqual(
            (one.level, one.text.en), (Level.GOOD, "The certificate is valid for 100 days, for localhost")
        )

    def test_no_library(self) -> None:
        """No TLS library that loads: with a certificate or without, nothing speaks TLS."""
        with mock.patch.dict(sys.modules, {"OpenSSL.SSL": None}):
            self.names(self.found(), "не завантажується", "does not load", Level.BAD)
            found = command.examine(Config(service=self.config.service), "en")
        self.assertEqual([one.level for one in found if "TLS library" in one.text], [Level.BAD])

    def test_expired(self) -> None:
        """One that is over."""
        self.names(self.found(begins=-9, ends=-1), "непридатний", "expired", Level.BAD)

    def test_ends_soon(self) -> None:
        """One that ends within the month."""
        self.names(self.found(ends=10), "закінчується за 10 дн.", "expires in 10 days", Level.WARN)

    def test_another_key(self) -> None:
        """A key that belongs to another one."""
        self.found()
        other = self.folder / "other"
        other.mkdir()
        _, key_file = write_pair(other, make_certificate(MORNING, key := make_key()), key)
        self.config = replace(self.config, tls=replace(self.config.tls, key=str(key_file)))
        self.names(tls.look(self.config, MORNING), "не запуститься", "does not belong", Level.BAD)

    def test_no_names(self) -> None:
        """One that names no machine."""
        self.names(self.found(names=()), "не названо жодного комп’ютера", "names no machine", Level.WARN)

    def test_renewable(self) -> None:
        """One of the local authority has a button that renews it."""
        identity = certify(self.state, [], MORNING).identity
        file = str(install_at(identity, TlsConfig(), self.state))
        self.config = replace(self.config, tls=TlsConfig(file, file))
        [one] = tls.look(self.config, MORNING + 790 * 86400)
        self.assertEqual((one.level, one.fix), (Level.WARN, Fix.CERTIFICATE))

    def test_unlimited(self) -> None:
        """A local authority that may sign for any name, and one that may not sign for the machine's new name."""
        identity = certify(self.state, [], MORNING).identity
        file = str(install_at(identity, TlsConfig(), self.state))
        self.config = replace(self.config, tls=TlsConfig(file, file))
        self.assertEqual([one.level for one in tls.look(self.config, MORNING)], [Level.GOOD])
        machine = [*authority.names_of_this_machine(), "moved.example"]
        self.patch(authority, "names_of_this_machine", lambda: machine)
        [one] = tls.look(self.config, MORNING)
        self.assertEqual((one.level, one.fix), (Level.WARN, Fix.NONE))
        self.assertIn("moved.example", one.text.en)
        self.assertIn("--new", one.advice.uk)
        own = authority.authority_file(self.state)
        own.write_bytes(pem(without_limits(read_pem(own, own.with_name(authority.AUTHORITY_KEY)))))
        unlimited, renewable = tls.look(self.config, MORNING)
        self.assertIn("any name", unlimited.text.en)
        self.assertEqual((unlimited.level, renewable.fix), (Level.WARN, Fix.CERTIFICATE))

    @POSIX
    def test_open_key(self) -> None:
        """A private key that everybody can read."""
        self.found()
        Path(self.config.tls.key).chmod(0o644)
        one = self.names(
            files.look(self.config, MORNING),
            "можуть читати",
            "Other users of this machine can read",
            Level.WARN,
            Fix.PERMISSIONS,
        )
        self.assertEqual(one.about, self.config.tls.key)


class ClockFaultTests(FaultCase):
    """The machine's clock."""

    def test_past(self) -> None:
        """A machine whose battery is empty."""
        self.names(clock.look(946_684_800.0, 7200), "показує минуле", "shows the past", Level.BAD)

    def test_zone(self) -> None:
        """A machine in another time zone."""
        self.names(clock.look(MORNING, 0), "не Київ", "not Kyiv's", Level.WARN)
        self.assertEqual([one.level for one in clock.look(MORNING, 3 * 3600)], [Level.GOOD])

    def test_against_the_tax_service(self) -> None:
        """Half an hour from the tax service nothing is taken any more; a few minutes are worth a look."""
        self.names(
            [clock.compare(2400, "one")], "відстає від годинника податкової на 40 хв", "40 min behind", Level.BAD
        )
        self.names([clock.compare(-300, "one")], "випереджає годинник податкової на 5 хв", "5 min ahead", Level.WARN)
        self.assertEqual(clock.compare(2, "one").level, Level.GOOD)

    def test_http_date(self) -> None:
        """A web server's date shows the difference; without a server there is none."""
        with serving("ok") as number:
            found = clock.http_date(f"http://127.0.0.1:{number}/fs", MORNING)
        assert found is not None
        self.assertAlmostEqual(found, WEB_DATE - MORNING, delta=1)
        self.assertIsNone(clock.http_date("http://127.0.0.1:9/", MORNING, 1))
        self.assertIsNone(clock.http_date("http://[127.0.0.1/", MORNING, 1))


class DatabaseFaultTests(FaultCase):
    """The database."""

    def setUp(self) -> None:
        """A database of a training service."""
        super().setUp()
        self.file = self.state / "dmtwisted.db"

    def make(self, revision: str) -> None:
        """A database with the tables that are counted."""
        with closing(sqlite3.connect(self.file)) as db:
            db.executescript(
                "CREATE TABLE document (at INTEGER, state TEXT); CREATE TABLE operation (kind TEXT, state TEXT);"
                f"CREATE TABLE alembic_version (version_num TEXT); INSERT INTO alembic_version VALUES ('{revision}');"
                "INSERT INTO document VALUES (1789970400000, 'done');"
                "INSERT INTO operation VALUES ('fiscal', 'done');"
            )

    def found(self) -> list[Finding]:
        """What is found of it."""
        return database.look(self.file)

    def test_good(self) -> None:
        """How much is in it, and since when."""
        self.make(head())
        [one] = self.found()
        self.assertEqual(one.level, Level.GOOD)
        self.assertIn("1 documents, the oldest of 21.09.2026", one.text.en)

    def test_missing(self) -> None:
        """One that is not there is not made."""
        self.names(self.found(), "ще немає", "does not exist yet", Level.WARN)
        self.assertFalse(self.file.exists())

    def test_no_database(self) -> None:
        """A file that is not a database."""
        self.file.write_bytes(b"something else entirely" * 300)
        self.names(self.found(), "пошкоджена", "is damaged", Level.BAD)

    def test_broken_page(self) -> None:
        """A file with an overwritten page."""
        self.make(head())
        with self.file.open("r+b") as stream:
            stream.seek(4096)
            stream.write(b"\xff" * 4096)
        self.names(self.found(), "пошкоджена", "is damaged", Level.BAD)

    def test_older(self) -> None:
        """One of an older version."""
        self.make("0001")
        self.names(self.found(), "старішої версії", "of an older version", Level.WARN)

    def test_newer(self) -> None:
        """One of a newer version."""
        self.make("9999")
        self.names(self.found(), "новішої версії", "newer version", Level.BAD)

    def test_unfinished(self) -> None:
        """Operations with an unknown outcome."""
        self.make(head())
        with closing(sqlite3.connect(self.file)) as db:
            db.execute("INSERT INTO operation VALUES ('fiscal', 'unknown')")
            db.commit()
        self.names(self.found(), "Незавершених операцій: 1", "1 operations are unfinished", Level.WARN)

    def test_no_room_for_a_copy(self) -> None:
        """A disk on which a backup would not fit."""
        self.make(head())
        self.patch(shutil, "disk_usage", lambda _: Usage(0, 0, 5000))
        self.names(self.found(), "менше місця, ніж дві копії", "less room than two copies", Level.WARN)

    def test_server_away(self) -> None:
        """A database server that does not answer."""
        config = replace(self.config, database=DatabaseConfig("postgresql://till:secret@127.0.0.1:9/tills"))
        found = command._database(config)
        self.names(found, "недоступна", "cannot be reached", Level.BAD)
        self.assertNotIn("secret", repr(found))


WEB_DATE = 1_789_974_000.0
"""When our web servers think it is: an hour after `MORNING`."""


class serving:
    """A web server on a loopback port, in a thread: ``as_what`` is a service, one not ready, or something else."""

    def __init__(self, as_what: str) -> None:
        class Handler(BaseHTTPRequestHandler):
            """Answers everything in one way."""

            def date_time_string(self, timestamp: float | None = None) -> str:
                """The date for clients."""
                return super().date_time_string(WEB_DATE)

            def do_GET(self) -> None:
                """The answer."""
                ready = as_what == "ok" or (as_what == "not ready" and "live" in self.path)
                self.send_response(403 if as_what == "closed" else 200 if ready or as_what == "other" else 503)
                body = b"<html>" if as_what == "other" else json.dumps({"status": "ok" if ready else "not"}).encode()
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_HEAD = do_POST = do_GET

            def log_message(self, *_: object) -> None:
                """No one may read it."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> int:
        self._thread.start()
        return int(self._server.server_address[1])

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class PortFaultTests(FaultCase):
    """Who answers on the port."""

    def found(self, number: int, host: str = "127.0.0.1") -> tuple[list[Finding], bool]:
        """What is found of a port."""
        config = replace(self.config, server=ServerConfig(host=host, port=number))
        return port.look(port.Service(config))

    def test_well(self) -> None:
        """Our own service, live and ready; asked on this machine where it listens everywhere."""
        with serving("ok") as number:
            found, runs = self.found(number, "0.0.0.0")
        self.assertEqual(([one.level for one in found], runs), ([Level.GOOD], True))

    def test_both_families(self) -> None:
        """Where it listens at both families both are asked; what another program has of them is named."""
        answers = {"127.0.0.1": port.Asked(200, {"status": "ok"}), "::1": port.Asked(200, {"status": "ok"})}

        def ask(service: port.Service, *_: object) -> port.Asked:
            if service.host not in answers:
                raise ConnectionRefusedError
            return answers[service.host]

        self.patch(port.Service, "ask", ask)
        has_both = mock.MagicMock()
        self.patch(socket, "socket", has_both)
        found, runs = self.found(3939, "")
        self.assertEqual(
            ([(one.level, one.about) for one in found], runs),
            ([(Level.GOOD, "127.0.0.1:3939"), (Level.GOOD, "[::1]:3939")], True),
        )
        answers["::1"] = port.Asked(404, None)
        self.names(
            self.found(3939, "")[0], "На [::1]:3939 відповідає інша", "Another program answers on [::1]", Level.BAD
        )
        del answers["::1"]
        self.names(self.found(3939, "")[0], "не відповідає на [::1]:3939", "not answer on [::1]:3939", Level.WARN)
        answers.clear()
        [one] = self.found(3939, "")[0]
        self.assertEqual((one.level, one.about), (Level.WARN, "127.0.0.1:3939"))
        answers["127.0.0.1"] = port.Asked(200, {"status": "ok"})
        has_both.side_effect = OSError
        self.assertEqual([one.level for one in self.found(3939, "")[0]], [Level.GOOD])

    def test_command(self) -> None:
        """``dmtwisted ready`` ends with 0 while tasks are taken, else with 1, the reason and what to do."""
        statuses = []
        for said in ("ok", "not ready"):
            with serving(said) as number:
                statuses.append(self.ready(number))
        self.assertEqual([*statuses, self.ready(number)], [0, 1, 1])

    def ready(self, number: int) -> int:
        """The status of the command for a port."""
        options = ReadyOptions()
        options.parseOptions(["--port", str(number)])
        told = StringIO()
        with redirect_stderr(told):
            status = ready.run(options)
        self.assertEqual(told.getvalue().count("\n"), 2 * status)
        return status

    def test_nobody(self) -> None:
        """No process: the service has to be started."""
        with serving("ok") as number:
            pass
        found, runs = self.found(number)
        self.names(found, "не запущено", "does not run", Level.WARN)
        self.assertFalse(runs)

    def test_not_ready(self) -> None:
        """Our service, which cannot take tasks."""
        with serving("not ready") as number:
            self.names(self.found(number)[0], "не готовий", "is not ready", Level.BAD)

    def test_another_program(self) -> None:
        """Another program has the port."""
        with serving("other") as number:
            self.names(self.found(number)[0], "інша програма", "Another program", Level.BAD)

    def test_closed(self) -> None:
        """A hardened service that lets us not in."""
        with serving("closed") as number:
            self.names(self.found(number)[0], "не приймає запитів звідси", "refuses requests", Level.WARN)

    def test_not_our_address(self) -> None:
        """An address that this machine has not."""
        self.patch(port.Service, "ask", _refuse)
        self.names(self.found(3939, "192.0.2.7")[0], "не можна зайняти", "cannot listen on", Level.BAD)

    def test_tls_expected(self) -> None:
        """A service that still speaks HTTP though there is a certificate."""
        key = make_key()
        file, key_file = write_pair(self.folder, make_certificate(MORNING, key), key)
        self.config = replace(self.config, tls=TlsConfig(str(file), str(key_file)))
        with serving("ok") as number:
            self.names(self.found(number)[0], "не з тим сертифікатом", "has another certificate", Level.BAD)


def _refuse(*_: object) -> None:
    raise ConnectionRefusedError


class DeviceFaultTests(FaultCase):
    """Devices, keys, the tax service."""

    def found(self, shop: Shop) -> list[Finding]:
        """What is found of every device."""
        looked = Deferred.fromCoroutine(devices.look(shop.core.devices, shop.core.clock))
        if not looked.called:
            # Terminals take a moment to answer.
            shop.clock.pump([1.0] * 60)
        return self.successResultOf(looked)

    def test_well(self) -> None:
        """Devices that answer."""
        self.assertEqual({one.level for one in self.found(Shop(self, whole=True))}, {Level.GOOD})

    def test_none(self) -> None:
        """A service without devices."""
        shop = Shop(self)
        self.successResultOf(Deferred.fromCoroutine(shop.core.devices.remove(_id(shop, "test"))))
        self.names(self.found(shop), "Жодного пристрою", "There is no device", Level.WARN)

    def test_silent(self) -> None:
        """A device that does not answer; the others are tried all the same, and what to do is said."""
        shop = Shop(self, whole=True)
        self.patch(shop.core.devices.by_name("prn").built, "check", _silent)
        one = self.names(self.found(shop), "prn не працює", "prn does not work", Level.BAD)
        self.assertIn("15000", one.text.en)

    def test_driver_gone(self) -> None:
        """A device whose driver is no longer there."""
        shop = Shop(self)
        adding = shop.store.add_device("gone", "old", "printer", "no-such-driver", b"{}")
        self.successResultOf(Deferred.fromCoroutine(adding))
        shop.crash()
        self.names(self.found(shop), "old не працює", "there is no driver no-such-driver", Level.BAD)
        self.flushLoggedErrors()

    def test_secret_key_gone(self) -> None:
        """A key of the secrets that was not restored with the database: the device that needs it says so."""
        shop = Shop(self)
        adding = shop.core.devices.add("pos", "terminal", "zvt", {"host": "127.0.0.1", "password": "481516"})
        self.successResultOf(Deferred.fromCoroutine(adding))
        (shop.state / KEY_FILE).unlink()
        shop.core.secrets._key = None
        shop.crash()
        one = self.names(self.found(shop), "pos не працює", "pos does not work", Level.BAD)
        self.assertIn(f"{KEY_FILE}, is missing; restore it", one.text.en)
        self.flushLoggedErrors()

    def test_busy(self) -> None:
        """A device at work is left alone."""
        shop = Shop(self)
        turns = shop.core.devices.by_name("test").turns
        self.successResultOf(Deferred.fromCoroutine(turns.take()))
        self.assertIn("test: busy now, not checked", [one.text.en for one in self.found(shop)])

    def test_stumbling(self) -> None:
        """A driver with a fault of its own."""
        shop = Shop(self)
        self.patch(shop.core.devices.by_name("test").built, "check", _stumble)
        self.names(self.found(shop), "test не працює", "ValueError: a fault", Level.BAD)

    def test_no_key(self) -> None:
        """A register without its signing key."""
        found = self.found(PrroShop(self, "one"))
        self.names(found, "two: немає ключа", "two: there is no signing key", Level.BAD)

    def test_key_ends(self) -> None:
        """A signing key that ends in two days, and one that is over."""
        shop = PrroShop(self)
        shop.load_key("one", keys().ending)
        self.names(self.found(shop), "закінчується за 2 дн.", "expires in 2 days", Level.WARN)
        shop.clock.advance(4 * 86400)
        self.names(self.found(shop), "one: ключ підпису прострочений", "one: the signing key has expired", Level.BAD)

    def test_tax_service_away(self) -> None:
        """A tax service that does not answer."""
        shop = PrroShop(self, "one", "two")
        self.patch(devices, "http_date", lambda *_: None)
        for name in ("one", "two"):
            self.patch(shop.built(name), "ahead", _nobody)
        found = self.found(shop)
        self.names(found, "one: сервер податкової", "one: the tax service", Level.BAD)

    def test_clock_by_date(self) -> None:
        """Without an answer of the tax service the date of its web server shows a wrong clock."""
        shop = PrroShop(self, "one")
        self.patch(devices, "http_date", lambda *_: 86400.0)
        self.patch(shop.built("one"), "ahead", _nobody)
        self.names(self.found(shop), "відстає від годинника податкової на 1440 хв", "1440 min behind", Level.BAD)

    def test_file_elsewhere(self) -> None:
        """A file that settings of an earlier version name outside of the folders for it is a warning."""
        shop = PrroShop(self, "one", "two")
        self.patch(shop.core.devices, "named_elsewhere", lambda device: ["/srv/ca.pem"] * (device.name == "one"))
        warned = [one for one in self.found(shop) if "/srv/ca.pem" in one.text.uk]
        self.assertEqual([(one.level, one.about) for one in warned], [(Level.WARN, "one")])

    def test_rounding(self) -> None:
        """A register at the tax service that does not round cash is a hint; a step of 10 or 50 is none."""
        for step, hints in ((0, [(Level.WARN, "one"), (Level.WARN, "two")]), (10, []), (50, [])):
            shop = PrroShop(self, rounding_step=step)
            found = [one for one in self.found(shop) if "rounding_step" in one.advice.en]
            self.assertEqual([(one.level, one.about) for one in found], hints)
            self.assertTrue(all("50 kopecks" in one.text.en and "50 копійок" in one.text.uk for one in found))

    def test_payment_codes(self) -> None:
        """A register that sends its own payment codes is proposed the tax service's; one that has them is not."""
        shop = PrroShop(self, "one", "two")
        devices = shop.core.devices
        shop.done(devices.change(devices.by_name("one").row.dev_id, None, {"pay_codes": "types"}))
        warned = [one for one in self.found(shop) if "prepayment" in one.text.en]
        self.assertEqual([(one.level, one.about) for one in warned], [(Level.WARN, "one")])
        self.assertIn("pay_codes = tax", warned[0].advice.uk)

    def test_means_of_payment(self) -> None:
        """Names outside the known list of means are named; known ones in any case and with hyphens are not."""
        types = [
            {"code": 0, "name": "Готівка"},
            {"code": 2, "name": "КАРТКА"},
            {"code": 3, "name": "Передплата", "enabled": False},
            {"code": 4, "name": "Післяплата"},
            {"code": 16, "name": "Інтернет-еквайринг"},
            {"code": 17, "name": "Платіж через інтегратора LiqPay"},
        ]
        shop = PrroShop(self, "one", pay_types=types)
        found = [one for one in self.found(shop) if "means of payment" in one.text.en]
        self.assertEqual(
            [one.text.en for one in found],
            [f"{name}: names of means of payment outside the known list: Післяплата" for name in ("one", "two")],
        )
        self.assertEqual({one.level for one in found}, {Level.GOOD}, "a hint: the list is from the press")
        self.assertIn("accountant", found[0].advice.en)

    def test_tax_service_there(self) -> None:
        """A tax service that answers, whose clock agrees with ours."""
        found = {one.text.en for one in self.found(PrroShop(self, "one", "two"))}
        self.assertLess({"one: the tax service answers", "The clock agrees with the tax service (0 s)"}, found)


async def _nobody() -> None:
    return None


async def _silent() -> None:
    raise Refused(Res.TERMINAL_SILENT, 15000)


async def _stumble() -> None:
    raise ValueError("a fault")


def _id(shop: Shop, name: str) -> str:
    return str(shop.core.devices.by_name(name).row.dev_id)


class CommandTests(FaultCase):
    """``dmtwisted doctor``"""

    def told(self, *words: str) -> tuple[int, str]:
        """Exit status and output."""
        options = DoctorOptions()
        options.parseOptions([*words, "--state", str(self.state)])
        said = StringIO()
        with redirect_stdout(said):
            status = command.run(options)
        return status, said.getvalue()

    def test_no_configuration(self) -> None:
        """A configuration that is not there is named, status 2."""
        status, said = self.told("--config", str(self.folder / "none.toml"))
        self.assertEqual(status, 2)
        self.assertIn("Конфігурація непридатна", said)
        self.assertIn("there is no such file", said)

    def test_mistyped(self) -> None:
        """A key that is mistyped, and what was meant."""
        file = self.folder / "dm.toml"
        file.write_text("[server]\nprot = 1\n", "utf-8")
        status, said = self.told("--config", str(file), "-l", "en")
        self.assertEqual(status, 2)
        self.assertIn("did you mean port?", said)
        file.write_text("[server\n", "utf-8")
        self.assertIn("is not valid TOML", self.told("--config", str(file), "-l", "en")[1])

    def test_running(self) -> None:
        """A running service is asked, and its devices are left to it; when it does not tell that is said."""
        told = [{"check": "device", "level": "bad", "about": "pos", "text": "pos off", "advice": "plug", "fix": ""}]
        answers = {"/dm/api/v3/doctor": port.Asked(200, {"findings": told})}
        self.patch(command, "_devices", lambda _: self.fail("a device was touched"))
        self.patch(
            port.Service, "ask", lambda _, method, path, *more: answers.get(path, port.Asked(200, {"status": "ok"}))
        )
        status, said = self.told("-l", "en")
        self.assertEqual(status, 2)
        self.assertIn(" BAD  pos off\n       → plug\n", said)
        answers[DOCTOR] = port.Asked(302, None)
        self.assertIn("--api-key", self.told("-l", "en")[1])

    def test_code(self) -> None:
        """The one-time code of a running service is read from its file; who may not read it hears its place."""
        answers = {DOCTOR: port.Asked(200, {"findings": []})}
        self.patch(
            port.Service, "ask", lambda _, method, path, *more: answers.get(path, port.Asked(200, {"status": "ok"}))
        )
        self.assertNotIn("one-time", self.told("-l", "en")[1])
        file = self.state / PRESENCE_FILE
        file.write_text("ABCD-2345\n", "utf-8")
        self.assertIn("the one-time code ABCD-2345 stands for it", self.told("-l", "en")[1])
        self.assertIn("одноразовий код ABCD-2345", self.told("-l", "uk")[1])
        file.unlink()
        file.mkdir()
        self.assertIn(f"is in {file}", self.told("-l", "en")[1])

    def test_stopped(self) -> None:
        """Without a service the devices are tried from here, unless the database cannot be worked with.

        A service that runs on another port is told of as such, and not as another program.
        """
        tried: list[Config] = []
        self.patch(port.Service, "ask", _refuse)

        def tries(config: Config) -> list[Finding]:
            tried.append(config)
            return []

        self.patch(command, "_devices", tries)
        self.patch(command, "_database", lambda config: [])
        status, said = self.told("--json", "--port", "4977")
        told = json.loads(said)
        self.assertEqual((status, told["status"], len(tried)), (1, 1, 1))
        self.assertEqual({"check", "level", "about", "text", "advice", "fix", "code"}, set(told["findings"][0]))
        self.patch(command, "_devices", lambda config: [command._not_checked(IN_USE)])
        told = json.loads(self.told("--json", "--port", "4977", "--language", "en")[1])["findings"]
        ports = [one["text"] for one in told if one["check"] == "port"]
        self.assertEqual(ports, ["The service runs with this state folder, on another port"])
        self.assertNotIn("another service", str(told))
        self.patch(command, "_devices", tries)
        self.patch(command, "_database", lambda config: database.look(self.folder / "none"))
        self.told("--json", "--port", "4977")
        self.assertEqual(len(tried), 1)

    def test_weak_key(self) -> None:
        """Without a service a key that could be guessed is found too."""
        shop, found = Shop(self), list[Finding]()
        self.successResultOf(Deferred.fromCoroutine(shop.core.access.keys.make("till 7", "7")))
        shop.core.devices.close()
        self.patch(command, "store_of", lambda *_: shop.store)
        self.successResultOf(Deferred.fromCoroutine(command._check_devices(self.config, found, shop.clock)))
        self.names(found, "Ключ API «till 7» можна вгадати", "The API key till 7 could be guessed", Level.WARN)

    @POSIX
    def test_another_user(self) -> None:
        """A user who does not own the state folder leaves no files there that the service could not open."""
        self.patch(os, "geteuid", lambda: self.state.stat().st_uid + 1)
        self.names(command._devices(self.config), "належить іншому", "belongs to another user", Level.WARN)


class ClientTests(FaultCase):
    """``dmtwisted doctor --client``"""

    def counted(self, **counts: Any) -> list[Finding]:
        """What is found of a till with these counts."""
        at = int(MORNING * 1000)
        return client.look({"till": Program(since=at, last=at, **counts)}, "till")

    def test_sent(self) -> None:
        """A program without any fault: its tasks, since when, and how many repeats."""
        [one] = self.counted(tasks={"fiscal 1": 7, "fiscal 10": 1}, repeated=2)
        self.assertEqual((one.level, one.about), (Level.GOOD, "till"))
        self.assertEqual(
            one.text.en, "till: fiscal 1 × 7, fiscal 10 × 1; since 21.09.2026, last 21.09.2026 09:00; 2 repeats"
        )
        self.assertIn("повторів 2", one.text.uk)

    def test_ignored(self) -> None:
        """Ignored members, the most frequent first, with the settings that name and that list them."""
        found = self.counted(ignored={"userinfo": 2, "fiscal.receipt.rows[].prise": 9})
        one = self.names(
            found, "Пропущено поля", "Ignored members: fiscal.receipt.rows[].prise × 9, userinfo × 2", Level.WARN
        )
        self.assertIn("warn_unknown", one.advice.uk)
        self.assertIn("known_members", one.advice.en)

    def test_refused(self) -> None:
        """Each refusal has its text, its advice, and the setting by which the program could be served."""
        found = self.counted(refused={"1077": 3, "1091": 1, "9999": 1, "…": 2})
        self.assertEqual(len(found), 3)
        one = self.names(found, "Відмова 1077 × 3", "Refused with 1077 × 3", Level.WARN)
        self.assertIn("check_cash", one.advice.uk)
        self.names(found, "Відмова 1091 × 1", "Refused with 1091 × 1", Level.WARN)

    def test_every_code(self) -> None:
        """Every code of the catalogue can be reported, without a place for a detail."""
        for res in Res:
            for one in self.counted(refused={str(res.code): 1}):
                self.assertNotIn("%", one.text.uk + one.text.en + one.advice.uk + one.advice.en)

    def test_tags(self) -> None:
        """Tasks without a tag, and tags used twice, with the settings that help."""
        found = self.counted(untagged=4, other_content=1)
        one = self.names(found, "Без tag: 4", "Without a tag: 4", Level.WARN)
        self.assertIn("untagged_repeat", one.advice.en)
        one = self.names(found, "Ужитий tag з іншим змістом: 1", "A used tag with other content: 1", Level.WARN)
        self.assertIn("strict_tags", one.advice.uk)

    def test_unknown(self) -> None:
        """A source that sent nothing: the known ones are listed."""
        one = self.names(client.look({"b": Program(), "a": Program()}, "zz"), "нічого", "sent nothing", Level.WARN)
        self.assertIn("a, b", one.advice.en)

    def test_command(self) -> None:
        """The command reads the database, whether the service runs or not; without one it says so."""

        def told() -> tuple[int, str]:
            options, said = DoctorOptions(), StringIO()
            options.parseOptions(["--client", "till", "-l", "en", "--state", str(self.state)])
            with redirect_stdout(said):
                return command.run(options), said.getvalue()

        self.assertEqual(told()[0], 2)
        with closing(sqlite3.connect(self.state / "dmtwisted.db")) as db, db:
            db.execute("CREATE TABLE setting (name TEXT PRIMARY KEY, value BLOB)")
        self.assertIn("sent nothing", told()[1])
        kept = {"till": Program(since=1, last=1, tasks={"fiscal 1": 7}, ignored={"prise": 1})}
        with closing(sqlite3.connect(self.state / "dmtwisted.db")) as db, db:
            db.execute("INSERT INTO setting VALUES (?, ?)", (ROW, msgspec.json.encode(kept)))
        status, said = told()
        self.assertEqual(status, 1)
        self.assertIn("Ignored members: prise × 1", said)
        with closing(sqlite3.connect(self.state / "dmtwisted.db")) as db, db:
            db.execute("UPDATE setting SET value = ?", (b"half",))
        status, said = told()
        self.assertEqual(status, 2)
        self.assertIn("cannot be read", said)


class PageTests(WebCase):
    """The same checks by the interface and as a page."""

    UK: ClassVar = [("Accept-Language", "uk")]

    def setUp(self) -> None:
        """A service whose configuration knows its folder."""
        super().setUp()
        core = self.shop.core
        core.config = replace(
            core.config,
            service=replace(core.config.service, state=str(self.shop.state)),
            database=DatabaseConfig("postgresql://till:secret@db.example/tills"),
        )
        self.door = Door(core)

    def test_examined(self) -> None:
        """Nothing is checked before a request; then every finding is reported, and kept for the page."""
        self.assertEqual(self.request("GET", DOCTOR).json, {"dt": "", "status": 0, "findings": []})
        self.request("POST", "/dm/api/v3/api-keys", {"name": "каса 7", "key": "7"})
        told = self.request("POST", DOCTOR, {}, self.UK).json
        texts = [one["text"] for one in told["findings"]]
        self.assertIn("test відповідає", texts)
        self.assertIn("Ключ API «каса 7» можна вгадати", texts)
        self.assertEqual(self.request("GET", DOCTOR, headers=self.UK).json, told)
        page = self.request("GET", "/dm/main/settings/doctor?lang=uk").body.decode()
        self.assertIn("test відповідає", page)
        self.assertNotIn("secret@", page)

    def test_names(self) -> None:
        """Names of the service are listed, and those by which it was called in vain, with what to do."""
        for _ in range(3):
            self.request("GET", "/health/live", headers=[("Host", "kasa.example:3939")])
        told = [one for one in self.request("POST", DOCTOR, {}).json["findings"] if one["check"] == "access"]
        self.assertIn("localhost", told[0]["text"])
        self.assertEqual((told[1]["level"], told[1]["about"]), ("warn", "kasa.example"))
        self.assertTrue(told[1]["text"].endswith("kasa.example: 3"))
        self.assertIn('allowed_hosts = "kasa.example"', told[1]["advice"])
        self.assertIn("kasa.example</span> × 3", self.request("GET", "/dm/main/settings").body.decode())

    @POSIX
    def test_permissions(self) -> None:
        """A button closes files to others, and everything is looked at again."""
        self.shop.state.chmod(0o755)
        told = self.request("POST", DOCTOR, {}).json
        self.assertIn("permissions", [one["fix"] for one in told["findings"]])
        self.assertIn('data-fix="permissions"', self.request("GET", "/dm/main/settings/doctor").body.decode())
        told = self.request("POST", f"{DOCTOR}/fix", {"fix": "permissions"}).json
        self.assertNotIn("permissions", [one["fix"] for one in told["findings"]])
        self.assertEqual(self.shop.state.stat().st_mode & 0o777, 0o700)

    def test_folder(self) -> None:
        """A button makes the folder of the log."""
        core = self.shop.core
        core.config = replace(core.config, log=LogConfig(file=str(self.shop.state / "log" / "our.log")))
        self.assertEqual(self.request("POST", f"{DOCTOR}/fix", {"fix": "folder"}).status, 200)
        self.assertTrue((self.shop.state / "log").is_dir())

    def test_cannot_mend(self) -> None:
        """A failed repair is answered with its reason; an unknown one is refused."""
        answer = self.request("POST", f"{DOCTOR}/fix", {"fix": "certificate"})
        self.assertEqual(answer.status, 409)
        self.assertIn("no certificate", answer.json["errortxt"])
        self.assertEqual(self.request("POST", f"{DOCTOR}/fix", {"fix": "everything"}).status, 422)


class MendTests(FaultCase):
    """What the service mends by itself."""

    def mend(self, doctor: Doctor, fix: Fix) -> str:
        """Why it was not mended."""
        return self.successResultOf(Deferred.fromCoroutine(doctor.mend(fix)))

    def test_certificate(self) -> None:
        """A certificate of the local authority is renewed and served at once."""
        shop = Shop(self)
        identity = certify(shop.state, ["till.local"], MORNING).identity
        file = str(install_at(identity, TlsConfig(), shop.state))
        from dmtwisted.access.tls import LiveCertificate

        core = shop.core
        core.config = replace(
            core.config, tls=TlsConfig(file, file), service=replace(core.config.service, state=str(shop.state))
        )
        core.certificate = LiveCertificate(core.config.tls, shop.clock)
        core.certificate.open()
        shop.clock.advance(790 * 86400)
        self.assertEqual(self.mend(Doctor(core), Fix.CERTIFICATE), "")
        self.assertGreater(core.certificate.status()["days_left"], 700)
        self.assertIn("till.local", core.certificate.status()["names"])

    def test_backup(self) -> None:
        """A backup that cannot be made says why."""
        shop = Shop(self)
        shop.core.config = replace(
            shop.core.config, service=replace(shop.core.config.service, state=str(shop.state), training=False)
        )
        self.assertIn("dmtwisted.db", self.mend(Doctor(shop.core), Fix.BACKUP))

    def test_machine(self) -> None:
        """Files, clock and certificate are looked at together."""
        checks = {str(one.check) for one in of_machine(self.config, MORNING)}
        self.assertLessEqual({"files", "disk", "clock", "backup"}, checks)
