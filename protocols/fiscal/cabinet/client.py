"""The client of the cabinet's server: sends documents and asks questions.

Nothing is sent twice here; the caller decides what to do about an unknown outcome. Only a refusal in the server's own
words counts as one: a status of gRPC may come from a proxy that has passed the call on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from OpenSSL.crypto import X509
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.web.client import URI

from protocols.errors import NotReached, WireError
from protocols.fiscal.cabinet.messages import (
    Check,
    CheckRequest,
    CheckRequestId,
    CheckResponse,
    RroInfoResponse,
    Status,
    StatusResponse,
    path_of,
)
from protocols.fiscal.https import ANSWER_S, CONNECT_S, ServerEndpoints
from protocols.fiscal.signatures import Sign
from protocols.fiscal.verdicts import Answered, Lost, Malformed, NotSent, Refused, Unknown
from protocols.grpc.channel import Channel
from protocols.protobuf import MalformedMessage, Message

SERVER = "https://prro.tax.gov.ua:443"
"""The cabinet's server; one for tests is `https://cabinet.tax.gov.ua:9443`."""

Call = Callable[[str, bytes, float], Awaitable[bytes]]
"""From a method's name, its request and the seconds for it to the answer.

It raises `protocols.errors.NotReached` when the server certainly has not processed it, else another `WireError`.
"""

AnAnswer = TypeVar("AnAnswer", CheckResponse, StatusResponse, RroInfoResponse)


class CabinetServer:
    """The cabinet's server.

    :param sign: signs a register's number; documents are already signed.
    :param patience: seconds for a call, with connecting.
    """

    def __init__(self, call: Call, sign: Sign, patience: float = CONNECT_S + ANSWER_S) -> None:
        self._call, self._sign, self._patience = call, sign, patience

    async def send(self, check: Check) -> Answered[CheckResponse] | Refused | Lost:
        """Hand in a document (`sendChkV2`)."""
        return await self._ask("sendChkV2", check, CheckResponse)

    async def ping(self, check: Check) -> Answered[CheckResponse] | Refused | Lost:
        """Ask whether the server works, by a document 111."""
        return await self._ask("ping", check, CheckResponse)

    async def last(self, register: str) -> Answered[CheckResponse] | Refused | Lost:
        """The last document of a register (`lastChk`)."""
        return await self._ask("lastChk", CheckRequest(await self._signed(register)), CheckResponse)

    async def delete_last(self, register: str) -> Answered[CheckResponse] | Refused | Lost:
        """Delete the last document of a register (`delLastChk`)."""
        return await self._ask("delLastChk", CheckRequest(await self._signed(register)), CheckResponse)

    async def delete(self, id: str, register: str) -> Answered[CheckResponse] | Refused | Lost:
        """Delete the last document of a register if it is ``id`` (`delLastChkId`)."""
        return await self._ask("delLastChkId", CheckRequestId(id, await self._signed(register)), CheckResponse)

    async def status(self, register: str) -> Answered[StatusResponse] | Refused | Lost:
        """The state of a register (`statusRro`)."""
        return await self._ask("statusRro", CheckRequest(await self._signed(register)), StatusResponse)

    async def info(self, register: str) -> Answered[RroInfoResponse] | Refused | Lost:
        """The registration of a register (`infoRro`)."""
        return await self._ask("infoRro", CheckRequest(await self._signed(register)), RroInfoResponse)

    async def _signed(self, register: str) -> bytes:
        return await self._sign(register.encode("ascii"))

    async def _ask(self, method: str, request: Message, shape: type[AnAnswer]) -> Answered[AnAnswer] | Refused | Lost:
        try:
            raw = await self._call(method, request.encode(), self._patience)
        except NotReached as error:
            return NotSent(error.reason)
        except WireError as error:
            return Unknown(str(error))
        try:
            answer = shape.decode(raw)
        except MalformedMessage as error:
            return Malformed(f"malformed answer: {error}")
        if answer.status == Status.OK:
            return Answered(answer)
        if answer.status >= 0 or answer.status not in set(Status):
            return Malformed(f"an answer with the status {answer.status}")
        return Refused(answer.status, getattr(answer, "error_message", ""))


class CabinetCall:
    """Makes calls to the server at ``url``: a `Call`.

    :param url: `https://` host and port, or `http://` for a simulator.
    :param roots: certificates to trust besides the machine's (the setting `server_ca`).
    :param patience: seconds to connect, with TLS.
    :param line: makes the endpoint of a host and port; TCP by name when absent.
    :raises ValueError: when ``url`` is no such address.
    """

    def __init__(
        self,
        reactor: Any,
        url: str = SERVER,
        roots: list[X509] | None = None,
        patience: float = CONNECT_S,
        line: Callable[[str, int], IStreamClientEndpoint] | None = None,
    ) -> None:
        if not url.startswith(("https://", "http://")) or not url.isascii():
            raise ValueError(f"{url} is not an address")
        address = URI.fromBytes(url.encode())
        secure, host = address.scheme == b"https", address.host.decode()
        usual = address.port == (443 if secure else 80)
        endpoint = ServerEndpoints(reactor, roots, patience, line, spoken=[b"h2"]).endpointForURI(address)
        authority = host if usual else f"{host}:{address.port}"
        self._channel = Channel(reactor, endpoint, authority, secure, patience)

    async def __call__(self, method: str, request: bytes, deadline: float) -> bytes:
        """Make one call."""
        return await self._channel(path_of(method), request, deadline)

    def close(self) -> None:
        """Close the connection; calls that are due lose their answers."""
        self._channel.close()
