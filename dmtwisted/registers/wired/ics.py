"""ICS registers as the machine of a register (docs/reference/registers.md#ics).

Every answer says whether a receipt is open and what it comes to. What became of a slip is told by counters in the
register's memory: receipts of sales and of returns, Z reports; and by the cash in the drawer. What is open is taken
back. A refusal is believed only when the counters say the same (`dmtwisted.registers.wired.asked`).

A payment's bit 31 closes the receipt. One source says that the register then reckons the amount itself, so it goes
with an exact payment only; after change a receipt that is still open is closed by a payment of nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from zope.interface import implementer

from dmtwisted.devices.driver import Surroundings
from dmtwisted.documents.documents import CASH_IN, CASH_OUT, RETURN, SALE, Z
from dmtwisted.registers.drivers.ics import IcsSettings
from dmtwisted.registers.wired.articles import MOST_CONFLICTS, Article, Articles
from dmtwisted.registers.wired.asked import AskedMachine
from dmtwisted.registers.wired.interface import (
    About,
    Figures,
    IMachine,
    Made,
    NotMade,
    Slip,
    SlipPayment,
    Unclear,
)
from dmtwisted.registers.wired.lines import endpoint_of, patience_of
from dmtwisted.registers.wired.outcomes import Counted, cash_of, check, differs, outcome, unfit
from dmtwisted.registers.wired.texts import card_lines, wrapped
from protocols.errors import Garbled, WireError
from protocols.registers.ics import commands as ics
from protocols.registers.ics.commands import PayKind, Reserve, printable
from protocols.registers.ics.link import PATIENCE, REPORT_LIMIT, IcsLink, IcsRegister, numbers
from protocols.registers.lines import KeptLine
from protocols.registers.numbered import Patience
from protocols.registers.troubles import DeviceRefused, Meaning, Trouble

LARGEST = 2**31 - 1
"""Kopecks beside the bit of a payment."""

COMMENT = 27
"""Characters of a line of text."""

OTHER_ARTICLE = "43"

MOST_ARTICLES = 10**9
"""Numbers have six bytes; nine digits are enough that two articles hardly ever come to the same one."""

NO_TEXT = Meaning(
    Trouble.WRONG_MODE, "this register prints no text of its own", "цей реєстратор не друкує довільний текст"
)


@dataclass(frozen=True)
class _Line:
    """A line that is ready but for the number of its article."""

    article: Article
    command: ics.Sell | ics.TakeBack
    cost: int
    discount: int
    comments: tuple[str, ...]


@implementer(IMachine)
class IcsMachine(AskedMachine[IcsRegister]):
    """One register.

    :param operator: the cashier's number in the register.
    :param password: of that cashier.
    :param report_password: of the reports.
    """

    cashier_width = 15

    def __init__(
        self,
        endpoint: IStreamClientEndpoint,
        clock: IReactorTime,
        operator: int = 1,
        password: int = 0,
        report_password: int = 0,
        patience: Patience = PATIENCE,
    ) -> None:
        super().__init__(KeptLine(endpoint, clock, self._build, self._begin))
        self._clock, self._patience = clock, patience
        self._crc: bool | None = None
        """Whether frames have a CRC, as in EP-09 and EP-11; `None` until the register has answered."""
        self._operator, self._password, self._report_password = operator, password, report_password
        self._numbers = numbers()
        self._articles = Articles(MOST_ARTICLES)

    # What is asked.

    async def about(self) -> About:
        """Which machine it is; no answer names its model."""
        return await self._ask(_about)

    async def figures(self) -> Figures:
        """Its counters and its drawer; it tells no sums."""
        return await self._ask(_figures)

    async def became(self, slip: Slip, before: Figures) -> Made | NotMade | Unclear:
        """Take back what is open, and compare the counters."""
        now = await self._ask(_taken_back)
        grows = {
            SALE: (1, 0, cash_of(slip)),
            RETURN: (0, 1, cash_of(slip)),
            CASH_IN: (0, 0, slip.total),
            CASH_OUT: (0, 0, -slip.total),
        }.get(slip.kind, ())
        return outcome(slip, before, now, _counted, grows)

    # What has an effect.

    async def x_report(self) -> None:
        """Print an X report."""
        await self._do((ics.XReport(self._report_password), REPORT_LIMIT))

    async def copy_last(self) -> None:
        """Print a copy of the last receipt."""
        await self._do(ics.Copy())

    async def open_drawer(self) -> None:
        """Open the drawer."""
        await self._do(ics.OpenDrawer())

    async def print_text(self, lines: tuple[str, ...]) -> None:
        """No source describes how: it prints text in receipts only.

        :raises DeviceRefused: always.
        """
        raise DeviceRefused("text", NO_TEXT)

    # The line.

    def _build(self) -> IcsLink:
        return IcsLink(self._clock, self._numbers, bool(self._crc), self._patience)

    async def _begin(self, link: IcsLink) -> IcsRegister:
        self._forget()
        register = IcsRegister(link)
        await (register.meet() if self._crc is None else register.greet())
        self._crc = link.crc
        return register

    def _name(self, text: str, most: int) -> str:
        return printable(text, most)

    def _login(self, name: str) -> ics.LogIn:
        return ics.LogIn(self._password, self._operator, name)

    # A slip.

    async def _prepared(self, slip: Slip) -> list[_Line]:
        check(slip, set(PayKind), LARGEST)
        try:
            return list(_lines(slip))
        except ValueError as error:
            raise unfit(f"a line does not fit: {error}", f"рядок не вміщується: {error}") from error

    async def _make(self, register: IcsRegister, slip: Slip, before: Figures, prepared: list[_Line]) -> Made:
        if slip.kind in (SALE, RETURN):
            return await self._receipt(register, slip, prepared)
        if slip.kind == Z:
            await register.do(ics.ZReport(self._report_password), REPORT_LIMIT)
            return Made("" if before.z is None else str(before.z + 1))
        await register.do(ics.PutIn(slip.total) if slip.kind == CASH_IN else ics.TakeOut(slip.total))
        return Made("")

    async def _receipt(self, register: IcsRegister, slip: Slip, lines: list[_Line]) -> Made:
        """A receipt; when an article's number turns out to be that of another, it is taken back and begun again."""
        for _ in range(MOST_CONFLICTS):
            await _open(register, slip)
            taken = await self._sell(register, lines)
            if taken is None:
                for payment in slip.payments:
                    await _say(register, card_lines(payment) if payment.rrn or payment.auth_code else ())
                await _say(register, slip.below)
                return await self._pay(register, slip)
            self._articles.refused(taken.article)
            if register.receipt_open:
                await register.do(ics.Cancel())
        raise unfit("too many articles have the numbers of others", "забагато товарів мають номери інших товарів")

    async def _pay(self, register: IcsRegister, slip: Slip) -> Made:
        """The payments, cash last; the receipt closes with the last one.

        :raises DeviceRefused: it is not paid then.
        """
        given = sum(payment.sum for payment in slip.payments)
        *parts, last = sorted(slip.payments, key=lambda each: each.cash) or [SlipPayment(PayKind.CASH, 0, cash=True)]
        for part in parts:
            await register.do(ics.Pay(part.form, part.sum, closes=False))
        if given == slip.total:
            paid = await self._close(register, ics.Pay(last.form, last.sum))
        else:
            paid = await register.do(ics.Pay(last.form, last.sum, closes=False))
            if register.receipt_open and paid.rest <= 0:
                paid = await self._close(register, ics.Pay(last.form, 0))
        if register.receipt_open:
            raise differs(slip.total, slip.total - paid.rest)
        return Made(str(paid.packet) if paid.packet else "")

    async def _close(self, register: IcsRegister, command: ics.Pay) -> ics.Paid:
        """Close the receipt; only the answer has its number, so a lost one is asked for at once on a new line.

        The same bytes have the same number there. A register that has lost its power refuses them, or its receipt
        is still open and is closed by them.
        """

        async def again(link: IcsLink) -> ics.Paid:
            there = IcsRegister(link)
            paid = await there.do(command, again=True)
            register.head = there.head
            return paid

        try:
            return await register.do(command)
        except DeviceRefused:
            raise
        except WireError as lost:
            try:
                return await self._line.repeat(again)
            except WireError:
                raise lost from None

    async def _sell(self, register: IcsRegister, lines: list[_Line]) -> _Line | None:
        """Add the lines; the one whose number another article has.

        :raises DeviceRefused: the receipt comes to another sum than ours.
        """
        total = 0
        for line in lines:
            try:
                added = await register.do(replace(line.command, article=self._articles.number(line.article)))
            except DeviceRefused as refusal:
                if refusal.code != OTHER_ARTICLE:
                    raise
                return line
            total += line.cost
            if line.discount and added.total == total:
                added = await register.do(ics.Change(ics.ChangeKind.LINE_SUM, -line.discount))
                total -= line.discount
            if added.total != total:
                raise differs(total, added.total)
            await _say(register, line.comments)
        return None


