"""Login sessions, by the token in the client's cookie (specification 5.4, 5.5a)."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from twisted.internet.interfaces import IReactorTime

API_IDLE = 15 * 60.0
"""Seconds without requests after which a session ends (specification 5.5a)."""

PAGE_IDLE = 10 * 60.0
"""Seconds without requests after which its pages need a new login (specification 5.4)."""

TOKEN_BYTES = 32
"""Random bytes of a token: 256 bits."""

MOST = 1000
"""Sessions at the same time; above that the one idle longest ends."""


@dataclass
class _Session:
    seen: float
    person: str
    pages: bool = True


class Sessions:
    """The open sessions, in memory: a restart of the service ends them all.

    Only the hash of a token is stored and looked up, so the time of a look-up reveals nothing about tokens.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._open: dict[bytes, _Session] = {}

    def begin(self, person: str = "") -> str:
        """The random token of a new session of a ``person``."""
        if len(self._open) >= MOST:
            del self._open[min(self._open, key=lambda one: self._open[one].seen)]
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self._open[_digest(token)] = _Session(self._clock.seconds(), person)
        return token

    def renew(self, token: str, page: bool = False) -> bool:
        """Whether ``token`` gives access to a ``page`` or to the API; the request renews the session."""
        digest = _digest(token)
        session = self._open.get(digest)
        if session is None:
            return False
        now = self._clock.seconds()
        idle = now - session.seen
        # After a clock was set back by so much it is unknown how long the session was idle.
        if idle >= API_IDLE or idle <= -PAGE_IDLE:
            del self._open[digest]
            return False
        if idle >= PAGE_IDLE:
            session.pages = False
        session.seen = now
        return session.pages or not page

    def of(self, token: str) -> tuple[bytes, str]:
        """The session of ``token``, and the person who began it; both empty when there is none."""
        digest = _digest(token)
        session = self._open.get(digest)
        return (digest, session.person) if session is not None else (b"", "")

    def has(self, session: bytes) -> bool:
        """Whether a session that `of` returned was not ended."""
        return session in self._open

    def end(self, token: str) -> None:
        """End a session, if it exists."""
        self._open.pop(_digest(token), None)

    def end_of(self, person: str) -> None:
        """End all sessions of a person."""
        self._open = {digest: one for digest, one in self._open.items() if one.person != person}


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
