"""Requests of tills are read in every spelling in use; anything else is refused with the path of its member."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.requests import (
    LONGEST_ECHO,
    LONGEST_NAME,
    MAX_BODY,
    MAX_DEPTH,
    MOST_CONTENT,
    MOST_DISCOUNTS,
    MOST_LINES,
    MOST_PAYS,
    MOST_ROWS,
    MOST_STAMPS,
    MOST_STRAYS,
    MOST_VALUES,
    SENT_ON_PURPOSE,
    Customer,
    Discount,
    Members,
    PayRequest,
    ReceiptRequest,
    RowRequest,
    TaskRequest,
    echo_of,
    read_json,
    read_task,
)
from dmtwisted.results import Action, Refused, Res
from tests.language_check import english
from tests.specification import promises

Place = tuple[str | int, ...]

OBJECTS: tuple[Place, ...] = (
    ("fiscal", "receipt", "rows", 0),
    ("fiscal", "receipt", "rows", 0, "discounts", 0),
    ("fiscal", "receipt", "discounts", 0),
    ("fiscal", "receipt", "pays", 0),
)
"""Objects in arrays of a sale."""

ROW: dict[str, Any] = {
    "code": "17",
    "code1": "4820000000017",
    "code2": "0901",
    "code3": "56.10",
    "code_a": "AATE508932 0000412167",
    "code_aa": ["AATE1", "AATE2"],
    "name": "Кава",
    "cnt": 2,
    "price": 40,
    "cost": 80,
    "disc": 0.17,
    "disc_type": 0,
    "discounts": [{"disc": 10, "disc_type": 1, "disc_name": "ранкова"}],
    "taxgrp": 1,
    "comment": "без цукру",
}

PAY: dict[str, Any] = {
    "type": 0,
    "sum": 79.83,
    "change": 20.17,
    "commission": 0.5,
    "comment": "дякуємо",
    "comment_up": "вгорі",
    "comment_down": "внизу",
    "paysys": "VISA",
    "rrn": "000012345678",
    "cardmask": "414943******1234",
    "term_id": "S1K10001",
    "bank_id": "3",
    "bank_name": "Банк",
    "auth_code": "123456",
    "oper_type": "Оплата",
}

RECEIPT: dict[str, Any] = {
    "sum": 79.83,
    "round": -0.03,
    "autoround": False,
    "disc": 5,
    "disc_type": 1,
    "discounts": [{"disc": 1, "disc_type": 0, "disc_name": "постійному гостю"}],
    "comment_up": "Вітаємо",
    "comment_down": "Приходьте ще",
    "not_check_safe": True,
    "rows": [ROW],
    "pays": [PAY],
    "purchase_receipt_fisn": "TEST_1",
    "purchase_rro_fisn": "4000000001",
    "purchase_receipt_dt": "20260921",
    "partpay_type": "3",
    "partpay_sum": 15,
    "partpay_receipt_fisn": 1317959,
}

REQUEST: dict[str, Any] = {
    "ver": 6,
    "source": "каса 1",
    "device": "test",
    "tag": "t-1",
    "type": 1,
    "fiscal": {"task": 1, "cashier": "Оксана", "receipt": RECEIPT},
}
"""A sale with every member that a receipt may have."""

CASH: dict[str, Any] = {
    "device": "test",
    "type": 1,
    "fiscal": {"task": 3, "cash": {"type": 0, "sum": 100, "comment_up": "розмін"}},
}
"""A cash-in."""

CONTAINERS = ("fiscal", "receipt", "cash", "rows", "pays", "discounts", "code_aa")
"""Members that are objects or arrays."""


def read(request: Any) -> TaskRequest:
    """``request`` as the service reads it."""
    return read_task(read_json(request if isinstance(request, bytes) else json.dumps(request).encode()))


def places(value: Any, above: Place = ()) -> Iterator[Place]:
    """Every member and entry of ``value``, by its path from the root."""
    inside: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in inside:
        yield (*above, name)
        yield from places(member, (*above, name))


def with_rows(*rows: dict[str, Any]) -> dict[str, Any]:
    """A sale of ``rows``."""
    return {"type": 1, "fiscal": {"task": 1, "receipt": {"rows": list(rows)}}}


def with_value(request: dict[str, Any], place: Place, value: Any) -> dict[str, Any]:
    """A copy of ``request`` with ``value`` at ``place``."""
    changed = deepcopy(request)
    at: Any = changed
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    return changed


def without(request: dict[str, Any], place: Place) -> dict[str, Any]:
    """A copy of ``request`` without the member at ``place``."""
    changed = deepcopy(request)
    at: Any = changed
    for step in place[:-1]:
        at = at[step]
    del at[place[-1]]
    return changed


def path_of(place: Place) -> str:
    """``place`` as refusals write it: ``fiscal.receipt.rows[0].name``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)[1:]


PLACES = tuple(places(REQUEST))
MEMBERS = tuple(place for place in PLACES if isinstance(place[-1], str))


class _RequestCase(SynchronousTestCase):
    """Reads requests and their refusals."""

    def receipt(self, **members: Any) -> ReceiptRequest:
        """A sale's receipt as it is read."""
        fiscal = read({"type": 1, "fiscal": {"task": 1, "receipt": members}}).fiscal
        assert fiscal is not None and fiscal.receipt is not None
        return fiscal.receipt

    def row(self, **members: Any) -> RowRequest:
        """One row as it is read."""
        return self.receipt(rows=[members]).rows[0]

    def pay(self, **members: Any) -> PayRequest:
        """One payment as it is read."""
        return self.receipt(pays=[members]).pays[0]

    def complaint(self, request: Any) -> str:
        """The refusal of ``request``: 2000, res_action 3; here its path and reason."""
        refused = self.assertRaises(Refused, read, request)
        self.assertIs(refused.res, Res.MALFORMED)
        self.assertEqual((refused.res.code, refused.action, len(refused.details)), (2000, Action.CORRECT, 1))
        return english(refused)

    def place_of_complaint(self, request: Any) -> str:
        """The path in the refusal of ``request``."""
        return self.complaint(request).partition(": ")[0]


