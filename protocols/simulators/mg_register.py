"""A simulated MG register: HTTP with digest authentication, and whole documents (docs/reference/registers.md#mg).

- A document is registered as a whole or not at all; the first one opens the shift; each has an entry in the journal.
- A code keeps its name and tax until the Z report (xC4). A document without a payment is xF8, no paper x25, an open
  cover x8B, the end of the day and a full journal xCF and xFF (L).
- Errors come with status 200. ``slack`` makes its JSON slightly broken, ``deflates`` compresses it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import msgspec
from twisted.internet.interfaces import IAddress, IReactorTime
from twisted.web.iweb import IRequest
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site

from protocols.errors import Garbled
from protocols.registers.mg import documents as mg
from protocols.registers.mg.digest import Challenge, Login, members
from protocols.registers.mg.documents import Document, Kind
from protocols.registers.mg.register import SERVICE, X_REPORT, Z_REPORT, Z_WITH_GOODS
from protocols.simulators import iron as inside
from protocols.simulators.iron import Article, Iron, IronSettings, Refuses, Why
from protocols.simulators.register_line import DARK, Fault, Steer, What, well

ERRORS = {
    Why.PAPER: 0x25,
    Why.COVER: 0x8B,
    Why.MEMORY_FULL: 0xFF,
    Why.SHIFT_OVER: 0xCF,
    Why.NOT_FISCALISED: 0xC3,
    Why.UNSENT: 0xA6,
    Why.SHIFT_CLOSED: 0xC7,
    Why.ARTICLE_CHANGED: 0xC4,
    Why.ARTICLES_FULL: 0xF5,
    Why.TAX: 0xC2,
    Why.CASH_SHORT: 0xDB,
    Why.SUM: 0xE9,
    Why.TOO_MANY: 0xF5,
    Why.QUANTITY: 0xEB,
    Why.DISCOUNT: 0xF4,
    Why.FORM: 0xF1,
    Why.OVERPAID: 0xDF,
    Why.UNPAID: 0xF8,
    Why.NOT_OPEN: 0xDD,
}
"""Whatever is not here is xCB: the sale is forbidden."""

FORBIDDEN, WRONG_PARAMETER = 0xCB, 0xC2

ROWS = {1: (inside.CASH_FORM, "ГОТІВКА"), 2: (2, "ЧЕК"), 3: (3, "КРЕДИТ"), 4: (1, "КАРТКА")}
"""The table of payments: each row's form inside, and its name."""

_KINDS = {Kind.SALE: inside.Kind.SALE, Kind.RETURN: inside.Kind.RETURN}


