"""Every database comes to the schema of this version, whole or not at all."""

from __future__ import annotations

import io
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import skipUnless
from unittest.mock import patch

from alembic.config import Config
from alembic.script import ScriptDirectory
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.store import migrate, revisions
from dmtwisted.store.migrate import main, upgrade
from dmtwisted.store.revisions import head
from dmtwisted.store.schema import ddl, metadata
from dmtwisted.store.sqlite.file import sqlite_revision, take_lock
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.verification import Flaw, Wrong, verify

LETTER = b"This is a letter to the tax service. " * 100
"""What a file holds that is no database."""

SECOND = """
import sqlalchemy as sa
from alembic import op

revision = "9001"
down_revision = "{before}"


def upgrade():
    op.create_table("half", sa.Column("n", sa.Integer, primary_key=True))
    op.execute("INSERT INTO setting VALUES ('half', x'')")
    op.add_column("device", sa.Column("half", sa.Integer))
    {then}
"""
"""A revision that has done all sorts of things when something happens."""

KILLED_ANYWHERE = """
import os, pathlib, shutil, signal, sys
from sqlalchemy import event
from sqlalchemy.engine import Engine
from dmtwisted.store.migrate import upgrade

folder, left = pathlib.Path(sys.argv[1]), 0
begin = folder / "begin"

def step(statement):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)

@event.listens_for(Engine, "connect")
def watch(connection, record):
    connection.set_trace_callback(step)

for steps in range(1000):
    left = steps
    if begin.exists():
        shutil.copy(begin, folder / str(steps))
    child = os.fork()
    if not child:
        upgrade(f"sqlite:///{folder / str(steps)}")
        os._exit(0)
    if not os.waitpid(child, 0)[1]:
        break
"""
"""Upgrade one new file, or copy of ``begin``, after the other, each time killed one statement later, until one comes
through."""


def schema(database: sqlite3.Connection) -> dict[str, Any]:
    """What the database itself says of each table: columns, references, numbering, indexes with their conditions."""
    found = {}
    for table, statement in database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall():
        indexes = database.execute(
            'SELECT m.sql, i."unique", (SELECT group_concat(name) FROM pragma_index_info(i.name)) '
            f"FROM pragma_index_list('{table}') i JOIN sqlite_master m ON m.name = i.name"
        )
        found[table] = (
            database.execute(f"PRAGMA table_xinfo('{table}')").fetchall(),
            database.execute(f"PRAGMA foreign_key_list('{table}')").fetchall(),
            "AUTOINCREMENT" in (statement or ""),
            sorted((" ".join((sql or "").split()), *rest) for sql, *rest in indexes),
        )
    return found


class _DatabaseCase(SynchronousTestCase):
    """A SQLite file in a folder of the test."""

    def setUp(self) -> None:
        """A folder."""
        self.folder = Path(self.mktemp()).absolute()
        self.folder.mkdir()
        self.path = self.folder / "tills.db"
        self.url = f"sqlite:///{self.path}"

    def ask(self, question: str) -> list[Any]:
        """Rows of the file."""
        with closing(sqlite3.connect(self.path)) as database, database:
            return database.execute(question).fetchall()

    def dump(self) -> list[str]:
        """Everything in the file."""
        with closing(sqlite3.connect(self.path)) as database:
            return list(database.iterdump())


class SchemaTests(_DatabaseCase):
    """The one schema."""

    def test_same_schema(self) -> None:
        """From nothing the revisions lead to exactly the tables, columns, keys and indexes of the schema."""
        upgrade(self.url)
        with closing(sqlite3.connect(self.path)) as migrated, closing(sqlite3.connect(":memory:")) as declared:
            for statement in ddl():
                declared.execute(statement)
            ours, theirs = schema(migrated), schema(declared)
        del ours["alembic_version"]
        self.assertEqual(ours, theirs)

    def test_comments(self) -> None:
        """Every column of the schema says what it holds."""
        silent = [str(column) for table in metadata.sorted_tables for column in table.columns if not column.comment]
        self.assertEqual(silent, [])


