"""The context of a command to the simulated fiscal server, and copies of documents in answers."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from protocols.fiscal import command_answers as answers
from protocols.fiscal import commands
from protocols.fiscal.check_xml import Check
from protocols.fiscal.command_answers import ResultCode, ServerAnswer
from protocols.fiscal.commands import DocumentRequestType
from protocols.fiscal.document_xml import encode, with_head
from protocols.fiscal.error_codes import Code
from protocols.fiscal.kinds import Kind
from protocols.fiscal.qr_link import qr_link
from protocols.fiscal.signatures import Seal
from protocols.fiscal.zrep_xml import ZRep
from protocols.simulators.fiscal_calls import ServerError
from protocols.simulators.fiscal_register import Operator, RegisterRecord, Stored


@dataclass(frozen=True)
class CommandContext:
    """One command: the key of its signer, its time, the registers."""

    registers: Mapping[int, RegisterRecord]
    key: str
    now: datetime
    """Kyiv time, with its zone."""
    seal: Seal

    def record(self, number: int) -> tuple[RegisterRecord, Operator]:
        """The register and the operator with the key.

        :raises ServerError: when there is no such register, or the key has no right to it.
        """
        record = self.registers.get(number)
        if record is None:
            raise ServerError(
                Code.TRANSACTIONS_REGISTRAR_ABSENT, f"ПРРО з фіскальним номером {number} не зареєстрований"
            )
        operator = record.registration.operator(self.key)
        if operator is None:
            raise ServerError(
                Code.OPERATOR_ACCESS_TO_TRANSACTIONS_REGISTRAR_NOT_GRANTED, f"Ключ {self.key} не має доступу до ПРРО"
            )
        return record, operator

    def stored(
        self, register: int, fiscal: str | int | None, local: int | None, public: bool = False
    ) -> Stored | None:
        """The document with a local or a fiscal number; `None` when there is none.

        :param public: whether no signature and no right is needed.
        :raises ServerError: as `record` does.
        """
        record = self.registers.get(register) if public else self.record(register)[0]
        if record is None:
            return None
        if local is not None:
            return record.documents.get(local)
        known = (*record.revoked, *record.documents.values())
        return next((stored for stored in known if stored.number == str(fiscal)), None)


def document(context: CommandContext, command: commands.Fetch) -> bytes:
    """The answer to `Check` and `ZRep`: the document, signed by the server.

    :raises ServerError: when there is none of that class.
    """
    stored = _asked_for(context, command)
    if stored is None or isinstance(stored.document, ZRep) != isinstance(command, commands.ZRep):
        raise ServerError
    return context.seal(stored.content if command.original else _numbered(stored))


def _asked_for(context: CommandContext, command: commands.Fetch | commands.FetchForm) -> Stored | None:
    public = isinstance(command, commands.UNSIGNED)
    return context.stored(command.registrar_num_fiscal, command.num_fiscal, command.num_local, public)


def _numbered(stored: Stored) -> bytes:
    """The document as the server writes it: with its number, and marked when it was revoked or reversed."""
    marks: dict[str, Any] = {"ordertaxnum": stored.number, "revoked": stored.revoked or None}
    if isinstance(stored.document, Check):
        marks["storned"] = stored.storned or None
    return encode(with_head(stored.document, **marks))


def form(context: CommandContext, command: commands.FetchForm) -> ServerAnswer:
    """The answer to `CheckExt` and `ZRepExt`: the document, or why not.

    :raises ServerError: for an unknown form.
    """
    if command.registrar_num_fiscal not in context.registers:
        return answers.DocumentForm(result_code=ResultCode.TRANSACTIONS_REGISTRAR_NOT_REGISTERED)
    record = context.registers[command.registrar_num_fiscal]
    stored = _asked_for(context, command)
    z_report = isinstance(command, commands.ZRepExt)
    if stored is None or isinstance(stored.document, ZRep) != z_report:
        return answers.DocumentForm(result_code=_absence(record, str(command.num_fiscal or "")))
    data = _data(context, stored, command.type)
    link = None
    if isinstance(command, commands.CheckExt) and command.acquire_cabinet_url:
        link = _link(stored, record.registration.number)
    return answers.DocumentForm(
        data=base64.b64encode(data).decode() if data is not None else None,
        shift_id=stored.shift,
        result_code=ResultCode.OK,
        result_text="Ok",
        cabinet_url=link,
    )


def _absence(record: RegisterRecord, number: str) -> ResultCode:
    session, dot, rest = number.partition(".")
    if not dot:
        return ResultCode.DOCUMENT_ABSENT if not number else ResultCode.ONLINE_DOCUMENT_ABSENT
    ordinal = rest.partition(".")[0]
    ours = session == record.offline.id and ordinal.isdigit() and int(ordinal) > record.offline.ordinal
    return ResultCode.OFFLINE_NUMBER_RESERVED if ours else ResultCode.OFFLINE_NUMBER_NOT_RESERVED


def _data(context: CommandContext, stored: Stored, kind: int) -> bytes | None:
    if kind == DocumentRequestType.EXISTENCE:
        return None
    if kind == DocumentRequestType.ORIGINAL_XML:
        return stored.content
    if kind == DocumentRequestType.PICTURE:
        return _picture(stored).encode()
    if kind == DocumentRequestType.SIGNED_BY_SENDER:
        return stored.sent
    if kind == DocumentRequestType.SIGNED_BY_BOTH:
        return context.seal(stored.sent)
    if kind == DocumentRequestType.SIGNED_BY_SERVER:
        return context.seal(_numbered(stored))
    raise ServerError(Code.INVALID_QUERY_PARAMETER, f"Тип запиту {kind} невідомий")


def _picture(stored: Stored) -> str:
    head = stored.document.head
    lines = [
        *(head.orgnm, head.pointnm, f"ПРРО ФН {head.cashregisternum} ВН {head.cashdesknum}"),
        f"{'Z-ЗВІТ' if stored.kind is Kind.Z else 'ЧЕК'} ФН {stored.number} ВН {stored.local}",
        f"{head.orderdate:%d.%m.%Y} {head.ordertime:%H:%M:%S}",
    ]
    if isinstance(stored.document, Check) and stored.document.checktotal is not None:
        lines.append(f"СУМА {(stored.document.checktotal.sum or 0) / 100:.2f}")
    return "\n".join(lines)


def _link(stored: Stored, register: int) -> str:
    head, amount = stored.document.head, 0
    if isinstance(stored.document, Check) and stored.document.checktotal is not None:
        amount = stored.document.checktotal.sum or 0
    issued = f"{head.orderdate:%Y%m%d}{head.ordertime:%H%M%S}"
    return qr_link(stored.number, issued, str(register), amount, head.prevdochash or "")
