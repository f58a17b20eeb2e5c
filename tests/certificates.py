"""Certificates for the tests, good ones and bad ones of every kind, made with the library itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


def make_key() -> ec.EllipticCurvePrivateKey:
    """A key on P-256."""
    return ec.generate_private_key(ec.SECP256R1())


def make_certificate(
    now: float,
    key: Any,
    name: str = "desk",
    *,
    begins: int = -1,
    ends: int = 100,
    issuer: tuple[x509.Certificate, Any] | None = None,
    names: tuple[str, ...] = ("localhost",),
    is_authority: bool = False,
) -> x509.Certificate:
    """A certificate of ``key``, valid from and until so many days from ``now``; self-signed without ``issuer``."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    moment = datetime.fromtimestamp(now, UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer[0].subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(moment + timedelta(days=begins))
        .not_valid_after(moment + timedelta(days=ends))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if names:
        wanted = x509.SubjectAlternativeName([x509.DNSName(one) for one in names])
        builder = builder.add_extension(wanted, critical=False)
    return builder.sign(key if issuer is None else issuer[1], hashes.SHA256())


def pem(*certificates: x509.Certificate) -> bytes:
    """The certificates as PEM."""
    return b"".join(one.public_bytes(Encoding.PEM) for one in certificates)


def key_pem(key: Any) -> bytes:
    """A private key as PEM."""
    content: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return content


def write_pair(folder: Path, certificate: x509.Certificate, key: Any) -> tuple[Path, Path]:
    """Write `desk.pem` and `desk.key` into ``folder``."""
    file, key_file = folder / "desk.pem", folder / "desk.key"
    key_file.write_bytes(key_pem(key))
    key_file.chmod(0o600)
    file.write_bytes(pem(certificate))
    return file, key_file
