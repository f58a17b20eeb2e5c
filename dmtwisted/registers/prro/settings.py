"""The settings of a register at the tax service's own server."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from dmtwisted.documents.catalogue import PayType, tax_payments
from dmtwisted.registers.settings import RegisterSettings, is_loopback, web_address

SERVER_URL = "https://fs.tax.gov.ua:8643/fs"
"""The fiscal server, also for test documents (docs/reference/tax-service.md#transport)."""

OLD_SERVER_URL = "http://fs.tax.gov.ua:8609/fs"
"""Its address without TLS."""

CABINET_URL = "https://prro.tax.gov.ua:443"
"""The server of the cabinet (docs/reference/tax-cabinet.md#service)."""

TAX = "tax"
"""``pay_codes`` of new registers."""


class PrroSettings(RegisterSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any software register, with the way to the tax service."""

    protocol: Annotated[
        Literal["a", "b"],
        Meta(
            description="Where the register is registered: a, the fiscal server (fs.tax.gov.ua), or b, the cabinet's "
            "server (prro.tax.gov.ua)"
        ),
    ] = "a"
    server_url: Annotated[str, Meta(description="Address of the server of this protocol")] = SERVER_URL
    server_ca: Annotated[
        str, Meta(description="Roots to trust in TLS besides the machine's: PEM, or the path of a PEM file")
    ] = ""
    trusted_certificates: Annotated[
        str | tuple[str, ...],
        Meta(
            description="Whose signature on tickets is accepted: PEM, or paths of files with certificates; "
            "none is the built-in list, and while that is empty TLS alone says who answers"
        ),
    ] = ()
    fiscal_number: Annotated[
        str, Meta(pattern="^[0-9]{0,18}$", description="Fiscal number of the register, as it was registered")
    ] = ""
    local_number: Annotated[int, Meta(ge=1, description="Number of the register within its outlet")] = 1
    pay_codes: Annotated[
        Literal["types", "tax"],
        Meta(
            description="PAYFORMCD of a payment type that names none: its own number, as earlier versions sent; "
            "or by the tax service's schema, as new registers send"
        ),
    ] = "types"
    testing: Annotated[bool, Meta(description="Whether documents are tests, without fiscal force")] = False
    device_register: Annotated[
        Literal["off", "on", "take_over"],
        Meta(
            description="Tell the tax service at each opening that this machine uses the register, and compare the "
            "next number before each document: never; only if no other machine does; take it over from one"
        ),
    ] = "off"
    time_stamps: Annotated[
        Literal["off", "try", "must"],
        Meta(description="Time stamps of online documents: none; when the provider gives one; no document without"),
    ] = "off"
    time_stamp_url: Annotated[
        str, Meta(description="Address of the time-stamp provider; empty is the one that the certificate names")
    ] = ""
    signer_url: Annotated[
        str,
        Meta(description="Address of a signing agent that holds the key; empty: the key is loaded into the service"),
    ] = ""
    signer_token: Annotated[str, Meta(max_length=200, description="By which the signing agent knows us")] = ""
    signer_ca: Annotated[
        str, Meta(description="Roots to trust at the signing agent besides the machine's: PEM, or the path of a file")
    ] = ""
    connect_s: Annotated[float, Meta(gt=0, le=60, description="Seconds to wait for a connection")] = 5.0
    wait_s: Annotated[float, Meta(gt=0, le=120, description="Seconds to wait for an answer, after that")] = 15.0
    offline_after_lost_answer: Annotated[
        Literal["wait", "revoke"],
        Meta(
            description="While nobody can be asked about a document whose answer was lost: wait; or go offline, "
            "make it again there, and revoke its online copy at the return, if there is one (by protocol b a sale)"
        ),
    ] = "wait"
    retry_s: Annotated[
        float, Meta(ge=0, le=600, description="Seconds to leave a server alone that did not answer in time")
    ] = 30.0

    def __post_init__(self) -> None:
        RegisterSettings.__post_init__(self)
        if self.server_url == (SERVER_URL if self.protocol == "b" else CABINET_URL):
            # The usual address goes with the protocol.
            msgspec.structs.force_setattr(self, "server_url", CABINET_URL if self.protocol == "b" else SERVER_URL)
        host = web_address("server_url", self.server_url)
        if self.server_url.rstrip("/") == OLD_SERVER_URL:
            # The tax service takes the same documents at both; an installation that named the old address sells on.
            msgspec.structs.force_setattr(self, "server_url", SERVER_URL)
        elif self.server_url.startswith("http:") and not is_loopback(host):
            raise ValueError("server_url: a tax server on another machine needs https, else anyone can answer for it")
        if self.time_stamp_url:
            web_address("time_stamp_url", self.time_stamp_url)
        if self.signer_url:
            host = web_address("signer_url", self.signer_url)
            if self.signer_url.startswith("http:") and not is_loopback(host):
                raise ValueError(
                    "signer_url: to another machine https is expected, for receipts and token travel there"
                )
        if self.server_ca or self.signer_ca or self.trusted_certificates:
            # The cryptography is loaded with the first register that needs it, not with the service.
            from dmtwisted.registers.prro.trust import check_certificates

            check_certificates(self.server_ca, self.signer_ca, self.trusted_certificates)

    @property
    def payments(self) -> dict[int, PayType]:
        """As of any register; a register that goes by the tax service's schema has its codes."""
        return tax_payments(self.pay_types) if self.pay_codes == TAX else super().payments

    @property
    def stays(self) -> bool:
        """Whether the server is on this machine: a simulator, for all that is known."""
        return is_loopback(urlsplit(self.server_url).hostname or "")
