"""The simulated fiscal server, for tests, demos and training (docs/reference/tax-service.md#simulator).

For each request it returns the answer, its delay and how the connection ends. `fiscal_site` listens on a port,
`fiscal_in_process` works without one. A document is in the archive and in the ledger before it is answered.

Scenarios are those of all simulators. Rules for a kind of document apply to such documents, those for ``any`` also to
packages, those for ``probe`` to commands. Their ``code`` says more:

==========  ================  ==================================================================== ``then``
``code``          what happens ==========  ================
==================================================================== refuse      1 to 13           the server's own
error; 9 when absent refuse      text:1, text:9    the same error as HTTP 4xx with text, instead of a ticket refuse
200 to 599        that HTTP status, and nothing happened refuse      1042              the text of a blocked register
refuse      1039, 1121        the text of a wrong time garbage     absent            it happened; after half of the
answer the connection breaks garbage     cms               it happened; the answer has a wrong signature garbage
foreign, expired  it happened; the answer is signed by an unknown authority, or with an expired certificate garbage
type              it happened; the whole answer comes with the content type of a web page garbage     200
it happened; bytes come that are not an answer garbage     other statuses    it happened; that HTTP status comes
==========  ================  ====================================================================
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from twisted.internet.interfaces import IReactorTime

from protocols.fiscal import command_answers, commands, packages
from protocols.fiscal.bodies import MOST_BYTES, BodyTooLarge, UnreadableBody, restore
from protocols.fiscal.command_answers import NextSession, TicketOfDocument
from protocols.fiscal.commands import AnyCommand, BadCommand
from protocols.fiscal.document_kinds import kind_of
from protocols.fiscal.document_xml import Document, decode, encode, tree
from protocols.fiscal.error_codes import Code, write_error
from protocols.fiscal.kinds import Kind
from protocols.fiscal.letters import writable
from protocols.fiscal.schema import DocumentError
from protocols.fiscal.signatures import Open, Seal, Signed, WrongSignature, open_unsigned, seal_unsigned
from protocols.fiscal.ticket_xml import Ticket
from protocols.fiscal.verdicts import Reply
from protocols.fiscal.xml_tree import Node
from protocols.simulators.fiscal_books import KYIV, FiscalBooks, decode_again
from protocols.simulators.fiscal_calls import Call, Ending, Played, ServerError
from protocols.simulators.fiscal_copies import CommandContext
from protocols.simulators.fiscal_questions import answer
from protocols.simulators.fiscal_register import RegisterRecord, Registration
from protocols.simulators.fiscal_rules import TOLERANCE_S, Refusal
from protocols.simulators.ledger import REFUSED, Entry
from protocols.simulators.scenario import Rule, Scenario, Then

PACKAGE, PROBE = "package", "probe"
"""Operations besides documents, in rules."""

BLOCKED = 1042
WRONG_TIME = frozenset({1039, 1121})
"""Numbers of the catalogue of results for what protocol A says in words only."""

_BLOCKED_TEXT = "ПРРО заблоковано: перевищено тривалість роботи офлайн (36/168 годин)"
_TIME_TEXT = "Дата і час документа не відповідають часу сервера"

AS_TEXT = "text:"
"""Prefix of a code that comes as HTTP 4xx with text."""

_SIGNED_TYPE, _JSON_TYPE = "application/octet-stream", "application/json"


Recorder = Callable[[datetime, Mapping[str, Any], Call, Played], object]


@dataclass(frozen=True)
class Rules:
    """Behaviour of the server that is not published, or that differs between reports."""

    time_tolerance_s: float = TOLERANCE_S
    """Seconds by which a document's time may differ from the server's."""
    least_bytes: int = 10
    most_bytes: int = MOST_BYTES
    refusals_as_text: bool = False
    """Refuse documents with HTTP 4xx and text, as some servers do, instead of a signed ticket."""
    passes_over_known: bool = True
    """Whether a package may start with the same bytes of documents that were accepted before."""
    revoking_skips: bool = False
    """See `Standing.revoking_skips`."""


class FiscalServer:
    """The simulated fiscal server with its registers.

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
        self._seals = seals or {}
        self.clock, self.rules = clock, rules or Rules()
        self.scenario = Scenario()
        self.skew_s = 0.0
        """Seconds that its clock is ahead."""
        self.recorder: Recorder | None = None
        """Called for each exchange with time, rules, request and outcome."""
        # A message is opened to find its rule, and again to register it; verifying is slow.
        self._open = lru_cache(maxsize=2 * packages.MOST_DOCUMENTS)(open)
        self._seal = seal
        rule = self.rules
        self.books = FiscalBooks(
            registrations, ledger, archive, rule.time_tolerance_s, rule.passes_over_known, rule.revoking_skips
        )

    def close(self) -> None:
        """Close the files."""
        self.books.close()

    def entries(self) -> list[Entry]:
        """The ledger as it is shown."""
        return self.books.entries()

    def block(self, register: int) -> None:
        """Accept nothing from ``register`` until the next month."""
        self.books.registers[register].block(self._kyiv())

    def unblock(self, register: int) -> None:
        """Accept documents from ``register`` again."""
        self.books.registers[register].blocked_until = None

    def change(self, register: int, **members: Any) -> None:
        """Change ``members`` of the `Registration` of ``register``."""
        record = self.books.registers[register]
        record.registration = replace(record.registration, **members)

    @property
    def now(self) -> datetime:
        """The server's time in Kyiv, with its zone."""
        return datetime.fromtimestamp(self.clock.seconds() + self.skew_s, KYIV)

    def _kyiv(self) -> datetime:
        return self.now.replace(tzinfo=None)

    def receive(self, call: Call) -> Played:
        """The outcome of ``call`` by the rules and the scenario."""
        if self.recorder is None:
            return self._received(call)
        # The rules are noted before one is used up.
        at, rules = self.now, self.scenario.document()
        played = self._received(call)
        self.recorder(at, rules, call, played)
        return played

    def _received(self, call: Call) -> Played:
        try:
            return self._play(call)
        finally:
            self._open.cache_clear()

    def _play(self, call: Call) -> Played:
        rule = self.scenario.take(self._operation(call))
        if rule is None:
            return Played(Ending.WHOLE, self._answer(call))
        delay = rule.delay_ms / 1000
        if rule.then is Then.UNREACHABLE:
            return Played(Ending.UNREACHABLE, None, delay)
        if rule.then is Then.LOST_BEFORE:
            return Played(Ending.BROKEN, None, delay)
        if rule.then is Then.SILENT:
            return Played(Ending.SILENT)
        if rule.then is Then.REFUSE:
            return Played(Ending.WHOLE, self._refuse(call, rule), delay)
        reply = self._sealed_as(rule, call)
        if rule.then is Then.LOST_AFTER:
            return Played(Ending.BROKEN, None, delay)
        if rule.then is Then.GARBAGE:
            return _garbage(reply, rule, delay)
        return Played(Ending.WHOLE, reply, delay)

    def _sealed_as(self, rule: Rule, call: Call) -> Reply:
        """The answer to ``call``, signed as in ``rule``."""
        usual = self._seal
        if rule.then is Then.GARBAGE:
            self._seal = self._seals.get(rule.code, usual)
        try:
            return self._answer(call)
        finally:
            self._seal = usual

    def _operation(self, call: Call) -> str:
        if call.path.endswith("/pck"):
            return PACKAGE
        if not call.path.endswith("/doc"):
            return PROBE
        try:
            kind = kind_of(decode(self._open(self._body(call)).content))
        except (ServerError, WrongSignature, DocumentError):
            return "document"
        return kind.value if kind is not None else "document"

    def _answer(self, call: Call) -> Reply:
        try:
            body = self._body(call)
            if call.path.endswith("/doc"):
                return self._document(body)
            if call.path.endswith("/pck"):
                return self._package(body)
            return self._command(call, body)
        except ServerError as error:
            return self._error(error, call)

    def _error(self, error: ServerError, call: Call) -> Reply:
        if "resultasjson=true" in call.query.lower() and call.path.endswith("/cmd") and error.status != 405:
            uid = self._uid(call)
            return _json(command_answers.write_error(int(error.code), error.text, uid))
        if error.status == 204:
            return Reply(204, {}, b"")
        return Reply(error.status, {"content-type": "text/plain; charset=utf-8"}, write_error(error.code, error.text))

    def _uid(self, call: Call) -> str:
        try:
            return commands.decode(self._open(self._body(call)).content).uid
        except (ServerError, WrongSignature, BadCommand):
            return ""

    def _body(self, call: Call) -> bytes:
        """The body of ``call`` when path, method, type and size are right."""
        if not call.path.endswith(("/doc", "/pck", "/cmd")):
            raise ServerError(Code.INVALID_QUERY_PARAMETER, "Невірна адреса", 403)
        if call.method != "POST":
            raise ServerError(Code.INVALID_QUERY_PARAMETER, "Метод не підтримується", 405)
        kind = call.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != _SIGNED_TYPE and not (kind == _JSON_TYPE and call.path.endswith("/cmd")):
            raise ServerError(Code.INVALID_QUERY_PARAMETER, "Невірний тип вмісту", 415)
        try:
            body = restore(call.body, call.headers.get("content-encoding", ""), self.rules.most_bytes)
        except BodyTooLarge:
            raise ServerError(Code.INVALID_QUERY_PARAMETER, "Невірний розмір запиту", 416) from None
        except UnreadableBody as error:
            raise ServerError(Code.INVALID_QUERY_PARAMETER, str(error)) from None
        if len(body) < self.rules.least_bytes:
            raise ServerError(Code.INVALID_QUERY_PARAMETER, "Невірний розмір запиту", 416)
        return body

    def _opened(self, message: bytes) -> Signed:
        try:
            return self._open(message)
        except WrongSignature as error:
            raise ServerError(Code.CRYPTOGRAPHY_ERROR, f"EtUnknown: {error}") from None

    def _document(self, body: bytes) -> Reply:
        signed = self._opened(body)
        try:
            root = tree(signed.content)
        except DocumentError as error:
            raise ServerError(Code.DOCUMENT_VALIDATION_ERROR, f"Помилки валідації XML: {error}") from None
        head = root.child("CHECKHEAD") or root.child("ZREPHEAD") or Node("")
        record, refusal = self._record(head)
        if record is not None:
            refusal = record.judge_sender(head.text_of("TIN"), signed.key, self._kyiv())
        try:
            document = decode_again(signed.content)
        except DocumentError as error:
            wrong = refusal or Refusal(Code.DOCUMENT_VALIDATION_ERROR, f"Помилки валідації XML: {error}")
            return self._refusal(wrong, head.text_of("UID"), _whole(head.text_of("ORDERNUM")))
        if refusal is None and record is not None:
            refusal = record.judge_document(document, signed.key, self._kyiv(), self.rules.time_tolerance_s)
        if refusal is not None or record is None:
            assert refusal is not None
            return self._refused(document, refusal)
        number = self.books.take(record, signed, body, self.now)
        return _signed(self._seal(encode(self._ticket(document, number, record))))

    def _record(self, head: Node) -> tuple[RegisterRecord | None, Refusal | None]:
        number = head.text_of("CASHREGISTERNUM")
        record = self.books.registers.get(_whole(number))
        if record is None or record.registration.closed:
            text = f"ПРРО з фіскальним номером {number[:20]} не зареєстрований"
            return None, Refusal(Code.TRANSACTIONS_REGISTRAR_ABSENT, text)
        return record, None

    def _ticket(self, document: Document, number: str, record: RegisterRecord) -> Ticket:
        now, session = self.now, kind_of(document) is Kind.OPEN and record.offline.id
        return Ticket(
            uid=document.head.uid,
            orderdate=now.date(),
            ordertime=now.time().replace(microsecond=0),
            ordernum=document.head.ordernum,
            ordertaxnum=number,
            offlinesessionid=int(record.offline.id) if session else None,
            offlineseed=int(record.offline.seed) if session else None,
            errorcode=0,
        )

    def _refused(self, document: Document, refusal: Refusal) -> Reply:
        self.books.note(document, REFUSED, "")
        return self._refusal(refusal, document.head.uid, document.head.ordernum)

    def _refusal(self, refusal: Refusal, uid: str, number: int) -> Reply:
        if self.rules.refusals_as_text or not number:
            raise ServerError(refusal.code, refusal.text)
        now = self.now
        ticket = Ticket(
            uid=writable(uid, 64),
            orderdate=now.date(),
            ordertime=now.time().replace(microsecond=0),
            ordernum=number,
            errorcode=int(refusal.code),
            errortext=writable(refusal.text, 2000),
        )
        return _signed(self._seal(encode(ticket)))

    def _package(self, body: bytes) -> Reply:
        signed = self._opened(body)
        try:
            sent = packages.split(signed.content)
        except packages.BrokenPackage as error:
            raise ServerError(Code.PACKAGE_VALIDATION_ERROR, str(error)) from None
        session = self.books.take_package(signed, sent, self._open, self.now)
        if session is None:
            return Reply(200, {"content-type": "text/plain"}, b"OK")
        return _json(command_answers.encode(session))

    def _command(self, call: Call, body: bytes) -> Reply:
        is_signed = call.headers.get("content-type", "").lower().startswith(_SIGNED_TYPE)
        signed = self._opened(body) if is_signed else Signed(body)
        try:
            command = commands.decode(signed.content)
        except BadCommand as error:
            raise ServerError(Code.INVALID_QUERY_PARAMETER, str(error)) from None
        if not is_signed and not isinstance(command, commands.UNSIGNED):
            raise ServerError(Code.CRYPTOGRAPHY_ERROR, "Запит повинен бути підписаний")
        self._in_time(command)
        if isinstance(command, commands.SendDocument):
            ticket = self._document(_base64(command.document))
            return _json(command_answers.encode(TicketOfDocument(ticket=base64.b64encode(ticket.body).decode())))
        if isinstance(command, commands.SendOflPackage):
            sent = tuple(map(_base64, command.documents))
            session = self.books.take_package(signed, sent, self._open, self.now)
            return _json(command_answers.encode(session or NextSession()))
        context = CommandContext(self.books.registers, signed.key, self.now, self._seal)
        found = answer(context, command)
        return _signed(found) if isinstance(found, bytes) else _json(command_answers.encode(found))

    def _in_time(self, command: AnyCommand) -> None:
        sent = command_answers.moment(command.timestamp)
        if sent is not None and command.timeout:
            late = (self.now - sent).total_seconds() * 1000
            if late > command.timeout:
                raise ServerError(Code.INVALID_QUERY_PARAMETER, "Час виконання запиту вичерпано")

    def _refuse(self, call: Call, rule: Rule) -> Reply:
        """Refuse ``call`` as in ``rule``."""
        digits = rule.code.removeprefix(AS_TEXT)
        code = int(digits) if digits.isascii() and digits.isdigit() else Code.DOCUMENT_VALIDATION_ERROR
        if 200 <= code < 600:
            return Reply(code, {"content-type": "text/plain"}, b"")
        refusal = _wished(int(code))
        try:
            body = self._body(call)
            if rule.code.startswith(AS_TEXT) or not call.path.endswith("/doc"):
                raise ServerError(refusal.code, refusal.text)
            return self._refused(decode(self._open(body).content), refusal)
        except ServerError as error:
            return self._error(error, call)
        except (WrongSignature, DocumentError):
            return self._error(ServerError(refusal.code, refusal.text, 400), call)


