"""Lines of text on the paper of machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dmtwisted.registers.wired.interface import SlipPayment


def card_lines(payment: SlipPayment) -> list[str]:
    """What a receipt has to say of a card payment."""
    said = (
        ("", payment.bank),
        ("Термінал ", payment.terminal),
        ("Картка ", payment.card),
        ("Код авторизації ", payment.auth_code),
        ("RRN ", payment.rrn),
    )
    return [name + value for name, value in said if value]


def wrapped(lines: Iterable[str], width: int) -> Iterator[str]:
    """The lines, each no longer than ``width`` characters."""
    for line in lines:
        for start in range(0, max(len(line), 1), width):
            yield line[start : start + width]
