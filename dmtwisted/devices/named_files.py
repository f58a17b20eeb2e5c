"""Settings that are PEM or name a file: the files are read in a thread, from folders that are meant for it.

A caller of the service's pages could otherwise read any file of the machine, or stop the service with one that has
no end. A file that the stored settings name already is read wherever it is, so that nothing stops after an update.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from dmtwisted.devices.driver import BadSettings, Driver
from dmtwisted.system.files import read_named

PEM = "-----BEGIN"


def names_in(driver: Driver, settings: Any) -> list[tuple[str, str]]:
    """The files that ``settings``, a struct or its members, name: each with its setting."""
    return [
        (setting, text.strip())
        for setting in driver.files
        for text in _texts(settings.get(setting) if isinstance(settings, Mapping) else getattr(settings, setting))
        if _is_name(text)
    ]


def with_files(
    driver: Driver, settings: msgspec.Struct, kept: Mapping[str, Any], folders: Collection[Path]
) -> msgspec.Struct:
    """``settings`` with the content of the files that they name; blocks.

    :param kept: the stored settings of the device; files that they name may be anywhere.
    :param folders: where other files have to be.
    :raises BadSettings: when a file cannot be read, or the settings are invalid with its content.
    """
    known = {name for _, name in names_in(driver, kept)}
    found: dict[str, Any] = {}

    def content(setting: str, text: str) -> str:
        if not _is_name(text):
            return text
        name = text.strip()
        try:
            return _pem(read_named(name, None if name in known else folders))
        except ValueError as error:
            raise BadSettings(f"settings.{setting}", str(error)) from None

    for setting in {setting for setting, _ in names_in(driver, settings)}:
        value = getattr(settings, setting)
        if isinstance(value, str):
            found[setting] = content(setting, value)
        else:
            found[setting] = tuple(content(setting, text) for text in value)
    return driver.read({**msgspec.to_builtins(settings), **found})


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        yield from (text for text in value if isinstance(text, str))


def _is_name(text: str) -> bool:
    return bool(text.strip()) and PEM not in text


def _pem(content: bytes) -> str:
    """A file as PEM, whatever its label says."""
    if PEM.encode() in content:
        return content.decode("latin-1")
    return f"{PEM} CERTIFICATE-----\n{base64.encodebytes(content).decode()}-----END CERTIFICATE-----\n"
