"""The curves of DSTU 4145-2002 in polynomial basis (docs/reference/cryptography.md#algorithms).

A curve is ``y**2 + xy = x**3 + A x**2 + B`` over a field of 2**m elements, with a base point P of prime order n. The
ten named ones carry the object identifiers ``1.2.804.2.1.1.1.1.3.1.1.2.0`` to ``.9``.

Points are calculated as López-Dahab triples of wide field elements: ``x = X/Z, y = Y/Z**2``, so a multiplication
needs one inversion, at its end. Multiples of the base point come from a comb: the 255 sums of P shifted by multiples
of one eighth of the scalar, and the same shifted by a quarter of that each, made once for each curve. So only every
fourth bit needs a doubling, and what the four combs give for it is added first: in pairs, all by one inversion.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from protocols.fiscal.crypto.errors import Malformed
from protocols.fiscal.crypto.gf2m import Field

Point = tuple[int, int]
"""x and y, narrow."""

_Wide = tuple[int, int]
_Triple = tuple[int, int, int]

_NOWHERE: _Triple = (1, 0, 0)
"""The neutral element: Z = 0."""

TEETH, GROUPS = 8, 4
"""Rows of a comb, and combs: 4 * (2**8 - 1) points a curve."""

BLINDING = 64
"""Random bits that blind a secret scalar, see `Curve.base_multiple`."""


@dataclass(frozen=True)
class Curve:
    """A curve with its base point.

    :param m: degree of the field, :param ks: the exponents of its polynomial between m and 0.
    :param a: 0 or 1, :param b: narrow, :param n: order of the base point, :param cofactor: of all points, by n.
    :param oid: object identifier of a named curve, else empty.
    """

    m: int
    ks: tuple[int, ...]
    a: int
    b: int
    n: int
    cofactor: int
    base: Point
    oid: str = ""

    @cached_property
    def field(self) -> Field:
        """The field of the coordinates."""
        return Field(self.m, self.ks)

    @property
    def size(self) -> int:
        """Bytes of a field element, and of a compressed point."""
        return (self.m + 7) // 8

    @property
    def scalar_size(self) -> int:
        """Bytes of r, of s and of a private key."""
        return (self.n.bit_length() + 7) // 8

    @cached_property
    def _wide_b(self) -> int:
        return self.field.widen(self.b)

    def contains(self, point: Point) -> bool:
        """Whether the coordinates satisfy the equation."""
        if max(point) >> self.m or min(point) < 0:
            return False
        f = self.field
        x, y = f.widen_all(point)
        xx = f.square(x)
        return f.square(y) ^ f.mul(x, y) ^ f.mul(xx, x) ^ (xx if self.a else 0) == self._wide_b

    def is_public_key(self, point: Point) -> bool:
        """Whether the point is on the curve and belongs to the group of the base point."""
        return self.contains(point) and self._multiple(self.n, point)[2] == 0

    def _double(self, p: _Triple) -> _Triple:
        x, y, z = p
        f = self.field
        mul, square = f.mul, f.square
        xx, zz = square(x), square(z)
        z3 = mul(xx, zz)
        bz = mul(square(zz), self._wide_b)
        x3 = square(xx) ^ bz
        t = square(y) ^ bz
        if self.a:
            t ^= z3
        return x3, mul(bz, z3) ^ mul(x3, t), z3

    def _add(self, p: _Triple, q: _Wide) -> _Triple:
        x1, y1, z1 = p
        x2, y2 = q
        if not z1:
            return x2, y2, 1
        f = self.field
        mul, square = f.mul, f.square
        zz = square(z1)
        dy = y1 ^ mul(zz, y2)
        dx = x1 ^ mul(z1, x2)
        if not dx:
            return self._double((x2, y2, 1)) if not dy else _NOWHERE
        t = mul(z1, dx)
        z3 = square(t)
        u = mul(t, dy)
        x3 = square(dy) ^ u ^ mul(square(dx), t ^ zz if self.a else t)
        return x3, mul(u ^ z3, mul(x2, z3) ^ x3) ^ mul(square(z3), x2 ^ y2), z3

    def _affine(self, triples: list[_Triple]) -> list[_Wide]:
        """The points, none of them neutral, by one inversion."""
        f = self.field
        made = []
        for (x, y, _), inverse in zip(triples, f.inverses([z for *_, z in triples]), strict=True):
            made.append((f.mul(x, inverse), f.mul(y, f.square(inverse))))
        return made

    def _narrow(self, p: _Triple) -> Point | None:
        if not p[2]:
            return None
        ((x, y),) = self._affine([p])
        return self.field.narrow(x), self.field.narrow(y)

    @cached_property
    def _levels(self) -> int:
        """Doublings between the groups of the comb."""
        return -(-(self.n.bit_length() + BLINDING) // (TEETH * GROUPS))

    @cached_property
    def _combs(self) -> list[list[_Wide | None]]:
        """Each group's sums of its rows' points by one bit of each row; a tenth of a second, once for each curve."""
        p: _Triple = (*self.field.widen_all(self.base), 1)  # type: ignore[assignment]
        rows: list[_Triple] = [p]
        for _ in range(TEETH * GROUPS - 1):
            for _ in range(self._levels):
                p = self._double(p)
            rows.append(p)
        made: list[_Triple] = []
        points = self._affine(rows)
        for group in range(GROUPS):
            sums: list[_Triple] = [_NOWHERE]
            for row in points[group::GROUPS]:
                sums += [self._add(other, row) for other in sums]
            made += sums[1:]
        flat, size = self._affine(made), 2**TEETH - 1
        return [[None, *flat[at : at + size]] for at in range(0, len(flat), size)]

    def _chord(self, p: _Wide, q: _Wide, inverse: int) -> _Wide | None:
        """The sum of two points.

        :param inverse: of the sum of their x, where those differ.
        """
        (x1, y1), (x2, y2) = p, q
        if x1 == x2:
            return self._affine([self._double((x1, y1, 1))])[0] if y1 == y2 else None
        f = self.field
        slope = f.mul(y1 ^ y2, inverse)
        x3 = f.square(slope) ^ slope ^ x1 ^ x2 ^ self.a
        return x3, f.mul(slope, x1 ^ x3) ^ x3 ^ y1

    def _sums(self, many: list[list[_Wide]]) -> list[_Wide | None]:
        """The sum of each list of points: all neighbours are added at once, with one inversion, until one is left."""
        while any(len(points) > 1 for points in many):
            pairs = [list(zip(points[::2], points[1::2], strict=False)) for points in many]
            apart = [p[0] ^ q[0] or 1 for row in pairs for p, q in row]
            inverses = iter(self.field.inverses(apart))
            left = [points[len(points) & ~1 :] for points in many]
            added = [[self._chord(p, q, next(inverses)) for p, q in row] for row in pairs]
            many = [
                [point for point in row if point is not None] + rest for row, rest in zip(added, left, strict=True)
            ]
        return [points[0] if points else None for points in many]

    def base_triple(self, scalar: int) -> _Triple:
        """``scalar`` times the base point, 0 <= scalar < n * 2**64, as a triple."""
        combs, levels = self._combs, self._levels
        width = levels * GROUPS
        rows = [scalar >> width * row for row in range(TEETH)]
        chosen: list[list[_Wide]] = []
        for level in range(levels - 1, -1, -1):
            points = []
            for group, comb in enumerate(combs):
                column = level + levels * group
                index = 0
                for row in range(TEETH):
                    index |= (rows[row] >> column & 1) << row
                if (entry := comb[index]) is not None:
                    points.append(entry)
            chosen.append(points)
        p = _NOWHERE
        for total in self._sums(chosen):
            if p[2]:
                p = self._double(p)
            if total is not None:
                p = self._add(p, total)
        return p

    def base_multiple(self, scalar: int, blind: int = 0) -> Point | None:
        """``scalar`` times the base point; ``None`` for the neutral element.

        :param blind: below 2**64, random for a secret scalar: that many times n are added to it, which changes the
            steps but not the result.
        """
        return self._narrow(self.base_triple(scalar % self.n + blind * self.n))

    def _multiple(self, scalar: int, point: Point) -> _Triple:
        """``scalar`` times ``point`` by signed windows of 5 bits; for public scalars only."""
        f = self.field
        x, y = f.widen_all(point)
        if not x:
            # The point of order two is its own negative: the formulas cannot double it.
            return (x, y, 1) if scalar & 1 else _NOWHERE
        (twice,) = self._affine([self._double((x, y, 1))])
        odd: list[_Triple] = [(x, y, 1)]
        for _ in range(7):
            odd.append(self._add(odd[-1], twice))
        # None of them is neutral: all orders divide 2n or 4n, and n is a large prime.
        window = self._affine(odd)
        p = _NOWHERE
        for digit in reversed(_signed_digits(scalar)):
            if p[2]:
                p = self._double(p)
            if digit:
                qx, qy = window[abs(digit) >> 1]
                p = self._add(p, (qx, qy if digit > 0 else qx ^ qy))
        return p

    def multiple(self, scalar: int, point: Point) -> Point | None:
        """``scalar`` times ``point``, for public scalars; ``None`` for the neutral element."""
        return self._narrow(self._multiple(scalar, point))

    def combine(self, s: int, r: int, point: Point) -> Point | None:
        """``s * P + r * point``, to verify a signature; ``None`` for the neutral element."""
        other = self.multiple(r, point)
        p = self.base_triple(s % self.n)
        if other is not None:
            x, y = self.field.widen_all(other)
            p = self._add(p, (x, y))
        return self._narrow(p)

    def negative(self, point: Point) -> Point:
        """The negative of ``point``."""
        return point[0], point[0] ^ point[1]

    def compress(self, point: Point) -> bytes:
        """The point in `size` bytes, little-endian: x, its lowest bit replaced by the trace of y/x."""
        x = point[0]
        if not x:
            return bytes(self.size)
        f = self.field
        wide_x, wide_y = f.widen_all(point)
        bit = f.trace(f.mul(wide_y, f.inverse(wide_x)))
        return (x & ~1 | bit).to_bytes(self.size, "little")

    def expand(self, packed: bytes) -> Point:
        """The reverse of `compress`.

        :raises Malformed: when it is not a point of the curve.
        """
        value = int.from_bytes(packed, "little")
        if len(packed) != self.size or value >> self.m:
            raise Malformed(f"{len(packed)} bytes are not a compressed point of this curve")
        f = self.field
        if not value:
            return 0, f.narrow(f.root(self._wide_b))
        bit, x = value & 1, f.widen(value & ~1)
        # All points of the group have an x of trace A; the lowest bit decides the trace because m is odd.
        if f.trace(x) != self.a:
            x ^= 1
        if not x:
            raise Malformed("no point of this curve has x = 0 here")
        right = x ^ self.a ^ f.mul(self._wide_b, f.inverse(f.square(x)))
        if f.trace(right):
            raise Malformed("no point of this curve has this x")
        z = f.half_trace(right)
        if f.trace(z) != bit:
            z ^= 1
        return f.narrow(x), f.narrow(f.mul(x, z))


def _signed_digits(scalar: int) -> list[int]:
    """The digits of the scalar, 0 or odd from -15 to 15, lowest first; four zeros follow each odd one."""
    digits = []
    while scalar:
        digit = 0
        if scalar & 1:
            digit = scalar & 31
            if digit > 15:
                digit -= 32
            scalar -= digit
        digits.append(digit)
        scalar >>= 1
    return digits


_ARC = "1.2.804.2.1.1.1.1.3.1.1.2."

_PARAMETERS = """
163 3,6,7 1 2
5ff6108462a2dc8210ab403925e638a19c1455d21
400000000000000000002bec12be2262d39bcf14d
2e2f85f5dd74ce983a5c4237229daf8a3f35823be
3826f008a8c51d7b95284d9d03ff0e00ce2cd723a

