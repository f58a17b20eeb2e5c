"""A register's way to the fiscal server: documents, packages and questions, each with a verdict (fiscal-server 2, 3).

The client knows no socket: whoever makes it hands in `Exchange`, which carries one request and brings its answer, and
the functions that sign and verify. Nothing is ever sent twice here; what to do about an unknown outcome is for those
who keep the books.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Protocol, TypeVar

from protocols.errors import NotReached, WireError
from protocols.fiscal import commands, verdicts
from protocols.fiscal.bodies import BodyTooLarge
from protocols.fiscal.command_answers import (
    Answer,
    DocumentInfo,
    LastTotals,
    RegistrarState,
    StateOfServer,
    TaxObjects,
    moment,
)
from protocols.fiscal.commands import Command
from protocols.fiscal.document_xml import Document
from protocols.fiscal.error_codes import Code
from protocols.fiscal.posts import Post, command_post, document_post, has_to_be_signed, package_post
from protocols.fiscal.signatures import Open, Sign
from protocols.fiscal.verdicts import (
    Accepted,
    Answered,
    Fetched,
    Lost,
    Nothing,
    NotSent,
    PackageTaken,
    Refused,
    Reply,
    Session,
    Unknown,
)

Exchange = Callable[[str, str, Mapping[str, str], bytes], Awaitable[Reply]]
"""Method, address, headers, body: the answer.

It raises `protocols.errors.NotReached` when nothing was written, and any other `WireError` when something was.
"""

SERVER = "https://fs.tax.gov.ua:8643/fs"
"""The fiscal server; test documents go there too."""

T = TypeVar("T")
AnAnswer = TypeVar("AnAnswer", bound=Answer)

Asked = Answered[AnAnswer] | Nothing | Refused | Lost


class Aside(Protocol):
    """Does work elsewhere that would keep everybody else waiting: checking a signature takes milliseconds."""

    def __call__(self, work: Callable[..., T], /, *arguments: object) -> Awaitable[T]:
        """What ``work`` returns."""


async def at_once(work: Callable[..., T], /, *arguments: object) -> T:
    """What ``work`` returns, done here and now."""
    return work(*arguments)


def _fresh_uid() -> str:
    return str(uuid.uuid4()).upper()


class FiscalServer:
    """The fiscal server at one address.

    :param base: its address, like `SERVER`.
    :param sign: signs commands; documents and packages come here signed.
    :param open: verifies what the server signed.
    :param aside: where answers are verified: in a thread, when there is one.
    """

    def __init__(
        self,
        exchange: Exchange,
        sign: Sign,
        open: Open,
        base: str = SERVER,
        fresh_uid: Callable[[], str] = _fresh_uid,
        aside: Aside = at_once,
    ) -> None:
        self._exchange, self._sign, self._open, self._aside = exchange, sign, open, aside
        self._base, self._fresh_uid = base.rstrip("/"), fresh_uid

    async def register(self, sent: bytes, document: Document) -> Accepted | Refused | Lost:
        """Hand in ``sent``, the signed bytes of ``document``."""
        reply = await self._post(lambda: document_post(sent))
        if not isinstance(reply, Reply):
            return reply
        head = document.head
        return await self._aside(verdicts.of_document, reply, self._open, head.uid, head.ordernum)

    async def hand_in(self, package: bytes) -> PackageTaken | Refused | Lost:
        """Hand in a signed package of offline documents (see `packages`)."""
        reply = await self._post(lambda: package_post(package))
        return verdicts.of_package(reply) if isinstance(reply, Reply) else reply

    async def ask(self, command: Command, shape: type[AnAnswer]) -> Asked[AnAnswer]:
        """Ask ``command``, whose answer is a ``shape``."""
        reply = await self._command(command)
        return verdicts.of_command(reply, shape) if isinstance(reply, Reply) else reply

    async def fetch(
        self, register: int, number: int, z_report: bool = False
    ) -> Answered[Fetched] | Nothing | Refused | Lost:
        """The registered document with the local ``number``, as the server signed it."""
        kind = commands.ZRep if z_report else commands.Check
        reply = await self._command(kind(uid=self._fresh_uid(), registrar_num_fiscal=register, num_local=number))
        return await self._aside(verdicts.of_fetch, reply, self._open) if isinstance(reply, Reply) else reply

    async def state_of_server(self) -> Asked[StateOfServer]:
        """Whether the server answers, and its time."""
        return await self.ask(commands.ServerState(uid=self._fresh_uid()), StateOfServer)

    async def objects(self) -> Asked[TaxObjects]:
        """The outlets and registers that the signer may use."""
        return await self.ask(commands.Objects(uid=self._fresh_uid()), TaxObjects)

    async def state(self, register: int, handing_in: Session | None = None) -> Asked[RegistrarState]:
        """Where ``register`` stands.

        :param handing_in: the offline session that is about to be handed in.
        """
        command = commands.TransactionsRegistrarState(
            uid=self._fresh_uid(),
            num_fiscal=register,
            offline_session_id=handing_in.id if handing_in is not None else None,
            offline_seed=handing_in.seed if handing_in is not None else None,
        )
        return await self.ask(command, RegistrarState)

    async def look_up(self, register: int, number: int) -> Asked[DocumentInfo]:
        """What became of the local ``number``; `Nothing` when the server never registered it."""
        command = commands.DocumentInfoByLocalNum(uid=self._fresh_uid(), num_fiscal=register, num_local=number)
        return await self.ask(command, DocumentInfo)

    async def totals(self, register: int) -> Asked[LastTotals]:
        """What the server reckons that the last shift of ``register`` came to."""
        return await self.ask(commands.LastShiftTotals(uid=self._fresh_uid(), num_fiscal=register), LastTotals)

    async def _command(self, command: Command) -> Reply | Refused | Lost:
        text, signed = commands.encode(command), has_to_be_signed(command)
        body = await self._sign(text) if signed else text
        return await self._post(lambda: command_post(body, signed))

    async def _post(self, make: Callable[[], Post]) -> Reply | Refused | Lost:
        try:
            post = make()
        except BodyTooLarge as error:
            return Refused(Code.DOCUMENT_VALIDATION_ERROR, str(error), 416)
        try:
            return await self._exchange("POST", self._base + post.target, post.headers, post.body)
        except NotReached as error:
            return NotSent(error.reason)
        except WireError as error:
            return Unknown(str(error))


def skew(state: StateOfServer, now: datetime) -> float | None:
    """Seconds that the server's clock is before ours (less than 0: behind); `None` when it told no time.

    :param now: our time, with its zone.
    """
    theirs = moment(state.timestamp)
    return (theirs - now).total_seconds() if theirs is not None else None
