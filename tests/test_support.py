"""What support sees of the service: the log, the diagnostics bundle, the database."""

from __future__ import annotations

import io
import json
import sqlite3
import tempfile
import zipfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger, LogLevel

from dmtwisted.config import Config, DatabaseConfig, LogConfig, TlsConfig
from dmtwisted.core import Core
from dmtwisted.security import luhn
from dmtwisted.store.facts import FileCheck, check_file, facts_of
from dmtwisted.store.migrate import upgrade
from dmtwisted.system.logs import LONGEST_RECENT, RECENT, observer
from tests.canaries import CANARIES
from tests.shop import hurry
from tests.test_sessions import AccessCase
from tests.web_case import HttpAnswer, sale
from web.site import Door
from web.support import LINES

LOG, DIAGNOSTICS, DATABASE = "/dm/api/v3/log", "/dm/api/v3/diagnostics", "/dm/api/v3/database"


class SupportCase(AccessCase):
    """A service whose log is kept for looking at."""

    def setUp(self) -> None:
        """The log of the service, as it writes it."""
        super().setUp()
        self.observer = observer(io.StringIO())
        self.shop.core.log_lines = self.observer.recent

    def write(self, format: str, **fields: object) -> None:
        """A line of the log."""
        log = Logger("dmtwisted.test", observer=self.observer)
        log.emit(LogLevel.info, format, **fields)

    def with_config(self, **changes: Any) -> None:
        """The service with another configuration, but for what it has already begun with."""
        self.shop.core.config = replace(self.shop.core.config, **changes)
        self.door = Door(self.shop.core)

    def bundle(self) -> dict[str, bytes]:
        """The files of the bundle."""
        answer = self.request("GET", DIAGNOSTICS)
        self.assertEqual((answer.status, answer.header("content-type")), (200, "application/zip"))
        self.assertRegex(answer.header("content-disposition") or "", r'^attachment; filename="dmtwisted-\d{14}.zip"$')
        with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
            self.assertIsNone(archive.testzip())
            return {name.removeprefix("dmtwisted/"): archive.read(name) for name in archive.namelist()}


class LogTests(SupportCase):
    """``/dm/api/v3/log``"""

    def test_lines(self) -> None:
        """The answer has the last lines, oldest first; an endless line is cut."""
        for n in range(RECENT + 5):
            self.write("line {n}", n=n)
        self.write("{long}", long="x" * 10_000)
        told = self.request("GET", LOG).json
        self.assertEqual((len(told["lines"]), told["file"]), (LINES, ""))
        self.assertTrue(told["lines"][-2].endswith(f"line {RECENT + 4}"))
        self.assertLess(len(told["lines"][-1]), LONGEST_RECENT + 2)
        self.assertEqual(len(self.observer.recent), RECENT)

    def test_after(self) -> None:
        """A reader gets the lines after the last one that it knows, and sees by their number what it missed."""
        self.write("one")
        last = self.request("GET", LOG).json["last"]
        self.assertEqual(self.request("GET", f"{LOG}?after={last}").json["lines"], [])
        self.write("two")
        self.write("three")
        told = self.request("GET", f"{LOG}?after={last}").json
        self.assertEqual([line.split()[-1] for line in told["lines"]], ["two", "three"])
        self.assertEqual(told["last"], last + 2)
        for n in range(RECENT + 5):
            self.write("line {n}", n=n)
        told = self.request("GET", f"{LOG}?after={last}").json
        self.assertEqual((len(told["lines"]), told["last"]), (RECENT, last + RECENT + 7))
        for wrong in ("-1", "x", "9" * 30):
            self.assertEqual(self.request("GET", f"{LOG}?after={wrong}").status, 200)

    def file(self) -> HttpAnswer:
        """The log as a file."""
        answer = self.request("GET", f"{LOG}?format=text")
        self.assertEqual((answer.status, answer.header("content-type")), (200, "text/plain; charset=utf-8"))
        self.assertRegex(answer.header("content-disposition") or "", r'^attachment; filename="dmtwisted-\d{14}.log"$')
        return answer

    def test_download(self) -> None:
        """The log file, or the remembered lines without a readable file."""
        self.write("remembered")
        self.assertIn(b"remembered", self.file().body)
        file = self.shop.state / "our.log"
        self.with_config(log=LogConfig(file=str(file)))
        self.assertIn(b"remembered", self.file().body)
        file.write_bytes("рядок\n".encode() * 3)
        self.assertEqual(self.file().body, "рядок\n".encode() * 3)

    def test_large_file(self) -> None:
        """Of a large file the end is handed out, from the beginning of a line."""
        from web import support

        self.patch(support, "LARGEST_LOG", 25)
        file = self.shop.state / "our.log"
        file.write_bytes(b"0123456789\n" * 10)
        self.with_config(log=LogConfig(file=str(file)))
        self.assertEqual(self.file().body, b"0123456789\n" * 2)

    def test_blocked(self) -> None:
        """With a login on none of it is open."""
        self.switch_on()
        for path in (LOG, f"{LOG}?format=text", DIAGNOSTICS, DATABASE):
            self.assertTrue(self.is_blocked(self.request("GET", path)), path)
        self.assertTrue(self.is_blocked(self.request("POST", f"{DATABASE}/check", {})))


