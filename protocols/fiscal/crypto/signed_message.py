"""The form of a signed message: CMS with the content inside (docs/reference/cryptography.md#signed-messages).

::

    ContentInfo { OID signedData, [0] SignedData {
        version, { digest algorithms }, { content type, [0] OCTETS content }, [0] certificates, { SignerInfo … } } }
    SignerInfo { version, who, digest algorithm, [0] signed attributes, signature algorithm, OCTETS r || s,
        [1] unsigned attributes }

The signature covers the signed attributes with their first byte A0 written as 31 (SET); the attribute messageDigest
holds the hash of the content.

- Official messages do not sort the attributes as DER does, so their bytes are hashed as they were sent.
- "Who" is mostly issuer and serial number. Official samples have ``[0]`` around an OCTET STRING with the key
  identifier, the standard ``[0]`` with the bare identifier. All three are read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from protocols.fiscal.crypto import der, oids
from protocols.fiscal.crypto.certificates import Certificate, certificates_in
from protocols.fiscal.crypto.der import Element
from protocols.fiscal.crypto.errors import Malformed
from protocols.fiscal.crypto.gost34311 import digest
from protocols.fiscal.crypto.verdict import Fault, Reason

Attributes = dict[str, list[Element]]
"""Values by the identifier of the attribute."""


@dataclass(frozen=True)
class SignerInfo:
    """One signature of a message.

    :param issuer: and :param serial: of the certificate, or else :param key_id:.
    :param signed_bytes: covered by the signature; empty without signed attributes.
    :param signature: r || s as it was sent.
    """

    issuer: bytes = field(repr=False)
    serial: int
    key_id: bytes
    digest_algorithm: str
    signed_bytes: bytes = field(repr=False)
    attributes: Attributes = field(repr=False)
    signature_algorithm: str
    signature: bytes = field(repr=False)
    unsigned: Attributes = field(repr=False)

    def is_by(self, certificate: Certificate) -> bool:
        """Whether it names this certificate."""
        if self.key_id:
            return certificate.key_id == self.key_id
        return (certificate.issuer.raw, certificate.serial) == (self.issuer, self.serial)

    def attribute(self, oid: str) -> Element | None:
        """The value of a signed attribute; ``None`` when it is absent or has several."""
        values = self.attributes.get(oid, [])
        return values[0] if len(values) == 1 else None


@dataclass(frozen=True)
class SignedMessage:
    """A signed message as it was sent, unchecked.

    :param content: what was signed; ``None`` when it is not inside.
    :param others: whether it contains lists of revoked certificates.
    """

    content_type: str
    content: bytes | None = field(repr=False)
    certificates: tuple[Certificate, ...]
    signers: tuple[SignerInfo, ...]
    others: bool

    def certificate_of(self, signer: SignerInfo) -> Certificate | None:
        """The certificate that the signature names, if it is in the message."""
        return next((certificate for certificate in self.certificates if signer.is_by(certificate)), None)


def _read_attributes(element: Element | None) -> Attributes:
    found: Attributes = {}
    for attribute in element.children() if element else []:
        fields = attribute.fields(der.SEQUENCE)
        kind = fields.take().oid()
        if kind in found:
            raise Malformed(f"the attribute {kind} occurs twice")
        found[kind] = fields.take(der.SET).children()
    return found


def _read_signer(element: Element) -> SignerInfo:
    fields = element.fields(der.SEQUENCE)
    fields.take(der.INTEGER)
    issuer, serial, key_id = b"", 0, b""
    if fields.peek() == der.SEQUENCE:
        who = fields.take().fields()
        issuer, serial = who.take(der.SEQUENCE).raw, who.take().integer()
    elif fields.peek() == der.context(0):
        key_id = fields.take().fields().take().octets()
    else:
        key_id = fields.take(der.context(0, constructed=False)).content
    if not issuer and not key_id:
        raise Malformed("a signature does not name its certificate")
    digest_algorithm = fields.take().fields(der.SEQUENCE).take().oid()
    signed = fields.maybe(der.context(0))
    signature_algorithm = fields.take().fields(der.SEQUENCE).take().oid()
    signature = fields.take().octets()
    return SignerInfo(
        issuer=issuer,
        serial=serial,
        key_id=key_id,
        digest_algorithm=digest_algorithm,
        signed_bytes=bytes([der.SET]) + signed.raw[1:] if signed else b"",
        attributes=_read_attributes(signed),
        signature_algorithm=signature_algorithm,
        signature=signature,
        unsigned=_read_attributes(fields.maybe(der.context(1))),
    )


def read(data: bytes) -> SignedMessage:
    """The message in these bytes; its signature is not checked.

    :raises Malformed: when they are not a message.
    """
    outer = der.parse(data).fields(der.SEQUENCE)
    if outer.take().oid() != oids.SIGNED_DATA:
        raise Malformed("this is not a signed message")
    fields = outer.take(der.context(0)).fields().take().fields(der.SEQUENCE)
    fields.take(der.INTEGER)
    fields.take(der.SET)
    inner = fields.take().fields(der.SEQUENCE)
    content_type = inner.take().oid()
    wrapped = inner.maybe(der.context(0))
    certificates = fields.maybe(der.context(0))
    others = fields.maybe(der.context(1))
    return SignedMessage(
        content_type=content_type,
        content=wrapped.fields().take().octets() if wrapped else None,
        certificates=tuple(certificates_in(certificates)) if certificates else (),
        signers=tuple(_read_signer(signer) for signer in fields.take(der.SET).children()),
        others=others is not None,
    )


def check_signature(message: SignedMessage, signer: SignerInfo, certificate: Certificate) -> list[Fault]:
    """What is wrong with the signature itself: digest, attributes, arithmetic. Trust is not checked."""
    for name in (signer.digest_algorithm, signer.signature_algorithm, certificate.key_algorithm):
        if name not in (oids.GOST_34311, oids.DSTU_4145_LE):
            return [Fault(Reason.ALGORITHM, oids.name_of(name))]
    key = certificate.public_key
    if key is None:
        return [Fault(Reason.ALGORITHM, oids.name_of(certificate.key_algorithm))]
    if message.content is None:
        return [Fault(Reason.CHANGED, "the content is not in the message")]
    faults = _check_attributes(message, signer, certificate)
    signature = signer.signature
    if len(signature) != 2 * key.curve.scalar_size and signature[:1] == b"\x04":
        # Some programs wrap r || s once more.
        try:
            signature = der.parse(signature).octets()
        except Malformed:
            return [*faults, Fault(Reason.SIGNATURE)]
    if not key.verify(digest(signer.signed_bytes), signature):
        faults.append(Fault(Reason.SIGNATURE))
    return faults


def _check_attributes(message: SignedMessage, signer: SignerInfo, certificate: Certificate) -> list[Fault]:
    faults = []
    stated_type = signer.attribute(oids.CONTENT_TYPE)
    stated_digest = signer.attribute(oids.MESSAGE_DIGEST)
    if stated_type is None or stated_digest is None:
        return [Fault(Reason.ATTRIBUTES, "the type or the hash of the content is not signed")]
    if stated_type.oid() != message.content_type:
        faults.append(Fault(Reason.ATTRIBUTES, "the signed content type is another one"))
    if stated_digest.octets() != digest(message.content or b""):
        faults.append(Fault(Reason.CHANGED))
    bound = signer.attribute(oids.SIGNING_CERTIFICATE_V2)
    if bound is not None:
        first = bound.fields(der.SEQUENCE).take().fields(der.SEQUENCE).take().fields(der.SEQUENCE)
        algorithm = first.take().fields(der.SEQUENCE).take().oid() if first.peek() == der.SEQUENCE else ""
        if algorithm != oids.GOST_34311:
            faults.append(Fault(Reason.ALGORITHM, oids.name_of(algorithm) or "SHA-256"))
        elif first.take().octets() != certificate.fingerprint:
            faults.append(Fault(Reason.OTHER_CERTIFICATE))
    return faults
