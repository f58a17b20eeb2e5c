"""A signing agent: ``dmtwisted signer --key FILE --listen HOST:PORT`` (docs/reference/cryptography.md#signing-agent).

The key is opened once and stays in this process: registers get signatures and nothing else. Their token is in a file
that is created at the first start.
"""

from __future__ import annotations

import getpass
import hmac
import os
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, cast

from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError
from twisted.internet.threads import deferToThread
from twisted.logger import Logger
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python import usage
from twisted.python.failure import Failure
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request

from dmtwisted.access.local_tls import local_context
from dmtwisted.commands.options import CommandOptions
from dmtwisted.commands.servers import LOOPBACK, NotStarted, QuietSite, place, serve
from dmtwisted.config import place_of
from dmtwisted.secrets import write_private
from dmtwisted.system.owners import taken
from protocols.fiscal import signing_agent
from protocols.fiscal.crypto.certificates import Certificate, read_certificates
from protocols.fiscal.crypto.errors import CryptoError
from protocols.fiscal.crypto.signer import ISigner, open_signer
from protocols.fiscal.signing_agent import AgentError, Failed, KeyTold, SignAsked, Signed

PASSWORD = "DMTWISTED_KEY_PASSWORD"
"""The environment variable with the password of the key file."""

TOKEN_FILE = "signer.token"

Aside = Callable[..., "Deferred[bytes]"]
"""Runs a function in a thread."""


class SignerOptions(CommandOptions):
    """``dmtwisted signer``"""

    synopsis = "--key FILE [options]"
    written: ClassVar = {"tls": "FOLDER"}
    longdesc = (
        "Sign for registers of the driver prro, on this machine or another, with a key that stays in this process."
        f" The key's password is asked for, or taken from --password-file or the environment ({PASSWORD})."
    )
    optParameters: ClassVar[list[Any]] = [
        ["key", "k", None, "The key file: Key-6.dat, .pfx, .p12, .pk8 or .jks.", Path],
        ["listen", "l", (LOOPBACK, 3950), "Where registers connect; a port alone serves this machine only.", place],
        ["password-file", None, None, "A file whose first line is the password of the key.", Path],
        ["token-file", "t", Path(TOKEN_FILE), "The file of the registers' token; created when absent.", Path],
        ["tls", None, None, "Use TLS; a folder for the agent's certificate and authority.pem.", Path],
        ["name", "n", None, "The name of the agent for its certificate; by default the host of --listen."],
    ]

    def __init__(self) -> None:
        super().__init__()
        self["certificates"] = []

    def opt_certificate(self, file: str) -> None:
        """A file of certificates, for key files without them; can be repeated."""
        self["certificates"].append(Path(file))

    opt_c = opt_certificate

    def postOptions(self) -> None:
        """Require a key, and TLS on the network."""
        if self["key"] is None:
            raise usage.UsageError("--key: the key file is expected")
        if self["listen"][0] not in (LOOPBACK, "localhost", "::1") and self["tls"] is None:
            raise usage.UsageError("--listen: other machines need --tls, which protects receipts and the token")


class Agent(Resource):
    """Answers `/key` and `/sign`.

    :param aside: runs the signing in a thread.
    """

    isLeaf = True
    log = Logger()

    def __init__(self, signer: ISigner, token: str, aside: Aside = deferToThread) -> None:
        super().__init__()
        self._signer, self._token, self._aside = signer, token.encode(), aside

    def render(self, request: Request) -> bytes | int:
        """Answer one request."""
        given = (request.getHeader(b"authorization") or b"").partition(b" ")[2].strip()
        if not hmac.compare_digest(given, self._token):
            return self._failed(request, 401, "the token is not known")
        path = bytes(request.path).decode("latin-1")
        if (request.method, path) == (b"GET", signing_agent.KEY_PATH):
            raw = self._signer.certificate.raw
            return self._answer(request, KeyTold(protocol=signing_agent.VERSION, certificate=raw))
        if (request.method, path) == (b"POST", signing_agent.SIGN_PATH):
            return self._sign(request)
        return self._failed(request, 404, "GET /key or POST /sign is expected")

    def _sign(self, request: Request) -> bytes | int:
        assert request.content is not None
        body = request.content.read(signing_agent.MOST_BYTES + 1)
        if len(body) > signing_agent.MOST_BYTES:
            return self._failed(request, 413, f"more than {signing_agent.MOST_BYTES} bytes")
        try:
            asked = signing_agent.decode(body, SignAsked)
        except AgentError as error:
            return self._failed(request, 400, str(error))
        gone: list[object] = []
        request.notifyFinish().addErrback(gone.append)

        def signed(message: bytes) -> None:
            if not gone:
                request.write(self._answer(request, Signed(message)))
                request.finish()

        def failed(failure: Failure) -> None:
            self.log.failure("a signature failed", failure)
            if not gone:
                request.write(self._failed(request, 500, str(failure.value) or type(failure.value).__name__))
                request.finish()

        self._aside(self._signer.sign, asked.content).addCallbacks(signed, failed)
        return NOT_DONE_YET

    def _answer(self, request: Request, value: KeyTold | Signed | Failed) -> bytes:
        request.setHeader(b"content-type", signing_agent.JSON_TYPE.encode())
        request.setHeader(b"cache-control", b"no-store")
        return signing_agent.encode(value)

    def _failed(self, request: Request, status: int, why: str) -> bytes:
        request.setResponseCode(status)
        return self._answer(request, Failed(why))


