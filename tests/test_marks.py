"""Excise marks: carried whole or refused, and sold once."""

from __future__ import annotations

import json
from importlib import import_module
from io import BytesIO
from random import Random
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from dmtwisted.documents.documents import decode
from dmtwisted.documents.forms import receipt_form
from dmtwisted.documents.model import Line
from dmtwisted.documents.model import Qr as Code
from dmtwisted.requests import read_json, read_task
from dmtwisted.results import Refused, Res
from protocols.printers.commands import Command, Cut, Feed, Qr
from protocols.printers.compose import compose
from protocols.printers.profiles import PROFILES
from protocols.simulators.printer import simulated_printer
from tests.prro_shop import PrroShop
from tests.shop import Shop

MARK = "T25I9MLQ0JEOYJ06z9v8W"
GS = "\x1d"
PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))


def row(*marks: str, name: str = "Коньяк", cnt: float = 1, **members: Any) -> dict[str, Any]:
    """An item of 10 UAH a unit with these marks."""
    return {"code": "", "name": name, "cnt": cnt, "price": 10, "taxgrp": 1, "code_aa": list(marks), **members}


def receipt(*rows: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A receipt over these rows, paid in cash."""
    total = sum(10 * one["cnt"] for one in rows)
    return {"sum": total, "rows": list(rows), "pays": [{"type": 2, "sum": total}], **members}


class WholeTests(SynchronousTestCase):
    """A mark reaches the tax service's document as the till sent it, or its receipt is refused."""

    def setUp(self) -> None:
        """A register at the tax service with an open shift."""
        self.shop = PrroShop(self, "one")
        self.shop.open_shift("one")

    def sell(self, *marks: str, task: int = 1, **members: Any) -> dict[str, Any]:
        """The answer to a sale of one item."""
        more = {"purchase_receipt_fisn": "1"} if task == 2 else {}
        return self.shop.fiscal(task, device="one", receipt=receipt(row(*marks, **members), **more))

    def labels(self) -> list[str]:
        """The marks of the last document that the tax service has."""
        body = self.shop.taken()[-1].checkbody
        return [label.exciselabel for item in body for label in item.exciselabels]

    def test_carried(self) -> None:
        """Marks of up to 64 characters are in the document byte for byte, on a sale and on a return."""
        letters = ("ії№Ґ", "i", "I", "І", "]d2010", "<&>\"'")
        marks = (MARK, "AATE508932 0000412167", "a  b", " a", "b ", *letters, "x" * 64)
        for task in (1, 2):
            self.assertEqual(self.sell(*marks, task=task)["res"], 0)
            self.assertEqual(self.labels(), list(marks))

    def test_both_members(self) -> None:
        """`code_a` and `code_aa` are both carried; a mark in both is one mark, and one of blanks is none."""
        self.assertEqual(self.sell("b", "a", " ", code_a="a")["res"], 0)
        self.assertEqual(self.labels(), ["a", "b"])

    def test_refused(self) -> None:
        """What the document cannot hold is refused with the row and the mark, and no number is used."""
        before = self.shop.fiscal(18, device="one")["info"]
        for mark, res, what in (
            ("x" * 65, 2000, "64"),
            (f"01{GS}21", 1089, "marks_gs"),
            ("a\tb", 1089, "U+0009"),
            ("a\x1eb", 1089, "U+001E"),
            ("日本", 1089, "U+65E5"),
            ("e\u0301", 1089, "U+0301"),
            ("\x7f", 1089, "U+007F"),
        ):
            answer = self.sell("good", mark)
            self.assertEqual((answer["res"], answer["res_action"]), (res, 3), mark)
            self.assertIn("fiscal.receipt.rows[0].code_aa[1]", answer["errortxt"])
            self.assertIn(what, answer["errortxt"])
            answer = self.sell(code_a=mark)
            self.assertIn("fiscal.receipt.rows[0].code_a", answer["errortxt"])
        self.assertEqual(self.shop.fiscal(18, device="one")["info"]["docno"], before["docno"])
        self.assertEqual(self.shop.kinds(), ["open"])

    def test_separator(self) -> None:
        """With `marks_gs` a separator is written as that text, whole everywhere else; what cannot be told apart is
        refused."""
        self.shop.settings("one", marks_gs="{GS}")
        answer = self.sell(f"010482{GS}21abc{GS}")
        self.assertEqual(self.labels(), ["010482{GS}21abc{GS}"])
        self.assertEqual(answer["info"]["printinfo"]["goods"][0]["code_aa"], [f"010482{GS}21abc{GS}"])
        self.assertEqual(self.sell(f"0{GS}" + "{GS}")["res"], 1089)
        self.assertEqual(self.sell("0{GS}")["res"], 0)
        self.assertEqual(self.sell("x" * 61 + GS)["res"], 2000)

    def test_random(self) -> None:
        """A thousand random marks of every printable character and the separator are byte-equal from the request to
        the document, the answer, the stored receipt and the code on the paper."""
        dice, seen = Random(22), set[str]()
        self.shop.settings("one", marks_gs="~G~", marks_qr=True)
        marks: list[str] = []
        while len(marks) < 1000:
            letters = dice.choices(PRINTABLE, k=dice.randint(1, 58)) + [GS] * dice.randint(0, 2)
            dice.shuffle(letters)
            mark = "".join(letters)
            if "~G~" not in mark and mark.strip(" ") and mark not in seen:
                seen.add(mark)
                marks.append(mark)
        self.assertEqual(set("".join(marks)), {*PRINTABLE, GS})
        codes = set[str]()
        for first in range(0, 1000, 50):
            some = marks[first : first + 50]
            answer = self.sell(*some)
            self.assertEqual(answer["res"], 0, answer)
            self.assertEqual([label.replace("~G~", GS) for label in self.labels()], some)
            self.assertEqual(answer["info"]["printinfo"]["goods"][0]["code_aa"], some)
            copy = self.shop.look_up(answer["tag"], "one")
            self.assertEqual(copy["info"]["printinfo"]["goods"][0]["code_aa"], some)
            n = self.shop.core.devices.by_name("one").row.n
            document = decode(self.shop.done(self.shop.store.find(n, "fiscal", answer["tag"])).documents[0].value)
            assert document.receipt is not None
            self.assertEqual([good.marks for good in document.receipt.goods], [tuple(some)])
            form = receipt_form(document, "1")
            codes.update(element.data for element in form if isinstance(element, Code) and "://" not in element.data)
        self.assertTrue(codes >= set(marks))
        for first in range(0, 1000, 25):
            self.assertEqual(read_back(marks[first : first + 25]), set(marks[first : first + 25]))


class PaperTests(SynchronousTestCase):
    """What the paper says of a mark."""

    def lines(self, marks_qr: bool) -> list[object]:
        """The form of a sale of two marks, as far as it is about them."""
        shop = Shop(self)
        shop.settings(marks_gs="|", marks_qr=marks_qr)
        shop.open_shift()
        shop.fiscal(1, "t", receipt=receipt(row(f"01{GS}і", "a  b", " ")))
        stored = self.successResultOf(Deferred.fromCoroutine(shop.store.find(1, "fiscal", "t")))
        assert stored is not None
        document = decode(stored.documents[0].value)
        form = receipt_form(document, "1")
        marked = (part for part in form if isinstance(part, Line) and part.text.startswith("Акцизна"))
        codes = (part.data for part in form if isinstance(part, Code) and "://" not in part.data)
        return [*(part.text for part in marked), *codes]

    def test_line(self) -> None:
        """Each mark has its line, where a separator is shown as text."""
        self.assertEqual(self.lines(False), ["Акцизна марка 01<GS>і", "Акцизна марка a  b"])

    def test_code(self) -> None:
        """With `marks_qr` each has its code too, with the mark as it is."""
        self.assertEqual(self.lines(True)[2:], [f"01{GS}і", "a  b"])


class OnceTests(SynchronousTestCase):
    """With `marks_check` a mark is sold once on the registers of this service."""

    def setUp(self) -> None:
        """Two open registers that check marks."""
        self.shop = Shop(self)
        self.shop.add("two")
        for device in ("test", "two"):
            self.shop.settings(device, marks_check="local", marks_gs="|")
            self.shop.open_shift(device)

    def sell(self, *marks: str, tag: str = "", device: str = "test", **members: Any) -> dict[str, Any]:
        """The answer to a sale of one item."""
        return self.shop.fiscal(1, tag, device, receipt=receipt(row(*marks, **members)))

    def give_back(self, *marks: str, device: str = "test") -> dict[str, Any]:
        """The answer to a return of one item."""
        return self.shop.fiscal(2, device=device, receipt=receipt(row(*marks), purchase_receipt_fisn="1"))

    def assertSold(self, answer: dict[str, Any]) -> None:
        """A receipt was made."""
        self.assertEqual(answer["res"], 0, answer)

    def assertRefused(self, answer: dict[str, Any], *parts: str, res: int = 2101, action: int = 3) -> None:
        """It was refused, with these words."""
        self.assertEqual((answer["res"], answer["res_action"]), (res, action), answer)
        for part in parts:
            self.assertIn(part, answer["errortxt"])

    def test_off(self) -> None:
        """Without the check a mark is sold as often as the till says, and nothing is kept of it."""
        self.shop.settings(marks_check="off")
        for _ in range(2):
            self.assertSold(self.sell(MARK, MARK))
        rows = self.successResultOf(Deferred.fromCoroutine(self.shop.store.find_marks([MARK])))
        self.assertEqual(rows, [])

    def test_twice(self) -> None:
        """A mark that was sold is refused on every register, with receipt, time and register; nothing is numbered."""
        first = self.sell("other", MARK)
        number = first["info"]["docno"]
        for device in ("test", "two"):
            answer = self.sell("new", MARK, device=device)
            self.assertRefused(answer, "1", MARK, first["info"]["doccode"], f"({number})", "21-09-2026 09:00", "test")
        self.assertEqual(len(self.shop.ledger(kind="sale")) + len(self.shop.ledger("two", kind="sale")), 1)
        self.assertSold(self.sell("new", device="two"))

    def test_separator_named(self) -> None:
        """A refusal shows a separator as text."""
        self.assertSold(self.sell(f"01{GS}2"))
        self.assertRefused(self.sell(f"01{GS}2"), "01<GS>2")

    def test_twice_in_receipt(self) -> None:
        """A mark that stands twice in a receipt is refused; one in both members of a row is one mark."""
        self.assertRefused(self.sell("a", "b", "a"), "двічі")
        answer = self.shop.fiscal(1, receipt=receipt(row("a"), row("b"), row("a")))
        self.assertRefused(answer, "Позиція 3", "двічі")
        self.assertSold(self.sell("a", "b", code_a="a"))

    def test_alike(self) -> None:
        """Marks that differ in case, alphabet or blanks are different marks."""
        for mark in ("i", "I", "І", "a b", "a  b"):
            self.assertSold(self.sell(mark))

    def test_repeat(self) -> None:
        """The repeat of a tag gets the first answer: it is no second sale of its marks."""
        first = self.sell(MARK, tag="t")
        again = self.sell(MARK, tag="t")
        self.assertEqual((again["res"], again["task_status"], again["info"]), (0, 2, first["info"]))

    def test_return(self) -> None:
        """After a return a mark may be sold, also by another register, and is refused again then."""
        self.assertSold(self.sell(MARK, "a"))
        self.assertSold(self.give_back(MARK, device="two"))
        self.assertSold(self.sell(MARK, device="two"))
        self.assertRefused(self.sell(MARK))
        self.assertRefused(self.sell("a"))

    def test_storno(self) -> None:
        """The storno of a sale frees its marks; that of a return takes them again."""
        self.assertSold(self.sell(MARK))
        self.assertSold(self.shop.fiscal(17))
        self.assertSold(self.sell(MARK))
        self.assertSold(self.give_back(MARK))
        self.assertSold(self.shop.fiscal(17))
        self.assertRefused(self.sell(MARK))

    def test_storno_of_resold(self) -> None:
        """A return cannot be taken back when its mark was sold meanwhile."""
        self.assertSold(self.sell(MARK))
        self.assertSold(self.give_back(MARK))
        self.assertSold(self.sell(MARK, device="two"))
        self.assertRefused(self.shop.fiscal(17), "two")

    def test_refused_by_tax_service(self) -> None:
        """A receipt that the tax service refuses frees its marks; so does one that never arrived."""
        for then in ({"on": "sale", "then": "refuse", "code": "1038"}, {"on": "sale", "then": "unreachable"}):
            self.shop.settings(offline_allowed=False)
            self.shop.scenario(then)
            self.assertNotEqual(self.sell(MARK)["res"], 0)
            self.shop.scenario()
            self.assertSold(self.sell(MARK, device="two"))
            self.assertSold(self.give_back(MARK))

    def test_unknown(self) -> None:
        """While nobody knows what became of a sale its marks stay reserved; then they are sold, or free."""
        for arrives in (True, False):
            self.shop.settings(offline_allowed=False)
            lost = "lost_after" if arrives else "lost_before"
            self.shop.scenario({"on": "sale", "then": lost}, {"on": "probe", "then": "unreachable", "times": 0})
            self.assertEqual(self.sell(MARK)["res_action"], 2)
            self.assertRefused(self.sell(MARK, device="two"), "тримає", "test")
            self.shop.scenario()
            self.assertEqual(self.shop.fiscal(18)["res"], 0)
            answer = self.sell(MARK, device="two")
            self.assertEqual(answer["res"], 2101 if arrives else 0)
            self.assertSold(self.give_back(MARK, device="two"))

    def test_offline(self) -> None:
        """A register that goes offline by itself in the middle of a sale sells the mark once."""
        self.shop.scenario({"on": "any", "then": "unreachable", "times": 0})
        self.assertSold(self.sell(MARK))
        self.assertRefused(self.sell(MARK, device="two"), "test")

    def test_by_the_glass(self) -> None:
        """With `marks_repeat` a bottle's mark is sold in several receipts, there only; never the whole bottle."""
        self.shop.settings(marks_repeat=True)
        for _ in range(3):
            self.assertSold(self.sell(MARK, MARK, cnt=0.5))
        self.assertRefused(self.sell(MARK, device="two"))
        self.assertSold(self.sell("whole", device="two"))
        self.assertRefused(self.sell("whole", cnt=0.5))

    def test_count(self) -> None:
        """Whole units with fewer marks than units: sold, sold with a warning, or refused; parts and others always."""
        self.assertEqual(self.sell("a", cnt=2)["warnings"], [])
        self.shop.settings(marks_count="warn")
        answer = self.sell("b", cnt=2)
        self.assertEqual([warning["code"] for warning in answer["warnings"]], [2102])
        self.shop.settings(marks_count="refuse")
        self.assertRefused(self.sell("c", cnt=2), "1", "2", res=2102)
        for marks, cnt in (((), 2), (("c", "d"), 2), (("e",), 0.5), (("f", "g"), 1)):
            answer = self.sell(*marks, cnt=cnt)
            self.assertEqual((answer["res"], answer["warnings"]), (0, []))

    def test_offline_refused(self) -> None:
        """With `marks_offline` refuse a register that is offline sells no goods with marks, and all others."""
        self.shop.settings(marks_offline="refuse")
        self.successResultOf(Deferred.fromCoroutine(self.shop.built().go_offline("uk")))
        self.assertRefused(self.sell(MARK), res=2103, action=1)
        self.assertSold(self.sell())

    def test_rehearsed(self) -> None:
        """A sale by card is refused before the card is charged."""
        self.assertSold(self.sell(MARK))
        built = self.shop.built()
        body = {"device": "test", "type": 1, "tag": "x", "fiscal": {"task": 1, "receipt": receipt(row(MARK))}}
        asked = Deferred.fromCoroutine(built.rehearse(read_task(read_json(json.dumps(body).encode()))))
        self.assertEqual(self.failureResultOf(asked, Refused).value.res, Res.MARK_REFUSED)


def read_back(marks: list[str]) -> set[str]:
    """What zbar reads of the codes of ``marks`` on the paper."""
    try:
        scan = import_module("pyzbar.pyzbar").decode
    except ImportError as missing:
        raise SkipTest(f"needs zbar (libzbar0) and pyzbar: {missing}") from None
    from PIL import Image as Pictures

    printer = simulated_printer("epson")
    strip: list[Command] = [part for mark in marks for part in (Qr(mark), Feed(2))]
    printer.feed(compose((*strip, Cut()), PROFILES["epson"]).stream)
    codes = scan(Pictures.open(BytesIO(printer.mechanism.paper.png())).convert("L"))
    return {code.data.decode() for code in codes}
