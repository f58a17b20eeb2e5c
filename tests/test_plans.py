"""How databases go about our statements: by their indexes, whatever the length of the history."""

from __future__ import annotations

import re
import sqlite3
from typing import Any
from unittest import skipIf

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase, TestCase

from dmtwisted.store.interface import IStore
from dmtwisted.store.postgres.sessions import Prepared, Session
from dmtwisted.store.postgres.store import PostgresStore
from dmtwisted.store.seals import GENESIS
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import CHANGE, Change, Cut, DocumentQuery, OperationQuery, Outcome, State
from tests.postgres_server import MISSING, server
from tests.store_contract import AT, TILL, intent, paper

JOURNAL = ("operation", "document", "seal")
"""The tables that grow for years."""

COVERING, SMALL = "COVERING INDEX", ("INDEX operation_unresolved", "INDEX document_z")
"""Indexes that are read instead of their table, and such that hold few rows of it."""

DATABASE = "plans"

OPERATIONS = (
    OperationQuery(),
    OperationQuery(offset=500),
    OperationQuery([TILL]),
    OperationQuery([TILL, 2], ["pay"], [State.DONE], limit=1),
    OperationQuery(kinds=["doc"]),
    OperationQuery(kinds=["pkg"], states=[State.REFUSED]),
    OperationQuery(states=[State.INTENDED, State.UNKNOWN]),
    OperationQuery(states=[State.UNKNOWN], devices=[TILL]),
    OperationQuery(states=[State.REFUSED]),
    OperationQuery(states=[State.DONE]),
    OperationQuery([TILL], states=[State.DONE, State.INTENDED], at_from=AT),
    OperationQuery([TILL], ["fiscal", "untagged"], [State.REFUSED, State.UNKNOWN]),
    OperationQuery(at_from=AT, at_to=AT + 1),
    OperationQuery(kinds=["doc"], key="4000000001/17"),
    OperationQuery([TILL], ["fiscal"], key="a"),
    OperationQuery([TILL], ["fiscal", "pay"], [State.DONE], key="a"),
    OperationQuery(key="a"),
    OperationQuery(n=1),
    OperationQuery(kinds=["pkg"], n=1),
    OperationQuery(kinds=[CHANGE]),
    OperationQuery(kinds=[CHANGE], below=7),
    OperationQuery([TILL], [CHANGE], key="device", below=7),
    OperationQuery(kinds=[CHANGE], key="device"),
)

DOCUMENTS = (
    DocumentQuery(),
    DocumentQuery(offset=500, newest_first=False),
    DocumentQuery([TILL]),
    DocumentQuery([TILL, 2], ["sale", "return"], at_from=AT, at_to=AT + 1),
    DocumentQuery(kinds=["z"]),
    DocumentQuery([TILL], ["z"], shift_from=1, shift_to=2),
    DocumentQuery([TILL], ["z"], at_from=AT),
    DocumentQuery(fiscal_number="F-1"),
    DocumentQuery([TILL], fiscal_number="F-1"),
    DocumentQuery(number=17),
    DocumentQuery([TILL], number=17, limit=1),
)


async def use(store: IStore) -> None:
    """Ask every verb that meets the journal, in every way that the rooms above do."""
    first = (await store.reserve(intent(TILL, "a", paper(1), paper(2), request=b"1"))).n
    await store.accept_document(first, 1, "F-1")
    done = Outcome(first, TILL, State.DONE, AT, 0, b"{}", {1: "F-1", 2: "F-2"}, b"{}", 1, {"1": 1})
    await store.conclude(done)
    await store.reserve(intent(TILL, "a", paper(3)))
    second = (await store.reserve(intent(TILL, "b", kind="pay"))).n
    await store.note(second, b"2")
    await store.change_settings({"a": b"1"}, Change("settings", AT, b"{}"))
    await store.conclude(Outcome(second, TILL, State.UNKNOWN, AT, 411, b"", {}, None, request=b"3"))
    await store.conclude_at_once(intent(TILL, "c", paper(4)), Outcome(0, TILL, State.DONE, AT, 0, b"{}", {4: "F-4"}))
    for kind in ("fiscal", "pay"):
        await store.find(TILL, kind, "a")
        await store.latest(TILL, kind, "b")
    await store.latest(TILL, "pay", "")
    for device_n in (TILL, None):
        await store.unresolved(device_n)
    for operations in OPERATIONS:
        await store.find_operations(operations)
    for documents in DOCUMENTS:
        await store.find_documents(documents)
    await store.sent_documents(TILL, 1, 100)
    await store.sold_codes(TILL, 1)
    await store.register_state(TILL)
    await store.chains()
    seals = await store.seals(0, 1)
    await store.concluded(0, 100)
    await store.aged(0, 100)
    await store.cut(Cut(TILL, GENESIS, [first], [seals[0].n]))
    await store.forget_codes(TILL, 2)


