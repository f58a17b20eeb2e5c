"""The messages of the cabinet's server, in Protocol Buffers 3.

A document travels in a `Check`, signed; questions carry the register's fiscal number, signed. The names of messages,
fields and methods are the server's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated

from protocols.protobuf import Bool, Int32, Int64, Message, Octets, Several, Text

SERVICE = "com.programika.rro.ws.chk.ChkIncomeService"

PING_NUMBER = 0x7FFFFFFF
"""The local number in the `Check` of a `ping`."""


class CheckType(IntEnum):
    """What a `Check` contains."""

    UNKNOWN = 0
    CHK = 1
    ZREPORT = 2
    SERVICECHK = 3


class Status(IntEnum):
    """The server's verdict; messages may have other numbers, too."""

    UNKNOWN = 0
    OK = 1
    ERROR_VEREFY = -1
    ERROR_CHECK = -2
    ERROR_SAVE = -3
    ERROR_UNKNOWN = -4
    ERROR_TYPE = -5
    ERROR_NOT_PREV_ZREPORT = -6
    ERROR_XML = -7
    ERROR_XML_DATE = -8
    ERROR_XML_CHK = -9
    ERROR_XML_ZREPORT = -10
    ERROR_OFFLINE_168 = -11
    ERROR_BAD_HASH_PREV = -12
    ERROR_NOT_REGISTERED_RRO = -13
    ERROR_NOT_REGISTERED_SIGNER = -14
    ERROR_NOT_OPEN_SHIFT = -15
    ERROR_OFFLINE_ID = -16


@dataclass(frozen=True)
class Check(Message):
    """One document.

    :param rro_fn: the register's fiscal number.
    :param date_time: Kyiv time as the number YYYYMMDDhhmmss.
    :param check_sign: the signed XML (CMS).
    :param check_type: a `CheckType`.
    :param id_offline: the reserved number of an offline document.
    """

    rro_fn: Annotated[str, Text(1)]
    date_time: Annotated[int, Int64(2)]
    check_sign: Annotated[bytes, Octets(3)]
    local_number: Annotated[int, Int32(4)]
    check_type: Annotated[int, Int32(5)]
    id_offline: Annotated[str, Text(6)] = ""
    id_cancel: Annotated[str, Text(7)] = ""


@dataclass(frozen=True)
class CheckRequest(Message):
    """A question about a register.

    :param rro_fn_sign: its fiscal number, signed (CMS).
    """

    rro_fn_sign: Annotated[bytes, Octets(3)]


@dataclass(frozen=True)
class CheckRequestId(Message):
    """A question about the document ``id`` of a register.

    :param rro_fn_sign: the register's fiscal number, signed (CMS).
    """

    id: Annotated[str, Text(1)]
    rro_fn_sign: Annotated[bytes, Octets(2)]


@dataclass(frozen=True)
class CheckResponse(Message):
    """The outcome of a document, or the last one.

    :param id: its fiscal number.
    :param status: a `Status`.
    :param id_sign: the number, signed by the server (CMS).
    :param data_sign: data that the method returns, signed by the server (CMS).
    """

    id: Annotated[str, Text(1)] = ""
    status: Annotated[int, Int32(2)] = Status.OK
    id_sign: Annotated[bytes, Octets(3)] = b""
    data_sign: Annotated[bytes, Octets(4)] = b""
    error_message: Annotated[str, Text(5)] = ""


@dataclass(frozen=True)
class StatusResponse(Message):
    """The state of a register.

    :param last_signer: who signed its last document.
    :param status: a `Status`.
    """

    open_shift: Annotated[bool, Bool(1)] = False
    online: Annotated[bool, Bool(2)] = False
    last_signer: Annotated[str, Text(3)] = ""
    status: Annotated[int, Int32(4)] = Status.OK
    error_message: Annotated[str, Text(5)] = ""


@dataclass(frozen=True)
class Operator(Message):
    """Who may sign for a register.

    :param serial: the serial number of the certificate.
    :param senior: whether this signer may close a shift of another one.
    """

    serial: Annotated[str, Text(1)] = ""
    status: Annotated[int, Int32(2)] = 0
    senior: Annotated[bool, Bool(3)] = False
    isname: Annotated[str, Text(4)] = ""


@dataclass(frozen=True)
class RroInfoResponse(Message):
    """The registration of a register.

    :param status: a `Status`.
    :param status_rro: of the registration.
    :param name: of the business, :param name_to: of the outlet, at ``addr``.
    :param pn: the payer's VAT number, :param tins: the payer's number.
    :param lnum: the register's local number.
    """

    status: Annotated[int, Int32(1)] = Status.OK
    status_rro: Annotated[int, Int32(2)] = 0
    open_shift: Annotated[bool, Bool(3)] = False
    online: Annotated[bool, Bool(4)] = False
    last_signer: Annotated[str, Text(5)] = ""
    name: Annotated[str, Text(6)] = ""
    name_to: Annotated[str, Text(7)] = ""
    addr: Annotated[str, Text(8)] = ""
    single_tax: Annotated[bool, Bool(9)] = False
    offline_allowed: Annotated[bool, Bool(10)] = False
    add_num: Annotated[int, Int32(11)] = 0
    pn: Annotated[str, Text(12)] = ""
    operators: Annotated[tuple[Operator, ...], Several(13, Operator)] = ()
    tins: Annotated[str, Text(14)] = ""
    lnum: Annotated[int, Int32(15)] = 0
    name_pay: Annotated[str, Text(16)] = ""


METHODS: Mapping[str, tuple[type[Message], type[Message]]] = {
    "sendChkV2": (Check, CheckResponse),
    "lastChk": (CheckRequest, CheckResponse),
    "ping": (Check, CheckResponse),
    "delLastChk": (CheckRequest, CheckResponse),
    "delLastChkId": (CheckRequestId, CheckResponse),
    "statusRro": (CheckRequest, StatusResponse),
    "infoRro": (CheckRequest, RroInfoResponse),
}
"""The request and the answer of each method."""


def path_of(method: str) -> str:
    """The path of a method in an HTTP/2 request."""
    return f"/{SERVICE}/{method}"
