"""The MS SQL store in front of the stand-in for its server (`tests.mssql_double`): the contract, and what breaks."""

from __future__ import annotations

import sys
from typing import Any
from unittest import skipIf

import psycopg2
import pymssql
import sqlglot
from twisted.internet import reactor
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import SynchronousTestCase, TestCase

from dmtwisted.config import Config, ConfigError, DatabaseConfig, ServiceConfig
from dmtwisted.store import migrating, opening
from dmtwisted.store.claims import Claim, ClaimedElsewhere
from dmtwisted.store.interface import IStore
from dmtwisted.store.migrate import upgrade
from dmtwisted.store.mssql import driver as mssql_driver
from dmtwisted.store.mssql import events as mssql_events
from dmtwisted.store.mssql import sessions as mssql_sessions
from dmtwisted.store.mssql.driver import read_url
from dmtwisted.store.mssql.store import MssqlStore
from dmtwisted.store.mssql.texts import BODY, END, keep, kept
from dmtwisted.store.opening import store_of
from dmtwisted.store.revisions import head
from dmtwisted.store.seals import GENESIS, link
from dmtwisted.store.sessions import Patience
from dmtwisted.store.values import Letter, MarkMove, Marks, MarkStep, Reserved, State, StoreFailed
from dmtwisted.store.verification import verify
from tests import mssql_double
from tests.change_contract import CHANGES, ChangeContract, change
from tests.event_contract import EventContract
from tests.mark_contract import MarkContract
from tests.postgres_server import MISSING, PASSWORD, server
from tests.retention_contract import RetentionContract
from tests.seal_contract import SealContract
from tests.specification import promises
from tests.store_contract import AT, OTHER, TILL, StoreCase, StoreContract, intent, outcome, paper

DATABASE = "tills"
REAL = f"{mssql_double.PREFIX}{DATABASE}"

QUICK = Patience(connect=2.0, statement=1.0, answer=3.0, free=1.0, recovery=5.0, takeover=0.4, restart=2.0)


def url(database: str = DATABASE, port: int | None = None) -> str:
    """The URL of a database on the stand-in."""
    return f"mssql://till:{PASSWORD}@127.0.0.1:{port or server().port}/{database}"


def empty_database() -> None:
    """Make the database by our migrations, or empty the one that is there."""

    def make() -> None:
        server().run("CREATE SCHEMA dbo", REAL)
        with mssql_double.installed():
            upgrade(url())

    server().empty(REAL, make)


class MssqlCase(StoreCase):
    """Stores on an empty database of the stand-in."""

    timeout = 60
    integrity_error = psycopg2.IntegrityError
    patience = Patience()

    def setUp(self) -> None:
        """The driver connects to the stand-in."""
        self.faults = mssql_double.Faults()
        stand_in = mssql_double.installed(self.faults)
        stand_in.__enter__()
        self.addCleanup(stand_in.__exit__, None, None, None)

    def store(self, installation: str = "shop", database: str = DATABASE, **changes: Any) -> MssqlStore:
        """A store that is not open yet; the end of the test closes it."""
        port = changes.pop("port", None)
        patience = changes.pop("patience", self.patience)
        store = MssqlStore(reactor, url(database, port), installation, patience, **changes)
        self.addCleanup(lambda: Deferred.fromCoroutine(store.close()))
        return store

    async def opened_mssql(self, installation: str = "shop", **changes: Any) -> MssqlStore:
        """A store on an empty database."""
        empty_database()
        store = self.store(installation, **changes)
        await store.open()
        return store

    async def opened(self) -> IStore:
        """A store on an empty database."""
        return await self.opened_mssql(size=4)

    def bypass(self, statement: str) -> None:
        """Run ``statement`` on the database."""
        server().run(f"SET search_path TO dbo; {statement}", REAL)

    async def until(self, condition: Any) -> None:
        """Wait until ``condition`` holds."""
        while not condition():
            await deferLater(reactor, 0.01)

    def journal(self) -> list[Any]:
        """Key and state of every operation there is."""
        return server().run('SELECT "key", state FROM dbo.operation ORDER BY n', REAL)