167 6 1 2
6ee3ceeb230811759f20518a0930f1a4315a827dac
3fffffffffffffffffffffb12ebcc7d7f29ff7701f
7a1f6653786a68192803910a3d30b2a2018b21cd54
5f49eb26781c0ec6b8909156d98ed435e45fd59918

173 1,2,10 0 4
108576c80499db2fc16eddf6853bbb278f6b6fb437d9
800000000000000000000189b4e67606e3825bb2831
4d41a619bcc6eadf0448fa22fad567a9181d37389ca
10b51cc12849b234c75e6dd2028bf7ff5c1ce0d991a1

179 1,2,4 1 2
4a6e0856526436f2f88dd07a341e32d04184572beb710
3ffffffffffffffffffffffb981960435fe5ab64236ef
6ba06fe51464b2bd26dc57f48819ba9954667022c7d03
25fbc363582dcec065080ca8287aaff09788a66dc3a9e

191 9 1 2
7bc86e2102902ec4d5890e8b6b4981ff27e0482750fefc03
40000000000000000000000069a779cac1dabc6788f7474f
714114b762f2ff4a7912a6d2ac58b9b5c2fcfe76daeb7129
29c41e568b77c617efe5902f11db96fa9613cd8d03db08da

233 1,4,9 1 2
6973b15095675534c7cf7e64a21bd54ef5dd3b8a0326aa936ece454d2c
1000000000000000000000000000013e974e72f8a6922031d2603cfe0d7
3fcda526b6cdf83ba1118df35b3c31761d3545f32728d003eeb25efe96
9ca8b57a934c54deeda9e54a7bbad95e3b2e91c54d32be0b9df96d8d35

