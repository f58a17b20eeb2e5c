"""Rows as they are copied between databases: the shape of a table, and the sum over its rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

Row = tuple[Any, ...]
"""One row, its values in the order of the columns: `int`, `str`, `bytes` or `None`."""

Key = tuple[Any, ...]
"""The values of a row's primary key."""

_SPACE = 1 << 256


def quoted(names: Iterable[str]) -> str:
    """Names of columns as SQL."""
    return ", ".join(f'"{name}"' for name in names)


@dataclass(frozen=True)
class Shape:
    """One table: its columns with the types of their values, and its key.

    ``wide``: for each column, whether its numbers take eight bytes. ``numbered``: the database numbers the rows.
    """

    name: str
    columns: tuple[str, ...]
    types: tuple[type, ...]
    wide: tuple[bool, ...]
    key: tuple[str, ...]
    numbered: bool

    @property
    def listed(self) -> str:
        """The columns as SQL."""
        return quoted(self.columns)

    @property
    def order(self) -> str:
        """The columns of the key as SQL."""
        return quoted(self.key)

    def key_of(self, row: Row) -> Key:
        """The key of a row."""
        return tuple(row[self.columns.index(name)] for name in self.key)

    def name_of(self, key: Key) -> str:
        """The name of a row in messages: ``operation n=17``."""
        return f"{self.name} {' '.join(f'{name}={value}' for name, value in zip(self.key, key, strict=True))}"


_encode = msgspec.msgpack.Encoder().encode


class Sum:
    """How many rows a table has, and the sum of their hashes.

    Equal for equal rows, in whatever order and portions they are read, in every database.
    """

    def __init__(self, rows: int = 0, total: int = 0) -> None:
        self.rows, self._total = rows, total

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows."""
        total = 0
        for row in rows:
            total += int.from_bytes(hashlib.sha256(_encode(row)).digest())
            self.rows += 1
        self._total = (self._total + total) % _SPACE

    @property
    def hex(self) -> str:
        """The sum as 64 digits."""
        return f"{self._total:064x}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sum) and (self.rows, self._total) == (other.rows, other._total)

    __hash__ = None  # type: ignore[assignment]


def pages(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """``rows`` in portions."""
    page: list[Row] = []
    for row in rows:
        page.append(row)
        if len(page) == size:
            yield page
            page = []
    if page:
        yield page
