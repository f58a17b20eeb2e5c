"""What a till sees of the task endpoints: the bytes of real HTTP answers, line by line of what tills rely on."""

from __future__ import annotations

import base64
import json
import re
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import product
from typing import Any
from uuid import UUID

from twisted.internet.defer import Deferred

from dmtwisted.requests import MAX_BODY
from dmtwisted.results import Refused, Res
from dmtwisted.system.crew import SLOW, CrewFailed
from tests.shop import Shop
from tests.specification import promises
from tests.web_case import DEVICES, EXECUTE, JSON_TYPE, HttpAnswer, WebCase, chunked, fiscal, request_bytes, sale
from web.connection import IDLE_CONNECTION
from web.site import Door

NEIGHBOURS = (EXECUTE, "/dm/execute-prn", "/dm/execute-pkg")

INTEGERS = frozenset(
    (
        *("ver", "resp_ver", "type", "task", "res", "res_action", "task_status", "code"),
        *("dataid", "shift_link", "shift_prev_link", "isprint", "ispay", "shift_status", "online_status"),
        *("sign_status", "isFis", "dtype", "vacant_off_nums", "docno_from", "docno_to", "gr_code", "taxgrp"),
        *("count_p", "count_m", "count_14", "count_transfer", "last_docno_p", "last_docno_m", "fisdoctype"),
        *("packnum", "docnum", "packtype", "enough_to_renew_subscription"),
    )
)
"""Members that strict readers take for whole numbers: `2.0` makes them throw."""

FRACTIONS = frozenset(
    (
        *("safe", "safe_start_shift", "sum", "sum_p", "sum_m", "price", "cost", "disc", "cnt", "round", "change"),
        *("sum_0", "sum_disc", "sum_receipt", "sum_topay", "base_sum", "tax_percent", "tax_sum", "ex_percent"),
        *("ex_sum", "round_pu", "round_pd", "round_mu", "round_md", "base_p", "base_m", "taxex_p", "taxex_m"),
        *("disc_p", "disc_m", "calc_p", "calc_m", "base_sum_p", "base_sum_m", "base_tax_sum_p", "base_tax_sum_m"),
        *("base_ex_sum_p", "base_ex_sum_m", "tax_sum_p", "tax_sum_m", "ex_sum_p", "ex_sum_m"),
    )
)
"""Members that are money, quantities or rates: always with a fraction."""

ROOT = (
    *("ver", "resp_ver", "source", "device", "tag", "task_status", "type", "task", "dt", "res", "res_action"),
    *("errortxt", "aq_errortxt", "warnings", "info"),
)
"""The members of every answer, in the order in which they are shown."""

SHIFT_STEMS = ("змін", "shift", "закрит")
CARD, MASKED = "4012888888881881", "401288******1881"


def numbers_of(value: Any, path: str = "") -> Iterator[tuple[str, str, Any]]:
    """Every number in a decoded answer: its path, its name, and itself."""
    if isinstance(value, dict):
        for name, member in value.items():
            if type(member) in (int, Decimal):
                yield f"{path}.{name}", name, member
            else:
                yield from numbers_of(member, f"{path}.{name}")
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from numbers_of(member, f"{path}[{index}]")


class _Day(WebCase):
    """A day at the till: one answer of each sort."""

    def day(self) -> dict[str, Any]:
        """The answers of a whole day, by what was asked for."""
        card = {"type": 2, "sum": 25.5, "rrn": "1", "paysys": "VISA", "cardmask": "411111******1111"}
        cash = {"type": 0, "sum": 100}
        return {
            "open": self.fiscal(0, "open"),
            "sale": self.sell("sale", pays=[cash, card]),
            "cash in": self.fiscal(3, "in", cash={"type": 0, "sum": 10}),
            "cash out": self.fiscal(4, "out", cash={"type": 0, "sum": 5}),
            "x": self.fiscal(10),
            "status": self.fiscal(18),
            "number": self.fiscal(20),
            "z": self.fiscal(11, "z"),
        }

    def refusals(self) -> dict[str, HttpAnswer]:
        """Answers to tasks that cannot be done, by why, and with whole HTTP."""
        bodies: dict[str, object] = {
            "closed shift": sale("t"),
            "unknown device": {**sale("t"), "device": "tset"},
            "unknown task": fiscal(99, "t"),
            "unknown tag": {"device": "test", "tag": "nobody's"},
            "another kind": {**sale("t"), "type": 3},
            "no object": {**sale("t"), "fiscal": 5},
            "no JSON": b"{",
            "no UTF-8": b'{"device": "\xff"}',
            "not an object": b"[]",
            "nothing": b"",
        }
        return {name: self.request("POST", EXECUTE, body) for name, body in bodies.items()}


