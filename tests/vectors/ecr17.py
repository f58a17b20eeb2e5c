"""Frames of ECR17 with their meaning.

The requests were built by running the C++ core of padosoft/react-native-ecr17-protocol (MIT); the values of the
answers are those of its tests, framed by the rules of the reference (docs/reference/ecr17.md).
"""

from __future__ import annotations

from typing import NamedTuple

from protocols.terminals.ecr17.answers import (
    CloseAnswer,
    Conversion,
    Message,
    PaymentAnswer,
    PreauthorisationAnswer,
    ServicePart,
    TotalsAnswer,
)
from protocols.terminals.ecr17.frames import DisplayText, Lrc
from protocols.terminals.ecr17.requests import (
    LAST_STAN,
    CardCheck,
    CardType,
    FollowUp,
    FollowUpKind,
    LastResult,
    Payment,
    PaymentKind,
    PrintOnRegister,
    Report,
    ReportKind,
    Reprint,
    Request,
    Reversal,
    Service,
    StatusRequest,
)

T = "12345678"
"""The terminal's number in all frames."""

CORE = "padosoft/react-native-ecr17-protocol, run"
TESTS = "padosoft, response tests; framing calculated by the rule"

APPROVED_PAYMENT = PaymentAnswer(
    "00",
    pan="0000000004111111111",
    entry="ICC",
    auth="ABC123",
    host_time="2111520",
    card_type="2",
    acquirer="ACQ",
    stan="000042",
    online="000099",
    terminal=T,
)
REFUSED_PAYMENT = PaymentAnswer(
    "01", text="CARTA RIFIUTATA", card_type="3", acquirer="AC2", stan="000007", online="000003", terminal=T
)
CONVERTED_PAYMENT = PaymentAnswer(
    "00",
    pan="0000000004111111111",
    entry="ICC",
    auth="ABC123",
    host_time="2111520",
    card_type="2",
    acquirer="ACQ",
    stan="000042",
    online="000099",
    conversion=Conversion(650, "00012345", "USD", 650, "2", "000", "1"),
    terminal=T,
)
PREAUTHORISED = PreauthorisationAnswer(
    "00",
    pan="0000000004111111111",
    entry="CLI",
    auth="AUTH01",
    cents=50000,
    original="000000123",
    host_time="2111520",
    terminal=T,
)


class Framed(NamedTuple):
    """A frame, the message in it, and the variant of its check byte."""

    id: str
    message: Request | Message | bytes
    lrc: Lrc
    frame: bytes
    source: str


def _framed(id: str, message: Request | Message | bytes, lrc: Lrc, hex: str, source: str) -> Framed:
    return Framed(id, message, lrc, bytes.fromhex(hex), source)


XML = '<ecrreq> <p k="ECRVASID">BPAY_QR</p><p k="SUBSMPARAMS"><p k="AMOUNT">10</p><p k="PRINTER">ECR</p></p></ecrreq>'
"""The sample of the public page on services, word for word."""

SERVICE = (Service(XML, terminal=T), f"{T}0K0000000100000110{XML}".encode())
"""Laid out by hand from the table on Nexi's public page "VAS request - K command"."""

SERVICE_PARTS = (
    (
        ServicePart("<ecrres>" + "x" * 1016, 1, True, terminal=T),
        f"{T}0K00001001    1024<ecrres>{'x' * 1016}".encode(),
    ),
    (ServicePart("</ecrres>", 2, False, terminal=T), f"{T}0K0000000200000009</ecrres>".encode()),
)
"""Likewise; of the characters 19 to 22 the page says nothing."""

TICKET = (
    (
        "BANCA}\x7fIMPORTO EUR 12.50}123456789012345678901234UNA RIGA}}FINE",
        "}}}}}}\x1b",
    ),
    "BANCA\nIMPORTO EUR 12.50\n123456789012345678901234\nUNA RIGA\n\nFINE",
)
"""By hand from the page "Send ticket": a new line, bold letters, a line that is full, an empty line, the end."""

