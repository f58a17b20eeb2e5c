"""A till for tests of protocol B: it makes the next document and hands it in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from twisted.internet.task import Clock

from protocols.fiscal.cabinet.documents import MAC, RQ, C, Dat, Kind, encode, mac_of
from protocols.fiscal.cabinet.documents_rows import CashIn, CashOut, E, M, P, Row
from protocols.fiscal.cabinet.documents_service import PING_NUMBER, asking_for_numbers, decode_numbers
from protocols.fiscal.cabinet.documents_z import IO, NC, ZM, Z
from protocols.fiscal.cabinet.messages import Check, CheckRequest, CheckRequestId, CheckResponse, CheckType
from protocols.simulators.cabinet_server import CabinetServerSimulator, Played
from protocols.simulators.fiscal_register import Registration

KYIV = ZoneInfo("Europe/Kyiv")
FN = "4000000001"
REGISTER = Registration(int(FN))
START = datetime(2026, 9, 21, 9, tzinfo=KYIV)
PRICE = 5_000

_SERVICE = frozenset({Kind.OPEN, Kind.OFFLINE, Kind.ONLINE, Kind.PING, Kind.NUMBERS, Kind.CASH})

Sign = Callable[[bytes], bytes]


def started(at: datetime = START) -> Clock:
    """A clock at ``at``."""
    clock = Clock()
    clock.advance(at.timestamp())
    return clock


def item(sum: int = PRICE, rno: str | None = None) -> tuple[Row, ...]:
    """The rows of a receipt over one item, paid in cash; a return names the receipt ``rno``."""
    return (P(n=1, nm="Кава", sm=sum), M(n=2, sm=sum), E(n=3, sm=sum, rno=rno))


class Till:
    """Makes documents as a register does, and calls ``server``.

    :param sign: signs as the cashier.
    """

    def __init__(self, server: CabinetServerSimulator, fn: str = FN, sign: Sign = bytes) -> None:
        self.server, self.fn, self.sign = server, fn, sign
        self.desk = fn[-1]
        """The register's number within the outlet, the last digit of ``fn``."""
        self.local, self.z, self.tip = 1, 0, ""
        self.numbers: list[str] = []
        self.offline = False
        self.sold = self.returned = self.sales = self.returns = self.put_in = self.taken_out = 0
        """Sums and counts since the last Z-report."""
        self.sent: Check | None = None
        self.xml = b""

    @property
    def now(self) -> datetime:
        """Kyiv time."""
        return datetime.fromtimestamp(self.server.clock.seconds(), KYIV).replace(tzinfo=None)

    # Documents

    def check(self, content: C | Z, at: datetime | None = None, **changes: Any) -> Check:
        """The next document, to be sent; `xml` is what is signed.

        :param changes: members of `Check`, or of the document: di, mac, mac_id, ts, fn, tn, zn.
        """
        kind = content.t if isinstance(content, C) else None
        ts = changes.pop("ts", at or self.now)
        if isinstance(content, C):
            content = self._ended(content, ts)
        local = {Kind.OPEN.value: 0, Kind.PING.value: PING_NUMBER}.get(-1 if kind is None else kind, self.local)
        id = self.numbers[0] if self.offline and self.numbers and kind not in (Kind.NUMBERS, Kind.PING) else ""
        mac = MAC(id=changes.pop("mac_id", id) or None, text=changes.pop("mac", self.tip))
        dat = Dat(
            fn=changes.pop("fn", self.fn),
            tn=changes.pop("tn", REGISTER.tin),
            zn=changes.pop("zn", self.desk),
            di=changes.pop("di", local),
            content=content,
            ts=ts,
        )
        self.xml = encode(RQ(dat=dat, mac=None if kind == Kind.PING else mac))
        check = Check(self.fn, int(f"{ts:%Y%m%d%H%M%S}"), self.sign(self.xml), local, _type(content), id)
        return replace(check, **changes)

    def _ended(self, content: C, ts: datetime) -> C:
        """``content`` with the number, the register and the time in its end."""
        rows = (replace(row, no=self.local, fn=self.fn, ts=ts) if isinstance(row, E) else row for row in content.rows)
        return replace(content, rows=tuple(rows))

    def send(self, content: C | Z, **changes: Any) -> CheckResponse:
        """Send the next document; the answer."""
        return self.again(self.check(content, **changes))

    def again(self, check: Check) -> CheckResponse:
        """Send ``check``; the answer."""
        self.sent = check
        return answered(self.server.receive("sendChkV2", check.encode()))

    def hand_in(self, content: C | Z, **changes: Any) -> str:
        """Send the next document, which the server has to accept; its fiscal number."""
        check = self.check(content, **changes)
        xml = self.xml
        answer = self.again(check)
        if answer.status != 1:
            raise AssertionError(answer.error_message)
        self.took(content, xml, answer, check.id_offline)
        return answer.id

    def took(self, content: C | Z, xml: bytes, answer: CheckResponse, id: str = "") -> None:
        """Go on after an accepted document."""
        self.tip = mac_of(xml)
        if id:
            self.numbers.remove(id)
        if isinstance(content, Z):
            self.z = content.no
            self.sold = self.returned = self.sales = self.returns = self.put_in = self.taken_out = 0
        elif content.t == Kind.NUMBERS:
            self.numbers = list(decode_numbers(answer.data_sign))
            return
        elif content.t == Kind.OPEN:
            self.local = 0
        self.local += 1

    # Content

    def open(self, **changes: Any) -> str:
        """Open a shift."""
        return self.hand_in(C(t=Kind.OPEN), **changes)

    def sale(self, sum: int = PRICE, **changes: Any) -> str:
        """Sell for ``sum``."""
        number = self.hand_in(C(t=Kind.SALE, rows=item(sum)), **changes)
        self.sold, self.sales = self.sold + sum, self.sales + 1
        return number

    def give_back(self, sum: int = PRICE, **changes: Any) -> str:
        """Give ``sum`` back."""
        number = self.hand_in(C(t=Kind.RETURN, rows=item(sum, "abc")), **changes)
        self.returned, self.returns = self.returned + sum, self.returns + 1
        return number

    def put(self, sum: int, **changes: Any) -> str:
        """Put money into the drawer; a negative sum takes it out."""
        row: Row = CashIn(n=1, sm=sum) if sum > 0 else CashOut(n=1, sm=-sum)
        number = self.hand_in(C(t=Kind.CASH, rows=(row, E(n=2))), **changes)
        self.put_in, self.taken_out = self.put_in + max(sum, 0), self.taken_out + max(-sum, 0)
        return number

    def report(self, **changes: Any) -> Z:
        """The Z-report of the shift."""
        turned, moved = self.sales or self.returns, self.put_in or self.taken_out
        made = Z(
            no=self.z + 1,
            payments=(ZM(smi=self.sold, smo=self.returned),) if turned else (),
            cash=(IO(smi=self.put_in, smo=self.taken_out),) if moved else (),
            counts=NC(ni=self.sales, no=self.returns),
        )
        return replace(made, **changes)

    def close(self) -> str:
        """Make the Z-report, which closes the shift."""
        return self.hand_in(self.report())

    def ask_for_numbers(self, size: int = 150) -> list[str]:
        """Reserve numbers."""
        self.hand_in(asking_for_numbers(size))
        return self.numbers

    def go_offline(self, at: datetime | None = None) -> None:
        """Hand in the opening document of an offline session."""
        self.offline = True
        self.hand_in(C(t=Kind.OFFLINE), at=at)

    def come_back(self) -> None:
        """Hand in the closing document of the session."""
        self.hand_in(C(t=Kind.ONLINE))
        self.offline = False

    # Questions

    @property
    def asking(self) -> bytes:
        """A question about the register."""
        return CheckRequest(self.sign(self.fn.encode())).encode()

    def last(self) -> CheckResponse:
        """The last document."""
        return answered(self.server.receive("lastChk", self.asking))

    def delete(self, id: str | None = None) -> CheckResponse:
        """Delete the last document, by its number if given."""
        if id is None:
            return answered(self.server.receive("delLastChk", self.asking))
        request = CheckRequestId(id, self.sign(self.fn.encode()))
        return answered(self.server.receive("delLastChkId", request.encode()))

    def ping(self, **changes: Any) -> CheckResponse:
        """Test the link."""
        return answered(self.server.receive("ping", self.check(C(t=Kind.PING), **changes).encode()))


def answered(played: Played) -> CheckResponse:
    """The answer of an exchange that went well."""
    assert played.answer is not None
    return CheckResponse.decode(played.answer)


def _type(content: C | Z) -> CheckType:
    if isinstance(content, Z):
        return CheckType.ZREPORT
    return CheckType.SERVICECHK if content.t in _SERVICE else CheckType.CHK
