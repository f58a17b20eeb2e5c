"""SSI JSON: frames that other people's clients write and simulators answer (docs/reference/ssi-json.md).

``sent`` is written by the register, ``received`` comes from the terminal. The captured requests have blanks behind
colons and commas, as their client writes them; ours has none, which means the same.
"""

from __future__ import annotations

from typing import NamedTuple

from protocols.terminals.ssi_json.messages import Stage
from protocols.terminals.ssi_json.requests import (
    GetLastResult,
    GetMerchantListDetailed,
    GetStatus,
    GetTerminalInfo,
    Interrupt,
    Method,
    PingDevice,
    Purchase,
)

CLIENT = "goodpesik/barhandler-manager ssi adapter (cites SSI document 1.4.1), captured by running it against a stub"
SIMULATORS = "barhandler-manager ssi adapter and tests; two Node simulators citing SSI document 1.4.6; words ours"


class Sent(NamedTuple):
    """A frame of the register, the method that it asks for, and the step."""

    wire: bytes
    asks: Method
    step: str
    meaning: str
    source: str


class Received(NamedTuple):
    """A frame of the terminal, and what has to be read of it."""

    wire: bytes
    method: str
    code: str
    status: str
    stage: Stage
    meaning: str
    source: str


class Malformed(NamedTuple):
    """A frame that has to be refused, and the terminal's error for it."""

    wire: bytes
    code: str
    meaning: str
    source: str


SENT = (
    Sent(
        bytes.fromhex("02 66 01 00 18 7b 22 6d 65 74 68 6f 64 22 3a 20 22 50 69 6e 67 44 65 76 69 63 65 22 7d 0b"),
        PingDevice(),
        "",
        "PingDevice",
        CLIENT,
    ),
    Sent(
        bytes.fromhex(
            "02 66 01 00 1d 7b 22 6d 65 74 68 6f 64 22 3a 20 22 47 65 74 54 65 72 6d 69 6e 61 6c 49 6e 66 6f 22 7d 5f"
        ),
        GetTerminalInfo(),
        "",
        "GetTerminalInfo",
        CLIENT,
    ),
    Sent(
        bytes.fromhex(
            "02 66 01 00 25 7b 22 6d 65 74 68 6f 64 22 3a 20 22 47 65 74 4d 65 72 63 68 61 6e 74 4c 69 73 74 44 "
            "65 74 61 69 6c 65 64 22 7d 6d"
        ),
        GetMerchantListDetailed(),
        "",
        "GetMerchantListDetailed",
        CLIENT,
    ),
    Sent(
        bytes.fromhex(
            "02 66 01 00 72 7b 22 6d 65 74 68 6f 64 22 3a 20 22 50 75 72 63 68 61 73 65 22 2c 20 22 73 74 65 70 "
            "22 3a 20 22 31 22 2c 20 22 70 61 72 61 6d 73 22 3a 20 7b 22 74 72 61 6e 73 41 6d 6f 75 6e 74 22 3a "
            "20 22 31 32 35 30 22 2c 20 22 74 72 61 6e 73 43 75 72 72 65 6e 63 79 22 3a 20 22 39 38 30 22 2c 20 "
            "22 6d 65 72 63 68 61 6e 74 49 64 22 3a 20 22 4d 31 22 7d 7d 6c"
        ),
        Purchase(1250, merchant_id="M1"),
        "1",
        "Purchase first step, 12.50 UAH, merchant M1",
        CLIENT,
    ),
    Sent(
        bytes.fromhex("02 66 01 00 17 7b 22 6d 65 74 68 6f 64 22 3a 20 22 47 65 74 53 74 61 74 75 73 22 7d 61"),
        GetStatus(),
        "",
        "GetStatus",
        CLIENT,
    ),
    Sent(
        bytes.fromhex(
            "02 66 01 00 1b 7b 22 6d 65 74 68 6f 64 22 3a 20 22 47 65 74 4c 61 73 74 52 65 73 75 6c 74 22 7d 56"
        ),
        GetLastResult(),
        "",
        "GetLastResult",
        CLIENT,
    ),
    Sent(
        bytes.fromhex("02 66 01 00 16 7b 22 6d 65 74 68 6f 64 22 3a 22 49 6e 74 65 72 72 75 70 74 22 7d 64"),
        Interrupt(),
        "",
        "Interrupt (compact JSON)",
        "computed by the rule of the frame",
    ),
)

