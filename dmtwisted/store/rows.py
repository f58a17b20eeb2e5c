"""One database, as whoever carries rows sees it: the same few verbs for each kind of database.

Everything here waits for the database: it is for commands, never for the service.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager
from typing import Any, Self

from dmtwisted.store.revisions import MOVING
from dmtwisted.store.shapes import Key, Row, Shape

PAGE = 2000
"""Rows that are read or written at once: some megabytes of receipts."""

NOTES = "dmtwisted_move"
"""The table in which a database keeps how far a move into it has come; it is there only meanwhile."""

SCHEMA = "schema"
"""The note that says of which revision the tables are that rows are moved into."""

PUT_OFF = "index ", "reference "
"""What the notes begin with of what is made when all rows are there, in one go: each holds the statement for it.

Row by row an index over keys that come in no order costs more than the rows themselves.
"""


class CarryError(Exception):
    """It cannot be done; the text is one line for whoever asked, without a password."""


class Away(CarryError):
    """The server went away meanwhile; what it holds may be whole all the same."""


class Rows(ABC):
    """The rows of one database.

    :param name: how the database is called in messages.
    """

    name: str
    notes_columns: str
    """The columns of the table of notes, as SQL."""
    one_moment = True
    """Whether one that was opened for reading sees one moment of the database, whatever is written meanwhile."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Let go of the database, with what was not committed."""

    @abstractmethod
    def keep_others_out(self, patience: float) -> None:
        """See to it that no service and no other command changes anything until we let go.

        :raises CarryError: when one works with it.
        """

    @abstractmethod
    def freeze(self) -> None:
        """Let nobody write, not even who comes later, until we let go; after `keep_others_out`, for reading only."""

    @abstractmethod
    def revision(self) -> str | None:
        """The revision of its schema, `MOVING`, or `None` when there is none."""

    @abstractmethod
    def tables(self) -> set[str]:
        """The names of all tables that are there, ours and others'."""

    @abstractmethod
    def size(self) -> int:
        """Bytes that the database takes."""

    @abstractmethod
    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows that a statement without values answers with; it is understood by every database."""

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
        """Put rows in as they are, with their numbers.

        :raises CarryError: when a row cannot be kept there, or is there already.
        """

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """All that happens within happens, or nothing of it."""

    @abstractmethod
    def counter(self, shape: Shape) -> int:
        """The highest number that a row of the table ever had."""

    @abstractmethod
    def set_counter(self, shape: Shape, number: int) -> None:
        """See to it that the next row gets a higher number than this one."""

    def begin_notes(self) -> None:
        """Make the table of notes, and let no service in from now on: both or neither."""
        with self.transaction():
            self.ask(f"CREATE TABLE {NOTES} {self.notes_columns}")
            # Another version of this program may go on with it.
            self.note(SCHEMA, str(self.ask("SELECT version_num FROM alembic_version")[0][0]))
            self.ask(f"UPDATE alembic_version SET version_num = '{MOVING}'")
            self.put_off_all()

    def put_off_all(self) -> None:  # noqa: B027 - there need not be any
        """Drop what is better made when all rows are in, with a note for each (`PUT_OFF`)."""

    def notes(self) -> dict[str, str]:
        """Everything in the table of notes."""
        return dict(self.ask(f"SELECT name, value FROM {NOTES}"))

    @abstractmethod
    def note(self, name: str, value: str) -> None:
        """Keep a note, in place of one of that name."""

    def put_off(self) -> list[str]:
        """What is still to be made when all rows are in: the names of its notes."""
        return sorted(name for name in self.notes() if name.startswith(PUT_OFF))

    def catch_up(self, name: str) -> None:
        """Make one thing that was put off while rows went in, and forget its note: both or none.

        :raises CarryError: when the rows do not allow it.
        """
        with self.transaction():
            self.ask(self.notes()[name])
            self.ask(f"DELETE FROM {NOTES} WHERE name = '{name}'")

    def end_notes(self, revision: str) -> None:
        """Drop the notes and let services in, which find ``revision``: both or neither, and on the disk."""
        with self.transaction():
            self.ask(f"DROP TABLE {NOTES}")
            self.ask(f"UPDATE alembic_version SET version_num = '{revision}'")

    @abstractmethod
    def clear(self) -> None:
        """Delete every row of our tables."""

    @abstractmethod
    def faults(self) -> Iterator[str]:
        """What the database itself finds wrong with its pages, indexes and references, a line each."""

    def walk(self, shape: Shape, after: Key | None = None, limit: int = PAGE) -> Iterator[list[Row]]:
        """Every row, or every one behind a key, page by page, in the order of the key."""
        while page := self.page(shape, after, limit):
            yield page
            after = shape.key_of(page[-1])

    def count(self, shape: Shape) -> int:
        """How many rows there are."""
        [(found,)] = self.ask(f'SELECT count(*) FROM "{shape.name}"')
        return int(found)
