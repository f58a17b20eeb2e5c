"""Points multiplied by the machine's libcrypto: right on every curve, or not at all."""

from __future__ import annotations

import ctypes
import os
from typing import Any
from unittest import SkipTest

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal.crypto import libcrypto, self_test
from protocols.fiscal.crypto.arithmetic import PLAIN, Accelerated
from protocols.fiscal.crypto.curves import DSTU_257, NAMED, Curve, by_oid, with_base
from protocols.fiscal.crypto.dstu4145 import PrivateKey, PublicKey
from protocols.fiscal.crypto.errors import SelfTestFailed
from protocols.fiscal.crypto.gost34311 import digest
from protocols.fiscal.crypto.libcrypto import Libcrypto, load, names
from protocols.fiscal.crypto.self_test import SWITCH, accelerated, known_answers
from tests.vectors.fiscal_crypto import SIGNATURES

HASH = digest(b"a text")


def library() -> Libcrypto:
    """The machine's library.

    :raises SkipTest: when it has none with these curves.
    """
    try:
        return load()
    except SelfTestFailed as why:
        raise SkipTest(str(why)) from None


class LibraryTests(SynchronousTestCase):
    """What the machine's library calculates."""

    def setUp(self) -> None:
        """The library, not yet trusted."""
        self.machine = Accelerated(library())

    def test_vectors(self) -> None:
        """Every published signature on a named curve holds, and the published keys come out."""
        seen = set()
        for vector in SIGNATURES:
            curve = by_oid(vector.oid)
            assert curve is not None
            if vector.base is not None or not vector.public:
                continue
            seen.add(curve.m)
            public = PublicKey(curve, curve.expand(bytes.fromhex(vector.public)))
            size = curve.scalar_size
            r, s = (int(part, 16).to_bytes(size, "little") for part in (vector.r, vector.s))
            self.assertTrue(public.verify(vector.hash, r + s, self.machine), vector.source)
            self.assertFalse(public.verify(vector.hash, s + r, self.machine), vector.source)
            if vector.d:
                self.assertEqual(PrivateKey(curve, int(vector.d, 16)).public(by=self.machine), public, vector.source)
        self.assertEqual(seen, {curve.m for curve in NAMED})

    @settings(deadline=None, max_examples=30)
    @given(st.sampled_from(NAMED), st.integers(0), st.integers(0), st.integers(1, 2**64))
    def test_as_plain(self, curve: Curve, s: int, r: int, blind: int) -> None:
        """It comes to what plain Python comes to, whatever is multiplied."""
        point = PLAIN.base_multiple(curve, 7)
        assert point is not None
        self.assertEqual(self.machine.base_multiple(curve, s, blind), PLAIN.base_multiple(curve, s))
        r %= curve.n
        self.assertEqual(self.machine.combine(curve, s, r, point), PLAIN.combine(curve, s, r, point))

    def test_edges(self) -> None:
        """Zero and the order lead nowhere, one less than the order to the negative."""
        for curve in NAMED:
            self.machine.prove(curve)
            for s in (0, curve.n, 2 * curve.n):
                self.assertIsNone(self.machine.base_multiple(curve, s))
            self.assertEqual(self.machine.base_multiple(curve, curve.n - 1), curve.negative(curve.base))

    def test_signs(self) -> None:
        """What one way signs the other one finds right."""
        for curve in (NAMED[0], DSTU_257, NAMED[9]):
            key = PrivateKey.generate(curve)
            for by, judge in ((self.machine, PLAIN), (PLAIN, self.machine)):
                signature = key.sign(HASH, by=by)
                self.assertTrue(key.public().verify(HASH, signature, judge))
                self.assertFalse(key.public().verify(digest(HASH), signature, judge))

    def test_other_base(self) -> None:
        """Plain Python multiplies on a curve with another base point."""
        c = DSTU_257
        double = c.base_multiple(2)
        assert double is not None
        other = with_base(c.m, c.ks, c.a, c.b, c.n, c.compress(double))
        self.assertEqual(self.machine.base_multiple(other, 3), c.base_multiple(6))

    def test_known_answers(self) -> None:
        """The machine's library reproduces the known answers, and is named."""
        known_answers(self.machine)
        self.assertIn("SSL", self.machine.name)


