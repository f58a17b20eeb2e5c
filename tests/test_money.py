"""Money is whole kopecks: how numbers are read, rounded and written."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import floor

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.money import (
    LARGEST,
    NotANumber,
    decimal_text,
    half_up,
    hryvnias,
    kopecks,
    number,
    scaled,
    thousandths,
)
from tests.specification import promises


class NumberTests(SynchronousTestCase):
    """Which texts are numbers."""

    def test_numbers(self) -> None:
        """A JSON number is read as it is."""
        for value in (0, -7, 10**40, Decimal("12.50"), Decimal("1E+3")):
            self.assertIs(number(value), value)

    @promises("2.2.typing.2")
    def test_texts(self) -> None:
        """A text with a number is that number; it may have a sign, blanks around it and an exponent."""
        for text, meant in (
            ("12", "12"),
            ("12.50", "12.5"),
            (" 7 ", "7"),
            ("+5", "5"),
            ("-0.01", "-0.01"),
            (".5", "0.5"),
            ("5.", "5"),
            ("1e3", "1000"),
            ("25E-1", "2.5"),
        ):
            self.assertEqual(number(text), Decimal(meant), text)

    @promises("2.2.typing.5")
    def test_no_numbers(self) -> None:
        """Everything else is not a number: words, two points, commas, digits of other scripts, booleans."""
        for value in (
            *("", " ", "abc", "1.2.3", "1,5", "1 000", "1_000", "0x10", "--1", ".", "-", "e5", "1e", "1e1234"),
            *("NaN", "inf", "Infinity", "١٢", "１", "²", "1" * 41, "0." + "0" * 39),
            *(True, False, None, [], {}, [1], {"a": 1}, 1.5, b"1"),
        ):
            self.assertRaises(NotANumber, number, value)


class ScaledTests(SynchronousTestCase):
    """Numbers as kopecks and thousandths."""

    def test_kopecks(self) -> None:
        """An amount in hryvnias becomes kopecks, whether it is a number or a text."""
        for value, whole in (
            (0, 0),
            (12, 1200),
            ("12", 1200),
            ("12.5", 1250),
            (Decimal("12.50"), 1250),
            (Decimal("79.83"), 7983),
            (-3, -300),
            ("-0.03", -3),
            (Decimal("1E+2"), 10000),
        ):
            self.assertEqual(kopecks(value), whole, value)

    def test_thousandths(self) -> None:
        """A quantity becomes thousandths."""
        for value, whole in ((1, 1000), ("0.125", 125), (Decimal("1.25"), 1250), ("2.0", 2000)):
            self.assertEqual(thousandths(value), whole, value)

    def test_halves(self) -> None:
        """A half is rounded away from zero, less than a half towards it."""
        for value, whole in (
            ("0.005", 1),
            ("-0.005", -1),
            ("0.015", 2),
            ("0.0049", 0),
            ("-0.0049", 0),
            ("1.005", 101),
            ("2.675", 268),
            ("-2.675", -268),
        ):
            self.assertEqual(kopecks(value), whole, value)

    def test_dust(self) -> None:
        """Digits left by a till's binary arithmetic change nothing."""
        self.assertEqual(kopecks(Decimal("0.30000000000000004")), 30)
        self.assertEqual(kopecks(Decimal("79.82999999999999829469743417575955390930")), 7983)
        self.assertEqual(kopecks(Decimal("1E-300")), 0)

    def test_rounded_once(self) -> None:
        """A row of nines just below a half stays below it, however long it is."""
        self.assertEqual(kopecks("0.0049999999999999999999999999999999999"), 0)
        self.assertEqual(kopecks(Decimal("-0.004" + "9" * 60)), 0)
        self.assertEqual(kopecks(Decimal("1.005" + "0" * 60 + "1")), 101)

    def test_largest(self) -> None:
        """Ten trillion hryvnias are accepted, a kopeck more is not, positive or negative."""
        largest = Decimal(LARGEST) / 100
        self.assertEqual((kopecks(largest), kopecks(-largest)), (LARGEST, -LARGEST))
        self.assertEqual(kopecks(LARGEST // 100), LARGEST)
        for value in (largest + Decimal("0.01"), -largest - Decimal("0.01"), LARGEST // 100 + 1):
            self.assertRaises(NotANumber, kopecks, value)

    def test_out_of_all_proportion(self) -> None:
        """A number of absurd size is refused at once, without calculating it."""
        for value in (10**400, "1e999", Decimal("1E+999999999999999999"), Decimal("-1E+400")):
            self.assertRaises(NotANumber, kopecks, value)

    def test_reason(self) -> None:
        """A refusal gives the reason: not a number, or too large."""
        self.assertEqual(str(self.assertRaises(NotANumber, kopecks, "abc")), "a number is expected")
        self.assertEqual(str(self.assertRaises(NotANumber, kopecks, "1e30")), "the number is too large")

    @given(
        st.decimals(min_value=-(10**12), max_value=10**12, allow_nan=False, allow_infinity=False),
        st.sampled_from((100, 1000)),
    )
    def test_any(self, value: Decimal, factor: int) -> None:
        """Any number is rounded as fractions are: once, with halves away from zero."""
        exact = Fraction(value) * factor
        expected = floor(abs(exact) + Fraction(1, 2))
        self.assertEqual(scaled(value, factor), expected if exact >= 0 else -expected)

    @given(st.integers(-LARGEST, LARGEST))
    def test_there_and_back(self, whole: int) -> None:
        """An amount written in an answer is read back as the same amount."""
        self.assertEqual(kopecks(decimal_text(whole, 2)), whole)
        self.assertEqual(kopecks(hryvnias(whole)), whole)
        self.assertEqual(thousandths(decimal_text(whole, 3)), whole)


class HalfUpTests(SynchronousTestCase):
    """Division with one rounding."""

    def test_examples(self) -> None:
        """Halves are rounded away from zero; everything else to the nearest integer."""
        for numerator, denominator, quotient in (
            (0, 7, 0),
            (1, 2, 1),
            (-1, 2, -1),
            (1, 3, 0),
            (2, 3, 1),
            (-2, 3, -1),
            (5, 2, 3),
            (-5, 2, -3),
            (10**30 + 1, 2, 5 * 10**29 + 1),
        ):
            self.assertEqual(half_up(numerator, denominator), quotient)

    @given(st.integers(), st.integers(min_value=1))
    def test_any(self, numerator: int, denominator: int) -> None:
        """Any quotient is rounded as the exact fraction is."""
        expected = floor(Fraction(abs(numerator), denominator) + Fraction(1, 2))
        self.assertEqual(half_up(numerator, denominator), expected if numerator >= 0 else -expected)


class TextTests(SynchronousTestCase):
    """How amounts are written."""

    @promises("2.3.fraction.1")
    def test_fraction_is_kept(self) -> None:
        """A number in an answer always has a fraction, without trailing zeros."""
        for whole, places, text in (
            (0, 2, "0.0"),
            (1, 2, "0.01"),
            (10, 2, "0.1"),
            (200, 2, "2.0"),
            (1250, 2, "12.5"),
            (1255, 2, "12.55"),
            (-5, 2, "-0.05"),
            (-100, 2, "-1.0"),
            (125, 3, "0.125"),
            (1000, 3, "1.0"),
            (10**15, 2, "10000000000000.0"),
        ):
            self.assertEqual(decimal_text(whole, places), text)

    def test_for_people(self) -> None:
        """For people an amount always has two decimals."""
        for whole, text in ((0, "0.00"), (5, "0.05"), (1250, "12.50"), (-3, "-0.03"), (-1250, "-12.50")):
            self.assertEqual(hryvnias(whole), text)

    def test_spelling_is_json(self) -> None:
        """A written amount has neither a plus nor an exponent, however large or small it is."""
        written: tuple[Callable[[int], str], ...] = (lambda whole: decimal_text(whole, 2), hryvnias)
        for write in written:
            for whole in (1, -1, LARGEST, -LARGEST):
                self.assertRegex(write(whole), r"^-?(0|[1-9][0-9]*)\.[0-9]{1,2}$")