class MgDevice:
    """The register.

    :param steer: gets ``register`` for a document, ``report``, ``proceed``, ``state``, ``journal`` …
    """

    def __init__(
        self,
        clock: IReactorTime,
        settings: IronSettings | None = None,
        steer: Steer = well,
        login: Login = SERVICE,
        slack: bool = False,
        deflates: bool = False,
    ) -> None:
        self.iron, self.clock, self.steer = Iron(clock.seconds, settings), clock, steer
        self.login, self.slack, self.deflates = login, slack, deflates
        self.journal: list[dict[str, Any]] = []
        self.heard: list[str] = []
        """The names of the requests that were executed."""
        self.dark_until = 0.0
        self.coming: inside.Kind | None = None
        """The kind of the document in the request that has just come."""
        self._codes: dict[str, int] = {}
        self._nonces = 1
        self._counts: set[str] = set()

    @property
    def challenge(self) -> Challenge:
        """What it asks for now."""
        return Challenge(f"{self._nonces:016x}")

    def renew(self) -> None:
        """Ask for another login."""
        self._nonces += 1
        self._counts.clear()

    def go_dark(self, seconds: float) -> None:
        """Cut the power; a document is registered or it is not."""
        self.dark_until = self.clock.seconds() + seconds
        self.renew()

    def knows(self, method: str, uri: str, header: str) -> bool:
        """Whether a request is of a user; each count is good for one."""
        given = members(header)
        count, cnonce = given.get("nc", ""), given.get("cnonce", "")
        right = self.login.response(self.challenge, method, uri, count, cnonce)
        if (given.get("username"), given.get("response"), given.get("uri")) != (self.login.user, right, uri):
            return False
        if count in self._counts:
            return False
        self._counts.add(count)
        return True

    def answer(self, name: str, path: str, query: str, body: bytes) -> bytes:
        """Execute a request."""
        self.heard.append(name)
        back = self.iron.keep()
        entries = len(self.journal)
        try:
            match name:
                case "register":
                    given: Any = self._register(Document.decode(body))
                case "report":
                    given = self._report(int(query or "-1"))
                case "proceed":
                    given = self._proceed(path.rpartition("/")[2])
                case _:
                    given = self._read(name, path, query)
        except Refuses as refuses:
            back()
            del self.journal[entries:]
            line = refuses.args[1] if len(refuses.args) > 1 else None
            return mg.encode_errors((ERRORS.get(refuses.why, FORBIDDEN), line))
        except (Garbled, ValueError):
            back()
            del self.journal[entries:]
            return mg.encode_errors((WRONG_PARAMETER, None))
        return msgspec.json.encode(given)

    def sell_by_hand(self, amount: int) -> None:
        """A sale for cash at the register's own keyboard."""
        self._register(Document(Kind.SALE, (mg.Sale("hand", "Товар", 1000, amount, 1), mg.Payment())))

    def _read(self, name: str, path: str, query: str) -> Any:
        iron = self.iron
        match name:
            case "state":
                return {
                    "model": "MG-N707TS",
                    "name": "MG",
                    "serial": "ПБ1234567890",
                    "time": int(iron.time),
                    "chkId": len(self.journal),
                    "JrnTime": int(iron.time),
                    "currZ": iron.z + 1,
                    "IsWrk": int(iron.shift_open),
                    "Fiscalization": int(iron.fiscalised),
                    "FskMode": 1,
                    "err": [{"e": "x25"}] if iron.paper == 0 else [],
                }
            case "information":
                return {"dev_zn": "ПБ1234567890", "dev_fn": "3000000001", "dev_nn": "ПН 123456789012", "dev_id": 1}
            case "journal":
                return self.journal[int(parse_qs(query)["id"][0]) - 1 :]
            case "sums":
                return [
                    {"no": row, "name": words, "sum": iron.turnover(form) / 100}
                    for row, (form, words) in ROWS.items()
                ]
            case "table" if path.endswith("/Pay"):
                return [{"id": row, "Name": words} for row, (_, words) in ROWS.items()]
        raise ValueError(path)

    def _register(self, document: Document) -> dict[str, Any]:
        iron = self.iron
        match document.kind:
            case Kind.SALE | Kind.RETURN:
                return self._receipt(document)
            case Kind.CASH:
                for line in document.lines:
                    if not isinstance(line, mg.Cash) or (line.row or 1) != 1:
                        raise Refuses(Why.FORM)
                    iron.cash(line.amount)
                total = sum(line.amount for line in document.lines if isinstance(line, mg.Cash))
                return self._enter(document, total)
            case Kind.TEXT:
                iron.open(inside.Kind.TEXT)
                for line in document.lines:
                    iron.text(getattr(line, "text", ""))
                iron.close()
                return self._enter(document, None)
            case Kind.COPY:
                iron.copy()
                return self._enter(document, None)
        raise Refuses(Why.ORDER)

    def _receipt(self, document: Document) -> dict[str, Any]:
        iron = self.iron
        iron.open(_KINDS[document.kind])
        for number, line in enumerate(document.lines, 1):
            try:
                self._line(line)
            except Refuses as refuses:
                refuses.args = (*refuses.args, number)
                raise
        total = iron.open_document().total
        iron.close()
        return self._enter(document, total)

    def _line(self, line: mg.Line) -> None:
        iron = self.iron
        open_document = iron.open_document()
        match line:
            case mg.Sale(code, name, quantity, price, tax):
                number = self._codes.setdefault(code, len(self._codes) + 1)
                iron.write_article(number, Article(name, tax - 1))
                iron.sell(number, quantity, price)
            case mg.Discount(amount, percent, all_):
                base = open_document.total if all_ else sum(each.cost for each in open_document.lines[-1:])
                if amount is None:
                    part = (base * abs(percent or 0) + 5_000) // 10_000
                    amount = -part if (percent or 0) < 0 else part
                if all_:
                    iron.change_all(amount)
                else:
                    iron.change(amount)
            case mg.Payment(row, amount):
                if (row or 1) not in ROWS:
                    raise Refuses(Why.FORM)
                iron.pay(ROWS[row or 1][0], open_document.rest if amount is None else amount)
            case mg.Comment(text) | mg.Barcode(text):
                iron.text(text)
            case _:
                raise Refuses(Why.ORDER)

    def _report(self, kind: int) -> dict[str, Any]:
        iron = self.iron
        if kind == X_REPORT:
            iron.x_report()
        elif kind in (Z_REPORT, Z_WITH_GOODS):
            number = iron.z_report()
            self._codes.clear()
            iron.articles.clear()
            self.journal.append(
                {"id": len(self.journal) + 1, "no": number, "datetime": int(iron.time), Kind.Z.value: []}
            )
        else:
            raise ValueError(kind)
        return {}

    def _proceed(self, name: str) -> dict[str, Any]:
        match name:
            case "openbox":
                self.iron.opened_drawer += 1
            case "lastreceipt":
                self.iron.copy()
            case "feedpaper":
                self.iron.print()
            case "sound" | "setclock" | "register":
                pass
            case _:
                raise ValueError(name)
        return {}

    def _enter(self, document: Document, total: int | None) -> dict[str, Any]:
        entry = {
            "id": len(self.journal) + 1,
            "oper_id": 1,
            "no": self.iron.number,
            "datetime": int(self.iron.time),
            "DI": len(self.journal) + 1,
            **msgspec.json.decode(document.encode()),
        }
        if total is not None:
            entry["sum"] = total / 100
        self.journal.append(entry)
        return entry