@skipIf(MISSING, MISSING)
class MssqlStoreTests(MssqlCase, StoreContract, TestCase):
    """The contract."""

    async def test_damaged_row(self) -> None:
        """A row with a state that does not exist fails the verb that reads it, and only that verb."""
        store = await self.opened()
        await store.add_device("id-1", "till", "register", "training", b"{}")
        await self.operation(store, "b", State.DONE)
        self.bypass("UPDATE operation SET state = 'lost'")
        await self.refused(store.reserve(intent(TILL, "b")), StoreFailed)
        self.assertEqual(len(await store.devices()), 1)


@skipIf(MISSING, MISSING)
class MssqlChangeTests(MssqlCase, ChangeContract, TestCase):
    """Changes of the service."""


@skipIf(MISSING, MISSING)
class MssqlEventTests(MssqlCase, EventContract, TestCase):
    """Events."""

    async def test_uncommitted(self) -> None:
        """A place is passed when all that took an earlier one are committed, or are gone; no event is skipped."""
        # The reader is not to give up before all of this has happened.
        self.patch(mssql_events, "TRIES", 400)
        store = await self.opened()
        for end in "COMMIT", "ROLLBACK":
            before = (await store.last_event()).n
            late = server().connect(REAL)
            self.addCleanup(late.close)
            cursor = late.cursor()
            n = (await store.reserve(intent(OTHER, f"late {end}"))).n
            cursor.execute(
                "BEGIN; SET search_path TO dbo; INSERT INTO seal (device_n, operation_n, content, chain, event) "
                f"VALUES (2, {n}, '', '', 2)"
            )
            await self.sold(store, before + 1)
            reading = Deferred.fromCoroutine(store.events(before, 10, []))
            await self.until(self.waits)
            # Tills do not wait with the reader.
            await Deferred.fromCoroutine(self.sold(store, before + 2)).addTimeout(5, reactor)
            self.assertNoResult(reading)
            cursor.execute(end)
            keys = [event.operation.key for event in (await reading).events]
            self.assertEqual(keys, [f"late {end}"] * (end == "COMMIT") + [f"tag {before + 1}", f"tag {before + 2}"])

    async def test_hangs(self) -> None:
        """One that writes and does not end stops readers alone."""
        self.patch(mssql_events, "TRIES", 2)
        store = await self.opened()
        n = await self.sold(store, 1)
        late = server().connect(REAL)
        self.addCleanup(late.close)
        late.cursor().execute(
            "BEGIN; SET search_path TO dbo; INSERT INTO seal (device_n, operation_n, content, chain, event) "
            f"VALUES (2, {n}, '', '', 2)"
        )
        await self.refused(store.events(0, 10, []), StoreFailed)

    def waits(self) -> bool:
        """Whether a session waits for a lock."""
        rows = server().run("SELECT count(*) FROM pg_locks WHERE NOT granted", REAL)
        return bool(rows[0][0])


@skipIf(MISSING, MISSING)
class MssqlSealTests(MssqlCase, SealContract, RetentionContract, MarkContract, TestCase):
    """The seals."""

    async def test_first_of_two(self) -> None:
        """The first seal of a device follows one that another session made at the same moment."""
        store = await self.opened()
        n = (await store.reserve(intent(TILL, "a"))).n
        run, theirs = mssql_double.Connection.run, bytes(range(32))

        def after_theirs(connection: mssql_double.Connection, cursor: Any, batch: str, values: Any) -> None:
            if batch.startswith(("UPDATE chain", "INSERT INTO chain")):
                made.restore()
                row = f"({TILL}, 1, '\\x{theirs.hex()}', '\\x{GENESIS.hex()}', 0)"
                self.bypass(f"INSERT INTO chain (device_n, count, hash, anchor, removed) VALUES {row}")
            run(connection, cursor, batch, values)

        made = self.patch(mssql_double.Connection, "run", after_theirs)
        await store.conclude(outcome(n, State.REFUSED))
        [seal] = await store.seals(0, 10)
        self.assertEqual(seal.chain, link(theirs, TILL, n, seal.content))
        self.assertEqual([chain.count for chain in await store.chains()], [2])


