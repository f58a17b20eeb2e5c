"""The way of a task: the request, its device, its turn, its answer."""

from __future__ import annotations

from uuid import uuid4

import msgspec
from twisted.internet.defer import Deferred, gatherResults
from twisted.logger import Logger

from dmtwisted import answers, print_forms
from dmtwisted.batch.service import Batch
from dmtwisted.clock import ServiceClock
from dmtwisted.crash_points import reached
from dmtwisted.devices.devices import Device, Devices, kind_name
from dmtwisted.devices.driver import OTHER, PRINTER, REGISTER, TERMINAL
from dmtwisted.events import Events
from dmtwisted.papers import Papers
from dmtwisted.plain_sales import plain_sale
from dmtwisted.programs import Programs
from dmtwisted.receipts import list_receipts
from dmtwisted.registers.interface import PRINTED, TAGGED, AsksMeanwhile, Done
from dmtwisted.requests import (
    TYPE_DOC,
    TYPE_FISCAL,
    TYPE_LOOKUP,
    TYPE_PAY,
    Members,
    TaskRequest,
    echo_of,
    malformed,
    read_json,
    read_task,
)
from dmtwisted.results import Refused, Res, Text, joined, one_of
from dmtwisted.service_settings import ServiceSettings
from dmtwisted.store.claims import ClaimedElsewhere
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import StoreFailed
from dmtwisted.system.crew import CrewFailed
from dmtwisted.system.logs import Sentence
from dmtwisted.tally import Tally
from dmtwisted.terminals.interface import LABELLED
from dmtwisted.terminals.orders import label_of
from dmtwisted.wording import wording


