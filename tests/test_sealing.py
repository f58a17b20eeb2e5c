"""Secrets in the settings of devices cannot be read from the database alone."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import msgspec
from twisted.internet.defer import Deferred

from dmtwisted.conformance.nexo_stand import POI
from dmtwisted.devices.sealing import SEALED, in_clear
from dmtwisted.secrets import KEY_FILE
from dmtwisted.store.sqlite import writer
from dmtwisted.terminals.nexo.settings import DRIVER
from tests.certificates import make_certificate, make_key, pem
from tests.rights import OWNER_ONLY
from tests.shop import MORNING
from tests.test_service_process import ProcessCase
from tests.test_writer import ask, run, set_up
from tests.web_case import DEVICES, WebCase
from web.site import Door

SECRETS = {"passphrase": "сезам-відчинись", "key_identifier": "shop-key-7"}
ROOT = pem(make_certificate(MORNING, make_key(), is_authority=True)).decode()
SETTINGS = {"host": "192.0.2.1", "poi_id": POI, "ca": ROOT, "key_version": 3, **SECRETS}
CARD = {"device": "card", "kind": "terminal", "driver": "nexo", "settings": SETTINGS}


class SealingTests(WebCase):
    """A terminal with a shared key, in a service that restarts and loses its key file."""

    def make(self, **settings: Any) -> str:
        """The path of a new nexo terminal."""
        answer = self.request("POST", DEVICES, {**CARD, "settings": {**SETTINGS, **settings}})
        self.assertEqual(answer.status, 201, answer.body)
        return f"{DEVICES}/{answer.json['dev_id']}"

    def row(self) -> Any:
        """The terminal's row in the store."""
        [row] = [row for row in self.done(self.shop.store.devices()) if row.name == "card"]
        return row

    def done(self, work: Any) -> Any:
        """The result of ``work``, which must not wait."""
        return self.successResultOf(Deferred.fromCoroutine(work))

    def settings(self) -> Any:
        """The settings that the terminal works with."""
        return self.shop.core.devices.by_name("card").settings

    def assertSealed(self) -> None:
        """The store has both secrets, and neither can be read."""
        kept = msgspec.json.decode(self.row().settings)
        for name, secret in SECRETS.items():
            self.assertEqual(set(kept[name]), {SEALED})
            self.assertNotIn(secret.encode(), self.row().settings)
        self.assertFalse(in_clear(DRIVER, self.row().settings))

    def restart(self) -> None:
        """Stop the service and start it again, with the same store and folder."""
        self.shop.crash()
        self.door = Door(self.shop.core)

    def test_added(self) -> None:
        """A new device's secrets are sealed before they are stored; the driver uses them, no answer shows them."""
        path = self.make()
        self.assertSealed()
        self.assertEqual(self.settings().passphrase, SECRETS["passphrase"])
        shown = self.request("GET", path)
        self.assertEqual(set(shown.json["settings"]) & set(SECRETS), set())
        self.assertEqual(shown.json["settings"]["key_version"], 3)
        page = self.request("GET", f"/dm/devices/{self.row().dev_id}")
        self.assertEqual(page.status, 200)
        for answer in (shown, page):
            self.assertNotIn(SEALED, str(shown.json["settings"]))
            for secret in SECRETS.values():
                self.assertNotIn(secret.encode(), answer.body)

    def test_key_file(self) -> None:
        """The key is in the state folder, and only its owner may read it."""
        self.make()
        file = self.shop.state / KEY_FILE
        if os.name == "posix":
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), OWNER_ONLY)

    def test_restart(self) -> None:
        """After a restart the driver has the secrets again."""
        self.make()
        self.restart()
        self.assertEqual(self.settings().passphrase, SECRETS["passphrase"])
        self.assertEqual(self.settings().key_identifier, SECRETS["key_identifier"])
        self.assertSealed()

    def test_change_of_something_else(self) -> None:
        """A change without a secret leaves the secrets as they were."""
        path = self.make()
        answer = self.request("PATCH", path, {"settings": {"currency": "EUR"}})
        self.assertEqual((answer.status, answer.json["settings"]["currency"]), (200, "EUR"))
        self.assertEqual(self.settings().passphrase, SECRETS["passphrase"])
        self.assertSealed()
        self.restart()
        self.assertEqual((self.settings().passphrase, self.settings().currency), (SECRETS["passphrase"], "EUR"))

    def test_change_of_a_secret(self) -> None:
        """A new secret replaces the old one; an empty text removes it."""
        path = self.make()
        self.assertEqual(self.request("PATCH", path, {"settings": {"passphrase": "another"}}).status, 200)
        self.assertNotIn(b"another", self.row().settings)
        self.restart()
        # A change waits for a question to the device.
        self.shop.core.observing.stop()
        self.assertEqual(self.settings().passphrase, "another")
        self.request("PATCH", path, {"settings": {"passphrase": "", "key_identifier": ""}})
        self.assertEqual(msgspec.json.decode(self.row().settings)["passphrase"], "")

    def test_sealed_by_the_caller(self) -> None:
        """A secret that looks like a sealed one is refused, so that a seal cannot be copied from elsewhere."""
        path = self.make()
        sealed = msgspec.json.decode(self.row().settings)["passphrase"]
        answer = self.request("PATCH", path, {"settings": {"passphrase": sealed}})
        self.assertEqual((answer.status, answer.json["errors"][0]["path"]), (422, "settings.passphrase"))
        other = {**CARD, "device": "other", "settings": {**SETTINGS, "passphrase": sealed}}
        answer = self.request("POST", DEVICES, other)
        self.assertEqual((answer.status, answer.json["errors"][0]["path"]), (422, "settings.passphrase"))

    def test_moved(self) -> None:
        """A sealed secret belongs to its device and member: in another row it cannot be unsealed."""
        self.make()
        self.request("POST", DEVICES, {**CARD, "device": "other"})
        rows = {row.name: row for row in self.done(self.shop.store.devices())}
        self.done(self.shop.store.change_device(rows["other"].n, "other", rows["card"].settings))
        self.restart()
        self.flushLoggedErrors()
        state = self.request("GET", f"{DEVICES}/{rows['other'].dev_id}").json["state"]
        self.assertIn("damaged", state["error"])

    def test_rows_in_clear(self) -> None:
        """Secrets that an earlier version stored unsealed work, and are sealed at the next start."""
        store = self.shop.store
        self.done(store.add_device("old", "card", "terminal", "nexo", json.dumps(SETTINGS).encode()))
        self.assertTrue(in_clear(DRIVER, self.row().settings))
        self.restart()
        self.assertEqual(self.settings().passphrase, SECRETS["passphrase"])
        self.assertSealed()
        self.restart()
        self.assertEqual(self.settings().passphrase, SECRETS["passphrase"])

    def test_rows_in_clear_and_no_disk(self) -> None:
        """If they cannot be sealed they stay as they are, and the terminal works."""
        store = self.shop.store
        self.done(store.add_device("old", "card", "terminal", "nexo", json.dumps(SETTINGS).encode()))
        (self.shop.state / KEY_FILE).write_text("no key at all", "utf-8")
        self.restart()
        self.assertEqual(self.settings().passphrase, SECRETS["passphrase"])
        self.assertTrue(in_clear(DRIVER, self.row().settings))

    def test_key_file_lost(self) -> None:
        """Without the key file the terminal reports that and refuses with 430; the rest of the service works."""
        path = self.make()
        (self.shop.state / KEY_FILE).unlink()
        self.restart()
        self.flushLoggedErrors()
        self.assertIn(KEY_FILE, self.request("GET", path).json["state"]["error"])
        self.assertNotIn(SEALED, self.request("GET", path).json["settings"].__repr__())
        answer = self.execute({"device": "card", "type": 3, "pay": {"task": 1, "sum": 1}})
        self.assertEqual((answer["res"], answer["info"]), (430, {}))
        self.assertIn(KEY_FILE, answer["errortxt"])
        self.assertEqual(self.open_shift()["res"], 0)
        # A lost secret that stays lost does not count as a change.
        answer = self.request("PATCH", path, {"settings": {"passphrase": "new"}})
        self.assertEqual((answer.status, answer.json["errors"][0]["path"]), (422, "settings.key_identifier"))

    def test_entered_anew(self) -> None:
        """A lost key is repaired by entering the secrets again, or by restoring the file."""
        path = self.make()
        file = self.shop.state / KEY_FILE
        kept = file.read_bytes()
        file.unlink()
        self.restart()
        file.write_bytes(kept)
        self.restart()
        self.assertEqual(self.settings().passphrase, SECRETS["passphrase"])
        file.unlink()
        self.restart()
        self.assertEqual(self.request("PATCH", path, {"settings": SECRETS}).status, 200)
        self.assertEqual(self.settings().passphrase, SECRETS["passphrase"])
        self.assertSealed()
        self.restart()
        self.assertEqual(self.settings().passphrase, SECRETS["passphrase"])
        self.flushLoggedErrors()

    def test_driver_gone(self) -> None:
        """If the driver of a device is gone, no secret of it is shown, sealed or not."""
        settings = json.dumps({"host": "h", "password": "246813", "passphrase": {SEALED: "s1.x"}}).encode()
        self.done(self.shop.store.add_device("gone", "card", "terminal", "gone", settings))
        self.restart()
        self.flushLoggedErrors()
        answer = self.request("GET", f"{DEVICES}/gone")
        self.assertIn("no driver", answer.json["state"]["error"])
        for secret in (b"246813", b"s1.x"):
            self.assertNotIn(secret, answer.body)