@skipIf(MISSING, MISSING)
class LostAnswerTests(MssqlCase, TestCase):
    """The server did what was asked, or did not, and the line broke before it could say so."""

    patience = QUICK

    @promises("3.2.2.4")
    async def test_reserve(self) -> None:
        """An intent whose answer was lost, at any statement, is stored once, and belongs to its caller."""
        store = await self.opened_mssql(size=2)
        moments = ("BEGIN", "FROM claim WITH", "INSERT INTO operation", "INSERT INTO document", "COMMIT")
        for kind in ("fiscal", "pay"):
            for moment in moments:
                for member in ("lose_answer", "lose_question"):
                    await self.until_claimed(store)
                    setattr(self.faults, member, moment)
                    key = f"{kind} {moment} {member}"
                    reserved = await store.reserve(intent(TILL, key, paper(len(self.journal())), kind=kind))
                    self.assertEqual(reserved, Reserved(reserved.n, None), key)
        keys = [key for key, _ in self.journal()]
        self.assertEqual((len(keys), len(set(keys)), self.faults.happened), (20, 20, 20))

    async def test_reserve_known(self) -> None:
        """A tag that was used before stays known when the answer about it was lost."""
        store = await self.opened_mssql(size=2)
        n = await self.operation(store, "a", State.DONE, paper(1))
        self.faults.lose_answer = 'o."key"'
        reserved = await store.reserve(intent(TILL, "a", paper(2)))
        assert reserved.known is not None
        self.assertEqual((reserved.n, reserved.known.answer, self.faults.happened), (n, b"{}", 1))

    async def test_marks(self) -> None:
        """Marks come back once, and letters are kept once, though the answer about their outcome was lost."""
        store = await self.opened_mssql(size=2)
        for number in (1, 2, 3):
            meant = intent(TILL, f"sale {number}", paper(number), marks=Marks(["m"], shared=True))
            n = (await store.reserve(meant)).n
            await store.conclude(outcome(n, fiscal_numbers={number: "F"}, marks=MarkMove(MarkStep.SPEND)))
        back = await self.operation(store, "return", State.INTENDED, paper(4))
        self.faults.lose_answer = "COMMIT"
        letters = [Letter("mail", 0, AT, b"x"), Letter("marks", TILL, AT, b"y")]
        await store.conclude(outcome(back, marks=MarkMove(MarkStep.FREE, ["m"]), letters=letters))
        self.assertEqual([row.number for row in await store.find_marks(["m"])], [2, 3])
        found = await store.find_letters(["mail", "marks"], False, 10, 0)
        self.assertEqual((len(found), self.faults.happened), (2, 1))

    async def test_outcomes(self) -> None:
        """An outcome whose answer was lost, at any statement, is stored once and confirmed to its caller."""
        store = await self.opened_mssql(size=2)
        moments = ("BEGIN", "UPDATE operation", "UPDATE document", "INTO seal", "COMMIT")
        for number, moment in enumerate(moments):
            n = await self.operation(store, moment, State.INTENDED, paper(number))
            self.faults.lose_answer = moment
            await store.conclude(
                outcome(n, answer=b"{}", fiscal_numbers={number: "F"}, register_state=b"%d" % n, sold={moment: 1})
            )
            self.assertEqual((await self.found(store, moment)).documents[0].fiscal_number, "F")
            self.assertEqual(await store.register_state(TILL), b"%d" % n)
            self.faults.lose_answer = moment.replace("document", "operation")
            await store.note(n, b"far")
        self.assertEqual(self.faults.happened, 2 * len(moments))
        self.assertIsNone(await verify(store))

    async def test_other_verbs(self) -> None:
        """No other verb minds a lost answer either."""
        store = await self.opened_mssql(size=2)
        self.faults.lose_answer = "INSERT INTO device"
        device = await store.add_device("id-1", "till", "register", "training", b"{}", change(1))
        self.faults.lose_answer = "UPDATE device"
        await store.change_device(device.n, "till 2", b"[]", change(2))
        self.assertEqual([(each.n, each.name) for each in await store.devices()], [(device.n, "till 2")])
        self.faults.lose_answer = "DELETE FROM device"
        await store.remove_device(device.n, change(3))
        self.faults.lose_answer = "COMMIT"
        await store.change_settings({"a": b"1"}, change(4))
        for number, moment in enumerate(("BEGIN", "INTO operation", "INTO seal", "COMMIT"), 5):
            self.faults.lose_answer = moment
            self.assertEqual(await store.record(change(number)), (await store.seals(0, 100))[-1].operation_n)
        found = (await store.find_operations(CHANGES)).operations
        self.assertEqual([row.at - AT for row in found], [8, 7, 6, 5, 4, 3, 2, 1])
        self.faults.lose_answer = "SELECT name, value"
        self.assertEqual((await store.devices(), await store.settings()), ([], {"a": b"1"}))
        self.assertEqual(self.faults.happened, 9)

    async def test_deadlock(self) -> None:
        """A transaction that the server undid in favour of another is tried again, and no caller notices."""
        store = await self.opened_mssql(size=2)
        self.faults.deadlock = "INSERT INTO document"
        n = (await store.reserve(intent(TILL, "a", paper(1)))).n
        self.faults.deadlock = "INTO seal"
        await store.conclude(outcome(n, fiscal_numbers={1: "F"}))
        self.assertEqual((self.journal(), self.faults.happened), ([("a", "done")], 2))

    async def until_claimed(self, store: MssqlStore) -> None:
        """Wait until the store has its devices and its sessions."""
        await self.until(lambda: store.alive == 2)
        while True:
            try:
                self.assertIs(await store.claims.claim(TILL), Claim.OURS)
                return
            except StoreFailed:
                await deferLater(reactor, 0.01)


