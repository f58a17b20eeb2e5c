"""What the machines of both dialects share: the order of a slip's commands, and what decides after a break.

A receipt is open from its first command to its close. What is refused before the close is taken back. When the line
breaks, the close and the taking back alone are sent again at once, as the same bytes with the same number: a machine
that has executed them only repeats its answer, and one that has not may do so now.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from enum import Enum, auto
from textwrap import wrap
from typing import Any, ClassVar, Generic, TypeVar

from twisted.logger import Logger
from zope.interface import implementer

from dmtwisted.documents.documents import CASH_IN, CASH_OUT, RETURN, SALE, Z
from dmtwisted.money import hryvnias
from dmtwisted.registers.wired.datecs.articles import Article, Articles
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
from dmtwisted.results import Text
from protocols.errors import NotReached, WireError
from protocols.registers.datecs.link import CLOSE_LIMIT, DatecsLink
from protocols.registers.lines import KeptLine, underway
from protocols.registers.records import shortened
from protocols.registers.troubles import DeviceRefused, LeftOpen, Meaning, Trouble

log = Logger()

CHARSET = "cp1251"
COLUMNS = 32
"""Characters of a line of text that the narrowest paper has."""

CASH = 0
"""The form of payment that gives change and is in the drawer, in both dialects."""

_Register = TypeVar("_Register", bound=Any)

_NO_PRINT = frozenset({Trouble.NO_PAPER, Trouble.COVER_OPEN, Trouble.PRINTER})


TEXT_OPEN = "text"
"""Among the figures: a document of text is open, which a broken line has left."""


class Stage(Enum):
    """How far the machine's document is."""

    NONE = auto()
    TEXT = auto()
    OPEN = auto()
    PAID = auto()
    """It is complete, and can only be closed."""


