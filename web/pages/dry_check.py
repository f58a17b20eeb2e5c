"""``POST /dm/api/v3/check``: checks settings before anything is stored.

The device is built, checked without effect, and closed. It has no row in the store and no file, so nothing remains.
"""

from __future__ import annotations

from typing import Any

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.core import Core
from dmtwisted.devices.driver import KINDS, BadSettings, Surroundings
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import DeviceRow
from web.answers import Done, json_answer, language_of, refused_in_body
from web.management import answer_errors, lasting, read_object


class NotYet(msgspec.Struct, forbid_unknown_fields=True):
    """A device that is not stored yet."""

    kind: str
    driver: str
    device: str = ""
    settings: dict[str, Any] = {}


class DryCheck:
    """Checks devices that do not exist yet."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, default_language: str) -> None:
        self._core, self.default_language = core, default_language
        self._around = Surroundings(core.reactor, core.clock, core.store, None)

    @app.route("/dm/api/v3/check", methods=["POST"])
    async def check(self, request: IRequest) -> bytes:
        """Check settings without effect; HTTP 200 also when it does not work: see `res`; 422 when they do not fit."""
        asked = read_object(request, NotYet)
        language = language_of(request, self.default_language)
        try:
            await lasting(self._tried(asked))
        except Refused as refused:
            return json_answer(request, 200, refused_in_body(refused, language))
        return json_answer(request, 200, Done())

    async def _tried(self, asked: NotYet) -> None:
        if asked.kind not in KINDS:
            raise BadSettings("kind", f"one of {', '.join(KINDS)} is expected")
        driver = self._core.devices.drivers.get((asked.kind, asked.driver))
        if driver is None:
            raise BadSettings("driver", f"there is no such driver for a {asked.kind}")
        settings = await self._core.devices.with_files(driver, driver.read(asked.settings))
        # No device has this number, so the store has nothing for it.
        row = DeviceRow(0, "", asked.device, asked.kind, asked.driver, msgspec.json.encode(asked.settings))
        try:
            built = driver.build(row, settings, self._around)
        except Exception as error:
            raise Refused(Res.DEVICE_ERROR, f"{type(error).__name__}: {error}") from error
        try:
            await built.check()
        finally:
            built.close()
