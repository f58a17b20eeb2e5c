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
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.store import migrate, writer
from dmtwisted.store.migrate import ddl, head, main, sqlite_revision, upgrade

TABLES = ("device", "document", "operation", "register", "setting", "sold_code")
"""The tables that the service cannot do without."""

SECOND = """
import os
import signal

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
import os, pathlib, signal, sys
from sqlalchemy import event
from sqlalchemy.engine import Engine
from dmtwisted.store.migrate import sqlite_revision, upgrade

folder, left = pathlib.Path(sys.argv[1]), 0

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
    child = os.fork()
    if not child:
        upgrade(f"sqlite:///{folder / str(steps)}")
        os._exit(0)
    if not os.waitpid(child, 0)[1]:
        break
"""
"""Upgrade one new file after the other, each time killed one statement later, until one comes through."""


def _rows(database: sqlite3.Connection, question: str) -> list[Any]:
    return database.execute(question).fetchall()


def schema(database: sqlite3.Connection) -> dict[str, Any]:
    """What the database itself says of its tables and indexes, the mark of alembic left out."""
    names = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name <> 'alembic_version'"
    found = {}
    for table, statement in sorted(_rows(database, names)):
        indexes = {}
        for _, index, unique, origin, partial in _rows(database, f"PRAGMA index_list('{table}')"):
            (text,) = _rows(database, f"SELECT sql FROM sqlite_master WHERE name = '{index}'")[0]
            condition = " ".join(text.split("WHERE", 1)[1].split()) if partial else ""
            columns = [row[2:5] for row in _rows(database, f"PRAGMA index_xinfo('{index}')") if row[5]]
            # What the database makes by itself for UNIQUE is numbered, in whatever order it was declared.
            indexes[index if origin == "c" else f"{origin}: {columns}"] = unique, columns, condition
        found[table] = {
            "columns": _rows(database, f"PRAGMA table_xinfo('{table}')"),
            "references": _rows(database, f"PRAGMA foreign_key_list('{table}')"),
            "indexes": indexes,
            "autoincrement": "AUTOINCREMENT" in (statement or ""),
        }
    return found


class _DatabaseCase(SynchronousTestCase):
    """SQLite files in a folder of the test."""

    def setUp(self) -> None:
        """A folder."""
        self.folder = Path(self.mktemp()).absolute()
        self.folder.mkdir()
        self.path = self.folder / "tills.db"
        self.url = f"sqlite:///{self.path}"

    def ask(self, question: str) -> list[Any]:
        """Rows of the file."""
        with closing(sqlite3.connect(self.path)) as database, database:
            return _rows(database, question)

    def dump(self) -> list[str]:
        """Everything in the file."""
        with closing(sqlite3.connect(self.path)) as database:
            return list(database.iterdump())


class SchemaTests(_DatabaseCase):
    """The revisions and the one schema say the same."""

    def test_same_schema(self) -> None:
        """From nothing the revisions lead to exactly the tables, columns, keys and indexes of the schema."""
        upgrade(self.url)
        with closing(sqlite3.connect(self.path)) as migrated, closing(sqlite3.connect(":memory:")) as declared:
            for statement in ddl():
                declared.execute(statement)
            ours, theirs = schema(migrated), schema(declared)
        self.assertEqual(sorted(ours), sorted(theirs))
        for table in ours:
            self.assertEqual(ours[table], theirs[table], table)

    def test_tables(self) -> None:
        """The schema has the tables that it should, and each statement makes one thing."""
        statements = [statement.split() for statement in ddl()]
        made = [words[2] for words in statements if words[:2] == ["CREATE", "TABLE"]]
        self.assertTrue(set(TABLES) <= set(made))
        self.assertEqual(len(made), len(set(made)))
        for words in statements:
            self.assertIn(words[0:2], (["CREATE", "TABLE"], ["CREATE", "INDEX"], ["CREATE", "UNIQUE"]))

    def test_guards(self) -> None:
        """One receipt for a tag, and one document for a local number, are rules of the database itself."""
        with closing(sqlite3.connect(":memory:")) as database:
            for statement in ddl():
                database.execute(statement)
            found = schema(database)
        for table, index, columns, condition in (
            ("operation", "operation_fiscal_tag", ["device_n", "key"], "kind = 'fiscal' AND state <> 'refused'"),
            ("document", "document_number", ["device_n", "number"], "state <> 'refused'"),
        ):
            unique, indexed, where = found[table]["indexes"][index]
            self.assertEqual((unique, [column[0] for column in indexed], where), (1, columns, condition))
        self.assertEqual([found[table]["autoincrement"] for table in ("device", "operation", "document")], [True] * 3)

    def test_comments(self) -> None:
        """Every column of the schema says what it holds."""
        from dmtwisted.store.schema import metadata

        silent = [str(column) for table in metadata.sorted_tables for column in table.columns if not column.comment]
        self.assertEqual(silent, [])


