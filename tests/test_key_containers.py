"""Key files: of other programs, our own, wrong passwords and damage."""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import UTC, datetime
from itertools import product

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal.crypto import der, jks_file, oids, pbes2, pkcs12_file
from protocols.fiscal.crypto.authority import Authority
from protocols.fiscal.crypto.curves import DSTU_257, NAMED, Curve
from protocols.fiscal.crypto.dstu4145 import PrivateKey
from protocols.fiscal.crypto.errors import CryptoError, Malformed, Unsupported, WrongPassword
from protocols.fiscal.crypto.gost28147 import DKE1
from protocols.fiscal.crypto.iit_file import open_iit, write_iit
from protocols.fiscal.crypto.jks_file import open_jks, write_jks
from protocols.fiscal.crypto.key_files import Kind, open_key_file
from protocols.fiscal.crypto.key_formats import read_private_keys, write_private_key, write_public_key
from protocols.fiscal.crypto.passwords import pkcs12_mac_key
from protocols.fiscal.crypto.pkcs12_file import mac_fits, write_pkcs12
from tests.vectors.fiscal_crypto import (
    AES_BODY,
    AES_ROUNDS,
    AES_SALT,
    AES_START,
    FILE_PASSWORD,
    IIT_FILE,
    JKS_FILE,
    MAC_KEYS,
    PBES2_BODY,
    PBES2_SALT,
    PBES2_START,
    TEST_D,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC)
AUTHORITY = Authority(NOW, NAMED[0])
OWNER = AUTHORITY.cashier("Касир", "12345678")
PLAIN = write_private_key(OWNER.key, explicit=True)
WORD = "пароль"

FEW = 3
"""Rounds of key derivation, where a test is not about their number."""

TEST_KEY = PrivateKey(DSTU_257, TEST_D)


def open_short(data: bytes, password: str) -> bytes:
    """The key in a file of IIT's that was written with `FEW` rounds."""
    fields = der.parse(data).fields()
    algorithm, encrypted = fields.take().fields(), fields.take().octets()
    algorithm.take()
    return open_iit(algorithm.take(), encrypted, password, FEW)


def aes_scheme(salt: bytes, rounds: int, start: bytes, prf: str, size: int) -> bytes:
    """The AlgorithmIdentifier of PBES2 with AES, as OpenSSL writes it (RFC 8018 A.4)."""
    (kind,) = [oid for oid, name in oids.HMAC_SHA.items() if name == prf]
    (cipher,) = [oid for oid, bytes_ in oids.AES_CBC.items() if bytes_ == size]
    values = [der.octets(salt), der.integer(rounds)]
    if prf != "sha1":
        # SHA-1 is the default, which DER leaves out.
        values.append(der.sequence(der.oid(kind), der.null()))
    derivation = der.sequence(der.oid(oids.PBKDF2), der.sequence(*values))
    encryption = der.sequence(der.oid(cipher), der.octets(start))
    return der.sequence(der.oid(oids.PBES2), der.sequence(derivation, encryption))


def pfx(shrouded: bytes, mac_key: bytes, salt: bytes) -> bytes:
    """A PKCS#12 file with one encrypted key and a MAC of SHA-256, as OpenSSL puts it together (RFC 7292)."""

    def tagged(kind: str, value: bytes) -> bytes:
        return der.sequence(der.oid(kind), der.element(der.context(0), value))

    safe = der.sequence(tagged(oids.DATA, der.octets(der.sequence(tagged(oids.SHROUDED_KEY_BAG, shrouded)))))
    value = hmac.digest(mac_key, safe, "sha256")
    stated = der.sequence(der.sequence(der.oid("2.16.840.1.101.3.4.2.1"), der.null()), der.octets(value))
    mac = der.sequence(stated, der.octets(salt), der.integer(AES_ROUNDS))
    return der.sequence(der.integer(3), tagged(oids.DATA, der.octets(safe)), mac)


