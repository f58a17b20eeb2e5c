"""What the document adds to each path: the shapes of body and answer, the query, an example.

Paths, methods and descriptions come from the routes themselves (`web.openapi.routes`). A test fails for a route
without a line here, and for a line without a route. A new route gets one line::

    "GET /dm/api/v3/things": Entry("devices", {200: ThingList}),

`web.openapi.document` adds the errors that every route of a kind can answer. Pages for people need no line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dmtwisted.changes import Area
from dmtwisted.documents.accounts import TABLES
from dmtwisted.finding.search import SearchRecord
from dmtwisted.registers.basket import BasketSums
from dmtwisted.registers.channels.interface import ProtocolFound
from dmtwisted.store.values import State
from web.accounts import FORMATS
from web.answers import Done, Error
from web.api_keys import KeyChange, KeyList, KeyMade, KeyRecord, NewKey
from web.backups import BackupList, BackupStatus
from web.certificate import CertificateChanged, CertificateGiven, CertificateStatus, NewCertificate
from web.changes import ChangeFile, ChangeList
from web.cloud import CloudRequest
from web.devices import (
    DeviceChange,
    DeviceList,
    DeviceRecord,
    Drivers,
    LedgerEntries,
    ModeChanged,
    NewDevice,
    Outlets,
    ScenarioRules,
)
from web.doctor import FindingList, Mend
from web.finding import FoundHere, NewSearch
from web.goods import GoodsFile, GoodsImport, GoodsItem, GoodsList, GoodsRecord
from web.health import Probe
from web.hooks import DeadList, NewWebhook, WebhookChange, WebhookList, WebhookMade, WebhookRecord, WebhookTested
from web.interruption import Interrupted
from web.journal import JobList, JobRecord, OperationList, OperationRecord, Settlement, SlipPrint
from web.keys import KeyLoaded
from web.mail import LetterList, MailTested, TestMail
from web.pages.dry_check import NotYet
from web.prro import Groups, RegisterRow
from web.receipts import KINDS as DOCUMENTS
from web.receipts import DocumentList, ReceiptMail, ReceiptPosted, WholeDocument
from web.selling import Basket, ReturnAsked, ReturnSums
from web.sessions import Credentials
from web.settings import Dashboard, SettingsRecord, SystemInfo
from web.stored_events import LARGEST_LIMIT, LONGEST_WAIT, StoredEventPage
from web.support import DatabaseChecked, DatabaseRecord, LogLines
from web.tax_key import ExaminedKeyRecord
from web.training import ClockMove, ClockState
from web.users import NewPerson, OwnPassword, PersonChange, PersonList, PersonRecord
from web.waiting import Accepted

Shape = Any
"""One struct or several; or a text: a media type, the name of a component, or empty for an answer without a body."""


@dataclass(frozen=True)
class Query:
    """A parameter of the query."""

    name: str
    text: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    required: bool = False


@dataclass(frozen=True)
class Entry:
    """What the document adds to a route."""

    tag: str
    answers: Mapping[int, Shape]
    body: Shape = None
    query: tuple[Query, ...] = ()
    example: Any = None
    text: str = ""
    """What the path does, if no route has a docstring for it."""
    media: tuple[str, ...] = ("application/json",)
    """Media types of the body."""


HTML, EVENTS, PLAIN, PNG = "text/html", "text/event-stream", "text/plain", "image/png"
ZIP, PEM, GZIP = "application/zip", "application/x-pem-file", "application/gzip"
CSV, XML = "text/csv", "application/xml"

DEV_NAME = (Query("dev_name", "Name of the terminal."),)
DEV_ID = (Query("dev_id", "Id of the register.", required=True),)

_NUMBER = {"type": "integer", "minimum": 1}

FILTERS = (
    Query("device", "Name or id of a device."),
    Query("key", "The tag, transaction_id or name of a job."),
    Query("kind", "Kind of operation.", {"enum": ["fiscal", "untagged", "pay", "doc", "pkg"]}),
    Query("state", "State; `unfinished` is everything that may need a person.",
          {"enum": ["unfinished", *(str(state) for state in State)]}),
    Query("from", "Start of the period: any beginning of yyyyMMddHHmmss."),
    Query("to", "End of the period, included."),
    Query("page", "Page, from 1.", _NUMBER),
    Query("page_size", "Operations on a page: 50 when absent.", {**_NUMBER, "maximum": 1000}),
)  # fmt: skip
JOB_FILTERS = tuple(
    Query("kind", "Kind of operation.", {"enum": ["doc"]}) if query.name == "kind" else query for query in FILTERS
)
_OF_CHANGES = (
    *(query for query in FILTERS if query.name in ("device", "from", "to")),
    Query("kind", "What was changed.", {"enum": [str(area) for area in Area]}),
)
GOODS_FILTERS = (
    Query("search", "A code, a bar code, or words of the name."),
    *(query for query in FILTERS if query.name in ("page", "page_size")),
)
CHANGE_FILTERS = (*_OF_CHANGES, *(query for query in FILTERS if query.name in ("page", "page_size")))
EXPORT_FILTERS = (*_OF_CHANGES, Query("format", "Format of the file.", {"enum": ["csv", "json"]}))
ACCOUNT_FILTERS = (
    *(query for query in FILTERS if query.name in ("device", "from", "to")),
    Query("table", "The table, `documents` when absent; XML has all of them.", {"enum": [*TABLES]}),
    Query("format", "Format of the file: csv when absent.", {"enum": [*FORMATS]}),
)
RECEIPT_FILTERS = (
    *(query for query in FILTERS if query.name not in ("state", "kind", "key")),
    Query("key", "The tag of the task that issued it."),
    Query("kind", "Kind of document.", {"enum": list(DOCUMENTS)}),
    Query("number", "Local number."),
    Query("fiscal_number", "Fiscal number."),
    Query("search", "Tag, fiscal number or local number."),
)


def _task(text: str, query: tuple[Query, ...] = ()) -> Entry:
    return Entry("tasks", {200: "TaskAnswer", 202: Accepted}, "AnyTask", (*query, _WAIT), text=text)


_WAIT = Query(
    "wait",
    "Seconds to wait, at most 60, before 202. Only with the header `Prefer: respond-async`, which may name them too: "
    "`Prefer: respond-async, wait=5`.",
    {"type": "integer", "minimum": 0, "maximum": 60},
)
_LATER = Entry(
    "tasks",
    {200: "TaskAnswer", 202: Accepted, 404: (Error, HTML), 405: (Error, HTML)},
    query=(Query("answer", "The place of the answer, from 202.", required=True), _WAIT),
    text="The answer of a task that was sent with `Prefer: respond-async`; 202 while the task is under way. It waits "
    "for 10 minutes and until the service stops; after that repeat the task with its tag.",
)


def _service(text: str) -> Entry:
    return Entry("terminals", {200: "ServiceAnswer"}, query=DEV_NAME, text=text)


def _probe(text: str) -> Entry:
    return Entry("watching", {200: Probe, 503: Probe}, text=text)


V1, V3 = "/dm/main/api/v1", "/dm/api/v3"
DEVICE = f"{V3}/devices/{{dev_id}}"

ENTRIES: dict[str, Entry] = {
    "POST /dm/execute": _task("A task of a register, printer or terminal."),
    "POST /dm/execute-prn": _task(
        "The same, and the document is printed on `prn` or on the printer in `dev_id`. A printer error never fails "
        "the task: see `info.isprint`.",
        (Query("dev_id", "Name or id of the printer; `prn` when absent."),),
    ),
    "POST /dm/execute-pkg": _task(
        "Batch mode: card, receipt and paper in one request. The terminal in the register's settings takes the "
        "payment, then the receipt is issued. One `tag` covers all of it."
    ),
    "GET /dm/execute": _LATER,
    "GET /dm/execute-prn": _LATER,
    "GET /dm/execute-pkg": _LATER,
    "POST /api/v3/fiscal/execute": Entry(
        "tasks",
        {200: "TaskAnswer"},
        CloudRequest,
        text="A task for programs that were written for a cloud cabinet: the header `Authorization`, or `token`, has "
        "the `cloud_token` of the register. A task that needs an open shift opens it. 1083: no such token.",
        example={"source": "shop", "tag": "sale-9", "fiscal": {"task": 18}},
    ),
    "GET /dm/bankping": _service("Whether the terminal answers, idle and ready."),
    "GET /dm/getmerchantlist": _service("The merchants of the terminal: `info.merchListValue`."),
    "GET /dm/getmasklist": _service("The masks of the merchants: `info.maskListValue`."),
    "GET /dm/getgetmasklist": _service("The same; descriptions of the interface have both spellings."),
    "GET /dm/bankecho": _service("Whether the terminal reaches its bank."),
    "GET /dm/transaction-status": _service("What the terminal does now, and for which operation."),
    "GET /dm/lasttransaction": _service("The stored answer of the last operation."),
    "GET /health/live": _probe("Whether the process runs."),
    "GET /health/ready": _probe("Whether the service can take tasks; 503 when it cannot."),
    "GET /metrics": Entry(
        "watching",
        {200: PLAIN},
        text="Figures of the service in the text format of Prometheus; docs/operating.md lists them.",
    ),
    "GET /login": Entry("login", {200: HTML}, query=(Query("next", "The page after the login."),)),
    "POST /login": Entry(
        "login",
        {
            200: Done,
            303: "",
            400: Error,
            401: (Done, HTML),
            403: (Error, HTML),
            413: Error,
            415: Error,
            429: (Done, HTML),
        },
        Credentials,
        example={"login": "shop", "pass": "a long password"},
        media=("application/json", "application/x-www-form-urlencoded"),
    ),
    "POST /logout": Entry("login", {200: Done, 303: ""}),
    f"GET {V3}/api-keys": Entry("login", {200: KeyList}),
    f"POST {V3}/api-keys": Entry("login", {201: KeyMade}, NewKey, example={"name": "accounting"}),
    f"PATCH {V3}/api-keys/{{id}}": Entry("login", {200: KeyRecord}, KeyChange, example={"name": "till"}),
    f"DELETE {V3}/api-keys/{{id}}": Entry("login", {204: ""}),
    f"POST {V3}/api-keys/{{id}}/replace": Entry("login", {200: KeyMade}),
    f"GET {V3}/users": Entry("login", {200: PersonList}),
    f"POST {V3}/users": Entry(
        "login",
        {201: PersonRecord},
        NewPerson,
        example={"login": "owner", "password": "kavun-7-lito", "role": "manager"},
    ),
    f"PATCH {V3}/users/{{id}}": Entry("login", {200: PersonRecord}, PersonChange, example={"role": "manager"}),
    f"DELETE {V3}/users/{{id}}": Entry("login", {204: "", 422: Error}),
    f"POST {V3}/users/me/password": Entry(
        "login", {200: Done, 429: Error}, OwnPassword, example={"old": "kavun-7-lito", "password": "dynia-8-osin"}
    ),
    f"GET {V3}/drivers": Entry("devices", {200: Drivers}),
    f"GET {V3}/devices": Entry("devices", {200: DeviceList}),
    f"POST {V3}/devices": Entry(
        "devices",
        {201: DeviceRecord},
        NewDevice,
        example={"device": "till", "kind": "register", "driver": "training", "settings": {}},
    ),
    f"GET {DEVICE}": Entry("devices", {200: DeviceRecord}),
    f"PATCH {DEVICE}": Entry(
        "devices", {200: DeviceRecord}, DeviceChange, example={"settings": {"rounding_step": 10}}
    ),
    f"DELETE {DEVICE}": Entry("devices", {204: ""}),
    f"POST {DEVICE}/check": Entry("devices", {200: Done}),
    f"GET {DEVICE}/tax-objects": Entry("devices", {200: Outlets, 409: Error}),
    f"GET {DEVICE}/protocol": Entry(
        "devices",
        {200: ProtocolFound, 409: Error},
        query=(Query("other_url", "Address on this machine of a simulator of the other server."),),
    ),
    f"POST {DEVICE}/go-offline": Entry("devices", {200: ModeChanged}),
    f"POST {DEVICE}/go-online": Entry("devices", {200: ModeChanged}),
    f"POST {DEVICE}/interrupt": Entry("devices", {200: Interrupted}),
    f"POST {V3}/check": Entry(
        "devices",
        {200: Done},
        NotYet,
        example={"kind": "terminal", "driver": "ssi-json", "settings": {"host": "127.0.0.1", "port": 9}},
    ),
    f"GET {V3}/found": Entry("devices", {200: FoundHere}),
    f"GET {V3}/search": Entry("devices", {200: SearchRecord}),
    f"POST {V3}/search": Entry("devices", {202: SearchRecord}, NewSearch, example={"what": "printers"}),
    f"DELETE {V3}/search": Entry("devices", {200: SearchRecord}),
    f"POST {V3}/tax-key": Entry(
        "devices",
        {200: ExaminedKeyRecord},
        "SigningKey",
        example={"key": "S2V5LTYuZGF0", "password": "secret"},
        media=("application/json", "multipart/form-data"),
    ),
    f"POST {DEVICE}/reckon": Entry(
        "goods",
        {200: BasketSums},
        Basket,
        example={"receipt": {"rows": [{"name": "Кава", "cnt": 2, "price": 35.5}]}, "given": 100},
    ),
    f"POST {V3}/receipts/{{dev_id}}/{{number}}/return": Entry(
        "goods", {200: ReturnSums}, ReturnAsked, example={"rows": [{"row": 0, "cnt": 1}], "card": False}
    ),
    f"GET {V3}/goods": Entry("goods", {200: GoodsList}, query=GOODS_FILTERS),
    f"POST {V3}/goods": Entry(
        "goods", {200: GoodsRecord, 201: GoodsRecord}, GoodsItem, example={"code": "7", "name": "Кава", "price": 35.5}
    ),
    f"DELETE {V3}/goods": Entry("goods", {204: ""}, query=(Query("code", "Code of the item.", required=True),)),
    f"POST {V3}/goods/import": Entry(
        "goods",
        {200: GoodsImport, 422: (GoodsImport, Error)},
        GoodsFile,
        example={"csv": "code;name;price\n7;Кава;35,50\n", "dry": True},
        media=("application/json", "multipart/form-data"),
    ),
    f"GET {V3}/goods/export": Entry("goods", {200: CSV}),
    f"GET {DEVICE}/scenario": Entry("training", {200: ScenarioRules}),
    f"PUT {DEVICE}/scenario": Entry(
        "training", {200: ScenarioRules}, "ScenarioGiven", example={"rules": [{"on": "sale", "then": "lost_after"}]}
    ),
    f"GET {DEVICE}/ledger": Entry("training", {200: LedgerEntries}),
    f"GET {DEVICE}/strip": Entry(
        "training", {200: (PLAIN, PNG)}, query=(Query("format", "Format of the answer.", {"enum": ["text", "png"]}),)
    ),
    f"GET {V3}/training/clock": Entry("training", {200: ClockState}),
    f"PUT {V3}/training/clock": Entry("training", {200: ClockState}, ClockMove, example={"offset_s": 3600}),
    f"GET {V3}/receipts": Entry("journal", {200: DocumentList}, query=RECEIPT_FILTERS),
    f"GET {V3}/receipts/{{dev_id}}/{{number}}": Entry("journal", {200: WholeDocument}),
    f"POST {V3}/receipts/{{dev_id}}/{{number}}/mail": Entry(
        "journal", {200: ReceiptPosted}, ReceiptMail, example={"to": "customer@example.com"}
    ),
    f"GET {V3}/operations": Entry("journal", {200: OperationList}, query=FILTERS),
    f"GET {V3}/changes": Entry("journal", {200: ChangeList}, query=CHANGE_FILTERS),
    f"GET {V3}/changes/export": Entry("journal", {200: (CSV, ChangeFile)}, query=EXPORT_FILTERS),
    f"GET {V3}/accounts": Entry("journal", {200: (CSV, XML)}, query=ACCOUNT_FILTERS),
    f"GET {V3}/mail": Entry("journal", {200: LetterList}),
    f"POST {V3}/mail/{{n}}/retry": Entry("journal", {200: LetterList}),
    f"DELETE {V3}/mail/{{n}}": Entry("journal", {204: ""}),
    f"POST {V3}/mail/test": Entry("journal", {200: MailTested}, TestMail, example={"to": "me@shop.example"}),
    f"GET {V3}/webhooks": Entry("watching", {200: WebhookList}),
    f"POST {V3}/webhooks": Entry(
        "watching",
        {201: WebhookMade},
        NewWebhook,
        example={"name": "accounting", "url": "https://accounts.example/events", "events": ["document.made"]},
    ),
    f"PATCH {V3}/webhooks/{{id}}": Entry("watching", {200: WebhookRecord}, WebhookChange, example={"enabled": False}),
    f"DELETE {V3}/webhooks/{{id}}": Entry("watching", {204: ""}),
    f"POST {V3}/webhooks/{{id}}/rotate": Entry("watching", {200: WebhookMade}),
    f"POST {V3}/webhooks/{{id}}/test": Entry("watching", {200: WebhookTested}),
    f"GET {V3}/webhooks/{{id}}/dead": Entry("watching", {200: DeadList}),
    f"POST {V3}/webhooks/{{id}}/dead/retry": Entry("watching", {200: DeadList}),
    f"POST {V3}/webhooks/{{id}}/dead/{{n}}/retry": Entry("watching", {200: DeadList}),
    f"DELETE {V3}/webhooks/{{id}}/dead/{{n}}": Entry("watching", {204: ""}),
    f"GET {V3}/jobs": Entry("journal", {200: JobList}, query=JOB_FILTERS),
    f"POST {V3}/jobs/{{n}}/reprint": Entry("journal", {200: JobRecord}),
    f"POST {V3}/operations/{{n}}/slip": Entry("journal", {200: JobRecord}, SlipPrint, example={"printer": "prn"}),
    f"POST {V3}/operations/{{n}}/settle": Entry(
        "journal", {200: OperationRecord}, Settlement, example={"outcome": "refused"}
    ),
    f"GET {V3}/events": Entry(
        "watching",
        {200: EVENTS, 503: Error},
        query=(Query("stored", "`1` for the events of the store, which outlive a restart.", {"enum": ["1"]}),),
        text="Events of the service as server-sent events; docs/web-interface.md and docs/events.md list them.",
    ),
    f"GET {V3}/events/stored": Entry(
        "watching",
        {200: StoredEventPage},
        query=(
            Query(
                "after",
                "`next` of the answer before, or the id of an event; all that is kept without it.",
                {"type": "string"},
            ),
            Query("limit", "The most events.", {"type": "integer", "minimum": 1, "maximum": LARGEST_LIMIT}),
            Query("device", "Name or id of a device.", {"type": "string"}),
            Query("type", "Types, with commas between them.", {"type": "string"}),
            Query("wait", "Seconds to wait for an event.", {"type": "integer", "maximum": LONGEST_WAIT}),
        ),
    ),
    f"GET {V3}/tls": Entry("watching", {200: CertificateStatus}),
    f"POST {V3}/tls": Entry(
        "watching", {200: CertificateChanged}, CertificateGiven, media=("application/json", "multipart/form-data")
    ),
    f"DELETE {V3}/tls": Entry("watching", {204: ""}),
    f"POST {V3}/tls/reload": Entry("watching", {200: CertificateStatus, 422: Error}),
    f"POST {V3}/tls/authority": Entry(
        "watching", {200: CertificateChanged}, NewCertificate, example={"names": ["shop.local"]}
    ),
    f"GET {V3}/tls/authority.pem": Entry("watching", {200: PEM}),
    f"GET {V3}/log": Entry(
        "watching",
        {200: (LogLines, PLAIN)},
        query=(
            Query("format", "`text` for the whole log as a file.", {"enum": ["text", "json"]}),
            Query("after", "Only lines after the one with this number.", {"type": "integer"}),
        ),
    ),
    f"GET {V3}/doctor": Entry("watching", {200: FindingList}),
    f"POST {V3}/doctor": Entry("watching", {200: FindingList}),
    f"POST {V3}/doctor/fix": Entry("watching", {200: FindingList}, Mend, example={"fix": "permissions"}),
    f"GET {V3}/diagnostics": Entry("watching", {200: ZIP}),
    f"GET {V3}/backups": Entry("watching", {200: BackupList}),
    f"POST {V3}/backups": Entry("watching", {202: BackupStatus}),
    f"GET {V3}/backups/{{name}}": Entry("watching", {200: GZIP}),
    f"GET {V3}/database": Entry("watching", {200: DatabaseRecord}),
    f"POST {V3}/database/check": Entry("watching", {200: DatabaseChecked}),
    f"GET {V1}/settings": Entry("settings", {200: SettingsRecord}),
    f"POST {V1}/settings": Entry("settings", {200: Done}, "SettingsChange", example={"packdays": 40}),
    f"GET {V1}/dashboard": Entry("settings", {200: Dashboard}),
    f"GET {V1}/prro": Entry("settings", {200: (RegisterRow, Done)}, query=DEV_ID),
    f"POST {V1}/prro": Entry(
        "settings",
        {200: (RegisterRow, Done)},
        "RegisterGiven",
        (Query("dev_id", "Id of the register to change; without it a register is created."),),
        example={"device": "till 2", "prro_type": 0, "printforms": {"pf_charcount": 42}},
    ),
    f"GET {V1}/prro/groups": Entry("settings", {200: (Groups, Done)}, query=DEV_ID),
    f"POST {V1}/prro/sign": Entry(
        "settings",
        {200: (KeyLoaded, Done)},
        "SigningKey",
        DEV_ID,
        example={"key": "S2V5LTYuZGF0", "password": "secret"},
        media=("application/json", "multipart/form-data"),
    ),
    "GET /dm/api/v1/sys_info": Entry("settings", {200: SystemInfo}),
    f"GET {V3}/openapi.json": Entry("document", {200: "Document"}, text="This document, OpenAPI 3.1."),
    f"GET {V3}/postman.json": Entry("document", {200: "Document"}, text="The same as a Postman collection."),
    "GET /dm/static/{name}": Entry(
        "pages",
        {200: ("text/css", "text/javascript", "image/svg+xml"), 304: ""},
        text="Styles and scripts of the pages.",
    ),
    "GET /dm/main/receipts.csv": Entry("pages", {200: CSV}),
    "GET /dm/main/receipts/{dev_id}/{number}/picture": Entry("pages", {200: PNG}),
    "GET /dm/main/receipts/{dev_id}/{number}/qr": Entry("pages", {200: "image/svg+xml"}),
    "GET /dm/main/day/{picture}": Entry("pages", {200: CSV}),
    "GET /dm/main/codes.json": Entry("document", {200: "Codes"}),
}
"""Every route of the interface: method and path."""

PAGE = Entry("pages", {200: HTML})
"""The entry of every page."""

MOVED = Entry("pages", {302: ""})
"""The entry of another address of a page."""