class CompatibilityTests(_Day):
    """What existing clients depend on, number by number."""

    @promises("4.json")
    def test_status_and_content_type(self) -> None:
        """Every task is answered HTTP 200 with the content type application/json and nothing more, done or not."""
        self.open_shift()
        done = [self.request("POST", EXECUTE, sale("a")), self.request("POST", EXECUTE, fiscal(11, "z"))]
        refused = self.refusals()
        for answer in [*done, *refused.values()]:
            self.assertEqual(
                (answer.status, answer.header("content-type"), answer.header("content-length")),
                (200, "application/json", str(len(answer.body))),
            )
        self.assertEqual([answer.json["res"] for answer in done], [0, 0])
        self.assertEqual(
            {name: answer.json["res"] for name, answer in refused.items()},
            {
                "closed shift": 1092,
                "unknown device": 1091,
                "unknown task": 307,
                "unknown tag": 1058,
                "another kind": 2000,
                "no object": 2000,
                "no JSON": 2000,
                "no UTF-8": 2000,
                "not an object": 2000,
                "nothing": 2000,
            },
        )

    @promises("2.3.fraction.1")
    def test_spelling_of_numbers(self) -> None:
        """Whole numbers are spelled without a fraction, money, quantities and rates always with one."""
        seen = set()
        answers = {**self.day(), **{name: answer.json for name, answer in self.refusals().items()}}
        for what, answer in answers.items():
            for path, name, number in numbers_of(answer):
                self.assertIn(name, INTEGERS | FRACTIONS, f"{what}{path}")
                self.assertIs(type(number), int if name in INTEGERS else Decimal, f"{what}{path} is {number}")
                seen.add(name)
        self.assertEqual((INTEGERS | FRACTIONS) - seen, {"code"})

    @promises("2.3.fraction.1")
    def test_whole_money(self) -> None:
        """Money and quantities that happen to be whole keep one digit of their fraction."""
        self.open_shift()
        row = {"code": "1", "name": "Кава", "cnt": "2.000", "price": 50, "taxgrp": 1}
        answer = self.request("POST", EXECUTE, sale(sum=100, rows=[row], pays=[{"type": 0, "sum": 100}]))
        for spelled in (b'"cnt":2.0,', b'"price":50.0,', b'"safe":100.0,', b'"sum_topay":100.0,', b'"round":0.0,'):
            self.assertIn(spelled, answer.body)

    def test_fraction_as_given(self) -> None:
        """Kopecks and grams come back as they were sent, without the noise of binary fractions."""
        self.open_shift()
        row = {"code": "1", "name": "Сир", "cnt": 0.125, "price": 80.4, "taxgrp": 1}
        answer = self.request("POST", EXECUTE, sale(sum=10.05, rows=[row], pays=[{"type": 2, "sum": 10.05}]))
        for spelled in (b'"cnt":0.125,', b'"price":80.4,', b'"cost":10.05,', b'"sum_topay":10.05,'):
            self.assertIn(spelled, answer.body)

    def test_fiscal_number_of_the_register(self) -> None:
        """The register's fiscal number is a text of digits in every answer of success, and the same one."""
        found = {what: answer["info"]["fisid"] for what, answer in self.day().items()}
        self.assertEqual(set(found.values()), {"4000000001"})
        self.assertEqual(len(found), 8)

    def test_fiscal_number_in_print(self) -> None:
        """What is to be printed repeats the register's fiscal number and the document's."""
        self.open_shift()
        info = self.sell()["info"]
        self.assertEqual(info["printinfo"]["fisid"], info["fisid"])
        self.assertEqual(info["printinfo"]["fisn"], info["doccode"])
        self.assertEqual(info["doccode"], "TEST_400000000100000002")

    def test_texts(self) -> None:
        """Document number and codes are texts in every answer, even where they are digits or empty."""
        day = self.day()
        for what, answer in day.items():
            info = answer["info"]
            self.assertEqual([type(info[name]) for name in ("docno", "doccode")], [str, str], what)
            self.assertIs(type(answer["tag"]), str, what)
        for what in ("open", "sale", "cash in", "cash out"):
            info = day[what]["info"]
            self.assertEqual([type(info[name]) for name in ("cancelid", "qr", "qr1", "mac")], [str] * 4, what)
        self.assertEqual(
            {what: answer["info"]["docno"] for what, answer in day.items()},
            {
                "open": "1",
                "sale": "2",
                "cash in": "3",
                "cash out": "4",
                "x": "",
                "status": "4",
                "number": "4",
                "z": "5",
            },
        )

    def test_qr(self) -> None:
        """A receipt has the same QR text on its own and in what is to be printed: a link to the receipt."""
        self.open_shift()
        info = self.sell()["info"]
        self.assertEqual(
            info["qr"],
            "https://cabinet.tax.gov.ua/cashregs/check?id=TEST_400000000100000002&date=20260921&time=090000"
            "&fn=4000000001&sm=125.50",
        )
        self.assertEqual(info["printinfo"]["qr"], info["qr"])

    @promises("3.1a.1")
    def test_shift_opening_time(self) -> None:
        """The time of the shift's opening is empty while it is closed, and 14 digits while it is open."""
        before = self.fiscal(18)["info"]
        self.open_shift()
        self.shop.clock.advance(61)
        during = self.fiscal(18)["info"]
        self.fiscal(11)
        after = self.fiscal(18)["info"]
        self.assertEqual(
            [(info["shift_dt"], info["shift_status"]) for info in (before, during, after)],
            [("", 0), ("20260921090000", 1), ("", 0)],
        )

    def test_report_members(self) -> None:
        """X and Z have their arrays, counts and cash, even when nothing was sold."""
        self.open_shift()
        for task in (10, 11):
            info = self.fiscal(task)["info"]
            self.assertEqual([info[name] for name in ("pays", "money", "taxes")], [[], [], []])
            self.assertEqual((info["receipt"]["count_p"], info["receipt"]["count_m"]), (0, 0))
            self.assertEqual(info["safe"], Decimal("0.0"))

    def test_report_amounts(self) -> None:
        """X and Z list the sales by payment and tax group, and cash in and out."""
        day = self.day()
        for what in ("x", "z"):
            info = day[what]["info"]
            self.assertEqual([(pay["type"], pay["sum_p"]) for pay in info["pays"]], [(0, 100), (2, Decimal("25.5"))])
            self.assertEqual(
                [(money["type"], money["sum_p"], money["sum_m"]) for money in info["money"]], [(0, 10, 5)]
            )
            self.assertEqual([tax["gr_code"] for tax in info["taxes"]], [1])
            self.assertEqual((info["receipt"]["count_p"], info["safe"]), (1, 105))

    def test_print_members(self) -> None:
        """A receipt's answer has everything that is to be printed."""
        self.open_shift()
        printed = self.sell()["info"]["printinfo"]
        self.assertEqual(
            (printed["dt"], printed["sum_topay"], printed["sum_receipt"], printed["round"]),
            ("21-09-2026 09:00:00", Decimal("125.5"), Decimal("125.5"), 0),
        )
        self.assertEqual([(good["name"], good["taxlit"]) for good in printed["goods"]], [("Кава", "А")])
        self.assertEqual([(pay["type"], pay["sum"]) for pay in printed["pays"]], [(0, Decimal("125.5"))])
        self.assertEqual([(tax["gr_code"], tax["tax_sum"]) for tax in printed["taxes"]], [(1, Decimal("20.92"))])

    def test_print_members_of_cash(self) -> None:
        """Cash put in is printed too: without goods and taxes, and with the arrays there."""
        self.open_shift()
        printed = self.fiscal(3, cash={"type": 0, "sum": 10})["info"]["printinfo"]
        self.assertEqual([printed[name] for name in ("goods", "taxes", "sum_topay")], [[], [], 10])
        self.assertEqual([pay["sum"] for pay in printed["pays"]], [10])

    @promises("2.3.errortxt.2", "2.3.res.1", "2.3.res.2", "3.2.0.2", "3.2.3.4")
    def test_error_text(self) -> None:
        """The error text is empty on success, and on success alone."""
        day = self.day()
        self.assertEqual({(answer["res"], answer["errortxt"]) for answer in day.values()}, {(0, "")})
        for what, refused in self.refusals().items():
            answer = refused.json
            self.assertGreater(answer["res"], 0, what)
            self.assertGreater(len(answer["errortxt"]), 10, what)

    @promises("2.3.warnings.1", "2.3.warnings.2")
    def test_warnings(self) -> None:
        """Warnings are an array that is usually empty; each is a number and a text."""
        self.assertEqual([answer["warnings"] for answer in self.day().values()], [[]] * 8)
        self.open_shift()
        self.sell("once")
        [warning] = self.sell("once", comment_down="another receipt")["warnings"]
        self.assertEqual(list(warning), ["code", "wtxt"])
        self.assertEqual((warning["code"], type(warning["wtxt"]), warning["wtxt"] == ""), (1051, str, False))

    @promises("2.2.typing.2")
    def test_numbers_as_texts(self) -> None:
        """A number may be written as text wherever one is expected."""
        self.execute({**fiscal(0), "ver": "6", "type": "1", "fiscal": {"task": "0"}})
        row = {
            "code": 1,
            "name": "Кава",
            "cnt": "2",
            "price": "50.25",
            "cost": "100.5",
            "disc": "0.50",
            "taxgrp": "1",
        }
        request = sale(sum="100.00", rows=[row], pays=[{"type": "2", "sum": "100"}])
        more = {"type": "1", "ver": "6", "need_pf_img": "0", "need_pf_pdf": "1", "need_pf_txt": "0"}
        answer = self.execute({**request, **more})
        self.assertEqual((answer["res"], answer["errortxt"], answer["type"], answer["task"]), (0, "", 1, 1))
        printed = answer["info"]["printinfo"]
        [good], [pay] = printed["goods"], printed["pays"]
        self.assertEqual(
            (good["cnt"], good["price"], good["disc"], good["taxgrp"]), (2, Decimal("50.25"), Decimal("0.5"), 1)
        )
        self.assertEqual((pay["type"], pay["sum"], printed["sum_topay"]), (2, 100, 100))

    @promises("2.2.typing.3")
    def test_empty_values(self) -> None:
        """An empty text means a missing value."""
        self.open_shift()
        row = {
            "code": "1",
            "name": "Кава",
            "cnt": 1,
            "price": 125.5,
            "cost": "",
            "disc": "",
            "taxgrp": 1,
            "code2": "",
        }
        answer = self.sell(rows=[row], disc="", disc_type="", round="", comment_up="")
        self.assertEqual((answer["res"], answer["info"]["printinfo"]["sum_topay"]), (0, Decimal("125.5")))

    @promises("2.2.typing.4", "2.2.typing.5", "2.2.typing.6", "3.2.3.1")
    def test_other_types(self) -> None:
        """An array may be empty; any other value of a wrong type is 2000 and names its member."""
        self.open_shift()
        self.assertEqual(self.sell(sum=0, rows=[], pays=[])["res"], 0)
        for path, members in (
            ("fiscal.receipt.rows", {"rows": ""}),
            ("fiscal.receipt.rows[0]", {"rows": ["Кава"]}),
            ("fiscal.receipt.pays", {"pays": {"type": 0}}),
            ("fiscal.receipt.sum", {"sum": "багато"}),
            ("fiscal.receipt.sum", {"sum": [125.5]}),
            ("fiscal.receipt.comment_up", {"comment_up": {}}),
        ):
            answer = self.sell(**members)
            self.assertEqual((answer["res"], answer["res_action"]), (2000, 3))
            self.assertIn(f"{path}: ", answer["errortxt"])

    def test_null(self) -> None:
        """``null`` in place of an optional member is the same as leaving it out."""
        self.open_shift()
        row = {"code": "1", "name": "Кава", "cnt": 1, "price": 125.5, "taxgrp": 1, "comment": None, "disc": None}
        pay = {"type": 0, "sum": 125.5, "change": None, "rrn": None}
        request = sale(rows=[row], pays=[pay], disc=None, comment_up=None, round=None, autoround=None)
        request.update(source=None, tag=None, userinfo=None, need_pf_img=None, pay=None, doc=None)
        answer = self.execute(request)
        self.assertEqual((answer["res"], answer["errortxt"], answer["source"]), (0, "", ""))
        self.assertEqual(answer["info"]["printinfo"]["sum_topay"], Decimal("125.5"))

    def test_unknown_members(self) -> None:
        """Members of older versions and unknown members are ignored, wherever they are."""
        request = sale("t", nobody=1)
        request.update(token="x", dt="20260101000000000", nobody={"a": [1]}, transaction_search=0)
        inner: Any = request["fiscal"]
        inner.update(n_from=0, n_to=0, fisid="", nobody=None)
        inner["receipt"]["rows"][0]["nobody"] = []
        inner["receipt"]["pays"][0]["nobody"] = "x"
        self.open_shift()
        self.assertEqual((self.execute(request)["res"], len(self.shop.ledger(kind="sale"))), (0, 1))

    def test_duplicate_names(self) -> None:
        """If an object has a name twice, the last value counts."""
        self.open_shift()
        body = json.dumps(sale("t")).replace('"pays": [{', '"pays": [{"sum": 1, "sum": 2, ').encode()
        self.assertEqual(body.count(b'"sum"'), 4)
        answer = self.execute(body)
        self.assertEqual((answer["res"], answer["info"]["printinfo"]["pays"][0]["sum"]), (0, Decimal("125.5")))

    @promises("2.2.tag.5", "2.3.tag.2")
    def test_empty_tag(self) -> None:
        """A task that supports a tag and has none, or an empty one, is given a UUID that finds it again."""
        opened = self.open_shift()
        without = sale()
        del without["tag"]
        tags = [answer["tag"] for answer in (opened, self.sell(""), self.execute(without))]
        self.assertEqual([str(UUID(tag)) for tag in tags], tags)
        self.assertEqual(len(set(tags)), 3)
        again = self.execute({"device": "test", "tag": tags[1]})
        self.assertEqual((again["res"], again["task_status"], again["task"]), (0, 2, 1))

    @promises("3.3.tag-tasks.2", "3.3.tag-tasks.3")
    def test_tag_where_none_belongs(self) -> None:
        """A tag on a task that does not use it is returned and changes nothing."""
        self.open_shift()
        self.sell("same")
        for task in (10, 18, 20):
            answers = [self.fiscal(task, "same") for _ in range(2)]
            self.assertEqual(
                [(a["res"], a["tag"], a["task"], a["task_status"]) for a in answers], [(0, "same", task, 1)] * 2
            )

    @promises("2.2.device.2", "2.1.device.4")
    def test_blanks_around_a_name(self) -> None:
        """A device is found by exactly its name: with a blank before or behind it, 1091."""
        for name in (" test", "test ", "Test", "", "\ttest"):
            answer = self.execute({**fiscal(18), "device": name})
            self.assertEqual((answer["res"], answer["device"], answer["info"]), (1091, name, {}))

    def test_any_origin(self) -> None:
        """A page of any origin may read the answer to a task, and its request id."""
        answer = self.request("POST", EXECUTE, fiscal(18), [("Origin", "https://till.example")])
        self.assertEqual(answer.json["res"], 0)
        self.assertEqual(answer.header("access-control-allow-origin"), "*")
        self.assertEqual(answer.header("access-control-expose-headers"), "x-request-id")

    def test_preflight(self) -> None:
        """A browser that asks first hears that it may post JSON here, from a public page too."""
        asked = [
            ("Origin", "https://till.example"),
            ("Access-Control-Request-Method", "POST"),
            ("Access-Control-Request-Headers", "content-type"),
            ("Access-Control-Request-Private-Network", "true"),
        ]
        for path in NEIGHBOURS:
            answer = self.request("OPTIONS", path, headers=asked)
            self.assertEqual((answer.status, answer.body), (204, b""))
            self.assertEqual(answer.header("access-control-allow-origin"), "*")
            self.assertEqual(answer.header("access-control-allow-private-network"), "true")
            self.assertIn("POST", (answer.header("access-control-allow-methods") or "").split(", "))
            self.assertIn("content-type", (answer.header("access-control-allow-headers") or "").split(", "))

    @promises("3.2.3.2")
    def test_opening_twice(self) -> None:
        """Opening an open shift is 1096, changes nothing, and the next sale succeeds."""
        self.open_shift()
        again = self.fiscal(0, "again")
        self.assertEqual((again["res"], again["res_action"], again["task_status"], again["info"]), (1096, 3, 3, {}))
        self.assertEqual(self.sell()["info"]["docno"], "2")
        self.assertEqual([entry.kind for entry in self.shop.ledger()], ["open", "sale"])

    def test_text_of_a_closed_shift(self) -> None:
        """The text of 1092 has the words by which tills recognise a closed shift, in each language."""
        texts = [
            self.execute(sale(), headers=[("Accept-Language", language)])["errortxt"].lower()
            for language in ("uk", "en")
        ]
        self.assertIn("змін", texts[0])
        self.assertIn("shift", texts[1])

    def test_texts_of_other_refusals(self) -> None:
        """No other refusal is worded so that a till takes it for a closed shift."""
        for language in ("uk", "en"):
            for body in (
                {**sale(), "device": "tset"},
                {"device": "test", "tag": "x"},
                fiscal(99),
                b"{",
                sale(rows=""),
                {**sale(), "type": 3},
            ):
                answer = self.execute(body, headers=[("Accept-Language", language)])
                self.assertNotIn(answer["res"], (0, 1092))
                for stem in SHIFT_STEMS:
                    self.assertNotIn(stem, answer["errortxt"].lower())

    def test_text_form(self) -> None:
        """The text form of a receipt, when asked for, is a data URI in base64 of windows-1251."""
        self.open_shift()
        answer = self.execute({**sale(), "need_pf_txt": 2})
        head, separator, data = answer["pf_text"].partition(";base64,")
        self.assertTrue(head.startswith("data:text/plain"), head)
        self.assertEqual(separator, ";base64,")
        text = base64.b64decode(data, validate=True).decode("windows-1251")
        for words in ("Кава", "125.50", answer["info"]["doccode"], answer["info"]["fisid"]):
            self.assertIn(words, text)

    def test_form_fails(self) -> None:
        """A form that cannot be drawn is named by a warning in the caller's language; the receipt and the other forms
        are there.
        """
        self.open_shift()

        async def slow(*_: object) -> bytes:
            raise CrewFailed(SLOW)

        self.shop.core.clock.crew = slow
        asked = {**sale(), "need_pf_txt": 2, "need_pf_img": 2, "need_pf_pdf": 2}
        for language, said in (("uk", "малюється довше ніж 10 с"), ("en", "it takes longer than 10 s to draw")):
            answer = self.execute(asked, headers=[("Accept-Language", language)])
            self.assertEqual((answer["res"], "pf_text" in answer, "pf_image" in answer), (0, True, False))
            self.assertEqual([warning["code"] for warning in answer["warnings"]], [430, 430])
            for name, warning in zip(("pf_image", "pf_pdf"), answer["warnings"], strict=True):
                self.assertIn(f"{name}: {said}", warning["wtxt"])
        self.assertEqual(len(self.flushLoggedErrors(CrewFailed)), 4)

    def test_no_form_unasked(self) -> None:
        """Without the wish for a form no form is sent."""
        self.open_shift()
        self.assertEqual([name for name in self.execute({**sale(), "need_pf_txt": 1}) if name.startswith("pf_")], [])


