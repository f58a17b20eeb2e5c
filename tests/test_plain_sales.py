"""A sale that is decoded in one step is the one that is read member by member; what is in doubt is not taken."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.lab.load import sale_body
from dmtwisted.plain_sales import plain_sale
from dmtwisted.requests import (
    LONG_BODY,
    LONGEST_ECHO,
    MAX_TAG,
    MOST_DISCOUNTS,
    MOST_PAYS,
    MOST_ROWS,
    MOST_STAMPS,
    SENT_ON_PURPOSE,
    read_json,
    read_task,
)
from dmtwisted.results import Refused
from tests import demo
from tests.test_oracle import receipts
from tests.test_requests import NUMBERS, PLACES, REQUEST, SCALARS, VALUES, Place, Raw, places, spelled, with_value
from web.openapi.tasks import ALL

PLAIN: dict[str, Any] = {
    **{name: value for name, value in REQUEST.items() if name != "fiscal"},
    "fiscal": {"task": 2, "cashier": "Оксана", "receipt": json.loads(json.dumps(REQUEST["fiscal"]["receipt"]))},
    "need_pf_txt": 2,
}
PLAIN["fiscal"]["receipt"].update(partpay_type=3, partpay_receipt_fisn="1317959")
"""A return with every member that a receipt may have, each as most tills spell it."""

PLAIN_PLACES = tuple(places(PLAIN))
NAMES = sorted(
    {step for place in (*PLACES, *PLAIN_PLACES) for step in place if isinstance(step, str)} | SENT_ON_PURPOSE
)
NEAR = st.sampled_from(["5", "50", "500001", "4999999", "49999999999999999", "50000000000000001", "9999999", ""])
HALVES = st.builds("{}{}.{}{}".format, st.sampled_from(["", "-"]), st.integers(0, 10**9), st.integers(0, 9999), NEAR)
"""Numbers that end in five, or nearly: half a kopeck, half a gram."""

VANISHING = st.sampled_from([Raw("1e-99999999999999999999"), Raw("0E+1000000000000000000")])
"""Numbers that are refused, although a binary number can be made of them."""

MARK = Raw("\1")
"""Stands for a value in a body that is written out already."""


def of_place(place: Place) -> Any:
    """The value in this place of `PLAIN`."""
    at: Any = PLAIN
    for step in place:
        at = at[step]
    return at


def read(body: bytes, batch: bool) -> tuple[bytes, list[str]] | None:
    """``body`` as it is read member by member, and the strays in it; `None` when it is refused."""
    try:
        root = read_json(body)
        return written(read_task(root, batch)), list(root.strays)
    except Refused:
        return None


def written(request: Any) -> bytes:
    """``request`` so that 0, ``false``, nothing and an empty text differ."""
    return msgspec.json.encode(msgspec.to_builtins(request))


def examples() -> Iterator[dict[str, Any]]:
    """The tasks of the documentation, and the sales of a day in the shop."""
    yield from (task.body for task in ALL)
    for _, receipt in demo.sales():
        for task in (1, 2):
            yield {"device": "test", "type": 1, "tag": "t", "fiscal": {"task": task, "receipt": receipt}}


class SameTests(SynchronousTestCase):
    """Both ways over many bodies."""

    def same(self, body: bytes) -> bool:
        """Whether ``body`` is decoded in one step; it is the same request then."""
        decoded = plain_sale(body)
        if decoded is not None:
            for batch in (False, True):
                self.assertEqual(read(body, batch), (written(decoded), []), body)
        return decoded is not None

    def test_examples(self) -> None:
        """The examples of the documentation and the sales of a day; most sales are decoded in one step."""
        taken = [
            self.same(json.dumps(body).encode())
            for body in examples()
            if body["type"] == 1 and body["fiscal"].get("task") in (1, 2)
        ]
        self.assertGreater(sum(taken), len(taken) * 3 // 4)
        self.assertTrue(self.same(sale_body("test", "t").encode()))
        self.assertTrue(self.same(json.dumps(PLAIN).encode()))
        for body in examples():
            self.same(json.dumps(body).encode())

    def test_mutated_examples(self) -> None:
        """Ten thousand bodies with a few bytes changed, removed, moved or added."""
        dice = random.Random(24)
        bodies = [json.dumps(body, ensure_ascii=False).encode() for body in (*examples(), PLAIN, PLAIN)]
        pieces = (*b'{}[]",:0123456789.eE+-\\', *map(ord, "tfn \n"))
        taken = 0
        for _ in range(10_000):
            body = bytearray(dice.choice(bodies))
            for _ in range(dice.randint(1, 2)):
                at, length = dice.randrange(len(body)), dice.choice((0, 1, 1, 2, 8))
                other = dice.randrange(len(body))
                piece = dice.choice((bytes([dice.choice(pieces)]), bytes(body[other : other + length]), b""))
                body[at : at + length] = piece
            taken += self.same(bytes(body))
        self.assertGreater(taken, 500)

    @given(receipts())
    def test_receipts(self, given: tuple[dict[str, Any], Any]) -> None:
        """Receipts in the spellings that tills have, right and wrong ones."""
        self.same(json.dumps({"type": 1, "fiscal": {"task": 1, "receipt": given[0]}}).encode())

    @settings(max_examples=1000)
    @given(st.lists(st.tuples(st.sampled_from(PLAIN_PLACES), st.one_of(SCALARS, VALUES)), min_size=1, max_size=2))
    def test_any_value(self, changes: list[tuple[Place, Any]]) -> None:
        """Any values in any places."""
        request = PLAIN
        for place, value in changes:
            try:
                request = with_value(request, place, value)
            except (KeyError, IndexError, TypeError):
                continue  # an earlier change removed the place
        self.same(spelled(request).encode())

    @settings(max_examples=500)
    @given(st.sampled_from(PLAIN_PLACES), st.sampled_from(NAMES), SCALARS)
    def test_any_name(self, place: Place, name: str, value: Any) -> None:
        """A member of any known name in any object."""
        if isinstance(of_place(place[:-1]), dict):
            self.same(spelled(with_value(PLAIN, (*place[:-1], name), value)).encode())

    @settings(max_examples=1000)
    @given(st.one_of(NUMBERS, HALVES))
    @example("0.125")
    @example("1e-99999999999999999999")
    @example("0E1000000000000000000")
    @example("999999999.999")
    @example("0.4999999999999999999999999")
    def test_any_number(self, number: str) -> None:
        """Any number as any amount, halves and what is nearly one among them."""
        for name in ("sum", "round", "disc", "partpay_sum"):
            self.same(spelled(with_value(PLAIN, ("fiscal", "receipt", name), Raw(number))).encode())
        for name in ("cnt", "price", "cost", "sum", "disc"):
            self.same(spelled(with_value(PLAIN, ("fiscal", "receipt", "rows", 0, name), Raw(number))).encode())
        for name in ("sum", "change", "commission", "type"):
            self.same(spelled(with_value(PLAIN, ("fiscal", "receipt", "pays", 0, name), Raw(number))).encode())

    @settings(max_examples=300)
    @given(
        st.sampled_from(PLAIN_PLACES),
        st.one_of(SCALARS, VANISHING),
    )
    def test_twice(self, place: Place, value: Any) -> None:
        """A member that is there twice, with its own value and with any other, in both orders."""
        name, own = place[-1], spelled(of_place(place))
        if isinstance(name, str):
            body = spelled(with_value(PLAIN, place, MARK))
            self.assertEqual(body.count(MARK.text), 1)
            for first, second in ((own, spelled(value)), (spelled(value), own)):
                self.same(body.replace(MARK.text, f'{first},"{name}":{second}').encode())

    def test_limits(self) -> None:
        """What is too long, too deep or too much is not taken."""
        for name, most in (("tag", MAX_TAG), ("device", LONGEST_ECHO)):
            self.assertTrue(self.same(json.dumps({**PLAIN, name: "я" * most}).encode()))
            self.assertFalse(self.same(json.dumps({**PLAIN, name: "я" * (most + 1)}).encode()))
        self.assertFalse(self.same(json.dumps({**PLAIN, "tag": "a\0b"}).encode()))
        row, pay = ({"name": "x", "cnt": 1, "price": 1}, {"sum": 1})
        discount = {"disc": 1}
        for place, one, most in (
            (("rows",), row, MOST_ROWS),
            (("pays",), pay, MOST_PAYS),
            (("discounts",), discount, MOST_DISCOUNTS),
            (("rows", 0, "discounts"), discount, MOST_DISCOUNTS),
            (("rows", 0, "code_aa"), "m", MOST_STAMPS),
        ):
            for count in (most, most + 1):
                body = spelled(with_value(PLAIN, ("fiscal", "receipt", *place), [one] * count)).encode()
                self.assertEqual(self.same(body), count == most, place)
        body = json.dumps(PLAIN).encode()
        self.assertTrue(self.same(body.ljust(LONG_BODY)))
        for changed in (body.ljust(LONG_BODY + 1), b"\xef\xbb\xbf" + body, body[:-1], b"", b"\xff", b"[" * 100_000):
            self.assertFalse(self.same(changed))
