"""Maria-301 and 304 as the machine of a register (docs/reference/registers.md#maria).

What became of a slip is told by the register's own numbers: that of the last receipt (GLCN) grows with each receipt
that is printed and registered, and with no other; that of the Z report; the cash put in and taken out. The sums since
the Z report must agree. Nothing is registered before COMP, so whatever is open is taken back with CANC.

A refusal is believed only when those numbers say the same (`dmtwisted.registers.wired.asked`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.logger import Logger
from zope.interface import implementer

from dmtwisted.devices.driver import Surroundings
from dmtwisted.documents.documents import CASH_IN, RETURN, SALE, Z
from dmtwisted.registers.drivers.maria import MariaSettings
from dmtwisted.registers.wired.articles import MOST_CONFLICTS, Article, Articles
from dmtwisted.registers.wired.asked import AskedMachine
from dmtwisted.registers.wired.interface import (
    About,
    Figures,
    IMachine,
    Made,
    NotMade,
    Slip,
    SlipLine,
    SlipPayment,
    Unclear,
)
from dmtwisted.registers.wired.lines import endpoint_of, patience_of
from dmtwisted.registers.wired.outcomes import Counted, check, outcome, unfit
from dmtwisted.registers.wired.texts import card_lines, wrapped
from protocols.errors import Garbled, WireError
from protocols.registers.lines import KeptLine
from protocols.registers.maria import commands as maria
from protocols.registers.maria.commands import printable
from protocols.registers.maria.link import DARK, PATIENCE, MariaLink, MariaRegister, Patience
from protocols.registers.troubles import DeviceRefused

log = Logger()

CASH_FORM, CASHLESS_FORMS = 0, (1, 2, 3)
"""The places of the sums in COMP."""

PAUSES = (DARK, 5.0, 10.0)
"""Seconds before a line is opened again: the register takes a shorter pause without DTR for none."""

NAME, TAIL, TEXT, INFO = 12, 31, 43, 86
"""Characters."""

MOST_TEXTS = 100

LARGEST = 10**10 - 1
"""Kopecks in the ten digits of a sum."""

PUT_IN, TAKEN_OUT = "put_in", "taken_out"
"""Cash, among the figures that only this machine needs."""

UNIT = "1"
"""The name of the trading unit, which a receipt needs."""

OTHER_ARTICLE = "SOFTDIFART"

_DAMAGED = frozenset({"SOFTPROTOC", "SOFTBADCS"})
"""The command was not read, so a question may be put again."""

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class _Line:
    """A line that is ready but for the number of its article, which is everything that the register keeps with it."""

    article: Article
    command: maria.Sell | maria.TakeBack
    infos: tuple[str, ...]


@implementer(IMachine)
class MariaMachine(AskedMachine[MariaRegister]):
    """One register.

    :param password: of the cashier.
    """

    cashier_width = 9

    def __init__(
        self,
        endpoint: IStreamClientEndpoint,
        clock: IReactorTime,
        password: str = maria.DEFAULT_PASSWORD,
        patience: Patience = PATIENCE,
    ) -> None:
        super().__init__(KeptLine(endpoint, clock, self._build, self._begin, PAUSES))
        self._clock, self._patience = clock, patience
        self._password = password
        self._articles = Articles(9_999)
        self._schemes = ""

    # What is asked.

    async def about(self) -> About:
        """Which machine it is."""
        said = await self._ask(lambda register: register.do(maria.ReadConfiguration()))
        return About(serial=said.serial, fiscal_number=said.fiscal, firmware=said.version)

    async def figures(self) -> Figures:
        """Its numbers and sums; the receipts of a shift are not counted."""
        return await self._ask(_figures)

    async def became(self, slip: Slip, before: Figures) -> Made | NotMade | Unclear:
        """Take back what is open, and compare the figures."""
        now = await self._ask(_taken_back)
        if slip.kind in (SALE, RETURN):
            receipt = (1, slip.total, 0) if slip.kind == SALE else (1, 0, slip.total)
            return outcome(slip, before, now, _receipts, receipt, str(now.number))
        return outcome(slip, before, now, _cash, (slip.total, 0) if slip.kind == CASH_IN else (0, slip.total))

    # What has an effect.

    async def x_report(self) -> None:
        """Print an X report."""
        await self._do(maria.XReport())

    async def copy_last(self) -> None:
        """Print a copy of the last receipt."""
        await self._do(maria.Copy())

    async def open_drawer(self) -> None:
        """Open the drawer, when the print has ended."""
        await self._do(maria.OpenDrawer())

    async def print_text(self, lines: tuple[str, ...]) -> None:
        """Print a document of text."""
        texts = _texts("0", lines)[:MOST_TEXTS]
        try:
            await self._do(maria.Cancel(), maria.OpenText(), *texts, maria.PrintText())
        except DeviceRefused:
            # Without paper it stays open; each receipt begins with CANC, too.
            with suppress(WireError):
                await self._do(maria.Cancel())
            raise

    # The line.

    def _build(self) -> MariaLink:
        return MariaLink(self._clock, self._patience)

    async def _begin(self, link: MariaLink) -> MariaRegister:
        self._forget()
        register = MariaRegister(link)
        await register.begin()
        return register

    def _forget(self) -> None:
        super()._forget()
        self._schemes = ""

    async def _ask(self, question: Callable[[MariaRegister], Awaitable[_Value]]) -> _Value:
        try:
            return await super()._ask(question)
        except DeviceRefused as refusal:
            if refusal.code not in _DAMAGED:
                raise
        return await super()._ask(question)

    def _name(self, text: str, most: int) -> str:
        return printable(text, most)

    def _login(self, name: str) -> maria.LogIn:
        return maria.LogIn(self._password, name)

    # A slip.

    async def _prepared(self, slip: Slip) -> list[_Line]:
        check(slip, (CASH_FORM, *CASHLESS_FORMS), LARGEST)
        if slip.lines and not self._schemes:
            self._schemes = (await self._ask_first(lambda register: register.do(maria.ReadSchemes()))).text
        try:
            return [_line(line, slip.kind, self._schemes) for line in slip.lines]
        except ValueError as error:
            raise unfit(f"a line does not fit: {error}", f"рядок не вміщується: {error}") from error

    async def _make(self, register: MariaRegister, slip: Slip, before: Figures, prepared: list[_Line]) -> Made:
        if slip.kind in (SALE, RETURN):
            return await self._receipt(register, slip, prepared)
        await register.do(maria.Cancel())
        if slip.kind != Z:
            await register.do(maria.MoveCash("I" if slip.kind == CASH_IN else "O", slip.total))
            return Made("")
        await register.do(maria.ZReport())
        return Made("" if before.z is None else str(before.z + 1))

    async def _receipt(self, register: MariaRegister, slip: Slip, lines: list[_Line]) -> Made:
        """A receipt; when an article's number turns out to be that of another, it is taken back and begun again."""
        for _ in range(MOST_CONFLICTS):
            await self._open(register, slip, lines)
            taken = await self._sell(register, lines)
            if taken is None:
                return await self._complete(register, slip)
            # The next begins with CANC.
            self._articles.refused(taken.article)
        raise unfit("too many articles have the numbers of others", "забагато товарів мають номери інших товарів")

    async def _open(self, register: MariaRegister, slip: Slip, lines: list[_Line]) -> None:
        below = [info for line in lines for info in line.infos[1:]]
        texts = _texts("0", slip.above)[:MOST_TEXTS] + _texts("1", (*below, *slip.below))[:MOST_TEXTS]
        for command in (maria.Cancel(), *texts):
            await register.do(command)
        if slip.kind == RETURN and slip.purchase:
            await register.do(maria.ReturnOf(printable(slip.purchase, INFO)))
        await register.do(maria.Open(UNIT))

    async def _sell(self, register: MariaRegister, lines: list[_Line]) -> _Line | None:
        """Add the lines; the one whose number another article has."""
        for line in lines:
            if line.infos:
                await register.do(maria.Inform(line.infos[0]))
            try:
                await register.do(replace(line.command, article=self._articles.number(line.article)))
            except DeviceRefused as refusal:
                if refusal.code != OTHER_ARTICLE:
                    raise
                return line
        return None

    async def _complete(self, register: MariaRegister, slip: Slip) -> Made:
        for payment in slip.payments:
            if payment.rrn or payment.auth_code:
                await self._card(register, payment)
        sums = dict.fromkeys((CASH_FORM, *CASHLESS_FORMS), 0)
        for payment in slip.payments:
            sums[payment.form] += payment.sum
        returns = slip.kind == RETURN
        sold, returned = (0, slip.total) if returns else (slip.total, 0)
        done = await register.do(maria.Complete(sold, returned, sums[3], sums[2], sums[1], sums[CASH_FORM]))
        if (done.sold, done.returned) != (sold, returned):
            raise Garbled(f"the closed receipt has other sums: {done.sold} and {done.returned}")
        try:
            await register.do(maria.Cancel())
        except WireError as error:
            # The receipt is there.
            log.info("after a receipt: {why}", why=error)
            self._line.drop()
        return Made(str(done.number))

    async def _card(self, register: MariaRegister, payment: SlipPayment) -> None:
        """What the bank said of a payment; a register that refuses the card slip prints it as text."""
        said = (payment.bank, payment.terminal, payment.card, payment.auth_code, payment.rrn)
        try:
            await register.do(maria.CardSlip(tuple(printable(value, maria.LONGEST_VALUE) for value in said)))
        except DeviceRefused as refusal:
            log.info("a card slip is printed as text: {why}", why=refusal)
            for text in _texts("1", card_lines(payment)):
                await register.do(text)


