"""The published list of the state's authorities, as a person trusted it (docs/reference/cryptography.md#trust).

`dmtwisted tax trust` keeps it in the state folder; a running service reads it with the tax service's next answer. An
authority gives certificates to everybody, so the list also says whose of them may sign answers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from dmtwisted.secrets import write_private
from protocols.fiscal.crypto.certificates import Certificate, KeyUsage, raw_certificates, read_certificate
from protocols.fiscal.crypto.errors import CryptoError, Malformed
from protocols.fiscal.crypto.trust import Trust
from protocols.fiscal.crypto.verdict import Fault

FILE = "tax-trust.json"
"""The file in the state folder."""

TAX_SERVICE = "43005393"
"""The number (EDRPOU) of the State Tax Service, which its certificates carry."""

MOST_BYTES = 8 << 20
"""The largest file that is read; the published list has less than one megabyte."""


class Listed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An authority: the identifier of its key in hex, and its certificate."""

    key: str
    certificate: bytes


class TrustList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the file.

    :param owners: whose certificates may sign answers, by EDRPOU. :param source: the name of the published file,
    :param sha256: its hash. :param certificates: of authorities.
    """

    owners: tuple[str, ...]
    source: str
    sha256: str
    certificates: tuple[Listed, ...]


class Offered(NamedTuple):
    """A certificate of a published file, and why it is not taken; empty when it is."""

    certificate: Certificate | None
    why: str


def offered(data: bytes, now: datetime) -> list[Offered]:
    """The certificates of a file: ``.p7b``, PEM or DER.

    :raises Malformed: when it is not such a file.
    """
    return [_offered(raw, now) for raw in dict.fromkeys(raw_certificates(data))]


def _offered(raw: bytes, now: datetime) -> Offered:
    try:
        certificate = read_certificate(raw)
    except CryptoError as error:
        return Offered(None, f"it cannot be read: {error}")
    if certificate.public_key is None:
        why = "its key is of another algorithm"
    elif not certificate.is_authority:
        why = "a single key, not an authority"
    elif certificate.usage is not None and not certificate.usage & KeyUsage.CERTIFICATE_SIGN:
        why = "it may not sign certificates"
    elif certificate.valid_to < now:
        why = f"it ended on {certificate.valid_to:%Y-%m-%d}"
    else:
        why = ""
    return Offered(certificate, why)


def trust_list(file: Path, data: bytes, found: Sequence[Offered], owners: Sequence[str]) -> TrustList:
    """The list of the authorities that were ``found`` in ``file``.

    :raises Malformed: when there is none.
    """
    taken = {one.certificate.raw: one.certificate.key_id.hex() for one in found if one.certificate and not one.why}
    if not taken:
        raise Malformed("there is no authority in it that can be trusted")
    listed = tuple(Listed(key, raw) for raw, key in sorted(taken.items()))
    return TrustList(tuple(owners), file.name, hashlib.sha256(data).hexdigest(), listed)


def keep(state: Path, kept: TrustList) -> bool:
    """Keep the list for all registers; whether it is another one than before.

    :raises OSError: when it cannot be written.
    """
    file, content = state / FILE, msgspec.json.format(msgspec.json.encode(kept))
    if file.exists() and file.read_bytes() == content:
        return False
    write_private(file, content)
    # It is no secret, and the service may run as another user than the one that trusts.
    file.chmod(0o644)
    return True


def forget(state: Path) -> bool:
    """Trust nothing any more; whether there was a list.

    :raises OSError: when it cannot be deleted.
    """
    there = (state / FILE).exists()
    (state / FILE).unlink(missing_ok=True)
    return there


def kept_trust(file: Path) -> Trust | None:
    """The list in ``file``; `None` when there is none.

    :raises Malformed: when it cannot be read: then nothing is trusted, not everything.
    """
    try:
        found = file.stat()
        return _read(file, found.st_mtime_ns, found.st_size, found.st_ino)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, CryptoError) as error:
        raise Malformed(f"the list of trusted certificates cannot be read: {file}: {error}") from None


@lru_cache(maxsize=4)
def _read(file: Path, *_: int) -> Trust:
    """Registers share a list; another state of the file is another call."""
    return ListTrust(msgspec.json.decode(file.read_bytes(), type=TrustList))


class ListTrust(Trust):
    """Trusts the authorities of a list; each is read when it is needed, because that takes 20 ms."""

    def __init__(self, kept: TrustList) -> None:
        super().__init__((), owners=kept.owners)
        self._kept = kept

    def faults(self, certificate: Certificate, at: datetime) -> list[Fault]:
        """Why ``certificate`` is not trusted at that moment: see `Trust`."""
        # A message has no certificate between the signer's and the authority's, so the issuer itself is listed.
        issuer = certificate.issuer_key_id.hex()
        above = [one.certificate for one in self._kept.certificates if not issuer or one.key == issuer]
        return Trust(map(read_certificate, above), owners=self._owners).faults(certificate, at)
