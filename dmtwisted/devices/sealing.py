"""The secret settings of devices: sealed in the database, open only while a driver is built.

A sealed text stands in the settings as an object ``{"sealed": "s1…"}``, which no driver takes for a text. Where it
belongs, device and member, is sealed with it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from dmtwisted.devices.driver import BadSettings, Driver
from dmtwisted.secrets import Secrets, SecretsError
from dmtwisted.security import is_secret

SEALED = "sealed"
"""The one member of an object that stands for a secret."""


class SettingsSeal:
    """Seals the secrets of a driver's settings before they are kept, and opens them."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    def seal(self, dev_id: str, driver: Driver, members: Mapping[str, Any]) -> bytes:
        """``members`` as they may be kept, in JSON.

        :raises BadSettings: when the key of the secrets cannot be read or made.
        """
        kept = dict(members)
        for name in driver.secrets:
            if _is_clear(kept.get(name)):
                try:
                    kept[name] = {SEALED: self._secrets.seal(kept[name], _place(dev_id, name))}
                except SecretsError as error:
                    raise BadSettings(f"settings.{name}", str(error)) from error
        return msgspec.json.encode(kept)

    def open(self, dev_id: str, driver: Driver, kept: bytes, but: Collection[str] = ()) -> dict[str, Any]:
        """The settings that were kept, with their secrets in clear.

        :param but: secrets that nobody needs any more, as others take their place.
        :raises BadSettings: when the key of the secrets is missing or another one; the path names the secret.
        """
        members: dict[str, Any] = msgspec.json.decode(kept)
        for name in driver.secrets:
            if _is_sealed(members.get(name)) and name not in but:
                try:
                    members[name] = self._secrets.read(members[name][SEALED], _place(dev_id, name))
                except SecretsError as error:
                    raise BadSettings(f"settings.{name}", f"{error}; or enter it anew") from error
        return members


def in_clear(driver: Driver, kept: bytes) -> bool:
    """Whether settings that were kept have a secret that anybody can read."""
    members = msgspec.json.decode(kept)
    return any(_is_clear(members.get(name)) for name in driver.secrets)


def without_secrets(driver: Driver, members: Mapping[str, Any]) -> dict[str, Any]:
    """``members`` as they may be told: without the driver's secrets, and without those of a driver that is gone."""
    return {
        name: value
        for name, value in members.items()
        if name not in driver.secrets and not _is_sealed(value) and not is_secret(name)
    }


def _is_clear(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_sealed(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {SEALED}


def _place(dev_id: str, name: str) -> str:
    return f"device {dev_id} {name}"
