"""Certificates of Ukrainian providers: X.509 with DSTU 4145 (docs/reference/cryptography.md#certificates).

Certificates of other algorithms are read too; their keys cannot be used, and a chain through them is not trusted.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import Flag
from functools import cached_property, lru_cache

from protocols.fiscal.crypto import der, oids
from protocols.fiscal.crypto.der import Element
from protocols.fiscal.crypto.dstu4145 import PublicKey
from protocols.fiscal.crypto.errors import Malformed, Unsupported
from protocols.fiscal.crypto.gost34311 import digest
from protocols.fiscal.crypto.key_formats import key_identifier, read_public_key


class KeyUsage(Flag):
    """The uses of a key, by the bits of the extension."""

    DIGITAL_SIGNATURE = 0x80
    NON_REPUDIATION = 0x40
    KEY_ENCIPHERMENT = 0x20
    DATA_ENCIPHERMENT = 0x10
    KEY_AGREEMENT = 0x08
    CERTIFICATE_SIGN = 0x04
    CRL_SIGN = 0x02
    ENCIPHER_ONLY = 0x01


SIGNING = KeyUsage.DIGITAL_SIGNATURE | KeyUsage.NON_REPUDIATION
"""Either allows signing documents."""

SECONDS_A_DAY = 86_400


@dataclass(frozen=True)
class Name:
    """A subject or issuer: object identifiers and texts, in the certificate's order."""

    parts: tuple[tuple[str, str], ...] = field(compare=False)
    raw: bytes = field(repr=False)

    def get(self, oid: str) -> str:
        """The first text of this kind; empty when absent."""
        return next((text for kind, text in self.parts if kind == oid), "")

    @property
    def common(self) -> str:
        """The name for people."""
        return self.get(oids.COMMON_NAME) or self.get(oids.ORGANISATION)


@dataclass(frozen=True)
class Certificate:
    """A certificate as it was issued; two are equal when their bytes are. Texts and bytes are empty when absent.

    :param signed: the part covered by the issuer's signature, :param signature: r || s, empty for other algorithms.
    :param public_key: ``None`` for other algorithms.
    :param key_id: the key identifier in the certificate, else the calculated one; 32 bytes.
    :param issuer_key_id: of the issuer's key.
    :param usage: ``None`` when the certificate does not limit it.
    :param tax_number: of the company (EDRPOU), :param person_tax_number: of the person (RNOKPP).
    :param ocsp_url: of its state, :param stamp_url: of the provider's time stamps.
    """

    raw: bytes = field(repr=False)
    signed: bytes = field(compare=False, repr=False)
    signature: bytes = field(compare=False, repr=False)
    signature_algorithm: str = field(compare=False, repr=False)
    serial: int = field(compare=False)
    issuer: Name = field(compare=False)
    subject: Name = field(compare=False)
    valid_from: datetime = field(compare=False)
    valid_to: datetime = field(compare=False)
    key_algorithm: str = field(compare=False, repr=False)
    public_key: PublicKey | None = field(compare=False, repr=False)
    key_id: bytes = field(compare=False, repr=False)
    issuer_key_id: bytes = field(compare=False, repr=False, default=b"")
    usage: KeyUsage | None = field(compare=False, default=None)
    extended_usage: tuple[str, ...] = field(compare=False, repr=False, default=())
    is_authority: bool = field(compare=False, default=False)
    tax_number: str = field(compare=False, default="")
    person_tax_number: str = field(compare=False, default="")
    ocsp_url: str = field(compare=False, repr=False, default="")
    stamp_url: str = field(compare=False, repr=False, default="")

    @cached_property
    def fingerprint(self) -> bytes:
        """GOST 34.311 of the certificate, by which messages refer to it."""
        return digest(self.raw)

    def may_sign(self) -> bool:
        """Whether its key may sign documents."""
        return self.usage is None or bool(self.usage & SIGNING)

    def valid_at(self, moment: datetime) -> bool:
        """Whether ``moment`` is within its validity; both ends count."""
        return self.valid_from <= moment <= self.valid_to

    def days_left(self, now: datetime) -> int:
        """Whole days until it ends, rounded down: 0 on the last day, negative afterwards."""
        return math.floor((self.valid_to - now).total_seconds() / SECONDS_A_DAY)

    def signed_by(self, issuer: Certificate) -> bool:
        """Whether the issuer's key signed it; calculated once for each pair."""
        return _signed_by(self, issuer)


