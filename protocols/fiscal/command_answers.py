"""The fiscal server's answers to commands (docs/reference/tax-service.md#commands).

Answers are not signed. Sums are read as decimals; numbers occur as text too.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import IntEnum
from typing import Any, TypeVar

import msgspec

from protocols.fiscal.error_codes import code_of, words


class BadAnswer(ValueError):
    """Bytes that are not an answer to the command."""


class ResultCode(IntEnum):
    """The result of `CheckExt` and `ZRepExt`."""

    OK = 0
    ONLINE_DOCUMENT_ABSENT = 1
    OFFLINE_NUMBER_RESERVED = 2
    """The number belongs to the register's session; its document was not handed in yet."""
    OFFLINE_NUMBER_NOT_RESERVED = 3
    TRANSACTIONS_REGISTRAR_NOT_REGISTERED = 4
    DOCUMENT_ABSENT = 5


LooseText = str | int | None
"""A text that some answers write as a number."""


Unread = Any
"""A member that nothing here reads: whatever it holds, the answer is good for the rest."""


def text_of(value: LooseText) -> str:
    """The text of such a value; empty when absent."""
    return "" if value is None else str(value)


class ServerAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """Members of every answer."""

    uid: Unread = msgspec.field(name="UID", default=None)
    timestamp: Unread = None


class StateOfServer(ServerAnswer, frozen=True, kw_only=True):
    """Answer to `ServerState`: the time."""

    timestamp: str


class SchemaFiles(ServerAnswer, frozen=True, kw_only=True):
    """Answer to `Schemas`: both schemas in Base64."""

    xsd_schema_check: str
    xsd_schema_z_rep: str