class RootTests(_Day):
    """The root of an answer."""

    @promises(
        *("2.3.ver", "2.3.resp_ver.1", "2.3.source.1", "2.3.device", "2.3.tag.1", "2.3.task_status.1"),
        *("2.3.type", "2.3.task.1", "2.3.dt.1", "2.3.res_action", "1.7b.1", "1.7c.1"),
        *("2.2.type.3", "2.2.task.1", "2.2.task.2", "2.2.tag.1", "2.2.typing.1", "3.2.0.1"),
    )
    def test_success(self) -> None:
        """The root repeats the request and has the time of the task, to the millisecond."""
        self.open_shift()
        self.shop.clock.advance(0.25)
        answer = self.sell("sale-1")
        info = answer.pop("info")
        self.assertEqual(
            answer,
            {
                "ver": 6,
                "resp_ver": 4,
                "source": "till 1",
                "device": "test",
                "tag": "sale-1",
                "task_status": 1,
                "type": 1,
                "task": 1,
                "dt": "20260921090000250",
                "res": 0,
                "res_action": 0,
                "errortxt": "",
                "aq_errortxt": "",
                "warnings": [],
            },
        )
        self.assertEqual((info["task"], info["dt"]), (1, "20260921090000"))

    @promises("2.3.task_status.3", "2.3.errortxt.1", "2.3.source.2")
    def test_refusal(self) -> None:
        """A refusal has the same root, in the same order, with ``task_status`` 3 and an empty ``info``."""
        answer = self.sell("sale-1")
        self.assertEqual(tuple(answer), ROOT)
        self.assertEqual(
            {**answer, "errortxt": ""},
            {
                "ver": 6,
                "resp_ver": 4,
                "source": "till 1",
                "device": "test",
                "tag": "sale-1",
                "task_status": 3,
                "type": 1,
                "task": 1,
                "dt": "20260921090000000",
                "res": 1092,
                "res_action": 3,
                "errortxt": "",
                "aq_errortxt": "",
                "warnings": [],
                "info": {},
            },
        )
        for what, refused in self.refusals().items():
            self.assertEqual((tuple(refused.json), refused.json["info"]), (ROOT, {}), what)

    @promises("2.2.typing.6", "4.json")
    def test_unreadable(self) -> None:
        """A body that is not a JSON object is answered with ``type`` 0 and ``task`` -1: its task is unknown."""
        for body in (
            b"",
            b"{",
            b"nonsense",
            b"[1]",
            b'"x"',
            b"null",
            b'{"device": "\xff"}',
            b"\x00" * 9,
            b"[" * 99999,
        ):
            answer = self.execute(body)
            self.assertEqual(
                [answer[name] for name in ("res", "res_action", "type", "task", "task_status", "device", "tag")],
                [2000, 3, 0, -1, 3, "", ""],
            )

    def test_readable_in_part(self) -> None:
        """The answer to a refused body repeats what could be read of it."""
        answer = self.execute({**sale("t"), "fiscal": {"task": 1, "receipt": 5}})
        self.assertEqual(
            [answer[name] for name in ("res", "source", "device", "tag", "type", "task")],
            [2000, "till 1", "test", "t", 1, 1],
        )

    @promises(
        *("2.3.task.2", "2.3.dt.2", "3.3.3.1", "3.3.3.2", "3.3.3.3", "3.3.3.4", "3.3.3.5", "2.2.type.1", "2.2.type.2")
    )
    def test_look_up_without_a_hit(self) -> None:
        """A look-up that finds nothing is 1058 with ``task`` -1 and no time, in full or shortened."""
        for body in ({"ver": 6, "device": "test", "tag": "t", "type": 0}, {"device": "test", "tag": "t"}):
            answer = self.execute(body)
            self.assertEqual(
                [answer[name] for name in ("res", "res_action", "task_status", "type", "task", "dt", "tag", "info")],
                [1058, 1, 3, 0, -1, "", "t", {}],
            )

    @promises("2.3.source.1", "2.3.task_status.2", "3.3.1.1", "3.3.1.3", "3.3.1.4", "3.3.2.1", "3.3.2.2")
    def test_repeats(self) -> None:
        """Repeat and look-up get the bytes of the first answer with ``task_status`` 2 and their own ``source``."""
        self.open_shift()
        first = self.request("POST", EXECUTE, sale("t")).body
        self.assertEqual(first.count(b'"task_status":1'), 1)
        expected = first.replace(b'"task_status":1', b'"task_status":2')
        for body in (sale("t"), {"device": "test", "tag": "t"}, {"device": "test", "tag": "t", "type": 0}):
            mine = json.dumps(body.get("source", "")).encode()
            self.assertEqual(self.request("POST", EXECUTE, body).body, expected.replace(b'"till 1"', mine, 1))
        self.assertEqual(len(self.shop.ledger(kind="sale")), 1)

    @promises("2.2.tag.2", "8.tag-length")
    def test_longest_tag(self) -> None:
        """A tag of 200 characters, not bytes, is taken; one more is 2000."""
        self.open_shift()
        longest = "ї" * 200
        self.assertEqual(self.sell(longest)["tag"], longest)
        answer = self.sell(longest + "ї")
        self.assertEqual(answer["res"], 2000)
        self.assertIn("tag: ", answer["errortxt"])
        self.assertEqual(len(self.shop.ledger(kind="sale")), 1)

    def test_texts_of_callers(self) -> None:
        """Quotes, backslashes, line ends and letters of any script come back as they were sent."""
        awkward = 'каса "1" \\ /\n\t\u2028 ё 😀 "task_status":1'
        self.open_shift()
        request = sale(awkward)
        request["source"] = awkward
        for _ in range(2):
            answer = self.execute(request)
            self.assertEqual((answer["res"], answer["tag"], answer["source"]), (0, awkward, awkward))
        self.assertEqual(answer["task_status"], 2)

    def test_byte_order_mark(self) -> None:
        """A byte order mark in front of the body is overlooked."""
        self.assertEqual(self.execute(b"\xef\xbb\xbf" + json.dumps(fiscal(18)).encode())["res"], 0)

    def test_no_content_type(self) -> None:
        """The content type of a request does not matter."""
        for sent in (
            "text/plain",
            "application/json; charset=UTF-8",
            "application/x-www-form-urlencoded",
            "nonsense;",
        ):
            connection = self.connect()
            connection.ask("POST", EXECUTE, json.dumps(fiscal(18)).encode(), [("Content-Type", sent)])
            [answer] = connection.answers()
            self.assertEqual(answer.json["res"], 0, sent)

    @promises("3.2.1.1", "3.2.1.2", "3.2.1.3")
    def test_full_disk(self) -> None:
        """While nothing can be stored a sale is 1082 with ``res_action`` 1 and has no effect; then it succeeds."""
        self.open_shift()
        self.shop.store.broken = True
        answer = self.sell("t")
        self.assertEqual([answer[name] for name in ("res", "res_action", "task_status", "info")], [1082, 1, 3, {}])
        self.assertEqual(self.shop.ledger(kind="sale"), [])
        self.shop.store.broken = False
        self.assertEqual((self.sell("t")["res"], len(self.shop.ledger(kind="sale"))), (0, 1))

    @promises("3.2.3.3")
    def test_fault_of_ours(self) -> None:
        """An internal error is 1016 with ``res_action`` 3, is logged with its request, and stops no other task."""

        def fail(*_: object) -> Any:
            raise RuntimeError("a bug")

        register = self.shop.core.devices.by_name("test").built
        self.patch(register, "perform", fail)
        log = self.logged()
        answer = self.execute(sale("t"), headers=[("X-Request-Id", "bug-1")])
        self.assertEqual([answer[name] for name in ("res", "res_action", "tag", "info")], [1016, 3, "t", {}])
        self.assertNotIn("a bug", answer["errortxt"])
        self.assertIn("[bug-1] an internal error", log.getvalue())
        self.assertIn("RuntimeError: a bug", log.getvalue())
        self.assertEqual([failure.type for failure in self.flushLoggedErrors()], [RuntimeError])
        self.assertEqual(self.execute({"device": "test", "tag": "t"})["res"], 1058)


