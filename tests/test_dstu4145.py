"""DSTU 4145-2002: fields, curves, points, signatures."""

from __future__ import annotations

import hashlib

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal.crypto import self_test
from protocols.fiscal.crypto.curves import DSTU_257, NAMED, Curve, by_oid, with_base
from protocols.fiscal.crypto.dstu4145 import PrivateKey, PublicKey
from protocols.fiscal.crypto.errors import Malformed, SelfTestFailed
from protocols.fiscal.crypto.gf2m import Field
from protocols.fiscal.crypto.gost28147 import Gost28147
from protocols.fiscal.crypto.gost34311 import digest
from tests.vectors.fiscal_crypto import KEY_D, KEY_ID, KEY_TLV, SIGNATURES, Signature

HASH = digest(b"a text")


def slow_product(a: int, b: int, modulus: int) -> int:
    """The product of two narrow elements, bit by bit: the definition."""
    m, product = modulus.bit_length() - 1, 0
    while b:
        if b & 1:
            product ^= a
        b >>= 1
        a <<= 1
        if a >> m:
            a ^= modulus
    return product


def slow_sum(curve: Curve, p: tuple[int, int] | None, q: tuple[int, int] | None) -> tuple[int, int] | None:
    """The sum of two points by the formulas of the textbook, with a division each time."""
    if p is None or q is None:
        return p or q
    modulus, (x1, y1), (x2, y2) = curve.field.modulus, p, q

    def divided(a: int, b: int) -> int:
        f = curve.field
        return slow_product(a, f.narrow(f.inverse(f.widen(b))), modulus)

    if x1 == x2:
        if y1 ^ y2 == x1:
            return None
        slope = x1 ^ divided(y1, x1)
        x3 = slow_product(slope, slope, modulus) ^ slope ^ curve.a
    else:
        slope = divided(y1 ^ y2, x1 ^ x2)
        x3 = slow_product(slope, slope, modulus) ^ slope ^ x1 ^ x2 ^ curve.a
    return x3, slow_product(slope, x1 ^ x3, modulus) ^ x3 ^ y1


def curve_of(vector: Signature) -> Curve:
    """The curve of a vector, with its own base point where it has one."""
    named = by_oid(vector.oid)
    assert named is not None
    if vector.base is None:
        return named
    x, y = (int(part, 16) for part in vector.base)
    return with_base(named.m, named.ks, named.a, named.b, named.n, named.compress((x, y)))


class FieldTests(SynchronousTestCase):
    """Arithmetic of wide elements."""

    @settings(deadline=None, max_examples=150)
    @given(st.sampled_from(NAMED), st.data())
    def test_against_definition(self, curve: Curve, data: st.DataObject) -> None:
        """Products, squares and inverses are those of the definition, on every field."""
        f = curve.field
        a, b = (data.draw(st.integers(0, (1 << curve.m) - 1)) for _ in range(2))
        wide_a, wide_b = f.widen_all((a, b))
        self.assertEqual(f.narrow(wide_a), a)
        self.assertEqual(f.narrow(f.mul(wide_a, wide_b)), slow_product(a, b, f.modulus))
        self.assertEqual(f.square(wide_a), f.mul(wide_a, wide_a))
        if a:
            self.assertEqual(f.mul(wide_a, f.inverse(wide_a)), 1)

    def test_full_elements(self) -> None:
        """Elements with every coefficient set, where the most pairs meet in one place, multiply rightly too."""
        for curve in NAMED:
            f, full = curve.field, (1 << curve.m) - 1
            wide = f.widen(full)
            self.assertEqual(f.narrow(f.mul(wide, wide)), slow_product(full, full, f.modulus), curve.oid)
            self.assertEqual(f.square(wide), f.mul(wide, wide), curve.oid)

    def test_many_inverses(self) -> None:
        """Inverses calculated together equal those calculated alone; zero has none."""
        f = DSTU_257.field
        elements = f.widen_all(range(1, 20))
        self.assertEqual(f.inverses(elements), [f.inverse(element) for element in elements])
        self.assertRaises(ZeroDivisionError, f.inverse, 0)
        self.assertRaises(ZeroDivisionError, f.inverses, [1, 0])

    def test_roots_and_traces(self) -> None:
        """The root squares back; the half trace solves its equation wherever the trace is 0."""
        for curve in NAMED[:4]:
            f = curve.field
            for number in range(2, 12):
                a = f.widen(number**9)
                self.assertEqual(f.square(f.root(a)), a)
                z = f.half_trace(a)
                self.assertEqual(f.square(z) ^ z, a ^ f.trace(a))

    def test_small_field(self) -> None:
        """The eight elements of the field modulo x^3 + x + 1 multiply as on paper."""
        f = Field(3, (1,))
        x = f.widen(0b010)
        powers, power = [], 1
        for _ in range(7):
            power = f.mul(power, x)
            powers.append(f.narrow(power))
        self.assertEqual(powers, [0b010, 0b100, 0b011, 0b110, 0b111, 0b101, 0b001])


