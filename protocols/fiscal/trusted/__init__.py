"""The built-in list of the tax service's certificates, which may sign tickets unless the settings name others.

`certificates.json` beside this module is the list. Each entry has the place of publication, validity and fingerprint
as published, and the certificate itself::

    {"certificates": [{"source": "https://…, read on 2026-11-21", "sha256": "…", "valid_from": "2026-01-01",
                       "valid_to": "2028-01-01", "pem": "-----BEGIN CERTIFICATE-----\\n…"}]}

An entry comes only from a publication of the tax service or of its provider, never from samples: a listed key may
sign tickets for every shop.
"""

from __future__ import annotations

import hashlib
from datetime import date
from functools import cache
from pathlib import Path

import msgspec

from protocols.fiscal.crypto.certificates import Certificate, read_certificates
from protocols.fiscal.crypto.errors import Malformed

FILE = Path(__file__).with_name("certificates.json")


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One certificate of the list, with the published facts."""

    source: str
    valid_from: date
    valid_to: date
    sha256: str
    pem: str


class _List(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    certificates: tuple[Entry, ...]


def entries(file: Path = FILE) -> tuple[Entry, ...]:
    """The entries of the file."""
    return msgspec.json.decode(file.read_bytes(), type=_List).certificates


def certificate_of(entry: Entry) -> Certificate:
    """The certificate of an entry.

    :raises Malformed: when it is not the described one.
    """
    found = read_certificates(entry.pem.encode())
    certificate = found[0]
    stated = (entry.valid_from, entry.valid_to, entry.sha256)
    read = (certificate.valid_from.date(), certificate.valid_to.date(), hashlib.sha256(certificate.raw).hexdigest())
    if len(found) != 1 or stated != read or not entry.source.strip():
        raise Malformed(f"the built-in certificate of {certificate.subject.common} is not the described one")
    return certificate


@cache
def built_in() -> tuple[Certificate, ...]:
    """The certificates of the list.

    :raises Malformed: when one is not the described one.
    """
    return tuple(certificate_of(entry) for entry in entries())
