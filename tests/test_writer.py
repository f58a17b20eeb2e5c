"""The writer commits what came together in one transaction, and every frame survives any cut."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from inspect import iscoroutinefunction, signature
from itertools import accumulate
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.store.interface import READS, VERBS, IStore
from dmtwisted.store.mssql import store as mssql
from dmtwisted.store.postgres import store as postgres
from dmtwisted.store.schema import ddl
from dmtwisted.store.sqlite import file
from dmtwisted.store.sqlite.file import Locked, take_lock
from dmtwisted.store.sqlite.lists import Question
from dmtwisted.store.sqlite.wire import (
    BY_NAME,
    DONE,
    FAILED,
    FUNCTIONS,
    READY,
    TABLE,
    TAKEN,
    Deframer,
    failure,
    frame,
    pack,
)
from dmtwisted.store.sqlite.writer import connect, run_batch
from dmtwisted.store.values import (
    DeviceRow,
    DocumentQuery,
    NameTaken,
    State,
    StoreFailed,
)
from tests.store_contract import ARGUMENTS, TILL, intent, kept, outcome, paper, row

Answer = tuple[int, Any]
"""What became of a question, and its value or the words of the complaint."""


def ask(seq: int, verb: str, *arguments: Any) -> Question:
    """A question as it came over the wire, without a change to be recorded."""
    missing = len(signature(FUNCTIONS[verb]).parameters) - 1 - len(arguments)
    return seq, BY_NAME[verb], pack((*arguments, *[None] * missing))


def run(database: sqlite3.Connection, *questions: Question) -> dict[int, Answer]:
    """What each question of one batch is answered."""
    verbs = {seq: verb for seq, verb, _ in questions}
    answers = {}
    for seq, status, body in Deframer().feed(b"".join(run_batch(database, list(questions)))):
        assert seq not in answers, "two answers to one question"
        answers[seq] = status, verbs[seq].decode_value(body) if status == DONE else str(failure(status, body))
    return answers


def set_up(database: sqlite3.Connection) -> None:
    """Make our tables."""
    for statement in ddl():
        database.execute(statement)


class _DatabaseCase(SynchronousTestCase):
    """An empty database in memory, and one in a file."""

    def setUp(self) -> None:
        """The one in memory."""
        self.database = sqlite3.connect(":memory:", isolation_level=None)
        self.addCleanup(self.database.close)
        set_up(self.database)

    def ask(self, verb: str, *arguments: Any) -> Any:
        """The value of a question that comes alone and must succeed."""
        status, value = run(self.database, ask(1, verb, *arguments))[1]
        self.assertEqual(status, DONE, value)
        return value

    def file(self) -> Path:
        """A path in a new folder, with a database at it."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        with closing(connect(str(folder / "tills.db"))) as database:
            set_up(database)
        return folder / "tills.db"


