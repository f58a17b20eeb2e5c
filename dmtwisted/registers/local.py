"""Tasks of a register that are answered here, without the far end: reports, copies, numbers, free text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from dmtwisted.clock import ServiceClock, kyiv, span
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document, Header, ShiftTotals
from dmtwisted.documents.forms import check_barcode, report_form, service_form, summary_form
from dmtwisted.documents.model import Element
from dmtwisted.documents.paper import X_TITLE, document_form
from dmtwisted.registers import infos, totals
from dmtwisted.registers.interface import (
    COPY,
    LAST_COPY,
    LAST_NUMBERS,
    NUMBER,
    SERVICE_REPORT,
    STATUS,
    SUMMARY_BY_DATE,
    SUMMARY_BY_NUMBER,
    X_REPORT,
)
from dmtwisted.registers.shift import shift
from dmtwisted.registers.totals import RegisterState
from dmtwisted.requests import FiscalRequest, TaskRequest, malformed
from dmtwisted.results import Refused, Res
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentQuery, FoundDocument

Told = tuple[object, list[Element] | None]
"""``info`` of the answer, and the print form of tasks that have one."""

MOST_REPORTS = 4000
"""Z-reports that one summary takes together: more than ten years of days."""

LINE_KINDS = {0: "", 1: "ean13", 2: "code128", 100: "qr"}
"""``qr_type`` of a line: text, EAN-13, Code 128, QR (http-api 2.8); what is no text by its name."""


class _Stored(msgspec.Struct):
    """What a copy takes of a stored answer."""

    info: msgspec.Raw


_info_of = msgspec.json.Decoder(_Stored).decode


class LocalTasks:
    """The local tasks of one register."""

    def __init__(self, device_n: int, header: Header, dtype: int, store: IStore, clock: ServiceClock) -> None:
        self._n, self._header, self._dtype = device_n, header, dtype
        self._store, self._clock = store, clock

    def __contains__(self, task: int) -> bool:
        return task in _TASKS

    async def perform(self, request: TaskRequest, fiscal: FiscalRequest, state: RegisterState) -> Told:
        """Do the task over ``state``.

        :raises Refused: when it has no answer.
        """
        return await _TASKS[request.task](self, fiscal, state)

    async def _service_report(self, fiscal: FiscalRequest, state: RegisterState) -> Told:
        if not fiscal.lines:
            raise Refused(Res.MISSING_OBJECT, "fiscal.lines")
        for index, line in enumerate(fiscal.lines):
            kind = LINE_KINDS.get(line.qr_type)
            if kind is None:
                raise malformed(f"fiscal.lines[{index}].qr_type", "0, 1, 2 or 100 is expected")
            if kind:
                try:
                    check_barcode(kind, line.t)
                except ValueError as error:
                    raise malformed(f"fiscal.lines[{index}].t", str(error)) from None
        lines = [(line.t, line.qr_type) for line in fiscal.lines]
        form = service_form(self._header, fiscal.cashier, self._clock.now(), lines)
        return self._standing(infos.number_info, SERVICE_REPORT, fiscal, state), form

    async def _x(self, fiscal: FiscalRequest, state: RegisterState) -> Told:
        shift(state.shift_open).report()
        at, report = self._clock.now(), state.report()
        info = infos.report_info(
            self._header, X_REPORT, fiscal.cashier, at, self._dtype, state, report, shift=state.shift
        )
        form = report_form(
            X_TITLE,
            self._header,
            fiscal.cashier,
            at,
            report,
            number=0,
            fiscal_number="",
            shift=state.shift,
            dtype=self._dtype,
        )
        return info, form

    async def _by_number(self, fiscal: FiscalRequest, state: RegisterState) -> Told:
        query = DocumentQuery(
            devices=[self._n],
            kinds=[documents.Z],
            shift_from=fiscal.n_from,
            shift_to=fiscal.n_to or fiscal.n_from,
            newest_first=False,
            limit=MOST_REPORTS,
        )
        period = f"Z № {fiscal.n_from} - {fiscal.n_to or fiscal.n_from}"
        return await self._summary(SUMMARY_BY_NUMBER, query, period, fiscal, state)

    async def _by_date(self, fiscal: FiscalRequest, state: RegisterState) -> Told:
        try:
            at_from = span(fiscal.dt_from)[0] if fiscal.dt_from else None
        except ValueError as error:
            raise malformed("fiscal.dt_from", str(error)) from None
        try:
            at_to = span(fiscal.dt_to)[1] if fiscal.dt_to else None
        except ValueError as error:
            raise malformed("fiscal.dt_to", str(error)) from None
        query = DocumentQuery(
            devices=[self._n],
            kinds=[documents.Z],
            at_from=at_from,
            at_to=at_to,
            newest_first=False,
            limit=MOST_REPORTS,
        )
        period = f"{_day(at_from)} - {_day(at_to)}"
        return await self._summary(SUMMARY_BY_DATE, query, period, fiscal, state)

    async def _summary(
        self, task: int, query: DocumentQuery, period: str, fiscal: FiscalRequest, state: RegisterState
    ) -> Told:
        found = (await self._store.find_documents(query)).documents
        if not found:
            raise Refused(Res.NO_Z_IN_RANGE)
        reports = [(_z_of(row), row) for row in found]
        at = self._clock.now()
        whole = totals.together(report for (_, report), _ in reports)
        blocks = [infos.SummaryLine.of(document, row.fiscal_number, report) for (document, report), row in reports]
        info = infos.report_info(
            self._header,
            task,
            fiscal.cashier,
            at,
            self._dtype,
            state,
            whole,
            shift=state.shift,
            reports=[] if fiscal.is_short else blocks,
        )
        form = summary_form(
            self._header,
            fiscal.cashier,
            at,
            period,
            whole,
            [(document, row.fiscal_number) for (document, _), row in reports],
            is_short=fiscal.is_short,
            dtype=self._dtype,
        )
        return info, form

    async def _status(self, fiscal: FiscalRequest, state: RegisterState) -> Told:
        return self._standing(infos.status_info, STATUS, fiscal, state), None

    async def _number(self, fiscal: FiscalRequest, state: RegisterState) -> Told:
        return self._standing(infos.number_info, NUMBER, fiscal, state), None

    async def _last_numbers(self, fiscal: FiscalRequest, state: RegisterState) -> Told:
        return self._standing(infos.last_numbers_info, LAST_NUMBERS, fiscal, state), None

    async def _last_copy(self, fiscal: FiscalRequest, state: RegisterState) -> Told:
        return await self._copy_of(DocumentQuery(devices=[self._n], number=state.last_receipt, limit=1))

    async def _copy(self, fiscal: FiscalRequest, state: RegisterState) -> Told:
        if not fiscal.fiscal_number:
            raise Refused(Res.MISSING_OBJECT, "fiscal.fiscal_number")
        return await self._copy_of(DocumentQuery(devices=[self._n], fiscal_number=fiscal.fiscal_number, limit=1))

    async def _copy_of(self, query: DocumentQuery) -> Told:
        found = (await self._store.find_documents(query)).documents
        if not found or not found[0].answer:
            raise Refused(Res.TAG_NOT_FOUND)
        row = found[0]
        form = document_form(documents.decode(row.value), row.fiscal_number, copy=True)
        return _info_of(row.answer).info, form

    def _standing(
        self,
        make: Callable[[Header, int, str, int, int, RegisterState], infos.CommonInfo],
        task: int,
        fiscal: FiscalRequest,
        state: RegisterState,
    ) -> infos.CommonInfo:
        return make(self._header, task, fiscal.cashier, self._clock.now(), self._dtype, state)


def _day(at: int | None) -> str:
    """The day of a moment as people write it; an open end is left open."""
    return "..." if at is None else f"{kyiv(at):%d-%m-%Y}"


def _z_of(row: FoundDocument) -> tuple[Document, ShiftTotals]:
    """A stored Z with its totals.

    :raises Refused: 1060 when it cannot be read.
    """
    try:
        document = documents.decode(row.value)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise Refused(Res.Z_CORRUPTED) from None
    if document.report is None:
        raise Refused(Res.Z_CORRUPTED)
    return document, document.report


_TASKS: dict[int, Callable[[LocalTasks, FiscalRequest, RegisterState], Awaitable[Told]]] = {
    SERVICE_REPORT: LocalTasks._service_report,
    X_REPORT: LocalTasks._x,
    SUMMARY_BY_NUMBER: LocalTasks._by_number,
    SUMMARY_BY_DATE: LocalTasks._by_date,
    STATUS: LocalTasks._status,
    NUMBER: LocalTasks._number,
    LAST_NUMBERS: LocalTasks._last_numbers,
    LAST_COPY: LocalTasks._last_copy,
    COPY: LocalTasks._copy,
}