REQUESTS = (
    _framed(
        "ecr17-002",
        StatusRequest(terminal=T),
        Lrc.STX,
        "02313233343536373830730335",
        CORE,
    ),
    _framed(
        "ecr17-003",
        Payment(1250, terminal=T),
        Lrc.STD,
        "023132333435363738305030303030303030313030303030303030303132353020202020202020202020202020202020"
        "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
        "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
        "2020202020202020202020202020202030303030303030300320",
        CORE,
    ),
    _framed(
        "ecr17-006",
        Payment(1250, text="CIAO", card_present=True, card_type=CardType.DEBIT, terminal=T),
        Lrc.STX,
        "023132333435363738305030303030303030313030303131303030303132353020202020202020202020202020202020"
        "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
        "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
        "2020202020202020202020204349414f30303030303030300325",
        CORE,
    ),
    _framed(
        "ecr17-007",
        Payment(1250, PaymentKind.EXTENDED, terminal=T),
        Lrc.STD,
        "023132333435363738305830303030303030313030303030303030303132353020202020202020202020202020202020"
        "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
        "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
        "2020202020202020202020202020202030303030303030300328",
        CORE,
    ),
    _framed(
        "ecr17-008",
        Payment(1250, PaymentKind.EXTENDED, terminal=T),
        Lrc.STX,
        "023132333435363738305830303030303030313030303030303030303132353020202020202020202020202020202020"
        "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
        "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
        "2020202020202020202020202020202030303030303030300329",
        CORE,
    ),
    _framed(
        "ecr17-009",
        Payment(5000, PaymentKind.PREAUTHORISATION, terminal=T),
        Lrc.STD,
        "023132333435363738307030303030303030313030303030303030303530303020202020202020202020202020202020"
        "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
        "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
        "2020202020202020202020202020202030303030303030300303",
        CORE,
    ),
    _framed(
        "ecr17-010",
        Payment(5000, PaymentKind.PREAUTHORISATION, terminal=T),
        Lrc.STX,
        "023132333435363738307030303030303030313030303030303030303530303020202020202020202020202020202020"
        "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
        "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
        "2020202020202020202020202020202030303030303030300302",
        CORE,
    ),
    _framed(
        "ecr17-011",
        FollowUp(FollowUpKind.INCREMENT, 1000, "123456789", terminal=T),
        Lrc.STD,
        "023132333435363738306930303030303030313030303030303030303130303020202020202020202020202020202020"
        "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
        "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
        "202020202020202020202020202020203132333435363738393030303030303030032f",
        CORE,
    ),
    _framed(
        "ecr17-013",
        FollowUp(FollowUpKind.CLOSURE, 4500, "123456789", terminal=T),
        Lrc.STD,
        "023132333435363738306330303030303030313030303030303030303435303020202020202020202020202020202020"
        "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
        "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
        "2020202020202020202020202020202031323334353637383930303030303030300325",
        CORE,
    ),
    _framed(
        "ecr17-016",
        CardCheck(terminal=T),
        Lrc.STX,
        "02313233343536373830483030303030303031303030303030303030303030303030303030303030033f",
        CORE,
    ),
    _framed(
        "ecr17-019",
        Report(ReportKind.TOTALS, terminal=T),
        Lrc.STD,
        "0231323334353637383054303030303030303130303030303030300312",
        CORE,
    ),
    _framed(
        "ecr17-020",
        Report(ReportKind.TOTALS, terminal=T),
        Lrc.STX,
        "0231323334353637383054303030303030303130303030303030300313",
        CORE,
    ),
    _framed(
        "ecr17-021",
        LastResult(terminal=T),
        Lrc.STD,
        "02313233343536373830473030303030303031303030300301",
        CORE,
    ),
    _framed(
        "ecr17-025",
        PrintOnRegister(False, terminal=T),
        Lrc.STD,
        "0231323334353637383045300332",
        CORE,
    ),
    _framed(
        "ecr17-027",
        Reprint(True, "0", terminal=T),
        Lrc.STD,
        "02313233343536373830523130303030303030303030300314",
        CORE,
    ),
    _framed(
        "ecr17-028",
        Reprint(True, "0", terminal=T),
        Lrc.STX,
        "02313233343536373830523130303030303030303030300315",
        CORE,
    ),
    _framed(
        "ecr17-029",
        Reversal(LAST_STAN, terminal=T),
        Lrc.STD,
        "0231323334353637383053303030303030303130303030303030300315",
        CORE,
    ),
    _framed(
        "ecr17-030",
        Reversal(LAST_STAN, terminal=T),
        Lrc.STX,
        "0231323334353637383053303030303030303130303030303030300314",
        CORE,
    ),
    _framed(
        "ecr17-031",
        Reversal("000123", terminal=T),
        Lrc.STD,
        "0231323334353637383053303030303030303130303031323330300315",
        CORE,
    ),
    _framed(
        "ecr17-032",
        Reversal("000123", terminal=T),
        Lrc.STX,
        "0231323334353637383053303030303030303130303031323330300314",
        CORE,
    ),
)
"""What the till sends."""

