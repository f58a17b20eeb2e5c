"""Making signed messages as the tax service takes them: CAdES with the content inside (fiscal-server.md 15.1, 15.2).

One signature, the signer's certificate and no other, signed attributes sorted as DER wants them. A time stamp is put
in afterwards: it is about the signature, and it has to be fetched.
"""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from protocols.fiscal.crypto import der, oids
from protocols.fiscal.crypto.arithmetic import Arithmetic
from protocols.fiscal.crypto.certificates import Certificate
from protocols.fiscal.crypto.dstu4145 import PrivateKey
from protocols.fiscal.crypto.errors import Malformed, NoKey
from protocols.fiscal.crypto.gost34311 import digest
from protocols.fiscal.crypto.signed_message import read


class NamedBy(Enum):
    """How a signature says whose it is."""

    ISSUER_AND_SERIAL = 1
    """As the standard has it, and as live clients do."""

    KEY_IDENTIFIER = 2
    """As the official samples do: ``[0]`` around an OCTET STRING, which standard readers refuse."""


_GOST = der.sequence(der.oid(oids.GOST_34311))


def _attribute(oid: str, value: bytes) -> bytes:
    return der.sequence(der.oid(oid), der.set_of(value))


def _signing_certificate(certificate: Certificate) -> bytes:
    """The reference to the signer's certificate, by hash, issuer and serial number."""
    issuer = der.sequence(der.element(der.context(4), certificate.issuer.raw))
    reference = der.sequence(
        _GOST, der.octets(certificate.fingerprint), der.sequence(issuer, der.integer(certificate.serial))
    )
    return der.sequence(der.sequence(reference))


def sign(
    content: bytes,
    key: PrivateKey,
    certificate: Certificate,
    signing_time: datetime | None = None,
    named_by: NamedBy = NamedBy.ISSUER_AND_SERIAL,
    content_type: str = oids.DATA,
    by: Arithmetic | None = None,
) -> bytes:
    """The signed message around ``content``.

    :param signing_time: the signer's own word on when; left out by default, as the official samples do.
    :param certificate: of this very key; `protocols.fiscal.crypto.signer` makes sure of that once, not each time.
    :param by: who multiplies points; the machine's choice when absent.
    :raises NoKey: when the certificate's key is not even on the same curve.
    """
    if certificate.public_key is None or certificate.public_key.curve != key.curve:
        raise NoKey("the certificate belongs to another key")
    attributes = [
        _attribute(oids.CONTENT_TYPE, der.oid(content_type)),
        _attribute(oids.MESSAGE_DIGEST, der.octets(digest(content))),
        _attribute(oids.SIGNING_CERTIFICATE_V2, _signing_certificate(certificate)),
    ]
    if signing_time is not None:
        attributes.append(_attribute(oids.SIGNING_TIME, der.time(signing_time)))
    signed = der.set_of(*attributes)
    signature = key.sign(digest(signed), by=by)
    if named_by is NamedBy.KEY_IDENTIFIER:
        who = der.element(der.context(0), der.octets(certificate.key_id))
    else:
        who = der.sequence(certificate.issuer.raw, der.integer(certificate.serial))
    signer = der.sequence(
        der.integer(1),
        who,
        _GOST,
        bytes([der.context(0)]) + signed[1:],
        der.sequence(der.oid(oids.DSTU_4145_LE)),
        der.octets(signature),
    )
    inner = der.sequence(der.oid(content_type), der.element(der.context(0), der.octets(content)))
    body = der.sequence(
        der.integer(1 if content_type == oids.DATA else 3),
        der.set_of(_GOST),
        inner,
        der.element(der.context(0), certificate.raw),
        der.set_of(signer),
    )
    return der.sequence(der.oid(oids.SIGNED_DATA), der.element(der.context(0), body))


def signature_of(message: bytes) -> bytes:
    """The value of the one signature of a message: what a time stamp is about.

    :raises Malformed: when the message has not exactly one.
    """
    signers = read(message).signers
    if len(signers) != 1:
        raise Malformed(f"a message with {len(signers)} signatures")
    return signers[0].signature


def with_stamp(message: bytes, token: bytes) -> bytes:
    """The message with a time-stamp token beside its signature; all that was signed stays as it is.

    :raises Malformed: when the message has not exactly one signature, or has unsigned attributes already.
    """
    signature_of(message)
    kind, wrapped = der.parse(message).children()
    *parts, signers = wrapped.children()[0].children()
    signer = signers.children()[0]
    if signer.children()[-1].tag == der.context(1):
        raise Malformed("the signature has unsigned attributes already")
    stamp = der.element(der.context(1), _attribute(oids.SIGNATURE_TIME_STAMP, token))
    stamped = der.element(der.SET, der.sequence(signer.content, stamp))
    body = der.sequence(*[part.raw for part in parts], stamped)
    return der.sequence(kind.raw, der.element(der.context(0), body))
