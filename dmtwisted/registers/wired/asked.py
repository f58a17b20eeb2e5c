"""A machine that is asked what became of a slip whenever anything in it was refused or lost: ICS and Maria.

Nothing is registered before the last command of a slip, and the figures tell whether that one was executed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Generic, TypeVar

from dmtwisted.documents.documents import CASH_IN, CASH_OUT, RETURN, SALE, Z
from dmtwisted.registers.wired.interface import Figures, Made, NotMade, Slip, Unclear
from dmtwisted.registers.wired.outcomes import settled
from protocols.errors import NotReached, WireError
from protocols.registers.lines import KeptLine, underway
from protocols.registers.troubles import DeviceRefused, Trouble

_Register = TypeVar("_Register", bound=Any)
_Value = TypeVar("_Value")


class AskedMachine(Generic[_Register]):
    """The way of a slip.

    :param line: to the machine.
    """

    kinds = frozenset({SALE, RETURN, CASH_IN, CASH_OUT, Z})

    cashier_width: ClassVar[int]

    def __init__(self, line: KeptLine[_Register]) -> None:
        self._line = line
        self._cashier: str | None = None
        """Who is logged in on this line."""
        self._locked: DeviceRefused | None = None
        """The password was refused: a machine counts wrong ones, and in the end it takes none."""

    # What each machine does in its own way.

    def _name(self, text: str, most: int) -> str:
        """A text as the machine can print it."""
        raise NotImplementedError

    def _login(self, name: str) -> Any:
        """The command that logs a cashier in."""
        raise NotImplementedError

    async def _prepared(self, slip: Slip) -> Any:
        """The slip as far as it can be prepared without an effect.

        :raises DeviceRefused: the machine cannot take it.
        """
        raise NotImplementedError

    async def _make(self, register: _Register, slip: Slip, before: Figures, prepared: Any) -> Made:
        raise NotImplementedError

    async def became(self, slip: Slip, before: Figures) -> Made | NotMade | Unclear:
        """See `IMachine`."""
        raise NotImplementedError

    # What they share.

    async def make(self, slip: Slip, before: Figures) -> Made:
        """Register a slip: see `IMachine`."""
        prepared = await self._prepared(slip)
        await self._log_in(slip.cashier)
        register = await self._line.register()
        try:
            with underway():
                return await self._make(register, slip, before, prepared)
        except DeviceRefused as refusal:
            self._forget()
            return await settled(refusal, self.became(slip, before))
        except WireError:
            self._line.drop()
            raise

    def close(self) -> None:
        """Close the line."""
        self._line.close()

    def _forget(self) -> None:
        """The machine may have been switched off, or programmed anew."""
        self._cashier = None

    async def _ask(self, question: Callable[[_Register], Awaitable[_Value]]) -> _Value:
        """Do what may be done twice."""
        return await self._line.ask(question)

    async def _ask_first(self, question: Callable[[_Register], Awaitable[_Value]]) -> _Value:
        """The same before a slip, when nothing has happened.

        :raises NotReached: there is no answer.
        """
        try:
            return await self._ask(question)
        except DeviceRefused:
            raise
        except WireError as error:
            raise error if isinstance(error, NotReached) else NotReached(str(error)) from error

    async def _log_in(self, cashier: str) -> None:
        """Log a cashier in, on a new line and when it is another one.

        :raises NotReached: the machine does not answer.
        """
        if self._locked is not None:
            raise self._locked
        name = self._name(cashier, self.cashier_width)
        await self._line.register()
        if self._cashier == name:
            return
        try:
            await self._ask_first(lambda register: register.do(self._login(name)))
        except DeviceRefused as refusal:
            if refusal.meaning.trouble is Trouble.BAD_PASSWORD:
                self._locked = refusal
            raise
        self._cashier = name

    async def _do(self, *commands: Any) -> None:
        """Have commands executed that register nothing; each is a command, or one with its time limit."""
        await self._log_in(self._cashier or "")
        register = await self._line.register()
        try:
            for command in commands:
                await register.do(*(command if isinstance(command, tuple) else (command,)))
        except DeviceRefused:
            self._forget()
            raise
        except WireError:
            self._line.drop()
            raise
