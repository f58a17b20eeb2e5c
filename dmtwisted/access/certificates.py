"""Certificates: read from files, put in order, and checked before they are used."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import load_key_and_certificates
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey
"""The supported kinds of keys."""

LEAST_RSA, LEAST_CURVE = 2048, 256
"""Bits below which a key is weak."""

SOON = 14
"""Days left from which the owner is reminded."""

DAY = 86400.0


class BadCertificate(Exception):
    """A certificate cannot be used; the text is one line that names the file and says why."""


@dataclass(frozen=True)
class Identity:
    """A private key with its certificate and the chain above it, the next one first."""

    key: PrivateKey
    leaf: x509.Certificate
    above: tuple[x509.Certificate, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names and addresses of the certificate."""
        try:
            found = self.leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            return ()
        addresses = found.get_values_for_type(x509.IPAddress)
        return (*found.get_values_for_type(x509.DNSName), *map(str, addresses))

    @property
    def subject(self) -> str:
        """The common name of the owner."""
        return _common_name(self.leaf.subject)

    @property
    def issuer(self) -> str:
        """The common name of the issuer."""
        return _common_name(self.leaf.issuer)

    @property
    def ends_at(self) -> float:
        """When it expires, in seconds since 1970."""
        return self.leaf.not_valid_after_utc.timestamp()

    def days_left(self, now: float) -> int:
        """Whole days until it expires; negative afterwards."""
        return int((self.ends_at - now) // DAY)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate in hexadecimal digits, as browsers show it."""
        return self.leaf.fingerprint(hashes.SHA256()).hex(":").upper()

    def certificates_pem(self) -> bytes:
        """Certificate and chain as a PEM file."""
        return b"".join(one.public_bytes(Encoding.PEM) for one in (self.leaf, *self.above))

    def key_pem(self, passphrase: str = "") -> bytes:
        """The private key as a PEM file, encrypted when there is a ``passphrase``."""
        secret: KeySerializationEncryption = NoEncryption()
        if passphrase:
            secret = BestAvailableEncryption(passphrase.encode())
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, secret)


def read_pem(certificate: Path, key: Path, passphrase: str = "") -> Identity:
    """The identity in the PEM files ``certificate`` and ``key``, which may be the same file.

    :raises BadCertificate: when they cannot be read or do not belong together.
    """
    return _together(
        _certificates(certificate, _content(certificate)), _key(key, _content(key), passphrase), certificate
    )


def read_any(file: Path, password: str = "", key: Path | None = None) -> Identity:
    """The identity in ``file``: PKCS#12 with its password, or PEM with its key in it or in the file ``key``.

    :raises BadCertificate: when it cannot be read or has no key.
    """
    return read_content(file, _content(file), password, None if key is None else (key, _content(key)))


