"""Protocols of bank terminals: frames, messages, and the till's end of a line that receives any bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from protocols.errors import Garbled, WireError
from protocols.terminals import caisse_ap, concert_v2
from protocols.terminals.ecr17 import frames as ecr17
from protocols.terminals.ecr17.answers import decode_answer as ecr17_answer
from protocols.terminals.ecr17.line import Ecr17Protocol
from protocols.terminals.ecr17.line import Settings as Ecr17Settings
from protocols.terminals.ecr17.requests import Payment as Ecr17Payment
from protocols.terminals.ecr17.requests import decode_request as ecr17_request
from protocols.terminals.ecr17.ticket import read_tickets
from protocols.terminals.nexo import messages as nexo
from protocols.terminals.nexo.notice import Notice
from protocols.terminals.nexo.sealing import Seal
from protocols.terminals.privatbank_json import messages as privatbank
from protocols.terminals.privatbank_json.line import PrivatbankLine
from protocols.terminals.privatbank_json.requests import GetReceiptInfo, read_primary
from protocols.terminals.ssi_json import messages as ssi
from protocols.terminals.ssi_json.line import SsiLine
from protocols.terminals.ssi_json.requests import GetLastResult, read_method
from protocols.terminals.stx_frames import Noise, Payload
from protocols.terminals.zvt import messages as zvt
from protocols.terminals.zvt.apdu import Apdu, ApduDeframer
from protocols.terminals.zvt.link import DleDeframer, SerialLink, dle_frame
from protocols.terminals.zvt.protocol import ZvtAnswer, ZvtProtocol
from tests.fuzz.target import Broken, Target, cut, same_however_cut, until
from tests.vectors import caisse_ap as caisse_vectors
from tests.vectors import concert_v2 as concert_vectors
from tests.vectors import ecr17 as ecr17_vectors
from tests.vectors import nexo as nexo_vectors
from tests.vectors import privatbank_json as privatbank_vectors
from tests.vectors import ssi_json as ssi_vectors
from tests.vectors import zvt as zvt_vectors

SEAL = Seal(nexo_vectors.PASSPHRASE, nexo_vectors.KEY_IDENTIFIER, nexo_vectors.KEY_VERSION)


def again(message: Any, decode: Callable[[Any], Any]) -> None:
    """Encode a message that was read, and read it again.

    :raises Broken: when the result is another message.
    """
    again = decode(message.encode())
    if again != message:
        raise Broken(f"{message!r} was read back as {again!r}")


def ended(line: Any, due: Deferred[Any], clock: Clock, data: bytes, good: type | tuple[type, ...] = ()) -> None:
    """Deliver ``data`` in pieces, and let time pass: the result fires once, with a wire error unless it is ``good``.

    :raises Broken: when it does not.
    """
    ends: list[object] = []
    due.addBoth(ends.append)
    for piece in cut(data):
        line.dataReceived(piece)
        clock.advance(0.2)
    for _ in range(8):
        clock.advance(1)
    clock.advance(400)
    with suppress(AttributeError):
        # Some protocols report a lost connection only when the transport does.
        line.connectionLost()
    if len(ends) != 1:
        raise Broken(f"{len(ends)} ends: {ends!r}")
    end = ends[0]
    if not (isinstance(end, good) or (isinstance(end, Failure) and end.check(WireError))):
        raise Broken(f"it ended in {end!r}")


def connected(line: Any) -> Any:
    """``line`` with a transport."""
    line.makeConnection(StringTransport())
    return line


# -- ZVT


def zvt_serial(data: bytes) -> None:
    """Frames of a serial line are the same however it is cut; the link takes them; each APDU is in its own frame."""
    found = same_however_cut(lambda pieces: until(Garbled, DleDeframer().feed, pieces), data)
    for each in found:
        if isinstance(each, Apdu) and list(DleDeframer().feed(dle_frame(each))) != [each]:
            raise Broken(f"{each!r} does not come out of its frame")
    clock = Clock()
    link = SerialLink(clock, lambda _: None, lambda _: None, lambda _: None)
    with suppress(Garbled):
        for piece in cut(data):
            link.feed(piece)
            clock.advance(0.1)


def zvt_messages(data: bytes) -> None:
    """The APDUs of a stream are the same however it is cut; each field of a message can be read."""

    def read(pieces: Iterable[bytes]) -> list[Any]:
        deframer = ApduDeframer()
        return until(Garbled, deframer.feed, pieces)

    for apdu in same_however_cut(read, data):
        if not isinstance(apdu, Apdu):
            continue
        with suppress(Garbled):
            message: Any = zvt.decode(apdu)
            message.encode()
            repr(message)
            if isinstance(message, zvt.StatusInformation):
                for name in ("result", "amount", "receipt", "pan", "time", "card_name", "totals", "authorisation"):
                    getattr(message, name)
                message.text()
            if isinstance(message, zvt.PrintLine | zvt.PrintBlock | zvt.IntermediateStatus):
                repr(message.fields if hasattr(message, "fields") else "")


def zvt_till(data: bytes) -> None:
    """A payment fires once, whatever the terminal sends."""
    clock = Clock()
    line = connected(ZvtProtocol(clock))
    ended(line, line.pay(100, lambda _: None), clock, data, ZvtAnswer)


# -- SSI


def ssi_frames(data: bytes) -> None:
    """Frames are the same however the stream is cut; after a fault nothing more is read."""

    def read(pieces: Iterable[bytes]) -> list[Any]:
        return until(ssi.Misframed, ssi.Deframer().feed, pieces)

    for payload in same_however_cut(read, data):
        if isinstance(payload, bytes) and list(ssi.Deframer().feed(ssi.frame(payload))) != [payload]:
            raise Broken(f"{payload!r} does not come out of its frame")


def ssi_messages(data: bytes) -> None:
    """A message, or none; each of its fields can be read."""
    with suppress(Garbled):
        reply = ssi.Reply.decode(data)
        again(reply, ssi.Reply.decode)
        repr((reply, reply.result, reply.merchants, reply.code))
    with suppress(Garbled):
        request = ssi.Request.decode(data)
        again(request, ssi.Request.decode)
        with suppress(LookupError, ValueError):
            read_method(request)


def ssi_till(data: bytes) -> None:
    """A request fires once, whatever the terminal sends."""
    clock = Clock()
    line = connected(SsiLine(clock))
    ended(line, line.ask(GetLastResult().request(), 15), clock, data, ssi.Reply)


# -- PrivatBank


def privatbank_frames(data: bytes) -> None:
    """Messages end with a NUL, however the stream is cut."""

    def read(pieces: Iterable[bytes]) -> list[bytes]:
        deframer = privatbank.Deframer()
        return [payload for piece in pieces for payload in deframer.feed(piece)]

    same_however_cut(read, data)


def privatbank_messages(data: bytes) -> None:
    """A message, or none; each of its fields can be read."""
    with suppress(Garbled):
        reply = privatbank.Reply.decode(data)
        again(reply, privatbank.Reply.decode)
        repr((reply, reply.transaction, reply.approved, reply.code, reply.message_type))
    with suppress(Garbled):
        request = privatbank.Request.decode(data)
        again(request, privatbank.Request.decode)
        with suppress(LookupError, ValueError):
            read_primary(request)


def privatbank_till(data: bytes) -> None:
    """A request fires once, whatever the terminal sends."""
    clock = Clock()
    line = connected(PrivatbankLine(clock))
    ended(line, line.ask(GetReceiptInfo(), 15), clock, data, privatbank.Reply)


# -- ECR17


def ecr17_frames(data: bytes) -> None:
    """Pieces are the same however the stream is cut; noise may be split elsewhere, but is the same noise."""
    for lrc in ecr17.Lrc:

        def read(pieces: Iterable[bytes], lrc: Any = lrc) -> list[Any]:
            deframer = ecr17.Deframer(lrc)
            return joined((found for piece in pieces for found in deframer.feed(piece)), Noise)

        same_however_cut(read, data)


def joined(pieces: Iterable[Any], noise: Any) -> list[Any]:
    """``pieces`` with neighbouring noise joined: a deframer that reports noise at once cannot know where it ends."""
    again: list[Any] = []
    for piece in pieces:
        if isinstance(piece, noise) and again and isinstance(again[-1], noise):
            again[-1] = noise(again[-1].data + piece.data)
        else:
            again.append(piece)
    return again


def ecr17_messages(data: bytes) -> None:
    """Any payload is a message or garbled, in both directions; a request's encoding is read back as the same."""
    with suppress(Garbled):
        repr(ecr17_answer(data))
    with suppress(Garbled):
        repr(ecr17_request(data))
    read_tickets(data.decode("latin-1"))


