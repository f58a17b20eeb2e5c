"""GOST 28147-89, against published results and itself."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal.crypto.errors import Malformed
from protocols.fiscal.crypto.gost28147 import DKE1, Gost28147, SBox
from tests.vectors.fiscal_crypto import CIPHERS, TEST_SBOX, ascending

KEY = ascending(32)


class VectorTests(SynchronousTestCase):
    """Published results."""

    def test_vectors(self) -> None:
        """Every mode gives the published bytes, and reading turns them back."""
        for vector in CIPHERS:
            cipher = Gost28147(vector.key, SBox(TEST_SBOX) if vector.test_sbox else DKE1)
            result = bytes.fromhex(vector.result)
            if vector.mode == "ecb":
                self.assertEqual(cipher.encrypt_ecb(vector.plain), result, vector.source)
                self.assertEqual(cipher.decrypt_ecb(result), vector.plain, vector.source)
            elif vector.mode == "cfb":
                self.assertEqual(cipher.encrypt_cfb(vector.start, vector.plain), result, vector.source)
                self.assertEqual(cipher.decrypt_cfb(vector.start, result), vector.plain, vector.source)
            else:
                self.assertEqual(cipher.mac(vector.plain), result, vector.source)

    def test_all_modes_have_vectors(self) -> None:
        """Every mode has a published result."""
        self.assertEqual({vector.mode for vector in CIPHERS}, {"ecb", "cfb", "mac"})


class ModeTests(SynchronousTestCase):
    """What holds for any bytes."""

    @settings(deadline=None, max_examples=60)
    @given(st.binary(min_size=32, max_size=32), st.binary(min_size=8, max_size=8), st.binary(max_size=60))
    def test_round_trips(self, key: bytes, start: bytes, plain: bytes) -> None:
        """What a mode encrypts it decrypts, at any length; lengths stay."""
        cipher = Gost28147(key)
        masked = cipher.encrypt_cfb(start, plain)
        self.assertEqual((cipher.decrypt_cfb(start, masked), len(masked)), (plain, len(plain)))
        whole = plain[: len(plain) // 8 * 8]
        self.assertEqual(cipher.decrypt_ecb(cipher.encrypt_ecb(whole)), whole)

    def test_beginning_decides(self) -> None:
        """A text cut in the middle of a block encrypts to the beginning of the whole one."""
        cipher, text = Gost28147(KEY), ascending(40)
        for cut in range(40):
            self.assertEqual(cipher.encrypt_cfb(bytes(8), text[:cut]), cipher.encrypt_cfb(bytes(8), text)[:cut])

    def test_mac_guards(self) -> None:
        """Any changed bit of the text or the key gives another MAC."""
        text, mac = ascending(24), Gost28147(KEY).mac(ascending(24))
        for bit in range(0, 192, 7):
            changed = int.from_bytes(text, "big") ^ 1 << bit
            self.assertNotEqual(Gost28147(KEY).mac(changed.to_bytes(24, "big")), mac)
        self.assertNotEqual(Gost28147(bytes(31) + b"\1").mac(text), mac)

    def test_wrong_lengths(self) -> None:
        """Keys, blocks, start vectors and S-boxes of other lengths are refused, not cut or filled."""
        cipher = Gost28147(KEY)
        self.assertRaises(Malformed, Gost28147, bytes(31))
        self.assertRaises(Malformed, cipher.encrypt_ecb, bytes(9))
        self.assertRaises(Malformed, cipher.encrypt_cfb, bytes(7), b"x")
        self.assertRaises(Malformed, SBox, bytes(63))
