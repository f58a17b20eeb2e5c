"""Settings of a register that change on a day, for its page."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from dmtwisted.registers.settings import IN_GROUPS, OF_A_SHIFT, DatedChange, RegisterSettings, on_day, value_of

MEMBERS = {"tax_groups": ("percent", "ex_percent", "ex_rate", "name"), "pay_types": ("name", "payformcd", "enabled")}
"""What of a tax group or a payment type the page offers; a program can change every member."""


class Choice(NamedTuple):
    """A setting that can change on a day, its value now, and the kind of that value in JavaScript."""

    setting: str
    value: int | str | bool | None
    kind: str


class DatedPart(NamedTuple):
    """The part of the page: every row and whether it is valid, the choices, the rows for the script."""

    rows: list[tuple[DatedChange, bool]]
    choices: list[Choice]
    kept: list[dict[str, object]]


def dated_part(settings: RegisterSettings, day: str) -> DatedPart:
    """What the page shows of ``settings`` on ``day``."""
    now, names = on_day(settings, day), [name for name in OF_A_SHIFT if name not in IN_GROUPS]
    for group, members in MEMBERS.items():
        names += [f"{group}.{one.code}.{member}" for one in getattr(settings, group) for member in members]
    choices = [Choice(name, value := value_of(now, name), _kind(value)) for name in names]
    rows = [(row, row.valid_from <= day) for row in settings.dated]
    return DatedPart(rows, choices, [msgspec.structs.asdict(row) for row in settings.dated])


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number"
