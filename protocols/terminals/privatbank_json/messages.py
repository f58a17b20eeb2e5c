"""What register and terminal say to each other, in bytes and as values (terminals.md 4.1 to 4.7).

A message is compact JSON in UTF-8 and one zero byte; there is no length, no checksum and no number::

    00                                        only before the first message of a connection
    {"method":"PingDevice","step":0}          a request, `Request`
    00
    {"method":"PingDevice","step":0,"params":{"code":"00","responseCode":"0000"},"error":false,...}
    00                                        its answer, `Reply`

An answer is matched to its request by ``method`` alone. What the terminal tells besides, and what may be asked while
a primary method runs, travels under the one method ``ServiceMessage`` with its name in ``params.msgType``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from protocols.errors import Garbled
from protocols.terminals.loose_json import flag_of, masked, read_object, text_of, texts_of, write_object
from protocols.terminals.privatbank_json.amounts import LOOSE_KOPECKS, OptionalKopecks
from protocols.terminals.typed_members import Members, Wire

END = b"\x00"

LONGEST = 65_536
"""Bytes of one message; receipts are the largest part of it (terminals.md 4.1)."""

SERVICE = "ServiceMessage"

APPROVED, PARTLY_APPROVED = "0000", "0010"
"""Codes of success; with the second one the amount may be less than asked, or no cash was given."""

_SHOWN = 32


def frame(payload: bytes) -> bytes:
    """The bytes on the wire for one message."""
    return payload + END


class Deframer:
    """Puts messages together from a stream that may be cut anywhere; empty pieces are no messages."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._rest = bytearray()

    @property
    def pending(self) -> bytes:
        """The beginning of what has not come to its end."""
        return bytes(self._rest[:_SHOWN])

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The messages that ``data`` completes, in order.

        :raises Garbled: when a message grows over the limit; what came of it is forgotten.
        """
        *ended, rest = data.split(END)
        for piece in ended:
            self._take(piece)
            payload = bytes(self._rest)
            self._rest.clear()
            if payload.strip():
                yield payload
        self._take(rest)

    def _take(self, piece: bytes) -> None:
        if len(self._rest) + len(piece) > self._longest:
            first = (self.pending + piece)[:_SHOWN]
            self._rest.clear()
            raise Garbled(f"a message of more than {self._longest} bytes", first)
        self._rest += piece


@dataclass(frozen=True)
class PromptLine:
    """A line for the terminal's display: ``font`` N, B or S, ``align`` C, L or R."""

    text: str
    font: str = "N"
    align: str = "C"


@dataclass(frozen=True)
class Request:
    """A message of the register as it stands on the wire; `params` is `None` where the method has none."""

    method: str
    params: Mapping[str, str] | None = None
    prompt: tuple[PromptLine, ...] = ()

    def encode(self) -> bytes:
        """The JSON of this message."""
        message: dict[str, object] = {"method": self.method, "step": 0}
        if self.prompt:
            message["prompt"] = {"line": [dataclasses.asdict(line) for line in self.prompt]}
        if self.params is not None:
            message["params"] = self.params
        return write_object(message)

    @classmethod
    def decode(cls, payload: bytes) -> Request:
        """Read a message of the register.

        :raises Garbled: when it is no message.
        """
        message = read_object(payload)
        params = message.get("params")
        return cls(_method(message, payload), None if params is None else texts_of(params), _prompt(message))

    def __repr__(self) -> str:
        return f"{self.method}({masked(self.params or {})})"


def _method(message: Mapping[str, object], payload: bytes) -> str:
    method = text_of(message.get("method"))
    if not method:
        raise Garbled("a message without a method", payload)
    return method


def _prompt(message: Mapping[str, object]) -> tuple[PromptLine, ...]:
    prompt = message.get("prompt")
    lines = prompt.get("line") if isinstance(prompt, dict) else None
    if not isinstance(lines, list):
        return ()
    told = [line for line in lines if isinstance(line, dict)]
    return tuple(
        PromptLine(str(line.get("text", "")), text_of(line.get("font")) or "N", text_of(line.get("align")) or "C")
        for line in told
    )


