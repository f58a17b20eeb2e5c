"""Checking signed messages: ours, a shop's, the tax service's own (fiscal-server.md 15.1, 15.2)."""

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
class Verdict:
    """What is known of a signed message after checking it.

    :param content: what was signed; to be used only when `valid`.
    :param signer: whose key signed, ``None`` when that cannot be told.
    :param signed_at: the signer's own word, :param stamp: a third party's, if there is one.
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
) -> Verdict:
    """Check a signed message with one signature.

    :param at: when it arrived; a time stamp's moment, when there is a good one, takes its place.
    :param trust: whose signature is accepted; ``None`` checks the arithmetic alone and says nothing of who signed.
    :param stamp_trust: which time-stamp providers are believed; ``None`` does not ask.
    :param known: the signer's certificate, for messages without one.
    :raises Malformed: when the bytes are no signed message.
    """
    message = read(data)
    content = message.content or b""
    if len(message.signers) != 1:
        fault = Fault(Reason.PROFILE, f"it has {len(message.signers)} signatures")
        return Verdict(content, None, None, None, (fault,))
    (signer,) = message.signers
    certificate = message.certificate_of(signer)
    if certificate is None and known is not None and signer.is_by(known):
        certificate = known
    if certificate is None:
        return Verdict(content, None, None, None, (Fault(Reason.NO_CERTIFICATE),))
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
        faults += trust.faults(certificate, stamp.moment if stamp and not stamp.faults else at)
    return Verdict(content, certificate, signed_at, stamp, tuple(faults))


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
    """What the tax service would refuse in the form of a message, whatever its signature (fiscal-server.md 15.1).

    :param stamp_wanted: whether a time stamp must be there; documents made offline need none.
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
