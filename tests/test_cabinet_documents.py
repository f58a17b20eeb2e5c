"""Documents of protocol B: canonical form, every tag both ways, what the reader refuses."""

from __future__ import annotations

import re
from dataclasses import fields, replace

from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal.cabinet import documents_rows, documents_z
from protocols.fiscal.cabinet.documents import RQ, C, decode, encode, mac_of
from protocols.fiscal.cabinet.documents_rows import L, P
from protocols.fiscal.cabinet.documents_service import (
    asking_for_numbers,
    decode_numbers,
    encode_numbers,
    size_asked,
)
from protocols.fiscal.cabinet.documents_xml import LARGEST, described, read, write
from protocols.fiscal.schema import DocumentError
from protocols.fiscal.simple_types import SimpleType
from tests.vectors import cabinet
from tests.vectors.cabinet import ANNEX, ANNEX_AS_WRITTEN, OPENING, SALE, VECTORS

HEAD = b'<?xml version="1.0" encoding="windows-1251"?>'


class VectorTests(SynchronousTestCase):
    """Every document of the vectors, both ways."""

    def test_encode(self) -> None:
        """A document has exactly the bytes of the sample."""
        for vector in VECTORS:
            self.assertEqual(encode(vector.value), vector.data, vector.source)

    def test_decode(self) -> None:
        """The bytes of the sample are the document."""
        for vector in VECTORS:
            self.assertEqual(decode(vector.data), vector.value, vector.source)

    def test_annex(self) -> None:
        """The example of the canonical form is read as it is written, and written as it has to be."""
        self.assertEqual(encode(decode(HEAD + ANNEX_AS_WRITTEN.encode("windows-1251"))), ANNEX.data)

    def test_cut(self) -> None:
        """A document that is cut anywhere is refused."""
        for length in range(len(SALE.data)):
            self.assertRaises(DocumentError, decode, SALE.data[:length])

    def test_mac(self) -> None:
        """The hash is of the bytes as they are: another spelling of the same document has another one."""
        self.assertEqual(mac_of(b"test"), cabinet.HASH)
        spelled = HEAD + ANNEX_AS_WRITTEN.encode("windows-1251")
        self.assertNotEqual(mac_of(spelled), mac_of(encode(decode(spelled))))


class SpellingTests(SynchronousTestCase):
    """Other programs spell the same documents differently."""

    def test_spellings(self) -> None:
        """Order of attributes, quotes, blanks, line ends, empty tags and the encoding do not matter."""
        text = OPENING.text
        for other in (
            text.replace('<C T="108"></C>', '<C T="108"/>'),
            text.replace("<MAC></MAC>", "<MAC />"),
            text.replace("><", ">\r\n  <"),
            text.replace('"', "'"),
            text.replace('DI="0" FN="4000000001"', 'FN="4000000001"   DI="0"'),
            text.replace('<C T="108">', "<!-- shift --><C T='108'>"),
        ):
            self.assertNotEqual(other, text)
            self.assertEqual(_plain(decode(HEAD + other.encode())), OPENING.value, other)
        self.assertEqual(decode(text.encode()), OPENING.value)

    def test_programs(self) -> None:
        """What programs in the field write is read: name and version, an empty number, cash in an opening."""
        text = OPENING.text
        for before, after in (
            ('<RQ V="1">', '<RQ NDv="Каса" PrV="1.1" V="1">'),
            ("<DAT ", '<DAT DT="0" '),
            ("<MAC>", '<MAC ID="">'),
            ('"108">', '"108"><O N="1" SM="0" T="0"></O><E N="2"></E>'),
        ):
            text = text.replace(before, after)
        found = decode(HEAD + text.encode("windows-1251"))
        assert isinstance(found.dat.content, C) and found.mac is not None
        self.assertEqual((found.ndv, found.prv, found.dat.dt, found.mac.id), ("Каса", "1.1", 0, ""))
        self.assertEqual(len(found.dat.content.rows), 2)
        self.assertEqual(decode(encode(found)), found)

    def test_percentages(self) -> None:
        """Percentages are read with fewer decimals and written with two."""
        for spelled in ("7.5", "7.50"):
            data = cabinet.RETURN.data.replace(b'"7.50"', f'"{spelled}"'.encode())
            self.assertEqual(decode(data), cabinet.RETURN.value)


