"""``/dm/api/v3/training/clock``: moves the clock of a service in training mode
(docs/reference/http-interface.md#training-mode).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec
from klein import Klein
from msgspec import Meta
from twisted.web.iweb import IRequest

from dmtwisted.changes import Action, Area, Changes
from dmtwisted.clock import ServiceClock, stamp17
from web.answers import json_answer
from web.management import answer_errors, lasting, read_object

LONGEST_JOURNEY = 20 * 366 * 86400
"""Seconds that the clock may be moved forward or back: twenty years."""


class ClockMove(msgspec.Struct, forbid_unknown_fields=True):
    """Seconds that the service's clock is to be ahead of the machine's."""

    offset_s: Annotated[float, Meta(ge=-LONGEST_JOURNEY, le=LONGEST_JOURNEY)]


class ClockState(msgspec.Struct):
    """Seconds that the service's clock is ahead of the machine's, and its time."""

    offset_s: float
    dt: str


class TrainingApi:
    """The clock of a service in training mode.

    :param moved: called after each move of the clock.
    """

    app = Klein()
    answer_errors(app)

    def __init__(
        self, clock: ServiceClock, changes: Changes, moved: Callable[[], None], default_language: str
    ) -> None:
        self._clock, self._changes, self._moved = clock, changes, moved
        self.default_language = default_language

    @app.route("/dm/api/v3/training/clock", methods=["PUT"])
    async def move(self, request: IRequest) -> bytes:
        """Move the clock of shifts, limits, sessions and retention."""
        await lasting(self._move(read_object(request, ClockMove).offset_s))
        return self._answer(request)

    async def _move(self, offset: float) -> None:
        before = {"offset_s": self._clock.offset}
        async with self._changes.about(Area.TRAINING, Action.CHANGED, before, subject="clock") as after:
            self._clock.offset = after["offset_s"] = offset
        self._moved()

    @app.route("/dm/api/v3/training/clock", methods=["GET"])
    def read(self, request: IRequest) -> bytes:
        """The time of the clock."""
        return self._answer(request)

    def _answer(self, request: IRequest) -> bytes:
        return json_answer(request, 200, ClockState(self._clock.offset, stamp17(self._clock.now())))
