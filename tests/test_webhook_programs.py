"""The programs of `docs/events.md` that verify signatures, unchanged, and the published libraries where they are."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from base64 import b64encode
from pathlib import Path
from unittest import SkipTest

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.lab.children import free_port
from dmtwisted.system.environment import environment
from protocols.webhooks import headers, signature, written

PROGRAMS = Path(__file__).parent.parent / "docs" / "programs" / "webhooks"
HOST = "127.0.0.1"
SECRET, OLD = written(b"0123456789abcdef" * 2), written(b"x" * 32)
BODY = json.dumps({"id": "7-00ff", "type": "document.made", "data": {"назва": "Чай"}}, ensure_ascii=False).encode()
PATIENCE = 60.0

LIBRARIES = Path.home() / ".cache" / "standardwebhooks"
NODE_MODULES = LIBRARIES / "node_modules"
"""Where `.ci/run` puts the libraries of npm and of Packagist."""


class SignatureTests(SynchronousTestCase):
    """The signature."""

    def test_vector(self) -> None:
        """The example that the libraries of the specification are tested with."""
        secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        made = signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
        self.assertEqual(made, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")

    def test_written(self) -> None:
        """A secret is written as base64 with its mark; anything else is none."""
        self.assertEqual(written(b"\xff" * 24), "whsec_" + b64encode(b"\xff" * 24).decode())
        for other in ("", "0123", "whsec_*"):
            with self.assertRaises(ValueError):
                signature(other, "id", 1, b"")


class ProgramTests(SynchronousTestCase):
    """Each program verifies what we sign, and nothing else."""

    def start(self, *command: str) -> int:
        """Start a program as a receiver; the port on which it listens."""
        if shutil.which(command[0]) is None:
            raise SkipTest(f"there is no {command[0]} here")
        port = free_port()
        given = [part.format(port=port) for part in command]
        told = {**environment(), "PORT": str(port), "WEBHOOK_SECRET": SECRET, "PATH": os.environ["PATH"]}
        process = subprocess.Popen(
            given, cwd=PROGRAMS, env=told, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        until = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection((HOST, port), 1).close()
                return port
            except OSError:
                self.assertLess(time.monotonic(), until)
                time.sleep(0.05)

    def verifies(self, *command: str) -> None:
        """The program takes what is signed with its secret, alone or beside another one, and refuses all else."""
        port, now = self.start(*command), int(time.time())
        good = headers([SECRET], "7-00ff", now, BODY)
        for sent, body, taken in (
            (good, BODY, True),
            (headers([OLD, SECRET], "7-00ff", now, BODY), BODY, True),
            (good, BODY + b" ", False),
            ({**good, "webhook-id": "8-00ff"}, BODY, False),
            ({**good, "webhook-timestamp": str(now + 1)}, BODY, False),
            (headers([OLD], "7-00ff", now, BODY), BODY, False),
            (headers([SECRET], "7-00ff", now - 1000, BODY), BODY, False),
            ({}, BODY, False),
        ):
            wire = http.client.HTTPConnection(HOST, port, timeout=PATIENCE)
            wire.request("POST", "/", body, {"Content-Type": "application/json", **sent})
            self.assertEqual(wire.getresponse().status, 204 if taken else 401, sent)
            wire.close()

    def test_python(self) -> None:
        """Python."""
        self.verifies(sys.executable, "receiver.py")

    def test_node(self) -> None:
        """JavaScript."""
        self.verifies("node", "receiver.js")

    def test_php(self) -> None:
        """PHP."""
        self.verifies("php", "-S", f"{HOST}:{{port}}", "receiver.php")


class LibraryTests(SynchronousTestCase):
    """The published libraries, where they are installed."""

    def test_python(self) -> None:
        """`standardwebhooks` of PyPI."""
        try:
            from standardwebhooks import Webhook, WebhookVerificationError  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise SkipTest("standardwebhooks is not installed") from None
        now = int(time.time())
        good = headers([OLD, SECRET], "7-00ff", now, BODY)
        self.assertEqual(Webhook(SECRET).verify(BODY, good), json.loads(BODY))
        with self.assertRaises(WebhookVerificationError):
            Webhook(SECRET).verify(BODY, headers([OLD], "7-00ff", now, BODY))

    def test_node(self) -> None:
        """`standardwebhooks` of npm."""
        code = (
            'const { Webhook } = require("standardwebhooks"); const [secret, sent, body] = process.argv.slice(1);'
            "new Webhook(secret).verify(body, JSON.parse(sent));"
        )
        self.verifies("node", NODE_MODULES / "standardwebhooks", "-e", code)

    def verifies(self, language: str, library: Path, *code: str) -> None:
        """The library takes what is signed with the secret beside another one, and refuses what is not."""
        if shutil.which(language) is None:
            raise SkipTest(f"there is no {language} here")
        if not library.exists():
            raise SkipTest(f"standardwebhooks for {language} is not installed")
        told = {**os.environ, "NODE_PATH": str(NODE_MODULES)}
        now = int(time.time())
        for secrets, taken in (([OLD, SECRET], True), ([OLD], False)):
            sent = json.dumps(headers(secrets, "7-00ff", now, BODY))
            command = [language, *code, SECRET, sent, BODY.decode()]
            done = subprocess.run(command, capture_output=True, env=told, check=False)
            self.assertEqual(done.returncode == 0, taken, done.stderr.decode())
