"""Frames of ICS registers with their meaning (docs/reference/registers.md#ics).

Calculated by hand from the rule of the frame (MykolaDiachok/FocusA, PayDesk); none was seen on a device.
"""

from __future__ import annotations

from protocols.registers.ics import commands as ics
from protocols.registers.ics.commands import Head, IcsAnswer, IcsCommand, Reserve, Status

COMMANDS: tuple[tuple[str, str, int, IcsCommand[IcsAnswer]], ...] = (
    ("100203090000f41003", "ea74", 3, ics.XReport(0)),
    ("1002040d0000ef1003", "1234", 4, ics.ZReport(0)),
    ("1002070fea1003", "943b", 7, ics.Cancel()),
    ("1002091403f609008000611003", "3886", 9, ics.Pay(ics.PayKind.CASH, 2550)),
)

NO_PAPER = "0610020309010234bd1003"
NO_PAPER_HEAD = Head(Status.PRINTER, 2, Reserve.NO_PAPER | Reserve.FISCALISED | Reserve.SHIFT_OPEN)

TAKEN = "06"
BAD_CHECK = "100203090000f51003"
