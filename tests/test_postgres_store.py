"""The PostgreSQL store on a real server: nothing is lost or done twice, whatever happens to server and network."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, TypeVar
from unittest import skipIf

import msgspec
import psycopg2
from twisted.internet import reactor
from twisted.internet.defer import Deferred, DeferredList, gatherResults
from twisted.internet.endpoints import TCP4ClientEndpoint, TCP4ServerEndpoint, connectProtocol
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.internet.utils import getProcessOutputAndValue
from twisted.logger import capturedLogs
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase, TestCase

from dmtwisted.config import Config, ConfigError, DatabaseConfig, ServiceConfig
from dmtwisted.core import Core
from dmtwisted.store import migrating, server_store
from dmtwisted.store.claims import Claim, ClaimedElsewhere
from dmtwisted.store.interface import IStore
from dmtwisted.store.migrate import upgrade
from dmtwisted.store.opening import installation, store_of
from dmtwisted.store.postgres import events as pg_events
from dmtwisted.store.postgres import sessions, statements
from dmtwisted.store.postgres.sessions import BRIEFLY, Session, Watched, read_url
from dmtwisted.store.postgres.store import PostgresStore
from dmtwisted.store.revisions import head
from dmtwisted.store.sessions import Lost, Patience
from dmtwisted.store.sqlite.store import SqliteStore
from dmtwisted.store.values import (
    Intent,
    Letter,
    MarkMove,
    Marks,
    MarkStep,
    NameTaken,
    OperationQuery,
    Reserved,
    State,
    StoreFailed,
)
from dmtwisted.store.verification import verify
from dmtwisted.system.environment import environment
from tests.change_contract import CHANGES, ChangeContract, change
from tests.event_contract import EventContract
from tests.mark_contract import MarkContract
from tests.postgres_server import MISSING, PASSWORD, server
from tests.retention_contract import RetentionContract
from tests.seal_contract import SealContract
from tests.shop import sale
from tests.specification import promises
from tests.store_contract import (
    AT,
    MEGABYTE,
    OTHER,
    TILL,
    StoreCase,
    StoreContract,
    intent,
    kept,
    outcome,
    paper,
    row,
)

T = TypeVar("T")

DATABASE, FRESH = "tills", "fresh"
QUICK = Patience(connect=2.0, statement=0.4, answer=0.8, free=0.3, recovery=5.0, takeover=0.4, restart=2.0)
"""So that tests of what takes too long are over soon."""

TAKING = Patience(takeover=0.4)
"""Only the pause before a takeover is short: all other work has the time that it needs."""


def _empty_database() -> None:
    """Make the database, or empty the one that is there."""
    server().empty(DATABASE)


def _asked(question: Awaitable[T]) -> Deferred[T]:
    """``question``, asked now."""
    return Deferred.fromCoroutine(question)  # type: ignore[arg-type]


def _after(act: Callable[[], None]) -> Callable[[T], T]:
    """A callback that acts and passes the answer on."""

    def passed(answer: T) -> T:
        act()
        return answer

    return passed


class PostgresCase(StoreCase):
    """Stores on an empty database of the one server."""

    timeout = 120
    integrity_error = psycopg2.IntegrityError
    patience = Patience()

    def store(
        self, installation: str = "shop", port: int | None = None, database: str = DATABASE, **changes: Any
    ) -> PostgresStore:
        """A store that is not open yet; the end of the test closes it."""
        patience = changes.pop("patience", self.patience)
        store = PostgresStore(reactor, server().url(database, port), installation, patience, **changes)
        self.addCleanup(lambda: _asked(store.close()))
        return store

    async def opened_postgres(self, installation: str = "shop", **changes: Any) -> PostgresStore:
        """A store on an empty database, with all its sessions."""
        _empty_database()
        store = self.store(installation, **changes)
        await store.open()
        await self.until(lambda: store.alive == changes.get("size", server_store.POOL))
        return store

    async def opened(self) -> IStore:
        """A store on an empty database."""
        _empty_database()
        store = self.store(size=4)
        await store.open()
        return store

    def bypass(self, statement: str) -> None:
        """Run ``statement`` on the database."""
        server().run(statement, DATABASE)

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until ``condition`` holds, which the server brings about."""
        while not condition():
            await deferLater(reactor, 0.01)

    def holding(self, statement: str) -> Any:
        """A connection whose transaction holds what ``statement`` locks, until it is closed."""
        connection = server().connect(DATABASE)
        self.addCleanup(connection.close)
        connection.cursor().execute(f"BEGIN; {statement}")
        return connection

    def blocked(self) -> int:
        """How many sessions of stores wait for a lock."""
        [(waiting,)] = server().run(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
            "AND application_name LIKE 'dmtwisted %'"
        )
        return int(waiting)

    def journal(self) -> list[Any]:
        """Key and state of every operation there is."""
        return server().run("SELECT key, state FROM operation ORDER BY n", DATABASE)

    def no_store(self, database: str = FRESH) -> None:
        """An empty database without even a schema."""
        server().run(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
        server().run(f"CREATE DATABASE {database}")

    async def complaint(self, store: PostgresStore) -> str:
        """Why ``store`` cannot be opened."""
        text = str(await self.refused(store.open(), StoreFailed))
        self.assertNotIn(PASSWORD, text)
        return text


@skipIf(MISSING, MISSING)
class PostgresStoreTests(PostgresCase, StoreContract, TestCase):
    """The contract."""

    async def test_damaged_row(self) -> None:
        """A row with a state that does not exist fails the verb that reads it, and only that verb."""
        store = await self.opened()
        await store.add_device("id-1", "till", "register", "training", b"{}")
        await self.operation(store, "b", State.DONE)
        # The database itself takes no value of another kind.
        self.assertRaises(psycopg2.Error, self.bypass, "UPDATE operation SET fingerprint = 1.5")
        self.bypass("UPDATE operation SET state = 'lost'")
        await self.refused(store.reserve(intent(TILL, "b")), StoreFailed)
        self.assertEqual(len(await store.devices()), 1)

    async def test_impossible_text(self) -> None:
        """A text with a character that PostgreSQL cannot hold fails its own verb, and nothing of it stays."""
        store = await self.opened()
        await self.refused(store.reserve(intent(TILL, "a\0b", paper(1))), StoreFailed)
        await self.refused(store.reserve(intent(TILL, "x" * 201, paper(1))), StoreFailed)
        self.assertEqual(self.journal(), [])

    async def test_no_such_operation(self) -> None:
        """An outcome of an operation that does not exist is not stored, and the caller gets a failure."""
        store = await self.opened()
        for asked in (
            store.conclude(outcome(7, register_state=b"state")),
            store.note(7, b"far"),
            store.accept_document(7, 1, "F"),
        ):
            await self.refused(asked, StoreFailed)
        self.assertIs(await store.register_state(TILL), None)


@skipIf(MISSING, MISSING)
class PostgresChangeTests(PostgresCase, ChangeContract, TestCase):
    """Changes of the service."""


@skipIf(MISSING, MISSING)
class PostgresEventTests(PostgresCase, EventContract, TestCase):
    """Events."""

    async def test_uncommitted(self) -> None:
        """A place is passed when all that took an earlier one are committed, or are gone; no event is skipped."""
        store = await self.opened()
        for end in "COMMIT", "ROLLBACK":
            before = (await store.last_event()).n
            late = server().connect(DATABASE)
            self.addCleanup(late.close)
            cursor = late.cursor()
            n = (await store.reserve(intent(OTHER, f"late {end}"))).n
            cursor.execute(
                f"BEGIN; INSERT INTO seal (device_n, operation_n, content, chain, event) VALUES (2, {n}, '', '', 2)"
            )
            await self.sold(store, before + 1)
            self.looks = 0
            self.patch(pg_events, "deferLater", self.looked)
            reading = Deferred.fromCoroutine(store.events(before, 10, []))
            await self.until(lambda: self.looks > 1)
            self.assertNoResult(reading)
            cursor.execute(end)
            keys = [event.operation.key for event in (await reading).events]
            self.assertEqual(keys, [f"late {end}"] * (end == "COMMIT") + [f"tag {before + 1}"])

    async def test_takeover(self) -> None:
        """A device that another service takes over hands on each of its events once, in its order.

        The cursor of a device is a place in the database, so the new owner goes on where the old one stopped.
        """
        first, second = await self.opened_postgres(size=2), self.store("bar", patience=TAKING, size=2)
        await second.open()
        for number in (1, 2, 3):
            await self.sold(first, number)
        part = await first.events(0, 2, [TILL])
        late = (await first.reserve(intent(TILL, "late", paper(4)))).n
        await first.close()
        self.assertIs(await second.claims.claim(TILL), Claim.TAKEN)
        second.claims.renewed(TILL)
        # What the old service left open gets its outcome from the new one.
        await second.conclude(outcome(late, State.REFUSED))
        await self.sold(second, 5)
        rest = await second.events(part.until, 100, [TILL])
        self.assertEqual([event.operation.key for event in part.events], ["tag 1", "tag 2"])
        self.assertEqual([event.operation.key for event in rest.events], ["tag 3", "late", "tag 5"])
        self.assertEqual((await second.events(rest.until, 100, [TILL])).events, [])

    async def looked(self, clock: Any, seconds: float) -> None:
        """Count the looks at those that write."""
        self.looks += 1
        await deferLater(clock, seconds)


@skipIf(MISSING, MISSING)
class PostgresSealTests(PostgresCase, SealContract, RetentionContract, MarkContract, TestCase):
    """The contracts of seals and of what grows old."""


@skipIf(MISSING, MISSING)
class OpenTests(PostgresCase, TestCase):
    """From a URL to a store that answers."""

    async def test_new_database(self) -> None:
        """An empty database gets the newest schema; at the next start there is nothing to do and no process."""
        self.no_store()
        store = self.store(database=FRESH)
        await store.open()
        self.assertEqual(server().run("SELECT version_num FROM alembic_version", FRESH), [(head(),)])
        n = (await store.reserve(intent(TILL, "a", paper(1)))).n
        await store.close()
        self.patch(sys, "executable", "/no/such/program")
        store = self.store(database=FRESH)
        for _ in range(2):
            await store.open()
        self.assertEqual([known.n for known in await store.unresolved(None)], [n])

    async def test_same_schema(self) -> None:
        """The revisions lead to exactly the tables, columns and indexes of the schema, texts compared by bytes."""
        from sqlalchemy import create_engine

        from dmtwisted.store.schema import metadata

        def described(database: str) -> list[Any]:
            columns = server().run(
                "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, column_default, "
                "collation_name FROM information_schema.columns WHERE table_schema = 'public' "
                "AND table_name <> 'alembic_version' ORDER BY 1, 2",
                database,
            )
            indexes = server().run(
                "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'alembic_version' "
                "ORDER BY 1",
                database,
            )
            return columns + indexes

        self.no_store()
        self.no_store("declared")
        upgrade(server().url(FRESH))
        engine = create_engine("postgresql+psycopg2://", creator=lambda: server().connect("declared"))
        metadata.create_all(engine)
        engine.dispose()
        found = described(FRESH)
        self.assertEqual(found, described("declared"))
        texts = [column for column in found if len(column) == 7 and column[2] == "character varying"]
        self.assertEqual({column[6] for column in texts}, {"C"})
        self.assertGreater(len(texts), 10)

    async def test_migrations_at_once(self) -> None:
        """Several services that start on one empty database at the same moment all come up."""
        self.no_store()
        stores = [self.store(f"shop {n}", database=FRESH) for n in range(3)]
        await gatherResults([_asked(store.open()) for store in stores])
        await stores[0].change_settings({"a": b"1"})
        self.assertEqual([await store.settings() for store in stores], [{"a": b"1"}] * 3)

    async def test_newer_version(self) -> None:
        """A database that a newer version has changed is not touched by this one."""
        self.no_store()
        upgrade(server().url(FRESH))
        server().run("UPDATE alembic_version SET version_num = '9999'", FRESH)
        complaint = await self.complaint(self.store(database=FRESH))
        self.assertEqual(complaint, "the database was made by a newer version (revision 9999)")

    async def test_tables_of_others(self) -> None:
        """Other tables with our names are reported in one clear line, and stay as they are."""
        self.no_store()
        server().run("CREATE TABLE operation (surgeon TEXT)", FRESH)
        self.assertIn('"operation" already exists', await self.complaint(self.store(database=FRESH)))
        tables = server().run("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", FRESH)
        self.assertEqual(tables, [("operation",)])

    async def test_no_way_in(self) -> None:
        """A server that is not there, or does not let us in, is a clear line without a password; later it works."""
        store = self.store(port=1)
        self.assertIn("the database server is away: ", await self.complaint(store))
        self.assertIn('database "nowhere" does not exist', await self.complaint(self.store(database="nowhere")))
        wrong = server().url(DATABASE).replace(PASSWORD, f"open-{PASSWORD}")
        denied = PostgresStore(reactor, wrong, "shop")
        self.assertIn("password authentication failed", await self.complaint(denied))
        await self.refused(store.settings(), StoreFailed)
        server().stop()
        store = self.store()
        self.assertIn("refused", await self.complaint(store))
        server().start()
        _empty_database()
        await store.open()
        self.assertEqual(await store.settings(), {})

    async def test_copy(self) -> None:
        """The store does not start on a read-only server."""
        _empty_database()
        server().run(f"ALTER DATABASE {DATABASE} SET default_transaction_read_only = on")
        self.addCleanup(server().run, f"ALTER DATABASE {DATABASE} RESET default_transaction_read_only")
        self.assertIn("read-only", await self.complaint(self.store()))

    async def test_host_name(self) -> None:
        """The server may be given by its name."""
        _empty_database()
        url = server().url(DATABASE).replace("127.0.0.1", "localhost")
        store = PostgresStore(reactor, url, "shop")
        self.addCleanup(lambda: _asked(store.close()))
        await store.open()
        self.assertEqual(await store.settings(), {})

    async def test_password_is_no_argument(self) -> None:
        """The process that makes the schema gets the URL where other users of the machine cannot read it."""
        self.no_store()
        seen: list[Any] = []

        def watched(program: str, arguments: list[str], environment: dict[str, str], **more: Any) -> Any:
            seen.append((program, arguments))
            return getProcessOutputAndValue(program, arguments, environment, **more)

        self.patch(migrating, "getProcessOutputAndValue", watched)
        await self.store(database=FRESH).open()
        self.assertEqual(len(seen), 1)
        self.assertNotIn(PASSWORD, str(seen))

    async def test_durable(self) -> None:
        """A commit is on the disk before it is answered, also where the server is set up to be careless."""
        self.assertEqual(server().run("SHOW synchronous_commit"), [("off",)])
        session = Session(reactor, read_url(server().url("postgres")), iter(["a"]), QUICK, lambda _: None, _ignore)
        await session.start()
        self.addCleanup(lambda: _asked(session.stop()))
        for setting, expected in (
            ("synchronous_commit", "on"),
            ("default_transaction_isolation", "read committed"),
            ("statement_timeout", "400ms"),
        ):
            self.assertEqual(await session.ask(f"SHOW {setting}"), [(expected,)])
        # If that has no effect, the operator is warned once.
        with capturedLogs() as told:
            await self.opened_postgres()
        self.assertEqual([event["fsync"] for event in told if "fsync" in event], ["off"])

    async def test_reopened(self) -> None:
        """What was answered is there after close and open; a closed store leaves nothing at the server."""
        store = await self.opened_postgres()
        await store.change_settings({"a": b"1"})
        for _ in range(2):
            await store.close()
        await self.refused(store.settings(), StoreFailed)
        await self.until(lambda: not self._sessions())
        await store.open()
        self.assertEqual(await store.settings(), {"a": b"1"})

    async def test_close_waits(self) -> None:
        """A close lets come to its end what is under way, and refuses what comes later."""
        store = await self.opened_postgres()
        asked = [_asked(store.reserve(intent(TILL, f"tag {n}", paper(n)))) for n in range(3)]
        await store.settings()
        closing_store = _asked(store.close())
        await self.refused(store.settings(), StoreFailed)
        await closing_store
        answered = [done for done, _ in await DeferredList(asked, consumeErrors=True)]
        self.assertEqual(len(self.journal()), sum(answered))

    async def test_cancelled(self) -> None:
        """A caller that stops waiting disturbs no other caller, and its verb is carried out."""
        store = await self.opened_postgres()
        asked = _asked(store.reserve(intent(TILL, "a")))
        asked.addErrback(lambda _: None)
        asked.cancel()
        await self.until(lambda: self.journal() == [("a", "intended")])
        self.assertEqual(await store.settings(), {})

    def _sessions(self) -> list[Any]:
        return server().run("SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'dmtwisted %'")


def _ignore(_: object) -> None:
    """A session that is back, with no caller waiting for it."""


class UrlTests(SynchronousTestCase):
    """What is taken for the URL of a database."""

    def test_parts(self) -> None:
        """The parts of a URL are as libpq reads them."""
        self.assertEqual(
            read_url("postgresql://till:a%40b@db.example:5433/tills?sslmode=require"),
            {
                "user": "till",
                "password": "a@b",
                "host": "db.example",
                "port": "5433",
                "dbname": "tills",
                "sslmode": "require",
            },
        )

    def test_no_url(self) -> None:
        """A text that is not a URL is refused without repeating it: it may hold a password."""
        for url in (
            "postgresql://u:sesame@h",
            "postgresql://u:open@sesame@h/d",
            "postgresql://u@h:sesame/d?x",
            "postgresql://u@h/d?sesame=1",
        ):
            error = self.assertRaises(ValueError, read_url, url)
            self.assertNotIn("sesame", str(error))


class _Driver:
    """A connection of the driver that changes its socket at each poll, as libpq does when it tries another way."""

    closed = 0

    def __init__(self) -> None:
        self.sockets: list[socket.socket] = []

    def poll(self) -> int:
        """Close the socket and open another one."""
        self.end()
        self.sockets = list(socket.socketpair())
        return 0

    def fileno(self) -> int:
        """The socket of now."""
        return self.sockets[0].fileno()

    def end(self) -> None:
        """Close the socket."""
        for each in self.sockets:
            each.close()


@skipIf(sys.platform == "win32", "sockets have no descriptors there")
class WatchedTests(SynchronousTestCase):
    """What the reactor watches in place of the driver's socket."""

    def test_number_is_ours(self) -> None:
        """Whatever the driver does with its socket, the number that the reactor knows is not used again."""
        driver = _Driver()
        self.addCleanup(driver.end)
        watched = Watched(driver)
        self.assertEqual(watched.fileno(), -1)
        for _ in range(3):
            watched.poll()
            self.assertNotEqual(watched.fileno(), driver.fileno())
            driver.sockets[1].send(b"?")
            self.assertEqual(os.read(watched.fileno(), 9), b"?")
        driver.end()
        others = [socket.socket() for _ in range(20)]
        self.assertNotIn(watched.fileno(), [each.fileno() for each in others])
        for each in others:
            each.close()
        number = watched.fileno()
        watched.forget()
        self.assertRaises(OSError, os.fstat, number)
        self.assertEqual(watched.fileno(), -1)


class Wire:
    """A way to the server that can be cut, frozen, and made to lose an answer."""

    def __init__(self) -> None:
        self._ends: set[_End] = set()
        self.frozen = self.closed = False
        self.lose_question: bytes = b""
        """What a question holds that the server shall never see; then the line breaks."""
        self.lose_answer: bytes = b""
        """What a question holds whose answer shall not arrive; the line breaks when the answer is there."""
        self.lost = 0
        self.port = 0

    async def open(self) -> Any:
        """Listen; what is returned ends it."""
        endpoint = TCP4ServerEndpoint(reactor, 0, interface="127.0.0.1")
        listening = await endpoint.listen(Factory.forProtocol(lambda: _End(self, None)))
        self.port = listening.getHost().port
        return listening

    def joined(self, end: _End) -> None:
        """Another end of a line."""
        self._ends.add(end)

    def left(self, end: _End) -> None:
        """It is gone."""
        self._ends.discard(end)

    def cut(self) -> None:
        """Break every line."""
        for end in list(self._ends):
            end.transport.abortConnection()

    def passes(self, data: bytes, end: _End) -> bool:
        """Whether ``data`` goes on from ``end``."""
        if self.frozen:
            return False
        if end.waits_for_answer:
            self.lost += 1
            end.break_line()
            return False
        if self.lose_question and self.lose_question in data:
            self.lose_question = b""
            self.lost += 1
            end.break_line()
            return False
        if self.lose_answer and self.lose_answer in data:
            self.lose_answer = b""
            assert end.other is not None
            end.other.waits_for_answer = True
        return True


class _End(Protocol):
    """One end of a line: towards the store, or towards the server when it is born with its other end."""

    transport: Any

    def __init__(self, wire: Wire, other: _End | None) -> None:
        self._wire, self.other = wire, other
        self.waits_for_answer = False
        self._early = b""

    def connectionMade(self) -> None:
        """Reach for the server, or say that it is reached."""
        self._wire.joined(self)
        if self.other is not None:
            self.other.reached(self)
        elif self._wire.closed:
            self.transport.abortConnection()
        else:
            server_end = TCP4ClientEndpoint(reactor, "127.0.0.1", server().port)
            trying = connectProtocol(server_end, _End(self._wire, self))
            trying.addErrback(lambda _: self.transport.abortConnection())

    def reached(self, other: _End) -> None:
        """The server is there: give it what came meanwhile."""
        self.other = other
        early, self._early = self._early, b""
        if early:
            self.dataReceived(early)

    def dataReceived(self, data: bytes) -> None:
        """Pass it on, as the wire allows."""
        if self.other is None:
            self._early += data
        elif self._wire.passes(data, self):
            self.other.transport.write(data)

    def break_line(self) -> None:
        """Break both halves."""
        self.transport.abortConnection()
        if self.other is not None:
            self.other.transport.abortConnection()

    def connectionLost(self, reason: Failure = Failure(Exception())) -> None:  # noqa: B008 - as Twisted declares it
        """One half is gone: the other one, too."""
        self._wire.left(self)
        # The server does not notice a cut cable.
        if self.other is not None and not self._wire.frozen:
            self.other.transport.loseConnection()


class _Echo(Protocol):
    """Reports what it receives."""

    def dataReceived(self, data: bytes) -> None:
        """Say it."""
        assert self.transport is not None
        self.transport.write(data)


class _Caller(Protocol):
    """A caller that waits for an answer."""

    transport: Any

    def __init__(self) -> None:
        self.answered: Deferred[bytes] = Deferred()
        self.gone: Deferred[None] = Deferred()

    def dataReceived(self, data: bytes) -> None:
        """The answer."""
        self.answered.callback(data)

    def connectionLost(self, reason: Failure = Failure(Exception())) -> None:  # noqa: B008 - as Twisted declares it
        """The end."""
        self.gone.callback(None)


class WireCase(PostgresCase):
    """Stores behind a wire."""

    async def behind(self, wire: Wire, installation: str = "shop", **changes: Any) -> PostgresStore:
        """A store on an empty database behind ``wire``."""
        listening = await wire.open()
        self.addCleanup(wire.cut)
        self.addCleanup(listening.stopListening)
        _empty_database()
        changes.setdefault("size", 2)
        store = self.store(installation, wire.port, **changes)
        await store.open()
        await self.until(lambda: store.alive == changes["size"])
        return store


@skipIf(MISSING, MISSING)
class LostAnswerTests(WireCase, TestCase):
    """The server did what was asked, or did not, and the line broke before it could say so."""

    @promises("3.2.2.4")
    async def test_reserve(self) -> None:
        """An intent whose answer was lost is stored once, and belongs to its caller: it was not known before."""
        wire = Wire()
        store = await self.behind(wire)
        for number, kind in enumerate(("fiscal", "pay", "doc"), 1):
            for member in ("lose_answer", "lose_question"):
                setattr(wire, member, b"EXECUTE reserve(")
                meant = intent(TILL, f"{kind} {member}", paper(len(self.journal())), kind=kind)
                reserved = await store.reserve(meant)
                self.assertEqual(reserved, Reserved(reserved.n, None))
                known = await store.latest(TILL, kind, meant.key)
                self.assertEqual(
                    known, row(reserved.n, meant, State.INTENDED, kept(meant.documents[0], State.INTENDED))
                )
            self.assertEqual((len(self.journal()), wire.lost), (2 * number, 2 * number))

    async def test_reserve_known(self) -> None:
        """A tag that was used before stays known when the answer about it was lost."""
        wire = Wire()
        store = await self.behind(wire)
        n = await self.operation(store, "a", State.DONE, paper(1))
        wire.lose_answer = b"EXECUTE reserve("
        reserved = await store.reserve(intent(TILL, "a", paper(2)))
        assert reserved.known is not None
        self.assertEqual((reserved.n, reserved.known.n, reserved.known.answer, wire.lost), (n, n, b"{}", 1))

    async def test_conclude(self) -> None:
        """An outcome whose answer was lost is stored once, and its caller gets the confirmation."""
        wire = Wire()
        store = await self.behind(wire)
        for number, member in enumerate(("lose_answer", "lose_question"), 1):
            n = await self.operation(store, member, State.INTENDED, paper(number))
            setattr(wire, member, b"EXECUTE conclude(")
            await store.conclude(
                outcome(n, answer=b"{}", fiscal_numbers={number: "F"}, register_state=b"%d" % n, sold={member: 1})
            )
            self.assertEqual((await self.found(store, member)).documents[0].fiscal_number, "F")
            self.assertEqual(await store.register_state(TILL), b"%d" % n)
            self.assertEqual(wire.lost, number)

    async def test_marks(self) -> None:
        """Marks come back once, and letters are kept once, though the answer about their outcome was lost."""
        wire = Wire()
        store = await self.behind(wire)
        for number in (1, 2, 3):
            meant = intent(TILL, f"sale {number}", paper(number), marks=Marks(["m"], shared=True))
            n = (await store.reserve(meant)).n
            await store.conclude(outcome(n, fiscal_numbers={number: "F"}, marks=MarkMove(MarkStep.SPEND)))
        back = await self.operation(store, "return", State.INTENDED, paper(4))
        wire.lose_answer = b"UPDATE operation"
        letters = [Letter("mail", 0, AT, b"x"), Letter("marks", TILL, AT, b"y")]
        await store.conclude(outcome(back, marks=MarkMove(MarkStep.FREE, ["m"]), letters=letters))
        self.assertEqual([row.number for row in await store.find_marks(["m"])], [2, 3])
        self.assertEqual((len(await store.find_letters(["mail", "marks"], False, 10, 0)), wire.lost), (2, 1))

    async def test_other_verbs(self) -> None:
        """No other verb minds a lost answer either."""
        wire = Wire()
        store = await self.behind(wire)
        wire.lose_answer = b"INSERT INTO device"
        device = await store.add_device("id-1", "till", "register", "training", b"{}", change(1))
        wire.lose_answer = b"UPDATE device"
        await store.change_device(device.n, "till 2", b"[]", change(2))
        self.assertEqual([(each.n, each.name) for each in await store.devices()], [(device.n, "till 2")])
        wire.lose_answer = b"INSERT INTO device"
        await self.refused(store.add_device("id-2", "till 2", "register", "training", b"{}", change()), NameTaken)
        wire.lose_answer = b"DELETE FROM device"
        await store.remove_device(device.n, change(3))
        wire.lose_answer = b"INSERT INTO setting"
        await store.change_settings({"a": b"1"}, change(4))
        wire.lose_answer = b"INTO operation"
        self.assertEqual(await store.record(change(5)), 5)
        self.assertEqual([row.at - AT for row in (await store.find_operations(CHANGES)).operations], [5, 4, 3, 2, 1])
        wire.lose_answer = b"SELECT name, value"
        self.assertEqual((await store.devices(), await store.settings()), ([], {"a": b"1"}))
        n = await self.operation(store, "Z", State.INTENDED, paper(1), paper(2))
        wire.lose_answer = b"UPDATE document"
        await store.accept_document(n, 1, "F-1")
        wire.lose_answer = b"UPDATE operation"
        await store.note(n, b"far")
        (known,) = await store.unresolved(TILL)
        self.assertEqual((known.request, [each.fiscal_number for each in known.documents]), (b"far", ["F-1", ""]))
        self.assertEqual(wire.lost, 9)

    async def test_still_at_work(self) -> None:
        """A statement that the server still works at when the line is dead is ended there before it is repeated."""
        wire = Wire()
        store = await self.behind(wire, patience=replace(QUICK, statement=20.0, answer=2.0))
        await self.operation(store, "before", State.INTENDED, kind="pay")
        blocker = self.holding("LOCK TABLE operation")
        asked = _asked(store.reserve(intent(TILL, "a", kind="pay")))
        await self.until(self.blocked)
        wire.frozen = True
        # No answers arrive any more, until the store drops the connection and the cable is in again.
        await self.until(lambda: store.alive < 2)
        self.assertEqual(self.blocked(), 1)
        wire.frozen = False
        blocker.close()
        reserved = await asked
        self.assertIs(reserved.known, None)
        self.assertEqual(self.journal(), [("before", "intended"), ("a", "intended")])

    async def test_stays_away(self) -> None:
        """When the server stays away, the outcome is not known, so the verb fails; later a repeat finds it."""
        wire = Wire()
        store = await self.behind(wire, size=1, patience=replace(QUICK, recovery=0.3))
        wire.lose_answer = b"EXECUTE reserve("
        asked = _asked(store.reserve(intent(TILL, "a", paper(1))))
        await self.until(lambda: wire.lose_answer == b"")
        wire.closed = True
        await self.assertFailure(asked, StoreFailed)
        wire.cut()
        wire.closed = False
        await self.until(lambda: store.alive)
        await self.until_claimed(store)
        reserved = await store.reserve(intent(TILL, "a", paper(1)))
        assert reserved.known is not None
        self.assertEqual((reserved.n, self.journal()), (reserved.known.n, [("a", "intended")]))

    async def until_claimed(self, store: PostgresStore) -> None:
        """Wait until the store has its devices again."""
        while True:
            try:
                self.assertIs(await store.claims.claim(TILL), Claim.OURS)
                return
            except StoreFailed:
                await deferLater(reactor, 0.01)


@skipIf(MISSING, MISSING)
class NetworkTests(WireCase, TestCase):
    """The line to the server."""

    async def test_cut(self) -> None:
        """Of many questions when the line is cut those that were asked are done once; the others fail unasked."""
        wire = Wire()
        store = await self.behind(wire, size=4)
        meant = [intent(TILL, f"tag {n}", paper(n)) for n in range(40)]
        asked = [_asked(store.reserve(each)) for each in meant]
        asked[5].addCallback(_after(wire.cut))
        answers = await DeferredList(asked, consumeErrors=True)
        reserved = [answer for done, answer in answers if done]
        self.assertGreater(len(reserved), 5)
        for done, reason in answers:
            if not done:
                assert isinstance(reason, Failure)
                self.assertEqual(reason.getErrorMessage(), "the database server is away")
        self.assertEqual({each.known for each in reserved}, {None})
        self.assertEqual(len(self.journal()), len(reserved))
        self.assertEqual(sorted(each.n for each in reserved), [known.n for known in await store.unresolved(None)])

    async def test_idle_lines(self) -> None:
        """Idle connections that break are made again by themselves, without an error in the log."""
        wire = Wire()
        store = await self.behind(wire)
        for _ in range(3):
            wire.cut()
            await self.until(lambda: store.alive < 2)
            await self.until(lambda: store.alive == 2)
            self.assertEqual(await store.settings(), {})

    async def test_silence(self) -> None:
        """A dead line is given up when an answer is overdue; then verbs fail at once until it is back."""
        wire = Wire()
        store = await self.behind(wire, size=1, patience=replace(QUICK, recovery=0.2))
        wire.frozen = True
        await self.refused(store.settings(), StoreFailed)
        self.failureResultOf(_asked(store.settings()), StoreFailed)
        wire.frozen = False
        # Nor is a try to connect that began in the silence ever answered.
        wire.cut()
        await self.until(lambda: store.alive)
        self.assertEqual(await store.settings(), {})


@skipIf(MISSING, MISSING)
class ServerTests(PostgresCase, TestCase):
    """The server ends, in order or not, and comes back."""

    async def test_killed(self) -> None:
        """Of many questions at a ``kill -9`` of the server each is answered and durable, or failed; none is half."""
        store = await self.opened_postgres(patience=replace(QUICK, statement=5.0, answer=6.0, free=5.0, recovery=0.2))
        meant = [intent(TILL, f"tag {n}", paper(n, value=bytes(5_000)), paper(1000 + n)) for n in range(200)]
        asked = [_asked(store.reserve(each)) for each in meant]
        asked[50].addCallback(_after(server().kill))
        answers = await DeferredList(asked, consumeErrors=True)
        answered = {reserved.n: one for (done, reserved), one in zip(answers, meant, strict=True) if done}
        failed = [reason for done, reason in answers if not done]
        self.assertGreater(len(answered), 40)
        self.assertGreater(len(failed), 0)
        for reason in failed:
            assert isinstance(reason, Failure)
            reason.trap(StoreFailed)
        self.failureResultOf(_asked(store.settings()), StoreFailed)
        server().start()
        await self.until(lambda: store.alive)
        found = {known.n: known for known in await store.unresolved(None)}
        for n, one in answered.items():
            expected = row(n, one, State.INTENDED, *(kept(each, State.INTENDED) for each in one.documents))
            self.assertEqual(found[n], expected)
        self.assertEqual({len(known.documents) for known in found.values()}, {2})
        # A caller whose verb failed asks again and gets the one row that there is.
        await self.until_ours(store)
        again = [(await store.reserve(each)).n for each in meant]
        self.assertEqual(len(set(again)), 200)
        self.assertEqual([known.n for known in await store.unresolved(None)], sorted(again))
        self.assertTrue(set(found) <= set(again))

    async def until_ours(self, store: PostgresStore) -> None:
        """Wait until the session that holds the devices is back."""
        while True:
            try:
                self.assertIs(await store.claims.claim(TILL), Claim.OURS)
                return
            except StoreFailed:
                await deferLater(reactor, 0.01)

    async def test_restarted(self) -> None:
        """While the server is away every verb fails at once; when it is back all goes on without a new start."""
        store = await self.opened_postgres()
        n = (await store.reserve(intent(TILL, "a", paper(1)))).n
        for turn in range(2):
            server().stop()
            await self.until(lambda: not store.alive)
            for asked in (store.settings(), store.reserve(intent(TILL, "b"))):
                self.failureResultOf(_asked(asked), StoreFailed)
            # What has happened already is kept as soon as the server is back, unless that takes too long.
            late = _asked(store.conclude(outcome(n, register_state=b"%d" % turn)))
            server().start()
            await late
            self.assertEqual(await store.register_state(TILL), b"%d" % turn)
            await self.until(lambda: store.alive == server_store.POOL)
            await self.until_ours(store)
            self.assertEqual((await store.reserve(intent(TILL, "a", paper(1)))).n, n)
            await store.change_settings({"turn": b"%d" % turn})
        self.assertEqual(await store.settings(), {"turn": b"1"})

    async def test_others_unharmed(self) -> None:
        """While sessions try to come back, and fail at first, every other connection of the service works as ever.

        The driver closes its sockets by itself; their numbers go to whatever is opened next.
        """
        store = await self.opened_postgres(size=40)
        echo = await TCP4ServerEndpoint(reactor, 0, interface="127.0.0.1").listen(Factory.forProtocol(_Echo))
        self.addCleanup(echo.stopListening)
        server().kill()
        await self.until(lambda: not store.alive)
        starting = deferToThread(server().start)
        self.addCleanup(lambda: starting)
        to = TCP4ClientEndpoint(reactor, "127.0.0.1", echo.getHost().port)
        while store.alive < 40:
            callers = [_Caller() for _ in range(20)]
            await gatherResults([connectProtocol(to, caller) for caller in callers])
            for caller in callers:
                caller.transport.write(b"?")
            await gatherResults([caller.answered for caller in callers])
            for caller in callers:
                caller.transport.loseConnection()
            await gatherResults([caller.gone for caller in callers])

    async def test_closed_while_away(self) -> None:
        """A store can be closed while the server is away, and tries no more to reach it."""
        store = await self.opened_postgres()
        server().stop()
        self.addCleanup(server().start)
        await self.until(lambda: not store.alive)
        waits = _asked(store.conclude(outcome(1)))
        self.assertNoResult(waits)
        await store.close()
        self.failureResultOf(waits, StoreFailed)
        await self.refused(store.settings(), StoreFailed)

    async def test_outcome_too_late(self) -> None:
        """An outcome waits for the server, but not for ever."""
        store = await self.opened_postgres(patience=replace(QUICK, recovery=0.2))
        server().stop()
        self.addCleanup(server().start)
        await self.until(lambda: not store.alive)
        begun = reactor.seconds()
        await self.refused(store.conclude(outcome(1)), StoreFailed)
        self.assertGreaterEqual(reactor.seconds() - begun, 0.2)


@skipIf(MISSING, MISSING)
class SlowTests(PostgresCase, TestCase):
    """A server that takes its time."""

    async def test_too_slow(self) -> None:
        """What the server does not get done in time has failed, and does not happen later."""
        store = await self.opened_postgres(patience=replace(QUICK, answer=10.0))
        n = await self.operation(store, "a", State.INTENDED, paper(1))
        with closing(self.holding("LOCK TABLE operation")):
            complaint = await self.refused(store.reserve(intent(TILL, "b", paper(2))), StoreFailed)
            self.assertEqual(str(complaint), "the database did not finish in time")
            await self.refused(store.conclude(outcome(n, register_state=b"after")), StoreFailed)
        self.assertEqual(self.journal(), [("a", "intended")])
        self.assertIs(await store.register_state(TILL), None)
        self.assertEqual(store.alive, server_store.POOL)

    async def test_full_pool(self) -> None:
        """When every session is taken a verb waits for one; after a while it fails, and nothing was asked."""
        store = await self.opened_postgres(size=2, patience=replace(QUICK, statement=15.0, answer=16.0, free=2.0))
        await self.operation(store, "a", State.INTENDED)
        blocker = self.holding("LOCK TABLE setting")
        asked = [_asked(store.change_settings({name: b""})) for name in "ab"]
        await self.until(lambda: self.blocked() == 2)
        complaint = await self.refused(store.reserve(intent(TILL, "b")), StoreFailed)
        self.assertEqual(str(complaint), "no session of the database became free in 2 s")
        patient = _asked(store.settings())
        self.assertNoResult(patient)
        blocker.close()
        await gatherResults(asked)
        self.assertTrue(await patient)
        self.assertEqual(self.journal(), [("a", "intended")])

    @promises("1.9c.1.2", "1.9c.1.4")
    async def test_two_registers(self) -> None:
        """While the database is held up with one register another one sells."""
        store = await self.opened_postgres()
        n = await self.operation(store, "a", State.INTENDED, paper(1))
        blocker = self.holding(f"SELECT 1 FROM operation WHERE n = {n} FOR UPDATE")
        held_up = _asked(store.conclude(outcome(n, fiscal_numbers={1: "F"})))
        await self.until(lambda: self.blocked() == 1)
        for number in range(3):
            other = (await store.reserve(intent(OTHER, f"tag {number}", paper(number)))).n
            await store.conclude(outcome(other, device_n=OTHER, fiscal_numbers={number: f"F-{number}"}))
            found = await store.find(OTHER, "fiscal", f"tag {number}")
            self.assertEqual(found and found.n, other)
            await store.change_settings({"number": b"%d" % number})
            self.assertEqual([row.n for row in await store.unresolved(None)], [n])
        self.assertNoResult(held_up)
        self.assertEqual(self.journal(), [("a", "intended"), *((f"tag {number}", "done") for number in range(3))])
        blocker.close()
        await held_up
        self.assertEqual((await self.found(store, "a")).n, n)


class _Refusing:
    """A session whose server refuses some questions."""

    name = "here"

    def __init__(self, *refused: str) -> None:
        self.refused, self.asked, self.closed = refused, list[str](), False

    async def ask(self, statement: str) -> None:
        """Ask one."""
        self.asked.append(statement.partition(";")[0])
        if self.asked[-1] in self.refused:
            raise StoreFailed("cancelled by an administrator")

    def close(self) -> None:
        """End it."""
        self.closed = True


class TransactionTests(SynchronousTestCase):
    """Several questions in one transaction, of which the server refuses one."""

    def seen(self, *refused: str) -> tuple[type[BaseException] | None, list[str], bool]:
        """What the caller gets, what was asked, and whether the session was ended."""
        session = _Refusing(*refused)

        async def use() -> None:
            async with statements._transaction(session):  # type: ignore[arg-type]
                await session.ask("INSERT")

        found = Deferred.fromCoroutine(use())
        error = self.failureResultOf(found).type if refused else self.successResultOf(found)
        return error, session.asked, session.closed

    def test_refused(self) -> None:
        """A session that may be in the middle of something is ended; a commit may be done all the same."""
        whole = ["BEGIN", "INSERT", "COMMIT"]
        self.assertEqual(self.seen(), (None, whole, False))
        self.assertEqual(self.seen("INSERT"), (StoreFailed, ["BEGIN", "INSERT", "ROLLBACK"], False))
        self.assertEqual(self.seen("BEGIN"), (StoreFailed, ["BEGIN", "ROLLBACK"], False))
        self.assertEqual(self.seen("BEGIN", "ROLLBACK"), (StoreFailed, ["BEGIN", "ROLLBACK"], True))
        self.assertEqual(self.seen("COMMIT"), (Lost, whole, True))


@skipIf(MISSING, MISSING)
class TogetherTests(WireCase, TestCase):
    """Sales of several registers in one transaction."""

    async def kept_at_once(self, store: PostgresStore, *meant: Intent) -> list[int]:
        """The numbers of intents, of which all but the first go together."""
        for each in meant:
            await store.claims.claim(each.device_n)
        return [reserved.n for reserved in await gatherResults([_asked(store.reserve(each)) for each in meant])]

    def commits(self, table: str) -> int:
        """How many transactions made the rows of a table."""
        [(found,)] = server().run(f"SELECT count(DISTINCT xmin::text) FROM {table}", DATABASE)
        return int(found)

    def sales(self, count: int, tag: str = "a") -> list[Intent]:
        """A sale on each of so many registers."""
        return [intent(device_n, tag, paper(1), paper(2)) for device_n in range(1, count + 1)]

    async def test_one_commit(self) -> None:
        """What waits is stored in one transaction, intents as well as outcomes, and is sealed as ever."""
        store = await self.opened_postgres()
        meant = self.sales(20)
        numbers = await self.kept_at_once(store, *meant)
        self.assertEqual((self.commits("operation"), self.commits("document")), (2, 2))
        for one, n in zip(meant, numbers, strict=True):
            papers = [kept(each, State.INTENDED) for each in one.documents]
            self.assertEqual(await store.latest(one.device_n, "fiscal", "a"), row(n, one, State.INTENDED, *papers))
        became = [
            outcome(
                n, device_n=one.device_n, answer=b"%d" % n, fiscal_numbers={1: f"F-{n}"}, register_state=b"%d" % n
            )
            for one, n in zip(meant, numbers, strict=True)
        ]
        await gatherResults([_asked(store.conclude(each)) for each in became])
        self.assertEqual([self.commits(table) for table in ("operation", "seal", "chain", "register")], [2] * 4)
        for one, n in zip(meant, numbers, strict=True):
            found = await store.find(one.device_n, "fiscal", "a")
            assert found is not None
            self.assertEqual((found.n, found.answer), (n, b"%d" % n))
            self.assertEqual([each.fiscal_number for each in found.documents], [f"F-{n}", ""])
            self.assertEqual(await store.register_state(one.device_n), b"%d" % n)
        self.assertIs(await verify(store), None)

    async def test_as_alone(self) -> None:
        """What goes together is stored exactly as what goes alone, whatever it is."""
        store = await self.opened_postgres()
        random = Random(7)
        for _ in range(30):
            numbers = {number: f"F-{number}" for number in range(1, random.randint(1, 3))}
            members: dict[str, Any] = {
                "state": random.choice([State.DONE, State.REFUSED, State.UNKNOWN]),
                "res": random.choice([0, 1040]),
                "answer": random.choice([b"", b"{}", MEGABYTE[:5000]]),
                "fiscal_numbers": numbers,
                "register_state": random.choice([None, b"", b"state"]),
                "request": random.choice([b"", b"far"]),
                "shift": 3,
                "sold": dict.fromkeys(random.sample("abc", random.randint(0, 3)), 2),
            }
            self.cases.append((random.randint(0, 3), random.choice(["", "asked"]), members))
        halves = []
        for together in (False, True):
            meant = [
                intent(device_n, f"tag {device_n}", *map(paper, range(1, papers + 1)), request=asked.encode())
                for device_n, (papers, asked, _) in enumerate(self.cases, 100 if together else 200)
            ]
            halves.append((together, meant))
            for each in meant:
                await store.claims.claim(each.device_n)
        for together, meant in halves:
            numbers_of = await self.in_order(together, [store.reserve(each) for each in meant])
            outcomes = [
                outcome(reserved.n, device_n=one.device_n, **members)
                for reserved, one, (_, _, members) in zip(numbers_of, meant, self.cases, strict=True)
            ]
            await self.in_order(together, [store.conclude(each) for each in outcomes])
        self.assertIs(await verify(store), None)
        self.assertLess(self.commits("seal"), 40)
        for table, columns in (
            ("operation", "kind, task, fingerprint, state, at, ended_at, res, answer, request"),
            ("document", "number, kind, shift, at, sum, state, fiscal_number, value, sent"),
            ("register", "state"),
            ("sold_code", "shift, code, taxgrp"),
            ("chain", "count, removed"),
        ):
            found = [
                server().run(
                    f"SELECT device_n - {first}, {columns} FROM {table} "
                    f"WHERE device_n BETWEEN {first} AND {first} + 99",
                    DATABASE,
                )
                for first in (100, 200)
            ]
            self.assertGreater(len(found[0]), 5)
            self.assertEqual(*(sorted(map(self.plain, rows)) for rows in found))

    def setUp(self) -> None:
        """No cases yet."""
        self.cases: list[tuple[int, str, dict[str, Any]]] = []

    def plain(self, row: tuple[Any, ...]) -> str:
        """A row that can be compared and sorted."""
        return repr([bytes(value) if isinstance(value, memoryview) else value for value in row])

    async def in_order(self, together: bool, questions: list[Awaitable[T]]) -> list[T]:
        """The answers to questions, asked at once or one after the other."""
        if together:
            return await gatherResults([_asked(each) for each in questions])
        return [await each for each in questions]

    async def test_one_fails(self) -> None:
        """An intent that the database refuses fails its own caller; the others of the group are stored, and once."""
        store = await self.opened_postgres()
        await self.kept_at_once(store, *self.sales(4))
        again = self.sales(6, "b")
        for at, one in enumerate(again):
            again[at] = msgspec.structs.replace(one, documents=[paper(3)])
        # A text that is too long, a character that no text can have, a local number that is in use.
        again[1] = intent(2, "x" * 201, paper(3))
        again[2] = intent(3, "a\0b", paper(3))
        again[3] = intent(4, "b", paper(2))
        for one in again:
            await store.claims.claim(one.device_n)
        answers = await DeferredList([_asked(store.reserve(each)) for each in again], consumeErrors=True)
        self.assertEqual([done for done, _ in answers], [True, False, False, False, True, True])
        for _, reason in answers[1:4]:
            assert isinstance(reason, Failure)
            reason.trap(StoreFailed)
        self.assertEqual([key for key, _ in self.journal()], ["a"] * 4 + ["b"] * 3)

    async def test_at_once(self) -> None:
        """Intents that come with their outcomes share a transaction; one that fails does so alone."""
        store = await self.opened_postgres()
        await self.kept_at_once(store, *self.sales(3))
        meant = [msgspec.structs.replace(one, key="b", documents=[paper(7)]) for one in self.sales(6)]
        # A tag that is known, and an outcome that cannot be stored.
        meant[2] = self.sales(3)[2]
        became = [outcome(0, device_n=one.device_n, fiscal_numbers={7: "F"}, register_state=b"s") for one in meant]
        became[4] = msgspec.structs.replace(became[4], res=2**70)
        for one in meant:
            await store.claims.claim(one.device_n)
        asked = [_asked(store.conclude_at_once(*each)) for each in zip(meant, became, strict=True)]
        answers = await DeferredList(asked, consumeErrors=True)
        self.assertEqual([done for done, _ in answers], [True] * 4 + [False, True])
        known = [reserved.known for done, reserved in answers if done]
        self.assertEqual([each is None for each in known], [True, True, False, True, True])
        self.assertEqual([state for key, state in self.journal() if key == "b"], ["done"] * 4)
        self.assertEqual(await store.register_state(5), None)
        before = self.commits("seal")
        more = [
            (intent(device_n, "c", paper(8)), outcome(0, device_n=device_n, fiscal_numbers={8: "G"}))
            for device_n in range(1, 7)
        ]
        await gatherResults([_asked(store.conclude_at_once(*each)) for each in more])
        self.assertEqual(self.commits("seal"), before + 2)
        self.assertEqual(self.commits("operation WHERE key = 'c'"), 2)
        self.assertIs(await verify(store), None)

    async def test_at_once_lost(self) -> None:
        """When the answer about a group of such documents is lost, or a question of it, each is stored once."""
        wire = Wire()
        store = await self.behind(wire)
        for device_n in range(1, 7):
            await store.claims.claim(device_n)
        for number, (member, words) in enumerate(
            (
                ("lose_answer", BRIEFLY.encode() + b"EXECUTE reserve("),
                ("lose_question", BRIEFLY.encode() + b"EXECUTE conclude("),
                ("lose_answer", BRIEFLY.encode() + b"EXECUTE conclude("),
            ),
            1,
        ):
            await self.until(lambda: store.alive == 2)
            setattr(wire, member, words)
            both = [
                (
                    intent(device_n, f"tag {number}", paper(number)),
                    outcome(0, device_n=device_n, fiscal_numbers={number: "F"}, register_state=b"%d" % number),
                )
                for device_n in range(1, 7)
            ]
            reserved = await gatherResults([_asked(store.conclude_at_once(*each)) for each in both])
            self.assertEqual([each.known for each in reserved], [None] * 6)
            self.assertEqual(wire.lost, number)
            self.assertEqual(len(self.journal()), 6 * number)
            self.assertEqual([await store.register_state(one.device_n) for one, _ in both], [b"%d" % number] * 6)
        self.assertEqual({state for _, state in self.journal()}, {"done"})
        self.assertIs(await verify(store), None)

    async def test_at_once_commit_lost(self) -> None:
        """The same when it is the answer to the commit that is lost, or the commit itself."""
        wire = Wire()
        store = await self.behind(wire)
        for device_n in (1, 2, 3):
            await store.claims.claim(device_n)
        for number, member in enumerate(("lose_answer", "lose_question"), 1):
            await self.until(lambda: store.alive == 2)
            setattr(wire, member, b"COMMIT")
            both = [
                (intent(device_n, member, paper(number)), outcome(0, device_n=device_n, fiscal_numbers={number: "F"}))
                for device_n in (1, 2, 3)
            ]
            reserved = await gatherResults([_asked(store.conclude_at_once(*each)) for each in both])
            self.assertEqual([each.known for each in reserved], [None] * 3)
            self.assertEqual((wire.lost, len(self.journal())), (number, 3 * number))
        self.assertIs(await verify(store), None)

    async def test_known(self) -> None:
        """A tag that was used is known to its caller, though the others of the group are new."""
        store = await self.opened_postgres()
        first = await self.kept_at_once(store, *self.sales(3))
        again = [await store.reserve(intent(9, "first"))]
        again += await gatherResults([_asked(store.reserve(each)) for each in self.sales(6)])
        self.assertEqual([each.known and each.known.n for each in again[1:4]], first)
        self.assertEqual([each.known for each in again[4:]], [None] * 3)
        self.assertEqual(len(self.journal()), 7)

    async def test_claimed_elsewhere(self) -> None:
        """In a group nothing is stored for the device of another service; the other devices are not affected."""
        first = await self.opened_postgres(size=2)
        second = self.store("bar", size=2)
        await second.open()
        theirs = await self.kept_at_once(first, *self.sales(2))
        ours = await self.kept_at_once(second, *(intent(device_n, "b", paper(1)) for device_n in (11, 12, 13)))
        became = [
            outcome(n, State.REFUSED, device_n=device_n) for device_n, n in zip((11, 12, 13), ours, strict=True)
        ]
        became[1:1] = [
            outcome(n, State.REFUSED, device_n=device_n) for device_n, n in zip((1, 2), theirs, strict=True)
        ]
        answers = await DeferredList([_asked(second.conclude(each)) for each in became], consumeErrors=True)
        self.assertEqual([done for done, _ in answers], [True, False, False, True, True])
        for _, reason in answers[1:3]:
            assert isinstance(reason, Failure)
            reason.trap(ClaimedElsewhere)
        self.assertEqual([state for _, state in self.journal()], ["intended"] * 2 + ["refused"] * 3)

    async def test_lost_answer(self) -> None:
        """When the answer to a group is lost, or the question, each of it is stored once, and its caller is told."""
        wire = Wire()
        store = await self.behind(wire)
        for tag in ("lose_answer", "lose_question"):
            meant = [intent(device_n, tag, kind="pay") for device_n in range(1, 7)]
            await self.kept_at_once(
                store, *(intent(device_n, f"before {tag}", kind="pay") for device_n in range(1, 7))
            )
            await self.until(lambda: store.alive == 2)
            setattr(wire, tag, BRIEFLY.encode())
            reserved = await gatherResults([_asked(store.reserve(each)) for each in meant])
            self.assertEqual([each.known for each in reserved], [None] * 6)
            for each in meant:
                found = (await store.find_operations(OperationQuery([each.device_n], ["pay"], key=tag))).operations
                self.assertEqual(len(found), 1)
            setattr(wire, tag, BRIEFLY.encode())
            became = [
                outcome(each.n, device_n=one.device_n, register_state=b"%d" % each.n)
                for each, one in zip(reserved, meant, strict=True)
            ]
            await gatherResults([_asked(store.conclude(each)) for each in became])
            self.assertEqual(
                [await store.register_state(one.device_n) for one in meant], [b"%d" % each.n for each in reserved]
            )
        self.assertEqual(wire.lost, 4)
        self.assertIs(await verify(store), None)

    async def test_held_up(self) -> None:
        """A register whose rows somebody has locked holds up itself alone, not those in the same group."""
        # Longer than the test may last.
        store = await self.opened_postgres(patience=replace(Patience(), statement=600.0, answer=600.0))
        numbers = await self.kept_at_once(store, *self.sales(4))
        blocker = self.holding(f"SELECT 1 FROM operation WHERE n = {numbers[1]} FOR UPDATE")
        asked = [
            _asked(store.conclude(outcome(n, device_n=device_n, register_state=b"state")))
            for device_n, n in enumerate(numbers, 1)
        ]
        held_up = asked.pop(1)
        await gatherResults(asked)
        self.assertNoResult(held_up)
        self.assertEqual([state for _, state in self.journal()], ["done", "intended", "done", "done"])
        blocker.close()
        await held_up
        self.assertIs(await verify(store), None)

    async def test_planned_again(self) -> None:
        """Prepared statements are planned again now and then: a plan for empty tables is bad for full ones."""
        self.patch(sessions, "PLANNED_FOR", 3)
        store = await self.opened_postgres(size=1)
        asked: list[str] = []
        run = Session.runQuery

        def heard(session: Session, statement: str, *values: Any) -> Any:
            asked.append(statement)
            return run(session, statement, *values)

        self.patch(Session, "runQuery", heard)
        for number in range(7):
            await store.find(TILL, "fiscal", str(number))
        self.assertEqual([at for at, statement in enumerate(asked) if "DISCARD PLANS" in statement], [3, 6])
        self.assertEqual(len([1 for statement in asked if statement.startswith("PREPARE")]), 1)


@skipIf(MISSING, MISSING)
class ClaimTests(WireCase, TestCase):
    """Several services on one database."""

    patience = TAKING

    async def second(self, installation: str = "bar") -> PostgresStore:
        """Another service on the same database."""
        store = self.store(installation, size=2)
        await store.open()
        return store

    async def test_one_at_a_time(self) -> None:
        """A device that one service works with is refused to another one, which works with others meanwhile."""
        first = await self.opened_postgres(size=2)
        second = await self.second()
        n = (await first.reserve(intent(TILL, "a", paper(1)))).n
        for _ in range(2):
            await self.refused(second.reserve(intent(TILL, "b", paper(2))), ClaimedElsewhere)
            self.assertIs(await second.claims.claim(TILL), Claim.ELSEWHERE)
            await self.refused(second.conclude(outcome(n, State.REFUSED)), ClaimedElsewhere)
            await self.refused(second.note(n, b"theirs"), ClaimedElsewhere)
            await self.refused(second.accept_document(n, 1, "F"), ClaimedElsewhere)
        self.assertIs((await second.reserve(intent(OTHER, "b", paper(1)))).known, None)
        await self.refused(first.reserve(intent(OTHER, "c", paper(2))), ClaimedElsewhere)
        await first.conclude(outcome(n, fiscal_numbers={1: "F-1"}))
        self.assertEqual(self.journal(), [("a", "done"), ("b", "intended")])
        # To look is free.
        self.assertEqual((await self.found(second, "a")).documents[0].fiscal_number, "F-1")

    async def test_who_comes_first(self) -> None:
        """Of two services that reach for a device at the same moment one has it."""
        first = await self.opened_postgres(size=2)
        second = await self.second()
        for device_n in range(1, 11):
            claims = await gatherResults([_asked(store.claims.claim(device_n)) for store in (first, second)])
            self.assertEqual(set(claims), {Claim.OURS, Claim.ELSEWHERE})

    async def test_same_marks(self) -> None:
        """Two receipts that name the same marks in opposite order at once: one has them, the other is refused."""
        first = await self.opened_postgres(size=2)
        second = await self.second()
        wanted = [f"mark {number:05}" for number in range(1000)]
        meant = [intent(TILL, "a", paper(1), marks=Marks(wanted))]
        meant.append(intent(OTHER, "b", paper(1), marks=Marks(wanted[::-1])))
        asked = [_asked(store.reserve(each)) for store, each in zip((first, second), meant, strict=True)]
        reserved = await gatherResults(asked)
        self.assertEqual(sorted(one.taken is None for one in reserved), [False, True])

    async def test_orderly_end(self) -> None:
        """A service that ends in order leaves its devices to others at once; they first read their state again."""
        first = await self.opened_postgres(size=2)
        second, third = await self.second(), await self.second("pub")
        await self.operation(first, "a", State.DONE, paper(1))
        await first.close()
        complaint = await self.refused(second.reserve(intent(TILL, "b", paper(1))), StoreFailed)
        self.assertIn("read again", str(complaint))
        second.claims.renewed(TILL)
        self.assertIs((await second.reserve(intent(TILL, "b", paper(2)))).known, None)
        await second.close()
        # Until it is said that nothing old is remembered.
        for _ in range(2):
            self.assertIs(await third.claims.claim(TILL), Claim.TAKEN)
        third.claims.renewed(TILL)
        self.assertIs(await third.claims.claim(TILL), Claim.OURS)

    async def test_dead_service(self) -> None:
        """The device of a service that is cut off is taken over after a pause; then the old one changes nothing."""
        wire = Wire()
        first = await self.behind(wire)
        second = await self.second()
        n = (await first.reserve(intent(TILL, "a", paper(1)))).n
        wire.closed = True
        wire.cut()
        await self.until(lambda: not first.alive)
        begun = reactor.seconds()
        while (claim := await second.claims.claim(TILL)) is Claim.ELSEWHERE:
            await deferLater(reactor, 0.02)
        self.assertIs(claim, Claim.TAKEN)
        self.assertGreaterEqual(reactor.seconds() - begun, TAKING.takeover)
        await second.conclude(outcome(n, State.REFUSED))
        wire.closed = False
        await self.until(lambda: first.alive == 2)
        await self.refused(first.conclude(outcome(n, fiscal_numbers={1: "F"})), ClaimedElsewhere)
        while not isinstance(await self.refused(first.reserve(intent(TILL, "b")), StoreFailed), ClaimedElsewhere):
            await deferLater(reactor, 0.02)
        self.assertEqual(self.journal(), [("a", "refused")])

    async def test_chain_goes_on(self) -> None:
        """The service that takes a device over continues the chain of its seals where the other one left it."""
        first = await self.opened_postgres(size=2)
        await self.operation(first, "a", State.DONE, paper(1))
        await first.close()
        second = await self.second()
        await self.refused(second.reserve(intent(TILL, "b")), StoreFailed)
        second.claims.renewed(TILL)
        await self.operation(second, "b", State.DONE, paper(2))
        (chain,) = await second.chains()
        self.assertEqual(chain.count, 2)
        self.assertIs(await verify(second), None)

    async def test_back_in_time(self) -> None:
        """A service that comes back within the pause has its devices as before, and the pause starts again."""
        wire = Wire()
        first = await self.behind(wire)
        pause = 2.0
        second = self.store("bar", size=2, patience=replace(TAKING, takeover=pause))
        await second.open()
        await self.operation(first, "a", State.INTENDED)
        for key in "bc":
            wire.closed = True
            wire.cut()
            await self.until(lambda: not first.alive)
            begun = reactor.seconds()
            while reactor.seconds() - begun < pause * 0.6:
                self.assertIs(await second.claims.claim(TILL), Claim.ELSEWHERE)
                await deferLater(reactor, 0.02)
            wire.closed = False
            await self.until(lambda: first.alive == 2)
            self.assertIs(await first.claims.claim(TILL, stubborn=True), Claim.OURS)
            await self.operation(first, key, State.INTENDED)
        self.assertEqual([key for key, _ in self.journal()], ["a", "b", "c"])

    async def test_statement_on_its_way(self) -> None:
        """A takeover waits for what the old service has at work at the server, and reads what came of it."""
        wire = Wire()
        patience = replace(TAKING, statement=5.0, answer=6.0)
        first = await self.behind(wire, patience=patience)
        second = self.store("shop", size=2, patience=patience)
        await second.open()
        n = await self.operation(first, "a", State.INTENDED, paper(1))
        blocker = self.holding(f"SELECT 1 FROM operation WHERE n = {n} FOR UPDATE")
        lost = _asked(first.conclude(outcome(n, fiscal_numbers={1: "F-1"}))).addErrback(lambda _: None)
        await self.until(lambda: self.blocked() == 1)
        # The same installation, started again: its earlier life is over, but its last statement is not.
        wire.frozen = True
        self.bypass(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid <> 0 AND granted"
        )
        taking = _asked(second.claims.claim(TILL))
        await self.until(lambda: self.blocked() == 2)
        self.assertNoResult(taking)
        blocker.close()
        self.assertIs(await taking, Claim.OURS)
        self.assertEqual((await self.found(second, "a")).documents[0].fiscal_number, "F-1")
        wire.closed = True
        wire.frozen = False
        wire.cut()
        await first.close()
        await lost

    async def test_own_earlier_life(self) -> None:
        """A service that was killed and starts again has its devices at once."""
        wire = Wire()
        first = await self.behind(wire)
        await self.operation(first, "a", State.INTENDED)
        again = await self.second("shop")
        wire.closed = True
        wire.cut()
        self.assertTrue(await again.claims.resume(TILL))
        self.assertIs(await again.claims.claim(TILL), Claim.OURS)

    async def test_left_by_earlier_life(self) -> None:
        """What an earlier life of a service left open is concluded by the next one; a third service cannot."""
        wire = Wire()
        first = await self.behind(wire)
        numbers = [await self.operation(first, f"tag {n}", State.INTENDED, paper(n)) for n in range(3)]
        wire.closed = True
        wire.cut()
        again, other = await self.second("shop"), await self.second()
        await self.refused(other.conclude(outcome(numbers[0], State.REFUSED)), ClaimedElsewhere)
        await again.note(numbers[0], b"far")
        await again.accept_document(numbers[1], 1, "F-1")
        await again.conclude(outcome(numbers[2], fiscal_numbers={2: "F-2"}))
        self.assertEqual([state for _, state in self.journal()], ["intended", "intended", "done"])
        found = await again.unresolved(TILL)
        self.assertEqual([each.request for each in found], [b"far", b""])
        self.assertEqual(found[1].documents[0].fiscal_number, "F-1")

    async def test_cannot_say(self) -> None:
        """While the session of the claims is away, the owner of a device is not known."""
        wire = Wire()
        store = await self.behind(wire)
        wire.closed = True
        wire.cut()
        await self.until(lambda: not store.alive)
        for asked in (store.claims.claim(TILL), store.claims.resume(TILL)):
            await self.refused(asked, StoreFailed)

    async def test_resume(self) -> None:
        """At a start a service works with devices that no other service worked with last."""
        first = await self.opened_postgres(size=2)
        await self.operation(first, "a", State.INTENDED)
        await first.close()
        second = await self.second()
        self.assertFalse(await second.claims.resume(TILL))
        self.assertTrue(await second.claims.resume(OTHER))
        again = await self.second("shop")
        self.assertTrue(await again.claims.resume(TILL))
        self.assertFalse(await again.claims.resume(OTHER))

    async def test_claims_lost_and_back(self) -> None:
        """Claims whose session broke are taken again; if no other service came, nothing is read again."""
        first = await self.opened_postgres(size=2)
        await self.operation(first, "a", State.INTENDED)
        for key in "bc":
            self.bypass("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted")
            await self.until(lambda: not self._locks())
            while not self._locks():
                with contextlib.suppress(StoreFailed):
                    self.assertIs(await first.claims.claim(TILL), Claim.OURS)
                await deferLater(reactor, 0.01)
            await self.operation(first, key, State.INTENDED)
        self.assertEqual([key for key, _ in self.journal()], ["a", "b", "c"])

    def _locks(self) -> list[Any]:
        return server().run("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted")


class ServiceCase(WireCase):
    """Whole services on one database, with a training register of which all of them know."""

    patience = TAKING

    async def service(self, store: PostgresStore) -> Core:
        """A service that is ready; the end of the test closes it."""
        service = Core(Config(service=ServiceConfig(training=True)), store, reactor, self.state)
        self.addCleanup(lambda: _asked(self.end(service)))
        self.open.append(service)
        await service.open()
        await self.until(lambda: service.ready)
        return service

    async def end(self, service: Core) -> None:
        """The orderly end of a service, unless it has ended."""
        if service in self.open:
            self.open.remove(service)
            await service.close()

    def setUp(self) -> None:
        """A folder for the simulated tax service, which both services reach."""
        self.open: list[Core] = []
        self.state = Path(self.mktemp())
        self.state.mkdir()

    async def told(
        self, service: Core, task: int, tag: str = "", device: str = "test", **members: Any
    ) -> tuple[int, int]:
        """Result code and document number that a task of a register is answered with."""
        body = {"ver": 6, "device": device, "tag": tag, "type": 1, "fiscal": {"task": task, **members}}
        answer = json.loads(await service.dispatcher.execute(json.dumps(body).encode(), "uk"))
        return answer["res"], int(answer["info"].get("docno", 0))


@skipIf(MISSING, MISSING)
class ServiceTests(ServiceCase, TestCase):
    """What one service does, and what the other one sees of it."""

    @promises("1.9c.1.4")
    async def test_two_services(self) -> None:
        """A register works with one service; when that ends the other goes on where it stopped."""
        first = await self.service(await self.opened_postgres(size=2))
        self.assertEqual(await self.told(first, 0, "open"), (0, 1))
        self.assertEqual(await self.told(first, 1, "a", receipt=sale()), (0, 2))
        second = await self.service(self.store("bar", size=2))
        for task in (1, 10, 18):
            self.assertEqual(await self.told(second, task, "b", receipt=sale()), (1105, 0))
        self.assertEqual(await self.told(first, 1, "b", receipt=sale()), (0, 3))
        await self.end(first)
        self.assertEqual(await self.told(second, 1, "c", receipt=sale()), (0, 4))
        self.assertEqual(await self.told(second, 1, "b", receipt=sale()), (0, 3))

    async def test_settings_of_the_other(self) -> None:
        """A device that is taken over is as the other service left it, its settings included."""
        first = await self.service(await self.opened_postgres(size=2))
        second = await self.service(self.store("bar", size=2))
        changed = await first.devices.change(first.devices.by_name("test").row.dev_id, None, {"rounding_step": 10})
        self.assertEqual((await self.told(first, 0, "open"))[0], 0)
        self.assertNotEqual(second.devices.by_name("test").row, changed.row)
        await self.end(first)
        self.assertEqual((await self.told(second, 1, "a", receipt=sale()))[0], 0)
        self.assertEqual(second.devices.by_name("test").row, changed.row)


@skipIf(MISSING, MISSING)
class BenchTests(PostgresCase, TestCase):
    """``dmtwisted bench writer --database URL``."""

    async def test_only_an_empty_one(self) -> None:
        """It measures what an empty database does with sales, and none that holds something already."""
        self.no_store()
        url = server().url(FRESH)
        command = ["-m", "dmtwisted.lab.bench.bench", "writer", "-s", "0.1", "-c", "2", "--database", url]
        told, _, status = await getProcessOutputAndValue(sys.executable, command, environment())
        self.assertEqual(status, 0)
        sales = json.loads(told)["count"]
        self.assertEqual(server().run("SELECT count(*) FROM operation WHERE state = 'done'", FRESH), [(sales,)])
        _, complaint, status = await getProcessOutputAndValue(sys.executable, command, environment())
        self.assertEqual((complaint, status), (b"dmtwisted bench: the database is not empty\n", 1))


class OpeningTests(SynchronousTestCase):
    """Which store a configuration asks for."""

    def config(self, url: str) -> Config:
        """A configuration with that URL."""
        return Config(database=DatabaseConfig(url), service=ServiceConfig(state="/srv/till"))

    def test_kinds(self) -> None:
        """A URL of PostgreSQL asks for the store on it, any other for the SQLite file."""
        self.assertIsInstance(store_of(self.config("postgresql://till@db/tills"), reactor), PostgresStore)
        for url in ("", "sqlite:////srv/tills.db"):
            self.assertIsInstance(store_of(self.config(url), reactor), SqliteStore)

    def test_refused(self) -> None:
        """A database without a store for it, or a text that is not a URL, is one line without a password."""
        for url, words in (
            ("mssql://till:open@sesame@db/tills", "not the URL of a database"),
            ("postgresql://till:sesame@db", "the name of a database is expected"),
            ("postgresql://till:open@sesame@db/tills", "not the URL of a database"),
        ):
            error = self.assertRaises(ConfigError, store_of, self.config(url), reactor)
            self.assertTrue(str(error).startswith("[database] url: "), error)
            self.assertIn(words, str(error))
            self.assertNotIn("sesame", str(error))

    def test_installation(self) -> None:
        """A service has the same name at each start, and another one in another folder."""
        name = installation(self.config(""))
        self.assertEqual(name, installation(self.config("postgresql://till@db/tills")))
        self.assertTrue(name.endswith(str(Path("/srv/till"))), name)


@skipIf(MISSING, MISSING)
class SecretTests(WireCase, TestCase):
    """The password of the database."""

    async def test_never_told(self) -> None:
        """Whatever goes wrong, neither the log nor an error holds the password."""
        wire = Wire()
        with capturedLogs() as told:
            store = await self.behind(wire, patience=replace(Patience(), recovery=0.2))
            wire.closed = True
            wire.cut()
            reasons = [await self.refused(store.settings(), StoreFailed)]
            wire.closed = False
            await self.until(lambda: store.alive == 2)
            reasons.append(await self.refused(store.reserve(intent(TILL, "a\0")), StoreFailed))
            reasons.append(await self.refused(self.store(port=1).open(), StoreFailed))
            await store.close()
        self.assertNotIn(PASSWORD, repr(list(told)))
        for reason in reasons:
            shown = Failure(reason)
            self.assertNotIn(PASSWORD, f"{reason!r} {shown.getTraceback()}")
