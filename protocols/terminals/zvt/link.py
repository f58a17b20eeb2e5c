"""The two lines that carry APDUs, the same at both ends: TCP, and serial with frames and acknowledgements.

On a serial line (docs/reference/zvt.md#serial-frame)::

    10 02   APDU, each 10 in it doubled   10 03   CRC low, CRC high

The CRC covers the APDU as it was before doubling, and the closing 03. Each frame is answered by one byte, ACK 06 or
NAK 15. A frame that is not acknowledged is sent again, twice at most, and always as the same bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Protocol

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from protocols.checksums import crc_kermit
from protocols.errors import Garbled, Silent, WireError
from protocols.serial import SerialSettings
from protocols.terminals.lines import stop
from protocols.terminals.zvt.apdu import LONGEST, Apdu, ApduDeframer

DLE, STX, ETX = 0x10, 0x02, 0x03
ACK, NAK = b"\x06", b"\x15"

T1 = 0.2
"""Seconds between two bytes of one frame; a longer pause is answered by NAK (docs/reference/zvt.md#timings)."""
T2 = 5.0
"""Seconds to wait for the acknowledgement of a frame."""
REPEATS = 2
"""How often a frame is sent again."""

NOISE = 512
"""Bytes outside any frame after which the peer does not speak ZVT."""


def line_settings(port: str, baudrate: int = 9600) -> SerialSettings:
    """How the serial line of a ZVT terminal is opened: 9600, or 115200 as an option, 8N2, no handshake lines."""
    return SerialSettings(port, baudrate, stopbits=2)


class Sign(Enum):
    """What a serial line carries besides frames."""

    ACK = 0x06
    NAK = 0x15
    BROKEN = -1
    """A frame that cannot be read: wrong CRC, wrong length, a lone DLE."""


def dle_frame(apdu: Apdu) -> bytes:
    """The frame that carries ``apdu`` over a serial line."""
    raw = apdu.encode()
    crc = crc_kermit(raw + bytes([ETX])).to_bytes(2, "little")
    doubled = raw.replace(bytes([DLE]), bytes([DLE, DLE]))
    return bytes([DLE, STX]) + doubled + bytes([DLE, ETX]) + crc


class DleDeframer:
    """Takes frames and signs out of the bytes of a serial line, cut anywhere; the rest is noise."""

    def __init__(self) -> None:
        self._state: Callable[[int], Apdu | Sign | None] = self._outside
        self._body = bytearray()
        self._crc = bytearray()
        self.noise = bytearray()
        """Bytes outside frames since the last frame or sign."""

    @property
    def inside(self) -> bool:
        """Whether a frame has begun and not ended."""
        return self._state != self._outside

    def feed(self, data: bytes) -> Iterator[Apdu | Sign]:
        """Everything that ``data`` completes.

        :raises Garbled: when there is more than `NOISE` bytes of noise.
        """
        for byte in data:
            found = self._state(byte)
            if found is not None:
                self.noise.clear()
                yield found
            elif len(self.noise) > NOISE:
                noise = bytes(self.noise)
                self.forget()
                raise Garbled("this is not ZVT", noise)

    def forget(self) -> None:
        """Drop an incomplete frame: its end did not come in time."""
        self._state = self._outside
        self._body.clear()
        self._crc.clear()
        self.noise.clear()

    def _outside(self, byte: int) -> Apdu | Sign | None:
        if byte == DLE:
            self._state = self._opening
        elif byte in (Sign.ACK.value, Sign.NAK.value):
            return Sign(byte)
        else:
            self.noise.append(byte)
        return None

    def _opening(self, byte: int) -> Apdu | Sign | None:
        if byte == STX:
            self._body.clear()
            self._state = self._within
        elif byte != DLE:
            self.noise += bytes([DLE, byte])
            self._state = self._outside
        return None

    def _within(self, byte: int) -> Apdu | Sign | None:
        if byte == DLE:
            self._state = self._escaped
            return None
        self._body.append(byte)
        return self._broken() if len(self._body) > LONGEST + 5 else None

    def _escaped(self, byte: int) -> Apdu | Sign | None:
        self._state = self._within
        if byte == DLE:
            self._body.append(byte)
        elif byte == STX:
            # The peer began a new frame: the one before it is lost.
            self._body.clear()
        elif byte == ETX:
            self._crc.clear()
            self._state = self._closing
        else:
            return self._broken()
        return None

    def _closing(self, byte: int) -> Apdu | Sign | None:
        self._crc.append(byte)
        if len(self._crc) < 2:
            return None
        body, crc = bytes(self._body), int.from_bytes(self._crc, "little")
        if crc != crc_kermit(body + bytes([ETX])):
            return self._broken()
        try:
            apdu = Apdu.decode(body)
        except Garbled:
            return self._broken()
        self.forget()
        return apdu

    def _broken(self) -> Sign:
        self.forget()
        return Sign.BROKEN


class Link(Protocol):
    """Sends APDUs and takes what the transport brings."""

    def send(self, apdu: Apdu) -> None:
        """Send ``apdu`` after those before it."""

    def feed(self, data: bytes) -> None:
        """Take bytes from the transport.

        :raises Garbled: when they are not ZVT.
        """

    @property
    def noise(self) -> bytes:
        """Bytes so far that are not ZVT."""

    def stop(self) -> None:
        """Send nothing more."""


class TcpLink:
    """APDUs as they are."""

    def __init__(self, write: Callable[[bytes], object], deliver: Callable[[Apdu], object]) -> None:
        self._write, self._deliver = write, deliver
        self._deframer = ApduDeframer()
        self._stopped = False
        self.noise = b""
        """This line skips nothing."""

    def send(self, apdu: Apdu) -> None:
        """Send ``apdu``."""
        self._write(apdu.encode())

    def feed(self, data: bytes) -> None:
        """Deliver every APDU that ``data`` completes.

        :raises Garbled: when the stream holds something else.
        """
        for apdu in self._deframer.feed(data):
            if self._stopped:
                return
            self._deliver(apdu)

    def stop(self) -> None:
        """Deliver nothing more."""
        self._stopped = True


class SerialLink:
    """APDUs in frames, one on its way at a time.

    :param broken: called with the error when a frame and its repeats were not acknowledged.
    """

    def __init__(
        self,
        clock: IReactorTime,
        write: Callable[[bytes], object],
        deliver: Callable[[Apdu], object],
        broken: Callable[[WireError], object],
        t1: float = T1,
        t2: float = T2,
    ) -> None:
        self._clock, self._write, self._deliver, self._broken = clock, write, deliver, broken
        self._t1, self._t2 = t1, t2
        self._deframer = DleDeframer()
        self._waiting: deque[bytes] = deque()
        self._tries = 0
        self._last: Apdu | None = None
        self._between: IDelayedCall | None = None
        self._due: IDelayedCall | None = None
        self._stopped = False

    def send(self, apdu: Apdu) -> None:
        """Send ``apdu`` once everything before it is acknowledged."""
        if self._stopped:
            return
        self._waiting.append(dle_frame(apdu))
        if len(self._waiting) == 1:
            self._transmit()

    def feed(self, data: bytes) -> None:
        """Acknowledge and deliver what ``data`` completes.

        :raises Garbled: when there is more than `NOISE` bytes of noise.
        """
        stop(self._between)
        for found in self._deframer.feed(data):
            if self._stopped:
                return
            if found is Sign.ACK:
                self._acknowledged()
            elif found is Sign.NAK:
                self._again()
            elif isinstance(found, Apdu):
                self._write(ACK)
                self._take(found)
            else:
                self._write(NAK)
        if self._deframer.inside and not self._stopped:
            self._between = self._clock.callLater(self._t1, self._cut_short)

    def stop(self) -> None:
        """Send, repeat and deliver nothing more."""
        self._stopped = True
        self._waiting.clear()
        stop(self._between)
        stop(self._due)

    @property
    def noise(self) -> bytes:
        """See `Link.noise`."""
        return bytes(self._deframer.noise)

    def _take(self, apdu: Apdu) -> None:
        # If the same frame comes while our answer to it is not acknowledged, our acknowledgement was lost.
        if self._waiting and apdu == self._last:
            return
        self._last = apdu
        self._deliver(apdu)

    def _transmit(self) -> None:
        self._tries += 1
        self._due = self._clock.callLater(self._t2, self._again)
        self._write(self._waiting[0])

    def _acknowledged(self) -> None:
        if not self._waiting:
            return
        stop(self._due)
        self._waiting.popleft()
        self._tries = 0
        if self._waiting:
            self._transmit()

    def _again(self) -> None:
        if not self._waiting:
            return
        stop(self._due)
        if self._tries <= REPEATS:
            self._transmit()
            return
        noise = self.noise
        self.stop()
        self._broken(Garbled("this is not ZVT", noise) if noise else Silent(self._t2 * (REPEATS + 1)))

    def _cut_short(self) -> None:
        self._deframer.forget()
        self._write(NAK)