class RevisionTests(_DatabaseCase):
    """The line of revisions."""

    def scripts(self) -> ScriptDirectory:
        """The revisions as alembic reads them."""
        config = Config()
        config.set_main_option("script_location", str(migrate.HERE))
        return ScriptDirectory.from_config(config)

    def test_one_line(self) -> None:
        """Revisions are one line without branches, from one beginning to one end."""
        revisions = list(self.scripts().walk_revisions())
        self.assertEqual(len(self.scripts().get_bases()), 1)
        self.assertEqual(len(self.scripts().get_heads()), 1)
        before = [revision.down_revision for revision in revisions]
        self.assertEqual(before, [*(revision.revision for revision in revisions[1:]), None])

    def test_numbers(self) -> None:
        """Revisions are counted from 0001, and a file's name begins with its number."""
        revisions = list(self.scripts().walk_revisions())[::-1]
        self.assertEqual(
            [revision.revision for revision in revisions], [f"{n:04}" for n in range(1, len(revisions) + 1)]
        )
        for revision in revisions:
            self.assertTrue(Path(revision.path).name.startswith(f"{revision.revision}_"), revision.path)

    def test_head(self) -> None:
        """The newest revision is known without alembic, and it is the one that alembic leads to."""
        self.assertEqual(head(), self.scripts().get_current_head())
        upgrade(self.url)
        self.assertEqual(sqlite_revision(self.path), head())
        self.assertEqual(self.ask("SELECT version_num FROM alembic_version"), [(head(),)])

    def test_twice(self) -> None:
        """To run the revisions again changes nothing."""
        upgrade(self.url)
        self.ask("INSERT INTO setting VALUES ('a', x'00ff')")
        before = self.dump(), self.path.read_bytes()
        upgrade(self.url)
        self.assertEqual((self.dump(), self.path.read_bytes()), before)

    def test_no_file(self) -> None:
        """A file that is not there, or holds nothing, has no revision, and asking does not make one."""
        self.assertIs(sqlite_revision(self.path), None)
        self.assertFalse(self.path.exists())
        self.path.touch()
        self.assertIs(sqlite_revision(self.path), None)
        self.assertEqual(self.path.read_bytes(), b"")

    def test_no_database(self) -> None:
        """The revision of something that is no database is an error, not a beginning."""
        self.path.write_bytes(b"This is a letter to the tax service. " * 100)
        self.assertRaises(sqlite3.DatabaseError, sqlite_revision, self.path)


