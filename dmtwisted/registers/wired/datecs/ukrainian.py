"""Machines of the Ukrainian dialect of Datecs (docs/reference/registers.md#ukrainian-dialect).

No counter of documents is known, so after a loss of power the sums decide, where they tell; else it is a person's.
The sums are read with no document open: in the log of a device the same command took an open document back.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint

from dmtwisted.devices.driver import Surroundings
from dmtwisted.documents.documents import CASH_IN, CASH_OUT, RETURN
from dmtwisted.registers.drivers.datecs import DatecsSettings
from dmtwisted.registers.wired.datecs.articles import Article
from dmtwisted.registers.wired.datecs.machine import CASH, TEXT_OPEN, DatecsMachine, Stage, by_form, no_command
from dmtwisted.registers.wired.interface import About, Figures, Made, Slip, SlipLine, SlipPayment
from dmtwisted.registers.wired.lines import endpoint_of, patience_of
from protocols.registers.datecs import ukrainian as ua
from protocols.registers.datecs.link import PATIENCE, Z_LIMIT, DatecsLink, UkrainianRegister, numbers
from protocols.registers.lines import KeptLine
from protocols.registers.numbered import Patience
from protocols.registers.troubles import DeviceRefused, Trouble

FORMS = (1, 2, 3)
"""Forms of payment besides cash whose turnover is read."""

NO_OPERATOR = "020A"

_STAGES = {ua.Document.NONE: Stage.NONE, ua.Document.TEXT: Stage.TEXT, ua.Document.PAID: Stage.PAID}


class UkrainianMachine(DatecsMachine[UkrainianRegister]):
    """One machine.

    :param password: of commands, six digits.
    :param operator: the number of the operator who works; a machine that does not know it gets it written.
    :param till: the number of the till.
    """

    longest_name = 48
    forbidden = ";"

    def __init__(
        self,
        endpoint: IStreamClientEndpoint,
        clock: IReactorTime,
        password: str = ua.DEFAULT_PASSWORD,
        operator: int = 1,
        till: int = 1,
        patience: Patience = PATIENCE,
    ) -> None:
        self._password, self._operator, self._till = password, operator, till
        used = numbers()
        super().__init__(KeptLine(endpoint, clock, lambda: DatecsLink(clock, used, patience), self._begin))

    def _on(self, link: DatecsLink) -> UkrainianRegister:
        return UkrainianRegister(link, self._password)

    async def _begin(self, link: DatecsLink) -> UkrainianRegister:
        register = self._on(link)
        await register.greet()
        return register

    # What is asked.

    async def _about(self, register: UkrainianRegister) -> About:
        said = await register.do(ua.ReadFirmware())
        return About(model=said.model, firmware=f"{said.version} {said.date}")

    async def _read(self, register: UkrainianRegister) -> Figures:
        z = (await register.do(ua.ReadState())).z - 1
        document = ua.document_of(register.status)
        if document is ua.Document.TEXT:
            return Figures(z=z, more={TEXT_OPEN: 1})
        if document is not ua.Document.NONE:
            return Figures(document_open=True, z=z)
        sums = {}
        with suppress(DeviceRefused):
            for place in (ua.DRAWER, *FORMS):
                sums[place] = (await register.do(ua.ReadSum(place))).amount
        return Figures(z=z, drawer=sums.pop(ua.DRAWER, None), forms=sums)

    async def _stage(self, register: UkrainianRegister) -> Stage:
        await register.do(ua.ReadState())
        return _STAGES.get(ua.document_of(register.status), Stage.OPEN)

    async def _room(self, register: UkrainianRegister) -> int:
        return (await register.do(ua.ReadFirmware())).articles

    # A receipt.

    def _article(self, line: SlipLine) -> Article:
        return Article(self._name(line), line.tax)

    async def _write(self, register: UkrainianRegister, number: int, article: Article) -> bool:
        try:
            await register.do(ua.WriteArticle(number, article.name, article.tax))
        except DeviceRefused as refusal:
            if refusal.meaning.trouble is not Trouble.ARTICLE:
                raise
            return False
        return True

    async def _open(self, register: UkrainianRegister, slip: Slip) -> None:
        kind = {RETURN: ua.Opens.RETURN, CASH_IN: ua.Opens.CASH, CASH_OUT: ua.Opens.CASH}.get(
            slip.kind, ua.Opens.SALE
        )
        opening = ua.Open(self._operator, self._till, kind)
        try:
            await register.do(opening)
        except DeviceRefused as refusal:
            if refusal.code != NO_OPERATOR:
                raise
            name = next(self._lines(slip.cashier), f"Касир {self._operator}")
            await register.do(ua.WriteOperator(self._operator, self._password, name))
            await register.do(opening)

    async def _sell(self, register: UkrainianRegister, line: SlipLine, number: int) -> None:
        await register.do(ua.Sell(number, line.quantity, line.price))
        if line.discount:
            await register.do(ua.Change(-line.discount))

    async def _say(self, register: UkrainianRegister, text: str, fiscal: bool) -> None:
        await register.do(ua.PrintText(text))

    async def _total(self, register: UkrainianRegister) -> int:
        return (await register.do(ua.Total())).amount

    async def _pay(self, register: UkrainianRegister, payment: SlipPayment) -> bool:
        await register.do(ua.Pay(payment.form, payment.sum))
        # Its answer is 0 for a payment of nothing, too; the state of the document is sure.
        return ua.document_of(register.status) is ua.Document.PAID

    async def _void(self, register: UkrainianRegister) -> None:
        try:
            await self._surely(register, ua.Void())
        except DeviceRefused:
            with suppress(DeviceRefused):
                await register.do(ua.ReadSum(ua.DRAWER))
            if ua.document_of(register.status) is not ua.Document.NONE:
                raise

    def _closing(self) -> ua.Close:
        return ua.Close()

    def _number(self, closed: ua.Closed) -> int:
        return closed.number

    # Everything else.

    async def _open_text(self, register: UkrainianRegister) -> None:
        await register.do(ua.OpenText())

    async def _close_text(self, register: UkrainianRegister) -> None:
        await register.do(ua.Close())

    async def _cash(self, register: UkrainianRegister, slip: Slip, before: Figures) -> Made:
        async def fill() -> None:
            await self._print(register, slip.above)
            await register.do(ua.MoveCash(CASH, slip.total if slip.kind == CASH_IN else -slip.total))
            await self._print(register, slip.below)

        return await self._whole(register, slip, fill)

    async def _z(self, register: UkrainianRegister, before: Figures) -> Made:
        await register.do(ua.Report(ua.ReportKind.Z), Z_LIMIT)
        return Made("" if before.z is None else str(before.z + 1))

    def _told(self, kind: str, figures: Figures) -> Mapping[str, int]:
        forms = {f"form {form}": amount for form, amount in figures.forms.items()}
        return forms if figures.drawer is None else {"drawer": figures.drawer, **forms}

    def _expected(self, slip: Slip) -> Mapping[str, int]:
        if slip.kind in (CASH_IN, CASH_OUT):
            return {"drawer": slip.total if slip.kind == CASH_IN else -slip.total}
        sums = by_form(slip)
        return {"drawer": sums.pop(CASH), **{f"form {form}": amount for form, amount in sums.items()}}

    async def x_report(self) -> None:
        """Print an X report."""
        await self._print_alone(ua.Report(ua.ReportKind.X), Z_LIMIT)

    async def copy_last(self) -> None:
        """No command is known.

        :raises DeviceRefused: always.
        """
        raise no_command()

    async def open_drawer(self) -> None:
        """No command is known.

        :raises DeviceRefused: always.
        """
        raise no_command()


def machine(settings: DatecsSettings, around: Surroundings) -> UkrainianMachine:
    """The machine at the address of the settings."""
    return UkrainianMachine(
        endpoint_of(settings, around.reactor),
        around.reactor,
        settings.password or ua.DEFAULT_PASSWORD,
        settings.operator,
        settings.till,
        patience_of(settings, PATIENCE),
    )
