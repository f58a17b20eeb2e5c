"""Services that are broken on purpose: each shows that the judge of a shop day finds what it is there for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import msgspec
from twisted.internet.defer import Deferred
from twisted.python.monkey import MonkeyPatcher

from dmtwisted import dispatch
from dmtwisted.batch.saga import Sagas
from dmtwisted.hooks.lanes import Lane
from dmtwisted.printing.jobs import Jobs
from dmtwisted.registers import totals
from dmtwisted.registers.bookkeeping import Books
from dmtwisted.registers.channels.interface import Absent, Unknown
from dmtwisted.store.events import CODES
from dmtwisted.store.sqlite import statements
from dmtwisted.store.values import State
from dmtwisted.terminals.interface import NeverStarted, Undecided
from dmtwisted.terminals.recovery import Recovery
from tests.simulated_days.devices import Channel

Break = Callable[[MonkeyPatcher], None]


def sends_before_the_intent(patch: MonkeyPatcher) -> None:
    """A document is sent, and only then its intent is stored."""
    right = Books.fiscalise

    async def fiscalise(books: Books, submissions: Any, *more: Any, **named: Any) -> Any:
        if not submissions[0].stays_here:
            await books.channel.submit(submissions[0].document, submissions[0].sent)
        return await right(books, submissions, *more, **named)

    patch.addPatch(Books, "fiscalise", fiscalise)


def answers_before_the_outcome(patch: MonkeyPatcher) -> None:
    """A till is answered while the outcome of its document is still on the way to the store."""

    async def complete(books: Books, n: int, submissions: Any, warnings: Any) -> bytes:
        after = books._after_all(n, submissions, warnings)
        books.clock.callLater(0.05, lambda: Deferred.fromCoroutine(books.store.conclude(after.outcome)))
        return await books._completed(submissions[0].document, after)

    patch.addPatch(Books, "_complete", complete)


def voids_what_is_unknown(patch: MonkeyPatcher) -> None:
    """A tax service that does not answer is taken for one that never got the document."""
    right = Channel.probe

    async def probe(channel: Channel, number: int, sent: bytes) -> Any:
        found = await right(channel, number, sent)
        return Absent() if isinstance(found, Unknown) else found

    patch.addPatch(Channel, "probe", probe)


def forgets_the_void(patch: MonkeyPatcher) -> None:
    """That a document never arrived is not stored."""

    async def void(books: Books, n: int, document: Any, res: Any = None) -> None:
        return None

    patch.addPatch(Books, "void", void)


def reuses_a_number(patch: MonkeyPatcher) -> None:
    """After cash was put in, the next document gets the same number."""
    right = totals.apply

    def apply(state: totals.RegisterState, document: Any, *more: Any) -> None:
        right(state, document, *more)
        if document.kind == "cash_in":
            state.next_number -= 1

    patch.addPatch(totals, "apply", apply)


def forgets_returns_in_the_drawer(patch: MonkeyPatcher) -> None:
    """Cash that goes back to a customer stays in the drawer."""
    right = totals._count

    def count(state: totals.RegisterState, kind: str, document: Any, sign: int) -> None:
        before = state.safe
        right(state, kind, document, sign)
        if kind == "return":
            state.safe = before

    patch.addPatch(totals, "_count", count)


def sells_again_under_a_repeated_tag(patch: MonkeyPatcher) -> None:
    """The tag of a till is not looked at: each request is a new one."""
    right = dispatch._with_tag

    def with_tag(request: Any) -> Any:
        request = right(request)
        fresh = request.type == 1 and request.fiscal is not None and request.fiscal.task == 1
        return msgspec.structs.replace(request, tag=str(uuid4())) if fresh else request

    patch.addPatch(dispatch, "_with_tag", with_tag)


def pays_again_after_a_lost_answer(patch: MonkeyPatcher) -> None:
    """A payment whose answer was lost is sent to the terminal once more."""

    async def ask(recovery: Recovery, operation: Any, patience: float, persistence: float) -> Any:
        record = operation.record

        async def keep(verdict: Any) -> None:
            return None

        return await recovery._driver.perform(record.order, record.snapshot, keep)

    patch.addPatch(Recovery, "_ask", ask)


def refuses_what_is_unknown(patch: MonkeyPatcher) -> None:
    """A terminal whose answer proves nothing is taken for one that never got the payment."""
    right = Recovery._ask

    async def ask(recovery: Recovery, *more: Any) -> Any:
        found = await right(recovery, *more)
        return NeverStarted() if isinstance(found, Undecided) else found

    patch.addPatch(Recovery, "_ask", ask)


def forgets_open_sagas(patch: MonkeyPatcher) -> None:
    """After a start nobody knows which batches are open."""

    async def load(sagas: Sagas) -> None:
        sagas._loaded = True

    patch.addPatch(Sagas, "load", load)


def prints_again(patch: MonkeyPatcher) -> None:
    """The paper of a repeat is printed, whatever became of the first one."""

    async def known(jobs: Jobs, paper: str, elsewhere: Any = ()) -> None:
        return None

    patch.addPatch(Jobs, "known", known)


def seals_a_refusal_without_its_event(patch: MonkeyPatcher) -> None:
    """Refusals are no events any more."""
    patch.addPatch(statements, "CODES", {**CODES, State.REFUSED: 0})


def leaves_out_an_event(patch: MonkeyPatcher) -> None:
    """Every twentieth event is noted as told, and was not."""
    right, count = Lane._one, [0]

    async def one(lane: Lane, message: Any) -> Any:
        count[0] += 1
        if count[0] % 20:
            return await right(lane, message)
        return await lane._keep(msgspec.structs.replace(lane.cursor, told=message.place), message)

    patch.addPatch(Lane, "_one", one)


BROKEN: dict[str, Break] = {
    each.__name__.replace("_", " "): each
    for each in (
        sends_before_the_intent,
        answers_before_the_outcome,
        voids_what_is_unknown,
        forgets_the_void,
        reuses_a_number,
        forgets_returns_in_the_drawer,
        sells_again_under_a_repeated_tag,
        pays_again_after_a_lost_answer,
        refuses_what_is_unknown,
        forgets_open_sagas,
        prints_again,
        seals_a_refusal_without_its_event,
        leaves_out_an_event,
    )
}
"""Each by what it does."""


@contextmanager
def broken(name: str) -> Iterator[None]:
    """A service with that fault."""
    patch = MonkeyPatcher()
    BROKEN[name](patch)
    patch.patch()
    try:
        yield
    finally:
        patch.restore()
