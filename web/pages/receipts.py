"""Receipts for pages: searched by date, number, tag or sum, and shown one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

import msgspec

from dmtwisted.clock import ServiceClock, span
from dmtwisted.devices.devices import Device, register_settings
from dmtwisted.devices.driver import REGISTER
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document
from dmtwisted.documents.paper import DocumentPaper
from dmtwisted.money import NotANumber, kopecks
from dmtwisted.printing import image
from dmtwisted.printing.jobs import KIND as JOB
from dmtwisted.printing.jobs import decode_job
from dmtwisted.printing.result import reason_text
from dmtwisted.printing.text import render_text
from dmtwisted.registers import kept
from dmtwisted.registers.bookkeeping import KIND
from dmtwisted.registers.interface import TaxServiceRegister
from dmtwisted.registers.kept import Moments
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentQuery, FoundDocument, OperationQuery, OperationRow, State
from dmtwisted.unfinished import FISCAL
from protocols.printers.symbols import QR_QUIET, squares
from web.receipts import ListedDocument, listed, with_tag

PAGE_SIZE = 25
"""Documents on a page."""

BATCH, MOST = 200, 2000
"""For a search by sum, which the store cannot do: documents read at a time, and in all."""

FILTERS = ("device", "from", "to", "number", "tag", "sum")
"""Fields of the search form."""


@dataclass(frozen=True)
class Search:
    """A search as a person filled it in, and its mistakes."""

    given: dict[str, str]
    mistakes: tuple[tuple[str, str], ...]
    at_from: int | None = None
    at_to: int | None = None
    sum: int | None = None
    page: int = 1

    @property
    def has_mistakes(self) -> bool:
        """Whether the search cannot be made."""
        return bool(self.mistakes)


@dataclass(frozen=True)
class SearchResult:
    """One page of found documents; ``partly`` when only the newest documents were read."""

    documents: tuple[ListedDocument, ...] = ()
    total: int = 0
    page: int = 1
    pages: int = 1
    partly: bool = False


@dataclass(frozen=True)
class Step:
    """One step in a document's history: a key of the words, its time (0: not known), and details."""

    word: str
    at: int
    more: str = ""
    good: bool = True


def wanted(given: dict[str, str]) -> Search:
    """The search in the fields ``given``."""
    given = {name: given.get(name, "").strip() for name in (*FILTERS, "page")}
    mistakes: list[tuple[str, str]] = []
    moments: dict[str, int | None] = {"from": None, "to": None}
    for name, end in (("from", 0), ("to", 1)):
        if given[name]:
            try:
                moments[name] = span(f"{date.fromisoformat(given[name]):%Y%m%d}")[end]
            except ValueError:
                mistakes.append((name, "not_a_date"))
    amount = None
    if given["sum"]:
        try:
            amount = kopecks(re.sub(r"\s", "", given["sum"]).replace(",", "."))
        except NotANumber:
            mistakes.append(("sum", "not_a_sum"))
    page = int(given["page"]) if re.fullmatch(r"[1-9][0-9]{0,5}", given["page"]) else 1
    return Search(given, tuple(mistakes), moments["from"], moments["to"], amount, page)


