"""Who multiplies points on this machine: plain Python, or its libcrypto where that has proven itself.

`choose` decides once a process, before the first signature. The library is taken only when it reproduces every known
answer of `self_test`; a library that fails later, while it is used, is never asked again. The environment variable
`DMTWISTED_LIBCRYPTO=off` leaves it out of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Protocol

from twisted.logger import Logger

from protocols.fiscal.crypto.curves import Curve, Point
from protocols.fiscal.crypto.errors import SelfTestFailed
from protocols.fiscal.crypto.libcrypto import Libcrypto, load

SWITCH = "DMTWISTED_LIBCRYPTO"
"""The environment variable; ``off`` is the one word that it knows."""


class Arithmetic(Protocol):
    """Multiplies points.

    :param name: for people.
    """

    name: str

    def base_multiple(self, curve: Curve, scalar: int, blind: int = 0) -> Point | None:
        """``scalar`` times the base point, for secret scalars; see `Curve.base_multiple`."""

    def combine(self, curve: Curve, s: int, r: int, point: Point) -> Point | None:
        """``s * P + r * point``, for public scalars."""


class Plain:
    """Plain Python."""

    name = "plain Python"

    def base_multiple(self, curve: Curve, scalar: int, blind: int = 0) -> Point | None:
        """See `Arithmetic`."""
        return curve.base_multiple(scalar, blind)

    def combine(self, curve: Curve, s: int, r: int, point: Point) -> Point | None:
        """See `Arithmetic`."""
        return curve.combine(s, r, point)


PLAIN = Plain()


class Accelerated:
    """The machine's libcrypto, and plain Python for what it does not serve, or not any more.

    :param check: asked once for each curve, before the library's first answer about it counts.
    """

    log = Logger()

    def __init__(self, library: Libcrypto) -> None:
        self.name = library.name
        self._library: Libcrypto | None = library
        self._proven: set[Curve] = set()

    def prove(self, curve: Curve) -> None:
        """Have the library show that it knows ``curve``: multiples of the base point whose value is certain.

        :raises SelfTestFailed: when one is wrong.
        """
        library = self._library
        if library is None:
            raise SelfTestFailed(f"{self.name} has failed before")
        base, back = curve.base, curve.negative(curve.base)
        half = curve.n // 3
        for s, r, wanted in ((1, 0, base), (curve.n - 1, 0, back), (0, 0, None), (half, curve.n - half, None)):
            if library.combine(curve, s, r, base) != wanted:
                raise SelfTestFailed(f"{library.name} does not know the curve of m = {curve.m}")
        for s in (2, 3, half):
            alone, mixed = library.combine(curve, s), library.combine(curve, s - 1, 1, base)
            if alone != mixed or alone != curve.base_multiple(s):
                raise SelfTestFailed(f"{library.name} multiplies wrongly on the curve of m = {curve.m}")
        self._proven.add(curve)

    def base_multiple(self, curve: Curve, scalar: int, blind: int = 0) -> Point | None:
        """See `Arithmetic`. The library takes the same steps for each scalar, so nothing needs blinding there."""
        return self._asked(
            curve,
            lambda library: library.combine(curve, scalar % curve.n),
            lambda: curve.base_multiple(scalar, blind),
        )

    def combine(self, curve: Curve, s: int, r: int, point: Point) -> Point | None:
        """See `Arithmetic`."""
        return self._asked(
            curve,
            lambda library: library.combine(curve, s % curve.n, r, point),
            lambda: curve.combine(s, r, point),
        )

    def _asked(
        self, curve: Curve, ask: Callable[[Libcrypto], Point | None], plainly: Callable[[], Point | None]
    ) -> Point | None:
        library = self._library
        if library is None or not library.serves(curve):
            return plainly()
        try:
            if curve not in self._proven:
                self.prove(curve)
            return ask(library)
        except SelfTestFailed as failed:
            self._library = None
            self.log.error("plain Python reckons from now on: {why}", why=str(failed))
            return plainly()


def accelerated() -> Accelerated:
    """The machine's libcrypto, when it reproduces every known answer.

    :raises SelfTestFailed: when there is none, or it does not; the text says which.
    """
    # The known answers are asked of an arithmetic, so they stand above it.
    from protocols.fiscal.crypto.self_test import known_answers

    if os.environ.get(SWITCH, "").strip().lower() == "off":
        raise SelfTestFailed(f"{SWITCH} is off")
    found = Accelerated(load())
    known_answers(found)
    if found._library is None:
        raise SelfTestFailed(f"{found.name} failed a known answer")
    return found


_chosen: Arithmetic = PLAIN


def current() -> Arithmetic:
    """Who multiplies now: plain Python until `choose` was asked."""
    return _chosen


@cache
def choose() -> str:
    """Decide for this process; why plain Python reckons, empty when the library does."""
    global _chosen
    try:
        _chosen = accelerated()
    except SelfTestFailed as why:
        return str(why)
    return ""