RECEIVED = (
    Received(
        bytes.fromhex(
            "02 66 01 00 54 7b 22 6d 65 74 68 6f 64 22 3a 22 50 75 72 63 68 61 73 65 22 2c 22 65 72 72 6f 72 22 "
            "3a 66 61 6c 73 65 2c 22 65 72 72 6f 72 43 6f 64 65 22 3a 22 22 2c 22 65 72 72 6f 72 44 65 73 63 72 "
            "69 70 74 69 6f 6e 22 3a 22 22 2c 22 70 61 72 61 6d 73 22 3a 7b 7d 7d 7c"
        ),
        "Purchase",
        "",
        "",
        Stage.MISSING,
        "ack of an operation",
        SIMULATORS,
    ),
    Received(
        bytes.fromhex(
            "02 66 01 00 64 7b 22 6d 65 74 68 6f 64 22 3a 22 47 65 74 53 74 61 74 75 73 22 2c 22 65 72 72 6f 72 "
            "22 3a 66 61 6c 73 65 2c 22 65 72 72 6f 72 43 6f 64 65 22 3a 22 22 2c 22 65 72 72 6f 72 44 65 73 63 "
            "72 69 70 74 69 6f 6e 22 3a 22 22 2c 22 73 74 61 74 75 73 22 3a 22 53 30 33 22 2c 22 70 61 72 61 6d "
            "73 22 3a 7b 7d 7d 67"
        ),
        "GetStatus",
        "",
        "S03",
        Stage.MISSING,
        "status: card read in progress",
        SIMULATORS,
    ),
    Received(
        bytes.fromhex(
            "02 66 01 00 9c 7b 22 6d 65 74 68 6f 64 22 3a 22 47 65 74 4c 61 73 74 52 65 73 75 6c 74 22 2c 22 65 "
            "72 72 6f 72 22 3a 66 61 6c 73 65 2c 22 65 72 72 6f 72 43 6f 64 65 22 3a 22 22 2c 22 65 72 72 6f 72 "
            "44 65 73 63 72 69 70 74 69 6f 6e 22 3a 22 22 2c 22 70 61 72 61 6d 73 22 3a 7b 22 74 72 61 6e 73 61 "
            "63 74 69 6f 6e 52 65 73 75 6c 74 22 3a 22 46 49 52 53 54 5f 53 54 45 50 5f 43 4f 4d 50 4c 45 54 45 "
            "44 22 2c 22 70 61 6e 22 3a 22 2a 2a 2a 2a 2a 2a 2a 2a 2a 2a 2a 2a 31 32 33 34 22 7d 7d 1d"
        ),
        "GetLastResult",
        "",
        "",
        Stage.FIRST_STEP,
        "result after the first step",
        SIMULATORS,
    ),
    Received(
        bytes.fromhex(
            "02 66 01 01 3e 7b 22 6d 65 74 68 6f 64 22 3a 22 47 65 74 4c 61 73 74 52 65 73 75 6c 74 22 2c 22 65 "
            "72 72 6f 72 22 3a 66 61 6c 73 65 2c 22 65 72 72 6f 72 43 6f 64 65 22 3a 22 22 2c 22 65 72 72 6f 72 "
            "44 65 73 63 72 69 70 74 69 6f 6e 22 3a 22 22 2c 22 70 61 72 61 6d 73 22 3a 7b 22 6f 72 69 67 69 6e "
            "61 6c 54 72 6e 4e 61 6d 65 22 3a 22 50 75 72 63 68 61 73 65 22 2c 22 74 72 61 6e 73 61 63 74 69 6f "
            "6e 52 65 73 75 6c 74 22 3a 22 41 50 50 52 4f 56 45 44 2d 4f 4e 4c 49 4e 45 22 2c 22 74 72 61 6e 73 "
            "41 6d 6f 75 6e 74 22 3a 22 31 32 35 30 22 2c 22 72 72 6e 22 3a 22 31 32 33 34 35 36 37 38 39 30 31 "
            "32 22 2c 22 61 75 74 68 43 6f 64 65 22 3a 22 41 31 42 32 43 33 22 2c 22 70 61 6e 22 3a 22 2a 2a 2a "
            "2a 2a 2a 2a 2a 2a 2a 2a 2a 31 32 33 34 22 2c 22 72 65 73 70 6f 6e 73 65 43 6f 64 65 22 3a 22 30 30 "
            "30 30 22 2c 22 69 6e 76 6f 69 63 65 4e 75 6d 22 3a 22 31 37 22 2c 22 74 65 72 6d 69 6e 61 6c 49 64 "
            "22 3a 22 54 31 22 2c 22 6d 65 72 63 68 61 6e 74 49 64 22 3a 22 4d 31 22 7d 7d 1d"
        ),
        "GetLastResult",
        "",
        "",
        Stage.APPROVED,
        "final result approved",
        SIMULATORS,
    ),
    Received(
        bytes.fromhex(
            "02 66 01 00 63 7b 22 6d 65 74 68 6f 64 22 3a 22 50 75 72 63 68 61 73 65 22 2c 22 65 72 72 6f 72 22 "
            "3a 74 72 75 65 2c 22 65 72 72 6f 72 43 6f 64 65 22 3a 22 45 30 36 22 2c 22 65 72 72 6f 72 44 65 73 "
            "63 72 69 70 74 69 6f 6e 22 3a 22 74 65 72 6d 69 6e 61 6c 20 62 75 73 79 22 2c 22 70 61 72 61 6d 73 "
            "22 3a 7b 7d 7d 6d"
        ),
        "Purchase",
        "E06",
        "",
        Stage.MISSING,
        "busy",
        SIMULATORS,
    ),
    Received(
        bytes.fromhex(
            "02 66 01 00 5f 7b 22 6d 65 74 68 6f 64 22 3a 22 50 75 72 63 68 61 73 65 22 2c 22 65 72 72 6f 72 22 "
            "3a 74 72 75 65 2c 22 65 72 72 6f 72 43 6f 64 65 22 3a 22 45 31 32 22 2c 22 65 72 72 6f 72 44 65 73 "
            "63 72 69 70 74 69 6f 6e 22 3a 22 63 61 6e 63 65 6c 6c 65 64 22 2c 22 70 61 72 61 6d 73 22 3a 7b 7d "
            "7d 3a"
        ),
        "Purchase",
        "E12",
        "",
        Stage.MISSING,
        "cancelled",
        SIMULATORS,
    ),
    Received(
        bytes.fromhex(
            "02 66 01 00 63 7b 22 6d 65 74 68 6f 64 22 3a 22 50 75 72 63 68 61 73 65 22 2c 22 65 72 72 6f 72 22 "
            "3a 74 72 75 65 2c 22 65 72 72 6f 72 43 6f 64 65 22 3a 22 45 31 35 22 2c 22 65 72 72 6f 72 44 65 73 "
            "63 72 69 70 74 69 6f 6e 22 3a 22 6e 65 65 64 20 5a 20 72 65 70 6f 72 74 22 2c 22 70 61 72 61 6d 73 "
            "22 3a 7b 7d 7d 08"
        ),
        "Purchase",
        "E15",
        "",
        Stage.MISSING,
        "general report wanted first",
        SIMULATORS,
    ),
)

MALFORMED = (
    Malformed(
        bytes.fromhex("02 66 01 00 17 7b 22 6d 65 74 68 6f 64 22 3a 22 50 69 6e 67 44 65 76 69 63 65 22 7d 2a"),
        "E02",
        "a wrong checksum",
        "computed by the rule of the frame",
    ),
)
