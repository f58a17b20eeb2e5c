"""HTTPS for the one listener: TLS 1.2 and 1.3, and a certificate that is replaced while connections stay open."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from OpenSSL import SSL
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator, IProtocolFactory, IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.protocols.tls import TLSMemoryBIOFactory
from zope.interface import implementer

from dmtwisted.access.certificates import DAY, BadCertificate, Identity, check, facts, read_pem, remarks
from dmtwisted.clock import wall
from dmtwisted.config import ConfigError, TlsConfig

CIPHERS = b"ECDHE+AESGCM:ECDHE+CHACHA20"
"""For TLS 1.2: forward secrecy and no CBC (stack.md 6). TLS 1.3 has nothing else."""

LOOK_EVERY = 5.0
"""Seconds between two looks at the files; a change counts once they have stood still for that long."""

HTTP = b"http/1.1"
"""All that is agreed on by ALPN: HTTP/2 is not served."""

Seen = tuple[tuple[int, int, int], ...]


@implementer(IOpenSSLServerConnectionCreator)
class LiveCertificate:
    """The certificate that new connections get.

    It is looked at again when its files change; a broken one is logged and the old one goes on. Connections that
    are open keep what they began with.

    :param clock: the machine's time, by which callers judge the certificate too; not the service's, which can be
        moved.
    """

    log = Logger()

    def __init__(self, config: TlsConfig, clock: IReactorTime) -> None:
        self._certificate, self._key = Path(config.certificate), Path(config.key)
        self._passphrase, self._clock = config.passphrase, clock
        self._identity: Identity | None = None
        self._context: SSL.Context | None = None
        # What the files looked like: when they were taken over, and at the last look.
        self._taken: Seen | None = None
        self._last: Seen | None = None
        self._trouble = ""
        self._reminded = 0.0
        self._looking = LoopingCall(self._look)
        self._looking.clock = clock

    def open(self) -> None:
        """Take the certificate for the first time.

        :raises BadCertificate: when it cannot be served; nobody is served in the clear instead.
        """
        self.reload()

    def watch(self) -> None:
        """Look at the files from now on."""
        self._looking.start(LOOK_EVERY, now=False)

    def close(self) -> None:
        """Look no more."""
        if self._looking.running:
            self._looking.stop()

    def reload(self) -> None:
        """Take what the files hold now for all connections from here on.

        :raises BadCertificate: when it cannot be served; then the one from before stays.
        """
        seen = self._see()
        try:
            identity = read_pem(self._certificate, self._key, self._passphrase)
            check(identity, wall(self._clock), self._certificate)
            context = make_context(identity)
        except BadCertificate as error:
            self._trouble, self._taken = str(error), seen
            raise
        changed = self._identity is not None
        self._identity, self._context = identity, context
        self._taken, self._last, self._trouble, self._reminded = seen, seen, "", 0.0
        self.log.info(
            "certificate {how}: {subject}, {days} days left",
            how="replaced" if changed else "taken",
            subject=identity.subject,
            days=identity.days_left(wall(self._clock)),
        )
        self._remind()

    def reload_or_log(self) -> None:
        """As `reload`; what is wrong goes to the log."""
        try:
            self.reload()
        except BadCertificate as error:
            self.log.error("the new certificate is not taken, the old one stays: {why}", why=str(error))

    def around(self, site: IProtocolFactory) -> IProtocolFactory:
        """``site`` behind TLS."""
        factory: Any = TLSMemoryBIOFactory(self, False, site, self._clock)
        return factory  # type: ignore[no-any-return]

    def serverConnectionForTLS(self, protocol: Any) -> SSL.Connection:
        """The TLS state of a new connection."""
        assert self._context is not None
        return SSL.Connection(self._context, None)

    def status(self) -> dict[str, Any]:
        """How it stands, for people: names, issuer, days left, what to see to."""
        identity = self._identity
        if identity is None:
            return {"error": self._trouble}
        told = facts(identity, wall(self._clock), self._key)
        return {"certificate": str(self._certificate), **told, "error": self._trouble}

    def _look(self) -> None:
        seen = self._see()
        # Certificate and key are often written one after the other.
        due = seen != self._taken and seen == self._last
        self._last = seen
        try:
            if due:
                self.reload_or_log()
            self._remind()
        except Exception:
            # A certificate that even the library stumbles over must not end the looking.
            self.log.failure("the certificate could not be looked at")

    def _see(self) -> Seen:
        found = []
        for file in (self._certificate, self._key):
            try:
                status = file.stat()
                found.append((status.st_mtime_ns, status.st_size, status.st_ino))
            except OSError:
                found.append((0, 0, 0))
        return tuple(found)

    def _remind(self) -> None:
        """Once a day, say what its owner should see to before callers are turned away."""
        now = wall(self._clock)
        if self._identity is None or now - self._reminded < DAY:
            return
        self._reminded = now
        for remark in remarks(self._identity, now, self._key):
            self.log.warn("certificate {file}: {remark}", file=str(self._certificate), remark=remark)


def check_before_start(config: TlsConfig, now: float) -> None:
    """See that a service may start with the certificate that ``config`` names.

    :param now: the machine's time in seconds since 1970.
    :raises ConfigError: when it may not; one line.
    """
    certificate = Path(config.certificate)
    try:
        identity = read_pem(certificate, Path(config.key), config.passphrase)
        check(identity, now, certificate)
        make_context(identity)
    except BadCertificate as error:
        raise ConfigError(f"[tls] {error}") from None


@implementer(IOpenSSLServerConnectionCreator)
class OneContext:
    """The same context for every line: for servers that do not change their certificate while they run."""

    def __init__(self, identity: Identity) -> None:
        self._context = make_context(identity)

    def serverConnectionForTLS(self, protocol: Any) -> SSL.Connection:
        """The TLS state of a new line."""
        return SSL.Connection(self._context, None)


def make_context(identity: Identity) -> SSL.Context:
    """The terms on which connections with ``identity`` are made.

    :raises BadCertificate: when OpenSSL does not take it.
    """
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_min_proto_version(SSL.TLS1_2_VERSION)
    context.set_cipher_list(CIPHERS)
    context.set_options(SSL.OP_NO_COMPRESSION | SSL.OP_CIPHER_SERVER_PREFERENCE | SSL.OP_NO_RENEGOTIATION)
    context.set_mode(SSL.MODE_RELEASE_BUFFERS)
    context.set_session_id(secrets.token_bytes(16))
    context.set_alpn_select_callback(_agree)
    try:
        context.use_certificate(identity.leaf)
        for one in identity.above:
            context.add_extra_chain_cert(one)
        context.use_privatekey(identity.key)
        context.check_privatekey()
    except SSL.Error as error:
        raise BadCertificate(f"{identity.subject}: OpenSSL does not take it ({error})") from None
    return context


def _agree(connection: SSL.Connection, offered: list[bytes]) -> Any:
    return HTTP if HTTP in offered else SSL.NO_OVERLAPPING_PROTOCOLS
