"""HTTPS as a process: real certificates, a real listener, clients that check whom they talk to."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import ssl
import time
from typing import Any
from unittest import SkipTest

from dmtwisted.access.authority import issue, make_authority
from dmtwisted.access.certificates import Identity
from dmtwisted.lab.children import free_port
from tests.certificates import key_pem, make_key
from tests.specification import promises
from tests.test_service_process import HOST, PATIENCE, ProcessCase, Service, send, until
from tests.web_case import EXECUTE, fiscal, sale

START = """
import sys
from pathlib import Path
from twisted.internet import reactor
from dmtwisted.state_folder import prepare_state
from dmtwisted.config import load
from dmtwisted.store.sqlite.store import SqliteStore
from web.service import WholeService, bind, log_observer
from twisted.logger import globalLogBeginner

config = load(Path(sys.argv[1]))
prepare_state(config.state)
observer = log_observer(config.log, {}, reactor)
globalLogBeginner.beginLoggingTo([observer], redirectStandardIO=False)
store = SqliteStore(reactor, config.sqlite_file)
service = WholeService(config, store, bind(config.server), reactor, observer)
service.startService()
reactor.addSystemEventTrigger("before", "shutdown", service.stopService)
reactor.run()
"""
"""The parts as the plugin puts them together."""


class HttpsCase(ProcessCase):
    """Tests that start a service with a certificate of an authority of their own."""

    def setUp(self) -> None:
        """An authority, and a certificate for this machine."""
        super().setUp()
        self.authority = make_authority(time.time())
        self.file, self.key = self.folder / "desk.pem", self.folder / "desk.key"
        self.install(issue(self.authority, [HOST, "localhost"], time.time()))
        (self.folder / "authority.pem").write_bytes(self.authority.certificates_pem())
        self.trust = ssl.create_default_context(cafile=str(self.folder / "authority.pem"))

    def install(self, identity: Identity) -> None:
        """Write certificate and key."""
        self.key.write_bytes(identity.key_pem())
        self.key.chmod(0o600)
        self.file.write_bytes(identity.certificates_pem())

    host = HOST

    def start(self) -> Service:
        """A service that has just been started."""
        text = (
            f'[server]\nhost = "{self.host}"\nport = {free_port()}\n[service]\ntraining = true\n'
            '[tls]\ncertificate = "desk.pem"\nkey = "desk.key"\n'
        )
        return self.spawn("-c", START, self.config(text))

    def ready(self) -> Service:
        """A service that has said on which port it serves, and asked after everything that may be open."""
        service = self.start()
        found = until(lambda: re.search(r"https://[\w.]+:(\d+)", service.printed), "no port was printed")
        service.port = int(found[1])
        until(lambda: self.is_ready(service) or None, "it did not become ready")
        return service

    def is_ready(self, service: Service) -> bool:
        """Whether it says that it is."""
        connection = self.connect(service)
        send(connection, "GET", "/health/ready", None)
        return connection.getresponse().status == 200

    def connect(self, service: Service) -> http.client.HTTPSConnection:
        """A connection of a client that trusts only the authority."""
        connection = http.client.HTTPSConnection(HOST, service.port, timeout=PATIENCE, context=self.trust)
        self.addCleanup(connection.close)
        return connection

    def ask(self, connection: http.client.HTTPConnection, method: str, path: str, body: object = None) -> Any:
        """The decoded answer to a request."""
        send(connection, method, path, body)
        answer = connection.getresponse()
        return json.loads(answer.read())

    def serial(self, service: Service) -> str:
        """The serial number of the certificate that a new connection gets."""
        connection = self.connect(service)
        connection.connect()
        certificate: Any = connection.sock.getpeercert()
        return str(certificate["serialNumber"])


class HttpsServiceTests(HttpsCase):
    """A service with a certificate."""

    @promises("1.4.2", "1.4a.1", "1.4b.1.1", "1.4b.1.2", "1.4c.1")
    def test_https_only(self) -> None:
        """It sells over HTTPS to clients that trust its authority, and not over HTTP."""
        service = self.ready()
        connection = self.connect(service)
        self.assertEqual(self.ask(connection, "POST", EXECUTE, fiscal(0, "open"))["res"], 0)
        self.assertEqual(self.ask(connection, "POST", EXECUTE, sale("first"))["res"], 0)
        self.assertIn(f"https://localhost:{service.port}", service.printed)
        plain = http.client.HTTPConnection(HOST, service.port, timeout=PATIENCE)
        self.addCleanup(plain.close)
        plain.request("GET", "/health/live")
        self.assertRaises((http.client.HTTPException, OSError), plain.getresponse)
        stranger = http.client.HTTPSConnection(HOST, service.port, timeout=PATIENCE)
        self.addCleanup(stranger.close)
        self.assertRaises(ssl.SSLCertVerificationError, stranger.request, "GET", "/health/live")
        # The till goes on as if nothing had been.
        self.assertEqual(self.ask(connection, "POST", EXECUTE, sale("second"))["res"], 0)
        self.assertEqual(service.stop(), 0)

    @promises("1.4a.1", "1.4b.1.1")
    def test_both_families(self) -> None:
        """At IPv6 too it is HTTPS alone."""
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            raise SkipTest("this machine has no IPv6") from None
        self.host = ""
        service = self.ready()
        self.assertIn(
            f"serving on https://127.0.0.1:{service.port}/ and https://[::1]:{service.port}/", service.printed
        )
        wire = socket.create_connection(("::1", service.port), PATIENCE)
        with self.trust.wrap_socket(wire, server_hostname="localhost") as secured:
            secured.sendall(b"GET /health/live HTTP/1.0\r\n\r\n")
            self.assertIn(b" 200 ", secured.recv(100))
        plain = http.client.HTTPConnection("::1", service.port, timeout=PATIENCE)
        self.addCleanup(plain.close)
        plain.request("GET", "/health/live")
        self.assertRaises((http.client.HTTPException, OSError), plain.getresponse)

    def test_replaced(self) -> None:
        """A certificate is replaced by a signal, without dropping a connection; a broken one leaves it as it is."""
        if not hasattr(signal, "SIGHUP"):
            raise SkipTest("there is no such signal here")
        service = self.ready()
        connection = self.connect(service)
        self.assertEqual(self.ask(connection, "GET", "/health/live"), {"status": "ok"})
        before = self.serial(service)
        self.install(issue(self.authority, [HOST], time.time()))
        os.kill(service.process.pid, signal.SIGHUP)
        until(lambda: "certificate replaced" in service.printed or None, "it was not replaced")
        after = self.serial(service)
        self.assertNotEqual(after, before)
        self.key.write_bytes(key_pem(make_key()))
        os.kill(service.process.pid, signal.SIGHUP)
        until(lambda: "the old one stays" in service.printed or None, "nothing was logged")
        self.assertEqual(self.serial(service), after)
        self.assertEqual(self.ask(connection, "GET", "/health/live"), {"status": "ok"})


class RefusedStartTests(HttpsCase):
    """A certificate that cannot be served."""

    @promises("1.4b.1.1")
    def test_expired(self) -> None:
        """The start ends with one line and status 1, and nothing is served over HTTP instead."""
        long_ago = time.time() - 1000 * 86400
        self.install(issue(make_authority(long_ago), [HOST], long_ago))
        service = self.start()
        self.assertEqual(service.wait(), 1)
        self.assertEqual(service.complaints.count("\n"), 1, service.complaints)
        self.assertRegex(service.complaints, r"^dmtwisted: .*desk\.pem: expired on \d{4}-\d\d-\d\d$")
        self.assertNotIn("serving", service.printed)
