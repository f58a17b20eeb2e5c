"""The state of a Star printer, a group of at least seven bytes (docs/reference/printers.md#star).

==== ============================ ==========================================================
byte fixed bits                   meaning
==== ============================ ==========================================================
0    7=0 4=0 0=1                  length of the group: bits 1 to 3 and 5
1    7=0 4=0 0=0 (as all others)  version
2                                 5 cover open, 3 offline, 2 drawer
3                                 6 overheated head, 5 unrecoverable, 3 cutter, 2 mechanical
4                                 buffer overflow and others
5                                 3 paper out, 1 and 2 paper near end
7                                 documents counted, modulo 32: bits 1 2 3 5 6
==== ============================ ==========================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from protocols.printers.escpos_status import XOFF, XON, Flow, Noise, fault_of
from protocols.printers.status import PrinterStatus

SHORTEST = 7
COUNTS = 32
"""The document counter is modulo this number."""

_COUNTER = 7


@dataclass(frozen=True)
class StarState:
    """A whole group: the state and the document counter (`None`: this model does not count)."""

    status: PrinterStatus
    count: int | None


StarAnswer = StarState | Flow | Noise
"""One item of a Star printer's output."""


class StarAnswers:
    """Parses the printer's output and keeps its state; no input makes it fail.

    :param drawer_high_is_open: the wiring of the drawer's switch.
    """

    def __init__(self, drawer_high_is_open: bool = True) -> None:
        self.status = PrinterStatus()
        self.count: int | None = None
        self.stopped = False
        self._high_is_open = drawer_high_is_open
        self._group = b""
        self._length = 0

    def feed(self, data: bytes) -> Iterator[StarAnswer]:
        """Yield the answers that ``data`` completes."""
        for byte in data:
            if byte in (XON, XOFF):
                self.stopped = byte == XOFF
                yield Flow(self.stopped)
            elif byte & 0x91 == 0x01:
                if self._group:
                    yield Noise(self._group)
                self._group, self._length = bytes([byte]), announced_length(byte)
                if self._length < SHORTEST:
                    yield Noise(self._group)
                    self._group = b""
            elif self._group and byte & 0x91 == 0:
                self._group += bytes([byte])
                if len(self._group) == self._length:
                    group, self._group = self._group, b""
                    yield self._state(group)
            else:
                yield Noise(self._group + bytes([byte]))
                self._group = b""

    def _state(self, group: bytes) -> StarState:
        near_end = bool(group[5] & 0x06)
        self.status = PrinterStatus(
            online=not group[2] & 0x08,
            cover_open=bool(group[2] & 0x20),
            drawer_open=bool(group[2] & 0x04) == self._high_is_open,
            error=fault_of(group[3]),
            paper="out" if group[5] & 0x08 else "near_end" if near_end else "ok",
            raw=group,
        )
        self.count = decode_count(group[_COUNTER]) if len(group) > _COUNTER else None
        return StarState(self.status, self.count)


def announced_length(first: int) -> int:
    """The length of the group that begins with ``first``."""
    return (first >> 1 & 0x07) | (first >> 2 & 0x08)


def encode_length(length: int) -> int:
    """The first byte of a group of ``length`` bytes, up to 15."""
    return 0x01 | (length & 0x07) << 1 | (length & 0x08) << 2


def decode_count(byte: int) -> int:
    """The document counter in ``byte``."""
    return (byte >> 1 & 0x07) | (byte >> 2 & 0x18)


def encode_count(count: int) -> int:
    """The byte of a group that contains ``count``."""
    return (count & 0x07) << 1 | (count & 0x18) << 2
