"""Every quick variant of `tests.attacks`, as a test of its own, and the table that is made of all."""

from __future__ import annotations

from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from tests.attacks.command import PAGE, page
from tests.attacks.every import FAMILIES, try_variant
from tests.attacks.variants import Family, Variant
from tests.specification import SENTENCES


class DeclarationTests(SynchronousTestCase):
    """The list of variants."""

    def test_enough(self) -> None:
        """There are at least 400, each with a sentence of what must be true; no two send and expect the same."""
        every = [each for family in FAMILIES for each in family]
        self.assertGreaterEqual(len(every), 400)
        for each in every:
            self.assertRegex(each.expects, r"^.{20,250}\.$", each.id)
        told = [(each.family, each.sends, each.expects) for each in every]
        self.assertEqual(sorted({one for one in told if told.count(one) > 1}), [])

    def test_accepted(self) -> None:
        """A risk is accepted only where a sentence of the specification demands it, and that is one of part 5.3."""
        known = {sentence.id for sentence in SENTENCES}
        found = {each.openness for family in FAMILIES for each in family} - {""}
        self.assertEqual((found - known, {name[:3] for name in found}), (set(), {"5.3"}))

    def test_table(self) -> None:
        """docs/security.md has the table as ``python -m tests.attacks --table`` writes it."""
        text = PAGE.read_text("utf-8")
        self.assertEqual(text, page(text))


def tests_of(family: Family) -> type[SynchronousTestCase]:
    """The class of tests for the variants of ``family``."""

    def test_of(variant: Variant) -> Callable[[SynchronousTestCase], None]:
        def test(self: SynchronousTestCase) -> None:
            try_variant(variant, real=False)

        test.__doc__ = f"{variant.sends}: {variant.expects}"
        return test

    quick = [each for each in family if each.quick]
    tests = {f"test_{each.name.replace('-', '_')}": test_of(each) for each in quick}
    name = f"{family.name.title()}Tests"
    return type(name, (SynchronousTestCase,), {"__module__": __name__, "__doc__": family.title, **tests})


globals().update({f"{family.name.title()}Tests": tests_of(family) for family in FAMILIES})