def ecr17_till(data: bytes) -> None:
    """Noise never approves a payment."""
    clock = Clock()
    line = connected(Ecr17Protocol(clock, Ecr17Settings(lrc=ecr17.Lrc.STD), ecr17.Lrc.STD, *[lambda _: None] * 3))
    due = line.ask(Ecr17Payment(1250), 300)
    ended(line, due, clock, data, object)


# -- Caisse-AP


def caisse_ap_fields(data: bytes) -> None:
    """Fields are the same however the stream is cut; any fields are a message or garbled."""

    def read(pieces: Iterable[bytes]) -> tuple[caisse_ap.Fields, bool]:
        deframer = caisse_ap.Deframer()
        try:
            for piece in pieces:
                deframer.feed(piece)
        except Garbled:
            return deframer.fields, True
        return deframer.fields, False

    fields, _ = same_however_cut(read, data)
    for of in (caisse_ap.CaisseApAnswer.of, caisse_ap.CaisseApRequest.of):
        with suppress(Garbled):
            repr(of(fields))


def caisse_ap_till(data: bytes) -> None:
    """A payment fires once, whatever the terminal sends."""
    clock = Clock()
    line = connected(caisse_ap.CaisseApProtocol(clock, quiet=0.5))
    ended(line, line.ask(caisse_vectors.DEBIT, 300), clock, data, caisse_ap.CaisseApAnswer)


# -- Concert V2