class OthersTests(SynchronousTestCase):
    """Files that others made."""

    def test_iit(self) -> None:
        """A Key-6.dat opens, also with bytes after its end, as copies from tokens have them."""
        opened = open_key_file(IIT_FILE + bytes(7), FILE_PASSWORD)
        self.assertEqual((opened.kind, opened.keys, opened.certificates), (Kind.IIT, (TEST_KEY,), ()))

    def test_pbes2(self) -> None:
        """An encrypted PKCS#8 file opens, bare or in PEM."""
        scheme = pbes2.Scheme(PBES2_SALT, pbes2.ROUNDS, PBES2_START, DKE1)
        data = der.sequence(scheme.write(), der.octets(PBES2_BODY))
        name = b"ENCRYPTED PRIVATE KEY-----"
        pem = b"-----BEGIN " + name + b"\n" + base64.encodebytes(data) + b"-----END " + name + b"\n"
        opened = open_key_file(pem, FILE_PASSWORD)
        self.assertEqual((opened.kind, opened.keys), (Kind.PKCS8, (TEST_KEY,)))

    def test_aes(self) -> None:
        """A file with AES and HMAC with SHA-2 opens, bare or as PKCS#12 with a MAC of SHA-2."""
        scheme = aes_scheme(AES_SALT, AES_ROUNDS, AES_START, "sha256", 32)
        opened = open_key_file(der.sequence(scheme, der.octets(AES_BODY)), FILE_PASSWORD)
        self.assertEqual((opened.kind, opened.keys), (Kind.PKCS8, (TEST_KEY,)))
        data = pfx(der.sequence(scheme, der.octets(AES_BODY)), bytes.fromhex(MAC_KEYS["sha256"]), AES_SALT)
        opened = open_key_file(data, FILE_PASSWORD)
        self.assertEqual((opened.kind, opened.keys), (Kind.PKCS12, (TEST_KEY,)))
        self.assertTrue(mac_fits(data, FILE_PASSWORD))
        self.assertRaises(WrongPassword, open_key_file, data, "another")
        damaged = data.replace(AES_BODY, AES_BODY[:-16] + bytes(16))
        self.assertRaises(CryptoError, open_key_file, damaged, FILE_PASSWORD)
        cut = der.sequence(scheme, der.octets(AES_BODY[:-1]))
        self.assertRaises(Malformed, open_key_file, cut, FILE_PASSWORD)

    def test_mac_keys(self) -> None:
        """The key of a MAC is what OpenSSL derives, for each hash."""
        for name, key in MAC_KEYS.items():
            block = hashlib.new(name).block_size
            derived = pkcs12_mac_key(FILE_PASSWORD, AES_SALT, AES_ROUNDS, block, name)
            self.assertEqual(derived.hex(), key)

    def test_every_aes(self) -> None:
        """AES with each size of key and each hash opens; the library of the cipher made the files."""
        for size, name in product((16, 24, 32), oids.HMAC_SHA.values()):
            key = hashlib.pbkdf2_hmac(name, WORD.encode(), AES_SALT, FEW, size)
            padding = 16 - len(PLAIN) % 16
            cipher = Cipher(AES(key), CBC(AES_START)).encryptor()
            body = cipher.update(PLAIN + bytes([padding]) * padding) + cipher.finalize()
            data = der.sequence(aes_scheme(AES_SALT, FEW, AES_START, name, size), der.octets(body))
            self.assertEqual(open_key_file(data, WORD).keys, (OWNER.key,), (size, name))
            self.assertRaises(WrongPassword, open_key_file, data, "інший")

    def test_jks(self) -> None:
        """A Java key store opens with its key and its certificate."""
        opened = open_key_file(JKS_FILE, FILE_PASSWORD)
        self.assertEqual((opened.kind, opened.keys), (Kind.JKS, (TEST_KEY,)))
        (certificate,) = opened.certificates
        self.assertEqual(certificate.public_key, TEST_KEY.public())
        self.assertRaises(WrongPassword, open_key_file, JKS_FILE, "another")