class DiagnosticsTests(SupportCase):
    """``/dm/api/v3/diagnostics``"""

    def test_files(self) -> None:
        """Configuration, devices and how they stand, unfinished operations, versions, the end of the log."""
        hurry(self)
        self.open_shift()
        self.shop.scenario({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "unreachable", "times": 0})
        self.sell("sale-1")
        self.write("the end of the log")
        files = self.bundle()
        told = {name: json.loads(content) for name, content in files.items() if name.endswith(".json")}
        self.assertEqual(told["about.json"]["libraries"]["Twisted"].split(".")[0].isdigit(), True)
        self.assertEqual(told["configuration.json"]["server"]["port"], 3939)
        self.assertEqual(told["settings.json"]["packdays"], 40)
        [device] = told["devices.json"]
        self.assertEqual(
            (device["device"], device["driver"], device["state"]["shift_status"]), ("test", "training", 1)
        )
        [operation] = told["unfinished.json"]
        self.assertEqual((operation["device"], operation["task"], operation["key"]), ("test", 1, "sale-1"))
        self.assertEqual(told["database.json"]["facts"]["receipts"], 1)
        self.assertIsNone(told["certificate.json"])
        self.assertIn(b"the end of the log", files["log.txt"])

    def test_no_secret(self) -> None:
        """No password, key, token, passphrase, login in an address or card number is in it, whatever held them."""
        secrets = {
            "token": "canary-cabinet-token",
            "password": "canary-password",
            "terminal": "481516",
            "database": "canary-database",
            "tls": "canary-tls-passphrase",
        }
        key = self.key()[1]
        self.change(token=secrets["token"])
        adding = self.shop.core.devices.add(
            "pos",
            "terminal",
            "zvt",
            {"host": "127.0.0.1", "password": secrets["terminal"]},
        )
        self.successResultOf(Deferred.fromCoroutine(adding))
        gone = self.shop.store.add_device(
            "id-9", "gone", "terminal", "gone", json.dumps({"anything": secrets["terminal"]}).encode()
        )
        self.successResultOf(Deferred.fromCoroutine(gone))
        self.shop.crash()
        self.flushLoggedErrors(LookupError)
        self.shop.core.log_lines = self.observer.recent
        url = f"postgresql://till:{secrets['database']}@db.example/tills"
        self.with_config(database=DatabaseConfig(url), tls=TlsConfig("/a.pem", "/b.pem", secrets["tls"]))
        self.change(usr_uiauth=True, usr_login="a", usr_pass=secrets["password"], usr_confpass=secrets["password"])
        session = self.log_in("a", secrets["password"])
        cookie = (session.header("set-cookie") or "").split(";")[0]
        cards = [canary for canary in CANARIES if luhn(canary.decode())]
        for canary in cards:
            self.write("a terminal said {text}", text=canary.decode())
            self.observer.recent.append(f"written by somebody else: {canary.decode()}\n")
        self.observer.recent.append(f"cannot reach {url}\n")
        self.write("logged in with {password}", password=secrets["password"])
        answer = self.request("GET", DIAGNOSTICS, headers=[("Cookie", cookie)])
        with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        self.assertIn("dmtwisted/devices.json", files)
        whole = b"\n".join(files.values())
        hash = self.shop.core.access._row.value.hash.encode()
        kept = json.dumps([key.hash for key in self.shop.core.access.keys]).encode()
        sealed = self.shop.core.settings.now.token.encode()
        for secret in (*(text.encode() for text in secrets.values()), *cards, key.encode(), hash, kept, sealed):
            self.assertNotIn(secret, whole, secret)
        self.assertNotIn(cookie.partition("=")[2].encode(), whole)
        self.assertIn(b"***@db.example", whole)

    def test_everything_broken(self) -> None:
        """There is a bundle also when the store does not answer and a device cannot be used; they say why."""
        adding = self.shop.store.add_device("id-2", "broken", "register", "gone", b"{}")
        self.successResultOf(Deferred.fromCoroutine(adding))
        self.shop.crash()
        self.flushLoggedErrors(LookupError)
        self.door = Door(self.shop.core)
        self.shop.store.broken = True
        files = self.bundle()
        self.shop.store.broken = False
        self.assertIn(b"it cannot be read", files["database.json"])
        self.assertIn(b"it cannot be read", files["unfinished.json"])
        self.assertIn(b"there is no driver gone", files["devices.json"])


