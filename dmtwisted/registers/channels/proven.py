"""Trust that remembers: the tax service signs every ticket with the same key, and its certificate is checked once."""

from __future__ import annotations

from datetime import datetime, timedelta

from protocols.fiscal.crypto.certificates import Certificate
from protocols.fiscal.crypto.trust import Trust
from protocols.fiscal.crypto.verdict import Fault

REMEMBERED = timedelta(hours=1)
"""For so long a certificate that led home is taken as it was found, but for its own validity."""

MOST = 16
"""Certificates that are remembered: a server has one, or two while it changes."""


class Proven(Trust):
    """As ``trust``; each certificate is traced to a trusted one once an hour, as that costs hashes and signatures."""

    def __init__(self, trust: Trust) -> None:
        self._inner = trust
        self._until: dict[Certificate, datetime] = {}

    def faults(self, certificate: Certificate, at: datetime) -> list[Fault]:
        """What speaks against ``certificate`` at that moment; see `Trust`."""
        until = self._until.get(certificate)
        if until is not None and until - REMEMBERED <= at < until and certificate.valid_at(at):
            return []
        found = self._inner.faults(certificate, at)
        self._until.pop(certificate, None)
        if not found:
            while len(self._until) >= MOST:
                del self._until[next(iter(self._until))]
            self._until[certificate] = at + REMEMBERED
        return found
