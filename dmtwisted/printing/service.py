"""The printing service: what truly happened to a job is told, and no job comes out twice.

The path of a job, and what happens if the power goes after each step:

1. the job is stored with all that it prints: after a restart it counts as unknown and is not sent again by itself,
   because some of it may be on paper;
2. it is delivered: as after step 1;
3. the verdict is stored, then told.

A job has a key. What was printed, or may have been, under a key is not printed under it again; a person who looked
at the paper asks for a reprint, which names the job that it replaces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal
from uuid import uuid4

import msgspec
from twisted.internet.defer import Deferred, DeferredLock, TimeoutError
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface.verify import verifyObject

from dmtwisted.answers import Answer, Warning, render
from dmtwisted.clock import ServiceClock, stamp17
from dmtwisted.printing.doccmd import parse_doccmd, read_doccmd, read_lines, write_doccmd
from dmtwisted.printing.interface import Delivering, IPrinterWay
from dmtwisted.printing.layout import commands
from dmtwisted.printing.letters import Letters
from dmtwisted.printing.model import Cut, Drawer, Element
from dmtwisted.printing.test_page import test_page
from dmtwisted.requests import TaskRequest, malformed
from dmtwisted.results import Refused, Res, Text
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import Intent, OperationQuery, OperationRow, State
from dmtwisted.store.values import Outcome as Ended
from protocols.errors import WireError
from protocols.printers.compose import Job as ComposedJob
from protocols.printers.verdict import Outcome, Verdict

KIND = "doc"
"""The kind of a printer's jobs in the journal."""

DELIVERY = 5.0
"""Seconds within which a job is delivered, or the caller hears why not (specification 8)."""

PRINT, REPRINT = 0, 1
"""``task`` of a job in the journal."""

TEST_PAGE, FINDER = 1, 2
"""Values of ``doc.test``: a page that shows what the printer can do; the code tables, to find the right number."""

Fate = Literal["printed", "accepted", "not_printed", "unknown"]