class DatabaseTests(SupportCase):
    """``/dm/api/v3/database``"""

    def test_other_store(self) -> None:
        """A store that is no file is asked by its verbs; a look at the file is not what it needs."""
        self.open_shift()
        self.execute(sale("sale-1"))
        self.with_config(database=DatabaseConfig("postgresql://till:secret@db.example:5433/tills"))
        told = self.request("GET", DATABASE).json
        self.assertEqual((told["database"], told["place"]), ("PostgreSQL", "db.example:5433/tills"))
        self.assertEqual((told["receipts"], told["operations"], told["unfinished"]), (2, 2, 0))
        self.assertEqual((told["size"], told["oldest"]), (None, "20260921090000000"))
        self.assertEqual(self.request("POST", f"{DATABASE}/check", {}).json, {"check": None})

    def test_store_fails(self) -> None:
        """A store that does not answer is 503 with 1082."""
        self.shop.store.broken = True
        answer = self.request("GET", DATABASE)
        self.shop.store.broken = False
        self.assertEqual((answer.status, answer.json["res"]), (503, 1082))


class FileTests(AccessCase):
    """The facts of a SQLite file."""

    def setUp(self) -> None:
        """A file with the schema, and one receipt in it."""
        super().setUp()
        self.file = Path(tempfile.mkdtemp(dir=self.shop.state)) / "shop.db"
        upgrade(f"sqlite:///{self.file}")
        with closing(sqlite3.connect(self.file)) as db, db:
            db.execute(
                "INSERT INTO operation (n, device_n, kind, task, key, fingerprint, state, at) "
                "VALUES (1, 1, 'fiscal', 1, 'a', x'', 'done', 5), (2, 1, 'fiscal', 1, 'b', x'', 'unknown', 6)"
            )
            db.execute(
                "INSERT INTO document (operation_n, device_n, number, kind, shift, at, sum, state, value, sent) "
                "VALUES (1, 1, 1, 'sale', 1, 5, 100, 'done', x'', x'')"
            )
        self.config = Config(database=DatabaseConfig(f"sqlite:///{self.file}"))

    def found(self, asked: Any) -> Any:
        """What is found."""
        return self.successResultOf(Deferred.fromCoroutine(asked))

    def test_facts(self) -> None:
        """File, size, schema and counts, read past the queue of the sales."""
        core: Core = self.shop.core
        self.shop.store.broken = True
        facts = self.found(facts_of(self.config, core.store, core.clock))
        self.shop.store.broken = False
        self.assertEqual((facts.kind, facts.place), ("SQLite", str(self.file)))
        self.assertEqual((facts.receipts, facts.operations, facts.unfinished, facts.oldest), (1, 2, 1, 5))
        self.assertGreaterEqual(facts.size, self.file.stat().st_size)
        self.assertTrue(facts.revision)

    def check(self) -> FileCheck:
        """What a look at the file finds."""
        verdict: FileCheck = self.found(check_file(self.config, self.shop.core.clock))
        return verdict

    def test_whole(self) -> None:
        """A file that is whole has no troubles."""
        self.assertEqual(self.check().troubles, ())

    def test_damaged(self) -> None:
        """Torn pages and rows without a parent are found and reported."""
        with closing(sqlite3.connect(self.file)) as db, db:
            db.execute("DELETE FROM operation WHERE n = 1")
        self.assertIn("document", self.check().troubles[0])
        content = bytearray(self.file.read_bytes())
        content[4096:] = b"\xff" * (len(content) - 4096)
        self.file.write_bytes(content)
        self.assertTrue(self.check().troubles)

    def test_no_database(self) -> None:
        """A file that is not a database is reported as such."""
        self.file.write_bytes(b"no database at all, but long enough to be one " * 100)
        self.assertIn("not a database", self.check().troubles[0])
