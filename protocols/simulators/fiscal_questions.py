"""Answers of the simulated fiscal server to commands (docs/reference/tax-service.md#commands)."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from protocols.fiscal import command_answers as answers
from protocols.fiscal import commands
from protocols.fiscal.check_head import DocSubType, DocType
from protocols.fiscal.check_xml import Check
from protocols.fiscal.command_answers import ServerAnswer
from protocols.fiscal.commands import AnyCommand
from protocols.fiscal.document_xml import Document
from protocols.fiscal.error_codes import Code
from protocols.fiscal.kinds import Kind
from protocols.fiscal.xsd import schema_of
from protocols.fiscal.zrep_xml import ZRep
from protocols.simulators.fiscal_calls import ServerError
from protocols.simulators.fiscal_copies import CommandContext, document, form
from protocols.simulators.fiscal_register import Operator, RegisterRecord, ShiftRecord
from protocols.simulators.fiscal_totals import OrderSums, ShiftSums


def answer(context: CommandContext, command: AnyCommand) -> ServerAnswer | bytes:
    """The answer to ``command``; bytes are those of a signed document.

    :raises ServerError: when there is none.
    """
    ask = _ANSWERS.get(type(command))
    if ask is None:
        raise ServerError(Code.INVALID_QUERY_PARAMETER, f"Команда {type(command).__name__} не підтримується")
    found = ask(context, command)
    if isinstance(found, bytes):
        return found
    now = context.now.isoformat(timespec="seconds")
    return msgspec.structs.replace(found, uid=command.uid or None, timestamp=now)


def _server(context: CommandContext, command: commands.ServerState) -> ServerAnswer:
    return answers.StateOfServer(timestamp="")


def _schemas(context: CommandContext, command: commands.Schemas) -> ServerAnswer:
    check, zrep = (base64.b64encode(schema_of(kind)).decode() for kind in (Check, ZRep))
    return answers.SchemaFiles(xsd_schema_check=check, xsd_schema_z_rep=zrep)


def _objects(context: CommandContext, command: commands.Objects) -> ServerAnswer:
    found: dict[tuple[str, str], answers.TaxObject] = {}
    for record in context.registers.values():
        own = record.registration
        operator = own.operator(context.key)
        if operator is None:
            continue
        outlet = found.setdefault((own.tin, own.point_name), _outlet(record, operator, len(found) + 1))
        outlet.transactions_registrars.append(
            answers.Registrar(num_fiscal=own.number, num_local=own.local, name=own.name, closed=own.closed)
        )
    if not found:
        raise ServerError
    return answers.TaxObjects(tax_objects=list(found.values()))


def _outlet(record: RegisterRecord, operator: Operator, number: int) -> answers.TaxObject:
    own = record.registration
    return answers.TaxObject(
        entity=number,
        tax_obj_guid=f"{own.number:032X}",
        tax_obj_id=number,
        name=own.point_name,
        address=own.address,
        tin=own.tin,
        ipn=own.ipn or None,
        org_name=own.org_name,
        chief_cashier=operator.chief,
        transactions_registrars=[],
    )


def _operators(context: CommandContext, command: commands.Operators) -> ServerAnswer:
    registrations = (record.registration for record in context.registers.values())
    known = [each for each in registrations if each.operator(context.key)]
    if not known:
        raise ServerError
    operators = {operator.key: operator for each in known for operator in each.operators}
    return answers.OperatorList(
        tin=known[0].tin,
        operators=[
            answers.Operator(subject_key_id=operator.key, reg_num=str(number), chief_cashier=operator.chief)
            for number, operator in enumerate(operators.values(), 1)
        ],
    )


def _state(context: CommandContext, command: commands.TransactionsRegistrarState) -> ServerAnswer:
    record, operator = context.record(command.num_fiscal)
    shift, offline = record.open_shift, record.offline
    last, session = record.last, dict[str, Any]()
    entitled = operator.chief or shift is None or shift.open_key == context.key
    if record.registration.offline_allowed and offline.id and entitled:
        month = offline.months.get(f"{context.now:%Y%m}", 0.0) + offline.minutes
        session = {
            "offline_session_id": offline.id,
            "offline_seed": offline.seed,
            "offline_next_local_num": offline.ordinal + 1,
            "offline_session_duration": _minutes(offline.minutes),
            "offline_sessions_monthly_duration": _minutes(month),
            "offline_session_rolled_back": False,
        }
    outlet = _outlet(record, operator, 1) if command.include_tax_object else None
    return answers.RegistrarState(
        shift_state=int(shift is not None),
        shift_id=shift.id if shift is not None else 0,
        open_shift_fiscal_num=shift.open_number if shift is not None else None,
        z_rep_present=bool(shift is not None and shift.z_number),
        testing=bool(shift is not None and shift.testing),
        name=shift.open_name if shift is not None else None,
        subject_key_id=shift.open_key if shift is not None else None,
        first_local_num=shift.first_local if shift is not None else 0,
        next_local_num=record.next_local,
        last_fiscal_num=last.number if last is not None else None,
        offline_supported=record.registration.offline_allowed,
        chief_cashier=operator.chief,
        closed=record.registration.closed,
        tax_object=outlet,
        **session,
    )


def _minutes(minutes: float) -> Decimal:
    return Decimal(int(minutes))


def _info(context: CommandContext, command: commands.DocumentInfoByLocalNum) -> ServerAnswer:
    stored = context.stored(command.num_fiscal, None, command.num_local)
    if stored is None:
        raise ServerError
    kind, sub = _type_names(stored.document)
    return answers.DocumentInfo(
        num_fiscal=stored.number,
        doc_class="ZRep" if stored.kind is Kind.Z else "Check",
        check_doc_type=kind,
        check_doc_sub_type=sub,
        revoked=stored.revoked,
        storned=stored.storned,
    )


_TYPE_NAMES = {
    DocType.SALE: "SaleGoods",
    DocType.TRANSFER: "TransferFunds",
    DocType.CURRENCY: "CurrencyExchange",
    DocType.WITHDRAWAL: "CashWithdrawal",
    DocType.PAWNSHOP: "Pawnshop",
    DocType.OPEN_SHIFT: "OpenShift",
    DocType.CLOSE_SHIFT: "CloseShift",
    DocType.OFFLINE_BEGIN: "OfflineBegin",
    DocType.OFFLINE_END: "OfflineEnd",
}

_SUBTYPE_NAMES = {
    DocSubType.SALE: "CheckGoods",
    DocSubType.RETURN: "CheckReturn",
    DocSubType.CASH_IN: "ServiceDeposit",
    DocSubType.REINFORCEMENT: "AdditionalDeposit",
    DocSubType.CASH_OUT: "ServiceIssue",
    DocSubType.STORNO: "CheckStorno",
}


def _type_names(document: Document) -> tuple[str | None, str | None]:
    if isinstance(document, ZRep):
        return None, None
    head = document.checkhead
    sub = _SUBTYPE_NAMES[DocSubType(head.docsubtype)] if head.docsubtype is not None else None
    return _TYPE_NAMES[DocType(head.doctype)], sub


def _shift_line(shift: ShiftRecord, zone: datetime) -> answers.Shift:
    def text(moment: datetime | None) -> str | None:
        return moment.replace(tzinfo=zone.tzinfo).isoformat(timespec="seconds") if moment is not None else None

    return answers.Shift(
        shift_id=shift.id,
        open_shift_fiscal_num=shift.open_number,
        close_shift_fiscal_num=shift.close_number or None,
        testing=shift.testing,
        opened=text(shift.opened),
        open_name=shift.open_name,
        open_subject_key_id=shift.open_key,
        closed=text(shift.closed),
        close_name=shift.close_name or None,
        close_subject_key_id=shift.close_key or None,
        z_rep_fiscal_num=shift.z_number or None,
    )


def _shifts(context: CommandContext, command: commands.Shifts) -> ServerAnswer:
    record, _ = context.record(command.num_fiscal)
    found = record.shifts
    if command.shift_id is not None:
        found = [shift for shift in found if shift.id == command.shift_id]
    else:
        first, last = (answers.moment(text or "") for text in (command.from_, command.to))
        if first is None or last is None:
            raise ServerError(Code.INVALID_QUERY_PARAMETER, "From, To або ShiftId")
        zone = context.now.tzinfo
        found = [shift for shift in found if first <= shift.opened.replace(tzinfo=zone) <= last]
    if not found:
        raise ServerError
    return answers.ShiftList(shifts=[_shift_line(shift, context.now) for shift in found])


def _documents(context: CommandContext, command: commands.Documents) -> ServerAnswer:
    record, _ = context.record(command.num_fiscal)
    shift_id = command.shift_id
    if shift_id is None:
        opened = str(command.open_shift_fiscal_num)
        shift_id = next((shift.id for shift in record.shifts if shift.open_number == opened), -1)
    lines = []
    # A revoked document stays in the list, even when another one has its local number now.
    known = {stored.number: stored for stored in (*record.revoked, *record.documents.values())}
    for stored in sorted(known.values(), key=lambda stored: stored.local):
        if stored.shift == shift_id:
            kind, sub = _type_names(stored.document)
            head = stored.document.head
            issued = datetime.combine(head.orderdate, head.ordertime, context.now.tzinfo)
            lines.append(
                answers.DocumentLine(
                    num_fiscal=stored.number,
                    num_local=stored.local,
                    doc_date_time=issued.isoformat(timespec="seconds"),
                    doc_class="ZRep" if stored.kind is Kind.Z else "Check",
                    check_doc_type=kind,
                    check_doc_sub_type=sub,
                    revoked=stored.revoked,
                    storned=stored.storned,
                )
            )
    if not lines:
        raise ServerError
    return answers.DocumentList(documents=lines)


def _last_totals(context: CommandContext, command: commands.LastShiftTotals) -> ServerAnswer:
    record, _ = context.record(command.num_fiscal)
    if not record.shifts:
        raise ServerError
    shift = record.shifts[-1]
    line, shared = _shift_line(shift, context.now), answers.LastTotals.__struct_fields__
    return answers.LastTotals(
        shift_state=int(shift.closed is None),
        z_rep_present=bool(shift.z_number),
        totals=_totals(shift.sums) if shift.closed is None else None,
        **{name: getattr(line, name) for name in line.__struct_fields__ if name in shared},
    )


def _hryvnias(kopecks: int) -> Decimal:
    return Decimal(kopecks) / 100


def _totals(sums: ShiftSums) -> answers.Totals:
    return answers.Totals(
        real=_orders(sums.real),
        ret=_orders(sums.ret),
        cash=answers.CashTotals(
            sum=_hryvnias(sums.cash.sum), commission=_hryvnias(sums.commission), orders_count=sums.cash.count
        ),
        service_input=_hryvnias(sums.service_in),
        service_output=_hryvnias(sums.service_out),
    )


def _orders(sums: OrderSums) -> answers.OrderTotals:
    return answers.OrderTotals(
        sum=_hryvnias(sums.sum),
        pwn_sum_issued=_hryvnias(sums.issued),
        pwn_sum_received=_hryvnias(sums.received),
        rnd_sum=_hryvnias(sums.rounded),
        no_rnd_sum=_hryvnias(sums.exact),
        orders_count=sums.count,
        pay_form=[
            answers.PayFormTotal(pay_form_code=code, pay_form_name=name, sum=_hryvnias(amount))
            for (code, name), amount in sorted(sums.pay_forms.items())
        ],
        tax=[
            answers.TaxTotal(
                type=kind,
                name=line.name,
                letter=letter or None,
                prc=_hryvnias(rate),
                sign=on_top,
                turnover=_hryvnias(line.turnover),
                turnover_discount=_hryvnias(line.discounted),
                source_sum=_hryvnias(line.source),
                sum=_hryvnias(line.sum),
            )
            for (kind, letter, rate, on_top), line in sorted(sums.taxes.items())
        ],
    )


def _device(context: CommandContext, command: commands.DeviceRegister) -> ServerAnswer:
    record, _ = context.record(command.num_fiscal)
    if not record.device or command.forced:
        record.device = command.device_id
    return answers.DeviceOfRegister(device_id=record.device)


_ANSWERS: dict[type[Any], Callable[[CommandContext, Any], ServerAnswer | bytes]] = {
    commands.ServerState: _server,
    commands.Schemas: _schemas,
    commands.Objects: _objects,
    commands.Operators: _operators,
    commands.TransactionsRegistrarState: _state,
    commands.Check: document,
    commands.ZRep: document,
    commands.CheckExt: form,
    commands.ZRepExt: form,
    commands.DocumentInfoByLocalNum: _info,
    commands.Shifts: _shifts,
    commands.Documents: _documents,
    commands.LastShiftTotals: _last_totals,
    commands.DeviceRegister: _device,
}
"""Commands without those that carry documents and packages."""
