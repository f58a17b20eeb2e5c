"""Answers are JSON with exactly the types that clients rely on, and a stored answer is repeated as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.answers import (
    EXECUTED,
    FAILED,
    FOUND,
    Answer,
    Warning,
    amount,
    percent,
    quantity,
    refusal,
    render,
    repeated,
    res_of,
    was_repeated,
)
from dmtwisted.requests import FiscalRequest, TaskRequest
from dmtwisted.results import Action, Refused, Res, Text
from tests.shop import Shop, sale
from tests.specification import promises

AT = 1_789_970_400_007
"""21 September 2026, 09:00:00.007 in Kyiv."""

INTEGERS = frozenset(
    [
        "ver",
        "resp_ver",
        "type",
        "task",
        "res",
        "res_action",
        "task_status",
        "code",
        "dataid",
        "shift_link",
        "shift_prev_link",
        "isprint",
        "ispay",
        "shift_status",
        "online_status",
        "sign_status",
        "isFis",
        "dtype",
        "vacant_off_nums",
        "docno_from",
        "docno_to",
        "gr_code",
        "taxgrp",
        "fisdoctype",
        "count_p",
        "count_m",
        "count_14",
        "count_transfer",
        "last_docno_p",
        "last_docno_m",
        "packnum",
        "docnum",
        "packtype",
        "enough_to_renew_subscription",
    ]
)
"""Members that are whole numbers (docs/reference/http-interface.md#number-formats); all others are amounts."""

TRICKY = (
    '"task_status":1',
    '"task_status":1,',
    '\\"task_status\\":1',
    '"task_status":2',
    'task_status":1',
    '"warnings":[',
    '"warnings":[]',
    '","warnings":[{"code":1}],"task_status":1,"',
    '"info":{}',
    '"',
    '\\"',
    "\\",
    "\\\\",
    "\n\t\0",
    "каса «№ 1» 😀",
)
"""Texts that look like members of an answer."""


def exact(answer: bytes) -> Any:
    """``answer`` decoded so that the spelling of its numbers shows: 1 is an `int`, 1.0 a `Decimal`."""
    return json.loads(answer, parse_float=Decimal)


def numbers(value: Any, name: str = "") -> Iterator[tuple[str, int | Decimal]]:
    """Every number in ``value`` with the name of its member."""
    if isinstance(value, dict):
        for inner, member in value.items():
            yield from numbers(member, inner)
    elif isinstance(value, list):
        for member in value:
            yield from numbers(member, name)
    elif isinstance(value, int | Decimal) and not isinstance(value, bool):
        yield name, value


def answer(**members: Any) -> Answer:
    """The answer to a successful sale."""
    return Answer(**{"device": "test", "tag": "t-1", "task_status": EXECUTED, "type": 1, "task": 1, **members})


class NumberTests(SynchronousTestCase):
    """Numbers in answers."""

    @promises("2.3.fraction.1")
    def test_amounts(self) -> None:
        """Money has a fraction, also when it is whole, and no trailing zeros but that one."""
        for kopecks, spelled in ((0, b"0.0"), (100, b"1.0"), (1250, b"12.5"), (1, b"0.01"), (-3, b"-0.03")):
            self.assertEqual(bytes(amount(kopecks)), spelled)

    @promises("2.3.fraction.1")
    def test_quantities(self) -> None:
        """Quantities have a fraction of up to three digits."""
        for thousandths, spelled in ((1000, b"1.0"), (125, b"0.125"), (2500, b"2.5"), (0, b"0.0")):
            self.assertEqual(bytes(quantity(thousandths)), spelled)

    def test_percents(self) -> None:
        """Rates have a fraction."""
        for hundredths, spelled in ((2000, b"20.0"), (750, b"7.5"), (0, b"0.0")):
            self.assertEqual(bytes(percent(hundredths)), spelled)

    @promises("9.4")
    def test_amounts_are_numbers(self) -> None:
        """In an answer an amount is a number of JSON and not a text."""
        text = render(answer(info={"safe": amount(200), "cnt": quantity(1500)}))
        self.assertIn(b'"info":{"safe":2.0,"cnt":1.5}', text)

    @given(st.integers(-(10**15), 10**15))
    def test_any(self, whole: int) -> None:
        """Any amount is written as a number with a fraction that has the same value."""
        for spelled, scale in ((amount(whole), 100), (quantity(whole), 1000), (percent(whole), 100)):
            value = exact(bytes(spelled))
            self.assertIsInstance(value, Decimal)
            self.assertEqual(value * scale, whole)


class RenderTests(SynchronousTestCase):
    """The root of an answer."""

    @promises(
        *(
            "2.3.ver",
            "9.3.1",
            "9.3.2",
            "2.3.resp_ver.1",
            "2.3.source.2",
            "2.3.device",
            "2.3.tag.1",
            "2.3.task_status.1",
            "2.3.type",
        ),
        *("2.3.task.1", "2.3.res.1", "2.3.res_action", "2.3.errortxt.2", "2.3.aq_errortxt.2", "2.3.warnings.2"),
    )
    def test_success(self) -> None:
        """A success has all members in their order: whole numbers are integers, texts and warnings are empty."""
        self.assertEqual(
            render(answer(dt="20260921090000007")),
            b'{"ver":6,"resp_ver":4,"source":"","device":"test","tag":"t-1","task_status":1,"type":1,"task":1,'
            b'"dt":"20260921090000007","res":0,"res_action":0,"errortxt":"","aq_errortxt":"","warnings":[],"info":{}}',
        )

    @promises("2.3.warnings.1", "2.3.source.1")
    def test_warnings(self) -> None:
        """Warnings are objects of a whole number and a text."""
        decoded = exact(render(answer(source="каса", warnings=[Warning(3003, "давно відкрито")])))
        self.assertEqual(decoded["warnings"], [{"code": 3003, "wtxt": "давно відкрито"}])
        self.assertIs(type(decoded["warnings"][0]["code"]), int)
        self.assertEqual(decoded["source"], "каса")

    def test_warning_of_the_catalogue(self) -> None:
        """A warning has the number and the text of the catalogue, in either language."""
        for language in ("uk", "en"):
            self.assertEqual(
                Warning.of(Res.SHIFT_OLD, language), Warning(3003, Res.SHIFT_OLD.text.for_language(language))
            )
        self.assertNotEqual(Warning.of(Res.SHIFT_OLD, "uk").wtxt, Warning.of(Res.SHIFT_OLD, "en").wtxt)

    def test_answers_share_nothing(self) -> None:
        """A warning that is added to one answer is in no other."""
        first = answer()
        first.warnings.append(Warning(1, "x"))
        first.info["a"] = 1
        self.assertEqual((answer().warnings, answer().info), ([], {}))

    def test_texts(self) -> None:
        """Texts are returned unchanged, whatever they look like."""
        for text in TRICKY:
            decoded = exact(render(answer(source=text, device=text, tag=text)))
            self.assertEqual((decoded["source"], decoded["device"], decoded["tag"]), (text, text, text))

    def test_letters(self) -> None:
        """Ukrainian letters are sent unescaped, in UTF-8."""
        self.assertIn('"device":"каса"'.encode(), render(answer(device="каса")))


class ResTests(SynchronousTestCase):
    """The code of an encoded answer."""

    def test_read(self) -> None:
        """It is the root's own code, whatever the texts before and after it contain."""
        for res in (0, 5018):
            answer = Answer(
                source='"res":7,',
                device='x","res":8,',
                tag="",
                task_status=1,
                type=3,
                task=1,
                dt="",
                res=res,
                res_action=0,
                errortxt="",
                aq_errortxt="",
                info={"res": 9},
            )
            self.assertEqual(res_of(render(answer)), res)


class RepeatedTests(SynchronousTestCase):
    """Repeats of stored answers."""

    def test_told_apart(self) -> None:
        """The root's own ``task_status`` says what was repeated, whatever its texts and its ``info`` contain."""
        for text in TRICKY:
            first = render(answer(source=text, device=text, tag='"task_status":2', info={"task_status": 2}))
            self.assertFalse(was_repeated(first))
            self.assertTrue(was_repeated(repeated(first)))
        self.assertFalse(was_repeated(b"{}"))

    @promises("2.3.task_status.2", "3.3.1.3")
    def test_same_but_for_status(self) -> None:
        """A stored answer is repeated byte for byte, with ``task_status`` 2."""
        text = render(answer(dt="20260921090000007", info={"doccode": "TEST_1", "safe": amount(200)}))
        self.assertEqual(repeated(text), text.replace(b'"task_status":1', b'"task_status":2'))
        self.assertEqual(exact(repeated(text))["task_status"], FOUND)

    def test_texts_that_look_like_members(self) -> None:
        """Texts that look like members are unchanged: only the status itself changes."""
        for text in TRICKY:
            stored = render(answer(source=text, device=text, tag=text, info={"comment": text, text: text}))
            again = exact(repeated(stored))
            self.assertEqual(again, {**exact(stored), "task_status": 2}, text)

    def test_status_in_info(self) -> None:
        """A ``task_status`` in a deeper object is unchanged."""
        stored = render(answer(info={"task_status": 1, "warnings": []}))
        self.assertEqual(exact(repeated(stored))["info"], {"task_status": 1, "warnings": []})

    def test_told_a_third_time(self) -> None:
        """A repeated answer can be repeated again."""
        stored = render(answer())
        self.assertEqual(repeated(repeated(stored)), repeated(stored))

    def test_warning_into_none(self) -> None:
        """A warning is added to an answer without warnings."""
        again = repeated(render(answer()), Warning(1051, "такий tag уже був"))
        self.assertEqual(
            exact(again),
            {**exact(render(answer())), "task_status": 2, "warnings": [{"code": 1051, "wtxt": "такий tag уже був"}]},
        )

    def test_warning_among_others(self) -> None:
        """A warning is added before those of the stored answer."""
        stored = render(answer(warnings=[Warning(3003, "a"), Warning(3004, "b]")]))
        self.assertEqual(
            exact(repeated(stored, Warning(1051, 'c",'))),
            {
                **exact(stored),
                "task_status": 2,
                "warnings": [{"code": 1051, "wtxt": 'c",'}, *exact(stored)["warnings"]],
            },
        )

    def test_warning_beside_texts(self) -> None:
        """A warning is not added at texts that look like warnings."""
        for text in TRICKY:
            stored = render(answer(source=text, device=text, tag=text, info={"comment": text, text: text}))
            again = exact(repeated(stored, Warning(1051, text)))
            self.assertEqual(
                again, {**exact(stored), "task_status": 2, "warnings": [{"code": 1051, "wtxt": text}]}, text
            )

    @given(st.text(), st.text(), st.text())
    def test_any(self, source: str, tag: str, words: str) -> None:
        """With any texts, status and warning are all that a repeat changes."""
        stored = render(answer(source=source, tag=tag, info={"comment": words, "pays": [{"comment": source}]}))
        decoded = exact(stored)
        self.assertEqual(exact(repeated(stored)), {**decoded, "task_status": 2})
        self.assertEqual(
            exact(repeated(stored, Warning(1051, words))),
            {**decoded, "task_status": 2, "warnings": [{"code": 1051, "wtxt": words}]},
        )


class RefusalTests(SynchronousTestCase):
    """Answers to refused tasks."""

    asked = TaskRequest(device="test", type=1, tag="t-1", source="s", fiscal=FiscalRequest(task=1))

    def refused(self, refused: Refused, request: TaskRequest | None = None, language: str = "uk") -> dict[str, Any]:
        """The answer to ``request`` when it ended with ``refused``."""
        decoded: dict[str, Any] = exact(refusal(request or self.asked, refused, language, AT))
        return decoded

    @promises(
        *("2.3.task_status.3", "2.3.res.2", "2.3.res_action", "2.3.errortxt.1", "2.3.dt.1", "3.2.3.2", "3.2.3.4"),
    )
    def test_shape(self) -> None:
        """A refusal has every member of an answer, ``task_status`` 3, and an ``info`` that is an empty object."""
        self.assertEqual(
            refusal(self.asked, Refused(Res.SHIFT_CLOSED), "en", AT),
            b'{"ver":6,"resp_ver":4,"source":"s","device":"test","tag":"t-1","task_status":3,"type":1,"task":1,'
            b'"dt":"20260921090000007","res":1092,"res_action":3,"errortxt":"'
            + Res.SHIFT_CLOSED.text.en.encode()
            + b'","aq_errortxt":"","warnings":[],"info":{}}',
        )

    @promises("2.3.res.2", "2.3.res_action")
    def test_every_code(self) -> None:
        """Every code of the catalogue is sent as whole numbers, with a text and an empty ``info``."""
        for res in Res:
            if res is Res.OK:
                continue
            decoded = self.refused(Refused(res))
            self.assertEqual(
                (decoded["res"], decoded["res_action"], decoded["task_status"]), (res.code, int(res.action), FAILED)
            )
            self.assertEqual({type(decoded[name]) for name in decoded.keys() & INTEGERS}, {int})
            self.assertGreater(decoded["res"], 0)
            self.assertTrue(decoded["errortxt"])
            self.assertEqual((decoded["info"], decoded["warnings"]), ({}, []))

    @promises("2.3.errortxt.1")
    def test_languages(self) -> None:
        """The text is in the requested language."""
        refused = Refused(Res.DEVICE_BUSY)
        self.assertEqual(self.refused(refused, language="en")["errortxt"], Res.DEVICE_BUSY.text.en)
        self.assertEqual(self.refused(refused, language="uk")["errortxt"], Res.DEVICE_BUSY.text.uk)

    def test_own_words(self) -> None:
        """The service's own words beside those of a bank are in the requested language."""
        refused = Refused(Res.TERMINAL_CONNECT, aq_errortxt=Text("немає відповіді", "no answer"))
        self.assertEqual(self.refused(refused)["aq_errortxt"], "немає відповіді")
        self.assertEqual(self.refused(refused, language="en")["aq_errortxt"], "no answer")

    @promises("2.3.aq_errortxt.1")
    def test_own_action_and_words_of_the_bank(self) -> None:
        """The refusal's own action and the device's or tax service's text are sent instead of the catalogue's."""
        decoded = self.refused(Refused(Res.TAX_SERVICE_UNAVAILABLE, action=Action.COLLISION, aq_errortxt="line lost"))
        self.assertEqual((decoded["res_action"], decoded["aq_errortxt"]), (2, "line lost"))

    @promises("2.3.task.2", "2.3.dt.2", "3.3.3.1", "3.3.3.2", "3.3.3.3", "3.3.3.4")
    def test_nothing_found(self) -> None:
        """A look-up without a result is 1058 with task -1, status 3, action 1 and an empty ``dt``."""
        decoded = self.refused(Refused(Res.TAG_NOT_FOUND), TaskRequest(device="test", type=0, tag="t-9", source=""))
        self.assertEqual(
            (
                decoded["res"],
                decoded["task"],
                decoded["task_status"],
                decoded["res_action"],
                decoded["dt"],
                decoded["tag"],
                decoded["type"],
            ),
            (1058, -1, 3, 1, "", "t-9", 0),
        )

    def test_receipt_not_found(self) -> None:
        """Task 23 without a result keeps its number and its time."""
        asked = TaskRequest(device="test", type=1, tag="", source="", fiscal=FiscalRequest(task=23))
        decoded = self.refused(Refused(Res.TAG_NOT_FOUND), asked)
        self.assertEqual((decoded["task"], decoded["dt"]), (23, "20260921090000007"))

    def test_not_understood(self) -> None:
        """A body that is not JSON is answered with type 0 and task -1, and with the time."""
        decoded = self.refused(Refused(Res.MALFORMED, "x"), TaskRequest(device="", type=0, tag="", source=""))
        self.assertEqual(
            (decoded["res"], decoded["type"], decoded["task"], decoded["device"], decoded["dt"]),
            (2000, 0, -1, "", "20260921090000007"),
        )

    def test_texts(self) -> None:
        """Texts of the request are returned unchanged, whatever they look like."""
        for text in TRICKY:
            asked = TaskRequest(device=text, type=1, tag=text, source=text)
            decoded = self.refused(Refused(Res.DEVICE_ERROR, text), asked)
            self.assertEqual((decoded["device"], decoded["tag"], decoded["source"]), (text, text, text))
            self.assertTrue(decoded["errortxt"].endswith(text))


class WholeAnswerTests(SynchronousTestCase):
    """Every number of whole answers, by the name of its member."""

    def setUp(self) -> None:
        """A shop with an open shift."""
        self.shop = Shop(self)

    def ask(self, task: int, **members: Any) -> dict[str, Any]:
        """The answer to a task, with the spelling of its numbers."""
        body = {"ver": 6, "device": "test", "type": 1, "fiscal": {"task": task, "cashier": "Оксана", **members}}
        decoded: dict[str, Any] = exact(self.successResultOf(self.shop.asked(body)))
        self.assertEqual((decoded["res"], decoded["errortxt"]), (0, ""), task)
        return decoded

    def assertSpelled(self, decoded: dict[str, Any]) -> None:
        """Whole numbers have no fraction, and all others have one."""
        for name, value in numbers(decoded):
            self.assertEqual(type(value), int if name in INTEGERS else Decimal, f"{name}: {value}")

    @promises("2.3.fraction.1", "2.3.type", "2.3.task.1", "2.3.res.1")
    def test_day(self) -> None:
        """On a whole day, whole numbers are integers, and money and quantities have a fraction."""
        receipt = {
            "sum": "79.83",
            "disc": 10,
            "disc_type": 1,
            "autoround": True,
            "rows": [
                {"code": 1, "name": "Кава", "cnt": 2, "price": 30, "taxgrp": 1},
                {"code": 2, "name": "Вино", "cnt": "0.125", "price": "158.64", "taxgrp": 3},
            ],
            "pays": [{"type": 2, "sum": 40, "rrn": "1"}, {"type": 0, "sum": 100}],
        }
        self.assertSpelled(self.ask(18))
        self.assertSpelled(self.ask(0))
        self.assertSpelled(self.ask(3, cash={"type": 0, "sum": 100}))
        sold = self.ask(1, receipt=receipt)
        self.assertSpelled(sold)
        self.assertEqual(sold["info"]["printinfo"]["goods"][1]["cnt"], Decimal("0.125"))
        self.assertSpelled(self.ask(1, receipt=sale(100)))
        self.assertSpelled(self.ask(1, receipt={"sum": 0, "rows": [], "pays": []}))
        self.assertSpelled(self.ask(4, cash={"type": 0, "sum": "50"}))
        for task in (10, 18, 20, 11, 18, 20):
            self.assertSpelled(self.ask(task))

    def test_repeat(self) -> None:
        """A repeated answer to a sale differs only in its status, with texts in it that look like members."""
        self.shop.open_shift()
        body = {
            "device": "test",
            "type": 1,
            "tag": '"task_status":1',
            "source": '"warnings":[',
            "fiscal": {
                "task": 1,
                "cashier": '"task_status":1',
                "receipt": {**sale(100), "comment_up": '"warnings":['},
            },
        }
        first = self.successResultOf(self.shop.asked(body))
        again = self.successResultOf(self.shop.asked(body))
        self.assertEqual(exact(first)["task_status"], 1)
        self.assertEqual(exact(again), {**exact(first), "task_status": 2})
        self.assertEqual(len(first), len(again))
