"""One receipt for its page: its document, its history, its picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.devices import Device, register_settings
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document
from dmtwisted.documents.paper import DocumentPaper
from dmtwisted.printing import image
from dmtwisted.printing.jobs import KIND as JOB
from dmtwisted.printing.jobs import decode_job
from dmtwisted.printing.result import reason_text
from dmtwisted.printing.text import render_text
from dmtwisted.registers import kept
from dmtwisted.registers.bookkeeping import KIND
from dmtwisted.registers.interface import Remembering, TaxServiceRegister
from dmtwisted.registers.kept import Doubt, Moments
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentQuery, FoundDocument, OperationQuery, OperationRow, State
from dmtwisted.unfinished import FISCAL
from protocols.printers.symbols import QR_QUIET, squares


@dataclass(frozen=True)
class Step:
    """One step in a document's history: a key of the words, its time (0: not known), and details."""

    word: str
    at: int
    more: str = ""
    good: bool = True


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
    doubt = kept.decode(operation.request).doubts.get(row.number) if operation is not None else None
    is_open = operation is not None and operation.state in (State.INTENDED, State.UNKNOWN)
    steps = [Step("step_received", operation.at if operation is not None else row.at)]
    if isinstance(device.built, TaxServiceRegister):
        steps.append(Step("step_signed", way.signed))
    if value.offline is not None and value.kind != documents.OFFLINE_END:
        steps += await _offline_steps(store, device, row, way)
    else:
        steps.append(Step("step_stored", 0))
        if is_open and doubt is None:
            steps.append(Step("step_maybe_sent", way.sent, good=False))
        else:
            steps.append(Step("step_sent", way.sent))
        if doubt is not None:
            steps.append(Step("step_lost" if doubt.lost else "step_interrupted", doubt.lost, good=False))
            if doubt.found:
                steps.append(Step("step_found", doubt.found, row.fiscal_number))
        elif not is_open:
            steps.append(Step("step_confirmed", way.answered, row.fiscal_number))
    if is_open and not row.fiscal_number:
        steps.append(Step("step_open", 0, good=False))
    steps += _answer_steps(device, value, doubt)
    prints = await store.find_operations(OperationQuery(kinds=[JOB], key=f"{value.header.fisid}/{value.number}"))
    for job_row in reversed(prints.operations):
        job = decode_job(job_row.request)
        fate = job.fate or "unknown"
        reason = reason_text(job.reason).for_language(language) if job.reason else ""
        steps.append(Step(f"print:{fate}", job_row.at, reason, fate in ("printed", "accepted")))
    return steps


def _answer_steps(device: Device, value: Document, doubt: Doubt | None) -> list[Step]:
    """What the till heard of a document: of a lost answer always, else when it asked again."""
    built, tag = device.built, value.caller.tag
    repeats = built.repeats(tag) if tag and isinstance(built, Remembering) else None
    steps = []
    if doubt is not None and doubt.found and not doubt.later:
        steps.append(Step("step_answered", 0))
    if repeats is not None:
        steps.append(Step("step_repeated", repeats.at, f"× {repeats.times}" if repeats.times > 1 else ""))
    elif doubt is not None and doubt.later:
        steps.append(Step("step_waits_repeat", 0))
    return steps


async def _offline_steps(store: IStore, device: Device, row: FoundDocument, way: Moments) -> list[Step]:
    """A document that the register numbered itself: stored, then sent with the others of its session."""
    steps = [Step("step_offline", way.signed, row.fiscal_number)]
    ends = DocumentQuery(
        devices=[row.device_n],
        kinds=[documents.OFFLINE_END],
        at_from=row.at,
        newest_first=False,
        limit=1,
        counted=False,
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
