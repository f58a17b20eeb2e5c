"""Receipts that exist though their caller heard no success: the next answer of the register warns of them.

A till without tags that lost an answer sells again. So every answer of the register says which receipt may be the
same sale, until a caller has received one such answer. For the same content without a tag it is said for some minutes
more, because the first answer may have gone to another till.

What is known, and when:

- the answer was a refusal with an unknown outcome, and the document was found later: known when it is found;
- the caller disconnected before its answer was written: known when the next task begins (`Caller`);
- the service died: nobody knows, so the last document before that counts as unheard at the next start.

Nothing of it costs a call to the store on the way of a sale. The list is a part of the register's state, which is
stored with the next document. The last document itself is found by its number: a service that stops writes down the
number up to which it knows the list (`Unheard.remember`), and a service that dies does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import NamedTuple

import msgspec
from twisted.logger import Logger

from dmtwisted.answers import Warning
from dmtwisted.clock import ServiceClock, kyiv
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document
from dmtwisted.registers.totals import RECEIPTS, RegisterState, UnheardReceipt
from dmtwisted.results import Refused, Res, Text
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentQuery

MOST = 20
"""Receipts that are remembered; a till that never waits for an answer must not fill the answers of all others."""

STILL_MS = 10 * 60 * 1000
"""Milliseconds for which the same content without a tag is recognised after a caller has heard of the receipt."""

Caller = Callable[[], bool | None]
"""Whether the caller of a task received its answer; `None` while it waits."""


def heard() -> bool:
    """A caller inside the service, which receives every answer."""
    return True


def nobody() -> bool:
    """Work without a caller: what it says is heard by nobody."""
    return False


caller: ContextVar[Caller] = ContextVar("caller", default=heard)
"""The caller of the running task."""


class _Answer(NamedTuple):
    """An answer on its way to its caller."""

    caller: Caller
    document: Document | None
    """The receipt that it reports, with the two that follow."""
    fiscal_number: str
    fingerprint: bytes
    told: Sequence[UnheardReceipt]
    like: bytes
    """The content of a sale without a tag: what has the same content is settled with this answer."""
    repeated: str
    """The tag whose stored answer it is."""


class _Mark(msgspec.Struct, frozen=True):
    """What a service knew when it stopped: the last local number, and the list then."""

    number: int
    receipts: tuple[UnheardReceipt, ...] = ()


class Unheard:
    """The unheard receipts of one register, as long as it is built."""

    log = Logger()

    def __init__(self, device_n: int, name: str, store: IStore, clock: ServiceClock) -> None:
        self._n, self._name, self._store, self._clock = device_n, name, store, clock
        self.receipts: list[UnheardReceipt] = []
        self._answers: list[_Answer] = []
        # The last document that this object knows of; what is later in the store was answered by nobody.
        self._last = 0
        self._mark: _Mark | None = None

    # What the store knows

    async def recall(self, state: RegisterState) -> None:
        """Learn from ``state``, which was just read: at the start, and after a write that was not confirmed."""
        if self._mark is None:
            kept = (await self._store.settings()).get(self._place)
            self._mark = _read(kept) if kept is not None else _Mark(0)
            known = self._mark.number == state.last.number
            self.receipts = list(self._mark.receipts if known else state.unheard)
            self._last = state.last.number if known else 0
        if state.last.number > self._last and state.last.kind in RECEIPTS:
            await self._recall_last(state.last.number)
        self._last = max(self._last, state.last.number)

    async def _recall_last(self, number: int) -> None:
        query = DocumentQuery(devices=[self._n], number=number, limit=1)
        for row in (await self._store.find_documents(query)).documents:
            document = documents.decode(row.value)
            # The kind of register tasks with a tag; `bookkeeping`, which names it, imports this module.
            operation = await self._store.find(self._n, "fiscal", document.caller.tag)
            fingerprint = operation.fingerprint if operation is not None else b""
            self.found(document, row.fiscal_number, fingerprint)

    async def remember(self, number: int) -> None:
        """Store the list before a stop after the document ``number``; not when the store has it already."""
        self.listen()
        mark = _Mark(number, self.stored())
        if mark != self._mark:
            await self._store.change_settings({self._place: _encode(mark)})
            self._mark = mark

    @property
    def _place(self) -> str:
        return f"unheard.{self._n}"

    def stored(self) -> tuple[UnheardReceipt, ...]:
        """What the register's state keeps with its next document: after a crash these may be unheard."""
        waiting = [_receipt_of(each) for each in self._answers if each.document is not None] if self._answers else ()
        return (*self.receipts, *waiting)[-MOST:] if waiting or self.receipts else ()

    # What becomes known

    def found(self, document: Document, fiscal_number: str, fingerprint: bytes) -> None:
        """A document exists that no caller was told of."""
        self._last = max(self._last, document.number)
        if document.kind in RECEIPTS and all(each.number != document.number for each in self.receipts):
            receipt = _receipt(document, fiscal_number, fingerprint)
            self.receipts = [*self.receipts, receipt][-MOST:]
            self.log.info("{device}: nobody heard of receipt {number}", device=self._name, number=document.number)

    def answered(
        self,
        told: Sequence[UnheardReceipt] = (),
        like: bytes = b"",
        document: Document | None = None,
        fiscal_number: str = "",
        fingerprint: bytes = b"",
        repeated: str = "",
    ) -> None:
        """An answer is on its way to the caller of the running task.

        :param told: what it warns of.
        :param like: the content of the task, when what has the same content is settled by it.
        :param document: the document that it reports.
        :param repeated: the tag whose stored answer it is.
        """
        if document is not None:
            self._last = document.number
            if document.kind not in RECEIPTS:
                document = None
        self._answers.append(_Answer(caller.get(), document, fiscal_number, fingerprint, told, like, repeated))

    def listen(self) -> None:
        """See which callers have received their answers; the next task begins with it."""
        answers, self._answers = self._answers, []
        for answer in answers:
            received = answer.caller()
            if received is None:
                self._answers.append(answer)
            elif received:
                if self.receipts:
                    self._settle(answer)
            elif answer.document is not None:
                self.found(answer.document, answer.fiscal_number, answer.fingerprint)
        if self.receipts:
            since = self._clock.now() - STILL_MS
            self.receipts = [each for each in self.receipts if not each.told_at or each.told_at > since]

    def _settle(self, answer: _Answer) -> None:
        """A caller received ``answer``: it knows of what that warned of, or repeated."""
        told = {each.number for each in answer.told}
        left = []
        for each in self.receipts:
            if each.tag == answer.repeated or (each.number in told and each.fingerprint == answer.like):
                continue
            if each.number in told and not each.told_at:
                each = msgspec.structs.replace(each, told_at=self._clock.now())
            left.append(each)
        self.receipts = left

    # What the next answers say

    def due(self, like: bytes = b"") -> list[UnheardReceipt]:
        """The receipts to warn of: those that no caller heard of yet, and those with the content ``like``."""
        if not self.receipts:
            return []
        return [each for each in self.receipts if not each.told_at or (like and each.fingerprint == like)]

    def content_of(self, tag: str) -> bytes:
        """The content of the receipt with that tag; empty when there is none."""
        return next((each.fingerprint for each in self.receipts if each.tag == tag), b"") if tag else b""

    def same(self, like: bytes, shift: int) -> UnheardReceipt | None:
        """The oldest receipt of this shift with the content ``like``."""
        return next((each for each in self.receipts if each.fingerprint == like and each.shift == shift), None)