async def _open(register: IcsRegister, slip: Slip) -> None:
    """A comment opens a receipt, which a return needs; a sale opens with its first line, too."""
    if slip.kind == RETURN:
        first = f"До чека {slip.purchase}" if slip.purchase else "Повернення"
        await register.do(ics.Comment(printable(first, COMMENT), opens_return=True))
    await _say(register, slip.above)


async def _say(register: IcsRegister, texts: Iterable[str]) -> None:
    for line in wrapped(texts, COMMENT):
        await register.do(ics.Comment(printable(line, COMMENT)))


def machine(settings: IcsSettings, around: Surroundings) -> IcsMachine:
    """The machine at the address of the settings."""
    return IcsMachine(
        endpoint_of(settings, around.reactor),
        around.reactor,
        settings.operator,
        int(settings.password or 0),
        int(settings.report_password or 0),
        patience_of(settings, PATIENCE),
    )


# Questions.


async def _about(register: IcsRegister) -> About:
    said = await register.do(ics.ReadState())
    serial, fiscal = [await register.memory(place) for place in (ics.SERIAL, ics.FISCAL_NUMBER)]
    return About(serial=serial.text, fiscal_number=fiscal.text, firmware=said.version)


async def _figures(register: IcsRegister) -> Figures:
    z, sold, returned = [await register.memory(place) for place in (ics.Z_NUMBER, ics.SALES, ics.RETURNS)]
    drawer = (await register.do(ics.ReadDrawer())).cash
    if not z.raw.hex().isdigit():
        raise Garbled("this is no number of a Z report", z.raw)
    return Figures(
        shift_open=Reserve.SHIFT_OPEN in register.head.reserve,
        document_open=register.receipt_open,
        z=int(z.raw.hex()),
        drawer=drawer,
        sold=sold.number,
        returned=returned.number,
    )


