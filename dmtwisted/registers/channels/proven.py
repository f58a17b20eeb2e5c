"""A memory for checked certificates: the tax service signs every ticket with the same key."""

from __future__ import annotations

from datetime import datetime, timedelta

from protocols.fiscal.crypto.certificates import Certificate
from protocols.fiscal.crypto.trust import Trust
from protocols.fiscal.crypto.verdict import Fault

REMEMBERED = timedelta(hours=1)
"""A certificate that was traced to a trusted one is trusted for so long; its own validity is checked each time."""

MOST = 16
"""Certificates that are remembered: a server has one, or two while it changes them."""


class Proven(Trust):
    """As ``trust``, but each certificate is traced to a trusted one only once an hour: that takes time."""

    def __init__(self, trust: Trust) -> None:
        self._inner = trust
        self._until: dict[Certificate, datetime] = {}

    def faults(self, certificate: Certificate, at: datetime) -> list[Fault]:
        """What is wrong with ``certificate`` at that moment; see `Trust`."""
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
