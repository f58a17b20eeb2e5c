"""Frames of a serial ZVT line: every cut, every kind of noise, acknowledgements and repeats."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import Garbled, Silent, WireError
from protocols.serial import SerialSettings
from protocols.terminals.zvt.apdu import Apdu
from protocols.terminals.zvt.link import (
    ACK,
    NAK,
    NOISE,
    DleDeframer,
    SerialLink,
    Sign,
    TcpLink,
    dle_frame,
    line_settings,
)
from tests.terminal_matrix import shows
from tests.vectors.zvt import APDUS, FRAMES

PAY, OTHER = (Apdu.decode(framed.apdu) for framed in FRAMES)
PAY_FRAME, OTHER_FRAME = (framed.frame for framed in FRAMES)


def found(*pieces: bytes) -> list[Apdu | Sign]:
    """What is on a line that brings ``pieces``."""
    deframer = DleDeframer()
    return [each for piece in pieces for each in deframer.feed(piece)]


class FrameTests(SynchronousTestCase):
    """APDUs in frames."""

    def test_both_ways(self) -> None:
        """Recorded and computed frames are read and written as they are."""
        for framed in FRAMES:
            apdu = Apdu.decode(framed.apdu)
            self.assertEqual((dle_frame(apdu), found(framed.frame)), (framed.frame, [apdu]))

    @shows("golden frames", wire="zvt")
    def test_cut_at_every_byte(self) -> None:
        """Every golden message comes out of its frame, wherever that is cut."""
        for raw in {each.raw for each in APDUS if len(each.raw) < 300}:
            apdu = Apdu.decode(raw)
            frame = dle_frame(apdu)
            for cut in range(len(frame)):
                self.assertEqual(found(frame[:cut]), [])
                self.assertEqual(found(frame[:cut], frame[cut:]), [apdu])

    def test_settings(self) -> None:
        """The line itself has two stop bits and no handshake lines."""
        self.assertEqual(line_settings("COM3", 115200), SerialSettings("COM3", 115200, 8, "N", 2, False, False))

    def test_signs(self) -> None:
        """Acknowledgements stand between frames."""
        expected = [Sign.ACK, PAY, Sign.NAK, OTHER, Sign.ACK]
        self.assertEqual(found(ACK + PAY_FRAME + NAK + OTHER_FRAME + ACK), expected)

    def test_noise_around(self) -> None:
        """Noise before, between and behind frames costs nothing."""
        self.assertEqual(found(b"\xff\x00" + PAY_FRAME + b"\x10\x41\xfe" + OTHER_FRAME + b"\x7f"), [PAY, OTHER])

    def test_noise_inside(self) -> None:
        """A frame with a wrong, missing or added byte anywhere never becomes a message; the next one does."""
        for place in range(2, len(PAY_FRAME)):
            before, behind = PAY_FRAME[:place], PAY_FRAME[place + 1 :]
            wrong = before + bytes([PAY_FRAME[place] ^ 0x20]) + behind
            for spoilt in (wrong, before + behind, before + b"\x55" + PAY_FRAME[place:]):
                self.assertNotIn(PAY, found(spoilt), place)
                self.assertIn(OTHER, found(spoilt, b"\x10\x03\x00\x00", OTHER_FRAME, OTHER_FRAME), place)

    def test_wrong_crc(self) -> None:
        """A frame whose CRC is wrong is reported as broken."""
        self.assertEqual(found(PAY_FRAME[:-1] + b"\xf6"), [Sign.BROKEN])

    def test_wrong_length(self) -> None:
        """A frame with a right CRC around a message of wrong length is broken too."""
        longer = Apdu(PAY.control, PAY.data + b"\0").encode()
        longer = longer[:2] + bytes([len(PAY.data)]) + longer[3:]

        class Raw(Apdu):
            """An APDU with any given bytes."""

            def encode(self) -> bytes:
                return longer

        self.assertEqual(found(dle_frame(Raw(0))), [Sign.BROKEN])

    def test_begun_anew(self) -> None:
        """A frame that begins within another replaces it."""
        self.assertEqual(found(PAY_FRAME[:6] + OTHER_FRAME), [OTHER])

    def test_endless_noise(self) -> None:
        """A line with nothing but noise is reported with its first bytes."""
        error = self.assertRaises(Garbled, found, b"VER|APP " * NOISE)
        self.assertTrue(error.data.startswith(b"VER|APP "))

    @settings(deadline=None)
    @given(st.lists(st.binary(max_size=40), max_size=8))
    def test_any_bytes(self, pieces: list[bytes]) -> None:
        """Whatever comes, the deframer finds what it finds and does not crash, however the bytes are cut."""
        self.assertEqual(found(*pieces), found(b"".join(pieces)))

    @settings(deadline=None)
    @given(st.binary(max_size=300), st.integers(0, 0xFFFF))
    def test_any_data(self, data: bytes, control: int) -> None:
        """Every message comes out of its frame."""
        apdu = Apdu(control & 0x02FF | 0x0400, data)
        self.assertEqual(found(dle_frame(apdu)), [apdu])


class SerialLinkTests(SynchronousTestCase):
    """Acknowledgements, repeats and limits of one end."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.written: list[bytes] = []
        self.got: list[Apdu] = []
        self.errors: list[WireError] = []
        self.link = SerialLink(self.clock, self.written.append, self.got.append, self.errors.append)

    def test_received(self) -> None:
        """A frame is acknowledged and delivered."""
        self.link.feed(PAY_FRAME)
        self.assertEqual((self.written, self.got), ([ACK], [PAY]))

    def test_wrong(self) -> None:
        """A broken frame is refused and not delivered; its repeat is."""
        self.link.feed(PAY_FRAME[:-1] + b"\0")
        self.link.feed(PAY_FRAME)
        self.assertEqual((self.written, self.got), ([NAK, ACK], [PAY]))

    def test_pause_inside(self) -> None:
        """A pause of more than 200 ms within a frame is refused, and reading starts again after it."""
        self.link.feed(PAY_FRAME[:5])
        self.clock.advance(0.19)
        self.link.feed(PAY_FRAME[5:7])
        self.clock.advance(0.19)
        self.assertEqual(self.written, [])
        self.clock.advance(0.02)
        self.assertEqual(self.written, [NAK])
        self.link.feed(PAY_FRAME)
        self.assertEqual((self.written, self.got), ([NAK, ACK], [PAY]))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_sent_once(self) -> None:
        """An acknowledged frame is not repeated."""
        self.link.send(PAY)
        self.link.feed(ACK)
        self.clock.advance(60)
        self.assertEqual((self.written, self.errors), ([PAY_FRAME], []))

    def test_in_order(self) -> None:
        """The next frame waits for the acknowledgement of the one before."""
        self.link.send(PAY)
        self.link.send(OTHER)
        self.assertEqual(self.written, [PAY_FRAME])
        self.link.feed(ACK)
        self.assertEqual(self.written, [PAY_FRAME, OTHER_FRAME])
        self.link.feed(ACK + ACK)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_refused(self) -> None:
        """A refused frame is repeated twice as the same bytes, then the line is given up."""
        self.link.send(PAY)
        for _ in range(2):
            self.link.feed(NAK)
        self.assertEqual((self.written, self.errors), ([PAY_FRAME] * 3, []))
        self.link.feed(NAK)
        self.assertEqual((len(self.written), len(self.errors)), (3, 1))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_repeats_are_counted_for_each_frame(self) -> None:
        """Repeats of one frame leave the next one its own."""
        self.link.send(PAY)
        self.link.send(OTHER)
        for sign in (NAK, NAK, ACK, NAK, NAK, ACK):
            self.link.feed(sign)
        self.assertEqual((self.written, self.errors), ([PAY_FRAME] * 3 + [OTHER_FRAME] * 3, []))

    def test_no_acknowledgement(self) -> None:
        """Without acknowledgement the frame is repeated after 5 s, twice."""
        self.link.send(PAY)
        self.clock.advance(4.9)
        self.assertEqual(len(self.written), 1)
        self.clock.advance(0.2)
        self.assertEqual(self.written, [PAY_FRAME] * 2)
        self.clock.pump([5, 4.8])
        self.assertEqual((len(self.written), self.errors), (3, []))
        self.clock.advance(0.2)
        [error] = self.errors
        assert isinstance(error, Silent)
        self.assertEqual((error.seconds, len(self.written)), (15, 3))

    def test_noise_instead_of_acknowledgement(self) -> None:
        """When noise came instead, the noise is reported."""
        self.link.send(PAY)
        self.link.feed(b"\x00\x00\x00>VER|APP")
        self.clock.pump([5, 5, 5])
        [error] = self.errors
        assert isinstance(error, Garbled)
        self.assertIn(b"VER|APP", error.data)

    def test_acknowledgement_lost(self) -> None:
        """A frame that comes again while our answer to it is not acknowledged is not delivered twice."""
        self.link.feed(PAY_FRAME)
        self.link.send(OTHER)
        self.link.feed(PAY_FRAME)
        self.assertEqual((self.got, self.written), ([PAY], [ACK, OTHER_FRAME, ACK]))
        self.link.feed(ACK)
        self.link.feed(PAY_FRAME)
        self.assertEqual(self.got, [PAY, PAY])

    def test_stopped(self) -> None:
        """A stopped link sends and delivers nothing and leaves no timer."""
        self.link.send(PAY)
        self.link.feed(PAY_FRAME[:4])
        self.link.stop()
        self.link.send(OTHER)
        self.link.feed(PAY_FRAME[4:])
        self.assertEqual((self.written, self.got, self.clock.getDelayedCalls()), ([PAY_FRAME], [], []))

    @settings(deadline=None)
    @given(st.lists(st.binary(max_size=40), max_size=8))
    def test_any_bytes(self, pieces: list[bytes]) -> None:
        """Whatever comes, the link stays whole."""
        link = SerialLink(Clock(), lambda _: None, lambda _: None, lambda _: None)
        for piece in pieces:
            link.feed(piece)


class TcpLinkTests(SynchronousTestCase):
    """APDUs as they are."""

    def test_both_ways(self) -> None:
        """What is sent is the APDU; what comes is delivered until the link is stopped."""
        written: list[bytes] = []
        got: list[Apdu] = []
        link = TcpLink(written.append, got.append)
        link.send(PAY)
        link.feed(FRAMES[0].apdu)
        self.assertEqual((written, got), ([FRAMES[0].apdu], [PAY]))
        link.stop()
        link.feed(FRAMES[0].apdu)
        self.assertEqual(got, [PAY])