class FileTests(ProcessCase):
    """The files of a service."""

    def test_no_secret(self) -> None:
        """After a device was added, kept over a restart and changed, only the key file contains a secret."""
        service = self.run_service()
        status, answer = service.request("POST", DEVICES, CARD)
        self.assertEqual(status, 201, answer)
        service.stop()
        service = self.run_service()
        path = service.device("card")
        self.assertEqual(json.loads(service.request("GET", path)[1])["state"].get("error"), None)
        self.assertEqual(service.request("PATCH", path, {"settings": {"key_version": 4}})[0], 200)
        service.process.kill()
        service.wait()
        service.wait_for_writer()
        found = {file: file.read_bytes() for file in self.folder.rglob("*") if file.is_file()}
        self.assertTrue(any(b"192.0.2.1" in content for content in found.values()))
        for secret in SECRETS.values():
            self.assertEqual([file for file, content in found.items() if secret.encode() in content], [])


class WipingTests(ProcessCase):
    """Readable secrets of an earlier version."""

    def test_replaced(self) -> None:
        """The replaced text is overwritten in the file, however long it is; a removed device's too."""
        file: Path = self.folder / "dm.db"
        database = writer.connect(str(file))
        self.addCleanup(database.close)
        set_up(database)
        # As some builds of SQLite do from the start: else it leaves copies of what it moves within a page.
        database.execute("PRAGMA secure_delete=ON").fetchall()
        for size in (100, 20_000):
            clear = json.dumps({"password": "246813", "ca": "x" * size}).encode()
            run(database, ask(1, "add_device", f"a{size}", f"a{size}", "terminal", "zvt", clear))
            run(database, ask(2, "add_device", f"b{size}", f"b{size}", "terminal", "zvt", clear))
        self._checkpoint(database)
        self.assertEqual(file.read_bytes().count(b"246813"), 4)
        for n in (1, 3):
            run(database, ask(3, "change_device", n, f"c{n}", b"{}"), ask(4, "remove_device", n + 1))
        self._checkpoint(database)
        self.assertEqual(file.read_bytes().count(b"246813"), 0)

    @staticmethod
    def _checkpoint(database: Any) -> None:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
