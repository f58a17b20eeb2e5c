"""The lines of a receipt that an ECR17 terminal sends to the till (`S`), and the characters that format them.

A message holds up to 200 characters; a long receipt takes several messages. A line is over when it is full::

    7D  new line, normal letters       7E, 7F  double height, normal and bold   24 a line
    1B  end of the receipt             7B, 7C  double width, normal and bold    12 a line
                                       5E      compressed                       42 a line

Facts: Nexi's public page "Send ticket" of its traditional POS.
"""

from __future__ import annotations

NEW_LINE, END = "\x7d", "\x1b"
WIDTHS = {"\x7e": 24, "\x7f": 24, "\x7b": 12, "\x7c": 12, "\x5e": 42}
USUAL = 24
LONGEST = 200
"""Characters of one message."""


def read_tickets(sent: str) -> str:
    """The receipts in ``sent``, all messages put together; a blank line between two."""
    tickets = ["\n".join(_lines(ticket)).strip("\n") for ticket in sent.split(END)]
    return "\n\n".join(ticket for ticket in tickets if ticket)


def _lines(ticket: str) -> list[str]:
    lines, line, width = [], "", USUAL
    for sign in ticket:
        if sign in WIDTHS:
            width = WIDTHS[sign]
            continue
        if sign not in (NEW_LINE, "\n"):
            line += sign
            if len(line) < width:
                continue
        lines.append(line.rstrip())
        line, width = "", USUAL
    return [*lines, line.rstrip()]


def write_ticket(text: str) -> list[str]:
    """``text`` as a terminal sends it, in pieces of one message each."""
    pieces = [line[start : start + USUAL] for line in text.splitlines() for start in range(0, len(line) or 1, USUAL)]
    sent = "".join(piece if len(piece) == USUAL else piece + NEW_LINE for piece in pieces) + NEW_LINE * 6 + END
    return [sent[start : start + LONGEST] for start in range(0, len(sent), LONGEST)]
