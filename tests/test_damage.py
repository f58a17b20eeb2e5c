"""A damaged database: the service starts, writes nothing, reports it everywhere, and shows the way out."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing, redirect_stdout
from unittest import mock

from twisted.internet.defer import Deferred

from dmtwisted.core import Core
from dmtwisted.lab.children import free_port
from dmtwisted.store.sqlite.damage import main, means_broken_pages, means_damage, quick_look
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import StoreDamaged
from tests.specification import promises
from tests.test_service_process import RUN, ProcessCase, Service, until
from tests.web_case import WebCase, fiscal, sale
from web.site import Door

PAGES = ("/", "/dm/", "/dm/main/", "/dm/main/receipts", "/dm/main/settings", "/dm/main/console", "/dm/api")
"""What people look at."""

LETTER = b"This is a letter to the tax service. " * 300


class DamagedStore(MemoryStore):
    """A store that was whole once."""

    why = ""
    unreadable = False

    async def open(self) -> None:
        """Refuse to work once `why` is said."""
        if self.why:
            raise StoreDamaged(self.why)
        await super().open()

    async def open_damaged(self, damage: str) -> None:
        """Be read."""
        self.damage, self.broken = damage, self.unreadable


class RefusedTests(WebCase):
    """The answers of a service whose database is damaged."""

    def damage(self, unreadable: bool = False) -> None:
        """Start again on a store that is damaged now."""
        self.successResultOf(Deferred.fromCoroutine(self.shop.core.close()))
        store = DamagedStore()
        store._db = self.shop.store._db
        store.why, store.unreadable = "tills.db: the database is malformed", unreadable
        core = Core(self.shop.core.config, store, self.shop.clock, self.shop.state)
        self.shop.core, self.door = core, Door(core)
        self.successResultOf(Deferred.fromCoroutine(core.open()))
        self.assertEqual(self.flushLoggedErrors(), [])

    @promises("3.2.1.1")
    def test_tasks(self) -> None:
        """Every task is answered 1082 without effect; a stored receipt can be looked up."""
        self.shop.open_shift()
        self.assertEqual(self.execute(sale("sold"))["res"], 0)
        self.damage()
        for body in (sale("new"), sale("sold"), fiscal(18), fiscal(12, "z")):
            answer = self.execute(body)
            self.assertEqual((answer["res"], answer["res_action"], answer["info"]), (1082, 1, {}))
        found = self.execute({"device": "test", "tag": "sold"})
        self.assertEqual((found["res"], found["task_status"], found["info"]["docno"]), (0, 2, "2"))

    def test_unreadable(self) -> None:
        """When nothing can be read, no answer says that a device or receipt does not exist."""
        self.shop.open_shift()
        self.damage(unreadable=True)
        for body in (sale("new"), {"device": "test", "tag": "sold"}, {"device": "nobody", "tag": "sold"}):
            self.assertEqual(self.execute(body)["res"], 1082)

    def test_probes(self) -> None:
        """It is alive and not ready, also after the time that a start may take."""
        self.damage()
        self.shop.clock.advance(60)
        self.assertEqual(self.request("GET", "/health/live").status, 200)
        self.assertEqual(self.request("GET", "/health/ready").status, 503)

    def test_pages(self) -> None:
        """Every page says what is wrong and how a backup is restored, in both languages."""
        self.damage()
        folder = self.shop.state / "backups"
        folder.mkdir()
        (folder / "letter.tar.gz").write_bytes(LETTER)
        for path in PAGES:
            answer = self.request("GET", f"{path}?lang=en")
            self.assertEqual(answer.status, 503, path)
            text = answer.body.decode()
            self.assertIn("The database is damaged", text)
            self.assertIn("tills.db: the database is malformed", text)
            self.assertIn(f"dmtwisted restore --state {self.shop.core.config.state}", text)
            # Its style is within: whatever needs a login cannot be had.
            self.assertIn("<style>", text)
            self.assertNotRegex(text, "(src|href)=")
        self.assertIn("База даних пошкоджена", self.request("GET", "/dm/?lang=uk").body.decode())

    def test_login_unread(self) -> None:
        """When the login cannot be read, no one can log in; the page is there for all, without file names."""
        self.damage(unreadable=True)
        text = self.request("GET", "/dm/?lang=en").body.decode()
        self.assertIn("The database is damaged", text)
        self.assertNotIn("tills.db", text)
        self.assertEqual(self.request("GET", "/dm/api/v3/devices").status, 302)

    def test_changes(self) -> None:
        """Nothing can be changed: such requests are answered 1082."""
        self.damage()
        new = {"device": "second", "kind": "register", "driver": "training"}
        answer = self.request("POST", "/dm/api/v3/devices", new)
        self.assertEqual((answer.status, json.loads(answer.body)["res"]), (503, 1082))

    def test_nothing_by_itself(self) -> None:
        """It closes no shift and queries nothing by itself; it stops in order."""
        self.damage()
        # What needs a person is looked at all the same: it says that the database is damaged.
        left = [call for call in self.shop.clock.getDelayedCalls() if "Needs" not in repr(call)]
        self.assertEqual(left, [])
        self.successResultOf(Deferred.fromCoroutine(self.shop.core.close()))

    def test_damage_while_open(self) -> None:
        """A service that finds the damage while it runs is the same from that moment on."""
        self.shop.open_shift()
        self.shop.store.damage = "a page is broken"
        self.assertEqual(self.execute(sale("new"))["res"], 1082)
        self.assertEqual(self.request("GET", "/health/ready").status, 503)
        self.assertEqual(self.request("GET", "/dm/").status, 503)


class FileTests(ProcessCase):
    """Real files, really damaged, under the whole service."""

    def setUp(self) -> None:
        """A database with a sale."""
        super().setUp()
        self.path = self.folder / "state" / "dmtwisted.db"

    def sold(self) -> None:
        """Sell something, make a backup, and stop."""
        service = self.run_service()
        self.open_shift(service)
        self.assertEqual(service.execute(sale("sold"))["res"], 0)
        self.command("backup")
        self.assertEqual(service.stop(), 0)

    def command(self, *arguments: str) -> None:
        """Run another command on the same state."""
        state = str(self.folder / "state")
        line = [sys.executable, "-m", "dmtwisted.commands.main", *arguments, "--state", state]
        subprocess.run(line, check=True, timeout=60)

    def start_damaged(self) -> Service:
        """A service that serves and is not ready; its file is what it was."""
        before = self.path.read_bytes()
        service = self.spawn(*RUN, "--training", "--state", str(self.folder / "state"), "--port", str(free_port()))
        service.port = until(service._port, "no port was printed")
        self.assertEqual(service.request("GET", "/health/ready")[0], 503)
        status, page = service.request("GET", "/dm/main/?lang=en")
        self.assertEqual((status, b"The database is damaged" in page), (503, True))
        self.assertEqual(service.execute(sale("new"))["res"], 1082)
        self.assertEqual(self.path.read_bytes(), before)
        return service

    def test_damaged_and_restored(self) -> None:
        """Cut off, emptied, with a broken page, or no database at all: the service says so; restored it sells on."""
        self.sold()
        content = self.path.read_bytes()
        with closing(sqlite3.connect(self.path)) as db:
            (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'claim'").fetchone()
        broken = content[: (page - 1) * 4096] + b"\xff" * 4096 + content[page * 4096 :]
        for damaged in (content[: len(content) // 2], b"", LETTER, broken):
            self.path.write_bytes(damaged)
            service = self.start_damaged()
            if damaged is broken:
                # What can be found is answered; that something is not found proves nothing.
                self.assertEqual(service.execute({"device": "test", "tag": "sold"})["info"]["docno"], "2")
                self.assertEqual(service.execute({"device": "test", "tag": "never"})["res"], 1082)
            self.assertEqual(service.stop(), 0)
            self.assertEqual(self.path.read_bytes(), damaged)
        [backup] = (self.folder / "state" / "backups").glob("*.tar.gz")
        self.command("restore", str(backup), "--yes")
        service = self.run_service()
        self.assertEqual(service.execute({"device": "test", "tag": "sold"})["info"]["docno"], "2")
        self.assertEqual(service.execute(sale("next"))["info"]["docno"], "3")


class LookTests(WebCase):
    """The look at every page."""

    def test_whole(self) -> None:
        """The status for a whole file is 0, for a damaged one 1 with the first fault, for a missing file 1."""
        folder = self.shop.state
        whole, letter = folder / "whole.db", folder / "letter.db"
        with closing(sqlite3.connect(whole)) as db, db:
            db.execute("CREATE TABLE a (b)")
            self.assertEqual(quick_look(db), "")
        letter.write_bytes(LETTER)
        with mock.patch.object(os, "nice", create=True), redirect_stdout(io.StringIO()) as told:
            self.assertEqual([main(str(path)) for path in (whole, letter)], [0, 1])
        self.assertEqual(told.getvalue(), "\nfile is not a database\n")

    def test_signs(self) -> None:
        """A full disk is damage at a start alone; another service, or tables of others, are none at all."""
        for text, start, running in (
            ("database disk image is malformed", True, True),
            ("file is not a database", True, True),
            ("database or disk is full", True, False),
            ("attempt to write a readonly database", True, False),
            ("another service uses this database", False, False),
            ("table device already exists", False, False),
        ):
            self.assertEqual((means_damage(text), means_broken_pages(text)), (start, running), text)
