"""Documents of a small shop for the fiscal server, as a register makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from protocols.fiscal.check_goods import BodyRow
from protocols.fiscal.check_head import CheckHead, DocType
from protocols.fiscal.check_xml import Check, CheckTotal, PayRow, TaxRow
from protocols.fiscal.document_xml import Document, encode, with_head
from protocols.fiscal.letters import CODE_PAGE
from protocols.fiscal.offline import control_number, document_hash, fiscal_number, hryvnias
from protocols.fiscal.signatures import seal_unsigned
from protocols.fiscal.xml_tree import DECLARATION, Node, parse, write
from protocols.fiscal.zrep_xml import PayFormRow, Turnover, ZRep, ZRepBody, ZRepHead, ZTaxRow

REGISTER = 4_000_000_202
TIN = "34554363"
KYIV = ZoneInfo("Europe/Kyiv")
CASH = "ГОТІВКА"


def in_sample_layout(data: bytes) -> bytes:
    """An XML document laid out as the official samples are: line ends CR LF, two blanks for each level."""

    def lines(node: Node, level: int) -> Iterator[str]:
        alone = write(node._replace(children=())).decode(CODE_PAGE).removeprefix(DECLARATION)
        end = f"</{node.name}>"
        yield "  " * level + (alone.removesuffix(end) if node.children else alone)
        for child in node.children:
            yield from lines(child, level + 1)
        if node.children:
            yield "  " * level + end

    return "\r\n".join([DECLARATION, *lines(parse(data), 0)]).encode(CODE_PAGE)


def same_document(ours: Document, theirs: Document) -> bool:
    """Whether the server's copy is our document: the server adds a number and marks."""

    def bare(document: Document) -> Document:
        head = document.head
        more: dict[str, Any] = {"storned": None} if isinstance(document, Check) else {}
        number = head.ordertaxnum if head.offline else None
        flags = {"offline": head.offline or None, "testing": head.testing or None}
        return with_head(document, ordertaxnum=number, revoked=None, **flags, **more)

    return bare(ours) == bare(theirs)