class Dispatcher:
    """Runs tasks. Every task gets an answer of the same structure, whatever happens."""

    log = Logger()

    def __init__(
        self,
        devices: Devices,
        store: IStore,
        clock: ServiceClock,
        settings: ServiceSettings | None = None,
        training: bool = False,
    ) -> None:
        self._devices, self._store, self._clock = devices, store, clock
        self.events, self.tally = Events(clock), Tally()
        self.programs = Programs(store, clock, settings, training)
        self.papers = Papers(devices)
        self.batch = Batch(devices, store, clock, self.papers, self.events.publish)
        devices.sharing.taken.append(self._resolve_papers)
        self._tell = Sentence(self.log, "{device} {type}/{task} tag={tag} res={res} {ms:.1f} ms")
        self._running = 0
        self._stopping = False
        self._finishing: list[Deferred[None]] = []

    async def execute(self, body: bytes, language: str, printer: str = "", batch: bool = False) -> bytes:
        """The answer to a request body, as JSON text; never raises.

        :param printer: the name of the printer for the paper of a register's task; empty prints nothing.
        :param batch: whether the request is one of batch mode.
        """
        started = self._clock.steady()
        root: Members | None = None
        request: TaskRequest | None = None
        res = Res.OK.code
        try:
            request = plain_sale(body)
            if request is None:
                root = read_json(body)
                request = read_task(root, batch)
            request = _with_tag(request)
            if self.events.watched:
                self.events.begun(request)
            answer = answers.from_source(await self._perform(request, body, language, printer, batch), request.source)
            res = answers.res_of(answer)
            reached("task.before-answer")
        except Exception as error:
            refused = self._refusal(error)
            request = request or echo_of(body, root)
            res = refused.res.code
            answer = answers.refusal(request, refused, language, self._clock.now())
            if request.type == TYPE_PAY and request.pay is not None and request.pay.task in LABELLED:
                answer = answers.with_member(answer, "transaction_id", label_of(request.transaction_id))
        strays = {} if root is None else root.strays
        if strays:
            answer = answers.warned(answer, self.programs.warnings(strays, language))
        if self.events.watched:
            self.events.ended(request, answer)
        self.programs.ended(request, batch, res, answer, strays)
        took = self._clock.steady() - started
        task = request.task
        self.tally.ended(request.type, batch, task, res, took)
        self._tell(device=request.device, type=request.type, task=task, tag=request.tag, res=res, ms=took * 1000)
        return answer

    async def finish(self) -> None:
        """Refuse new tasks, and return when the running ones have ended."""
        self._stopping = True
        for device in self._devices:
            if isinstance(device.built, AsksMeanwhile):
                device.built.stop_asking()
        if self._running:
            all_done: Deferred[None] = Deferred()
            self._finishing.append(all_done)
            await all_done

    async def resolve(self) -> None:
        """Query every operation whose outcome is unknown once, all devices at the same time."""
        await gatherResults(
            [Deferred.fromCoroutine(self._resolve(device)) for device in self._devices if device.kind != OTHER]
        )
        await self.batch.resume()

    async def _resolve(self, device: Device) -> None:
        try:
            async with device.turns.turn():
                if await self._devices.sharing.resume(device.row.n):
                    await device.built.resolve()
        except (Refused, StoreFailed) as error:
            self.log.warn("{device}: still unknown: {why}", device=device.name, why=str(error))
        except Exception:
            self.log.failure("{device}: could not be resolved", device=device.name)

    async def _resolve_papers(self, printer_n: int) -> None:
        """Close the jobs that another service left open on a printer as unknown.

        Registers and terminals query theirs before their next task.
        """
        for device in self._devices:
            if device.row.n == printer_n and device.kind == PRINTER:
                await device.built.resolve()

    async def _perform(self, request: TaskRequest, body: bytes, language: str, printer: str, batch: bool) -> bytes:
        if self._store.damage and not (request.type == TYPE_LOOKUP or _lists(request)):
            raise StoreFailed(self._store.damage)
        if self._stopping and not list(self._devices):
            # They are closed, but connections stay open until the process ends: a repeat after the restart is right.
            raise Refused(Res.DEVICE_BUSY)
        device = self._by_name(request)
        if request.type not in TYPES[device.kind]:
            raise malformed("type", _takes(device))
        if self._stopping:
            raise Refused(Res.DEVICE_BUSY)
        self._running += 1
        try:
            if batch and not _lists(request):
                return await self.batch.execute(request, body, language)
            done = await self._in_turn(device, request, language)
            if device.kind == REGISTER:
                answer = self.batch.warn(device.row.n, done.answer, language)
                done = done if answer is done.answer else done._replace(answer=answer)
            if printer and done.form is not None and request.type == TYPE_FISCAL and request.task in PRINTED:
                return await self.papers.print(done, printer, language)
            return done.answer
        finally:
            self._running -= 1
            if self._finishing and not self._running:
                finishing, self._finishing = self._finishing, []
                for all_done in finishing:
                    all_done.callback(None)

    def _by_name(self, request: TaskRequest) -> Device:
        """The device of a request; with a damaged database an unknown name is a failure of the store."""
        try:
            return self._devices.by_name(request.device)
        except Refused:
            if self._store.damage:
                raise StoreFailed(self._store.damage) from None
            raise self._devices.unknown(request.device, _KIND_OF_TYPE[request.type]) from None

    async def _in_turn(self, device: Device, request: TaskRequest, language: str) -> Done:
        turns = device.turns
        until = turns.deadline() if turns.taken or device.kind == PRINTER else None
        if turns.taken:
            asked = self._clock.steady()
            await turns.take(until)
            self.tally.turn(device.kind, self._clock.steady() - asked)
        else:
            await turns.take(until)
            self.tally.turn(device.kind, 0.0)
        try:
            # The device may have been changed during the wait; what was built before is closed then.
            device = self._devices.by_id(device.row.dev_id)
            if _lists(request):
                return Done(await list_receipts(request, self._devices, self._store, self._clock.now()))
            if device.kind == PRINTER:
                return Done(await device.built.perform(request, language, until))
            if device.kind != REGISTER:
                return Done(await device.built.perform(request, language))
            if self.batch.concerns(device.row.n, request.tag):
                carried = await self.batch.carry_on(device, request, language)
                if carried is not None:
                    return carried
            do = print_forms.look_up if request.type == TYPE_LOOKUP else print_forms.perform
            return await do(device, request, language, self._clock)
        finally:
            turns.give_back()

    def _refusal(self, error: Exception) -> Refused:
        """``error`` as the caller gets it."""
        if isinstance(error, Refused):
            return error
        if isinstance(error, ClaimedElsewhere):
            return Refused(Res.DEVICE_BUSY)
        if isinstance(error, StoreFailed):
            self.log.error("the store failed: {why}", why=str(error))
            return Refused(Res.STORE_FAILED, note=wording(error))
        if isinstance(error, CrewFailed):
            return Refused(Res.DEVICE_ERROR, wording(error))
        self.log.failure("an internal error")
        return Refused(Res.INTERNAL, type(error).__name__)


def _with_tag(request: TaskRequest) -> TaskRequest:
    """``request`` with a generated tag when its task needs a tag and it has none."""
    if request.type == TYPE_FISCAL and not request.tag and request.task in TAGGED:
        return msgspec.structs.replace(request, tag=str(uuid4()), untagged=True)
    return request


def _lists(request: TaskRequest) -> bool:
    """Whether ``request`` asks for the list of receipts, whatever task it names beside that."""
    return request.fiscal is not None and request.fiscal.receipts is not None


def _takes(device: Device) -> Text:
    """Why a device does not take a task of this type, and of which it does."""
    kind, types = kind_name(device.kind), sorted(TYPES[device.kind])
    return joined(
        Text(f"«{device.name}» це {kind.uk}", f'"{device.name}" is a {kind.en}'),
        one_of(*types) if types else Text("завдань не виконує", "it takes no task"),
        separator=", ",
    )


_KIND_OF_TYPE = {TYPE_LOOKUP: REGISTER, TYPE_FISCAL: REGISTER, TYPE_DOC: PRINTER, TYPE_PAY: TERMINAL}

TYPES = {REGISTER: (TYPE_FISCAL, TYPE_LOOKUP), PRINTER: (TYPE_DOC,), TERMINAL: (TYPE_PAY,), OTHER: ()}
"""The values of ``type`` that each kind of device accepts."""