class KeyFormatTests(SynchronousTestCase):
    """Keys without a password."""

    def test_round_trips(self) -> None:
        """A private key is read as it was written, on every curve, by its name or written out."""
        for curve in NAMED:
            key = PrivateKey(curve, 12345)
            for explicit in (False, True):
                self.assertEqual(read_private_keys(write_private_key(key, explicit)), [key])
        opened = open_key_file(PLAIN, "")
        self.assertEqual((opened.kind, opened.keys), (Kind.PKCS8, (OWNER.key,)))

    def test_second_key(self) -> None:
        """IIT's second key is read from the attributes: its bits and the bytes of its curve turned round."""
        second = PrivateKey(NAMED[9], 0x1234567890ABCDEF)
        opened = read_private_keys(with_second_key(second, second.curve))
        self.assertEqual(opened, [OWNER.key, second])

    def test_second_key_unread(self) -> None:
        """A second key on an unknown curve does not affect the first one."""
        second = PrivateKey(NAMED[9], 5)
        self.assertEqual(read_private_keys(with_second_key(second, None)), [OWNER.key])

    def test_others(self) -> None:
        """A key of another algorithm, of an unknown curve or with another S-box is named, not tried."""
        rsa = der.sequence(der.integer(0), der.sequence(der.oid("1.2.840.113549.1.1.1"), der.null()), der.octets(b""))
        named = der.sequence(der.oid("1.2.804.2.1.1.1.1.3.1.1.2.10"))
        sbox = der.sequence(der.oid(DSTU_257.oid), der.octets(bytes(64)))
        self.assertRaises(Unsupported, read_private_keys, rsa)
        for parameters in (named, sbox):
            algorithm = der.sequence(der.oid(oids.DSTU_4145_LE), parameters)
            data = der.sequence(der.integer(0), algorithm, der.octets(b"\1"))
            self.assertRaises(Unsupported, read_private_keys, data)

    def test_no_key(self) -> None:
        """A number outside the group is refused."""
        for number in (bytes(32), b"\xff" * 32):
            algorithm = der.sequence(der.oid(oids.DSTU_4145_LE), der.sequence(der.oid(DSTU_257.oid)))
            data = der.sequence(der.integer(0), algorithm, der.octets(number))
            self.assertRaises(Malformed, read_private_keys, data)

    def test_public_key_by_hand(self) -> None:
        """A public key is written as official certificates write it."""
        wanted = (
            "30 46 30 1e 06 0b 2a 86 24 02 01 01 01 01 03 01 01 30 0f 06 0d 2a 86 24 02 01 01 01 01 03 01 01 02 06"
            "03 24 00 04 21"
        )
        written = write_public_key(TEST_KEY.public())
        self.assertEqual(written[:39], bytes.fromhex(wanted))
        self.assertEqual(written[39:], TEST_KEY.public().packed)


def with_second_key(second: PrivateKey, curve: Curve | None) -> bytes:
    """`PLAIN` with a second key in the attributes, as IIT's programs write it."""

    def bits_turned(value: bytes) -> bytes:
        return bytes(sum((byte >> bit & 1) << 7 - bit for bit in range(8)) for byte in value)

    def attribute(oid: str, value: bytes) -> bytes:
        return der.sequence(der.oid(oid), der.set_of(value))

    if curve is None:
        parameters = der.sequence(der.oid("1.2.3"))
    else:
        field = der.sequence(der.integer(curve.m), der.sequence(*map(der.integer, (3, 1, 5))))
        parameters = der.sequence(
            der.sequence(
                field,
                der.integer(curve.a),
                der.octets(curve.b.to_bytes(curve.size, "big")),
                der.integer(curve.n),
                der.octets(curve.compress(curve.base)[::-1]),
            ),
            der.octets(DKE1.packed),
            der.octets(DKE1.packed),
        )
    number = second.d.to_bytes(second.curve.scalar_size, "little")
    attributes = attribute(oids.IIT_SECOND_CURVE, parameters) + attribute(
        oids.IIT_SECOND_KEY, der.bits(bits_turned(number))
    )
    return der.sequence(der.parse(PLAIN).content, der.element(der.context(0), attributes))


