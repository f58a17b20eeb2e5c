"""JSON as bank terminals write it: numbers instead of text, blanks around names, flags in quotes.

A terminal's answer may be the only proof that money moved, so everything readable is read; only bytes that are not a
JSON object are refused (docs/reference/privatbank-json.md#envelope).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from protocols.errors import Garbled

UNTOUCHED = frozenset({"receipt", "adv"})
"""Members whose blanks belong to a print form."""

SECRET = frozenset({"track1", "track2", "track3", "hash", "pinblock", "pinblockNew", "OTPpassword", "PhoneNumber"})
"""Members whose value is never logged (docs/reference/terminals.md#rule-19)."""

_decode = msgspec.json.Decoder(float_hook=str).decode
_encode = msgspec.json.Encoder().encode


def read_object(payload: bytes) -> dict[str, object]:
    """The members of one JSON object, names without blanks around them; of equal names the last one counts.

    :raises Garbled: when the bytes are not a JSON object.
    """
    try:
        message = _decode(payload)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Garbled(f"not JSON ({error})", payload) from None
    if not isinstance(message, dict):
        raise Garbled("not a JSON object", payload)
    return {name.strip(): value for name, value in message.items()}


def write_object(message: Mapping[str, object]) -> bytes:
    """One JSON object without blanks, in UTF-8."""
    return _encode(message)


def text_of(value: object) -> str:
    """A member as text: ``5`` and ``"5 "`` are both ``5``, an absent one is empty."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    try:
        return _encode(value).decode()
    except RecursionError:
        return ""


def flag_of(value: object) -> bool:
    """A member as yes or no: ``true``, ``"true"``, ``1`` and ``"1"`` are yes."""
    return text_of(value).lower() in ("true", "1")


def texts_of(members: object) -> dict[str, str]:
    """All members of an inner object as text; anything but an object has none."""
    if not isinstance(members, dict):
        return {}
    return {
        name.strip(): value if isinstance(value, str) and name.strip() in UNTOUCHED else text_of(value)
        for name, value in members.items()
    }


def masked(params: Mapping[str, str]) -> dict[str, str]:
    """The members for a log: secrets are left out, a card number keeps its first six and last four digits."""
    return {name: _masked(name, value) for name, value in params.items() if name != "receipt"}


def _masked(name: str, value: str) -> str:
    if name in SECRET:
        return "…" if value else ""
    if name == "pan" and len(value) > 10:
        return value[:6] + "*" * (len(value) - 10) + value[-4:]
    return value
