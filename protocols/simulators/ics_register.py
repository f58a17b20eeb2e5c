"""A simulated ICS register (docs/reference/registers.md#ics).

- A cashier must be logged in. The first line or comment opens the receipt; a payment that pays all and has its bit
  31 closes it.
- Without that bit a receipt that is paid stays open, and takes a further payment of 0 with the bit (L).
- Sales and returns have counters of their own in the memory, which begin at 0 after a Z report.
- A shift of more than a day is RESULT 41 with bit 5 of STATUS; an open cover is RESULT 1 (L).
"""

from __future__ import annotations

import time
from typing import Any, ClassVar

from twisted.internet.interfaces import IReactorTime

from protocols.registers.ics import commands as ics
from protocols.registers.ics.commands import Head, Reserve, Status
from protocols.registers.ics.frames import ACK, NAK, SYN, Deframer, IcsFrame
from protocols.registers.numbered import Sign
from protocols.simulators.iron import Article, Iron, IronSettings, Kind, Refuses, Why
from protocols.simulators.register_line import FaultyEnd, RegisterDevice, Steer, well

RESULTS = {
    Why.PAPER: 2,
    Why.COVER: 1,
    Why.MEMORY_FULL: 8,
    Why.SHIFT_OVER: 41,
    Why.NOT_FISCALISED: 42,
    Why.UNSENT: 47,
    Why.NEED_Z: 41,
    Why.OPEN: 44,
    Why.NOT_OPEN: 39,
    Why.FORM: 24,
    Why.OVERPAID: 34,
    Why.DISCOUNT: 27,
    Why.PASSWORD: 21,
    Why.ARTICLE_UNKNOWN: 22,
    Why.ARTICLE_CHANGED: 43,
    Why.ARTICLES_FULL: 40,
    Why.TAX: 23,
    Why.CASH_SHORT: 35,
    Why.SUM: 32,
    Why.TOO_MANY: 31,
    Why.QUANTITY: 28,
}
"""Whatever is not here is 16: forbidden in this mode."""

FORBIDDEN, BAD_LENGTH, RETURN_OPEN, SALE_OPEN, NOTHING_TO_CHANGE, PAYING = 16, 20, 37, 38, 45, 46

VERSIONS = {False: "ЕП-06", True: "ЕП-11"}
"""Of the protocol, without and with a CRC."""

_FORMS = {ics.PayKind.CASH: 0, ics.PayKind.CARD: 1, ics.PayKind.CREDIT: 2, ics.PayKind.CHEQUE: 3}
SETTINGS = IronSettings(taxes=6, forms=4)


class _Result(Exception):
    """A RESULT that the shared inside does not know."""


