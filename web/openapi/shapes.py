"""The shapes of answers that the service puts together member by member.

They are for the document alone; the tests hold each of them to what is really answered, in both directions: an answer
with a member that is not here fails, and so does one that lacks a member without a default.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from dmtwisted.answers import Number
from dmtwisted.store.values import State
from protocols.simulators.ledger import Entry
from protocols.simulators.scenario import Rule

Kind = Literal["register", "printer", "terminal", "other"]
Fate = Literal["printed", "accepted", "not_printed", "unknown"]


class Done(msgspec.Struct):
    """`res` 0 when it was done; else the code, with its words in `errortxt`."""

    res: int
    errortxt: str


class Problem(msgspec.Struct):
    """What is wrong with one member."""

    path: str
    text: str


class Error(msgspec.Struct):
    """Why the request was not carried out; `errors` name the members that do not fit."""

    res: int
    errortxt: str
    errors: list[Problem]


class TerminalInfo(msgspec.Struct):
    """An approved operation. `sum` is what was approved, which may be less than was asked for: see `partial`."""

    restxt: str
    cardmask: str
    paysys: str
    bankname: str
    sum: Number
    payid: str
    refundid: str
    cancelid: str
    receipt: str
    sliptxt: str
    currency: str
    term_id: str = ""
    merch: str = ""
    hstFld63Sf89: str = ""
    discountName: str = ""
    partial: str = ""
    sum_asked: float = 0.0


class PrinterInfo(msgspec.Struct):
    """What became of a print job."""

    isprint: int
    state: Fate
    job: int


class DriverRecord(msgspec.Struct):
    """A driver with the JSON Schema of its settings.

    `level` is what version `suite` of the conformance suite found: 0 not safe, 1 safe, 2 recovers, 3 whole; null for
    a driver of another package on which it was never run. `origin` is that package, and `conform` the command that
    runs the suite on it.
    """

    kind: Kind
    driver: str
    title: str
    capabilities: list[str]
    level: Literal[0, 1, 2, 3] | None
    suite: int | None
    origin: str
    conform: str
    settings_schema: dict[str, Any]


class Drivers(msgspec.Struct):
    """Every driver."""

    drivers: list[DriverRecord]


class DeviceRecord(msgspec.Struct):
    """A device. Secrets are left out of `settings`; `state` tells how it stands, by its kind."""

    dev_id: str
    device: str
    dev_code: str
    kind: Kind
    driver: str
    is_doc: bool
    is_pay: bool
    is_fis: bool
    settings: dict[str, Any]
    state: dict[str, Any]


class DeviceList(msgspec.Struct):
    """Every device."""

    devices: list[DeviceRecord]


class TaxRegister(msgspec.Struct):
    """A register as the tax service has it: both numbers go into the settings of `prro`."""

    fiscal_number: str
    local_number: int
    name: str
    closed: bool


class TaxObject(msgspec.Struct):
    """An outlet as the tax service has it: `tin`, `ipn`, `org_name`, `name`, `address` stand in every document."""

    name: str
    address: str
    tin: str
    ipn: str
    org_name: str
    single_tax: bool
    chief_cashier: bool
    registers: list[TaxRegister]


class TaxObjects(msgspec.Struct):
    """The outlets that the key of a register may be used for; none for a key that is not registered yet."""

    tax_objects: list[TaxObject]


class ModeChanged(DeviceRecord, kw_only=True):
    """The register after it went offline or came back."""

    res: int
    errortxt: str


class Scenario(msgspec.Struct):
    """The rules that are left."""

    rules: list[Rule]


class LedgerEntries(msgspec.Struct):
    """What the far end believes has happened; `sum` in kopecks."""

    entries: list[Entry]


class PageOf(msgspec.Struct):
    """Which page of a list this is."""

    page: int
    page_size: int
    total: int


class DocumentRecord(msgspec.Struct):
    """A fiscal document: what it was, when, under which numbers."""

    device: str
    dev_id: str
    number: int
    kind: str
    dt: str
    fiscal_number: str
    sum: float
    tag: str
    cashier: str
    shift: int
    offline: bool


class DocumentList(msgspec.Struct):
    """A page of fiscal documents."""

    paging: PageOf
    receipts: list[DocumentRecord]


class WholeDocument(DocumentRecord, kw_only=True):
    """A fiscal document with the answer that its till got."""

    answer: dict[str, Any] | None


class OnlineCopyRecord(msgspec.Struct):
    """What became of the online copy of a document that was made again offline."""

    became: Literal["unknown", "revoked", "absent"]
    number: str
    """Its fiscal number, once it is known."""
    again: str
    """The local number of the document that counts."""
    text: str


class OperationRecord(msgspec.Struct):
    """One operation of the journal; `answer` is what its caller was told, `advice` what a person does about it.

    `online_copy` stands in a refused one whose document was made again offline under the same key.
    """

    id: int
    device: str
    kind: str
    task: int
    key: str
    state: State
    dt: str
    res: int | None
    answer: dict[str, Any] | None
    advice: str = ""
    online_copy: OnlineCopyRecord | None = None


class OperationList(msgspec.Struct):
    """A page of the journal."""

    paging: PageOf
    operations: list[OperationRecord]


class JobRecord(msgspec.Struct):
    """One print job."""

    id: int
    device: str
    task: int
    key: str
    state: State
    dt: str
    res: int | None
    fate: Fate
    reason: str
    paper: str
    replaces: int | None
    advice: str = ""


class JobList(msgspec.Struct):
    """A page of print jobs."""

    paging: PageOf
    jobs: list[JobRecord]


class Interrupted(Done):
    """The wish was passed on; what the terminal does."""

    state: str = ""


class DashboardRow(msgspec.Struct):
    """How one register stands."""

    device: str
    dev_id: str
    prro_type: int
    fisid: str
    token: str
    signinfo: str
    shiftdt: str
    shiftterm: int
    prro_status: int
    prro_info: str
    offline_time1: int
    offline_time2: int


class Dashboard(msgspec.Struct):
    """How every register stands."""

    devices: list[DashboardRow]
    dfs_metr: int
    need_upd: int
    server_v: str


class PrintForms(msgspec.Struct):
    """Which print forms a register's answers carry, and how wide they are."""

    pf_charcount: int
    pf_charwidth: int
    pf_astext: bool
    pf_asimage: bool
    pf_aspdf: bool


