"""From a request to the service of its kind: one task, one device, one turn, one answer."""

from __future__ import annotations

from uuid import uuid4

import msgspec
from twisted.internet.defer import Deferred, gatherResults
from twisted.logger import Logger

from dmtwisted import answers
from dmtwisted.clock import ServiceClock
from dmtwisted.devices.devices import Device, Devices
from dmtwisted.devices.drivers import REGISTER
from dmtwisted.receipts import list_receipts
from dmtwisted.registers.interface import TAGGED
from dmtwisted.requests import (
    TYPE_FISCAL,
    TYPE_LOOKUP,
    TaskRequest,
    echo_of,
    malformed,
    read_json,
    read_task,
)
from dmtwisted.results import Refused, Res
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import StoreFailed


class Dispatcher:
    """Runs tasks. Whatever happens on the way, the caller gets an answer in the one shape."""

    log = Logger()

    def __init__(self, devices: Devices, store: IStore, clock: ServiceClock) -> None:
        self._devices, self._store, self._clock = devices, store, clock
        self._running = 0
        self._stopping = False
        self._finishing: list[Deferred[None]] = []

    async def execute(self, body: bytes, language: str) -> bytes:
        """The answer to a request body, as JSON text; never raises."""
        started = self._clock.seconds()
        request: TaskRequest | None = None
        res = Res.OK.code
        try:
            request = _with_tag(read_task(read_json(body)))
            answer = await self._perform(request, language)
        except Exception as error:
            refused = self._refusal(error)
            request = request or echo_of(body)
            res = refused.res.code
            answer = answers.refusal(request, refused, language, self._clock.now())
        self.log.info(
            "{device} {type}/{task} tag={tag} res={res} {ms:.1f} ms",
            device=request.device,
            type=request.type,
            task=request.task,
            tag=request.tag,
            res=res,
            ms=(self._clock.seconds() - started) * 1000,
        )
        return answer

    async def finish(self) -> None:
        """Refuse new tasks from now on; return when the running ones have ended."""
        self._stopping = True
        if self._running:
            all_done: Deferred[None] = Deferred()
            self._finishing.append(all_done)
            await all_done

    async def resolve(self) -> None:
        """Ask once after every operation whose outcome is unknown, all devices at the same time."""
        await gatherResults(
            [Deferred.fromCoroutine(self._resolve(device)) for device in self._devices if device.kind == REGISTER]
        )

    async def _resolve(self, device: Device) -> None:
        try:
            async with device.turns.turn():
                await device.built.resolve()
        except (Refused, StoreFailed) as error:
            self.log.warn("{device}: still unknown: {why}", device=device.name, why=str(error))
        except Exception:
            self.log.failure("{device}: could not be resolved", device=device.name)

    async def _perform(self, request: TaskRequest, language: str) -> bytes:
        device = self._devices.by_name(request.device)
        _check_kind(device, request)
        if self._stopping:
            raise Refused(Res.DEVICE_BUSY)
        self._running += 1
        turns = device.turns
        try:
            await turns.take()
            try:
                # Who waited for its turn may have waited for a change: the device as it was is closed then.
                device = self._devices.by_id(device.row.dev_id)
                answer: bytes
                if request.fiscal is not None and request.fiscal.receipts is not None:
                    answer = await list_receipts(request, self._devices, self._store, self._clock.now())
                elif request.type == TYPE_LOOKUP:
                    answer = (await device.built.look_up(request)).answer
                else:
                    answer = (await device.built.perform(request, language)).answer
                return answer
            finally:
                turns.give_back()
        finally:
            self._running -= 1
            if self._finishing and not self._running:
                finishing, self._finishing = self._finishing, []
                for all_done in finishing:
                    all_done.callback(None)

    def _refusal(self, error: Exception) -> Refused:
        """What a caller hears of ``error``."""
        if isinstance(error, Refused):
            return error
        if isinstance(error, StoreFailed):
            self.log.error("the store failed: {why}", why=str(error))
            return Refused(Res.STORE_FAILED, note=str(error))
        self.log.failure("a fault of ours")
        return Refused(Res.INTERNAL, type(error).__name__)


def _with_tag(request: TaskRequest) -> TaskRequest:
    """``request`` with a tag of ours when its task is done once for a tag and it names none (http-api 0.3.16)."""
    if request.type == TYPE_FISCAL and not request.tag and request.task in TAGGED:
        return msgspec.structs.replace(request, tag=str(uuid4()))
    return request


def _check_kind(device: Device, request: TaskRequest) -> None:
    if device.kind != REGISTER:
        raise malformed("type", f"{device.name} is a {device.kind} and takes no such task")
    if request.type not in (TYPE_LOOKUP, TYPE_FISCAL):
        raise malformed("type", f"{device.name} is a register and takes 0 and 1")
