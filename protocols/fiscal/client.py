"""The client of the fiscal server: sends documents, packages and commands (docs/reference/tax-service.md#commands).

The caller supplies `Exchange`, which carries one request, and the functions that sign and verify. Nothing is sent
twice here; the caller decides what to do about an unknown outcome.
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
    AnAnswer,
    DeviceOfRegister,
    DocumentInfo,
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
"""From method, address, headers and body to the answer.

It raises `protocols.errors.NotReached` when nothing was written, else another `WireError`.
"""

SERVER = "https://fs.tax.gov.ua:8643/fs"
"""The fiscal server; test documents go there too."""

T = TypeVar("T")

Asked = Answered[AnAnswer] | Nothing | Refused | Lost


class Aside(Protocol):
    """Does work in another thread: verifying a signature takes milliseconds."""

    def __call__(self, work: Callable[..., T], /, *arguments: object) -> Awaitable[T]:
        """What ``work`` returns."""


async def at_once(work: Callable[..., T], /, *arguments: object) -> T:
    """What ``work`` returns, done in this thread."""
    return work(*arguments)


def _fresh_uid() -> str:
    return str(uuid.uuid4()).upper()


class FiscalServer:
    """The fiscal server at one address.

    :param base: its address, like `SERVER`.
    :param sign: signs commands; documents and packages are already signed.
    :param open: verifies what the server signed; called by ``aside``.
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
        """Send ``command``, whose answer is a ``shape``."""
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
        """The state of ``register``.

        :param handing_in: the offline session that is about to be handed in.
        """
        command = commands.TransactionsRegistrarState(
            uid=self._fresh_uid(),
            num_fiscal=register,
            offline_session_id=handing_in.id if handing_in is not None else None,
            offline_seed=handing_in.seed if handing_in is not None else None,
        )
        return await self.ask(command, RegistrarState)

    async def device(self, register: int, device: str, forced: bool) -> Asked[DeviceOfRegister]:
        """Report that ``device`` uses ``register``; the server's answer is the device that it knows.

        :param forced: takes the register over from another device.
        """
        command = commands.DeviceRegister(uid=self._fresh_uid(), num_fiscal=register, device_id=device, forced=forced)
        return await self.ask(command, DeviceOfRegister)

    async def look_up(self, register: int, number: int) -> Asked[DocumentInfo]:
        """The document with the local ``number``; `Nothing` when the server never registered it."""
        command = commands.DocumentInfoByLocalNum(uid=self._fresh_uid(), num_fiscal=register, num_local=number)
        return await self.ask(command, DocumentInfo)

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
    """Seconds that the server's clock is ahead of ours, negative when behind; `None` when it sent no time.

    :param now: our time, with its zone.
    """
    theirs = moment(state.timestamp)
    return (theirs - now).total_seconds() if theirs is not None else None
