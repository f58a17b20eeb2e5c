"""The settings of every real printer, and how it is built from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Protocol, runtime_checkable

import msgspec
from msgspec import Meta
from twisted.internet.interfaces import IStreamClientEndpoint

from dmtwisted.devices.driver import BadSettings, Surroundings
from dmtwisted.printing.interface import IPrinterWay
from dmtwisted.printing.service import PrinterService
from dmtwisted.printing.ways import LineWay, QueueWay
from dmtwisted.store.values import DeviceRow
from protocols.printers.device_file import DeviceFileEndpoint
from protocols.printers.profiles import PROFILES, Language, Profile
from protocols.printers.windows_spooler import windows_queue

Interface = Literal["tcp", "serial", "usb", "cups", "windows"]
CodePage = Literal["", "cp1251", "cp1125", "cp866", "raster"]


@runtime_checkable
class HasSpare(Protocol):
    """Settings of a printer that may name another one for papers that it does not print."""

    @property
    def spare(self) -> str:
        """The name of that printer; empty for none."""


class PrinterSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The address of a printer, its features, and what to do with a job that it does not print."""

    interface: Annotated[
        Interface,
        Meta(description="The line: network, COM port, USB device file of Linux, queue of CUPS, queue of Windows"),
    ] = "tcp"
    host: Annotated[str, Meta(description="Address of the printer or CUPS server; empty is this machine's CUPS")] = ""
    port: Annotated[int, Meta(ge=0, le=65535, description="TCP port; 0 is the usual one: 9100, for CUPS 631")] = 0
    serial_port: Annotated[str, Meta(description="COM3, /dev/ttyUSB0")] = ""
    baudrate: Annotated[int, Meta(gt=0, description="Speed of the COM port")] = 9600
    flow: Annotated[
        Literal["none", "rtscts", "xonxoff"], Meta(description="How the printer asks for a pause on a COM port")
    ] = "rtscts"
    device_file: Annotated[str, Meta(description="USB device file")] = "/dev/usb/lp0"
    queue: Annotated[str, Meta(description="Name of the queue in CUPS or Windows")] = ""
    profile: Annotated[str, Meta(description="Family of printers that it belongs to")] = "generic-80"
    code_page: Annotated[CodePage, Meta(description="Code table of texts; empty is the family's best one")] = ""
    code_table: Annotated[
        Annotated[int, Meta(ge=0, le=255)] | None,
        Meta(description="Number of that table in this printer (test print 2 finds it)"),
    ] = None
    columns: Annotated[Annotated[int, Meta(ge=24, le=96)] | None, Meta(description="Letters in a line")] = None
    dots: Annotated[Annotated[int, Meta(ge=256, le=1024)] | None, Meta(description="Dots across the paper")] = None
    drawer_inverted: Annotated[bool, Meta(description="Whether the drawer's contact reports the opposite")] = False
    job_ttl_s: Annotated[
        float, Meta(ge=5, le=3600, description="Seconds that a job may wait for paper before it is given up")
    ] = 60.0
    spare: Annotated[str, Meta(description="Printer that takes what this one does not")] = ""

    language: ClassVar[Language] = "escpos"
    """The language of the driver."""

    def __post_init__(self) -> None:
        """Check that the members fit together.

        :raises BadSettings: with the path of the one that does not.
        """
        for name in _NEEDED[self.interface]:
            if not getattr(self, name):
                raise BadSettings(f"settings.{name}", f"interface {self.interface} needs it")
        profile_of(self)


def known_profile(name: str, *languages: Language) -> Profile:
    """The family ``name``, of one of ``languages`` if any are given.

    :raises BadSettings: with the possible names.
    """
    families = [family.name for family in PROFILES.values() if not languages or family.language in languages]
    if name not in families:
        raise BadSettings("settings.profile", f"one of {', '.join(families)} is expected")
    return PROFILES[name]


def profile_of(settings: PrinterSettings) -> Profile:
    """The family's profile with the changes of the settings.

    :raises BadSettings: for an unknown family, or a code table without a known number.
    """
    family = known_profile(settings.profile, settings.language)
    profile = replace(
        family,
        columns_a=settings.columns or family.columns_a,
        dots=settings.dots or family.dots,
        page=settings.code_page or family.page,
    )
    page = profile.best_page()
    if page == "raster":
        return profile
    if settings.code_table is not None:
        profile = replace(profile, code_tables={**profile.code_tables, page: settings.code_table})
    if page not in profile.code_tables:
        raise BadSettings("settings.code_table", f"the number of {page} in this printer has to be named")
    return profile


_NEEDED: dict[Interface, tuple[str, ...]] = {
    "tcp": ("host",),
    "serial": ("serial_port",),
    "usb": ("device_file",),
    "cups": ("queue",),
    "windows": ("queue",),
}
"""The members that each interface needs."""


def way_of(settings: PrinterSettings, around: Surroundings) -> IPrinterWay:
    """The way to the printer."""
    profile = profile_of(settings)
    if settings.interface in ("cups", "windows"):
        return QueueWay(profile, _queue(settings, around.reactor))
    # Without flow control the printer's small buffer would overflow.
    rate = settings.baudrate // 10 if settings.interface == "serial" and settings.flow == "none" else 0
    # The reactor's own time: moving the training clock must not end a printer's time-outs.
    return LineWay(
        profile,
        _endpoint(settings, around.reactor),
        around.reactor,
        settings.job_ttl_s,
        rate,
        not settings.drawer_inverted,
    )


def _endpoint(settings: PrinterSettings, reactor: Any) -> IStreamClientEndpoint:
    if settings.interface == "usb":
        return DeviceFileEndpoint(reactor, settings.device_file)
    # Lazy: its endpoints load OpenSSL.
    from protocols.serial import SerialEndpoint, SerialSettings, TcpEndpoint

    if settings.interface == "tcp":
        return TcpEndpoint(reactor, settings.host, settings.port or 9100)
    rtscts, xonxoff = settings.flow == "rtscts", settings.flow == "xonxoff"
    return SerialEndpoint(
        reactor, SerialSettings(settings.serial_port, settings.baudrate, rtscts=rtscts, xonxoff=xonxoff)
    )


def _queue(settings: PrinterSettings, reactor: Any) -> Any:
    if settings.interface == "cups":
        # Lazy: its HTTP client takes 3 MB.
        from protocols.printers.cups import PORT, cups_at

        return cups_at(reactor, settings.host, settings.port or PORT).queue(settings.queue)
    return windows_queue(reactor, settings.queue)


def build(row: DeviceRow, settings: PrinterSettings, around: Surroundings) -> PrinterService:
    """The printing service of a real printer."""
    return PrinterService(row.n, row.name, around.store, way_of(settings, around), around.clock)
