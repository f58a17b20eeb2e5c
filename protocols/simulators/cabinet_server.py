"""The simulated cabinet's server, for tests, demos and training (protocol B).

For each call it returns the answer, its delay and how the connection ends. `cabinet_site` listens on a port,
`cabinet_in_process` works without one. A document is in the archive and in the ledger before it is answered.

Scenarios are those of all simulators. Rules for a kind of document apply to such documents, ``numbers`` to requests
for numbers, ``storno`` to deletions, ``probe`` to questions and pings, ``any`` to all but these. Their ``code``:

==========  ==================  ======================================================================
``then``    ``code``            what happens
==========  ==================  ======================================================================
refuse      1 to 16             the server's status -1 to -16; -9 when absent
refuse      1032 to 1047        the same by the numbers of the catalogue of results
garbage     absent              it happened; after half of the answer the connection breaks
garbage     200                 it happened; bytes come that are not an answer
garbage     cms                 it happened; the answer's signatures are wrong
garbage     foreign, expired    it happened; the answer is signed by an unknown authority, or too late
==========  ==================  ======================================================================
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from twisted.internet.interfaces import IReactorTime

from protocols.fiscal.cabinet.documents import RQ, decode
from protocols.fiscal.cabinet.documents_service import encode_numbers
from protocols.fiscal.cabinet.messages import (
    METHODS,
    PING_NUMBER,
    Check,
    CheckRequest,
    CheckRequestId,
    CheckResponse,
    CheckType,
    Operator,
    RroInfoResponse,
    Status,
    StatusResponse,
)
from protocols.fiscal.kinds import Kind
from protocols.fiscal.schema import DocumentError
from protocols.fiscal.signatures import Open, Seal, WrongSignature, open_unsigned, seal_unsigned
from protocols.protobuf import MalformedMessage, Message
from protocols.simulators.cabinet_books import CabinetBooks
from protocols.simulators.cabinet_register import CabinetRecord, check_type_of, claim_of, kind_of
from protocols.simulators.cabinet_rules import (
    NO_ID_IN_MAC,
    NUMBERS,
    PING,
    Claim,
    Refusal,
    Signer,
    bad_hash,
)
from protocols.simulators.fiscal_books import KYIV
from protocols.simulators.fiscal_calls import Ending
from protocols.simulators.fiscal_register import Registration
from protocols.simulators.fiscal_rules import TOLERANCE_S
from protocols.simulators.ledger import Entry
from protocols.simulators.scenario import Rule, Scenario, Then

PROBE, DELETION = "probe", "storno"
"""Operations besides documents, in rules."""

CATALOGUE = 1031
"""Numbers of the catalogue of results, from 1032 on, less those of the statuses (docs/reference/specification.md)."""

NOISE = b"\xff\xff\xff\xff"
"""Bytes that are not a message."""

MINUTE_S = 60.0


@dataclass(frozen=True)
class Rules:
    """Behaviour of the server that is not published, or that differs between reports."""

    time_tolerance_s: float = TOLERANCE_S
    """Seconds by which the time of an online document may differ from the server's."""
    calls_a_minute: int = 0
    """Calls of one key in a minute, more are refused with -4; 0 is no limit."""
    answers_repeats: bool = True
    """Whether the last document, sent once more, is answered as before; else its hash is wrong."""


@dataclass(frozen=True)
class Played:
    """The outcome of one call: the answer, if any, ``delay_s`` seconds later."""

    ending: Ending
    answer: bytes | None = None
    delay_s: float = 0.0


class _Refused(Exception):
    """A call that is refused.

    :param claim: of the document, when it could be read.
    """

    def __init__(self, status: Status, text: str, claim: Claim | None = None) -> None:
        super().__init__(status, text)
        self.status, self.text, self.claim = status, text, claim


@dataclass(frozen=True)
class _Asked:
    """A document that was handed in, with its register and its signer."""

    record: CabinetRecord
    signer: Signer
    document: RQ
    content: bytes
    claim: Claim


