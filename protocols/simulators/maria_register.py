"""A simulated Maria (docs/reference/registers.md#maria).

- It sleeps until it hears ``U`` twice. Each command gets WAIT, its frames and DONE, or an error, and then READY.
- A cashier must be logged in. Lines are checked: sum = price x quantity, tax marks and article as they were before.
- COMP checks the sums: wrong ones void the receipt (SOFTNEED). What is open is void after a power cut.
- The number of `GLCN` counts receipts that were printed and registered, no voided ones and no cash.
- With the key in position 0 it only answers questions (SOFTSL, L). Not fiscalised, and nothing sent for 72 hours, are
  SOFTSYSLOC (L).
- A damaged frame is SOFTPROTOC; wrong sums of a line and other tax marks are SOFTPARAM, the open cover is HARDSENSOR,
  sales and returns in one receipt are SOFTCOMMAN (L).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.task import LoopingCall
from twisted.python.failure import Failure

from protocols.registers.maria import commands as maria
from protocols.registers.maria.frames import FLUSH, WAKE, Deframer, Spoken, frame
from protocols.registers.numbered import Damaged
from protocols.simulators.iron import AfterCut, Article, Document, Iron, IronSettings, Kind, Refuses, Why, cost_of
from protocols.simulators.register_line import NOT_EXECUTED, SimulatedRegister, Steer, What, well

ERRORS = {
    Why.PAPER: "HARDPAPER",
    Why.COVER: "HARDSENSOR",
    Why.MEMORY_FULL: "SOFTFMFULL",
    Why.SHIFT_OVER: "SOFT24HOUR",
    Why.NOT_FISCALISED: "SOFTSYSLOC",
    Why.UNSENT: "SOFTSYSLOC",
    Why.NEED_Z: "SOFTNREP",
    Why.PASSWORD: "SOFTUPAS",
    Why.OPERATOR: "SOFTREGIST",
    Why.ARTICLE_CHANGED: "SOFTDIFART",
    Why.ARTICLES_FULL: "SOFTBADART",
    Why.ARTICLE_UNKNOWN: "SOFTBADART",
    Why.TAX: "SOFTPARAM",
    Why.QUANTITY: "SOFTPARAM",
    Why.OVERPAID: "SOFTCHECK",
    Why.CASH_SHORT: "SOFTOVER",
    Why.SUM: "SOFTOVER",
    Why.TOO_MANY: "SOFTOVART",
    Why.DISCOUNT: "SOFTBADDISC",
    Why.UNPAID: "SOFTNEED",
}
"""Whatever is not here is SOFTCOMMAN."""

SETTINGS = IronSettings(articles=9_999, lines=720, taxes=8, after_cut=AfterCut.VOIDS)

SCHEMES = ("А02000", "Б00000", "В00700", "Г01400", *(maria.NO_TAX,) * 4)
"""As they are programmed: 20 %, 0, 7 % and 14 %, all included (L)."""

QUESTIONS = frozenset(
    (
        maria.CheckFrames,
        maria.LogIn,
        maria.ReadNumber,
        maria.ReadConfiguration,
        maria.ReadCash,
        maria.ReadSchemes,
        maria.ReadDate,
        maria.ReadTime,
    )
)
"""What is answered with the key in any position."""

BUSY_EVERY = 2.0
_CASHLESS = (3, 2, 1)


class MariaDevice(SimulatedRegister):
    """The register.

    :param checks_frames: whether it has the CRC mode.
    """

    def __init__(
        self,
        clock: IReactorTime,
        settings: IronSettings = SETTINGS,
        steer: Steer = well,
        password: str = maria.DEFAULT_PASSWORD,
        checks_frames: bool = True,
    ) -> None:
        super().__init__(Iron(clock.seconds, settings), clock, steer)
        self.password, self.checks_frames = password, checks_frames
        self.awake = self.crc = False
        self.cashier = ""
        self.key = "1"
        self.texts: list[str] = []
        self.card_slips = True
        """Whether it takes the data of card slips."""
        self.infos: list[str] = []
        """The blocks of information of all lines."""
        self.wrong_by = 0
        """What it reckons too much in each receipt, in kopecks."""
        self.printed: list[str] = []
        """The texts on the last receipt or document of text."""

    def line(self) -> MariaEnd:
        """The register's end of a new line."""
        return MariaEnd(self)

    def forget(self) -> None:
        """It sleeps, without CRC and without a cashier."""
        self.awake = self.crc = False
        self.cashier = ""

    def name_of(self, text: bytes) -> str:
        """The name of a command's class."""
        return getattr(_class_of(text), "__name__", "unknown")

    def obey(self, text: bytes) -> list[bytes]:
        """Execute a command; the texts of the frames behind WAIT."""
        kind = _class_of(text)
        if kind is None:
            return [b"SOFTCOMMAN"]
        if self.key == "0" and kind not in QUESTIONS:
            return [b"SOFTSL0"]
        try:
            answer = self._do(kind.decode(text))
        except ValueError:
            return [b"SOFTPARAM"]
        except Refuses as refuses:
            return [ERRORS.get(refuses.why, "SOFTCOMMAN").encode()]
        return [*(kind.code.encode() + each for each in answer.encode()), b"DONE"]

    def _do(self, command: Any) -> maria.MariaAnswer:
        iron = self.iron
        match command:
            case maria.CheckFrames(on):
                if on == "1" and not self.checks_frames:
                    raise Refuses(Why.ORDER)
                self.crc = on == "1"
            case maria.Cancel():
                if iron.document is not None:
                    iron.void()
                self.texts.clear()
            case maria.LogIn(password, name):
                if password != self.password:
                    raise Refuses(Why.PASSWORD)
                self.cashier = name or "1"
            case maria.Open():
                self._needs_cashier()
                iron.open(Kind.SALE)
            case maria.Inform(text):
                self._needs_cashier()
                self.infos.append(text)
            case maria.ReturnOf():
                self._needs_cashier()
            case maria.AddText(text=text):
                self.texts.append(text)
            case maria.CardSlip(values):
                if not self.card_slips:
                    raise Refuses(Why.ORDER)
                iron.open_document(Kind.SALE, Kind.RETURN)
                self.texts.extend(filter(None, values))
            case maria.ForgetText():
                self.texts.clear()
            case maria.Sell():
                self._line(command, Kind.SALE)
            case maria.TakeBack():
                self._line(command, Kind.RETURN)
            case maria.Complete():
                return self._complete(command)
            case maria.MoveCash(way, amount):
                self._needs_cashier()
                iron.cash(amount if way == "I" else -amount)
            case maria.OpenText():
                self._needs_cashier()
                iron.open(Kind.TEXT)
            case maria.PrintText():
                iron.open_document(Kind.TEXT)
                for text in self.texts:
                    iron.text(text)
                iron.close()
                self._print_texts()
            case maria.XReport():
                iron.x_report()
            case maria.ZReport():
                iron.z_report()
            case maria.Copy():
                iron.copy()
            case maria.OpenDrawer():
                iron.opened_drawer += 1
            case maria.Feed():
                iron.print()
            case _:
                return self._read(command)
        return maria.Nothing()

    def _read(self, command: Any) -> maria.MariaAnswer:
        iron = self.iron
        now = time.gmtime(iron.time)
        match command:
            case maria.ReadNumber():
                return maria.LastNumber(self.last_number)
            case maria.ReadConfiguration():
                return maria.Configuration(
                    serial="1234567890",
                    fiscal="3000000001",
                    name="Крамниця",
                    date=time.strftime("%d%m%Y", now),
                    time=time.strftime("%H%M%S", now),
                    key=self.key,
                    expected=int(self._expects()),
                    cashier="1" if self.cashier else "0",
                    id="0001",
                    z_needed="1" if iron.shift_over else "0",
                    z=iron.z,
                    receipt=self.last_number,
                    last="0000",
                    version="0301",
                    made="01012024",
                    line="",
                )
            case maria.ReadCash():
                cashless = [iron.sold.get(form, 0) for form in (1, 2, 3)]
                returned = sum(iron.returned.values())
                sums = (iron.drawer, iron.sold.get(0, 0), *cashless, iron.cash_in, iron.cash_out, returned)
                return maria.CashCounters(*sums)
            case maria.ReadSchemes():
                return maria.Schemes("".join(SCHEMES))
            case maria.ReadDate():
                return maria.Said(time.strftime("%d%m%Y", now))
            case maria.ReadTime():
                return maria.Said(time.strftime("%H%M%S", now))
        return maria.Nothing()

    @property
    def last_number(self) -> int:
        """The number of the last receipt that was printed and registered."""
        return sum(1 for receipt in self.iron.ledger if receipt.kind in (Kind.SALE, Kind.RETURN))

    def _expects(self) -> maria.Expects:
        match self.iron.document:
            case None:
                return maria.Expects.PREP | maria.Expects.DBEG
            case Document(kind=Kind.TEXT):
                return maria.Expects.DEND
            case Document(lines=[]):
                return maria.Expects.FISC | maria.Expects.BFIS
            case Document(kind=Kind.SALE):
                return maria.Expects.FISC | maria.Expects.COMP
        return maria.Expects.BFIS | maria.Expects.COMP

    def _print_texts(self) -> None:
        self.printed, self.texts = self.texts, []

    def _needs_cashier(self) -> None:
        if not self.cashier:
            raise Refuses(Why.OPERATOR)

    def _line(self, line: Any, kind: Kind) -> None:
        iron = self.iron
        document = iron.open_document(Kind.SALE, Kind.RETURN)
        if document.lines and document.kind is not kind:
            raise Refuses(Why.ORDER)
        marks = [line.taxes[at : at + 6] for at in range(0, 48, 6)]
        places = [place for place, mark in enumerate(marks) if mark != maria.NO_TAX]
        if len(places) > 2 or any(mark not in (*SCHEMES[:4], maria.NO_TAX) for mark in marks):
            raise Refuses(Why.TAX)
        quantity = line.quantity * (1 if line.whole == "0" else 1000)
        if cost_of(quantity, line.price) != line.cost:
            raise Refuses(Why.QUANTITY)
        change = {"-": -line.change, "+": line.change}.get(line.sign, 0)
        if line.cost + change < 0:
            raise Refuses(Why.DISCOUNT)
        tax = SCHEMES.index(marks[places[0]]) if places else 7
        iron.write_article(line.article, Article(line.name + line.tail + line.whole, tax))
        document.kind = kind
        iron.sell(line.article, quantity, line.price, line.cost + change)

    def _complete(self, command: maria.Complete) -> maria.Completed:
        iron = self.iron
        document = iron.open_document(Kind.SALE, Kind.RETURN)
        total = document.total + self.wrong_by
        if not document.lines:
            raise Refuses(Why.ORDER)
        if iron.paper is not None and iron.paper < 6:
            raise Refuses(Why.PAPER)
        returns = document.kind is Kind.RETURN
        if (command.sold, command.returned) != ((0, total) if returns else (total, 0)):
            iron.void()
            raise Refuses(Why.UNPAID)
        sums = {form: getattr(command, f"cashless{form}") for form in _CASHLESS}
        cash = command.cash or (total if not any(sums.values()) else 0)
        if sum(sums.values()) > total or (returns and sum(sums.values()) + cash != total):
            raise Refuses(Why.OVERPAID)
        if sum(sums.values()) + cash < total:
            iron.void()
            raise Refuses(Why.UNPAID)
        if returns and cash > iron.drawer:
            raise Refuses(Why.CASH_SHORT)
        for form, amount in sums.items():
            if amount:
                iron.pay(form, amount)
        if cash:
            iron.pay(0, cash)
        included = sum(_included(line.cost, SCHEMES[line.tax]) for line in document.lines)
        iron.close()
        self._print_texts()
        if returns:
            return maria.Completed(self.last_number, 0, returned=total, returned_included=included)
        return maria.Completed(self.last_number, total, sold_included=included)