class TurnTests(WebCase):
    """One task at a time for a register, whatever path it comes by."""

    def setUp(self) -> None:
        """A second register, and open shifts."""
        super().setUp()
        body = {"device": "second", "kind": "register", "driver": "training"}
        self.assertEqual(self.request("POST", DEVICES, body).status, 201)
        self.shop.open_shift()
        self.shop.open_shift("second")

    @promises("1.9d.1.1", "1.9d.1.4", "1.9d.2", "1.9d.3", "8.one-task.1", "1.9a.1")
    def test_busy(self) -> None:
        """While a register works every task endpoint answers 1105 for it at once, and serves the others."""
        self.shop.scenario({"on": "sale", "then": "accept", "delay_ms": 800})
        till = self.connect()
        till.ask("POST", EXECUTE, json.dumps(sale("slow")).encode())
        for path in NEIGHBOURS:
            for body in (sale("next"), {"device": "test", "tag": "slow"}, fiscal(18)):
                answer = self.execute(body, path)
                self.assertEqual([answer[name] for name in ("res", "res_action", "info")], [1105, 1, {}])
            self.assertEqual(self.execute({**sale(f"other {path}"), "device": "second"}, path)["res"], 0)
        self.assertEqual(till.answers(), [])
        self.shop.clock.advance(0.8)
        [answer] = till.answers()
        self.assertEqual((answer.json["res"], answer.json["tag"]), (0, "slow"))
        self.assertEqual(self.sell("next")["res"], 0)
        self.assertEqual(len(self.shop.ledger("second", "sale")), 3)

    @promises("1.9e.1.1", "1.9e.1.2")
    def test_other_endpoints(self) -> None:
        """While a register works nothing but its tasks is ever answered 1105: reading goes on, changes may wait."""
        self.shop.scenario({"on": "sale", "then": "accept", "delay_ms": 800})
        path = f"{DEVICES}/{self.shop.core.devices.by_name('test').row.dev_id}"
        till = self.connect()
        till.ask("POST", EXECUTE, json.dumps(sale("slow")).encode())
        for reading in (DEVICES, path, f"{path}/scenario", f"{path}/ledger", "/health/ready", "/dm/api/v3/drivers"):
            self.assertEqual(self.request("GET", reading).status, 200, reading)
        self.assertTrue(self.request("GET", path).json["state"]["busy"])
        waiting = []
        for method, where, body in (
            ("PATCH", path, b'{"settings": {"shopname": "First"}}'),
            ("POST", f"{path}/check", b""),
        ):
            connection = self.connect()
            connection.ask(method, where, body)
            waiting.append(connection)
        self.shop.clock.advance(0.8)
        for connection in waiting:
            [answer] = connection.answers()
            self.assertNotEqual(answer.json.get("res"), 1105)
        self.assertEqual(till.answers()[0].json["res"], 0)

    @promises("1.9e.1.2")
    def test_stuck_devices(self) -> None:
        """While no device gives a turn, no other endpoint answers 1105: 409 and 2100 say that it has to wait."""
        shop = self.shop = Shop(self, whole=True)
        self.door = Door(shop.core)
        shop.open_shift()
        shop.asked({"device": "pos", "type": 3, "pay": {"task": 1, "sum": 10}})
        shop.asked({"device": "prn", "type": 2, "doc": {"lines": [{"t": "а"}]}})
        shop.clock.pump([0.5] * 60)
        numbers = {row["kind"]: row["id"] for row in self.request("GET", "/dm/api/v3/operations").json["operations"]}

        async def never() -> None:
            raise Refused(Res.DEVICE_BUSY)

        for device in shop.core.devices:
            device.turns._own = never
        told: dict[str, set[tuple[int, int]]] = {}
        left = ("/dm/execute", "/login", "/logout", "/dm/api/v3/backups", "/dm/api/v3/tls", "/dm/api/v3/events")
        for path, methods in self.request("GET", "/dm/api/v3/openapi.json").json["paths"].items():
            if path.startswith(left):
                continue
            for device in shop.core.devices:
                for method, n in product(methods, numbers.values() if "{n}" in path else [0]):
                    where = path.replace("{dev_id}", device.row.dev_id).replace("{n}", str(n))
                    ask = self.connect()
                    body = {"outcome": "refused"} if "settle" in path else {}
                    ask.ask(
                        method.upper(),
                        f"{where}?dev_name={device.name}&dev_id={device.row.dev_id}",
                        json.dumps(body).encode(),
                        [JSON_TYPE],
                    )
                    shop.clock.pump([0.1] * 3)
                    for answer in ask.answers():
                        if answer.header("content-type") == "application/json" and answer.body:
                            res = answer.json.get("res", 0)
                            told.setdefault(f"{method} {path}", set()).add((answer.status, res))
                    ask.hang_up()
        self.flushLoggedErrors()
        self.assertEqual([path for path, answers in told.items() if any(res == 1105 for _, res in answers)], [])
        one, n = "/dm/api/v3/devices/{dev_id}", "/dm/api/v3/operations/{n}"
        self.assertEqual(
            {path for path, answers in told.items() if (409, 2100) in answers},
            {
                *(f"post {one}/{verb}" for verb in ("check", "go-offline", "go-online")),
                *(f"patch {one}", f"delete {one}"),
                *(f"post {n}/settle", f"post {n}/slip", "post /dm/api/v3/jobs/{n}/reprint"),
            },
        )
        self.assertIn((200, 5022), told["get /dm/getmerchantlist"])

    def test_stopping(self) -> None:
        """A service that stops finishes the task under way, refuses new ones, and its reads go on to the end."""
        self.shop.scenario({"on": "sale", "then": "accept", "delay_ms": 800})
        till, other = self.connect(), self.connect()
        till.ask("POST", EXECUTE, json.dumps(sale("slow")).encode())
        closing = Deferred.fromCoroutine(self.shop.core.close())
        other.ask("POST", EXECUTE, json.dumps({**sale("late"), "device": "second"}).encode())
        [answer] = other.answers()
        self.assertEqual((answer.json["res"], answer.json["res_action"]), (1105, 1))
        self.assertEqual(self.request("GET", "/health/ready").status, 503)
        self.assertNoResult(closing)
        self.shop.clock.advance(0.8)
        self.assertEqual(till.answers()[0].json["res"], 0)
        self.successResultOf(closing)

    @promises("1.7a.1", "2.1.device.4", "2.2.device.1", "2.2.tag.4", "3.3.1.5")
    def test_same_tag(self) -> None:
        """Two registers may use the same tag without minding each other, and neither finds the other's receipt."""
        self.assertEqual(self.sell("t")["info"]["fisid"], "4000000001")
        self.assertEqual(self.execute({"device": "second", "tag": "t"})["res"], 1058)
        answer = self.execute({**sale("t"), "device": "second"})
        self.assertEqual((answer["task_status"], answer["info"]["fisid"]), (1, "4000000002"))


