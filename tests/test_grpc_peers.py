"""Our gRPC and the official library understand each other, both ways, over real sockets."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Awaitable
from importlib.util import find_spec
from pathlib import Path
from time import time
from typing import Any, TypeVar

from twisted.internet import reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.internet.interfaces import IReactorTime
from twisted.internet.ssl import Certificate, KeyPair, PrivateCertificate
from twisted.internet.utils import getProcessOutputAndValue
from twisted.trial.unittest import SkipTest, TestCase

from protocols.errors import LineLost, NotReached, Silent
from protocols.fiscal.cabinet.client import CabinetCall, CabinetServer
from protocols.fiscal.cabinet.documents import C, Kind, mac_of
from protocols.fiscal.cabinet.messages import (
    Check,
    CheckResponse,
    Operator,
    RroInfoResponse,
    Status,
    StatusResponse,
    path_of,
)
from protocols.fiscal.https import roots_in
from protocols.fiscal.signatures import unsigned
from protocols.fiscal.verdicts import Answered, NotSent, Refused, Unknown
from protocols.grpc import channel as channels
from protocols.grpc.server import Cut, ServerFactory
from protocols.grpc.statuses import CallFailed, Code
from protocols.simulators.cabinet_server import CabinetServerSimulator
from protocols.simulators.cabinet_site import CabinetSite
from tests.cabinet_papers import REGISTER, Till, item
from tests.certificates import key_pem, make_certificate, make_key, pem

ROOT = Path(__file__).parent.parent
ANY: Any = reactor

T = TypeVar("T")


def here(host: str, port: int) -> TCP4ClientEndpoint:
    """The server's own address: at the other ones of ``host`` another program may have that port."""
    return TCP4ClientEndpoint(ANY, "127.0.0.1", port)


def result(work: Awaitable[T]) -> Deferred[T]:
    """What a coroutine comes to."""

    async def awaited() -> T:
        return await work

    return Deferred.fromCoroutine(awaited())


def pause(seconds: float) -> Deferred[None]:
    """Wait for other programs."""
    over: Deferred[None] = Deferred()
    ANY.callLater(seconds, over.callback, None)
    return over


class PeerCase(TestCase):
    """Certificates, and programs that end with the test."""

    timeout = 60

    def setUp(self) -> None:
        """A certificate for localhost."""
        if find_spec("grpc") is None:
            raise SkipTest("grpcio is not installed")
        key = make_key()
        certificate = make_certificate(time(), key, is_authority=True)
        self.certificate, self.key = Path(self.mktemp()), Path(self.mktemp())
        self.certificate.write_bytes(pem(certificate))
        self.key.write_bytes(key_pem(key))