class BatchTests(_DatabaseCase):
    """Questions that came together."""

    def test_one_commit(self) -> None:
        """A hundred receipts that come together cost one commit, not a hundred."""
        statements: list[str] = []
        self.database.set_trace_callback(statements.append)
        answers = run(self.database, *(ask(n, "reserve", intent(TILL, f"tag {n}", paper(n))) for n in range(1, 101)))
        self.assertEqual({status for status, _ in answers.values()}, {DONE})
        transaction = [text for text in statements if text.split()[0] in ("BEGIN", "COMMIT", "ROLLBACK")]
        self.assertEqual(transaction, ["BEGIN IMMEDIATE", "COMMIT"])
        self.assertEqual(len(self.ask("unresolved", None)), 100)

    def test_begun_anew(self) -> None:
        """Savepoints separate the verbs only when one of them fails: then all is undone and done again."""
        statements: list[str] = []
        sales = [ask(n, "reserve", intent(TILL, f"tag {n}", paper(n))) for n in range(1, 4)]
        wrong = ask(4, "reserve", intent(TILL, "wrong", paper(4), paper(1)))
        self.database.set_trace_callback(statements.append)
        answers = run(self.database, *sales[:2], wrong, sales[2])
        transaction = [text for text in statements if text.split()[0] not in ("INSERT", "SELECT", "--")]
        apart = ["SAVEPOINT one", "RELEASE one"]
        self.assertEqual(
            transaction,
            [
                *("BEGIN IMMEDIATE", "ROLLBACK", "BEGIN IMMEDIATE", *apart, *apart),
                *("SAVEPOINT one", "ROLLBACK TO one", "RELEASE one", *apart, "COMMIT"),
            ],
        )
        self.assertEqual([answers[n][1].n for n in (1, 2, 3)], [1, 2, 3])
        self.assertEqual([known.key for known in self.ask("unresolved", None)], ["tag 1", "tag 2", "tag 3"])

    def test_look_up_fails(self) -> None:
        """A search that fails does not make the batch start again."""
        statements: list[str] = []
        self.database.set_trace_callback(statements.append)
        answers = run(self.database, ask(1, "change_settings", {"a": b"1"}), ask(2, "find", 2**63, "fiscal", "a"))
        self.assertEqual([status for status, _ in answers.values()], [DONE, FAILED])
        self.assertNotIn("ROLLBACK", statements)

    def test_answers_after_commit(self) -> None:
        """Answers, those to searches included, report committed rows: other connections see them already."""
        path = self.file()
        with closing(connect(str(path))) as database, closing(connect(str(path))) as other:
            answers = run(database, ask(1, "change_settings", {"a": b"1"}), ask(2, "settings"))
            self.assertFalse(database.in_transaction)
            self.assertEqual(run(other, ask(2, "settings"))[2], answers[2])

    def test_own_order(self) -> None:
        """Questions are done in their order: a look-up sees what was asked before it and not what came after."""
        answers = run(
            self.database,
            ask(1, "settings"),
            ask(2, "change_settings", {"a": b"1"}),
            ask(3, "settings"),
            ask(4, "change_settings", {"a": b"2"}),
            ask(5, "settings"),
        )
        self.assertEqual(
            answers, {1: (DONE, {}), 2: (DONE, None), 3: (DONE, {"a": b"1"}), 4: (DONE, None), 5: (DONE, {"a": b"2"})}
        )
        self.assertEqual(list(answers), [1, 2, 3, 4, 5])

    def test_one_fails(self) -> None:
        """One that fails leaves nothing of itself and takes nothing from the others."""
        taken = paper(1)
        answers = run(
            self.database,
            ask(1, "reserve", intent(TILL, "a", taken)),
            ask(2, "reserve", intent(TILL, "b", paper(2), taken)),
            ask(3, "reserve", intent(TILL, "c", paper(3))),
            ask(4, "unresolved", None),
        )
        self.assertEqual([status for status, _ in answers.values()], [DONE, FAILED, DONE, DONE])
        self.assertIn("UNIQUE constraint failed", answers[2][1])
        self.assertEqual([known.key for known in answers[4][1]], ["a", "c"])
        self.assertEqual(self.ask("unresolved", None), answers[4][1])
        self.assertEqual(self.ask("reserve", intent(TILL, "b", paper(2))).known, None)

    def test_name_taken(self) -> None:
        """A name that is taken is distinguished from a failure, and the other verbs of the batch are done."""
        answers = run(
            self.database,
            ask(1, "add_device", "id-1", "till", "register", "training", b""),
            ask(2, "add_device", "id-2", "till", "printer", "training", b""),
            ask(3, "add_device", "id-3", "prn", "printer", "training", b""),
            ask(4, "change_device", 2, "till", b"new"),
        )
        self.assertEqual([status for status, _ in answers.values()], [DONE, TAKEN, DONE, TAKEN])
        self.assertEqual((answers[2][1], answers[4][1]), ("till", "till"))
        self.assertEqual(
            self.ask("devices"),
            [
                DeviceRow(1, "id-1", "till", "register", "training", b""),
                DeviceRow(2, "id-3", "prn", "printer", "training", b""),
            ],
        )

    def test_bad_arguments(self) -> None:
        """Arguments that a verb does not have, or no database can hold, fail their question, and no other."""
        answers = run(
            self.database,
            ask(1, "change_settings", {"a": b"1"}),
            ask(2, "reserve", intent(TILL, "a", paper(1), paper(2, sum=2**63))),
            ask(3, "remove_device", "one"),
            ask(4, "find", TILL),
            ask(5, "find", 2**63, "fiscal", "a"),
            ask(6, "change_settings", {"b": b"2"}),
        )
        self.assertEqual([status for status, _ in answers.values()], [DONE, FAILED, FAILED, FAILED, FAILED, DONE])
        self.assertEqual((self.ask("settings"), self.ask("unresolved", None)), ({"a": b"1", "b": b"2"}, []))

    def test_commit_fails(self) -> None:
        """When the commit fails every write of the batch has failed, and nothing of it is there."""
        self.ask("change_settings", {"a": b"1"})
        self._forbid("COMMIT")
        answers = run(
            self.database,
            ask(1, "change_settings", {"a": b"2"}),
            ask(2, "reserve", intent(TILL, "a", paper(1))),
            ask(3, "add_device", "id-1", "till", "register", "training", b""),
        )
        self.assertEqual(answers, dict.fromkeys((1, 2, 3), (FAILED, "not authorized")))
        self._forbid("")
        self.assertEqual((self.ask("settings"), self.ask("unresolved", None)), ({"a": b"1"}, []))
        self.assertEqual(self.ask("devices"), [])

    def _forbid(self, statement: str) -> None:
        """Let the database refuse to begin, commit or roll back."""

        def may(action: int, what: str | None, *_: str | None) -> int:
            return sqlite3.SQLITE_DENY if (action, what) == (sqlite3.SQLITE_TRANSACTION, statement) else 0

        self.database.set_authorizer(may)