class CurveTests(SynchronousTestCase):
    """Points of all ten curves."""

    def test_base_points(self) -> None:
        """Every base point is on its curve and has the order of the standard."""
        for curve in NAMED:
            self.assertTrue(curve.contains(curve.base), curve.oid)
            self.assertTrue(curve.is_public_key(curve.base), curve.oid)
            self.assertEqual(curve.base_multiple(curve.n - 1), curve.negative(curve.base))
            self.assertIsNone(curve.base_multiple(curve.n))
            # Hasse: a curve has about as many points as its field has elements.
            self.assertLessEqual((curve.n * curve.cofactor - (1 << curve.m) - 1) ** 2, 4 << curve.m, curve.oid)

    def test_against_textbook(self) -> None:
        """Comb and windows give the sums of the textbook."""
        for curve in (NAMED[0], NAMED[2], DSTU_257):
            total = None
            for count in range(1, 40):
                total = slow_sum(curve, total, curve.base)
                self.assertEqual(curve.base_multiple(count), total)
                self.assertEqual(curve.multiple(count, curve.base), total)

    @settings(deadline=None, max_examples=15)
    @given(st.sampled_from(NAMED), st.integers(1), st.integers(1), st.integers(0, 2**64 - 1))
    def test_ways_agree(self, curve: Curve, s: int, r: int, blind: int) -> None:
        """Comb, windows and both together agree, and blinding changes nothing."""
        point = curve.base_multiple(s, blind)
        self.assertEqual(point, curve.base_multiple(s))
        self.assertEqual(point, curve.multiple(s % curve.n, curve.base))
        self.assertEqual(curve.combine(s, r % curve.n, curve.base), curve.base_multiple(s + r))

    def test_edges(self) -> None:
        """Nothing, one, the last and what is past the end come out as by windows, on every curve."""
        for curve in NAMED:
            place = 1 << curve._levels
            for scalar in (1, 2, place, curve.n - 1, curve.n, curve.n + 1):
                wanted = curve.multiple(scalar % curve.n, curve.base)
                self.assertEqual(curve.base_multiple(scalar), wanted, scalar)
                self.assertEqual(curve.base_multiple(scalar, 2**64 - 1), wanted, scalar)

    def test_sums(self) -> None:
        """Lists of points are added at once, also equal points, opposite ones and none."""
        curve = DSTU_257
        f = curve.field
        points: list[tuple[int, int]] = []
        for scalar in (1, 2, 3, 4, 5):
            point = curve.base_multiple(scalar)
            assert point is not None
            points.append((f.widen(point[0]), f.widen(point[1])))
        one, two, three, four, five = points
        back = one[0], one[0] ^ one[1]
        given = [[one, two], [one, one], [one, back], [], [five], [one, back, two], [one, one, two, one], [one] * 4]
        self.assertEqual(curve._sums(given), [three, two, None, None, five, two, five, four])

    def test_compression(self) -> None:
        """A compressed point comes back, and so does its negative, on every curve."""
        for curve in NAMED:
            for scalar in (1, 2, 3, 2**40 + 7):
                point = curve.base_multiple(scalar)
                assert point is not None
                for each in (point, curve.negative(point)):
                    packed = curve.compress(each)
                    self.assertEqual((curve.expand(packed), len(packed)), (each, curve.size))

    def test_point_of_order_two(self) -> None:
        """The point with x = 0 is its own negative, and no public key."""
        for curve in NAMED:
            point = curve.expand(bytes(curve.size))
            self.assertTrue(curve.contains(point))
            self.assertFalse(curve.is_public_key(point))
            self.assertEqual(curve.multiple(3, point), point)
            self.assertIsNone(curve.multiple(2, point))

    def test_points_beside_the_group(self) -> None:
        """A point of the curve outside the group of the base point is not a public key."""
        other = slow_sum(DSTU_257, DSTU_257.base, DSTU_257.expand(bytes(33)))
        assert other is not None
        self.assertTrue(DSTU_257.contains(other))
        self.assertFalse(DSTU_257.is_public_key(other))
        self.assertFalse(DSTU_257.contains((DSTU_257.base[0], DSTU_257.base[1] ^ 1)))
        self.assertFalse(DSTU_257.contains((DSTU_257.base[0] | 1 << 257, DSTU_257.base[1])))

    @settings(deadline=None, max_examples=60)
    @given(st.sampled_from(NAMED[:7]), st.binary(max_size=40))
    def test_any_bytes(self, curve: Curve, data: bytes) -> None:
        """Any bytes are a point of the curve or are refused as malformed."""
        try:
            point = curve.expand(data)
        except Malformed:
            return
        self.assertTrue(curve.contains(point))

    def test_lone_bit(self) -> None:
        """The lowest bit alone is a compressed point where 1 has the right trace, and malformed elsewhere."""
        for curve in NAMED:
            packed = b"\1" + bytes(curve.size - 1)
            if curve.a == 0:
                self.assertRaises(Malformed, curve.expand, packed)
            else:
                # x = 1: the equation is solvable when the trace of 1 + A + B is 0.
                solvable = curve.field.trace(curve.field.widen(curve.b)) == 0
                if solvable:
                    self.assertEqual(curve.expand(packed)[0], 1)
                else:
                    self.assertRaises(Malformed, curve.expand, packed)

    def test_own_parameters(self) -> None:
        """Written-out parameters name a known curve, at most with another base point; others are refused."""
        c = DSTU_257
        self.assertIs(with_base(c.m, c.ks, c.a, c.b, c.n, c.compress(c.base)), c)
        double = c.base_multiple(2)
        assert double is not None
        moved = with_base(c.m, c.ks, c.a, c.b, c.n, c.compress(double))
        self.assertEqual((moved.base, moved.oid), (double, ""))
        self.assertRaises(Malformed, with_base, c.m, c.ks, c.a, c.b ^ 1, c.n, c.compress(c.base))
        self.assertRaises(Malformed, with_base, c.m, c.ks, c.a, c.b, c.n + 2, c.compress(c.base))
        self.assertRaises(Malformed, with_base, c.m, c.ks, c.a, c.b, c.n, bytes(33))


