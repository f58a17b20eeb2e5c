"""``.jks``: the Java key store, as PrivatBank issues keys (docs/reference/cryptography.md#key-files).

All numbers big-endian; a text is two bytes of length and UTF-8::

    FE ED FE ED | version 4 | entries 4 | entry … | SHA-1 20
    key          00 00 00 01 | alias | date 8 | length 4 | protected key | certificates 4 | certificate …
    certificate  type (a text, from version 2 on) | length 4 | DER

The last 20 bytes are SHA-1 over password (UTF-16, big-endian), the words "Mighty Aphrodite" and all before. A
protected key is ``SEQUENCE { algorithm, OCTETS salt(20) || masked || check(20) }``: masked by SHA-1 of password and
salt, then of password and the hash before; the check is SHA-1 of password and plain key.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from protocols.fiscal.crypto import der, oids
from protocols.fiscal.crypto.certificates import Certificate, read_certificate
from protocols.fiscal.crypto.errors import Malformed, Unsupported, WrongPassword

MAGIC = b"\xfe\xed\xfe\xed"
JCEKS_MAGIC = b"\xce\xce\xce\xce"
_WHITENER = b"Mighty Aphrodite"
_SHA1 = 20


class _Cursor:
    """Reads one field after the other."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0

    def take(self, count: int) -> bytes:
        if self.at + count > len(self._data):
            raise Malformed("the key store is cut")
        taken = self._data[self.at : self.at + count]
        self.at += count
        return taken

    def number(self) -> int:
        return int.from_bytes(self.take(4), "big")

    def text(self) -> bytes:
        return self.take(int.from_bytes(self.take(2), "big"))

    def block(self) -> bytes:
        return self.take(self.number())


@dataclass(frozen=True)
class StoreEntry:
    """One entry of a key store.

    :param protected: an encrypted key, empty for an entry of certificates alone.
    """

    alias: str
    protected: bytes = field(repr=False)
    certificates: tuple[bytes, ...] = field(repr=False)


def read_entries(data: bytes) -> list[StoreEntry]:
    """The entries, still protected; the last 20 bytes are not checked.

    :raises Malformed: when the bytes are not a key store.
    """
    cursor = _Cursor(data)
    if cursor.take(4) != MAGIC:
        raise Malformed("this is not a Java key store")
    version = cursor.number()
    if version not in (1, 2):
        raise Unsupported(f"a Java key store of version {version}")

    def certificate() -> bytes:
        if version == 2:
            cursor.text()
        return cursor.block()

    entries = []
    for _ in range(cursor.number()):
        tag, alias = cursor.number(), cursor.text().decode("utf-8", "replace")
        cursor.take(8)
        if tag == 1:
            protected = cursor.block()
            entries.append(StoreEntry(alias, protected, tuple([certificate() for _ in range(cursor.number())])))
        elif tag == 2:
            entries.append(StoreEntry(alias, b"", (certificate(),)))
        else:
            raise Malformed(f"a key store entry of kind {tag}")
    if len(data) - cursor.at != _SHA1:
        raise Malformed("the key store is cut")
    return entries


def _mask(password: bytes, salt: bytes, length: int) -> bytes:
    made = b""
    while len(made) < length:
        salt = hashlib.sha1(password + salt).digest()
        made += salt
    return made[:length]


def _masked(data: bytes, mask: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(data, mask, strict=True))


def _unprotect(protected: bytes, password: bytes) -> bytes | None:
    fields = der.parse(protected).fields(der.SEQUENCE)
    kind = fields.take().fields(der.SEQUENCE).take().oid()
    if kind != oids.JKS_KEY_PROTECTOR:
        raise Unsupported(f"a key protected by {kind}")
    body = fields.take().octets()
    if len(body) < 2 * _SHA1:
        raise Malformed("a protected key is cut")
    salt, masked, check = body[:_SHA1], body[_SHA1:-_SHA1], body[-_SHA1:]
    plain = _masked(masked, _mask(password, salt, len(masked)))
    return plain if hmac.compare_digest(hashlib.sha1(password + plain).digest(), check) else None


def _whole(data: bytes, password: bytes) -> bool:
    stated = hashlib.sha1(password + _WHITENER + data[:-_SHA1]).digest()
    return hmac.compare_digest(stated, data[-_SHA1:])


def open_jks(data: bytes, password: str) -> tuple[list[bytes], list[Certificate]]:
    """The PKCS#8 keys and the certificates of a key store.

    :raises Malformed: when it is damaged.
    :raises WrongPassword: when the password opens neither the store nor a key.
    """
    typed = password.encode("utf-16-be", "surrogatepass")
    entries = read_entries(data)
    plain = [(entry, _unprotect(entry.protected, typed) if entry.protected else b"") for entry in entries]
    keys = [key for _, key in plain if key]
    whole = _whole(data, typed)
    if not whole and not keys:
        raise WrongPassword("the password does not open the key store")
    if whole and any(key is None for _, key in plain):
        raise WrongPassword("the password opens the key store, but its key has another one")
    if not whole:
        raise Malformed("the key store is damaged, or the password belongs to the key and not to the store")
    return keys, [read_certificate(raw) for entry in entries for raw in entry.certificates]


def write_jks(entries: Sequence[tuple[str, bytes, Sequence[Certificate]]], password: str) -> bytes:
    """A key store with keys (alias, PKCS#8, certificates of it)."""
    typed = password.encode("utf-16-be", "surrogatepass")
    made = MAGIC + struct.pack(">II", 2, len(entries))

    def text(value: str) -> bytes:
        return struct.pack(">H", len(value.encode())) + value.encode()

    def block(value: bytes) -> bytes:
        return struct.pack(">I", len(value)) + value

    for alias, key, certificates in entries:
        salt = secrets.token_bytes(_SHA1)
        body = salt + _masked(key, _mask(typed, salt, len(key))) + hashlib.sha1(typed + key).digest()
        algorithm = der.sequence(der.oid(oids.JKS_KEY_PROTECTOR), der.null())
        made += struct.pack(">I", 1) + text(alias) + bytes(8) + block(der.sequence(algorithm, der.octets(body)))
        made += struct.pack(">I", len(certificates))
        for certificate in certificates:
            made += text("X.509") + block(certificate.raw)
    return made + hashlib.sha1(typed + _WHITENER + made).digest()
