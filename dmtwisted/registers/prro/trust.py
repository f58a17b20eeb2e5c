"""Whose certificates a register trusts: those that its settings spell, else the list that a person trusted for all
registers (`dmtwisted.registers.prro.trust_list`). Files that settings name have been read before.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from OpenSSL.crypto import X509

from dmtwisted.registers.channels.proven import Proven
from dmtwisted.registers.prro.trust_list import FILE, kept_trust
from protocols.fiscal import trusted
from protocols.fiscal.crypto.certificates import read_certificates
from protocols.fiscal.crypto.errors import CryptoError, Malformed
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


class Trusted:
    """Whose signature on the tax service's answers counts for one register.

    :param texts: the setting `trusted_certificates`. :param state: the state folder, with the list for all registers.
    :param stays: whether the tax service is simulated on this machine: the list of the state is not for it.
    """

    def __init__(self, texts: str | Sequence[str], state: Path | None, stays: bool) -> None:
        own, given = trust_in(texts), any(text.strip() for text in texts)
        self._own = None if own is None else Proven(own)
        self._file = None if given or state is None or stays else state / FILE
        self._stays = stays
        self._kept: tuple[Trust, Proven] | None = None

    @property
    def unverified(self) -> bool:
        """Whether answers count whoever signed them, though documents leave this machine."""
        return not self._stays and self._own is None and (self._file is None or not self._file.exists())

    def fault(self) -> str:
        """Why the list for all registers cannot be read, and so no answer counts; empty when it can."""
        try:
            self.now()
        except Malformed as error:
            return str(error)
        return ""

    def now(self) -> Trust | None:
        """What counts now; `None` when everybody's signature does.

        :raises Malformed: when the list cannot be read.
        """
        kept = None if self._file is None else kept_trust(self._file)
        if kept is None:
            return self._own
        if self._kept is None or self._kept[0] is not kept:
            self._kept = kept, Proven(kept)
        return self._kept[1]


def _spelled(text: str) -> str:
    return text if "-----BEGIN" in text else ""
