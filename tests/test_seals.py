"""The hashes of the journal, against bytes that were written by hand."""

from __future__ import annotations

from hashlib import sha256

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.store import schema
from dmtwisted.store.seals import (
    DOCUMENT_COLUMNS,
    DOCUMENT_NUMBERS,
    GENESIS,
    OPERATION_COLUMNS,
    OPERATION_NUMBERS,
    TEXTS,
    content_hash,
    link,
)

OPERATION = bytes.fromhex(
    "0000000000000011"  # n: 17
    "0000000000000001"  # device_n: 1
    "0000000000000001"  # task: 1
    "00000000000003e8"  # at: 1000
    "8000000000000000"  # ended_at: absent
    "ffffffffffffffff"  # res: -1
    "0000000000000006"  # kind
    "0000000000000002"  # key
    "0000000000000000"  # fingerprint: empty
    "0000000000000004"  # state
    "0000000000000002"  # answer
    "ffffffffffffffff"  # request: absent
    "66697363616c d087 646f6e65 7b7d"  # fiscal, Ї, done, {}
)

DOCUMENT = bytes.fromhex(
    "0000000000000002"  # n
    "0000000000000001"  # device_n
    "0000010000000000"  # number: 2 ** 40
    "0000000000000003"  # shift
    "00000000000003e8"  # at
    "fffffffffffffff6"  # sum: -10
    "0000000000000001"  # kind
    "0000000000000004"  # state
    "0000000000000000"  # fiscal_number: empty
    "0000000000000001"  # value
    "0000000000000001"  # sent
    "7a 646f6e65 00 ff"  # z, done, and two bodies
)


class EncodingTests(SynchronousTestCase):
    """What is under a hash. It is never changed: every seal that was ever made would be wrong."""

    operation = (17, 1, 1, 1000, None, -1, "fiscal", "Ї", b"", "done", b"{}", None)
    document = (2, 1, 2**40, 3, 1000, -10, "z", "done", "", b"\x00", b"\xff")

    def test_operation(self) -> None:
        """An operation alone, and with its documents in their order."""
        self.assertEqual(content_hash(self.operation, []), sha256(OPERATION).digest())
        twice = [self.document, self.document]
        self.assertEqual(content_hash(self.operation, twice), sha256(OPERATION + DOCUMENT * 2).digest())

    def test_link(self) -> None:
        """A seal names the one before it, its device and its operation."""
        place = bytes.fromhex("0000000000000001 0000000000000011")
        self.assertEqual(link(GENESIS, 1, 17, b"c" * 32), sha256(bytes(32) + place + b"c" * 32).digest())

    def test_other_kinds(self) -> None:
        """A value of a kind that is not kept in a journal has no hash."""
        for place, wrong in ((0, 1.5), (3, None), (4, "4"), (6, b"fiscal"), (8, "text"), (10, 17), (11, "text")):
            row: list[object] = list(self.operation)
            row[place] = wrong
            self.assertRaises(ValueError, content_hash, row, [])
        for place, wrong in ((2, 1.5), (5, "1"), (6, None), (9, "text"), (10, None)):
            row = list(self.document)
            row[place] = wrong
            self.assertRaises(ValueError, content_hash, self.operation, [self.document, row])

    def test_columns(self) -> None:
        """Every column is sealed, except the mark of the request and what the place in the encoding shows."""
        operation = {column.name for column in schema.operation.columns if column.name != "token"}
        document = {column.name for column in schema.document.columns if column.name != "operation_n"}
        self.assertEqual((set(OPERATION_COLUMNS), set(DOCUMENT_COLUMNS)), (operation, document))
        for table, numbers in ((schema.operation, OPERATION_NUMBERS), (schema.document, DOCUMENT_NUMBERS)):
            whole = {column.name for column in table.columns if column.type.python_type is int}
            self.assertEqual(whole - {"operation_n"}, set(numbers))
            texts = {column.name for column in table.columns if column.type.python_type is str}
            self.assertLessEqual(texts, TEXTS)
