"""Copies of registered documents in the simulated fiscal server's answers."""

from __future__ import annotations

import base64
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
from protocols.fiscal.zrep_xml import ZRep
from protocols.simulators.fiscal_asking import Asking, NoAnswer
from protocols.simulators.fiscal_register import RegisterRecord, Stored


def document(asking: Asking, command: commands.Fetch) -> bytes:
    """The answer to `Check` and `ZRep`: the document, signed by the server.

    :raises NoAnswer: when there is none of that class.
    """
    stored = _asked_for(asking, command)
    if stored is None or isinstance(stored.document, ZRep) != isinstance(command, commands.ZRep):
        raise NoAnswer
    return asking.seal(stored.content if command.original else _numbered(stored))


def _asked_for(asking: Asking, command: commands.Fetch | commands.FetchForm) -> Stored | None:
    anybody = isinstance(command, commands.UNSIGNED)
    return asking.stored(command.registrar_num_fiscal, command.num_fiscal, command.num_local, anybody)


def _numbered(stored: Stored) -> bytes:
    """The document as the server writes it: with its number, and marked when it was revoked or reversed."""
    marks: dict[str, Any] = {"ordertaxnum": stored.number, "revoked": stored.revoked or None}
    if isinstance(stored.document, Check):
        marks["storned"] = stored.storned or None
    return encode(with_head(stored.document, **marks))


def form(asking: Asking, command: commands.FetchForm) -> ServerAnswer:
    """The answer to `CheckExt` and `ZRepExt`: the document, or why not.

    :raises NoAnswer: for an unknown form.
    """
    if command.registrar_num_fiscal not in asking.registers:
        return answers.DocumentForm(result_code=ResultCode.TRANSACTIONS_REGISTRAR_NOT_REGISTERED)
    record = asking.registers[command.registrar_num_fiscal]
    stored = _asked_for(asking, command)
    z_report = isinstance(command, commands.ZRepExt)
    if stored is None or isinstance(stored.document, ZRep) != z_report:
        return answers.DocumentForm(result_code=_absence(record, str(command.num_fiscal or "")))
    data = _data(asking, stored, command.type)
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


def _data(asking: Asking, stored: Stored, kind: int) -> bytes | None:
    if kind == DocumentRequestType.EXISTENCE:
        return None
    if kind == DocumentRequestType.ORIGINAL_XML:
        return stored.content
    if kind == DocumentRequestType.PICTURE:
        return _picture(stored).encode()
    if kind == DocumentRequestType.SIGNED_BY_SENDER:
        return stored.sent
    if kind == DocumentRequestType.SIGNED_BY_BOTH:
        return asking.seal(stored.sent)
    if kind == DocumentRequestType.SIGNED_BY_SERVER:
        return asking.seal(_numbered(stored))
    raise NoAnswer(Code.INVALID_QUERY_PARAMETER, f"Тип запиту {kind} невідомий")


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
    issued = datetime.combine(head.orderdate, head.ordertime)
    return qr_link(stored.number, issued, register, amount, head.prevdochash or "")
