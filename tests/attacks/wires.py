"""Device wires: terminals, printers and a tax service that lie, flood, drip, and write into our texts."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from typing import Any

from twisted.internet.interfaces import IProtocol
from twisted.internet.protocol import Protocol
from twisted.logger import globalLogPublisher

from dmtwisted.registers.prro.trust_list import TAX_SERVICE
from dmtwisted.system.logs import observer
from protocols.errors import Garbled
from protocols.fiscal.crypto.authority import Authority
from protocols.fiscal.crypto.curves import NAMED
from protocols.fiscal.crypto.signing import sign
from protocols.fiscal.crypto.trust import Trust
from protocols.fiscal.crypto.verifying import verify
from protocols.fiscal.verdicts import Reply
from protocols.printers.escpos import EscPosReader
from protocols.printers.escpos_status import EscPosAnswers
from protocols.printers.hazards import RealTimeScanner
from protocols.printers.star import StarReader
from protocols.printers.star_status import StarAnswers
from protocols.simulators.fiscal_in_process import InProcessExchange
from protocols.simulators.terminal import CARDS, Outcome
from tests.attacks.desk import _Complaining
from tests.attacks.variants import CRITICAL, HIGH, MEDIUM, Family, Stage
from tests.chaos import WIRES as TERMINALS
from tests.chaos import WireDesk
from tests.prro_shop import keys
from tests.shop import MORNING, hurry
from tests.test_prro import PrroCase

WIRES = Family("wires", "Device wires")

MOST_KEPT = 4 << 20
"""Bytes that a driver may keep of what a device sends."""


class _Counter(WireDesk):
    """A test that is never run: it lends its desk with a terminal."""

    def runTest(self) -> None:
        """Nothing."""


class Counter:
    """A desk with a terminal of one protocol; ``far`` may be replaced by an attacker's."""

    def __init__(self, wire: str) -> None:
        self.desk = _Counter()
        self.desk.wire = wire
        self.desk.setUp()
        self.log = StringIO()
        self._watch = observer(self.log, "text", "info")
        globalLogPublisher.addObserver(self._watch)

    def close(self) -> None:
        """The end."""
        globalLogPublisher.removeObserver(self._watch)
        self.desk.service.close()
        self.desk.terminal.close()
        self.desk._runCleanups(_Complaining())


def with_terminal(attempt: Callable[..., None]) -> Callable[..., None]:
    """``attempt`` at a desk with a terminal of the wire that its first value names."""

    def tried(_: None, wire: str, *values: Any) -> None:
        counter = Counter(wire)
        try:
            attempt(counter, *values)
        finally:
            counter.close()

    return tried


class Attacker(Protocol):
    """A terminal that answers the first bytes with its own, and then perhaps goes on."""

    def __init__(self, says: Callable[[bytes], bytes], hangs_up: bool, clock: Any, pause: float) -> None:
        self._says, self._hangs_up, self._clock, self._pause = says, hangs_up, clock, pause
        self._left = b""

    def dataReceived(self, data: bytes) -> None:
        """Answer."""
        assert self.transport is not None
        if self._pause:
            self._left = self._left or self._says(data)
            self._drip()
            return
        self.transport.write(self._says(data))
        if self._hangs_up:
            self.transport.loseConnection()

    def _drip(self) -> None:
        if self._left and self.transport is not None and not getattr(self.transport, "disconnected", False):
            self.transport.write(self._left[:1])
            self._left = self._left[1:]
            self._clock.callLater(self._pause, self._drip)