def concert_frames(data: bytes) -> None:
    """Pieces are the same however the stream is cut; any payload is a message or garbled."""

    def read(pieces: Iterable[bytes]) -> list[Any]:
        deframer = concert_v2.Deframer()
        return joined((found for piece in pieces for found in deframer.feed(piece)), Noise)

    for found in same_however_cut(read, data):
        if isinstance(found, Payload):
            _concert_messages(found.data)
    _concert_messages(data)


def _concert_messages(payload: bytes) -> None:
    with suppress(Garbled):
        again(concert_v2.ConcertRequest.decode(payload), concert_v2.ConcertRequest.decode)
    with suppress(Garbled):
        again(concert_v2.ConcertAnswer.decode(payload), concert_v2.ConcertAnswer.decode)


def concert_till(data: bytes) -> None:
    """A payment fires once, whatever the terminal sends."""
    clock = Clock()
    line = connected(concert_v2.ConcertProtocol(clock, concert_v2.Settings(), lambda _: None))
    ended(line, line.ask(concert_vectors.ASK, 300), clock, data, concert_v2.ConcertAnswer)


# -- nexo


def nexo_messages(data: bytes) -> None:
    """Any bytes are a message or garbled, in both directions, sealed or not."""
    with suppress(Garbled):
        header, answer = nexo.decode_answer(data)
        repr(answer)
        nexo.encode_answer(header, answer)
    with suppress(Garbled):
        asked_by, request = nexo.decode_request(data)
        repr(request)
        nexo.encode_request(asked_by, request)
    with suppress(Garbled):
        repr(Notice.decode(data))
    with suppress(Garbled):
        SEAL.open(data)


ZVT_RAW = tuple(vector.raw for vector in zvt_vectors.APDUS)
ZVT_FRAMES = tuple(framed.frame for framed in zvt_vectors.FRAMES)
SSI = (*(each.wire for each in ssi_vectors.SENT), *(each.wire for each in ssi_vectors.RECEIVED))
PRIVATBANK = (*(each.wire for each in privatbank_vectors.SENT), *(each.wire for each in privatbank_vectors.RECEIVED))
ECR17 = tuple(each.frame for each in (*ecr17_vectors.REQUESTS, *ecr17_vectors.ANSWERS))
CAISSE = tuple(each.data for each in caisse_vectors.MESSAGES)
CONCERT = tuple(each.frame for each in concert_vectors.FRAMES)
NEXO = tuple(each.json.encode() for each in (*nexo_vectors.REQUESTS, *nexo_vectors.ANSWERS))
JSON_WORDS = (b'"method"', b'"params"', b'"error"', b"true", b"null", b'":"', b'{"', b'"}')
ECR17_WORDS = (b"\x02", b"\x03", b"\x06\x03\x7a", b"\x15\x03\x69", b"\x01", b"\x04", b"123456780", b"E00")
CONCERT_WORDS = (b"\x02", b"\x03", b"\x04", b"\x05", b"\x06", b"\x15", b"978")

TARGETS = (
    Target("zvt-serial", zvt_serial, ZVT_FRAMES, (b"\x10\x02", b"\x10\x03", b"\x10\x10")),
    Target("zvt-messages", zvt_messages, ZVT_RAW, (b"\x04\x0f", b"\x06\x0f", b"\x06\xd3", b"\x06\x1e", b"\xff")),
    Target("zvt-till", zvt_till, ZVT_RAW, (b"\x80\x00\x00", b"\x06\x0f\x00", b"\x04\x0f", b"\x06\x1e\x01")),
    Target("ssi-frames", ssi_frames, SSI),
    Target("ssi-messages", ssi_messages, [wire[5:-1] for wire in SSI], (*JSON_WORDS, b'"step"')),
    Target("ssi-till", ssi_till, SSI, JSON_WORDS),
    Target("privatbank-frames", privatbank_frames, PRIVATBANK, (b"\0",)),
    Target("privatbank-messages", privatbank_messages, [wire[:-1] for wire in PRIVATBANK], JSON_WORDS),
    Target("privatbank-till", privatbank_till, PRIVATBANK, (*JSON_WORDS, b"\0")),
    Target("ecr17-frames", ecr17_frames, ECR17, ECR17_WORDS),
    Target("ecr17-messages", ecr17_messages, [frame[1:-2] for frame in ECR17], ECR17_WORDS),
    Target("ecr17-till", ecr17_till, ECR17, ECR17_WORDS),
    Target("caisse-ap-fields", caisse_ap_fields, CAISSE, (b"CZ004", b"CB004", b"AE002", b"CD001")),
    Target("caisse-ap-till", caisse_ap_till, CAISSE, (b"CZ004", b"CB004", b"AE002", b"CD001")),
    Target("concert-frames", concert_frames, CONCERT, CONCERT_WORDS),
    Target("concert-till", concert_till, CONCERT, CONCERT_WORDS),
    Target(
        "nexo-messages",
        nexo_messages,
        (*NEXO, nexo_vectors.SEALED.encode()),
        (b'"SaleToPOIResponse"', b'"SaleToPOIRequest"', b'"MessageHeader"', b'"NexoBlob"', b'"SecurityTrailer"'),
        4096,
    ),
)
