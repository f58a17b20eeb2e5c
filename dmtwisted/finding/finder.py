"""What is connected to this computer, and which of it is added already."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from twisted.logger import Logger

from dmtwisted.devices.devices import Device, Devices
from dmtwisted.devices.driver import PRINTER, TERMINAL
from dmtwisted.finding.machine import Machine, Queue, SerialPort, UsbPrinter
from protocols.errors import WireError

RAW_PORT = 9100
"""The usual TCP port of printers."""

USUAL_PORTS = {
    "privatbank-json": 2000,
    "ssi-json": 3000,
    "zvt": 20007,
    "ecr17": 10000,
    "caisse-ap": 8888,
    "nexo": 8443,
}
"""The usual TCP port of each protocol of terminals (docs/reference/terminals.md, ECR17: often)."""

MAKERS: Mapping[int, tuple[str, str]] = {
    0x04B8: ("Epson", PRINTER),
    0x0519: ("Star Micronics", PRINTER),
    0x1504: ("Bixolon", PRINTER),
    0x1D90: ("Citizen", PRINTER),
    0x2730: ("Citizen", PRINTER),
    0x154F: ("SNBC", PRINTER),
    0x0DD4: ("Custom", PRINTER),
    0x0B00: ("Ingenico", TERMINAL),
    0x11CA: ("Verifone", TERMINAL),
    0x1EAB: ("Newland", TERMINAL),
    0x0403: ("FTDI", ""),
    0x067B: ("Prolific", ""),
    0x1A86: ("QinHeng (CH340)", ""),
    0x10C4: ("Silicon Labs", ""),
}
"""Makers by their USB number, and what their serial ports belong to; empty for cables, which lead to anything."""

OFFICE = ("PCL", "POSTSCRIPT", "PJL", "ESCPR")
"""Languages of office printers, which print no receipts of ours."""

FAMILIES = (("star", "star", "star"), ("epson", "escpos", "epson"), ("citizen", "escpos", "citizen"))
"""What the name of a maker says: the word, the driver, the profile."""

Line = tuple[object, ...]
"""Where a device is, so that two descriptions of one place are equal."""


class Found(msgspec.Struct, frozen=True):
    """Something that can be added; `settings` are those of its form that are known.

    `kind` is empty when it can be a printer or a terminal, `driver` when a person has to choose. `device` is the
    device of the service that is there already. `answers` says that it answered as a device of this kind does.
    """

    title: str
    place: str
    kind: Literal["printer", "terminal", "register", ""]
    driver: str
    settings: dict[str, Any]
    device: str = ""
    answers: bool = False


class Finder:
    """Looks for what is connected to this computer.

    :param machine: what the system lists; may be replaced.
    """

    log = Logger()

    def __init__(self, devices: Devices, machine: Machine) -> None:
        self.devices, self.machine = devices, machine

    async def here(self) -> list[Found]:
        """The serial ports, USB printers and queues; a list that cannot be had is left out."""
        aside, machine = self.devices.clock.aside, self.machine
        found = []
        try:
            found += [self._of_usb(one) for one in await aside(machine.usb_printers)]
            queues = [*await aside(machine.windows_queues), *await machine.cups()]
            found += [self._of_queue(one) for one in queues]
        except (OSError, WireError) as error:
            self.log.info("the print queues are not known: {why}", why=str(error))
        try:
            found += [self._of_port(one) for one in await aside(machine.serial_ports)]
        except OSError as error:
            self.log.info("the serial ports are not known: {why}", why=str(error))
        return [one for one in found if one is not None]

    def device_at(self, line: Line) -> str:
        """The name of the device that is there already; empty when there is none."""
        return next((device.name for device in self.devices if line_of(device) == line), "")

    def _of_port(self, port: SerialPort) -> Found:
        maker, kind = MAKERS.get(port.vendor or 0, ("", ""))
        driver, profile = family_of(maker) if kind == PRINTER else ("", "")
        settings = {"interface": "serial", "serial_port": port.name}
        return Found(
            title=port.text or maker,
            place=port.name,
            kind="printer" if kind == PRINTER else "terminal" if kind == TERMINAL else "",
            driver=driver,
            settings={**settings, "profile": profile} if profile else settings,
            device=self.device_at(serial_line(port.name)),
        )

    def _of_usb(self, printer: UsbPrinter) -> Found | None:
        if any(word in printer.languages for word in OFFICE) and "ESC/POS" not in printer.languages:
            return None
        settings = {"interface": "usb", "device_file": printer.file}
        return self._printer(printer.model, printer.file, settings, ("usb", printer.file))

    def _of_queue(self, queue: Queue) -> Found:
        settings = {"interface": queue.interface, "queue": queue.name}
        return self._printer(queue.model, queue.name, settings, (queue.interface, "", queue.name))

    def _printer(self, model: str, place: str, settings: dict[str, Any], line: Line) -> Found:
        driver, profile = family_of(model)
        given = {**settings, "profile": profile} if profile else settings
        return Found(model, place, "printer", driver or "escpos", given, self.device_at(line))


def family_of(name: str) -> tuple[str, str]:
    """The driver and the profile for a printer of this name; both empty when it says neither."""
    for word, driver, profile in FAMILIES:
        if word in name.lower():
            return driver, profile
    return ("escpos", "citizen") if "bixolon" in name.lower() else ("", "")


def line_of(device: Device) -> Line:
    """Where a device is; empty when that is not known."""
    settings: dict[str, Any] = msgspec.to_builtins(device.settings)
    match settings.get("interface"):
        case "tcp":
            own = getattr(device.settings, "usual_port", 0)
            usual = RAW_PORT if device.kind == PRINTER else USUAL_PORTS.get(device.row.driver, own)
            return ("tcp", settings.get("host"), settings.get("port") or usual)
        case "serial":
            return serial_line(str(settings.get("serial_port")))
        case "usb":
            return ("usb", settings.get("device_file"))
        case "cups" | "windows" as interface:
            return (interface, settings.get("host") or "", settings.get("queue"))
    return ()


def serial_line(port: str) -> Line:
    """The line of a serial port, whatever name leads to it."""
    return ("serial", _real(port))


def _real(port: str) -> str:
    """The port itself, for names that lead to it."""
    return os.path.realpath(port) if port.startswith("/dev/") else port.upper()