class TheirServerTests(PeerCase):
    """Our client and the official server."""

    def serve(self, secure: bool = True, **options: int) -> CabinetCall:
        """Start their server; our calls to it."""
        given: dict[str, Any] = {"options": {f"grpc.{name}": value for name, value in options.items()}}
        if secure:
            given |= {"key": str(self.key.absolute()), "certificate": str(self.certificate.absolute())}
        command = [sys.executable, "-m", "tests.grpc_peer", "serve", json.dumps(given)]
        self.peer = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.peer.stdout is not None and self.peer.stdin is not None
        for cleaning in (self.peer.wait, self.peer.stdout.close, self.peer.stdin.close):
            self.addCleanup(cleaning)
        self.port = int(self.peer.stdout.readline())
        roots = roots_in(self.certificate.read_bytes()) if secure else None
        call = CabinetCall(reactor, f"{'https' if secure else 'http'}://localhost:{self.port}", roots, line=here)
        self.addCleanup(pause, 0.05)
        self.addCleanup(call.close)
        return call

    async def exchange(self, call: CabinetCall) -> None:
        """One of each."""
        server = CabinetServer(call, unsigned, 10)
        sale = Check("4000000001", 20260921090502, bytes(300_000), -5, 1)
        registered = CheckResponse("4000000001--5", data_sign=sale.check_sign)
        self.assertEqual(await server.send(sale), Answered(registered))
        info = await server.info("4000000001")
        assert isinstance(info, Answered)
        operators = (Operator("a1", -1, True, "Їжак"), Operator())
        self.assertEqual((info.value.name, info.value.operators, info.value.lnum), ("4000000001", operators, 7))
        told = await server.send(Check("1", 2, b"", 1, 1, id_cancel="status"))
        refused = Refused(Status.ERROR_BAD_HASH_PREV, "ERROR_BAD_HASH_PREV  store 00 chk 11")
        self.assertEqual(told, refused)
        unavailable = await server.send(Check("1", 2, b"", 1, 1, id_cancel="refuse"))
        self.assertEqual(unavailable, Unknown("gRPC status UNAVAILABLE: немає 100%"))
        self.assertIsInstance(await server.last("1"), Unknown)
        self.assertEqual(await server.send(sale), Answered(registered))

    def test_tls(self) -> Deferred[None]:
        """Documents and questions over TLS; the messages are read by Google's library."""
        return result(self.exchange(self.serve()))

    def test_plain(self) -> Deferred[None]:
        """The same without TLS, as with a simulator."""
        return result(self.exchange(self.serve(secure=False)))

    async def test_deadline(self) -> None:
        """A server that is too slow is given up, and the connection goes on."""
        call = self.serve()
        server = CabinetServer(call, unsigned, 10)
        # Connecting is not part of the time in which it has to answer.
        self.assertIsInstance(await server.info("1"), Answered)
        slow = Check("1", 2, b"", 1, 1, id_cancel="sleep").encode()
        await self.assertFailure(result(call("sendChkV2", slow, 0.3)), Silent)
        self.assertIsInstance(await server.info("1"), Answered)

    async def test_other_root(self) -> None:
        """Nothing is sent to a server whose certificate nobody vouches for, or that has another name."""
        self.serve()
        for host, roots in (("localhost", None), ("127.0.0.1", roots_in(self.certificate.read_bytes()))):
            call = CabinetCall(reactor, f"https://{host}:{self.port}", roots, line=here)
            self.assertIsInstance(await CabinetServer(call, unsigned, 10).info("1"), NotSent)

    async def test_leaving(self) -> None:
        """A server that renews its connections every 0.2 s loses no call."""
        server = CabinetServer(self.serve(max_connection_age_ms=200, max_connection_age_grace_ms=1000), unsigned, 10)
        for _ in range(60):
            self.assertIsInstance(await server.info("1"), Answered)
            await pause(0.01)

    async def test_pings(self) -> None:
        """A PING before each of many calls is no offence to the server."""
        self.patch(channels, "QUIET_S", 0.0)
        call = self.serve()
        server = CabinetServer(call, unsigned, 10)
        self.assertIsInstance(await server.info("1"), Answered)
        first = call._channel._kept
        for _ in range(30):
            self.assertIsInstance(await server.info("1"), Answered)
        self.assertIs(call._channel._kept, first)

    async def test_at_once(self) -> None:
        """Several calls at once, each with its own answer."""
        call = self.serve()
        sales = [Check("4", number, b"", number, 1).encode() for number in range(1, 9)]
        answers = await gatherResults([result(call("sendChkV2", sale, 10)) for sale in sales])
        self.assertEqual([CheckResponse.decode(answer).id for answer in answers], [f"4-{n}" for n in range(1, 9)])

    async def test_killed(self) -> None:
        """A server that dies within a call leaves its outcome unknown; the next call is not sent."""
        call = self.serve()
        server = CabinetServer(call, unsigned, 10)
        await server.info("1")
        slow = result(call("sendChkV2", Check("1", 2, b"", 1, 1, id_cancel="sleep").encode(), 10))
        await pause(0.2)
        self.peer.kill()
        await self.assertFailure(slow, LineLost)
        await self.assertFailure(result(call("infoRro", b"", 10)), NotReached)