_NAMES = {
    "/cgi/state": "state",
    "/cgi/dev_info": "information",
    "/cgi/chk": "journal",
    "/cgi/rep/pay": "sums",
    "/cgi/proc/printreport": "report",
}


def _kind_of(body: bytes) -> inside.Kind | None:
    """What a document will be inside; `None` for a copy and for what is no document."""
    try:
        kind = Document.decode(body).kind
    except (Garbled, ValueError):
        return None
    return {**_KINDS, Kind.CASH: inside.Kind.CASH, Kind.TEXT: inside.Kind.TEXT}.get(kind)


def name_of(method: str, path: str) -> str:
    """The name of a request, as the client's method."""
    if method == "POST":
        return "register"
    if path.startswith("/cgi/tbl/"):
        return "table"
    return _NAMES.get(path, "proceed")


class MgResource(Resource):
    """Answers every path."""

    isLeaf = True

    def __init__(self, device: MgDevice) -> None:
        Resource.__init__(self)
        self._device = device

    def render(self, request: IRequest) -> bytes | int:
        """Answer one request, or let go wrong what is to go wrong."""
        assert request.content is not None
        device = self._device
        method, uri = request.method.decode("latin-1"), request.uri.decode("latin-1")
        path, _, query = uri.partition("?")
        name, body = name_of(method, path), request.content.read()
        device.coming = _kind_of(body) if name == "register" else None
        fault = device.steer(name)
        connection = _Connection(request)
        if fault is not None and fault.what is What.REFUSED:
            device.renew()
        header = request.getHeader("authorization") or ""
        if not device.knows(method, uri, header):
            device.renew()
            request.setResponseCode(401)
            request.setHeader("WWW-Authenticate", device.challenge.encode())
            return b""
        if fault is not None and _before(fault, device, connection):
            return NOT_DONE_YET
        whole = device.answer(name, path, query, body)
        request.setHeader("Content-Type", "text/html")
        if device.slack:
            whole = whole.replace(b"}", b",}").replace(b"{,", b"{")
        if device.deflates:
            request.setHeader("Content-Encoding", "deflate")
            whole = zlib.compress(whole)
        _send(connection, whole, fault, device)
        return NOT_DONE_YET


def _before(fault: Fault, device: MgDevice, connection: _Connection) -> bool:
    """Whether the request does not reach the register."""
    match fault.what:
        case What.UNHEARD:
            return True
        case What.BROKEN_BEFORE:
            connection.abort()
            return True
        case What.DARK_BEFORE:
            device.go_dark(fault.n)
            connection.abort()
            return True
    return False


def _send(connection: _Connection, whole: bytes, fault: Fault | None, device: MgDevice) -> None:
    match fault:
        case Fault(What.LOST):
            pass
        case Fault(What.SLOW, n):
            device.clock.callLater(n, connection.end, whole)
        case Fault(What.SHORT, n):
            connection.begin(whole, whole[: int(n)])
        case Fault(What.BROKEN_AFTER, n):
            connection.begin(whole, whole[: int(n)])
            connection.close()
        case Fault(What.DAMAGED, n):
            place = int(n) % len(whole)
            connection.end(whole[:place] + bytes([whole[place] ^ 0x22]) + whole[place + 1 :])
        case Fault(What.GARBAGE, n):
            connection.end(b"\x7f" * int(n))
        case Fault(what, n) if what in DARK:
            device.go_dark(n)
            connection.abort()
        case _:
            connection.end(whole)


class _Connection:
    """The connection of one request, which the client may have closed."""

    def __init__(self, request: Any) -> None:
        self._request, self._gone = request, False
        request.notifyFinish().addErrback(self._hung_up)

    def _hung_up(self, reason: object) -> None:
        self._gone = True

    def _whole(self, act: Callable[[], object]) -> None:
        if not self._gone:
            act()

    def abort(self) -> None:
        """Break it."""
        self._whole(lambda: self._request.channel.transport.abortConnection())

    def begin(self, whole: bytes, part: bytes) -> None:
        """Send a part of the answer, with the length of the whole."""
        if not self._gone:
            self._request.setHeader("content-length", str(len(whole)))
            self._request.write(part)

    def close(self) -> None:
        """Break it behind what was sent."""
        self._whole(lambda: self._request.channel.loseConnection())

    def end(self, whole: bytes) -> None:
        """Send the answer."""
        self.begin(whole, whole)
        self._whole(self._request.finish)


class MgSite(Site):
    """The register's port 80; nobody is there while the power is off."""

    def __init__(self, device: MgDevice) -> None:
        Site.__init__(self, MgResource(device), reactor=device.clock, timeout=None)
        self._device = device

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """A connection, or none."""
        if self._device.clock.seconds() < self._device.dark_until:
            return None
        return Site.buildProtocol(self, addr)