class WholeRequestTests(_RequestCase):
    """A request with all members."""

    @promises(
        *("2.2.typing.1", "2.2.fiscal.receipt.sum", "2.2.fiscal.receipt.disc", "2.2.fiscal.receipt.rows.1"),
        *("2.2.fiscal.receipt.rows.3", "2.2.fiscal.receipt.pays.1", "2.2.fiscal.receipt.pays.2", "2.2.task.2"),
    )
    def test_sale(self) -> None:
        """Every member of a sale is read: amounts in kopecks, quantities in thousandths, percent in hundredths."""
        asked = read(REQUEST)
        self.assertEqual(
            (asked.device, asked.type, asked.task, asked.tag, asked.source), ("test", 1, 1, "t-1", "каса 1")
        )
        fiscal = asked.fiscal
        assert fiscal is not None
        self.assertEqual((fiscal.task, fiscal.cashier, fiscal.cash), (1, "Оксана", None))
        self.assertEqual(
            fiscal.receipt,
            ReceiptRequest(
                sum=7983,
                round=-3,
                autoround=False,
                discounts=(Discount(500, True, ""), Discount(100, False, "постійному гостю")),
                comment_up="Вітаємо",
                comment_down="Приходьте ще",
                not_check_safe=True,
                rows=(
                    RowRequest(
                        name="Кава",
                        code="17",
                        code1="4820000000017",
                        code2="0901",
                        code3="56.10",
                        code_a="AATE508932 0000412167",
                        code_aa=("AATE1", "AATE2"),
                        cnt=2000,
                        price=4000,
                        cost=8000,
                        discounts=(Discount(17, False, ""), Discount(1000, True, "ранкова")),
                        taxgrp="1",
                        comment="без цукру",
                    ),
                ),
                pays=(
                    PayRequest(
                        type="0",
                        sum=7983,
                        change=2017,
                        commission=50,
                        comment="дякуємо",
                        comment_up="вгорі",
                        comment_down="внизу",
                        paysys="VISA",
                        rrn="000012345678",
                        cardmask="414943******1234",
                        term_id="S1K10001",
                        bank_id="3",
                        bank_name="Банк",
                        auth_code="123456",
                        oper_type="Оплата",
                    ),
                ),
                purchase_receipt_fisn="TEST_1",
                purchase_rro_fisn="4000000001",
                purchase_receipt_dt="20260921",
                partpay_type=3,
                partpay_sum=1500,
                partpay_receipt_fisn="1317959",
            ),
        )

    def test_stored_before(self) -> None:
        """A receipt without the members that came later is the same content as before there were any."""
        later = dict.fromkeys(("purchase_receipt_dt", "partpay_type", "partpay_sum", "partpay_receipt_fisn"), "")
        fiscal = {"task": 1, "receipt": {**RECEIPT, **later}}
        content = msgspec.msgpack.decode(msgspec.msgpack.encode(read({**REQUEST, "fiscal": fiscal}).fiscal))
        self.assertEqual(
            " ".join(content["receipt"]),
            "sum round autoround discounts comment_up comment_down not_check_safe rows pays purchase_receipt_fisn "
            "purchase_rro_fisn",
        )

    def test_cash(self) -> None:
        """The money of a cash-in is read like a payment."""
        fiscal = read(CASH).fiscal
        assert fiscal is not None
        self.assertEqual(fiscal.cash, PayRequest(type="0", sum=10000, comment_up="розмін"))
        self.assertIsNone(fiscal.receipt)

    def test_empty_object(self) -> None:
        """An object without members is a request without a device."""
        asked = read({})
        self.assertEqual(
            (asked.device, asked.type, asked.tag, asked.source, asked.fiscal, asked.task), ("", 0, "", "", None, -1)
        )

    @promises("2.2.type.2")
    def test_shortened(self) -> None:
        """A request of device and tag alone is a look-up."""
        asked = read({"ver": 6, "device": "test", "tag": "t-1"})
        self.assertEqual((asked.type, asked.tag, asked.fiscal, asked.task), (0, "t-1", None, -1))

    def test_lookup_minds_nothing_else(self) -> None:
        """A look-up ignores other members in the request."""
        asked = read({"device": "test", "tag": "t-1", "type": 0, "fiscal": {"task": "?", "receipt": []}})
        self.assertEqual((asked.type, asked.fiscal), (0, None))

    @promises("2.2.type.2")
    def test_type_forgotten(self) -> None:
        """Without ``type`` a task is 2000 that says which one is meant; an object without members is no task."""
        for name, meant in (("fiscal", 1), ("pay", 3)):
            for kind in ({}, {"type": None}, {"type": ""}):
                asked = {"device": "test", "tag": "t-1", name: {"task": 1}, **kind}
                for language, said in (("en", f"type: is missing; with {name} it is {meant}"), ("uk", f"це {meant}")):
                    refused = self.assertRaises(Refused, read, asked)
                    self.assertEqual(refused.res, Res.MALFORMED)
                    self.assertIn(said, refused.errortxt(language))
            self.assertEqual(read({"device": "test", "tag": "t-1", name: {}}).type, 0)

    def test_task_without_receipt(self) -> None:
        """A look-up may be a sale without its receipt (docs/reference/http-interface.md#look-up-by-tag)."""
        asked = read({"device": "test", "tag": "t-1", "type": "1", "fiscal": {"task": 1}})
        assert asked.fiscal is not None
        self.assertEqual((asked.task, asked.fiscal.receipt), (1, None))

    def test_task_not_named(self) -> None:
        """Fiscal objects without a task, or with an empty one, have no task."""
        for fiscal in ({"cashier": "Оксана"}, {"task": None}):
            asked = read({"type": 1, "fiscal": fiscal})
            assert asked.fiscal is not None
            self.assertEqual((asked.fiscal.task, asked.task), (None, -1))

    def test_empty_objects(self) -> None:
        """An object without members counts as absent."""
        self.assertEqual(read({"type": 1, "fiscal": {}}), read({"type": 1}))
        for name in ("receipt", "cash"):
            self.assertEqual(
                read({"type": 1, "fiscal": {"task": 1, name: {}}}), read({"type": 1, "fiscal": {"task": 1}})
            )


