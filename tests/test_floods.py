"""Stream readers whose peer sends garbage: endless bytes cost neither time nor memory."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.store.sqlite import wire
from dmtwisted.store.values import StoreFailed
from protocols.errors import Garbled
from protocols.printers.escpos import EscPosReader
from protocols.printers.escpos_status import EscPosAnswers
from protocols.printers.hazards import RealTimeScanner
from protocols.printers.star import StarReader
from protocols.printers.star_status import StarAnswers
from protocols.terminals import caisse_ap, concert_v2
from protocols.terminals.ecr17 import frames as ecr17
from protocols.terminals.privatbank_json import messages as privatbank
from protocols.terminals.ssi_json import messages as ssi
from protocols.terminals.zvt.apdu import ApduDeframer
from protocols.terminals.zvt.link import DleDeframer

FLOODS = (
    *(bytes((byte,)) for byte in (0x00, 0x01, 0x02, 0x03, 0x06, 0x10, 0x1B, 0x1D, 0x20, 0x39, 0x43, 0x7B, 0xFF)),
    *(b"\x10\x02", b"\x06\x03", b"\x02\x03", b"\x01\x02", b"\x04\x0f\x00", b"\x04\x0f\xff\xff\xff"),
    *(b"\x1b*!\xff\xff", b"\x1d(k\xff\xff1P0", b"\x1dv0\0\xff\xff\xff\xff", b"\x1b\x1dyD1\0\xff\xff", b"CZ999"),
)
"""Data that repeats; some of it announces more data that never comes."""

PIECE = 1 << 16
"""Bytes that arrive at once: one read from a socket."""

MOST_KEPT = (1 << 20) + 2 * PIECE
"""Bytes that a reader may keep: a printer's longest instruction, and the data that came with its end."""

LONGEST = 1.0
"""The longest time for one piece, in seconds."""

READERS: dict[str, Callable[[], Any]] = {
    "zvt over tcp": ApduDeframer,
    "zvt over serial": DleDeframer,
    "ssi": ssi.Deframer,
    "privatbank": privatbank.Deframer,
    "ecr17": ecr17.Deframer,
    "caisse-ap": caisse_ap.Deframer,
    "concert v2": concert_v2.Deframer,
    "escpos": EscPosReader,
    "star": StarReader,
    "escpos answers": EscPosAnswers,
    "star answers": StarAnswers,
    "real time": RealTimeScanner,
}


def feed(reader: Any, data: bytes) -> bool:
    """Read and forget all items; return whether the line goes on: a wire error ends it."""
    try:
        found: Iterable[Any] | None = reader.feed(data)
        for _ in found or ():
            """Items are not kept."""
    except Garbled:
        return False
    return True


def kept_by(reader: Any) -> int:
    """How many bytes and objects a reader keeps."""
    return sum(len(value) for value in vars(reader).values() if hasattr(value, "__len__"))


class FloodTests(SynchronousTestCase):
    """Every reader of a stream, with all repeating data."""

    def test_bounded(self) -> None:
        """No piece of a socket's size takes a second, and after many of them no more than one message is kept."""
        for name, make in READERS.items():
            for flood in FLOODS:
                data, reader = flood * (PIECE // len(flood)), make()
                begun = time.process_time()
                feed(reader, data)
                self.assertLess(time.process_time() - begun, LONGEST, (name, flood))

    def test_memory(self) -> None:
        """A message that is longer than announced is not kept."""
        for name, make in READERS.items():
            for flood in (b"{", b"CZ999", b"\x1d(k\xff\xff1P0", b"\x1dv0\0\xff\xff\xff\xff", b"\x04\x0f\xff\xff\xff"):
                data, reader = flood * (PIECE // len(flood)), make()
                for _ in range(MOST_KEPT // PIECE + 1):
                    if not feed(reader, data):
                        break
                    self.assertLess(kept_by(reader), MOST_KEPT, (name, flood))

    def test_byte_by_byte(self) -> None:
        """A long text for a printer that arrives byte by byte takes linear time."""
        for make in (EscPosReader, StarReader):
            begun, reader = time.process_time(), make()
            for _ in range(8000):
                feed(reader, b"x")
            self.assertLess(time.process_time() - begun, LONGEST)

    def test_store_frames(self) -> None:
        """A length that no frame may have ends the stream of the store's frames; many short frames take no time."""
        self.assertRaises(StoreFailed, list, wire.Deframer().feed(b"\0\0\0\4\0\0\0\0\0"))
        begun = time.process_time()
        self.assertEqual(len(list(wire.Deframer().feed(wire.frame(1, 2, b"") * 7000))), 7000)
        self.assertLess(time.process_time() - begun, LONGEST)

    def test_damaged_value(self) -> None:
        """A stored answer that is not text is a reported failure; its caller gets an answer."""
        for verb in wire.TABLE:
            with contextlib.suppress(StoreFailed):
                verb.value(wire.DONE, b"\xda\x00\x01\x96")
