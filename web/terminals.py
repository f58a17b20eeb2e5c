"""What is asked of a terminal beside its tasks: six service methods, and the wish that an operation stops.

The service methods are ``GET`` with ``dev_name`` and answer in the shape of a task (http-api 3.4). None of them waits
for a task or answers 1105 (specification 1.9): what needs a terminal that is at work says 5022 at once.
"""

from __future__ import annotations

from typing import Any

from klein import Klein
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.iweb import IRequest
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request

from dmtwisted.answers import EXECUTED, Answer, refusal, render
from dmtwisted.clock import ServiceClock, stamp17
from dmtwisted.devices.devices import Device, Devices
from dmtwisted.devices.drivers import TERMINAL
from dmtwisted.requests import TYPE_PAY, PayTask, TaskRequest
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import StoreFailed
from dmtwisted.terminals.interface import ECHO, MASKS, MERCHANTS, PING
from dmtwisted.terminals.service import TerminalService
from web.answers import JSON, Done, allow_any_origin, json_answer, language_of, not_allowed
from web.management import answer_errors, lasting

STATUS, LAST = "status", "last"
"""The service methods that ask no terminal."""

PATHS = {
    b"/dm/bankping": PING,
    b"/dm/getmerchantlist": MERCHANTS,
    b"/dm/getmasklist": MASKS,
    # The interface has been described with both spellings.
    b"/dm/getgetmasklist": MASKS,
    b"/dm/bankecho": ECHO,
    b"/dm/transaction-status": STATUS,
    b"/dm/lasttransaction": LAST,
}
"""Where each service method is."""

NO_TASK = 0
"""``task`` of answers to service methods, which have no number."""


class ServiceMethod(Resource):
    """One service method for all terminals."""

    isLeaf = True
    log = Logger()

    def __init__(self, name: str, devices: Devices, clock: ServiceClock, default_language: str) -> None:
        super().__init__()
        self._name, self._devices, self._clock = name, devices, clock
        self._default_language = default_language

    def render(self, request: Request) -> int | bytes:
        """Ask, answer a browser's pre-flight, or refuse a method that is not there."""
        allow_any_origin(request)
        if request.method == b"OPTIONS":
            request.responseHeaders.setRawHeaders(b"access-control-allow-methods", [b"GET, OPTIONS"])
            request.setResponseCode(204)
            return b""
        if request.method not in (b"GET", b"HEAD"):
            return not_allowed(request, b"GET, OPTIONS", self._default_language)
        name = request.args.get(b"dev_name", [b""])[-1].decode("utf-8", "replace")
        language = language_of(request, self._default_language)
        # Asking goes on when its caller hangs up: the terminal is in the middle of something then.
        Deferred.fromCoroutine(self.answer(name, language)).addCallback(_send, request).addErrback(_broken, request)
        return NOT_DONE_YET

    async def answer(self, name: str, language: str) -> bytes:
        """The answer for the terminal ``name``, as JSON text; never raises."""
        try:
            return await self._ask(name)
        except Refused as error:
            refused = error
        except StoreFailed as error:
            refused = Refused(Res.STORE_FAILED, note=str(error))
        except Exception as error:
            self.log.failure("a fault of ours in {method}", method=self._name)
            refused = Refused(Res.INTERNAL, type(error).__name__)
        asked = TaskRequest(device=name, type=TYPE_PAY, tag="", source="", pay=PayTask(task=NO_TASK))
        return refusal(asked, refused, language, self._clock.now())

    async def _ask(self, name: str) -> bytes:
        device = self._devices.by_name(name)
        terminal = await terminal_of(device)
        if self._name == STATUS:
            return self._told(device, terminal.status())
        if self._name == LAST:
            return await self._last(device)
        if not terminal.has(self._name):
            # It says so itself, busy or not.
            return self._told(device, await terminal.serve(self._name))
        if device.turns.busy:
            raise Refused(Res.TERMINAL_BUSY)
        async with device.turns.owned():
            return self._told(device, await (await self._again(device)).serve(self._name))

    async def _last(self, device: Device) -> bytes:
        """The last operation; one whose end is unknown is asked after first, unless another one is on its way."""
        if not (await self._again(device)).at_work:
            async with device.turns.owned():
                try:
                    await (await self._again(device)).resolve()
                except Refused as refused:
                    self.log.info("{device}: {why}", device=device.name, why=str(refused))
        return await (await self._again(device)).last()

    async def _again(self, device: Device) -> TerminalService:
        """The terminal as it is now: it may have been changed in the meantime."""
        return await terminal_of(self._devices.by_id(device.row.dev_id))

    def _told(self, device: Device, info: dict[str, object]) -> bytes:
        dt = stamp17(self._clock.now())
        return render(Answer(device=device.name, task_status=EXECUTED, type=TYPE_PAY, task=NO_TASK, dt=dt, info=info))


async def terminal_of(device: Device) -> TerminalService:
    """The service of a terminal.

    :raises Refused: 303 when it is another kind of device, 430 when it cannot be used.
    """
    if device.kind != TERMINAL:
        raise Refused(Res.UNKNOWN_TERMINAL_PROTOCOL, device.row.driver, device.name)
    built: Any = device.built
    if not isinstance(built, TerminalService):
        # What stands in for a device that cannot be built says why.
        await built.check()
        raise Refused(Res.DEVICE_ERROR, device.name)
    return built


def _send(answer: bytes, request: Request) -> None:
    if request.channel is None:
        return
    request.responseHeaders.setRawHeaders(b"content-type", JSON)
    request.responseHeaders.setRawHeaders(b"content-length", [b"%d" % len(answer)])
    if request.method != b"HEAD":
        request.write(answer)
    request.finish()


def _broken(reason: Failure, request: Request) -> None:
    ServiceMethod.log.failure("a service method could not be answered", reason)
    if request.channel is not None:
        request.setResponseCode(500)
        request.finish()


class Interrupted(Done, kw_only=True):
    """The wish was passed on; what the terminal does."""

    state: str


class InterruptApi:
    """``POST /dm/api/v3/devices/{dev_id}/interrupt``: the wish that the running operation stops (design 10)."""

    app = Klein()
    answer_errors(app)

    def __init__(self, devices: Devices, default_language: str) -> None:
        self._devices, self.default_language = devices, default_language

    @app.route("/dm/api/v3/devices/<dev_id>/interrupt", methods=["POST"])
    async def interrupt(self, request: IRequest, dev_id: str) -> bytes:
        """Pass the wish on; the operation's own answer tells what came of it (terminals.md 3, rule 8)."""
        device = self._devices.by_id(dev_id)
        if device.kind != TERMINAL:
            raise Refused(Res.UNKNOWN_DEVICE, note="only terminals have operations to interrupt")
        terminal = await terminal_of(device)
        await lasting(terminal.interrupt())
        return json_answer(request, 200, Interrupted(state=terminal.progress.state))