@lru_cache(maxsize=128)
def _signed_by(certificate: Certificate, issuer: Certificate) -> bool:
    key = issuer.public_key
    if key is None or certificate.signature_algorithm != oids.DSTU_4145_LE:
        return False
    return key.verify(digest(certificate.signed), certificate.signature)


def read_name(element: Element) -> Name:
    """A subject or issuer. :raises Malformed: when it is not a name."""
    parts = []
    for group in element.expect(der.SEQUENCE).children():
        for pair in group.expect(der.SET).children():
            fields = pair.fields(der.SEQUENCE)
            kind, value = fields.take().oid(), fields.take()
            try:
                parts.append((kind, value.text()))
            except Malformed:
                # A part that is not text stays in `Name.raw` only.
                continue
    return Name(tuple(parts), element.raw)


def _tax_numbers(value: bytes) -> dict[str, str]:
    """The texts of the subject directory attributes, by their identifiers."""
    found = {}
    for attribute in der.parse(value).expect(der.SEQUENCE).children():
        fields = attribute.fields(der.SEQUENCE)
        kind = fields.take().oid()
        texts = fields.take(der.SET).children()
        if texts and kind in (oids.TAX_NUMBER_COMPANY, oids.TAX_NUMBER_PERSON):
            found[kind] = texts[0].text().strip()
    return found


def _access(value: bytes | None, kind: str) -> str:
    """The first address of this kind in an access extension; empty when absent."""
    if value is None:
        return ""
    for entry in der.parse(value).expect(der.SEQUENCE).children():
        fields = entry.fields(der.SEQUENCE)
        if fields.take().oid() == kind and (place := fields.maybe(der.context(6, constructed=False))):
            return place.content.decode("latin-1")
    return ""


def _extensions(element: Element | None) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    if element is None:
        return found
    for extension in element.fields().take(der.SEQUENCE).children():
        fields = extension.fields(der.SEQUENCE)
        kind = fields.take().oid()
        fields.maybe(der.BOOLEAN)
        if kind in found:
            raise Malformed(f"the extension {kind} occurs twice")
        found[kind] = fields.take().octets()
    return found


def _signature(element: Element, algorithm: str) -> bytes:
    return der.parse(element.bits()).octets() if algorithm == oids.DSTU_4145_LE else b""


def _usage(value: bytes | None) -> KeyUsage | None:
    if value is None:
        return None
    return KeyUsage((der.parse(value).bits() or b"\0")[0])


def _issuer_key_id(value: bytes | None) -> bytes:
    if value is None:
        return b""
    found = der.parse(value).fields(der.SEQUENCE).maybe(der.context(0, constructed=False))
    return found.content if found else b""


def _is_authority(value: bytes | None) -> bool:
    if value is None:
        return False
    flag = der.parse(value).fields(der.SEQUENCE).maybe(der.BOOLEAN)
    return flag is not None and any(flag.content)