class IitTests(SynchronousTestCase):
    """Files of IIT's programs, by our own writer."""

    def test_round_trip(self) -> None:
        """What is written opens, whatever its length is over whole blocks."""
        for extra in range(9):
            plain = der.sequence(der.integer(0), bytes([5, 0]), der.octets(bytes(extra)))
            self.assertEqual(open_short(write_iit(plain, WORD, FEW), WORD), plain)

    def test_old_spelling(self) -> None:
        """A Ukrainian password works also where the file was made with it in Windows-1251."""
        data = write_iit(PLAIN, WORD.encode("cp1251").decode("latin-1"), FEW)
        self.assertRaises(WrongPassword, open_short, data, WORD)
        key = Recoded(WORD)
        self.assertEqual(open_short(write_iit(PLAIN, key, FEW), WORD), PLAIN)

    def test_wrong_password(self) -> None:
        """Another password is reported as wrong."""
        data = write_iit(PLAIN, WORD, FEW)
        for other in ("", "Пароль", "пароль ", "\ud800"):
            self.assertRaises(WrongPassword, open_short, data, other)

    def test_damage(self) -> None:
        """With the right password, damage anywhere in the key is reported as damage, not as a wrong password."""
        data = bytearray(write_iit(PLAIN, WORD, FEW))
        for at in range(len(data) - len(PLAIN), len(data)):
            data[at] ^= 1
            self.assertRaises(Malformed, open_short, bytes(data), WORD)
            data[at] ^= 1
        data[-20] ^= 1
        self.assertRaises(WrongPassword, open_short, bytes(data), "another")
        self.assertRaises(Malformed, open_key_file, bytes(data[:-1]), WORD)

    def test_lengths(self) -> None:
        """A check value or padding of a wrong length is damage."""
        for mac, pad, data in ((b"123", b"", bytes(8)), (b"1234", bytes(8), bytes(8)), (b"1234", b"", bytes(7))):
            parameters = der.parse(der.sequence(der.octets(mac), der.octets(pad)))
            self.assertRaises(Malformed, open_iit, parameters, data, WORD, FEW)


class Recoded(str):
    """A password that a program of old wrote in Windows-1251."""

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        """Always that encoding."""
        return super().encode("cp1251", errors)


class Pkcs12Tests(SynchronousTestCase):
    """PKCS#12, by our own writer."""

    def test_round_trip(self) -> None:
        """Keys and certificates come back, in PKCS#12 and as a bare encrypted key."""
        second = PrivateKey.generate(NAMED[0])
        data = write_pkcs12([PLAIN, write_private_key(second)], [OWNER.certificate], WORD, FEW)
        opened = open_key_file(data, WORD)
        self.assertEqual((opened.kind, opened.keys), (Kind.PKCS12, (OWNER.key, second)))
        self.assertEqual(opened.certificates, (OWNER.certificate,))
        self.assertTrue(mac_fits(data, WORD))
        bare = open_key_file(pbes2.write_pbes2(PLAIN, WORD, FEW), WORD)
        self.assertEqual((bare.kind, bare.keys), (Kind.PKCS8, (OWNER.key,)))

    def test_encrypted_certificates(self) -> None:
        """Certificates in an encrypted part are read, and unencrypted keys."""
        bag = der.sequence(
            der.oid(oids.CERTIFICATE_BAG),
            der.element(
                der.context(0),
                der.sequence(
                    der.oid(oids.X509_CERTIFICATE), der.element(der.context(0), der.octets(OWNER.certificate.raw))
                ),
            ),
        )
        key = der.sequence(der.oid(oids.KEY_BAG), der.element(der.context(0), PLAIN))
        scheme = pbes2.Scheme.new(FEW)
        encrypted = scheme.encrypt(der.sequence(bag, key), WORD.encode())
        info = der.sequence(
            der.oid(oids.DATA), scheme.write(), der.element(der.context(0, constructed=False), encrypted)
        )
        part = der.sequence(
            der.oid(oids.ENCRYPTED_DATA), der.element(der.context(0), der.sequence(der.integer(0), info))
        )
        safe = der.sequence(der.oid(oids.DATA), der.element(der.context(0), der.octets(der.sequence(part))))
        data = der.sequence(der.integer(3), safe)
        opened = open_key_file(data, WORD)
        self.assertEqual((opened.keys, opened.certificates), ((OWNER.key,), (OWNER.certificate,)))
        self.assertIsNone(mac_fits(data, WORD))
        self.assertRaises(WrongPassword, open_key_file, data, "another")

    def test_wrong_password(self) -> None:
        """Another password is reported as wrong, with and without certificates."""
        for certificates in ([], [OWNER.certificate]):
            data = write_pkcs12([PLAIN], certificates, WORD, FEW)
            self.assertRaises(WrongPassword, open_key_file, data, "another")
            self.assertFalse(mac_fits(data, "another"))
        self.assertRaises(WrongPassword, open_key_file, pbes2.write_pbes2(PLAIN, WORD, FEW), "another")

    def test_damage(self) -> None:
        """With the right password, damage anywhere in the encrypted key is reported as damage."""
        for plain in (PLAIN, write_private_key(OWNER.key)):
            data = write_pkcs12([plain], [], WORD, FEW)
            inside = data.index(DKE1.packed) + 64
            for at in range(inside + 3, inside + len(plain), 5):
                damaged = bytearray(data)
                damaged[at] ^= 0x55
                self.assertRaises(Malformed, open_key_file, bytes(damaged), WORD)
        bare = bytearray(pbes2.write_pbes2(PLAIN, WORD, FEW))
        bare[-len(PLAIN)] ^= 1
        self.assertRaises(Malformed, open_key_file, bytes(bare), WORD)

    def test_block_of_64(self) -> None:
        """A check value whose key was made with blocks of 64 bytes is right too: makers differ."""
        self.patch(pkcs12_file, "BLOCKS", (64,))
        self.assertFalse(mac_fits(write_pkcs12([PLAIN], [], WORD, FEW), WORD))

        def wide(word: str, salt: bytes, rounds: int, block: int = 64) -> bytes:
            return pkcs12_mac_key(word, salt, rounds, 64)

        patched = self.patch(pkcs12_file, "pkcs12_mac_key", wide)
        data = write_pkcs12([PLAIN], [], WORD, FEW)
        patched.restore()
        self.patch(pkcs12_file, "BLOCKS", (32, 64))
        self.assertTrue(mac_fits(data, WORD))

    def test_others(self) -> None:
        """Other ciphers, among them those of newer Ukrainian files, are named."""
        body = der.octets(bytes(16))
        for prf, cipher, name in (
            (oids.HMAC_GOST_34311, oids.DSTU_7624_256_CBC, "Kalyna"),
            (oids.HMAC_DSTU_7564_256, oids.GOST_28147_CFB, "Kupyna"),
        ):
            values = der.sequence(der.octets(bytes(32)), der.integer(FEW), der.sequence(der.oid(prf)))
            scheme = der.sequence(
                der.sequence(der.oid(oids.PBKDF2), values),
                der.sequence(der.oid(cipher), der.sequence(der.octets(bytes(8)))),
            )
            data = der.sequence(der.sequence(der.oid(oids.PBES2), scheme), body)
            error = self.assertRaises(Unsupported, open_key_file, data, WORD)
            self.assertIn(name, str(error))
        rsa = der.sequence(der.integer(0), der.sequence(der.oid("1.2.840.113549.1.1.1"), der.null()), der.octets(b""))
        error = self.assertRaises(Unsupported, open_key_file, write_pkcs12([rsa], [], WORD, FEW), WORD)
        self.assertIn("RSA", str(error))
        triple_des = der.sequence(der.sequence(der.oid("1.2.840.113549.1.12.1.3"), der.null()), body)
        self.assertRaises(Unsupported, open_key_file, triple_des, WORD)

    def test_trap(self) -> None:
        """A file that asks for a thousand million rounds, or for a number without end, is refused at once."""
        for rounds, error in ((10**9, Unsupported), (2**8000, Unsupported), (2**50_000, Malformed), (-5, Malformed)):
            scheme = pbes2.Scheme(bytes(32), rounds, bytes(8), DKE1)
            data = der.sequence(scheme.write(), der.octets(b"x"))
            self.assertRaises(error, open_key_file, data, WORD)


