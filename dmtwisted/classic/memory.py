"""What a register on a till's line remembers through a power cut: the open document, the last task, the articles.

It is kept in settings of the store: `Record` in one, the articles in `PARTS` others, so that a change of one article
writes a small one.
"""

from __future__ import annotations

import msgspec
from twisted.logger import Logger

from dmtwisted.store.interface import IStore
from dmtwisted.store.values import StoreFailed

MOST_ARTICLES = 10_000
PARTS = 32


class Article(msgspec.Struct, frozen=True, array_like=True):
    """A row of the article table; ``tax`` is the place of its letter, ``price`` kopecks."""

    code: int
    tax: int
    group: int
    price: int
    name: str


class Deed(msgspec.Struct, frozen=True, omit_defaults=True):
    """A task of the service that a command of the till began."""

    tag: str
    code: int
    """Of the command, with its number and data: the frame by which a repeat is recognised."""
    number: int
    data: bytes
    fiscal: bytes
    """``fiscal`` of the task, as JSON text."""
    at: int
    lines: int = 0
    total: int = 0
    returns: bool = False
    """What the closed receipt is, for `ReadReceipt`; it is paid in full."""
    answer: bytes | None = None
    """The data of the answer; `None` until the task is known to be done."""


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of the documents."""

    documents: int = 0
    """Receipts, voided ones too, and movements of cash."""
    receipts: int = 0
    tag: str = ""
    """Of the task by which the open receipt is closed; empty while none is open."""
    deed: Deed | None = None
    """The last task; a new receipt forgets it."""
    operators: dict[int, str] = {}


class Memory:
    """The memory of one register."""

    log = Logger()

    def __init__(self, store: IStore, device_n: int) -> None:
        self._store, self._place = store, f"classic.{device_n}"
        self._loaded = False
        self.record = Record()
        self.articles: dict[int, Article] = {}

    async def load(self) -> None:
        """Read it, once.

        A document that was open and not being closed is lost with the power: it is void.

        :raises StoreFailed: when it cannot be read.
        """
        if self._loaded:
            return
        kept = await self._store.settings()
        try:
            record = msgspec.json.decode(kept.get(self._place, b"{}"), type=Record)
            for part in range(PARTS):
                for article in msgspec.json.decode(kept.get(self._part(part), b"[]"), type=list[Article]):
                    self.articles[article.code] = article
        except msgspec.MsgspecError as error:
            raise StoreFailed(f"the memory of a till's register cannot be read: {error}") from None
        if record.tag and record.deed is None:
            record = msgspec.structs.replace(record, tag="", documents=record.documents + 1)
        self.record, self._loaded = record, True

    async def keep(self, record: Record) -> None:
        """Replace the record.

        :raises StoreFailed: when it may not be durable; the record stays as it was.
        """
        await self._store.change_settings({self._place: msgspec.json.encode(record)})
        self.record = record

    async def note(self, record: Record) -> None:
        """Replace the record though the store may fail: a start finds out the same by the task's tag."""
        self.record = record
        try:
            await self.keep(record)
        except StoreFailed as error:
            self.log.warn("the end of a till's task is not noted: {why}", why=str(error))

    async def write(self, article: Article) -> None:
        """Write an article.

        :raises StoreFailed: when it may not be durable.
        """
        await self._write(article.code % PARTS, {**self.articles, article.code: article})

    async def delete(self, code: int) -> None:
        """Delete an article.

        :raises StoreFailed: when it may still be there.
        """
        await self._write(code % PARTS, {key: one for key, one in self.articles.items() if key != code})

    async def clear(self) -> None:
        """Delete all articles.

        :raises StoreFailed: when they may still be there.
        """
        await self._store.change_settings({self._part(part): b"[]" for part in range(PARTS)})
        self.articles = {}

    async def _write(self, part: int, articles: dict[int, Article]) -> None:
        here = [one for one in articles.values() if one.code % PARTS == part]
        await self._store.change_settings({self._part(part): msgspec.json.encode(here)})
        self.articles = articles

    def _part(self, part: int) -> str:
        return f"{self._place}.articles.{part}"
