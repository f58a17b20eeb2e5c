"""Frames between STX and ETX with one check byte, found in a stream cut anywhere: ECR17 and Concert V2."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

STX, ETX, EOT, ACK, NAK = 0x02, 0x03, 0x04, 0x06, 0x15


@dataclass(frozen=True)
class Payload:
    """A whole frame whose check byte is right."""

    data: bytes = field(repr=False)


@dataclass(frozen=True)
class Damaged:
    """A frame that was cut short or whose check byte is wrong: its sender should send it again."""

    data: bytes = field(repr=False)


@dataclass(frozen=True)
class Noise:
    """Bytes that belong to no frame."""

    data: bytes


_Piece = TypeVar("_Piece")


class PieceDeframer(Generic[_Piece]):
    """Puts the pieces of a stream together, wherever it was cut."""

    longest: int
    """Bytes of the longest frame without its check byte; more without an end are no frame."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[_Piece | Payload | Damaged | Noise]:
        """Take what came and return every piece that is complete; never fails."""
        self._buffer += data
        pieces: list[_Piece | Payload | Damaged | Noise] = []
        while self._buffer:
            piece = self._next()
            if piece is None:
                break
            pieces.append(piece)
        return pieces

    def _next(self) -> _Piece | Payload | Damaged | Noise | None:
        raise NotImplementedError

    def _check(self, payload: bytes) -> int:
        """The check byte of a frame with ``payload``."""
        raise NotImplementedError

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def _payload(self, endless: type[Damaged] | type[Noise]) -> Payload | Damaged | Noise | None:
        """The frame at the beginning of the buffer; ``endless`` is what one without an end is."""
        # No further than a frame can reach, so that it does not matter how much has come already.
        end = self._buffer.find(ETX, 1, self.longest + 1)
        # Payloads are text: a second STX means that the end of the first frame was lost.
        again = self._buffer.find(STX, 1, end if end >= 0 else self.longest + 1)
        if again >= 0:
            return Damaged(self._take(again))
        if end < 0:
            return endless(self._take(self.longest + 1)) if len(self._buffer) > self.longest else None
        if len(self._buffer) < end + 2:
            return None
        whole = self._take(end + 2)
        payload = whole[1:end]
        return Payload(payload) if whole[-1] == self._check(payload) else Damaged(whole)