@skipIf(MISSING, MISSING)
class ServerTests(MssqlCase, TestCase):
    """The server ends and comes back, its sessions are ended, it takes its time."""

    patience = QUICK

    async def test_sessions_ended(self) -> None:
        """Of many questions while all sessions are ended each is answered once; the service comes back by itself."""
        store = await self.opened_mssql(size=4)
        for turn in range(3):
            asked = [
                Deferred.fromCoroutine(store.reserve(intent(TILL, f"{turn} {n}", paper(100 * turn + n))))
                for n in range(20)
            ]
            server().run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'dmtwisted %'"
            )
            answers = await DeferredList(asked, consumeErrors=True)
            reserved = [answer for done, answer in answers if done]
            self.assertEqual({each.known for each in reserved} | {None}, {None})
            self.assertEqual(len({each.n for each in reserved}), len(reserved))
            await self.until(lambda: store.alive == 4)
        keys = [key for key, _ in self.journal()]
        self.assertEqual(len(keys), len(set(keys)))

    async def test_restarted(self) -> None:
        """While the server is away verbs fail; when it is back all goes on without a new start."""
        self.patch(mssql_sessions, "WATCH", 0.05)
        store = await self.opened_mssql(size=2)
        n = (await store.reserve(intent(TILL, "a", paper(1)))).n
        server().stop()
        await self.until(lambda: not store.alive)
        for asked in (store.settings(), store.reserve(intent(TILL, "b"))):
            self.failureResultOf(Deferred.fromCoroutine(asked), StoreFailed)
        # What has happened already is kept as soon as the server is back, unless that takes too long.
        late = Deferred.fromCoroutine(store.conclude(outcome(n, fiscal_numbers={1: "F"})))
        server().start()
        await late
        self.assertEqual((await self.found(store, "a")).documents[0].fiscal_number, "F")
        await self.until(lambda: store.alive == 2)

    async def test_noticed_idle(self) -> None:
        """Idle sessions notice by themselves that they are lost, and come back."""
        self.patch(mssql_sessions, "WATCH", 0.05)
        store = await self.opened_mssql(size=2)
        names = {session.name for session in store._pool._sessions}  # type: ignore[union-attr]
        server().run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'dmtwisted %'"
        )
        await self.until(
            lambda: store.alive == 2 and not names & {session.name for session in store._pool._sessions}  # type: ignore[union-attr]
        )
        self.assertEqual(await store.settings(), {})

    @promises("1.9c.1.1", "1.9c.1.3")
    async def test_two_registers(self) -> None:
        """While the database is held up with one register another one sells."""
        store = await self.opened_mssql(size=4, patience=Patience())
        n = await self.operation(store, "a", State.INTENDED, paper(1))
        blocker = server().connect(REAL)
        self.addCleanup(blocker.close)
        blocker.cursor().execute(f"BEGIN; SELECT 1 FROM dbo.operation WHERE n = {n} FOR UPDATE")
        held_up = Deferred.fromCoroutine(store.conclude(outcome(n, fiscal_numbers={1: "F"})))
        for number in range(3):
            other = (await store.reserve(intent(OTHER, f"tag {number}", paper(number)))).n
            await store.conclude(outcome(other, device_n=OTHER, fiscal_numbers={number: f"F-{number}"}))
            found = await store.find(OTHER, "fiscal", f"tag {number}")
            self.assertEqual(found and found.n, other)
            await store.change_settings({"number": b"%d" % number})
            self.assertEqual([row.n for row in await store.unresolved(None)], [n])
        self.assertNoResult(held_up)
        blocker.close()
        await held_up
        self.assertEqual((await self.found(store, "a")).n, n)

    async def test_too_slow(self) -> None:
        """What waits too long for a lock has failed, and does not happen later."""
        store = await self.opened_mssql(size=2)
        n = await self.operation(store, "a", State.INTENDED, paper(1))
        blocker = server().connect(REAL)
        self.addCleanup(blocker.close)
        blocker.cursor().execute(f"BEGIN; SELECT 1 FROM dbo.operation WHERE n = {n} FOR UPDATE")
        await self.refused(store.conclude(outcome(n, register_state=b"after")), StoreFailed)
        blocker.close()
        self.assertEqual(self.journal(), [("a", "intended")])
        self.assertIs(await store.register_state(TILL), None)

    async def test_impossible_text(self) -> None:
        """A text that cannot be kept fails its own verb, and nothing of it stays."""
        store = await self.opened_mssql(size=2)
        for key in ("a\0b", "x" * 402):
            await self.refused(store.reserve(intent(TILL, key, paper(1))), StoreFailed)
        self.assertEqual(self.journal(), [])


