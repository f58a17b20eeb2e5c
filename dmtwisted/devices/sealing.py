"""The secret settings of devices: sealed in the database, in clear only while a device is built.

A sealed text is an object ``{"sealed": "s1…"}`` in the settings, which no driver takes for a text. Its device and
member are sealed with it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from dmtwisted.changes import Hidden
from dmtwisted.devices.driver import BadSettings, Driver
from dmtwisted.secrets import Secrets, SecretsError
from dmtwisted.security import is_secret

SEALED = "sealed"
"""The only member of an object that holds a sealed text."""


class SettingsSeal:
    """Seals the secrets of a driver's settings before they are stored, and opens them."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    def seal(self, dev_id: str, driver: Driver, members: Mapping[str, Any]) -> bytes:
        """``members`` as they are stored, in JSON.

        :raises BadSettings: when the key of the secrets cannot be read or created.
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
        """Stored settings with their secrets in clear.

        :param but: secrets that are replaced, so they stay sealed.
        :raises BadSettings: when the key of the secrets is missing or is another one; the path names the secret.
        """
        members: dict[str, Any] = msgspec.json.decode(kept)
        for name in driver.secrets:
            if _is_sealed(members.get(name)) and name not in but:
                try:
                    members[name] = self._secrets.read(members[name][SEALED], _place(dev_id, name))
                except SecretsError as error:
                    raise BadSettings(f"settings.{name}", f"{error}; or enter it again") from error
        return members


def expect_same_receivers(driver: Driver, kept: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The stored settings ``kept`` with ``changes``; a secret never goes on to another address by itself.

    Addresses are compared letter by letter. An address that is removed takes its secrets with it.

    :raises BadSettings: with the path of a secret that has to be given anew.
    """
    usual = {one.name: one.default for one in msgspec.structs.fields(driver.settings)}
    settings = {**kept, **changes}
    for secret in driver.secrets:
        if secret in changes or not kept.get(secret):
            continue
        receiver = driver.receiver(secret)
        if all(kept.get(name, usual[name]) == settings.get(name, usual[name]) for name in receiver):
            continue
        if settings.get(receiver[0], usual[receiver[0]]):
            raise BadSettings(
                f"settings.{secret}", "the address is another one now and does not get what is stored; enter it again"
            )
        settings[secret] = ""
    return settings


def in_clear(driver: Driver, kept: bytes) -> bool:
    """Whether stored settings have a secret that is not sealed."""
    members = msgspec.json.decode(kept)
    return any(_is_clear(members.get(name)) for name in driver.secrets)


def hidden_secrets(driver: Driver, members: Mapping[str, Any]) -> dict[str, Any]:
    """``members`` for the journal of changes."""
    return {
        name: Hidden(value) if name in driver.secrets or _is_sealed(value) else value
        for name, value in members.items()
    }


def without_secrets(driver: Driver, members: Mapping[str, Any]) -> dict[str, Any]:
    """``members`` without secrets, those of a driver that is gone included."""
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
