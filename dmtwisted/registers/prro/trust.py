"""The certificates that a register's settings spell; the files that they name have been read before."""

from __future__ import annotations

from collections.abc import Sequence

from OpenSSL.crypto import X509

from protocols.fiscal import trusted
from protocols.fiscal.crypto.certificates import read_certificates
from protocols.fiscal.crypto.errors import CryptoError
from protocols.fiscal.crypto.trust import Trust
from protocols.fiscal.https import roots_in


def check_certificates(server_ca: str, signer_ca: str, trusted_certificates: str | Sequence[str]) -> None:
    """See that the certificates in the settings can be read; names of files are left to who reads these.

    :raises ValueError: when they cannot; the text names the member.
    """
    name = "server_ca"
    try:
        roots_of(_spelled(server_ca))
        name = "signer_ca"
        roots_of(_spelled(signer_ca))
        name = "trusted_certificates"
        given = [trusted_certificates] if isinstance(trusted_certificates, str) else trusted_certificates
        trust_in([*map(_spelled, given)])
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def roots_of(given: str) -> list[X509] | None:
    """The roots to trust in TLS besides the machine's; `None` when none are given.

    :raises ValueError: when they cannot be read.
    """
    return roots_in(given.encode()) if given else None


def trust_in(texts: str | Sequence[str]) -> Trust | None:
    """The certificates that ``texts`` spell, else those of the built-in list; `None` when that is empty too.

    :raises ValueError: when one cannot be read.
    """
    given = [text for text in ([texts] if isinstance(texts, str) else texts) if text.strip()]
    if not given:
        built_in = trusted.built_in()
        return Trust(built_in) if built_in else None
    try:
        return Trust([certificate for text in given for certificate in read_certificates(text.encode())])
    except CryptoError as error:
        raise ValueError(str(error)) from None


def _spelled(text: str) -> str:
    return text if "-----BEGIN" in text else ""