async def find(store: IStore, devices: Iterable[Device], asked: Search) -> SearchResult:
    """The documents that match ``asked``, newest first.

    :raises StoreFailed: when the store does not answer.
    """
    registers: dict[int, Device] = {device.row.n: device for device in devices if device.kind == REGISTER}
    named = asked.given["device"]
    if named:
        registers = {n: device for n, device in registers.items() if named in (device.name, device.row.dev_id)}
    if not registers or asked.has_mistakes:
        return SearchResult()
    number, tag = asked.given["number"], asked.given["tag"]
    query = DocumentQuery(
        devices=list(registers), kinds=[], at_from=asked.at_from, at_to=asked.at_to, limit=PAGE_SIZE
    )
    if number:
        by_fiscal = msgspec.structs.replace(query, fiscal_number=number)
        rows = (await store.find_documents(by_fiscal)).documents
        if not rows and number.isascii() and number.isdigit() and len(number) < 19:
            rows = (await store.find_documents(msgspec.structs.replace(query, number=int(number)))).documents
        return _found([row for row in rows if _fits(row, registers[row.device_n], asked)], registers)
    if tag:
        tagged = await with_tag(store, query, registers, tag)
        return _found([row for row in tagged if _fits(row, registers[row.device_n], asked)], registers)
    if asked.sum is not None:
        return await _by_sum(store, registers, asked, query)
    paged = msgspec.structs.replace(query, offset=(asked.page - 1) * PAGE_SIZE)
    found = await store.find_documents(paged)
    return SearchResult(
        tuple(listed(row, registers[row.device_n]) for row in found.documents),
        found.total,
        asked.page,
        max(1, -(-found.total // PAGE_SIZE)),
    )


def _fits(row: FoundDocument, device: Device, asked: Search) -> bool:
    """Whether a row that was found by its number or tag has the wanted tag and sum."""
    try:
        value = documents.decode(row.value)
    except msgspec.MsgspecError:
        return False
    if asked.given["tag"] and value.caller.tag != asked.given["tag"]:
        return False
    return asked.sum is None or asked.sum == listed(row, device).sum


async def _by_sum(store: IStore, registers: dict[int, Device], asked: Search, query: DocumentQuery) -> SearchResult:
    rows: list[FoundDocument] = []
    offset = 0
    while True:
        found = await store.find_documents(msgspec.structs.replace(query, limit=BATCH, offset=offset))
        rows += [row for row in found.documents if _fits(row, registers[row.device_n], asked)]
        offset += len(found.documents)
        if len(found.documents) < BATCH or offset >= MOST:
            break
    first = (asked.page - 1) * PAGE_SIZE
    page = tuple(listed(row, registers[row.device_n]) for row in rows[first : first + PAGE_SIZE])
    return SearchResult(page, len(rows), asked.page, max(1, -(-len(rows) // PAGE_SIZE)), partly=offset < found.total)


def _found(rows: list[FoundDocument], registers: dict[int, Device]) -> SearchResult:
    return SearchResult(tuple(listed(row, registers[row.device_n]) for row in rows), len(rows))


async def one(store: IStore, device: Device, number: int) -> tuple[FoundDocument, Document] | None:
    """The document ``number`` of a register, accepted or with an unknown outcome; `None` when it cannot be shown.

    :raises StoreFailed: when the store does not answer.
    """
    found = await store.find_documents(DocumentQuery(devices=[device.row.n], number=number, limit=1))
    row = found.documents[0] if found.documents else await _open_one(store, device, number)
    if row is None:
        return None
    try:
        return row, documents.decode(row.value)
    except msgspec.MsgspecError:
        return None


async def _open_one(store: IStore, device: Device, number: int) -> FoundDocument | None:
    """The document ``number`` of an operation with an unknown outcome."""
    for operation in await store.unresolved(device.row.n):
        for paper in operation.documents:
            if paper.number == number and operation.kind in FISCAL:
                return FoundDocument(
                    device.row.n, number, paper.kind, paper.at, paper.fiscal_number, paper.value, operation.answer
                )
    return None


async def way_of(store: IStore, device: Device, row: FoundDocument, value: Document, language: str) -> list[Step]:
    """The steps of a document as far as the journal knows them, and the next one while its outcome is unknown.

    With a tax service the journal has the times of signing, sending and the answer (`dmtwisted.registers.kept`).
    Without one, and in documents of earlier versions, these steps have no time of their own.

    :raises StoreFailed: when the store does not answer.
    """
    operation = await _operation_of(store, device, row, value)
    known = kept.decode(operation.request).way.get(row.number) if operation is not None else None
    way = known or Moments()
    is_open = operation is not None and operation.state in (State.INTENDED, State.UNKNOWN)
    steps = [Step("step_received", operation.at if operation is not None else row.at)]
    if isinstance(device.built, TaxServiceRegister):
        steps.append(Step("step_signed", way.signed))
    if value.offline is not None and value.kind != documents.OFFLINE_END:
        steps += await _offline_steps(store, device, row, way)
    else:
        steps.append(Step("step_stored", 0))
        if is_open:
            steps.append(Step("step_maybe_sent", way.sent, good=False))
        else:
            steps.append(Step("step_sent", way.sent))
            steps.append(Step("step_confirmed", way.answered, row.fiscal_number))
    if is_open and not row.fiscal_number:
        steps.append(Step("step_open", 0, good=False))
    prints = await store.find_operations(OperationQuery(kinds=[JOB], key=f"{value.header.fisid}/{value.number}"))
    for job_row in reversed(prints.operations):
        job = decode_job(job_row.request)
        fate = job.fate or "unknown"
        reason = reason_text(job.reason).for_language(language) if job.reason else ""
        steps.append(Step(f"print:{fate}", job_row.at, reason, fate in ("printed", "accepted")))
    return steps


async def _offline_steps(store: IStore, device: Device, row: FoundDocument, way: Moments) -> list[Step]:
    """A document that the register numbered itself: stored, then sent with the others of its session."""
    steps = [Step("step_offline", way.signed, row.fiscal_number)]
    ends = DocumentQuery(
        devices=[row.device_n], kinds=[documents.OFFLINE_END], at_from=row.at, newest_first=False, limit=1
    )
    state: dict[str, Any] = await device.built.state()
    waits = state.get("online_status") and row.at >= int(state.get("offline_since") or 0)
    if waits:
        return [*steps, Step("step_waits", 0)]
    # The packages are sent before the session ends; their own times are not stored.
    found = (await store.find_documents(ends)).documents
    return [*steps, Step("step_handed_in", found[0].at if found else 0)]


def shares_time(steps: list[Step]) -> bool:
    """Whether steps of the past have no time of their own."""
    return any(not step.at for step in steps if step.word in _TIMED)


_TIMED = ("step_signed", "step_stored", "step_offline", "step_sent", "step_confirmed")


def was_printed(steps: list[Step]) -> bool:
    """Whether a printer was among the steps."""
    return any(step.word.startswith("print:") for step in steps)


async def _operation_of(store: IStore, device: Device, row: FoundDocument, value: Document) -> OperationRow | None:
    """The operation of a document: by its tag, else by the time at which both began."""
    if value.caller.tag:
        done = await store.find(device.row.n, KIND, value.caller.tag)
        return done or await store.latest(device.row.n, KIND, value.caller.tag)
    query = OperationQuery(devices=[device.row.n], kinds=list(FISCAL), at_from=row.at, at_to=row.at)
    found = [one for one in (await store.find_operations(query)).operations if one.state != State.REFUSED]
    return found[0] if len(found) == 1 else None


def pretty(answer: bytes) -> str:
    """A stored answer as indented JSON; unchanged when it is not JSON."""
    try:
        return msgspec.json.format(answer, indent=2).decode()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return answer.decode("utf-8", "replace")


async def picture_of(device: Device, row: FoundDocument, value: Document, clock: ServiceClock) -> bytes:
    """The document as PNG, with the shop's own template.

    :raises CrewFailed: when it takes too long to draw.
    """
    return await clock.apart(_png, _copy(device, row, value), register_settings(device).pf_dots)


def _png(paper: DocumentPaper, dots: int) -> bytes:
    return image.draw(paper(), dots).png


def qr_svg(link: str) -> bytes:
    """The QR code of a link as a picture of squares."""
    rows = squares(link.encode(), "M")
    side = len(rows) + 2 * QR_QUIET
    black = "".join(
        f"M{x + QR_QUIET} {y + QR_QUIET}h1v1h-1z" for y, row in enumerate(rows) for x, dot in enumerate(row) if dot
    )
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side} {side}" shape-rendering="crispEdges">'
    return f'{svg}<path fill="#fff" d="M0 0h{side}v{side}H0z"/><path d="{black}"/></svg>'.encode()


def text_of(device: Device, row: FoundDocument, value: Document) -> str:
    """The document as lines of text."""
    return render_text(_copy(device, row, value)(), register_settings(device).pf_charcount)


def _copy(device: Device, row: FoundDocument, value: Document) -> DocumentPaper:
    return DocumentPaper(value, row.fiscal_number, register_settings(device).template, copy=True)
