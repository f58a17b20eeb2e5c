"""An authority of our own for tests, demos and the simulated tax service: keys, certificates, time stamps.

No trust list contains its root. It replaces keys of real people, and makes what no provider would: certificates that
are expired, for the wrong use, or from an unknown issuer.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from protocols.fiscal.crypto import der, oids
from protocols.fiscal.crypto.certificates import Certificate, KeyUsage, read_certificate
from protocols.fiscal.crypto.curves import DSTU_257, Curve
from protocols.fiscal.crypto.dstu4145 import PrivateKey, PublicKey, Randomness
from protocols.fiscal.crypto.gost34311 import digest
from protocols.fiscal.crypto.key_formats import key_identifier, write_public_key
from protocols.fiscal.crypto.signing import sign
from protocols.fiscal.crypto.trust import Trust

_SIGNATURE = der.sequence(der.oid(oids.DSTU_4145_LE))
_POLICY = "1.2.804.2.1.1.1.2.3.1"
"""The policy of Ukrainian time stamps."""

SIGNS = KeyUsage.DIGITAL_SIGNATURE | KeyUsage.NON_REPUDIATION


@dataclass(frozen=True)
class Identity:
    """A key with its certificate."""

    key: PrivateKey = field(repr=False)
    certificate: Certificate


def _name(parts: dict[str, str]) -> bytes:
    return der.sequence(*[der.set_of(der.sequence(der.oid(kind), der.utf8(text))) for kind, text in parts.items()])


def _extension(oid: str, value: bytes, critical: bool = False) -> bytes:
    return der.sequence(der.oid(oid), *([der.boolean(True)] if critical else []), der.octets(value))


def _directory(tax_number: str, person: str) -> bytes:
    kinds = ((oids.TAX_NUMBER_COMPANY, tax_number), (oids.TAX_NUMBER_PERSON, person))
    texts = [
        der.sequence(der.oid(kind), der.set_of(der.element(der.PRINTABLE, text.encode("ascii"))))
        for kind, text in kinds
        if text
    ]
    return der.sequence(*texts)


def make_certificate(
    subject: dict[str, str],
    key: PublicKey,
    issuer: Identity | PrivateKey,
    valid_from: datetime,
    valid_to: datetime,
    usage: KeyUsage = SIGNS,
    tax_number: str = "",
    person_tax_number: str = "",
    authority: bool = False,
    stamps: bool = False,
    random: Randomness = secrets.token_bytes,
) -> Certificate:
    """A certificate for ``key``.

    :param subject: texts by object identifier.
    :param issuer: signs; a bare private key makes a self-signed certificate.
    :param authority: may sign other certificates, :param stamps: may sign time stamps.
    :param random: makes the serial number.
    """
    signing = issuer.key if isinstance(issuer, Identity) else issuer
    own = _name(subject)
    issuer_name = issuer.certificate.subject.raw if isinstance(issuer, Identity) else own
    issuer_id = issuer.certificate.key_id if isinstance(issuer, Identity) else key_identifier(key)
    extensions = [
        _extension(oids.KEY_IDENTIFIER, der.octets(key_identifier(key))),
        _extension(
            oids.ISSUER_KEY_IDENTIFIER, der.sequence(der.element(der.context(0, constructed=False), issuer_id))
        ),
        _extension(oids.KEY_USAGE, der.bits(bytes([usage.value])), critical=True),
        _extension(
            oids.BASIC_CONSTRAINTS, der.sequence(*([der.boolean(True)] if authority else [])), critical=authority
        ),
    ]
    if stamps:
        extensions.append(_extension(oids.EXTENDED_KEY_USAGE, der.sequence(der.oid(oids.TIME_STAMPING)), True))
    if tax_number or person_tax_number:
        extensions.append(_extension(oids.DIRECTORY_ATTRIBUTES, _directory(tax_number, person_tax_number)))
    signed = der.sequence(
        der.element(der.context(0), der.integer(2)),
        der.integer(int.from_bytes(random(19), "big") | 1 << 152),
        _SIGNATURE,
        issuer_name,
        der.sequence(der.time(valid_from), der.time(valid_to)),
        own,
        write_public_key(key),
        der.element(der.context(3), der.sequence(*extensions)),
    )
    signature = signing.sign(digest(signed))
    return read_certificate(der.sequence(signed, _SIGNATURE, der.bits(der.octets(signature))))


class Authority:
    """A root with the keys that it certified.

    :param now: the moment around which its certificates are valid.
    :param root: its key and certificate, made when absent.
    :param random: makes keys and serial numbers; any other than the machine's is for tests only.
    """

    def __init__(
        self,
        now: datetime,
        curve: Curve = DSTU_257,
        years: int = 10,
        root: Identity | None = None,
        random: Randomness = secrets.token_bytes,
    ) -> None:
        self._now, self._curve, self._random = now, curve, random
        self.root = root or self._make_root(years)
        self.trust = Trust([self.root.certificate])

    def _make_root(self, years: int) -> Identity:
        now, key = self._now, PrivateKey.generate(self._curve, self._random)
        name = {oids.ORGANISATION: "Test", oids.COMMON_NAME: "Test authority", oids.COUNTRY: "UA"}
        usage = KeyUsage.CERTIFICATE_SIGN | KeyUsage.CRL_SIGN
        until = now + timedelta(days=365 * years)
        start = now - timedelta(days=365)
        root = make_certificate(name, key.public(), key, start, until, usage, authority=True, random=self._random)
        return Identity(key, root)

    def issue(
        self,
        name: str,
        days: float = 365,
        age: float = 1,
        usage: KeyUsage = SIGNS,
        tax_number: str = "",
        person_tax_number: str = "",
        authority: bool = False,
        stamps: bool = False,
        key: PrivateKey | None = None,
    ) -> Identity:
        """A new key with a certificate of this authority.

        :param days: until its end, :param age: since its start, both from the authority's ``now``; may be negative.
        """
        key = key or PrivateKey.generate(self._curve, self._random)
        subject = {oids.ORGANISATION: "Test", oids.COMMON_NAME: name, oids.COUNTRY: "UA"}
        certificate = make_certificate(
            subject,
            key.public(),
            self.root,
            self._now - timedelta(days=age),
            self._now + timedelta(days=days),
            usage,
            tax_number,
            person_tax_number,
            authority,
            stamps,
            self._random,
        )
        return Identity(key, certificate)

    def cashier(self, name: str, tax_number: str, days: float = 365) -> Identity:
        """A key like a shop's cashier has."""
        return self.issue(name, days, tax_number=tax_number)


def stamp_answer(request: bytes, provider: Identity, clock: Callable[[], datetime], serial: int = 1) -> bytes:
    """A time-stamp provider's answer to `protocols.fiscal.crypto.timestamps.ask_for_stamp`.

    :raises Malformed: when the bytes are not a request.
    """
    fields = der.parse(request).fields(der.SEQUENCE)
    fields.take(der.INTEGER)
    imprint = fields.take(der.SEQUENCE).raw
    fields.maybe(der.OID)
    nonce = fields.maybe(der.INTEGER)
    content = der.sequence(
        der.integer(1),
        der.oid(_POLICY),
        imprint,
        der.integer(serial),
        der.generalized_time(clock()),
        *([nonce.raw] if nonce else []),
    )
    token = sign(content, provider.key, provider.certificate, content_type=oids.TIME_STAMP_INFO)
    return der.sequence(der.sequence(der.integer(0)), token)
