"""A private PostgreSQL server for tests: from the machine's own packages, in a folder of its own."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

import psycopg2

from dmtwisted.lab.children import free_port
from dmtwisted.store.migrate import upgrade

PASSWORD = "sesame"
"""What every role of the server logs in with; it must be seen nowhere."""

START_PATIENCE = 60.0
"""Seconds in which the server has to let us in."""

SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 60
shared_buffers = 16MB
fsync = off
full_page_writes = off
synchronous_commit = off
log_min_messages = fatal
"""
"""Small and quick: no test takes the power away.

Asynchronous commits are what a careless set-up would have: the store must not rely on it.
"""


_EMPTY = """
DO $$
DECLARE found record;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR found IN SELECT schemaname, tablename FROM pg_tables
        WHERE schemaname IN ('public', 'dbo') AND tablename <> 'alembic_version' LOOP
        EXECUTE format('DELETE FROM %I.%I', found.schemaname, found.tablename);
    END LOOP;
    FOR found IN SELECT schemaname, sequencename FROM pg_sequences WHERE last_value IS NOT NULL LOOP
        EXECUTE format('ALTER SEQUENCE %I.%I RESTART', found.schemaname, found.sequencename);
    END LOOP;
END $$
"""


def binaries() -> Path | None:
    """The folder with ``initdb`` and ``postgres``; `None` when there is no server on this machine."""
    if sys.platform == "win32":
        # It would be started as on Linux.
        return None
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name), reverse=True
    )
    on_path = shutil.which("initdb")
    for folder in (*found, *([Path(on_path).resolve().parent] if on_path else [])):
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    return None


MISSING = "" if binaries() else "there is no PostgreSQL server on this machine (Debian: apt-get install postgresql)"
"""Why tests of a server cannot run here; empty when they can."""


DURABLE = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 60
shared_buffers = 32MB
min_wal_size = 2MB
max_wal_size = 8MB
log_min_messages = fatal
"""
"""As a server that was not configured: what it confirms is on its disk. Its log stays small."""


class Server:
    """One server with a folder of its own, gone at the end of the process.

    :param log_folder: where its write-ahead log goes, in small files, when that has a disk of its own.
    """

    def __init__(self, settings: str = SETTINGS, log_folder: Path | None = None) -> None:
        folder = binaries()
        assert folder is not None, MISSING
        self._binaries = folder
        self._home = Path(tempfile.mkdtemp(prefix="dmtwisted-pg-"))
        self._data = self._home / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            import pwd

            # The server refuses to run as root.
            user = pwd.getpwnam(_user())
            self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(self._home, user.pw_uid, user.pw_gid)
        self.port = free_port()
        atexit.register(self.remove)
        word = self._home / "word"
        word.write_text(PASSWORD, "utf-8")
        word.chmod(0o644)
        # The quickest of the ways to ask for a password.
        options = ["--auth=md5", f"--pwfile={word}", "--username=till", "--encoding=UTF8", "--no-sync"]
        if log_folder is not None:
            self.give(log_folder)
            options += [f"--waldir={log_folder / 'log'}", "--wal-segsize=1"]
        self._run("initdb", "-D", str(self._data), "--locale=C.UTF-8", *options)
        with (self._data / "postgresql.conf").open("a") as written:
            written.write(settings)
        self.start()

    def give(self, folder: Path) -> None:
        """Let the server write in ``folder``."""
        if self._as:
            os.chown(folder, self._as["user"], self._as["group"])

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=self._home, **self._as)

    def url(self, database: str, port: int | None = None) -> str:
        """The URL of a database on it, through another port if given."""
        return f"postgresql://till:{PASSWORD}@127.0.0.1:{port or self.port}/{database}"

    def start(self) -> None:
        """Start it and wait until it lets us in."""
        command = [str(self._binaries / "postgres"), "-D", str(self._data), "-p", str(self.port)]
        log = (self._home / "log").open("ab")
        with closing(log):
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self._home, **self._as)
        deadline = time.monotonic() + START_PATIENCE
        while True:
            try:
                psycopg2.connect(self.url("postgres"), connect_timeout=5).close()
                return
            except psycopg2.OperationalError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise
                time.sleep(0.02)

    def stop(self) -> None:
        """End it at once and in order, ending all connections."""
        self._end(signal.SIGINT)

    def quit(self) -> None:
        """End it at once without any order: it has to recover when it starts."""
        self._end(signal.SIGQUIT)

    @property
    def running(self) -> bool:
        """Whether its process is there."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """End it as ``kill -9`` does, with every process that serves a connection."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        children = _children(process.pid) if number == signal.SIGKILL else []
        process.send_signal(number)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, number)
        process.wait()

    def remove(self) -> None:
        """Leave nothing behind."""
        self.kill()
        shutil.rmtree(self._home, ignore_errors=True)

    def run(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """The rows of a statement, if any; it does not wait."""
        with closing(self.connect(database)) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def empty(self, database: str, make: Callable[[], None] | None = None) -> None:
        """Make the database with the newest schema, or empty the one that is there.

        As if nothing had been there; quicker than to make new files for all tables.

        :param make: makes the schema, instead of ours for this server.
        """
        if self.run(f"SELECT 1 FROM pg_database WHERE datname = '{database}'"):
            self.run(_EMPTY, database)
        else:
            self.run(f"CREATE DATABASE {database}")
            if make is None:
                upgrade(self.url(database))
            else:
                make()

    def connect(self, database: str) -> Any:
        """A connection of the test's own, in which each statement is a transaction unless it begins one."""
        connection = psycopg2.connect(self.url(database))
        connection.autocommit = True
        return connection


def _children(pid: int) -> list[int]:
    """The processes that ``pid`` has started and that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # Behind the name in brackets, which may hold anything: the state, then the parent.
            if int(stat.read_text("utf-8").rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
    return found


def _user() -> str:
    """A user who is not root."""
    import pwd

    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


@cache
def server() -> Server:
    """The server of this process, started when it is first asked for."""
    return Server()
