"""Messages of the Internet Printing Protocol, in both directions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import Garbled
from protocols.printers.ipp import (
    LONGEST,
    Attribute,
    Group,
    GroupTag,
    Message,
    Operation,
    Status,
    Tag,
    Value,
    attribute,
    operation_group,
    status_words,
    went_well,
)
from tests.vectors.ipp import VECTORS

HEAD = bytes.fromhex("01 01 00 00 00 00 00 01")


class VectorTests(SynchronousTestCase):
    """Bytes from other implementations."""

    def test_decode(self) -> None:
        """Every vector is decoded correctly."""
        for vector in VECTORS:
            self.assertEqual(Message.decode(vector.data), vector.message, vector.source)

    def test_encode(self) -> None:
        """Every message is encoded as the vector's bytes."""
        for vector in VECTORS:
            self.assertEqual(vector.message.encode(), vector.data, vector.source)

    def test_cut_anywhere(self) -> None:
        """A truncated message is garbled at every byte, never partly accepted."""
        for vector in VECTORS:
            for size in range(len(vector.data) - len(vector.message.document)):
                self.assertRaises(Garbled, Message.decode, vector.data[:size])


class DecodingTests(SynchronousTestCase):
    """Invalid messages."""

    def test_wrong_values(self) -> None:
        """Numbers of the wrong size, invalid booleans and invalid text are garbled."""
        for tag, data in (
            (Tag.INTEGER, b"\0\1"),
            (Tag.ENUM, b""),
            (Tag.BOOLEAN, b"\2"),
            (Tag.BOOLEAN, b""),
            (Tag.NAME, b"\xff\xfe"),
        ):
            self.assertRaises(Garbled, Value.decode, tag, data)

    def test_value_outside_of_a_group(self) -> None:
        """An attribute before any group is garbled."""
        self.assertRaises(Garbled, Message.decode, HEAD + bytes.fromhex("44 00 01 61 00 01 78 03"))

    def test_value_without_a_name(self) -> None:
        """An additional value without an attribute is garbled."""
        self.assertRaises(Garbled, Message.decode, HEAD + bytes.fromhex("01 44 00 00 00 01 78 03"))

    @given(st.binary(max_size=200))
    def test_any_bytes(self, data: bytes) -> None:
        """Any input is a message or garbled."""
        for sent in (data, HEAD + data, HEAD + b"\x01" + data):
            try:
                Message.decode(sent)
            except Garbled:
                continue

    @given(
        st.lists(
            st.tuples(
                st.text(min_size=1, max_size=20),
                st.lists(
                    st.one_of(
                        st.integers(-(2**31), 2**31 - 1).map(lambda number: Value(Tag.INTEGER, number)),
                        st.booleans().map(lambda truth: Value(Tag.BOOLEAN, truth)),
                        st.text(max_size=20).map(lambda text: Value(Tag.TEXT, text)),
                        st.binary(max_size=20).map(lambda data: Value(Tag.OCTETS, data)),
                        st.just(Value(Tag.NO_VALUE, None)),
                    ),
                    min_size=1,
                    max_size=3,
                ),
            ),
            max_size=4,
        ),
        st.binary(max_size=50),
    )
    def test_there_and_back(self, attributes: list[tuple[str, list[Value]]], document: bytes) -> None:
        """An encoded message is decoded to the same values and document."""
        group = Group(GroupTag.JOB, tuple(Attribute(name, tuple(values)) for name, values in attributes))
        message = Message(Operation.PRINT_JOB, 1, (operation_group(), group), document)
        self.assertEqual(Message.decode(message.encode()), message)


class ReadingTests(SynchronousTestCase):
    """Attributes by name."""

    GROUP = Group(
        GroupTag.JOB,
        (
            attribute(Tag.INTEGER, "number", 5),
            attribute(Tag.BOOLEAN, "truth", True),
            attribute(Tag.KEYWORD, "words", "a", "b"),
            attribute(Tag.NO_VALUE, "nothing"),
            Attribute("spoken", (Value(Tag.TEXT_WITH_LANGUAGE, b"\0\2uk\0\4\xd1\x97\xd1\x97"),)),
            attribute(Tag.OCTETS, "octets", b"\1\2"),
        ),
    )

    def test_kinds(self) -> None:
        """Numbers, booleans and texts are found by name; other types and absent attributes are not."""
        group = self.GROUP
        self.assertEqual(group.number("number"), 5)
        self.assertEqual([group.number(name) for name in ("truth", "words", "nothing", "absent")], [None] * 4)
        self.assertIs(group.truth("truth"), True)
        self.assertEqual([group.truth(name) for name in ("number", "absent")], [None] * 2)
        self.assertEqual(group.texts("words"), ("a", "b"))
        names = ("words", "nothing", "absent", "spoken", "octets")
        self.assertEqual([group.text(name) for name in names], ["a", "", "", "її", "0102"])

    def test_absent_group(self) -> None:
        """An absent group is empty."""
        self.assertEqual(Message(0, 1, (operation_group(),)).group(GroupTag.JOB), Group(GroupTag.JOB))

    def test_too_long(self) -> None:
        """A value that is too long for the wire is refused before anything is sent."""
        attribute(Tag.TEXT, "text", "x" * LONGEST).encode()
        self.assertRaises(ValueError, attribute(Tag.TEXT, "text", "x" * (LONGEST + 1)).encode)

    def test_status(self) -> None:
        """Codes below 0x0100 are success; every code has a name."""
        self.assertTrue(went_well(Status.OK_CONFLICTING))
        self.assertFalse(went_well(0x0100))
        self.assertEqual(status_words(0x0506), "not-accepting-jobs")
        self.assertEqual(status_words(0x05FF), "IPP status 0x05ff")
