"""The settings that every software register has; a driver adds its own to them."""

from __future__ import annotations

from datetime import date, timedelta
from ipaddress import ip_address
from typing import Annotated, Literal, TypeVar, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from dmtwisted.documents import law
from dmtwisted.documents.catalogue import CASH, PAY_TYPES, TAX_GROUPS, PayType, TaxGroup, own_payments
from dmtwisted.documents.template import BrokenTemplate, check_template
from dmtwisted.hardened import BadList, Circle


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


class DatedChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A setting that changes on a day; a shift keeps what was valid on the day of its opening."""

    valid_from: Annotated[
        str, Meta(pattern=r"^20[0-9]{2}-[0-9]{2}-[0-9]{2}$", description="First day in Kyiv, yyyy-MM-dd")
    ]
    setting: Annotated[
        str,
        Meta(
            max_length=100,
            description="What changes: rounding_step, name, tax_groups.1.percent, pay_types.2.name…",
        ),
    ]
    value: Annotated[int | str | bool, Meta(description="Its value from that day on")]


class RegisterSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a register behaves and what its receipts say."""

    tax_groups: Annotated[
        tuple[TaxGroup, ...], Meta(description="Tax groups with their rates, in hundredths of a percent")
    ] = TAX_GROUPS
    default_taxgrp: Annotated[
        int, Meta(description="Tax group of an item that names none; 0 refuses such items with 1087")
    ] = 0
    pay_types: Annotated[tuple[PayType, ...], Meta(description="Payment types and their names")] = PAY_TYPES
    dated: Annotated[
        tuple[DatedChange, ...],
        Meta(max_length=200, description="Rates, names, rounding and requisites that change on a day"),
    ] = ()
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
    warn_midnight: Annotated[
        bool, Meta(description="Answers warn of a shift with operations that is open past midnight in Kyiv")
    ] = False
    storno_allowed: Annotated[bool, Meta(description="Whether the last document may be taken back by task 17")] = True
    excise_needs_uktzed: Annotated[
        Literal["off", "warn", "refuse"],
        Meta(
            description="An item with excise and without a UKTZED code of 10 digits is sold as any other, sold with "
            "a warning, or refused"
        ),
    ] = "off"
    offline_allowed: Annotated[
        bool, Meta(description="Whether the register may go offline, by itself too when the tax service is away")
    ] = False
    offline_probe_s: Annotated[
        float,
        Meta(
            ge=1,
            extra_json_schema={"maximum": law.LONGEST_PROBE_S},
            description="Seconds between two tries to come back online",
        ),
    ] = 60.0
    offline_probe_before_receipt: Annotated[
        bool,
        Meta(description="Whether the tax service is asked before each offline document, to come back if it answers"),
    ] = False
    offline_probe_limit_s: Annotated[
        float, Meta(gt=0, le=1, description="Seconds to wait for that answer; without one the link counts as away")
    ] = 1.0
    offline_by_hand: Annotated[
        Literal["as_asked", "only_without_link"],
        Meta(description="Going offline by hand: always, or only while the tax service does not answer"),
    ] = "as_asked"
    offline_limit_h: Annotated[
        float, Meta(ge=24, le=law.OFFLINE_H, description="Hours offline after which only the shift may be closed")
    ] = float(law.OFFLINE_STOP_H)
    warn_offline_h: Annotated[
        float, Meta(ge=0, description="Hours offline after which answers warn of the time left; the last two always")
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
    print_zero_change: Annotated[
        bool, Meta(description="Whether a sale's receipt has the line of the change without any change")
    ] = True
    qr_time: Annotated[
        Literal["hhmmss", "hhmm"],
        Meta(description="Time in the link of a receipt's QR code: with seconds or without"),
    ] = "hhmmss"
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
    classic_listen: Annotated[
        str,
        Meta(
            max_length=200,
            description="Where till programs that know only a classic Datecs register find this one: HOST:PORT or a "
            "serial port; empty is nowhere (docs/registers.md)",
        ),
    ] = ""
    classic_baudrate: Annotated[int, Meta(ge=1200, le=115_200, description="Speed of that serial port")] = 9600
    classic_allowed: Annotated[
        str,
        Meta(
            max_length=1000,
            description="Addresses and networks from which such a till may connect, besides this computer; commas",
        ),
    ] = ""
    classic_password: Annotated[
        str, Meta(pattern="^[0-9]{4,8}$", description="Password that such a till sends with its commands")
    ] = "0000"
    classic_printer: Annotated[str, Meta(description="Printer of such a till's papers; empty prints none")] = ""
    classic_taxes: Annotated[
        tuple[int, ...],
        Meta(min_length=5, max_length=5, description="Tax groups of such a till's letters А, Б, В, Г, Д"),
    ] = (1, 2, 4, 9, 3)
    classic_payments: Annotated[
        tuple[int, ...],
        Meta(min_length=4, max_length=4, description="Payment types of such a till's letters P, N, C, D"),
    ] = (0, 5, 2, 8)
    name: Annotated[str, Meta(description="Taxpayer, first line of the receipt")] = ""
    shopname: Annotated[str, Meta(description="Name of the outlet")] = ""
    shopad: Annotated[str, Meta(description="Address of the outlet")] = ""
    vat_code: Annotated[str, Meta(description="VAT number, printed after ПН")] = ""
    fis_code: Annotated[str, Meta(description="Tax number, printed after ІД")] = ""
    batch: Annotated[BatchSettings | None, Meta(description="Batch mode: terminal, printer and their rules")] = None
    header: Annotated[tuple[str, ...], Meta(max_length=100, description="Lines at the top of every print form")] = ()
    footer: Annotated[tuple[str, ...], Meta(max_length=100, description="Lines at the end of every print form")] = ()

    @property
    def payments(self) -> dict[int, PayType]:
        """The payment types by number, with the code of each in documents for the tax service."""
        return own_payments(self.pay_types)

    def __post_init__(self) -> None:
        if self.offline_probe_s > law.LONGEST_PROBE_S:
            # An earlier version took up to an hour, which is stored; with the transfer that is too late for the law.
            msgspec.structs.force_setattr(self, "offline_probe_s", float(law.LONGEST_PROBE_S))
        self._check_batch()
        self._check_dated()
        self._check_marks()
        self._check_classic()
        if self.template:
            # The author of the template sees a mistake now; the cashier would see it on every receipt.
            try:
                check_template(self.template)
            except BrokenTemplate as error:
                raise ValueError(f"template: {error}") from None

    def _check_dated(self) -> None:
        """See that every change on a day can come true, each with those before it."""
        places = [(row.valid_from, row.setting) for row in self.dated]
        for row in self.dated:
            if places.count((row.valid_from, row.setting)) > 1:
                raise ValueError(f"{row.setting} changes twice on {row.valid_from}")
            try:
                date.fromisoformat(row.valid_from)
                on_day(self, row.valid_from)
            except ValueError as error:
                raise ValueError(f"on {row.valid_from} {row.setting}: {error}") from None

    def _check_marks(self) -> None:
        """See that the marks service can be asked, and that nobody else reads the token on the way."""
        if self.marks_check == "service" and not self.marks_url:
            raise ValueError("marks_url: the address of the marks service is expected")
        if self.marks_url:
            host = web_address("marks_url", self.marks_url)
            if self.marks_url.startswith("http:") and not is_loopback(host):
                raise ValueError("marks_url: to another machine https is expected, for the token travels there")

    def _check_classic(self) -> None:
        """See that tills can find the register, and who they are."""
        if self.classic_listen:
            tcp_place(self.classic_listen)
        try:
            Circle.read(self.classic_allowed)
        except BadList as error:
            raise ValueError(f"classic_allowed: {error}") from None

    def _check_batch(self) -> None:
        """See that batch mode charges only payment types that the register has, and no rounding."""
        names = {pay_type.code: pay_type.name.lower() for pay_type in self.pay_types}
        for code in self.batch.pay_types if self.batch is not None else ():
            if code not in names:
                raise ValueError(f"batch.pay_types: the register has no payment type {code}")
            # Rounding has no code of its own: where a shop lists it among its payments, its name says so.
            if any(word in names[code] for word in ROUNDING):
                raise ValueError(f"batch.pay_types: rounding ({code}) does not go to the terminal")


FRESH = {
    "offline_probe_before_receipt": True,
    "offline_by_hand": "only_without_link",
    "warn_offline_h": 0.0,
    "warn_midnight": True,
}
"""What a new register at the tax service begins with (docs/reference/tax-service.md#offline-sessions)."""

# What changes on a day

S = TypeVar("S", bound=RegisterSettings)

IN_GROUPS = {"tax_groups": TaxGroup, "pay_types": PayType}
"""Settings that are lists; a change names the code of one of them and its member."""

OF_A_SHIFT = (*IN_GROUPS, "rounding_step", "name", "shopname", "shopad", "vat_code", "fis_code")
"""Settings that can change on a day, and stay the same during a shift."""

NOTICE_DAYS = 30
"""Days before a change on which it is told."""


def value_of(settings: RegisterSettings, setting: str) -> int | str | bool | None:
    """The value that a `DatedChange` of ``setting`` replaces.

    :raises ValueError: when there is no such setting, or it cannot change on a day.
    """
    name, *rest = setting.split(".")
    if name in OF_A_SHIFT and not rest and name not in IN_GROUPS:
        return cast(int | str, getattr(settings, name))
    if name in IN_GROUPS and len(rest) == 2 and rest[1] != "code" and rest[1] in IN_GROUPS[name].__struct_fields__:
        for one in getattr(settings, name):
            if str(one.code) == rest[0]:
                return cast(int | str | bool | None, getattr(one, rest[1]))
    raise ValueError(f"{setting} is no setting that can change on a day")


def on_day(settings: S, day: str) -> S:
    """``settings`` as they are valid on a day in Kyiv, ``yyyy-MM-dd``.

    :raises ValueError: when they would be invalid.
    """
    due = sorted((row for row in settings.dated if row.valid_from <= day), key=lambda row: row.valid_from)
    if not due:
        return settings
    for row in due:
        value_of(settings, row.setting)
    members = {**msgspec.to_builtins(settings), "dated": ()}
    for row in due:
        name, *rest = row.setting.split(".")
        if rest:
            [one] = [one for one in members[name] if str(one["code"]) == rest[0]]
            one[rest[1]] = row.value
        else:
            members[name] = row.value
    return msgspec.convert(members, type(settings))


def coming(settings: RegisterSettings, day: str) -> list[DatedChange]:
    """What changes within `NOTICE_DAYS` after ``day``, soonest first."""
    last = f"{date.fromisoformat(day) + timedelta(days=NOTICE_DAYS)}"
    return sorted((row for row in settings.dated if day < row.valid_from <= last), key=lambda row: row.valid_from)


def overruled(settings: RegisterSettings, before: RegisterSettings, day: str) -> DatedChange | None:
    """A change on a day that is valid already and stays, though its setting was changed itself."""
    for row in before.dated:
        stays = row in settings.dated and row.valid_from <= day
        if stays and value_of(settings, row.setting) != value_of(before, row.setting):
            return row
    return None


SECRETS = ("cloud_token", "marks_token", "classic_password")
"""The secrets among them, which a driver names among its own."""

RECEIVERS: dict[str, tuple[str, ...]] = {"cloud_token": (), "classic_password": (), "marks_token": ("marks_url",)}
"""Programs bring those that go nowhere."""

ROUNDING = ("округл", "rounding")
"""Words in the name of a payment type that is the rounding."""


def tcp_place(listen: str) -> tuple[str, int] | None:
    """The address and port of `classic_listen`; `None` for a serial port.

    :raises ValueError: when it is neither.
    """
    host, colon, port = listen.rpartition(":")
    if not colon:
        return None
    try:
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise ValueError(port)
        return str(ip_address("127.0.0.1" if host == "localhost" else host.strip("[]"))), int(port)
    except ValueError:
        raise ValueError("classic_listen: an address with a port, as 127.0.0.1:9100, or a serial port") from None


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