class IcsDevice(RegisterDevice[IcsFrame]):
    """The register.

    :param crc: whether its frames have a CRC.
    """

    def __init__(
        self,
        clock: IReactorTime,
        settings: IronSettings = SETTINGS,
        steer: Steer = well,
        crc: bool = False,
        password: int = 0,
    ) -> None:
        super().__init__(Iron(clock.seconds, settings), clock, steer)
        self.crc, self.password = crc, password
        self.cashier = ""

    def deframer(self) -> Deframer:
        """For a new line."""
        return Deframer(self.crc)

    def line(self) -> FaultyEnd[IcsFrame]:
        """The register's end of a new line."""
        return _End(self)

    def name_of(self, frame: IcsFrame) -> str:
        """The name of a command's class."""
        return getattr(ics.IcsCommand.known.get(frame.code), "__name__", "unknown")

    def obey(self, frame: IcsFrame) -> bytes:
        """Execute a command."""
        result, data = self._answer(frame)
        head = Head(self._status(result), result, self._reserve())
        return IcsFrame(frame.number, frame.code, head.encode() + data).encode(self.crc)

    def _status(self, result: int) -> Status:
        status = Status(0)
        if self.iron.paper == 0 or self.iron.cover_open:
            status |= Status.PRINTER
        if self.iron.memory_full:
            status |= Status.MEMORY
        if self.iron.shift_over:
            status |= Status.SHIFT_OVER
        return status | Status.FORBIDDEN if result == FORBIDDEN else status

    def _reserve(self) -> Reserve:
        reserve = Reserve.FISCALISED if self.iron.fiscalised else Reserve(0)
        if self.iron.paper == 0:
            reserve |= Reserve.NO_PAPER
        if self.iron.shift_open:
            reserve |= Reserve.SHIFT_OPEN
        if self.iron.document is not None:
            reserve |= Reserve.RECEIPT_OPEN
            if self.iron.document.kind is Kind.RETURN:
                reserve |= Reserve.RETURN
        return reserve

    def _answer(self, frame: IcsFrame) -> tuple[int, bytes]:
        kind = ics.IcsCommand.known.get(frame.code)
        if kind is None:
            return FORBIDDEN, b""
        try:
            return 0, self._do(kind.decode(frame.data)).encode()
        except ValueError:
            return BAD_LENGTH, b""
        except _Result as result:
            return result.args[0], b""
        except Refuses as refuses:
            return RESULTS.get(refuses.why, FORBIDDEN), b""

    def _do(self, command: Any) -> ics.IcsAnswer:
        iron = self.iron
        if getattr(command, "password", self.password) != self.password:
            raise Refuses(Why.PASSWORD)
        match command:
            case ics.LogIn(_, _, name):
                self.cashier = name or "1"
            case ics.Sell():
                return self._line(command, Kind.SALE)
            case ics.TakeBack():
                return self._line(command, Kind.RETURN)
            case ics.Comment(text, opens_return):
                document = iron.document
                if document is None:
                    self._open(Kind.RETURN if opens_return else Kind.SALE)
                try:
                    iron.text(text)
                except Refuses:
                    iron.document = document
                    raise
            case ics.Pay():
                return self._pay(command)
            case ics.Change(kind, value):
                return self._change(kind, value)
            case ics.Cancel():
                iron.void()
            case ics.PutIn(amount):
                iron.cash(amount)
            case ics.TakeOut(amount):
                iron.cash(-amount)
            case ics.XReport() | ics.ArticleReport():
                iron.x_report()
            case ics.ZReport():
                iron.z_report()
            case ics.Feed():
                iron.print()
            case ics.OpenDrawer():
                iron.opened_drawer += 1
            case ics.Copy():
                iron.copy()
            case _:
                return self._read(command)
        return ics.Nothing()

    def _read(self, command: Any) -> ics.IcsAnswer:
        iron = self.iron
        now = time.gmtime(iron.time)
        match command:
            case ics.ReadState():
                return ics.State(bytes(24) + VERSIONS[self.crc].encode(ics.CHARSET))
            case ics.ReadDate():
                return ics.Day(time.strftime("%d%m%y", now))
            case ics.ReadTime():
                return ics.Day(time.strftime("%H%M%S", now))
            case ics.ReadDrawer():
                return ics.Drawer(iron.drawer)
            case ics.ReadMemory(address, ics.MEMORY_PAGE, size):
                return ics.Memory(self._memory(address)[:size].ljust(size, b"\0"))
        return ics.Nothing()

    def _memory(self, address: int) -> bytes:
        iron = self.iron
        return {
            ics.FISCAL_NUMBER[0]: b"3000000001",
            ics.SERIAL[0]: b"IKC0000001 01.01.24",
            ics.Z_NUMBER[0]: bytes.fromhex(f"{iron.z % 10_000:04d}"),
            ics.SALES[0]: iron.receipts.to_bytes(2, "little"),
            ics.RETURNS[0]: iron.returns.to_bytes(2, "little"),
        }.get(address, b"")

    def _open(self, kind: Kind) -> None:
        if not self.cashier:
            raise Refuses(Why.OPERATOR)
        self.iron.open(kind)

    def _line(self, line: Any, kind: Kind) -> ics.LineAdded:
        iron, document = self.iron, self.iron.document
        if document is not None and document.kind is not kind:
            raise _Result(SALE_OPEN if document.kind is Kind.SALE else RETURN_OPEN)
        if document is not None and document.paid:
            raise _Result(PAYING)
        if line.tax - ics.FIRST_TAX not in range(iron.settings.taxes):
            raise Refuses(Why.TAX)
        if line.price < 0 or not line.thousandths:
            raise Refuses(Why.QUANTITY)
        if line.name is None and line.article not in iron.articles:
            raise Refuses(Why.ARTICLE_UNKNOWN)
        if line.name is not None:
            iron.write_article(line.article, Article(line.name, line.tax - ics.FIRST_TAX))
        if document is None:
            self._open(kind)
        try:
            sold = iron.sell(line.article, line.thousandths, line.price)
        except Refuses:
            iron.document = document
            raise
        return ics.LineAdded(sold.cost, iron.open_document().total)

    def _pay(self, command: ics.Pay) -> ics.Paid:
        iron = self.iron
        document = iron.open_document(Kind.SALE, Kind.RETURN)
        if command.kind not in set(ics.PayKind):
            raise Refuses(Why.FORM)
        if iron.paper is not None and iron.paper < 2:
            raise Refuses(Why.PAPER)
        if document.rest > 0 or not document.paid:
            iron.pay(_FORMS[ics.PayKind(command.kind)], command.amount)
        elif command.amount:
            raise Refuses(Why.ORDER)
        rest = document.rest
        if command.closes and rest <= 0:
            iron.close()
        return ics.Paid(rest, iron.number)

    def _change(self, kind: int, value: int) -> ics.LineAdded:
        iron = self.iron
        document = iron.open_document(Kind.SALE, Kind.RETURN)
        if not document.lines or document.changed:
            raise _Result(NOTHING_TO_CHANGE)
        if document.paid:
            raise _Result(PAYING)
        match kind:
            case ics.ChangeKind.LINE_PERCENT:
                return ics.LineAdded(iron.percent(value).cost, document.total)
            case ics.ChangeKind.LINE_SUM:
                return ics.LineAdded(iron.change(value).cost, document.total)
            case ics.ChangeKind.TOTAL_PERCENT:
                part = (document.total * abs(value) + 5_000) // 10_000
                return ics.LineAdded(value, iron.change_all(-part if value < 0 else part))
            case ics.ChangeKind.TOTAL_SUM:
                return ics.LineAdded(value, iron.change_all(value))
        raise Refuses(Why.DISCOUNT)


class _End(FaultyEnd[IcsFrame]):
    signs: ClassVar = {Sign.TAKEN: bytes([ACK]), Sign.REFUSED: bytes([NAK]), Sign.BUSY: bytes([SYN])}
