"""What is found out about a register at a serial port or a network address."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IProtocol, IProtocolFactory
from twisted.internet.protocol import Protocol
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from protocols.errors import NotReached
from protocols.registers.datecs import classic
from protocols.registers.datecs.finding import PROBE
from protocols.registers.datecs.link import ClassicRegister, DatecsLink, numbers
from protocols.registers.finding import SPEEDS, Found, find_out, find_out_there
from protocols.serial import ISerialLines, SerialSettings
from protocols.simulators.datecs_classic_register import ClassicDevice
from protocols.simulators.datecs_register import UkrainianDevice
from protocols.simulators.ics_register import IcsDevice
from tests.register_desk import Desk

HARMLESS = {"ReadFirmware", "ReadVersion", "unknown"}


class _Deaf(Protocol):
    """A register at another speed: what arrives are other bytes."""

    noise = b""

    def dataReceived(self, data: bytes) -> None:
        """Answer noise to noise."""
        if self.noise and self.transport is not None:
            self.transport.write(self.noise)


class _Noisy(_Deaf):
    noise = b"\xf8\x00\x86"


@implementer(ISerialLines)
class _Port(Clock):
    """A reactor with one serial port and a register at one speed; the port is not shared."""

    def __init__(self, kind: Any, baudrate: int, other: type[_Deaf] = _Deaf) -> None:
        super().__init__()
        self.device, self._baudrate, self._other = kind(self), baudrate, other
        self.desk = Desk(self, self.device)
        self.desk.endpoint.accept = self._accept
        self.tried: list[int] = []

    def _accept(self) -> Any:
        return self.device.buildProtocol(None) if self.tried[-1] == self._baudrate else self._other()

    def connectSerial(self, settings: SerialSettings, factory: IProtocolFactory) -> Deferred[IProtocol]:
        """Open the port, once at a time."""
        open_ones = [pump for pump in self.desk.endpoint.pumps if not pump.clientIO.disconnected]
        if settings.port != "COM3" or open_ones:
            return fail(NotReached("another program uses the port"))
        self.tried.append(settings.baudrate)
        return self.desk.endpoint.connect(factory)

    def found(self, port: str = "COM3") -> Found | None:
        """What is found out, and how long it takes."""
        return self.desk.done(find_out(self, port, (PROBE,)))


class DatecsTests(SynchronousTestCase):
    """Registers of Datecs."""

    def test_found(self) -> None:
        """Speed, dialect and model, in a few seconds, and nothing but questions was sent."""
        for kind, driver, model in (
            (UkrainianDevice, "datecs", "Datecs FP-101"),
            (ClassicDevice, "datecs_classic", "FP-3530T 5.00"),
        ):
            for speed in SPEEDS:
                for other in (_Deaf, _Noisy):
                    port = _Port(kind, speed, other)
                    found = port.found()
                    assert found is not None
                    self.assertEqual((found.protocol, found.model, found.baudrate), (driver, model, speed))
                    self.assertTrue(found.firmware)
                    self.assertEqual(port.tried, list(SPEEDS[: SPEEDS.index(speed) + 1]))
                    self.assertLess(port.seconds(), 8)
                    self.assertLessEqual(set(port.device.heard), HARMLESS)

    def test_password(self) -> None:
        """A register with another password is recognised, and the password is not tried on."""
        port = _Port(UkrainianDevice, 115200)
        port.device.password = "123456"
        self.assertEqual(port.found(), Found("datecs", baudrate=115200))
        self.assertEqual(port.device.heard, ["ReadFirmware"] * 2)

    def test_old_answer(self) -> None:
        """The number of the first question may be used: its answer is an old one, and decides nothing."""
        port = _Port(ClassicDevice, 115200)
        port.tried.append(115200)
        link = port.desk.open(lambda: DatecsLink(port, numbers()))
        port.desk.done(ClassicRegister(link).do(classic.OpenText()))
        link.leave()
        port.desk.endpoint.flush()
        found = port.found()
        assert found is not None
        self.assertEqual(found.protocol, "datecs_classic")
        self.assertEqual(port.device.heard, ["OpenText", "unknown", "ReadVersion"])

    def test_nobody(self) -> None:
        """Another register, or none, is not taken for one; a port that cannot be opened is said."""
        self.assertIsNone(_Port(UkrainianDevice, 4800).found())
        self.assertIsNone(_Port(IcsDevice, 115200).found())
        self.assertRaises(NotReached, _Port(UkrainianDevice, 9600).found, "COM4")

    def test_network(self) -> None:
        """Over a network there is no speed to find."""
        clock = Clock()
        desk = Desk(clock, UkrainianDevice(clock))
        found = desk.done(find_out_there(clock, desk.endpoint, (PROBE,)))
        self.assertEqual(found, Found("datecs", "Datecs FP-101", firmware="5.03 Mar 10 2021"))
        desk = Desk(clock, IcsDevice(clock))
        self.assertIsNone(desk.done(find_out_there(clock, desk.endpoint, (PROBE,))))
