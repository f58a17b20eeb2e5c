"""The service as a classic Datecs register in front of its own: what a till that knows only such a device gets."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import CannotListenError, ConnectionDone
from twisted.internet.interfaces import ITCPTransport
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from zope.interface import directlyProvides

import protocols.serial
from dmtwisted.classic.receipt import OpenReceipt, Overflows, SoldLine
from dmtwisted.devices.driver import BadSettings
from dmtwisted.store.values import StoreFailed
from protocols.errors import LineLost
from protocols.registers.datecs import classic
from protocols.registers.datecs.classic import PaidAnswer, ReceiptState
from protocols.registers.datecs.frames import DatecsFrame
from protocols.registers.troubles import DeviceRefused
from protocols.serial import SerialAddress
from tests.shop import hurry
from tests.till_desk import LISTEN, Killed, Kills, TillCase
from tests.vectors import till as vectors

UNASKED: dict[str, Any] = {"on": "probe", "then": "unreachable", "times": 0}
"""The tax service does not say what it has."""


class _TcpTransport(StringTransport):
    """A line over TCP that is not closed before all is read."""

    def setTcpNoDelay(self, enabled: bool) -> None:
        pass

    setTcpKeepAlive = setTcpNoDelay


class SaleTests(TillCase):
    """Receipts of all kinds."""

    def test_sale(self) -> None:
        """A receipt with discounts, a line taken back, texts, two payments and change is one sale of the register."""
        self.program()
        self.assertEqual(self.do(classic.Open()), classic.Counts(0, 0))
        self.assertIn(classic.RECEIPT_OPEN, self.till.status)
        self.do(classic.PrintFiscalText("Вітаємо"))
        self.do(classic.Sell(1, 2000, percent=-1000))
        self.do(classic.Sell(1, 1000, 1000))
        self.do(classic.Sell(1, 1000, 1000, sign="-"))
        subtotal = self.do(classic.Subtotal("1", "1", change=-90))
        self.assertEqual((subtotal.total, subtotal.by_tax), (4500, (4500, 0, 0, 0, 0)))
        self.do(classic.PrintFiscalText("Дякуємо"))
        self.assertEqual(self.do(classic.ReadReceipt()), ReceiptState(1, 1, 4500, 0))
        self.assertEqual(self.do(classic.Pay("C", 1000)), PaidAnswer("D", 3500))
        self.assertEqual(self.do(classic.Pay("P", 5000)), PaidAnswer("R", 1500))
        self.assertEqual(self.do(classic.Close()), classic.Counts(1, 1))
        self.assertEqual(self.forms(), (3500, 0, 1000, 0))
        self.assertEqual(self.do(classic.ReadReceipt()), ReceiptState(0, 0, 0, 0))
        self.assertEqual(self.do(classic.ReadDay()).sums.split(",")[0], "0000004500")
        self.assertEqual(self.sales(), [4500])
        self.assertEqual(self.state().safe, 3500)


class CommandTests(TillCase):
    """Everything else that a till asks."""

    def test_every_command(self) -> None:
        """Each command of the dialect gets the bytes of the vectors."""
        end, transport = self.lines.buildProtocol(IPv4Address("TCP", "127.0.0.1", 40_000)), StringTransport()
        end.makeConnection(transport)
        for name, command, answer in vectors.DAY:
            end.dataReceived(bytes.fromhex(command))
            self.assertEqual(transport.value().lstrip(b"\x16").hex(), answer, name)
            transport.clear()

    def test_return(self) -> None:
        """A return has its own command and bit, and takes no more cash than there is."""
        self.program()
        self.sell()
        self.do(classic.OpenReturn())
        self.assertIn(classic.RETURN_OPEN, self.till.status)
        self.do(classic.Sell(1, 3000))
        self.assertEqual(self.refused(classic.Pay("P", 7650)), "S1.1")
        self.do(classic.Cancel())
        self.do(classic.OpenReturn())
        self.do(classic.Sell(1, 1000))
        self.do(classic.Pay())
        self.assertEqual(self.do(classic.Close()), classic.Counts(3, 2))
        self.assertEqual((self.sales(), self.sales("return"), self.forms()[0]), ([5100], [2550], 2550))

    def test_free_lines(self) -> None:
        """Lines that are in no table, their price or quantity with a sign and parts, also shown; one taken back."""
        self.do(classic.Open())
        self.do(classic.SellFree("Вода", "Б", 1000))
        self.do(classic.SellFreeShown("Чай", "В", 333, 1500, percent=1000))
        self.do(classic.SellFree("Вода", "Б", -1000))
        self.assertEqual(self.do(classic.Subtotal()).by_tax, (0, 0, 550, 0, 0))
        self.assertEqual(self.refused(classic.SellFree("Сік", "Ї", 100)), "S1.1")
        self.assertEqual(self.refused(classic.SellFree("Сік", "А", -100)), "S1.1")
        self.do(classic.Pay("C"))
        self.do(classic.Close())
        self.assertEqual((self.sales(), self.forms()), ([550], (0, 0, 550, 0)))

    def test_small_discount(self) -> None:
        """A discount of the whole receipt is no markup of a line, and none becomes less than nothing."""
        line = SoldLine("Сірники", 1, 0, 1000, 10, 10, 10)
        receipt = OpenReceipt(False, "", (line, line, line))
        for change, sums in ((-1, [10, 9, 10]), (-29, [0, 1, 0]), (1, [10, 11, 10]), (-30, [0, 0, 0])):
            self.assertEqual([one.sum for one in receipt.changed(change).lines], sums)

    def test_many_words(self) -> None:
        """Texts of a receipt and operators come to an end."""
        receipt = OpenReceipt(False, "")
        for n in range(500):
            receipt = receipt.with_text(str(n))
        self.assertRaises(Overflows, receipt.with_text, "more")
        for n in range(100):
            self.do(classic.WriteOperator(n, "0000", "Олена"))
        self.assertEqual(self.refused(classic.WriteOperator(100, "0000", "Олена")), "S1.0")

    def test_operator(self) -> None:
        """The name of the operator is the cashier of the receipt; a wrong password opens nothing."""
        self.program()
        self.do(classic.WriteOperator(3, "0000", "Олена"))
        self.assertEqual(self.refused(classic.Open(3, "1111")), "S1.1")
        self.assertEqual(self.refused(classic.WriteOperator(3, "1111", "Ніхто")), "S1.1")
        self.do(classic.Open(3))
        self.do(classic.Sell(1, 1000))
        self.do(classic.Pay())
        self.do(classic.Close())
        self.assertEqual(self.shop.fiscal(22)["info"]["cashier"], "Олена")

    def test_rounding(self) -> None:
        """Cash is rounded as the register does it; a till that names the exact amount is believed."""
        self.shop.settings(rounding_step=50)
        self.program(price=2531)
        for given, change in ((2531, 0), (2540, 0), (10000, 7450), (classic.ALL, 0)):
            self.do(classic.Open())
            self.do(classic.Sell(1, 1000))
            self.assertEqual(self.do(classic.Pay("P", given)), PaidAnswer("R", change), given)
            self.do(classic.Close())
        self.assertEqual(self.state().safe, 4 * 2550)
        self.assertEqual(self.sum_of_sales(), 4 * 2531)

    def sum_of_sales(self) -> int:
        """What our books say was sold in this shift, before rounding."""
        return self.state().totals.base_p

    def test_articles(self) -> None:
        """The table is kept through a restart; what was sold in the shift keeps its tax and stays."""
        self.program(5, 1000, "Б", "Вода, 0.5 л")
        self.program(7, 300)
        self.crash()
        self.begin()
        for data, answer in (
            (b"I", "10000,2,100"),
            (b"R5", "P5,Б,1,10.00,0.00,0.000,Вода, 0.5 л"),
            (b"R6", "F"),
            (b"F", "P5,Б,1,10.00,0.00,0.000,Вода, 0.5 л"),
            (b"N", "P7,А,1,3.00,0.00,0.000,Хліб"),
            (b"N", "F"),
            (b"X5", "P6"),
            (b"C7,4.50,0000", "P"),
            (b"R7", "P7,А,1,4.50,0.00,0.000,Хліб"),
            (b"C9,4.50,0000", "F"),
        ):
            self.assertEqual(self.ask(107, data).decode("cp1251"), answer, data)
        self.do(classic.Open())
        self.do(classic.Sell(7, 1000))
        self.do(classic.Pay())
        self.do(classic.Close())
        for text, answer in (("D7,0000", "F"), ("DA,0000", "F"), ("D5,0000", "P"), ("PБ7,1,1.00,0000,Сіль", "F")):
            self.assertEqual(self.ask(107, text.encode("cp1251")), answer.encode(), text)
        self.do(classic.PrintReport())
        for text in ("PБ7,1,1.00,0000,Сіль", "DA,0000"):
            self.assertEqual(self.ask(107, text.encode("cp1251")), b"P", text)
        self.assertEqual(self.ask(107, b"I"), b"10000,0,100")

    def ask(self, code: int, data: bytes = b"") -> bytes:
        """The data of an answer."""
        frame = self.desk.done(self.till.link.ask(code, data, 5))
        self.till.status = classic.Status(frame.status)
        return bytes(frame.data)

    def test_reports(self) -> None:
        """X and Z have the sums of the letters; where no shift is open they are zero and make no document."""
        self.assertEqual(self.do(classic.PrintReport(kind=2)).sums, ",".join(["0000000000"] * 5))
        self.assertEqual(self.do(classic.PrintReport()).z, 0)
        self.assertEqual(self.shop.ledger(), [])
        self.program()
        self.sell()
        zeros = ",0000000000" * 4
        self.assertEqual(self.do(classic.PrintReport(kind=2)), classic.Report(1, "0000005100" + zeros))
        self.assertEqual(self.refused(classic.PrintReport("1111")), "S1.1")
        self.assertEqual(self.do(classic.PrintReport()), classic.Report(1, "0000005100" + zeros))
        self.assertEqual((self.do(classic.ReadLastZ()).text, self.forms()), ("0001", (0, 0, 0, 0)))
        self.assertEqual(self.do(classic.ReadDay()).sums, "0000000000" + zeros)

    def test_cash(self) -> None:
        """Cash goes in and out, and the answer tells what is there; more than that does not go out."""
        self.assertEqual(self.do(classic.MoveCash(10000)), classic.Cash("P", 10000, 10000, 0))
        self.assertEqual(self.do(classic.MoveCash(-4000)), classic.Cash("P", 6000, 10000, 4000))
        self.assertEqual(self.do(classic.MoveCash()), classic.Cash("P", 6000, 10000, 4000))
        self.assertEqual(self.refused(classic.MoveCash(-6001)), "S1.1")
        self.assertEqual(self.do(classic.MoveCash()).drawer, 6000)
        self.assertEqual(self.do(classic.ReadNumber()), classic.LastNumber(2))

    def test_order(self) -> None:
        """Commands out of their place are refused as a device does, and change nothing."""
        self.program()
        command: Any
        for command in (
            *(classic.Sell(1, 1000), classic.Subtotal(), classic.Pay(), classic.Close(), classic.Cancel()),
            *(classic.PrintFiscalText("x"), classic.CloseText(), classic.PrintText("x")),
        ):
            self.assertEqual(self.refused(command), "S1.1", command)
        self.do(classic.Open())
        for command in (
            *(classic.Open(), classic.OpenReturn(), classic.OpenText(), classic.PrintReport(), classic.MoveCash(100)),
            *(classic.Close(), classic.Pay("P", 100), classic.Sell(9, 1000), classic.Sell(1, 1000, change=-9000)),
        ):
            self.assertEqual(self.refused(command), "S1.1", command)
        self.assertEqual(self.refused(classic.Sell(1, 1000, 10**10)), "S1.0")
        self.do(classic.Sell(1, 1000))
        for amount in (9000, 0):
            self.assertEqual(self.refused(classic.Pay("C", amount)), "S1.1")
        self.do(classic.Pay("C", 1000))
        for command in (classic.Sell(1, 1000), classic.Subtotal(change=-1), classic.Close()):
            self.assertEqual(self.refused(command), "S1.1", command)
        self.do(classic.Cancel())
        self.assertEqual((self.do(classic.ReadNumber()).number, self.shop.ledger()), (1, []))
        self.assertEqual(self.do(classic.ReadForms()), classic.FormSums(0, 0, 0, 0))

    def test_small(self) -> None:
        """Who the register is, its clock, and what has no effect."""
        self.assertEqual(self.do(classic.ReadVersion()).text, "FP-3530T 5.00,dmtwisted")
        self.assertEqual(self.do(classic.ReadClock()).time[:8], "21-09-26")
        self.assertEqual(self.do(classic.ReadRates()), classic.Rates(2000, 0, 700, 1400, 2000))
        self.assertEqual(self.do(classic.ReadTaxNumber()).number, "1234567890")
        self.assertEqual(self.do(classic.ReadFree()).logical, 9999)
        self.assertEqual(self.do(classic.ReadStatus()).raw.encode("latin-1"), self.till.status.raw)
        for command in (
            *(classic.ClearDisplay(), classic.ShowLower("x"), classic.ShowUpper("x"), classic.Show("x")),
            *(classic.WriteHeader("0Крамниця"), classic.Feed(3), classic.Cut(), classic.Beep(), classic.SelfTest()),
            *(classic.OpenDrawer(), classic.Copy(), classic.SetClock("21-09-26 09:00:00")),
        ):
            self.do(command)
            self.assertNotIn(classic.GENERAL, self.till.status)
        self.do(classic.OpenText())
        self.assertIn(classic.TEXT_OPEN, self.till.status)
        self.do(classic.PrintText("Меню"))
        self.do(classic.CloseText())
        self.assertEqual(self.ask(34), b"")
        self.assertIn(classic.UNKNOWN, self.till.status)
        self.assertEqual(self.ask(58, b"rubbish"), b"")
        self.assertIn(classic.SYNTAX, self.till.status)

    def test_letters(self) -> None:
        """Letters and forms lead to the tax groups and payment types of the settings."""
        self.shop.settings(classic_taxes=[2, 2, 2, 2, 4], classic_payments=[0, 1, 1, 2])
        self.program(1, 1000, "Д")
        self.program(2, 1000, "Г")
        self.do(classic.Open())
        self.do(classic.Sell(1, 1000))
        self.do(classic.Sell(2, 1000))
        self.do(classic.Pay("D"))
        self.do(classic.Close())
        [pay] = self.shop.fiscal(22)["info"]["printinfo"]["pays"]
        self.assertEqual((pay["type"], self.forms()), (2, (0, 0, 0, 2000)))
        self.assertEqual(self.do(classic.ReadDay()).sums.split(",")[:2], ["0000001000", "0000000000"])

    def test_tally(self) -> None:
        """Its tasks count as those of a program called `classic`."""
        self.program()
        self.sell()
        programs = self.successResultOf(Deferred.fromCoroutine(self.shop.core.dispatcher.programs.all()))
        self.assertIn("classic", programs)


class TroubleTests(TillCase):
    """What the service refuses, and what it does not know."""

    def setUp(self) -> None:
        super().setUp()
        self.program()
        self.sell()
        self.shop.settings(offline_allowed=False)
        hurry(self)

    def test_refused(self) -> None:
        """A closing that is refused leaves the receipt open and paid: it is closed again, or cancelled."""
        for then in (classic.Close(), classic.Cancel()):
            self.paid(1)
            self.shop.scenario({"on": "sale", "then": "unreachable"})
            self.assertEqual(self.refused(classic.Close()), "S1.1")
            self.assertIn(classic.RECEIPT_OPEN, self.till.status)
            self.assertEqual(self.do(classic.ReadReceipt()), ReceiptState(1, 1, 2550, 2550))
            self.do(then)
        self.assertEqual((self.sales(), self.forms()[0]), ([5100, 2550], 7650))
        self.assertEqual(self.do(classic.ReadNumber()), classic.LastNumber(3))

    def test_refused_later(self) -> None:
        """A refusal says nothing of an earlier try: what is done then cannot be cancelled."""
        self.paid(1)
        execute = self.shop.core.dispatcher.execute

        async def forgotten(body: bytes, *more: Any) -> bytes:
            answer = json.loads(await execute(body, *more))
            return json.dumps({**answer, "res": 1082, "errortxt": "the store is away"}).encode()

        patch = self.patch(self.shop.core.dispatcher, "execute", forgotten)
        self.refused(classic.Close())
        patch.restore()
        turns = self.shop.core.devices.by_name("test").turns
        self.successResultOf(Deferred.fromCoroutine(turns.take(None)))
        self.assertRaises(DeviceRefused, self.desk.done, self.till.do(classic.Close(), 30))
        turns.give_back()
        self.refused(classic.Cancel())
        self.assertEqual((self.sales(), self.do(classic.ReadNumber())), ([5100, 2550], classic.LastNumber(2)))

    def test_one_tag(self) -> None:
        """However often a receipt is closed, its task has one tag; the next receipt has another."""
        tags: list[str] = []
        execute = self.shop.core.dispatcher.execute

        async def heard(body: bytes, *more: Any) -> bytes:
            tags.append(json.loads(body)["tag"])
            return await execute(body, *more)

        self.patch(self.shop.core.dispatcher, "execute", heard)
        self.paid(1)
        self.shop.scenario({"on": "sale", "then": "unreachable", "times": 2})
        for _ in range(2):
            self.assertEqual(self.refused(classic.Close()), "S1.1")
        self.do(classic.Close())
        self.sell()
        self.assertEqual((len(tags), len(set(tags[:3])), len(set(tags))), (4, 1, 2))

    def test_unknown(self) -> None:
        """While nobody knows what became of a closing nothing else is begun, and no sums are told."""
        self.paid(1)
        self.shop.scenario({"on": "sale", "then": "lost_after"}, UNASKED)
        self.assertEqual(self.refused(classic.Close()), "S1.1")
        for command in (
            *(classic.Close(), classic.Cancel(), classic.Open(), classic.PrintReport(), classic.MoveCash(100)),
            *(classic.ReadForms(), classic.ReadDay(), classic.ReadNumber(), classic.Sell(1, 1000), classic.Pay()),
        ):
            self.assertEqual(self.refused(command), "S1.1", command)
        self.assertEqual(self.do(classic.ReadReceipt()), ReceiptState(1, 1, 2550, 2550))
        self.shop.scenario()
        self.assertEqual(self.do(classic.Close()), classic.Counts(2, 2))
        self.assertEqual((self.sales(), self.forms()[0]), ([5100, 2550], 7650))

    def test_unknown_then_next(self) -> None:
        """The next receipt is opened when it is known what became of the last one."""
        for lost, sum_ in (("lost_after", [2550]), ("lost_before", [])):
            before = len(self.sales())
            self.paid(1)
            self.shop.scenario({"on": "sale", "then": lost}, UNASKED)
            self.assertEqual(self.refused(classic.Close()), "S1.1")
            self.shop.scenario()
            if sum_:
                self.do(classic.Open())
            else:
                # Nothing came of it, so it is still open.
                self.assertEqual(self.refused(classic.Open()), "S1.1")
            self.do(classic.Cancel())
            self.assertEqual(self.sales()[before:], sum_)

    def test_busy(self) -> None:
        """A register that works for another program is waited for."""
        self.paid(1)
        turns = self.shop.core.devices.by_name("test").turns
        self.successResultOf(Deferred.fromCoroutine(turns.take(None)))
        closing = self.desk.begin(self.till.do(classic.Close(), 15))
        self.desk.endpoint.advance(2)
        self.assertNoResult(closing)
        turns.give_back()
        self.assertEqual(self.desk.done(closing), classic.Counts(2, 2))

    def test_busy_for_long(self) -> None:
        """In the end it is refused, and the receipt stays open."""
        self.paid(1)
        turns = self.shop.core.devices.by_name("test").turns
        self.successResultOf(Deferred.fromCoroutine(turns.take(None)))
        doing = self.till.do(classic.Close(), 30)
        self.assertEqual(self.assertRaises(DeviceRefused, self.desk.done, doing).code, "S1.1")
        turns.give_back()
        self.assertEqual(self.do(classic.Close()), classic.Counts(2, 2))

    def test_cash_again(self) -> None:
        """Cash whose outcome was not known is not put in twice when the till repeats it."""
        self.shop.scenario({"on": "cash_in", "then": "lost_after"}, {**UNASKED, "times": 1})
        for _ in range(2):
            self.assertEqual(self.refused(classic.MoveCash(1000)), "S1.1")
        self.assertEqual(self.do(classic.MoveCash(1000)), classic.Cash("P", 6100, 1000, 0))
        self.assertEqual(self.do(classic.MoveCash(1000)), classic.Cash("P", 7100, 2000, 0))

    def test_store(self) -> None:
        """A database that takes no more writes is a fault of the memory; nothing was opened or closed."""
        failing = FailingSettings(self)
        failing.on = True
        self.assertEqual(self.refused(classic.Open()), "S1.1")
        self.assertIn(classic.MEMORY_WRITE, self.till.status)
        failing.on = False
        self.paid(1)
        failing.on = True
        self.assertEqual(self.refused(classic.Close()), "S1.1")
        self.assertEqual(self.sales(), [5100])
        failing.on = False
        self.assertEqual(self.do(classic.Close()), classic.Counts(2, 2))

    def test_unusable(self) -> None:
        """A register that cannot be built has no memory, and sells nothing."""
        self.shop.make_unusable("test", "no key")
        self.assertEqual(self.refused(classic.Open()), "S1.1")
        self.assertIn(classic.NO_MEMORY, self.till.status)

    def test_closed_again(self) -> None:
        """A closing that comes once more as a new command is answered as done, until the till goes on."""
        self.assertEqual(self.do(classic.Close()), classic.Counts(1, 1))
        self.begin()
        self.assertEqual(self.do(classic.Close()), classic.Counts(1, 1))
        self.do(classic.ReadNumber())
        self.assertEqual(self.refused(classic.Close()), "S1.1")
        self.do(classic.Open())
        self.begin()
        self.assertEqual(self.refused(classic.Close()), "S1.1")
        self.assertEqual(self.sales(), [5100])

    def test_lost_receipt(self) -> None:
        """A receipt that was open when the power failed is void; its closing is not taken for that of the last."""
        self.paid(1)
        self.crash()
        self.connect()
        self.assertEqual(self.refused(classic.Close()), "S1.1")
        self.assertEqual(self.do(classic.ReadReceipt()), ReceiptState(0, 0, 0, 0))
        self.assertEqual((self.do(classic.ReadNumber()).number, self.sales()), (2, [5100]))

    def test_report_killed(self) -> None:
        """The same bytes after a start get the answer of a Z report or a movement of cash that was done before."""
        for command in (classic.MoveCash(1000), classic.PrintReport()):
            answer = self.do(command)
            documents = len(self.shop.ledger())
            self.crash()
            self.connect()
            self.assertEqual(self.do(command, again=True), answer)
            self.assertEqual(len(self.shop.ledger()), documents)
            self.begin()


class FailingSettings:
    """The store of a case, which may refuse settings."""

    def __init__(self, case: TillCase) -> None:
        self.on = False
        change = case.shop.store.change_settings

        async def failing(*arguments: Any) -> None:
            if self.on:
                raise StoreFailed("database or disk is full")
            await change(*arguments)

        case.patch(case.shop.store, "change_settings", failing)


class PaperTests(TillCase):
    """Papers on a printer of the service."""

    def setUp(self) -> None:
        super().setUp()
        adding = self.shop.core.devices.add("prn", "printer", "training", {})
        self.successResultOf(Deferred.fromCoroutine(adding))
        self.shop.settings(classic_printer="prn")
        self.printer = self.shop.core.devices.by_name("prn").simulator
        self.program()

    def papers(self) -> int:
        """How many papers were printed."""
        return sum(entry.kind == "print" for entry in self.printer.entries())

    def test_papers(self) -> None:
        """Receipts, reports, copies and texts are printed, and the drawer opens."""
        self.sell()
        self.assertEqual(self.papers(), 1)
        self.do(classic.Copy())
        self.do(classic.OpenText())
        self.do(classic.PrintText("Меню"))
        self.do(classic.CloseText())
        self.do(classic.PrintReport(kind=2))
        self.assertEqual(self.papers(), 4)
        pulses = self.printer.mechanism.pulses
        self.do(classic.OpenDrawer())
        self.assertEqual(self.printer.mechanism.pulses, pulses + 1)

    def test_no_paper(self) -> None:
        """Without paper the receipt is made, and the bit of the paper stays until something is printed."""
        self.printer.take_paper_out()
        self.sell()
        self.do(classic.ReadStatus())
        self.assertIn(classic.NO_PAPER, self.till.status)
        self.printer.load_paper()
        self.sell()
        self.assertNotIn(classic.NO_PAPER, self.till.status)
        self.assertEqual(self.sales(), [5100, 5100])


class LineTests(TillCase):
    """Who may use the line, and what is on it."""

    def peer(self, host: str) -> Any:
        """What a till with this address gets."""
        return self.lines.buildProtocol(IPv4Address("TCP", host, 40_000))

    def test_strangers(self) -> None:
        """Only this computer and the addresses of the setting are answered, and these not without `extAccess`."""
        self.assertIsNotNone(self.peer("127.0.0.1"))
        self.assertIsNone(self.peer("192.168.1.7"))
        self.shop.settings(classic_allowed="192.168.1.0/28")
        self.assertIsNotNone(self.peer("192.168.1.7"))
        self.assertIsNone(self.peer("192.168.1.77"))
        change = self.shop.core.settings.change({"extAccess": False})
        self.successResultOf(Deferred.fromCoroutine(change))
        self.assertIsNone(self.peer("192.168.1.7"))
        self.assertIsNotNone(self.peer("127.0.0.1"))

    def test_hardened(self) -> None:
        """In the hardened profile a till's address must be allowed by both settings."""
        self.shop.settings(classic_allowed="192.168.1.0/28")
        config = self.shop.core.config
        server = replace(config.server, hardened=True, allowed_addresses="192.168.1.7, 10.0.0.1")
        self.shop.core.config = replace(config, server=server)
        self.assertIsNotNone(self.peer("192.168.1.7"))
        for host in ("192.168.1.8", "10.0.0.1"):
            self.assertIsNone(self.peer(host), host)

    def test_many_lines(self) -> None:
        """A fifth line closes the oldest one."""
        first = self.till
        for _ in range(4):
            self.connect()
        self.desk.endpoint.flush()
        self.assertEqual((first.link.gone, self.till.link.gone), (True, False))

    def test_deaf_lines(self) -> None:
        """A till that does not read is not read from, and its line closes at once when others come."""
        ends = []
        for _ in range(5):
            end, transport = self.peer("127.0.0.1"), _TcpTransport()
            directlyProvides(transport, ITCPTransport)
            end.makeConnection(transport)
            ends.append(transport)
        self.assertEqual([one.disconnected for one in ends], [True, False, False, False, False])
        self.assertEqual((ends[1].producer, ends[1].streaming), (ends[1], True))

    def test_settings(self) -> None:
        """The line follows the settings of its register, and the register keeps what is in memory."""
        self.program()
        self.do(classic.Open())
        self.shop.settings(classic_listen="127.0.0.1:9200")
        self.clock.advance(2)
        self.assertEqual(set(self.ports.open), {("127.0.0.1", 9200)})
        self.ports.open["127.0.0.1", 9100] = self.ports.open["127.0.0.1", 9200]
        self.begin()
        self.assertEqual(self.do(classic.ReadReceipt()).open, 1)
        self.shop.settings(classic_listen="")
        self.clock.advance(2)
        self.assertNotIn(("127.0.0.1", 9200), self.ports.open)

    def test_bad_settings(self) -> None:
        """What cannot be listened to or admitted is refused."""
        devices = self.shop.core.devices
        for name, value in (
            ("classic_listen", "shop:9100"),
            ("classic_listen", "127.0.0.1:0"),
            ("classic_allowed", "the shop"),
            ("classic_password", "abc"),
            ("classic_taxes", [1]),
        ):
            change = devices.change(devices.by_name("test").row.dev_id, None, {name: value})
            self.failureResultOf(Deferred.fromCoroutine(change), BadSettings)

    def test_taken_port(self) -> None:
        """A port that is taken is tried again; until then a person is told."""
        self.shop.settings(classic_listen="")
        self.clock.advance(2)
        listen, tries = self.ports.listen, []

        def taken(port: int, factory: Any, backlog: int = 50, interface: str = "") -> Any:
            tries.append(port)
            if len(tries) < 3:
                raise CannotListenError(interface, port, OSError("in use"))
            return listen(port, factory, backlog, interface)

        self.clock.listenTCP = taken  # type: ignore[attr-defined]
        self.shop.settings(classic_listen=LISTEN)
        needs = self.shop.core.needs
        self.clock.advance(2)
        [need] = [
            need for need in self.successResultOf(Deferred.fromCoroutine(needs.look())) if need.code == "till_line"
        ]
        self.assertEqual((need.level, need.device, need.link.rpartition("/")[0]), ("bad", "test", "/dm/devices"))
        self.assertIn(f"{LISTEN} для старої каси не відкрито: ", need.text.uk)
        self.assertIn("in use", need.text.en)
        self.clock.pump([2.0] * 13)
        self.assertEqual((len(tries), set(self.ports.open)), (3, {("127.0.0.1", 9100)}))
        self.assertNotIn(
            "till_line", [need.code for need in self.successResultOf(Deferred.fromCoroutine(needs.look()))]
        )

    def test_serial(self) -> None:
        """A serial port is opened with the speed of the setting, and again when it was lost."""
        opened: list[Any] = []

        class Endpoint:
            """A port."""

            def __init__(self, _: object, settings: Any) -> None:
                opened.append(settings)

            def connect(self, factory: Any) -> Deferred[Any]:
                """Open it."""
                end = factory.buildProtocol(SerialAddress("COM7"))
                end.makeConnection(StringTransport())
                ends.append(end)
                return succeed(end)

        ends: list[Any] = []
        self.patch(protocols.serial, "SerialEndpoint", Endpoint)
        self.shop.settings(classic_listen="")
        self.clock.advance(2)
        self.desk.endpoint.flush()
        self.shop.settings(classic_listen="COM7", classic_baudrate=115200)
        self.clock.pump([2.0] * 10)
        self.assertEqual([(one.port, one.baudrate) for one in opened], [("COM7", 115200)])
        ends[0].dataReceived(DatecsFrame(0x20, 90, b"").encode())
        self.assertIn(b"FP-3530T", ends[0].transport.value())
        ends[0].connectionLost(Failure(ConnectionDone()))
        self.clock.pump([2.0] * 10)
        self.assertEqual(len(opened), 2)

    def test_damage(self) -> None:
        """Damaged, endless and foreign bytes in any pieces cost nothing and open nothing."""
        end, transport = self.peer("127.0.0.1"), StringTransport()
        end.makeConnection(transport)
        good = DatecsFrame(0x21, 48, b"1,0000,1").encode()
        chance = random.Random(25)
        for place in range(len(good)):
            end.dataReceived(good[:place] + bytes([good[place] ^ 0x11]) + good[place + 1 :])
            end.dataReceived(good[:place])
        for _ in range(300):
            end.dataReceived(chance.randbytes(chance.randrange(1, 3000)))
        end.dataReceived(b"\x01\xff" + b"\x7f" * 100_000)
        self.assertLess(len(end._deframer._buffer), 300)
        end.dataReceived(b"\x01" * 100_000 + b"\x03" * 300)
        transport.clear()
        end.dataReceived(DatecsFrame(0x30, 76, b"").encode())
        self.assertIn(b"0,0000,0000000000,0000000000", transport.value())
        self.assertEqual(self.shop.ledger(), [])

    def test_flood(self) -> None:
        """A thousand frames at once are answered one after another; a number that comes again is not executed."""
        self.program()
        self.do(classic.Open())
        end, transport = self.peer("127.0.0.1"), StringTransport()
        end.makeConnection(transport)
        end.dataReceived(DatecsFrame(0x7E, 58, b"1*1.000").encode() * 1000)
        self.assertEqual(self.do(classic.ReadReceipt()), ReceiptState(1, 1, 2550, 0))

    def test_stop_waits(self) -> None:
        """The store is closed when the end of a closing is noted."""
        self.program()
        self.paid()
        change, noting = self.shop.store.change_settings, [Deferred[None](), succeed(None)]

        async def slowly(*arguments: Any) -> None:
            if noting:
                await noting.pop()
            await change(*arguments)

        self.patch(self.shop.store, "change_settings", slowly)
        last = noting[0]
        self.desk.begin(self.till.do(classic.Close(), 15)).addErrback(lambda _: None)
        stopping = Deferred.fromCoroutine(self.shop.core.close())
        self.clock.pump([0.1] * 100)
        self.assertNoResult(stopping)
        last.callback(None)
        self.successResultOf(stopping)

    def test_stop(self) -> None:
        """A service that stops closes its lines, ends what a till began, and closes the store only then."""
        self.program()
        self.paid()
        turns = self.shop.core.devices.by_name("test").turns
        self.successResultOf(Deferred.fromCoroutine(turns.take(None)))
        closing = self.desk.begin(self.till.do(classic.Close(), 15))
        self.desk.endpoint.advance(0.2)
        stopping = Deferred.fromCoroutine(self.shop.core.close())
        self.desk.endpoint.flush()
        self.failureResultOf(closing, LineLost)
        turns.give_back()
        self.clock.pump([0.1] * 100)
        self.successResultOf(stopping)
        self.assertEqual(self.ports.open, {})


