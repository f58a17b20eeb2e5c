"""Protocols of registers: frames, commands and answers, the till's end and the register's end of a line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from twisted.internet.task import Clock

from protocols.errors import Garbled
from protocols.registers.datecs import classic, ukrainian
from protocols.registers.datecs import frames as datecs
from protocols.registers.datecs.link import DatecsLink
from protocols.registers.datecs.link import numbers as datecs_numbers
from protocols.registers.ics import commands as ics
from protocols.registers.ics import frames as ics_frames
from protocols.registers.ics.link import IcsLink
from protocols.registers.ics.link import numbers as ics_numbers
from protocols.registers.maria import commands as maria
from protocols.registers.maria import frames as maria_frames
from protocols.registers.maria.link import Answered, MariaLink
from protocols.registers.mg import documents as mg
from protocols.registers.mg.digest import Challenge, members
from protocols.registers.numbered import Noise
from protocols.registers.troubles import DeviceRefused
from protocols.simulators.datecs_classic_register import ClassicDevice
from protocols.simulators.datecs_register import UkrainianDevice
from protocols.simulators.ics_register import IcsDevice
from protocols.simulators.maria_register import MariaDevice
from tests.fuzz.target import Broken, Target, cut, same_however_cut
from tests.fuzz.terminals import connected, ended, joined
from tests.vectors import datecs as datecs_vectors
from tests.vectors import ics as ics_vectors
from tests.vectors import maria as maria_vectors
from tests.vectors import mg as mg_vectors


def _pieces(deframer: Callable[[], Any]) -> Callable[[Iterable[bytes]], list[Any]]:
    """What is on a line that is quiet behind the bytes."""

    def read(pieces: Iterable[bytes]) -> list[Any]:
        line = deframer()
        found = [each for piece in pieces for each in line.feed(piece)]
        line.forget()
        return joined(found, Noise)

    return read


def _same(record: Any, decode: Callable[[Any], Any]) -> None:
    """Write what was read, if it can be written, and read it again.

    :raises Broken: when the result is another.
    """
    try:
        written = record.encode()
    except ValueError:
        return
    if decode(written) != record:
        raise Broken(f"{record!r} was read back as {decode(written)!r}")


def _device(device: Any, data: bytes) -> None:
    """Give the bytes to a simulated register, and let time pass."""
    line = connected(device.buildProtocol(None))
    for piece in cut(data):
        line.dataReceived(piece)
    device.clock.advance(1)


# -- Datecs


def datecs_lines(data: bytes) -> None:
    """Pieces are the same however the stream is cut; every frame comes out of its own encoding."""
    for found in same_however_cut(_pieces(datecs.Deframer), data):
        if isinstance(found, datecs.DatecsFrame):
            with suppress(ValueError):
                if datecs.Deframer().feed(found.encode()) != [found]:
                    raise Broken(f"{found!r} does not come out of its frame")


def datecs_messages(data: bytes) -> None:
    """Any data is a command or an answer of either dialect, or refused; what was read is written as the same."""
    body = data[1:]
    with suppress(Garbled):
        ukrainian.document_of(body)
    kind = ukrainian.UkrainianCommand.known.get(data[0] if data else 0)
    if kind is not None:
        with suppress(ValueError):
            password, command = kind.decode(body)
            with suppress(ValueError):
                written = command.encode(password)
                if kind.decode(written) != (password, command):
                    raise Broken(f"{command!r} was read back as {kind.decode(written)!r}")
        with suppress(Garbled, DeviceRefused):
            _same(kind.answer.decode(body), kind.answer.decode)
    kind = classic.ClassicCommand.known.get(data[0] if data else 0)
    if kind is not None:
        with suppress(ValueError):
            kind.decode(body)
        with suppress(Garbled):
            kind.answer.decode(body)
        repr((classic.Status(body).refusal, classic.Status(body).conditions))


def datecs_till(data: bytes) -> None:
    """A command fires once, whatever the register sends."""
    clock = Clock()
    line = connected(DatecsLink(clock, datecs_numbers(0x27)))
    ended(line, line.ask(0x6D, b"000000;1;", 5), clock, data, datecs.DatecsFrame)


def datecs_registers(data: bytes) -> None:
    """Both simulated registers take any bytes."""
    for device in (UkrainianDevice(Clock()), ClassicDevice(Clock(), free_lines=True)):
        _device(device, data)


# -- Maria


def maria_lines(data: bytes) -> None:
    """Pieces are the same however the stream is cut; every frame comes out of its own encoding."""
    for crc in (True, False, None):

        def deframer(crc: bool | None = crc) -> maria_frames.Deframer:
            return maria_frames.Deframer(crc)

        for found in same_however_cut(_pieces(deframer), data):
            if isinstance(found, maria_frames.Spoken):
                with suppress(ValueError):
                    raw = maria_frames.frame(found.text, bool(crc))
                    if deframer().feed(raw) != [found]:
                        raise Broken(f"{found!r} does not come out of its frame")


def maria_messages(data: bytes) -> None:
    """Any text is a command or an answer, or it is refused; what was read is written as the same."""
    kind = maria.MariaCommand.known.get(data[:4].decode("ascii", "replace"))
    if kind is not None:
        with suppress(ValueError):
            _same(kind.decode(data), kind.decode)
        with suppress(Garbled):
            _same(kind.answer.decode([data[4:]]), kind.answer.decode)
    repr(maria.refused(data))


def maria_till(data: bytes) -> None:
    """A command fires once, whatever the register sends."""
    clock = Clock()
    line = connected(MariaLink(clock, crc=True))
    ended(line, line.ask(b"GLCN", 60), clock, data, Answered)


def maria_register(data: bytes) -> None:
    """The simulated register takes any bytes."""
    _device(MariaDevice(Clock()), b"UU" + data)


# -- ICS


def ics_lines(data: bytes) -> None:
    """Pieces are the same however the stream is cut; every frame comes out of its own encoding."""
    for crc in (True, False):

        def deframer(crc: bool = crc) -> ics_frames.Deframer:
            return ics_frames.Deframer(crc)

        for found in same_however_cut(_pieces(deframer), data):
            if isinstance(found, ics_frames.IcsFrame) and deframer().feed(found.encode(crc)) != [found]:
                raise Broken(f"{found!r} does not come out of its frame")


def ics_messages(data: bytes) -> None:
    """Any data is a command or an answer, or it is refused; what was read is written as the same."""
    with suppress(Garbled):
        head, _ = ics.Head.decode(data)
        repr((head, head.refusal))
    kind = ics.IcsCommand.known.get(data[0] if data else 0)
    if kind is not None:
        with suppress(ValueError):
            _same(kind.decode(data[1:]), kind.decode)
        with suppress(Garbled):
            answer = kind.answer.decode(data[1:])
            repr((answer, getattr(answer, "version", "")))
            _same(answer, kind.answer.decode)


def ics_till(data: bytes) -> None:
    """A command fires once, whatever the register sends."""
    clock = Clock()
    line = connected(IcsLink(clock, ics_numbers(2)))
    ended(line, line.ask(9, b"\0\0", 5), clock, data, ics_frames.IcsFrame)


def ics_register(data: bytes) -> None:
    """The simulated register takes any bytes."""
    for crc in (True, False):
        _device(IcsDevice(Clock(), crc=crc), data)


# -- MG


def mg_bodies(data: bytes) -> None:
    """Any body is an answer or garbled; a document that was read is written as the same."""
    text = data.decode("latin-1")
    repr((members(text), Challenge.decode(text)))
    with suppress(Garbled):
        found = mg.read_any(data)
        repr(mg.refusal_in(found))
        for read in (mg.entries_of, mg.form_sums):
            with suppress(Garbled):
                repr(read(found))
        with suppress(Garbled):
            repr(mg.State.of(mg.read(data)))
        document = mg.Document.decode(data)
        with suppress(OverflowError):
            _same(document, mg.Document.decode)


def _both(*frames: str) -> Iterator[bytes]:
    for frame in frames:
        yield bytes.fromhex(frame)


DATECS = (
    *_both(*(each.hex for each in datecs_vectors.UKRAINIAN_ANSWERS)),
    *_both(*(raw for raw, _ in datecs_vectors.UKRAINIAN_COMMANDS)),
    *_both(*(raw for raw, _ in (*datecs_vectors.CLASSIC_COMMANDS, *datecs_vectors.PEER))),
)
DATECS_WORDS = (b"\x01", b"\x04", b"\x05", b"\x03", b"\x15", b"\x16", b"0000;", b"000000;")
MARIA = tuple(bytes.fromhex(raw + crc) for raw, crc, _ in (*maria_vectors.COMMANDS, *maria_vectors.SIGNS))
MARIA_WORDS = (b"\xfd", b"\xfe", maria_frames.FLUSH, b"UU", *MARIA[-4:])
ICS = tuple(bytes.fromhex(raw + crc) for raw, crc, _, _ in ics_vectors.COMMANDS)
ICS_WORDS = (b"\x10\x02", b"\x10\x03", b"\x10\x10", b"\x06", b"\x15", b"\x16")
MG = (*(text.encode() for text, _ in mg_vectors.DOCUMENTS), mg_vectors.ERROR, mg_vectors.STATE_HEADER.encode())
MG_WORDS = (b'{"S":', b'"sum":', b'"qty":', b'"err":', b",", b"0", b"\\", b'"')

TARGETS = (
    Target("datecs-frames", datecs_lines, DATECS, DATECS_WORDS),
    Target("datecs-messages", datecs_messages, [raw[3:-6] for raw in DATECS], DATECS_WORDS),
    Target("datecs-till", datecs_till, DATECS, DATECS_WORDS),
    Target("datecs-device", datecs_registers, DATECS, DATECS_WORDS),
    Target("maria-frames", maria_lines, MARIA, MARIA_WORDS),
    Target("maria-messages", maria_messages, [raw[1:-4] for raw in MARIA], (b"COMP", b"FISC", b"CONF", b"SOFT")),
    Target("maria-till", maria_till, MARIA, MARIA_WORDS),
    Target("maria-device", maria_register, MARIA, MARIA_WORDS),
    Target("ics-frames", ics_lines, ICS, ICS_WORDS),
    Target("ics-messages", ics_messages, [raw[3:-4] for raw in ICS]),
    Target("ics-till", ics_till, ICS, ICS_WORDS),
    Target("ics-device", ics_register, ICS, ICS_WORDS),
    Target("mg-bodies", mg_bodies, MG, MG_WORDS),
)
