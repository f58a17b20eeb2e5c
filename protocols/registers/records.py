"""Commands and answers as dataclasses whose fields know how they are written: the base of every codec here.

A field is annotated with its format, ``price: Annotated[int, Money()]``; the class lists its fields in the order of
the wire, so the same class writes a command at the till and reads it in the simulator.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, ClassVar, Generic, TypeVar, get_args, get_origin, get_type_hints

_Value = TypeVar("_Value")
_Answer_co = TypeVar("_Answer_co", covariant=True)


class Format(Generic[_Value]):
    """How a value is written as text."""

    def write(self, value: _Value) -> str:
        """The text.

        :raises ValueError: the value cannot be written.
        """
        raise NotImplementedError

    def read(self, text: str) -> _Value:
        """The value.

        :raises ValueError: this is no such text.
        """
        raise NotImplementedError


class Number(Format[int]):
    """A whole number in decimal digits.

    :param digits: how many there are at least; zeros are put before the others.
    :param base: 16 for hexadecimal digits.
    """

    def __init__(self, digits: int = 1, base: int = 10) -> None:
        self.digits, self.base = digits, base

    def write(self, value: int) -> str:
        """The digits."""
        return f"{value:0{self.digits}{'X' if self.base == 16 else 'd'}}"

    def read(self, text: str) -> int:
        """The number."""
        _ascii(text)
        return int(text, self.base)


class Decimals(Format[int]):
    """A whole number of smallest parts, written with a decimal point: 2 for kopecks, 3 for thousandths."""

    def __init__(self, places: int) -> None:
        self.places = places

    def write(self, value: int) -> str:
        """With all its decimals."""
        whole, part = divmod(abs(value), 10**self.places)
        return f"{'-' if value < 0 else ''}{whole}.{part:0{self.places}d}"

    def read(self, text: str) -> int:
        """The number of parts; fewer decimals than there are parts are allowed, more are not."""
        _ascii(text)
        whole, _, part = text.partition(".")
        if len(part) > self.places or not whole.lstrip("+-").isdigit() or (part and not part.isdigit()):
            raise ValueError(f"no amount: {text!r}")
        value = int(whole.lstrip("+-") + f"{part:0<{self.places}}")
        return -value if whole.startswith("-") else value


class Text(Format[str]):
    """Text without the characters that separate fields."""

    def __init__(self, never: str = "") -> None:
        self.never = never

    def write(self, value: str) -> str:
        """The text itself."""
        found = next((letter for letter in value if letter in self.never or letter < " "), None)
        if found is not None:
            raise ValueError(f"the character {found!r} cannot stand in a field")
        return value

    def read(self, text: str) -> str:
        """The text itself."""
        return text


def _ascii(text: str) -> None:
    # Python takes other digits, spaces and underscores for numbers too.
    if not text.isascii() or not text or text.strip() != text or "_" in text:
        raise ValueError(f"no number: {text!r}")


_FORMATS: dict[Any, dict[str, Any]] = {}


def formats(kind: Any) -> dict[str, Any]:
    """The format of each field of ``kind``, in the order of the wire."""
    if kind not in _FORMATS:
        hints = get_type_hints(kind, include_extras=True)
        _FORMATS[kind] = {field.name: get_args(hints[field.name])[1] for field in fields(kind)}
    return _FORMATS[kind]


class Command(Generic[_Answer_co]):
    """A command; its class knows its code and the class of its answer: ``class Open(Command[Opened], code=48)``."""

    code: ClassVar[Any]
    answer: ClassVar[Any]
    known: ClassVar[dict[Any, Any]] = {}
    """The commands of one protocol, by code: each protocol's base has its own."""

    def __init_subclass__(cls, code: Any = None, **more: Any) -> None:
        super().__init_subclass__(**more)
        if Command in cls.__bases__:
            cls.known = {}
        for base in cls.__dict__.get("__orig_bases__", ()):
            if get_origin(base) is not None:
                cls.answer = get_args(base)[0]
        if code is not None:
            cls.code = code
            cls.known[code] = cls


def shortened(text: str, most: int, charset: str, never: str = "") -> str:
    """``text`` as a device can print it: other letters become ``?``, forbidden ones a comma, the rest is cut off."""
    clean = "".join("," if letter in never else " " if letter < " " else letter for letter in text)
    return clean[:most].encode(charset, "replace").decode(charset)


__all__ = ["Annotated", "Command", "Decimals", "Format", "Number", "Text", "formats", "shortened"]
