"""How a call ended: gRPC's statuses, and the texts and times in its headers."""

from __future__ import annotations

import re
from enum import IntEnum
from urllib.parse import quote, unquote

from protocols.errors import WireError


class Code(IntEnum):
    """The status of a call."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class CallFailed(WireError):
    """The answer is a status other than OK.

    No status proves that the call was not processed: a proxy that has passed a call on may answer `UNAVAILABLE`.
    """

    def __init__(self, code: int, text: str = "") -> None:
        known = Code(code).name if code in set(Code) else str(code)
        super().__init__(f"gRPC status {known}: {text}" if text else f"gRPC status {known}")
        self.code, self.text = code, text


# Printable ASCII without the percent sign stands for itself.
_PLAIN = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")


def escaped(text: str) -> str:
    """A text as `grpc-message` carries it."""
    return quote(text, safe=_PLAIN)


def unescaped(text: str) -> str:
    """The text of a `grpc-message`; what is no UTF-8 comes as replacement characters."""
    return unquote(text)


_UNITS = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_MOST_DIGITS = 8


def timeout_of(seconds: float) -> str:
    """A `grpc-timeout` of ``seconds``, at least a millisecond."""
    return f"{min(max(1, round(seconds * 1000)), 10**_MOST_DIGITS - 1)}m"


def seconds_of(timeout: str) -> float | None:
    """The seconds of a `grpc-timeout`, `None` when it is none."""
    found = re.fullmatch(rf"([0-9]{{1,{_MOST_DIGITS}}})([HMSmun])", timeout)
    return int(found[1]) * _UNITS[found[2]] if found else None
