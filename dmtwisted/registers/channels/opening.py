"""Opens what a tax service signed: verifies who did, and keeps what somebody else signed as evidence."""

from __future__ import annotations

from datetime import UTC, datetime

from dmtwisted.clock import ServiceClock
from dmtwisted.registers.channels.evidence import Evidence
from dmtwisted.registers.prro.trust import Trusted
from protocols.fiscal.crypto.errors import CryptoError
from protocols.fiscal.crypto.verifying import verify
from protocols.fiscal.signatures import Signed, WrongSignature


class Opening:
    """Opens the answers for one register.

    :param trusted: whose signature is accepted. :param evidence: keeps the answers that are not accepted.
    :param number: the register's fiscal number, :param address: of the server.
    """

    def __init__(self, trusted: Trusted, evidence: Evidence, number: int, address: str, clock: ServiceClock) -> None:
        self._trusted, self._evidence, self._number, self._address = trusted, evidence, number, address
        self._clock = clock
        self.signer = ""
        """Who signed the last answer that was accepted."""

    @property
    def unverified(self) -> bool:
        """Whether answers count whoever signed them."""
        return self._trusted.unverified

    def __call__(self, message: bytes) -> Signed:
        """The content of a message that the server signed.

        :raises WrongSignature: when the signature is wrong, or of somebody who is not trusted.
        """
        try:
            verdict = verify(message, datetime.fromtimestamp(self._clock.seconds(), UTC), self._trusted.now())
        except CryptoError as error:
            raise WrongSignature(str(error)) from None
        signer = verdict.signer
        name = "" if signer is None else f"{signer.subject.common} ({signer.tax_number or '-'})"
        if not verdict.valid or signer is None:
            why = "; ".join(map(str, verdict.faults))
            who = ("", "", "") if signer is None else (name, signer.issuer.common, signer.key_id.hex())
            self._evidence.keep(message, self._clock.now(), self._number, self._address, why, who)
            raise WrongSignature(why)
        self.signer = f"{name}, {signer.issuer.common}"
        return Signed(verdict.content, signer.key_id.hex(), signer.subject.common, at=verdict.signed_at)