@implementer(IMachine)
class DatecsMachine(Generic[_Register]):
    """A machine of Datecs.

    :param line: to the machine.
    """

    kinds = frozenset({SALE, RETURN, CASH_IN, CASH_OUT, Z})

    documents = kinds - {Z}
    """Kinds that are a document of several commands there: one that is open is ours."""

    longest_name: ClassVar[int]
    """Characters of an article's name."""
    forbidden: ClassVar[str] = ""
    """Characters that no text may have."""

    def __init__(self, line: KeptLine[_Register]) -> None:
        self._line = line
        self._articles = Articles()
        self._capacity = 0

    # What each dialect says in its own way.

    def _on(self, link: DatecsLink) -> _Register:
        """The register on a line."""
        raise NotImplementedError

    async def _about(self, register: _Register) -> About:
        raise NotImplementedError

    async def _read(self, register: _Register) -> Figures:
        raise NotImplementedError

    async def _stage(self, register: _Register) -> Stage:
        raise NotImplementedError

    async def _room(self, register: _Register) -> int:
        """How many articles the machine has room for."""
        raise NotImplementedError

    def _article(self, line: SlipLine) -> Article:
        raise NotImplementedError

    async def _write(self, register: _Register, number: int, article: Article) -> bool:
        """Write an article; whether its number was free."""
        raise NotImplementedError

    async def _open(self, register: _Register, slip: Slip) -> None:
        raise NotImplementedError

    async def _sell(self, register: _Register, line: SlipLine, number: int) -> None:
        raise NotImplementedError

    async def _say(self, register: _Register, text: str, fiscal: bool) -> None:
        """Print a line in the open document."""
        raise NotImplementedError

    async def _total(self, register: _Register) -> int:
        raise NotImplementedError

    async def _pay(self, register: _Register, payment: SlipPayment) -> bool:
        """Pay; whether everything is paid then."""
        raise NotImplementedError

    async def _void(self, register: _Register) -> None:
        """Take the open document back.

        :raises DeviceRefused: it stays open.
        """
        raise NotImplementedError

    def _closing(self) -> Any:
        """The command that closes a fiscal document."""
        raise NotImplementedError

    def _number(self, closed: Any) -> int:
        """The document's number in the answer of `_closing`."""
        raise NotImplementedError

    async def _open_text(self, register: _Register) -> None:
        raise NotImplementedError

    async def _close_text(self, register: _Register) -> None:
        raise NotImplementedError

    async def _cash(self, register: _Register, slip: Slip, before: Figures) -> Made:
        """Put cash in, or take it out."""
        raise NotImplementedError

    async def _z(self, register: _Register, before: Figures) -> Made:
        """Make a Z report."""
        raise NotImplementedError

    def _told(self, kind: str, figures: Figures) -> Mapping[str, int]:
        """The sums that a kind of slip may change, as far as the machine tells them."""
        raise NotImplementedError

    def _expected(self, slip: Slip) -> Mapping[str, int]:
        """What the slip adds to these sums."""
        raise NotImplementedError

    # What is asked.

    async def about(self) -> About:
        """Which machine it is."""
        return await self._line.ask(self._about)

    async def figures(self) -> Figures:
        """What it says of itself."""
        return await self._line.ask(self._read)

    # A slip.

    async def make(self, slip: Slip, before: Figures) -> Made:
        """Register a slip: see `IMachine`."""
        if before.document_open:
            raise DeviceRefused("open", IS_OPEN)
        self._check(slip)
        register = await self._line.register()
        if before.more.get(TEXT_OPEN):
            await self._close_text(register)
        if slip.kind == Z:
            return await self._z(register, before)
        if slip.kind in (CASH_IN, CASH_OUT):
            return await self._cash(register, slip, before)
        numbers = await self._numbers(register, slip, before)
        made = await self._whole(register, slip, lambda: self._fill(register, slip, numbers))
        self._articles.sold(numbers)
        return made

    def _check(self, slip: Slip) -> None:
        """Whether the payments of a receipt come to its total.

        :raises DeviceRefused: they do not.
        """
        if slip.kind in (SALE, RETURN):
            paid = sum(payment.sum for payment in slip.payments) - slip.change
            if paid != slip.total:
                raise differs(slip.total, paid)

    async def _tidy(self, register: _Register) -> None:
        """Close a document of text that a broken line has left.

        :raises DeviceRefused: another document is open: somebody works at the machine.
        """
        stage = await self._stage(register)
        if stage is Stage.TEXT:
            await self._close_text(register)
        elif stage is not Stage.NONE:
            raise DeviceRefused("open", IS_OPEN)

    async def _numbers(self, register: _Register, slip: Slip, before: Figures) -> dict[Article, int]:
        """The numbers of the articles. They are written before anything is open, so that a failure leaves nothing."""

        async def write(number: int, article: Article) -> bool:
            return await self._write(register, number, article)

        articles = [self._article(line) for line in slip.lines]
        try:
            self._capacity = self._capacity or await self._room(register)
            return await self._articles.numbers(articles, before.z, self._capacity, write)
        except (DeviceRefused, NotReached):
            raise
        except WireError as error:
            raise NotReached(str(error)) from error

    async def _whole(self, register: _Register, slip: Slip, fill: Callable[[], Awaitable[None]]) -> Made:
        """Open a document, fill it, and close it."""
        await self._open(register, slip)
        with underway():
            try:
                await fill()
            except DeviceRefused as refusal:
                await self._take_back(register, refusal)
                raise
            return await self._close(register)

    async def _fill(self, register: _Register, slip: Slip, numbers: Mapping[Article, int]) -> None:
        """Everything between the opening and the close of a receipt."""
        await self._print(register, slip.above)
        for line in slip.lines:
            await self._sell(register, line, numbers[self._article(line)])
            await self._print(register, (*line.marks, line.text))
        await self._print(register, (*_of_cards(slip.payments), *slip.below))
        total = await self._total(register)
        if total != slip.total:
            raise differs(slip.total, total)
        # Cash comes last: nothing else may be more than the rest.
        for payment in sorted(slip.payments, key=lambda payment: payment.form == CASH) or [SlipPayment(CASH, 0)]:
            if await self._pay(register, payment):
                return
        raise DeviceRefused("payment", UNPAID)

    async def _print(self, register: _Register, texts: Iterable[str], fiscal: bool = True) -> None:
        for text in texts:
            for line in self._lines(text):
                try:
                    await self._say(register, line, fiscal)
                except DeviceRefused as refusal:
                    # Nothing is sold less for a line of text.
                    if refusal.meaning.trouble in _NO_PRINT or not fiscal:
                        raise
                    log.warn("a line of text is left out: {why}", why=refusal)

    def _lines(self, text: str) -> Iterator[str]:
        for line in wrap(text, COLUMNS, break_on_hyphens=False):
            yield shortened(line, COLUMNS, CHARSET, self.forbidden)

    def _name(self, line: SlipLine) -> str:
        """The name of an article. No command has a field for the code of УКТЗЕД."""
        name = f"{line.uktzed} {line.name}" if line.uktzed else line.name
        return shortened(name, self.longest_name, CHARSET, self.forbidden)

    async def _take_back(self, register: _Register, refusal: DeviceRefused) -> None:
        """Take the open document back, because of a refusal in it.

        :raises LeftOpen: it stays open.
        """
        try:
            await self._void(register)
        except DeviceRefused as stays:
            raise LeftOpen(refusal) from stays

    async def _close(self, register: _Register) -> Made:
        """Close a document that is complete.

        :raises LeftOpen: the machine refuses. Everything is paid, so it is not taken back.
        """
        try:
            closed = await self._surely(register, self._closing())
        except DeviceRefused as refusal:
            raise LeftOpen(refusal) from refusal
        return Made(str(self._number(closed)))

    async def _surely(self, register: _Register, command: Any) -> Any:
        """Have a command executed that may be executed twice; once more on a new line when its answer is lost."""
        try:
            return await register.do(command, CLOSE_LIMIT)
        except DeviceRefused:
            raise
        except WireError as lost:
            try:
                return await self._line.repeat(lambda link: self._on(link).do(command, CLOSE_LIMIT, again=True))
            except WireError:
                # A refusal, too: after a loss of power the machine may have nothing to close.
                raise lost from None

    # After a break.

    async def became(self, slip: Slip, before: Figures) -> Made | NotMade | Unclear:
        """What became of a slip: see `IMachine`."""
        if before.document_open:
            # `make` has refused it.
            return NotMade()
        if slip.kind in self.documents:
            stage = await self._line.ask(self._stage)
            register = await self._line.register()
            if stage is Stage.PAID:
                return await self._close(register)
            if stage is Stage.OPEN:
                return await self._ended(register)
        return self._judged(slip, before, await self.figures())

    async def _ended(self, register: _Register) -> Made | NotMade:
        """An open document is taken back, or closed when it turns out to be complete."""
        try:
            await self._void(register)
        except DeviceRefused:
            return await self._close(register)
        return NotMade()

    def _judged(self, slip: Slip, before: Figures, now: Figures) -> Made | NotMade | Unclear:
        """By the machine's figures, when nothing is open on it."""
        if slip.kind == Z:
            return _judged_z(slip, before.z, now.z)
        if before.z != now.z:
            # The sums began anew.
            return look_for(slip)
        earlier, later = self._told(slip.kind, before), self._told(slip.kind, now)
        both = earlier.keys() & later.keys()
        grown = {name: later[name] - earlier[name] for name in both if later[name] != earlier[name]}
        expected = {name: amount for name, amount in self._expected(slip).items() if amount}
        numbered = before.number is not None and now.number is not None
        if numbered and now.number == before.number and not grown:
            return NotMade()
        if not expected or not expected.keys() <= both:
            return look_for(slip)
        if grown == expected:
            return Made(str(now.number) if numbered and now.number == (before.number or 0) + 1 else "")
        return look_for(slip) if grown else NotMade()

    # The rest.

    async def print_text(self, lines: tuple[str, ...]) -> None:
        """Print a document of text."""
        register = await self._line.register()
        await self._tidy(register)
        await self._open_text(register)
        with underway():
            try:
                await self._print(register, lines, fiscal=False)
            finally:
                if not register.link.gone:
                    await self._close_text(register)

    async def x_report(self) -> None:
        """Print an X report."""
        raise NotImplementedError

    async def copy_last(self) -> None:
        """Print a copy of the last receipt."""
        raise NotImplementedError

    async def open_drawer(self) -> None:
        """Open the cash drawer."""
        raise NotImplementedError

    async def _print_alone(self, command: Any, limit: float) -> None:
        """Have something printed that is no document of ours."""
        register = await self._line.register()
        await self._tidy(register)
        await register.do(command, limit)

    def close(self) -> None:
        """Close the line."""
        self._line.close()


