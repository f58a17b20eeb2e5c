"""Time stamps: a third party's signed proof that a signature existed at a moment (RFC 3161).

The request holds the hash of the signature value, the answer a signed message with the content::

    TSTInfo { version 1, policy, { hash algorithm, OCTETS hash }, serial, GeneralizedTime, …, nonce? }

It is added beside the signature as an unsigned attribute. The caller sends the request; this module does no I/O.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime

from protocols.fiscal.crypto import der, oids
from protocols.fiscal.crypto.certificates import Certificate
from protocols.fiscal.crypto.errors import CryptoError, Malformed
from protocols.fiscal.crypto.gost34311 import digest
from protocols.fiscal.crypto.signed_message import check_signature, read
from protocols.fiscal.crypto.trust import Trust
from protocols.fiscal.crypto.verdict import Fault, Reason

REQUEST_TYPE, ANSWER_TYPE = "application/timestamp-query", "application/timestamp-reply"
"""Content types over HTTP."""


class NoStamp(CryptoError):
    """The provider answered without a time stamp."""


@dataclass(frozen=True)
class TimeStamp:
    """A token that was read.

    :param moment: UTC, :param imprint: hash of what was stamped.
    :param issuer: certificate of the provider's key, ``None`` when it is not inside.
    :param faults: what is wrong with it; the moment counts only without faults.
    """

    moment: datetime
    serial: int
    imprint: bytes
    nonce: int | None
    issuer: Certificate | None
    faults: tuple[Fault, ...]


def read_stamp(token: bytes, stamped: bytes, trust: Trust | None) -> TimeStamp:
    """A time-stamp token, checked.

    :param stamped: the value of the signature that it should cover.
    :param trust: accepted providers; ``None`` accepts any.
    :raises Malformed: when it is not a token.
    """
    message = read(token)
    if message.content_type != oids.TIME_STAMP_INFO or message.content is None:
        raise Malformed("this is not a time-stamp token")
    fields = der.parse(message.content).fields(der.SEQUENCE)
    fields.take(der.INTEGER)
    fields.take(der.OID)
    imprint = fields.take().fields(der.SEQUENCE)
    algorithm, hash = imprint.take().fields(der.SEQUENCE).take().oid(), imprint.take().octets()
    serial = fields.take().integer()
    moment = fields.take(der.GENERALIZED_TIME).time()
    nonce = next((field.integer() for field in fields.rest() if field.tag == der.INTEGER), None)
    faults: list[Fault] = []
    if algorithm != oids.GOST_34311:
        faults.append(Fault(Reason.ALGORITHM, oids.name_of(algorithm)))
    elif hash != digest(stamped):
        faults.append(Fault(Reason.TIME_STAMP, "it covers something else"))
    issuer = None
    if len(message.signers) != 1:
        faults.append(Fault(Reason.TIME_STAMP, f"it has {len(message.signers)} signatures"))
    else:
        (signer,) = message.signers
        issuer = message.certificate_of(signer)
        if issuer is None:
            faults.append(Fault(Reason.NO_CERTIFICATE, "of the time-stamp provider"))
        else:
            faults += check_signature(message, signer, issuer)
            if oids.TIME_STAMPING not in issuer.extended_usage:
                faults.append(Fault(Reason.KEY_USAGE, "the key is not for time stamps"))
            if trust is not None:
                faults += trust.faults(issuer, moment)
            elif not issuer.valid_at(moment):
                faults.append(Fault(Reason.NOT_VALID, issuer.subject.common))
    return TimeStamp(moment, serial, hash, nonce, issuer, tuple(faults))


def new_nonce() -> int:
    """A number that links an answer to its request."""
    return secrets.randbits(63)


def ask_for_stamp(signature: bytes, nonce: int) -> bytes:
    """The request to a provider for a stamp of this signature value, with the provider's certificate inside."""
    imprint = der.sequence(der.sequence(der.oid(oids.GOST_34311)), der.octets(digest(signature)))
    return der.sequence(der.integer(1), imprint, der.integer(nonce), der.boolean(True))


def read_stamp_answer(answer: bytes, signature: bytes, nonce: int, trust: Trust | None) -> bytes:
    """The token in a provider's answer, checked.

    :raises NoStamp: when the provider refused, or its token answers another request or is wrong.
    :raises Malformed: when the bytes are not an answer.
    """
    fields = der.parse(answer).fields(der.SEQUENCE)
    status = fields.take().fields(der.SEQUENCE).take().integer()
    if status not in (0, 1):
        raise NoStamp(f"the provider refused: status {status}")
    token = fields.take(der.SEQUENCE).raw
    stamp = read_stamp(token, signature, trust)
    if stamp.nonce != nonce:
        raise NoStamp("the answer belongs to another request")
    if stamp.faults:
        raise NoStamp("; ".join(map(str, stamp.faults)))
    return token
