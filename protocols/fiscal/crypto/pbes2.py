"""Keys encrypted as in PKCS#5, with Ukrainian algorithms or with AES (docs/reference/cryptography.md#key-files).

::

    SEQUENCE { SEQUENCE { OID PBES2, SEQUENCE {
        SEQUENCE { OID PBKDF2, SEQUENCE { OCTETS salt, rounds, SEQUENCE { OID HMAC-GOST 34.311 } } },
        SEQUENCE { OID GOST 28147 CFB, SEQUENCE { OCTETS start vector(8), OCTETS S-box(64) } } } }, OCTETS data }

In containers of other programs HMAC with SHA-1 or SHA-2, and AES in CBC mode with its start vector(16), stand in
place of these two. There is no check value: only the decrypted bytes show a wrong password.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

from protocols.fiscal.crypto import der, oids
from protocols.fiscal.crypto.der import Element
from protocols.fiscal.crypto.errors import Malformed
from protocols.fiscal.crypto.gost28147 import DKE1, Gost28147, SBox
from protocols.fiscal.crypto.gost34311 import SIZE
from protocols.fiscal.crypto.passwords import check_rounds, pbkdf2, spellings

ROUNDS = 10_000
"""As in files in use."""


@dataclass(frozen=True)
class Scheme:
    """Parameters of an encryption.

    :param prf: what derives the key, :param cipher: what it encrypts with.
    """

    salt: bytes
    rounds: int
    start: bytes
    sbox: SBox = DKE1
    prf: str = oids.HMAC_GOST_34311
    cipher: str = oids.GOST_28147_CFB

    @classmethod
    def read(cls, parameters: Element) -> Scheme:
        """The parameters of PBES2.

        :raises Malformed: when they cannot be read.
        :raises Unsupported: for other algorithms, such as Kupyna and Kalyna in newer files.
        """
        fields = parameters.fields(der.SEQUENCE)
        derivation, cipher = fields.take().fields(der.SEQUENCE), fields.take().fields(der.SEQUENCE)
        oids.expect(derivation.take().oid(), oids.PBKDF2)
        values = derivation.take().fields(der.SEQUENCE)
        salt, rounds = values.take().octets(), values.take().integer()
        values.maybe(der.INTEGER)
        prf = values.take().fields(der.SEQUENCE).take().oid() if values.peek() == der.SEQUENCE else oids.HMAC_SHA1
        if prf not in oids.HMAC_SHA:
            oids.expect(prf, oids.HMAC_GOST_34311)
        check_rounds(rounds)
        name = cipher.take().oid()
        if name in oids.AES_CBC:
            return cls(salt, rounds, cipher.take().octets(), prf=prf, cipher=name)
        oids.expect(name, oids.GOST_28147_CFB)
        values = cipher.take().fields(der.SEQUENCE)
        start = values.take().octets()
        sbox = values.maybe(der.OCTET_STRING)
        return cls(salt, rounds, start, SBox(sbox.content) if sbox else DKE1, prf)

    @classmethod
    def new(cls, rounds: int = ROUNDS) -> Scheme:
        """A scheme for a new file."""
        return cls(secrets.token_bytes(32), rounds, secrets.token_bytes(8), DKE1)

    def write(self) -> bytes:
        """The AlgorithmIdentifier."""
        prf = der.sequence(der.oid(oids.HMAC_GOST_34311), der.null())
        derivation = der.sequence(der.octets(self.salt), der.integer(self.rounds), prf)
        cipher = der.sequence(der.octets(self.start), der.octets(self.sbox.packed))
        return der.sequence(
            der.oid(oids.PBES2),
            der.sequence(
                der.sequence(der.oid(oids.PBKDF2), derivation), der.sequence(der.oid(oids.GOST_28147_CFB), cipher)
            ),
        )

    def decrypt(self, data: bytes, password: bytes) -> bytes:
        """The plain form of ``data``, if the password is right."""
        if self.cipher not in oids.AES_CBC:
            return Gost28147(self._key(password), self.sbox).decrypt_cfb(self.start, data)
        if not data or len(data) % 16:
            raise Malformed("the encrypted part of the key file is cut")
        cipher = Cipher(AES(self._key(password)), CBC(self.start)).decryptor()
        padded = cipher.update(data) + cipher.finalize()
        # With a wrong password the padding is anything; what is left then is no key either.
        return padded[: -padded[-1]]

    def encrypt(self, data: bytes, password: bytes) -> bytes:
        """The reverse of `decrypt`, with the Ukrainian cipher."""
        return Gost28147(self._key(password), self.sbox).encrypt_cfb(self.start, data)

    @property
    def start_size(self) -> int:
        """Bytes of the start vector."""
        return 16 if self.cipher in oids.AES_CBC else 8

    def _key(self, password: bytes) -> bytes:
        if self.prf not in oids.HMAC_SHA:
            return pbkdf2(password, self.salt, self.rounds)[: oids.AES_CBC.get(self.cipher)]
        size = oids.AES_CBC.get(self.cipher, SIZE)
        return hashlib.pbkdf2_hmac(oids.HMAC_SHA[self.prf], password, self.salt, self.rounds, size)


def candidates(parameters: Element, data: bytes, password: str) -> Iterator[bytes]:
    """The decrypted bytes for each spelling of the password. Each takes seconds, so stop at the first valid one.

    :raises Malformed: and :raises Unsupported: as `Scheme.read`.
    """
    scheme = Scheme.read(parameters)
    if len(scheme.start) != scheme.start_size:
        raise Malformed(f"a start vector has {scheme.start_size} bytes, not {len(scheme.start)}")
    for spelling in spellings(password):
        yield scheme.decrypt(data, spelling)


def is_whole(plain: bytes) -> bool:
    """Whether it is exactly one sequence, as a correctly decrypted key or bag is."""
    try:
        return der.parse(plain).tag == der.SEQUENCE
    except Malformed:
        return False


def write_pbes2(pkcs8: bytes, password: str, rounds: int = ROUNDS) -> bytes:
    """An encrypted PKCS#8 key, as in a ``.pk8`` file or a bag of PKCS#12."""
    scheme = Scheme.new(rounds)
    return der.sequence(scheme.write(), der.octets(scheme.encrypt(pkcs8, password.encode())))
