"""What the codes of ZVT mean: results, intermediate states, states of the terminal (docs/reference/zvt.md#codes)."""

from __future__ import annotations

OK = 0x00
LAST_BANK_CODE = 0x63
"""1 to 99 are codes of the bank: 33 hex is the bank's 51."""

UNREADABLE_CARD, ABORTED, CHIP_ERROR = 0x64, 0x6C, 0x72
NOT_REGISTERED, WRONG_CURRENCY, NOT_POSSIBLE, KEY_MISSING = 0x6B, 0x6F, 0x83, 0x85
PIN_PAD, WAIT, NO_CONNECTION, NOT_ALLOWED = 0x89, 0x9C, 0xA3, 0xA5
JOURNAL_FULL, ALREADY_REVERSED, NOTHING_TO_REVERSE = 0xB2, 0xB4, 0xB5
OVER_LIMIT, PRINTER, CARD_INSERTED, RECONCILIATION_DUE, SYSTEM = 0xC3, 0xCC, 0xDC, 0xF0, 0xFF

UNKNOWN_COMMAND, NO_GOODS, SMALLER_GOODS = 0x83, 0x66, 0x9D
"""Second bytes of ``84 xx``: how the peer answers a message instead of `80 00`."""

RESULTS: dict[int, str] = {
    0x00: "done",
    0x64: "the card cannot be read",
    0x65: "no data on the card",
    0x66: "processing error",
    **dict.fromkeys((0x67, 0x68), "the function is not for this card"),
    **dict.fromkeys((0x6A, 0xB2), "the journal is full"),
    0x6B: "the till is not registered",
    0x6C: "aborted by time limit or key",
    0x6E: "the card is on the list of blocked cards",
    0x6F: "wrong currency",
    0x71: "not enough credit",
    0x72: "chip error",
    0x73: "wrong data on the card",
    0x74: "keys for encryption are used up",
    0x75: "the card is not authentic",
    0x76: "the card is not on the list",
    0x77: "the end of day failed",
    0x78: "the card has expired",
    0x79: "the card is not valid yet",
    0x7A: "unknown card",
    **dict.fromkeys((0x7B, 0x7C, 0x7D, 0x7E), "fallback to the magnetic stripe"),
    0x83: "the function is not possible",
    0x85: "a key is missing",
    **dict.fromkeys((0x89, 0xED), "the PIN pad is out of order"),
    0x9A: "protocol error",
    0x9B: "dialling failed",
    0x9C: "wait",
    0xA0: "the receiver is not ready",
    0xA1: "the peer does not answer",
    0xA3: "no connection",
    0xA5: "not allowed",
    0xB1: "the memory is full",
    0xB4: "reversed already",
    0xB5: "there is nothing to reverse",
    **dict.fromkeys((0xB7, 0xB8), "the reservation does not fit"),
    0xBF: "the power failed",
    0xC3: "the sum is over the limit",
    0xC5: "the method is not supported",
    0xC6: "the currency is not supported",
    **dict.fromkeys((0xC8, 0xC9), "the sum is too small"),
    0xCB: "only EUR",
    0xCC: "the printer is not ready",
    0xCD: "cashback is not possible",
    0xDC: "a card is inserted",
    **dict.fromkeys((0xDD, 0xDE), "the reader's motor fails"),
    0xDF: "out of order",
    0xE0: "remote maintenance is under way",
    0xE1: "the card was not taken out",
    0xE2: "the reader is out of order",
    0xE3: "the shutter is out of order",
    0xE4: "the terminal is not activated",
    0xF0: "the end of day is due",
    0xF1: "offline",
    **dict.fromkeys((0xF5, 0xF6), "the set-up of the terminal is not finished"),
    0xFA: "clearing failed",
    0xFB: "wrong data",
    0xFC: "the device is missing or broken",
    0xFD: "wrong speed of the line",
    0xFE: "register error",
    0xFF: "system error",
}
"""Results with a text; the others are shown by their number."""

INTERMEDIATE: dict[int, str] = {
    0x00: "waiting for the amount",
    **dict.fromkeys((0x01, 0x02), "look at the PIN pad"),
    0x03: "refused",
    0x04: "waiting for the bank",
    0x05: "reversing",
    0x06: "posting",
    0x07: "the card is not admitted",
    0x08: "unknown card",
    0x09: "the card has expired",
    0x0A: "insert the card",
    0x0B: "take the card out",
    0x0C: "the card cannot be read",
    0x0D: "working",
    **dict.fromkeys((0x0E, 0x17), "wait"),
    0x0F: "end of day",
    0x10: "invalid card",
    0x11: "reading the balance",
    0x12: "malfunction",
    0x13: "not possible",
    0x14: "not enough credit",
    0x15: "wrong PIN",
    0x16: "the limit is used up",
    0x18: "too many wrong PINs",
    0x19: "wrong data on the card",
    0x1A: "service mode",
    **dict.fromkeys((0x1B, 0x1C), "approved"),
    0x1D: "declined",
    0xC8: "waiting for the cashier",
    0xC9: "diagnosis",
    0xCA: "initialisation",
    0xCB: "the journal is full",
    **dict.fromkeys((0xD2, 0xD3), "dialling"),
    0xF1: "offline",
    0xF2: "online",
    0xF3: "offline transaction",
}
"""What the terminal does or wants, by the first byte of ``04 FF``."""

_REMOVE_CARD = 0x40
"""Added to a state: the card is to be taken out as well."""

WORDS_INSIDE = 0xFF
"""The state is in the texts of the message itself."""


def result_text(code: int) -> str:
    """A result in a few words."""
    if 0 < code <= LAST_BANK_CODE:
        return f"the bank answered {code:02d}"
    return RESULTS.get(code, f"result {code:02X}")


def intermediate_text(code: int) -> str:
    """An intermediate state in a few words."""
    if code in INTERMEDIATE:
        return INTERMEDIATE[code]
    plain = code - _REMOVE_CARD
    if plain in INTERMEDIATE and plain < _REMOVE_CARD:
        return f"{INTERMEDIATE[plain]}, take the card out"
    return f"state {code:02X}"