class SqlitePlanTests(SynchronousTestCase):
    """SQLite, without statistics, as the service works."""

    def plans(self) -> dict[str, list[str]]:
        """The steps of each statement that was run."""
        store = MemoryStore()
        self.successResultOf(Deferred.fromCoroutine(store.open()))
        database = store._db
        assert database is not None
        asked: list[str] = []
        database.set_trace_callback(asked.append)
        self.successResultOf(Deferred.fromCoroutine(use(store)))
        database.set_trace_callback(None)
        plans = {}
        for statement in asked:
            if statement.split()[0] in ("SELECT", "INSERT", "UPDATE", "DELETE"):
                steps = database.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
                plans[statement] = [str(step[3]) for step in steps]
        return plans

    def test_no_scans(self) -> None:
        """No statement goes through a table of the journal; those that count go through an index that covers them."""
        plans = self.plans()
        self.assertGreater(len(plans), 50)
        scans = [
            (step, statement)
            for statement, steps in plans.items()
            for step in steps
            if re.match(rf"SCAN ({'|'.join(JOURNAL)}|[a-z])\b", step)
            and not step.endswith(SMALL)
            and COVERING not in step
        ]
        # The newest of all come by their number, and only as many as a page holds.
        left = [(step, text) for step, text in scans if "ORDER BY n DESC LIMIT" not in text]
        self.assertEqual(left, [])
        self.assertEqual({step for step, _ in scans}, {"SCAN operation"})

    def test_batches_by_key(self) -> None:
        """Whether an operation belongs to a batch is looked up by its key, not among all batches of its register."""
        [steps] = [steps for statement, steps in self.plans().items() if "FROM operation p" in statement]
        self.assertIn("SEARCH p USING COVERING INDEX operation_key (device_n=? AND kind=? AND key=?)", steps)

    def test_scans_are_seen(self) -> None:
        """A statement without an index would be noticed."""
        database = sqlite3.connect(":memory:")
        database.execute("CREATE TABLE operation (n INTEGER PRIMARY KEY, state TEXT)")
        [(*_, step)] = database.execute("EXPLAIN QUERY PLAN SELECT * FROM operation WHERE state = 'x'").fetchall()
        self.assertEqual(step, "SCAN operation")


@skipIf(MISSING, MISSING)
class PostgresPlanTests(TestCase):
    """PostgreSQL, forced to use indexes: the table scans that are left would be left with years of data too."""

    timeout = 60

    async def test_no_scans(self) -> None:
        """No statement has to go through a table of the journal."""
        server().empty(DATABASE)
        asked: list[tuple[str, Any]] = []
        ask = Session.ask

        async def heard(session: Session, statement: str | Prepared, *more: Any) -> Any:
            asked.append((statement.text if isinstance(statement, Prepared) else statement, more[0] if more else ()))
            return await ask(session, statement, *more)

        store = PostgresStore(reactor, server().url(DATABASE), "shop", size=2)
        self.addCleanup(lambda: Deferred.fromCoroutine(store.close()))
        await store.open()
        self.patch(Session, "ask", heard)
        await use(store)
        scans = []
        connection = server().connect(DATABASE)
        self.addCleanup(connection.close)
        cursor = connection.cursor()
        cursor.execute("SET enable_seqscan TO off")
        journal = [(text, values) for text, values in asked if any(f" {table}" in text for table in JOURNAL)]
        self.assertGreater(len(journal), 40)
        for statement, values in journal:
            cursor.execute(f"EXPLAIN {statement}", values or None)
            for (step,) in cursor.fetchall():
                if re.search(rf"Seq Scan on ({'|'.join(JOURNAL)})\b", step):
                    scans.append((step, statement))
            connection.rollback()
            cursor.execute("SET enable_seqscan TO off")
        self.assertEqual(scans, [])