class RevisionTests(_DatabaseCase):
    """The line of revisions."""

    def test_one_line(self) -> None:
        """Revisions are one line without branches, counted from 0001; a file's name begins with its number."""
        config = Config()
        config.set_main_option("script_location", str(revisions.HERE))
        line = list(ScriptDirectory.from_config(config).walk_revisions())[::-1]
        numbers = [revision.revision for revision in line]
        self.assertEqual(numbers, [f"{n:04}" for n in range(1, len(line) + 1)])
        self.assertEqual([revision.down_revision for revision in line], [None, *numbers[:-1]])
        self.assertEqual([Path(revision.path).name.split("_")[0] for revision in line], numbers)
        # Known without alembic, too, which the service does not load.
        self.assertEqual(head(), numbers[-1])

    def test_twice(self) -> None:
        """A database comes to the newest revision; to run the revisions again changes nothing."""
        upgrade(self.url)
        self.assertEqual(sqlite_revision(self.path), head())
        self.ask("INSERT INTO setting VALUES ('a', x'00ff')")
        before = self.dump(), self.path.read_bytes()
        upgrade(self.url)
        self.assertEqual((self.dump(), self.path.read_bytes()), before)

    def test_any_folder(self) -> None:
        """The program may be installed in a folder of any name."""
        here = self.folder / "100% %(here)s" / "migrations"
        shutil.copytree(revisions.HERE, here, ignore=shutil.ignore_patterns("__pycache__"))
        self.patch(revisions, "HERE", here)
        upgrade(self.url)
        self.assertEqual(sqlite_revision(self.path), head())

    def test_no_file(self) -> None:
        """A file that is not there, or holds nothing, has no revision, and asking does not make one."""
        self.assertIs(sqlite_revision(self.path), None)
        self.assertFalse(self.path.exists())
        self.path.touch()
        self.assertIs(sqlite_revision(self.path), None)
        self.assertEqual(self.path.read_bytes(), b"")

    def test_no_database(self) -> None:
        """The revision of something that is no database is an error, not a beginning."""
        self.path.write_bytes(LETTER)
        self.assertRaises(sqlite3.DatabaseError, sqlite_revision, self.path)