class NoSpaceTests(_DatabaseCase):
    """The disk takes no more."""

    def setUp(self) -> None:
        """A database that may not grow."""
        super().setUp()
        self.ask("change_settings", {"a": b"1"})
        (self._pages,) = self.database.execute("PRAGMA page_count").fetchone()
        self._limit(self._pages)

    def _limit(self, pages: int) -> None:
        self.database.execute(f"PRAGMA max_page_count = {pages}").fetchall()

    def test_writes_fail(self) -> None:
        """What does not fit fails and is not there; when there is space again, the same connection takes it."""
        asked = (
            ask(1, "change_settings", {"small": b"", "large": bytes(100_000)}),
            ask(2, "reserve", intent(TILL, "a", paper(1, value=bytes(100_000)))),
        )
        self.assertEqual(run(self.database, *asked), dict.fromkeys((1, 2), (FAILED, "database or disk is full")))
        self.assertEqual((self.ask("settings"), self.ask("unresolved", None)), ({"a": b"1"}, []))
        self._limit(self._pages + 1000)
        self.assertEqual([status for status, _ in run(self.database, *asked).values()], [DONE, DONE])
        self.assertEqual(self.ask("settings"), {"a": b"1", "small": b"", "large": bytes(100_000)})

    def test_reads_answer(self) -> None:
        """Look-ups are answered, also those that came together with what does not fit, before it or after it."""
        answers = run(
            self.database,
            ask(1, "settings"),
            ask(2, "change_settings", {"large": bytes(100_000)}),
            ask(3, "settings"),
        )
        self.assertEqual(answers[2], (FAILED, "database or disk is full"))
        self.assertEqual((answers[1], answers[3]), ((DONE, {"a": b"1"}), (DONE, {"a": b"1"})))

    def test_told_the_truth(self) -> None:
        """A caller of that batch whose verb was confirmed finds its rows afterwards, and no other caller does."""
        answers = run(
            self.database,
            ask(1, "change_settings", {"before": b""}),
            ask(2, "change_settings", {"large": bytes(100_000)}),
            ask(3, "change_settings", {"after": b""}),
        )
        self.assertEqual(answers[2][0], FAILED)
        done = {name for seq, name in ((1, "before"), (3, "after")) if answers[seq][0] == DONE}
        self.assertEqual(set(self.ask("settings")), {"a", *done})


