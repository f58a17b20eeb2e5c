"""The form of a driver's settings, made from its JSON Schema.

A driver describes its settings once, by the types and texts of its struct, so a new driver has its page at once.
Required fields come first, then those that say where the device is. At most `VISIBLE` fields are shown before the
person unfolds the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

VISIBLE = 5
"""The most fields that are shown at first."""

FIRST = (
    *("interface", "host", "port", "serial_port", "baudrate", "device_file", "queue"),
    *("protocol", "server_url", "fiscal_number", "local_number", "shopname", "name", "profile", "merchant", "wait_s"),
)
"""Settings that most people need, in this order: where the device is, then its names."""

LONGEST_LINE = 1000
"""Characters; a longer text gets a field with several lines."""

ONLY_WITH = {
    "host": ("tcp", "cups"),
    "port": ("tcp", "cups"),
    "serial_port": ("serial",),
    "baudrate": ("serial",),
    "flow": ("serial",),
    "device_file": ("usb",),
    "queue": ("cups", "windows"),
}
"""Settings that apply only with some values of ``interface``."""


@dataclass(frozen=True)
class Field:
    """One field of a form.

    ``control`` is ``text``, ``long`` (a text of lines), ``password``, ``number``, ``choice``, ``flag``, ``lines``
    (one text a line), ``numbers`` (one number a line), ``switches`` (items that can be enabled), ``group`` (nested
    settings, in ``parts``) or ``json`` (anything else).
    """

    name: str
    title: str
    control: str
    default: Any = None
    required: bool = False
    nullable: bool = False
    whole: bool = False
    least: float | None = None
    most: float | None = None
    longest: int | None = None
    pattern: str = ""
    choices: tuple[Any, ...] = ()
    only_with: tuple[str, ...] = ()
    parts: tuple[Field, ...] = ()


PARTS = {
    "money": (
        *("tax_groups", "default_taxgrp", "pay_types", "pay_codes", "rounding_step", "check_cash"),
        *("storno_allowed", "excise_*"),
    ),
    "offline": ("offline_*", "warn_offline_h", "warn_offline_numbers"),
    "batch": ("batch",),
    "till": ("classic_*",),
    "paper": (
        "name",
        "shopname",
        "shopad",
        "vat_code",
        "fis_code",
        "header",
        "footer",
        "template",
        "print_zero_change",
        "qr_time",
        "pf_*",
    ),
    "tax": (
        *("server_*", "trusted_certificates", "fiscal_number", "local_number", "testing", "device_register"),
        *("connect_s", "retry_s"),
    ),
}
"""The parts of a register's many settings; all others are in the rest."""


@dataclass(frozen=True)
class Part:
    """Fields that are unfolded together; ``name`` is a key of `PARTS`, or ``rest``."""

    name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Form:
    """The fields of a driver: those that are shown at first, and the folded ones in parts."""

    seen: tuple[Field, ...]
    parts: tuple[Part, ...]


def form_of(schema: Mapping[str, Any], secrets: Iterable[str] = ()) -> Form:
    """The form of a driver's settings.

    :param secrets: settings that never leave the service; the form never shows them.
    """
    found = _fields(_resolved(schema, schema), schema, frozenset(secrets))
    if not any(field.name == "interface" for field in found):
        found = [replace(field, only_with=()) for field in found]
    order = {name: place for place, name in enumerate(FIRST)}
    found.sort(key=lambda field: (not field.required, order.get(field.name, len(order))))
    # Fields that exclude each other are never shown together, so only one group counts.
    seen: list[Field] = []
    for field in found:
        if field.control in ("group", "json", "switches") and not field.required:
            continue
        if field.required or (field.name in order and _widest([*seen, field]) <= VISIBLE):
            seen.append(field)
    return Form(tuple(seen), _in_parts([field for field in found if field not in seen]))


def _in_parts(fields: list[Field]) -> tuple[Part, ...]:
    """``fields`` in parts; a device with few settings has one part."""
    names = PARTS if any(field.name == "tax_groups" for field in fields) else {}
    found: dict[str, list[Field]] = {part: [] for part in (*names, "rest")}
    for field in fields:
        homes = [part for part, patterns in names.items() if any(fnmatchcase(field.name, each) for each in patterns)]
        found[homes[0] if homes else "rest"].append(field)
    return tuple(Part(part, tuple(those)) for part, those in found.items() if those)


def _widest(fields: list[Field]) -> int:
    """The most of ``fields`` that are shown at once."""
    always = sum(not field.only_with for field in fields)
    ways = {way for field in fields for way in field.only_with}
    return always + max((sum(way in field.only_with for field in fields) for way in ways), default=0)


OWN_PLACE = ("dated",)
"""Settings that have a part of the page to themselves."""


def _fields(members: Mapping[str, Any], whole: Mapping[str, Any], secrets: frozenset[str]) -> list[Field]:
    required = set(members.get("required", ()))
    return [
        _field(name, member, whole, name in required, name in secrets)
        for name, member in members.get("properties", {}).items()
        if name not in OWN_PLACE
    ]


def _field(name: str, member: Mapping[str, Any], whole: Mapping[str, Any], required: bool, secret: bool) -> Field:
    kind, nullable = _kind_of(member, whole)
    choices = tuple(kind.get("enum", ()))
    shape = kind.get("type")
    control = "json"
    parts: tuple[Field, ...] = ()
    if choices:
        control = "choice"
    elif shape == "boolean":
        control = "flag"
    elif shape in ("integer", "number"):
        control = "number"
    elif shape == "string":
        control = "password" if secret else "long" if _has_lines(member, kind) else "text"
    elif shape == "array":
        control = _list_control(kind, whole)
    elif shape == "object" and kind.get("properties"):
        control, parts = "group", tuple(_fields(kind, whole, frozenset()))
    return Field(
        name=name,
        title=member.get("description") or kind.get("description") or name,
        control=control,
        default=member.get("default"),
        required=required,
        nullable=nullable,
        whole=shape == "integer",
        least=kind.get("minimum", kind.get("exclusiveMinimum")),
        most=kind.get("maximum", kind.get("exclusiveMaximum")),
        longest=kind.get("maxLength"),
        pattern=kind.get("pattern", ""),
        choices=choices,
        only_with=ONLY_WITH.get(name, ()),
        parts=parts,
    )


def _has_lines(member: Mapping[str, Any], kind: Mapping[str, Any]) -> bool:
    """Whether a text may have several lines; a browser would join them in a field with one line."""
    about = f"{member.get('description', '')} {kind.get('description', '')}"
    return "PEM" in about or int(kind.get("maxLength") or 0) > LONGEST_LINE


def _kind_of(member: Mapping[str, Any], whole: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """The schema of a member's value, and whether it may be null."""
    member = _resolved(member, whole)
    ways = member.get("anyOf")
    if not ways:
        return member, False
    real = [way for way in ways if way.get("type") != "null"]
    if len(real) != 1:
        return {}, len(real) < len(ways)
    return _resolved(real[0], whole), len(real) < len(ways)


def _list_control(kind: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    items = _resolved(kind.get("items") or {}, whole)
    if items.get("type") == "string" and "enum" not in items:
        return "lines"
    if items.get("type") in ("integer", "number"):
        return "numbers"
    members = items.get("properties", {})
    return "switches" if {"code", "name", "enabled"} <= set(members) else "json"


def _resolved(member: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = member.get("$ref")
    if reference is None:
        return member
    found = whole
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    return found
