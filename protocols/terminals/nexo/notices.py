"""What terminals post to the till unasked: events, and what their display shows (terminals.md 3, rule 11)."""

from __future__ import annotations

from collections.abc import Callable

from twisted.logger import Logger
from twisted.web.resource import Resource
from twisted.web.server import Request

from protocols.errors import Garbled
from protocols.terminals.nexo.messages import Notice
from protocols.terminals.nexo.sealing import Seal

LONGEST = 100_000
"""Bytes of a notice."""


class Notices(Resource):
    """Takes notices and tells them to ``progress``; the terminal must be set up to post them here.

    A notice is no proof of anything: nothing that it says changes the outcome of an operation.
    """

    isLeaf = True
    log = Logger()

    def __init__(self, progress: Callable[[Notice], object], seal: Seal | None = None) -> None:
        Resource.__init__(self)
        self._progress, self._seal = progress, seal

    def render_POST(self, request: Request) -> bytes:
        """Take one notice; 400 for anything else."""
        assert request.content is not None
        message = request.content.read(LONGEST + 1)
        try:
            notice = Notice.decode(message if self._seal is None else self._seal.open(message))
        except Garbled as garbled:
            self.log.warn("a notice that cannot be read: {what}", what=garbled.what)
            request.setResponseCode(400)
            return b""
        self._progress(notice)
        return b""
