"""``/dm/api/v3/receipts``: fiscal documents in pages, and single documents (docs/reference/http-interface.md#lists).

They come from the journal: no register is involved, so no till has to wait.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.access.roles import Permit
from dmtwisted.answers import Number, amount
from dmtwisted.changes import Action, Area
from dmtwisted.clock import stamp17
from dmtwisted.core import Core
from dmtwisted.devices.devices import Device
from dmtwisted.devices.driver import REGISTER, BadSettings
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document
from dmtwisted.mail.service import masked
from dmtwisted.registers.customers import HANDED_OUT, MAIL, ForCustomer, encode, mail_address
from dmtwisted.results import Refused, Res, Text
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentQuery, FoundDocument, Letter
from dmtwisted.wording import wording
from web.answers import StoredAnswer, json_answer, stored_answer
from web.filters import LARGEST_NUMBER, PageOf, devices_of, given_in, moment_of, page_of
from web.management import HttpRefusal, answer_errors, lasting, read_object
from web.rights import permit_of

KINDS = (
    *(documents.OPEN, documents.SALE, documents.RETURN, documents.CASH_IN, documents.CASH_OUT, documents.WITHDRAWAL),
    *(documents.INCOME, documents.EXPENSE, documents.STORNO, documents.Z, documents.CLOSE),
    *(documents.OFFLINE_BEGIN, documents.OFFLINE_END, documents.NUMBERS),
)
"""The kinds of documents."""

NO_MAIL = Text("пошту в сервісі не налаштовано", "e-mail is not set up in the service")

FILTERS = ("device", "key", "kind", "number", "fiscal_number", "search", "from", "to", "page", "page_size")
"""The filters of the list."""


class DocumentRecord(msgspec.Struct):
    """A fiscal document: its kind, time and numbers."""

    device: str
    dev_id: str
    number: int
    kind: str
    dt: str
    fiscal_number: str
    sum: Number
    tag: str
    cashier: str
    shift: int
    offline: bool


class DocumentList(msgspec.Struct):
    """A page of fiscal documents."""

    paging: PageOf
    receipts: list[DocumentRecord]


class WholeDocument(DocumentRecord, kw_only=True):
    """A fiscal document with the answer that the till got."""

    answer: StoredAnswer


class ReceiptMail(msgspec.Struct, forbid_unknown_fields=True):
    """Who gets a receipt by e-mail."""

    to: str


class ReceiptPosted(msgspec.Struct):
    """A receipt that waits for the mail server; `to` is masked."""

    to: str
    fiscal_number: str


class ReceiptApi:
    """Receipts and all other fiscal documents."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, default_language: str) -> None:
        self._core, self._store, self._devices = core, core.store, core.devices
        self.default_language = default_language

    @app.route("/dm/api/v3/receipts", methods=["GET"])
    async def documents(self, request: IRequest) -> bytes:
        """Fiscal documents of all registers, newest first."""
        given = given_in(request, FILTERS)
        page, size = page_of(given)
        registers = self._registers(given.get("device", ""), permit_of(request))
        kind = given.get("kind", "")
        if kind and kind not in KINDS:
            raise BadSettings("kind", f"one of {', '.join(KINDS)} is expected")
        query = DocumentQuery(
            devices=[*registers],
            kinds=[kind] if kind else [],
            fiscal_number=given.get("fiscal_number", ""),
            at_from=moment_of(given, "from", 0),
            at_to=moment_of(given, "to", 1),
            limit=size,
            offset=(page - 1) * size,
            number=_number(given),
        )
        key, search = given.get("key", ""), given.get("search", "")
        if key or search:
            rows = await self._searched(query, registers, key, search)
            total, rows = len(rows), rows[query.offset : query.offset + size]
        elif registers:
            found = await self._store.find_documents(query)
            total, rows = found.total, found.documents
        else:
            total, rows = 0, []
        records = [_record(row, registers[row.device_n]) for row in rows]
        return json_answer(request, 200, DocumentList(PageOf(page, size, total), records))

    @app.route("/dm/api/v3/receipts/<dev_id>/<int:number>", methods=["GET"])
    async def read(self, request: IRequest, dev_id: str, number: int) -> bytes:
        """One document by its local number, with the answer that the till got."""
        device = self._devices.by_id(dev_id)
        query = DocumentQuery(devices=[device.row.n], number=min(number, LARGEST_NUMBER), limit=1)
        found = await self._store.find_documents(query)
        if not found.documents:
            raise Refused(Res.UNKNOWN_DEVICE, note=wording(f"there is no document {number}"))
        row = found.documents[0]
        record = msgspec.structs.astuple(_record(row, device))
        return json_answer(request, 200, WholeDocument(*record, answer=stored_answer(row.answer)))

    @app.route("/dm/api/v3/receipts/<dev_id>/<int:number>/mail", methods=["POST"])
    async def mail(self, request: IRequest, dev_id: str, number: int) -> bytes:
        """Send a receipt to a customer by e-mail; the service tries until the mail server takes it."""
        device, core = self._devices.by_id(dev_id), self._core
        to = mail_address(read_object(request, ReceiptMail).to.strip())
        if not to:
            raise BadSettings("to", "an e-mail address is expected")
        query = DocumentQuery(devices=[device.row.n], number=min(number, LARGEST_NUMBER), limit=1)
        found = (await self._store.find_documents(query)).documents
        if not found or found[0].kind not in HANDED_OUT:
            raise Refused(Res.UNKNOWN_DEVICE, note=wording(f"there is no receipt {number}"))
        if not core.post.ways().mail:
            raise HttpRefusal(409, NO_MAIL)
        row, now = found[0], core.clock.now()
        letter = Letter(MAIL, device.row.n, now, encode(ForCustomer(to, row.fiscal_number, now, row.value)))
        await core.changes.keep(Area.MAIL, Action.CREATED, after={"to": masked(to)}, subject=row.fiscal_number)
        await lasting(self._store.post([letter]))
        core.outbox.posted()
        return json_answer(request, 200, ReceiptPosted(masked(to), row.fiscal_number))

    def _registers(self, named: str, permit: Permit) -> dict[int, Device]:
        wanted = set(devices_of(named, self._devices, permit))
        return {
            device.row.n: device
            for device in self._devices
            if device.kind == REGISTER and (not wanted or device.row.n in wanted)
        }

    async def _searched(
        self, query: DocumentQuery, registers: dict[int, Device], key: str, search: str
    ) -> list[FoundDocument]:
        """Documents with the tag ``key``, or with ``search`` as tag, fiscal or local number; newest first."""
        found: dict[tuple[int, int], FoundDocument] = {}
        every = msgspec.structs.replace(query, offset=0, limit=MOST)
        if search:
            queries = [msgspec.structs.replace(every, fiscal_number=search)]
            if search.isascii() and search.isdigit() and int(search) <= LARGEST_NUMBER:
                queries.append(msgspec.structs.replace(every, number=int(search)))
            for asked in queries if registers else ():
                rows = (await self._store.find_documents(asked)).documents
                found |= {(row.device_n, row.number): row for row in rows}
        for tag in {key, search} - {""}:
            for row in await with_tag(self._store, every, registers, tag):
                found[row.device_n, row.number] = row
        if key and search:
            found = {place: row for place, row in found.items() if listed(row, registers[row.device_n]).tag == key}
        return sorted(found.values(), key=lambda row: (row.at, row.number), reverse=True)


