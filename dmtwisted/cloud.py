"""Requests as programs send them to a cloud cabinet: a token names the register.

Such a program works here with another address alone (docs/reference/http-interface.md#cloud-requests).
"""

from __future__ import annotations

import hmac
from contextlib import suppress
from typing import Any

import msgspec
from twisted.logger import Logger

from dmtwisted.answers import refusal, res_of
from dmtwisted.clock import ServiceClock
from dmtwisted.devices.devices import Devices, RegisterDevice, register_settings
from dmtwisted.dispatch import Dispatcher
from dmtwisted.registers.interface import OPEN_SHIFT, TAGGED, Z_REPORT
from dmtwisted.requests import BOM, LONG_BODY, TYPE_FISCAL, Members, echo_of, read_json
from dmtwisted.results import Refused, Res, Text

BEARER = "Bearer "
"""Some programs write it before the token, the cabinet's own do not."""

OPENS = TAGGED - {OPEN_SHIFT, Z_REPORT}
"""Tasks for which a cabinet opens the shift by itself."""

_NOBODY = Text(
    "жодна каса не має такого cloud_token у налаштуваннях", "no register has this cloud_token in its settings"
)


class _Token(msgspec.Struct):
    """What names the register."""

    token: Any = None


_token = msgspec.json.Decoder(_Token).decode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.encode


class CloudTasks:
    """Tasks of registers that have a `cloud_token`."""

    log = Logger()

    def __init__(self, devices: Devices, dispatcher: Dispatcher, clock: ServiceClock) -> None:
        self._devices, self._dispatcher, self._clock = devices, dispatcher, clock

    def register_of(self, authorization: str, body: bytes) -> RegisterDevice | None:
        """The register that a request names: by `token` in the body, else by its header `Authorization`."""
        try:
            # The rest is not decoded: whoever has no token has to cost little.
            token = Members({"token": _token(body.removeprefix(BOM)).token}, "").text("token")
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError, Refused):
            token = ""
        token = token or authorization.removeprefix(BEARER).strip()
        found = None
        if token:
            asked = token.encode("utf-8", "replace")
            # Each is compared, in constant time.
            for device in self._devices:
                known = register_settings(device).cloud_token
                if known and hmac.compare_digest(known.encode(), asked) and isinstance(device, RegisterDevice):
                    found = device
        return found

    async def execute(self, body: bytes, language: str, authorization: str) -> bytes:
        """The answer to a request body, as JSON text; never raises.

        The shift is opened first where the task needs it, as a cabinet does: that is a task of its own, so if the
        power fails after it, the repeat finds an open shift and does the task.
        """
        device = self.register_of(authorization, body)
        request, opening = body, None
        root: Members | None = None
        # The dispatcher says what is wrong with a body that cannot be read. A long one without a token is not read:
        # whoever has none has to cost little.
        with suppress(Refused):
            root = read_json(body if device is not None or len(body) <= LONG_BODY else b"")
            if _lacks_type(root):
                root.values["type"] = TYPE_FISCAL
            if device is not None:
                request, opening = _addressed(body, root, device.name), _opening(root, device.name)
        if device is None:
            self.log.warn("a cloud request is refused: no register has its token")
            refused, echo = Refused(Res.REGISTER_TOKEN_INVALID, _NOBODY), echo_of(b"", root)
            answer = refusal(echo, refused, language, self._clock.now())
            self._dispatcher.programs.ended(echo, False, refused.res.code, answer, {})
            return answer
        answer = await self._dispatcher.execute(request, language)
        if opening is None or res_of(answer) != Res.SHIFT_CLOSED.code:
            return answer
        opened = await self._dispatcher.execute(opening, language)
        if res_of(opened) not in (Res.OK.code, Res.SHIFT_ALREADY_OPEN.code):
            asked: dict[str, Any] = msgspec.json.decode(answer)
            return _encode({**msgspec.json.decode(opened), "tag": asked["tag"], "task": asked["task"]})
        return await self._dispatcher.execute(request, language)


def _addressed(body: bytes, root: Members, device: str) -> bytes:
    """``body`` for the register, without the token, and with the `type` of its ``root``."""
    members: dict[str, Any] = dict(_members(body.removeprefix(BOM)))
    members.pop("token", None)
    members["device"] = device
    if root.value("type") == TYPE_FISCAL:
        members["type"] = TYPE_FISCAL
    return _encode(members)


def _lacks_type(root: Members) -> bool:
    """Whether it is a task of a cabinet, which has no `type`."""
    return root.value("type") in (None, "") and bool(root.value("fiscal"))


def _opening(root: Members, device: str) -> bytes | None:
    """The task that opens the shift; `None` for a task for which no cabinet would."""
    try:
        fiscal = root.object("fiscal")
        if fiscal is None or fiscal.integer("task", -1) not in OPENS:
            return None
        task = {"task": OPEN_SHIFT, "cashier": fiscal.text("cashier")}
        return _encode({"device": device, "source": root.text("source"), "type": TYPE_FISCAL, "fiscal": task})
    except Refused:
        return None
