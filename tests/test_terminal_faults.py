"""Every wire on a bad line: the answers, the store, and the peculiarities of each protocol."""

from __future__ import annotations

from typing import Any, ClassVar

from dmtwisted.conformance.nexo_stand import POI
from protocols.simulators.bpos1 import Bpos1Device
from protocols.simulators.nexo import NexoDevice
from protocols.simulators.zvt import TerminalSettings, ZvtTerminal
from protocols.terminals.nexo.sealing import Seal
from tests.chaos import Channels
from tests.terminal_faults import CheckedFaults, WireFaults


class PrivatbankFaultTests(WireFaults):
    """PrivatBank: messages end with a zero byte; there is no checksum."""

    wire = "privatbank-json"

    def final(self, data: bytes) -> bool:
        """The answer to the purchase."""
        return b'"Purchase"' in data and b'"rrn"' in data


class SsiFaultTests(CheckedFaults):
    """SSI: a frame with length and check byte; the result is asked for."""

    wire = "ssi-json"
    # The meaning of its other states is not documented.
    told: ClassVar[set[str]] = {"waiting_card", "bank"}
    full = (5026, 3)
    settings: ClassVar[dict[str, Any]] = {"two_steps": False}

    def final(self, data: bytes) -> bool:
        """The result of the operation."""
        return b"GetResultByUid" in data and b"APPROVED" in data


class SsiTwoStepFaultTests(CheckedFaults):
    """SSI in two steps: the card first, then the sum."""

    wire = "ssi-json"
    told: ClassVar[set[str]] = {"waiting_card", "bank"}
    full = (5026, 3)
    # What waits at its card is stopped when the first step was lost.
    outcomes: ClassVar[dict[str, str]] = {"drop after approval": "refused"}

    def final(self, data: bytes) -> bool:
        """The result of the second step."""
        return b"GetResultByUid" in data and b"APPROVED" in data


class Bpos1FaultTests(WireFaults):
    """BPOS1: lines of JSON from the process of the vendor's library; noise ends the process."""

    wire = "bpos1"
    # The terminal does not answer two tills at once.
    busy = (5014, 1, "refused")

    def final(self, data: bytes) -> bool:
        """The end of the purchase; the journal's transaction comes in one, too."""
        return b'"RRN"' in data and len(self.terminal.entries()) > 1


class Bpos1AtOnceFaultTests(Bpos1FaultTests):
    """A terminal that cancels what is not confirmed as soon as the line ends."""

    # The journal says so.
    lost = "refused"
    outcomes: ClassVar[dict[str, str]] = dict.fromkeys(
        ("duplicate final", "garbage after", "wrong length"), "approved"
    )

    def device(self) -> Any:
        """The terminal's end of the line."""
        return Bpos1Device(self.terminal, self.clock, at_once=True)


class ZvtFaultTests(WireFaults):
    """ZVT: messages with a length; over TCP there is no check byte."""

    wire = "zvt"
    told: ClassVar[set[str]] = {"waiting_card", "pin", "bank"}
    # A booking that we did not acknowledge goes back; its reversal names it, so that is certain.
    lost = "refused"
    outcomes: ClassVar[dict[str, str]] = {
        "duplicate final": "approved",
        "drop after approval": "approved",
    }

    def final(self, data: bytes) -> bool:
        """The status information of the booking; the last receipt comes in one, too."""
        return data.startswith(b"\x04\x0f") and len(self.terminal.entries()) > 1


class ZvtSerialFaultTests(CheckedFaults):
    """ZVT at a COM port: frames with a checksum, each acknowledged."""

    wire = "zvt"
    told: ClassVar[set[str]] = {"waiting_card", "pin", "bank"}
    settings: ClassVar[dict[str, Any]] = {"interface": "serial", "serial_port": "COM3"}
    # A frame that we refuse comes again; a line that breaks takes the booking back.
    outcomes: ClassVar[dict[str, str]] = {
        "drop after request": "refused",
        "late final": "refused",
        "restart": "refused",
    }

    def device(self) -> Any:
        """The terminal's end of the wire."""
        return ZvtTerminal(self.terminal, self.clock, TerminalSettings(serial=True)).factory()

    def final(self, data: bytes) -> bool:
        """The status information of the booking."""
        return data.startswith(b"\x10\x02\x04\x0f") and len(self.terminal.entries()) > 1


class Ecr17FaultTests(CheckedFaults):
    """ECR17: fields of fixed width in a frame with a check byte."""

    wire = "ecr17"
    # The texts of its display are reported unchanged.
    told: ClassVar[set[str]] = set()
    busy = (5014, 1, "refused")
    # The answer has no sum.
    part = (100.0, None)
    full = (5024, 3)

    def final(self, data: bytes) -> bool:
        """The answer to the payment, not the repeated one."""
        return data.startswith(b"\x02") and data[10:11] == b"E" and len(self.taken()) > 1


class CaisseFaultTests(WireFaults):
    """Caisse-AP: fields with lengths; one answer, then the line closes."""

    wire = "caisse-ap"
    told: ClassVar[set[str]] = set()
    lost = "unknown"
    # A busy terminal ignores the request, which looks like a lost answer.
    busy = (5012, 2, "unknown")
    part = None
    full = (5000, 3)
    report_in_doubt = (5029, 3)

    def final(self, data: bytes) -> bool:
        """The answer."""
        return b"AE0" in data


class ConcertFaultTests(CheckedFaults):
    """Concert V2: a frame of fixed length with a check byte."""

    wire = "concert-v2"
    told: ClassVar[set[str]] = set()
    # The terminal repeats a frame that it sees refused, and calls again while its line holds.
    lost = "approved"
    outcomes: ClassVar[dict[str, str]] = {
        "drop after request": "unknown",
        "drop after approval": "unknown",
        "restart": "unknown",
    }

    busy = (5000, 3, "refused")
    part = None
    full = (5000, 3)
    report_in_doubt = (5029, 3)
    # There is no answer to the call on a serial line.
    elsewhere = (5068, 1, "refused")

    def final(self, data: bytes) -> bool:
        """The answer frame."""
        return data.startswith(b"\x02")

    def tearDown(self) -> None:
        """An answer over another sum is not used, not acknowledged, and logged."""
        self.flushLoggedErrors(LookupError)


class NexoFaultTests(WireFaults):
    """nexo: one HTTP answer."""

    wire = "nexo"
    # Card, PIN and bank are reported where the terminal posts them: see the tests of the driver.
    told: ClassVar[set[str]] = set()
    full = (5029, 3)

    def final(self, data: bytes) -> bool:
        """The body of the answer to the payment."""
        return b"PaymentResponse" in data


class NexoSealedFaultTests(CheckedFaults):
    """nexo with a shared key: a message authentication code over each message."""

    wire = "nexo"
    told: ClassVar[set[str]] = set()
    full = (5029, 3)
    settings: ClassVar[dict[str, Any]] = {"passphrase": "mysupersecret", "key_identifier": "key", "key_version": 3}

    def device(self) -> Any:
        """The terminal's end of the wire."""
        return Channels(NexoDevice(self.terminal, self.clock, POI, Seal("mysupersecret", "key", 3)).site())

    def final(self, data: bytes) -> bool:
        """The body of the answer to the payment."""
        return b"NexoBlob" in data and len(self.terminal.entries()) > 1

    def misread(self, data: bytes) -> bytes:
        """``data`` with another code."""
        before, _, after = data.partition(b'"Hmac":"')
        return before + b'"Hmac":"' + (b"B" if after[:1] == b"A" else b"A") + after[1:]


del CheckedFaults, WireFaults
