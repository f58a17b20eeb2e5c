"""Tasks of a register that are answered without the tax service: reports, copies, numbers, free text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
from twisted.logger import Logger

from dmtwisted.clock import ServiceClock, kyiv
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document, Header, ShiftTotals
from dmtwisted.documents.extent import Extent
from dmtwisted.documents.forms import check_barcode, report_form, service_form, summary_form
from dmtwisted.documents.model import Element
from dmtwisted.documents.paper import X_TITLE, document_form
from dmtwisted.registers import infos, totals
from dmtwisted.registers.infos import Occasion
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
from dmtwisted.registers.terms import Calendar
from dmtwisted.registers.texts import check_cashier
from dmtwisted.registers.totals import RegisterState
from dmtwisted.requests import FiscalRequest, TaskRequest, malformed, read_moment
from dmtwisted.results import Refused, Res, one_of
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentQuery
from dmtwisted.wording import wording

InfoAndForm = tuple[object, list[Element] | None]
"""``info`` of the answer, and the print form of tasks that have one."""

MOST_REPORTS, FEW_REPORTS = 4000, 100
"""Z-reports in one summary: more than ten years of days; and those that are summed up at once."""

T = TypeVar("T")

LINE_KINDS = {0: "", 1: "ean13", 2: "code128", 100: "qr"}
"""``qr_type`` of a line; empty is plain text (docs/reference/http-interface.md#service-report)."""


class _Stored(msgspec.Struct):
    """What a copy takes of a stored answer."""

    info: msgspec.Raw


_info_of = msgspec.json.Decoder(_Stored).decode


class LocalTasks:
    """The local tasks of one register."""

    log = Logger()

    def __init__(self, device_n: int, calendar: Calendar, dtype: int, store: IStore, clock: ServiceClock) -> None:
        self._n, self._calendar, self._dtype = device_n, calendar, dtype
        self._store, self._clock = store, clock

    @property
    def tasks(self) -> set[int]:
        """The numbers of these tasks."""
        return {*_TASKS, *_STATES}

    def __contains__(self, task: int) -> bool:
        return task in _TASKS or task in _STATES

    async def perform(self, request: TaskRequest, fiscal: FiscalRequest, state: RegisterState) -> InfoAndForm:
        """Do the task over ``state``.

        :raises Refused: when it has no answer.
        """
        header = self._calendar.of(state).header
        occasion = Occasion(header, request.task, fiscal.cashier, self._clock.now(), self._dtype)
        make = _STATES.get(request.task)
        if make is not None:
            return make(occasion, state), None
        check_cashier(fiscal.cashier)
        return await _TASKS[request.task](self, occasion, fiscal, state)

    async def _service_report(self, occasion: Occasion, fiscal: FiscalRequest, state: RegisterState) -> InfoAndForm:
        if not fiscal.lines:
            raise Refused(Res.MISSING_OBJECT, "fiscal.lines")
        for index, line in enumerate(fiscal.lines):
            kind = LINE_KINDS.get(line.qr_type)
            if kind is None:
                raise malformed(f"fiscal.lines[{index}].qr_type", one_of(*LINE_KINDS))
            if kind:
                try:
                    check_barcode(kind, line.t)
                except ValueError as error:
                    raise malformed(f"fiscal.lines[{index}].t", wording(error)) from None
        lines = [(line.t, line.qr_type) for line in fiscal.lines]
        form = service_form(occasion.header, occasion.cashier, occasion.at, lines)
        extent = Extent()
        for element in form:
            too_much = extent.add(element)
            if too_much is not None:
                raise malformed("fiscal.lines", too_much)
        return infos.number_info(occasion, state), form

    async def _x(self, occasion: Occasion, fiscal: FiscalRequest, state: RegisterState) -> InfoAndForm:
        shift(state.shift_open).report()
        try:
            return self._x_of(occasion, state)
        except Exception as error:
            self.log.failure("an X-report could not be made")
            raise Refused(Res.X_REPORT_FAILED, note=type(error).__name__) from error

    def _x_of(self, occasion: Occasion, state: RegisterState) -> InfoAndForm:
        report = state.report()
        form = report_form(
            X_TITLE,
            occasion.header,
            occasion.cashier,
            occasion.at,
            report,
            number=0,
            fiscal_number="",
            shift=state.shift,
            dtype=self._dtype,
        )
        return infos.report_info(occasion, state, report, shift=state.shift), form

    async def _by_number(self, occasion: Occasion, fiscal: FiscalRequest, state: RegisterState) -> InfoAndForm:
        first, last = fiscal.n_from, fiscal.n_to or fiscal.n_from
        query = self._z_query(shift_from=first, shift_to=last)
        return await self._summary(occasion, query, f"Z № {first} - {last}", fiscal, state)

    async def _by_date(self, occasion: Occasion, fiscal: FiscalRequest, state: RegisterState) -> InfoAndForm:
        at_from = read_moment("fiscal.dt_from", fiscal.dt_from, 0)
        at_to = read_moment("fiscal.dt_to", fiscal.dt_to, 1)
        query = self._z_query(at_from=at_from, at_to=at_to)
        return await self._summary(occasion, query, f"{_day(at_from)} - {_day(at_to)}", fiscal, state)

    def _z_query(self, **limits: int | None) -> DocumentQuery:
        query = DocumentQuery(devices=[self._n], kinds=[documents.Z], newest_first=False, limit=MOST_REPORTS)
        return msgspec.structs.replace(query, **limits)

    async def _summary(
        self, occasion: Occasion, query: DocumentQuery, period: str, fiscal: FiscalRequest, state: RegisterState
    ) -> InfoAndForm:
        found = (await self._store.find_documents(query)).documents
        if not found:
            raise Refused(Res.NO_Z_IN_RANGE)
        rows = [(row.value, row.fiscal_number) for row in found]
        # Years of reports take long.
        make = self._clock.apart if len(rows) > FEW_REPORTS else _at_once
        whole, lines, form = await make(
            _summed, rows, occasion.header, occasion.cashier, occasion.at, period, fiscal.is_short, self._dtype
        )
        shown = [] if fiscal.is_short else lines
        return infos.report_info(occasion, state, whole, shift=state.shift, reports=shown), form

    async def _last_copy(self, occasion: Occasion, fiscal: FiscalRequest, state: RegisterState) -> InfoAndForm:
        return await self._copy_of(DocumentQuery(devices=[self._n], number=state.last_receipt, limit=1))

    async def _copy(self, occasion: Occasion, fiscal: FiscalRequest, state: RegisterState) -> InfoAndForm:
        if not fiscal.fiscal_number:
            raise Refused(Res.MISSING_OBJECT, "fiscal.fiscal_number")
        return await self._copy_of(DocumentQuery(devices=[self._n], fiscal_number=fiscal.fiscal_number, limit=1))

    async def _copy_of(self, query: DocumentQuery) -> InfoAndForm:
        found = (await self._store.find_documents(query)).documents
        if not found or not found[0].answer:
            raise Refused(Res.TAG_NOT_FOUND)
        row = found[0]
        form = document_form(documents.decode(row.value), row.fiscal_number, copy=True)
        return _info_of(row.answer).info, form


def _day(at: int | None) -> str:
    """The day of a moment as people write it; an open end is three dots."""
    return "..." if at is None else f"{kyiv(at):%d-%m-%Y}"


async def _at_once(work: Callable[..., T], *given: object) -> T:
    return work(*given)


def _summed(
    rows: list[tuple[bytes, str]], header: Header, cashier: str, at: int, period: str, is_short: bool, dtype: int
) -> tuple[ShiftTotals, list[infos.SummaryLine], list[Element]]:
    """The totals, the line of each report and the form of a summary of stored Z-reports.

    :raises Refused: 1060 when one of them cannot be read.
    """
    reports = [(*_z_of(value), number) for value, number in rows]
    whole = totals.together(report for _, report, _ in reports)
    lines = [infos.SummaryLine.of(document, number, report) for document, report, number in reports]
    shown = [(document, number) for document, _, number in reports]
    form = summary_form(header, cashier, at, period, whole, shown, is_short=is_short, dtype=dtype)
    return whole, lines, form


def _z_of(value: bytes) -> tuple[Document, ShiftTotals]:
    """A stored Z with its totals.

    :raises Refused: 1060 when it cannot be read.
    """
    try:
        document = documents.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise Refused(Res.Z_CORRUPTED) from None
    if document.report is None:
        raise Refused(Res.Z_CORRUPTED)
    return document, document.report


_STATES: dict[int, Callable[[Occasion, RegisterState], infos.CommonInfo]] = {
    STATUS: infos.status_info,
    NUMBER: infos.number_info,
    LAST_NUMBERS: infos.last_numbers_info,
}
"""Tasks that only report the state; they print nothing."""

_TASKS: dict[int, Callable[[LocalTasks, Occasion, FiscalRequest, RegisterState], Awaitable[InfoAndForm]]] = {
    SERVICE_REPORT: LocalTasks._service_report,
    X_REPORT: LocalTasks._x,
    SUMMARY_BY_NUMBER: LocalTasks._by_number,
    SUMMARY_BY_DATE: LocalTasks._by_date,
    LAST_COPY: LocalTasks._last_copy,
    COPY: LocalTasks._copy,
}
