"""Makes signed messages as the tax service accepts them (docs/reference/cryptography.md#signed-messages).

CAdES with the content inside, one signature, the signer's certificate alone, signed attributes in DER's order. A time
stamp covers the signature, so it is fetched and added afterwards.
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
    """How a signature names its certificate."""

    ISSUER_AND_SERIAL = 1
    """As in the standard and in clients in use."""

    KEY_IDENTIFIER = 2
    """As in the official samples: ``[0]`` around an OCTET STRING, which standard readers refuse."""


_GOST = der.sequence(der.oid(oids.GOST_34311))


def _attribute(oid: str, value: bytes) -> bytes:
    return der.sequence(der.oid(oid), der.set_of(value))


def _signing_certificate(certificate: Certificate) -> bytes:
    """A reference to the signer's certificate: hash, issuer and serial number."""
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

    :param certificate: of this key; `protocols.fiscal.crypto.signer` checks that once, not for each signature.
    :param signing_time: stated by the signer; absent by default, as in the official samples.
    :param by: multiplies points; `arithmetic.current` when absent.
    :raises NoKey: when the certificate's key is on another curve.
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
    """The value of a message's only signature, which a time stamp covers.

    :raises Malformed: when the message has not exactly one.
    """
    signers = read(message).signers
    if len(signers) != 1:
        raise Malformed(f"a message with {len(signers)} signatures")
    return signers[0].signature


def with_stamp(message: bytes, token: bytes) -> bytes:
    """The message with a time-stamp token beside its signature.

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