class NoWritingTests(_DatabaseCase):
    """The file may be read and not written."""

    def test_read_only(self) -> None:
        """In a file that cannot be written writes fail, and the look-ups of the same batch are answered."""
        path = self.file()
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)) as database:
            answers = run(
                database, ask(1, "change_settings", {"a": b"1"}), ask(2, "settings"), ask(3, "remove_device", 1)
            )
        refused = (FAILED, "attempt to write a readonly database")
        self.assertEqual(answers, {1: refused, 2: (DONE, {}), 3: refused})

    def test_locked_by_others(self) -> None:
        """While another program writes to the file writes fail and look-ups see what was there before."""
        path = self.file()
        with closing(connect(str(path))) as database, closing(connect(str(path))) as other:
            database.execute("PRAGMA busy_timeout=0")
            other.execute("BEGIN IMMEDIATE")
            other.execute("INSERT INTO setting VALUES ('theirs', x'')")
            asked = (ask(1, "change_settings", {"a": b"1"}), ask(2, "settings"))
            self.assertEqual(run(database, *asked), {1: (FAILED, "database is locked"), 2: (DONE, {})})
            # A batch of look-ups alone wants no lock at all.
            self.assertEqual(run(database, asked[1]), {2: (DONE, {})})
            other.execute("COMMIT")
            self.assertEqual(run(database, *asked), {1: (DONE, None), 2: (DONE, {"theirs": b"", "a": b"1"})})

    def test_reads_only_read(self) -> None:
        """The verbs that are served without writing are those that do not write, and no others."""
        path = self.file()
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)) as database:
            for name, arguments in ARGUMENTS.items():
                if name in READS:
                    FUNCTIONS[name](database, *arguments)
                else:
                    self.assertRaises(sqlite3.OperationalError, FUNCTIONS[name], database, *arguments)