class JksTests(SynchronousTestCase):
    """The Java key store, by our own writer."""

    def make(self) -> bytes:
        """A store with two keys."""
        return write_jks([("first", PLAIN, [OWNER.certificate]), ("друга", write_private_key(TEST_KEY), [])], WORD)

    def test_round_trip(self) -> None:
        """Keys and certificates come back in their order."""
        opened = open_key_file(self.make(), WORD)
        self.assertEqual((opened.keys, opened.certificates), ((OWNER.key, TEST_KEY), (OWNER.certificate,)))
        self.assertEqual([entry.alias for entry in jks_file.read_entries(self.make())], ["first", "друга"])

    def test_wrong_password(self) -> None:
        """Another password is reported as wrong."""
        for other in ("", "another", "\ud800"):
            self.assertRaises(WrongPassword, open_jks, self.make(), other)

    def test_own_password_of_the_key(self) -> None:
        """Where the store opens and the key in it does not, the password is reported as wrong."""
        data = self.make()
        inner = write_jks([("first", PLAIN, [])], "another")
        entries = jks_file.read_entries(inner)
        mixed = write_jks([("first", PLAIN, [])], WORD)
        mixed = mixed.replace(jks_file.read_entries(mixed)[0].protected, entries[0].protected)[:-20]
        mixed += hashlib.sha1(WORD.encode("utf-16-be") + b"Mighty Aphrodite" + mixed).digest()
        self.assertRaises(WrongPassword, open_jks, mixed, WORD)
        self.assertTrue(open_jks(data, WORD))

    def test_damage(self) -> None:
        """With the right password any changed byte is damage; a store cut anywhere is damage by any password."""
        data = self.make()
        for at in (20, len(data) - 1, data.index(OWNER.certificate.raw) + 100):
            damaged = bytearray(data)
            damaged[at] ^= 1
            self.assertRaises(Malformed, open_jks, bytes(damaged), WORD)
        for cut in range(4, len(data), 37):
            self.assertRaises(Malformed, open_jks, data[:cut], WORD)

    def test_others(self) -> None:
        """Stores of other kinds and versions are named."""
        data = self.make()
        self.assertRaises(Unsupported, open_key_file, jks_file.JCEKS_MAGIC + data[4:], WORD)
        self.assertRaises(Unsupported, open_key_file, data[:7] + b"\3" + data[8:], WORD)
        protected = jks_file.read_entries(data)[0].protected
        foreign = protected.replace(der.oid(oids.JKS_KEY_PROTECTOR), der.oid("1.3.6.1.4.1.42.2.17.1.2"))
        self.assertRaises(Unsupported, open_jks, data.replace(protected, foreign), WORD)

    def test_certificates_alone(self) -> None:
        """Entries that hold a certificate without a key are read; entries of other kinds are damage."""
        name, kind = b"\0\2ca", b"\0\5X.509"
        raw = AUTHORITY.root.certificate.raw
        for tag in (2, 3):
            entry = bytes([0, 0, 0, tag]) + name + bytes(8) + kind + len(raw).to_bytes(4, "big") + raw
            body = jks_file.MAGIC + bytes([0, 0, 0, 2, 0, 0, 0, 1]) + entry
            data = body + hashlib.sha1(WORD.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()
            if tag == 2:
                self.assertEqual(open_jks(data, WORD), ([], [AUTHORITY.root.certificate]))
            else:
                self.assertRaises(Malformed, open_jks, data, WORD)

    def test_cut_key(self) -> None:
        """A protected key too short for its salt and check value is damage."""
        data = write_jks([("first", b"", [])], WORD)
        protected = jks_file.read_entries(data)[0].protected
        algorithm, body = der.parse(protected).children()
        short = der.sequence(algorithm.raw, der.octets(body.content[:-1]))
        cut = data.replace(len(protected).to_bytes(4, "big") + protected, len(short).to_bytes(4, "big") + short)
        self.assertRaises(Malformed, open_jks, cut, WORD)


class AnyBytesTests(SynchronousTestCase):
    """Anything but a key file."""

    def setUp(self) -> None:
        """Derivation from passwords is not what these tests are about."""
        self.patch(pbes2, "pbkdf2", lambda password, salt, rounds: bytes(32))
        self.patch(pkcs12_file, "pkcs12_mac_key", lambda *arguments: bytes(32))

    def opened(self, data: bytes) -> None:
        """Open and ignore each `CryptoError`; anything else fails the test."""
        try:
            open_key_file(data, WORD)
        except CryptoError:
            return

    def test_other_files(self) -> None:
        """Empty files, texts and certificates are not key files."""
        for data in (b"", b"key", b"\x30", b"\x30\x00", OWNER.certificate.raw, jks_file.MAGIC):
            self.assertRaises(CryptoError, open_key_file, data, WORD)

    @settings(deadline=None, max_examples=200)
    @given(st.binary(max_size=60))
    def test_any_bytes(self, data: bytes) -> None:
        """Any bytes are a key file or raise a `CryptoError`."""
        for whole in (data, der.sequence(data), der.sequence(der.integer(3), data), jks_file.MAGIC + data):
            self.opened(whole)

    @settings(deadline=None, max_examples=150)
    @given(st.data())
    def test_any_damage(self, data: st.DataObject) -> None:
        """A key file with any byte changed opens or raises a `CryptoError`."""
        for whole in SAMPLES:
            raw = bytearray(whole)
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
            self.opened(bytes(raw))


SAMPLES = (
    write_pkcs12([PLAIN], [OWNER.certificate], WORD, FEW),
    pbes2.write_pbes2(PLAIN, WORD, FEW),
    write_jks([("first", PLAIN, [OWNER.certificate])], WORD),
    PLAIN,
)
"""Whole files, to be damaged."""