class RegisterRow(DashboardRow, kw_only=True):
    """One register with its print forms, and its settings without secrets."""

    res: int
    errortxt: str
    driver: str
    printforms: PrintForms
    settings: dict[str, Any]


class GroupRecord(msgspec.Struct):
    """A tax group."""

    gr_id: int
    caption: str
    tg_print: str


class Groups(msgspec.Struct):
    """The tax groups that are enabled."""

    res: int
    errortxt: str
    fis_groups: list[GroupRecord]


class KeyLoaded(Done):
    """`signinfo` tells of the key that signs from now on."""

    signinfo: str = ""


class SystemInfo(msgspec.Struct):
    """The service itself; `uptime` in seconds."""

    database: str
    version: str
    uptime: int
    dt: str
    system: str
    python: str
    training: bool
    https: bool
    ready: bool


class KeyRecord(msgspec.Struct):
    """A key by its name."""

    id: str
    name: str
    dt: str


class KeyList(msgspec.Struct):
    """Every key, without the keys themselves."""

    api_keys: list[KeyRecord]


class KeyMade(msgspec.Struct):
    """A new key; no other answer shows it."""

    id: str
    name: str
    key: str


class ClockTold(msgspec.Struct):
    """How far the service's clock is ahead of the machine's, in seconds, and what it shows."""

    offset_s: float
    dt: str


class CertificateTold(msgspec.Struct):
    """How the certificate stands; `error` is empty when the one in the files is served.

    Of a service without one there is `https` false alone; `restart` says that the next start brings a change.
    """

    https: bool
    restart: bool
    authority: bool
    certificate: str = ""
    subject: str = ""
    issuer: str = ""
    names: list[str] = []
    valid_to: str = ""
    days_left: int = 0
    fingerprint: str = ""
    warnings: list[str] = []
    error: str = ""


class CertificateChanged(CertificateTold, kw_only=True):
    """The same after another one was installed or made."""

    res: int
    errortxt: str


class LogTold(msgspec.Struct):
    """The last lines of the log, and its file when it has one."""

    lines: list[str]
    file: str


class BackupTold(msgspec.Struct):
    """A backup in the folder; `whole` is whether it still says what it is: it was checked when it was made."""

    name: str
    size: int
    dt: str
    rows: int
    whole: bool


class BackupProgress(msgspec.Struct):
    """How far the backup has come that is being made."""

    doing: str
    done: int
    total: int


class BackupStanding(msgspec.Struct):
    """`running` while one is being made; `error` is why the last one failed."""

    running: BackupProgress | None
    error: str


class BackupsTold(BackupStanding):
    """The newest backups."""

    backups: list[BackupTold]


class DatabaseVerdict(msgspec.Struct):
    """What a look at the whole file found."""

    dt: str
    ok: bool
    troubles: list[str]


class DatabaseChecked(msgspec.Struct):
    """What a look found; `null` for a database that looks after itself."""

    check: DatabaseVerdict | None


class DatabaseTold(msgspec.Struct):
    """The database: which one, its size in bytes, how much is in it, what the last look found."""

    database: str
    place: str
    size: int | None
    revision: str
    receipts: int
    operations: int
    unfinished: int
    oldest: str
    check: DatabaseVerdict | None


class Found(msgspec.Struct):
    """One finding; `fix` is what `POST /dm/api/v3/doctor/fix` mends of it, empty when a person has to."""

    check: str
    level: Literal["good", "warn", "bad"]
    about: str
    text: str
    advice: str
    fix: Literal["", "permissions", "folder", "certificate", "backup"]


class FoundAll(msgspec.Struct):
    """What a look at everything found, in the language of the caller; `dt` is empty before the first look."""

    dt: str
    status: Literal[0, 1, 2]
    findings: list[Found]


class Probe(msgspec.Struct):
    """Whether it is well."""

    status: Literal["ok", "not ready"]
