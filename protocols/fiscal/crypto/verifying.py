"""Verifies signed messages (docs/reference/cryptography.md#verification)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from protocols.fiscal.crypto import oids
from protocols.fiscal.crypto.certificates import Certificate
from protocols.fiscal.crypto.errors import Malformed
from protocols.fiscal.crypto.signed_message import SignedMessage, SignerInfo, check_signature, read
from protocols.fiscal.crypto.timestamps import TimeStamp, read_stamp
from protocols.fiscal.crypto.trust import Trust
from protocols.fiscal.crypto.verdict import Fault, Reason


@dataclass(frozen=True)
class CheckedMessage:
    """The result of checking a signed message.

    :param content: what was signed; to be used only when `valid`.
    :param signer: the certificate of the signing key, ``None`` when unknown.
    :param signed_at: stated by the signer, :param stamp: by a third party, if there is one.
    :param faults: everything that is wrong; empty means valid.
    """

    content: bytes = field(repr=False)
    signer: Certificate | None
    signed_at: datetime | None
    stamp: TimeStamp | None
    faults: tuple[Fault, ...]

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


def verify(
    data: bytes,
    at: datetime,
    trust: Trust | None,
    stamp_trust: Trust | None = None,
    known: Certificate | None = None,
) -> CheckedMessage:
    """Check a signed message with one signature.

    :param at: when it arrived; the moment of a good time stamp by one of ``stamp_trust`` replaces it.
    :param trust: accepted signers; ``None`` checks the signature alone, by any signer.
    :param stamp_trust: accepted time-stamp providers; ``None`` accepts any, but believes the time of none.
    :param known: the signer's certificate, for messages without one.
    :raises Malformed: when the bytes are not a signed message.
    """
    message = read(data)
    content = message.content or b""
    if len(message.signers) != 1:
        fault = Fault(Reason.PROFILE, f"it has {len(message.signers)} signatures")
        return CheckedMessage(content, None, None, None, (fault,))
    (signer,) = message.signers
    certificate = message.certificate_of(signer)
    if certificate is None and known is not None and signer.is_by(known):
        certificate = known
    if certificate is None:
        return CheckedMessage(content, None, None, None, (Fault(Reason.NO_CERTIFICATE),))
    signed_at = None
    try:
        faults = check_signature(message, signer, certificate)
        stated = signer.attribute(oids.SIGNING_TIME)
        signed_at = stated.time() if stated else None
    except Malformed as wrong:
        faults = [Fault(Reason.ATTRIBUTES, str(wrong))]
    stamp, stamp_faults = _stamp(signer, stamp_trust)
    faults += stamp_faults
    if not certificate.may_sign():
        faults.append(Fault(Reason.KEY_USAGE, "the key is not for signatures"))
    if trust is not None:
        # Else whoever has an expired key could say that it was used long ago.
        known_time = stamp_trust is not None and stamp is not None and not stamp.faults
        faults += trust.faults(certificate, stamp.moment if stamp is not None and known_time else at)
    return CheckedMessage(content, certificate, signed_at, stamp, tuple(faults))


def _stamp(signer: SignerInfo, trust: Trust | None) -> tuple[TimeStamp | None, list[Fault]]:
    tokens = signer.unsigned.get(oids.SIGNATURE_TIME_STAMP, [])
    if not tokens:
        return None, []
    try:
        stamp = read_stamp(tokens[0].raw, signer.signature, trust)
    except Malformed as wrong:
        return None, [Fault(Reason.TIME_STAMP, str(wrong))]
    return stamp, [Fault(Reason.TIME_STAMP, str(fault)) for fault in stamp.faults]


def profile_faults(message: SignedMessage, stamp_wanted: bool = False) -> list[Fault]:
    """What the tax service refuses in the form of a message (docs/reference/cryptography.md#signed-messages).

    :param stamp_wanted: whether a time stamp is required; documents made offline need none.
    """
    wrong = []
    if len(message.signers) != 1:
        wrong.append(f"it has {len(message.signers)} signatures, not one")
    if message.content is None:
        wrong.append("the content is not inside")
    if len(message.certificates) != 1:
        wrong.append(f"it has {len(message.certificates)} certificates, not the signer's alone")
    if message.others:
        wrong.append("it carries lists of revoked certificates")
    for signer in message.signers:
        if oids.CONTENT_TIME_STAMP in signer.attributes:
            wrong.append("it carries a time stamp of the content")
        if oids.SIGNING_CERTIFICATE_V2 not in signer.attributes:
            wrong.append("the signature does not cover the signer's certificate")
        if stamp_wanted and oids.SIGNATURE_TIME_STAMP not in signer.unsigned:
            wrong.append("the signature has no time stamp")
    return [Fault(Reason.PROFILE, detail) for detail in wrong]
