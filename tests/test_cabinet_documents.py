"""Documents of protocol B: canonical form, every tag both ways, what the reader refuses."""

from __future__ import annotations

from datetime import datetime

from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal.cabinet.documents import MAC, RQ, C, Dat, Kind, decode, encode, mac_of
from protocols.fiscal.cabinet.documents_service import asking_for_numbers, decode_numbers, encode_numbers, size_asked
from protocols.fiscal.cabinet.documents_z import NC, Z
from protocols.fiscal.schema import DocumentError

MOMENT = datetime(2026, 9, 21, 9, 0)


def document(content: C | Z, mac: MAC | None = None) -> RQ:
    """A document with ``content``."""
    dat = Dat(fn="4000000001", tn="34554363", zn="1", di=0, content=content, ts=MOMENT)
    return RQ(dat=dat, mac=mac or MAC())


class ServiceTests(SynchronousTestCase):
    """Documents without goods."""

    def test_opening(self) -> None:
        """An opening is one empty tag; the first MAC of a register is empty."""
        value = document(C(t=Kind.OPEN))
        self.assertEqual(
            encode(value),
            b'<?xml version="1.0" encoding="windows-1251"?><RQ V="1">'
            b'<DAT DI="0" FN="4000000001" TN="34554363" V="1" ZN="1">'
            b'<C T="108"></C><TS>20260921090000</TS></DAT><MAC></MAC></RQ>',
        )
        self.assertEqual(decode(encode(value)), value)

    def test_z(self) -> None:
        """An offline Z names its reserved number in the MAC."""
        value = document(Z(no=7, counts=NC(ni=2)), MAC(id="eYme-jhnkWQ", text=mac_of(b"")))
        self.assertIn(b'<Z NO="7"><NC NI="2" NO="0"></NC></Z>', encode(value))
        self.assertIn(b'<MAC ID="eYme-jhnkWQ">e3b0c44298fc1c14', encode(value))
        self.assertEqual(decode(encode(value)), value)

    def test_numbers(self) -> None:
        """A request says how many numbers; the server's list is read with and without the tag around it."""
        self.assertEqual(size_asked(asking_for_numbers(20)), 20)
        listed = encode_numbers(("eYme-jhnkWQ", "abc"))
        self.assertIn(b'<RS V="1"><C T="112"><ID>eYme-jhnkWQ</ID><ID>abc</ID></C></RS>', listed)
        self.assertEqual(decode_numbers(listed), ("eYme-jhnkWQ", "abc"))
        self.assertEqual(decode_numbers(b'<C T="112"><ID>a</ID></C>'), ("a",))
        for wrong in (
            b'<C T="112"><ID>a</ID><ID>a</ID></C>',
            b'<C T="112"><ID></ID></C>',
            b'<C T="111"></C>',
            b"<R/>",
        ):
            self.assertRaises(DocumentError, decode_numbers, wrong)
