"""When a document was signed, sent and answered, as the journal keeps it."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.registers import kept
from dmtwisted.registers.kept import Kept, Moments
from tests.prro_shop import PrroShop
from tests.shop import sale


class MomentsTests(SynchronousTestCase):
    """What is kept beside an operation."""

    def test_round_trip(self) -> None:
        """What is kept is read again; nothing, and what other operations keep, is nothing."""
        way = {7: Moments(1, 2, 3), 8: Moments(4)}
        self.assertEqual(kept.decode(kept.encode(Kept(way))).way, way)
        self.assertEqual(kept.encode(Kept()), b"")
        for other in (b"", b"{}", b"[]", b"\xff", b'{"way": {"x": []}}', b'{"stage": "paid"}'):
            self.assertEqual(kept.decode(other), Kept())


class JournalTests(SynchronousTestCase):
    """A register at the tax service, and one for training."""

    def setUp(self) -> None:
        """A shop with both."""
        self.prro = self.shop = PrroShop(self, "one")

    def way(self, device: str, tag: str) -> dict[int, Moments]:
        """What the journal keeps for a tag."""
        core: Any = self.shop.core
        n = core.devices.by_name(device).row.n
        found = self.successResultOf(Deferred.fromCoroutine(core.store.latest(n, "fiscal", tag)))
        assert found is not None
        return kept.decode(found.request).way

    def test_far_end(self) -> None:
        """Signing, sending and answer are kept with the operation; a Z keeps them for its closing as well."""
        self.assertEqual(self.shop.fiscal(0, "open", device="one")["res"], 0)
        now = self.shop.core.clock.now()
        self.assertEqual(self.way("one", "open"), {1: Moments(now, now, now)})
        self.assertEqual(self.shop.fiscal(11, "z", device="one")["res"], 0)
        self.assertEqual(self.way("one", "z"), {2: Moments(now, now, now), 3: Moments(now, now, now)})

    def test_lost_answer(self) -> None:
        """While the outcome is unknown there is no answer; when it was looked up, sending keeps its time."""
        self.assertEqual(self.shop.fiscal(0, "open", device="one")["res"], 0)
        first = self.shop.core.clock.now()
        self.prro.rules({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "unreachable", "times": 0})
        self.assertEqual(self.shop.fiscal(1, "sale-1", device="one", receipt=sale())["res_action"], 2)
        self.assertEqual(self.way("one", "sale-1"), {2: Moments(first, first, 0)})
        self.prro.rules()
        self.shop.clock.advance(30)
        self.assertEqual(self.shop.fiscal(1, "sale-1", device="one", receipt=sale())["res"], 0)
        self.assertEqual(self.way("one", "sale-1"), {2: Moments(first, first, self.shop.core.clock.now())})

    def test_training(self) -> None:
        """A register without a link keeps none."""
        self.assertEqual(self.shop.fiscal(0, "open")["res"], 0)
        self.assertEqual(self.way("test", "open"), {})