class NeighbourTests(WebCase):
    """The two endpoints beside ``/dm/execute``."""

    def test_without_printer(self) -> None:
        """Where there is no printer the receipt is fiscalised all the same, and ``isprint`` is 0."""
        self.open_shift()
        for path in (
            "/dm/execute-prn",
            "/dm/execute-prn?dev_id=kitchen",
            "/dm/execute-prn?dev_id=",
            "/dm/execute-pkg",
        ):
            answer = self.execute(sale(path), path)
            self.assertEqual((answer["res"], answer["info"]["isprint"], answer["info"]["ispay"]), (0, 0, 0))
        self.assertEqual(len(self.shop.ledger(kind="sale")), 4)

    def test_one_journal(self) -> None:
        """A tag that was used at one endpoint is known at the others."""
        self.open_shift()
        first = self.execute(sale("t"), "/dm/execute-prn")
        for path in NEIGHBOURS:
            answer = self.execute(sale("t"), path)
            self.assertEqual((answer["task_status"], answer["info"]["docno"]), (2, first["info"]["docno"]))

    def test_query(self) -> None:
        """A query behind the path does not change where a task goes."""
        self.assertEqual(self.execute(fiscal(18), "/dm/execute?x=1&y")["res"], 0)

    def test_skipprint(self) -> None:
        """``skipprint`` is taken as a truth value in any spelling."""
        self.open_shift()
        for wish in (True, "true", 1, "1", False, 0, "", None):
            answer = self.execute({**sale(f"skip {wish!r}"), "skipprint": wish}, "/dm/execute-pkg")
            self.assertEqual((answer["res"], answer["info"]["isprint"]), (0, 0))


