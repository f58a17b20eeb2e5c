"""The messages of protocol B, judged by Google's own library."""

from __future__ import annotations

from dataclasses import fields
from importlib.util import find_spec
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from protocols import protobuf
from protocols.fiscal.cabinet import messages
from protocols.fiscal.cabinet.messages import (
    METHODS,
    Check,
    CheckRequest,
    CheckRequestId,
    CheckResponse,
    CheckType,
    Operator,
    RroInfoResponse,
    Status,
    StatusResponse,
    path_of,
)
from protocols.protobuf import MalformedMessage, Message

SHAPES: tuple[type[Any], ...] = (
    Check,
    CheckRequest,
    CheckRequestId,
    CheckResponse,
    StatusResponse,
    Operator,
    RroInfoResponse,
)

INT32 = st.integers(-(2**31), 2**31 - 1)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "str": st.text(max_size=40),
    "bytes": st.binary(max_size=200),
    "bool": st.booleans(),
    "int": INT32,
}


def a_message(shape: type[Any]) -> st.SearchStrategy[Any]:
    """Any message of a class."""
    kinds = {field.name: str(field.type).split("[")[1].split(",")[0] for field in fields(shape)}
    several = st.lists(st.deferred(lambda: a_message(Operator)), max_size=3).map(tuple)
    values = {name: VALUES.get(kind, several) for name, kind in kinds.items()}
    if shape is Check:
        values["date_time"] = st.integers(-(2**63), 2**63 - 1)
    return st.builds(shape, **values)


ANY_MESSAGE = st.one_of([a_message(shape) for shape in SHAPES])

SALE = Check("4000000001", 20260921090502, b"\x30\x80", 1, CheckType.CHK)
SALE_BYTES = bytes.fromhex("0a0a34303030303030303031 10c6c384e8d5cd04 1a023080 2001 2801")
REFUSAL = CheckResponse(status=Status.ERROR_BAD_HASH_PREV, error_message="ї")
REFUSAL_BYTES = bytes.fromhex("10 f4ffffffffffffffff01 2a02d197")
INFO = RroInfoResponse(operators=(Operator("a1", 1, True), Operator()), lnum=7)
INFO_BYTES = bytes.fromhex("0801 6a08 0a026131 1001 1801 6a00 7807")


class VectorTests(SynchronousTestCase):
    """Bytes worked out by hand from the rules of Protocol Buffers."""

    def test_vectors(self) -> None:
        """Each is written and read so."""
        for message, data in ((SALE, SALE_BYTES), (REFUSAL, REFUSAL_BYTES), (INFO, INFO_BYTES)):
            self.assertEqual(message.encode().hex(), data.hex())
            self.assertEqual(type(message).decode(data), message)

    def test_blank(self) -> None:
        """What is not on the wire has its blank value: no status is not OK."""
        self.assertEqual(CheckResponse.decode(b""), CheckResponse(status=0))
        self.assertEqual(CheckResponse(status=0).encode(), b"")

    def test_last_wins(self) -> None:
        """Of a field that comes twice the last value counts; operators are gathered."""
        twice = CheckResponse("one").encode() + CheckResponse("two", -1).encode()
        self.assertEqual(CheckResponse.decode(twice), CheckResponse("two", -1))
        self.assertEqual(len(RroInfoResponse.decode(INFO_BYTES * 2).operators), 4)

    def test_unknown(self) -> None:
        """Fields that we do not know, of every wire type, and known ones of another type are read past."""
        unknown = "f80601 f9060102030405060708 fd0601020304 fa06026162 0801 120161 fb06 0801 0a0161 fb06fc06 fc06"
        self.assertEqual(CheckResponse.decode(bytes.fromhex(unknown) + REFUSAL_BYTES), REFUSAL)

    def test_cut(self) -> None:
        """Half a message is refused, or is a message with fewer fields."""
        for length in range(len(SALE_BYTES)):
            try:
                found = Check.decode(SALE_BYTES[:length])
            except MalformedMessage:
                continue
            self.assertIn(found.rro_fn, ("", SALE.rro_fn))
        for length in (1, 2, 11, 13, 19, 21, 25, 27):
            self.assertRaises(MalformedMessage, Check.decode, SALE_BYTES[:length])

    def test_malformed(self) -> None:
        """Bytes that are no message are refused."""
        for data in (
            "00",
            "07",
            "0e",
            "0c",
            "0b",
            "0b14",
            "0aff01",
            "08" + "80" * 10,
            "0a02c328",
            "0b" * 101 + "0c" * 101,
        ):
            self.assertRaises(MalformedMessage, CheckResponse.decode, bytes.fromhex(data))

    def test_too_many(self) -> None:
        """A short answer cannot fill the memory with operators."""
        most = protobuf.MOST_REPEATED
        self.assertEqual(len(RroInfoResponse.decode(b"\x6a\0" * most).operators), most)
        self.assertRaises(MalformedMessage, RroInfoResponse.decode, b"\x6a\0" * (most + 1))

    def test_too_large(self) -> None:
        """A number that a field cannot hold is not written."""
        for number in (2**31, -(2**31) - 1):
            self.assertRaises(ValueError, CheckResponse(status=number).encode)

    def test_methods(self) -> None:
        """Each method has its path, its request and its answer."""
        self.assertEqual(path_of("lastChk"), "/com.programika.rro.ws.chk.ChkIncomeService/lastChk")
        self.assertEqual(METHODS["sendChkV2"], (Check, CheckResponse))
        self.assertEqual({shape for pair in METHODS.values() for shape in pair}, {*SHAPES} - {Operator})
        self.assertEqual(sorted(Status), list(range(-16, 2)))
        self.assertEqual(messages.PING_NUMBER, 2**31 - 1)