class TolerancesTests(_RequestCase):
    """What tills rely on (docs/reference/http-interface.md#tolerance)."""

    @promises("2.2.typing.2")
    def test_numeric_texts(self) -> None:
        """Every number may be written as text, with the same meaning."""
        for place in PLACES:
            value: Any = REQUEST
            for step in place:
                value = value[step]
            if isinstance(value, int | float) and not isinstance(value, bool):
                spelled = with_value(REQUEST, place, str(value))
                self.assertEqual(read(spelled), read(REQUEST), path_of(place))

    @promises("2.2.typing.2")
    def test_all_at_once(self) -> None:
        """A till that writes every number as text is understood like one that writes numbers."""
        texts = json.loads(json.dumps(REQUEST), parse_int=str, parse_float=str)
        self.assertEqual(texts["fiscal"]["receipt"]["rows"][0]["cnt"], "2")
        self.assertEqual(read(texts), read(REQUEST))

    def test_spellings_of_amounts(self) -> None:
        """An amount has the same meaning in every spelling."""
        for spelled in ("12.5", "12.50", '"12.5"', '"12.50"', '" 12.5 "', "1.25e1", '"+12.5"', "12.500000000000001"):
            body = b'{"type":1,"fiscal":{"task":1,"receipt":{"sum":%b}}}' % spelled.encode()
            fiscal = read(body).fiscal
            assert fiscal is not None and fiscal.receipt is not None
            self.assertEqual(fiscal.receipt.sum, 1250, spelled)

    def test_whole_numbers_with_a_fraction(self) -> None:
        """A whole number may have a fraction of zero."""
        for spelled in ("1", "1.0", '"1"', '"1.0"', "1e0", '" 1 "'):
            asked = read(b'{"type":%b,"fiscal":{"task":%b}}' % (spelled.encode(), spelled.encode()))
            self.assertEqual((asked.type, asked.task), (1, 1), spelled)

    @promises("2.2.typing.3")
    def test_empty_texts(self) -> None:
        """An empty text counts as absent wherever a text or a number is expected."""
        for place in MEMBERS:
            if place[-1] in CONTAINERS or place[-1] == "type":
                continue
            self.assertEqual(read(with_value(REQUEST, place, "")), read(without(REQUEST, place)), path_of(place))

    def test_null(self) -> None:
        """A member that is ``null`` counts as absent, also an object or an array."""
        for place in MEMBERS:
            if place == ("type",):
                continue
            self.assertEqual(read(with_value(REQUEST, place, None)), read(without(REQUEST, place)), path_of(place))

    @promises("2.2.typing.4")
    def test_empty_arrays(self) -> None:
        """An array may be empty, and then counts as absent."""
        for place in MEMBERS:
            if place[-1] in ("rows", "pays", "discounts", "code_aa"):
                self.assertEqual(read(with_value(REQUEST, place, [])), read(without(REQUEST, place)), path_of(place))
        self.assertEqual((self.receipt(rows=[], pays=[]).rows, self.receipt(pays=[]).pays), ((), ()))

    def test_unknown_members(self) -> None:
        """Unknown members change nothing, of any type and in any place."""
        above: tuple[Place, ...] = ((), ("fiscal",), ("fiscal", "receipt"), ("fiscal", "receipt", "rows", 0))
        for strange in ("zzz", "Fiscal", "DEVICE", "сума", ""):
            values: tuple[Any, ...] = (1, "x", None, [], {}, [[]], {"a": [1]}, True, 1e300)
            for value in values:
                for place in above:
                    self.assertEqual(read(with_value(REQUEST, (*place, strange), value)), read(REQUEST))

    def test_legacy_members(self) -> None:
        """Members of older versions change nothing."""
        for place, value in (
            (("token",), "abcdef0123456789"),
            (("dt",), "20260921090000000"),
            (("dt",), ""),
            (("fiscal", "receipt", "pays", 0, "currency"), "ГРН"),
            (("fiscal", "receipt", "rows", 0, "taxgrps"), [1]),
        ):
            self.assertEqual(read(with_value(REQUEST, place, value)), read(REQUEST), path_of(place))

    def test_other_spelling_of_the_tax_group(self) -> None:
        """``taxgrps`` with one group is ``taxgrp``; two different groups are refused."""
        for spelled in (2, "2", [2], ["2.0"], [2, "2"]):
            self.assertEqual(self.row(taxgrps=spelled).taxgrp, "2", spelled)
            self.assertEqual(self.row(taxgrp=2, taxgrps=spelled).taxgrp, "2", spelled)
        blanks: tuple[Any, ...] = (None, "", [])
        for nothing in blanks:
            self.assertEqual(self.row(taxgrp="2", taxgrps=nothing).taxgrp, "2")
        for wrong, where in (
            ({"taxgrp": 1, "taxgrps": [2]}, "fiscal.receipt.rows[0].taxgrps"),
            ({"taxgrps": [1, 2]}, "fiscal.receipt.rows[0].taxgrps"),
            ({"taxgrps": [{"taxgrp": 1}]}, "fiscal.receipt.rows[0].taxgrps[0]"),
            ({"taxgrps": {}}, "fiscal.receipt.rows[0].taxgrps"),
        ):
            self.assertEqual(self.place_of_complaint(with_rows(wrong)), where)

    def test_leftovers_of_other_tasks(self) -> None:
        """Empty members of other tasks change nothing: ``n_from`` 0, ``n_to`` 0, an empty ``fisid``."""
        request = with_value(REQUEST, ("fiscal", "n_from"), 0)
        request = with_value(request, ("fiscal", "n_to"), 0)
        request = with_value(request, ("fiscal", "fisid"), "")
        self.assertEqual(read(request), read(REQUEST))

    def test_print_forms(self) -> None:
        """Requests for print forms may be numbers or texts."""
        for name in ("need_pf_img", "need_pf_pdf", "need_pf_txt", "need_pf_doccmd"):
            for wish in (0, 1, 2):
                self.assertEqual(read({**REQUEST, name: str(wish)}), read({**REQUEST, name: wish}), name)
            self.assertEqual(read({**REQUEST, name: ""}), read(REQUEST), name)
            self.assertEqual(read({**REQUEST, name: None}), read(REQUEST), name)

    def test_duplicate_members(self) -> None:
        """Of a duplicate member the last one counts, at every depth."""
        fiscal = read(
            b'{"device":"a","type":0,"device":"test","type":1,"fiscal":{"task":3},"fiscal":{"task":0,"task":1,'
            b'"receipt":{"sum":1,"sum":2,"pays":[{"type":0,"sum":5,"change":1,"sum":4}]}}}'
        )
        assert fiscal.fiscal is not None and fiscal.fiscal.receipt is not None
        self.assertEqual((fiscal.device, fiscal.type, fiscal.task), ("test", 1, 1))
        self.assertEqual(fiscal.fiscal.receipt.sum, 200)
        self.assertEqual(fiscal.fiscal.receipt.pays, (PayRequest(type="0", sum=400, change=100),))

    def test_last_duplicate_counts_alone(self) -> None:
        """A member before its duplicate is ignored, even if it is malformed."""
        self.assertEqual(read(b'{"device":[],"device":"test"}').device, "test")

    def test_enumerations_as_texts(self) -> None:
        """Codes of payment types and tax groups may be numbers or texts."""
        for spelled in (2, 2.0, "2", " 2 ", "2.0", "02"):
            self.assertEqual(self.pay(type=spelled, sum=1).type, "2", repr(spelled))
            self.assertEqual(self.row(taxgrp=spelled).taxgrp, "2", repr(spelled))
        self.assertEqual(self.row(taxgrp="Б").taxgrp, "Б")
        self.assertEqual(self.row().taxgrp, "")

    def test_kinds_as_texts(self) -> None:
        """``type``, ``task`` and ``disc_type`` may be numbers or texts."""
        asked = read({"type": "1", "fiscal": {"task": "11"}})
        self.assertEqual((asked.type, asked.task), (1, 11))
        self.assertEqual(self.receipt(disc="10", disc_type="1").discounts, (Discount(1000, True),))

    def test_zeros(self) -> None:
        """Rounding, change and discounts of 0 count as absent, however zero is written."""
        for zero in (0, 0.0, -0.0, "0", "0.00", "", None):
            receipt = self.receipt(round=zero, disc=zero, pays=[{"type": 0, "sum": 1, "change": zero}])
            self.assertEqual((receipt.round, receipt.discounts, receipt.pays[0].change), (0, (), 0), repr(zero))

    def test_no_version(self) -> None:
        """``ver`` may be missing, and its value changes nothing."""
        for version in (5, 6, 7, "6", "", None):
            self.assertEqual(read({**REQUEST, "ver": version}), read(REQUEST))
        self.assertEqual(read(without(REQUEST, ("ver",))), read(REQUEST))

    def test_byte_order_mark(self) -> None:
        """One byte order mark at the beginning is ignored."""
        body = json.dumps(REQUEST).encode()
        self.assertEqual(read(b"\xef\xbb\xbf" + body), read(body))
        self.assertEqual(
            self.complaint(b"\xef\xbb\xbf\xef\xbb\xbf" + body).partition(" (")[0], "the body is not JSON"
        )

    def test_blanks(self) -> None:
        """Blanks and line ends around and between all parts are ignored."""
        self.assertEqual(read(b" \r\n\t" + json.dumps(REQUEST, indent=3).encode() + b"\r\n "), read(REQUEST))

    def test_escapes(self) -> None:
        """Letters and slashes may be escaped; letters beyond the first plane are surrogate pairs."""
        self.assertEqual(read(b'{"device":"\\u043a\\u0430\\u0441\\u0430 \\/ \\ud83d\\ude00"}').device, "каса / 😀")

    def test_device_as_it_is(self) -> None:
        """Blanks around the name of a device are part of it."""
        self.assertEqual(read({"device": " kasar "}).device, " kasar ")

    def test_numbers_as_texts(self) -> None:
        """Where a text is expected, a number is read with its digits."""
        asked = read(b'{"device":7,"tag":12.50,"source":0}')
        self.assertEqual((asked.device, asked.tag, asked.source), ("7", "12.50", "0"))
        self.assertEqual(self.row(code=17, code_aa=[1, "2", None]).code_aa, ("1", "2", ""))
        self.assertEqual(self.row(code=17).code, "17")

    def test_truth_values(self) -> None:
        """A boolean may be a number or a text."""
        for spelled, meant in (
            *((true, True) for true in (True, 1, "1", "true", "True", " TRUE ")),
            *((false, False) for false in (False, 0, "0", "false", "", None)),
        ):
            receipt = self.receipt(autoround=spelled, not_check_safe=spelled)
            self.assertEqual((receipt.autoround, receipt.not_check_safe), (meant, meant), repr(spelled))

    @promises("2.2.tag.2", "8.tag-length")
    def test_tag(self) -> None:
        """A tag has up to 200 characters of any script, and may be empty."""
        for tag in ("", "t" * 200, "ї" * 200, "😀" * 200):
            self.assertEqual(read({"tag": tag}).tag, tag)