class BodyTests(WebCase):
    """How much of a body is taken, and how."""

    def body_of(self, length: int) -> bytes:
        """A status request that is ``length`` bytes long."""
        return json.dumps(fiscal(18)).encode().ljust(length)

    def test_longest(self) -> None:
        """A body of exactly 4 MB is taken."""
        self.assertEqual(MAX_BODY, 4 * 1024 * 1024)
        self.assertEqual(self.execute(self.body_of(MAX_BODY))["res"], 0)

    def test_too_long(self) -> None:
        """A body of one byte more is 2000 in the usual shape, and the connection goes on."""
        connection = self.connect()
        connection.ask("POST", EXECUTE, self.body_of(MAX_BODY + 1))
        connection.ask("POST", EXECUTE, self.body_of(200))
        first, second = connection.answers()
        self.assertEqual((first.status, first.header("content-type")), (200, "application/json"))
        self.assertEqual([first.json[name] for name in ("res", "res_action", "type", "task")], [2000, 3, 0, -1])
        self.assertIn(str(MAX_BODY), first.json["errortxt"])
        self.assertEqual(second.json["res"], 0)
        self.assertTrue(connection.is_open)

    def test_much_too_long(self) -> None:
        """A body of many times the limit is read to its end and dropped, in bounded memory."""
        connection = self.connect()
        piece, times = b" " * (1 << 16), 16 * MAX_BODY // (1 << 16)
        connection.ask("POST", EXECUTE, b"{", [("Content-Length", str(1 + times * len(piece)))])
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        for _ in range(times):
            connection.send(piece)
        _, peak = tracemalloc.get_traced_memory()
        self.assertLess(peak, 4 * MAX_BODY)
        [answer] = connection.answers()
        self.assertEqual((answer.status, answer.json["res"]), (200, 2000))
        connection.ask("POST", EXECUTE, self.body_of(200))
        self.assertEqual([answer.json["res"] for answer in connection.answers()], [0])

    def test_chunks(self) -> None:
        """A body in chunks is taken like any other, and its length counts in the same way."""
        self.open_shift()
        connection = self.connect()
        for body, size in (
            (json.dumps(sale("t")).encode(), 7),
            (self.body_of(MAX_BODY), 1 << 16),
            (self.body_of(MAX_BODY + 1), 1 << 16),
            (json.dumps(sale("u")).encode(), 100000),
        ):
            head = request_bytes("POST", EXECUTE, b"", [("Transfer-Encoding", "chunked")])
            connection.send(head + chunked(body, size))
        self.assertEqual([answer.json["res"] for answer in connection.answers()], [0, 0, 2000, 0])
        self.assertEqual(len(self.shop.ledger(kind="sale")), 2)

    def test_announced_and_not_sent(self) -> None:
        """A huge body that is announced and never comes costs nothing and is given up after the idle time."""
        connection = self.connect()
        connection.ask("POST", EXECUTE, b"{", [("Content-Length", str(10**15))])
        self.shop.clock.advance(IDLE_CONNECTION - 1)
        self.assertTrue(connection.is_open)
        self.assertEqual(self.execute(fiscal(18))["res"], 0)
        self.shop.clock.advance(1)
        self.assertFalse(connection.is_open)
        self.assertEqual(connection.answers(), [])

    def test_expect_continue(self) -> None:
        """A client that sends `Expect: 100-continue` may send its large body, then gets its answer."""
        connection = self.connect()
        body = self.body_of(2_000_000)
        expect = [("Expect", "100-continue"), ("Content-Length", str(len(body)))]
        connection.ask("POST", EXECUTE, headers=expect)
        self.assertEqual([answer.status for answer in connection.answers()], [100])
        connection.send(body)
        self.assertEqual([(answer.status, answer.json["res"]) for answer in connection.answers()], [(200, 0)])

    def test_ambiguous_length(self) -> None:
        """A request whose length can be read in two ways, or in none, is 400, and nothing of it is done."""
        self.open_shift()
        body = json.dumps(sale("t")).encode()
        length = str(len(body))
        for lengths in (
            [("Content-Length", length), ("Content-Length", "1")],
            [("Content-Length", length), ("Transfer-Encoding", "chunked")],
            [("Content-Length", "-1")],
            [("Content-Length", "0x10")],
            [("Content-Length", length), ("Transfer-Encoding", "gzip")],
        ):
            connection = self.connect()
            connection.ask("POST", EXECUTE, body, lengths)
            self.assertEqual([answer.status for answer in connection.answers()], [400])
            self.assertFalse(connection.is_open)
        self.assertEqual(self.shop.ledger(kind="sale"), [])

    def test_length_of_many_digits(self) -> None:
        """A length of thousands of digits is refused like any other nonsense, without a fault in the log."""
        connection = self.connect()
        connection.ask("POST", EXECUTE, b"{}", [("Content-Length", "9" * 5000)])
        self.assertEqual([answer.status for answer in connection.answers()], [400])
        self.assertFalse(connection.is_open)

    def test_large_receipt(self) -> None:
        """A receipt of a thousand items, more than the tax service takes, is sold, and its large answer comes whole;
        with one more it is 2000.
        """
        self.open_shift()
        for count, res in ((1000, 0), (1001, 2000)):
            rows = [{"code": str(n), "name": f"Товар {n}", "cnt": 1, "price": 1, "taxgrp": 1} for n in range(count)]
            asked = sale(f"t{count}", sum=count, rows=rows, pays=[{"type": 2, "sum": count}])
            answer = self.request("POST", EXECUTE, asked)
            self.assertEqual(answer.json["res"], res)
            if res:
                self.assertIn("fiscal.receipt.rows: щонайбільше 1000 елементів, а не 1001", answer.json["errortxt"])
            else:
                self.assertEqual(len(answer.json["info"]["printinfo"]["goods"]), count)
                self.assertGreater(len(answer.body), 100_000)
        self.assertEqual(len(self.shop.ledger(kind="sale")), 1)