def warning_of(receipt: UnheardReceipt, language: str, returned: bool = False) -> Warning:
    """The warning of an unheard receipt; ``returned``: the answer is that of this receipt."""
    sum_, at = f"{receipt.sum // 100}.{receipt.sum % 100:02d}", f"{kyiv(receipt.at):%d.%m.%Y %H:%M:%S}"
    words = (_RETURNED if returned else _EXISTS).for_language(language)
    words %= (receipt.fiscal_number, sum_, at, receipt.tag)
    return Warning.by(Refused(Res.MAY_BE_REPEAT, words), language)


_EXISTS = Text("чек %s на %s від %s, tag %s, уже є", "receipt %s for %s of %s, tag %s, exists")
_RETURNED = Text(
    "чек %s на %s від %s, tag %s, уже є, повернуто його відповідь, нового чека немає",
    "receipt %s for %s of %s, tag %s, exists, its answer is returned and nothing was sold",
)


def _receipt(document: Document, fiscal_number: str, fingerprint: bytes) -> UnheardReceipt:
    return UnheardReceipt(
        number=document.number,
        fiscal_number=fiscal_number,
        sum=document.sum,
        at=document.at,
        shift=document.shift,
        tag=document.caller.tag,
        fingerprint=fingerprint,
    )


def _receipt_of(answer: _Answer) -> UnheardReceipt:
    assert answer.document is not None
    return _receipt(answer.document, answer.fiscal_number, answer.fingerprint)


_encode = msgspec.json.Encoder().encode


def _read(kept: bytes) -> _Mark:
    try:
        return msgspec.json.decode(kept, type=_Mark)
    except msgspec.MsgspecError:
        return _Mark(0)