def machine(settings: MariaSettings, around: Surroundings) -> MariaMachine:
    """The machine at the address of the settings."""
    return MariaMachine(
        endpoint_of(settings, around.reactor, parity="E", stopbits=2, dtr=True),
        around.reactor,
        settings.password or maria.DEFAULT_PASSWORD,
        patience_of(settings, PATIENCE),
    )


# Questions.


async def _figures(register: MariaRegister) -> Figures:
    said = await register.do(maria.ReadConfiguration())
    number = (await register.do(maria.ReadNumber())).number
    cash = await register.do(maria.ReadCash())
    sums = (cash.cash, cash.cashless1, cash.cashless2, cash.cashless3)
    return Figures(
        # Sums prove a shift; without any it may be open, too.
        shift_open=True if any((*sums, cash.put_in, cash.taken_out, cash.returned)) else None,
        document_open=said.receipt_open or maria.Expects.DEND in said.expects,
        number=number,
        z=said.z,
        drawer=cash.drawer,
        sales=sum(sums),
        returns=cash.returned,
        # Returns are one sum for all forms.
        forms={} if cash.returned else dict(enumerate(sums)),
        more={PUT_IN: cash.put_in, TAKEN_OUT: cash.taken_out},
    )


async def _taken_back(register: MariaRegister) -> Figures:
    await register.do(maria.Cancel())
    return await _figures(register)


