"""What an answer of the fiscal server proves (docs/reference/tax-service.md#answers).

Only a refusal in the server's own words counts; whatever cannot be read leaves the outcome unknown until a command
settles it:

=====================================================  ====================================
200, a ticket of ours that verifies, with a number     accepted
200, a ticket of ours that verifies, with an error     refused, with its code
200, anything else                                     unknown
400, 401, 403, 404, 405, 411, 413, 414, 415, 416       refused, with the code if there is one
204 to a command, or the error 13                     nothing found
any other status, 5xx before all                       unknown
=====================================================  ====================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from protocols.fiscal import command_answers
from protocols.fiscal.bodies import MOST_ANSWER_BYTES, BodyTooLarge, UnreadableBody, restore
from protocols.fiscal.command_answers import AnAnswer, BadAnswer, NextSession, text_of
from protocols.fiscal.document_xml import Document, decode, decode_as
from protocols.fiscal.error_codes import Code, read_error, words
from protocols.fiscal.schema import DocumentError
from protocols.fiscal.signatures import Open, WrongSignature
from protocols.fiscal.ticket_xml import Ticket

REFUSING = frozenset({400, 401, 403, 404, 405, 411, 413, 414, 415, 416})
"""HTTP statuses that refuse a request; others may come from a proxy."""

_CODE_OF_STATUS = {
    401: Code.OPERATOR_ACCESS_TO_TRANSACTIONS_REGISTRAR_NOT_GRANTED,
    404: Code.TRANSACTIONS_REGISTRAR_ABSENT,
}

T = TypeVar("T")


@dataclass(frozen=True)
class Reply:
    """An HTTP answer; names in ``headers`` are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Session:
    """An offline session that the server granted."""

    id: str
    seed: str


@dataclass(frozen=True)
class Accepted:
    """The server registered the document under ``fiscal_number``; ``at`` is Kyiv time."""

    fiscal_number: str
    at: datetime
    session: Session | None = None


@dataclass(frozen=True)
class PackageTaken:
    """The server registered a package; a session comes when the package ended one."""

    session: Session | None = None


@dataclass(frozen=True)
class Answered(Generic[T]):
    """The answer to a command."""

    value: T


@dataclass(frozen=True)
class Nothing:
    """The server has no such thing."""


@dataclass(frozen=True)
class Refused:
    """The server certainly did not do it; ``code`` is an `error_codes.Code`, `None` without one."""

    code: int | None
    text: str
    status: int = 200


@dataclass(frozen=True)
class Unknown:
    """The request was sent, its outcome is unknown."""

    why: str


@dataclass(frozen=True)
class Malformed(Unknown):
    """An answer came, and it has not the form of one."""


@dataclass(frozen=True)
class NotSent:
    """There was no connection: nothing was sent."""

    why: str


@dataclass(frozen=True)
class Fetched:
    """A registered document: its value, and its bytes as the server gave them."""

    document: Document
    content: bytes


Lost = Unknown | NotSent


def of_document(reply: Reply, open: Open, uid: str, number: int) -> Accepted | Refused | Unknown:
    """The outcome of a document that was handed in.

    :param uid: its GUID, :param number: its local number; a ticket of another document proves nothing.
    """
    body = _body(reply)
    if isinstance(body, (Unknown, Refused)):
        return body
    try:
        ticket = decode_as(Ticket, open(body).content)
    except WrongSignature as error:
        return Unknown(f"the ticket's signature is wrong ({error})")
    except DocumentError as error:
        return Unknown(f"the ticket cannot be read ({error})")
    ours = ticket.ordernum == number and ticket.uid.strip("{}").lower() == uid.strip("{}").lower()
    if ticket.errorcode:
        # A server that could not read the document cannot repeat its GUID.
        if not ours and ticket.uid:
            return Unknown(f"the ticket belongs to document {ticket.ordernum}")
        return Refused(ticket.errorcode, ticket.errortext or "")
    if not ours:
        return Unknown(f"the ticket belongs to document {ticket.ordernum}")
    if not ticket.ordertaxnum:
        return Unknown("the ticket has no fiscal number")
    session = Session(str(ticket.offlinesessionid), str(ticket.offlineseed)) if _grants(ticket) else None
    return Accepted(ticket.ordertaxnum, datetime.combine(ticket.orderdate, ticket.ordertime), session)


def _grants(ticket: Ticket) -> bool:
    return bool(ticket.offlinesessionid) and ticket.offlineseed is not None


def of_package(reply: Reply) -> PackageTaken | Refused | Unknown:
    """The outcome of a package that was handed in; the answer is not signed."""
    body = _body(reply)
    if isinstance(body, (Unknown, Refused)):
        return body
    if words(body).strip('"').upper() == "OK":
        return PackageTaken()
    error = command_answers.error_in(body)
    if error is not None:
        return Refused(*error)
    try:
        answer = command_answers.decode(NextSession, body)
    except BadAnswer as bad:
        return Unknown(f"the answer cannot be read ({bad})")
    id, seed = text_of(answer.offline_session_id), text_of(answer.offline_seed)
    if not id.strip("0") or not seed:
        return Unknown("the answer is neither OK nor a session")
    return PackageTaken(Session(id, seed))


def of_command(reply: Reply, shape: type[AnAnswer]) -> Answered[AnAnswer] | Nothing | Refused | Unknown:
    """The answer to a command as a ``shape``; `Malformed` when it is none."""
    body = _asked(reply)
    if not isinstance(body, bytes):
        return body
    try:
        return Answered(command_answers.decode(shape, body))
    except BadAnswer as error:
        return Malformed(f"malformed answer: {error}")


def of_fetch(reply: Reply, open: Open) -> Answered[Fetched] | Nothing | Refused | Unknown:
    """The document in an answer to `Check` or `ZRep`, signed by the server."""
    body = _asked(reply)
    if not isinstance(body, bytes):
        return body
    try:
        content = open(body).content
        return Answered(Fetched(decode(content), content))
    except WrongSignature as error:
        return Unknown(f"the document's signature is wrong ({error})")
    except DocumentError as error:
        return Unknown(f"the document cannot be read ({error})")


def _asked(reply: Reply) -> bytes | Nothing | Refused | Unknown:
    """The body of an answer to a command."""
    if reply.status == 204:
        return Nothing()
    body = _body(reply)
    if isinstance(body, bytes):
        error = command_answers.error_in(body)
        if error is not None:
            body = Refused(*error)
    if isinstance(body, Refused) and body.code == Code.NO_CONTENT:
        return Nothing()
    return body


def _body(reply: Reply) -> bytes | Refused | Unknown:
    """The body of an answer with status 200, else the meaning of its status."""
    try:
        body = restore(reply.body, reply.headers.get("content-encoding", ""), MOST_ANSWER_BYTES)
    except (UnreadableBody, BodyTooLarge) as error:
        if reply.status in REFUSING:
            return Refused(_CODE_OF_STATUS.get(reply.status), "", reply.status)
        return Unknown(f"the answer cannot be read ({error})")
    if reply.status == 200:
        return body
    if reply.status not in REFUSING:
        return Unknown(f"HTTP {reply.status}: {words(body)[:200]}")
    refusal = read_error(body)
    code = refusal.code if refusal.code is not None else _CODE_OF_STATUS.get(reply.status)
    return Refused(code, refusal.text, reply.status)