@skipIf(MISSING, MISSING)
class ClaimTests(MssqlCase, TestCase):
    """Several services on one database."""

    patience = QUICK

    async def second(self, installation: str = "bar") -> MssqlStore:
        """Another service on the same database."""
        store = self.store(installation, size=2)
        await store.open()
        return store

    async def test_one_at_a_time(self) -> None:
        """A device that one service works with is refused to another one, which works with others meanwhile."""
        first = await self.opened_mssql(size=2)
        second = await self.second()
        n = (await first.reserve(intent(TILL, "a", paper(1)))).n
        for asked in (
            second.reserve(intent(TILL, "b", paper(2))),
            second.conclude(outcome(n, State.REFUSED)),
            second.note(n, b"theirs"),
            second.accept_document(n, 1, "F"),
        ):
            await self.refused(asked, ClaimedElsewhere)
        self.assertIs((await second.reserve(intent(OTHER, "b", paper(1)))).known, None)
        await first.conclude(outcome(n, fiscal_numbers={1: "F-1"}))
        self.assertEqual(self.journal(), [("a", "done"), ("b", "intended")])

    async def test_orderly_end(self) -> None:
        """A service that ends in order leaves its devices to others at once; they first read their state again."""
        first = await self.opened_mssql(size=2)
        second = await self.second()
        await self.operation(first, "a", State.DONE, paper(1))
        await first.close()
        complaint = await self.refused(second.reserve(intent(TILL, "b", paper(1))), StoreFailed)
        self.assertIn("read again", str(complaint))
        second.claims.renewed(TILL)
        self.assertIs((await second.reserve(intent(TILL, "b", paper(2)))).known, None)

    async def test_dead_service(self) -> None:
        """The device of a service that is cut off is taken over after a pause; then the old one changes nothing."""
        first = await self.opened_mssql(size=2)
        second = await self.second()
        n = (await first.reserve(intent(TILL, "a", paper(1)))).n
        # All that the server knows of the first service is gone, and it cannot come back.
        first._parameters["port"] = "1"
        ours = first.claims.instance.rpartition("#")[2]
        server().run(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'dmtwisted {ours}%'"
        )
        begun = reactor.seconds()
        while (claim := await second.claims.claim(TILL)) is Claim.ELSEWHERE:
            await deferLater(reactor, 0.02)
        self.assertIs(claim, Claim.TAKEN)
        self.assertGreaterEqual(reactor.seconds() - begun, QUICK.takeover)
        await second.conclude(outcome(n, State.REFUSED))
        first._parameters["port"] = str(server().port)
        await self.until(lambda: first.alive == 2)
        await self.refused(first.conclude(outcome(n, fiscal_numbers={1: "F"})), ClaimedElsewhere)
        self.assertEqual(self.journal(), [("a", "refused")])

    async def test_own_earlier_life(self) -> None:
        """A service that was killed and starts again has its devices at once."""
        first = await self.opened_mssql(size=2)
        await self.operation(first, "a", State.INTENDED)
        again = self.store("shop", size=2)
        await again.open()
        server().run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'dmtwisted "
            f"{first.claims.instance.rpartition('#')[2]}%'"
        )
        self.assertTrue(await again.claims.resume(TILL))
        self.assertIs(await again.claims.claim(TILL), Claim.OURS)

    async def test_closed_meanwhile(self) -> None:
        """A device that is claimed while the session of the claims is given up is not held: its lock is gone."""
        first = await self.opened_mssql(size=2)
        self.assertIs(await first.claims.claim(TILL), Claim.OURS)
        self.bypass(f"INSERT INTO claim (device_n, instance, released, turn) VALUES ({OTHER}, 'shop#earlier', 1, 1)")
        blocker = server().connect(REAL)
        self.addCleanup(blocker.close)
        blocker.cursor().execute(f"BEGIN; SELECT 1 FROM dbo.claim WHERE device_n = {OTHER} FOR UPDATE")
        refused = Deferred.fromCoroutine(self.refused(first.claims.claim(OTHER), StoreFailed))
        waiting = "wait_event_type = 'Lock' AND application_name LIKE 'dmtwisted %'"
        await self.until(lambda: server().run(f"SELECT 1 FROM pg_stat_activity WHERE {waiting}"))
        # As when a statement for the other device was refused.
        first.claims.doubt(TILL)
        blocker.close()
        await refused
        self.assertFalse(first.claims.holds(OTHER))


