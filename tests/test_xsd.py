"""The schemas as XSD: an independent validator agrees with ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from unittest import SkipTest

from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal.check_xml import Check
from protocols.fiscal.crypto.signed_message import read
from protocols.fiscal.document_xml import decode, decode_as
from protocols.fiscal.schema import DocumentError
from protocols.fiscal.ticket_xml import Ticket
from protocols.fiscal.xsd import schema_of
from protocols.fiscal.zrep_xml import ZRep
from tests.prro_shop import FIRST, PrroShop
from tests.shop import sale
from tests.vectors.fiscal_documents import SAMPLES, TICKET


class XsdTests(SynchronousTestCase):
    """libxml2 judges."""

    def setUp(self) -> None:
        """The judge."""
        try:
            from lxml import etree  # type: ignore[import-untyped]
        except ImportError as missing:
            raise SkipTest("lxml is not installed") from missing
        self.parse: Callable[[bytes], Any] = etree.fromstring
        self.schemas = {
            name: etree.XMLSchema(etree.fromstring(schema_of(kind)))
            for name, kind in (("CHECK", Check), ("ZREP", ZRep), ("TICKET", Ticket))
        }

    def fault(self, data: bytes) -> str:
        """What the judge finds wrong; empty when nothing is."""
        document = self.parse(data)
        schema = self.schemas[document.tag]
        return "" if schema.validate(document) else str(schema.error_log.last_error)

    def test_official(self) -> None:
        """Every official sample, and a ticket of the real server, keep to our schemas."""
        for sample in SAMPLES:
            self.assertEqual(self.fault(sample.data), "", sample.source)
        self.assertEqual(self.fault(TICKET), "")
        self.assertEqual(decode_as(Ticket, TICKET).ordernum, 357)

    def test_a_day(self) -> None:
        """Every document that a register makes in a day, offline ones too, keeps to them."""
        shop = PrroShop(self, "one")
        shop.fiscal(0, device="one")
        shop.fiscal(3, device="one", cash={"type": 0, "sum": 500})
        shop.fiscal(1, device="one", receipt=sale(50.5))
        shop.fiscal(2, device="one", receipt={**sale(20), "purchase_receipt_fisn": "3000000003"})
        shop.fiscal(4, device="one", cash={"type": 0, "sum": 100})
        shop.fiscal(14, device="one", cash={"type": 2, "sum": 100, "commission": 1})
        shop.done(shop.built().go_offline("uk"))
        shop.fiscal(1, device="one", receipt=sale(10))
        shop.done(shop.built().go_online("uk"))
        shop.fiscal(1, device="one", receipt=sale(10))
        shop.fiscal(17, device="one")
        shop.fiscal(11, device="one")
        stored = shop.far_end.books.registers[FIRST].documents.values()
        kinds = {one.kind.value for one in stored}
        self.assertEqual(len(kinds), 11, kinds)
        for one in stored:
            self.assertEqual(self.fault(one.content), "", one.kind)
            self.assertEqual(self.fault(read(one.sent).content or b""), "")

    def test_same_judgement(self) -> None:
        """What one of them refuses the other one refuses too: order, names, what is required, types, rows."""
        sample = next(one.data for one in SAMPLES if b"<CHECKBODY>" in one.data)
        sample = re.sub(rb"(<CHECKBODY>.*?)(<NAME>)", rb"\1<UKTZED>2203000100</UKTZED>\2", sample, flags=re.DOTALL)
        self.assertEqual(self.fault(sample), "")
        self.assertEqual(self.fault(re.sub(rb"<UKTZED>[^<]*</UKTZED>", rb"<DKPP>56.10</DKPP>", sample)), "")
        changes = (
            (rb"<UID>[^<]*</UID>", b""),
            (
                rb"<DOCTYPE>0</DOCTYPE>(\s*)<DOCSUBTYPE>0</DOCSUBTYPE>",
                rb"<DOCSUBTYPE>0</DOCSUBTYPE><DOCTYPE>0</DOCTYPE>",
            ),
            (rb"</CHECKHEAD>", b"<MORE>1</MORE></CHECKHEAD>"),
            (rb"<ORDERDATE>[^<]*<", b"<ORDERDATE>32012021<"),
            (rb"<ORDERTIME>[^<]*<", b"<ORDERTIME>240000<"),
            (rb"<ORDERNUM>[^<]*<", b"<ORDERNUM>0<"),
            (rb"<TIN>[^<]*<", b"<TIN>12<"),
            (rb"<SUM>[^<]*<", b"<SUM>50.0<"),
            (rb"<AMOUNT>[^<]*<", b"<AMOUNT>1.0005<"),
            (rb"<OFFLINE>[^<]*<", b"<OFFLINE>maybe<"),
            (rb"<UKTZED>[^<]*</UKTZED>", rb"\g<0><DKPP>56.10</DKPP>"),
            (rb'ROWNUM="1"', b'ROWNUM="0"'),
            (rb' ROWNUM="1"', b""),
            (rb"<ORGNM>", b"<ORGNM>" + b"x" * 257),
            (rb"<CHECKHEAD>.*</CHECKHEAD>", b""),
        )
        for pattern, instead in changes:
            changed, count = re.subn(pattern, instead, sample, count=1, flags=re.DOTALL)
            self.assertEqual(count, 1, pattern)
            self.assertNotEqual(self.fault(changed), "", pattern)
            self.assertRaises(DocumentError, decode, changed)