def _plain(document: RQ) -> RQ:
    """``document`` without the blanks that stood inside of `MAC`."""
    assert document.mac is not None
    return replace(document, mac=replace(document.mac, text=document.mac.text.strip()))


class TagTests(SynchronousTestCase):
    """Every tag with every attribute."""

    tags = tuple(
        tag
        for module in (documents_rows, documents_z)
        for tag in vars(module).values()
        if isinstance(tag, type) and "TAG" in vars(tag)
    )

    def test_each(self) -> None:
        """Each tag that is filled completely is written with its attributes in order, and read back as it was."""
        self.assertGreater(len(self.tags), 20)
        for tag in self.tags:
            description = described(tag)
            samples = {
                name: next(sample for sample in SAMPLES if _fits(attribute.simple, sample))
                for name, attribute in description.attributes.items()
            }
            members = {
                description.attributes[name].field: description.attributes[name].simple.read(sample)
                for name, sample in samples.items()
            }
            value = tag(**members)
            node = write(value)
            self.assertEqual(dict(node.attributes), samples)
            self.assertEqual(list(node.attributes), sorted(node.attributes))
            self.assertEqual(read(tag, node), value)

    def test_names(self) -> None:
        """An attribute is its field in capitals."""
        self.assertEqual(
            list(described(P).attributes),
            sorted(field.name.upper() for field in fields(P) if field.name != "marks"),
        )


SAMPLES = ("7", "20.00", "20260921090000", "20260921")


def _fits(simple: SimpleType, text: str) -> bool:
    try:
        return bool(simple.write(simple.read(text)) == text)
    except ValueError:
        return False