@skipIf(MISSING, MISSING)
class OpenTests(MssqlCase, TestCase):
    """From a URL to a store that answers."""

    async def test_new_database(self) -> None:
        """An empty database gets the newest schema, byte-wise texts and unique indexes with their conditions."""
        server().run(f"DROP DATABASE IF EXISTS {REAL} WITH (FORCE)")
        server().run(f"CREATE DATABASE {REAL}")
        server().run("CREATE SCHEMA dbo", REAL)
        asked: list[Any] = []

        def in_thread(program: str, arguments: list[str], environment: dict[str, str], **more: Any) -> Any:
            asked.append(arguments)
            upgrading = deferToThread(upgrade, environment["DMTWISTED_DATABASE_URL"])
            return upgrading.addCallback(lambda _: (b"", b"", 0))

        # In this process, which alone knows the stand-in.
        self.patch(migrating, "getProcessOutputAndValue", in_thread)
        store = self.store()
        await store.open()
        self.assertNotIn(PASSWORD, str(asked))
        self.assertEqual(server().run("SELECT version_num FROM dbo.alembic_version", REAL), [(head(),)])
        self.assertIs((await store.reserve(intent(TILL, "a", paper(1)))).known, None)
        indexes = dict(server().run("SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'dbo'", REAL))
        self.assertIn("WHERE", indexes["operation_fiscal_tag"])
        self.assertIn("WHERE", indexes["document_number"])
        await store.close()
        store = self.store()
        await store.open()
        self.assertEqual(len(asked), 1)

    async def test_newer_version(self) -> None:
        """A database that a newer version has changed is not touched by this one."""
        empty_database()
        server().run("UPDATE dbo.alembic_version SET version_num = '9999'", REAL)
        self.addCleanup(server().run, f"UPDATE dbo.alembic_version SET version_num = '{head()}'", REAL)
        complaint = await self.refused(self.store().open(), StoreFailed)
        self.assertIn("newer version", str(complaint))

    async def test_no_way_in(self) -> None:
        """A server that is not there, or does not let us in, is a clear line without a password."""
        empty_database()
        for store in (
            self.store(port=1),
            self.store(database="nowhere"),
            MssqlStore(reactor, url().replace(PASSWORD, f"open-{PASSWORD}"), "shop"),
        ):
            complaint = str(await self.refused(store.open(), StoreFailed))
            self.assertIn("the database server is away: ", complaint)
            self.assertNotIn(PASSWORD, complaint)

    async def test_real_driver(self) -> None:
        """The driver itself, at a port where nothing listens: the same clear line."""
        self.patch(sys.modules["pymssql"], "connect", pymssql.connect)
        complaint = await self.refused(self.store(port=1).open(), StoreFailed)
        self.assertIn("Unable to connect", str(complaint))

    async def test_values_are_not_told(self) -> None:
        """What the server quotes of a row when it complains of it is not passed on."""
        store = await self.opened_mssql(size=2)
        await self.operation(store, "a", State.INTENDED, paper(1))
        complaint = await self.refused(store.reserve(intent(TILL, "b", paper(1))), StoreFailed)
        self.assertIn("document_number", str(complaint))
        self.assertNotIn("secret", str(complaint))


