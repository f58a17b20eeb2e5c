"""A simulated register of the Ukrainian dialect of Datecs (docs/reference/registers.md#ukrainian-dialect).

- A document needs an operator that was written before it (``020A``), and every line an article in the table.
- A discount stands right behind its line; no line can be added after the total; a receipt that is not paid in full
  cannot be closed; cash that is paid too much is change.
- No paper is ``0101``, a shift of more than a day ``0905``, a full fiscal memory ``0005`` (L).
- After a power cut the document is still open, or void, as `IronSettings.after_cut` says: no source tells (L).
"""

from __future__ import annotations

import time
from typing import Any, ClassVar

from twisted.internet.interfaces import IReactorTime

from protocols.registers.datecs import ukrainian as ua
from protocols.registers.datecs.frames import NAK, SYN, DatecsFrame, Deframer
from protocols.registers.numbered import Sign
from protocols.registers.records import Decimals
from protocols.simulators.iron import Article, Document, Iron, IronSettings, Kind, Refuses, Why
from protocols.simulators.register_line import FaultyEnd, RegisterDevice, Steer, well

ERRORS = {
    Why.PAPER: 0x0101,
    Why.COVER: 0x0101,
    Why.MEMORY_FULL: 0x0005,
    Why.SHIFT_OVER: 0x0905,
    Why.NOT_FISCALISED: 0x0705,
    Why.SHIFT_CLOSED: 0x0107,
    Why.NEED_Z: 0x0107,
    Why.FORM: 0x090B,
    Why.OVERPAID: 0x0A0B,
    Why.DISCOUNT: 0x0B0B,
    Why.OPERATOR: 0x020A,
    Why.PASSWORD: 0x0006,
    Why.ARTICLE_UNKNOWN: 0x020A,
    Why.ARTICLE_CHANGED: 0x040A,
    Why.ARTICLES_FULL: 0x000A,
    Why.TAX: 0x050A,
    Why.CASH_SHORT: 0x080B,
    Why.SUM: 0x0C0B,
    Why.TOO_MANY: 0x010B,
    Why.QUANTITY: 0x0204,
}
"""Whatever is not here is ``000B``: not in this state of the document."""

WRONG_STATE, UNKNOWN_COMMAND = 0x000B, 0x0002

_KINDS = {ua.Opens.SALE: Kind.SALE, ua.Opens.RETURN: Kind.RETURN, ua.Opens.CASH: Kind.CASH}

MODEL = "Datecs FP-101"