class RefusalTests(SynchronousTestCase):
    """What is not a document, with the place that is wrong."""

    def assertWrong(self, data: bytes, *paths: str) -> None:
        """The document is refused for faults at these places."""
        wrong = self.assertRaises(DocumentError, decode, data)
        self.assertEqual([fault.path for fault in wrong.faults], list(paths))

    def test_places(self) -> None:
        """Each fault has its place: unknown, missing and doubled things, texts, and values of another type."""
        for before, after, path in (
            ('T="0"><L', 'T="x"><L', "RQ/DAT/C/@T"),
            ('T="0"><L', 'T="0" X="1"><L', "RQ/DAT/C/@X"),
            ('T="0"><L', "><L", "RQ/DAT/C/@T"),
            ('SM="31000" TX="4"', 'SM="310.00" TX="4"', "RQ/DAT/C/P[1]/@SM"),
            ('SM="31000" TX="4"', 'SM=" 31000" TX="4"', "RQ/DAT/C/P[1]/@SM"),
            ('Q="2000"', 'Q="-2000"', "RQ/DAT/C/P[1]/@Q"),
            ('CZD="2208201200"', 'CZD="22.08"', "RQ/DAT/C/P[1]/@CZD"),
            ('TX="4"><CA', 'TX="А"><CA', "RQ/DAT/C/P[1]/@TX"),
            ('<CA CA="AATE508933"></CA>', "<CA></CA>", "RQ/DAT/C/P[1]/CA[2]/@CA"),
            ('<CA CA="AATE508933"></CA>', "<CB></CB>", "RQ/DAT/C/P[1]/CB"),
            ('<CA CA="AATE508933"></CA>', "текст", "RQ/DAT/C/P[1]"),
            ('TXPR="20.00"', 'TXPR="20.005"', "RQ/DAT/C/E[1]/TX[1]/@TXPR"),
            ('TS="20260921090000"', 'TS="20260931090000"', "RQ/DAT/C/E[1]/@TS"),
            ("<TS>20260921090000</TS>", "", "RQ/DAT/TS"),
            ("<TS>20260921090000</TS>", "<TS>21.09.2026</TS>", "RQ/DAT/TS"),
            ("<TS>20260921090000</TS>", '<TS T="1">20260921090000</TS>', "RQ/DAT/TS"),
            ("<TS>", '<Z NO="1"></Z><TS>', "RQ/DAT/Z"),
            ("</RQ>", "<MAC></MAC></RQ>", "RQ/MAC"),
            ("</RQ>", "<SIGN></SIGN></RQ>", "RQ/SIGN"),
        ):
            self.assertIn(before, SALE.text)
            text = SALE.text.replace(before, after, 1)
            self.assertWrong(HEAD + text.encode("windows-1251"), path)

    def test_every_fault(self) -> None:
        """All faults of a document are told at once, in its order."""
        text = OPENING.text.replace('DI="0"', 'DI="x"').replace("<TS>", "<TS>x").replace('<C T="108"></C>', "")
        self.assertWrong(text.encode(), "RQ/DAT/@DI", "RQ/DAT/TS", "RQ/DAT/C|Z")

    def test_no_document(self) -> None:
        """Other roots, other data and nothing at all are no documents."""
        self.assertWrong(b"<DAT></DAT>", "DAT")
        for data in (b"", b"\0", b"{}", b"<RQ", HEAD + "<RQ>".encode("utf-16")):
            self.assertWrong(data, "")

    def test_dangers(self) -> None:
        """Entities, endless nesting and sheer size are refused before they cost anything."""
        entity = b'<!DOCTYPE RQ [<!ENTITY a "b">]>' + OPENING.text.replace("4000000001", "&a;").encode()
        self.assertWrong(entity, "")
        self.assertWrong(b"<RQ>" * 100_000, "")
        self.assertWrong(OPENING.text.encode() + b" " * LARGEST, "")
        self.assertWrong(OPENING.text.replace('FN="4', 'FN="4" FN="4').encode(), "")

    def test_write(self) -> None:
        """What cannot be written is refused with its place: characters that the code page lacks, negative counts."""
        for row, path in (
            (P(n=1, nm="Сир ₴", sm=1), "RQ/DAT/C/P[1]/@NM"),
            (P(n=-1, nm="Сир", sm=1), "RQ/DAT/C/P[1]/@N"),
            (P(n=1, nm="Сир", sm=10**15), "RQ/DAT/C/P[1]/@SM"),
            (P(n=1, nm="Сир", sm=1, c="1" * 65), "RQ/DAT/C/P[1]/@C"),
            (L(n=1, text="\1"), "RQ/DAT/C/L[1]"),
        ):
            document = replace(OPENING.value, dat=replace(OPENING.value.dat, content=C(t=0, rows=(row,))))
            wrong = self.assertRaises(DocumentError, encode, document)
            self.assertEqual([fault.path for fault in wrong.faults], [path])

    def test_texts(self) -> None:
        """Every character that can be written comes back: quotes, brackets, line ends, all of windows-1251."""
        letters = bytes(range(0x80, 0x98)).decode("windows-1251") + bytes(range(0x99, 0x100)).decode("windows-1251")
        for text in ("\"'&<>", "a\tb\nc\rd", " два  пробіли ", letters):
            rows = (P(n=1, nm=text, sm=1), L(n=2, text=text))
            document = replace(OPENING.value, dat=replace(OPENING.value.dat, content=C(t=0, rows=rows)))
            self.assertEqual(decode(encode(document)), document)
            self.assertNotRegex(encode(document).decode("windows-1251"), re.compile("/>"))


class NumbersTests(SynchronousTestCase):
    """Offline numbers, asked for and handed out."""

    def test_numbers(self) -> None:
        """A request says how many numbers; the server's list is read with and without the tag around it."""
        self.assertEqual((size_asked(asking_for_numbers(20)), size_asked(C(t=112))), (20, None))
        listed = encode_numbers(("eYme-jhnkWQ", "abc"))
        self.assertEqual(listed, HEAD + b'<RS V="1"><C T="112"><ID>eYme-jhnkWQ</ID><ID>abc</ID></C></RS>')
        self.assertEqual(decode_numbers(listed), ("eYme-jhnkWQ", "abc"))
        self.assertEqual(decode_numbers(b'<C T="112"><ID> a\n</ID></C>'), ("a",))
        self.assertEqual(decode_numbers(encode_numbers(())), ())

    def test_wrong(self) -> None:
        """A list with a number twice, an empty one, of another kind or shape, is refused."""
        for wrong in (
            b'<C T="112"><ID>a</ID><ID>a</ID></C>',
            b'<C T="112"><ID/></C>',
            b'<C T="112"><ID><ID>a</ID></ID></C>',
            b'<C T="111"></C>',
            b'<RS V="1"></RS>',
            b"<R/>",
            b"",
        ):
            self.assertRaises(DocumentError, decode_numbers, wrong)
