"""Caisse-AP over IP (Concert V3), the network protocol of French bank terminals (docs/reference/caisse-ap.md).

The till connects to port 8888 of the terminal, sends one request, gets one answer, and the line is closed. There is
no checksum, no acknowledgement, no cancel (the cashier presses the red key) and no query. A message is a row of
fields, each a tag of two letters, the length in three digits, and the value; the tag CZ comes first, the rest in any
order::

    CZ 004 0300   CJ 012 012345678901   CA 002 01   CE 003 978   BA 001 0   CD 001 0   CB 004 1234
    version       protocol id           register    currency     answer     debit      cents
                                                                 at the end

Nothing marks the end of a message. It has ended when the line is closed, or when its last field is complete, it has
all required fields, and nothing follows for a moment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IDelayedCall, IReactorTime, IStreamClientEndpoint
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.hiding import MOST as SHOWN
from protocols.terminals.lines import open_line, stop

PORT = 8888
VERSION = "0300"
"""Of the protocol; 0301 and 0320 exist too (docs/reference/caisse-ap.md#messages)."""

LONGEST = 8192
"""More than the longest message; a longer one is refused."""

SECRET = frozenset({"AA", "AB", "CF"})
"""Card number, expiry and private data: never logged."""

Fields: TypeAlias = dict[str, str]
"""Tag to value, in the order on the wire."""


def encode_fields(fields: Fields) -> bytes:
    """The message made of ``fields``.

    :raises ValueError: for a tag that is not two letters, or a value that is not ASCII or over 999 characters.
    """
    for tag, value in fields.items():
        if len(tag) != 2 or not (tag.isascii() and tag.isalpha()) or len(value) > 999 or not value.isascii():
            raise ValueError(f"{tag}: {len(value)} characters make no field")
    return "".join(f"{tag}{len(value):03d}{value}" for tag, value in fields.items()).encode("ascii")


class Deframer:
    """Finds the fields of one message in a stream cut anywhere."""

    def __init__(self) -> None:
        self._buffer = b""
        self.fields: Fields = {}
        """The complete fields so far."""

    def feed(self, data: bytes) -> None:
        """Take what came.

        :raises Garbled: for anything but fields, a field that comes twice, or a message that does not begin with CZ.
        """
        self._buffer += data
        while self._next():
            pass
        if sum(map(len, self.fields.values())) > LONGEST:
            raise Garbled("a message without an end")

    @property
    def between_fields(self) -> bool:
        """Whether the last field is complete."""
        return not self._buffer

    def _next(self) -> bool:
        tag, length = self._buffer[:2], self._buffer[2:5]
        # Errors contain only tag and length: values may be card data.
        if not ((tag.isalpha() and tag.isupper()) or not tag):
            raise Garbled("not a field of Caisse-AP", tag + length)
        if length and not length.isdigit():
            raise Garbled("a field without a length", tag + length)
        if not self.fields and not b"CZ".startswith(tag):
            raise Garbled("the message does not begin with CZ", tag + length)
        if len(length) < 3:
            return False
        end = 5 + int(length)
        if len(self._buffer) < end:
            return False
        name = tag.decode("ascii")
        if name in self.fields:
            raise Garbled(f"the field {name} comes twice")
        self.fields[name] = self._buffer[5:end].decode("latin-1")
        self._buffer = self._buffer[end:]
        return True


# -- messages -------------------------------------------------------------------------------------------------------


class Action(Enum):
    """The operation (CD)."""

    DEBIT = "0"
    CREDIT = "1"
    CANCEL = "2"
    DUPLICATE = "3"
    """Print the last slip once more; no money moves."""


class Done(Enum):
    """Its result (AE)."""

    DONE = "10"
    NOT_DONE = "01"
    TAKEN = "11"
    """Accepted; the outcome is not known yet."""


class Detail(Enum):
    """Why it was not done (AF)."""

    UNKNOWN = "00"
    AUTHORISED = "01"
    CALL_THE_BANK = "02"
    FORCED = "03"
    REFUSED = "04"
    FORBIDDEN = "05"
    ABANDONED = "06"
    NOT_COMPLETED = "07"
    INPUT_TIMEOUT = "08"
    FORMAT = "09"
    SELECTION = "10"
    OPERATOR = "11"
    UNKNOWN_ACTION = "12"
    CURRENCY = "13"


@dataclass(frozen=True)
class CaisseApRequest:
    """A request.

    ``protocol_id`` is the identifier of 12 digits that the integrator was given (CJ), ``register`` the till's number
    (CA, 2 digits, 1 with one acquirer), ``currency`` the ISO number, ``cents`` the amount, not used by a duplicate.
    """

    action: Action
    cents: int = 0
    protocol_id: str = "000000000000"
    register: str = "01"
    currency: str = "978"
    at_once: bool = False
    """Answer before the customer has paid (BA 1); then the answer proves nothing."""
    application: str = ""
    """Requested application (CC), ``00C`` for a cheque."""
    reference: str = ""
    """The till's own (CH)."""
    partial: bool = False
    """Less may be approved (BF)."""
    read_mode: str = ""
    """How the card may be read (CI), 0 to 4."""
    version: str = VERSION

    def fields(self) -> Fields:
        """Tag to value.

        :raises ValueError: for an amount that does not fit 2 to 12 digits.
        """
        if not 0 <= self.cents < 10**12:
            raise ValueError(f"{self.cents} cents do not fit")
        fields = {
            "CZ": self.version,
            "CJ": self.protocol_id,
            "CA": self.register,
            "CE": self.currency,
            "BA": f"{self.at_once:d}",
            "CD": self.action.value,
        }
        if self.action is not Action.DUPLICATE:
            fields["CB"] = f"{self.cents:02d}"
        optional = {
            "CC": self.application,
            "CH": self.reference,
            "BF": "1" if self.partial else "",
            "CI": self.read_mode,
        }
        return fields | {tag: value for tag, value in optional.items() if value}

    def encode(self) -> bytes:
        """The message."""
        return encode_fields(self.fields())

    @classmethod
    def of(cls, fields: Fields) -> CaisseApRequest:
        """The request that ``fields`` make.

        :raises Garbled: when a required field is missing or invalid.
        """
        action = fields.get("CD", "")
        if action not in {each.value for each in Action}:
            raise Garbled(f"an unknown action {action!r}")
        cents = "0" if Action(action) is Action.DUPLICATE else _needed(fields, "CB")
        if not (cents.isascii() and cents.isdigit() and len(cents) <= 12):
            raise Garbled("an amount that is not a number")
        return cls(
            Action(action),
            int(cents),
            _needed(fields, "CJ"),
            _needed(fields, "CA"),
            _needed(fields, "CE"),
            fields.get("BA") == "1",
            fields.get("CC", ""),
            fields.get("CH", ""),
            fields.get("BF") == "1",
            fields.get("CI", ""),
            fields["CZ"],
        )

    @staticmethod
    def complete(fields: Fields) -> bool:
        """Whether ``fields`` are all required ones of a request."""
        wanted = {"CZ", "CJ", "CA", "CE", "BA", "CD"}
        return wanted <= fields.keys() and (fields["CD"] == Action.DUPLICATE.value or "CB" in fields)


@dataclass(frozen=True)
class CaisseApAnswer:
    """An answer: the result, and the card. What the terminal left out is empty.

    ``more`` has the fields without a name in this class.
    """

    ask: CaisseApRequest
    done: Done
    detail: Detail | None = None
    """Why not; `None` when it was done or the terminal gave none or an unknown one (`detail_code` has it)."""
    detail_code: str = ""
    application: str = ""
    """Of the card (CC): 001 contact, 00B contactless, 002 and 00D Amex, 00C cheque."""
    read_mode: str = ""
    authorisation: str = ""
    pan: str = field(default="", repr=False)
    """Card number, masked by the terminal."""
    aid: str = ""
    expiry: str = field(default="", repr=False)
    contract: str = ""
    slip: str = field(default="", repr=False)
    pan_type: str = ""
    more: Fields = field(default_factory=dict, repr=False)

    @property
    def approved(self) -> bool:
        """Whether it was done; unknown for `TAKEN`."""
        return self.done is Done.DONE

    def encode(self) -> bytes:
        """The message."""
        fields = self.ask.fields()
        for asked in ("CC", "CH", "BF", "CI"):
            fields.pop(asked, None)
        fields["AE"] = self.done.value
        if self.detail is not None or self.detail_code:
            fields["AF"] = self.detail.value if self.detail is not None else self.detail_code
        return encode_fields(fields | self._named(_OWN) | self.more | self._named(_LAST))

    def _named(self, names: dict[str, str]) -> Fields:
        found = {tag: getattr(self, name) for tag, name in names.items()}
        return {tag: value for tag, value in found.items() if value}

    @classmethod
    def of(cls, fields: Fields) -> CaisseApAnswer:
        """The answer that ``fields`` make.

        :raises Garbled: when a required field is missing or invalid.
        """
        done, detail = fields.get("AE", ""), fields.get("AF", "")
        if done not in {each.value for each in Done}:
            raise Garbled(f"an unknown outcome {done!r}")
        mirrored = {tag: value for tag, value in fields.items() if tag not in ("CC", "CH", "BF", "CI")}
        return cls(
            CaisseApRequest.of(mirrored),
            Done(done),
            Detail(detail) if detail in {each.value for each in Detail} else None,
            detail,
            more={tag: value for tag, value in fields.items() if tag not in _NAMED},
            **{name: fields.get(tag, "") for tag, name in (_OWN | _LAST).items()},
        )

    @staticmethod
    def complete(fields: Fields) -> bool:
        """Whether ``fields`` are all required ones of an answer."""
        return (
            CaisseApRequest.complete(fields)
            and "AE" in fields
            and (fields["AE"] != Done.NOT_DONE.value or "AF" in fields)
        )

    def belongs_to(self, ask: CaisseApRequest) -> bool:
        """Whether it answers ``ask``: register, currency, action and protocol id are the same, the amount too.

        Less may be approved only where the request allowed it.
        """
        mine, theirs = ask, self.ask
        same = (mine.register, mine.currency, mine.action, mine.protocol_id)
        if same != (theirs.register, theirs.currency, theirs.action, theirs.protocol_id):
            return False
        return mine.cents == theirs.cents or (mine.partial and 0 < theirs.cents < mine.cents)


_OWN = {"CC": "application", "CI": "read_mode", "AC": "authorisation", "AA": "pan", "AI": "aid", "AB": "expiry"}
_LAST = {"CG": "contract", "AK": "slip", "AL": "pan_type"}
"""Fields of an answer by their names here: those before the unnamed ones, and those behind them."""

_NAMED = frozenset({"CZ", "CJ", "CA", "CE", "BA", "CD", "CB", "AE", "AF", *_OWN, *_LAST})


def _needed(fields: Fields, tag: str) -> str:
    value = fields.get(tag, "")
    if not value:
        raise Garbled(f"the field {tag} is missing")
    return value


# -- the line -------------------------------------------------------------------------------------------------------

Keep: TypeAlias = Callable[[CaisseApAnswer], object]
"""Stores the answer before it is returned; may return a Deferred."""


@dataclass(frozen=True)
class Settings:
    """What is known of one terminal; times in seconds.

    :param protocol_id: 12 digits; :param register: 2 digits; :param currency: ISO number.
    :param answer_wait: how long the terminal may take; the customer is part of it.
    :param quiet: seconds after its last field when an answer on an open line counts as ended.
    :param listen_first: seconds before the request is sent; a terminal is silent then, other services send a banner.
    """

    protocol_id: str = "000000000000"
    register: str = "01"
    currency: str = "980"
    version: str = VERSION
    connect_wait: float = 5.0
    answer_wait: float = 300.0
    quiet: float = 0.5
    listen_first: float = 0.2


DEFAULTS = Settings()


class SpokeFirst(Garbled):
    """The peer sent something before the request, so it is not a terminal: nothing was sent."""


class CaisseApProtocol(Protocol):
    """The till's end of a line: one request, one answer."""

    log = Logger()

    def __init__(self, clock: IReactorTime, quiet: float) -> None:
        self._clock, self._quiet = clock, quiet
        self._deframer = Deframer()
        self._asked: CaisseApRequest | None = None
        self._due: Deferred[CaisseApAnswer] | None = None
        self._ended: IDelayedCall | None = None
        self._deadline: IDelayedCall | None = None
        self.gone = False
        self._unasked = b""

    def ask(self, question: CaisseApRequest, wait: float) -> Deferred[CaisseApAnswer]:
        """Send ``question`` and fire with its answer.

        :raises ValueError: an amount or a text does not fit; nothing was sent.
        :raises NotReached: the line was closed before; nothing was sent.
        :raises SpokeFirst: the peer sent something before; nothing was sent.
        :raises Silent: no answer within ``wait`` seconds. The outcome cannot be queried.
        :raises LineLost: as `Silent`, because the line was closed.
        :raises Garbled: as `Silent`, because what came is not an answer to this request.
        """
        assert self._asked is None
        message = question.encode()
        self._asked = question
        self._due = due = Deferred[CaisseApAnswer](self._abandon)
        if self._unasked:
            self._fail(SpokeFirst("this is not Caisse-AP", self._unasked))
            return due
        if self.gone:
            self._fail(NotReached("the line was closed before the request"))
            return due
        self._deadline = self._clock.callLater(wait, self._fail, Silent(wait))
        self.log.debug("asked: {action}", action=question.action.name)
        assert self.transport is not None
        self.transport.write(message)
        return due

    def dataReceived(self, data: bytes) -> None:
        """Take what came; when it may be complete, wait a moment for more."""
        if self._asked is None:
            self._unasked += data[:SHOWN]
            return
        if self._due is None:
            self.log.warn("{length} bytes after the answer", length=len(data))
            return
        stop(self._ended)
        try:
            self._deframer.feed(data)
        except Garbled as garbled:
            self._fail(garbled)
            return
        if self._may_be_all():
            self._ended = self._clock.callLater(self._quiet, self._read)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The end of the line is the end of the answer, if there is one."""
        self.gone = True
        if self._due is None:
            return
        if self._may_be_all():
            self._read()
        elif self._deframer.fields or not self._deframer.between_fields:
            self._fail(Garbled("the answer breaks off"))
        else:
            clean = reason.check(ConnectionDone) is not None
            self._fail(LineLost("the terminal closed the line" if clean else str(reason.value)))

    def _may_be_all(self) -> bool:
        return self._deframer.between_fields and CaisseApAnswer.complete(self._deframer.fields)

    def _read(self) -> None:
        fields, asked = self._deframer.fields, self._asked
        shown = {tag: value for tag, value in fields.items() if tag not in SECRET}
        self.log.debug("answered: {fields}", fields=shown)
        try:
            answer = CaisseApAnswer.of(fields)
        except Garbled as garbled:
            self._fail(garbled)
            return
        if asked is None or not answer.belongs_to(asked):
            self._fail(Garbled("the answer is to another request"))
            return
        due = self._end()
        if due is not None:
            due.callback(answer)

    def _fail(self, error: WireError) -> None:
        due = self._end()
        if due is not None:
            due.errback(Failure(error))

    def _abandon(self, _: Deferred[CaisseApAnswer]) -> None:
        self._end()

    def _end(self) -> Deferred[CaisseApAnswer] | None:
        due, self._due = self._due, None
        stop(self._ended)
        stop(self._deadline)
        if self.transport is not None:
            self.transport.loseConnection()
        return due


class CaisseApTerminal:
    """One terminal, with a line of its own for each request.

    After `NotReached` nothing happened. After any other `WireError` the outcome is unknown and cannot be queried: a
    person has to look at the slip (`reprint` prints it once more). A terminal that waits for a card ignores a second
    request, so `Silent` may also mean busy (docs/reference/caisse-ap.md#lost-answers).
    """

    def __init__(self, endpoint: IStreamClientEndpoint, clock: IReactorTime, settings: Settings = DEFAULTS) -> None:
        self._endpoint, self._clock, self.settings = endpoint, clock, settings

    async def pay(self, cents: int, reference: str = "", keep: Keep | None = None) -> CaisseApAnswer:
        """Take ``cents`` from a card."""
        return await self._run(Action.DEBIT, cents, reference, keep)

    async def refund(self, cents: int, reference: str = "", keep: Keep | None = None) -> CaisseApAnswer:
        """Give ``cents`` back to a card."""
        return await self._run(Action.CREDIT, cents, reference, keep)

    async def cancel(self, cents: int, reference: str = "", keep: Keep | None = None) -> CaisseApAnswer:
        """Cancel an operation of ``cents``; the terminal asks which."""
        return await self._run(Action.CANCEL, cents, reference, keep)

    async def reprint(self) -> CaisseApAnswer:
        """Print the last slip once more; the answer names no operation, so it proves nothing."""
        return await self._run(Action.DUPLICATE, 0, "", None)

    async def ping(self) -> None:
        """Open a line and close it.

        :raises NotReached: the terminal does not accept the connection.
        """
        line = await self._open()
        assert line.transport is not None
        line.transport.loseConnection()

    async def _run(self, action: Action, cents: int, reference: str, keep: Keep | None) -> CaisseApAnswer:
        settings = self.settings
        question = CaisseApRequest(
            action, cents, settings.protocol_id, settings.register, settings.currency, reference=reference
        )
        line = await self._open()
        await deferLater(self._clock, settings.listen_first)
        answer = await line.ask(question, settings.answer_wait)
        if keep is not None:
            await maybeDeferred(keep, answer)
        return answer

    async def _open(self) -> CaisseApProtocol:
        return await open_line(
            self._endpoint,
            lambda: CaisseApProtocol(self._clock, self.settings.quiet),
            self._clock,
            self.settings.connect_wait,
        )
