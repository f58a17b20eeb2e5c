"""The messages between register and terminal, in bytes and as values (docs/reference/ssi-json.md).

A frame, on TCP and on a serial line alike::

    02          start
    66 01       protocol, version
    00 16       length of the data, two bytes, high byte first
    7b .. 7d    the data: one JSON object in UTF-8
    64          XOR of the data

A request that moves money is acknowledged at once by a reply without content; its status and result are queried by
later requests. Values in ``params`` are text, sums are kopecks without leading zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Annotated

import msgspec

from protocols.checksums import lrc
from protocols.errors import Garbled
from protocols.terminals.amounts import signed
from protocols.terminals.loose_json import flag_of, masked, read_object, text_of, texts_of, write_object
from protocols.terminals.typed_members import Members, Wire

PREFIX = b"\x02\x66\x01"

LONGEST = 65_535
"""The most bytes of data that fit into a frame."""

IDLE, WAITS_FOR_SECOND_STEP = "S00", "S08"
"""Statuses after an operation, or after its first step (docs/reference/ssi-json.md#statuses)."""

BUSY, NOT_FOUND, IN_WORK = "E06", "E20", "E22"
"""Errors about other operations than the requested one."""

HRYVNIA = "980"

_HEAD = len(PREFIX) + 2


class Misframed(Garbled):
    """Bytes that are not a frame; ``code`` is the error of a terminal for it (docs/reference/ssi-json.md#frame)."""

    def __init__(self, code: str, what: str, data: bytes) -> None:
        super().__init__(what, data)
        self.code = code


BAD_PREFIX, BAD_LRC, BAD_JSON = "E01", "E02", "E03"


def frame(payload: bytes) -> bytes:
    """The bytes on the wire for one message.

    :raises ValueError: when it is longer than `LONGEST`.
    """
    if len(payload) > LONGEST:
        raise ValueError(f"{len(payload)} bytes do not fit into a frame")
    return PREFIX + len(payload).to_bytes(2, "big") + payload + bytes([lrc(payload)])


class Deframer:
    """Takes messages out of a stream that may be cut anywhere; after a fault it takes nothing more."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._fault: Misframed | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The messages that ``data`` completes, in order.

        :raises Misframed: at the first byte that cannot belong to a frame, and at every call after that: it does not
            search for the next frame.
        """
        if self._fault is not None:
            raise self._fault
        self._rest += data
        while self._rest:
            if not (PREFIX.startswith(self._rest) or self._rest.startswith(PREFIX)):
                raise self._broken(BAD_PREFIX, "not a frame of this protocol")
            length = int.from_bytes(self._rest[len(PREFIX) : _HEAD], "big")
            if len(self._rest) < _HEAD or len(self._rest) <= _HEAD + length:
                return
            payload = bytes(self._rest[_HEAD : _HEAD + length])
            if self._rest[_HEAD + length] != lrc(payload):
                raise self._broken(BAD_LRC, "a wrong checksum")
            del self._rest[: _HEAD + length + 1]
            yield payload

    def _broken(self, code: str, what: str) -> Misframed:
        self._fault = Misframed(code, what, bytes(self._rest[:32]))
        self._rest.clear()
        return self._fault


@dataclass(frozen=True)
class Request:
    """A message of the register as on the wire; `params` is `None` where the method has none."""

    method: str
    params: Mapping[str, str] | None = None
    step: str = ""

    def encode(self) -> bytes:
        """The JSON of this message."""
        message: dict[str, object] = {"method": self.method}
        if self.step:
            message["step"] = self.step
        if self.params is not None:
            message["params"] = self.params
        return write_object(message)

    @classmethod
    def decode(cls, payload: bytes) -> Request:
        """Read a message of the register.

        :raises Misframed: when it is not a message.
        """
        message = _object(payload)
        params = message.get("params")
        method = text_of(message.get("method"))
        return cls(method, None if params is None else texts_of(params), text_of(message.get("step")))

    def __repr__(self) -> str:
        return f"{self.method}{self.step}({masked(self.params or {})})"


def _object(payload: bytes) -> dict[str, object]:
    try:
        return read_object(payload)
    except Garbled as garbled:
        raise Misframed(BAD_JSON, garbled.what, payload) from None


class Stage(Enum):
    """How far an operation came, by its ``transactionResult``."""

    APPROVED = "approved"
    FIRST_STEP = "first step"
    """The card is read; the terminal waits for the second step."""
    CANCELLED = "cancelled"
    DECLINED = "declined"
    MISSING = "missing"
    """The member is missing: the outcome is unknown."""


def _stage(text: str) -> Stage:
    word = text.upper().replace("-", "_").replace(" ", "_")
    if not word:
        return Stage.MISSING
    if word.startswith("APPROVED") or word in ("OK", "COMPLETED"):
        return Stage.APPROVED
    if word == "FIRST_STEP_COMPLETED":
        return Stage.FIRST_STEP
    if word.startswith(("CANCELLED", "CANCELED")):
        return Stage.CANCELLED
    return Stage.DECLINED


OptionalKopecks = Annotated[int | None, Wire(lambda kopecks: "" if kopecks is None else str(kopecks), signed)]


@dataclass(frozen=True)
class Result(Members):
    """An operation in a reply (docs/reference/ssi-json.md#results); what the terminal leaves out is blank.

    There are either ``date`` (DD/MM/YYYY) and ``time`` (HH:MM:SS) or ``transaction_date`` (DDMMYYYY) and
    ``transaction_time`` (HHMMSS), by the terminal's clock: see `at`.
    """

    original_trn_name: str = ""
    transaction_result: str = ""
    trans_amount: OptionalKopecks = None
    cash_amount: OptionalKopecks = None
    auth_code: str = ""
    rrn: str = ""
    invoice_num: str = ""
    """Names it in a later `Void`."""
    pan: str = ""
    bin_name: str = ""
    bank_name: str = ""
    card_holder_name: str = ""
    merchant_id: str = ""
    terminal_id: str = ""
    pos_entry_mode: str = ""
    response_code: str = ""
    transaction_uid: str = ""
    error_details: str = ""
    date: str = ""
    time: str = ""
    transaction_date: str = ""
    transaction_time: str = ""
    receipt: str = ""

    @property
    def stage(self) -> Stage:
        """How far it came; hyphens and underscores mean the same."""
        return _stage(self.transaction_result)

    @property
    def at(self) -> datetime | None:
        """Its time by the terminal's clock; `None` when that cannot be read."""
        for text, form in (
            (f"{self.date} {self.time}", "%d/%m/%Y %H:%M:%S"),
            (f"{self.transaction_date} {self.transaction_time}", "%d%m%Y %H%M%S"),
        ):
            try:
                return datetime.strptime(text, form)
            except ValueError:
                continue
        return None

    def filled(self) -> dict[str, str]:
        """The members that are not blank."""
        return {name: value for name, value in self.params().items() if value}


def _nested(name: str, value: str) -> object:
    """A member as JSON: the list of merchants is the only one that is not text."""
    if name == "merchantList":
        with suppress(msgspec.MsgspecError, RecursionError):
            return msgspec.json.decode(value)
    return value


class Merchant(msgspec.Struct, frozen=True, rename="camel"):
    """One merchant of the terminal."""

    merchant_id: str = ""
    terminal_id: str = ""
    merchant_name: str = ""


@dataclass(frozen=True)
class Reply:
    """A message of the terminal: an acknowledgement, a refusal, or an answer."""

    method: str
    params: Mapping[str, str] = field(default_factory=dict)
    error: bool = False
    error_code: str = ""
    text: str = ""
    """The text of the terminal."""
    status: str = ""

    def encode(self) -> bytes:
        """The JSON of this message."""
        message: dict[str, object] = {
            "method": self.method,
            "error": self.error,
            "errorCode": self.error_code,
            "errorDescription": self.text,
        }
        if self.status:
            message["status"] = self.status
        return write_object(
            {**message, "params": {name: _nested(name, value) for name, value in self.params.items()}}
        )

    @classmethod
    def decode(cls, payload: bytes) -> Reply:
        """Read a message of the terminal.

        :raises Misframed: when it is not a message.
        """
        message = _object(payload)
        params = texts_of(message.get("params"))
        return cls(
            text_of(message.get("method")),
            params,
            flag_of(message.get("error")),
            text_of(message.get("errorCode")),
            text_of(message.get("errorDescription")),
            # Some terminals put the status among the params.
            (text_of(message.get("status")) or params.get("status", "")).upper(),
        )

    @property
    def code(self) -> str:
        """The error, `E00` to `E22`; empty without one (docs/reference/ssi-json.md#errors)."""
        code = self.error_code.upper()
        return (code or "E00") if self.error or code.startswith("E") else ""

    @property
    def result(self) -> Result:
        """The operation in this reply."""
        return Result.read(self.params)

    @property
    def stage(self) -> Stage:
        """How far the operation in this reply came."""
        return _stage(self.params.get("transactionResult", ""))

    @property
    def approved(self) -> bool:
        """Whether the operation in this reply succeeded."""
        return self.stage is Stage.APPROVED

    @property
    def waits(self) -> bool:
        """Whether the operation waits for its second step."""
        return self.status == WAITS_FOR_SECOND_STEP or self.stage is Stage.FIRST_STEP

    @property
    def merchants(self) -> list[Merchant]:
        """The merchants of a detailed list; empty when none can be read."""
        try:
            return msgspec.json.decode(self.params.get("merchantList", ""), type=list[Merchant], strict=False)
        except (msgspec.MsgspecError, RecursionError):
            return []

    def __repr__(self) -> str:
        return f"{self.method}({masked(self.params)}, code={self.code!r}, status={self.status!r}, text={self.text!r})"
