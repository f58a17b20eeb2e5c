"""Drivers of other packages, announced as entry points of the group ``dmtwisted.drivers``.

A broken driver is left out and the log says why; the service and all other drivers work. No third-party driver can
take the name of a built-in one.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from twisted.logger import Logger

from dmtwisted.devices.driver import PRINTER, REGISTER, TERMINAL, Driver

GROUP = "dmtwisted.drivers"
"""The group of entry points; each is a `Driver`."""

KINDS = (REGISTER, PRINTER, TERMINAL)
"""The kinds that a third-party driver may have."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_log = Logger()


def third_party_drivers(known: Collection[tuple[str, str]]) -> Iterator[Driver]:
    """Every third-party driver that can be used.

    :param known: kinds and names that are taken.
    """
    if not _any_announced():
        return
    # Lazy: it takes some megabytes, and few services have such a driver.
    from importlib.metadata import entry_points

    taken = set(known)
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        try:
            driver = _checked(entry.load())
            if (driver.kind, driver.name) in taken:
                raise ValueError(f"there is a {driver.kind} {driver.name} already")
        except (Exception, SystemExit) as error:
            why = f"{type(error).__name__}: {error}"
            _log.error("driver {name} ({where}) is left out: {why}", name=entry.name, where=entry.value, why=why)
            continue
        taken.add((driver.kind, driver.name))
        package = entry.dist
        origin = f"{package.name} {package.version}" if package is not None else entry.value
        yield replace(driver, origin=origin)


def _any_announced() -> bool:
    """Whether any package announces a driver; reads the small files itself, without loading `importlib.metadata`."""
    wanted = f"[{GROUP}]"
    for folder in dict.fromkeys(sys.path):
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                try:
                    if wanted in Path(folder, name, "entry_points.txt").read_text("utf-8"):
                        return True
                except (OSError, ValueError):
                    continue
    return False


def _checked(found: Any) -> Driver:
    """``found`` as a driver with everything that the service needs.

    :raises Exception: when something is missing.
    """
    if not isinstance(found, Driver):
        raise TypeError(f"a Driver is expected, not {type(found).__name__}")
    if found.kind not in KINDS:
        raise ValueError(f"kind is one of {', '.join(KINDS)}, not {found.kind!r}")
    if not _NAME.fullmatch(found.name):
        raise ValueError(f"a name has small letters, digits and hyphens, not {found.name!r}")
    if not found.title:
        raise ValueError("it has no title")
    if not (isinstance(found.settings, type) and issubclass(found.settings, msgspec.Struct)):
        raise TypeError("settings is a class of msgspec.Struct")
    known = {field.name for field in msgspec.structs.fields(found.settings)}
    if not set(found.secrets) <= known:
        raise ValueError(f"secrets that are no settings: {', '.join(sorted(set(found.secrets) - known))}")
    for secret in found.secrets:
        if not set(found.receiver(secret)) <= known:
            raise ValueError(f"receivers of {secret} that are no settings")
    found.schema()
    return found