def read_content(file: Path, content: bytes, password: str = "", key: tuple[Path, bytes] | None = None) -> Identity:
    """As `read_any`, of ``content``; ``file`` and the name in ``key`` are only for messages.

    :raises BadCertificate: when it cannot be read or has no key.
    """
    if b"-----BEGIN " in content:
        name, key_content = key or (file, content)
        return _together(_certificates(file, content), _key(name, key_content, password), file)
    try:
        found, leaf, others = load_key_and_certificates(content, password.encode() or None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise BadCertificate(f"{file}: neither PEM nor PKCS#12, or the password is wrong") from None
    if found is None or leaf is None:
        raise BadCertificate(f"{file}: holds no private key with a certificate")
    return _together([leaf, *others], _usable(found, file), file)


def check(identity: Identity, now: float, file: Path) -> None:
    """Check that ``identity`` can be used at ``now``, in seconds since 1970.

    :raises BadCertificate: when it is expired, not yet valid, or weak.
    """
    leaf, moment = identity.leaf, datetime.fromtimestamp(now, UTC)
    if moment >= leaf.not_valid_after_utc:
        raise BadCertificate(f"{file}: expired on {_day(leaf.not_valid_after_utc)}")
    if moment < leaf.not_valid_before_utc:
        raise BadCertificate(f"{file}: valid only from {_day(leaf.not_valid_before_utc)} on")
    key = identity.key
    if isinstance(key, rsa.RSAPrivateKey) and key.key_size < LEAST_RSA:
        raise BadCertificate(f"{file}: weak, an RSA key of {key.key_size} bits; {LEAST_RSA} is the least")
    if isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.key_size < LEAST_CURVE:
        raise BadCertificate(f"{file}: weak, a key on the curve {key.curve.name}; {LEAST_CURVE} bits is the least")
    for one in (leaf, *identity.above):
        # The signature of a root by itself is not used.
        if one.issuer != one.subject and _hash_name(one) in ("md5", "sha1"):
            raise BadCertificate(
                f"{file}: weak, {_common_name(one.subject)} is signed with {_hash_name(one).upper()}"
            )


def facts(identity: Identity, now: float, key_file: Path | None = None) -> dict[str, Any]:
    """The identity for people: owner, names, days left, warnings."""
    return {
        "subject": identity.subject,
        "issuer": identity.issuer,
        "names": list(identity.names),
        "valid_to": f"{datetime.fromtimestamp(identity.ends_at, UTC):%Y-%m-%dT%H:%M:%SZ}",
        "days_left": identity.days_left(now),
        "fingerprint": identity.fingerprint,
        "warnings": remarks(identity, now, key_file),
    }


def remarks(identity: Identity, now: float, key_file: Path | None = None) -> list[str]:
    """Warnings about an identity that can be used."""
    found = []
    left = identity.days_left(now)
    if left < SOON:
        found.append(f"it ends in {left} days, on {_day(identity.leaf.not_valid_after_utc)}")
    if not identity.names:
        found.append("it names no machine (subjectAltName), so browsers and most programs will not accept it")
    try:
        uses = identity.leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        if not {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE} & set(uses):
            found.append("it is not meant for servers (extendedKeyUsage)")
    except x509.ExtensionNotFound:
        pass
    if isinstance(identity.key, ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey):
        found.append("browsers do not know its kind of key; P-256 is the usual one")
    if key_file is not None and os.name == "posix":
        try:
            if stat.S_IMODE(key_file.stat().st_mode) & 0o007:
                found.append(f"everybody on this machine can read the key {key_file}; chmod 600 closes it")
        except OSError:
            pass
    return found


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise BadCertificate(f"{file}: cannot be read ({error.strerror or error})") from None


def _certificates(file: Path, content: bytes) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(content)
    except ValueError:
        raise BadCertificate(f"{file}: holds no certificate in PEM form") from None


def _key(file: Path, content: bytes, passphrase: str) -> PrivateKey:
    begin = content.find(b"-----BEGIN ")
    while begin >= 0:
        # A file may contain certificates too; the key is in the block that says so.
        end = content.find(b"-----END ", begin)
        end = content.find(b"\n", end) + 1 or len(content) if end >= 0 else len(content)
        block = content[begin:end]
        if b"PRIVATE KEY-----" in block.splitlines()[0]:
            return _usable(_load_key(file, block, passphrase), file)
        begin = content.find(b"-----BEGIN ", end)
    raise BadCertificate(f"{file}: holds no private key in PEM form")


def _load_key(file: Path, block: bytes, passphrase: str) -> object:
    encrypted = b"ENCRYPTED" in block
    if encrypted and not passphrase:
        raise BadCertificate(f"{file}: the key is encrypted; its passphrase is missing")
    try:
        return load_pem_private_key(block, passphrase.encode() if encrypted else None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        why = "the passphrase is wrong, or the key is damaged" if encrypted else "the key is damaged"
        raise BadCertificate(f"{file}: {why}") from None


def _usable(key: object, file: Path) -> PrivateKey:
    if not isinstance(
        key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey
    ):
        raise BadCertificate(f"{file}: an RSA or elliptic curve key is expected")
    return key


def _together(certificates: Sequence[x509.Certificate], key: PrivateKey, file: Path) -> Identity:
    """The certificate of ``key`` with its chain, from certificates in any order."""
    own = _public(key.public_key())
    leaf = next((one for one in certificates if _public(one.public_key()) == own), None)
    if leaf is None:
        raise BadCertificate(f"{file}: the key does not belong to the certificate")
    waiting = [one for one in certificates if one != leaf]
    above: list[x509.Certificate] = []
    last = leaf
    while last.issuer != last.subject:
        issuer = next((one for one in waiting if _issued(one, last)), None)
        if issuer is None:
            break
        waiting.remove(issuer)
        above.append(issuer)
        last = issuer
    return Identity(key, leaf, tuple(above))


def _issued(issuer: x509.Certificate, one: x509.Certificate) -> bool:
    try:
        one.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _public(key: object) -> bytes:
    try:
        return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[attr-defined,no-any-return]
    except (AttributeError, UnsupportedAlgorithm, ValueError):
        return b""


def _hash_name(one: x509.Certificate) -> str:
    try:
        found = one.signature_hash_algorithm
    except UnsupportedAlgorithm:
        return ""
    return "" if found is None else found.name


def _common_name(name: x509.Name) -> str:
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else name.rfc4514_string() or "unknown"


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"