class ConnectionTests(WebCase):
    """What a connection can be used for."""

    def test_kept(self) -> None:
        """A connection serves one task after the other."""
        self.open_shift()
        connection = self.connect()
        for n in range(5):
            connection.ask("POST", EXECUTE, json.dumps(sale(f"t{n}")).encode())
            [answer] = connection.answers()
            self.assertEqual(answer.json["tag"], f"t{n}")
        self.assertTrue(connection.is_open)
        self.assertEqual(len(self.shop.ledger(kind="sale")), 5)

    def test_pipelined(self) -> None:
        """Tasks sent without waiting are done one after the other and answered in their order."""
        self.open_shift()
        self.shop.scenario({"on": "sale", "then": "accept", "delay_ms": 800})
        connection = self.connect()
        requests = [
            request_bytes("POST", EXECUTE, json.dumps(body).encode())
            for body in (sale("a"), sale("b"), {"device": "test", "tag": "a"})
        ]
        connection.send(b"".join(requests))
        self.assertEqual(connection.answers(), [])
        self.shop.clock.advance(0.8)
        answers = [answer.json for answer in connection.answers()]
        self.assertEqual(
            [(answer["res"], answer["tag"], answer["task_status"]) for answer in answers],
            [(0, "a", 1), (0, "b", 1), (0, "a", 2)],
        )

    def test_cut_anywhere(self) -> None:
        """A request may arrive byte by byte."""
        connection = self.connect()
        for byte in request_bytes("POST", EXECUTE, json.dumps(fiscal(18)).encode()):
            self.assertEqual(connection.answers(), [])
            connection.send(bytes([byte]))
        self.assertEqual([answer.json["res"] for answer in connection.answers()], [0])

    def test_asked_to_close(self) -> None:
        """A client that wants the connection closed after its answer has it closed."""
        connection = self.connect()
        connection.ask("POST", EXECUTE, json.dumps(fiscal(18)).encode(), [("Connection", "close")])
        self.assertEqual([answer.json["res"] for answer in connection.answers()], [0])
        self.assertFalse(connection.is_open)

    def test_old_client(self) -> None:
        """A client of HTTP/1.0 is answered too, with a length and then the end."""
        connection = self.connect()
        body = json.dumps(fiscal(18)).encode()
        connection.send(b"POST /dm/execute HTTP/1.0\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        [answer] = connection.answers()
        self.assertEqual((answer.header("content-length"), answer.json["res"]), (str(len(answer.body)), 0))
        self.assertFalse(connection.is_open)

    def test_gone_caller(self) -> None:
        """A caller who hangs up does not stop his task: the receipt is made and can be had by its tag."""
        self.open_shift()
        self.shop.scenario({"on": "sale", "then": "accept", "delay_ms": 800})
        connection = self.connect()
        connection.ask("POST", EXECUTE, json.dumps(sale("t")).encode())
        connection.hang_up()
        self.assertEqual(self.sell("u")["res"], 1105)
        self.shop.clock.advance(0.8)
        self.assertEqual(len(self.shop.ledger(kind="sale")), 1)
        answer = self.execute({"device": "test", "tag": "t"})
        self.assertEqual((answer["res"], answer["task_status"], answer["info"]["docno"]), (0, 2, "2"))
        self.assertEqual(self.flushLoggedErrors(), [])

    def test_gone_with_half_a_request(self) -> None:
        """Half a request does nothing."""
        self.open_shift()
        connection = self.connect()
        connection.send(request_bytes("POST", EXECUTE, json.dumps(sale("t")).encode())[:-1])
        connection.hang_up()
        self.assertEqual(self.shop.ledger(kind="sale"), [])
        self.assertEqual(self.flushLoggedErrors(), [])

    def test_idle(self) -> None:
        """An idle connection is closed after two minutes; each request restarts them."""
        connection = self.connect()
        for _ in range(3):
            self.shop.clock.advance(IDLE_CONNECTION - 1)
            connection.ask("POST", EXECUTE, json.dumps(fiscal(18)).encode())
            self.assertEqual(len(connection.answers()), 1)
        self.shop.clock.advance(IDLE_CONNECTION - 0.1)
        self.assertTrue(connection.is_open)
        self.shop.clock.advance(0.1)
        self.assertFalse(connection.is_open)

    def test_waiting_is_not_idle(self) -> None:
        """A connection whose task takes long is not closed before the answer."""
        self.shop.settings(wait_s=60)
        self.open_shift()
        slow = {"on": "sale", "then": "accept", "delay_ms": 59_000}
        self.shop.scenario(*[slow] * 4)
        connection = self.connect()
        for tag in "abcd":
            connection.send(request_bytes("POST", EXECUTE, json.dumps(sale(tag)).encode()))
        for _ in range(4):
            self.assertTrue(connection.is_open)
            self.shop.clock.advance(59)
        self.assertEqual([answer.json["tag"] for answer in connection.answers()], list("abcd"))

    def test_dripping(self) -> None:
        """A request that drips in for ten minutes is not waited for: idle connections must not be for the taking."""
        connection = self.connect()
        connection.send(b"POST /dm/execute HTTP/1.1\r\nHost: x\r\nX-Drip: ")
        for _ in range(20):
            if connection.is_open:
                connection.send(b"a")
            self.shop.clock.advance(30)
        self.assertFalse(connection.is_open)

    def test_too_many_headers(self) -> None:
        """Headers without end are 400 and the end of the connection."""
        connection = self.connect()
        connection.ask("POST", EXECUTE, b"{}", [(f"X-{n}", "a" * 100) for n in range(500)])
        self.assertEqual([answer.status for answer in connection.answers()], [400])
        self.assertFalse(connection.is_open)


class RequestIdTests(WebCase):
    """The name by which a request is found again in the log."""

    def test_echo(self) -> None:
        """The id of the caller is returned."""
        for name in ("a", "till-7.2026_09", "A" * 64):
            answer = self.request("POST", EXECUTE, fiscal(18), [("X-Request-Id", name)])
            self.assertEqual(answer.header("x-request-id"), name)

    def test_generated(self) -> None:
        """Without an id, or with one that cannot stand in a log, the request is given one, another each time."""
        found = [self.request("POST", EXECUTE, fiscal(18)).header("x-request-id")]
        for name in ("", "a b", "A" * 65, "ї", "a;b", "a\tb", "<script>"):
            answer = self.request("POST", EXECUTE, fiscal(18), [("X-Request-Id", name)])
            found.append(answer.header("x-request-id"))
        for given in found:
            self.assertRegex(given or "", r"^[0-9a-f]{8}$")
        self.assertEqual(len(set(found)), len(found))

    def test_refused(self) -> None:
        """A task that is refused has its id too."""
        answer = self.request("POST", EXECUTE, b"{", [("X-Request-Id", "bad-1")])
        self.assertEqual((answer.json["res"], answer.header("x-request-id")), (2000, "bad-1"))

    def test_in_every_line(self) -> None:
        """Every line that a request writes into the log bears its id, also after a wait."""
        self.open_shift()
        self.shop.scenario({"on": "sale", "then": "lost_after", "delay_ms": 800})
        log = self.logged()
        connection = self.connect()
        connection.ask("POST", EXECUTE, json.dumps(sale("t")).encode(), [("X-Request-Id", "till-1")])
        self.shop.clock.advance(0.8)
        [answer] = connection.answers()
        self.assertEqual((answer.json["res"], answer.json["res_action"]), (0, 0))
        lines = log.getvalue().splitlines()
        self.assertGreaterEqual(len(lines), 2, lines)
        self.assertEqual([line for line in lines if " [till-1] " not in line], [])
        self.assertIn("test 1/1 tag=t res=0", lines[-1])

    def test_nobody_elses(self) -> None:
        """Requests that are under way at the same time keep their own ids."""
        body = {"device": "second", "kind": "register", "driver": "training"}
        self.assertEqual(self.request("POST", DEVICES, body).status, 201)
        self.shop.open_shift()
        self.shop.open_shift("second")
        log = self.logged()
        connections = []
        for device, seconds in (("test", 2), ("second", 1)):
            self.shop.scenario({"on": "sale", "then": "accept", "delay_ms": seconds * 1000}, device=device)
            connection = self.connect()
            request = json.dumps({**sale(), "device": device}).encode()
            connection.ask("POST", EXECUTE, request, [("X-Request-Id", f"id-{device}")])
            connections.append(connection)
        self.shop.clock.advance(1)
        self.shop.clock.advance(1)
        for connection, device in zip(connections, ("test", "second"), strict=True):
            [answer] = connection.answers()
            self.assertEqual((answer.json["device"], answer.header("x-request-id")), (device, f"id-{device}"))
        lines = [line for line in log.getvalue().splitlines() if " 1/1 " in line]
        self.assertEqual(len(lines), 2)
        self.assertIn(" [id-second] second 1/1 ", lines[0])
        self.assertIn(" [id-test] test 1/1 ", lines[1])

    def test_json_log(self) -> None:
        """In the log for collectors the id is a member of its own."""
        log = self.logged("json")
        self.request("POST", EXECUTE, fiscal(18), [("X-Request-Id", "till-1")])
        [line] = log.getvalue().splitlines()
        members = json.loads(line)
        self.assertEqual(
            [members[name] for name in ("request_id", "device", "type", "task", "res")], ["till-1", "test", 1, 18, 0]
        )


class PrivacyTests(WebCase):
    """What does not get into the log, nor into an answer where it does not belong."""

    def test_cards(self) -> None:
        """A card number is nowhere in the log, whichever member a till puts it into."""
        self.open_shift()
        log = self.logged()
        pay = {"type": 2, "sum": 125.5, "paysys": "VISA", "rrn": "123456789012", "cardmask": CARD}
        self.sell(CARD, pays=[pay], comment_up=CARD)
        self.execute({**sale(CARD), "device": CARD, "source": CARD})
        self.execute({**sale(), "type": CARD})
        self.request("POST", EXECUTE, fiscal(18, CARD), [("X-Request-Id", CARD)])
        self.assertNotIn(CARD, log.getvalue())
        self.assertIn(f"tag={MASKED}", log.getvalue())

    def test_secrets(self) -> None:
        """Tokens, passwords and keys that callers send stay out of the log."""
        log = self.logged()
        request = fiscal(18)
        request.update(token="s3same", password="s3same")
        headers = [("X-Api-Key", "s3same"), ("Cookie", "DMUIToken=s3same"), ("Authorization", "Bearer s3same")]
        self.assertEqual(self.execute(request, headers=headers)["res"], 0)
        self.assertNotIn("s3same", log.getvalue())
        self.assertIn("test 1/18 ", log.getvalue())

    def test_forged_lines(self) -> None:
        """Line ends in what a caller sends cannot pass for another line of the log."""
        log = self.logged()
        forged = "\n2026-09-21T09:00:00.000+03:00 info dmtwisted.dispatch test 1/1 tag=x res=0 1.0 ms"
        self.execute({**fiscal(18, forged), "device": forged})
        stamps = [line for line in log.getvalue().splitlines() if re.match(r"\d{4}-", line)]
        self.assertEqual(len(stamps), 1)

    def test_injected_headers(self) -> None:
        """Nothing that a caller sends can become a header of the answer."""
        for id in (b"a\r\n X-Evil: 1", b"a\rX-Evil: 1", b"a\x0bX-Evil: 1"):
            connection = self.connect()
            connection.send(
                b"POST /dm/execute HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: %b\r\nContent-Length: 2\r\n\r\n{}"
                % id
            )
            [answer] = connection.answers()
            self.assertEqual(answer.header("x-evil"), None)
            self.assertNotIn("Evil", answer.header("x-request-id") or "")


class MethodTests(WebCase):
    """Paths and methods that lead nowhere."""

    def test_other_methods(self) -> None:
        """Another method on a task endpoint is 405 as JSON and names those that are there."""
        for path in NEIGHBOURS:
            for method in ("GET", "PUT", "DELETE", "PATCH", "BREW"):
                answer = self.request(method, path)
                self.assertEqual((answer.status, answer.header("allow")), (405, "POST, OPTIONS"))
                self.assertEqual(answer.header("content-type"), "application/json")
                self.assertEqual(set(answer.json), {"res", "errortxt", "errors"})
                self.assertEqual(answer.json["res"], 2000)

    def test_head(self) -> None:
        """HEAD is answered like GET, without the body, and leaves no complaint in the log."""
        log = self.logged()
        connection = self.connect()
        for path, status in ((EXECUTE, 405), ("/health/live", 200), (DEVICES, 200), ("/nowhere", 404)):
            connection.ask("HEAD", path)
            [answer] = connection.answers()
            self.assertEqual(
                (answer.status, answer.header("content-type"), answer.body), (status, "application/json", b"")
            )
        self.assertTrue(connection.is_open)
        self.assertEqual(log.getvalue(), "")

    def test_nowhere(self) -> None:
        """A path that leads nowhere is 404 as JSON, by whichever method."""
        for path in (
            "/nowhere",
            "/dm/nowhere",
            "/dm/execute/",
            "/dm/execute/x",
            "//dm/execute",
            "/DM/EXECUTE",
            "/%00",
            "/%ff",
        ):
            for method in ("GET", "POST"):
                answer = self.request(method, path)
                self.assertEqual((answer.status, answer.header("content-type")), (404, "application/json"), path)
                self.assertEqual(set(answer.json), {"res", "errortxt", "errors"})

    def test_nonsense(self) -> None:
        """What is no HTTP is 400 and the end of the connection."""
        for line in (
            b"HELLO\r\n\r\n",
            b"GET /dm/execute\r\n\r\n",
            b"POST /dm/execute HTTP/2.0\r\n\r\n",
            b"\x16\x03\x01\r\n\r\n",
        ):
            connection = self.connect()
            connection.send(line)
            self.assertEqual([answer.status for answer in connection.answers()], [400], line)
            self.assertFalse(connection.is_open)

    def test_odd_hosts(self) -> None:
        """An invalid host name does no harm, and the answer is never HTML."""
        served, foreign, invalid = (405, 200), (421, 421), (400, 400)
        hosts = {"a..b": invalid, "x" * 70: invalid, "[::1]:3939": served, "": served, "ї": foreign, "a b": invalid}
        for host, statuses in hosts.items():
            for path, status in zip((EXECUTE, DEVICES), statuses, strict=True):
                connection = self.connect()
                connection.send(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                [answer] = connection.answers()
                self.assertEqual((answer.status, answer.header("content-type")), (status, "application/json"), host)


class UnknownDeviceTests(WebCase):
    """What 1091 says, and to whom."""

    def note(self, device: str, type: int = 0, language: str = "en", key: str = "") -> str:
        """What follows the text of 1091 for a task of ``type`` at ``device``."""
        headers = [("Accept-Language", language), *([("x-api-key", key)] if key else [])]
        answer = self.execute({"device": device, "type": type, "tag": "t"}, headers=headers)
        self.assertEqual((answer["res"], answer["device"]), (1091, device))
        text, _, note = answer["errortxt"].partition(": ")
        self.assertEqual(text, Res.UNKNOWN_DEVICE.text.for_language(language))
        return str(note)

    def strangers(self) -> None:
        """From now on the service is not one in training mode."""
        config = self.shop.core.config
        self.shop.core.config = replace(config, service=replace(config.service, training=False))
        self.door = Door(self.shop.core)

    @promises("2.2.device.1")
    def test_training(self) -> None:
        """On a training service it names the device that was sent and those of its kind that exist."""
        self.assertEqual(self.note("till"), 'register "till"; known registers: "test"')
        self.assertEqual(self.note("till", language="uk"), "каса «till»; є каси «test»")
        self.assertEqual(self.note("till", 3), 'terminal "till"; there are no terminals yet')
        self.successResultOf(Deferred.fromCoroutine(self.shop.core.devices.add("prn", "printer", "training", {})))
        self.assertEqual(self.note("P1", 2), 'printer "P1"; known printers: "prn"')
        self.assertEqual(self.note("P1", 2, "uk"), "пристрій друку «P1»; є пристрої друку «prn»")
        self.assertEqual(self.note(""), 'register ""; known registers: "test"')

    def test_strangers(self) -> None:
        """Elsewhere it names the device that was sent only, unless the caller shows an API key or has a session."""
        self.strangers()
        self.assertEqual(self.note("till"), 'register "till"')
        self.assertEqual(self.note("till", key="wrong"), 'register "till"')
        made = self.request("POST", "/dm/api/v3/api-keys", {"name": "till"})
        self.assertEqual(self.note("till", key=made.json["key"]), 'register "till"; known registers: "test"')

    def test_case_and_blanks(self) -> None:
        """It says when the name differs only by case or blanks, also to a stranger."""
        for name in ("Test", "test ", " TE ST", "test\n"):
            self.assertEqual(
                self.note(name),
                f'register "{name}"; differs from the name "test" only by case or blanks; known registers: "test"',
            )
        self.strangers()
        self.assertEqual(
            self.note("Test", language="uk"),
            "каса «Test»; відрізняється від назви пристрою, який є, лише великими літерами або пробілами",
        )

    def test_paper(self) -> None:
        """A printer that the address names and that does not exist is called a printer."""
        self.open_shift()
        answer = self.execute(sale(), path="/dm/execute-prn?dev_id=P1", headers=[("Accept-Language", "en")])
        self.assertEqual(
            [(one["code"], one["wtxt"].partition(": ")[2]) for one in answer["warnings"]],
            [(1091, 'printer "P1"; there are no printers yet')],
        )


class LanguageTests(WebCase):
    """The language of the texts."""

    def text_for(self, *accepted: str) -> str:
        """The text of 1058 for a caller who accepts these languages."""
        headers = [("Accept-Language", value) for value in accepted]
        text: str = self.execute({"device": "test", "tag": "t"}, headers=headers)["errortxt"]
        return text

    def test_ukrainian(self) -> None:
        """Texts are Ukrainian unless another language is asked for that we speak."""
        for accepted in ((), ("uk",), ("uk-UA,uk;q=0.9,en;q=0.8",), ("de",), ("*",), ("",), (";;,,q=",), ("UK",)):
            self.assertEqual(self.text_for(*accepted), Res.TAG_NOT_FOUND.text.for_language("uk"), accepted)

    def test_english(self) -> None:
        """A client that prefers English gets English."""
        for accepted in ("en", "en-US,en;q=0.9,uk;q=0.8", "de, en;q=0.5", "EN-GB", " en ; q=1"):
            self.assertEqual(self.text_for(accepted), Res.TAG_NOT_FOUND.text.for_language("en"), accepted)

    def test_preference(self) -> None:
        """The weights of a list count, not its order; a language of weight 0 is not wanted."""
        self.assertEqual(self.text_for("en;q=0.1, uk;q=0.9"), Res.TAG_NOT_FOUND.text.for_language("uk"))
        self.assertEqual(self.text_for("en;q=0"), Res.TAG_NOT_FOUND.text.for_language("uk"))

    def test_default(self) -> None:
        """The configuration has the last word where the caller says nothing."""
        self.door = Door(Shop(self, language="en").core)
        self.assertEqual(self.text_for(), Res.TAG_NOT_FOUND.text.for_language("en"))
        self.assertEqual(self.text_for("uk"), Res.TAG_NOT_FOUND.text.for_language("uk"))

    def test_everywhere(self) -> None:
        """Every error of the door is in the language that was asked for, also where no task is behind it."""
        for method, path in (("GET", EXECUTE), ("GET", "/nowhere"), ("PUT", DEVICES), ("GET", f"{DEVICES}/x")):
            texts = {
                language: self.request(method, path, headers=[("Accept-Language", language)]).json["errortxt"]
                for language in ("uk", "en")
            }
            self.assertRegex(texts["uk"], "[а-яії]", path)
            self.assertNotRegex(texts["en"], "[а-яії]", path)
