"""What was found wrong with a signed message, as a value with reasons."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, unique


@unique
class Reason(Enum):
    """Why a signed message is not accepted."""

    CHANGED = "the content is not the one that was signed"
    SIGNATURE = "the signature does not fit the key"
    ATTRIBUTES = "what the signature covers is incomplete or contradicts itself"
    ALGORITHM = "the algorithm is not ours"
    NO_CERTIFICATE = "the signer's certificate is not there"
    OTHER_CERTIFICATE = "the signature was made for another certificate"
    KEY_USAGE = "the key is not meant for this"
    NOT_VALID = "the certificate was not valid at that time"
    NOT_TRUSTED = "the certificate does not lead to one that we trust"
    TIME_STAMP = "the time stamp is wrong"
    PROFILE = "the tax service does not take messages of this form"


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong.

    :param detail: for people; holds no secrets.
    """

    reason: Reason
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason.value}: {self.detail}" if self.detail else self.reason.value
