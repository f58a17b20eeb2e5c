"""Numbers for articles, on the machines where a number keeps its name until the Z report."""

from __future__ import annotations

from hashlib import blake2b
from typing import TypeAlias

MOST_CONFLICTS = 8
"""How often one receipt is begun again because an article's number turns out to be taken: each leaves a void one."""

Article: TypeAlias = tuple[object, ...]
"""Everything that the machine keeps with a number."""


class Articles:
    """The numbers of one machine.

    A number follows from what the machine keeps, so it is the same after a restart. Where two articles come to the
    same one, the second takes the next that is free.

    :param most: numbers are 1 to ``most``.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._numbers: dict[Article, int] = {}
        self._taken: set[int] = set()

    def number(self, article: Article) -> int:
        """The number of an article."""
        if article not in self._numbers:
            digest = blake2b(repr(article).encode(), digest_size=8).digest()
            self._choose(article, int.from_bytes(digest, "big") % self._most + 1)
        return self._numbers[article]

    def refused(self, article: Article) -> None:
        """The machine has another article under this one's number: take the next."""
        self._choose(article, self._numbers[article] % self._most + 1)

    def _choose(self, article: Article, number: int) -> None:
        if len(self._taken) >= self._most:
            # Z reports have set most of them free since.
            self._numbers.clear()
            self._taken.clear()
        while number in self._taken:
            number = number % self._most + 1
        self._taken.add(number)
        self._numbers[article] = number
