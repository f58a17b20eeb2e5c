"""Frames of ECR17, found in a stream cut anywhere (docs/reference/ecr17.md#frames)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from protocols.checksums import lrc as xor_of
from protocols.terminals.ecr17.fields import to_bytes, to_text
from protocols.terminals.stx_frames import ACK, EOT, ETX, NAK, STX, Damaged, Noise, Payload, PieceDeframer

SOH = 0x01

LONGEST_FRAME = 1200
"""Longer than the largest message (176, or 1024 of XML); more without an end is not a frame."""

LONGEST_PROGRESS = 80
LONGEST_NOISE = 256
"""Bytes outside frames that are skipped before the line counts as garbled."""

MOST_DAMAGED = 20
"""Damaged frames in a row that are asked for again; a terminal that sends more would keep us at work without end."""


class Lrc(Enum):
    """Which bytes the check byte covers besides the payload: STX, ETX. A property of the terminal.

    The names are those of the field, although ``noext`` does count the ETX.
    """

    STD = False, False
    STX = True, True
    NOEXT = False, True
    STX_NOEXT = True, False

    def of(self, payload: bytes) -> int:
        """The check byte of a frame with ``payload``."""
        counts_stx, counts_etx = self.value
        return xor_of(payload, 0x7F ^ (STX if counts_stx else 0) ^ (ETX if counts_etx else 0))


def frame(payload: bytes, lrc: Lrc = Lrc.STD) -> bytes:
    """``payload`` as it travels."""
    return bytes((STX, *payload, ETX, lrc.of(payload)))


def control(byte: int, lrc: Lrc = Lrc.STD) -> bytes:
    """An acknowledgement: ``byte`` is `ACK` or `NAK`."""
    return bytes((byte, ETX, lrc.of(bytes((byte,)))))


@dataclass(frozen=True)
class Acknowledgement:
    """``06`` or ``15``; ``sure`` when its check byte fits one of the variants."""

    taken: bool
    sure: bool = True


@dataclass(frozen=True)
class DisplayText:
    """What the terminal shows now, without the spaces around it."""

    text: str

    def encode(self) -> bytes:
        """The bytes on the wire; the text is cut to 20 characters."""
        return bytes((SOH, *to_bytes(f"{self.text:<20.20}"), EOT))


Piece: TypeAlias = Payload | Acknowledgement | DisplayText | Damaged | Noise


class Deframer(PieceDeframer[Acknowledgement | DisplayText]):
    """Puts the pieces of a stream together, wherever it was cut."""

    longest = LONGEST_FRAME

    def __init__(self, lrc: Lrc = Lrc.STD) -> None:
        super().__init__()
        self.lrc = lrc

    def _check(self, payload: bytes) -> int:
        return self.lrc.of(payload)

    def _next(self) -> Piece | None:
        match self._buffer[0]:
            case 0x02:
                return self._payload(Noise)
            case 0x01:
                return self._progress()
            case 0x06 | 0x15:
                return self._acknowledgement()
        end = next((n for n, byte in enumerate(self._buffer) if byte in (SOH, STX, ACK, NAK)), len(self._buffer))
        return Noise(self._take(end))

    def _progress(self) -> Piece | None:
        end = self._buffer.find(EOT, 1, LONGEST_PROGRESS + 1)
        if end < 0:
            return Noise(self._take(1)) if len(self._buffer) > LONGEST_PROGRESS else None
        if STX in self._buffer[1:end]:
            return Noise(self._take(1))
        return DisplayText(to_text(self._take(end + 1)[1:-1]).strip())

    def _acknowledgement(self) -> Piece | None:
        if len(self._buffer) > 1 and self._buffer[1] != ETX:
            return Noise(self._take(1))
        if len(self._buffer) < 3:
            return None
        byte, _, check = self._take(3)
        # The variant is a guess until the terminal has answered, so each of the four is accepted.
        return Acknowledgement(byte == ACK, any(check == lrc.of(bytes((byte,))) for lrc in Lrc))