class OracleTests(SynchronousTestCase):
    """Our codec and Google's library agree."""

    def setUp(self) -> None:
        """The classes of the library."""
        if find_spec("google") is None or find_spec("google.protobuf") is None:
            raise SkipTest("protobuf is not installed")
        from tests.cabinet_oracle import oracle

        self.theirs = oracle()

    def like(self, message: Message) -> Any:
        """The same message in the library."""
        values = dict(vars(message))
        if isinstance(message, RroInfoResponse):
            values["operators"] = [self.like(each) for each in message.operators]
        return self.theirs[type(message).__name__](**values)

    def test_fields(self) -> None:
        """Every message has the fields of the server's description, with its names."""
        for shape in SHAPES:
            declared = self.theirs[shape.__name__].DESCRIPTOR.fields
            self.assertEqual([field.name for field in declared], [field.name for field in fields(shape)])

    def test_written(self) -> None:
        """Any message is written with the same bytes, and each reads the other's."""

        @settings(max_examples=200, deadline=None)
        @given(ANY_MESSAGE)
        def same(message: Message) -> None:
            theirs = self.like(message)
            encoded = message.encode()
            self.assertEqual(encoded, theirs.SerializeToString(deterministic=True))
            self.assertEqual(type(message).decode(encoded), message)
            self.assertEqual(type(theirs).FromString(encoded), theirs)

        same()

    def test_read(self) -> None:
        """Of any bytes, broken messages above all, both read the same or both refuse."""
        from google.protobuf.message import DecodeError

        pieces = st.one_of(
            ANY_MESSAGE.map(lambda message: message.encode()),
            st.binary(max_size=12),
            st.sampled_from(
                [bytes.fromhex(each) for each in ("0b", "0c", "6a", "0a01", "10ffffffffffffffffff01", "0d", "80")]
            ),
        )

        @settings(max_examples=500, deadline=None)
        @given(st.sampled_from(SHAPES), st.lists(pieces, max_size=4).map(b"".join), st.integers(0, 400))
        def same(shape: type[Message], data: bytes, end: int) -> None:
            data = data[:end]
            try:
                theirs = self.theirs[shape.__name__].FromString(data)
            except DecodeError:
                self.assertRaises(MalformedMessage, shape.decode, data)
                return
            theirs.DiscardUnknownFields()
            ours = shape.decode(data)
            self.assertEqual(ours.encode(), theirs.SerializeToString(deterministic=True))

        same()
