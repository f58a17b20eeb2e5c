"""What the operating system lists: serial ports, USB printers, print queues, the machine's own networks.

All of it blocks for a moment, so it runs in a thread; the queues of CUPS are asked over its socket.
"""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any, NamedTuple

from protocols.errors import NotReached
from protocols.printers.windows_spooler import installed_spooler

MOST_READ = 4096
"""Bytes of a system's file that are read."""

PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
"""Networks that are nobody else's (RFC 1918); no other one is searched."""

MOST_NETWORKS = 3

_VIRTUAL = ("lo", "docker", "br-", "veth", "virbr")
"""Beginnings of the names of interfaces that no device is behind."""

_SIOCGIFADDR = 0x8915
"""Linux: the address of an interface (linux/sockios.h)."""


class SerialPort(NamedTuple):
    """A serial port; ``vendor`` is the USB number of its maker, `None` for one that is not on USB."""

    name: str
    text: str = ""
    vendor: int | None = None


class UsbPrinter(NamedTuple):
    """A device file of Linux; ``model`` and ``languages`` as the printer describes itself (IEEE 1284)."""

    file: str
    model: str = ""
    languages: str = ""


class Queue(NamedTuple):
    """A print queue of the system."""

    interface: str
    name: str
    model: str = ""


def serial_ports() -> list[SerialPort]:
    """The serial ports; on Linux without those that the board only might have."""
    found: Iterable[Any] = import_module("serial.tools.list_ports").comports()
    return [
        SerialPort(one.device, " ".join(filter(None, (one.manufacturer, one.product))), one.vid)
        for one in sorted(found)
        if one.vid is not None or one.hwid != "n/a"
    ]


def usb_printers(devices: Path = Path("/dev/usb"), classes: Path = Path("/sys/class/usbmisc")) -> list[UsbPrinter]:
    """The USB printers of Linux, each with what it says of itself."""
    files = sorted(devices.glob("lp*")) if devices.is_dir() else []
    return [_usb_printer(file, classes / file.name / "device" / "ieee1284_id") for file in files]


def _usb_printer(file: Path, described: Path) -> UsbPrinter:
    text = ""
    with suppress(OSError), described.open("rb") as opened:
        text = opened.read(MOST_READ).decode("utf-8", "replace")
    members = dict(part.strip().partition(":")[::2] for part in text.split(";") if ":" in part)
    maker = members.get("MFG", members.get("MANUFACTURER", ""))
    model = members.get("MDL", members.get("MODEL", ""))
    languages = members.get("CMD", members.get("COMMAND SET", ""))
    return UsbPrinter(str(file), f"{maker} {model}".strip(), languages.upper())


def windows_queues() -> list[Queue]:
    """The print queues of Windows; none on other systems."""
    try:
        spooler: Any = installed_spooler()
    except NotReached:
        return []
    local, connected = 2, 4
    return [Queue("windows", name, about) for _, about, name, _ in spooler.EnumPrinters(local | connected, None, 1)]


if sys.platform == "linux":
    import fcntl

    def addresses() -> list[str]:
        """The IPv4 addresses of the machine, one for each interface that devices can be behind."""
        found = []
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
            for _, name in socket.if_nameindex():
                if name.startswith(_VIRTUAL):
                    continue
                with suppress(OSError):
                    told = fcntl.ioctl(asked.fileno(), _SIOCGIFADDR, struct.pack("256s", name[:15].encode()))
                    found.append(socket.inet_ntoa(told[20:24]))
        return found

else:

    def addresses() -> list[str]:
        """The IPv4 addresses of the machine, as its own name has them."""
        with suppress(OSError):
            return socket.gethostbyname_ex(socket.gethostname())[2]
        return []


def networks_of(found: Iterable[str]) -> list[IPv4Network]:
    """The networks of up to 254 neighbours around private ``found`` addresses."""
    own = [IPv4Address(one) for one in found]
    around = [IPv4Network(f"{one}/24", strict=False) for one in own if any(one in network for network in PRIVATE)]
    return list(dict.fromkeys(around))[:MOST_NETWORKS]


@dataclass
class Machine:
    """The lists of one machine; `machine_of` makes that of this one."""

    cups: Callable[[], Awaitable[list[Queue]]]
    serial_ports: Callable[[], list[SerialPort]] = serial_ports
    usb_printers: Callable[[], list[UsbPrinter]] = usb_printers
    windows_queues: Callable[[], list[Queue]] = windows_queues
    addresses: Callable[[], list[str]] = addresses


def machine_of(reactor: Any) -> Machine:
    """This machine."""

    async def cups() -> list[Queue]:
        if sys.platform == "win32":
            return []
        # Its HTTP client takes 3 MB, which only a shop that looks for printers has to spend.
        module = import_module("protocols.printers.cups")
        try:
            return [Queue("cups", name, model) for name, model in await module.cups_at(reactor).queues()]
        except NotReached:
            return []

    return Machine(cups)
