"""Bytes for people: what of a wire may be shown."""

from __future__ import annotations

from time import process_time

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import Garbled
from protocols.hiding import MOST, _checks, shown
from tests.canaries import CANARIES, seen


class ShownTests(SynchronousTestCase):
    """What is shown of bytes."""

    def test_plain(self) -> None:
        """Bytes without a card number stand there as they are, the first of them."""
        self.assertEqual(shown(b"SSH-2.0"), "53 53 48 2d 32 2e 30")
        self.assertEqual(len(shown(bytes(100)).split()), MOST)
        self.assertEqual(shown(bytes.fromhex("06 01 07 04 00 00 00 00 12 50")), "06 01 07 04 00 00 00 00 12 50")
        self.assertEqual(shown(b""), "")

    def test_digits(self) -> None:
        """A long number in digits is hidden but for six and four, with zeros before it and where it is cut, too."""
        text = bytes.fromhex(shown(b"PAN 4111111111111111;", 40).replace("**", "aa"))
        self.assertEqual(text, b"PAN 411111******1111;")
        for canary in CANARIES:
            for before in (b"", b"000", b"x" * 20, b"12 "):
                self.assertEqual(seen(shown(before + canary + b"=2911", 64).encode()), "", before)

    def test_groups(self) -> None:
        """A card number in groups, with blanks, dots, slashes, commas or dashes between them, is hidden too."""
        for sign in (" ", "-", ".", "/", ",", ", ", "_", ":"):
            spelled = sign.join(("4111", "1111", "1111", "1111"))
            text = bytes.fromhex(shown(f"PAN {spelled};".encode(), 40).replace("**", "aa"))
            self.assertEqual(text.decode(), f"PAN {sign.join(('4111', '11**', '****', '1111'))};")

    def test_packed(self) -> None:
        """A card number of two digits a byte is hidden in the middle, wherever its bytes begin."""
        self.assertEqual(shown(bytes.fromhex("4111111111111111")), "41 11 11 ** ** ** 11 11")
        for canary in filter(_checks, map(bytes.decode, CANARIES)):
            for before in ("", "06 0f", "27 00 22 f0 f8"):
                for text in (canary, f"0{canary}f"):
                    self.assertEqual(seen(shown(bytes.fromhex(before + text), 64).encode()), "", before)

    def test_errors(self) -> None:
        """An error about bytes shows none either."""
        self.assertEqual(seen(str(Garbled("no frame", b"\x02" + CANARIES[0])).encode()), "")

    @given(st.binary(max_size=80))
    def test_anything(self, data: bytes) -> None:
        """Any bytes can be shown, one for each."""
        self.assertEqual(len(shown(data, 100).split()), len(data))

    @given(
        st.lists(st.sampled_from([*CANARIES, b"0", b"41111", b"\x41\x11\x11\x11\x11\x11\x11\x11", b"\xff"])),
        st.integers(0, 60),
    )
    def test_only_the_beginning(self, parts: list[bytes], most: int) -> None:
        """What is shown of the beginning is what would be shown of it among everything."""
        data = b"".join(parts)
        self.assertEqual(shown(data, most).split(), shown(data, len(data)).split()[:most])

    def test_long(self) -> None:
        """Of bytes without end the beginning is shown at once."""
        begun = process_time()
        for _ in range(20):
            shown(bytes.fromhex("0102") * 500_000)
        self.assertLess(process_time() - begun, 1)
