"""``/dm/api/v3/found`` and ``/dm/api/v3/search``: devices that can be added
(docs/reference/http-interface.md#devices).
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.finding.finder import Finder, Found
from dmtwisted.finding.search import Place, Search
from web.answers import json_answer
from web.management import answer_errors, lasting, read_object


class FoundHere(msgspec.Struct):
    """What is connected to the computer of the service."""

    found: list[Found]


class NewSearch(msgspec.Struct, forbid_unknown_fields=True):
    """What to look for: printers in the computer's own private networks, a terminal at the address `host`, or the
    protocol and speed of a hardware register.

    A register is at `serial_port`, or at `host` and `port`. `dev_id` is the device whose settings are being changed,
    which lets go of its line meanwhile.
    """

    what: Literal["printers", "terminals", "register"]
    host: Annotated[str, msgspec.Meta(max_length=45)] = ""
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0
    serial_port: Annotated[str, msgspec.Meta(max_length=200)] = ""
    dev_id: str = ""


class FindingApi:
    """Finds devices; nothing is stored."""

    app = Klein()
    answer_errors(app)

    def __init__(self, finder: Finder, default_language: str) -> None:
        self._finder, self._search, self.default_language = finder, Search(finder), default_language

    @app.route("/dm/api/v3/found", methods=["GET"])
    async def here(self, request: IRequest) -> bytes:
        """What is connected to this computer: serial ports, USB printers, print queues."""
        return json_answer(request, 200, FoundHere(await lasting(self._finder.here())))

    @app.route("/dm/api/v3/search", methods=["GET"])
    def search(self, request: IRequest) -> bytes:
        """The search that runs, or the last one."""
        return json_answer(request, 200, self._search.record)

    @app.route("/dm/api/v3/search", methods=["POST"])
    async def begin(self, request: IRequest) -> bytes:
        """Begin a search; 409 while one runs, or when another device has the line of a register."""
        asked = read_object(request, NewSearch)
        if asked.what == "printers":
            await lasting(self._search.printers())
        elif asked.what == "terminals":
            self._search.terminals(asked.host.strip())
        else:
            place = Place(asked.host.strip(), asked.port, asked.serial_port.strip())
            self._search.register(place, asked.dev_id)
        return json_answer(request, 202, self._search.record)

    @app.route("/dm/api/v3/search", methods=["DELETE"])
    def cancel(self, request: IRequest) -> bytes:
        """End the search; what was found stays."""
        self._search.cancel()
        return json_answer(request, 200, self._search.record)
