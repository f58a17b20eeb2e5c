"""Passwords: kept as argon2id hashes, so that a stolen database does not tell them."""

from __future__ import annotations

import unicodedata

from twisted.internet.defer import DeferredLock

from dmtwisted.clock import ServiceClock

TIME_COST, MEMORY_KIB, LANES = 2, 19 * 1024, 1
"""Cost of one hash: some 30 ms and 19 MiB, the least that is advised and the most that an old till bears."""

LONGEST = 256
"""Characters of a password; a longer one is wrong without being reckoned."""

_NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$o/oNG3XWjejKu3REkl22dQ$zrMpILht1FB9dVRDZ44io6rVSR6eREhE2c4MG9nwn+Q"
"""A hash that stands in where there is no such login, so that both take the same time."""


class Passwords:
    """Makes and checks hashes, one at a time: many at once would take the memory that tasks need."""

    def __init__(self, clock: ServiceClock) -> None:
        self._clock, self._lock = clock, DeferredLock()

    async def hash(self, password: str) -> str:
        """The hash to keep of ``password``."""
        async with self._lock:
            return await self._clock.aside(_hash, _spelled(password))

    async def fits(self, hash: str, password: str) -> bool:
        """Whether ``password`` is the one that was hashed; an empty ``hash`` fits none, and takes as long."""
        if len(password) > LONGEST:
            return False
        async with self._lock:
            fits = await self._clock.aside(_fits, hash or _NOBODY, _spelled(password))
        return fits and bool(hash)


def _spelled(password: str) -> str:
    """One spelling for letters that keyboards compose differently, as ``й`` and ``ї``."""
    return unicodedata.normalize("NFC", password)


def _hash(password: str) -> str:
    # Imported by the first who needs it: most services run without a login.
    from argon2 import PasswordHasher, Type

    return PasswordHasher(TIME_COST, MEMORY_KIB, LANES, type=Type.ID).hash(password)


def _fits(hash: str, password: str) -> bool:
    from argon2 import PasswordHasher
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return PasswordHasher().verify(hash, password)
    except (VerificationError, InvalidHashError):
        return False
