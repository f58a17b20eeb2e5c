"""A mail server for the labs: it takes every e-mail, and remembers to whom it went."""

from __future__ import annotations

from email import message_from_bytes
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Lock, Thread
from typing import NamedTuple

HOST = "127.0.0.1"


class Mail(NamedTuple):
    """One e-mail that came whole."""

    to: str
    message_id: str


class Mailbox:
    """A server on a port of its own, in threads of this process (RFC 5321, without TLS)."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.mails: list[Mail] = []
        """What came, in its order."""
        self._server = _Server((HOST, 0), _Session)
        self._server.mailbox = self
        self.port = int(self._server.server_address[1])
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def came(self) -> list[Mail]:
        """What came so far."""
        with self.lock:
            return list(self.mails)


class _Server(ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 64
    mailbox: Mailbox

    def handle_error(self, *_: object) -> None:
        """Bear that the service was killed in the middle."""


class _Session(StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        """One connection."""
        self._say(b"220 mailbox")
        to = ""
        while line := self.rfile.readline():
            verb = line.strip().upper()
            if verb.startswith(b"RCPT TO:"):
                to = line.partition(b":")[2].strip().strip(b"<>").decode()
            if verb == b"DATA":
                self._say(b"354 go on")
                self._take(to)
            elif verb == b"QUIT":
                self._say(b"221 bye")
                return
            else:
                self._say(b"250 mailbox" if verb.startswith((b"EHLO", b"HELO")) else b"250 ok")

    def _take(self, to: str) -> None:
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            if not line:
                return
            lines.append(line)
        message_id = message_from_bytes(b"".join(lines)).get("Message-ID", "")
        with self.server.mailbox.lock:
            self.server.mailbox.mails.append(Mail(to, str(message_id)))
        self._say(b"250 taken")

    def _say(self, line: bytes) -> None:
        self.wfile.write(line + b"\r\n")