def _judged_z(slip: Slip, before: int | None, now: int | None) -> Made | NotMade | Unclear:
    if before is None or now is None or now - before not in (0, 1):
        return look_for(slip)
    return Made(str(now)) if now > before else NotMade()


def by_form(slip: Slip) -> dict[int, int]:
    """What a receipt adds to the turnover of each form of payment: change is given out of cash."""
    sums = {CASH: -slip.change}
    for payment in slip.payments:
        sums[payment.form] = sums.get(payment.form, 0) + payment.sum
    return {form: -amount if slip.kind == RETURN else amount for form, amount in sums.items()}


def _of_cards(payments: Iterable[SlipPayment]) -> Iterator[str]:
    """What a receipt has to say of card payments, for which no command has fields."""
    for payment in payments:
        for name, value in (
            ("", payment.bank),
            ("Термінал", payment.terminal),
            ("Картка", payment.card),
            ("Код авторизації", payment.auth_code),
            ("RRN", payment.rrn),
        ):
            if value:
                yield f"{name} {value}".strip()


def differs(ours: int, theirs: int) -> DeviceRefused:
    """The refusal of a receipt that the machine reckons otherwise."""
    here, there = hryvnias(ours), hryvnias(theirs)
    return DeviceRefused(
        "sum",
        Meaning(
            Trouble.UNKNOWN,
            f"the receipt comes to {here}, the register says {there}",
            f"сума чека {here}, реєстратор порахував {there}",
        ),
    )


UNPAID = Meaning(Trouble.UNKNOWN, "the register says that not all is paid", "за даними реєстратора оплачено не все")
IS_OPEN = Meaning(
    Trouble.WRONG_MODE,
    "a document is open that is not ours: finish it at the register",
    "відкрито чужий документ: завершіть його на реєстраторі",
)


def no_command() -> DeviceRefused:
    """The refusal of what the protocol has no command for."""
    return DeviceRefused("no command", NO_COMMAND)


NO_COMMAND = Meaning(Trouble.UNKNOWN, "this protocol has no such command", "у цьому протоколі немає такої команди")


def look_for(slip: Slip) -> Unclear:
    """The machine's figures agree neither with the slip nor without it."""
    if slip.kind == Z:
        return Unclear(
            Text(
                "Подивіться, чи надрукував реєстратор Z-звіт.", "Look whether the register has printed the Z report."
            )
        )
    total = hryvnias(slip.total)
    return Unclear(
        Text(
            f"Лічильники реєстратора не показують, чи зареєстровано документ на {total}: знайдіть його на стрічці.",
            f"The register's sums do not show whether a document of {total} is registered: look for it on its paper.",
        )
    )
