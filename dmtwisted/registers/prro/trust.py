"""The certificates that a register's settings spell or name: PEM, or the path of a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from OpenSSL.crypto import X509

from protocols.fiscal import trusted
from protocols.fiscal.crypto.certificates import read_certificates
from protocols.fiscal.crypto.errors import CryptoError
from protocols.fiscal.crypto.trust import Trust
from protocols.fiscal.https import roots_in


def check_certificates(server_ca: str, signer_ca: str, trusted_certificates: str | Sequence[str]) -> None:
    """See that the certificates in the settings can be read.

    :raises ValueError: when they cannot; the text names the member.
    """
    name = "server_ca"
    try:
        roots_of(server_ca)
        name = "signer_ca"
        roots_of(signer_ca)
        name = "trusted_certificates"
        trust_in(trusted_certificates)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def roots_of(given: str) -> list[X509] | None:
    """The roots to trust in TLS besides the machine's; `None` when none are given.

    :raises ValueError: when they cannot be read.
    """
    return roots_in(_content(given)) if given else None


def trust_in(texts: str | Sequence[str]) -> Trust | None:
    """The certificates that ``texts`` spell or name, else those of the built-in list; `None` when that is empty too.

    :raises ValueError: when one cannot be read.
    """
    given = [text for text in ([texts] if isinstance(texts, str) else texts) if text.strip()]
    if not given:
        built_in = trusted.built_in()
        return Trust(built_in) if built_in else None
    try:
        return Trust([certificate for text in given for certificate in read_certificates(_content(text))])
    except CryptoError as error:
        raise ValueError(str(error)) from None


def _content(text: str) -> bytes:
    """PEM as it is, else the file of that name."""
    if "-----BEGIN" in text:
        return text.encode()
    try:
        return Path(text.strip()).read_bytes()
    except (OSError, ValueError) as error:
        raise ValueError(f"{text.strip()[:200]} cannot be read ({error})") from None