class RowTests(_RequestCase):
    """How a row gives its amount."""

    def test_cost(self) -> None:
        """The amount of a row is ``cost``; missing, empty and 0 all mean that it has to be calculated."""
        self.assertEqual(self.row(cost=80).cost, 8000)
        for members in ({}, {"cost": None}, {"cost": ""}, {"cost": 0}, {"cost": "0.00"}):
            self.assertFalse(self.row(**members).cost, members)

    @promises("2.2.fiscal.receipt.rows.2")
    def test_sum(self) -> None:
        """``sum`` of a row replaces its ``cost`` when that is missing or 0."""
        self.assertEqual(self.row(sum=80).cost, 8000)
        self.assertEqual(self.row(sum=80, cost=0).cost, 8000)
        self.assertEqual(self.row(sum=80, cost=79).cost, 7900)

    def test_quantity(self) -> None:
        """A quantity has three decimals."""
        self.assertEqual(self.row(cnt="0.1255").cnt, 126)
        self.assertEqual(self.row(cnt=0.125).cnt, 125)

    def test_discounts(self) -> None:
        """A discount is an amount unless it is a percentage, and a negative one is a surcharge."""
        self.assertEqual(self.row(disc=1.5).discounts, (Discount(150),))
        self.assertEqual(self.row(disc=7.5, disc_type=1).discounts, (Discount(750, True),))
        self.assertEqual(self.row(disc="-1.5").discounts, (Discount(-150),))
        self.assertEqual(self.row().discounts, ())

    def test_wrong_beside_a_discount(self) -> None:
        """The type of a discount is checked even without a discount."""
        for name, wrong in (("disc_type", 2), ("disc_name", []), ("discounts", 1)):
            self.assertRaises(Refused, lambda given={name: wrong}: self.row(**given))

    def test_code(self) -> None:
        """A code as a number is the same as its text; one that is too large is refused."""
        for spelled, code in (
            (2, "2"),
            (2.0, "2"),
            (" 2 ", "2"),
            (2**53, str(2**53)),
            (2**60, str(2**60)),
            ("А", "А"),
        ):
            self.assertEqual(self.row(taxgrp=spelled).taxgrp, code)


class NotJsonTests(_RequestCase):
    """Bodies that are not a JSON object."""

    @promises("2.2.typing.6")
    def test_not_json(self) -> None:
        """A body that is not JSON is refused with that reason."""
        for body in (
            *(b"", b" ", b"hello", b"<xml/>", b"{", b"}", b'{"a"', b'{"a":', b'{"a":1', b'{"a":1,}', b'{"a" 1}'),
            *(b"{'a':1}", b"{a:1}", b"{1:2}", b'{"a":1}x', b'{"a":1}{"b":2}', b'{"a":01}', b'{"a":.5}', b'{"a":1.}'),
            *(b'{"a":+1}', b'{"a":-}', b'{"a":1e}', b'{"a":0x1}', b'{"a":True}', b'{"a":undefined}', b'{"a":"x}'),
            *(b'{"a":"\\q"}', b'{"a":"\\u12g4"}', b'{"a":"\x01"}', b'{"a":"\n"}', b"\x00", b"\x00{}", b"a=1&b=2"),
            *(b"{/* */}", b'{"a":1,,"b":2}', b"[1,]"),
        ):
            self.assertTrue(self.complaint(body).startswith("the body is not JSON"), body)

    def test_no_numbers(self) -> None:
        """NaN and the infinities are not JSON."""
        for word in (b"NaN", b"nan", b"Infinity", b"-Infinity", b"1e99999999999999999999999"):
            self.assertTrue(self.complaint(b'{"sum":%b}' % word).startswith("the body is not JSON"), word)

    def test_absurd_digits(self) -> None:
        """A number with thousands of digits is refused without calculating it."""
        self.assertTrue(self.complaint(b'{"type":' + b"1" * 100_000 + b"}").startswith("the body is not JSON"))

    def test_half_letters(self) -> None:
        """Half of a surrogate pair is not JSON, in a name too."""
        for body in (b'{"a":"\\ud800"}', b'{"a":"\\udc00x"}', b'{"a":"\\ud800\\u0041"}', b'{"\\udfff":1}'):
            self.assertTrue(self.complaint(body).startswith("the body is not JSON"), body)

    @promises("2.2.typing.6")
    def test_no_object(self) -> None:
        """JSON that is not an object is refused with that reason."""
        for body in (b"null", b"true", b"1", b"1.5", b'"text"', b"[]", b"[{}]"):
            self.assertEqual(self.complaint(body), "the body is not a JSON object", body)

    def test_wrong_charset(self) -> None:
        """Another charset than UTF-8 is refused with that reason where it can be recognised."""
        for body in (
            *('{"device":"каса"}'.encode("cp1251"), '{"device":"каса"}'.encode("cp866")),
            *(b'{"device":"\xff"}', b'{"device":"\xc0\xaf"}', b'{"device":"\xed\xa0\x80"}', b'{"\xff":1}', b"\xff"),
        ):
            self.assertEqual(self.complaint(body), "the body is not UTF-8", body)

    def test_wide_charsets(self) -> None:
        """A body in UTF-16 or UTF-32 is not JSON, with or without a byte order mark."""
        for charset in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
            self.assertTrue(
                self.complaint('{"device":"каса"}'.encode(charset)).startswith("the body is not "), charset
            )

    def test_language_of_the_reason(self) -> None:
        """The reason is in our words, without the names of Python's classes."""
        for body in (b'{"a":1e99999999999999999999999}', b'{"a":"\\ud800"}', b"hello"):
            self.assertNotRegex(self.complaint(body), r"class|decimal\.|msgspec|Error")


