"""What each program sends, by its `source`: tasks, refusals, repeats, and the members that were ignored.

The counts are for the people who connect a program (``dmtwisted doctor --client``). They grow in memory, so that a
task costs no call of the store, and are added to a row of the settings from time to time; a crash loses the last
minute. Callers choose sources and names, so both are limited.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache

import msgspec
from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from dmtwisted.answers import Warning, warns_of, was_repeated
from dmtwisted.clock import ServiceClock
from dmtwisted.requests import SENT_ON_PURPOSE, Stray, TaskRequest, every_name
from dmtwisted.results import Res, Text
from dmtwisted.security import mask_cards
from dmtwisted.service_settings import ServiceSettings
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import StoreFailed
from dmtwisted.tally import BATCH, KINDS, OTHER

EVERY = 60.0
"""Seconds between two steps in which the counts are kept."""

FORGOTTEN_AFTER = 90 * 86_400_000
"""Milliseconds after which a program that sends nothing is forgotten."""

MOST_PROGRAMS, MOST_NAMES, LONGEST_SOURCE = 50, 50, 60
OTHERS = "…"
"""Limits of programs, of names of each and of a source's length; what is beyond them is counted under this name."""

ROW = "programs"
"""The name of the row in the settings."""

REPEATABLE, STORED = frozenset({"fiscal", "pay", BATCH}), 17
"""Kinds of tasks that are repeated by their key, and the task of a terminal that asks for what is stored."""

ALWAYS, TRAINING = "always", "training"
"""Values of the setting ``warn_unknown``; the third is ``never``."""


class Program(msgspec.Struct):
    """Counts of one program; times are in milliseconds since 1970.

    ``tasks`` by kind and number, ``refused`` by result, ``ignored`` by the path of a member. ``untagged`` are tasks
    that needed a tag and had none, ``other_content`` those that used a tag for something else.
    """

    since: int = 0
    last: int = 0
    tasks: dict[str, int] = {}
    refused: dict[str, int] = {}
    ignored: dict[str, int] = {}
    repeated: int = 0
    untagged: int = 0
    other_content: int = 0

    def add(self, more: Program) -> None:
        """Add counts that were made later or at the same time."""
        self.since, self.last = min(self.since or more.since, more.since), max(self.last, more.last)
        for mine, theirs in ((self.tasks, more.tasks), (self.refused, more.refused), (self.ignored, more.ignored)):
            for name, count in theirs.items():
                _count(mine, name, count)
        self.repeated += more.repeated
        self.untagged += more.untagged
        self.other_content += more.other_content


Kept = dict[str, Program]
_decode = msgspec.json.Decoder(Kept).decode
_encode = msgspec.json.Encoder(order="deterministic").encode


