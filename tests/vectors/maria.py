"""Frames of Maria with their meaning (docs/reference/registers.md#maria).

Calculated by hand from the field tables and the frame of the Resonance document (tarasii/Maria301dllfor1C); the CRC
was compared with Setter1981/PRRO_GATE.
"""

from __future__ import annotations

from protocols.registers.maria import commands as maria
from protocols.registers.maria.commands import MariaAnswer, MariaCommand

BREAD = maria.Sell("Хлiб", 5100, 2550, 2000, taxes="А02000" + maria.NO_TAX * 7, article=1)

COMMANDS: tuple[tuple[str, str, MariaCommand[MariaAnswer]], ...] = (
    ("fd505245503106fe", "8d67", maria.Open("1")),
    ("fd434f4d50" + "30" * 60 + "41fe", "a7b0", maria.Complete(0)),
    ("fd5a52455005fe", "d128", maria.XReport()),
    ("fd4e52455005fe", "cd7a", maria.ZReport()),
    ("fd434f4e4605fe", "7f14", maria.ReadConfiguration()),
    (
        "fd4649534395ab69a12020202020202020303030303035313030303030303032353530303230303030308030323030303030"
        "30303030303030303030303030303030303030303030303030303030303030303030303030303030303030315efe",
        "220c",
        BREAD,
    ),
    (
        "fd434f4d50303030303030353130303030303030303030303030303030303030303030303030303030303030303030303030"
        "30303030303030303030303630303041fe",
        "3637",
        maria.Complete(5100, cash=6000),
    ),
)

SIGNS = (
    ("fd524541445906fe", "8551", b"READY"),
    ("fd444f4e4505fe", "cae7", b"DONE"),
    ("fd5741495405fe", "d740", b"WAIT"),
    ("fd534f4654424c4f434b0afe", "150e", b"SOFTBLOCK"),
)

FLUSH = "fdfdfefefefe"
WAKE = "5555"
CRC_OF_DIGITS = 0x2189
CRC_OF_ABC = 0x59E3
