"""Frames of Concert V2, produced with pyTeliumManager 2.4.2 (MIT)."""

from __future__ import annotations

from typing import NamedTuple

from protocols.terminals.concert_v2 import ConcertAnswer, ConcertRequest, Signal

ASK = ConcertRequest(1250, register="01", full=True, currency="978")
FULL_ANSWER = ConcertAnswer(
    1250, "0", "01", "1", "4711XXXXXXXX1234  0000000000000000000000000000000000000", "978", "0000000000"
)
SHORT_ANSWER = ConcertAnswer(1250, "7", "01", "1", None, "978", "0000000000")


class Framed(NamedTuple):
    """A whole frame and the message in it."""

    id: str
    message: ConcertRequest | ConcertAnswer
    frame: bytes


FRAMES = (
    Framed(
        "concert-v2-serial-001",
        ASK,
        bytes.fromhex("02303130303030313235303131303937382020202020202020202041303130423031300301"),
    ),
    Framed(
        "concert-v2-serial-002",
        FULL_ANSWER,
        bytes.fromhex(
            "0230313030303030313235303134373131585858585858585831323334202030303030303030303030303030303030"
            "303030303030303030303030303030303030303030393738303030303030303030300304"
        ),
    ),
    Framed(
        "concert-v2-serial-003",
        SHORT_ANSWER,
        bytes.fromhex("02303137303030303132353031393738303030303030303030300334"),
    ),
)

SIGNALS = ((Signal.ENQ, b"\x05"), (Signal.ACK, b"\x06"), (Signal.NAK, b"\x15"), (Signal.EOT, b"\x04"))
"""concert-v2-serial-004 to 007."""

CHECK_BYTE = bytes.fromhex("02303230307c3132337c0331")
"""stx-etx-lrc-generic-001, documentation of Transbank: the same framing rule, data ``0200|123|``, check byte 31."""