ANSWERS = (
    _framed(
        "ecr17-038",
        APPROVED_PAYMENT,
        Lrc.STX,
        "023132333435363738304530303030303030303030303431313131313131313149434341424331323332313131353230"
        "324143512020202020202020303030303432303030303939035c",
        TESTS,
    ),
    _framed(
        "ecr17-039",
        REFUSED_PAYMENT,
        Lrc.STD,
        "023132333435363738304530314341525441205249464955544154412020202020202020203030303030303030303030"
        "3341433220202020202020203030303030373030303030330330",
        TESTS,
    ),
    _framed(
        "ecr17-040",
        REFUSED_PAYMENT,
        Lrc.STX,
        "023132333435363738304530314341525441205249464955544154412020202020202020203030303030303030303030"
        "3341433220202020202020203030303030373030303030330331",
        TESTS,
    ),
    _framed(
        "ecr17-041",
        CONVERTED_PAYMENT,
        Lrc.STD,
        "023132333435363738305630303030303030303030303431313131313131313149434341424331323332313131353230"
        "324143512020202020202020303030303432303030303939303030303030303036353031303030313233343555534430"
        "303030303030303036353032033e",
        TESTS,
    ),
    _framed(
        "ecr17-042",
        CONVERTED_PAYMENT,
        Lrc.STX,
        "023132333435363738305630303030303030303030303431313131313131313149434341424331323332313131353230"
        "324143512020202020202020303030303432303030303939303030303030303036353031303030313233343555534430"
        "303030303030303036353032033f",
        TESTS,
    ),
    _framed(
        "ecr17-045",
        TotalsAnswer("00", 123456, terminal=T),
        Lrc.STD,
        "02313233343536373830543030303030303030303030303132333435363030303030300314",
        TESTS,
    ),
    _framed(
        "ecr17-046",
        TotalsAnswer("00", 123456, terminal=T),
        Lrc.STX,
        "02313233343536373830543030303030303030303030303132333435363030303030300315",
        TESTS,
    ),
    _framed(
        "ecr17-047",
        CloseAnswer("00", 1000, 1000, terminal=T),
        Lrc.STD,
        "0231323334353637383043303030303030303030303030303031303030303030303030303030303030313030300304",
        TESTS,
    ),
    _framed(
        "ecr17-048",
        CloseAnswer("00", 1000, 1000, terminal=T),
        Lrc.STX,
        "0231323334353637383043303030303030303030303030303031303030303030303030303030303030313030300305",
        TESTS,
    ),
    _framed(
        "ecr17-049",
        CloseAnswer("01", text="SBILANCIO", action="100", terminal=T),
        Lrc.STD,
        "023132333435363738304330315342494c414e43494f20202020202020202020313030036a",
        TESTS,
    ),
    _framed(
        "ecr17-051",
        PREAUTHORISED,
        Lrc.STD,
        "0231323334353637383065303030303030303030303034313131313131313131434c4941555448303130303035303030"
        "30303030303030313233303030323131313532300369",
        TESTS,
    ),
    _framed(
        "ecr17-052",
        PREAUTHORISED,
        Lrc.STX,
        "0231323334353637383065303030303030303030303034313131313131313131434c4941555448303130303035303030"
        "30303030303030313233303030323131313532300368",
        TESTS,
    ),
)
"""What the terminal sends."""

BARE = (
    _framed(
        "ecr17-055",
        b"A",
        Lrc.STD,
        "0241033e",
        "padosoft, LRC tests",
    ),
    _framed(
        "ecr17-057",
        b"A",
        Lrc.NOEXT,
        "0241033d",
        "padosoft, LRC tests",
    ),
    _framed(
        "ecr17-058",
        b"A",
        Lrc.STX_NOEXT,
        "0241033c",
        "padosoft, LRC tests",
    ),
    _framed(
        "ecr17-059",
        b"AB",
        Lrc.STD,
        "024142037c",
        "padosoft, LRC tests",
    ),
)
"""Check bytes of payloads that are no messages."""

ACKNOWLEDGEMENTS = (
    (0x06, Lrc.STD, bytes.fromhex("060379")),
    (0x15, Lrc.STD, bytes.fromhex("15036a")),
    (0x06, Lrc.STX, bytes.fromhex("060378")),
    (0x15, Lrc.STX, bytes.fromhex("15036b")),
    (0x06, Lrc.NOEXT, bytes.fromhex("06037a")),
    (0x06, Lrc.STX_NOEXT, bytes.fromhex("06037b")),
)
"""ecr17-033 to 036, and the two that the reference gives in its text: taken (06) and send again (15)."""

PROGRESS = (DisplayText("IN CORSO"), bytes.fromhex("01494e20434f52534f20202020202020202020202004"))
"""ecr17-053, by the framing rule."""