class BrokenOffTests(_DatabaseCase):
    """A revision that does not come to its end."""

    def second(self, then: str) -> None:
        """Put a revision behind the newest one, in which ``then`` comes last."""
        before = head()
        folder = self.folder / "migrations"
        shutil.copytree(migrate.HERE, folder, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "versions" / "9001_half.py").write_text(SECOND.format(before=before, then=then))
        self.patch(migrate, "HERE", folder)

    def in_process(self) -> int:
        """The exit status of a process that brings the file up to date."""
        script = (
            "import pathlib, sys; from dmtwisted.store import migrate; "
            "migrate.HERE = pathlib.Path(sys.argv[1]); sys.exit(migrate.main(sys.argv[2]))"
        )
        ended = subprocess.run(
            [sys.executable, "-c", script, str(migrate.HERE), self.url],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=False,
            timeout=60,
        )
        return ended.returncode

    def check_before(self, dump: list[str]) -> None:
        """The database is as it was, and the whole revision can still be run."""
        self.assertEqual(self.dump(), dump)
        self.second_again()
        upgrade(self.url)
        self.assertEqual(sqlite_revision(self.path), "9001")
        self.assertEqual(self.ask("SELECT count(*) FROM half"), [(0,)])
        self.assertEqual(self.ask("SELECT name FROM setting"), [("a",), ("half",)])

    def second_again(self) -> None:
        """The same revision without the mishap."""
        path = migrate.HERE / "versions" / "9001_half.py"
        path.write_text(SECOND.format(before=_before(path), then="pass"))
        shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)

    def test_fails(self) -> None:
        """A revision that fails half way leaves nothing of itself, and can be run again when it is put right."""
        upgrade(self.url)
        self.ask("INSERT INTO setting VALUES ('a', x'')")
        before = self.dump()
        self.second("raise RuntimeError('half way')")
        self.assertEqual(head(), "9001")
        self.assertRaises(RuntimeError, upgrade, self.url)
        self.check_before(before)

    @skipUnless(os.name == "posix", "needs kill -9")
    def test_killed(self) -> None:
        """A revision that is killed half way leaves nothing of itself, and can be run again."""
        upgrade(self.url)
        self.ask("INSERT INTO setting VALUES ('a', x'')")
        before = self.dump()
        self.second("os.kill(os.getpid(), signal.SIGKILL)")
        self.assertEqual(self.in_process(), -9)
        self.check_before(before)

    def test_both_or_first(self) -> None:
        """Of two revisions that were due the first stays when the second fails: each is a transaction of its own."""
        newest = head()
        self.second("raise RuntimeError('half way')")
        self.assertRaises(RuntimeError, upgrade, self.url)
        self.assertEqual(sqlite_revision(self.path), newest)
        self.assertEqual(self.ask("SELECT name FROM sqlite_master WHERE name = 'half'"), [])
        self.assertEqual(self.ask("SELECT count(*) FROM setting"), [(0,)])

    @skipUnless(hasattr(os, "fork"), "needs fork and kill -9")
    def test_killed_anywhere(self) -> None:
        """Killed before any statement of all, a new database is empty or complete, and an upgrade completes it."""
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", KILLED_ANYWHERE, str(self.folder)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=True,
            timeout=100,
        )
        killed = sorted(
            (path for path in self.folder.iterdir() if path.name.isdigit()), key=lambda path: int(path.name)
        )
        self.assertGreater(len(killed), len(ddl()))
        self.assertEqual(sqlite_revision(killed[-1]), head())
        states = set()
        for path in killed:
            with closing(sqlite3.connect(path)) as database:
                tables = {name for (name,) in _rows(database, "SELECT name FROM sqlite_master WHERE type = 'table'")}
            revision = sqlite_revision(path)
            self.assertEqual(set(TABLES) <= tables, revision == head(), path.name)
            self.assertEqual(bool(tables - {"alembic_version"}), revision is not None, path.name)
            states.add(revision)
        self.assertEqual(states, {None, head()})
        for path in (killed[1], killed[len(killed) // 2], killed[-2]):
            upgrade(f"sqlite:///{path}")
            self.assertEqual(sqlite_revision(path), head())


def _before(path: Path) -> str:
    """The revision that the one at ``path`` follows."""
    (line,) = [line for line in path.read_text().splitlines() if line.startswith("down_revision")]
    return line.split('"')[1]


class MainTests(_DatabaseCase):
    """``python -m dmtwisted.store.migrate URL``."""

    def setUp(self) -> None:
        """Nobody has patience, and complaints are kept."""
        super().setUp()
        self.patch(writer, "LOCK_PATIENCE", 0)
        self.complaints = io.StringIO()
        self.patch(sys, "stderr", self.complaints)

    def complaint(self, url: str) -> str:
        """What is said of a URL that cannot be upgraded: one line, and nothing but it."""
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
        with writer.take_lock(f"{self.path}.lock", 0):
            self.assertEqual(self.complaint(self.url), "another service uses this database")
            self.assertFalse(self.path.exists())
        self.assertEqual(main(self.url), 0)

    def test_no_url(self) -> None:
        """What is no URL is a clear line."""
        self.assertIn("URL", self.complaint("tills.db"))

    def test_unknown_database(self) -> None:
        """A kind of database that nobody knows is a clear line with its name."""
        self.assertIn("nosuch", self.complaint("nosuch://u:sesame@h/d"))

    def test_no_driver(self) -> None:
        """A known kind of database whose driver is not installed is a clear line, too."""
        with patch.dict(sys.modules, {"MySQLdb": None}):
            self.assertIn("MySQLdb", self.complaint("mysql://u:sesame@h/d"))

    def test_no_folder(self) -> None:
        """A file in a folder that does not exist is a clear line with its path."""
        self.assertIn(str(self.folder / "no"), self.complaint(f"sqlite:///{self.folder}/no/tills.db"))

    def test_no_database(self) -> None:
        """A file that is no database is a clear line, and stays as it is."""
        self.path.write_bytes(b"This is a letter to the tax service. " * 100)
        self.assertIn("file is not a database", self.complaint(self.url))
        self.assertEqual(self.path.read_bytes(), b"This is a letter to the tax service. " * 100)

    def test_tables_of_others(self) -> None:
        """A database with somebody else's tables under our names is a clear line, and stays as it is."""
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

    def test_no_password(self) -> None:
        """No complaint repeats the password of a URL."""
        for url in ("nosuch://u:sesame@h/d", "u:sesame@h/d"):
            self.complaints.truncate(0)
            self.complaints.seek(0)
            self.assertEqual(main(url), 1)
            self.assertNotIn("sesame", self.complaints.getvalue())