class Registrar(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """A register of an outlet."""

    num_fiscal: int
    num_local: int
    name: str | None = None
    closed: bool = False


class TaxObject(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """An outlet with its payer and registers, which the head of a document repeats."""

    entity: Unread = None
    tax_obj_guid: Unread = None
    tax_obj_id: Unread = None
    single_tax: bool = False
    name: str | None = None
    address: str | None = None
    tin: LooseText = None
    ipn: LooseText = None
    org_name: str | None = None
    chief_cashier: bool = False
    transactions_registrars: list[Registrar] = []


class TaxObjects(ServerAnswer, frozen=True, kw_only=True):
    """Answer to `Objects`."""

    tax_objects: list[TaxObject]


class Operator(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """A key that may sign."""

    subject_key_id: str
    reg_num: LooseText = None
    chief_cashier: bool = False


class OperatorList(ServerAnswer, frozen=True, kw_only=True):
    """Answer to `Operators`."""

    tin: LooseText = None
    operators: list[Operator] = []


class RegistrarState(ServerAnswer, frozen=True, kw_only=True):
    """Answer to `TransactionsRegistrarState`; durations in minutes.

    The offline members are null when the register may not go offline, or when the key is neither the one that opened
    the shift nor a senior's.
    """

    shift_state: Unread = None
    shift_id: Unread = None
    open_shift_fiscal_num: Unread = None
    z_rep_present: Unread = None
    testing: Unread = None
    name: Unread = None
    subject_key_id: Unread = None
    first_local_num: Unread = None
    next_local_num: int
    last_fiscal_num: Unread = None
    offline_supported: Unread = None
    chief_cashier: Unread = None
    offline_session_id: LooseText = None
    offline_seed: LooseText = None
    offline_next_local_num: Unread = None
    """The number within the session of the next offline document, from 1."""
    offline_session_duration: Unread = None
    offline_sessions_monthly_duration: Unread = None
    offline_session_rolled_back: Unread = None
    offline_session_rollback_cmd_uid: Unread = msgspec.field(name="OfflineSessionRollbackCmdUID", default=None)
    closed: Unread = None
    tax_object: Unread = None

    @property
    def session(self) -> tuple[str, str] | None:
        """Id and seed of the register's offline session, `None` without one."""
        if not text_of(self.offline_session_id).strip("0") or not text_of(self.offline_seed):
            return None
        return text_of(self.offline_session_id), text_of(self.offline_seed)


class DocumentForm(ServerAnswer, frozen=True, kw_only=True):
    """Answer to `CheckExt` and `ZRepExt`; ``data`` in Base64."""

    data: str | None = None
    shift_id: int | None = None
    result_code: int
    result_text: str | None = None
    cabinet_url: str | None = None


class Shift(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """A shift in a list; times in ISO 8601."""

    shift_id: int
    open_shift_fiscal_num: LooseText = None
    close_shift_fiscal_num: LooseText = None
    testing: bool = False
    opened: str | None = None
    open_name: str | None = None
    open_subject_key_id: str | None = None
    closed: str | None = None
    close_name: str | None = None
    close_subject_key_id: str | None = None
    z_rep_fiscal_num: LooseText = None


class ShiftList(ServerAnswer, frozen=True, kw_only=True):
    """Answer to `Shifts`."""

    shifts: list[Shift] = []


class DocumentLine(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """A document in a list; types are symbolic names."""

    num_fiscal: LooseText
    num_local: int
    doc_date_time: str | None = None
    doc_class: str
    check_doc_type: LooseText = None
    check_doc_sub_type: LooseText = None
    revoked: bool = False
    storned: bool = False


class DocumentList(ServerAnswer, frozen=True, kw_only=True):
    """Answer to `Documents`."""

    documents: list[DocumentLine] = []


class DocumentInfo(ServerAnswer, frozen=True, kw_only=True):
    """Answer to `DocumentInfoByLocalNum`: the document is registered."""

    num_fiscal: LooseText
    doc_class: str | None = None
    check_doc_type: Unread = None
    check_doc_sub_type: Unread = None
    revoked: Unread = False
    storned: Unread = False


class PayFormTotal(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """The total of one way of payment, in hryvnias."""

    pay_form_code: int
    pay_form_name: str
    sum: Decimal


class TaxTotal(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """The total of one tax, in hryvnias."""

    type: int
    name: str
    letter: str | None = None
    prc: Decimal
    sign: bool | None = None
    turnover: Decimal = Decimal(0)
    turnover_discount: Decimal | None = None
    source_sum: Decimal | None = None
    sum: Decimal


class OrderTotals(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """Totals of sales, or of returns, in hryvnias."""

    sum: Decimal = Decimal(0)
    pwn_sum_issued: Decimal | None = None
    pwn_sum_received: Decimal | None = None
    rnd_sum: Decimal | None = None
    no_rnd_sum: Decimal | None = None
    total_currency_sum: Decimal | None = None
    total_currency_commission: Decimal | None = None
    orders_count: int = 0
    pwn_orders_count_issued: int | None = None
    pwn_orders_count_received: int | None = None
    total_currency_cost: int | None = None
    pay_form: list[PayFormTotal] | None = None
    tax: list[TaxTotal] | None = None


class CashTotals(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """Totals of cash paid out from cards, in hryvnias."""

    sum: Decimal = Decimal(0)
    commission: Decimal | None = None
    orders_count: int = 0


class Totals(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """The server's draft of a Z-report; the part of foreign currency is not decoded."""

    real: OrderTotals | None = None
    ret: OrderTotals | None = None
    cash: CashTotals | None = None
    currency: dict[str, Any] | None = None
    service_input: Decimal | None = None
    service_output: Decimal | None = None


class LastTotals(ServerAnswer, frozen=True, kw_only=True):
    """Answer to `LastShiftTotals`; ``totals`` is null when the shift is closed."""

    shift_state: int
    z_rep_present: bool | None = None
    testing: bool | None = None
    opened: str | None = None
    open_name: str | None = None
    open_subject_key_id: str | None = None
    closed: str | None = None
    close_name: str | None = None
    close_subject_key_id: str | None = None
    z_rep_fiscal_num: LooseText = None
    totals: Totals | None = None


class TicketOfDocument(ServerAnswer, frozen=True, kw_only=True):
    """Answer to `SendDocument`: the signed ticket in Base64."""

    ticket: str


class NextSession(ServerAnswer, frozen=True, kw_only=True):
    """Answer to a package: the next offline session, when the package closed one."""

    offline_session_id: LooseText = None
    offline_seed: LooseText = None


class DeviceOfRegister(ServerAnswer, frozen=True, kw_only=True):
    """Answer to `DeviceRegister`: the machine that the server knows."""

    device_id: str | None = None


class _Error(msgspec.Struct, rename="pascal"):
    error_code: Any = None
    error_message: Any = None


AnAnswer = TypeVar("AnAnswer", bound=ServerAnswer)

_encode = msgspec.json.Encoder(decimal_format="number").encode
_errors: Any = msgspec.json.Decoder(_Error, strict=False).decode


def encode(answer: ServerAnswer) -> bytes:
    """The JSON text of an answer."""
    return _encode(answer)


def decode(shape: type[AnAnswer], data: bytes) -> AnAnswer:
    """The answer in ``data``; unknown members are ignored.

    :raises BadAnswer: when it is not of this shape.
    """
    try:
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=shape, strict=False)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadAnswer(str(error)) from None


def error_in(data: bytes) -> tuple[int, str] | None:
    """Code and text of an error answer, `None` for any other."""
    try:
        error = _errors(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    code = code_of(error.error_code)
    if not code:
        return None
    return code, error.error_message if isinstance(error.error_message, str) else words(data)


def write_error(code: int, text: str, uid: str = "") -> bytes:
    """The error answer in JSON."""
    members: dict[str, Any] = {"UID": uid or None, "ErrorCode": code, "ErrorMessage": text}
    return msgspec.json.encode(members)


def moment(text: str) -> datetime | None:
    """A time of the server: ISO 8601 with its offset, or ``/Date(milliseconds)/``; `None` when it is neither."""
    try:
        if text.startswith("/Date(") and text.endswith(")/"):
            return datetime.fromtimestamp(int(text[6:-2]) / 1000).astimezone()
        read = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        return None
    return read if read.tzinfo is not None else None
