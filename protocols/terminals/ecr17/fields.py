"""Fields of fixed width, of which every ECR17 message is made (docs/reference/ecr17.md#requests)."""

from __future__ import annotations

from protocols.errors import Garbled

ANY_TERMINAL = "00000000"
"""The number that addresses any terminal."""


def to_bytes(text: str) -> bytes:
    """``text`` with one byte for each character; a character without one becomes a question mark."""
    return text.encode("latin-1", "replace")


def to_text(data: bytes) -> str:
    """The characters of ``data``; every byte is one."""
    return data.decode("latin-1")


def header(terminal: str, code: str, register: str = "") -> bytes:
    """The beginning of every payload; some requests name no register."""
    return to_bytes(f"{terminal:0>8.8}0{code}{register:0>8.8}" if register else f"{terminal:0>8.8}0{code}")


def opened(payload: bytes) -> tuple[str, str]:
    """The text of a payload, and the letter that names the message.

    :raises Garbled: when it is too short for a header.
    """
    if len(payload) < 10:
        raise Garbled("a message without a header", payload)
    return to_text(payload), chr(payload[9])


def amount(cents: int, digits: int = 8) -> str:
    """``cents`` with leading zeros.

    :raises ValueError: when it does not fit.
    """
    if not 0 <= cents < 10**digits:
        raise ValueError(f"{cents} cents do not fit {digits} digits")
    return f"{cents:0{digits}d}"


def number(text: str) -> int:
    """The digits of a field as a number.

    :raises Garbled: when it contains anything else.
    """
    if not (text.isascii() and text.isdigit()):
        raise Garbled("a field of digits that has other characters")
    return int(text)
