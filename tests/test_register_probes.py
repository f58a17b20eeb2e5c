"""Which hardware register is at a serial port: each is found at its own speeds, none is taken for another."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IProtocol, IProtocolFactory
from twisted.internet.protocol import Protocol
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from protocols.registers.datecs import finding as datecs
from protocols.registers.finding import Found, Probe, find_out, find_out_there
from protocols.registers.ics import finding as ics
from protocols.registers.maria import finding as maria
from protocols.serial import ISerialLines, SerialSettings
from protocols.simulators.datecs_register import UkrainianDevice
from protocols.simulators.ics_register import IcsDevice
from protocols.simulators.maria_register import MariaDevice
from tests.register_desk import Desk

PROBES = (datecs.PROBE, ics.PROBE, maria.PROBE)

HARMLESS = {"ReadFirmware", "ReadState", "ReadMemory", "ReadConfiguration", "unknown"}


@implementer(ISerialLines)
class Port(Clock):
    """A reactor whose serial port has a register with these parameters of the line, deaf to all others."""

    def __init__(self, build: Any, probe: Probe, baudrate: int) -> None:
        super().__init__()
        self.device = build(self)
        self.desk = Desk(self, self.device)
        self._settings, self._right = probe.line("COM3", baudrate), False
        self.desk.endpoint.accept = lambda: self.device.buildProtocol(None) if self._right else Protocol()

    def connectSerial(self, settings: SerialSettings, factory: IProtocolFactory) -> Deferred[IProtocol]:
        """Open the port."""
        self._right = settings == self._settings
        return self.desk.endpoint.connect(factory)


def with_crc(clock: Clock) -> IcsDevice:
    """A register of EP-11."""
    return IcsDevice(clock, crc=True)


class ProbeTests(SynchronousTestCase):
    """Every probe, with every register."""

    def test_found(self) -> None:
        """Driver and speed are found with questions only, within half a minute."""
        for build, probe, said in (
            (UkrainianDevice, datecs.PROBE, ("datecs", "", "5.03 Mar 10 2021")),
            (IcsDevice, ics.PROBE, ("ics", "IKC0000001 01.01.24", "ЕП-06")),
            (with_crc, ics.PROBE, ("ics", "IKC0000001 01.01.24", "ЕП-11")),
            (MariaDevice, maria.PROBE, ("maria", "1234567890", "0301")),
        ):
            for speed in probe.speeds:
                port = Port(build, probe, speed)
                found = port.desk.done(find_out(port, "COM3", PROBES))
                assert found is not None
                self.assertEqual((found.protocol, found.serial, found.firmware, found.baudrate), (*said, speed))
                self.assertLess(port.seconds(), 30)
                self.assertLessEqual(set(port.device.heard), HARMLESS)
                self.assertEqual(port.device.iron.ledger, [])

    def test_network(self) -> None:
        """Over a network, each answers to its own questions only."""
        for build, name in ((UkrainianDevice, "datecs"), (with_crc, "ics"), (MariaDevice, "maria")):
            clock = Clock()
            desk = Desk(clock, build(clock))
            found = desk.done(find_out_there(clock, desk.endpoint, PROBES))
            assert isinstance(found, Found)
            self.assertEqual((found.protocol, found.baudrate), (name, 0))

    def test_mode_kept(self) -> None:
        """Maria with a CRC behind its frames is read, and keeps it."""
        clock = Clock()
        device = MariaDevice(clock)
        device.crc = device.awake = True
        desk = Desk(clock, device)
        found = desk.done(find_out_there(clock, desk.endpoint, (maria.PROBE,)))
        self.assertEqual((found is not None, device.crc), (True, True))
