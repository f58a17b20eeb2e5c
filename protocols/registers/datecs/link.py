"""Lines to Datecs registers of both dialects (docs/reference/registers.md#datecs-frame)."""

from __future__ import annotations

from typing import TypeVar

from twisted.internet.interfaces import IReactorTime

from protocols.registers.datecs import classic, ukrainian
from protocols.registers.datecs.classic import ClassicAnswer, ClassicCommand, Status
from protocols.registers.datecs.frames import FIRST_NUMBER, LAST_OLD_NUMBER, DatecsFrame, Deframer
from protocols.registers.datecs.ukrainian import UkrainianAnswer, UkrainianCommand
from protocols.registers.numbered import NumberedLink, Numbers, Patience
from protocols.serial import SerialSettings

PATIENCE = Patience(reply_wait=0.5, repeats=3)

LINE_LIMIT, CLOSE_LIMIT, Z_LIMIT, NETWORK_LIMIT = 5.0, 15.0, 120.0, 180.0
"""Seconds for a line of a receipt, its close, a report, a word with the tax service (L)."""

_Answer = TypeVar("_Answer", bound=UkrainianAnswer)
_Classic = TypeVar("_Classic", bound=ClassicAnswer)


def line_settings(port: str, baudrate: int = 9600) -> SerialSettings:
    """How the line is opened: 8N1; 115200 is the other speed of the factory."""
    return SerialSettings(port, baudrate)


def numbers(used: int | None = None) -> Numbers:
    """Numbers that every register takes."""
    return Numbers(FIRST_NUMBER, LAST_OLD_NUMBER, used)


class DatecsLink(NumberedLink[DatecsFrame]):
    """The till's end of a line."""

    def __init__(self, clock: IReactorTime, sequence: Numbers, patience: Patience = PATIENCE) -> None:
        super().__init__(clock, Deframer(), sequence, patience)

    def encode(self, number: int, code: int, data: bytes) -> bytes:
        """The frame of a command."""
        return DatecsFrame(number, code, data).encode()


class ClassicRegister:
    """A register of the classic dialect on an open line."""

    def __init__(self, link: DatecsLink) -> None:
        self.link = link
        self.status = Status(b"")
        """The status in the last answer, whether the command was executed or not."""

    async def greet(self) -> None:
        """Begin a new line; see `NumberedLink.greet`."""
        command = classic.ReadStatus()
        await self.link.greet(command.code, command.encode(), LINE_LIMIT)

    async def do(self, command: ClassicCommand[_Classic], limit: float = LINE_LIMIT, again: bool = False) -> _Classic:
        """Have a command executed.

        :param again: see `NumberedLink.ask`.
        :raises DeviceRefused: the status says that the register did not execute it. The letter of a payment and that
            of an article are for the caller.
        :raises WireError: as `NumberedLink.ask`; also `Garbled` when the answer is not that of the command.
        """
        frame = await self.link.ask(command.code, command.encode(), limit, again)
        self.status = Status(frame.status)
        if self.status.refusal is not None:
            raise self.status.refusal
        answer: _Classic = command.answer.decode(frame.data)
        return answer


class UkrainianRegister:
    """A register of the Ukrainian dialect on an open line.

    :param password: six digits.
    """

    def __init__(self, link: DatecsLink, password: str = ukrainian.DEFAULT_PASSWORD) -> None:
        self.link, self._password = link, password
        self.status = b""
        """The status in the last answer, whether it was an error or not."""

    async def greet(self) -> None:
        """Begin a new line; see `NumberedLink.greet`."""
        command = ukrainian.ReadState()
        await self.link.greet(command.code, command.encode(self._password), LINE_LIMIT)

    async def do(self, command: UkrainianCommand[_Answer], limit: float = LINE_LIMIT, again: bool = False) -> _Answer:
        """Have a command executed.

        :param again: see `NumberedLink.ask`.
        :raises DeviceRefused: the register did not execute it.
        :raises WireError: as `NumberedLink.ask`; also `Garbled` when the answer is not that of the command.
        """
        frame = await self.link.ask(command.code, command.encode(self._password), limit, again)
        self.status = frame.status
        answer: _Answer = command.answer.decode(frame.data)
        return answer
