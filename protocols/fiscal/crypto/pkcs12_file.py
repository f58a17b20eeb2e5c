"""``.pfx`` and ``.p12``: keys and certificates in one file, the Ukrainian way (RFC 7292).

::

    PFX { 3, data { SafeContents, or encrypted SafeContents … },
        MAC { { hash algorithm, OCTETS }, OCTETS salt, rounds } }

Each SafeContents is a row of bags: encrypted keys, keys, certificates. The MAC is HMAC over all of them with a key of
the password. With GOST 34.311, SHA-1 and SHA-2 it distinguishes a wrong password from a damaged file.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from protocols.fiscal.crypto import der, oids, pbes2
from protocols.fiscal.crypto.certificates import Certificate, read_certificate
from protocols.fiscal.crypto.der import Element, Fields
from protocols.fiscal.crypto.errors import Unsupported, not_opened
from protocols.fiscal.crypto.key_formats import shows_a_key
from protocols.fiscal.crypto.passwords import Hmac, check_rounds, pkcs12_mac_key

BLOCKS = (32, 64)
"""The sizes that programs use as the block of GOST 34.311 for the key of the MAC."""


@dataclass
class Contents:
    """What was found in a file, before its keys are read.

    :param keys: PKCS#8, :param opened: whether some decrypted part shows the right password, :param closed: whether
        some part did not decrypt.
    """

    keys: list[bytes] = field(default_factory=list, repr=False)
    certificates: list[Certificate] = field(default_factory=list)
    opened: bool = False
    closed: bool = False


def open_pkcs12(fields: Fields, password: str) -> Contents:
    """Keys and certificates of a PFX whose version is already read.

    :raises Malformed: when the file is damaged.
    :raises WrongPassword: when the password does not open it.
    :raises Unsupported: when it is encrypted in another way.
    """
    safe = _data(fields.take())
    mac = fields.maybe(der.SEQUENCE)
    found = Contents()
    for part in der.parse(safe).expect(der.SEQUENCE).children():
        contents = _safe_contents(part, password, found)
        for bag in der.parse(contents).children() if contents else []:
            _read_bag(bag, password, found)
    if found.closed:
        raise not_opened(found.opened or bool(_mac_fits(mac, safe, password)))
    return found


def mac_fits(data: bytes, password: str) -> bool | None:
    """Whether the MAC of a file is right; ``None`` when it has none or cannot be checked.

    :raises Malformed: when the bytes are not a PFX.
    """
    fields = der.parse_first(data).fields(der.SEQUENCE)
    fields.take(der.INTEGER)
    safe = _data(fields.take())
    return _mac_fits(fields.maybe(der.SEQUENCE), safe, password)


def _mac_fits(mac: Element | None, safe: bytes, password: str) -> bool | None:
    if mac is None:
        return None
    fields = mac.fields()
    stated = fields.take().fields(der.SEQUENCE)
    kind = stated.take().fields(der.SEQUENCE).take().oid()
    if kind != oids.GOST_34311 and kind not in oids.SHA:
        return None
    value, salt = stated.take().octets(), fields.take().octets()
    rounds = fields.take().integer() if fields.peek() == der.INTEGER else 1
    check_rounds(rounds)
    if kind in oids.SHA:
        sha = oids.SHA[kind]
        key = pkcs12_mac_key(password, salt, rounds, hashlib.new(sha).block_size, sha)
        return hmac.compare_digest(hmac.digest(key, safe, sha), value)
    return any(
        hmac.compare_digest(Hmac(pkcs12_mac_key(password, salt, rounds, block)).digest(safe), value)
        for block in BLOCKS
    )


def _data(element: Element) -> bytes:
    """The content of a ContentInfo of plain data."""
    fields = element.fields(der.SEQUENCE)
    if (kind := fields.take().oid()) != oids.DATA:
        raise Unsupported(f"a key file of {oids.name_of(kind)}")
    return fields.take(der.context(0)).fields().take().octets()


def _opened(algorithm: Element, data: bytes, password: str, found: Contents) -> bytes | None:
    fields = algorithm.fields(der.SEQUENCE)
    oids.expect(fields.take().oid(), oids.PBES2)
    for plain in pbes2.candidates(fields.take(), data, password):
        if pbes2.is_whole(plain):
            found.opened = True
            return plain
        found.opened = found.opened or shows_a_key(plain)
    found.closed = True
    return None


def _safe_contents(part: Element, password: str, found: Contents) -> bytes | None:
    fields = part.fields(der.SEQUENCE)
    kind = fields.take().oid()
    if kind == oids.DATA:
        return fields.take(der.context(0)).fields().take().octets()
    oids.expect(kind, oids.ENCRYPTED_DATA)
    encrypted = fields.take(der.context(0)).fields().take().fields(der.SEQUENCE)
    encrypted.take(der.INTEGER)
    info = encrypted.take().fields(der.SEQUENCE)
    info.take(der.OID)
    algorithm = info.take()
    return _opened(algorithm, info.take(der.context(0, constructed=False)).content, password, found)


def _read_bag(bag: Element, password: str, found: Contents) -> None:
    fields = bag.fields(der.SEQUENCE)
    kind, value = fields.take().oid(), fields.take(der.context(0)).fields().take(der.SEQUENCE)
    if kind == oids.KEY_BAG:
        found.keys.append(value.raw)
    elif kind == oids.SHROUDED_KEY_BAG:
        shrouded = value.fields()
        algorithm, data = shrouded.take(), shrouded.take().octets()
        plain = _opened(algorithm, data, password, found)
        if plain is not None:
            found.keys.append(plain)
    elif kind == oids.CERTIFICATE_BAG:
        inner = value.fields()
        if inner.take().oid() == oids.X509_CERTIFICATE:
            found.certificates.append(read_certificate(inner.take(der.context(0)).fields().take().octets()))


def write_pkcs12(
    keys: Sequence[bytes], certificates: Sequence[Certificate], password: str, rounds: int = pbes2.ROUNDS
) -> bytes:
    """A file with these PKCS#8 keys, encrypted, and these certificates, not encrypted, under a MAC."""

    def bag(kind: str, value: bytes) -> bytes:
        return der.sequence(der.oid(kind), der.element(der.context(0), value))

    def data(content: bytes) -> bytes:
        return bag(oids.DATA, der.octets(content))

    shrouded = [bag(oids.SHROUDED_KEY_BAG, pbes2.write_pbes2(key, password, rounds)) for key in keys]
    open_bags = [
        bag(oids.CERTIFICATE_BAG, bag(oids.X509_CERTIFICATE, der.octets(certificate.raw)))
        for certificate in certificates
    ]
    safe = der.sequence(data(der.sequence(*shrouded)), data(der.sequence(*open_bags)))
    salt = secrets.token_bytes(20)
    value = Hmac(pkcs12_mac_key(password, salt, rounds)).digest(safe)
    stated = der.sequence(der.sequence(der.oid(oids.GOST_34311), der.null()), der.octets(value))
    mac = der.sequence(stated, der.octets(salt), der.integer(rounds))
    return der.sequence(der.integer(3), data(safe), mac)
