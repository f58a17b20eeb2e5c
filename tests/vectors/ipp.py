"""Messages of the Internet Printing Protocol with their meaning and source."""

from __future__ import annotations

from dataclasses import dataclass

from protocols.printers.ipp import Attribute, Group, GroupTag, Message, Operation, Status, Tag, Value, attribute

CHARSET = attribute(Tag.CHARSET, "attributes-charset", "utf-8")
ENGLISH = attribute(Tag.LANGUAGE, "attributes-natural-language", "en")

_HEAD = (
    "01 47 00 12 61 74 74 72 69 62 75 74 65 73 2d 63 68 61 72 73 65 74 00 05 75 74 66 2d 38"
    "48 00 1b 61 74 74 72 69 62 75 74 65 73 2d 6e 61 74 75 72 61 6c 2d 6c 61 6e 67 75 61 67 65 00 02 65 6e"
)


@dataclass(frozen=True)
class Vector:
    """A message, its bytes, and their source."""

    message: Message
    data: bytes
    source: str


VECTORS = (
    Vector(
        Message(
            Operation.PRINT_JOB,
            0x0001DDE6,
            (
                Group(
                    GroupTag.OPERATION,
                    (
                        CHARSET,
                        ENGLISH,
                        attribute(Tag.URI, "printer-uri", "ipp://127.0.0.1:16311/printers/receipts"),
                        attribute(Tag.NAME, "requesting-user-name", "root"),
                        attribute(Tag.MIME, "document-format", "application/vnd.cups-raw"),
                    ),
                ),
                Group(GroupTag.JOB, (attribute(Tag.INTEGER, "copies", 1),)),
            ),
            b"\x1b@hi",
        ),
        bytes.fromhex(
            "01 01 00 02 00 01 dd e6" + _HEAD + "45 00 0b 70 72 69 6e 74 65 72 2d 75 72 69 00 27"
            "69 70 70 3a 2f 2f 31 32 37 2e 30 2e 30 2e 31 3a 31 36 33 31 31 2f 70 72 69 6e 74 65 72 73 2f"
            "72 65 63 65 69 70 74 73 42 00 14 72 65 71 75 65 73 74 69 6e 67 2d 75 73 65 72 2d 6e 61 6d 65 00 04"
            "72 6f 6f 74 49 00 0f 64 6f 63 75 6d 65 6e 74 2d 66 6f 72 6d 61 74 00 18"
            "61 70 70 6c 69 63 61 74 69 6f 6e 2f"
            "76 6e 64 2e 63 75 70 73 2d 72 61 77 02 21 00 06 63 6f 70 69 65 73 00 04 00 00 00 01 03 1b 40 68 69"
        ),
        "captured: ipptool of CUPS 2.4.2 prints a raw file",
    ),
    Vector(
        Message(0x4001, 1, (Group(GroupTag.OPERATION, (CHARSET, ENGLISH)),), version=(2, 0)),
        bytes.fromhex("02 00 40 01 00 00 00 01" + _HEAD + "03"),
        "captured: cancel of CUPS 2.4.2 asks for the default printer",
    ),
    Vector(
        Message(
            Status.OK,
            7,
            (
                Group(GroupTag.OPERATION, (CHARSET, ENGLISH)),
                Group(
                    GroupTag.JOB,
                    (
                        attribute(Tag.NAME, "job-name", "job halted ї"),
                        attribute(Tag.NO_VALUE, "time-at-processing"),
                        attribute(Tag.INTEGER, "job-id", 3),
                        attribute(Tag.ENUM, "job-state", 7),
                        attribute(Tag.KEYWORD, "job-state-reasons", "processing-to-stop-point"),
                    ),
                ),
            ),
        ),
        bytes.fromhex(
            "01 01 00 00 00 00 00 07" + _HEAD + "02 42 00 08 6a 6f 62 2d 6e 61 6d 65 00 0d"
            "6a 6f 62 20 68 61 6c 74 65 64 20 d1 97"
            "13 00 12 74 69 6d 65 2d 61 74 2d 70 72 6f 63 65 73 73 69 6e 67 00 00"
            "21 00 06 6a 6f 62 2d 69 64 00 04 00 00 00 03 23 00 09 6a 6f 62 2d 73 74 61 74 65 00 04 00 00 00 07"
            "44 00 11 6a 6f 62 2d 73 74 61 74 65 2d 72 65 61 73 6f 6e 73 00 18"
            "70 72 6f 63 65 73 73 69 6e 67 2d 74 6f 2d 73 74 6f 70 2d 70 6f 69 6e 74 03"
        ),
        "captured: CUPS 2.4.2 about a job that was cancelled in a stopped queue before it began",
    ),
    Vector(
        Message(
            Status.NOT_FOUND,
            7,
            (
                Group(
                    GroupTag.OPERATION,
                    (
                        CHARSET,
                        ENGLISH,
                        attribute(Tag.TEXT, "status-message", "The printer or class does not exist."),
                    ),
                ),
            ),
        ),
        bytes.fromhex(
            "01 01 04 06 00 00 00 07" + _HEAD + "41 00 0e 73 74 61 74 75 73 2d 6d 65 73 73 61 67 65 00 24"
            "54 68 65 20 70 72 69 6e 74 65 72 20 6f 72 20 63 6c 61 73 73 20"
            "64 6f 65 73 20 6e 6f 74 20 65 78 69 73 74 2e 03"
        ),
        "captured: CUPS 2.4.2 about a queue that it does not have",
    ),
    Vector(
        Message(
            Status.OK,
            7,
            (
                Group(GroupTag.OPERATION, (CHARSET, ENGLISH)),
                Group(
                    GroupTag.PRINTER,
                    (
                        attribute(Tag.BOOLEAN, "printer-is-accepting-jobs", True),
                        attribute(Tag.ENUM, "printer-state", 5),
                        attribute(Tag.TEXT, "printer-state-message", "Paused"),
                        attribute(Tag.KEYWORD, "printer-state-reasons", "paused"),
                    ),
                ),
            ),
        ),
        bytes.fromhex(
            "01 01 00 00 00 00 00 07" + _HEAD + "04 22 00 19"
            "70 72 69 6e 74 65 72 2d 69 73 2d 61 63 63 65 70 74 69 6e 67 2d 6a 6f 62 73 00 01 01"
            "23 00 0d 70 72 69 6e 74 65 72 2d 73 74 61 74 65 00 04 00 00 00 05"
            "41 00 15 70 72 69 6e 74 65 72 2d 73 74 61 74 65 2d 6d 65 73 73 61 67 65 00 06 50 61 75 73 65 64"
            "44 00 15 70 72 69 6e 74 65 72 2d 73 74 61 74 65 2d 72 65 61 73 6f 6e 73 00 06 70 61 75 73 65 64 03"
        ),
        "captured: CUPS 2.4.2 about a stopped queue",
    ),
    Vector(
        Message(
            Operation.GET_PRINTER_ATTRIBUTES,
            2,
            (
                Group(
                    GroupTag.OPERATION,
                    (
                        attribute(Tag.KEYWORD, "a", "x", "y"),
                        Attribute(
                            "c",
                            (
                                Value(Tag.COLLECTION, b""),
                                Value(Tag.MEMBER, "m"),
                                Value(Tag.INTEGER, -1),
                                Value(Tag.END_COLLECTION, b""),
                            ),
                        ),
                        Attribute("t", (Value(Tag.TEXT_WITH_LANGUAGE, b"\x00\x02uk\x00\x02hi"),)),
                    ),
                ),
            ),
        ),
        bytes.fromhex(
            "01 01 00 0b 00 00 00 02 01"
            "44 00 01 61 00 01 78 44 00 00 00 01 79"
            "34 00 01 63 00 00 4a 00 00 00 01 6d 21 00 00 00 04 ff ff ff ff 37 00 00 00 00"
            "35 00 01 74 00 08 00 02 75 6b 00 02 68 69 03"
        ),
        "worked by hand from RFC 8010 3.1: several values, a collection, a text with its language",
    ),
)