class CabinetServerSimulator:
    """The simulated cabinet's server with its registers.

    :param ledger: the file of its entries, :param archive: that of its documents; `None` keeps them in memory.
    :param open: verifies what registers signed, :param seal: signs what it answers.
    :param seals: other ways to sign an answer, by the codes of rules.
    """

    def __init__(
        self,
        clock: IReactorTime,
        registrations: Iterable[Registration],
        ledger: Path | None = None,
        archive: Path | None = None,
        open: Open = open_unsigned,
        seal: Seal = seal_unsigned,
        rules: Rules | None = None,
        seals: Mapping[str, Seal] | None = None,
    ) -> None:
        self.clock, self.rules = clock, rules or Rules()
        self.scenario = Scenario()
        self.skew_s = 0.0
        """Seconds that its clock is ahead."""
        # A document is opened and read to find its rule, and again to register it; verifying is slow.
        self._open, self._read = lru_cache(maxsize=1)(open), lru_cache(maxsize=1)(decode)
        self._seal, self._seals = seal, seals or {}
        self._calls: dict[str, deque[float]] = {}
        """When each key called in the last minute."""
        self.books = CabinetBooks(registrations, ledger, archive)

    def close(self) -> None:
        """Close the files."""
        self.books.close()

    def entries(self) -> list[Entry]:
        """The ledger as it is shown."""
        return self.books.entries()

    def block(self, register: int) -> None:
        """Accept nothing from ``register`` until the next month."""
        self.books.registers[str(register)].block(self._kyiv())

    def unblock(self, register: int) -> None:
        """Accept documents from ``register`` again."""
        self.books.registers[str(register)].blocked_until = None

    def change(self, register: int, **members: Any) -> None:
        """Change ``members`` of the `Registration` of ``register``."""
        record = self.books.registers[str(register)]
        record.registration = replace(record.registration, **members)

    @property
    def now(self) -> datetime:
        """The server's time in Kyiv, with its zone."""
        return datetime.fromtimestamp(self.clock.seconds() + self.skew_s, KYIV)

    def _kyiv(self) -> datetime:
        return self.now.replace(tzinfo=None)

    def receive(self, method: str, request: bytes) -> Played:
        """The outcome of a call by the rules and the scenario.

        :param method: a name in `METHODS`.
        """
        try:
            return self._play(method, request)
        finally:
            # The certificate of a key may expire before it signs the same bytes again.
            self._open.cache_clear()

    def _play(self, method: str, request: bytes) -> Played:
        shape, _ = METHODS[method]
        try:
            message = shape.decode(request)
        except MalformedMessage as error:
            return Played(Ending.WHOLE, _refusal(method, Status.ERROR_UNKNOWN, str(error)).encode())
        rule = self.scenario.take(self._operation(method, message))
        if rule is None:
            return Played(Ending.WHOLE, self._answer(method, message).encode())
        delay = rule.delay_ms / 1000
        if rule.then is Then.UNREACHABLE:
            return Played(Ending.UNREACHABLE, None, delay)
        if rule.then is Then.LOST_BEFORE:
            return Played(Ending.BROKEN, None, delay)
        if rule.then is Then.SILENT:
            return Played(Ending.SILENT)
        if rule.then is Then.REFUSE:
            return Played(Ending.WHOLE, self._refuse(method, message, rule).encode(), delay)
        answer = self._sealed_as(rule, method, message)
        if rule.then is Then.LOST_AFTER:
            return Played(Ending.BROKEN, None, delay)
        if rule.then is Then.GARBAGE:
            return _garbage(answer, rule, delay)
        return Played(Ending.WHOLE, answer.encode(), delay)

    def _sealed_as(self, rule: Rule, method: str, message: Message) -> Message:
        """The answer, signed as in ``rule``."""
        usual = self._seal
        if rule.then is Then.GARBAGE:
            self._seal = self._seals.get(rule.code, usual)
        try:
            return self._answer(method, message)
        finally:
            self._seal = usual

    def _operation(self, method: str, message: Message) -> str:
        """The name of a call in rules."""
        if method in ("delLastChk", "delLastChkId"):
            return DELETION
        if method != "sendChkV2" or not isinstance(message, Check):
            return PROBE
        try:
            return kind_of(self._read(self._open(message.check_sign).content).dat.content)
        except (WrongSignature, DocumentError):
            return "document"

    def _refuse(self, method: str, message: Message, rule: Rule) -> Message:
        """Refuse a call as in ``rule``."""
        digits = rule.code.removeprefix("-")
        code = int(digits) if digits.isascii() and digits.isdigit() else 0
        status = -(code - CATALOGUE if code > CATALOGUE else code)
        wished = Status(status) if status < 0 and status in list(Status) else Status.ERROR_XML_CHK
        text = wished.name
        if isinstance(message, Check) and method == "sendChkV2":
            try:
                asked = self._asked(message)
            except _Refused:
                return _refusal(method, wished, text)
            self.books.refuse(asked.claim)
            if wished is Status.ERROR_BAD_HASH_PREV:
                text = bad_hash(asked.record.tip, asked.claim.previous)
        return _refusal(method, wished, text)

    def _answer(self, method: str, message: Message) -> Message:
        try:
            if isinstance(message, Check):
                return self._ping(message) if method == "ping" else self._document(message)
            if isinstance(message, CheckRequestId):
                return self._delete(message.rro_fn_sign, message.id)
            assert isinstance(message, CheckRequest)
            if method == "delLastChk":
                return self._delete(message.rro_fn_sign, None)
            record, _ = self._register(message.rro_fn_sign)
            if method == "lastChk":
                return self._last(record)
            return self._state(record) if method == "statusRro" else self._info(record)
        except _Refused as refused:
            if refused.claim is not None:
                self.books.refuse(refused.claim)
            return _refusal(method, refused.status, refused.text)

    # Who asks, and about what

    def _opened(self, message: bytes) -> tuple[bytes, Signer]:
        """What was signed, and by whom."""
        try:
            signed = self._open(message)
        except WrongSignature as error:
            raise _Refused(Status.ERROR_VEREFY, f"the signature is wrong: {error}") from None
        self._count_call(signed.key)
        return signed.content, Signer(signed.key, signed.name)

    def _count_call(self, key: str) -> None:
        limit = self.rules.calls_a_minute
        if not limit:
            return
        now, calls = self.clock.seconds(), self._calls.setdefault(key, deque())
        while calls and calls[0] <= now - MINUTE_S:
            calls.popleft()
        if len(calls) >= limit:
            raise _Refused(Status.ERROR_UNKNOWN, f"too many requests, {limit} a minute are possible")
        calls.append(now)

    def _record(self, number: str, signer: Signer) -> CabinetRecord:
        record = self.books.registers.get(number)
        if record is None or record.registration.closed:
            raise _Refused(Status.ERROR_NOT_REGISTERED_RRO, f"the device {number[:20]} is not registered")
        if record.registration.operator(signer.key) is None:
            raise _Refused(Status.ERROR_NOT_REGISTERED_SIGNER, f"the signer {signer.key} is not registered")
        return record

    def _register(self, signed_number: bytes) -> tuple[CabinetRecord, Signer]:
        """The register of a question, and who asks."""
        content, signer = self._opened(signed_number)
        return self._record(content.decode("ascii", "replace").strip(), signer), signer

    def _asked(self, check: Check) -> _Asked:
        """The document in ``check``, whose envelope says the same."""
        content, signer = self._opened(check.check_sign)
        record = self._record(check.rro_fn, signer)
        try:
            document = self._read(content)
        except DocumentError as error:
            raise _Refused(Status.ERROR_XML, str(error)) from None
        claim = claim_of(document, content)
        refusal = next(_envelope_faults(check, document, claim), None) or record.judge_head(document)
        if refusal is not None:
            raise _Refused(refusal.status, refusal.text, claim)
        return _Asked(record, signer, document, content, claim)

    # The calls

    def _ping(self, check: Check) -> CheckResponse:
        asked = self._asked(check)
        if asked.claim.kind != PING or check.local_number != PING_NUMBER:
            raise _Refused(Status.ERROR_TYPE, "it is not a ping")
        return CheckResponse()

    def _document(self, check: Check) -> CheckResponse:
        asked = self._asked(check)
        record, claim, last = asked.record, asked.claim, asked.record.last
        if claim.kind == PING:
            raise _Refused(Status.ERROR_TYPE, "a ping is not a document")
        if self.rules.answers_repeats and last is not None and last.claim.hash == claim.hash:
            numbers = tuple(record.reserved)[: claim.size] if claim.kind == NUMBERS else ()
            return self._accepted(last.number, numbers)
        refusal = record.judge(
            claim,
            asked.signer,
            self._kyiv(),
            self.books.elsewhere(record, asked.signer.key),
            self.rules.time_tolerance_s,
            lambda: record.content_faults(asked.document),
        )
        if refusal is not None:
            raise _Refused(refusal.status, refusal.text, claim)
        outcome = self.books.take(record, asked.document, asked.content, check.check_sign, asked.signer, self.now)
        return self._accepted(outcome.stored.number, outcome.numbers)

    def _accepted(self, number: str, numbers: tuple[str, ...]) -> CheckResponse:
        data = self._seal(encode_numbers(numbers)) if numbers else b""
        return CheckResponse(number, Status.OK, self._seal(number.encode()), data)

    def _last(self, record: CabinetRecord) -> CheckResponse:
        """The last document; without one all members are empty."""
        last = record.last
        if last is None:
            return CheckResponse()
        return CheckResponse(last.number, Status.OK, self._seal(last.number.encode()), self._seal(last.content))

    def _delete(self, signed_number: bytes, id: str | None) -> CheckResponse:
        record, signer = self._register(signed_number)
        refusal = record.judge_deletion(signer, id, self._kyiv())
        if refusal is not None:
            raise _Refused(refusal.status, refusal.text)
        deleted = self.books.delete(record, signed_number, signer, self.now)
        return CheckResponse(deleted.number, Status.OK, self._seal(deleted.number.encode()))

    def _state(self, record: CabinetRecord) -> StatusResponse:
        blocked = record.judge_block(self._kyiv())
        return StatusResponse(
            open_shift=record.shift is not None,
            online=record.online,
            last_signer=record.last_signer.key,
            status=Status.OK if blocked is None else blocked.status,
            error_message="" if blocked is None else blocked.text,
        )

    def _info(self, record: CabinetRecord) -> RroInfoResponse:
        registration, state = record.registration, self._state(record)
        return RroInfoResponse(
            status=state.status,
            status_rro=1,
            open_shift=state.open_shift,
            online=state.online,
            last_signer=state.last_signer,
            name=registration.name,
            name_to=registration.point_name,
            addr=registration.address,
            offline_allowed=registration.offline_allowed,
            pn=registration.ipn,
            operators=tuple(Operator(each.key, 1, each.chief, each.name) for each in registration.operators),
            tins=registration.tin,
            lnum=registration.local,
            name_pay=registration.org_name,
        )


