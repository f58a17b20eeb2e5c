"""Who is logged in: sessions, by the token in the caller's cookie (specification 5.4, 5.5.1)."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from twisted.internet.interfaces import IReactorTime

API_IDLE = 15 * 60.0
"""Seconds without requests after which a session is over (specification 5.5.1)."""

PAGE_IDLE = 10 * 60.0
"""Seconds without requests after which its pages are closed, until the next login (specification 5.4)."""

TOKEN_BYTES = 32
"""Random bytes of a token: 256 bits."""

MOST = 1000
"""Sessions at once; the one that was silent longest makes room."""


@dataclass
class _Session:
    seen: float
    pages: bool = True


class Sessions:
    """The sessions that are open. They live in memory: a restart of the service ends them all.

    Only the hash of a token is kept and looked up, so the time of a look-up tells nothing of the tokens there are.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._open: dict[bytes, _Session] = {}

    def begin(self) -> str:
        """A new session's token, random and never used before."""
        if len(self._open) >= MOST:
            del self._open[min(self._open, key=lambda one: self._open[one].seen)]
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self._open[_digest(token)] = _Session(self._clock.seconds())
        return token

    def renew(self, token: str, page: bool = False) -> bool:
        """Whether ``token`` lets its caller in, to a ``page`` or to the API; the request renews the session."""
        digest = _digest(token)
        session = self._open.get(digest)
        if session is None:
            return False
        now = self._clock.seconds()
        idle = now - session.seen
        # Nobody knows how long a session was silent before a clock was set back by so much.
        if idle >= API_IDLE or idle <= -PAGE_IDLE:
            del self._open[digest]
            return False
        if idle >= PAGE_IDLE:
            session.pages = False
        session.seen = now
        return session.pages or not page

    def end(self, token: str) -> None:
        """Log out; nothing happens when there is no such session."""
        self._open.pop(_digest(token), None)

    def end_all(self) -> None:
        """Log everybody out."""
        self._open.clear()


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
