"""Backups that a page asks for: made in the background, listed, and handed out to the owner alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from twisted.internet.defer import Deferred

from dmtwisted import backups
from dmtwisted.backups import BackupProgress, Backups, Order
from dmtwisted.config import BACKUPS as FOLDER
from dmtwisted.store.carry.archive import FORMAT, Manifest, read_manifest, write_archive
from tests.rights import OWNER_ONLY
from tests.test_service_process import ProcessCase, until
from tests.test_sessions import SETTINGS, AccessCase
from tests.web_case import HttpAnswer, sale
from web.gate import is_at_the_machine

BACKUPS = "/dm/api/v3/backups"
NAME = "dmtwisted-20260921-090000.tar.gz"
PAGE = "/dm/main/settings/database"


class BackupCase(AccessCase):
    """A service with a folder of backups."""

    def setUp(self) -> None:
        """One backup, one that is damaged, and files that are none."""
        super().setUp()
        self.folder: Path = self.shop.state / FOLDER
        self.folder.mkdir()
        manifest = Manifest(FORMAT, 1_790_000_000_000, "0", "1", "SQLite", None, {}, {})
        write_archive(self.folder / NAME, manifest, self.folder, lambda _: None)
        (self.folder / "broken.tar.gz").write_bytes(b"nothing")
        (self.folder / "other.txt").write_text("secret", "utf-8")
        (self.folder / "link.tar.gz").symlink_to(self.folder / "other.txt")

    def get_from(self, address: str, name: str, *headers: tuple[str, str]) -> HttpAnswer:
        """The answer to a caller from another address."""
        connection = self.connect_from(address)
        connection.ask("GET", f"{BACKUPS}/{name}", headers=headers)
        for _ in range(20):
            self.shop.clock.advance(0)
        [answer] = connection.answers()
        return answer


class DownloadTests(BackupCase):
    """What leaves the machine, and what does not."""

    def test_without_login(self) -> None:
        """Without a login there is no download, not even at this machine."""
        code = ("X-Presence-Code", self.shop.core.access.presence.code)
        for address, headers in (("127.0.0.1", ()), ("192.168.1.20", (code,))):
            answer = self.get_from(address, NAME, *headers)
            self.assertEqual(answer.status, 403)
            self.assertIn("only when the login is switched on", answer.json["errortxt"])

    def test_with_login(self) -> None:
        """With a login a session is needed; over the network also HTTPS."""
        self.switch_on()
        cookie = self.cookie()
        self.assertTrue(self.is_blocked(self.get_from("127.0.0.1", NAME)))
        refused = self.get_from("192.168.1.20", NAME, cookie)
        self.assertEqual(refused.status, 403)
        self.assertIn("only over HTTPS", refused.json["errortxt"])

    def test_names(self) -> None:
        """No name leads out of the folder, to another file, or through a link."""
        self.switch_on()
        cookie = self.cookie()
        for name in (
            "other.txt",
            "link.tar.gz",
            "..%2f..%2fsecret.key",
            "%2e%2e",
            ".tar.gz",
            "none.tar.gz",
            "%00.tar.gz",
        ):
            self.assertEqual(self.get_from("127.0.0.1", name, cookie).status, 404, name)

    def test_address(self) -> None:
        """An unknown address is not this machine's."""

        class Asked:
            """A request from nowhere."""

            def getClientAddress(self) -> object:
                """No address."""
                return object()

        asked: Any = Asked()
        self.assertFalse(is_at_the_machine(asked))


class ListTests(BackupCase):
    """The list of backups."""

    def test_listed(self) -> None:
        """Each backup has its size and time; a damaged one says so; other files are left out."""
        told = self.request("GET", BACKUPS).json
        self.assertEqual({one["name"]: one["whole"] for one in told["backups"]}, {NAME: True, "broken.tar.gz": False})
        [good] = [one for one in told["backups"] if one["whole"]]
        self.assertEqual(good["size"], (self.folder / NAME).stat().st_size)
        self.assertEqual((told["running"], told["error"]), (None, ""))

    def test_page(self) -> None:
        """The page lists them with the command of restoring; it gives a link only to who may have one."""
        page = self.request("GET", PAGE).body.decode()
        self.assertIn(f"dmtwisted restore {self.folder}/", page)
        self.assertNotIn(f'href="{BACKUPS}', page)
        self.switch_on()
        connection = self.connect_from("127.0.0.1")
        connection.ask("GET", PAGE, headers=[self.cookie()])
        [answer] = connection.answers()
        self.assertIn(f'href="{BACKUPS}/{NAME}"', answer.body.decode())
        self.assertNotIn(f'href="{BACKUPS}/broken', answer.body.decode())

    def test_order_hides(self) -> None:
        """An order that is logged shows no password of the database."""
        self.assertEqual(repr(Order("postgresql://a:secret@b/c", "", "", 0, "")), "Order()")