257 12 0 4
1cef494720115657e18f938d7a7942394ff9425c1458c57861f9eea6adbe3be10
800000000000000000000000000000006759213af182e987d3e17714907d470d
2a29ef207d0e9b6c55cd260b306c7e007ac491ca1b10c62334a9e8dcd8d20fb7
10686d41ff744d4449fccf6d8eea03102e6812c93a9d60b978b702cf156d814ef

307 2,4,8 1 2
393c7f7d53666b5054b5e6c6d3de94f4296c0c599e2e2e241050df18b6090bdc90186904968bb
3ffffffffffffffffffffffffffffffffffffffc079c2f3825da70d390fbba588d4604022b7b7
216ee8b189d291a0224984c1e92f1d16bf75ccd825a087a239b276d3167743c52c02d6e7232aa
5d9306bacd22b7faeb09d2e049c6e2866c5d1677762a8f2f2dc9a11c7f7be8340ab2237c7f2a0

367 21 1 2
43fc8ad242b0b7a6f3d1627ad5654447556b47bf6aa4a64b0c2afe42cadab8f93d92394c79a79755437b56995136
40000000000000000000000000000000000000000000009c300b75a3fa824f22428fd28ce8812245ef44049b2d49
324a6eddd512f08c49a99ae0d3f961197a76413e7be81a400ca681e09639b5fe12e59a109f78bf4a373541b3b9a1
1ab597a5b4477f59e39539007c7f977d1a567b92b043a49c6b61984c3fe3481aaf454cd41ba1f051626442b3c10

