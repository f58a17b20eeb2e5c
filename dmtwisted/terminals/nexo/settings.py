"""What nexo terminals can do, and their settings (docs/reference/nexo.md#settings)."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from dmtwisted.devices.driver import BadSettings
from dmtwisted.terminals.interface import ECHO, PING, TASKS, Task
from dmtwisted.terminals.settings import CardWait, TerminalSettings, terminal_driver

CAPABILITIES: frozenset[int] = TASKS - {
    Task.TRANSFER,
    Task.BANK_SERVICE,
    Task.INSTALMENTS,
    Task.INSTALMENTS_REFUND,
    Task.STORED,
}
"""Instalments are an option of acquirers."""

SERVICES = frozenset({PING, ECHO})
"""Diagnosis, without and with the bank."""

PORT = 8443
"""The usual port (docs/reference/nexo.md#line)."""

RECEIVER = ("interface", "host", "port", "serial_port", "ca", "server_name")
"""The settings that say who gets the shared key; the certificate of our own port goes nowhere."""

CERTIFICATE, PRIVATE_KEY = "CERTIFICATE", "PRIVATE KEY"
"""How PEM labels end."""

# A block ends before the next dashes, so that many beginnings without an end take no more time than their length.
_PEM = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----((?:(?!-----).)*)-----END \1-----", re.DOTALL)


class NexoSettings(TerminalSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any terminal in a network, with names, key and certificates."""

    network_only: ClassVar[bool] = True
    poi_id: Annotated[str, Meta(min_length=1, description="Model and serial number of the terminal, V400m-346403161")]
    ca: Annotated[str, Meta(description="Certificates (PEM) that sign the terminal's own: its maker's terminal root")]
    sale_id: Annotated[
        str, Meta(min_length=1, description="Name of this till; each till at a terminal has its own")
    ] = "dmtwisted"
    server_name: Annotated[str, Meta(description="Name in the terminal's certificate; empty is the address")] = ""
    passphrase: Annotated[str, Meta(description="Passphrase of the shared key; empty sends messages unsealed")] = ""
    key_identifier: Annotated[str, Meta(description="Name of the shared key, as it is set up on the terminal")] = ""
    key_version: Annotated[int, Meta(ge=0, description="Version of the shared key")] = 1
    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}$", description="Currency, three letters")] = "UAH"
    refunds: Annotated[
        Literal["referenced", "card"],
        Meta(
            description="referenced: to the card of the payment that refundid names; card: to whatever card is shown"
        ),
    ] = "referenced"
    notices_port: Annotated[
        int,
        Meta(
            ge=0,
            le=65535,
            description="Port of this machine to which the terminal posts what its display shows; 0 is none",
        ),
    ] = 0
    notices_pem: Annotated[
        str, Meta(description="Certificate and private key (PEM) of that port, for HTTPS; empty is HTTP")
    ] = ""
    confirm_s: CardWait = 70.0

    def __post_init__(self) -> None:
        """Check certificates, and that the shared key is complete or absent.

        :raises BadSettings: with the path of the member that does not fit.
        """
        super().__post_init__()
        if not self.roots:
            raise BadSettings("settings.ca", "at least one certificate in PEM is expected")
        if self.notices_pem:
            labels = {label.rpartition(PRIVATE_KEY)[1] or label for label, _ in blocks_of(self.notices_pem)}
            if not labels >= {CERTIFICATE, PRIVATE_KEY}:
                raise BadSettings("settings.notices_pem", "a certificate and its private key in PEM are expected")
        if bool(self.passphrase) != bool(self.key_identifier):
            missing = "key_identifier" if self.passphrase else "passphrase"
            raise BadSettings(f"settings.{missing}", "a shared key has a passphrase and a name")

    @property
    def roots(self) -> list[bytes]:
        """The certificates of ``ca``, one by one."""
        return [block.encode() for label, block in blocks_of(self.ca) if label == CERTIFICATE]

    @property
    def url(self) -> str:
        """The address for messages to the terminal."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"https://{host}:{self.port or PORT}/nexo"


def blocks_of(pem: str) -> list[tuple[str, str]]:
    """Label and text of each block of ``pem``, with the line breaks that a one-line form has removed."""
    found = []
    for match in _PEM.finditer(pem):
        label, body = match[1], "".join(match[2].split())
        lines = "\n".join(body[start : start + 64] for start in range(0, len(body), 64))
        found.append((label, f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"))
    return found


DRIVER = terminal_driver(
    "nexo",
    "nexo JSON (Adyen)",
    NexoSettings,
    CAPABILITIES,
    f"{__package__}.driver",
    secrets=("passphrase", "key_identifier", "notices_pem"),
    receivers={**dict.fromkeys(("passphrase", "key_identifier"), RECEIVER), "notices_pem": ()},
)
