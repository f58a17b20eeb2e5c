"""A local authority, for a shop without a certificate.

The authority's own certificate is installed on each machine once; after that the service's certificate can be renewed
without touching them. It may sign for the names and networks of this machine only: who steals its key cannot imitate
other sites to the machines that trust it.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from dmtwisted.access.certificates import Identity, read_pem
from dmtwisted.config import TLS_FOLDER
from dmtwisted.secrets import write_private

AUTHORITY_DAYS = 3650
"""Ten years: installing the authority on every machine is work."""

LEAF_DAYS = 800
"""Apple's systems accept certificates for at most 825 days."""

AUTHORITY_FILE, AUTHORITY_KEY = "authority.pem", "authority.key"
"""The authority's files; only the first one is given to others."""

NOT_PERMITTED = (
    "the local authority may not sign for it; make a new one (dmtwisted tls authority --new, or the check box on the "
    "page) and install it on every machine"
)

_EARLIER = timedelta(days=1)
"""Valid since a day ago, because clocks of tills can be wrong."""


def open_authority(folder: Path, now: float, names: Iterable[str] = (), new: bool = False) -> tuple[Identity, bool]:
    """The authority in ``folder``, created when absent; and whether it was created.

    :param names: for which a created one may sign besides this machine's. :param new: create it in any case.
    :raises BadCertificate: when it exists and cannot be read.
    :raises OSError: when it cannot be written.
    """
    file, key_file = folder / AUTHORITY_FILE, folder / AUTHORITY_KEY
    if file.exists() and not new:
        return read_pem(file, key_file), False
    authority = make_authority(now, names)
    write_private(key_file, authority.key_pem())
    write_private(file, authority.certificates_pem())
    file.chmod(0o644)  # for others
    return authority, True