def _receipts(figures: Figures) -> Counted:
    return figures.number, figures.sales, figures.returns


def _cash(figures: Figures) -> Counted:
    return figures.more.get(PUT_IN), figures.more.get(TAKEN_OUT)


# Words.


def _texts(place: str, lines: Iterable[str]) -> list[maria.AddText]:
    return [maria.AddText(place, "0", "0", printable(part, TEXT)) for part in wrapped(lines, TEXT)]


def _line(line: SlipLine, kind: str, schemes: str) -> _Line:
    """A line.

    :raises ValueError: it does not fit.
    """
    name, taxes = printable(line.name, NAME + TAIL), _taxes(line.tax, schemes)
    units, part = divmod(line.quantity, 1000)
    whole, quantity = ("0", line.quantity) if part else ("1", units)
    build = maria.TakeBack if kind == RETURN else maria.Sell
    command = build(
        name[:NAME], line.cost, line.price, quantity, whole, taxes=taxes, tail=name[NAME:], **_change(line.discount)
    )
    command.encode()
    uktzed = f"УКТЗЕД {line.uktzed}" if line.uktzed else ""
    info = " ".join(filter(None, (uktzed, *line.marks, line.text)))
    infos = tuple(printable(part, INFO) for part in wrapped((info,) if info else (), INFO))
    return _Line((name, whole, taxes), command, infos)


def _taxes(tax: int, schemes: str) -> str:
    """The eight marks of a line that one scheme applies to."""
    mark = schemes[6 * tax : 6 * tax + 6]
    if mark in ("", maria.NO_TAX):
        raise ValueError(f"the register has no tax scheme {tax + 1}")
    return (maria.NO_TAX * tax + mark).ljust(len(maria.NO_TAXES), "0")


def _change(discount: int) -> dict[str, Any]:
    """The fields of a discount, or of a markup."""
    if not discount:
        return {}
    sign, name = ("-", "Знижка") if discount > 0 else ("+", "Надбавка")
    return {"sign": sign, "change_name": name, "change": abs(discount)}
