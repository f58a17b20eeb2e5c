"""The register that a till sees: commands of the classic dialect in, tasks of the service out.

Documents of the wire are `protocols.registers.datecs.classic`. An open receipt is in memory; its closing (``56``), a
Z report and a movement of cash are each one task of the service. When the power fails

- after ``48``, before ``56``: the receipt is void, as on a device that voids; ``76`` says that none is open, ``113``
  counts it, ``110`` does not;
- after the tag and the content of the task are stored, before the engine's intent: ``56`` again does the task. Any
  other command asks by the tag what became of it, hears that it was never done, and voids the receipt;
- at any step of the task: the engine finds out what became of it, and the tag leads to that. Until it is known the
  receipt counts as open and paid: ``56`` again asks again, and nothing else is begun or answered from sums;
- after the task, before its end is noted here, or before the answer: the tag leads to the stored answer. ``56`` again
  is answered as done until another receipt is opened.

So a closing has one tag from its ``48`` on, whatever frames are repeated on whatever lines.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

import msgspec
from twisted.internet.task import deferLater
from twisted.logger import Logger

from dmtwisted.answers import amount as in_hryvnias
from dmtwisted.classic.memory import MOST_ARTICLES, Article, Deed, Memory, Record
from dmtwisted.classic.receipt import OpenReceipt, Overflows, Refuses, SoldLine, cost_of, percent_of
from dmtwisted.clock import day_of, kyiv
from dmtwisted.devices.devices import Devices, RegisterDevice, register_settings
from dmtwisted.dispatch import Dispatcher
from dmtwisted.documents.catalogue import CASH
from dmtwisted.printing.result import reason_text
from dmtwisted.registers import totals
from dmtwisted.registers.interface import (
    CASH_IN,
    CASH_OUT,
    LAST_COPY,
    OPEN_SHIFT,
    SERVICE_REPORT,
    X_REPORT,
    Z_REPORT,
)
from dmtwisted.registers.settings import RegisterSettings, on_day
from dmtwisted.registers.totals import RegisterState
from dmtwisted.requests import TYPE_DOC, TYPE_FISCAL, TYPE_LOOKUP, read_json, read_task
from dmtwisted.results import Action, Refused, Res
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import StoreFailed
from protocols.registers.datecs import classic
from protocols.registers.datecs.classic import Kopecks, Paid, PayForm, ReportKind, Status
from protocols.registers.datecs.frames import DatecsFrame
from protocols.registers.numbered_device import Played
from protocols.registers.records import Decimals

SOURCE = "classic"
MODEL = "FP-3530T 5.00,dmtwisted"
LANGUAGE = "uk"
FORMS = tuple(PayForm)
REPORTS = 9999
"""Z reports that there is room for: a software register has no fiscal memory that could be full."""

BUSY_S, BREATH_S = 15.0, 0.3
"""Seconds for which a task waits while the register works for another program, and between two tries."""

REPEAT_MS = 10 * 60 * 1000
"""Milliseconds for which the frame of the last task, when it is the first after a start, is taken for its repeat."""

LONGEST_NAME = 100

MOST_OPERATORS = 100

MOST_TEXT = 500
"""Lines of a document of text."""

_CLOCK = "%d-%m-%y %H:%M:%S"
_DONE, _FAILED = classic.Result("P"), classic.Result("F")
_QUESTIONS = (
    *(classic.ReadStatus, classic.ReadReceipt, classic.ReadNumber, classic.ReadForms, classic.ReadDay),
    *(classic.ReadClock, classic.ReadVersion, classic.ReadRates, classic.ReadTaxNumber, classic.ReadLastZ),
)
_WITHOUT_EFFECT = (
    *(classic.ClearDisplay, classic.ShowLower, classic.WriteHeader, classic.Feed, classic.Cut, classic.Beep),
    *(classic.SelfTest, classic.ReadExchange),
)
"""Accepted: there is no such part, or it is set on the pages."""

_CLOSED = frozenset({Res.SHIFT_CLOSED.code, Res.SHIFT_ALREADY_CLOSED.code})
_UNSURE = frozenset({Res.STORE_FAILED.code, Res.INTERNAL.code})
"""Refusals after which the task may be done all the same, besides those of `Action.COLLISION`."""


class _Failed(Refuses):
    """The database does not take it."""


class ClassicRegister:
    """One register of the service, as a till on a line knows it. One command runs at a time (`Played`)."""

    log = Logger()

    def __init__(self, dev_id: str, device_n: int, devices: Devices, dispatcher: Dispatcher, store: IStore) -> None:
        self._dev_id, self._n = dev_id, device_n
        self._devices, self._dispatcher, self._store = devices, dispatcher, store
        self._clock = devices.clock
        self._memory = Memory(store, device_n)
        self.played = Played()
        self.stopping = False
        """Whether the service stops: no task is tried again."""
        self._receipt: OpenReceipt | None = None
        self._text: list[str] | None = None
        self._fresh = True
        self._heard = False
        self._answered_on: object = None
        self._paper: tuple[tuple[int, int], ...] = ()
        self._last_read = 0

    # Frames

    async def obey(self, frame: DatecsFrame, line: object) -> bytes:
        """Execute a command; the frame of its answer. Never raises."""
        data = b""
        bits: tuple[tuple[int, int], ...] = ()
        known = classic.ClassicCommand.known.get(frame.code)
        try:
            command = None if known is None else known.decode(frame.data)
        except ValueError:
            command, bits = None, (classic.SYNTAX,)
        if known is None:
            bits = (classic.UNKNOWN,)
        if command is not None:
            data, bits = await self._answer(command, frame, line)
        return DatecsFrame(frame.number, frame.code, data, self.status(*bits).raw).encode()

    async def _answer(self, command: Any, frame: DatecsFrame, line: object) -> tuple[bytes, Any]:
        bits: tuple[tuple[int, int], ...] = (classic.FORBIDDEN,)
        try:
            await self._memory.load()
            if not self._password_fits(command):
                raise Refuses("a wrong password")
            self._heard |= line is self._answered_on and not isinstance(command, classic.Close)
            again = self._repeated(command, frame)
            if again is not None:
                data = await self._perform(again)
            else:
                data = await self._do(command, frame)
            if isinstance(command, classic.Close):
                self._answered_on, self._heard = line, False
            return data, ()
        except Overflows as refuses:
            why, bits = str(refuses), (classic.OVERFLOW,)
        except (_Failed, StoreFailed) as failed:
            why, bits = str(failed), (classic.FORBIDDEN, classic.MEMORY_WRITE, classic.MEMORY_ERROR)
        except Refuses as refuses:
            why = str(refuses)
        except Refused as refused:
            why = str(refused)
        except Exception:
            why = "an internal error"
            self.log.failure("a till's command failed")
        self.log.warn(
            "{device}: refused a till's {command}: {why}", device=self._name, command=_name(command), why=why
        )
        return await self._refusal(command), bits

    async def _refusal(self, command: Any) -> bytes:
        """The data in the answer of a command that was not executed."""
        match command:
            case classic.Pay():
                return classic.PaidAnswer(Paid.ERROR.value).encode()
            case classic.WriteArticle():
                return _FAILED.encode()
            case classic.MoveCash():
                return classic.Cash("F", 0, 0, 0).encode()
        return b""

    def status(self, *more: tuple[int, int]) -> Status:
        """The status, with bits of the last command."""
        faults = [*more, *self._paper]
        if self._settings is None:
            faults.append(classic.NO_MEMORY)
        bits = [*faults, classic.FISCALISED]
        if faults:
            bits.append(classic.GENERAL)
        if self._text is not None:
            bits.append(classic.TEXT_OPEN)
        deed = self._closing
        if self._receipt is not None or deed is not None:
            bits.append(classic.RECEIPT_OPEN)
            if self._receipt.returns if self._receipt is not None else deed is not None and deed.returns:
                bits.append(classic.RETURN_OPEN)
        return Status.of(*bits)

    def _password_fits(self, command: Any) -> bool:
        given = getattr(command, "password", None)
        if given is None or (isinstance(command, classic.WriteArticle) and command.deed not in "PCD"):
            return True
        settings = self._settings
        return settings is not None and hmac.compare_digest(given.encode(), settings.classic_password.encode())

    def _repeated(self, command: Any, frame: DatecsFrame) -> Deed | None:
        """The task that this frame began before the start, when nothing was done since."""
        fresh, deed = self._fresh, self._record.deed
        self._fresh = fresh and isinstance(command, _QUESTIONS)
        if not fresh or deed is None or deed.at + REPEAT_MS < self._clock.now():
            return None
        return deed if (deed.number, deed.code, deed.data) == (frame.number, frame.code, frame.data) else None

    # The device

    @property
    def _name(self) -> str:
        try:
            return self._devices.by_id(self._dev_id).name
        except Refused:
            return self._dev_id

    @property
    def _settings(self) -> RegisterSettings | None:
        """The settings; `None` while the register cannot be used."""
        try:
            device = self._devices.by_id(self._dev_id)
        except Refused:
            return None
        return register_settings(device) if isinstance(device, RegisterDevice) else None

    def _now(self) -> RegisterSettings:
        """The settings.

        :raises Refuses: when the register cannot be used.
        """
        settings = self._settings
        if settings is None:
            raise Refuses("the register cannot be used")
        return settings

    @property
    def _record(self) -> Record:
        return self._memory.record

    @property
    def _closing(self) -> Deed | None:
        """The closing of a receipt of which it is not known whether it is done."""
        deed = self._record.deed
        return deed if deed is not None and deed.answer is None and deed.code == classic.Close.code else None

    async def _state(self) -> RegisterState:
        kept = await self._store.register_state(self._n)
        return RegisterState() if kept is None else totals.decode(kept)

    # Commands

    async def _do(self, command: Any, frame: DatecsFrame) -> bytes:
        match command:
            case classic.Close():
                return await self._close(frame)
            case classic.PrintReport():
                return await self._report(command, frame)
            case classic.MoveCash():
                return await self._move(command.amount, frame)
        answer = await self._do_here(command)
        encoded: bytes = answer.encode()
        return encoded

    async def _do_here(self, command: Any) -> classic.ClassicAnswer:
        """Commands that are no task of the service, or one that may be done twice."""
        match command:
            case classic.Open(operator) | classic.OpenReturn(operator):
                return await self._open(isinstance(command, classic.OpenReturn), operator)
            case classic.Sell():
                self._sell(command)
            case classic.SellFree():
                self._sell_free(command)
            case classic.Subtotal(_, _, percent, change):
                return self._subtotal(percent, change)
            case classic.Pay():
                return await self._pay(command)
            case classic.PrintFiscalText(line):
                self._receipt = self._unpaid(False).with_text(line)
            case classic.Cancel():
                await self._cancel()
            case classic.WriteArticle():
                return await self._article(command)
            case classic.WriteOperator(number, _, name):
                operators = {**self._record.operators, number: name}
                if len(operators) > MOST_OPERATORS:
                    raise Overflows("too many operators")
                await self._memory.keep(msgspec.structs.replace(self._record, operators=operators))
            case classic.OpenText() | classic.PrintText() | classic.CloseText():
                return await self._text_document(command)
            case classic.OpenDrawer():
                await self._to_printer({"type": TYPE_DOC, "doc": {"opendrawer": 1}})
            case classic.Copy():
                await self._to_printer({"type": TYPE_FISCAL, "fiscal": {"task": LAST_COPY}})
            case classic.SetClock():
                if (await self._state()).shift_open:
                    raise Refuses("the clock can be set before the first receipt only")
            case _ if isinstance(command, _WITHOUT_EFFECT):
                pass
            case _:
                return await self._read(command)
        return classic.Nothing()

    async def _read(self, command: Any) -> classic.ClassicAnswer:
        match command:
            case classic.ReadStatus():
                return classic.StatusAnswer(self.status().raw.decode("latin-1"))
            case classic.ReadClock():
                return classic.Clock(kyiv(self._clock.now()).strftime(_CLOCK))
            case classic.ReadVersion():
                return classic.Said(MODEL)
            case classic.ReadFree():
                return classic.FreeRecords(REPORTS, REPORTS)
            case classic.ReadRates():
                groups = {group.code: group for group in self._now().tax_groups}
                codes = self._now().classic_taxes
                return classic.Rates(*(groups[code].percent if code in groups else 0 for code in codes))
            case classic.ReadTaxNumber():
                return classic.TaxNumber(self._now().fis_code.replace(",", " "), "0")
            case classic.ReadReceipt():
                return await self._receipt_state()
        # What follows is answered from sums, so it must be known what is in them.
        await self._settle()
        state = await self._state()
        match command:
            case classic.ReadNumber():
                return classic.LastNumber(self._record.documents)
            case classic.ReadForms():
                pays = state.totals.pays if state.shift_open else {}
                sums = (pays.get(code) for code in self._now().classic_payments)
                return classic.FormSums(*(0 if one is None else one.sum_p - one.sum_m for one in sums))
            case classic.ReadDay():
                return classic.DaySums(self._day(state))
            case classic.ReadLastZ():
                return classic.Said(f"{state.z_number:04d}")
        raise Refuses("no such command here")

    async def _receipt_state(self) -> classic.ReceiptState:
        try:
            await self._settle()
        except Refuses as refuses:
            self.log.warn("{device}: still unknown: {why}", device=self._name, why=str(refuses))
        if self._receipt is not None:
            return classic.ReceiptState(1, len(self._receipt.lines), self._receipt.due, self._receipt.given)
        deed = self._closing
        if deed is not None:
            return classic.ReceiptState(1, deed.lines, deed.total, deed.total)
        return classic.ReceiptState(0, 0, 0, 0)

    def _day(self, state: RegisterState) -> str:
        """Sales of the tax letters since the last Z report; letters of one group share the first place."""
        taxes = state.totals.taxes if state.shift_open else {}
        return _sums(self._now(), {code: one.base_sum_p for code, one in taxes.items()})

    def _counts(self) -> classic.Counts:
        return classic.Counts(self._record.documents, self._record.receipts)

    # The receipt

    async def _open(self, returns: bool, operator: int) -> classic.Counts:
        await self._settle()
        self._now()
        if self._receipt is not None or self._text is not None:
            raise Refuses("a document is open")
        await self._memory.keep(msgspec.structs.replace(self._record, tag=str(uuid4()), deed=None))
        self._receipt = OpenReceipt(returns, self._record.operators.get(operator, ""))
        return self._counts()

    def _unpaid(self, goods: bool = True) -> OpenReceipt:
        """The open receipt, which is not being closed.

        :param goods: whether its goods or payments are to change: not once it is paid for.
        """
        if self._receipt is None or self._closing is not None:
            raise Refuses("no receipt is open")
        if goods and self._receipt.paid:
            raise Refuses("the payment has begun")
        return self._receipt

    def _weighed(self, receipt: OpenReceipt) -> OpenReceipt:
        """With what it comes to, as the register itself calculates it.

        :raises Refused: when the register would not take such lines.
        """
        if not receipt.lines:
            return replace(receipt, due=0)
        body = self._body("", msgspec.json.encode(receipt.fiscal(self._now().classic_taxes)))
        fiscal = read_task(read_json(body)).fiscal
        device = self._devices.by_id(self._dev_id)
        if fiscal is None or fiscal.receipt is None or not isinstance(device, RegisterDevice):
            raise Refuses("the register cannot be used")
        return replace(receipt, due=device.built.owed(fiscal.receipt))

    def _sell(self, command: classic.Sell) -> None:
        article = self._memory.articles.get(command.article)
        if article is None:
            raise Refuses(f"no article {command.article}")
        price = article.price if command.price == classic.NO_PRICE else command.price
        line = self._line(command, article.name, article.code, article.tax, command.quantity, price)
        self._add(line, command.sign == "-")

    def _sell_free(self, command: classic.SellFree) -> None:
        tax = classic.TAXES.find(command.tax)
        if tax < 0:
            raise Refuses(f"no tax letter {command.tax}")
        line = self._line(command, command.name, 0, tax, command.quantity, abs(command.price))
        self._add(line, command.price < 0)

    def _line(self, command: Any, name: str, code: int, tax: int, quantity: int, price: int) -> SoldLine:
        cost = cost_of(quantity, price)
        return SoldLine(
            name, code, tax, quantity, price, cost, cost + percent_of(cost, command.percent) + command.change
        )

    def _add(self, line: SoldLine, back: bool) -> None:
        receipt = self._unpaid()
        self._receipt = self._weighed(receipt.without(line) if back else receipt.with_line(line))

    def _subtotal(self, percent: int, change: int) -> classic.Subtotals:
        receipt = self._unpaid(goods=bool(percent or change))
        amount = percent_of(sum(line.sum for line in receipt.lines), percent) + change
        if amount:
            self._receipt = receipt = self._weighed(receipt.changed(amount))
        return classic.Subtotals(receipt.due, ",".join(map(Kopecks().write, receipt.by_tax(len(classic.TAXES)))))

    async def _pay(self, command: classic.Pay) -> classic.PaidAnswer:
        receipt, settings = self._unpaid(goods=False), self._now()
        type_ = settings.classic_payments[FORMS.index(PayForm(command.form or PayForm.CASH.value))]
        step = on_day(settings, day_of(self._clock.now())).rounding_step
        paid, rest = receipt.pay(type_, None if command.amount == classic.ALL else command.amount, command.note, step)
        if receipt.returns and type_ == CASH and settings.check_cash:
            wanted = sum(one.sum for one in paid.paid if one.type == CASH)
            if wanted > (await self._state()).safe:
                raise Refuses("not enough cash in the drawer")
        self._receipt = paid
        return classic.PaidAnswer((Paid.REST if rest > 0 else Paid.CHANGE).value, abs(rest))

    async def _cancel(self) -> None:
        lost = self._closing is not None and self._receipt is None
        await self._settle()
        if lost and self._record.deed is None:
            # Nothing came of the closing, and the receipt was lost with the power: it is void already.
            return
        if self._receipt is None:
            raise Refuses("no receipt is open")
        documents = self._record.documents + 1
        await self._memory.keep(msgspec.structs.replace(self._record, tag="", deed=None, documents=documents))
        self._receipt = None

    # Tasks

    async def _close(self, frame: DatecsFrame) -> bytes:
        deed, receipt = self._record.deed, self._receipt
        if deed is not None and deed.answer is None and deed.code != classic.Close.code:
            await self._settle()
        if self._closing is not None:
            return await self._perform(self._closing)
        if receipt is None:
            if deed is not None and deed.code == classic.Close.code and deed.answer is not None and not self._heard:
                return deed.answer
            raise Refuses("no receipt is open")
        if not receipt.whole:
            raise Refuses("the receipt is not paid")
        fiscal = msgspec.json.encode(receipt.fiscal(self._now().classic_taxes))
        lines, total, returns = len(receipt.lines), receipt.due, receipt.returns
        deed = self._deed(frame, fiscal, self._record.tag, lines=lines, total=total, returns=returns)
        return await self._begin(deed)

    def _pending(self, frame: DatecsFrame) -> Deed | None:
        """The task that the same command began before, when it is not known whether it is done."""
        deed = self._record.deed
        if deed is None or deed.answer is not None or (deed.code, deed.data) != (frame.code, frame.data):
            return None
        return deed

    async def _report(self, command: classic.PrintReport, frame: DatecsFrame) -> bytes:
        pending = self._pending(frame)
        if pending is not None:
            return await self._perform(pending)
        await self._settle()
        if self._receipt is not None or self._text is not None:
            raise Refuses("a document is open")
        if command.kind == ReportKind.Z:
            return await self._begin(self._deed(frame, msgspec.json.encode({"task": Z_REPORT})))
        if command.kind != ReportKind.X:
            raise Refuses("no such report")
        if not (await self._state()).shift_open:
            return await self._no_report()
        answer = await self._run("", msgspec.json.encode({"task": X_REPORT}))
        if answer["res"] != Res.OK.code:
            raise Refuses(answer["errortxt"])
        return self._report_answer(answer["info"])

    def _report_answer(self, info: dict[str, Any]) -> bytes:
        """What a report comes to."""
        sums = {line["gr_code"]: round(line["base_sum_p"] * 100) for line in info["taxes"]}
        return classic.Report(info["shift_link"], _sums(self._now(), sums)).encode()

    async def _no_report(self) -> bytes:
        """Of a closed shift there is no report: the number of the last Z, and no sums."""
        return classic.Report((await self._state()).z_number, _sums(self._now(), {})).encode()

    async def _move(self, amount: int, frame: DatecsFrame) -> bytes:
        pending = self._pending(frame)
        if pending is not None:
            return await self._perform(pending)
        await self._settle()
        if self._receipt is not None or self._text is not None:
            raise Refuses("a document is open")
        if not amount:
            return await self._cash_answer()
        task = CASH_IN if amount > 0 else CASH_OUT
        cash = {"type": CASH, "sum": in_hryvnias(abs(amount))}
        return await self._begin(self._deed(frame, msgspec.json.encode({"task": task, "cash": cash})))

    async def _cash_answer(self) -> bytes:
        state = await self._state()
        moved = state.totals.money.get(CASH) if state.shift_open else None
        put_in, taken_out = (0, 0) if moved is None else (moved.sum_p, moved.sum_m)
        return classic.Cash("P", state.safe, put_in, taken_out).encode()

    def _deed(self, frame: DatecsFrame, fiscal: bytes, tag: str = "", **members: Any) -> Deed:
        at = self._clock.now()
        return Deed(tag or str(uuid4()), frame.code, frame.number, frame.data, fiscal, at, **members)

    async def _begin(self, deed: Deed) -> bytes:
        """Do a task that is durable before it begins."""
        await self._memory.keep(msgspec.structs.replace(self._record, deed=deed))
        return await self._perform(deed, first=True)

    async def _perform(self, deed: Deed, first: bool = False) -> bytes:
        """Do the task, or find that it is done; the data of the answer.

        :param first: whether it is tried for the first time. A later refusal, as of a register that is busy or
            removed, says nothing of an earlier try: `_settle` asks what became of that.
        :raises Refuses: when it was not done, or it is not known whether it was.
        """
        if deed.answer is not None:
            return deed.answer
        answer = await self._run(deed.tag, deed.fiscal)
        res = answer["res"]
        if res == Res.OK.code or (res in _CLOSED and deed.code == classic.PrintReport.code):
            return await self._ended(deed, answer)
        if first and res not in _UNSURE and answer["res_action"] != Action.COLLISION:
            self._memory.record = msgspec.structs.replace(self._record, deed=None)
        raise (_Failed if res == Res.STORE_FAILED.code else Refuses)(answer["errortxt"])

    async def _ended(self, deed: Deed, answer: dict[str, Any]) -> bytes:
        """The task is done: note it, and give the data of the answer."""
        record = self._record
        if deed.code == classic.PrintReport.code:
            done = answer["res"] == Res.OK.code
            data = self._report_answer(answer["info"]) if done else await self._no_report()
        else:
            record = msgspec.structs.replace(record, documents=record.documents + 1)
            if deed.code == classic.Close.code:
                record = msgspec.structs.replace(record, receipts=record.receipts + 1, tag="")
                data = classic.Counts(record.documents, record.receipts).encode()
                self._receipt = None
            else:
                data = await self._cash_answer()
        await self._memory.note(msgspec.structs.replace(record, deed=msgspec.structs.replace(deed, answer=data)))
        return data

    async def _settle(self) -> None:
        """Find out what became of a task whose end is not known. It is not begun.

        :raises Refuses: when it cannot be found out now.
        """
        deed = self._record.deed
        if deed is None or deed.answer is not None:
            return
        answer = await self._ask({"tag": deed.tag, "type": TYPE_LOOKUP})
        if answer["res"] == Res.OK.code:
            # Its tag is known, so this only prints what was not printed.
            again = await self._run(deed.tag, deed.fiscal)
            await self._ended(deed, again if again["res"] == Res.OK.code else answer)
        elif answer["res"] == Res.TAG_NOT_FOUND.code:
            record = msgspec.structs.replace(self._record, deed=None)
            if deed.code == classic.Close.code and self._receipt is None:
                record = msgspec.structs.replace(record, tag="", documents=record.documents + 1)
            self._memory.record = record
        else:
            raise Refuses(answer["errortxt"])

    async def _run(self, tag: str, fiscal: bytes) -> dict[str, Any]:
        """The answer to a task; the shift is opened first if it must be."""
        body = self._body(tag, fiscal)
        answer = await self._ask(body)
        if answer["res"] != Res.SHIFT_CLOSED.code or answer["task"] in (X_REPORT, Z_REPORT):
            return answer
        opened = await self._ask(self._body(f"{tag}-open", msgspec.json.encode({"task": OPEN_SHIFT})))
        if opened["res"] not in (Res.OK.code, Res.SHIFT_ALREADY_OPEN.code):
            return opened
        return await self._ask(body)

    def _body(self, tag: str, fiscal: bytes) -> bytes:
        task = {"ver": 6, "device": self._name, "source": SOURCE, "tag": tag, "type": TYPE_FISCAL}
        return msgspec.json.encode({**task, "fiscal": msgspec.Raw(fiscal)})

    async def _ask(self, body: bytes | dict[str, Any]) -> dict[str, Any]:
        """The answer of the service; a register that works for another program is waited for."""
        if isinstance(body, dict):
            body = msgspec.json.encode({"ver": 6, "device": self._name, "source": SOURCE, **body})
        settings, until = self._settings, self._clock.steady() + BUSY_S
        printer = "" if settings is None else settings.classic_printer
        while True:
            answer: dict[str, Any] = msgspec.json.decode(await self._dispatcher.execute(body, LANGUAGE, printer))
            if answer["res"] != Res.DEVICE_BUSY.code or self.stopping or self._clock.steady() >= until:
                break
            await deferLater(self._clock, BREATH_S)
        if printer and answer["res"] == Res.OK.code and "isprint" in (answer.get("info") or {}):
            self._note_paper(answer)
        return answer

    def _note_paper(self, answer: dict[str, Any]) -> None:
        """What the printer lacks, in bits of the status, until it prints again."""
        told = " ".join(str(warning) for warning in answer["warnings"])
        if answer["info"]["isprint"]:
            self._paper = ()
        elif reason_text("paper").uk in told:
            self._paper = (classic.NO_PAPER,)
        elif reason_text("cover").uk in told:
            self._paper = (classic.COVER,)
        elif answer["warnings"]:
            self._paper = (classic.PRINTER_FAULT,)

    # Articles, texts, the printer

    async def _article(self, command: classic.WriteArticle) -> classic.Result:
        memory, code = self._memory, command.article
        known = memory.articles.get(code)
        match command.deed:
            case "I":
                return classic.Result(f"{MOST_ARTICLES},{len(memory.articles)},{LONGEST_NAME}")
            case "P":
                tax = classic.TAXES.find(command.tax)
                if tax < 0 or (known is None and len(memory.articles) >= MOST_ARTICLES) or not code:
                    return _FAILED
                if known is not None and known.tax != tax and code in await self._sold():
                    return _FAILED
                name = command.name[:LONGEST_NAME]
                await memory.write(Article(code, tax, command.group, command.price, name))
                return _DONE
            case "C" if known is not None:
                await memory.write(msgspec.structs.replace(known, price=command.price))
                return _DONE
            case "D" if not code:
                if not (await self._sold()).isdisjoint(memory.articles):
                    return _FAILED
                await memory.clear()
                return _DONE
            case "D" if known is not None and code not in await self._sold():
                await memory.delete(code)
                return _DONE
            case "R" if known is not None:
                return _row(known)
            case "F" | "N":
                after = code if command.deed == "F" else self._last_read + 1
                found = min((one for one in memory.articles if one >= after), default=None)
                if found is None:
                    return _FAILED
                self._last_read = found
                return _row(memory.articles[found])
            case "X":
                free = max(code, 1)
                while free in memory.articles:
                    free += 1
                return classic.Result(f"P{free}")
        return _FAILED

    async def _sold(self) -> frozenset[int]:
        """The articles that were sold since the last Z report."""
        state = await self._state()
        codes = await self._store.sold_codes(self._n, state.shift) if state.shift_open else {}
        return frozenset(int(code) for code in codes if code.isascii() and code.isdigit())

    async def _text_document(self, command: Any) -> classic.ClassicAnswer:
        match command:
            case classic.OpenText():
                await self._settle()
                if self._receipt is not None or self._text is not None:
                    raise Refuses("a document is open")
                self._text = []
                return classic.Result("")
            case classic.PrintText(line) if self._text is not None and len(self._text) < MOST_TEXT:
                self._text.append(line)
                return classic.Nothing()
            case classic.CloseText() if self._text is not None:
                lines, self._text = self._text, None
                if lines:
                    fiscal = {"task": SERVICE_REPORT, "lines": [{"t": line, "qr_type": 0} for line in lines]}
                    await self._to_printer({"type": TYPE_FISCAL, "fiscal": fiscal})
                return classic.Nothing()
        raise Refuses("no document of text is open")

    async def _to_printer(self, body: dict[str, Any]) -> None:
        """A task of which only the paper matters; without a printer there is nothing to do."""
        printer = self._now().classic_printer
        if printer:
            device = {"device": printer} if body["type"] == TYPE_DOC else {}
            answer = await self._ask({**body, **device})
            if answer["res"] != Res.OK.code:
                raise Refuses(answer["errortxt"])


def _name(command: Any) -> str:
    return type(command).__name__


def _row(article: Article) -> classic.Result:
    """An article as it is read; its turnover is in the service's reports (L)."""
    tax, price = classic.TAXES[article.tax], Decimals(2).write(article.price)
    return classic.Result(f"P{article.code},{tax},{article.group},{price},0.00,0.000,{article.name}")


def _sums(settings: RegisterSettings, sums: Mapping[int, int]) -> str:
    """The sums of tax groups in the order of the letters; letters of one group share the first one's place."""
    codes = settings.classic_taxes
    return ",".join(
        Kopecks().write(sums.get(code, 0) if codes.index(code) == place else 0) for place, code in enumerate(codes)
    )
