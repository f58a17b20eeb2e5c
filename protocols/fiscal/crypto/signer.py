"""The interface of signers, and the one that holds a key in memory (docs/reference/cryptography.md#signers).

A signature takes milliseconds, opening a key file seconds. The caller runs both in a thread.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from zope.interface import Interface, implementer

from protocols.fiscal.crypto.certificates import SECONDS_A_DAY, Certificate
from protocols.fiscal.crypto.dstu4145 import PrivateKey
from protocols.fiscal.crypto.errors import CryptoError, NoKey
from protocols.fiscal.crypto.key_files import KeyFile, open_key_file
from protocols.fiscal.crypto.self_test import choose, self_test
from protocols.fiscal.crypto.signing import NamedBy, sign


@dataclass(frozen=True)
class KeyFacts:
    """The public facts of a key.

    :param subject: the name in the certificate, :param issuer: of the provider.
    :param tax_number: the company's, else the person's; :param person_tax_number: the person's; empty when absent.
    :param key_id: hex, as the tax service lists its operators (SubjectKeyId), :param serial: hex.
    :param valid_from: and :param valid_to: UTC, both ends count.
    :param stamp_url: of the provider's time-stamp service, may be empty.
    """

    subject: str
    issuer: str
    tax_number: str
    person_tax_number: str
    key_id: str
    serial: str
    valid_from: datetime
    valid_to: datetime
    stamp_url: str = ""

    @classmethod
    def of(cls, certificate: Certificate) -> KeyFacts:
        """The facts in a certificate."""
        return cls(
            subject=certificate.subject.common,
            issuer=certificate.issuer.common,
            tax_number=certificate.tax_number or certificate.person_tax_number,
            person_tax_number=certificate.person_tax_number,
            key_id=certificate.key_id.hex(),
            serial=f"{certificate.serial:x}",
            valid_from=certificate.valid_from,
            valid_to=certificate.valid_to,
            stamp_url=certificate.stamp_url,
        )

    def days_left(self, now: datetime) -> int:
        """Whole days until the key ends, rounded down; negative afterwards."""
        return math.floor((self.valid_to - now).total_seconds() / SECONDS_A_DAY)


class Closed(CryptoError):
    """The signer was closed and has no key any more."""


class ISigner(Interface):
    """Signs what a register sends. Methods may be called from any thread."""

    facts: KeyFacts
    certificate: Certificate

    def sign(content: bytes, signing_time: datetime | None = None) -> bytes:
        """The signed message around ``content``, as the tax service accepts it; blocks.

        :param signing_time: put into the message when given.
        :raises CryptoError: when it cannot be signed.
        """

    def close() -> None:
        """Forget the key; afterwards `sign` fails with `Closed`."""


@cache
def _tested() -> None:
    """Test this machine once in a process; a failure is not cached and so happens again."""
    self_test()
    choose()


@implementer(ISigner)
class BuiltInSigner:
    """Signs with a key in this process's memory; the first one of a process runs the self-test.

    :raises NoKey: when the certificate belongs to another key or does not allow signatures.
    :raises SelfTestFailed: when this machine calculates wrongly.
    """

    def __init__(
        self, key: PrivateKey, certificate: Certificate, named_by: NamedBy = NamedBy.ISSUER_AND_SERIAL
    ) -> None:
        _tested()
        if certificate.public_key != key.public():
            raise NoKey("the certificate belongs to another key")
        if not certificate.may_sign():
            raise NoKey("the certificate does not allow signatures")
        self._key: PrivateKey | None = key
        self._named_by = named_by
        self.certificate = certificate
        self.facts = KeyFacts.of(certificate)

    def sign(self, content: bytes, signing_time: datetime | None = None) -> bytes:
        """See `ISigner.sign`."""
        key = self._key
        if key is None:
            raise Closed("the key was closed")
        return sign(content, key, self.certificate, signing_time, self._named_by)

    def close(self) -> None:
        """See `ISigner.close`. Python gives no way to wipe the number itself."""
        self._key = None


def signer_of(
    file: KeyFile, certificates: Iterable[Certificate] = (), named_by: NamedBy = NamedBy.ISSUER_AND_SERIAL
) -> BuiltInSigner:
    """The signer of an opened key file: its first key with a certificate that allows signatures.

    Of several certificates for one key the one that ends last is used.

    :param certificates: known besides those in the file.
    :raises NoKey: when there is no such pair.
    """
    known = sorted({*file.certificates, *certificates}, key=lambda certificate: certificate.valid_to, reverse=True)
    for key in file.keys:
        public = key.public()
        for certificate in known:
            if certificate.public_key == public and certificate.may_sign():
                return BuiltInSigner(key, certificate, named_by)
    if not known:
        raise NoKey("there is no certificate with the key: fetch it from the provider and supply it too")
    raise NoKey("no certificate that allows signatures belongs to a key of the file")


def open_signer(
    data: bytes,
    password: str,
    certificates: Iterable[Certificate] = (),
    named_by: NamedBy = NamedBy.ISSUER_AND_SERIAL,
) -> BuiltInSigner:
    """`open_key_file`, then `signer_of`; takes seconds.

    :raises CryptoError: as both do.
    """
    return signer_of(open_key_file(data, password), certificates, named_by)