class Faulty(Libcrypto):
    """A library that calculates correctly until `wrong` is set."""

    wrong = False

    def combine(self, curve: Curve, s: int, r: int = 0, point: Any = None) -> Any:
        """The right point, or its negative."""
        made = super().combine(curve, s, r, point)
        return curve.negative(made) if self.wrong and made is not None else made


class DistrustTests(SynchronousTestCase):
    """A library that is missing, crippled or wrong."""

    def setUp(self) -> None:
        """A library that can go wrong."""
        library()
        self.library = Faulty(ctypes.CDLL(next(name for name in names() if _opens(name))))

    def test_wrong_from_the_start(self) -> None:
        """A library with wrong answers is refused, and plain Python calculates."""
        self.library.wrong = True
        self.patch(self_test, "load", lambda: self.library)
        self.assertRaises(SelfTestFailed, accelerated)
        self.assertEqual(len(self.flushLoggedErrors()), 0)

    def test_wrong_later(self) -> None:
        """A curve that it does not know, or a result off the curve, ends its use for good; results stay right."""
        machine = Accelerated(self.library)
        self.assertEqual(machine.base_multiple(DSTU_257, 5), DSTU_257.base_multiple(5))

        def off_the_curve(number: int, size: int) -> int:
            return 5

        self.patch(self.library, "_value", off_the_curve)
        self.assertEqual(machine.base_multiple(DSTU_257, 6), DSTU_257.base_multiple(6))
        self.assertRaises(SelfTestFailed, machine.prove, DSTU_257)
        machine = Accelerated(self.library)
        self.assertEqual(machine.base_multiple(NAMED[0], 6), NAMED[0].base_multiple(6))

    def test_refusals(self) -> None:
        """A library that refuses a call is not asked again, and nothing is answered with half a result."""
        for name in ("EC_GROUP_new_curve_GF2m", "EC_POINT_mul", "BN_lebin2bn"):
            broken = Libcrypto(ctypes.CDLL(next(name for name in names() if _opens(name))))
            broken._call[name] = lambda *arguments: 0
            self.assertRaises(SelfTestFailed, Accelerated(broken).prove, DSTU_257)
            self.assertEqual(Accelerated(broken).base_multiple(DSTU_257, 3), DSTU_257.base_multiple(3))

    def test_missing(self) -> None:
        """No library, or one that was built without these curves, is named in the error."""
        failed = self.assertRaises(SelfTestFailed, load, ("libnothing.so.9",))
        self.assertIn("no libcrypto", str(failed))

        class Small:
            """A library without curves over 2**m."""

            OpenSSL_version = BN_new = BN_lebin2bn = BN_bn2lebinpad = BN_clear_free = ctypes.CFUNCTYPE(None)()

        failed = self.assertRaises(SelfTestFailed, load, ("small",), lambda name: Small())
        self.assertIn("small has no curves", str(failed))

    def test_switched_off(self) -> None:
        """An environment variable switches the library off."""
        self.patch(os, "environ", {**os.environ, SWITCH: "off"})
        self.assertIn(SWITCH, str(self.assertRaises(SelfTestFailed, accelerated)))

    def test_names(self) -> None:
        """It is looked for under exact versions, on every system."""
        for platform in ("linux", "win32", "darwin"):
            self.assertTrue(all("3" in name or "1" in name for name in names(platform)))
        self.patch(libcrypto, "names", lambda: ("libnothing.so.9",))
        self.assertRaises(SelfTestFailed, load)


def _opens(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True
