"""What a terminal does beside its tasks: six service methods.

They are ``GET`` with ``dev_name`` and answer in the shape of a task
(docs/reference/http-interface.md#service-methods). None of them waits for a task or answers 1105
(specification 1.9): a method that needs a busy terminal answers 5022 at once.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.web.resource import Resource
from twisted.web.server import Request

from dmtwisted.answers import EXECUTED, Answer, refusal, render
from dmtwisted.clock import ServiceClock, stamp17
from dmtwisted.devices.devices import Device, Devices, TerminalDevice, usable
from dmtwisted.devices.driver import TERMINAL
from dmtwisted.requests import TYPE_PAY, PayTask, TaskRequest
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import StoreFailed
from dmtwisted.terminals.answers import no_protocol
from dmtwisted.terminals.interface import ECHO, MASKS, MERCHANTS, PING
from dmtwisted.terminals.service import TerminalService
from dmtwisted.wording import wording
from web.answers import JSON, allow_any_origin, answer_later, language_of, not_allowed

STATUS, LAST = "status", "last"
"""The service methods that send nothing to a terminal."""

PATHS = {
    b"/dm/bankping": PING,
    b"/dm/getmerchantlist": MERCHANTS,
    b"/dm/getmasklist": MASKS,
    # Descriptions of the interface have both spellings.
    b"/dm/getgetmasklist": MASKS,
    b"/dm/bankecho": ECHO,
    b"/dm/transaction-status": STATUS,
    b"/dm/lasttransaction": LAST,
}
"""The service method of each path."""

NO_TASK = 0
"""``task`` in answers to service methods."""


class ServiceMethod(Resource):
    """One service method for all terminals."""

    isLeaf = True
    log = Logger()

    def __init__(self, name: str, devices: Devices, clock: ServiceClock, default_language: str) -> None:
        super().__init__()
        self._name, self._devices, self._clock = name, devices, clock
        self._default_language = default_language

    def render(self, request: Request) -> int | bytes:
        """Call the method, answer a preflight of a browser, or refuse another HTTP method."""
        allow_any_origin(request)
        if request.method == b"OPTIONS":
            request.responseHeaders.setRawHeaders(b"access-control-allow-methods", [b"GET, OPTIONS"])
            request.setResponseCode(204)
            return b""
        if request.method not in (b"GET", b"HEAD"):
            return not_allowed(request, b"GET, OPTIONS", self._default_language)
        name = request.args.get(b"dev_name", [b""])[-1].decode("utf-8", "replace")
        language = language_of(request, self._default_language)
        # It goes on when the client disconnects, because the terminal is then in the middle of something.
        return answer_later(request, Deferred.fromCoroutine(self.answer(name, language)), {b"content-type": JSON})

    async def answer(self, name: str, language: str) -> bytes:
        """The answer for the terminal ``name``, as JSON text; never raises."""
        try:
            return await self._ask(name)
        except Refused as error:
            refused = Refused(Res.TERMINAL_BUSY) if error.res is Res.DEVICE_BUSY else error
        except StoreFailed as error:
            refused = Refused(Res.STORE_FAILED, note=wording(error))
        except Exception as error:
            self.log.failure("internal error in {method}", method=self._name)
            refused = Refused(Res.INTERNAL, type(error).__name__)
        asked = TaskRequest(device=name, type=TYPE_PAY, tag="", source="", pay=PayTask(task=NO_TASK))
        return refusal(asked, refused, language, self._clock.now())

    async def _ask(self, name: str) -> bytes:
        try:
            device = self._devices.by_name(name)
        except Refused:
            raise Refused(Res.UNKNOWN_TERMINAL_PROTOCOL, note=no_protocol(name)) from None
        terminal = terminal_of(device)
        if self._name == STATUS:
            return self._answer(device, terminal.status())
        if self._name == LAST:
            return await self._last(device)
        if not terminal.has(self._name):
            # The terminal refuses it, busy or not.
            return self._answer(device, await terminal.serve(self._name))
        if device.turns.busy:
            raise Refused(Res.TERMINAL_BUSY)
        async with device.turns.owned():
            return self._answer(device, await self._again(device).serve(self._name))

    async def _last(self, device: Device) -> bytes:
        """The last operation. If its outcome is unknown, the terminal is queried first, unless it is busy."""
        if not self._again(device).at_work:
            async with device.turns.owned():
                try:
                    await self._again(device).resolve()
                except Refused as refused:
                    self.log.info("{device}: {why}", device=device.name, why=str(refused))
        return await self._again(device).last()

    def _again(self, device: Device) -> TerminalService:
        """The terminal as it is now: it may have been changed in the meantime."""
        return terminal_of(self._devices.by_id(device.row.dev_id))

    def _answer(self, device: Device, info: dict[str, object]) -> bytes:
        dt = stamp17(self._clock.now())
        return render(Answer(device=device.name, task_status=EXECUTED, type=TYPE_PAY, task=NO_TASK, dt=dt, info=info))


def terminal_of(device: Device) -> TerminalService:
    """The service of a terminal.

    :raises Refused: 303 when it is another kind of device, 430 when it cannot be used.
    """
    if device.kind != TERMINAL:
        raise Refused(Res.UNKNOWN_TERMINAL_PROTOCOL, note=no_protocol(device.name, device.row.driver))
    return usable(device, TerminalDevice).built