class SignatureTests(SynchronousTestCase):
    """Signing and checking."""

    def test_vectors(self) -> None:
        """Published signatures are valid with their public keys; known secrets give the same signatures."""
        for vector in SIGNATURES:
            curve = curve_of(vector)
            size, hash = curve.scalar_size, digest(vector.message) if vector.message else vector.hash
            signature = b"".join(int(part, 16).to_bytes(size, "little") for part in (vector.r, vector.s))
            if vector.public:
                public = PublicKey(curve, curve.expand(bytes.fromhex(vector.public)))
                self.assertEqual(public.packed.hex(), vector.public, vector.source)
                self.assertTrue(public.verify(hash, signature), vector.source)
            if vector.d:
                key = PrivateKey(curve, int(vector.d, 16))
                self.assertTrue(key.public().verify(hash, signature), vector.source)
                self.assertIn(vector.public, ("", key.public().packed.hex()), vector.source)
                if vector.e:
                    self.assertEqual(key.sign_with(hash, int(vector.e, 16)), signature, vector.source)

    def test_all_curves_have_vectors(self) -> None:
        """No curve goes without a signature that others made."""
        self.assertEqual({vector.oid for vector in SIGNATURES}, {curve.oid for curve in NAMED})

    def test_published_key(self) -> None:
        """A published key packs into its bytes and has its identifier."""
        public = PrivateKey(DSTU_257, int(KEY_D, 16)).public()
        self.assertEqual(b"\x04\x21" + public.packed, bytes.fromhex(KEY_TLV))
        self.assertEqual(digest(bytes.fromhex(KEY_TLV)).hex(), KEY_ID)

    def test_round_trip(self) -> None:
        """A fresh key's signature is valid, on every curve."""
        for curve in NAMED:
            key = PrivateKey.generate(curve)
            self.assertTrue(key.public().verify(HASH, key.sign(HASH)), curve.oid)

    def test_any_change(self) -> None:
        """A changed hash, key, r or s is not valid, and neither are zeros, numbers over n or odd lengths."""
        key = PrivateKey.generate()
        public, signature = key.public(), key.sign(HASH)
        self.assertFalse(public.verify(digest(b"another text"), signature))
        self.assertFalse(PrivateKey.generate().public().verify(HASH, signature))
        for at in (0, 31, 32, 63):
            changed = bytearray(signature)
            changed[at] ^= 1
            self.assertFalse(public.verify(HASH, bytes(changed)))
        n = DSTU_257.n.to_bytes(32, "little")
        s = int.from_bytes(signature[32:], "little") + DSTU_257.n
        for wrong in (
            bytes(64),
            signature[:32] + bytes(32),
            bytes(32) + signature[32:],
            n + n,
            signature[:32] + bytes(1) + s.to_bytes(33, "little"),
            signature[:32] + b"\0" + s.to_bytes(33, "little"),
            signature[:63],
            b"",
            b"\1",
        ):
            self.assertFalse(public.verify(HASH, wrong), wrong.hex())

    def test_broken_randomness(self) -> None:
        """With constant randomness, two texts and two keys still get different secret numbers."""
        key = PrivateKey.generate()

        def stuck(count: int) -> bytes:
            return bytes(count)

        first, second = key.sign(HASH, stuck), key.sign(digest(b"another text"), stuck)
        self.assertEqual(first, key.sign(HASH, stuck))
        recovered = set()
        for signature, hash in ((first, HASH), (second, digest(b"another text"))):
            r, s = (int.from_bytes(half, "little") for half in (signature[:32], signature[32:]))
            recovered.add((s - key.d * r) % DSTU_257.n)
            self.assertTrue(key.public().verify(hash, signature))
        self.assertEqual(len(recovered), 2)
        self.assertNotEqual(PrivateKey.generate().sign(HASH, stuck)[:32], first[:32])

    def test_fresh_each_time(self) -> None:
        """Two signatures of one text differ: the machine's randomness takes part."""
        key = PrivateKey.generate()
        self.assertNotEqual(key.sign(HASH), key.sign(HASH))

    def test_hash_of_zeros(self) -> None:
        """A hash of zeros counts as one, so it can be signed; so does one whose low bits are zero."""
        key = PrivateKey.generate(NAMED[0])
        for hash in (bytes(32), bytes(31) + b"\x80"):
            signature = key.sign(hash)
            self.assertTrue(key.public().verify(hash, signature))
            self.assertTrue(key.public().verify(b"\1", signature))

    def test_unlucky_number(self) -> None:
        """A secret number that gives no point is not used."""
        key = PrivateKey.generate()
        self.assertIsNone(key.sign_with(HASH, 0))
        self.assertIsNone(key.sign_with(HASH, DSTU_257.n))

    def test_secret_stays_secret(self) -> None:
        """The text of a key does not contain its number, and numbers outside the group are refused."""
        key = PrivateKey(DSTU_257, 0xABCDEF0123456789)
        self.assertNotIn(str(key.d), f"{key!r}{key}{[key]}")
        self.assertNotIn(f"{key.d:x}", f"{key!r}{key}".lower())
        for d in (0, DSTU_257.n, -1):
            self.assertRaises(Malformed, PrivateKey, DSTU_257, d)

    def test_generation_covers_the_group(self) -> None:
        """Generating spreads what the machine gives over 1 to n - 1."""
        self.assertEqual(PrivateKey.generate(DSTU_257, bytes).d, 1)
        size = DSTU_257.scalar_size + 16
        highest = (DSTU_257.n - 2).to_bytes(size, "little")
        self.assertEqual(PrivateKey.generate(DSTU_257, lambda count: highest).d, DSTU_257.n - 1)


class SelfTestTests(SynchronousTestCase):
    """The check before the first signature."""

    def test_passes(self) -> None:
        """It passes here."""
        self_test.self_test()

    def test_fails(self) -> None:
        """One wrong answer, whichever, stops everything."""

        def wrong_hash(data: bytes) -> bytes:
            return hashlib.sha256(data).digest()

        def says_yes(self: PublicKey, hash: bytes, signature: bytes, by: object = None) -> bool:
            return True

        def says_no(self: PublicKey, hash: bytes, signature: bytes, by: object = None) -> bool:
            return False

        def wrong_block(self: Gost28147, data: bytes) -> bytes:
            return data

        def other_point(self: Curve, scalar: int, blind: int = 0) -> tuple[int, int]:
            return DSTU_257.base

        for place, name, fault in (
            (self_test, "digest", wrong_hash),
            (Gost28147, "decrypt_ecb", wrong_block),
            (PublicKey, "verify", says_yes),
            (PublicKey, "verify", says_no),
            (Curve, "base_multiple", other_point),
        ):
            patched = self.patch(place, name, fault)
            self.assertRaises(SelfTestFailed, self_test.self_test)
            patched.restore()
        self_test.self_test()
