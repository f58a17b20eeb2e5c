"""Printers: the bytes that they get, their answers, their queues, and pictures for them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from twisted.internet.error import ConnectionLost
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from dmtwisted.documents.pictures import png_file, size_of
from protocols.errors import Garbled
from protocols.printers.commands import Cut, Text
from protocols.printers.compose import compose
from protocols.printers.delivery import Delivery, DeliveryVerdict, Patience
from protocols.printers.escpos import EscPosReader
from protocols.printers.escpos_status import EscPosAnswers, Noise
from protocols.printers.hazards import RealTimeScanner
from protocols.printers.instructions import Letters
from protocols.printers.ipp import Message
from protocols.printers.profiles import PROFILES
from protocols.printers.raster import picture
from protocols.printers.reading import InstructionReader
from protocols.printers.star import StarReader
from protocols.printers.star_status import StarAnswers
from protocols.printers.verdict import Outcome
from tests.fuzz.target import Broken, Target, cut, same_however_cut
from tests.fuzz.terminals import joined
from tests.vectors import ipp as ipp_vectors
from tests.vectors import printers as vectors

RECEIPT = (Text("ФІСКАЛЬНИЙ ЧЕК", "center"), Text("Кава 51.00"), Cut())
JOBS = {name: compose(RECEIPT, PROFILES[name]) for name in ("epson", "zjiang-58", "star")}


def _instructions(reader: type[InstructionReader], data: bytes) -> None:
    def read(pieces: Iterable[bytes]) -> list[Any]:
        own = reader()
        again = joined((each for piece in pieces for each in own.feed(piece)), Letters)
        return [*again, own.waiting]

    same_however_cut(read, data)


def escpos_jobs(data: bytes) -> None:
    """The bytes for an ESC/POS printer give the same instructions however the stream is cut."""
    _instructions(EscPosReader, data)


def star_jobs(data: bytes) -> None:
    """The bytes for a Star printer give the same instructions however the stream is cut."""
    _instructions(StarReader, data)


def real_time(data: bytes) -> None:
    """Commands that a printer executes at once are found anywhere, however the stream is cut."""

    def read(pieces: Iterable[bytes]) -> list[Any]:
        scanner = RealTimeScanner()
        return [found for piece in pieces for _, found in scanner.feed(piece) if found is not None]

    same_however_cut(read, data)


def escpos_answers(data: bytes) -> None:
    """An ESC/POS printer's answers are the same however the stream is cut; the first bytes choose the queries."""

    def read(pieces: Iterable[bytes]) -> list[Any]:
        answers = EscPosAnswers(drawer_high_is_open=bool(data[:1]))
        answers.ask(*(1 + byte % 4 for byte in data[:4]))
        answers.ask_in_turn(1)
        again = joined((each for piece in pieces for each in answers.feed(piece)), Noise)
        return [*again, answers.status, answers.stopped, answers.expected]

    same_however_cut(read, data)


def star_answers(data: bytes) -> None:
    """A Star printer's answers are the same however the stream is cut."""

    def read(pieces: Iterable[bytes]) -> list[Any]:
        answers = StarAnswers()
        return [*(each for piece in pieces for each in answers.feed(piece)), answers.status]

    same_however_cut(read, data)


def delivery(data: bytes) -> None:
    """A job has one outcome whatever its printer answers, and never a better one than the sent bytes allow."""
    for job in JOBS.values():
        clock, transport = Clock(), StringTransport()
        line = Delivery(job, clock, Patience(), 0)
        verdicts: list[DeliveryVerdict] = []
        line.done.addCallback(verdicts.append)
        line.makeConnection(transport)
        for piece in cut(data):
            if not verdicts:
                line.dataReceived(piece)
                clock.advance(0.5)
        if not verdicts and len(data) % 2:
            line.connectionLost(Failure(ConnectionLost()))
        for _ in range(200):
            clock.advance(0.5)
        if len(verdicts) != 1:
            raise Broken(f"{len(verdicts)} verdicts")
        if (job.data in transport.value()) is (verdicts[0].outcome is Outcome.NOT_PRINTED):
            raise Broken(f"{verdicts[0]} after {len(transport.value())} bytes")


def ipp(data: bytes) -> None:
    """A message of a print queue, or garbled; its encoding is read back as the same."""
    with suppress(Garbled):
        message = Message.decode(data)
        again = Message.decode(message.encode())
        if again != message:
            raise Broken(f"{message!r} was read back as {again!r}")


def pictures(data: bytes) -> None:
    """A picture for the printer, or none; the limits use the file's header before the file is unpacked."""
    with suppress(ValueError):
        width, height = size_of(data)
        if width * height > 4_000_000:
            return
        made = picture(data, 576)
        if made.width > 576:
            raise Broken(f"a picture of {made.width} dots")


def bmp() -> bytes:
    """A BMP file of two by two dots."""
    head = struct.pack("<IiiHHIIiiII", 40, 2, 2, 1, 24, 0, 16, 2835, 2835, 0, 0)
    return b"BM" + struct.pack("<IHHI", 70, 0, 0, 54) + head + bytes(range(16))


PNG = png_file(16, 2, zlib.compress(b"\0\xff\x0f\0\xf0\xff"))
ESCPOS = tuple(each.data for each in vectors.ESCPOS)
STAR = tuple(each.data for each in vectors.STAR)
ANSWERS = tuple(each.data for each in vectors.ESCPOS_ANSWERS)
STAR_ANSWERS = tuple(each.data for each in vectors.STAR_ANSWERS)
ASKED = (b"\x12\x12\x12\x12", b"\x10\0\0\0", b"\0", b"\x13", b"\x11", b"\x37\x25", b"\x5fEPSON\0")

TARGETS = (
    Target("escpos-jobs", escpos_jobs, ESCPOS, (b"\x1b@", b"\x1d(k", b"\x1dv0", b"\x1bt", b"\x1dV", b"\x10\x04")),
    Target("star-jobs", star_jobs, STAR, (b"\x1b\x1dyS", b"\x1b\x1dyP", b"\x1bd", b"\x1bX", b"\x1b\x06\x01")),
    Target("printer-real-time", real_time, ESCPOS, (b"\x10\x04", b"\x10\x05", b"\x10\x14", b"\x1dv0")),
    Target("escpos-answers", escpos_answers, ANSWERS, ASKED, 256),
    Target("star-answers", star_answers, STAR_ANSWERS, (b"\x23\x06", b"\x0f"), 256),
    Target("print-delivery", delivery, (*ANSWERS, *STAR_ANSWERS, b"".join(ASKED)), ASKED, 256),
    Target("ipp", ipp, [each.data for each in ipp_vectors.VECTORS], (b"attributes-charset", b"\x47", b"\x03")),
    Target("pictures", pictures, (PNG, bmp()), (b"IHDR", b"IDAT", b"PLTE", b"tRNS", b"IEND", b"BM"), 4096),
)