async def _taken_back(register: IcsRegister) -> Figures:
    await register.do(ics.ReadState())
    if register.receipt_open:
        await register.do(ics.Cancel())
    figures = await _figures(register)
    if figures.document_open:
        raise Garbled("the receipt stays open")
    return figures


def _counted(figures: Figures) -> Counted:
    return figures.sold, figures.returned, figures.drawer


# Lines.


def _lines(slip: Slip) -> Iterator[_Line]:
    """The lines.

    :raises ValueError: one of them does not fit.
    """
    prices: dict[Article, list[int]] = {}
    for line in slip.lines:
        name = printable(line.name)
        # Within a receipt a number keeps its price, too.
        known = prices.setdefault((name, line.tax), [])
        if line.price not in known:
            known.append(line.price)
        units, part = divmod(line.quantity, 1000)
        quantity, decimals = (line.quantity, 3) if part else (units, 0)
        if line.tax not in range(len(ics.TAXES)):
            raise ValueError(f"the register has no tax group {line.tax + 1}")
        build = ics.TakeBack if slip.kind == RETURN else ics.Sell
        command = build(quantity, decimals, line.price, ics.FIRST_TAX + line.tax, name, 1)
        command.encode()
        uktzed = f"УКТЗЕД {line.uktzed}" if line.uktzed else ""
        comments = tuple(filter(None, (uktzed, *line.marks, line.text)))
        yield _Line((name, line.tax, known.index(line.price)), command, line.cost, line.discount, comments)
