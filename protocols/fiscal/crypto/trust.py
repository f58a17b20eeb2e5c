"""Trust: a list of certificates, and the chain from any other one to them (docs/reference/cryptography.md#trust).

Messages contain no issuer's certificate, so issuers come from the list. Revocation is not checked: it needs a
connection, and a broken connection must not stop a receipt.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from protocols.fiscal.crypto.certificates import Certificate, KeyUsage
from protocols.fiscal.crypto.verdict import Fault, Reason

LONGEST = 4
"""Certificates in a chain, with the trusted one."""


class Trust:
    """A list of trusted certificates: of authorities, or of single keys.

    :param anchors: trusted as they are, :param between: certificates of authorities, trusted only when a trusted one
        signed them.
    :param owners: whose certificates are trusted below an authority, by EDRPOU; empty is anyone's.
    """

    def __init__(
        self,
        anchors: Iterable[Certificate],
        between: Iterable[Certificate] = (),
        owners: Iterable[str] = (),
    ) -> None:
        self._anchors, self._owners = frozenset(anchors), frozenset(owners)
        self._known = (*self._anchors, *between)

    def faults(self, certificate: Certificate, at: datetime) -> list[Fault]:
        """Why ``certificate`` is not trusted at that moment; empty when it is."""
        if not certificate.valid_at(at):
            span = f"{certificate.valid_from:%Y-%m-%d} to {certificate.valid_to:%Y-%m-%d}"
            return [Fault(Reason.NOT_VALID, f"{certificate.subject.common}, {span}")]
        if self._owners and certificate not in self._anchors and certificate.tax_number not in self._owners:
            holder = certificate.tax_number or certificate.person_tax_number or "no number"
            return [Fault(Reason.OTHER_OWNER, f"{certificate.subject.common} ({holder})")]
        if self._leads_to_anchor(certificate, at, LONGEST):
            return []
        detail = f"{certificate.subject.common}, issued by {certificate.issuer.common}"
        return [Fault(Reason.NOT_TRUSTED, detail)]

    def _leads_to_anchor(self, certificate: Certificate, at: datetime, left: int) -> bool:
        if certificate in self._anchors:
            return True
        if left <= 1:
            return False
        return any(
            _could_have_issued(issuer, certificate)
            and issuer.valid_at(at)
            and certificate.signed_by(issuer)
            and self._leads_to_anchor(issuer, at, left - 1)
            for issuer in self._known
        )


def _could_have_issued(issuer: Certificate, certificate: Certificate) -> bool:
    if issuer.subject != certificate.issuer or not issuer.is_authority:
        return False
    if issuer.usage is not None and not issuer.usage & KeyUsage.CERTIFICATE_SIGN:
        return False
    return not certificate.issuer_key_id or issuer.key_id == certificate.issuer_key_id
