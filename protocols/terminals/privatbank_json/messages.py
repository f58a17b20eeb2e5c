"""The messages between register and terminal, in bytes and as values (docs/reference/privatbank-json.md).

A message is compact JSON in UTF-8 and one zero byte; there is no length, no checksum and no number::

    00                                        only before the first message of a connection
    {"method":"PingDevice","step":0}          a request, `Request`
    00
    {"method":"PingDevice","step":0,"params":{"code":"00","responseCode":"0000"},"error":false,...}
    00                                        its answer, `Reply`

An answer is matched to its request by ``method`` alone. Everything else, and what may be sent while a primary
method runs, is a ``ServiceMessage`` with its name in ``params.msgType``.
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
"""Bytes of one message; receipts are the largest part of it (docs/reference/privatbank-json.md#line)."""

SERVICE = "ServiceMessage"

APPROVED, PARTLY_APPROVED = "0000", "0010"
"""Codes of success; after the second one the amount may be less than requested, or no cash was given."""

_SHOWN = 32


def frame(payload: bytes) -> bytes:
    """The bytes on the wire for one message."""
    return payload + END


class Deframer:
    """Puts messages together from a stream that may be cut anywhere; empty pieces are skipped."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._rest = bytearray()

    @property
    def pending(self) -> bytes:
        """The beginning of an incomplete message."""
        return bytes(self._rest[:_SHOWN])

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The messages that ``data`` completes, in order.

        :raises Garbled: when a message exceeds the limit; it is dropped.
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
    """A message of the register as on the wire; `params` is `None` where the method has none."""

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

        :raises Garbled: when it is not a message.
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
    return tuple(
        PromptLine(str(line.get("text", "")), text_of(line.get("font")) or "N", text_of(line.get("align")) or "C")
        for line in lines
        if isinstance(line, dict)
    )


@dataclass(frozen=True)
class Reply:
    """A message of the terminal: the answer to a method, or a service message."""

    method: str
    params: Mapping[str, str] = field(default_factory=dict)
    error: bool = False
    text: str = ""
    """The text of the terminal, in its own language."""

    def encode(self) -> bytes:
        """The JSON of this message, with the documented spelling."""
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
        """Read a message of the terminal with all the quirks of known firmware.

        :raises Garbled: when it is not a message.
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
        """Whether another operation runs, so that this one was not taken."""
        return self.message_type == "deviceBusy"

    @property
    def unknown_method(self) -> bool:
        """Whether this terminal does not have the method."""
        return self.message_type == "methodNotImplemented"

    @property
    def code(self) -> str:
        """Four digits, below 1000 of the bank, from 1000 of the terminal; may be empty."""
        code = self.params.get("responseCode", "")
        return code.zfill(4) if code.isdigit() else code

    @property
    def approved(self) -> bool:
        """Whether the operation succeeded: the code decides, because ``error`` was seen with 0000."""
        return self.code in (APPROVED, PARTLY_APPROVED)

    @property
    def transaction(self) -> Transaction:
        """The operation in this answer."""
        return Transaction.read(self.params)

    @property
    def numbered(self) -> dict[int, str]:
        """Merchants or masks by their numbers, which may have gaps."""
        # No terminal has thousands of merchants: a long row of digits is not a merchant's number.
        return {int(name): value for name, value in self.params.items() if name.isdecimal() and len(name) < 5}

    def __repr__(self) -> str:
        return f"{self.method}({masked(self.params)}, error={self.error}, text={self.text!r})"


@dataclass(frozen=True)
class Transaction(Members):
    """An operation in an answer (docs/reference/privatbank-json.md#reply); after a refusal most of it is blank.

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
    """Names it in a later `Withdrawal`."""
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
    """With `Cashback`: the part of the amount that was given in cash."""
    result: str | None = None
    result_cashback: bool | None = None
    """With `Cashback`: whether the cash part passed too."""


@dataclass(frozen=True)
class DiscountCard(Members):
    """A card that `ReadCardDiscount` read; all of it is blank when no card was read, even without an error."""

    hash: str = field(default="", repr=False)
    track1: str = field(default="", repr=False)
    track2: str = field(default="", repr=False)
    track3: str = field(default="", repr=False)

    @property
    def was_read(self) -> bool:
        """Whether there was a card."""
        return bool(self.hash or self.track1 or self.track2 or self.track3)


@dataclass(frozen=True)
class PresentedCard(Members):
    """The card of a purchase that waits for a correction: its discount group and masked number."""

    discount_name: str = ""
    pan: str = ""
    pos_entry_mode: str = ""


@dataclass(frozen=True)
class Identity(Members):
    """Who made the terminal."""

    result: str = ""
    vendor: str = ""
    model: str = ""