class BrokenOffTests(_DatabaseCase):
    """A revision that does not come to its end."""

    def setUp(self) -> None:
        """The revisions as they are."""
        super().setUp()
        self.here, self.newest = revisions.HERE, head()

    def second(self, then: str) -> None:
        """Put a revision behind the newest one, in which ``then`` comes last."""
        folder = self.folder / f"migrations {len(list(self.folder.iterdir()))}"
        shutil.copytree(self.here, folder, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "versions" / "9001_half.py").write_text(SECOND.format(before=self.newest, then=then), "utf-8")
        self.patch(revisions, "HERE", folder)

    def test_fails(self) -> None:
        """A revision that fails half way leaves nothing of itself, and can be run again when it is put right."""
        upgrade(self.url)
        self.ask("INSERT INTO setting VALUES ('a', x'')")
        before = self.dump()
        self.second("raise RuntimeError('half way')")
        self.assertRaises(RuntimeError, upgrade, self.url)
        self.assertEqual(self.dump(), before)
        self.second("pass")
        upgrade(self.url)
        self.assertEqual(sqlite_revision(self.path), "9001")
        self.assertEqual(self.ask("SELECT count(*) FROM half"), [(0,)])
        self.assertEqual(self.ask("SELECT name FROM setting"), [("a",), ("half",)])

    def test_both_or_first(self) -> None:
        """Of two revisions that were due the first stays when the second fails: each is a transaction of its own."""
        self.second("raise RuntimeError('half way')")
        self.assertRaises(RuntimeError, upgrade, self.url)
        self.assertEqual(sqlite_revision(self.path), self.newest)
        self.assertEqual(self.ask("SELECT name FROM sqlite_master WHERE name = 'half'"), [])
        self.assertEqual(self.ask("SELECT count(*) FROM setting"), [(0,)])

    def killed(self) -> list[Path]:
        """Files whose upgrade was killed, each one statement later than the one before; the last came through."""
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", KILLED_ANYWHERE, str(self.folder)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=True,
            timeout=400,
        )
        return [self.folder / str(steps) for steps in range(1000) if (self.folder / str(steps)).exists()]

    @skipUnless(hasattr(os, "fork"), "needs fork and kill -9")
    def test_killed_anywhere(self) -> None:
        """Killed before any statement, a new database is between two revisions, and an upgrade completes it."""
        killed = self.killed()
        self.assertGreater(len(killed), len(ddl()))
        tables: dict[str | None, set[str]] = {}
        for path in killed:
            with closing(sqlite3.connect(path)) as database:
                found = set(schema(database)) - {"alembic_version"}
            self.assertEqual(tables.setdefault(sqlite_revision(path), found), found)
        self.assertEqual(list(tables), [None, *(f"{n:04}" for n in range(1, int(head()) + 1))])
        self.assertEqual((tables[None], tables[head()]), (set(), {*metadata.tables, "sqlite_sequence"}))
        self.assertEqual(sqlite_revision(killed[-1]), head())
        for path in (killed[1], killed[len(killed) // 2], killed[-2]):
            upgrade(f"sqlite:///{path}")
            self.assertEqual(sqlite_revision(path), head())

    def before_seals(self, name: str, rows: int) -> None:
        """A file with a journal from before the seals, of two registers; every fifth operation is under way."""
        self.path = self.folder / name
        upgrade(f"sqlite:///{self.path}", "0001")
        with closing(sqlite3.connect(self.path)) as database, database:
            for n in range(1, rows + 1):
                state = ("done", "refused", "intended", "unknown", "done")[n % 5]
                ended, answer = (None, None) if state == "intended" else (n, b"{}")
                database.execute(
                    "INSERT INTO operation VALUES (?, ?, 'fiscal', 1, ?, x'00', ?, ?, ?, 0, ?, NULL, NULL)",
                    (n, 1 + n % 2, f"Ї{n}", state, n, ended, answer),
                )
                database.execute(
                    "INSERT INTO document VALUES (?, ?, ?, ?, 'sale', 1, ?, 100, ?, '', x'', x'')",
                    (n, n, 1 + n % 2, n, n, state),
                )

    def flaw(self) -> Flaw | None:
        """The first bad row of the file."""
        store = MemoryStore()
        with closing(sqlite3.connect(self.path, isolation_level=None)) as store._db:
            return self.successResultOf(Deferred.fromCoroutine(verify(store)))

    def journal(self) -> list[Any]:
        """What was there before the seals."""
        return [self.ask("SELECT * FROM operation"), self.ask("SELECT * FROM document")]

    def test_sealed_once(self) -> None:
        """A journal from before the seals is sealed as it is, however long; nothing else of it changes."""
        self.before_seals("long", 1203)
        before = self.journal()
        upgrade(f"sqlite:///{self.path}")
        self.assertEqual(self.journal(), before)
        concluded = self.ask("SELECT n FROM operation WHERE state <> 'intended' ORDER BY n")
        self.assertEqual(self.ask("SELECT operation_n FROM seal ORDER BY n"), concluded)
        self.assertIs(self.flaw(), None)
        self.ask("UPDATE document SET sum = 99 WHERE n = 1200")
        self.assertEqual(self.flaw(), Flaw(Wrong.CHANGED, 1, 1200))

    def test_narrow_indexes(self) -> None:
        """Where only indexes change every row stays, and a tag that was refused and sold later is sold once."""
        self.before_seals("rows", 20)
        upgrade(f"sqlite:///{self.path}", "0004")
        # Refused, and sold under the same tag later.
        self.ask("UPDATE operation SET \"key\" = 'again', device_n = 1 WHERE n IN (1, 4, 6)")
        rows = [line for line in self.dump() if line.startswith("INSERT") and "alembic_version" not in line]
        upgrade(f"sqlite:///{self.path}", "0005")
        after = [line for line in self.dump() if line.startswith("INSERT") and "alembic_version" not in line]
        self.assertEqual(after, rows)
        twice = "UPDATE operation SET \"key\" = 'again', device_n = 1 WHERE n = 10"
        self.assertRaises(sqlite3.IntegrityError, self.ask, twice)

    def test_no_old_events(self) -> None:
        """What was sealed before there were events is none; the seals stay as they are."""
        self.before_seals("rows", 20)
        upgrade(f"sqlite:///{self.path}", "0005")
        before = self.ask("SELECT n, device_n, operation_n, content, chain FROM seal ORDER BY n")
        upgrade(f"sqlite:///{self.path}")
        self.assertEqual(self.ask("SELECT n, device_n, operation_n, content, chain FROM seal ORDER BY n"), before)
        self.assertEqual(self.ask("SELECT DISTINCT event FROM seal"), [(0,)])

    @skipUnless(hasattr(os, "fork"), "needs fork and kill -9")
    def test_sealed_once_though_killed(self) -> None:
        """Wherever the upgrade of such a journal was killed: it is as it was, or has all its seals, once."""
        self.before_seals("begin", 5)
        journal = self.journal()
        reached = []
        for path in self.killed():
            self.path = path
            reached.append(sqlite_revision(self.path))
            if reached[-1] == "0001":
                self.assertEqual(self.ask("SELECT name FROM sqlite_master WHERE name IN ('seal', 'chain')"), [])
            upgrade(f"sqlite:///{self.path}")
            self.assertEqual(self.ask("SELECT operation_n FROM seal ORDER BY n"), [(1,), (3,), (4,), (5,)])
            self.assertEqual(self.journal(), journal)
            self.assertIs(self.flaw(), None)
        self.assertEqual(reached, sorted(reached))
        self.assertEqual((reached[0], reached[-1]), ("0001", head()))


class MainTests(_DatabaseCase):
    """``python -m dmtwisted.store.migrate URL``."""

    def setUp(self) -> None:
        """No patience, and errors are kept."""
        super().setUp()
        self.patch(migrate, "LOCK_PATIENCE", 0)
        self.complaints = io.StringIO()
        self.patch(sys, "stderr", self.complaints)

    def complaint(self, url: str) -> str:
        """What is said of a URL that cannot be upgraded: one line, and nothing but it."""
        self.complaints.truncate(self.complaints.seek(0))
        self.assertEqual(main(url), 1)
        line, rest = self.complaints.getvalue().split("\n", 1)
        self.assertEqual(rest, "")
        start = "the database could not be brought up to date: "
        self.assertTrue(line.startswith(start), line)
        return line.removeprefix(start)

    def test_upgrade(self) -> None:
        """A file that is not there yet is made and brought to the newest schema, without a word."""
        self.assertEqual(main(self.url), 0)
        self.assertEqual(sqlite_revision(self.path), head())
        self.assertEqual(self.complaints.getvalue(), "")

    def test_in_use(self) -> None:
        """While a service works with the file it is not touched; afterwards it is."""
        with take_lock(f"{self.path}.lock", 0):
            self.assertTrue(self.complaint(self.url).startswith("another service uses this database"))
            self.assertFalse(self.path.exists())
        self.assertEqual(main(self.url), 0)

    def test_no_url(self) -> None:
        """What is no URL is a clear line, which repeats nothing of it: it may be a password."""
        for url in ("tills.db", "u:sesame@h/d", "mysql://u@h:sesame/d", "mysql://u:open@sesame@h/d"):
            complaint = self.complaint(url)
            self.assertIn("this is not the URL of a database", complaint)
            self.assertNotIn("sesame", complaint)

    def test_no_driver(self) -> None:
        """An unknown kind of database, or a missing driver, is one clear line with the name of what is missing."""
        with patch.dict(sys.modules, {"MySQLdb": None}):
            for scheme, missing in (("nosuch", "nosuch"), ("mysql", "MySQLdb")):
                complaint = self.complaint(f"{scheme}://u:sesame@h/d")
                self.assertIn(missing, complaint)
                self.assertNotIn("sesame", complaint)

    def test_no_folder(self) -> None:
        """A file in a folder that does not exist is a clear line with its path."""
        told = self.complaint(f"sqlite:///{self.folder}/no/tills.db").replace("\\\\", "\\")
        self.assertIn(str(self.folder / "no"), told)

    def test_no_database(self) -> None:
        """A file that is no database is a clear line, and stays as it is."""
        self.path.write_bytes(LETTER)
        self.assertIn("file is not a database", self.complaint(self.url))
        self.assertEqual(self.path.read_bytes(), LETTER)

    def test_tables_of_others(self) -> None:
        """A database with other tables under our names is one clear line, and stays as it is."""
        self.ask("CREATE TABLE operation (surgeon TEXT)")
        before = self.dump()
        self.assertIn("table operation already exists", self.complaint(self.url))
        self.assertEqual(self.dump(), before)

    def test_newer(self) -> None:
        """A database of a newer version is a clear line with its revision, and stays as it is."""
        upgrade(self.url)
        self.ask("UPDATE alembic_version SET version_num = '9999'")
        before = self.dump()
        self.assertIn("9999", self.complaint(self.url))
        self.assertEqual(self.dump(), before)
