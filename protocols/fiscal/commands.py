"""The commands of the fiscal server as JSON (fiscal-server 3).

::

    {"Command":"TransactionsRegistrarState","UID":"…","NumFiscal":4000000001,"OfflineSessionId":null,…}

Members are named in Pascal case. Numbers are met as numbers and as text, so both are read.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import msgspec


class BadCommand(ValueError):
    """Bytes that are no command of this interface."""


class DocumentRequestType(IntEnum):
    """What `CheckExt` and `ZRepExt` shall bring of a document."""

    EXISTENCE = 0
    ORIGINAL_XML = 1
    SIGNED_BY_SERVER = 2
    PICTURE = 3
    """Text in UTF-8."""
    SIGNED_BY_SENDER = 4
    SIGNED_BY_BOTH = 5


class Command(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="pascal", tag_field="Command", tag=True
):
    """What every command may carry.

    With ``timestamp`` (ISO 8601) and ``timeout`` (milliseconds) the server drops a command that comes late.
    """

    uid: str = msgspec.field(name="UID", default="")
    timestamp: str = ""
    timeout: int = 0


class ServerState(Command, frozen=True, kw_only=True):
    """Is the server there, and what time has it?"""


class Schemas(Command, frozen=True, kw_only=True):
    """Which schemas do documents have to keep to?"""


class Objects(Command, frozen=True, kw_only=True):
    """Which outlets and registers may the signer use?"""


class Operators(Command, frozen=True, kw_only=True):
    """Which keys may sign for the payer?"""


class TransactionsRegistrarState(Command, frozen=True, kw_only=True):
    """Where does a register stand?

    ``offline_session_id`` and ``offline_seed`` are those of the session that is about to be handed in.
    """

    num_fiscal: int
    offline_session_id: str | int | None = None
    offline_seed: str | int | None = None
    include_tax_object: bool = False


class Check(Command, frozen=True, kw_only=True):
    """Bring a receipt, by its fiscal or its local number."""

    registrar_num_fiscal: int
    num_fiscal: str | int | None = None
    num_local: int | None = None
    original: bool = False
    set_timestamp: bool = False


class CheckExt(Command, frozen=True, kw_only=True):
    """Bring a receipt in a form of one's choice, or the link to it."""

    registrar_num_fiscal: int
    num_fiscal: str | int | None = None
    num_local: int | None = None
    type: int = 0
    set_timestamp: bool = False
    acquire_cabinet_url: bool = False


class ZRep(Command, frozen=True, kw_only=True):
    """Bring a Z-report, by its fiscal or its local number."""

    registrar_num_fiscal: int
    num_fiscal: str | int | None = None
    num_local: int | None = None
    original: bool = False
    set_timestamp: bool = False


class ZRepExt(Command, frozen=True, kw_only=True):
    """Bring a Z-report in a form of one's choice."""

    registrar_num_fiscal: int
    num_fiscal: str | int | None = None
    num_local: int | None = None
    type: int = 0
    set_timestamp: bool = False


class Shifts(Command, frozen=True, kw_only=True):
    """Which shifts were there, in a time of at most a month, or which one has this id?"""

    num_fiscal: int
    from_: str | None = msgspec.field(name="From", default=None)
    to: str | None = None
    shift_id: int | None = None


class Documents(Command, frozen=True, kw_only=True):
    """Which documents does a shift hold?"""

    num_fiscal: int
    shift_id: int | None = None
    open_shift_fiscal_num: str | int | None = None


class DocumentInfoByLocalNum(Command, frozen=True, kw_only=True):
    """What became of a local number?"""

    num_fiscal: int
    num_local: int


class LastShiftTotals(Command, frozen=True, kw_only=True):
    """What does the server reckon that the shift came to?"""

    num_fiscal: int


class SendDocument(Command, frozen=True, kw_only=True):
    """Register a document, signed, in Base64."""

    document: str


class SendOflPackage(Command, frozen=True, kw_only=True):
    """Register offline documents, signed, in Base64, in the order of their local numbers."""

    documents: list[str]


class DeviceRegister(Command, frozen=True, kw_only=True):
    """Say which machine uses a register; ``forced`` takes it over from another one."""

    num_fiscal: int
    device_id: str
    forced: bool = False


AnyCommand = (
    ServerState
    | Schemas
    | Objects
    | Operators
    | TransactionsRegistrarState
    | Check
    | CheckExt
    | ZRep
    | ZRepExt
    | Shifts
    | Documents
    | DocumentInfoByLocalNum
    | LastShiftTotals
    | SendDocument
    | SendOflPackage
    | DeviceRegister
)

UNSIGNED = (ServerState, Schemas, Check, CheckExt, SendDocument)
"""Commands that the server takes without a signature; every other one has to be signed."""

_encode = msgspec.json.Encoder().encode
_read: Any = msgspec.json.Decoder(strict=False).decode


def encode(command: Command) -> bytes:
    """The JSON text of a command; members that say nothing are left out."""
    return _encode(command)


def decode(data: bytes) -> AnyCommand:
    """The command that ``data`` holds; members that nobody knows, or that are null, are passed over.

    :raises BadCommand: when it is none.
    """
    try:
        members = _read(data.removeprefix(b"\xef\xbb\xbf"))
        if isinstance(members, dict):
            members = {name: value for name, value in members.items() if value is not None}
        command: AnyCommand = msgspec.convert(members, AnyCommand, strict=False)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadCommand(str(error)) from None
    return command
