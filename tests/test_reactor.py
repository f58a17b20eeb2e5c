"""What the service leaves unloaded."""

from __future__ import annotations

import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

LOADING = """
import sys
from dmtwisted.system.reactor import without_http2
without_http2()
from twisted.web import http
print(http.H2_ENABLED, "h2" in sys.modules)
from protocols.grpc.connection import ClientConnection
print("h2" in sys.modules)
"""


class Http2Tests(SynchronousTestCase):
    """HTTP/2 is for our calls alone."""

    def test_not_offered(self) -> None:
        """The web server neither offers nor loads HTTP/2; calls to the tax service find it."""
        shown = subprocess.run([sys.executable, "-c", LOADING], capture_output=True, text=True, check=True)
        self.assertEqual(shown.stdout.splitlines(), ["False False", "True"])
