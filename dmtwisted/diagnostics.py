"""The support bundle: one file that can be sent, without secrets, card numbers and receipts.

================== ======================================================================================
file               content
================== ======================================================================================
about.json         versions, system, uptime, readiness
configuration.json every key of the file; a secret shows only whether it is set
settings.json      the settings of the service, without secrets
devices.json       every device: driver, settings without secrets, state
unfinished.json    operations with an unknown outcome: time, task, result; not the request
database.json      kind, size, contents, result of the last check
certificate.json   the certificate of HTTPS
evidence.json      answers of the tax service that somebody else signed; not the answers themselves
log.txt            the last lines of the log, masked once more
================== ======================================================================================
"""

from __future__ import annotations

import io
import platform
import re
import sqlite3
import sys
import zipfile
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec

import dmtwisted
from dmtwisted.clock import stamp17
from dmtwisted.config import SECTIONS
from dmtwisted.core import Core
from dmtwisted.devices.devices import Device
from dmtwisted.registers.channels.evidence import described, kept_in
from dmtwisted.security import HIDDEN, mask_cards, mask_secrets
from dmtwisted.store.facts import UNFINISHED, FileCheck, facts_of
from dmtwisted.store.values import OperationQuery, StoreFailed

LIBRARIES = ("Twisted", "klein", "msgspec", "SQLAlchemy", "alembic", "pyOpenSSL", "cryptography", "Jinja2", "Pillow")
"""Libraries whose versions are listed."""

MOST_UNFINISHED = 200

_WITH_LOGIN = re.compile(r"([a-z][a-z0-9+.-]*://)[^/\s@]*@", re.IGNORECASE)
"""An address with a login before the name."""


async def gather(core: Core, verdict: FileCheck | None = None) -> dict[str, bytes]:
    """Every file of the bundle by its name; what cannot be read is replaced by the reason.

    :param verdict: the result of the last check of the database.
    """
    files: dict[str, Any] = {
        "about": _about(core),
        "configuration": _configuration(core),
        "settings": {
            **mask_secrets(msgspec.structs.asdict(core.settings.now)),
            "login": core.access.on,
            "api_keys": [key.name for key in core.access.keys],
        },
        "devices": [await _device(device) for device in core.devices],
        "unfinished": await _or_why(_unfinished(core)),
        "database": {"facts": await _or_why(facts_of(core.config, core.store, core.clock)), "check": verdict},
        "certificate": None if core.certificate is None else core.certificate.status(),
        "evidence": [] if core.state is None else described(kept_in(core.state)),
    }
    bundle = {f"{name}.json": _encoded(value) for name, value in files.items()}
    bundle["log.txt"] = _clean("".join(core.log_lines)).encode("utf-8", "replace")
    return bundle


def pack(files: dict[str, bytes]) -> bytes:
    """The files as one zip; for a thread, because it takes a moment."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"dmtwisted/{name}", content)
    return packed.getvalue()


def _about(core: Core) -> dict[str, Any]:
    return {
        "version": dmtwisted.__version__,
        "dt": stamp17(core.clock.now()),
        "clock_offset_s": core.clock.offset,
        "uptime_s": max(0, int(core.reactor.seconds() - core.began)),
        "ready": core.ready,
        "system": platform.platform(),
        "python": sys.version,
        "sqlite": sqlite3.sqlite_version,
        "libraries": {name: _version(name) for name in LIBRARIES},
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not here"


def _configuration(core: Core) -> dict[str, Any]:
    sections: dict[str, Any] = {}
    for section in SECTIONS:
        found = getattr(core.config, section)
        sections[section] = {
            key.name: HIDDEN
            if key.metadata["about"].is_secret and getattr(found, key.name)
            else getattr(found, key.name)
            for key in fields(found)
        }
    return sections


async def _device(device: Device) -> dict[str, Any]:
    settings = msgspec.to_builtins(device.settings)
    if isinstance(settings, dict):
        # A driver that is gone names no secrets, so none of its settings are shown.
        known = bool(device.driver.settings.__struct_fields__)
        settings = {
            name: HIDDEN if name in device.driver.secrets or not known else value for name, value in settings.items()
        }
    try:
        state: Any = await device.built.state()
    except Exception as error:
        state = f"{type(error).__name__}: {error}"
    return {
        "device": device.name,
        "dev_id": device.row.dev_id,
        "kind": device.kind,
        "driver": device.row.driver,
        "settings": mask_secrets(settings),
        "busy": device.turns.busy,
        "state": mask_secrets(state),
    }


async def _unfinished(core: Core) -> list[dict[str, Any]]:
    found = await core.store.find_operations(OperationQuery(states=list(UNFINISHED), limit=MOST_UNFINISHED))
    names = {device.row.n: device.name for device in core.devices}
    return [
        {
            "id": row.n,
            "device": names.get(row.device_n, ""),
            "kind": row.kind,
            "task": row.task,
            "key": row.key,
            "state": str(row.state),
            "dt": stamp17(row.at),
            "res": row.res,
        }
        for row in found.operations
    ]


async def _or_why(asked: Any) -> Any:
    try:
        return await asked
    except StoreFailed as error:
        return f"it cannot be read: {error}"


def _encoded(value: Any) -> bytes:
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return _clean(text).encode()


def _clean(text: str) -> str:
    """``text`` without card numbers, and without logins in addresses."""
    return mask_cards(_WITH_LOGIN.sub(rf"\1{HIDDEN}@", text))