def token_in(file: Path) -> tuple[str, bool]:
    """The token in ``file``, created when absent; and whether it was created.

    :raises NotStarted: when it cannot be read or written, or is empty.
    """
    try:
        if file.exists():
            token, made = file.read_text("ascii").strip(), False
        else:
            token, made = secrets.token_urlsafe(32), True
            write_private(file, f"{token}\n".encode())
    except (OSError, UnicodeDecodeError) as error:
        raise NotStarted(f"the token {file}: {_reason(error)}") from None
    if not token:
        raise NotStarted(f"the token {file} is empty")
    return token, made


def signer_in(options: SignerOptions, ask: Callable[[str], str] = getpass.getpass) -> ISigner:
    """The signer with the key file; takes seconds.

    :raises NotStarted: when it cannot be opened, or this machine calculates wrongly.
    """
    file: Path = options["key"]
    try:
        data = file.read_bytes()
        known: list[Certificate] = []
        for one in options["certificates"]:
            known += read_certificates(one.read_bytes())
        signer = open_signer(data, _password(options, file, ask), known)
    except (OSError, CryptoError, UnicodeDecodeError) as error:
        raise NotStarted(f"the key {file}: {_reason(error)}") from None
    days = signer.facts.days_left(datetime.now(UTC))
    if days < 0:
        raise NotStarted(f"the key {file}: its certificate ended on {signer.facts.valid_to:%Y-%m-%d}")
    return signer


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _password(options: SignerOptions, file: Path, ask: Callable[[str], str]) -> str:
    if options["password-file"] is not None:
        given: str = options["password-file"].read_text("utf-8")
        return given.splitlines()[0] if given else ""
    if PASSWORD in os.environ:
        return os.environ[PASSWORD]
    return ask(f"Password of {file}: ")


def start(options: SignerOptions, reactor: Any, ask: Callable[[str], str] = getpass.getpass) -> str:
    """Open the key and the port; the line that describes them.

    :raises NotStarted: when one of them cannot be opened.
    """
    # First what can be wrong: a key that does not open leaves no file behind.
    signer = signer_in(options, ask)
    token, made = token_in(options["token-file"])
    site = QuietSite(Agent(signer, token), reactor)
    host, number = options["listen"]
    factory: object = site
    try:
        if options["tls"] is not None:
            context = local_context(options["tls"], options["name"] or host, reactor.seconds())
            factory = TLSMemoryBIOFactory(context, False, cast(Any, site), reactor)
    except (OSError, ValueError) as error:
        raise NotStarted(f"no TLS: {error}") from None
    try:
        port = reactor.listenTCP(number, factory, interface=host)
    except CannotListenError as error:
        why, advice = taken(number, error.socketError)
        raise NotStarted(f"cannot listen on {place_of(host, number)}: {why}", advice) from None
    address = port.getHost()
    scheme = "http" if options["tls"] is None else "https"
    facts = signer.facts
    return (
        f"dmtwisted signer: {facts.subject}, until {facts.valid_to:%Y-%m-%d}, on {scheme}://{address.host}:{address.port},"
        f" token {'created ' if made else ''}in {options['token-file']}"
    )


def run(options: SignerOptions) -> int:
    """Sign until SIGTERM or Ctrl-C; 1 after one line that says why the agent cannot run."""
    return serve("signer", lambda reactor: start(options, reactor))
