"""A simulated register of the classic dialect of Datecs (docs/reference/registers.md#classic-dialect).

- Lines are articles of the table; free ones only with ``free_lines``.
- A refused command sets a bit of the status and changes nothing; no paper and the end of the day set S1.1 (L).
- `ReadNumber` counts voided documents too; a receipt that is paid in full cannot be cancelled (L).
"""

from __future__ import annotations

import calendar
import time
from typing import Any, ClassVar

from twisted.internet.interfaces import IReactorTime

from protocols.registers.datecs import classic
from protocols.registers.datecs.classic import Kopecks, Paid, PayForm, Status
from protocols.registers.datecs.frames import NAK, SYN, DatecsFrame, Deframer
from protocols.registers.numbered import Sign
from protocols.simulators.iron import Article, Iron, IronSettings, Kind, Refuses, Why, cost_of
from protocols.simulators.register_line import FaultyEnd, RegisterDevice, Steer, well

OVERFLOWS = frozenset({Why.SUM, Why.TOO_MANY})
MODEL = "FP-3530T 5.00,KBM"
FORMS = tuple(PayForm)
_CLOCK = "%d-%m-%y %H:%M:%S"


class ClassicDevice(RegisterDevice[DatecsFrame]):
    """The register."""

    def __init__(
        self,
        clock: IReactorTime,
        settings: IronSettings | None = None,
        steer: Steer = well,
        password: str = classic.DEFAULT_PASSWORD,
        free_lines: bool = False,
    ) -> None:
        super().__init__(Iron(clock.seconds, settings), clock, steer)
        self.password, self.free_lines = password, free_lines

    def deframer(self) -> Deframer:
        """For a new line."""
        return Deframer()

    def line(self) -> FaultyEnd[DatecsFrame]:
        """The register's end of a new line."""
        return _End(self)

    def name_of(self, frame: DatecsFrame) -> str:
        """The name of a command's class."""
        return getattr(classic.ClassicCommand.known.get(frame.code), "__name__", "unknown")

    def obey(self, frame: DatecsFrame) -> bytes:
        """Execute a command."""
        data, *bits = self._answer(frame)
        return DatecsFrame(frame.number, frame.code, data, self.status(*bits).raw).encode()

    def status(self, *more: tuple[int, int]) -> Status:
        """The status, with bits of the last command."""
        iron = self.iron
        bits = [*more, classic.FISCALISED] if iron.fiscalised else [*more]
        bits += [classic.NO_PAPER] if iron.paper == 0 else []
        bits += [classic.COVER] if iron.cover_open else []
        bits += [classic.MEMORY_FULL] if iron.memory_full else []
        if iron.document is not None:
            bits += [classic.TEXT_OPEN if iron.document.kind is Kind.TEXT else classic.RECEIPT_OPEN]
            bits += [classic.RETURN_OPEN] if iron.document.kind is Kind.RETURN else []
        if set(bits) - {classic.FISCALISED, classic.TEXT_OPEN, classic.RECEIPT_OPEN, classic.RETURN_OPEN}:
            bits += [classic.GENERAL]
        return Status.of(*bits)

    def _answer(self, frame: DatecsFrame) -> tuple[bytes, *tuple[tuple[int, int], ...]]:
        kind = classic.ClassicCommand.known.get(frame.code)
        if kind is None:
            return b"", classic.UNKNOWN
        try:
            command = kind.decode(frame.data)
            password = getattr(command, "password", self.password)
            if password != self.password:
                raise Refuses(Why.PASSWORD)
            return (self._do(command).encode(),)
        except ValueError:
            return b"", classic.SYNTAX
        except Refuses as refuses:
            bit = classic.OVERFLOW if refuses.why in OVERFLOWS else classic.FORBIDDEN
            match frame.code:
                case classic.Pay.code:
                    return classic.PaidAnswer(Paid.ERROR.value).encode(), bit
                case classic.WriteArticle.code:
                    return b"F", bit
                case classic.MoveCash.code:
                    return self._cash("F").encode(), bit
            return b"", bit

    def _do(self, command: Any) -> classic.ClassicAnswer:
        iron = self.iron
        match command:
            case classic.Open(operator) | classic.OpenReturn(operator):
                iron.open(Kind.SALE if isinstance(command, classic.Open) else Kind.RETURN, operator)
                return self._counts()
            case classic.Sell():
                self._sell(command)
            case classic.SellFree(name, tax, price, quantity):
                if not self.free_lines:
                    raise Refuses(Why.ORDER)
                code = -len(iron.articles) - 1
                iron.write_article(code, Article(name, classic.TAXES.index(tax), price))
                iron.sell(code, quantity)
            case classic.Subtotal(_, _, percent, change):
                return self._subtotal(percent, change)
            case classic.Pay(form, amount):
                return self._pay(form, amount)
            case classic.PrintFiscalText(line) | classic.PrintText(line):
                iron.text(line)
            case classic.Close():
                iron.open_document(Kind.SALE, Kind.RETURN)
                iron.close()
                return self._counts()
            case classic.Cancel():
                document = iron.open_document(Kind.SALE, Kind.RETURN)
                if document.paid and document.rest <= 0:
                    raise Refuses(Why.ORDER)
                iron.void()
            case classic.WriteArticle("P", tax, article, _, price, _, name):
                iron.write_article(article, Article(name, classic.TAXES.index(tax), price))
                return classic.Result("P")
            case classic.MoveCash(0):
                return self._cash("P")
            case classic.MoveCash(amount):
                iron.cash(amount)
                return self._cash("P")
            case classic.PrintReport(_, kind):
                return self._report(kind)
            case classic.OpenText():
                iron.open(Kind.TEXT)
                return classic.Result("")
            case classic.CloseText():
                iron.open_document(Kind.TEXT)
                iron.close()
            case classic.WriteOperator(number, _, name):
                iron.operators[number] = name
            case classic.OpenDrawer():
                iron.opened_drawer += 1
            case classic.Copy():
                iron.copy()
            case classic.SetClock(text):
                if iron.shift_open:
                    raise Refuses(Why.NEED_Z)
                iron.drift += calendar.timegm(time.strptime(text, _CLOCK)) - iron.time
            case _:
                return self._read(command)
        return classic.Nothing()

    def _read(self, command: Any) -> classic.ClassicAnswer:
        iron = self.iron
        match command:
            case classic.ReadStatus():
                return classic.StatusAnswer(self.status().raw.decode("latin-1"))
            case classic.ReadReceipt():
                found = iron.document
                if found is None or found.kind is Kind.TEXT:
                    return classic.ReceiptState(0, 0, 0, 0)
                return classic.ReceiptState(1, len(found.lines), found.total, sum(found.paid.values()))
            case classic.ReadNumber():
                return classic.LastNumber(iron.number)
            case classic.ReadForms():
                return classic.FormSums(*(iron.turnover(form) for form in range(4)))
            case classic.ReadDay():
                return classic.DaySums(self._day())
            case classic.ReadLastZ():
                return classic.Said(f"{iron.z:04d}")
            case classic.ReadFree():
                left = iron.settings.reports - iron.z
                return classic.FreeRecords(left, left)
            case classic.ReadClock():
                return classic.Clock(time.strftime(_CLOCK, time.gmtime(iron.time)))
            case classic.ReadVersion():
                return classic.Said(MODEL)
            case classic.ReadRates():
                return classic.Rates(2000, 1500, 1000, 500, 500)
            case classic.ReadTaxNumber():
                return classic.TaxNumber("0000EA818527", "0")
            case classic.WriteArticle("I"):
                return classic.Result(f"{len(iron.articles)},{iron.settings.articles},00000")
        return classic.Nothing()

    def _sell(self, command: classic.Sell) -> None:
        iron = self.iron
        if command.sign == "-":
            iron.take_back(command.article, command.quantity)
            return
        article = iron.articles.get(command.article, Article("", 0))
        price = article.price if command.price == classic.NO_PRICE else command.price
        cost = cost_of(command.quantity, price)
        changed = cost + _percent(cost, command.percent) + command.change
        if changed < 0:
            raise Refuses(Why.DISCOUNT)
        iron.sell(command.article, command.quantity, price, changed)

    def _subtotal(self, percent: int, change: int) -> classic.Subtotals:
        document = self.iron.open_document(Kind.SALE, Kind.RETURN)
        amount = _percent(document.total, percent) + change
        if amount:
            self.iron.change_all(amount)
        sums = document.by_tax(self.iron.settings.taxes)
        return classic.Subtotals(document.total, ",".join(map(Kopecks().write, sums)))

    def _pay(self, form: str, amount: int) -> classic.PaidAnswer:
        document = self.iron.open_document(Kind.SALE, Kind.RETURN)
        form = form or PayForm.CASH.value
        amount = document.rest if amount == classic.ALL else amount
        rest = self.iron.pay(FORMS.index(PayForm(form)), amount)
        return classic.PaidAnswer((Paid.REST if rest > 0 else Paid.CHANGE).value, abs(rest))

    def _report(self, kind: int) -> classic.Report:
        sums = self._day()
        if kind == classic.ReportKind.Z:
            return classic.Report(self.iron.z_report(), sums)
        self.iron.x_report()
        return classic.Report(self.iron.z + 1, sums)

    def _day(self) -> str:
        iron = self.iron
        here = [receipt for receipt in iron.ledger if receipt.z == iron.z + 1 and receipt.kind is Kind.SALE]
        lines = [line for receipt in here for line in receipt.lines]
        sums = (sum(line.cost for line in lines if line.tax == tax) for tax in range(iron.settings.taxes))
        return ",".join(map(Kopecks().write, sums))

    def _counts(self) -> classic.Counts:
        return classic.Counts(self.iron.number, self.iron.receipts + self.iron.returns)

    def _cash(self, result: str) -> classic.Cash:
        return classic.Cash(result, self.iron.drawer, self.iron.cash_in, self.iron.cash_out)


def _percent(amount: int, hundredths: int) -> int:
    part = (amount * abs(hundredths) + 5_000) // 10_000
    return -part if hundredths < 0 else part


class _End(FaultyEnd[DatecsFrame]):
    signs: ClassVar = {Sign.REFUSED: bytes([NAK]), Sign.BUSY: bytes([SYN])}
