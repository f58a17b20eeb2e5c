"""The tax service's protocol: documents, tickets, packages, commands, and what its answers prove."""

from __future__ import annotations

import gzip
from contextlib import suppress
from typing import Any

import msgspec

from protocols.fiscal import command_answers, commands, packages, signing_agent, verdicts
from protocols.fiscal.bodies import BodyTooLarge, UnreadableBody, restore
from protocols.fiscal.cabinet import documents as cabinet_documents
from protocols.fiscal.cabinet.documents_checks import ShiftSums, mac_faults, receipt_faults
from protocols.fiscal.cabinet.documents_service import decode_numbers, encode_numbers
from protocols.fiscal.cabinet.documents_z import Z
from protocols.fiscal.command_answers import BadAnswer
from protocols.fiscal.commands import BadCommand
from protocols.fiscal.document_xml import decode, decode_as, encode
from protocols.fiscal.error_codes import read_error
from protocols.fiscal.packages import BrokenPackage
from protocols.fiscal.schema import DocumentError
from protocols.fiscal.signatures import open_unsigned
from protocols.fiscal.ticket_xml import Ticket
from protocols.fiscal.verdicts import Reply
from tests.fiscal_papers import in_sample_layout
from tests.fuzz.target import Broken, Target
from tests.vectors import cabinet
from tests.vectors import fiscal_documents as vectors

SHAPES = tuple(
    shape
    for shape in vars(command_answers).values()
    if isinstance(shape, type) and issubclass(shape, command_answers.ServerAnswer)
)
MOST = 1 << 20
"""The longest body in these targets, in bytes."""


def documents(data: bytes) -> None:
    """A document is read, or refused with its errors; after encoding it is read back as the same."""
    try:
        document = decode(data)
    except DocumentError as error:
        if not error.faults:
            raise Broken("a refusal without a fault") from error
        return
    try:
        written = encode(document)
    except DocumentError:
        # Documents of others may have values outside of the types' bounds.
        return
    for again in (written, in_sample_layout(written)):
        if decode(again) != document:
            raise Broken(f"{document!r} was written as {again!r}")


def documents_of_cabinet(data: bytes) -> None:
    """A document of protocol B is read, checked and written as the same, or refused with its errors."""
    with suppress(DocumentError):
        decode_numbers(encode_numbers(decode_numbers(data)))
    try:
        document = cabinet_documents.decode(data)
    except DocumentError as error:
        if not error.faults:
            raise Broken("a refusal without a fault") from error
        return
    list(mac_faults(document, ""))
    list(receipt_faults(document.dat))
    content, sums = document.dat.content, ShiftSums()
    if isinstance(content, Z):
        list(sums.faults(content))
    else:
        sums.add(content)
    try:
        written = cabinet_documents.encode(document)
    except DocumentError:
        # Documents of others may have letters outside of the code page.
        return
    if cabinet_documents.decode(written) != document or cabinet_documents.encode(document) != written:
        raise Broken(f"{document!r} was written as {written!r}")


def tickets(data: bytes) -> None:
    """A ticket is read or refused; an answer with it proves something or nothing."""
    with suppress(DocumentError):
        decode_as(Ticket, data)
    found = verdicts.of_document(Reply(200, {}, data), open_unsigned, "CA9CA66A-7E21-418B-81C0-494BF07189E2", 357)
    if isinstance(found, verdicts.Accepted) and not found.fiscal_number:
        raise Broken(f"{found!r}")


def package(data: bytes) -> None:
    """A package is taken apart into its parts."""
    with suppress(BrokenPackage):
        if packages.join(packages.split(data)) != data:
            raise Broken("the package is another one when it is put together again")


def bodies(data: bytes) -> None:
    """A compressed body is unpacked up to its limit, or refused."""
    for encoding in ("gzip", "deflate", ""):
        with suppress(UnreadableBody, BodyTooLarge):
            if len(restore(data, encoding, MOST)) > MOST:
                raise Broken("more than the limit")


def command(data: bytes) -> None:
    """A command is read and its encoding is read back as the same, or it is refused."""
    with suppress(BadCommand):
        asked = commands.decode(data)
        if commands.decode(commands.encode(asked)) != asked:
            raise Broken(f"{asked!r} does not come back")


def answers(data: bytes) -> None:
    """An answer of every kind is read and encoded back to the same, or is refused; any of them can be judged."""
    for shape in SHAPES:
        with suppress(BadAnswer):
            again: Any = command_answers.decode(shape, data)
            if command_answers.decode(shape, command_answers.encode(again)) != again:
                raise Broken(f"{again!r} does not come back")
        verdicts.of_command(Reply(200, {}, data), shape)
    for status in (200, 204, 400, 500):
        for encoding in ({}, {"content-encoding": "gzip"}):
            reply = Reply(status, encoding, data)
            verdicts.of_package(reply)
            verdicts.of_fetch(reply, open_unsigned)
    read_error(data)
    command_answers.moment(data.decode("latin-1"))


def agent(data: bytes) -> None:
    """A signing agent's requests and answers are read and encoded back to the same, or they are refused."""
    shapes: tuple[type[msgspec.Struct], ...] = (
        signing_agent.KeyTold,
        signing_agent.SignAsked,
        signing_agent.Signed,
        signing_agent.Failed,
    )
    for shape in shapes:
        for status in (200, 401, 500):
            with suppress(signing_agent.AgentError):
                answer = signing_agent.read_answer(Reply(status, {}, data), shape)
                if signing_agent.decode(signing_agent.encode(answer), shape) != answer:
                    raise Broken(f"{answer!r} does not come back")


SAMPLES = tuple(sample.data for sample in vectors.SAMPLES)
XML_WORDS = (b"<CHECK", b"<ZREP", b"<CHECKHEAD>", b"</", b"/>", b"<?xml", b"<!--", b"<![CDATA[", b"&#", b"xsi:nil")
JSON_WORDS = (b'"Command"', b'"NumFiscal"', b'"UID"', b'"ErrorCode"', b"null", b"true", b"/Date(", b"OK", b"1e9")

TARGETS = (
    Target("documents", documents, SAMPLES, XML_WORDS, 8192),
    Target(
        "cabinet-documents",
        documents_of_cabinet,
        (*(vector.data for vector in cabinet.VECTORS), encode_numbers(("eYme-jhnkWQ",))),
        (
            b"<P ",
            b"<M ",
            b"<D ",
            b"<E ",
            b"<TX ",
            b"<VD ",
            b"<CP ",
            b' NI="',
            b' SM="',
            b' T="',
            b' TX="',
            b"/>",
            b"</",
        ),
    ),
    Target("tickets", tickets, (vectors.TICKET,), (*XML_WORDS, b"<TICKET", b"<ERRORCODE>", b"<ORDERTAXNUM>")),
    Target("packages", package, (packages.join(SAMPLES[:1]), packages.join((b"a", b"bc"))), (), 512),
    Target("bodies", bodies, (gzip.compress(b"OK", mtime=0), gzip.compress(b"a" * 9999, mtime=0)), (), 512),
    Target("commands", command, (vectors.SIGNED_COMMAND,), JSON_WORDS),
    Target(
        "answers",
        answers,
        (vectors.STATE_ANSWER, *(text.encode() for text, _ in vectors.ERROR_BODIES), b'"OK"'),
        JSON_WORDS,
    ),
    Target(
        "signing-agent",
        agent,
        (b'{"protocol":1,"certificate":"MIID"}', b'{"content":"PD94"}', b'{"message":"MIIJ"}', b'{"error":"no"}'),
    ),
)
