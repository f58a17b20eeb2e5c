"""The channel of a hardware register: its documents go to the machine instead of the tax service.

The bytes that the engine keeps with the intent are the slip and the figures that the machine had before. They say
after any break what to ask the machine for, so nothing else has to be remembered.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from twisted.logger import Logger
from zope.interface import implementer

from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document
from dmtwisted.registers.channels.interface import (
    Absent,
    Accepted,
    ChannelOutcome,
    IFiscalChannel,
    Rejected,
    Unchained,
    Unknown,
    numbered_from,
)
from dmtwisted.registers.totals import RegisterState, Session
from dmtwisted.registers.wired.interface import About, Figures, IMachine, Made, NotMade, Slip, Unclear
from dmtwisted.registers.wired.refusals import refusal
from dmtwisted.registers.wired.settings import WiredSettings
from dmtwisted.registers.wired.slips import not_there, slip_of
from dmtwisted.results import Refused, Res, Text
from dmtwisted.wording import wording
from protocols.errors import NotReached, WireError
from protocols.registers.troubles import DeviceRefused, Trouble


class Sent(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a document before it goes to the machine; without a slip it has no command there."""

    slip: Slip | None
    before: Figures
    machine: str = ""
    """Which machine has these figures, if it tells."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Sent).decode


@implementer(IFiscalChannel)
class WiredChannel(Unchained):
    """The way to a machine.

    :param saw: gets the figures of the machine whenever they are read between two documents.
    """

    log = Logger()

    remote = unverified = False
    renews = True
    dtype = 1
    desk = ""

    def __init__(self, machine: IMachine, settings: WiredSettings, saw: Callable[[Figures], None]) -> None:
        self._machine, self._settings, self._saw = machine, settings, saw
        self.about: About | None = None
        """Which machine it is, once it was asked."""
        self._lines = 0
        """How many lines there were then."""
        self.said: dict[int, bool] = {}
        """Whether documents were made, by their local numbers, as a person says who has looked."""

    async def look(self) -> Figures:
        """The figures of the machine that the settings mean.

        :raises Refused: 430 when it cannot be asked, or is another one.
        """
        await self.know()
        try:
            figures = await self._machine.figures()
        except WireError as error:
            self.about = None
            raise refusal(error) from error
        await self.know()
        self._saw(figures)
        return figures

    async def know(self) -> About:
        """Which machine it is.

        :raises Refused: as `look` does.
        """
        try:
            about = await self._answering()
        except WireError as error:
            raise refusal(error) from error
        if _differ(about.fiscal_number, self._settings.fiscal_number):
            self.about = None
            other = Text(f"це каса {about.fiscal_number}", f"this is the register {about.fiscal_number}")
            raise Refused(Res.DEVICE_ERROR, other)
        return about

    async def _answering(self) -> About:
        """Which machine answers on the line that is open now."""
        if self.about is None or self._lines != self._machine.lines:
            self.about = None
            self.about = await self._machine.about()
            self._lines = self._machine.lines
        return self.about

    async def prepare(self, document: Document) -> bytes:
        """The slip, and the figures before it: see `IFiscalChannel`."""
        kind = document.kind
        if kind == documents.CLOSE:
            return _encode(Sent(None, Figures()))
        if kind == documents.OPEN:
            figures = await self.look()
            if figures.shift_open is not False and has_traded(figures):
                raise Refused(Res.SHIFT_MUST_BE_CLOSED, note=SOLD_BEFORE)
            return _encode(Sent(None, figures))
        if kind not in self._machine.kinds:
            not_there(document)
        slip = slip_of(document, self._settings)
        return await self._sent(slip)

    async def _sent(self, slip: Slip) -> bytes:
        figures = await self.look()
        return _encode(Sent(slip, figures, "" if self.about is None else _name(self.about)))

    def left_out(self, document: Document) -> list[Text]:
        """Nothing is known of what a machine leaves out of its paper."""
        return []

    async def again(self, document: Document, sent: bytes) -> bytes:
        """The same slip with new figures, when it certainly was not made: see `IFiscalChannel`."""
        slip = _decode(sent).slip
        return sent if slip is None else await self._sent(slip)

    async def submit(self, document: Document, sent: bytes) -> ChannelOutcome:
        """Have the machine register a slip; a document without one is done."""
        kept = _decode(sent)
        slip, before = kept.slip, kept.before
        if slip is None:
            return Accepted(_own_number(document))
        try:
            return _accepted(await self._machine.make(slip, before), slip, document.number)
        except DeviceRefused as refused:
            if slip.kind == documents.Z and before.shift_open is False and _wrong_mode(refused):
                # Closed by hand, or nothing was sold: there is no other Z report to make.
                return _accepted(Made("" if before.z is None else str(before.z)), slip, document.number)
            return Rejected(refusal(refused, slip.kind))
        except NotReached as error:
            return Rejected(refusal(error))
        except WireError as error:
            return Unknown(wording(error))

    async def probe(self, number: int, sent: bytes) -> Accepted | Absent | Unknown:
        """What the machine says of a slip."""
        kept = _decode(sent)
        slip, before = kept.slip, kept.before
        if slip is None:
            # An opening that was not stored as done had no effect, and a closing has none either.
            return Absent()
        if number in self.said:
            return _accepted(Made(""), slip, number) if self.said[number] else Absent()
        try:
            about = await self._answering()
            if _differ(_name(about), kept.machine) or _differ(about.fiscal_number, self._settings.fiscal_number):
                return Unknown(ANOTHER, Res.COLLISION_UNSOLVABLE)
            became = await self._machine.became(slip, before)
        except WireError as error:
            return Unknown(wording(error))
        if isinstance(became, Made):
            return _accepted(became, slip, number)
        if isinstance(became, Unclear):
            return Unknown(became.advice, Res.COLLISION_UNSOLVABLE)
        assert isinstance(became, NotMade)
        return Absent()

    async def upload(self, package: list[bytes], session: Session) -> ChannelOutcome:
        """Never: there is no offline mode."""
        return Rejected(Refused(Res.OFFLINE_FORBIDDEN))

    async def answers(self) -> bool:
        """Whether the machine answers now."""
        try:
            await self.look()
        except Refused:
            return False
        return True

    async def greet(self) -> None:
        """Ask the machine for its figures."""
        await self.look()

    async def first_number(self) -> int:
        """A machine expects no number of ours."""
        return 0

    async def beginning(self, state: RegisterState) -> RegisterState:
        """The number that is expected next: see `IFiscalChannel`."""
        return numbered_from(state, await self.first_number())

    def key_days_left(self) -> int | None:
        """A machine signs itself."""
        return None

    async def check(self) -> None:
        """Ask the machine who it is and for its figures."""
        self.about = None
        await self.look()


def drawer_in(sent: bytes) -> int | None:
    """The cash in the drawer, as the machine said before a document."""
    return _decode(sent).before.drawer


def has_traded(figures: Figures) -> bool:
    """Whether a machine has sold or returned anything since its last Z report."""
    told = (figures.sales, figures.returns, figures.sold, figures.returned, *figures.forms.values())
    return any(told)


SOLD_BEFORE = Text(
    "на апараті вже продавали без сервісу: зробіть на ньому Z-звіт",
    "the machine has sold without this service: make a Z-report on it",
)


ANOTHER = Text(
    "За цією адресою інша каса. Підключіть ту, на якій пробивали, або подивіться на її стрічку.",
    "Another register is at this address. Connect the one that the document went to, or look at its paper.",
)


def _name(about: About) -> str:
    return about.fiscal_number or about.serial


def _differ(one: str, other: str) -> bool:
    """Whether two names are of different machines, when both are known."""
    return bool(one and other and one != other)


def _accepted(made: Made, slip: Slip, number: int) -> Accepted:
    """A Z report and a receipt may have the same number there."""
    own = made.number or f"{OWN}{number}"
    return Accepted(f"Z{own}" if slip.kind == documents.Z else own)


OWN = "N"
"""Before our number, where a machine has none."""


def _own_number(document: Document) -> str:
    return f"{OWN}{document.number}"


def _wrong_mode(refused: DeviceRefused) -> bool:
    return refused.meaning.trouble is Trouble.WRONG_MODE