class LimitsTests(_RequestCase):
    """Limits of length and depth."""

    def test_longest(self) -> None:
        """A body of 4 MB is read, one byte more is refused, also when that byte is a blank."""
        self.assertEqual(MAX_BODY, 4 * 1024 * 1024)
        body = b'{"device":"test","x":"' + b"x" * (MAX_BODY - 24) + b'"}'
        self.assertEqual(len(body), MAX_BODY)
        self.assertEqual(read(body).device, "test")
        self.assertEqual(self.complaint(body + b" "), f"the body is longer than {MAX_BODY} bytes")

    def test_too_long_and_no_json(self) -> None:
        """A body that is too long is not parsed."""
        self.assertEqual(self.complaint(b"\xff" * (MAX_BODY + 1)), f"the body is longer than {MAX_BODY} bytes")

    def test_deepest_arrays(self) -> None:
        """Arrays may be nested 64 deep in a request, including the root; 65 are refused."""
        self.assertEqual(MAX_DEPTH, 64)
        self.assertEqual(read(b'{"x":' + b"[" * 63 + b"]" * 63 + b',"device":"test"}').device, "test")
        self.assertEqual(
            self.complaint(b'{"x":' + b"[" * 64 + b"]" * 64 + b',"device":"test"}'),
            "objects and arrays lie more than 64 deep",
        )

    def test_deepest_objects(self) -> None:
        """Objects count like arrays."""
        self.assertEqual(read(b'{"device":"test","x":' + b'{"x":' * 62 + b"[]" + b"}" * 63).device, "test")
        self.assertEqual(
            self.complaint(b'{"device":"test","x":' + b'{"x":' * 63 + b"[]" + b"}" * 64),
            "objects and arrays lie more than 64 deep",
        )

    def test_many_but_flat(self) -> None:
        """A thousand arrays in one array are not deep."""
        self.assertEqual(read(b'{"device":"test","x":[' + b",".join([b"[{}]"] * 1000) + b"]}").device, "test")

    def test_brackets_in_texts(self) -> None:
        """Brackets within texts do not count, also after escaped quotes and backslashes."""
        for text in ("[" * 1000, "{[" * 1000, '"[' * 1000, '\\"[{' * 1000, "[" * 1000 + "\\", "]" * 1000):
            self.assertEqual(read(json.dumps({"source": text, text: "x"}).encode()).source, text)

    def test_depth_behind_texts(self) -> None:
        """Depth is counted correctly after texts with brackets, quotes and backslashes."""
        for text in ("[" * 100, "]" * 100, '"', "\\", '\\"', "]}" * 64):
            body = json.dumps({text: text})[:-1].encode() + b',"x":' + b"[" * 64 + b"]" * 64 + b"}"
            self.assertEqual(self.complaint(body), "objects and arrays lie more than 64 deep", text)

    def test_abyss(self) -> None:
        """A body of only brackets does no harm."""
        for body in (b"[" * 1_000_000, b'{"x":' * 200_000, b"]" * 1_000_000, b"]" * 100_000 + b"[" * 100_000):
            self.assertTrue(self.complaint(body))

    def test_entries(self) -> None:
        """Each array of a task has a most: as many entries are read, one more is refused with both numbers."""
        receipt = ("fiscal", "receipt")
        for place, most, task in (
            ((*receipt, "rows"), MOST_ROWS, 1),
            ((*receipt, "pays"), MOST_PAYS, 1),
            ((*receipt, "discounts"), MOST_DISCOUNTS, 1),
            ((*receipt, "rows", 0, "discounts"), MOST_DISCOUNTS, 1),
            ((*receipt, "rows", 0, "code_aa"), MOST_STAMPS, 1),
            (("fiscal", "lines"), MOST_LINES, 5),
        ):
            entry = "A" if place[-1] == "code_aa" else {}
            request = with_value(REQUEST, ("fiscal", "task"), task)
            read(with_value(request, place, [entry] * most))
            self.assertEqual(
                self.complaint(with_value(request, place, [entry] * (most + 1))),
                f"{path_of(place)}: at most {most} elements are taken, not {most + 1}",
            )

    def test_values(self) -> None:
        """A long body is refused by its commas and brackets before it is decoded; a short one is not counted."""
        several = b'{"device":"test","x":[' + b",".join([b"0"] * 49_000) + b"]}"
        self.assertEqual(read(several).device, "test")
        for body in (
            b'{"device":"test","x":[' + b",".join([b"0"] * MOST_VALUES) + b"]}",
            b'{"device":"test","x":[' + b",".join([b"{}"] * (MOST_VALUES // 2)) + b"]}",
            b'{"device":"test","x":[' + b",".join([b"[]"] * (MOST_VALUES // 2)) + b"]}",
            b'{"device":"test","x":["' + b",[{" * MOST_VALUES + b'"]}',
        ):
            self.assertEqual(self.complaint(body), f"the body has more than {MOST_VALUES} commas and brackets")

    def test_content(self) -> None:
        """What a task is read to has a megabyte at most; members without a reader and documents for printers may have
        more.
        """
        for place in (("source",), ("fiscal", "receipt", "comment_up"), ("fiscal", "cashier")):
            self.assertEqual(
                self.complaint(with_value(REQUEST, place, "x" * MOST_CONTENT)),
                f"the task's members together exceed {MOST_CONTENT} bytes",
            )
        read(with_value(REQUEST, ("fiscal", "receipt", "comment_up"), "x" * (MOST_CONTENT // 2)))
        read({"type": 2, "doc": {"doccmd": ["x" * MOST_CONTENT]}, "other": "x" * MOST_CONTENT})

    def test_device(self) -> None:
        """No device has a name of more than 1,000 characters."""
        self.assertEqual(read({"device": "x" * LONGEST_ECHO}).device, "x" * LONGEST_ECHO)
        refused = self.complaint({"device": "x" * (LONGEST_ECHO + 1)})
        self.assertEqual(refused, "device: at most 1000 characters are taken")

    def test_long_numbers(self) -> None:
        """A number of a million digits in a long body is too large, whichever it is."""
        digits = b"9" * 1_000_000
        for number in (digits, b"1." + digits, digits + b".1", b"1e" + digits, b"0." + digits + b"e5"):
            self.assertTrue(self.complaint(b'{"device":"test","type":' + number + b"}"), number[:5])

    @promises("2.2.tag.2", "8.tag-length")
    def test_tag_too_long(self) -> None:
        """A tag of 201 characters is refused by name."""
        for tag in ("t" * 201, "ї" * 201):
            self.assertEqual(self.complaint({"tag": tag}), "tag: at most 200 characters are taken")


class MisfitsTests(_RequestCase):
    """Members of a wrong type, with their path."""

    @promises("2.2.typing.5", "2.2.typing.6")
    def test_everywhere(self) -> None:
        """An object or an array where neither is allowed is refused with its path, in any place."""
        for place in PLACES:
            if place == ("ver",):
                continue
            wrong: list[Any] = [{"a": 1}] if place[-1] in ("rows", "pays", "discounts", "code_aa") else [["a"]]
            if place[-1] not in CONTAINERS and not isinstance(place[-1], int):
                wrong.append({"a": 1})
            for value in wrong:
                said = self.place_of_complaint(with_value(REQUEST, place, value))
                self.assertEqual(said, path_of(place), value)

    def test_truth_value_as_number(self) -> None:
        """A boolean is neither a number nor a text."""
        for place in MEMBERS:
            if place[-1] not in ("ver", "autoround", "not_check_safe"):
                self.assertEqual(self.place_of_complaint(with_value(REQUEST, place, True)), path_of(place))

    @promises("2.2.typing.5")
    def test_wrong_words(self) -> None:
        """The refusal says which type each member must have."""
        for place, value, said in (
            (("type",), 1.5, "type: a whole number is expected"),
            (("type",), "one", "type: a number is expected"),
            (("type",), 4, "type: 0, 1, 2 or 3 is expected"),
            (("type",), -1, "type: 0, 1, 2 or 3 is expected"),
            (("device",), {}, "device: a text is expected"),
            (("tag",), [], "tag: a text is expected"),
            (("fiscal",), 5, "fiscal: an object is expected"),
            (("fiscal",), "", "fiscal: an object is expected"),
            (("fiscal",), [], "fiscal: an object is expected"),
            (("fiscal", "task"), "sale", "fiscal.task: a number is expected"),
            (("fiscal", "receipt"), 79.83, "fiscal.receipt: an object is expected"),
            (("fiscal", "receipt", "sum"), "12,50", "fiscal.receipt.sum: a number is expected"),
            (("fiscal", "receipt", "sum"), [], "fiscal.receipt.sum: a number is expected"),
            (("fiscal", "receipt", "sum"), "  ", "fiscal.receipt.sum: a number is expected"),
            (("fiscal", "receipt", "autoround"), "yes", "fiscal.receipt.autoround: true or false is expected"),
            (("fiscal", "receipt", "autoround"), 2, "fiscal.receipt.autoround: true or false is expected"),
            (("fiscal", "receipt", "rows"), "", "fiscal.receipt.rows: an array is expected"),
            (("fiscal", "receipt", "rows"), "Кава", "fiscal.receipt.rows: an array is expected"),
            (("fiscal", "receipt", "rows"), {}, "fiscal.receipt.rows: an array is expected"),
            (("fiscal", "receipt", "rows"), [1], "fiscal.receipt.rows[0]: an object is expected"),
            (("fiscal", "receipt", "rows"), [{}, None], "fiscal.receipt.rows[1]: an object is expected"),
            (("fiscal", "receipt", "rows"), [{}, [{}]], "fiscal.receipt.rows[1]: an object is expected"),
            (("fiscal", "receipt", "pays"), {"type": 0}, "fiscal.receipt.pays: an array is expected"),
            (
                ("fiscal", "receipt", "disc_type"),
                2,
                "fiscal.receipt.disc_type: 0 (amount) or 1 (percent) is expected",
            ),
            (
                ("fiscal", "receipt", "rows", 0, "code_aa"),
                ["a", {}],
                "fiscal.receipt.rows[0].code_aa[1]: a text is expected",
            ),
            (
                ("fiscal", "receipt", "rows", 0, "code_aa"),
                "a",
                "fiscal.receipt.rows[0].code_aa: an array is expected",
            ),
            (("fiscal", "receipt", "rows", 0, "name"), ["Кава"], "fiscal.receipt.rows[0].name: a text is expected"),
            (
                ("fiscal", "receipt", "rows", 0, "discounts"),
                [{"disc": 1}, {"disc": "x"}],
                "fiscal.receipt.rows[0].discounts[1].disc: a number is expected",
            ),
            (("fiscal", "receipt", "pays", 0, "change"), "x", "fiscal.receipt.pays[0].change: a number is expected"),
            (("fiscal", "receipt", "pays", 0, "rrn"), {}, "fiscal.receipt.pays[0].rrn: a text is expected"),
        ):
            self.assertEqual(self.complaint(with_value(REQUEST, place, value)), said)

    def test_second_entry(self) -> None:
        """The path counts entries from 0."""
        request = deepcopy(REQUEST)
        request["fiscal"]["receipt"]["rows"] += [ROW, {**ROW, "price": "dear"}]
        self.assertEqual(self.complaint(request), "fiscal.receipt.rows[2].price: a number is expected")

    def test_cash(self) -> None:
        """The money of a cash-in is read as strictly as a payment."""
        for value, said in (
            (5, "fiscal.cash: an object is expected"),
            ({"sum": "x"}, "fiscal.cash.sum: a number is expected"),
            ({"sum": 1, "type": []}, "fiscal.cash.type: a text is expected"),
        ):
            self.assertEqual(self.complaint(with_value(CASH, ("fiscal", "cash"), value)), said)

    def test_huge_numbers(self) -> None:
        """A number of absurd size is refused with its path, in digits, with an exponent and as text."""
        for huge in ("1" + "0" * 400, "1e400", "-1e400", "1e999999999", '"1e400"', "100000000000000", '"-1e14"'):
            for name in ("sum", "round", "disc", "disc_type"):
                body = f'{{"type":1,"fiscal":{{"task":1,"receipt":{{"{name}":{huge}}}}}}}'
                self.assertEqual(self.place_of_complaint(body.encode()), f"fiscal.receipt.{name}", huge)

    def test_huge_kinds(self) -> None:
        """A kind or task of absurd size is refused by name."""
        for huge in (b"1e400", b"9007199254740993", b"-9007199254740993", b"1" + b"0" * 400, b'"1e300"'):
            self.assertEqual(self.place_of_complaint(b'{"type":%b}' % huge), "type")
            self.assertEqual(self.place_of_complaint(b'{"type":1,"fiscal":{"task":%b}}' % huge), "fiscal.task", huge)

    def test_nul_in_tag(self) -> None:
        """A tag with the character NUL is refused, because not every database can store it."""
        self.assertEqual(self.place_of_complaint(b'{"tag":"a\\u0000b"}'), "tag")

    def test_first_misfit(self) -> None:
        """Of several wrong members one is named."""
        self.assertIn(
            self.place_of_complaint({"type": 1, "tag": {}, "fiscal": {"task": [], "receipt": {"sum": {}}}}),
            ("tag", "fiscal.task", "fiscal.receipt.sum"),
        )


PAGE = (Path(__file__).parent.parent / "docs" / "reference" / "http-interface.md").read_text("utf-8")

ASKED: dict[str, tuple[Callable[..., Any], ...]] = {
    "text": (Members.text,),
    "code": (Members.code,),
    "number": (Members.amount_or_none, Members.quantity),
    "whole": (Members.integer,),
    "flag": (Members.flag,),
    "object": (Members.object,),
    "array": (Members.texts,),
}
"""What reads a member of each type of the table."""


def table(heading: str) -> list[list[str]]:
    """The rows of the table under ``heading`` of the page, its head first."""
    part = PAGE.partition(f"\n### {heading}\n")[2].partition("\n### ")[0]
    rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")]
    return [rows[0], *rows[2:]]


class ToleranceTableTests(SynchronousTestCase):
    """The table of what each type takes (docs/reference/http-interface.md#tolerance)."""

    @promises("2.2.typing.2", "2.2.typing.3", "2.2.typing.4", "2.2.typing.5")
    def test_every_cell(self) -> None:
        """Each value means for each type what the table says, and is refused with its path where that says 2000."""
        head, *rows = table("Tolerance")
        self.assertEqual(head[1:-1], list(ASKED))
        self.assertGreater(len(rows), 15)
        for sent, *cells, because in rows:
            self.assertTrue(because)
            value = msgspec.json.Decoder(float_hook=Decimal).decode(sent.strip("`"))
            for kind, cell in zip(ASKED, cells, strict=True):
                for ask in ASKED[kind]:
                    self._check(ask, value, cell.strip("`"), f"{sent} as {kind}")

    def _check(self, ask: Callable[..., Any], value: Any, cell: str, where: str) -> None:
        if cell == "2000":
            refused = self.assertRaises(Refused, ask, Members({"m": value}, ""), "m")
            self.assertEqual(refused.res, Res.MALFORMED, where)
            self.assertTrue(refused.errortxt("en").startswith(f"{Res.MALFORMED.text.en % 'm'}"), where)
            return
        got = ask(Members({"m": value}, ""), "m")
        if cell == "absent":
            meant = ask(Members({}, ""), "m")
        elif ask in ASKED["number"]:
            meant = int(Decimal(cell) * (1000 if ask is Members.quantity else 100))
        else:
            meant = json.loads(cell)
        if isinstance(got, Members):
            got = got.values
        self.assertEqual(list(got) if isinstance(got, tuple) and cell != "absent" else got, meant, where)

    def test_on_purpose(self) -> None:
        """The table of members that clients send on purpose has exactly those that are exempt, each with a reason."""
        _, *rows = table("Ignored members")
        self.assertEqual({member.strip("`") for member, _ in rows}, SENT_ON_PURPOSE)
        self.assertTrue(all(reason for _, reason in rows))


class StrayTests(SynchronousTestCase):
    """Members that the task does not use."""

    def strays(self, request: Any, batch: bool = False) -> dict[str, str]:
        """The strays of ``request`` by their paths without indexes, with the path of the first."""
        root = read_json(json.dumps(request).encode())
        with contextlib.suppress(Refused):
            read_task(root, batch)
        return {where: stray.path for where, stray in root.strays.items()}

    def test_none(self) -> None:
        """A request with every member that its task has contains none."""
        pay = {"task": 2, "sum": 1, "refundid": "1", "merch": "2"}
        for request, batch in (
            (REQUEST, False),
            (CASH, False),
            ({**REQUEST, "pay": pay, "skipprint": True}, True),
            (
                {**REQUEST, "pay": pay, "need_pf_txt": 2, "need_pf_img": 1, "need_pf_pdf": 1, "need_pf_doccmd": 1},
                False,
            ),
            ({"type": 3, "pay": pay, "transaction_id": "x", "transaction_search": 1, "tag": "t"}, False),
            ({"type": 3, "pay": {"task": 7, "oper_action": 1, "sum": 2}}, False),
            ({"type": 2, "doc": {"lines": [{"zzz": 1}]}}, False),
            ({"type": 0, "tag": "t", "device": "d", "source": "s"}, False),
            ({"type": 1, "fiscal": {"task": 12, "n_from": 1, "n_to": 2, "is_short": True}}, False),
            ({"type": 1, "fiscal": {"task": 5, "lines": [{"t": "x", "qr_type": 0}]}}, False),
            ({"type": 1, "fiscal": {"task": 18, "get_receipts": 1, "dev_id": "x", "dt_from": "2026"}}, False),
        ):
            self.assertEqual(self.strays(request, batch), {}, request)

    def test_everywhere(self) -> None:
        """A name with a typing mistake is found in every object, by its path."""
        for place in ((), ("fiscal",), ("fiscal", "receipt"), *OBJECTS):
            where = path_of((*place, "prise"))
            found = self.strays(with_value(REQUEST, (*place, "prise"), 5))
            self.assertEqual(found, {where.replace("[0]", "[]"): where})
        found = self.strays({"type": 3, "pay": {"task": 1, "sum": 1, "som": 2}})
        self.assertEqual(found, {"pay.som": "pay.som"})

    def test_of_other_tasks(self) -> None:
        """A member that only other tasks use is one too, and its content is not examined."""
        for request, found in (
            ({"type": 1, "fiscal": {"task": 10, "receipt": {"pays": [{"type": 0}]}}}, "fiscal.receipt"),
            ({"type": 1, "fiscal": {"task": 11, "cash": 5}}, "fiscal.cash"),
            ({"type": 1, "fiscal": {"task": 1, "n_from": 3}}, "fiscal.n_from"),
            ({"type": 1, "fiscal": {"task": 12, "dt_from": "2026"}}, "fiscal.dt_from"),
            ({"type": 1, "fiscal": {"task": 18, "dev_id": "x"}}, "fiscal.dev_id"),
            ({"type": 1, "fiscal": {"task": 1}, "transaction_id": "x"}, "transaction_id"),
            ({"type": 1, "fiscal": {"task": 1}, "skipprint": True}, "skipprint"),
            ({"type": 0, "tag": "t", "fiscal": {"task": 1}}, "fiscal"),
            ({"type": 3, "pay": {"task": 1, "sum": 1, "refundid": "7"}}, "pay.refundid"),
            ({"type": 3, "pay": {"task": 2, "sum": 1, "rrn": "7", "parts": -1}}, "pay.parts"),
        ):
            self.assertEqual(list(self.strays(request)), [found], request)

    def test_of_no_task(self) -> None:
        """A task that does not exist reads what any task reads, so that only unknown names are left."""
        fiscal = {"task": 99, "n_from": 1, "receipt": RECEIPT, "cash": {"sum": 1}, "lines": [{"t": "x"}], "zzz": 1}
        self.assertEqual(list(self.strays({"type": 1, "fiscal": fiscal})), ["fiscal.zzz"])
        self.assertEqual(list(self.strays({"type": 3, "pay": {"task": 99, "parts": 1, "zzz": 1}})), ["pay.zzz"])

    def test_says_nothing(self) -> None:
        """A member that means the same as no member is none."""
        blanks: tuple[Any, ...] = (None, "", 0, 0.0, False, [], {}, {"email": "", "phone": None})
        for nothing in blanks:
            self.assertEqual(self.strays({**REQUEST, "currency_": nothing}), {}, nothing)
            request = with_value(REQUEST, ("fiscal", "receipt", "rows", 0, "zzz"), nothing)
            self.assertEqual(self.strays(request), {}, nothing)
        for something in (1, "x", [0], True, {"email": "a@b"}):
            self.assertEqual(list(self.strays({**REQUEST, "currency_": something})), ["currency_"], something)

    def test_customer(self) -> None:
        """Of `userinfo` a task of a register reads address and number; other tasks read nothing of it."""
        known = {"email": "a@b.example", "phone": "+380501234567"}
        self.assertEqual(
            self.strays({**REQUEST, "userinfo": {**known, "mail": "x"}}), {"userinfo.mail": "userinfo.mail"}
        )
        self.assertEqual(
            list(self.strays({"type": 3, "pay": {"task": 1, "sum": 1}, "userinfo": known})), ["userinfo"]
        )
        for sent, read in (
            (known, Customer("a@b.example", "+380501234567")),
            ({"email": " a@b ", "phone": 380501234567}, Customer("a@b", "380501234567")),
            ({"email": ["a@b"], "phone": ""}, Customer("?")),
            ({"email": "a" * 255}, Customer("?")),
            ("a@b", Customer("?")),
            ({"email": "", "phone": None}, None),
            ("", None),
        ):
            request = read_task(read_json(json.dumps({**REQUEST, "userinfo": sent}).encode()))
            self.assertEqual(request.customer, read, sent)

    def test_on_purpose(self) -> None:
        """What existing clients send on purpose is none."""
        request = {**REQUEST, "ver": 6, "token": "t", "dt": "20260921090000000"}
        request = with_value(request, ("fiscal", "fisid"), "4000000001")
        request = with_value(request, ("fiscal", "receipt", "pays", 0, "currency"), "ГРН")
        request = with_value(request, ("fiscal", "receipt", "pays", 0, "show_additional_info"), True)
        self.assertEqual(self.strays(request), {})

    def test_once_for_all_rows(self) -> None:
        """The same name in many rows is one, with the path of the first."""
        found = self.strays(with_rows(*({"name": "x", "prise": 5} for _ in range(50))))
        self.assertEqual(found, {"fiscal.receipt.rows[].prise": "fiscal.receipt.rows[0].prise"})

    def test_before_a_refusal(self) -> None:
        """A request that is refused keeps what was found before: the reason may be there."""
        self.assertEqual(list(self.strays(with_rows({"prise": 5, "price": "dear"}))), ["fiscal.receipt.rows[].prise"])

    def test_hostile(self) -> None:
        """Many, long and unprintable names, and card numbers in them, are kept in bounds."""
        self.assertEqual(len(self.strays({f"name{n}": 1 for n in range(1000)})), MOST_STRAYS)
        self.assertEqual(list(self.strays({"x" * 10_000: 1})), ["x" * LONGEST_NAME])
        self.assertEqual(list(self.strays({"a\u001b[31m\n": 1})), ["a?[31m?"])
        self.assertEqual(list(self.strays({"4149439012341234": 1, "4111111111111111": 1}))[1], "411111******1111")


class EchoTests(SynchronousTestCase):
    """Which members the refusal of an unreadable request repeats."""

    def echo(self, body: bytes) -> tuple[str, int, int, str, str]:
        """Device, type, task, tag and source as the refusal repeats them."""
        echo = echo_of(body)
        return echo.device, echo.type, echo.task, echo.tag, echo.source

    def test_no_json(self) -> None:
        """Anything but a JSON object is refused with type 0, task -1 (docs/reference/http-interface.md#refusals)."""
        for body in (b"", b"hello", b"[]", b"\xff", b"[" * 100_000, b'{"device":"test"'):
            self.assertEqual(self.echo(body), ("", 0, -1, "", ""), body[:20])

    def test_whole(self) -> None:
        """All readable members are repeated, however malformed the rest is."""
        self.assertEqual(
            self.echo(
                b'{"device":"test","type":"1","tag":"t-1","source":"s","fiscal":{"task":"1","receipt":{"rows":""}}}'
            ),
            ("test", 1, 1, "t-1", "s"),
        )

    def test_long(self) -> None:
        """Of a long text the beginning is repeated."""
        body = json.dumps({name: name * 5000 for name in ("device", "tag", "source")}).encode()
        device, _, _, tag, source = self.echo(body)
        for told, name in ((device, "device"), (tag, "tag"), (source, "source")):
            self.assertEqual(told, (name * 1000)[:LONGEST_ECHO])

    def test_misfits(self) -> None:
        """A malformed member is left out, the others are repeated."""
        for changes, expected in (
            ({"device": {}}, ("", 1, 1, "t", "s")),
            ({"type": "x"}, ("d", 0, 1, "t", "s")),
            ({"tag": []}, ("d", 1, 1, "", "s")),
            ({"source": True}, ("d", 1, 1, "t", "")),
            ({"fiscal": 5}, ("d", 1, -1, "t", "s")),
            ({"fiscal": {"task": "x"}}, ("d", 1, -1, "t", "s")),
            ({"fiscal": None}, ("d", 1, -1, "t", "s")),
        ):
            request: dict[str, Any] = {"device": "d", "type": 1, "tag": "t", "source": "s", "fiscal": {"task": 1}}
            request.update(changes)
            self.assertEqual(self.echo(json.dumps(request).encode()), expected, changes)


class MembersTests(SynchronousTestCase):
    """One object and its members."""

    def test_path(self) -> None:
        """A member is named by its path from the root."""
        self.assertEqual(Members({}, "").path("a"), "a")
        self.assertEqual(Members({}, "a.b[0]").path("c"), "a.b[0].c")

    def test_has(self) -> None:
        """A member that is ``null`` is absent; empty ones and zeros are present."""
        members = Members({"a": None, "b": "", "c": 0, "d": False}, "")
        self.assertEqual([name for name in "abcde" if members.has(name)], ["b", "c", "d"])

    def test_integer(self) -> None:
        """A missing or empty whole number has the given default."""
        members = Members({"a": None, "b": "", "c": 0, "d": Decimal("7.000")}, "")
        self.assertEqual([members.integer(name, 5) for name in "abcde"], [5, 5, 0, 7, 5])


# Random bodies


def spelled(value: Any) -> str:
    """``value`` as JSON; raw texts of numbers are written unchanged."""
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{spelled(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(spelled, value)) + "]"
    return json.dumps(value)


class Raw:
    """JSON text that Python's own numbers cannot produce."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __deepcopy__(self, memo: dict[int, Any]) -> Raw:
        return self

    def __repr__(self) -> str:
        return f"Raw({self.text!r})"


NUMBERS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,20})?", fullmatch=True, alphabet=None
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    NUMBERS.map(Raw),
    NUMBERS,
    st.text(max_size=20),
    st.text(st.characters(codec=None, categories=["Cs", "Cc", "Nd", "Zs"]), max_size=6),
    st.sampled_from(["", " ", "0", "1", "NaN", "inf", "true", "\0", "1e400", "9" * 41]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inside: st.one_of(
        st.lists(inside, max_size=3),
        st.dictionaries(st.one_of(st.text(max_size=6), st.sampled_from(["type", "sum", "disc"])), inside, max_size=3),
    ),
    max_leaves=6,
)


class AnythingTests(SynchronousTestCase):
    """Any body is read or refused with 2000; nothing else ever happens."""

    def read(self, body: bytes) -> str:
        """Read ``body``; return the reason of its refusal, or nothing when it was read."""
        echo_of(body)
        try:
            read(body)
        except Refused as refused:
            self.assertIs(refused.res, Res.MALFORMED)
            refused.errortxt("uk").encode()
            return english(refused)
        return ""

    @given(st.binary(max_size=200))
    def test_bytes(self, body: bytes) -> None:
        """Random bytes are refused or read."""
        self.read(body)

    @given(st.text(alphabet='{}[]",:\\u0d8f 1.e-+tN', max_size=60))
    def test_nearly_json(self, text: str) -> None:
        """Random texts of JSON's own characters are refused or read."""
        self.read(text.encode())

    @given(VALUES)
    def test_values(self, value: Any) -> None:
        """A random value as the whole body is refused or read."""
        self.read(spelled(value).encode())

    @given(st.sampled_from(PLACES), VALUES)
    @example(("fiscal", "receipt", "sum"), Raw("0e999999999"))
    @example(("fiscal", "task"), Raw("1e-999999999"))
    @example(("fiscal", "receipt", "rows", 0, "taxgrp"), Raw("1e999999999"))
    @example(("fiscal", "receipt", "rows", 0, "code_aa", 0), {})
    def test_every_place(self, place: Place, value: Any) -> None:
        """A random value in any place of a request is read, or refused with the path of that place or one in it."""
        said = self.read(spelled(with_value(REQUEST, place, value)).encode())
        if said and not said.startswith("the body is not JSON"):
            named, _, reason = said.partition(": ")
            self.assertRegex(named[len(path_of(place)) :], r"^($|\.\w|\[\d+\])")
            self.assertTrue(named.startswith(path_of(place)), named)
            self.assertTrue(reason)

    @given(st.lists(st.tuples(st.sampled_from(PLACES), VALUES), max_size=5))
    def test_several_places(self, changes: list[tuple[Place, Any]]) -> None:
        """Random values in several places are read or refused."""
        request = REQUEST
        for place, value in changes:
            try:
                request = with_value(request, place, value)
            except (KeyError, IndexError, TypeError):
                continue  # an earlier change removed the place
        self.read(spelled(request).encode())

    @given(st.binary(min_size=1, max_size=4), st.integers(min_value=0))
    def test_damaged(self, damage: bytes, where: int) -> None:
        """A request with some bytes overwritten is refused or read."""
        body = json.dumps(REQUEST, ensure_ascii=False).encode()
        at = where % len(body)
        self.read(body[:at] + damage + body[at + len(damage) :])

    @given(st.integers(min_value=0))
    def test_cut(self, where: int) -> None:
        """A request that is cut anywhere is not JSON, or not UTF-8 if the cut is within a character."""
        body = json.dumps(REQUEST, ensure_ascii=False).encode()
        self.assertTrue(self.read(body[: where % len(body)]).startswith("the body is not "))
