"""GOST 34.311-95 and what is built on it: HMAC and keys from passwords."""

from __future__ import annotations

import os
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal.crypto import gost34311_words, passwords
from protocols.fiscal.crypto.errors import Malformed, Unsupported
from protocols.fiscal.crypto.gost28147 import DKE1, SBox, Tables
from protocols.fiscal.crypto.gost34311 import HEAD, SWITCH, Gost34311, Mix, chosen, digest, mixed
from tests.vectors.fiscal_crypto import HASHES, IIT_KEY_3, PBKDF2_5, TEST_SBOX, ascending


class FormTests(SynchronousTestCase):
    """The two forms of the step: in plain Python, and in words of 32 bits, which packages contain compiled."""

    def test_vectors(self) -> None:
        """With both every published hash comes out, with the S-box of Ukraine and that of the standard's examples."""
        for mix in (mixed, gost34311_words.mixed):
            for vector in HASHES:
                sbox = SBox(TEST_SBOX) if vector.test_sbox else DKE1
                self.assertEqual(Gost34311(vector.message, sbox, mix).digest().hex(), vector.digest, vector.source)

    @settings(deadline=None, max_examples=60)
    @given(st.binary(min_size=32, max_size=32), st.lists(st.binary(min_size=32, max_size=32), max_size=4))
    def test_alike(self, state: bytes, blocks: list[bytes]) -> None:
        """Both mix alike, whatever the state and the blocks are."""
        data = b"".join(blocks)
        self.assertEqual(gost34311_words.mixed(DKE1.tables, state, data), mixed(DKE1.tables, state, data))


class Compiled(ModuleType):
    """Passes for the compiled module."""

    def __init__(self, mix: Mix, file: str = f"words{EXTENSION_SUFFIXES[0]}") -> None:
        super().__init__("words")
        self.mixed, self.__file__ = mix, file


def right(tables: Tables, state: bytes, blocks: bytes) -> bytes:
    """What a compiled step gives."""
    return mixed(tables, state, blocks)


class ChoiceTests(SynchronousTestCase):
    """The form that is used."""

    def setUp(self) -> None:
        """The switch is not set."""
        self.patch(os, "environ", {name: value for name, value in os.environ.items() if name != SWITCH})

    def test_right(self) -> None:
        """A compiled step is used when it gives what plain Python gives."""
        self.assertIs(chosen(lambda: Compiled(right)), right)

    def test_wrong(self) -> None:
        """One that calculates wrongly, or cannot be loaded, is not used: hashes stay right."""
        self.assertIs(chosen(lambda: Compiled(lambda *given: right(*given)[::-1])), mixed)

        def broken() -> ModuleType:
            raise ImportError("made for another processor")

        self.assertIs(chosen(broken), mixed)

    def test_not_compiled(self) -> None:
        """Without a compiler plain Python hashes, for it is faster than the words interpreted."""
        self.assertIs(chosen(lambda: Compiled(right, "words.py")), mixed)

    def test_switched_off(self) -> None:
        """An environment variable switches the compiled form off."""
        os.environ[SWITCH] = "off"
        self.assertIs(chosen(lambda: Compiled(right)), mixed)


class HashTests(SynchronousTestCase):
    """The hash of texts that come whole or in pieces."""

    @settings(deadline=None, max_examples=60)
    @given(st.lists(st.binary(max_size=50), max_size=6))
    def test_pieces(self, pieces: list[bytes]) -> None:
        """A text fed in pieces has the hash of the whole, also when the hash is asked for in between."""
        fed = Gost34311()
        for piece in pieces:
            fed.update(piece)
            fed.digest()
        self.assertEqual(fed.digest(), digest(b"".join(pieces)))

    def test_heads(self) -> None:
        """Texts with equal and different starts have the same hashes as piece by piece."""
        for head in (b"a" * HEAD, b"b" * HEAD):
            for rest in (b"", b"c", b"d" * 100):
                pieces = Gost34311(head)
                pieces.update(rest)
                self.assertEqual(digest(head + rest), pieces.digest())

    def test_copy(self) -> None:
        """A copy goes on by itself."""
        first = Gost34311(b"a" * 40)
        second = first.copy()
        second.update(b"b")
        self.assertEqual(first.digest(), digest(b"a" * 40))
        self.assertEqual(second.digest(), digest(b"a" * 40 + b"b"))


class PasswordTests(SynchronousTestCase):
    """Keys from passwords."""

    def test_iit(self) -> None:
        """The repeated hash of a password is that of others."""
        self.assertEqual(passwords.iit_key(b"password", 3).hex(), IIT_KEY_3)

    def test_pbkdf2(self) -> None:
        """PBKDF2 over HMAC is that of others."""
        self.assertEqual(passwords.pbkdf2(b"password", ascending(32), 5).hex(), PBKDF2_5)

    def test_hmac_long_key(self) -> None:
        """A key longer than a block counts as its hash."""
        key = ascending(33)
        self.assertEqual(passwords.Hmac(key).digest(b"x"), passwords.Hmac(digest(key)).digest(b"x"))

    def test_hmac_by_hand(self) -> None:
        """HMAC is the hash of the masked key with the hash of the masked key with the text (RFC 2104)."""
        key, text = ascending(32), b"some text"
        inner = digest(bytes(byte ^ 0x36 for byte in key) + text)
        wanted = digest(bytes(byte ^ 0x5C for byte in key) + inner)
        self.assertEqual(passwords.Hmac(key).digest(text), wanted)

    def test_pkcs12_by_hand(self) -> None:
        """The MAC key is the repeated hash of 3s, salt and password with its end, each filled up to blocks."""
        typed = bytes.fromhex("0061 0062 0000")
        text = bytes([3]) * 32 + b"salt" * 8 + (typed * 6)[:32]
        self.assertEqual(passwords.pkcs12_mac_key("ab", b"salt", 2), digest(digest(text)))

    def test_spellings(self) -> None:
        """A password with Ukrainian letters is tried as UTF-8 and as Windows-1251; half a character as nothing."""
        self.assertEqual(passwords.spellings("abc"), [b"abc"])
        self.assertEqual(passwords.spellings("їґ"), ["їґ".encode(), b"\xbf\xb4"])
        self.assertEqual(passwords.spellings("日"), ["日".encode()])
        self.assertEqual(passwords.spellings("\ud800"), [])

    def test_rounds(self) -> None:
        """No rounds are a damaged file, millions are a trap: neither is worked on."""
        passwords.check_rounds(10_000)
        self.assertRaises(Malformed, passwords.check_rounds, 0)
        self.assertRaises(Unsupported, passwords.check_rounds, 10**9)
