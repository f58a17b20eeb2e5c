"""Where events may go: which addresses are taken, and what is checked when a connection is made."""

from __future__ import annotations

from email.utils import formatdate
from ipaddress import ip_address
from typing import Any

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.defer import Deferred
from twisted.internet.error import DNSLookupError
from twisted.internet.interfaces import IHostnameResolver
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import Clock
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from dmtwisted.hardened import BadList
from dmtwisted.hooks.addresses import Refused, check_address, check_url
from dmtwisted.hooks.posting import Answered, CheckedEndpoint, post
from dmtwisted.host_names import HostList, read_hosts
from protocols.errors import WireError
from tests.hook_desk import HOST, URL, Receivers, answer
from tests.shop import MORNING

NOTHING = HostList()
OUTSIDE = (
    *("93.184.216.34", "2606:2800:220:1::", "10.1.2.3", "192.168.1.20", "172.16.0.9", "fd00::20"),
    # No form of an address of IPv4, or of one outside.
    *("::5:7f00:1", "::93.184.216.34", "64:ff9b::5db8:d822", "2002:5db8:d822::"),
)
"""The internet, and the private network of a shop, where its accounting may be."""

INSIDE = (
    *("127.0.0.1", "127.8.9.1", "::1", "0.0.0.0", "::", "169.254.169.254", "fe80::1", "224.0.0.1", "ff02::1"),
    *("255.255.255.255", "240.0.0.1"),
    # The same in other clothes.
    *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "2002:7f00:1::", "::127.0.0.1"),
    "2001:0:4136:e378:8000:63bf:80ff:fffe",
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
        self.check("64:ff9b::7f00:1", "127.0.0.1")
        # What is no host is not named by any list.
        with self.assertRaises(Refused):
            self.check("127.0.0.1", host="a..b")

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
        for url in ("http://accounts.example/", "https://accounts.example/"):
            with self.assertRaises(BadList, msg=url):
                check_url(url, "not a host!")


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

    def test_zone(self) -> None:
        """An address with the name of a network card is judged as the address."""
        self.assertEqual(self.connect(["fe80::1%eth0"], ["fd00::20%eth0"]), [Refused, ["fd00::20%eth0"]])


class PostingTests(SynchronousTestCase):
    """One try, without a service."""

    def answered(self, status: int, *headers: str, body: bytes = b"") -> Answered:
        """What is made of an answer."""
        clock = Clock()
        clock.advance(MORNING)
        receivers = Receivers(clock)
        receivers.answers[HOST] = [answer(status, body, *headers)]
        due = Deferred.fromCoroutine(post(clock, URL, {}, b"{}", line=receivers.line))
        for _ in range(10):
            receivers.flush()
        return self.successResultOf(due)

    def test_taken(self) -> None:
        """An event is taken when the status is 2xx."""
        taken = [status for status in (200, 204, 299, 300, 404, 500) if self.answered(status).taken]
        self.assertEqual(taken, [200, 204, 299])
        self.assertFalse(Answered(199, None, "").taken)

    def test_retry_after(self) -> None:
        """With 429 and 503 a receiver may ask for a pause, in seconds or until a time; other words ask for none."""
        for status, asked, pause in (
            *((429, "100", 100.0), (503, "0", 0.0), (500, "100", None), (200, "100", None)),
            *((429, "9" * 30, 999_999_999.0), (429, "soon", None), (503, "-5", None), (503, "\xb2", None)),
            *((429, formatdate(MORNING + 90), 90.0), (429, formatdate(MORNING - 90), 0.0)),
        ):
            found = self.answered(status, f"Retry-After: {asked}")
            self.assertEqual((found.status, found.pause_s), (status, pause), asked)
        self.assertIsNone(self.answered(429).pause_s)

    def test_text(self) -> None:
        """A person sees the beginning of the answer, whatever bytes it has."""
        self.assertEqual(self.answered(500, body=b"x" * 9000).text, "x" * 4096)
        self.assertEqual(self.answered(200, body=b"a\xff").text, "a\ufffd")

    def test_checked(self) -> None:
        """A name that leads into the machine is reached only where the subscriber's setting names it."""
        for allowed, tried in (("", []), ("x.example", [("127.0.0.1", 8080)])):
            reactor: Any = MemoryReactorClock()
            reactor.nameResolver = Names(["127.0.0.1"])
            due = Deferred.fromCoroutine(post(reactor, "http://x.example:8080/", {}, b"", allowed))
            reactor.advance(5)
            self.assertEqual([client[:2] for client in reactor.tcpClients], tried)
            reactor.advance(6)
            self.failureResultOf(due, WireError)