class Programs:
    """Counts what programs send, and warns them of members that are ignored.

    :param settings: those of the service; without them nothing is warned of.
    :param training: whether the service is in training mode.
    """

    log = Logger()

    def __init__(
        self, store: IStore, clock: ServiceClock, settings: ServiceSettings | None = None, training: bool = False
    ) -> None:
        self._store, self._clock, self._settings, self.training = store, clock, settings, training
        self._fresh: Kept = {}
        self._unsure: tuple[bytes, Kept] | None = None
        self._lock = DeferredLock()
        self._loop = LoopingCall(lambda: Deferred.fromCoroutine(self.keep()))
        self._loop.clock = clock

    def start(self) -> None:
        """Begin to keep the counts."""
        self._loop.start(EVERY, now=False)

    async def stop(self) -> None:
        """Keep what was counted, and stop."""
        if self._loop.running:
            self._loop.stop()
        await self.keep()

    # Counting

    def ended(self, request: TaskRequest, batch: bool, res: int, answer: bytes, strays: Mapping[str, Stray]) -> None:
        """A task was answered."""
        program = self._fresh.get(request.source)
        if program is None:
            program = _entry(self._fresh, clean_source(request.source))
        program.last = self._clock.now()
        program.since = program.since or program.last
        kind = BATCH if batch else KINDS.get(request.type, OTHER)
        _count(program.tasks, f"{kind} {request.task}")
        if request.untagged:
            program.untagged += 1
        if res:
            _count(program.refused, str(res))
        elif kind in REPEATABLE and request.task != STORED and was_repeated(answer):
            program.repeated += 1
            program.other_content += warns_of(answer, Res.TAG_KNOWN)
        if strays:
            for where, _ in self._unlisted(strays):
                _count(program.ignored, where)

    # Warning

    def warnings(self, strays: Mapping[str, Stray], language: str) -> list[Warning]:
        """The warnings of an answer to a request with ``strays``."""
        if not self._warns:
            return []
        return [
            Warning(Res.MALFORMED.code, words_of(stray).for_language(language)) for _, stray in self._unlisted(strays)
        ]

    @property
    def _warns(self) -> bool:
        if self._settings is None:
            return False
        wish = self._settings.now.warn_unknown
        return wish == ALWAYS or (wish == TRAINING and self.training)

    def _unlisted(self, strays: Mapping[str, Stray]) -> list[tuple[str, Stray]]:
        """``strays`` without those that the shop knows: by name, or by path without indexes."""
        listed = _names_in(self._settings.now.known_members) if strays and self._settings is not None else ()
        return [(where, stray) for where, stray in strays.items() if where not in listed and stray.name not in listed]

    # Keeping

    async def keep(self) -> None:
        """Add what was counted since the last step to what is kept; a failure leaves it for the next step."""
        async with self._lock:
            if not (self._fresh or self._unsure) or self._store.damage:
                return
            try:
                await self._add()
            except StoreFailed as error:
                self.log.warn("what programs sent is not kept yet: {why}", why=str(error))

    async def _add(self) -> None:
        stored = (await self._store.settings()).get(ROW, b"{}")
        kept = self._read(stored)
        # A step that failed may have happened all the same: then it is what is stored now.
        if self._unsure is not None and self._unsure[0] != stored:
            _add_all(self._unsure[1], self._fresh)
            self._fresh = self._unsure[1]
        self._unsure, fresh, self._fresh = None, self._fresh, {}
        if not fresh:
            return
        old = self._clock.now() - FORGOTTEN_AFTER
        kept = {source: program for source, program in kept.items() if program.last >= old}
        _add_all(kept, fresh)
        row = _encode(kept)
        self._unsure = row, fresh
        await self._store.change_settings({ROW: row})
        self._unsure = None

    async def all(self) -> Kept:
        """What every program sent, up to now.

        :raises StoreFailed: when it cannot be read.
        """
        await self.keep()
        return self._read((await self._store.settings()).get(ROW, b"{}"))

    def _read(self, row: bytes) -> Kept:
        kept = read_row(row)
        if kept is None:
            self.log.error("what programs sent cannot be read and begins anew")
        return kept or {}


def read_row(row: bytes) -> Kept | None:
    """The counts in a row of the settings; `None` when it cannot be read."""
    try:
        return _decode(row)
    except msgspec.MsgspecError:
        return None


def clean_source(source: str) -> str:
    """``source`` as programs are counted and named: short, printable, without card numbers."""
    return mask_cards("".join(letter if letter.isprintable() else "?" for letter in source[:LONGEST_SOURCE]))


def _entry(kept: Kept, source: str) -> Program:
    if source not in kept and len(kept) >= MOST_PROGRAMS:
        source = OTHERS
    return kept.setdefault(source, Program())


def _add_all(kept: Kept, fresh: Kept) -> None:
    for source, program in fresh.items():
        _entry(kept, source).add(program)


def _count(counts: dict[str, int], name: str, by: int = 1) -> None:
    known = counts.get(name)
    if known is None and len(counts) >= MOST_NAMES:
        name = OTHERS
        known = counts.get(name)
    counts[name] = (known or 0) + by


@lru_cache(maxsize=8)
def _names_in(text: str) -> frozenset[str]:
    return frozenset(text.replace(",", " ").split())


def words_of(stray: Stray) -> Text:
    """What a caller is told about a member that was ignored."""
    path, name = stray.path, stray.name
    why = _WHY.get(name)
    near = get_close_matches(name.lower(), sorted(stray.known - SENT_ON_PURPOSE), n=1, cutoff=0.6)
    if why is not None:
        return Text(f"{path}: пропущено, {why.uk}", f"{path}: ignored, {why.en}")
    if name in every_name():
        return Text(
            f"{path}: пропущено, завдання тут його не вживає", f"{path}: ignored, the task does not use it here"
        )
    if near:
        return Text(f"{path}: пропущено, можливо, це {near[0]}?", f"{path}: ignored, did you mean {near[0]}?")
    return Text(f"{path}: пропущено, такого поля немає", f"{path}: ignored, there is no such member")


_WHY = {
    "dev_id": Text(
        "пристрій друку вказують в адресі: ?dev_id=назва", "the printer is named in the address: ?dev_id=name"
    ),
}
"""Members with a meaning elsewhere, and what to do instead."""
