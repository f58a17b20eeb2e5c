"""``POST /dm/api/v3/check``: checks settings before anything is stored.

The device is built, checked without effect, and closed. It has no row in the store and no file, so nothing remains.
"""

from __future__ import annotations

from typing import Any

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.core import Core
from dmtwisted.results import Refused
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
        async with self._core.devices.on_trial(asked.kind, asked.driver, asked.settings) as built:
            await built.check()
