"""The commands of the fiscal server as JSON (docs/reference/tax-service.md#commands).

::

    {"Command":"TransactionsRegistrarState","UID":"…","NumFiscal":4000000001,"OfflineSessionId":null,…}

Members are named in Pascal case. Numbers occur as numbers and as text, so both are read.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import msgspec


class BadCommand(ValueError):
    """Bytes that are not a command of this interface."""


class DocumentRequestType(IntEnum):
    """What `CheckExt` and `ZRepExt` fetch of a document."""

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
    """Members of every command.

    With ``timestamp`` (ISO 8601) and ``timeout`` (milliseconds) the server drops a command that arrives late.
    """

    uid: str = msgspec.field(name="UID", default="")
    timestamp: str = ""
    timeout: int = 0


class ServerState(Command, frozen=True, kw_only=True):
    """Does the server answer, and what is its time?"""


class Schemas(Command, frozen=True, kw_only=True):
    """Which schemas apply to documents?"""


class Objects(Command, frozen=True, kw_only=True):
    """Which outlets and registers may the signer use?"""


class Operators(Command, frozen=True, kw_only=True):
    """Which keys may sign for the payer?"""


class TransactionsRegistrarState(Command, frozen=True, kw_only=True):
    """What is the state of a register?

    ``offline_session_id`` and ``offline_seed`` belong to the session that is about to be handed in.
    """

    num_fiscal: int
    offline_session_id: str | int | None = None
    offline_seed: str | int | None = None
    include_tax_object: bool = False


class _OneDocument(Command, frozen=True, kw_only=True):
    """Names one document by its fiscal or its local number."""

    registrar_num_fiscal: int
    num_fiscal: str | int | None = None
    num_local: int | None = None


class Fetch(_OneDocument, frozen=True, kw_only=True):
    """Fetch a document, signed by the server."""

    original: bool = False
    set_timestamp: bool = False


class FetchForm(_OneDocument, frozen=True, kw_only=True):
    """Fetch a document in the form ``type``, a `DocumentRequestType`."""

    type: int = 0
    set_timestamp: bool = False


class Check(Fetch, frozen=True, kw_only=True):
    """Fetch a receipt."""


class ZRep(Fetch, frozen=True, kw_only=True):
    """Fetch a Z-report."""


class CheckExt(FetchForm, frozen=True, kw_only=True):
    """Fetch a receipt in a form of choice, or the link to it."""

    acquire_cabinet_url: bool = False


class ZRepExt(FetchForm, frozen=True, kw_only=True):
    """Fetch a Z-report in a form of choice."""


class Shifts(Command, frozen=True, kw_only=True):
    """Which shifts were there in a period of at most a month, or which one has this id?"""

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
    """Is a document with this local number registered?"""

    num_fiscal: int
    num_local: int


class LastShiftTotals(Command, frozen=True, kw_only=True):
    """Which totals does the server calculate for the shift?"""

    num_fiscal: int


class SendDocument(Command, frozen=True, kw_only=True):
    """Register a document, signed, in Base64."""

    document: str


class SendOflPackage(Command, frozen=True, kw_only=True):
    """Register offline documents, signed, in Base64, in the order of their local numbers."""

    documents: list[str]


class DeviceRegister(Command, frozen=True, kw_only=True):
    """Report which machine uses a register; ``forced`` takes it over from another one."""

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
"""Commands that need no signature; all others have to be signed."""

_encode = msgspec.json.Encoder().encode
_read: Any = msgspec.json.Decoder(strict=False).decode


def encode(command: Command) -> bytes:
    """The JSON text of a command; members with default values are left out."""
    return _encode(command)


def decode(data: bytes) -> AnyCommand:
    """The command in ``data``; unknown members and null members are ignored.

    :raises BadCommand: when it is not a command.
    """
    try:
        members = _read(data.removeprefix(b"\xef\xbb\xbf"))
        if isinstance(members, dict):
            members = {name: value for name, value in members.items() if value is not None}
        command: AnyCommand = msgspec.convert(members, AnyCommand, strict=False)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadCommand(str(error)) from None
    return command
