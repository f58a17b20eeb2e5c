"""A time-stamp provider on the simulated server's port (docs/reference/cryptography.md#time-stamps)."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.web.iweb import IRequest
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET

from protocols.fiscal.crypto.errors import CryptoError
from protocols.fiscal.crypto.timestamps import ANSWER_TYPE

PATH = b"/tsp"

REFUSAL = bytes.fromhex("30053003020102")
"""``TimeStampResp { PKIStatusInfo { rejection } }``"""


class Stamping(StrEnum):
    """How the provider answers."""

    GRANTED = "granted"
    REFUSED = "refused"
    GARBAGE = "garbage"
    SILENT = "silent"


class StampProvider(Resource):
    """Answers ``/tsp``.

    :param stamp: makes the signed answer to a request.
    """

    isLeaf = True

    def __init__(self, clock: IReactorTime, stamp: Callable[[bytes], bytes]) -> None:
        Resource.__init__(self)
        self._clock, self._stamp = clock, stamp
        self.answers, self.delay_s, self.count = Stamping.GRANTED, 0.0, 0

    def render(self, request: IRequest) -> bytes | int:
        """Answer one request as `answers` says."""
        assert request.content is not None
        body = request.content.read()
        if self.answers is Stamping.SILENT:
            return NOT_DONE_YET
        answer = self._answer(body)
        request.setHeader(b"content-type", ANSWER_TYPE.encode())
        if not self.delay_s:
            return answer
        gone: list[object] = []
        hung_up: Deferred[None] = cast(Any, request).notifyFinish()
        hung_up.addErrback(gone.append)

        def late() -> None:
            if not gone:
                request.write(answer)
                request.finish()

        self._clock.callLater(self.delay_s, late)
        return NOT_DONE_YET

    def _answer(self, request: bytes) -> bytes:
        if self.answers is Stamping.REFUSED:
            return REFUSAL
        if self.answers is Stamping.GARBAGE:
            return b"<html>"
        try:
            answer = self._stamp(request)
        except CryptoError:
            return REFUSAL
        self.count += 1
        return answer
