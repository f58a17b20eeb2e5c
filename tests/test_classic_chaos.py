"""An old till sells over a line with faults, through a service that dies: each receipt is there once."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Callable
from typing import Any, ClassVar

from protocols.errors import WireError
from protocols.registers.datecs import classic
from protocols.registers.troubles import DeviceRefused
from tests.test_classic import UNASKED
from tests.till_desk import Killed, Kills, TillCase

RECEIPTS = int(os.environ.get("DMTWISTED_TILL_RECEIPTS", "500"))
"""2,000 with several seeds were run by hand."""

SEED = int(os.environ.get("DMTWISTED_TILL_SEED", "25"))


class ChaosTests(TillCase):
    """Bytes are lost and damaged both ways, lines break, the tax service is away, the service is killed."""

    settings: ClassVar[dict[str, Any]] = {"rounding_step": 0, "offline_allowed": False}

    def setUp(self) -> None:
        super().setUp()
        self.chance = random.Random(SEED)
        self.program(1, 2550)
        self.program(2, 990, "Б", "Вода")
        self.kills = Kills(self)
        self.kills.at(0)
        self.expected, self.closing = 0, False

    def spoil_answer(self, data: bytes, hang_up: Callable[[], None]) -> bytes:
        """Lose, cut, damage or lengthen an answer, or break its line."""
        lot = self.chance.random()
        if lot > 0.06 or not data:
            return data
        place = self.chance.randrange(len(data))
        if lot < 0.01:
            hang_up()
            return b""
        if lot < 0.02:
            return b""
        if lot < 0.03:
            return data[:place]
        if lot < 0.04:
            return b"\x7f" * 20 + data
        return data[:place] + bytes([data[place] ^ 0x22]) + data[place + 1 :]

    def spoil_command(self, data: bytes) -> bytes:
        """The same on the other way."""
        place = self.chance.randrange(len(data))
        return data[:place] + self.chance.choice((b"", b"\x41", b"\x20\x20")) + data[place + 1 :]

    def sell_one(self) -> tuple[int, str]:
        """A receipt; what it comes to, and the form of its payment."""
        total, form = 0, self.chance.choice("PPPC")
        self.do(classic.Open())
        for _ in range(self.chance.randrange(1, 4)):
            article = self.chance.choice((1, 2))
            self.do(
                classic.Sell(article, self.chance.choice((1000, 1500, 2000)), percent=self.chance.choice((0, -500)))
            )
        total = self.do(classic.Subtotal()).total
        self.expected = total
        self.do(classic.Pay(form, total))
        self.closing = True
        self.do(classic.Close())
        return total, form

    def calm(self) -> bool:
        """Nothing goes wrong any more; whether the service was killed."""
        self.spoil, self.desk.spoil = None, None
        self.kills.at(0)
        self.shop.scenario()
        killed = bool(self.flushLoggedErrors(Killed))
        if killed:
            self.crash()
        self.clock.advance(30)
        return killed

    def find_out(self) -> None:
        """What a till does after a failure, one of several ways; in the end nothing is open."""
        way = self.chance.randrange(4)
        if self.till.link.gone:
            self.connect()
            if way == 0 and self.closing:
                with contextlib.suppress(DeviceRefused):
                    self.do(classic.Close(), again=True)
            else:
                self.desk.done(self.till.greet())
        if way == 1:
            with contextlib.suppress(DeviceRefused):
                self.do(classic.Close())
        if way == 2:
            with contextlib.suppress(DeviceRefused):
                self.do(classic.Open())
        if self.do(classic.ReadReceipt()).open:
            state = self.do(classic.ReadReceipt())
            self.do(classic.Close() if state.paid >= state.total > 0 else classic.Cancel())

    def test_receipts(self) -> None:
        """Ledger of the tax service, our store and the sums that the till reads agree after every receipt."""
        failed = killed = doubled = lost = 0
        for _ in range(RECEIPTS):
            before, ledger = sum(self.forms()), len(self.sales())
            self.spoil, self.expected, self.closing = self.spoil_answer, 0, False
            if self.chance.random() < 0.2:
                self.desk.spoil = self.spoil_command
            lot = self.chance.random()
            if lot < 0.15:
                self.kills.at(self.chance.randrange(1, 20))
            elif lot < 0.25:
                rules = {"on": "sale", "then": self.chance.choice(("lost_after", "lost_before", "unreachable"))}
                self.shop.scenario(rules, *([UNASKED] * self.chance.randrange(2)))
            try:
                total, _ = self.sell_one()
            except (WireError, DeviceRefused):
                total = 0
                failed += 1
            killed += self.calm()
            if not total or self.till.link.gone:
                self.find_out()
            grown, more = sum(self.forms()) - before, self.sales()[ledger:]
            if total:
                self.assertEqual(grown, total)
            self.assertIn(grown, (0, self.expected))
            doubled += len(more) > 1
            lost += sum(more) != grown
            self.assertEqual(self.state().totals.base_p, sum(self.sales()))
        self.assertEqual((doubled, lost), (0, 0))
        self.assertGreater(failed, RECEIPTS // 20)
        self.assertGreater(killed, RECEIPTS // 100)
        self.assertLess(failed, RECEIPTS)
