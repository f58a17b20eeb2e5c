"""One try to hand an event to a receiver over HTTP; loaded with the first one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import Any, NamedTuple

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.interfaces import (
    IAddress,
    IHostnameResolver,
    IHostResolution,
    IProtocol,
    IProtocolFactory,
    IReactorPluggableNameResolver,
    IResolutionReceiver,
    IStreamClientEndpoint,
)
from twisted.python.failure import Failure
from zope.interface import implementer

from dmtwisted.clock import wall
from dmtwisted.hooks.addresses import Refused, check_address
from dmtwisted.host_names import Address, read_hosts
from protocols.fiscal.https import BETWEEN_S, HttpsExchange, ServerEndpoints, roots_in

PATIENCE_S = 10.0
"""Seconds to connect and to get the answer together."""

SHOWN_BYTES = 4096
"""Bytes of an answer that a person may see."""

LATER = (429, 503)
"""Statuses with which a receiver may say when to come again."""

Line = Callable[[str, int], IStreamClientEndpoint]
"""Makes the endpoint of a host and a port."""


class Answered(NamedTuple):
    """What a receiver has answered."""

    status: int
    pause_s: float | None
    """The seconds that it asks to wait, if it does."""
    text: str
    """The beginning of the answer, for a person."""

    @property
    def taken(self) -> bool:
        """Whether the receiver has taken the event."""
        return 200 <= self.status <= 299


async def post(
    reactor: Any,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    allow_local: str = "",
    ca: str = "",
    line: Line | None = None,
) -> Answered:
    """Send ``body`` to ``url`` once; redirects are not followed.

    :param allow_local: hosts that may be inside this machine. :param ca: certificates to trust besides the usual.
    :param line: in place of TCP by name.
    :raises WireError: when there is no answer.
    """
    allowed = read_hosts(allow_local)

    def checked(host: str, port: int) -> IStreamClientEndpoint:
        return CheckedEndpoint(reactor, host, port, lambda address: check_address(host, address, allowed))

    endpoints = ServerEndpoints(reactor, roots_in(ca.encode()) if ca else None, PATIENCE_S, line or checked)
    send = HttpsExchange(reactor, endpoints, PATIENCE_S, SHOWN_BYTES)
    reply = await send("POST", url, {"Content-Type": "application/json", **headers}, body)
    asked = _seconds(reply.headers.get("retry-after", ""), reactor) if reply.status in LATER else None
    return Answered(reply.status, asked, reply.body.decode("utf-8", "replace"))


def _seconds(retry_after: str, reactor: Any) -> float | None:
    """The seconds of the header `Retry-After`, which is a number of them or a time (RFC 9110, 10.2.3)."""
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after[:9])
    try:
        return max(parsedate_to_datetime(retry_after).timestamp() - wall(reactor), 0.0)
    except (ValueError, OverflowError):
        return None


@implementer(IStreamClientEndpoint)
class CheckedEndpoint:
    """TCP by name; nothing is tried when ``check`` raises for one of the addresses that the name has now."""

    def __init__(self, reactor: Any, host: str, port: int, check: Callable[[Address], None]) -> None:
        self._reactor, self._host, self._port, self._check = reactor, host, port, check

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Look the name up, check, and connect to what was checked.

        :raises Refused: what ``check`` has raised.
        """
        checking = _Checking(self._reactor, self._check)

        def told(failure: Failure) -> Failure:
            return Failure(checking.refused) if checking.refused is not None else failure

        endpoint = HostnameEndpoint(checking, self._host, self._port, attemptDelay=BETWEEN_S)
        connected: Deferred[IProtocol] = endpoint.connect(protocolFactory)
        return connected.addErrback(told)


@implementer(IReactorPluggableNameResolver, IHostnameResolver)
class _Checking:
    """A reactor whose looked-up addresses are checked before anybody gets them."""

    def __init__(self, reactor: Any, check: Callable[[Address], None]) -> None:
        self._reactor, self._check = reactor, check
        self.nameResolver = self
        self.refused: Refused | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reactor, name)

    def installNameResolver(self, resolver: IHostnameResolver) -> IHostnameResolver:
        """Not here: the reactor keeps its own."""
        raise NotImplementedError

    def resolveHostName(self, resolutionReceiver: Any, hostName: str, *more: Any, **others: Any) -> IHostResolution:
        """As the reactor does, without any address when one of them is refused."""
        resolving: IHostResolution = self._reactor.nameResolver.resolveHostName(
            _Judge(self, resolutionReceiver), hostName, *more, **others
        )
        return resolving

    def judge(self, address: IAddress) -> None:
        """Check one address."""
        try:
            self._check(ip_address(address.host.partition("%")[0]))  # type: ignore[attr-defined]
        except Refused as refused:
            self.refused = refused


@implementer(IResolutionReceiver)
class _Judge:
    """Hands addresses on when all of them are there and may be reached."""

    def __init__(self, checking: _Checking, receiver: Any) -> None:
        self._checking, self._receiver = checking, receiver
        self._found: list[IAddress] = []

    def resolutionBegan(self, resolutionInProgress: IHostResolution) -> None:
        """It looks."""
        self._receiver.resolutionBegan(resolutionInProgress)

    def addressResolved(self, address: IAddress) -> None:
        """An address of the name."""
        self._checking.judge(address)
        self._found.append(address)

    def resolutionComplete(self) -> None:
        """These are all."""
        if self._checking.refused is None:
            for address in self._found:
                self._receiver.addressResolved(address)
        self._receiver.resolutionComplete()
