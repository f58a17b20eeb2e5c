"""HTTPS: TLS 1.2 and 1.3, and a certificate that is replaced while connections stay open."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from OpenSSL import SSL
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator, IProtocolFactory, IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.protocols.tls import TLSMemoryBIOFactory
from zope.interface import implementer

from dmtwisted.access.certificates import DAY, BadCertificate, Identity, check, facts, read_pem, remarks
from dmtwisted.access.tls_orders import lasting_facts
from dmtwisted.clock import wall
from dmtwisted.config import ConfigError, TlsConfig

CIPHERS = b"ECDHE+AESGCM:ECDHE+CHACHA20"
"""For TLS 1.2: forward secrecy and no CBC. TLS 1.3 has no weaker suites."""

LOOK_EVERY = 5.0
"""Seconds between two checks of the files; a change is used when they did not change for that long."""

HTTP = b"http/1.1"
"""The only protocol for ALPN: HTTP/2 is not supported."""

Seen = tuple[tuple[int, int, int], ...]


@implementer(IOpenSSLServerConnectionCreator)
class LiveCertificate:
    """The certificate for new connections.

    It is read again when its files change; an unusable one is logged and the old one stays. Open connections keep
    theirs.

    :param clock: the machine's time, as clients use it; not the service's, which can be moved.
    """

    log = Logger()

    def __init__(self, config: TlsConfig, clock: IReactorTime) -> None:
        self._certificate, self._key = Path(config.certificate), Path(config.key)
        self._passphrase, self._clock = config.passphrase, clock
        self.replaced: Callable[[], None] = lambda: None
        """Called when another certificate is used."""
        self._identity: Identity | None = None
        self._context: SSL.Context | None = None
        # The state of the files when they were read, and at the last check.
        self._taken: Seen | None = None
        self._last: Seen | None = None
        self._trouble = ""
        self._reminded = 0.0
        self._replaced: Callable[[dict[str, Any], dict[str, Any]], None] = lambda before, after: None
        self._looking = LoopingCall(self._look)
        self._looking.clock = clock

    def open(self) -> None:
        """Read the certificate for the first time.

        :raises BadCertificate: when it cannot be used; the service does not fall back to HTTP.
        """
        self.reload()

    def watch(self, replaced: Callable[[dict[str, Any], dict[str, Any]], None] = lambda before, after: None) -> None:
        """Check the files from now on.

        :param replaced: called with the facts before and after when they were replaced.
        """
        self._replaced = replaced
        self._looking.start(LOOK_EVERY, now=False)

    def close(self) -> None:
        """Stop checking."""
        if self._looking.running:
            self._looking.stop()

    def reload(self) -> None:
        """Read the files again, for all new connections.

        :raises BadCertificate: when it cannot be used; then the old one stays.
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
        self.replaced()
        self.log.info(
            "certificate {how}: {subject}, {days} days left",
            how="replaced" if changed else "loaded",
            subject=identity.subject,
            days=identity.days_left(wall(self._clock)),
        )
        self._remind()

    def reload_or_log(self) -> None:
        """As `reload`; an error is logged."""
        try:
            self.reload()
        except BadCertificate as error:
            self.log.error("the new certificate cannot be used, the old one stays: {why}", why=str(error))

    def around(self, site: IProtocolFactory) -> IProtocolFactory:
        """``site`` behind TLS."""
        factory: Any = TLSMemoryBIOFactory(self, False, site, self._clock)
        return factory  # type: ignore[no-any-return]

    def serverConnectionForTLS(self, protocol: Any) -> SSL.Connection:
        """The TLS state of a new connection."""
        assert self._context is not None
        return SSL.Connection(self._context, None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names and addresses in the certificate."""
        return () if self._identity is None else self._identity.names

    def status(self) -> dict[str, Any]:
        """The certificate for people: names, issuer, days left, warnings."""
        identity = self._identity
        if identity is None:
            return {"error": self._trouble}
        described = facts(identity, wall(self._clock), self._key)
        return {"certificate": str(self._certificate), **described, "error": self._trouble}

    def _facts(self) -> dict[str, Any]:
        """What the journal of changes says of the certificate."""
        return lasting_facts(self.status())

    def _look(self) -> None:
        seen = self._see()
        # Certificate and key are often written one after the other.
        due = seen != self._taken and seen == self._last
        self._last = seen
        try:
            if due:
                before = self._facts()
                self.reload_or_log()
                if self._facts() != before:
                    self._replaced(before, self._facts())
            self._remind()
        except Exception:
            # A certificate on which the library fails must not end the checks.
            self.log.failure("the certificate could not be checked")

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
        """Log the warnings once a day."""
        now = wall(self._clock)
        if self._identity is None or now - self._reminded < DAY:
            return
        self._reminded = now
        for remark in remarks(self._identity, now, self._key):
            self.log.warn("certificate {file}: {remark}", file=str(self._certificate), remark=remark)


def check_before_start(config: TlsConfig, now: float) -> None:
    """Check that a service can start with the certificate of ``config``.

    :param now: the machine's time in seconds since 1970.
    :raises ConfigError: when it cannot.
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
    """The same context for every connection, for servers whose certificate does not change."""

    def __init__(self, identity: Identity) -> None:
        self._context = make_context(identity)

    def serverConnectionForTLS(self, protocol: Any) -> SSL.Connection:
        """The TLS state of a new connection."""
        return SSL.Connection(self._context, None)


def make_context(identity: Identity) -> SSL.Context:
    """The TLS settings for connections with ``identity``.

    :raises BadCertificate: when OpenSSL refuses it.
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
        raise BadCertificate(f"{identity.subject}: OpenSSL refuses it ({error})") from None
    return context


def _agree(connection: SSL.Connection, offered: list[bytes]) -> Any:
    return HTTP if HTTP in offered else SSL.NO_OVERLAPPING_PROTOCOLS