431 1,3,5 1 2
3ce10490f6a708fc26dfe8c3d27c4f94e690134d5bff988d8d28aaeaede975936c66bac536b18ae2dc312ca493117daa469c640caf3
3fffffffffffffffffffffffffffffffffffffffffffffffffffffba3175458009a8c0a724f02f81aa8a1fcbaf80d90c7a95110504cf
1a62ba79d98133a16bbae7ed9a8e03c32e0824d57aef72f88986874e5aae49c27bed49a2a95058068426c2171e99fd3b43c5947c857d
70b5e1e14031c1f70bbefe96bdde66f451754b4ca5f48da241f331aa396b8d1839a855c1769b1ea14ba53308b5e2723724e090e02db9
"""
"""Of the named curves (DSTU 4145-2002, annex): m, ks, A and the cofactor; then B, n, x and y of the base point."""


def _named(number: int, parameters: str) -> Curve:
    m, ks, a, cofactor, b, n, x, y = parameters.split()
    base = int(x, 16), int(y, 16)
    middle = tuple(map(int, ks.split(",")))
    return Curve(int(m), middle, int(a), int(b, 16), int(n, 16), int(cofactor), base, f"{_ARC}{number}")


NAMED = tuple(_named(number, parameters) for number, parameters in enumerate(_PARAMETERS.split("\n\n")))
"""The ten named curves, by the last number of their object identifiers."""

DSTU_257 = NAMED[6]
"""The curve of almost every shop's key."""


def by_oid(oid: str) -> Curve | None:
    """The named curve, if it is one."""
    return next((curve for curve in NAMED if curve.oid == oid), None)


@lru_cache(maxsize=32)
def with_base(m: int, ks: tuple[int, ...], a: int, b: int, n: int, base: bytes) -> Curve:
    """The curve of these explicit parameters: one of the named ones, with its own or another base point.

    :param base: the base point, compressed.
    :raises Malformed: when it is not a named curve, or the base point is not of order n: a freely chosen curve
        proves nothing.
    """
    for curve in NAMED:
        if (curve.m, curve.ks, curve.a, curve.b, curve.n) == (m, tuple(sorted(ks)), a, b, n):
            point = curve.expand(base)
            if point == curve.base:
                return curve
            if not curve.is_public_key(point):
                raise Malformed("the base point has the wrong order")
            return Curve(curve.m, curve.ks, curve.a, curve.b, curve.n, curve.cofactor, point)
    raise Malformed(f"no curve of DSTU 4145 over 2**{m} has these parameters")