HABITS: dict[str, tuple[str, Callable[[bytes], bytes], bool, float]] = {
    "zeros": ("a megabyte of zero bytes", lambda data: bytes(1 << 20), False, 0.0),
    "starts": ("300,000 beginnings of a message", lambda data: b"\x02\x10\x02\x04\x0f{<" * 40_000, False, 0.0),
    "lengths": (
        "the greatest length, and little more",
        lambda data: b"\xff\xff\xff\xff\x04\x0f\xff\xff\xff99999",
        False,
        0.0,
    ),
    "braces": ("a megabyte of opening braces", lambda data: b"{" * (1 << 20), False, 0.0),
    "acks": ("100,000 acknowledgements", lambda data: b"\x06\x80\x00\x00" * 100_000, False, 0.0),
    "echo": ("our own words", lambda data: data, False, 0.0),
    "page": (
        "a redirect of a web server",
        lambda data: b"HTTP/1.1 302 Found\r\nLocation: http://evil.example/\r\nContent-Length: 0\r\n\r\n",
        False,
        0.0,
    ),
    "drip": ("a byte a second", lambda data: b'\x02 {"a": "' + b"x" * 1000, False, 1.0),
    "hangs-up": ("half a word, then the end of the line", lambda data: b'\x02{"me', True, 0.0),
}


class Evil:
    """Makes attackers instead of terminals."""

    def __init__(self, make: Callable[[], Protocol]) -> None:
        self._make = make

    def buildProtocol(self, addr: Any) -> IProtocol | None:
        """One more."""
        return self._make()


@WIRES.each(
    {
        f"{wire}-{name}": (f"a terminal ({wire}) answers with {what}", wire, says, hangs_up, pause)
        for wire in TERMINALS
        for name, (what, says, hangs_up, pause) in HABITS.items()
    },
    "The payment is no success and is stored as refused or unknown; little is kept, and a right terminal is "
    "served next.",
    HIGH,
    Stage.ALONE,
)
@with_terminal
def hostile_terminal(counter: Counter, says: Callable[[bytes], bytes], hangs_up: bool, pause: float) -> None:
    """Something else has the terminal's address."""
    desk = counter.desk
    right = desk.far
    desk.far = Evil(lambda: Attacker(says, hangs_up, desk.clock, pause))
    begun = time.process_time()
    answer = desk.pay()
    assert time.process_time() - begun < 10, f"{time.process_time() - begun:.1f} s"
    assert answer["res"] > 0 and answer["info"] == {}, answer
    assert desk.states()[-1] in ("refused", "unknown"), desk.states()
    assert len(json.dumps(answer)) < 5000 and len(counter.log.getvalue()) < 200_000, len(counter.log.getvalue())
    desk.endpoint.hang_up()
    desk.far = right
    desk.endpoint.advance(60)
    if desk.states()[-1] == "unknown":
        desk.pay(17)
    if desk.states()[-1] == "unknown":
        desk.done(desk.service.settle(desk.rows()[-1], False))
    assert desk.pay(sum=7)["res"] == 0
    assert desk.taken() == [700], desk.taken()


# -- another sum ----------------------------------------------------------------------------------------------------

SUMS = {
    "one": ("1.00", 100),
    "less": ("99.99", 9999),
    "more": ("100.01", 10_001),
    "most": ("999,999.00", 99_999_900),
    "nothing": ("0.00", 0),
}
WITH_SUMS = tuple(wire for wire in TERMINALS if wire != "ecr17")
"""The wires whose answer has the sum; an answer of ECR17 has none."""


def altered(desk: Any, **members: Any) -> None:
    """The terminal tells something else of what it did."""
    real = desk.terminal._settle_outcome

    def lying(operation: Any) -> Outcome:
        outcome: Outcome = real(operation)
        return replace(outcome, **members)

    def lying_later(reference: str) -> Outcome | None:
        outcome: Outcome | None = find(reference)
        return None if outcome is None else replace(outcome, **members)

    desk.terminal._settle_outcome, find = lying, desk.terminal.find
    desk.terminal.find = lying_later


