"""A register, whatever it is made of: it performs tasks and tells how it stands (design 3)."""

from __future__ import annotations

from zope.interface import Interface

from dmtwisted.requests import TaskRequest

OPEN_SHIFT, SALE, CASH_IN, CASH_OUT, X_REPORT, Z_REPORT, STATUS, NUMBER = 0, 1, 3, 4, 10, 11, 18, 20
"""Task numbers (http-api 2.1)."""

TAGGED = frozenset({0, 1, 2, 3, 4, 11, 14, 15, 16})
"""Tasks that are done once for a ``tag`` (specification 3.3)."""


class IRegister(Interface):
    """A fiscal register. Its caller holds the device's turn, so one task runs at a time."""

    async def perform(request: TaskRequest, language: str) -> bytes:
        """Do a task of ``type`` 1 and return its answer.

        :raises Refused: when it ended with a result other than success.
        """

    async def look_up(request: TaskRequest) -> bytes:
        """The stored answer for the request's ``tag`` (specification 3.3).

        :raises Refused: 1058 when there is none.
        """

    async def resolve() -> None:
        """Find out what became of every operation whose outcome is unknown.

        :raises Refused: 1075 when the far end cannot be asked now.
        """

    async def check() -> None:
        """Try the register without effect.

        :raises Refused: when it would not work.
        """

    async def state() -> dict[str, object]:
        """How the register stands, for people: shift, mode, cash."""

    def close() -> None:
        """Let go of files and lines."""