def make_authority(now: float, names: Iterable[str] = ()) -> Identity:
    """A new authority of this machine, valid from ``now``, in seconds since 1970.

    :param names: for which it may sign besides this machine's.
    :raises ValueError: when one is invalid.
    """
    allowed = list(dict.fromkeys(_allowed(_general_name(name)) for name in (*names_of_this_machine(), *names)))
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"dmtwisted on {socket.gethostname()}"[:64])])
    moment = datetime.fromtimestamp(now, UTC)
    builder = _builder(name, name, key, moment, moment + timedelta(days=AUTHORITY_DAYS))
    certificate = (
        builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.NameConstraints(allowed, None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Identity(key, certificate)


def _allowed(name: x509.DNSName | x509.IPAddress) -> x509.DNSName | x509.IPAddress:
    """What an authority may sign for, because it is to sign for ``name``.

    An address of a shop's network may be another one of that network tomorrow.
    """
    if isinstance(name, x509.DNSName):
        return name
    address = ip_address(str(name.value))
    local = address.is_private and not address.is_loopback
    prefix = (24 if address.version == 4 else 64) if local else address.max_prefixlen
    return x509.IPAddress(ip_network((address, prefix), strict=False))


def is_limited(authority: x509.Certificate) -> bool:
    """Whether an authority may sign for some names only."""
    return _subtrees(authority) is not None


def permits(authority: x509.Certificate, name: str) -> bool:
    """Whether ``authority`` may sign for ``name``.

    :raises ValueError: when the name is invalid.
    """
    allowed, wanted = _subtrees(authority), _general_name(name)
    return allowed is None or any(_covers(one, wanted) for one in allowed)


def issued_by(leaf: x509.Certificate, file: Path) -> x509.Certificate | None:
    """The authority in ``file``; `None` when it cannot be read or did not issue ``leaf``."""
    try:
        authority = x509.load_pem_x509_certificate(file.read_bytes())
        leaf.verify_directly_issued_by(authority)
    except (OSError, ValueError, TypeError, InvalidSignature):
        return None
    return authority


def not_named(identity: Identity) -> list[str]:
    """The names of this machine that a certificate does not have."""
    named = {_general_name(name) for name in identity.names}
    return [name for name in names_of_this_machine() if _general_name(name) not in named]


def _subtrees(authority: x509.Certificate) -> Iterable[x509.GeneralName] | None:
    try:
        found = authority.extensions.get_extension_for_class(x509.NameConstraints)
    except x509.ExtensionNotFound:
        return None
    return found.value.permitted_subtrees or ()


def _covers(allowed: x509.GeneralName, wanted: x509.GeneralName) -> bool:
    if isinstance(allowed, x509.DNSName) and isinstance(wanted, x509.DNSName):
        return f".{wanted.value}".endswith(f".{allowed.value}")
    same = isinstance(allowed, x509.IPAddress) and isinstance(wanted, x509.IPAddress)
    return same and wanted.value in allowed.value


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, begin: datetime, end: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin - _EARLIER)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def issue(authority: Identity, names: Iterable[str], now: float, days: int = LEAF_DAYS) -> Identity:
    """A certificate with a new key for ``names``, host names and addresses.

    :raises ValueError: when there is no name, or an invalid one, or one for which the authority may not sign.
    """
    names = list(names)
    wanted = list(dict.fromkeys(_general_name(name) for name in names))
    if not wanted:
        raise ValueError("a name or an address is expected")
    for name in names:
        if not permits(authority.leaf, name):
            raise ValueError(f"{name}: {NOT_PERMITTED}")
    key = ec.generate_private_key(ec.SECP256R1())
    moment = datetime.fromtimestamp(now, UTC)
    end = min(moment + timedelta(days=days), authority.leaf.not_valid_after_utc)
    issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    # OpenSSL takes the owner of a certificate of addresses alone for a host name, unless it has a blank.
    owner = next((one.value for one in wanted if isinstance(one, x509.DNSName)), f"address {wanted[0].value}")
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, owner[:64])])
    certificate = (
        _builder(subject, authority.leaf.subject, key, moment, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(wanted), critical=False)
        .add_extension(issuer_id, critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    return Identity(key, certificate)


def names_of_this_machine() -> list[str]:
    """The names and addresses of this machine, as far as it knows them."""
    host = socket.gethostname()
    names = [name for name in (host, socket.getfqdn(host)) if _is_name(name)]
    names += ["localhost", "127.0.0.1", "::1"]
    addresses: list[str] = []
    with suppress(OSError):
        addresses = [str(found[4][0]).partition("%")[0] for found in socket.getaddrinfo(host, None)]
    for family, far in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        # The address of packets to other networks; connecting a datagram socket sends nothing.
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((far, 9))
                addresses.append(probe.getsockname()[0])
        except OSError:
            continue
    names += [address for address in addresses if not ip_address(address).is_link_local]
    return list(dict.fromkeys(names))


def _is_name(name: str) -> bool:
    try:
        return bool(_general_name(name))
    except ValueError:
        return False


def _general_name(name: str) -> x509.DNSName | x509.IPAddress:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        pass
    labels = name.removesuffix(".").split(".")
    if len(name) > 253 or not all(
        0 < len(label) < 64 and label.isascii() and label.replace("-", "").replace("_", "").isalnum()
        for label in labels
    ):
        raise ValueError(f"{name} is neither a host name nor an address")
    return x509.DNSName(".".join(labels).lower())


def _usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def authority_file(state: Path) -> Path:
    """The authority's certificate, which every client has to trust."""
    return state / TLS_FOLDER / AUTHORITY_FILE


TRUST = """
Copy this file to every machine that uses the service, and make it trusted there (its fingerprint:
{fingerprint}). Do not copy the key beside it.

  Windows            certutil -addstore Root authority.pem            (as administrator)
  Debian, Ubuntu     cp authority.pem /usr/local/share/ca-certificates/dmtwisted.crt && update-ca-certificates
  Fedora             cp authority.pem /etc/pki/ca-trust/source/anchors/ && update-ca-trust
  macOS              security add-trusted-cert -d -k /Library/Keychains/System.keychain authority.pem
  Firefox            Settings, Certificates, Authorities, Import
  Java               keytool -importcert -cacerts -alias dmtwisted -file authority.pem
  Python, curl       verify="authority.pem";  curl --cacert authority.pem
"""
"""How to make the authority trusted on each system."""
