"""Lines to ICS registers (docs/reference/registers.md#ics)."""

from __future__ import annotations

from typing import TypeVar

from twisted.internet.interfaces import IReactorTime

from protocols.errors import Garbled, Silent
from protocols.registers.ics.commands import (
    MEMORY_PAGE,
    Head,
    IcsAnswer,
    IcsCommand,
    Memory,
    ReadMemory,
    ReadState,
    Reserve,
    State,
    Status,
)
from protocols.registers.ics.frames import FIRST_NUMBER, LAST_NUMBER, Deframer, IcsFrame
from protocols.registers.numbered import NumberedLink, Numbers, Patience
from protocols.registers.troubles import NotTaken
from protocols.serial import SerialSettings

PATIENCE = Patience(reply_wait=0.8, repeats=2)

LINE_LIMIT, REPORT_LIMIT = 5.0, 60.0
"""Seconds for a line of a receipt and for a report (L)."""

_Answer = TypeVar("_Answer", bound=IcsAnswer)


def line_settings(port: str, baudrate: int = 9600) -> SerialSettings:
    """How the line is opened: 8N1; 19200 and 38400 are other speeds."""
    return SerialSettings(port, baudrate)


def numbers(used: int | None = None) -> Numbers:
    """Numbers of commands."""
    return Numbers(FIRST_NUMBER, LAST_NUMBER, used)


class IcsLink(NumberedLink[IcsFrame]):
    """The till's end of a line.

    :param crc: whether frames have a CRC, as in EP-09 and EP-11.
    """

    def __init__(
        self, clock: IReactorTime, sequence: Numbers, crc: bool = False, patience: Patience = PATIENCE
    ) -> None:
        super().__init__(clock, Deframer(crc), sequence, patience)
        self._crc = crc

    @property
    def crc(self) -> bool:
        """The mode of frames, which may change between commands."""
        return self._crc

    @crc.setter
    def crc(self, mode: bool) -> None:
        self._crc, self._deframer = mode, Deframer(mode)

    def encode(self, number: int, code: int, data: bytes) -> bytes:
        """The frame of a command."""
        return IcsFrame(number, code, data).encode(self._crc)


class IcsRegister:
    """A register on an open line."""

    def __init__(self, link: IcsLink) -> None:
        self.link = link
        self.head = Head(Status(0), 0, Reserve(0))
        """Status and state in the last answer, whether the command was executed or not."""

    @property
    def receipt_open(self) -> bool:
        """Whether a receipt is open, by the last answer."""
        return Reserve.RECEIPT_OPEN in self.head.reserve

    async def greet(self) -> None:
        """Begin a new line; see `NumberedLink.greet`."""
        command: IcsCommand[State] = ReadState()
        await self.link.greet(command.code, command.encode(), LINE_LIMIT)

    async def meet(self) -> None:
        """Begin a line to a register that may want a CRC behind frames, or may not; `IcsLink.crc` knows then.

        :raises WireError: it answers neither way.
        """
        try:
            await self.greet()
        except (Garbled, NotTaken, Silent):
            self.link.crc = not self.link.crc
            await self.greet()

    async def memory(self, place: tuple[int, int]) -> Memory:
        """What is at an address of `MEMORY_PAGE`, so many bytes.

        :raises WireError: as `do`.
        """
        address, size = place
        memory = await self.do(ReadMemory(address, MEMORY_PAGE, size))
        if len(memory.raw) != size:
            raise Garbled(f"{len(memory.raw)} bytes of memory instead of {size}", memory.raw)
        return memory

    async def do(self, command: IcsCommand[_Answer], limit: float = LINE_LIMIT, again: bool = False) -> _Answer:
        """Have a command executed.

        :param again: see `NumberedLink.ask`.
        :raises DeviceRefused: the register did not execute it.
        :raises WireError: as `NumberedLink.ask`; also `Garbled` when the answer is not that of the command.
        """
        frame = await self.link.ask(command.code, command.encode(), limit, again)
        self.head, rest = Head.decode(frame.data)
        if self.head.refusal is not None:
            raise self.head.refusal
        answer: _Answer = command.answer.decode(rest)
        return answer
