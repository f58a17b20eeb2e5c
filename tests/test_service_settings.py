"""The settings of the service: typed, kept, and changed member by member."""

from __future__ import annotations

from typing import Any

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import BadSettings
from dmtwisted.secrets import Secrets
from dmtwisted.service_settings import ServiceSettings, Settings
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import Change, StoreFailed
from tests.specification import promises
from tests.test_access import AtOnce


class ServiceSettingsTests(AtOnce):
    """Reading and changing."""

    def setUp(self) -> None:
        """The settings of a fresh service."""
        self.store, self.secrets = MemoryStore(), Secrets(None)
        self.run_now(self.store.open())
        self.settings = self.opened()

    def opened(self) -> ServiceSettings:
        """The settings as a service finds them that starts now."""
        settings = ServiceSettings(self.store, self.secrets, ServiceClock(Clock()))
        self.run_now(settings.open())
        return settings

    def change(self, **changes: Any) -> Settings:
        """The settings after a change that is taken; a service that starts now finds the same."""
        after = self.run_now(self.settings.change(changes))
        self.assertEqual((self.settings.now, self.opened().now), (after, after))
        return after

    def refused(self, **changes: Any) -> str:
        """The member that a change is refused for; nothing is changed."""
        before = self.settings.now
        path: str = self.failure_of(self.settings.change(changes), BadSettings).path
        self.assertEqual(self.settings.now, before)
        self.assertRaises(BadSettings, self.settings.check, changes)
        return path

    @promises("1.11a.1", "1.11b.1", "8.receipt-retention", "8.operation-retention")
    def test_defaults(self) -> None:
        """Receipts are kept for 40 days and terminal operations for 90 by default."""
        now = self.settings.now
        self.assertEqual((now.packdays, now.paydays, now.logdays), (40, 90, 7))
        self.assertEqual((now.pf_charcount, now.pf_charwidth, now.pf_astext, now.token), (48, 12, False, ""))

    @promises("1.11.1.1", "1.11.1.2")
    def test_changed(self) -> None:
        """What is named changes and stays changed; everything else is as it was."""
        self.assertEqual(self.change(packdays=100), Settings(packdays=100))
        self.assertEqual(self.change(paydays=200, pf_aspdf=True), Settings(packdays=100, paydays=200, pf_aspdf=True))
        self.assertEqual(self.change(), Settings(packdays=100, paydays=200, pf_aspdf=True))

    def test_both_spellings(self) -> None:
        """`extAccess` and `extaccess` are the same setting."""
        self.assertFalse(self.change(extaccess=False).extAccess)
        self.assertTrue(self.change(extAccess=True).extAccess)

    def test_spelled_as_text(self) -> None:
        """Numbers and booleans may come as text, as clients write them, and become numbers and booleans."""
        after = self.change(logdays="30", pf_charcount="42", pf_astext="1", pf_asimage="true", extaccess="0")
        self.assertEqual(
            after, Settings(logdays=30, pf_charcount=42, pf_astext=True, pf_asimage=True, extAccess=False)
        )
        self.assertEqual(
            self.change(pf_astext=0, pf_asimage=""), Settings(logdays=30, pf_charcount=42, extAccess=False)
        )

    def test_not_named(self) -> None:
        """`null`, an empty text for a number, and unknown names change nothing."""
        self.change(logdays=9, supmail="a@b")
        after = self.change(logdays="", packdays=None, supmail=None, unknown=1, usr_login="x", pf_custom="")
        self.assertEqual(after, Settings(logdays=9, supmail="a@b"))

    def test_emptied(self) -> None:
        """A text can be emptied."""
        self.change(supmail="a@b")
        self.assertEqual(self.change(supmail="").supmail, "")

    def test_refused(self) -> None:
        """What does not fit is refused by its name, and nothing of the change is done."""
        for name, value in (
            ("warn_unknown", "sometimes"),
            ("warn_unknown", True),
            ("known_members", []),
            ("logdays", 0),
            ("packdays", -1),
            ("paydays", 3651),
            ("logdays", "seven"),
            ("logdays", True),
            ("logdays", 1.5),
            ("logdays", []),
            ("pf_charcount", 10),
            ("pf_astext", "perhaps"),
            ("pf_astext", 2),
            ("supmail", 5),
            ("supmail", "x" * 1001),
            ("token", "x" * 1001),
        ):
            self.assertEqual(self.refused(supportive=1, pf_aspdf=True, **{name: value}), name, (name, value))

    def test_own_form(self) -> None:
        """The shop's own form stays until it is taken away by name."""
        self.assertEqual(self.change(pf_custom="{{ shop }}").pf_custom, "{{ shop }}")
        self.assertEqual(self.change(pf_custom="", pf_del_custom=False).pf_custom, "{{ shop }}")
        self.assertEqual(self.change(pf_custom="", pf_del_custom=True).pf_custom, "")

    def test_token(self) -> None:
        """The token is kept sealed, is read by the service, and stays when an empty one is sent back."""
        self.change(token="sesame")
        self.assertEqual(self.opened().token, "sesame")
        self.assertNotIn(b"sesame", self.run_now(self.store.settings())["service"])
        self.change(token="", logdays=8)
        self.assertEqual(self.settings.token, "sesame")

    def test_longest_token(self) -> None:
        """The seal does not count for the length of a token: other changes are still taken after it."""
        self.change(token="x" * 1000)
        self.change(logdays=8)
        self.assertEqual(self.settings.token, "x" * 1000)

    def test_store_fails(self) -> None:
        """A change that was not confirmed is not believed; the next one starts from what is kept."""
        self.change(logdays=8)
        self.store.broken = True
        self.failure_of(self.settings.change({"logdays": 9}), StoreFailed)
        self.assertEqual(self.settings.now.logdays, 8)
        self.store.broken = False
        self.run_now(self.store.change_settings({"service": msgspec.json.encode(Settings(logdays=9))}))
        self.assertEqual(self.change(packdays=50), Settings(logdays=9, packdays=50))

    def test_at_the_same_time(self) -> None:
        """Two changes at once are both kept."""
        waiting: list[Deferred[None]] = []
        kept = self.store.change_settings

        async def slowly(changes: dict[str, bytes], change: Change | None) -> None:
            held: Deferred[None] = Deferred()
            waiting.append(held)
            await held
            await kept(changes, change)

        self.patch(self.store, "change_settings", slowly)
        first = Deferred.fromCoroutine(self.settings.change({"logdays": 8}))
        second = Deferred.fromCoroutine(self.settings.change({"packdays": 41}))
        self.assertEqual(len(waiting), 1)
        waiting.pop().callback(None)
        self.successResultOf(first)
        waiting.pop().callback(None)
        self.assertEqual(self.successResultOf(second), Settings(logdays=8, packdays=41))

    def test_later_version(self) -> None:
        """Settings of a later version are read as far as they are known."""
        self.run_now(self.store.change_settings({"service": b'{"logdays":8,"something":1}'}))
        self.assertEqual(self.opened().now, Settings(logdays=8))

    def test_damaged(self) -> None:
        """Settings that cannot be read stop the start."""
        self.run_now(self.store.change_settings({"service": b'{"logdays":"x"}'}))
        self.failure_of(ServiceSettings(self.store, self.secrets, ServiceClock(Clock())).open(), StoreFailed)