class Job(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the journal holds of a print job."""

    form: msgspec.Raw
    """The form in the document language; empty for a page of the printer's own."""
    paper: str = ""
    """The document of a register that it is the paper of."""
    replaces: int = 0
    """The job that this one was printed anew for."""
    fate: Fate | Literal[""] = ""
    reason: str = ""


_encode = msgspec.json.Encoder().encode
encode_job = msgspec.json.Encoder().encode
decode_job = msgspec.json.Decoder(Job).decode


class Told(msgspec.Struct, frozen=True):
    """What is known of a job after at most `DELIVERY` seconds."""

    n: int
    fate: Fate
    reason: str = ""
    unknown_letters: int = 0

    @property
    def on_paper(self) -> bool:
        """Whether the caller may count on the paper: it is out, or taken by a printer that does not tell."""
        return self.fate in ("printed", "accepted")

    def refused(self) -> Refused:
        """The same as an error."""
        if self.reason in ("unreachable", "silent", "cancelled"):
            return Refused(Res.PRINTER_CONNECT)
        if self.reason.startswith(UNKNOWN_QUEUE):
            return Refused(Res.INTERNAL, self.reason)
        return Refused(Res.DEVICE_ERROR, why(self.reason, "uk"))


UNKNOWN_QUEUE = "unknown queue"
"""How a reason begins when the system has no printer of this name (specification 7.4)."""

_WORDS = {
    "paper": Text("закінчився папір", "out of paper"),
    "cover": Text("відкрито кришку", "the cover is open"),
    "cutter": Text("заклинило ніж", "the cutter is jammed"),
    "mechanical": Text("збій механізму друку", "the printing mechanism failed"),
    "overheat": Text("перегрілася головка друку", "the print head is too hot"),
    "unrecoverable": Text("несправність, потрібен ремонт", "a fault that needs repair"),
    "offline": Text("пристрій не готовий до друку", "it is not ready to print"),
    "unreachable": Text("немає з’єднання", "it is not reached"),
    "silent": Text("пристрій не відповідає", "it does not answer"),
    "busy": Text("пристрій зайнятий іншим завданням", "it is busy with another job"),
    "lost": Text("обірвалося з’єднання посеред друку", "the line broke in the middle"),
    "noise": Text("відповіді не тією мовою", "it answers in another language"),
    "stalled": Text("пристрій перестав приймати дані", "it stopped taking data"),
    "unproven": Text("немає підтвердження друку", "it did not confirm the print"),
    "restart": Text("сервіс зупинився посеред друку", "the service ended in the middle of it"),
    "late": Text("друк не завершено за відведений час", "it was not done in time"),
    "again": Text("невідомо, чи надруковано минулого разу", "nobody knows whether it came out the last time"),
}


def why(reason: str, language: str) -> str:
    """A reason in words; one that has none is told as it is."""
    words = _WORDS.get(reason)
    return words.for_language(language) if words is not None else reason


class PrinterService:
    """One printer at work. Its caller holds the device's turn."""

    log = Logger()

    def __init__(
        self,
        device_n: int,
        name: str,
        store: IStore,
        way: IPrinterWay,
        clock: ServiceClock,
        *,
        time_to_live: float = 60.0,
        spare: str = "",
    ) -> None:
        verifyObject(IPrinterWay, way)
        self._n, self._name, self._store = device_n, name, store
        self._way, self._clock = way, clock
        self._time_to_live, self.spare = time_to_live, spare
        # The line is taken from the first byte of a job to its verdict, which may come after the answer.
        self._line = DeferredLock()
        self._under_way: Delivering | None = None

    # Tasks

    async def perform(self, request: TaskRequest, language: str) -> bytes:
        """Do a task of ``type`` 2 (http-api 4).

        :raises Refused: when it was not printed, or nobody knows.
        """
        told = await self._asked_for(request)
        if not told.on_paper:
            raise told.refused()
        return render(
            Answer(
                source=request.source,
                device=request.device,
                tag=request.tag,
                task_status=1,
                type=request.type,
                task=request.task,
                dt=stamp17(self._clock.now()),
                warnings=letters_warning(told, language),
                info={"isprint": 1, "state": told.fate, "job": told.n},
            )
        )

    async def print(self, elements: Sequence[Element], paper: str) -> Told:
        """Print ``elements``; the paper of a document is printed once, whoever asks for it.

        :param paper: what the paper is known by; empty when this is one of its own.
        """
        if paper:
            known = await self._store.latest(self._n, KIND, paper)
            if known is not None and known.state is not State.REFUSED:
                return self._known(known)
        job = Job(msgspec.Raw(_encode(write_doccmd(elements))), paper)
        return await self._begin(PRINT, paper or str(uuid4()), job, self._composed(elements))

    async def _asked_for(self, request: TaskRequest) -> Told:
        """Print what ``doc`` asks for: one of ``opendrawer``, ``test``, ``lines``, ``doccmd`` (design 10)."""
        doc = request.doc
        if doc is None:
            raise Refused(Res.MISSING_OBJECT, "doc")
        test = doc.integer("test")
        if doc.has("doccmd"):
            return await self.print(read_doccmd(doc.value("doccmd"), "doc.doccmd", self._way.dots), "")
        if doc.has("lines"):
            return await self.print([*read_lines(doc.value("lines"), "doc.lines"), Cut()], "")
        if test == TEST_PAGE:
            return await self.print(test_page(self._name, self._way.columns, self._clock.now()), "")
        if test == FINDER:
            return await self._begin(PRINT, str(uuid4()), Job(msgspec.Raw(b"[]")), self._way.finder())
        if doc.flag("opendrawer"):
            return await self.print([Drawer()], "")
        raise malformed("doc", "one of opendrawer, test (1: page, 2: code tables), lines, doccmd is expected")

    def _composed(self, elements: Sequence[Element]) -> ComposedJob:
        letters = Letters(self._way.page)
        composed = self._way.compose(commands(elements, self._way.columns, letters, self._way.dots))
        if letters.unknown:
            composed = replace(composed, unknown=(*composed.unknown, *("?" * letters.unknown)))
        return composed

    async def _begin(self, task: int, key: str, job: Job, composed: ComposedJob) -> Told:
        intent = Intent(self._n, KIND, task, key, b"", self._clock.now(), [], encode_job(job))
        reserved = await self._store.reserve(intent)
        return await self._deliver(reserved.n, job, composed)

    async def reprint(self, n: int) -> Told:
        """Print the job ``n`` anew, because a person says so; the new one names it.

        :raises Refused: 1058 when there is no such job of this printer.
        """
        row = await self._row(n)
        job = decode_job(row.request)
        fresh = msgspec.structs.replace(job, replaces=n, fate="", reason="")
        form = parse_doccmd(bytes(job.form), dots=self._way.dots)
        return await self._begin(REPRINT, row.key, fresh, self._composed(form))

    async def _row(self, n: int) -> OperationRow:
        found = await self._store.find_operations(OperationQuery(devices=[self._n], kinds=[KIND], n=n))
        if not found.operations:
            raise Refused(Res.TAG_NOT_FOUND)
        return found.operations[0]

    def _known(self, row: OperationRow) -> Told:
        """What became of a paper that was asked for before."""
        job = decode_job(row.request)
        if row.state is State.DONE:
            return Told(row.n, job.fate or "accepted")
        return Told(row.n, "unknown", "again")

    async def _deliver(self, n: int, job: Job, composed: ComposedJob) -> Told:
        deadline = self._clock.seconds() + DELIVERY
        try:
            await self._line.acquire().addTimeout(DELIVERY, self._clock)
        except TimeoutError:
            return await self._ended(n, job, Verdict(Outcome.NOT_PRINTED, "busy"), len(composed.unknown))
        under_way = self._under_way = self._way.deliver(composed)
        watching = _Watched(under_way)
        under_way.done.addCallback(watching.over)
        ending = Deferred.fromCoroutine(self._watch(n, job, watching))
        left = max(0.0, deadline - self._clock.seconds())
        await watching.either(left, self._clock)
        unknown = len(composed.unknown)
        if watching.verdict is None and not under_way.begun():
            # Nothing has left, so it can be given up without any doubt.
            watching.give_up()
        if watching.verdict is not None:
            await ending
            return Told(n, _fate(watching.verdict), watching.verdict.reason, unknown)
        ending.addErrback(self._not_stored)
        if watching.taken:
            # The proof may come yet; the row learns of it, the caller has been told what is certain.
            await self._note(n, msgspec.structs.replace(job, fate="accepted"), State.DONE)
            return Told(n, "accepted", "", unknown)
        await self._note(n, msgspec.structs.replace(job, fate="unknown", reason="late"), State.UNKNOWN)
        return Told(n, "unknown", "late", unknown)

    def _not_stored(self, failed: Failure) -> None:
        self.log.failure("{device}: the end of a job was not stored", failed, device=self._name)

    async def _watch(self, n: int, job: Job, watching: _Watched) -> None:
        """Wait for the verdict for the job's time to live, and store it."""
        give_up = self._clock.callLater(self._time_to_live, watching.give_up)
        try:
            verdict = await watching.ended
            if give_up.active():
                give_up.cancel()
            await self._ended(n, job, verdict, 0)
        finally:
            self._under_way = None
            self._line.release()

    async def _ended(self, n: int, job: Job, verdict: Verdict, unknown: int) -> Told:
        fate = _fate(verdict)
        done = msgspec.structs.replace(job, fate=fate, reason=verdict.reason)
        state = {"not_printed": State.REFUSED, "unknown": State.UNKNOWN}.get(fate, State.DONE)
        await self._note(n, done, state)
        if fate in ("not_printed", "unknown"):
            self.log.warn("{device}: job {n} {fate}: {why}", device=self._name, n=n, fate=fate, why=verdict.reason)
        return Told(n, fate, verdict.reason, unknown)

    async def _note(self, n: int, job: Job, state: State) -> None:
        await self._store.conclude(
            Ended(
                n=n,
                device_n=self._n,
                state=state,
                at=self._clock.now(),
                res=0 if state is State.DONE else Res.DEVICE_ERROR.code,
                answer=b"",
                fiscal_numbers={},
                register_state=None,
                request=encode_job(job),
            )
        )

    # What the rooms above ask

    async def resolve(self) -> None:
        """Jobs that a crash left open: nobody knows what of them is on paper, and they are not sent again."""
        for row in await self._store.unresolved(self._n):
            if row.state is State.INTENDED and self._under_way is None:
                job = msgspec.structs.replace(decode_job(row.request), fate="unknown", reason="restart")
                await self._note(row.n, job, State.UNKNOWN)

    async def look_up(self, request: TaskRequest) -> bytes:
        """Registers alone are looked up by tag (specification 4.3)."""
        raise malformed("type", f"{self._name} is a printer and takes 2")

    async def check(self) -> None:
        """Ask the printer how it is, without printing.

        :raises Refused: when it would not print.
        """
        try:
            status = await self._way.status()
        except WireError:
            raise Refused(Res.PRINTER_CONNECT) from None
        if status is not None and status.reason is not None:
            raise Refused(Res.DEVICE_ERROR, why(status.reason, "uk"))

    async def state(self) -> dict[str, object]:
        """How the printer stands, for people; nothing is asked of it for that."""
        known = await self._store.latest(self._n, KIND, "")
        if known is None:
            return {"last_job": None}
        job = decode_job(known.request)
        return {"last_job": {"id": known.n, "fate": job.fate or "unknown", "reason": job.reason}}

    def close(self) -> None:
        """Let go of the line."""
        self._way.close()


class _Watched:
    """A delivery that somebody may stop waiting for before it has ended."""

    def __init__(self, delivering: Delivering) -> None:
        self.taken = False
        self.verdict: Verdict | None = None
        self.ended: Deferred[Verdict] = Deferred()
        self._done = delivering.done
        self._waiter: Deferred[None] | None = None
        delivering.taken.addCallback(self._taken)

    def _taken(self, _: None) -> None:
        self.taken = True

    def over(self, verdict: Verdict) -> None:
        """The verdict is there."""
        self.verdict = verdict
        self.ended.callback(verdict)
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            waiter.callback(None)

    def give_up(self) -> None:
        """Nobody wants the job any more: it must not come out later by surprise."""
        self._done.cancel()

    async def either(self, seconds: float, clock: ServiceClock) -> None:
        """Return when the verdict is there, or after ``seconds``."""
        if self.verdict is not None:
            return
        waiter: Deferred[None] = Deferred()
        self._waiter = waiter
        call = clock.callLater(seconds, self._tired)
        await waiter
        if call.active():
            call.cancel()

    def _tired(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            waiter.callback(None)


def _fate(verdict: Verdict) -> Fate:
    return verdict.outcome.value


def letters_warning(told: Told, language: str) -> list[Warning]:
    """That some letters came out as question marks."""
    if not told.unknown_letters:
        return []
    text = Text(
        f"знаків, які пристрій не вміє друкувати: {told.unknown_letters}",
        f"letters that the device cannot print: {told.unknown_letters}",
    )
    return [Warning(Res.DEVICE_ERROR.code, text.for_language(language))]
