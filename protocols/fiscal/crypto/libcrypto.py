"""Multiplies points of the named curves by the machine's own OpenSSL (docs/reference/cryptography.md#openssl).

libcrypto has curves over 2**m under the name GF2m. Builds may lack them or break them, so its results are compared
with known answers before use (`protocols.fiscal.crypto.self_test`). Without it plain Python does the same.

The library gets a curve as it is in `curves`: polynomial, A, B, base point, order, cofactor. With order and cofactor
it multiplies by a ladder that takes the same steps for every scalar, and without the interpreter's lock.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from protocols.fiscal.crypto.curves import NAMED, Curve, Point
from protocols.fiscal.crypto.errors import SelfTestFailed

_P, _INT, _TEXT = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p

_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "OpenSSL_version": (_TEXT, (_INT,)),
    "BN_new": (_P, ()),
    "BN_lebin2bn": (_P, (_TEXT, _INT, _P)),
    "BN_bn2lebinpad": (_INT, (_P, _TEXT, _INT)),
    "BN_clear_free": (None, (_P,)),
    "BN_CTX_new": (_P, ()),
    "BN_CTX_free": (None, (_P,)),
    "EC_GROUP_new_curve_GF2m": (_P, (_P, _P, _P, _P)),
    "EC_GROUP_set_generator": (_INT, (_P, _P, _P, _P)),
    "EC_GROUP_free": (None, (_P,)),
    "EC_POINT_new": (_P, (_P,)),
    "EC_POINT_clear_free": (None, (_P,)),
    "EC_POINT_set_affine_coordinates": (_INT, (_P, _P, _P, _P, _P)),
    "EC_POINT_get_affine_coordinates": (_INT, (_P, _P, _P, _P, _P)),
    "EC_POINT_is_at_infinity": (_INT, (_P, _P)),
    "EC_POINT_mul": (_INT, (_P, _P, _P, _P, _P, _P)),
}
"""The functions used: result and arguments. A build without curves over 2**m lacks some of them."""


def names(platform: str = sys.platform) -> tuple[str, ...]:
    """Possible names of the library, the newest first.

    Exact versions only: loading one without version ends the process on a Mac, and `ctypes.util` starts compilers.
    """
    if platform == "win32":
        return "libcrypto-3.dll", "libcrypto-3-x64.dll", "libcrypto-1_1.dll", "libcrypto-1_1-x64.dll"
    if platform == "darwin":
        folders = ("/opt/homebrew/opt/openssl@3/lib", "/usr/local/opt/openssl@3/lib")
        return tuple(f"{folder}/libcrypto.3.dylib" for folder in folders)
    return "libcrypto.so.3", "libcrypto.so.1.1"


def load(candidates: Sequence[str] | None = None, opened: Callable[[str], Any] = ctypes.CDLL) -> Libcrypto:
    """The machine's library, the first that is found.

    :raises SelfTestFailed: when there is none, or none with curves over 2**m; the text says which.
    """
    found = "no libcrypto was found"
    for name in names() if candidates is None else candidates:
        try:
            library = opened(name)
        except OSError:
            continue
        try:
            return Libcrypto(library)
        except AttributeError as missing:
            found = f"{name} has no curves over 2**m ({missing})"
    raise SelfTestFailed(found)


class Libcrypto:
    """Multiplies points of the named curves; several threads may use it at once.

    :raises AttributeError: when the library lacks a function.
    """

    def __init__(self, library: Any) -> None:
        self._call: dict[str, Callable[..., Any]] = {}
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
            self._call[name] = function
        self.name = self._call["OpenSSL_version"](0).decode("ascii", "replace")
        self._groups: dict[Curve, tuple[int, int]] = {}

    def serves(self, curve: Curve) -> bool:
        """Whether the library multiplies on ``curve``: only on named curves with their own base points."""
        return curve in NAMED

    def combine(self, curve: Curve, s: int, r: int = 0, point: Point | None = None) -> Point | None:
        """``s * P + r * point``; ``None`` for the neutral element. Without ``point`` ``s * P`` alone, for secret s.

        :raises SelfTestFailed: when the library fails, or the result is not on the curve.
        """
        group, _ = self._group(curve)
        with ExitStack() as held:
            context = self._made("BN_CTX_new", "BN_CTX_free", held)
            result = self._made("EC_POINT_new", "EC_POINT_clear_free", held, group)
            scalar, other, factor = self._number(s, curve.scalar_size, held), None, None
            if point is not None:
                other = self._point(group, curve, point, held)
                factor = self._number(r, curve.scalar_size, held)
            self._do("EC_POINT_mul", group, result, scalar, other, factor, context)
            if self._call["EC_POINT_is_at_infinity"](group, result):
                return None
            x, y = (self._made("BN_new", "BN_clear_free", held) for _ in "xy")
            self._do("EC_POINT_get_affine_coordinates", group, result, x, y, context)
            made = self._value(x, curve.size), self._value(y, curve.size)
        # A machine fault during a multiplication gives a point off the curve, which could reveal the key.
        if not curve.contains(made):
            raise SelfTestFailed(f"{self.name} left the curve of m = {curve.m}")
        return made

    def _group(self, curve: Curve) -> tuple[int, int]:
        """The library's form of ``curve`` with its base point; made once."""
        known = self._groups.get(curve)
        if known is not None:
            return known
        with ExitStack() as held, ExitStack() as lost:
            size = curve.size
            numbers = [self._number(value, size, held) for value in (curve.field.modulus, curve.a, curve.b)]
            group = self._made("EC_GROUP_new_curve_GF2m", "EC_GROUP_free", lost, *numbers, None)
            base = self._point(group, curve, curve.base, lost)
            order, cofactor = self._number(curve.n, size, held), self._number(curve.cofactor, 1, held)
            self._do("EC_GROUP_set_generator", group, base, order, cofactor)
            lost.pop_all()
        # Two threads may both have made one; either is right.
        return self._groups.setdefault(curve, (group, base))

    def _point(self, group: int, curve: Curve, point: Point, held: ExitStack) -> int:
        made = self._made("EC_POINT_new", "EC_POINT_clear_free", held, group)
        x, y = (self._number(value, curve.size, held) for value in point)
        self._do("EC_POINT_set_affine_coordinates", group, made, x, y, None)
        return made

    def _number(self, value: int, size: int, held: ExitStack) -> int:
        # The modulus has one bit more than the elements.
        raw = value.to_bytes(size + 1, "little")
        return self._made("BN_lebin2bn", "BN_clear_free", held, raw, len(raw), None)

    def _value(self, number: int, size: int) -> int:
        room = ctypes.create_string_buffer(size)
        if self._call["BN_bn2lebinpad"](number, room, size) != size:
            raise SelfTestFailed(f"{self.name} gives a number that is too long")
        return int.from_bytes(room.raw, "little")

    def _made(self, maker: str, freed_by: str, held: ExitStack, *arguments: Any) -> int:
        """An object of the library, freed by ``held``."""
        made: int | None = self._call[maker](*arguments)
        if not made:
            raise SelfTestFailed(f"{self.name} refuses {maker}")
        held.callback(self._call[freed_by], made)
        return made

    def _do(self, name: str, *arguments: Any) -> None:
        if self._call[name](*arguments) != 1:
            raise SelfTestFailed(f"{self.name} refuses {name}")
