"""What happens in the shop, newest first: filled from the journal, continued by the page's script from the events.

Both make the same sentences, from the words that begin with ``feed_``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from dmtwisted.access.roles import Permit
from dmtwisted.answers import res_of
from dmtwisted.changes import Outcome, record_of
from dmtwisted.core import Core
from dmtwisted.devices.devices import Device
from dmtwisted.documents import documents
from dmtwisted.events import told_of
from dmtwisted.printing.jobs import KIND as JOB
from dmtwisted.printing.jobs import decode_job
from dmtwisted.printing.result import REASONS, reason_text
from dmtwisted.registers.bookkeeping import KIND, UNTAGGED
from dmtwisted.registers.interface import CASH_IN, CASH_OUT, EXPENSE, INCOME, RETURN, SALE, STORNO, WITHDRAWAL
from dmtwisted.results import Res
from dmtwisted.store.values import CHANGE, DocumentQuery, OperationQuery, OperationRow, State
from dmtwisted.terminals import journal
from dmtwisted.terminals.interface import NAMES
from web.filters import NO_DEVICE, covered
from web.pages.rendering import kopecks, money
from web.pages.words import speaker
from web.pages.words_day import DAY
from web.pages.words_needs import NEEDS
from web.receipts import ListedDocument, listed
from web.rights import may

MOST = 60
"""Entries that are filled from the journal."""

GROUPS = ("receipts", "cards", "printing", "devices", "service")

TASKS = {
    SALE: "sale",
    RETURN: "return",
    CASH_IN: "cash_in",
    CASH_OUT: "cash_out",
    WITHDRAWAL: "withdrawal",
    INCOME: "income",
    EXPENSE: "expense",
    STORNO: "storno",
}
"""The kinds of the documents that tasks make."""

AREAS = (
    ("/dm/api/v3/devices", "device"),
    ("/dm/main/api/v1/prro/sign", "register_key"),
    ("/dm/main/api/v1/prro", "device"),
    ("/dm/main/api/v1/settings", "settings"),
    ("/dm/api/v3/api-keys", "api_key"),
    ("/dm/api/v3/users", "user"),
    ("/dm/api/v3/tls", "certificate"),
    ("/dm/api/v3/operations", "settlement"),
    ("/dm/api/v3/mail", "mail"),
    ("/dm/api/v3/webhooks", "webhook"),
)
"""What a change at an address concerns; `dmtwisted.changes` has the details."""

_PLAIN = {documents.OPEN: "shift_open", documents.Z: "shift_closed"}
_SILENT = (documents.CLOSE, documents.NUMBERS)
"""Documents that follow another one at once."""


@dataclass(frozen=True)
class Entry:
    """One line; ``mood`` is `good`, `bad`, `warn` or nothing. ``key`` tells it from others that say the same."""

    at: int
    group: str
    mood: str
    device: str
    text: str
    link: str = ""
    key: str = ""


class Feed:
    """The lines that the journal has, for one who may see what ``permit`` covers.

    :param named: the only device whose lines are shown, and ``group`` their only kind; empty for all.
    """

    def __init__(self, core: Core, permit: Permit, language: str, named: str = "", group: str = "") -> None:
        self._core, self._permit, self._language = core, permit, language
        self._say, self._group = speaker(language), group
        self.names = [device.name for device in covered(core.devices, permit)]
        self.named = named if named in self.names else ""
        self._devices = {
            device.row.n: device
            for device in covered(core.devices, permit)
            if device.name == (self.named or device.name)
        }

    async def entries(self) -> list[Entry]:
        """The newest ones first.

        :raises StoreFailed: when the store does not answer.
        """
        found: list[Entry] = []
        if may(self._permit, "GET /dm/api/v3/receipts"):
            found += [entry async for entry in self._receipts()]
        if may(self._permit, "GET /dm/api/v3/changes"):
            found += await self._changes()
        wanted = [entry for entry in found if entry.group == (self._group or entry.group)]
        return sorted(wanted, key=lambda entry: entry.at, reverse=True)[:MOST]

    async def _receipts(self) -> AsyncIterator[Entry]:
        store, only = self._core.store, [*self._devices] or [NO_DEVICE]
        for row in (await store.find_documents(DocumentQuery(devices=only, limit=MOST, counted=False))).documents:
            if row.kind not in _SILENT:
                yield self._document(listed(row, self._devices[row.device_n]))
        states = [State.REFUSED, State.UNKNOWN]
        queries = (
            OperationQuery(devices=only, kinds=[KIND, UNTAGGED], states=states, limit=MOST, counted=False),
            OperationQuery(devices=only, kinds=[journal.KIND, JOB], limit=MOST, counted=False),
        )
        for query in queries:
            for operation in (await store.find_operations(query)).operations:
                if operation.state is not State.INTENDED:
                    yield self._operation(operation, self._devices[operation.device_n])

    def _document(self, one: ListedDocument) -> Entry:
        link, key = f"/dm/main/receipts/{one.dev_id}/{one.number}", f"{one.device} {one.number}"
        if one.kind in (documents.OFFLINE_BEGIN, documents.OFFLINE_END):
            begins = one.kind == documents.OFFLINE_BEGIN
            text = self._words("feed_offline_asked" if begins else "feed_online")
            return Entry(one.at, "devices", "warn" if begins else "good", one.device, text, link)
        if one.kind in _PLAIN:
            return Entry(one.at, "receipts", "good", one.device, self._words(f"feed_{_PLAIN[one.kind]}"), link, key)
        kind = self._say(f"kind_{one.kind}")
        if one.sum:
            text = self._words("feed_document", kind=kind, number=one.number, sum=kopecks(one.sum, self._language))
        else:
            text = self._words("feed_plain_document", kind=kind, number=one.number)
        return Entry(one.at, "receipts", "good", one.device, text, link, key)

    def _operation(self, row: OperationRow, device: Device) -> Entry:
        if row.kind == JOB:
            return self._job(row, device)
        group = "cards" if row.kind == journal.KIND else "receipts"
        if row.state is State.DONE and not (row.answer and res_of(row.answer)):
            kind = self._say(f"pay_{NAMES.get(row.task, 'other')}")
            amount = told_of(row.answer).info.sum if row.answer else 0
            if amount:
                text = self._words("feed_payment", kind=kind, sum=money(amount, self._language))
            else:
                text = self._words("feed_plain_payment", kind=kind, state=self._say("state_done"))
            return Entry(row.at, group, "good", device.name, text)
        text = self._meaning(row.res)
        if row.state is State.UNKNOWN:
            return Entry(row.at, group, "warn", device.name, self._words("feed_unknown", text=text))
        return Entry(row.at, group, "bad", device.name, self._words("feed_refused", code=row.res, text=text))

    def _job(self, row: OperationRow, device: Device) -> Entry:
        job = decode_job(row.request)
        fate = job.fate or "unknown"
        mood = {"not_printed": "bad", "unknown": "warn"}.get(fate, "good")
        if job.reason:
            why = reason_text(job.reason).for_language(self._language)
            text = self._words("feed_job_why", fate=self._say(fate), why=why)
        else:
            text = self._words("feed_job", fate=self._say(fate))
        return Entry(row.at, "printing", mood, device.name, text, key=f"job {row.n}")

    async def _changes(self) -> list[Entry]:
        only = [*self._devices] if self.named else []
        query = OperationQuery(devices=only, kinds=[CHANGE], limit=MOST // 2, counted=False)
        found = []
        for row in (await self._core.store.find_operations(query)).operations:
            record = record_of(row)
            what = self._say(f"change_{row.key}")
            if record.subject:
                what += f" «{record.subject}»"
            failed = record.outcome is Outcome.FAILED
            action = self._say("change_failed") if failed else self._say(f"action_{record.action}")
            who = " ".join(filter(None, (self._say(f"by_{record.by}"), record.name)))
            device = self._devices.get(row.device_n)
            name = device.name if device is not None else ""
            text = f"{what}: {action} ({who})"
            found.append(Entry(row.at, "service", "bad" if failed else "", name, text, "/dm/main/settings/changes"))
        return found

    def _meaning(self, code: int) -> str:
        try:
            return Res.by_code(code).text.for_language(self._language)
        except KeyError:
            return ""

    def _words(self, key: str, **values: object) -> str:
        return self._say(key).format(**values)

    def for_script(self) -> dict[str, Any]:
        """What the page's script needs to go on: words, devices, the time of the service."""
        say = self._say
        return {
            "words": {key: say(key) for key in DAY if key.startswith("feed_")},
            "kinds": {task: say(f"kind_{kind}") for task, kind in TASKS.items()},
            "pays": {task: say(f"pay_{name}") for task, name in NAMES.items()},
            "fates": {fate: say(fate) for fate in ("printed", "accepted", "not_printed", "unknown")},
            "reasons": {reason: reason_text(reason).for_language(self._language) for reason in REASONS},
            "areas": [(path, say(f"change_{area}")) for path, area in AREAS],
            "changed": say("action_changed"),
            "needs": {key.removeprefix("need_"): say(key) for key in NEEDS if key.startswith("need_")},
            "nothing": say("needs_nothing"),
            "done": say("state_done"),
            "now": self._core.clock.now(),
            "devices": {device.row.dev_id: device.name for device in self._devices.values()},
            "receipts": may(self._permit, "GET /dm/main/receipts"),
            "changes": may(self._permit, "GET /dm/main/settings/changes"),
        }
