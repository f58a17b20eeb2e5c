"""``/dm/api/v3/training/clock``: time travel, for a service that was started with ``--training`` (design 10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec
from klein import Klein
from msgspec import Meta
from twisted.web.iweb import IRequest

from dmtwisted.clock import ServiceClock, stamp17
from web.answers import json_answer
from web.management import answer_errors, read_object

LONGEST_JOURNEY = 20 * 366 * 86400
"""Seconds that the clock may be moved either way: twenty years."""


class ClockMove(msgspec.Struct, forbid_unknown_fields=True):
    """How far the service's clock is ahead of the machine's, in seconds."""

    offset_s: Annotated[float, Meta(ge=-LONGEST_JOURNEY, le=LONGEST_JOURNEY)]


class ClockState(msgspec.Struct):
    """How far the service's clock is ahead of the machine's, in seconds, and what it shows."""

    offset_s: float
    dt: str


class TrainingApi:
    """What only a service in training mode lets one do.

    :param moved: called after each move of the clock.
    """

    app = Klein()
    answer_errors(app)

    def __init__(self, clock: ServiceClock, moved: Callable[[], None], default_language: str) -> None:
        self._clock, self._moved, self.default_language = clock, moved, default_language

    @app.route("/dm/api/v3/training/clock", methods=["PUT"])
    def move(self, request: IRequest) -> bytes:
        """Move the clock that shifts, limits, sessions and retention go by."""
        self._clock.offset = read_object(request, ClockMove).offset_s
        self._moved()
        return self._answer(request)

    @app.route("/dm/api/v3/training/clock", methods=["GET"])
    def read(self, request: IRequest) -> bytes:
        """Where the clock stands."""
        return self._answer(request)

    def _answer(self, request: IRequest) -> bytes:
        return json_answer(request, 200, ClockState(self._clock.offset, stamp17(self._clock.now())))