class UkrainianDevice(RegisterDevice[DatecsFrame]):
    """The register.

    :param password: what commands must begin with.
    """

    def __init__(
        self,
        clock: IReactorTime,
        settings: IronSettings | None = None,
        steer: Steer = well,
        password: str = ua.DEFAULT_PASSWORD,
    ) -> None:
        super().__init__(Iron(clock.seconds, settings or IronSettings(needs_operators=True)), clock, steer)
        self.password = password
        self.forms = {0: ("E3", "Готівка"), 1: ("83", "Картка"), 2: ("83", "Чек"), 3: ("83", "Кредит")}

    def deframer(self) -> Deframer:
        """For a new line."""
        return Deframer()

    def line(self) -> FaultyEnd[DatecsFrame]:
        """The register's end of a new line."""
        return _End(self)

    def name_of(self, frame: DatecsFrame) -> str:
        """The name of a command's class."""
        return getattr(ua.UkrainianCommand.known.get(frame.code), "__name__", "unknown")

    def obey(self, frame: DatecsFrame) -> bytes:
        """Execute a command."""
        return DatecsFrame(frame.number, frame.code, self._answer(frame), self.status()).encode()

    def status(self) -> bytes:
        """The six bytes of status."""
        return bytes([0x80, 0x80, 0x80 | self._state(), 0x80, 0x91, 0x88])

    def _state(self) -> ua.Document:
        match self.iron.document:
            case None:
                return ua.Document.NONE
            case Document(kind=Kind.TEXT):
                return ua.Document.TEXT
            case Document(paid=paid) as document if paid and document.rest <= 0:
                return ua.Document.PAID
            case Document(totalled=True):
                return ua.Document.TOTALLED
            case Document(lines=lines) if lines:
                return ua.Document.SALES
        return ua.Document.OPEN

    def _answer(self, frame: DatecsFrame) -> bytes:
        kind = ua.UkrainianCommand.known.get(frame.code)
        if kind is None:
            return ua.encode_error(UNKNOWN_COMMAND)
        try:
            password, command = kind.decode(frame.data)
        except ua.FieldError as error:
            return ua.encode_error(error.number << 8 | 0x03)
        if password != self.password:
            return ua.encode_error(ERRORS[Why.PASSWORD])
        try:
            return self._do(command).encode()
        except ValueError:
            return ua.encode_error(0x0103)
        except Refuses as refuses:
            return ua.encode_error(ERRORS.get(refuses.why, WRONG_STATE))

    def _do(self, command: Any) -> ua.UkrainianAnswer:
        iron = self.iron
        match command:
            case ua.Open(operator, _, kind):
                if kind not in set(ua.Opens):
                    raise Refuses(Why.ORDER)
                iron.open(_KINDS[ua.Opens(kind)], operator)
            case ua.WriteArticle(code, name, tax):
                iron.write_article(code, Article(name, tax))
                return ua.Written(f"{len(iron.articles):06X}")
            case ua.Sell(article, quantity, price):
                iron.sell(article, quantity, price)
                return ua.Sum(iron.open_document().total)
            case ua.Percent(hundredths):
                iron.percent(hundredths)
            case ua.Change(amount):
                iron.change(amount)
            case ua.Total():
                return ua.Sum(iron.total())
            case ua.Pay(form, amount):
                return ua.Sum(max(0, iron.pay(form, amount)))
            case ua.Close():
                iron.close()
                return ua.Closed(iron.number)
            case ua.Void(""):
                iron.void()
            case ua.Void(amount):
                iron.change(Decimals(2).read(amount))
            case ua.MoveCash(_, amount):
                iron.move_cash(amount)
            case ua.OpenText():
                iron.open(Kind.TEXT)
            case ua.PrintText(text) | ua.ShowText(text=text) | ua.PrintBarcode(text=text):
                iron.text(text)
            case ua.Report(kind):
                if kind == ua.ReportKind.Z:
                    iron.z_report()
                else:
                    iron.x_report()
            case ua.WriteOperator(number, _, name):
                iron.operators[number] = name
            case ua.WriteForm(form, mask, name):
                if iron.shift_open:
                    raise Refuses(Why.NEED_Z)
                self.forms[form] = mask, name
            case _:
                return self._read(command)
        return ua.Nothing()

    def _read(self, command: Any) -> ua.UkrainianAnswer:
        iron = self.iron
        match command:
            case ua.ReadSum(ua.DRAWER):
                return ua.Sum(iron.drawer)
            case ua.ReadSum(form):
                return ua.Sum(iron.turnover(form))
            case ua.ReadState():
                now = time.gmtime(iron.time)
                return ua.State(
                    z=iron.z + 1,
                    date=time.strftime("%d%m%y", now),
                    time=time.strftime("%H%M", now),
                    articles_left=str(iron.settings.articles - len(iron.articles)),
                    lines_left=str(iron.settings.lines),
                )
            case ua.ReadLastZ():
                date = time.strftime("%d%m%y", time.gmtime(iron.last_z_at or 0))
                return ua.LastZ(date, "0", f"{iron.z:02d}")
            case ua.ReadFirmware():
                room = iron.settings.articles
                return ua.Firmware(MODEL, "5.03", "Україна", "Mar 10 2021", room, 10464, 4608, 384, 32, 9, 10)
            case ua.ReadLineSettings():
                return ua.LineSettings(9600, "0", "0010", "20", "0A", "FF", "28")
            case ua.ReadForm(form):
                if form not in self.forms:
                    raise Refuses(Why.OPERATOR)
                return ua.FormName(*self.forms[form])
            case ua.ReadOperator(number):
                if number not in iron.operators:
                    raise Refuses(Why.OPERATOR)
                return ua.OperatorName("1", iron.operators[number])
        return ua.Nothing()


class _End(FaultyEnd[DatecsFrame]):
    signs: ClassVar = {Sign.REFUSED: bytes([NAK]), Sign.BUSY: bytes([SYN])}
