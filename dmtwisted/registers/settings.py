"""The settings that every software register has; a driver adds its own to them."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from dmtwisted.documents.catalogue import CASH, PAY_TYPES, TAX_GROUPS, PayType, TaxGroup
from dmtwisted.documents.template import BrokenTemplate, check_template


class BatchSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Batch mode (docs/reference/http-interface.md#batch-mode); changed only while the shift is closed."""

    terminal: Annotated[str, Meta(description="Terminal for payments by card; empty takes none")] = ""
    printer: Annotated[str, Meta(description="Printer for the paper; empty is prn")] = ""
    pay_types: Annotated[tuple[int, ...], Meta(description="Payment types that go to the terminal; any but cash")] = (
        2,
    )
    auto_cancel: Annotated[
        bool, Meta(description="Whether a payment is taken back when its receipt is refused for good")
    ] = True
    merchant: Annotated[str, Meta(description="Merchant in the terminal; empty is its first")] = ""

    def __post_init__(self) -> None:
        if CASH in self.pay_types:
            raise ValueError("pay_types: cash does not go to the terminal")
        if len(set(self.pay_types)) < len(self.pay_types):
            raise ValueError("pay_types: a payment type is listed twice")


class RegisterSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a register behaves and what its receipts say."""

    tax_groups: Annotated[
        tuple[TaxGroup, ...], Meta(description="Tax groups with their rates, in hundredths of a percent")
    ] = TAX_GROUPS
    default_taxgrp: Annotated[
        int, Meta(description="Tax group of an item that names none; 0 refuses such items with 1087")
    ] = 0
    pay_types: Annotated[tuple[PayType, ...], Meta(description="Payment types and their names")] = PAY_TYPES
    rounding_step: Annotated[
        Literal[0, 10, 50], Meta(description="Cash is rounded to this many kopecks; 0 does not round")
    ] = 0
    auto_close: Annotated[
        str,
        Meta(
            pattern=r"^(|([01][0-9]|2[0-3]):[0-5][0-9])$", description="Time in Kyiv at which an open shift is closed"
        ),
    ] = ""
    warn_shift_h: Annotated[
        float, Meta(gt=0, description="Hours after which an open shift adds the warning 3003")
    ] = 24.0
    offline_allowed: Annotated[
        bool, Meta(description="Whether the register may go offline, by itself too when the tax service is away")
    ] = False
    offline_probe_s: Annotated[
        float, Meta(ge=1, le=3600, description="Seconds between two tries to come back online")
    ] = 60.0
    warn_offline_h: Annotated[
        float, Meta(ge=0, description="Hours offline after which answers warn of the limit of 35 hours")
    ] = 24.0
    warn_offline_numbers: Annotated[int, Meta(ge=0, description="Offline numbers left below which answers warn")] = (
        100
    )
    warn_key_days: Annotated[int, Meta(ge=0, description="Days left of the signing key below which answers warn")] = 7
    pf_text: Annotated[bool, Meta(description="Answers carry the text form when the request does not say")] = False
    pf_image: Annotated[bool, Meta(description="Answers carry the picture when the request does not say")] = False
    pf_pdf: Annotated[bool, Meta(description="Answers carry the PDF when the request does not say")] = False
    pf_doccmd: Annotated[bool, Meta(description="Answers carry the doccmd when the request does not say")] = False
    pf_dots: Annotated[Literal[384, 512, 576], Meta(description="Width of picture and PDF: 384 is 58 mm")] = 576
    template: Annotated[
        str, Meta(max_length=65_536, description="The shop's own lines around receipts (docs/print-forms.md)")
    ] = ""
    pf_charcount: Annotated[int, Meta(ge=24, le=120, description="Width of text forms, in characters")] = 48
    check_cash: Annotated[bool, Meta(description="Refuse with 1077 what would take more cash out than there is")] = (
        True
    )
    strict_tags: Annotated[
        bool,
        Meta(description="Refuse a known tag with other content instead of returning the earlier answer"),
    ] = False
    untagged_repeat: Annotated[
        Literal["warn", "return", "sell"],
        Meta(
            description="A task without a tag repeats a receipt whose caller heard no success: do it with a warning, "
            "return that receipt instead, or do it as any other"
        ),
    ] = "warn"
    marks_check: Annotated[
        Literal["off", "local", "service"],
        Meta(
            description="Whether an excise mark that was sold is refused: not; by the sales of this service; "
            "by these and by the marks service at `marks_url`"
        ),
    ] = "off"
    marks_repeat: Annotated[
        bool, Meta(description="Drinks by the glass: the mark of one bottle may be sold in several receipts")
    ] = False
    marks_count: Annotated[
        Literal["off", "warn", "refuse"],
        Meta(description="A row of whole units with fewer marks than units: sold, sold with a warning, refused"),
    ] = "off"
    marks_offline: Annotated[
        Literal["sell", "refuse"],
        Meta(description="Goods with marks while the register is offline or the marks service is silent"),
    ] = "sell"
    marks_stale: Annotated[
        Literal["sell", "refuse"], Meta(description="A mark of which the marks service has only old data")
    ] = "sell"
    marks_url: Annotated[str, Meta(max_length=2000, description="Address of the marks service")] = ""
    marks_token: Annotated[str, Meta(max_length=200, description="By which the marks service knows us")] = ""
    marks_object: Annotated[
        str,
        Meta(max_length=100, description="Code of this shop in the marks service; empty: any shop's marks"),
    ] = ""
    marks_gs: Annotated[
        str,
        Meta(
            pattern="^[!-~]{0,8}$",
            description="What stands for the separator GS of a mark in the tax service's document; empty refuses it",
        ),
    ] = ""
    marks_qr: Annotated[bool, Meta(description="Print each excise mark as a QR code too")] = False
    cloud_token: Annotated[
        str,
        Meta(
            pattern=r"^(|[!-~]{16,200})$",
            description="Token by which programs written for a cloud cabinet name this register; empty is none",
        ),
    ] = ""
    name: Annotated[str, Meta(description="Taxpayer, first line of the receipt")] = ""
    shopname: Annotated[str, Meta(description="Name of the outlet")] = ""
    shopad: Annotated[str, Meta(description="Address of the outlet")] = ""
    vat_code: Annotated[str, Meta(description="VAT number, printed after ПН")] = ""
    fis_code: Annotated[str, Meta(description="Tax number, printed after ІД")] = ""
    batch: Annotated[BatchSettings | None, Meta(description="Batch mode: terminal, printer and their rules")] = None
    header: Annotated[tuple[str, ...], Meta(max_length=100, description="Lines at the top of every print form")] = ()
    footer: Annotated[tuple[str, ...], Meta(max_length=100, description="Lines at the end of every print form")] = ()

    def __post_init__(self) -> None:
        self._check_batch()
        self._check_marks()
        if self.template:
            # The author of the template sees a mistake now; the cashier would see it on every receipt.
            try:
                check_template(self.template)
            except BrokenTemplate as error:
                raise ValueError(f"template: {error}") from None

    def _check_marks(self) -> None:
        """See that the marks service can be asked, and that nobody else reads the token on the way."""
        if self.marks_check == "service" and not self.marks_url:
            raise ValueError("marks_url: the address of the marks service is expected")
        if self.marks_url:
            host = web_address("marks_url", self.marks_url)
            if self.marks_url.startswith("http:") and not is_loopback(host):
                raise ValueError("marks_url: to another machine https is expected, for the token travels there")

    def _check_batch(self) -> None:
        """See that batch mode charges only payment types that the register has, and no rounding."""
        names = {pay_type.code: pay_type.name.lower() for pay_type in self.pay_types}
        for code in self.batch.pay_types if self.batch is not None else ():
            if code not in names:
                raise ValueError(f"batch.pay_types: the register has no payment type {code}")
            # Rounding has no code of its own: where a shop lists it among its payments, its name says so.
            if any(word in names[code] for word in ROUNDING):
                raise ValueError(f"batch.pay_types: rounding ({code}) does not go to the terminal")


SECRETS = ("cloud_token", "marks_token")
"""The secrets among them, which a driver names among its own."""

RECEIVERS: dict[str, tuple[str, ...]] = {"cloud_token": (), "marks_token": ("marks_url",)}
"""Programs bring the first one; it goes nowhere."""

ROUNDING = ("округл", "rounding")
"""Words in the name of a payment type that is the rounding."""


def is_loopback(host: str) -> bool:
    """Whether ``host`` names this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def web_address(name: str, url: str) -> str:
    """The host of an address.

    :raises ValueError: when it is malformed; the text names the member.
    """
    try:
        address = urlsplit(url)
        host = None if address.port == 0 else address.hostname
    except ValueError:
        host = None
    if host is None or address.scheme not in ("https", "http") or not url.isascii():
        raise ValueError(f"{name}: an address like https://host:port/path is expected")
    return host
