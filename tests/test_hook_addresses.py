"""Where events may go: which addresses are taken, and what is checked when a connection is made."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.error import DNSLookupError
from twisted.internet.interfaces import IHostnameResolver
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from dmtwisted.hardened import BadList
from dmtwisted.hooks.addresses import Refused, check_address, check_url
from dmtwisted.hooks.posting import CheckedEndpoint
from dmtwisted.host_names import HostList, read_hosts

NOTHING = HostList()
OUTSIDE = ("93.184.216.34", "2606:2800:220:1::", "10.1.2.3", "192.168.1.20", "172.16.0.9", "fd00::20")
"""The internet, and the private network of a shop, where its accounting may be."""

INSIDE = (
    *("127.0.0.1", "127.8.9.1", "::1", "0.0.0.0", "::", "169.254.169.254", "fe80::1", "224.0.0.1", "ff02::1"),
    *("255.255.255.255", "240.0.0.1"),
    # The same in other clothes.
    *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "2002:7f00:1::", "::127.0.0.1"),
)


class RuleTests(SynchronousTestCase):
    """The rule for addresses."""

    def check(self, address: str, allowed: str = "", host: str = "x.example", own: bool = False) -> None:
        """Check that ``address`` may be reached."""
        check_address(host, ip_address(address), read_hosts(allowed), lambda _: own)

    def test_outside(self) -> None:
        """The internet and private networks may be reached."""
        for address in OUTSIDE:
            self.check(address)

    def test_inside(self) -> None:
        """This machine, its link and what is no host may not, in whatever form, unless they are named."""
        for address in INSIDE:
            with self.assertRaises(Refused, msg=address):
                self.check(address)
            with self.assertRaises(Refused, msg=address):
                self.check(address, "other.example, 10.0.0.0/8")
            self.check(address, "x.example")
        self.check("127.0.0.1", "127.0.0.0/8")

    def test_own(self) -> None:
        """The machine's own addresses are this machine."""
        with self.assertRaises(Refused):
            self.check("192.168.1.20", own=True)
        self.check("192.168.1.20", "192.168.1.20", own=True)

    def test_urls(self) -> None:
        """An address is https, or http to a host that is named; without login, fragment and blanks."""
        for url, allowed in (
            ("https://accounts.example/events", ""),
            ("https://192.168.1.20:8443/x?y=1", ""),
            ("http://accounts.example:8080/", "accounts.example"),
            ("http://127.0.0.1:8080/", "127.0.0.0/8"),
            ("http://[::1]:8080/", "::1"),
        ):
            check_url(url, allowed)
        for url, allowed in (
            ("http://accounts.example/", ""),
            ("http://localhost/", "127.0.0.1"),
            ("ftp://accounts.example/", "accounts.example"),
            ("https://user:secret@accounts.example/", ""),
            ("https://accounts.example/#x", ""),
            ("https://accounts.example/a b", ""),
            ("https:///x", ""),
            ("https://accounts.example:99999/", ""),
        ):
            with self.assertRaises(ValueError, msg=url):
                check_url(url, allowed)
        with self.assertRaises(BadList):
            check_url("http://accounts.example/", "not a host!")


@implementer(IHostnameResolver)
class Names:
    """A name server whose answers change."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)

    def resolveHostName(  # type: ignore[override]
        self, receiver: Any, hostName: str, portNumber: int = 0, *_: Any, **__: Any
    ) -> Any:
        """The next answer."""
        receiver.resolutionBegan(object())
        for host in self.answers.pop(0):
            made = IPv6Address("TCP", host, portNumber) if ":" in host else IPv4Address("TCP", host, portNumber)
            receiver.addressResolved(made)
        receiver.resolutionComplete()
        return receiver


class ConnectionTests(SynchronousTestCase):
    """What happens when a connection is about to be made."""

    def connect(self, *answers: list[str]) -> list[Any]:
        """What was tried, once for each answer of the name server; the failure where nothing was."""
        reactor: Any = MemoryReactorClock()
        reactor.nameResolver = Names(*answers)
        found: list[Any] = []
        for _ in answers:
            before = len(reactor.tcpClients)
            endpoint = CheckedEndpoint(
                reactor, "x.example", 443, lambda one: check_address("x.example", one, NOTHING, lambda _: False)
            )
            due = endpoint.connect(Factory.forProtocol(Protocol))
            reactor.advance(5)
            tried = [client[0] for client in reactor.tcpClients[before:]]
            found.append(tried or type(self.failureResultOf(due).value))
            due.addErrback(lambda _: None)
        return found

    def test_rebinding(self) -> None:
        """A name is looked up for each connection, and what it leads to then is what counts."""
        self.assertEqual(
            self.connect(["93.184.216.34"], ["127.0.0.1"], ["10.0.0.5"]), [["93.184.216.34"], Refused, ["10.0.0.5"]]
        )

    def test_one_of_several(self) -> None:
        """When one of several addresses may not be reached, none is tried."""
        self.assertEqual(self.connect(["93.184.216.34", "169.254.169.254"], ["::1", "93.184.216.34"]), [Refused] * 2)

    def test_nothing(self) -> None:
        """A name without addresses is unknown."""
        self.assertEqual(self.connect([]), [DNSLookupError])
