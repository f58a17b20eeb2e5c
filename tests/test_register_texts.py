"""Control characters in the texts of a document, and what a terminal's texts bring onto a receipt."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.documents.catalogue import TAX_GROUPS
from dmtwisted.documents.documents import Receipt
from dmtwisted.registers import arithmetic
from dmtwisted.registers.arithmetic import Rates
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.registers.texts import LONGEST_PAY
from dmtwisted.requests import PayRequest, ReceiptRequest, RowRequest
from dmtwisted.results import Refused
from dmtwisted.terminals.answers import masked_card
from dmtwisted.terminals.interface import Approved
from tests.shop import Shop, sale
from tests.specification import promises

Told = dict[str, Any]

CARD = {"type": 2, "sum": 100, "paysys": "VISA", "rrn": "1", "cardmask": "411111******1111"}
BROKEN = tuple(f"a{sign}b" for sign in "\0\t\x1b\x7f\x85\r")
LINES = ("comment", "comment_up", "comment_down")
PLAIN = ("paysys", "rrn", "cardmask", "term_id", "bank_id", "bank_name", "auth_code", "oper_type")


def receipt(**members: Any) -> Told:
    """A sale over 10.00 with these members."""
    return {**sale(10), **members}


class ControlCharacterTests(SynchronousTestCase):
    """1089 with the path of the member, and nothing is made."""

    def setUp(self) -> None:
        """An open shift with cash."""
        self.shop = Shop(self)
        self.shop.open_shift()
        self.assertEqual(self.shop.fiscal(3, cash={"type": 0, "sum": 500})["res"], 0)

    def assertForbidden(self, path: str, task: int, **members: Any) -> None:
        """The task is refused for the member at ``path``."""
        before = self.shop.ledger()
        answer = self.shop.fiscal(task, **members)
        self.assertEqual((answer["res"], answer["res_action"]), (1089, 3), (path, answer))
        self.assertIn(path, answer["errortxt"])
        self.assertEqual(self.shop.ledger(), before)

    def both(self, path: str, lines: bool, task: int, members: Any) -> None:
        """Every control character is refused in a member; a line break only where there are no lines."""
        for text in (*BROKEN, *(() if lines else ("a\nb", "a\r\nb"))):
            self.assertForbidden(path, task, **members(text))
        for text in ("a\u00a0b", "Ґанок №5", *(("a\nb", "a\r\nb", "a\\nb") if lines else ())):
            self.assertEqual(self.shop.fiscal(task, **members(text))["res"], 0, (path, text))

    @promises("7.codes.1")
    def test_rows(self) -> None:
        """Names, comments and codes of items; the answer has the position too."""
        row = {"name": "Кава", "price": 1, "cnt": 1}
        for member in ("name", "comment", "code", "code1", "code2", "code3", "code_a"):
            path = f"fiscal.receipt.rows[1].{member}"

            def sold(text: str, member: str = member) -> Told:
                rows = [row, {**row, member: text}]
                return {"receipt": {"sum": 2, "rows": rows, "pays": [{"type": 0, "sum": 2}]}}

            self.both(path, member in ("name", "comment"), 1, sold)
            self.assertIn(" 2:", self.shop.fiscal(1, **sold("a\0"))["errortxt"])
        stamped = {"sum": 1, "rows": [{**row, "code_aa": ["AAAA123456", "A\n"]}], "pays": [{"type": 0, "sum": 1}]}
        self.assertForbidden("fiscal.receipt.rows[0].code_aa[1]", 1, receipt=stamped)

    @promises("7.codes.1")
    def test_receipt(self) -> None:
        """The lines above and below, the purchase that a return names, and the cashier."""
        for task in (1, 2, 15, 16):
            for member in LINES[1:]:
                path = f"fiscal.receipt.{member}"
                self.both(path, True, task, lambda text, member=member: {"receipt": receipt(**{member: text})})
            self.both("fiscal.cashier", False, task, lambda text: {"receipt": receipt(), "cashier": text})
        for member in ("purchase_receipt_fisn", "purchase_rro_fisn", "partpay_receipt_fisn"):
            for text in (*BROKEN, "a\n"):
                self.assertForbidden(f"fiscal.receipt.{member}", 2, receipt=receipt(**{member: text}))

    @promises("7.codes.1")
    def test_payments(self) -> None:
        """Every text of a payment, of a receipt or of cash."""
        for member in (*LINES, *PLAIN):
            for text in (*BROKEN, *(() if member in LINES else ("a\n",))):
                pays = [{"type": 0, "sum": 0.5}, {**CARD, "sum": 9.5, member: text}]
                self.assertForbidden(f"fiscal.receipt.pays[1].{member}", 1, receipt=receipt(pays=pays))
                self.assertForbidden(f"fiscal.cash.{member}", 14, cash={**CARD, "sum": 10, member: text})
                self.assertForbidden(f"fiscal.cash.{member}", 3, cash={"type": 0, "sum": 10, member: text})
        odd = {"type": 0, "sum": 10, "comment": "\0"}
        self.assertForbidden("fiscal.receipt.pays[0].comment", 4, receipt={"sum": 10, "pays": [odd]})

    @promises("7.codes.1")
    def test_cashier(self) -> None:
        """The cashier of every task that has a document or paper; status and numbers have none."""
        tasks: dict[int, Told] = {0: {}, 3: {"cash": {"type": 0, "sum": 1}}, 10: {}, 11: {}, 17: {}, 22: {}}
        for task, members in tasks.items():
            if task == 0:
                self.shop.fiscal(11)
            self.assertForbidden("fiscal.cashier", task, cashier="О\tК", **members)
            if task == 0:
                self.shop.open_shift()
        for task in (18, 20, 21):
            self.assertEqual(self.shop.fiscal(task, cashier="О\tК")["res"], 0)

    def test_leftovers(self) -> None:
        """A receipt or cash that the task does not use is not looked at."""
        left: Told = {"receipt": receipt(comment_up="\0"), "cash": {"type": 0, "sum": 1, "comment": "\0"}}
        self.assertEqual(self.shop.fiscal(10, **left)["res"], 0)
        self.assertEqual(self.shop.fiscal(1, receipt=receipt(), cash=left["cash"])["res"], 0)
        self.assertEqual(self.shop.fiscal(3, cash={"type": 0, "sum": 1}, receipt=left["receipt"])["res"], 0)
        self.assertEqual(self.shop.fiscal(11, **left)["res"], 0)

    def test_known_tag(self) -> None:
        """A tag that is known gets its answer, whatever the texts of the repeat."""
        first = self.shop.fiscal(1, "t", receipt=receipt())
        again = self.shop.fiscal(1, "t", receipt=receipt(comment_up="\0"))
        self.assertEqual((again["res"], again["task_status"], again["info"]), (0, 2, first["info"]))

    def test_texts_of_a_terminal(self) -> None:
        """What a terminal sends has moved money: it has blanks instead, so that a receipt with it is not refused."""
        sent = Approved(paysys="VISA\0", bank="A\tB", auth_code="1\n", rrn="2\r", terminal_id="T\x1b", cardmask="4\0")
        clean = masked_card(sent)
        texts = (clean.paysys, clean.bank, clean.auth_code, clean.rrn, clean.terminal_id, clean.cardmask)
        self.assertTrue("".join(texts).isprintable(), texts)
        self.assertEqual(clean.paysys, "VISA ")


SETTINGS = RegisterSettings(tax_groups=TAX_GROUPS)
RATES = Rates(SETTINGS)
ROW = RowRequest("Кава", "", "", "", "", "", (), 1000, 100, None, (), "1", "")
PAY = PayRequest("2", 200)
RECEIPT = ReceiptRequest(200, 0, False, (), "", "", False, (ROW, ROW), (PAY,), "", "")


class OneLookTests(SynchronousTestCase):
    """One look at all texts of a receipt, in place of one at each: the receipt is the same, and so is its refusal."""

    def assertSame(
        self, member: str, row: Told | None = None, pay: Told | None = None, receipt: Told | None = None
    ) -> None:
        """Both ways make the same of a receipt with these members."""
        rows, pays = (ROW, replace(ROW, **(row or {}))), (replace(PAY, **(pay or {})),)
        asked = replace(RECEIPT, rows=rows, pays=pays, **(receipt or {}))
        usual = self.made(asked)
        at_each = self.patch(arithmetic, "all_plain", lambda asked: False)
        self.assertEqual(usual, self.made(asked), member)
        at_each.restore()

    def made(self, asked: ReceiptRequest) -> Receipt | str:
        """The receipt, or why it is refused."""
        try:
            return arithmetic.receipt(asked, SETTINGS, RATES, "test")
        except Refused as refused:
            return refused.errortxt("en")

    def test_each_member(self) -> None:
        """Texts that are changed or refused in some of the members."""
        for text in ("", " ", "a\\nb", "a\nb", "a\r\nb", "\\", "😀", "a\u00a0b", "\ufffe", *BROKEN):
            for name in ("name", "comment", "code", "code1", "code2", "code3"):
                self.assertSame(name, row={name: text})
            for name in (*LINES, *PLAIN):
                self.assertSame(name, pay={name: text})
            for name in (*LINES[1:], "purchase_receipt_fisn", "purchase_rro_fisn", "partpay_receipt_fisn"):
                self.assertSame(name, receipt={name: text})

    def test_each_character(self) -> None:
        """Every character up to the symbols."""
        for number in range(0x2200):
            self.assertSame(hex(number), row={"name": f"a{chr(number)}", "code": chr(number)})

    def test_length(self) -> None:
        """Texts of a payment that are as long as may be, and longer."""
        for length in (LONGEST_PAY, LONGEST_PAY + 1):
            self.assertSame(str(length), pay={"comment": "x" * length})
            self.assertSame(str(length), pay={"comment": "x" * 9, "oper_type": "x" * (length - 9)})


class UnitPriceTests(SynchronousTestCase):
    """1108: after a discount a row costs 0.01 or more, and each unit of it too."""

    def setUp(self) -> None:
        """An open shift with cash."""
        self.shop = Shop(self)
        self.shop.open_shift()
        self.assertEqual(self.shop.fiscal(3, cash={"type": 0, "sum": 500})["res"], 0)

    def sold(self, rows: list[Told], total: str, due: str = "", task: int = 1, **receipt: Any) -> Told:
        """The answer to a receipt, paid by card to the kopeck."""
        rows = [{"name": "Кава", **row} for row in rows]
        pays = [{**CARD, "sum": due or total}]
        return self.shop.fiscal(task, receipt={"sum": total, "rows": rows, "pays": pays, **receipt})

    @promises("8.minimum-price", "7.codes.1")
    def test_unit(self) -> None:
        """Two units are at least 0.02, half a kilogram is at least 0.01, in sales and returns."""
        for task in (1, 2):
            for row, total, res in (
                ({"price": 10, "cnt": 2, "disc": "19.99"}, "0.01", 1108),
                ({"price": 10, "cnt": 2, "disc": "19.98"}, "0.02", 0),
                ({"price": 10, "cnt": "1.001", "disc": "10.00"}, "0.01", 1108),
                ({"price": 10, "cnt": "1.001", "disc": "9.99"}, "0.02", 0),
                ({"price": 10, "cnt": 1, "disc": "9.99"}, "0.01", 0),
                ({"price": 10, "cnt": "0.5", "disc": "4.99"}, "0.01", 0),
                ({"price": 10, "cnt": "0.5", "disc": "5"}, "0", 1108),
                ({"price": 10, "cnt": 100, "disc": "99.95", "disc_type": 1}, "0.50", 1108),
                ({"price": 10, "cnt": 100, "disc": "99.90", "disc_type": 1}, "1.00", 0),
                ({"price": "0.01", "cnt": "1.4"}, "0.01", 0),
                ({"price": "0.01", "cnt": "1.4", "disc": "-0.01"}, "0.02", 0),
            ):
                answer = self.sold([row], total, task=task)
                self.assertEqual(answer["res"], res, (row, answer))

    @promises("8.minimum-price")
    def test_whole_receipt(self) -> None:
        """A discount on the receipt leaves as much; its remainder goes to a row that can bear it."""
        cup, bag = {"price": 1, "cnt": 1}, {"price": "0.01", "cnt": 5}
        answer = self.sold([cup, cup, cup, bag], "3.05", "3.04", disc="0.01")
        self.assertEqual(answer["res"], 0, answer)
        goods = answer["info"]["printinfo"]["goods"]
        self.assertEqual([good["disc"] for good in goods], [0.0, 0.0, 0.01, 0.0])
        self.assertEqual(self.sold([cup, bag], "1.05", "0.53", disc=50, disc_type=1)["res"], 1108)
        self.assertEqual(self.sold([{"price": 10, "cnt": 2}], "20", "0.01", disc="19.99")["res"], 1108)
        self.assertEqual(self.sold([{"price": 10, "cnt": 2}], "20", "0.02", disc="19.98")["res"], 0)
        # Without a part of the discount a cheap row is as it was.
        cheap = {"price": "0.01", "cnt": "1.4"}
        self.assertEqual(self.sold([cup, cheap], "1.01", "0.91", disc="0.10")["res"], 0)
