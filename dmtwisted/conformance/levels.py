"""The level of each driver, as the service tells it: what the suite found, and never what a driver says of itself.

The levels of the tree's drivers are in ``levels.json`` beside this module, which a test compares with what the
suite finds. Those of other drivers are in the state folder, where ``dmtwisted conform --save`` wrote them; they hold
for the version of the package that was looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

from dmtwisted.devices.drivers import Driver

SUITE: Final = 1
"""The version of the suite: one more whenever a check is added or asks for more."""

SAFE, RECOVERS, WHOLE = 1, 2, 3
LEVELS: Final = {0: "not safe", SAFE: "safe", RECOVERS: "recovers", WHOLE: "whole"}

FILE: Final = "conformance.json"
"""The levels of other packages' drivers, in the state folder."""


class Found(msgspec.Struct, frozen=True):
    """What the suite found of a driver."""

    level: int
    suite: int
    origin: str = ""
    """The package with its version; empty for the tree's own."""


class _Levels(msgspec.Struct):
    drivers: dict[str, Found]


def found_of(driver: Driver, state: Path | None) -> Found | None:
    """What the suite found of ``driver``; `None` when it was never run on this version of it."""
    known = saved(state) if driver.origin else _own()
    found = known.get(key_of(driver))
    return found if found is not None and found.origin == driver.origin else None


def command_for(driver: Driver) -> str:
    """What to call to have the suite look at it."""
    return f"dmtwisted conform --kind {driver.kind} --driver {driver.name} --save"


def key_of(driver: Driver) -> str:
    """The name under which a level is kept."""
    return f"{driver.kind} {driver.name}"


def saved(state: Path | None) -> dict[str, Found]:
    """The levels in the state folder; a file that cannot be read has none."""
    if state is None:
        return {}
    try:
        return _decode((state / FILE).read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}


def save(state: Path, found: Mapping[str, Found]) -> None:
    """Keep levels in the state folder, beside those that are there."""
    fresh = state / (FILE + ".new")
    fresh.write_bytes(encode({**saved(state), **found}))
    fresh.replace(state / FILE)


def encode(found: Mapping[str, Found]) -> bytes:
    """Levels as a file of them has them."""
    return msgspec.json.format(msgspec.json.encode(_Levels(dict(sorted(found.items())))), indent=2) + b"\n"


@cache
def _own() -> dict[str, Found]:
    return _decode((files("dmtwisted.conformance") / "levels.json").read_bytes())


def _decode(data: bytes) -> dict[str, Found]:
    return msgspec.json.decode(data, type=_Levels).drivers