class KillTests(TillCase):
    """The service is killed at each durable step of a closing, and starts again."""

    def setUp(self) -> None:
        super().setUp()
        self.program()
        self.sell(1)
        self.kills = Kills(self)
        self.cash = 0

    def each(self, go_on: Callable[[], bool]) -> None:
        """Kill at each step; ``go_on`` is what the till does then: whether its receipt is closed, as it knows."""
        self.paid()
        self.kills.at(0)
        self.do(classic.Close())
        steps = list(self.kills.passed)
        self.assertIn("document.intent-stored", steps)
        outcomes = set()
        for step, name in enumerate(steps, 1):
            before = len(self.sales())
            self.cash = self.forms()[0]
            self.paid()
            self.kills.at(step)
            self.assertRaises(LineLost, self.do, classic.Close())
            self.kills.at(0)
            self.flushLoggedErrors(Killed)
            self.crash()
            closed = go_on()
            self.assertEqual(self.sales()[before:], [5100] * closed, name)
            self.assertEqual(self.forms()[0], self.cash + 5100 * closed, name)
            self.assertEqual(self.do(classic.ReadReceipt()), ReceiptState(0, 0, 0, 0))
            self.assertEqual(self.state().totals.base_p, sum(self.sales()))
            outcomes.add(closed)
        self.assertEqual(outcomes, {False, True})

    def closed(self, again: bool) -> bool:
        """Close; whether that is done."""
        try:
            return bool(self.do(classic.Close(), again=again).receipts)
        except DeviceRefused:
            return False

    def grown(self) -> bool:
        """Whether the sums say that the receipt is closed."""
        return self.forms()[0] == self.cash + 5100

    def test_same_bytes(self) -> None:
        """The till sends the same bytes again: the receipt is closed, or lost before its closing began."""

        def go_on() -> bool:
            self.connect()
            return self.closed(again=True)

        self.each(go_on)

    def test_closes_again(self) -> None:
        """The till closes again by a new command."""

        def go_on() -> bool:
            self.begin()
            return self.closed(again=False)

        self.each(go_on)

    def test_looks(self) -> None:
        """The till reads the sums."""

        def go_on() -> bool:
            self.begin()
            return self.grown()

        self.each(go_on)

    def test_cancels(self) -> None:
        """The till looks for an open receipt and cancels it."""

        def go_on() -> bool:
            self.begin()
            if classic.RECEIPT_OPEN in self.till.status:
                try:
                    self.do(classic.Cancel())
                except DeviceRefused:
                    return True
            return self.grown()

        self.each(go_on)

    def test_next(self) -> None:
        """The till begins the next receipt: what became of the last one is found out first."""

        def go_on() -> bool:
            self.begin()
            self.do(classic.Open())
            closed = self.grown()
            self.do(classic.Cancel())
            return closed

        self.each(go_on)