def _wished(code: int) -> Refusal:
    if code == BLOCKED:
        return Refusal(Code.DOCUMENT_VALIDATION_ERROR, _BLOCKED_TEXT)
    if code in WRONG_TIME:
        return Refusal(Code.DOCUMENT_VALIDATION_ERROR, _TIME_TEXT)
    if code in list(Code) and code != Code.OK:
        return Refusal(Code(code), Code(code).symbol)
    return Refusal(Code.DOCUMENT_VALIDATION_ERROR, f"Відмова {code}")


def _garbage(reply: Reply, rule: Rule, delay: float) -> Played:
    status = int(rule.code) if rule.code.isascii() and rule.code.isdigit() else 0
    headers: Mapping[str, Any] = {"content-type": "text/html"}
    if rule.code in ("foreign", "expired"):
        return Played(Ending.WHOLE, reply, delay)
    if rule.code == "type":
        return Played(Ending.WHOLE, Reply(reply.status, headers, reply.body), delay)
    if rule.code == "cms":
        # The message ends with the value of the signature.
        broken = reply.body[:-1] + bytes([reply.body[-1] ^ 1]) if reply.body else b""
        return Played(Ending.WHOLE, Reply(reply.status, reply.headers, broken), delay)
    if not 200 <= status < 600:
        return Played(Ending.HALF, reply, delay)
    return Played(Ending.WHOLE, Reply(status, headers, b"<html>\xff\x00" if status == 200 else b"<html>"), delay)


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ServerError(Code.INVALID_QUERY_PARAMETER, "Base64 очікується") from None


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _signed(body: bytes) -> Reply:
    return Reply(200, {"content-type": _SIGNED_TYPE}, body)


def _json(body: bytes) -> Reply:
    return Reply(200, {"content-type": "application/json; charset=utf-8"}, body)
