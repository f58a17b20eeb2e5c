"""The interruption of an operation of a terminal."""

from __future__ import annotations

from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.devices.devices import Devices
from dmtwisted.devices.driver import TERMINAL
from dmtwisted.results import Refused, Res
from dmtwisted.wording import wording
from web.answers import Done, json_answer
from web.management import answer_errors, lasting
from web.terminals import terminal_of


class Interrupted(Done, kw_only=True):
    """The order was passed on; `state` is what the terminal does now."""

    state: str


class InterruptApi:
    """The interruption of a running operation (docs/reference/http-interface.md#interrupt-and-settle)."""

    app = Klein()
    answer_errors(app)

    def __init__(self, devices: Devices, default_language: str) -> None:
        self._devices, self.default_language = devices, default_language

    @app.route("/dm/api/v3/devices/<dev_id>/interrupt", methods=["POST"])
    async def interrupt(self, request: IRequest, dev_id: str) -> bytes:
        """Ask the terminal to stop; the answer of the operation itself says what came of it."""
        device = self._devices.by_id(dev_id)
        if device.kind != TERMINAL:
            raise Refused(Res.UNKNOWN_DEVICE, note=wording("only terminals have operations to interrupt"))
        terminal = terminal_of(device)
        await lasting(terminal.interrupt())
        return json_answer(request, 200, Interrupted(state=terminal.progress.state))
