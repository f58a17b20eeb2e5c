"""The rows of one database for the commands that copy and check them: the same few methods for each kind of database.

All methods block: they are for commands, never for the service.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from typing import Any, Self

from dmtwisted.store.revisions import MOVING, REVISION
from dmtwisted.store.shapes import Key, Row, Shape

PAGE = 2000
"""Rows that are read or written together: some megabytes of receipts."""

NOTES = "dmtwisted_move"
"""The table that records the progress of a move into the database; it exists only during the move."""

SCHEMA = "schema"
"""The note that names the revision of the tables that rows are moved into."""

PUT_OFF = "index ", "reference "
"""How the notes begin of what is made at once when all rows are there; each note holds the statement for it.

Maintained row by row, an index over keys in no order costs more than the rows themselves.
"""


STOP_FIRST = "Stop it first: systemctl stop dmtwisted, or Ctrl-C where it runs."


class CarryError(Exception):
    """It cannot be done; the text is one line for the operator, without a password.

    :param advice: a line that says what to do.
    """

    def __init__(self, why: str, advice: str = "") -> None:
        super().__init__(why)
        self.advice = advice


class Away(CarryError):
    """The server went away; its data may still be whole."""


class Rows(ABC):
    """The rows of one database.

    :param name: the database's name in messages.
    """

    name: str
    revisions: str
    """Asks a server whether it has a table of revisions."""
    notes_columns: str
    """The columns of the table of notes, as SQL."""
    one_moment = True
    """Whether reading sees one moment of the database, whatever is written meanwhile."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close the database; what was not committed is undone."""

    @abstractmethod
    def keep_others_out(self, patience: float) -> None:
        """Keep services and other commands from changing anything until `close`.

        :raises CarryError: when one of them works with it.
        """

    @abstractmethod
    def freeze(self) -> None:
        """Allow no writes until `close`, not even by later connections; after `keep_others_out`, for reading only."""

    def revision(self) -> str | None:
        """The revision of its schema, `MOVING`, or `None` when there is none."""
        if not self.ask(self.revisions)[0][0]:
            return None
        found = self.ask(REVISION)
        return str(found[0][0]) if found else None

    @abstractmethod
    def tables(self) -> set[str]:
        """The names of all tables in the database, ours and others."""

    @abstractmethod
    def size(self) -> int:
        """The size of the database in bytes."""

    @abstractmethod
    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """The result of a statement without values, which every database understands."""

    @abstractmethod
    def page(self, shape: Shape, after: Key | None, limit: int = PAGE) -> list[Row]:
        """The next rows in the order of the key."""

    def pick(self, shape: Shape, column: str, numbers: Collection[int]) -> list[Row]:
        """The rows that have one of these numbers in a column, in the order of the key."""
        wanted = ", ".join(map(str, numbers))
        return self.ask(
            f"SELECT {shape.listed} FROM {shape.name} WHERE {column} IN ({wanted}) ORDER BY {shape.order}"
        )

    @abstractmethod
    def add(self, shape: Shape, rows: list[Row]) -> None:
        """Insert rows as they are, with their numbers.

        :raises CarryError: when a row cannot be stored, or is there already.
        """

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """A transaction around what happens within."""

    @abstractmethod
    def counter(self, shape: Shape) -> int:
        """The highest number that a row of the table ever had."""

    @abstractmethod
    def set_counter(self, shape: Shape, number: int) -> None:
        """Make sure that the next row gets a higher number than this one."""

    def begin_notes(self) -> None:
        """Make the table of notes, and let no service in from now on: both or neither."""
        with self.transaction():
            self.ask(f"CREATE TABLE {NOTES} {self.notes_columns}")
            # Another version of this program may go on with it.
            self.note(SCHEMA, str(self.ask(REVISION)[0][0]))
            self.ask(f"UPDATE alembic_version SET version_num = '{MOVING}'")
            self.put_off_all()

    def put_off_all(self) -> None:  # noqa: B027 - there need not be any
        """Drop what is better made when all rows are in, with a note for each (`PUT_OFF`)."""

    def notes(self) -> dict[str, str]:
        """Everything in the table of notes."""
        return dict(self.ask(f"SELECT name, value FROM {NOTES}"))

    @abstractmethod
    def note(self, name: str, value: str) -> None:
        """Set a note."""

    def put_off(self) -> list[str]:
        """The names of the notes of what is still to be made when all rows are in."""
        return sorted(name for name in self.notes() if name.startswith(PUT_OFF))

    def catch_up(self, name: str) -> None:
        """Make one thing that was put off while rows went in, and delete its note: both or neither.

        :raises CarryError: when the rows do not allow it.
        """
        with self.transaction():
            self.ask(self.notes()[name])
            self.ask(f"DELETE FROM {NOTES} WHERE name = '{name}'")

    def end_notes(self, revision: str, last: Callable[[], object] = lambda: None) -> None:
        """Drop the notes and let services in, which find ``revision``: both or neither, and on the disk.

        :param last: called in that transaction, to add what the rows did not have where they came from.
        """
        with self.transaction():
            last()
            self.ask(f"DROP TABLE {NOTES}")
            self.ask(f"UPDATE alembic_version SET version_num = '{revision}'")

    @abstractmethod
    def clear(self) -> None:
        """Delete every row of our tables."""

    @abstractmethod
    def faults(self) -> Iterator[str]:
        """The faults that the database itself finds in its pages, indexes and references, one line each."""

    def walk(self, shape: Shape, after: Key | None = None, limit: int = PAGE) -> Iterator[list[Row]]:
        """Every row, or every row after a key, page by page, in the order of the key."""
        while page := self.page(shape, after, limit):
            yield page
            after = shape.key_of(page[-1])

    def count(self, shape: Shape) -> int:
        """How many rows there are."""
        [(found,)] = self.ask(f'SELECT count(*) FROM "{shape.name}"')
        return int(found)
