"""Documents of protocol B: their value, their text, and where they come from.

The texts are written by hand, in canonical form, and hold no line breaks: the lines here are joined.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import NamedTuple

from protocols.fiscal.cabinet.documents import MAC, RQ, C, Dat, Kind
from protocols.fiscal.cabinet.documents_rows import CA, NI, TX, CashIn, D, E, H, L, M, P, S
from protocols.fiscal.cabinet.documents_z import EPZ, IO, NC, TXS, ZM, Z

_FORMAT = "data protocol of fiscal registers 2.2.3, "
_DESCRIPTION = "description of the cabinet's interface, "
_JOURNAL = "amounts of a fiscal register's published journal of 22.11.2019, "


class Vector(NamedTuple):
    """A document, its meaning and its source."""

    value: RQ
    text: str
    source: str

    @property
    def data(self) -> bytes:
        """Its bytes."""
        return f'<?xml version="1.0" encoding="windows-1251"?>{self.text}'.encode("windows-1251")


HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

_BAKERY = datetime(2011, 8, 1, 11, 26, 1)
_MORNING = datetime(2026, 9, 21, 9, 0)


def _document(di: int, content: C | Z, mac: MAC | None) -> RQ:
    return RQ(
        dat=Dat(fn="4000000001", tn="34554363", zn="1", di=di, content=content, ts=_MORNING),
        mac=mac,
    )


def _text(di: int, content: str, mac: str) -> str:
    return (
        f'<RQ V="1"><DAT DI="{di}" FN="4000000001" TN="34554363" V="1" ZN="1">{content}'
        f"<TS>20260921090000</TS></DAT>{mac}</RQ>"
    )


ANNEX = Vector(
    RQ(
        dat=Dat(
            fn="4538765845",
            tn="ПН 345612052809",
            zn="АА57506761",
            di=238,
            content=C(
                t=Kind.SALE,
                rows=(
                    P(n=1, c="120", nm="Хліб", sm=370, tx="1"),
                    M(n=2, sm=370),
                    E(
                        n=3,
                        no=19,
                        sm=370,
                        fn="4538765845",
                        ts=_BAKERY,
                        tx="1",
                        txpr=2000,
                        txsm=125,
                        dtpr=0,
                        dtsm=0,
                        txty=0,
                        txal=0,
                    ),
                ),
            ),
            ts=_BAKERY,
        ),
        mac=MAC(),
    ),
    '<RQ V="1"><DAT DI="238" FN="4538765845" TN="ПН 345612052809" V="1" ZN="АА57506761"><C T="0">'
    '<P C="120" N="1" NM="Хліб" SM="370" TX="1"></P><M N="2" SM="370" T="0"></M>'
    '<E DTPR="0.00" DTSM="0" FN="4538765845" N="3" NO="19" SM="370" TS="20110801112601" TX="1" TXAL="0" '
    'TXPR="20.00" TXSM="125" TXTY="0"></E></C><TS>20110801112601</TS></DAT><MAC></MAC></RQ>',
    _FORMAT + "annex A, its result; the tax there is invented: 20 % of 3.70 is 0.62",
)

ANNEX_AS_WRITTEN = (
    '<RQ V="1"><DAT FN="4538765845" TN="ПН 345612052809" ZN="АА57506761" DI="238" V="1">   <C T="0">     '
    '<P N="1" C="120" NM="Хліб" SM="370" TX="1"/>     <M N="2" T="0" SM="370"/>     <E N="3" NO="19" SM="370" '
    'FN="4538765845" TS="20110801112601" TX="1" TXPR="20.00" TXSM="125" DTPR="0.00" DTSM="0" TXTY="0" '
    'TXAL="0"/>   </C>   <TS>20110801112601</TS> </DAT><MAC/></RQ>'
)
"""Annex A, its input; `RQ` and `MAC` are added."""

OPENING = Vector(
    _document(0, C(t=Kind.OPEN), MAC()),
    _text(0, '<C T="108"></C>', "<MAC></MAC>"),
    _DESCRIPTION + "open shift; the first document of a register",
)

SALE = Vector(
    _document(
        1,
        C(
            t=Kind.SALE,
            rows=(
                L(n=1, text="Вітаємо & дякуємо"),
                P(
                    n=2,
                    c="17",
                    cd="4820000000017",
                    czd="2208201200",
                    nm='Коньяк «Старий» "5*"',
                    sm=31000,
                    q=2000,
                    prc=15500,
                    tx="4",
                    marks=(CA(ca="AATE508932"), CA(ca="AATE508933")),
                ),
                M(n=3, t=2, nm="Картка", sm=31000, rrn="123456789012", pd="411111******1111", pf=0),
                E(
                    n=4,
                    no=1,
                    sm=31000,
                    se=24603,
                    fn="4000000001",
                    ts=_MORNING,
                    taxes=(TX(tx="4", txpr=2000, txsm=4921, dtpr=500, dtsm=1476, txty=0, txal=2),),
                ),
            ),
        ),
        MAC(text=HASH),
    ),
    _text(
        1,
        '<C T="0"><L N="1">Вітаємо &amp; дякуємо</L>'
        '<P C="17" CD="4820000000017" CZD="2208201200" N="2" NM="Коньяк «Старий» &quot;5*&quot;" PRC="15500" '
        'Q="2000" SM="31000" TX="4"><CA CA="AATE508932"></CA><CA CA="AATE508933"></CA></P>'
        '<M N="3" NM="Картка" PD="411111******1111" PF="0" RRN="123456789012" SM="31000" T="2"></M>'
        '<E FN="4000000001" N="4" NO="1" SE="24603" SM="31000" TS="20260921090000">'
        '<TX DTPR="5.00" DTSM="1476" TX="4" TXAL="2" TXPR="20.00" TXSM="4921" TXTY="0"></TX></E></C>',
        f"<MAC>{HASH}</MAC>",
    ),
    _JOURNAL + "310.00: excise 310·5/105 = 14.76, VAT 295.24·20/120 = 49.21, the rest 246.03",
)

ROUNDED = Vector(
    _document(
        2,
        C(
            t=Kind.SALE,
            rows=(
                P(n=1, c="1", nm="Вино", sm=30000, tx="4"),
                D(n=2, tr=0, ty=0, ni=1, tx="4", sm=440),
                P(n=3, c="2", nm="Сир", sm=26495, tx="1"),
                S(n=4, tr=0, ty=0, ni=3, tx="1", sm=500),
                M(n=5, nm="ГОТІВКА", sm=60000, smb=56555, smp=5, rm=3440),
                E(
                    n=6,
                    no=2,
                    sm=56555,
                    fn="4000000001",
                    ts=_MORNING,
                    taxes=(
                        TX(tx="4", txpr=2000, txsm=4692, dtpr=500, dtsm=1408, txty=0, txal=2),
                        TX(tx="1", txpr=2000, txsm=4499, txty=0, txal=0),
                    ),
                ),
            ),
        ),
        MAC(text=HASH),
    ),
    _text(
        2,
        '<C T="0"><P C="1" N="1" NM="Вино" SM="30000" TX="4"></P><D N="2" NI="1" SM="440" TR="0" TX="4" TY="0"></D>'
        '<P C="2" N="3" NM="Сир" SM="26495" TX="1"></P><S N="4" NI="3" SM="500" TR="0" TX="1" TY="0"></S>'
        '<M N="5" NM="ГОТІВКА" RM="3440" SM="60000" SMB="56555" SMP="5" T="0"></M>'
        '<E FN="4000000001" N="6" NO="2" SM="56555" TS="20260921090000">'
        '<TX DTPR="5.00" DTSM="1408" TX="4" TXAL="2" TXPR="20.00" TXSM="4692" TXTY="0"></TX>'
        '<TX TX="1" TXAL="0" TXPR="20.00" TXSM="4499" TXTY="0"></TX></E></C>',
        f"<MAC>{HASH}</MAC>",
    ),
    _FORMAT + "sale of 295.60 with excise and 269.95 without: excise 14.08, VAT 91.91 in all, 600.00 handed over, "
    "rounded up by 0.05, change 34.40; discount and surcharge are added here",
)

RETURN = Vector(
    _document(
        3,
        C(
            t=Kind.RETURN,
            rows=(
                P(n=1, c="9", nm="Чай", sm=100, tx="8", rt=0),
                M(n=2, sm=100),
                E(
                    n=3,
                    no=3,
                    rno="wuBKGM848z4",
                    sm=100,
                    fn="4000000001",
                    ts=_MORNING,
                    taxes=(TX(tx="8", txpr=2000, txsm=16, dtpr=750, dtsm=6, txty=0, txal=0),),
                ),
            ),
        ),
        MAC(id="eYme-jhnkWQ", text=HASH),
    ),
    _text(
        3,
        '<C T="1"><P C="9" N="1" NM="Чай" RT="0" SM="100" TX="8"></P><M N="2" SM="100" T="0"></M>'
        '<E FN="4000000001" N="3" NO="3" RNO="wuBKGM848z4" SM="100" TS="20260921090000">'
        '<TX DTPR="7.50" DTSM="6" TX="8" TXAL="0" TXPR="20.00" TXSM="16" TXTY="0"></TX></E></C>',
        f'<MAC ID="eYme-jhnkWQ">{HASH}</MAC>',
    ),
    _FORMAT + "two rates in one price: 1.00 has VAT 0.16 and a levy of 0.06; made offline here",
)

CASH = Vector(
    _document(4, C(t=Kind.CASH, rows=(CashIn(n=1, sm=20000), E(n=2))), MAC(text=HASH)),
    _text(4, '<C T="2"><I N="1" SM="20000" T="0"></I><E N="2"></E></C>', f"<MAC>{HASH}</MAC>"),
    _JOURNAL + "cash in",
)

DISCOUNT = Vector(
    _document(
        5,
        C(
            t=Kind.SALE,
            rows=(
                P(n=1, nm="А", sm=500),
                P(n=2, nm="Б", sm=500),
                D(n=3, tr=1, ty=1, pr=500, sm=50, rows=(NI(ni=1), NI(ni=2))),
                M(n=4, sm=950),
                E(n=5, no=5, sm=950, fn="4000000001", ts=_MORNING),
            ),
        ),
        MAC(text=HASH),
    ),
    _text(
        5,
        '<C T="0"><P N="1" NM="А" SM="500"></P><P N="2" NM="Б" SM="500"></P>'
        '<D N="3" PR="5.00" SM="50" TR="1" TY="1"><NI NI="1"></NI><NI NI="2"></NI></D>'
        '<M N="4" SM="950" T="0"></M><E FN="4000000001" N="5" NO="5" SM="950" TS="20260921090000"></E></C>',
        f"<MAC>{HASH}</MAC>",
    ),
    _FORMAT + "discount of several items, worked by hand",
)

REPORT = Vector(
    _document(
        6,
        Z(
            no=2,
            taxes=(
                TXS(
                    tx="1",
                    ts=date(2026, 9, 21),
                    txpr=2000,
                    txi=249022,
                    txo=0,
                    dtpr=500,
                    dti=69943,
                    txty=0,
                    txal=2,
                    smi=1564075,
                ),
            ),
            payments=(ZM(t=0, nm="ГОТІВКА", smi=649139, smo=0), ZM(t=1, nm="ЧЕК", smi=40000), ZM(t=2, smi=874936)),
            cash=(IO(t=0, smi=20000, smo=669139),),
            counts=NC(ni=46, no=0),
            withdrawals=EPZ(epc=1, epsm=50000),
        ),
        MAC(text=HASH),
    ),
    _text(
        6,
        '<Z NO="2"><TXS DTI="69943" DTPR="5.00" SMI="1564075" TS="20260921" TX="1" TXAL="2" TXI="249022" TXO="0" '
        'TXPR="20.00" TXTY="0"></TXS><M NM="ГОТІВКА" SMI="649139" SMO="0" T="0"></M>'
        '<M NM="ЧЕК" SMI="40000" T="1"></M><M SMI="874936" T="2"></M><IO SMI="20000" SMO="669139" T="0"></IO>'
        '<NC NI="46" NO="0"></NC><EPZ EPC="1" EPSM="50000"></EPZ></Z>',
        f"<MAC>{HASH}</MAC>",
    ),
    _JOURNAL + "the Z of the day; cash for a card holder is added here",
)

NUMBERS = Vector(
    _document(7, C(t=Kind.NUMBERS, rows=(H(size=150),)), MAC(text=HASH)),
    _text(7, '<C T="112"><H SIZE="150"></H></C>', f"<MAC>{HASH}</MAC>"),
    _DESCRIPTION + "request for offline numbers",
)

PING = Vector(
    _document(0x7FFFFFFF, C(t=Kind.PING), None),
    _text(2147483647, '<C T="111"></C>', ""),
    _DESCRIPTION + "ping",
)

VECTORS = (ANNEX, OPENING, SALE, ROUNDED, RETURN, CASH, DISCOUNT, REPORT, NUMBERS, PING)