class MakingTests(BackupCase):
    """How one is made."""

    def setUp(self) -> None:
        """Backups whose process is played here."""
        super().setUp()
        self.told: list[dict[str, Any]] = []
        self.backups = Backups(self.shop.core, lambda kind, **data: self.told.append({"kind": kind, **data}))
        self.ended: Deferred[bytes | None] = Deferred()
        self.heard: Any = None

        def apart(
            reactor: Any, work: str, given: bytes, wait: float, heard: Any, nice: int
        ) -> Deferred[bytes | None]:
            self.heard = heard
            return self.ended

        self.patch(backups, "apart", apart)

    def test_progress(self) -> None:
        """How far it is goes out as events, noise does not; a second one meanwhile is refused."""
        self.backups.begin()
        self.heard(b"a library says hello")
        self.heard(msgspec.json.encode(BackupProgress("copy", 5, 10)))
        self.assertEqual(self.backups.running, BackupProgress("copy", 5, 10))
        with self.assertRaisesRegex(Exception, "being made"):
            self.backups.begin()
        self.ended.callback(b"")
        self.assertEqual([(one["done"], one["ended"]) for one in self.told], [(5, False), (0, True)])
        self.assertEqual((self.backups.running, self.backups.trouble), (None, ""))

    def test_fails(self) -> None:
        """One that fails, or breaks off, says why, and the next may begin."""
        self.backups.begin()
        self.ended.callback(b"no room")
        self.assertEqual((self.backups.trouble, self.told[-1]["error"]), ("no room", "no room"))
        self.ended = Deferred()
        self.backups.begin()
        self.ended.callback(None)
        self.assertIn("interrupted", self.backups.trouble)


class ProcessTests(ProcessCase):
    """A real service."""

    def test_made(self) -> None:
        """A backup is made while the service sells, checked, listed and handed out; only its owner can read it."""
        service = self.run_service()
        self.open_shift(service)
        self.assertEqual(service.execute(sale("sale-1"))["res"], 0)
        status, told = service.request("POST", BACKUPS, {})
        self.assertEqual(status, 202, told)
        self.assertEqual(service.execute(sale("sale-2"))["res"], 0)

        def listed() -> list[Any] | None:
            told = json.loads(service.request("GET", BACKUPS)[1])
            self.assertEqual(told["error"], "")
            return None if told["running"] else told["backups"]

        # Its process gives way to all others of the machine.
        [made] = until(listed, "no backup was made", 300)
        self.assertTrue(made["whole"])
        path = self.folder / "state" / FOLDER / made["name"]
        self.assertEqual(path.stat().st_mode & 0o777, OWNER_ONLY)
        self.assertEqual(sum(mark.rows for mark in read_manifest(path).tables.values()), made["rows"])
        self.assertEqual(service.request("GET", f"{BACKUPS}/{made['name']}")[0], 403)
        members = {"usr_uiauth": True, "usr_login": "owner", "usr_pass": "a long one", "usr_confpass": "a long one"}
        self.assertEqual(json.loads(service.request("POST", SETTINGS, members)[1])["res"], 0)
        connection = service.connect()
        self.addCleanup(connection.close)
        login = json.dumps({"login": "owner", "pass": "a long one"})
        connection.request("POST", "/login", login, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        cookie = str(answer.headers["Set-Cookie"]).partition(";")[0]
        connection.request("GET", f"{BACKUPS}/{made['name']}", headers={"Cookie": cookie})
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.read()), (200, path.read_bytes()))
        self.assertEqual(
            (answer.headers["Content-Type"], answer.headers["Content-Encoding"]), ("application/gzip", None)
        )
        self.assertEqual(answer.headers["Content-Disposition"], f'attachment; filename="{made["name"]}"')
        connection.request("GET", "/dm/api/v3/changes?kind=backup", headers={"Cookie": cookie})
        told = json.loads(connection.getresponse().read())["changes"]
        self.assertEqual(
            [(one["action"], one["outcome"], one["by"], one["name"], one["subject"]) for one in told],
            [("downloaded", "done", "login", "owner", made["name"]), ("created", "done", "machine", "", "")],
        )