MOST = 1000
"""The most documents that a search reads."""


def _number(given: dict[str, str]) -> int | None:
    text = given.get("number", "")
    if not text:
        return None
    if not text.isascii() or not text.isdigit():
        raise BadSettings("number", "the local number of a document is expected")
    return min(int(text[:30]), LARGEST_NUMBER)


@dataclass(frozen=True)
class ListedDocument:
    """A stored document for a list; ``sum`` in kopecks, ``at`` in milliseconds since 1970."""

    device: str
    dev_id: str
    number: int
    kind: str
    at: int
    fiscal_number: str
    sum: int = 0
    tag: str = ""
    cashier: str = ""
    shift: int = 0
    offline: bool = False


def listed(row: FoundDocument, device: Device, value: Document | None = None) -> ListedDocument:
    """A stored document; of one that cannot be read, what the store knows of it.

    :param value: the document, where it has been read already.
    """
    known = (device.name, device.row.dev_id, row.number, row.kind, row.at, row.fiscal_number)
    try:
        value = value or documents.decode(row.value)
    except msgspec.MsgspecError:
        return ListedDocument(*known)
    kopecks = value.report.calc_p if value.report is not None else value.sum
    return ListedDocument(*known, kopecks, value.caller.tag, value.cashier, value.shift, value.offline is not None)


def _record(row: FoundDocument, device: Device) -> DocumentRecord:
    found = listed(row, device)
    return DocumentRecord(
        device=found.device,
        dev_id=found.dev_id,
        number=found.number,
        kind=found.kind,
        dt=stamp17(found.at),
        fiscal_number=found.fiscal_number,
        sum=amount(found.sum),
        tag=found.tag,
        cashier=found.cashier,
        shift=found.shift,
        offline=found.offline,
    )


async def with_tag(store: IStore, query: DocumentQuery, registers: Iterable[int], tag: str) -> list[FoundDocument]:
    """The documents with ``tag`` of ``registers`` that ``query`` allows."""
    rows: list[FoundDocument] = []
    for n in registers:
        operation = await store.find(n, "fiscal", tag)
        for document in operation.documents if operation is not None else ():
            if query.number in (None, document.number):
                asked = msgspec.structs.replace(query, devices=[n], number=document.number)
                rows += (await store.find_documents(asked)).documents
    return rows