@dataclass(frozen=True)
class Reply:
    """A message of the terminal: the answer to a method, or a service message."""

    method: str
    params: Mapping[str, str] = field(default_factory=dict)
    error: bool = False
    text: str = ""
    """The words of the terminal, in its own language."""

    def encode(self) -> bytes:
        """The JSON of this message, spelt as the document has it."""
        return write_object(
            {
                "method": self.method,
                "step": 0,
                "params": self.params,
                "error": self.error,
                "errorDescription": self.text,
            }
        )

    @classmethod
    def decode(cls, payload: bytes) -> Reply:
        """Read a message of the terminal with all the quirks of known firmware (terminals.md 4.2).

        :raises Garbled: when it is no message.
        """
        message = read_object(payload)
        # Four spellings of errorDescription are in use.
        words = [text_of(value) for name, value in message.items() if name.startswith("errorDe")]
        return cls(
            _method(message, payload),
            texts_of(message.get("params")),
            flag_of(message.get("error")),
            next(filter(None, words), ""),
        )

    @property
    def message_type(self) -> str:
        """The name of a service message; empty for the answer to a primary method."""
        return self.params.get("msgType", "") if self.method == SERVICE else ""

    @property
    def busy(self) -> bool:
        """Whether the terminal is at another operation and did not take this one."""
        return self.message_type == "deviceBusy"

    @property
    def unknown_method(self) -> bool:
        """Whether this terminal does not have the method."""
        return self.message_type == "methodNotImplemented"

    @property
    def code(self) -> str:
        """Four digits, below 1000 of the bank, from 1000 of the terminal; empty without one (terminals.md 4.6)."""
        code = self.params.get("responseCode", "")
        return code.zfill(4) if code.isdigit() else code

    @property
    def approved(self) -> bool:
        """Whether the operation succeeded: the code decides, ``error`` was seen beside 0000 (terminals.md 4.10)."""
        return self.code in (APPROVED, PARTLY_APPROVED)

    @property
    def transaction(self) -> Transaction:
        """The operation that this answer tells of."""
        return Transaction.read(self.params)

    @property
    def numbered(self) -> dict[int, str]:
        """Merchants or masks by their numbers, which may have gaps."""
        # No terminal has merchants by the thousand: a long row of digits is not a number of one.
        return {int(name): told for name, told in self.params.items() if name.isdecimal() and len(name) < 5}

    def __repr__(self) -> str:
        return f"{self.method}({masked(self.params)}, error={self.error}, text={self.text!r})"


@dataclass(frozen=True)
class Transaction(Members):
    """An operation as the terminal tells of it (terminals.md 4.5); after a refusal most of it is blank.

    Amounts in kopecks; ``date`` is DD.MM.YYYY and ``time`` HH:MM:SS of the terminal's clock. ``txn_type``: 1
    purchase, 2 refund, 3 cancel, 4 instalments; ``trn_status``: 1 approved, 2 declined, 3 reversed, 4 cancelled.
    """

    amount: OptionalKopecks = None
    approval_code: str = ""
    capture_reference: str = ""
    card_expiry_date: str = ""
    card_holder_name: str = ""
    date: str = ""
    discount: OptionalKopecks = None
    agreement_number: Annotated[str, Wire(str, str, "hstFld63Sf89")] = ""
    """Names an instalment plan, for its refund."""
    invoice_number: str = ""
    """What a later `Withdrawal` asks for."""
    issuer_name: str = ""
    merchant: str = ""
    pan: str = ""
    pos_condition_code: str = ""
    pos_entry_mode: str = ""
    processing_code: str = ""
    receipt: str = ""
    response_code: str = ""
    rrn: str = ""
    rrn_ext: str = ""
    """The RRN of another bank's card."""
    terminal_id: str = ""
    time: str = ""
    track1: str = field(default="", repr=False)
    sign_verif: str = ""
    txn_type: str = ""
    trn_status: str = ""
    adv: str = ""
    adv2p: str = ""
    bank_acquirer: str = ""
    payment_system: str = ""
    sub_merchant: str = ""
    amount_cash: Annotated[int, LOOSE_KOPECKS] | None = None
    """With `Cashback`: what of the amount was given in cash."""
    result: str | None = None
    result_cashback: bool | None = None
    """With `Cashback`: whether the cash part passed too."""


@dataclass(frozen=True)
class DiscountCard(Members):
    """A card that `ReadCardDiscount` read; all of it is blank when nothing was read, even without an error."""

    hash: str = field(default="", repr=False)
    track1: str = field(default="", repr=False)
    track2: str = field(default="", repr=False)
    track3: str = field(default="", repr=False)

    @property
    def was_read(self) -> bool:
        """Whether there was a card at all."""
        return bool(self.hash or self.track1 or self.track2 or self.track3)


@dataclass(frozen=True)
class PresentedCard(Members):
    """The card of a purchase that waits for a correction: its discount group and masked number (terminals.md 4.8)."""

    discount_name: str = ""
    pan: str = ""
    pos_entry_mode: str = ""


@dataclass(frozen=True)
class Identity(Members):
    """Who made the terminal."""

    result: str = ""
    vendor: str = ""
    model: str = ""
