"""Faults of signed messages, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, unique


@unique
class Reason(Enum):
    """Why a signed message is not accepted."""

    CHANGED = "the content was changed after signing"
    SIGNATURE = "the signature does not fit the key"
    ATTRIBUTES = "the signed attributes are incomplete or contradictory"
    ALGORITHM = "the algorithm is not supported"
    NO_CERTIFICATE = "the signer's certificate is missing"
    OTHER_CERTIFICATE = "the signature was made for another certificate"
    KEY_USAGE = "the key is not for this use"
    NOT_VALID = "the certificate was not valid at that time"
    NOT_TRUSTED = "the certificate does not lead to a trusted one"
    OTHER_OWNER = "the certificate belongs to somebody else"
    TIME_STAMP = "the time stamp is wrong"
    PROFILE = "the tax service does not accept messages of this form"


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong.

    :param detail: for people; holds no secrets.
    """

    reason: Reason
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason.value}: {self.detail}" if self.detail else self.reason.value
