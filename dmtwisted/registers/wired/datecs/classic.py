"""Machines of the classic dialect of Datecs (docs/reference/registers.md#classic-dialect).

The turnover of the forms of payment decides after a break. The number of documents counts voided ones too: it proves
no receipt, but where it did not grow there is none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress

from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.logger import Logger

from dmtwisted.devices.driver import Surroundings
from dmtwisted.documents.documents import CASH_IN, CASH_OUT, RETURN, SALE
from dmtwisted.registers.drivers.datecs_classic import ClassicSettings
from dmtwisted.registers.wired.datecs.articles import Article
from dmtwisted.registers.wired.datecs.machine import TEXT_OPEN, DatecsMachine, Stage, by_form
from dmtwisted.registers.wired.interface import About, Figures, Made, Slip, SlipLine, SlipPayment
from dmtwisted.registers.wired.lines import endpoint_of, patience_of
from protocols.errors import WireError
from protocols.registers.datecs import classic
from protocols.registers.datecs.classic import Paid, PayForm
from protocols.registers.datecs.link import CLOSE_LIMIT, PATIENCE, Z_LIMIT, ClassicRegister, DatecsLink, numbers
from protocols.registers.lines import KeptLine
from protocols.registers.numbered import Patience
from protocols.registers.troubles import DeviceRefused, Meaning, Trouble

log = Logger()

FORMS = tuple(PayForm)
"""In the order of `classic.FormSums`; a form of payment is a place in it."""

LEAST_ARTICLES = 1_000
"""Articles of a machine that does not say how many it has room for (L)."""

_DONE, _REFUSED = "P", "F"


class ClassicMachine(DatecsMachine[ClassicRegister]):
    """One machine.

    :param operator: the number of the operator who works.
    :param password: the operator's.
    :param till: the number of the till.
    """

    documents = frozenset({SALE, RETURN})
    longest_name = 36

    def __init__(
        self,
        endpoint: IStreamClientEndpoint,
        clock: IReactorTime,
        password: str = classic.DEFAULT_PASSWORD,
        operator: int = 1,
        till: int = 1,
        patience: Patience = PATIENCE,
    ) -> None:
        self._password, self._operator, self._till = password, operator, till
        used = numbers()
        super().__init__(KeptLine(endpoint, clock, lambda: DatecsLink(clock, used, patience), self._begin))

    def _on(self, link: DatecsLink) -> ClassicRegister:
        return ClassicRegister(link)

    async def _begin(self, link: DatecsLink) -> ClassicRegister:
        register = self._on(link)
        await register.greet()
        return register

    # What is asked.

    async def _about(self, register: ClassicRegister) -> About:
        said = (await register.do(classic.ReadVersion())).text
        model, _, firmware = said.partition(",")
        return About(model=model, firmware=firmware)

    async def _read(self, register: ClassicRegister) -> Figures:
        stage = await self._stage(register)
        forms = await register.do(classic.ReadForms())
        number = (await register.do(classic.ReadNumber())).number
        drawer, moved = None, {}
        with suppress(DeviceRefused):
            cash = await register.do(classic.MoveCash())
            drawer, moved = cash.drawer, {"in": cash.put_in, "out": cash.taken_out}
        return Figures(
            document_open=stage in (Stage.OPEN, Stage.PAID),
            number=number,
            z=await self._last_z(register),
            drawer=drawer,
            forms=dict(enumerate((forms.cash, forms.credit, forms.card, forms.cheque))),
            more={**moved, TEXT_OPEN: 1} if stage is Stage.TEXT else moved,
        )

    async def _last_z(self, register: ClassicRegister) -> int | None:
        with suppress(DeviceRefused):
            found = re.match(r"\d+", (await register.do(classic.ReadLastZ())).text)
            return int(found[0]) if found else None
        return None

    async def _stage(self, register: ClassicRegister) -> Stage:
        state = await register.do(classic.ReadReceipt())
        if classic.TEXT_OPEN in register.status:
            return Stage.TEXT
        if not state.open and classic.RECEIPT_OPEN not in register.status:
            return Stage.NONE
        # A receipt of nothing does not show whether it is paid.
        return Stage.PAID if state.total and state.paid >= state.total else Stage.OPEN

    async def _room(self, register: ClassicRegister) -> int:
        """The largest number that is told: sources differ about their order, and no more are written than fit."""
        with suppress(DeviceRefused):
            said = (await register.do(classic.WriteArticle("I"))).result
            return max((int(each) for each in re.findall(r"\d+", said)), default=0) or LEAST_ARTICLES
        return LEAST_ARTICLES

    # A receipt.

    def _article(self, line: SlipLine) -> Article:
        return Article(self._name(line), line.tax, line.price)

    async def _write(self, register: ClassicRegister, number: int, article: Article) -> bool:
        if article.tax >= len(classic.TAXES):
            raise DeviceRefused("tax", NO_TAX)
        tax, price = classic.TAXES[article.tax], article.price
        row = classic.WriteArticle("P", tax, number, price=price, password=self._password, name=article.name)
        try:
            said = await register.do(row)
        except DeviceRefused as refusal:
            if refusal.meaning.trouble is not Trouble.WRONG_MODE:
                raise
            return False
        return not said.result.startswith(_REFUSED)

    def _check(self, slip: Slip) -> None:
        super()._check(slip)
        if any(payment.form >= len(FORMS) for payment in slip.payments):
            raise DeviceRefused("form", NO_FORM)

    async def _open(self, register: ClassicRegister, slip: Slip) -> None:
        kind = classic.OpenReturn if slip.kind == RETURN else classic.Open
        await register.do(kind(self._operator, self._password, self._till))

    async def _sell(self, register: ClassicRegister, line: SlipLine, number: int) -> None:
        await register.do(classic.Sell(number, line.quantity, change=-line.discount))

    async def _say(self, register: ClassicRegister, text: str, fiscal: bool) -> None:
        await register.do(classic.PrintFiscalText(text) if fiscal else classic.PrintText(text))

    async def _total(self, register: ClassicRegister) -> int:
        return (await register.do(classic.Subtotal())).total

    async def _pay(self, register: ClassicRegister, payment: SlipPayment) -> bool:
        said = await register.do(classic.Pay(FORMS[payment.form].value, payment.sum))
        letter = Paid(said.letter)
        if letter not in (Paid.REST, Paid.CHANGE):
            raise DeviceRefused(said.letter, NOT_PAID)
        return letter is Paid.CHANGE

    async def _void(self, register: ClassicRegister) -> None:
        await self._surely(register, classic.Cancel())

    def _closing(self) -> classic.Close:
        return classic.Close()

    def _number(self, closed: classic.Counts) -> int:
        return closed.documents

    # Everything else.

    async def _open_text(self, register: ClassicRegister) -> None:
        error = (await register.do(classic.OpenText())).result
        if error in classic.TEXT_ERRORS:
            raise DeviceRefused(error, classic.TEXT_ERRORS[error])

    async def _close_text(self, register: ClassicRegister) -> None:
        await register.do(classic.CloseText())

    async def _cash(self, register: ClassicRegister, slip: Slip, before: Figures) -> Made:
        amount = slip.total if slip.kind == CASH_IN else -slip.total
        said = await register.do(classic.MoveCash(amount), CLOSE_LIMIT)
        if said.result != _DONE:
            raise DeviceRefused(said.result, NO_CASH)
        try:
            return Made(str((await register.do(classic.ReadNumber())).number))
        except WireError as error:
            # It is done all the same.
            log.info("the number is not known: {why}", why=error)
            return Made("")

    async def _z(self, register: ClassicRegister, before: Figures) -> Made:
        said = await register.do(classic.PrintReport(self._password, classic.ReportKind.Z), Z_LIMIT)
        return Made(str(said.z))

    def _told(self, kind: str, figures: Figures) -> Mapping[str, int]:
        if kind in (CASH_IN, CASH_OUT):
            return {name: figures.more[name] for name in ("in", "out") if name in figures.more}
        return {f"form {form}": amount for form, amount in figures.forms.items()}

    def _expected(self, slip: Slip) -> Mapping[str, int]:
        if slip.kind in (CASH_IN, CASH_OUT):
            return {"in" if slip.kind == CASH_IN else "out": slip.total}
        return {f"form {form}": amount for form, amount in by_form(slip).items()}

    async def x_report(self) -> None:
        """Print an X report."""
        await self._print_alone(classic.PrintReport(self._password, classic.ReportKind.X), Z_LIMIT)

    async def copy_last(self) -> None:
        """Print a copy of the last receipt."""
        await self._print_alone(classic.Copy(), CLOSE_LIMIT)

    async def open_drawer(self) -> None:
        """Open the drawer."""
        await (await self._line.register()).do(classic.OpenDrawer())


NO_TAX = Meaning(Trouble.TAX_FORBIDDEN, "there is no such tax group", "немає такої податкової групи")
NO_FORM = Meaning(Trouble.UNKNOWN, "there is no such form of payment", "немає такої форми оплати")
NOT_PAID = Meaning(Trouble.UNKNOWN, "the payment is not accepted", "оплату не прийнято")
NO_CASH = Meaning(Trouble.CASH_SHORT, "the cash was not moved", "операцію з готівкою не виконано")


def machine(settings: ClassicSettings, around: Surroundings) -> ClassicMachine:
    """The machine at the address of the settings."""
    return ClassicMachine(
        endpoint_of(settings, around.reactor),
        around.reactor,
        settings.password or classic.DEFAULT_PASSWORD,
        settings.operator,
        settings.till,
        patience_of(settings, PATIENCE),
    )
