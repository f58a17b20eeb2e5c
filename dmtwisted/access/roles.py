"""Roles of people and keys: who they are and which devices they may use. `web.rights` says what each may do."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from dmtwisted.devices.driver import BadSettings
from dmtwisted.results import Text


class Role(StrEnum):
    """What a person or a key is for."""

    ADMINISTRATOR = "administrator"
    MANAGER = "manager"
    CASHIER = "cashier"
    INTEGRATOR = "integrator"
    WATCHER = "watcher"


ROLE_NAMES = {
    Role.ADMINISTRATOR: Text("адміністратор", "administrator"),
    Role.MANAGER: Text("менеджер", "manager"),
    Role.CASHIER: Text("касир", "cashier"),
    Role.INTEGRATOR: Text("інтегратор", "integrator"),
    Role.WATCHER: Text("спостерігач", "watcher"),
}

BOUND = frozenset({Role.CASHIER, Role.INTEGRATOR})
"""Roles that may use only the devices that are named with them."""


@dataclass(frozen=True)
class Permit:
    """What the caller of a request may do.

    ``name`` is the login, or the name of the key. ``source`` is what it was made from, and ``session`` the session,
    to see later whether both are still there.
    """

    role: Role | None
    name: str = ""
    devices: frozenset[str] = frozenset()
    source: object = None
    session: bytes = b""

    @property
    def whole(self) -> bool:
        """Whether it is an administrator's, who may do everything."""
        return self.role is Role.ADMINISTRATOR

    @property
    def bound(self) -> bool:
        """Whether it is for some devices only."""
        return self.role not in (Role.ADMINISTRATOR, Role.MANAGER, Role.WATCHER)

    def covers(self, dev_id: str) -> bool:
        """Whether the device with this id may be used."""
        return not self.bound or dev_id in self.devices


ANYONE = Permit(Role.ADMINISTRATOR)
"""Everybody's, while no login is required."""

NOBODY = Permit(None)
"""It allows nothing."""


def check_devices(role: Role, devices: Collection[str]) -> None:
    """Check that ``devices`` are there exactly when the role is for some devices only.

    :raises BadSettings: when they are not.
    """
    if role in BOUND and not devices:
        raise BadSettings("devices", "at least one device for this role is expected")
    if role not in BOUND and devices:
        raise BadSettings("devices", "this role is for all devices; name none")
