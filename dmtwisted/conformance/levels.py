"""The level of each driver: always what the suite found, never what a driver says about itself.

The levels of the drivers in this tree are in ``levels.json`` beside this module; a test compares them with the suite.
Those of other drivers are in the state folder, written by ``dmtwisted conform --save``; they are valid for the
checked version of the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

from dmtwisted.devices.driver import Driver

SUITE: Final = 3
"""The version of the suite: goes up when a check is added or becomes stricter."""

SAFE, RECOVERS, WHOLE = 1, 2, 3
LEVELS: Final = {0: "not safe", SAFE: "safe", RECOVERS: "recovers", WHOLE: "whole"}

FILE: Final = "conformance.json"
"""The levels of other packages' drivers, in the state folder."""


class Found(msgspec.Struct, frozen=True):
    """What the suite found about a driver."""

    level: int
    suite: int
    origin: str = ""
    """The package with its version; empty for the tree's own."""


class _Levels(msgspec.Struct):
    drivers: dict[str, Found]


def found_of(driver: Driver, state: Path | None) -> Found | None:
    """What the suite found about ``driver``; `None` when it was never run on this version."""
    known = saved(state) if driver.origin else _own()
    found = known.get(key_of(driver))
    return found if found is not None and found.origin == driver.origin else None


def command_for(driver: Driver) -> str:
    """The command that runs the suite on it."""
    return f"dmtwisted conform --kind {driver.kind} --driver {driver.name} --save"


def key_of(driver: Driver) -> str:
    """The name under which a level is kept."""
    return f"{driver.kind} {driver.name}"


def saved(state: Path | None) -> dict[str, Found]:
    """The levels in the state folder; none when the file cannot be read."""
    if state is None:
        return {}
    try:
        return _decode((state / FILE).read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}


def save(state: Path, found: Mapping[str, Found]) -> None:
    """Add levels to those in the state folder."""
    fresh = state / (FILE + ".new")
    fresh.write_bytes(encode({**saved(state), **found}))
    fresh.replace(state / FILE)


def encode(found: Mapping[str, Found]) -> bytes:
    """The content of a file of levels."""
    return msgspec.json.format(msgspec.json.encode(_Levels(dict(sorted(found.items())))), indent=2) + b"\n"


@cache
def _own() -> dict[str, Found]:
    return _decode((files("dmtwisted.conformance") / "levels.json").read_bytes())


def _decode(data: bytes) -> dict[str, Found]:
    return msgspec.json.decode(data, type=_Levels).drivers