def _included(cost: int, mark: str) -> int:
    rate = int(mark[2:])
    return (cost * rate + (10_000 + rate) // 2) // (10_000 + rate)


def _class_of(text: bytes) -> Any:
    return maria.MariaCommand.known.get(text[:4].decode("ascii", "replace"))


class MariaEnd(Protocol):
    """The register's end of a line."""

    def __init__(self, device: MariaDevice) -> None:
        self._device = device
        self._deframer = Deframer(device.crc)
        self._started = b""
        self._gone = False
        self._stop: Callable[[], None] | None = None

    def dataReceived(self, data: bytes) -> None:
        """Wake, flush, or act on every frame that ``data`` completes."""
        device = self._device
        for byte in (data[at : at + 1] for at in range(len(data))):
            self._started = (self._started + byte)[-len(FLUSH) :]
            if self._started.endswith(WAKE + WAKE) and not self._deframer.inside:
                device.awake = True
                self._started = b""
                self._say(b"READY")
            elif self._started == FLUSH and device.awake:
                self._started = b""
                self._end()
                self._deframer.forget()
                self._say(b"SOFTBLOCK", b"READY")
            elif (device.awake and byte != WAKE) or self._deframer.inside:
                self._deframer.crc = device.crc
                for piece in self._deframer.feed(byte):
                    self._piece(piece)

    def _piece(self, piece: object) -> None:
        match piece:
            case Damaged():
                self._say(b"SOFTPROTOC", b"READY")
            case Spoken(text) if self._stop is None:
                self._heard(text)

    def _heard(self, text: bytes) -> None:
        device = self._device
        fault = device.steer(device.name_of(text))
        if fault is not None and fault.what in NOT_EXECUTED:
            if fault.what is What.REFUSED:
                self._say(b"SOFTPROTOC", b"READY")
            elif fault.what is What.BROKEN_BEFORE:
                self.hang_up()
            elif fault.what is What.DARK_BEFORE:
                device.go_dark(fault.n)
            return
        crc = device.crc
        self._say(b"WAIT")
        device.heard.append(device.name_of(text))
        answer = b"".join(frame(each, crc) for each in (*device.obey(text), b"READY"))
        if fault is not None and fault.what is What.SLOW:
            self._slowly(fault.n, answer)
        else:
            device.answer(self, answer, fault)

    def _slowly(self, seconds: float, answer: bytes) -> None:
        busy = LoopingCall(self.sign_busy)
        busy.clock = self._device.clock
        busy.start(BUSY_EVERY, now=False)

        def end() -> None:
            self._end()
            self.send(answer)

        call = self._device.clock.callLater(seconds, end)

        def stop() -> None:
            busy.stop()
            if call.active():
                call.cancel()

        self._stop = stop

    def _end(self) -> None:
        """Stop the answer that is on its way."""
        stop, self._stop = self._stop, None
        if stop is not None:
            stop()

    def sign_busy(self) -> None:
        """Say that it prints."""
        self._say(b"PRN")

    def _say(self, *texts: bytes) -> None:
        for text in texts:
            self.send(frame(text, self._device.crc))

    def send(self, data: bytes) -> None:
        """Write to the line, while there is one."""
        if self.transport is not None and not self._gone:
            self.transport.write(data)

    def hang_up(self) -> None:
        """Close the line."""
        self._gone = True
        if self.transport is not None:
            self.transport.loseConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Say nothing more."""
        self._gone = True
        self._end()