class TextTests(SynchronousTestCase):
    """Texts that the server would take for the same."""

    def test_kept_apart(self) -> None:
        """Texts come back as they were, and no two are the same once the blanks at their ends are gone."""
        texts = ["", " ", "  ", "a", "a ", f"a{END}", f"a {END}", f"a{END} ", f"a{END}{END}", f"{END}", f" {END}"]
        self.assertEqual([kept(keep(text)) for text in texts], texts)
        self.assertEqual(len({keep(text).rstrip(" ") for text in texts}), len(texts))


class UrlTests(SynchronousTestCase):
    """What is taken for the URL of a database."""

    def test_parts(self) -> None:
        """Name, password, host, port, database, and whether the line has to be encrypted."""
        self.assertEqual(
            read_url("mssql://till:a%40b@db.example:1444/tills?encryption=require"),
            {
                "user": "till",
                "password": "a@b",
                "server": "db.example",
                "port": "1444",
                "database": "tills",
                "encryption": "require",
            },
        )
        self.assertEqual(read_url("mssql://u:p@h/d")["port"], "1433")

    def test_no_url(self) -> None:
        """A text that is not a URL is refused without repeating it: it may hold a password."""
        for wrong in (
            "mssql://u:sesame@h",
            "mssql://u:open@sesame@h/d",
            "mssql://u:p@h:sesame/d",
            "mssql://u:p@h/d?sesame=1",
            "mssql://u:p@h/d?encryption=sesame",
            "mssql:///sesame",
        ):
            error = self.assertRaises(ValueError, read_url, wrong)
            self.assertNotIn("sesame", str(error))


class OpeningTests(SynchronousTestCase):
    """The configuration."""

    config = Config(database=DatabaseConfig("mssql://till:sesame@db/tills"), service=ServiceConfig(state="/srv/till"))

    def test_store(self) -> None:
        """A URL of MS SQL asks for the store on it."""
        self.assertIsInstance(store_of(self.config, reactor), MssqlStore)

    def test_missing_driver(self) -> None:
        """Without its driver there is one line that says what to install."""
        self.patch(opening, "find_spec", lambda name: None)
        error = self.assertRaises(ConfigError, store_of, self.config, reactor)
        self.assertEqual(str(error), f"[database] url: {mssql_driver.MISSING}")


class StatementTests(SynchronousTestCase):
    """The statements as text."""

    def test_understood(self) -> None:
        """Values are put into a statement by the driver so that it is still T-SQL, whatever they hold."""
        odd = 'o\'Neil "x" \\ %_?;-- Ї🧾\n'
        statement = f"SELECT n FROM operation WHERE [key] = %s AND token = {BODY} AND at = %s"
        for body in (b"", bytes(range(256)), None):
            sent = pymssql._mssql.substitute_params(statement, (odd, body, -(2**63))).decode()
            tree = sqlglot.parse_one(sent, read="tsql")
            self.assertIn(odd, [literal.this for literal in tree.find_all(sqlglot.exp.National, sqlglot.exp.Literal)])