def read_certificate(data: bytes) -> Certificate:
    """The certificate in these bytes (DER).

    :raises Malformed: when they are not a certificate.
    """
    outer = der.parse(data).fields(der.SEQUENCE)
    signed, algorithm, signature = outer.take(der.SEQUENCE), outer.take().fields(der.SEQUENCE), outer.take()
    signature_algorithm = algorithm.take().oid()
    fields = signed.fields()
    fields.maybe(der.context(0))
    serial = fields.take().integer()
    fields.take(der.SEQUENCE)
    issuer = read_name(fields.take())
    validity = fields.take().fields(der.SEQUENCE)
    valid_from, valid_to = validity.take().time(), validity.take().time()
    subject = read_name(fields.take())
    info = fields.take(der.SEQUENCE)
    key_algorithm = info.fields().take().fields(der.SEQUENCE).take().oid()
    try:
        public_key = read_public_key(info)
    except Unsupported:
        public_key = None
    fields.maybe(der.context(1, constructed=False))
    fields.maybe(der.context(2, constructed=False))
    extensions = _extensions(fields.maybe(der.context(3)))
    stated_key_id = extensions.get(oids.KEY_IDENTIFIER)
    calculated = key_identifier(public_key) if public_key and stated_key_id is None else b""
    directory = extensions.get(oids.DIRECTORY_ATTRIBUTES)
    numbers = _tax_numbers(directory) if directory else {}
    extended = extensions.get(oids.EXTENDED_KEY_USAGE)
    return Certificate(
        raw=data,
        signed=signed.raw,
        signature=_signature(signature, signature_algorithm),
        signature_algorithm=signature_algorithm,
        serial=serial,
        issuer=issuer,
        subject=subject,
        valid_from=valid_from,
        valid_to=valid_to,
        key_algorithm=key_algorithm,
        public_key=public_key,
        key_id=der.parse(stated_key_id).octets() if stated_key_id else calculated,
        issuer_key_id=_issuer_key_id(extensions.get(oids.ISSUER_KEY_IDENTIFIER)),
        usage=_usage(extensions.get(oids.KEY_USAGE)),
        extended_usage=tuple(e.oid() for e in der.parse(extended).children()) if extended else (),
        is_authority=_is_authority(extensions.get(oids.BASIC_CONSTRAINTS)),
        tax_number=numbers.get(oids.TAX_NUMBER_COMPANY) or subject.get(oids.ORGANISATION_ID).rpartition("-")[2],
        person_tax_number=numbers.get(oids.TAX_NUMBER_PERSON, ""),
        ocsp_url=_access(extensions.get(oids.ISSUER_ACCESS), oids.OCSP_ACCESS),
        stamp_url=_access(extensions.get(oids.SUBJECT_ACCESS), oids.TIME_STAMP_ACCESS),
    )


# Base64 has no hyphen, so a block ends at the next one: the time stays linear for a file of BEGIN lines alone.
_PEM = re.compile(rb"-----BEGIN ([A-Z0-9 ]{1,64})-----([^-]*)-----END \1-----")


def unwrap_pem(data: bytes) -> list[bytes]:
    """The content of PEM blocks, or ``data`` itself without any.

    :raises Malformed: when a block is not base64.
    """
    blocks = [match[2] for match in _PEM.finditer(data)]
    try:
        return [base64.b64decode(b"".join(block.split()), validate=True) for block in blocks] or [data]
    except binascii.Error as wrong:
        raise Malformed("a PEM block is damaged") from wrong


def raw_certificates(data: bytes) -> list[bytes]:
    """The bytes of each certificate of a file: one in DER, any number in PEM, or a PKCS#7 bundle.

    :raises Malformed: when it has none.
    """
    found = []
    for block in unwrap_pem(data):
        fields = der.parse_first(block).fields(der.SEQUENCE)
        if fields.peek() != der.OID:
            found.append(der.parse_first(block).raw)
            continue
        if fields.take().oid() != oids.SIGNED_DATA:
            raise Malformed("a file of certificates holds something else")
        bundle = fields.take(der.context(0)).fields().take().fields(der.SEQUENCE)
        for part in bundle.rest():
            if part.tag == der.context(0):
                found += _certificates_among(part)
    if not found:
        raise Malformed("there is no certificate in the file")
    return found


def read_certificates(data: bytes) -> list[Certificate]:
    """The certificates of such a file.

    :raises Malformed: when it has none, or one cannot be read.
    """
    return [read_certificate(raw) for raw in raw_certificates(data)]


def certificates_in(element: Element) -> Iterable[Certificate]:
    """The certificates of a signed message; other kinds of proof among them are ignored.

    :raises Malformed: when one cannot be read.
    """
    return [read_certificate(raw) for raw in _certificates_among(element)]


def _certificates_among(element: Element) -> list[bytes]:
    return [part.raw for part in element.children() if part.tag == der.SEQUENCE]