class TheirClientTests(PeerCase):
    """The official client and our server."""

    def setUp(self) -> None:
        """Our server, with and without TLS."""
        super().setUp()
        self.asked: list[tuple[str, int]] = []
        clock: IReactorTime = ANY
        factory = ServerFactory(clock, self.handle)
        pair = PrivateCertificate.fromCertificateAndKeyPair(
            Certificate.loadPEM(self.certificate.read_bytes()), KeyPair.load(self.key.read_bytes(), 1)
        )
        ports = [
            ANY.listenTCP(0, factory, interface="127.0.0.1"),
            ANY.listenSSL(0, factory, pair.options(), interface="127.0.0.1"),
        ]
        self.plain, self.secure = (port.getHost().port for port in ports)
        for port in ports:
            self.addCleanup(port.stopListening)

    async def handle(self, path: str, request: bytes) -> bytes | Cut | None:
        """Do what the register's number says."""
        self.assertEqual(path, path_of("sendChkV2"))
        check = Check.decode(request)
        self.asked.append((check.rro_fn, check.local_number))
        if check.rro_fn == "cut":
            return Cut()
        if check.rro_fn == "half":
            return Cut(bytes(100))
        if check.rro_fn == "silent":
            return None
        if check.rro_fn == "refuse":
            raise CallFailed(Code.PERMISSION_DENIED, "ключ: 100%")
        return CheckResponse(check.rro_fn, data_sign=check.check_sign).encode()

    async def ask(self, port: int, calls: list[tuple[str, int]], timeout: float, **more: str) -> list[Any]:
        """What their client says."""
        given = json.dumps({"port": port, "calls": calls, "timeout": timeout, **more})
        out, err, status = await getProcessOutputAndValue(
            sys.executable, ["-m", "tests.grpc_peer", "ask", given], env=None, path=str(ROOT)
        )
        self.assertEqual(status, 0, err.decode())
        found: list[Any] = json.loads(out)
        return found

    async def _all(self, port: int, **more: str) -> None:
        # After a break their client may lose its next call on the broken connection: the break is its last one.
        before, after = [("sale", 0), ("sale", 1_000_000), ("refuse", 0), ("cut", 0)], [("sale", 5), ("half", 0)]
        *told, cut = await self.ask(port, before, 10, **more)
        self.assertEqual(told, [["sale", 0], ["sale", 1_000_000], ["PERMISSION_DENIED", "ключ: 100%"]])
        sold, half = await self.ask(port, after, 10, **more)
        self.assertEqual(sold, ["sale", 5])
        self.assertEqual([cut[0], half[0]], ["UNAVAILABLE"] * 2)
        self.assertEqual(
            self.asked, [(call[0], number) for calls in (before, after) for number, call in enumerate(calls)]
        )

    def test_tls(self) -> Deferred[None]:
        """Answers, refusals and cuts come through, over TLS that offers HTTP/2."""
        return result(self._all(self.secure, root=str(self.certificate.absolute())))

    def test_plain(self) -> Deferred[None]:
        """The same without TLS."""
        return result(self._all(self.plain))

    async def test_simulator(self) -> None:
        """The simulated cabinet's server is used by the official client, like the real one."""
        server = CabinetServerSimulator(ANY, [REGISTER])
        port = ANY.listenTCP(0, CabinetSite(server, ANY), interface="127.0.0.1")
        self.addCleanup(port.stopListening)
        till, calls = Till(server), []
        for content in (C(t=Kind.OPEN), C(t=Kind.SALE, rows=item())):
            calls.append(("sendChkV2", till.check(content).encode().hex()))
            till.took(content, till.xml, CheckResponse())
        calls += [(method, till.asking.hex()) for method in ("lastChk", "statusRro", "infoRro", "delLastChk")]
        given = json.dumps({"port": port.getHost().port, "calls": calls})
        out, err, status = await getProcessOutputAndValue(
            sys.executable, ["-m", "tests.grpc_peer", "carry", given], env=None, path=str(ROOT)
        )
        self.assertEqual(status, 0, err.decode())
        opened, sold, last, state, info, deleted = map(bytes.fromhex, json.loads(out))
        number = CheckResponse.decode(sold).id
        self.assertEqual(CheckResponse.decode(opened).status, Status.OK)
        self.assertEqual(mac_of(CheckResponse.decode(last).data_sign), till.tip)
        self.assertTrue(StatusResponse.decode(state).open_shift)
        self.assertEqual(RroInfoResponse.decode(info).name_pay, REGISTER.org_name)
        self.assertEqual(CheckResponse.decode(deleted).id, number)
        self.assertEqual([entry.kind for entry in server.entries()], ["open", "sale", "storno"])

    async def test_silent(self) -> None:
        """A silent server is given up at the deadline."""
        told = await self.ask(self.plain, [("silent", 0), ("sale", 0)], 2)
        self.assertEqual((told[0][0], told[1]), ("DEADLINE_EXCEEDED", ["sale", 0]))
