"""HTTPS of the service under Wine: an installed certificate, and clients on Linux that check it."""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
from typing import Any

from tests.test_service_process import HOST, PATIENCE, send, until
from tests.web_case import EXECUTE, fiscal, sale
from tests.windows.wine import WineCase

TLS = ("-m", "dmtwisted.commands.main", "tls", "authority", "--state", "state")


class HttpsTests(WineCase):
    """A service with a certificate of its own authority."""

    def number(self, connection: http.client.HTTPConnection) -> str:
        """The number of its certificate."""
        line: Any = connection.sock
        return str(line.getpeercert()["serialNumber"])

    def test_https(self) -> None:
        """It sells by HTTPS alone, and takes a renewed certificate while connections stay open."""
        self.wine.python(*TLS, folder=self.folder)
        authority = str(self.folder / "state" / "tls" / "authority.pem")
        service = self.windows_service(ssl.create_default_context(cafile=authority))
        self.assertIn("IOCPReactor", service.printed)
        self.assertEqual([service.execute(body)["res"] for body in (fiscal(0, "open"), sale("first"))], [0, 0])
        with self.assertRaises((http.client.HTTPException, OSError)):
            plain = http.client.HTTPConnection(HOST, service.port, timeout=PATIENCE)
            self.addCleanup(plain.close)
            send(plain, "POST", EXECUTE, sale("plain"))
            plain.getresponse()
        for version, status in (("-tls1_1", 1), ("-tls1_2", 0), ("-tls1_3", 0)):
            check = ("-CAfile", authority, "-verify_return_error", "-verify_ip", HOST)
            command = ("openssl", "s_client", "-connect", f"{HOST}:{service.port}", version, *check)
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, status, done)
        before, after = service.connect(), service.connect()
        before.connect()
        self.addCleanup(before.close)
        self.wine.python(*TLS, folder=self.folder)
        until(lambda: True if "certificate replaced" in service.printed else None, "it is not renewed")
        after.connect()
        self.addCleanup(after.close)
        self.assertNotEqual(self.number(before), self.number(after))
        for number, connection in enumerate((before, after)):
            send(connection, "POST", EXECUTE, sale(f"renewed-{number}"))
            self.assertEqual(json.loads(connection.getresponse().read())["res"], 0)
        self.assertEqual(len(service.sales()), 3)
        self.assertEqual(service.stop(), 0)