@WIRES.each(
    {
        f"{wire}-sum-{name}": (f"asked for 100.00, a terminal ({wire}) approves {told}", wire, kopecks)
        for wire in WITH_SUMS
        for name, (told, kopecks) in SUMS.items()
    },
    "It is never a plain success: smaller is a partial approval with its own code, anything else a person's.",
    HIGH,
    Stage.ALONE,
)
@with_terminal
def other_sum(counter: Counter, kopecks: int) -> None:
    """An approval over another sum."""
    altered(counter.desk, amount=kopecks)
    answer = counter.desk.pay()
    assert answer["res"] != 0, answer
    if answer["res_action"] != 2:
        told = answer["info"].get("sum")
        assert told is None or round(told * 100) == kopecks < 10_000, answer


# -- texts of the terminal ------------------------------------------------------------------------------------------

PAN = "4012888888881881"
TEXTS = {
    "pan": ("a whole card number", PAN),
    "pan-dots": ("a card number with dots", "4012.8888.8888.1881"),
    "pan-slashes": ("a card number with slashes", "4012/8888/8888/1881"),
    "pan-commas": ("a card number with commas", "4012,8888,8888,1881"),
    "pan-full-width": ("a card number in full-width digits", PAN.translate({48 + n: 0xFF10 + n for n in range(10)})),
    "pan-zero-width": ("a card number with invisible signs", "\u200b".join(PAN)),
    "escape": ("an escape sequence", "51687\x1b[2J\x1b]0;evil\x07"),
    "printer": ("a command for printers", "5168\x1bp\x00\x19\xfa\x1d(k"),
    "lines": ("lines of a log", "5168\n2026-11-23T12:00:00 error all is lost\r\n"),
    "markup": ("markup", "<script>alert(1)</script>"),
    "formula": ("a formula of a table", "=HYPERLINK(1)"),
    "bidi": ("letters that turn the reading round", "5168\u202e4147"),
}


@WIRES.each(
    {
        f"{wire}-text-{name}": (f"{what} as the card that a terminal ({wire}) tells", wire, text)
        for wire in ("privatbank-json", "ssi-json")
        for name, (what, text) in TEXTS.items()
    },
    "No whole card number and no control byte is in the answer, in the journal or in the log.",
    HIGH,
    Stage.ALONE,
)
@with_terminal
def hostile_text(counter: Counter, text: str) -> None:
    """A text that is meant for somebody else."""
    desk = counter.desk
    altered(desk, card=replace(CARDS[0], pan=text))
    answer = desk.pay()
    for place, told in (
        ("answer", json.dumps(answer, ensure_ascii=False)),
        ("journal", repr([(row.answer, row.request) for row in desk.rows()])),
        ("log", counter.log.getvalue()),
    ):
        plain = told.replace("\\u200b", "").replace("\u200b", "")
        for spelling in (PAN, "4012.8888.8888.1881", "4012/8888/8888/1881", "4012,8888,8888,1881"):
            assert spelling not in plain, (place, spelling)
        assert PAN.translate({48 + n: 0xFF10 + n for n in range(10)}) not in told, place
        assert "\x1b" not in told and "\x07" not in told, place
    assert "\nerror all is lost" not in counter.log.getvalue()
    assert not any(line.startswith("2026-11-23T12:00:00 error") for line in counter.log.getvalue().splitlines())
    values = json.dumps(answer.get("info", {}), ensure_ascii=True)
    assert "\\u001b" not in values and "\\u0007" not in values and "\\u001d" not in values, values


# -- printers -------------------------------------------------------------------------------------------------------

READERS: dict[str, Callable[[], Any]] = {
    "escpos-answers": EscPosAnswers,
    "star-answers": StarAnswers,
    "real-time": RealTimeScanner,
    "escpos": EscPosReader,
    "star": StarReader,
}
FLOODS = {
    "status": ("status bytes", b"\x16\x12"),
    "block": ("beginnings of a block", b"\x5f\x53\x3b"),
    "asb": ("automatic states cut in half", b"\x10\x00\x00"),
    "commands": ("commands instead of answers", b"\x1b@\x1dv0\0\xff\xff\xff\xff"),
    "picture": ("a picture of 4 GB", b"\x1d8L\xff\xff\xff\xff0p"),
}