def _envelope_faults(check: Check, document: RQ, claim: Claim) -> Iterator[Refusal]:
    """Where the call and the document in it differ."""
    dat = document.dat
    wrong = Status.ERROR_XML_ZREPORT if claim.kind == Kind.Z else Status.ERROR_XML_CHK
    if dat.fn != check.rro_fn:
        yield Refusal(Status.ERROR_XML, f"FN {dat.fn}, rro_fn {check.rro_fn}")
    if check.check_type != check_type_of(dat.content):
        is_z = check.check_type == CheckType.ZREPORT
        text = "not correct teg Z" if is_z else f"check_type {check.check_type} is not that of the document"
        yield Refusal(Status.ERROR_XML_ZREPORT if is_z else Status.ERROR_TYPE, text)
    if int(f"{dat.ts:%Y%m%d%H%M%S}") != check.date_time:
        yield Refusal(Status.ERROR_XML_DATE, f"TS {dat.ts:%Y%m%d%H%M%S}, date_time {check.date_time}")
    if dat.di != check.local_number:
        yield Refusal(wrong, f"DI {dat.di}, local_number {check.local_number}")
    if document.mac is None and claim.kind != PING:
        yield Refusal(wrong, "no MAC")
    if claim.id != check.id_offline:
        yield Refusal(wrong, NO_ID_IN_MAC)


def _refusal(method: str, status: Status, text: str) -> Message:
    """The answer to ``method`` that refuses it."""
    if method == "infoRro":
        return RroInfoResponse(status=status)
    if method == "statusRro":
        return StatusResponse(status=status, error_message=text)
    return CheckResponse(status=status, error_message=text)


def _garbage(answer: Message, rule: Rule, delay: float) -> Played:
    if rule.code in ("foreign", "expired"):
        return Played(Ending.WHOLE, answer.encode(), delay)
    if rule.code == "cms" and isinstance(answer, CheckResponse):
        broken = replace(answer, id_sign=_broken(answer.id_sign), data_sign=_broken(answer.data_sign))
        return Played(Ending.WHOLE, broken.encode(), delay)
    if rule.code == "200":
        return Played(Ending.WHOLE, NOISE, delay)
    return Played(Ending.HALF, answer.encode(), delay)


def _broken(message: bytes) -> bytes:
    """A signed message with another signature, whose value is its end."""
    return message[:-1] + bytes([message[-1] ^ 1]) if message else b""
