"""Passwords, stored as argon2id hashes, so that a stolen database does not reveal them."""

from __future__ import annotations

import unicodedata

from twisted.internet.defer import DeferredLock

from dmtwisted.access.common_passwords import is_common
from dmtwisted.clock import ServiceClock

TIME_COST, MEMORY_KIB, LANES = 2, 19 * 1024, 1
"""Cost of one hash: about 30 ms and 19 MiB, the recommended minimum and the most for an old till."""

SHORTEST, LONGEST = 8, 256
"""Characters of a new password; a longer one is wrong without a calculation. One from before may be shorter."""

_NO_LOGIN = "$argon2id$v=19$m=19456,t=2,p=1$o/oNG3XWjejKu3REkl22dQ$zrMpILht1FB9dVRDZ44io6rVSR6eREhE2c4MG9nwn+Q"
"""A hash to compare with when there is no such login, so that both cases take the same time."""


def unfit(password: str, login: str = "") -> str:
    """Why ``password`` cannot become that of ``login``; empty when it can."""
    if not password:
        return "a password is expected"
    if len(_spelled(password)) < SHORTEST:
        return f"a password of at least {SHORTEST} characters is expected"
    if len(password) > LONGEST:
        return f"at most {LONGEST} characters are taken"
    if is_common(password, login):
        return "this password is among the first that are tried; several words that do not belong together are better"
    return ""


class Passwords:
    """Makes and checks hashes, one at a time, because many would use too much memory."""

    def __init__(self, clock: ServiceClock) -> None:
        self._clock, self._lock = clock, DeferredLock()

    async def hash(self, password: str) -> str:
        """The hash of ``password`` to store."""
        async with self._lock:
            return await self._clock.aside(_hash, _spelled(password))

    async def fits(self, hash: str, password: str) -> bool:
        """Whether ``hash`` is of ``password``; an empty ``hash`` is of none, and takes the same time."""
        if len(password) > LONGEST:
            return False
        async with self._lock:
            fits = await self._clock.aside(_fits, hash or _NO_LOGIN, _spelled(password))
        return fits and bool(hash)


def _spelled(password: str) -> str:
    """One form of letters that keyboards compose differently, such as ``й`` and ``ї``."""
    return unicodedata.normalize("NFC", password)


def _hash(password: str) -> str:
    # Imported at the first login: most services run without one.
    from argon2 import PasswordHasher, Type

    return PasswordHasher(TIME_COST, MEMORY_KIB, LANES, type=Type.ID).hash(password)


def _fits(hash: str, password: str) -> bool:
    from argon2 import PasswordHasher
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return PasswordHasher().verify(hash, password)
    except (VerificationError, InvalidHashError):
        return False
