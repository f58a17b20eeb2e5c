"""Point multiplication: in plain Python, or by the machine's libcrypto.

`protocols.fiscal.crypto.self_test.choose` decides once in a process, before the first signature. A library that fails
later is not used again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from twisted.logger import Logger

from protocols.fiscal.crypto.curves import Curve, Point
from protocols.fiscal.crypto.errors import SelfTestFailed
from protocols.fiscal.crypto.libcrypto import Libcrypto


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
    """The machine's libcrypto; plain Python for other curves, and for everything once the library has failed."""

    log = Logger()

    def __init__(self, library: Libcrypto) -> None:
        self.name = library.name
        self._library: Libcrypto | None = library
        self._proven: set[Curve] = set()

    @property
    def failed(self) -> bool:
        """Whether the library gave a wrong result and is not used any more."""
        return self._library is None

    def prove(self, curve: Curve) -> None:
        """Check multiples of the base point of ``curve`` whose value is certain; done before the first real one.

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
        """See `Arithmetic`. The library takes the same steps for each scalar, so it needs no blinding."""
        return self._calculate(
            curve,
            lambda library: library.combine(curve, scalar % curve.n),
            lambda: curve.base_multiple(scalar, blind),
        )

    def combine(self, curve: Curve, s: int, r: int, point: Point) -> Point | None:
        """See `Arithmetic`."""
        return self._calculate(
            curve,
            lambda library: library.combine(curve, s % curve.n, r, point),
            lambda: curve.combine(s, r, point),
        )

    def _calculate(
        self, curve: Curve, by_library: Callable[[Libcrypto], Point | None], plainly: Callable[[], Point | None]
    ) -> Point | None:
        library = self._library
        if library is None or not library.serves(curve):
            return plainly()
        try:
            if curve not in self._proven:
                self.prove(curve)
            return by_library(library)
        except SelfTestFailed as failed:
            self._library = None
            self.log.error("plain Python calculates from now on: {why}", why=str(failed))
            return plainly()


_current: Arithmetic = PLAIN


def current() -> Arithmetic:
    """The arithmetic in use; plain Python until `use` is called."""
    return _current


def use(arithmetic: Arithmetic) -> None:
    """Multiply by ``arithmetic`` from now on in this process."""
    global _current
    _current = arithmetic
