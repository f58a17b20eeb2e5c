"""Numbers of articles in a machine that sells only what is in its table.

A number that was sold keeps its name and tax until the Z report. So a number is chosen from what it stands for, and
is the same again after a restart; where another article has it, the next one is taken.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

from protocols.registers.troubles import DeviceRefused, Meaning, Trouble

MOST_TRIES = 50
"""Numbers that are tried for one article."""


class Article(NamedTuple):
    """What a number stands for; ``price`` is 0 where the table of the machine has none."""

    name: str
    tax: int
    price: int = 0


Write = Callable[[int, Article], Awaitable[bool]]


class Articles:
    """The articles that the machine has sold since its last Z report, as far as this process knows them."""

    def __init__(self) -> None:
        self._sold: dict[Article, int] = {}
        self._z: int | None = None

    async def numbers(
        self, articles: Sequence[Article], z: int | None, capacity: int, write: Write
    ) -> dict[Article, int]:
        """A number for each article, written to the machine unless it was sold in this shift.

        :param z: the last Z report: another one than before has set all numbers free.
        :param capacity: the largest number.
        :param write: writes an article; whether its number was free.
        :raises DeviceRefused: no number that was tried is free.
        """
        if z != self._z or z is None:
            self._sold, self._z = {}, z
        numbers = dict(self._sold)
        taken = set(numbers.values())
        for article in articles:
            if article not in numbers:
                numbers[article] = number = await _written(article, taken, capacity, write)
                taken.add(number)
        return {article: numbers[article] for article in articles}

    def sold(self, numbers: dict[Article, int]) -> None:
        """The machine has registered a receipt with them: they keep their numbers."""
        self._sold.update(numbers)


async def _written(article: Article, taken: set[int], capacity: int, write: Write) -> int:
    for number in _candidates(article, capacity):
        if number not in taken and await write(number, article):
            return number
    raise DeviceRefused("article", NO_NUMBER)


def _candidates(article: Article, capacity: int) -> Iterator[int]:
    first = crc32("\0".join(map(str, article)).encode())
    for step in range(min(capacity, MOST_TRIES)):
        yield (first + step) % capacity + 1


NO_NUMBER = Meaning(
    Trouble.ARTICLE,
    "the article table has no free number: make a Z report",
    "у таблиці товарів немає вільного номера: зробіть Z-звіт",
)