class Shop:
    """A register that counts its documents; ``seconds`` is its clock."""

    def __init__(self, seconds: Callable[[], float], testing: bool = False) -> None:
        self.seconds, self.next, self.testing = seconds, 1, testing
        self.session = self.seed = self.hash = ""
        self.ordinal = 0
        self.offline = False
        self.seal: Callable[[bytes], bytes] = seal_unsigned
        """What makes the bytes to send of an offline document."""

    def head(self, kind: int, sub: int | None = None, **more: Any) -> CheckHead:
        """The head of the next document; it takes the next number."""
        moment = datetime.fromtimestamp(self.seconds(), KYIV)
        number, self.next = self.next, self.next + 1
        return CheckHead(
            doctype=kind,
            docsubtype=sub,
            uid=f"00000000-0000-4000-8000-{number:012d}",
            tin=TIN,
            orgnm="Тестовий платник",
            pointnm="Тестова торгова точка",
            orderdate=moment.date(),
            ordertime=moment.time().replace(microsecond=0),
            ordernum=number,
            cashdesknum=1,
            cashregisternum=REGISTER,
            cashier="Касир",
            testing=True if self.testing and kind not in (102, 103) else None,
            **more,
        )

    def open(self) -> Check:
        """The opening of a shift."""
        return Check(checkhead=self.head(DocType.OPEN_SHIFT))

    def close(self) -> Check:
        """The closing of a shift."""
        return Check(checkhead=self.head(DocType.CLOSE_SHIFT))

    def sale(self, amount: int = 5000, tax: int = 833, sub: int = 0, **more: Any) -> Check:
        """A sale of one thing for cash, with 20 % VAT in its price."""
        return Check(
            checkhead=self.head(DocType.SALE, sub, **more),
            checktotal=CheckTotal(sum=amount),
            checkpay=(PayRow(payformcd=0, payformnm=CASH, sum=amount, provided=amount),),
            checktax=(TaxRow(type=0, name="ПДВ", letter="А", prc=2000, turnover=amount, sum=tax),),
            checkbody=(BodyRow(name="Кофе", amount=1000, price=amount, letters="А", cost=amount),),
        )

    def back(self, number: str, amount: int = 5000, tax: int = 833) -> Check:
        """A return of the receipt ``number``."""
        return self.sale(amount, tax, 1, orderretnum=number)

    def cash(self, amount: int, sub: int) -> Check:
        """Money into the drawer (2) or out of it (4)."""
        return Check(checkhead=self.head(DocType.SALE, sub), checktotal=CheckTotal(sum=amount))

    def storno(self, number: str) -> Check:
        """The storno of the document ``number``."""
        return Check(checkhead=self.head(DocType.SALE, 5, orderstornum=number))

    def withdrawal(self, amount: int, commission: int) -> Check:
        """Cash given out against a card."""
        return Check(
            checkhead=self.head(DocType.WITHDRAWAL, 0),
            checktotal=CheckTotal(sum=amount, notaxsum=amount, commission=commission),
            checkpay=(PayRow(payformcd=0, payformnm=CASH, sum=amount),),
            checkbody=(BodyRow(name="Видача готівки", cost=amount),),
        )

    def z(self, *sales: tuple[int, int], cash_in: int = 0, cash_out: int = 0) -> ZRep:
        """The report of a shift with ``sales``, each an amount and its tax."""
        head = self.head(DocType.SALE)
        shared = {name: getattr(head, name) for name in ZRepHead.__dataclass_fields__ if hasattr(head, name)}
        amount, tax = sum(sale[0] for sale in sales), sum(sale[1] for sale in sales)
        turnover = Turnover(
            sum=amount,
            orderscnt=len(sales),
            payforms=(PayFormRow(payformcd=0, payformnm=CASH, sum=amount),),
            taxes=(ZTaxRow(type=0, name="ПДВ", letter="А", prc=2000, turnover=amount, sum=tax),),
        )
        return ZRep(
            zrephead=ZRepHead(**shared),
            zreprealiz=turnover if sales else None,
            zrepbody=ZRepBody(serviceinput=cash_in, serviceoutput=cash_out),
        )

    def begin(self, session: str, seed: str, revoke: bool = False, skips: bool = False) -> bytes:
        """Go offline with a session; the bytes of its first document.

        :param revoke: whether it revokes the last online document, whose number it takes over unless it ``skips`` it.
        """
        self.next -= revoke and not skips
        self.session, self.seed, self.ordinal, self.hash, self.offline = session, seed, 0, "", True
        head = self.head(DocType.OFFLINE_BEGIN, revokelastonlinedoc=True if revoke else None)
        return self.made(Check(checkhead=head), first=True)

    def end(self) -> bytes:
        """Come back online; the bytes of the session's last document."""
        sent = self.made(Check(checkhead=self.head(DocType.OFFLINE_END)))
        self.offline = False
        return sent

    def made(self, document: Document, first: bool = False) -> bytes:
        """The bytes of ``document`` as the next one of the offline session."""
        self.ordinal += 1
        head, amount = document.head, ""
        if isinstance(document, Check) and document.checktotal is not None:
            amount = hryvnias(document.checktotal.sum or 0)
        control = control_number(
            self.seed,
            f"{head.orderdate:%d%m%Y}",
            f"{head.ordertime:%H%M%S}",
            *(head.ordernum, str(REGISTER), str(head.cashdesknum), amount, self.hash),
        )
        marks: dict[str, Any] = {
            "ordertaxnum": fiscal_number(self.session, self.ordinal, control),
            "offline": True,
            "prevdochash": self.hash or None,
        }
        sent = self.seal(encode(with_head(document, **marks)))
        self.hash = "" if first else document_hash(sent)
        return sent