@WIRES.each(
    {
        f"printer-{reader}-{name}": (f"{what} without end, to the reader `{reader}`", READERS[reader], data)
        for reader in READERS
        for name, (what, data) in FLOODS.items()
    },
    "Little time is enough for half a megabyte of it, and no more than a longest instruction is kept.",
    MEDIUM,
    Stage.ALONE,
)
def hostile_printer(nothing: None, make: Callable[[], Any], data: bytes) -> None:
    """A printer that never stops."""
    reader, piece = make(), data * ((1 << 16) // len(data))
    begun = time.process_time()
    for _ in range(8):
        try:
            for _item in reader.feed(piece) or ():
                """Items are not kept."""
        except Garbled:
            break
    assert time.process_time() - begun < 4, time.process_time() - begun
    kept = sum(len(value) for value in vars(reader).values() if hasattr(value, "__len__"))
    assert kept < MOST_KEPT, kept


# -- the tax service ------------------------------------------------------------------------------------------------


class _Office(PrroCase):
    """A test that is never run: it lends its shop."""

    def runTest(self) -> None:
        """Nothing."""


def forged(reply: Reply, by: Any) -> Reply:
    """The same ticket, signed by somebody else."""
    content = verify(reply.body, datetime.fromtimestamp(MORNING, UTC), keys().authority.trust).content
    return replace(reply, body=sign(content, by.key, by.certificate))


def stranger() -> Any:
    """The key of another authority, which calls itself a fiscal server."""
    return Authority(datetime.fromtimestamp(MORNING, UTC), NAMED[0]).issue("Fiscal server")


Spoil = Callable[[Reply, list[Reply]], Reply]

LIES: dict[str, tuple[str, Spoil]] = {
    "redirect": (
        "a redirect to another server",
        lambda r, old: Reply(302, {"location": "http://evil.example/"}, b""),
    ),
    "permanent": (
        "a permanent redirect",
        lambda r, old: Reply(308, {"location": "https://evil.example/fs/doc"}, b""),
    ),
    "page": (
        "a page of a hotel's network",
        lambda r, old: Reply(200, {"content-type": "text/html"}, b"<html>log in</html>"),
    ),
    "empty": ("an empty success", lambda r, old: Reply(200, {}, b"")),
    "no-content": ("204", lambda r, old: Reply(204, {}, b"")),
    "unsigned": ("the ticket without a signature", lambda r, old: replace(r, body=_content(r))),
    "other-authority": ("the ticket signed by another authority", lambda r, old: forged(r, stranger())),
    "old": ("the ticket of the document before", lambda r, old: old[-1] if old else r),
    "cut": ("half of the ticket", lambda r, old: replace(r, body=r.body[: len(r.body) // 2])),
    "bits": (
        "a ticket with another bit",
        lambda r, old: replace(r, body=r.body[:200] + bytes([r.body[200] ^ 1]) + r.body[201:]),
    ),
    "zeros": ("20 MB of zero bytes", lambda r, old: replace(r, body=bytes(20 << 20))),
    "deep": ("nested ASN.1", lambda r, old: replace(r, body=b"\x30\x80" * 50_000)),
    "entities": (
        "XML with entities",
        lambda r, old: replace(r, body=b'<!DOCTYPE t [<!ENTITY a SYSTEM "file:///etc/passwd">]><TICKET>&a;</TICKET>'),
    ),
    "gzip": (
        "a packed answer",
        lambda r, old: Reply(200, {"content-encoding": "gzip"}, gzip.compress(bytes(10 << 20))),
    ),
    "status-999": ("status 999", lambda r, old: Reply(999, {}, b"ok")),
}


def _content(reply: Reply) -> bytes:
    return verify(reply.body, datetime.fromtimestamp(MORNING, UTC), keys().authority.trust).content


@WIRES.each(
    {f"tax-{name}": (f"the tax server answers a sale with {what}", spoil) for name, (what, spoil) in LIES.items()},
    "No receipt is made of it: the sale is unknown or refused, and the right server's answer completes it, once.",
    CRITICAL,
    Stage.ALONE,
)
def lying_office(_: None, spoil: Spoil) -> None:
    """A server in between, or instead."""
    case = _Office()
    case.setUp()
    try:
        shop = case.shop
        hurry(case)
        seen: list[Reply] = []
        lies = False
        real = InProcessExchange.__call__

        async def spoilt(exchange: Any, method: str, url: str, headers: Any, body: bytes) -> Reply:
            reply = await real(exchange, method, url, headers, body)
            if "/doc" in url or method == "POST":
                if lies:
                    return spoil(reply, seen)
                seen.append(reply)
            return reply

        case.patch(InProcessExchange, "__call__", spoilt)
        assert case.sell(tag="first")["res"] == 0
        lies = True
        begun = time.process_time()
        answer = case.sell(tag="evil")
        assert time.process_time() - begun < 20, time.process_time() - begun
        assert answer["res"] != 0 or answer["info"]["isoffline"], answer
        told = json.dumps(answer, ensure_ascii=False)
        assert len(told) < 10_000 and "root:" not in told and "\\u001b" not in told and "\\u0007" not in told, told[
            :3000
        ]
        lies = False
        if answer["res"] != 0:
            shop.clock.advance(60)
            again = case.sell(tag="evil")
            assert again["res"] == 0, again
            assert sum(kind == "CHECK" or "SALE" in kind.upper() for kind in shop.kinds()) <= 2, shop.kinds()
    finally:
        case._runCleanups(_Complaining())


@WIRES.each(
    {
        "tax-refusal-controls": ("a refusal with an escape sequence", Reply(400, {}, "код: \x1b[2J\x07зле".encode())),
        "tax-refusal-lines": (
            "a refusal with lines of a log",
            Reply(400, {}, b"x\r\n2026-11-23T12:00:00 error lost"),
        ),
        "tax-refusal-long": ("a refusal of 1 MB", Reply(400, {}, b"x" * 1_000_000)),
        "tax-refusal-markup": ("a refusal of markup", Reply(400, {}, b"<script>alert(1)</script>")),
    },
    "Its words reach the till cut and without control bytes, and no receipt is made.",
    MEDIUM,
    Stage.ALONE,
)
def lying_refusal(_: None, reply: Reply) -> None:
    """Words of a server, which people and logs get to read."""
    case = _Office()
    case.setUp()
    try:

        async def refusing(*_: Any) -> Reply:
            return reply

        case.patch(InProcessExchange, "__call__", refusing)
        answer = case.sell(tag="evil")
        assert answer["res"] > 0 and answer["info"] == {}, answer
        assert len(answer["errortxt"]) < 5000
        assert not {"\x1b", "\x07", "\x9b"} & set(answer["errortxt"]), answer
    finally:
        case._runCleanups(_Complaining())


@WIRES.each(
    {
        "tax-cashier": ("a ticket signed by a cashier of the shop", "34554363"),
        "tax-other-company": ("a ticket signed by another company", "12345678"),
        "tax-no-number": ("a ticket signed by somebody without a number", ""),
    },
    "The state's list trusts authorities, and below them the tax service's own certificates alone: it is refused.",
    CRITICAL,
    Stage.ALONE,
)
def other_owner(_: None, number: str) -> None:
    """Everybody who signs documents has a certificate of these authorities."""
    authority, at = keys().authority, datetime.fromtimestamp(MORNING, UTC)
    trust = Trust([authority.root.certificate], owners=[TAX_SERVICE])
    for owner, valid in ((number, False), (TAX_SERVICE, True)):
        signer = authority.issue("Fiscal server", tax_number=owner)
        verdict = verify(sign(b"<TICKET/>", signer.key, signer.certificate), at, trust)
        assert verdict.valid is valid, (owner, verdict.faults)