class EffortTests(SynchronousTestCase):
    """What a question costs when the journal has grown, in steps of the database's machine."""

    def setUp(self) -> None:
        """A new register and one with a long history, with the same three Z-reports and one open question each."""
        self.few, self.many = self._journal(10), self._journal(1000)

    def _journal(self, sales: int) -> sqlite3.Connection:
        database = sqlite3.connect(":memory:", isolation_level=None)
        self.addCleanup(database.close)
        set_up(database)
        kinds = [*["sale"] * sales, "z"] * 3
        for number, kind in enumerate(kinds, -len(kinds)):
            meant = paper(number, kind=kind, shift=number // (sales + 1), at=number)
            n = FUNCTIONS["reserve"](database, intent(TILL, f"tag {number}", meant)).n
            FUNCTIONS["conclude"](database, outcome(n, answer=b"{}", fiscal_numbers={number: f"F{number}"}))
        FUNCTIONS["reserve"](database, intent(TILL, "open", paper(0)))
        return database

    def effort(self, database: sqlite3.Connection, verb: str, *arguments: Any) -> int:
        """How many steps a question takes."""
        steps = 0

        def step() -> None:
            nonlocal steps
            steps += 1

        # Once before, for what is prepared only once.
        database.execute("SAVEPOINT before")
        FUNCTIONS[verb](database, *arguments)
        database.execute("ROLLBACK TO before")
        database.set_progress_handler(step, 1)
        FUNCTIONS[verb](database, *arguments)
        database.set_progress_handler(None, 1)
        return steps

    def same(self, verb: str, *arguments: Any) -> None:
        """A question costs the same in both journals."""
        few, many = self.effort(self.few, verb, *arguments), self.effort(self.many, verb, *arguments)
        self.assertGreater(few, 0)
        self.assertLessEqual(many, 1.2 * few, f"{verb}{arguments}")

    def test_sale(self) -> None:
        """A sale costs the same, step by step, and so does the repeat of a tag."""
        self.same("register_state", TILL)
        self.same("sold_codes", TILL, -1)
        self.same("reserve", intent(TILL, "tag -3", paper(1)))
        self.same("reserve", intent(TILL, "new", paper(1)))
        for verb in ("accept_document", "conclude"):
            efforts = []
            for database in (self.few, self.many):
                n = FUNCTIONS["unresolved"](database, TILL)[-1].n
                done = (n, 1, "F") if verb == "accept_document" else (outcome(n, fiscal_numbers={1: "F"}),)
                efforts.append(self.effort(database, verb, *done))
            self.assertLessEqual(efforts[1], 1.2 * efforts[0], verb)

    def test_look_ups(self) -> None:
        """A look-up costs as much as it finds, not as much as the journal holds."""
        self.same("find", TILL, "fiscal", "tag -3")
        self.same("find", TILL, "fiscal", "no such tag")
        self.same("unresolved", TILL)
        self.same("unresolved", None)
        self.same("sent_documents", TILL, -5, 100)

    def test_documents(self) -> None:
        """Documents are found by either number or time, and Z-reports, without the receipts between them."""
        for query in (
            DocumentQuery(fiscal_number="F-3"),
            DocumentQuery(devices=[TILL], fiscal_number="F-3"),
            DocumentQuery(devices=[TILL], number=-3),
            DocumentQuery(devices=[TILL], kinds=["z"], shift_from=-3, shift_to=-1),
            DocumentQuery(devices=[TILL], kinds=["z"], at_from=-10_000, at_to=0),
            DocumentQuery(kinds=["z"]),
            DocumentQuery(devices=[TILL], at_from=-5, at_to=-1),
        ):
            self.same("find_documents", query)


class ConnectTests(_DatabaseCase):
    """How the file is opened."""

    def test_durable(self) -> None:
        """A commit comes back when the log is on the disk; readers do not wait; references are checked."""
        with closing(connect(str(self.file()))) as database:
            for pragma, value in (("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1)):
                self.assertEqual(database.execute(f"PRAGMA {pragma}").fetchone(), (value,))

    def test_own_transactions(self) -> None:
        """The driver begins no transaction of its own."""
        with closing(connect(str(self.file()))) as database:
            database.execute("INSERT INTO setting VALUES ('a', x'')")
            self.assertFalse(database.in_transaction)

    def test_no_database(self) -> None:
        """A file of something else is refused."""
        path = Path(self.mktemp())
        path.write_bytes(b"This is a letter to the tax service. " * 100)
        self.assertRaises(sqlite3.DatabaseError, connect, str(path))


class _Time:
    """A clock for `take_lock` that moves with each sleep, and does something at a certain moment."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.at: dict[float, Any] = {}

    def monotonic(self) -> float:
        """Seconds."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Be later at once."""
        self.now += seconds
        for moment in [moment for moment in self.at if moment <= self.now]:
            self.at.pop(moment)()


class TakeLockTests(SynchronousTestCase):
    """One service for a file."""

    def setUp(self) -> None:
        """A clock that does not move by itself."""
        self.time = _Time()
        self.patch(file, "time", self.time)
        self.path = self.mktemp()

    def test_taken(self) -> None:
        """A free lock is taken without waiting, even when its file exists from before."""
        for _ in range(2):
            take_lock(self.path, 0).close()
        self.assertEqual(self.time.now, 1000)
        self.assertTrue(Path(self.path).exists())

    def test_held(self) -> None:
        """A second one waits as long as it may and is then refused; the first one keeps the lock."""
        with take_lock(self.path, 0):
            for patience in (0, 5):
                began = self.time.now
                refused = self.assertRaises(Locked, take_lock, self.path, patience)
                self.assertTrue(str(refused).startswith("another service uses this database"), str(refused))
                self.assertTrue(patience <= self.time.now - began < patience + 0.1)
        take_lock(self.path, 0).close()

    def test_let_go(self) -> None:
        """A second process has the lock as soon as the first one releases it within its patience."""
        first = take_lock(self.path, 0)
        self.time.at[1004.9] = first.close
        with take_lock(self.path, 5):
            self.assertTrue(1004.9 <= self.time.now < 1005)
            self.assertRaises(Locked, take_lock, self.path, 0)

    def test_holder_killed(self) -> None:
        """The lock of a process that was killed is free."""
        script = (
            "import sys, time; from dmtwisted.store.sqlite.file import take_lock as t; lock = t(sys.argv[1], 0); "
        )
        with subprocess.Popen(
            [sys.executable, "-c", f"{script}print(1, flush=True); time.sleep(60)", self.path],
            stdout=subprocess.PIPE,
            env=_environment(),
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            self.assertRaises(Locked, take_lock, self.path, 0)
            process.kill()
            process.wait()
        take_lock(self.path, 0).close()

    def test_by_a_link(self) -> None:
        """A database opened by a link and by its own name has one lock."""
        Path(self.path).touch()
        link = self.mktemp()
        os.symlink(Path(self.path).resolve(), link)
        with take_lock(f"{link}.lock", 0):
            self.assertRaises(Locked, take_lock, f"{self.path}.lock", 0)

    def test_no_folder(self) -> None:
        """Where no file can be made, the error is the system's, not that another process has the lock."""
        self.assertRaises(FileNotFoundError, take_lock, f"{self.path}/lock", 5)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


class ProcessTests(_DatabaseCase):
    """The writer as a process."""

    def answers(self, path: Path, asked: bytes) -> tuple[int, list[tuple[int, int, bytes]]]:
        """The exit status and the frames of a writer that is asked this and nothing more."""
        ended = subprocess.run(
            [sys.executable, "-m", "dmtwisted.store.sqlite.writer", str(path)],
            input=asked,
            stdout=subprocess.PIPE,
            env=_environment(),
            timeout=60,
            check=False,
        )
        return ended.returncode, list(Deframer().feed(ended.stdout))

    def test_input_ends(self) -> None:
        """What was asked before the input ends is done and answered; then the process ends well."""
        path = self.file()
        asked = [ask(n, "reserve", intent(TILL, f"tag {n}", paper(n, value=bytes(9000)))) for n in range(1, 301)]
        status, frames = self.answers(path, b"".join(frame(seq, verb.index, body) for seq, verb, body in asked))
        self.assertEqual(status, 0)
        self.assertEqual(frames[0], (READY, DONE, b""))
        self.assertEqual([seq for seq, _, _ in frames[1:]], list(range(1, 301)))
        self.assertEqual({status for _, status, _ in frames}, {DONE})
        with closing(connect(str(path))) as database:
            self.assertEqual(len(run(database, ask(1, "unresolved", None))[1][1]), 300)

    def test_half_a_question(self) -> None:
        """A question of which the end never comes is not done, and the ones before it are."""
        path = self.file()
        whole = [frame(n, BY_NAME["change_settings"].index, pack(({str(n): b""}, None))) for n in (1, 2)]
        status, frames = self.answers(path, whole[0] + whole[1][:-1])
        self.assertEqual((status, [seq for seq, _, _ in frames]), (0, [READY, 1]))
        with closing(connect(str(path))) as database:
            self.assertEqual(run(database, ask(1, "settings"))[1], (DONE, {"1": b""}))

    def test_cannot_open(self) -> None:
        """A writer that cannot open its file says why in its first frame and ends with status 1."""
        path = Path(self.mktemp()).absolute()
        path.mkdir()
        status, frames = self.answers(path, b"")
        (only,) = frames
        self.assertEqual((status, only[:2]), (1, (READY, FAILED)))
        self.assertEqual(str(failure(FAILED, only[2])), "unable to open database file")


class FrameTests(SynchronousTestCase):
    """The frames between the two processes."""

    def test_by_hand(self) -> None:
        """A frame is its length, its number and a small byte, in this order, and then the body."""
        for seq, small, body, expected in (
            (0, 0, b"", "00 00 00 05  00 00 00 00  00"),
            (1, 2, b"ab", "00 00 00 07  00 00 00 01  02  61 62"),
            (0xFFFFFFFF, 255, b"\x00", "00 00 00 06  ff ff ff ff  ff  00"),
        ):
            self.assertEqual(frame(seq, small, body), bytes.fromhex(expected))
            self.assertEqual(list(Deframer().feed(bytes.fromhex(expected))), [(seq, small, body)])

    def test_any_cut(self) -> None:
        """A stream of every verb's question, cut anywhere, gives each of them, and none before its last byte."""
        frames = [(seq, BY_NAME[name].index, pack(ARGUMENTS[name])) for seq, name in enumerate(ARGUMENTS, 1)]
        ends = list(accumulate(len(frame(*each)) for each in frames))
        stream = b"".join(frame(*each) for each in frames)
        one_by_one = Deframer()
        for cut in range(len(stream) + 1):
            whole = [each for each, end in zip(frames, ends, strict=True) if end <= cut]
            deframer = Deframer()
            self.assertEqual(list(deframer.feed(stream[:cut])), whole)
            self.assertEqual([*whole, *deframer.feed(stream[cut:])], frames)
            self.assertEqual(list(one_by_one.feed(stream[cut - 1 : cut])), whole[-1:] if cut in ends else [])


def spelled(annotation: object) -> str:
    """A type as it is written where its name is imported; the interface names rows by their module."""
    return str(annotation).replace("values.", "")


class VerbTests(_DatabaseCase):
    """The verbs on the wire."""

    def test_whole_interface(self) -> None:
        """Every verb of the interface can be sent, by a number that fits into a byte."""
        names = {name for name, member in vars(IStore).items() if iscoroutinefunction(member)}
        verbs = names - {"open", "open_damaged", "close"}
        self.assertEqual((set(VERBS), set(FUNCTIONS), set(BY_NAME), set(ARGUMENTS)), (verbs, verbs, verbs, verbs))
        self.assertTrue(set(READS) < verbs)
        self.assertEqual([verb.index for verb in TABLE], list(range(len(verbs))))
        self.assertLess(len(TABLE), 256)
        for name, verb in BY_NAME.items():
            self.assertEqual((verb.name, TABLE[verb.index]), (name, verb))

    def test_signatures(self) -> None:
        """Each store carries a verb out with the arguments and the value that the interface declares."""
        for functions, own in ((FUNCTIONS, 1), (postgres.FUNCTIONS, 2), (mssql.FUNCTIONS, 2)):
            for name, function in functions.items():
                declared, written = signature(getattr(IStore, name)), signature(function)
                wanted = [(each.name, spelled(each.annotation)) for each in declared.parameters.values()][1:]
                found = [(each.name, spelled(each.annotation)) for each in written.parameters.values()][own:]
                returned = spelled(declared.return_annotation)
                self.assertEqual((found, spelled(written.return_annotation)), (wanted, returned), name)

    def test_states(self) -> None:
        """A state arrives as a member, not as a text that looks like one."""
        known = row(3, intent(TILL, "a", paper(1)), State.UNKNOWN, kept(paper(1), State.DONE, "F"))
        (arrived,) = BY_NAME["unresolved"].decode_value(pack([known]))
        self.assertIs(arrived.state, State.UNKNOWN)
        self.assertIs(arrived.documents[0].state, State.DONE)

    def test_failures(self) -> None:
        """A failure arrives as the exception that it was, with its words; a value of another kind is one, too."""
        verb = BY_NAME["settings"]
        for status, value, kind, words in (
            (FAILED, "каса", StoreFailed, "каса"),
            (TAKEN, "каса", NameTaken, "каса"),
            (DONE, {"a": 1}, StoreFailed, "damaged row"),
        ):
            self.assertIn(words, str(self.assertRaises(kind, verb.value, status, pack(value))))

    def test_no_question(self) -> None:
        """What cannot be put into a question fails before it is sent."""
        for key, n in (("a", 2**64), ("\ud800", 1)):
            self.assertRaises(StoreFailed, BY_NAME["find"].pack_arguments, (n, "fiscal", key))
