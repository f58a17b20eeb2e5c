"""The declaration of a driver, and what a driver is given to build a device.

The rooms of registers, printers and terminals import this module only; `dmtwisted.devices.devices` is above them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec

from dmtwisted.changes import Changes
from dmtwisted.clock import ServiceClock
from dmtwisted.results import one_of
from dmtwisted.secrets import Secrets
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DeviceRow
from protocols.members import choices, explain

Kind = Literal["register", "printer", "terminal", "other"]
REGISTER: Final = "register"
PRINTER: Final = "printer"
TERMINAL: Final = "terminal"
OTHER: Final = "other"
KINDS = (REGISTER, PRINTER, TERMINAL, OTHER)
"""The kinds of devices; no driver of the service is of kind ``other``."""

ADDRESSES = (
    *("interface", "host", "port", "serial_port", "device_file", "queue", "url", "address", "server", "ca"),
    *("server_name", "*_host", "*_port", "*_url", "*_address", "*_server", "*_ca"),
)
"""Names of settings that say where a device is, or how it proves who it is."""


class BadSettings(Exception):
    """Invalid settings; ``path`` names the member."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(f"{path}: {text}" if path else text)
        self.path, self.text = path, text


def misfit(error: msgspec.ValidationError, kind: Any, under: str = "") -> BadSettings:
    """Why a value is no ``kind``; the refusal of an enumeration lists the choices.

    :param under: the path of the value itself.
    """
    path, text = explain(error)
    if text.startswith("Invalid enum value"):
        known = choices(kind, path)
        text = f"{text}; {one_of(*known).en}" if known else text
    return BadSettings(".".join(filter(None, (under, path))), text)


class Ways(NamedTuple):
    """The ways on which receipts reach customers, as the service is set now."""

    mail: bool = False
    phone: bool = False


@dataclass(frozen=True)
class Surroundings:
    """What every driver is given to build a device."""

    reactor: Any
    clock: ServiceClock
    store: IStore
    state: Path | None
    """The folder for the files of devices; `None` keeps them in memory."""
    secrets: Secrets = field(default_factory=lambda: Secrets(None))
    """Seals secrets in the store."""
    folders: tuple[Path, ...] = ()
    """Where settings may name files."""
    posted: Callable[[], None] = lambda: None
    """Says that a device has stored letters (`dmtwisted.outbox`), which are due."""
    ways: Callable[[], Ways] = lambda: Ways()
    training_protocol: str = "a"
    """The tax service's protocol that training registers practise."""

    @property
    def changes(self) -> Changes:
        """Makes the records of changes."""
        return Changes(self.store, self.clock)


@dataclass(frozen=True)
class Driver:
    """A driver for one kind of device.

    ``settings`` is a msgspec struct; ``build`` makes the working device out of a row, its settings and the
    surroundings; ``simulator`` gives the simulated device behind a training device, for its scenario and ledger.
    """

    kind: str
    name: str
    title: str
    settings: type[msgspec.Struct]
    build: Callable[[DeviceRow, Any, Surroundings], Any]
    capabilities: tuple[str, ...] = ()
    simulator: Callable[[Any], Any] | None = None
    secrets: tuple[str, ...] = field(default=())
    """Names of settings, all texts, that never leave the service and are stored sealed."""
    receivers: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """The settings that say where a secret goes, the address first; empty for one that stays in the service.

    A secret that is not named here goes wherever `ADDRESSES` may point."""
    files: tuple[str, ...] = ()
    """Names of settings, texts or lists of texts, that are PEM or name a file. ``build`` gets them all as PEM."""
    stand: str = ""
    """``module:NAME`` of the stand on which the conformance suite tests it; only the suite imports it."""
    origin: str = ""
    """The package of a third-party driver, with its version; empty for a built-in one."""
    fresh: Callable[[str], dict[str, Any]] = lambda day: {}
    """What a new device has where nothing is said, in place of the defaults, on a day in Kyiv (``yyyy-MM-dd``).

    A device that was stored without such a setting keeps the default."""
    stays: Callable[[Any], bool] = lambda settings: False
    """Whether what a register with these settings sends stays on this machine: its tax service is simulated here."""

    def read(self, members: Mapping[str, Any]) -> msgspec.Struct:
        """``members`` as typed settings.

        :raises BadSettings: when they are invalid, with the path of the member.
        """
        try:
            return msgspec.convert(dict(members), self.settings)
        except msgspec.ValidationError as error:
            raise misfit(error, self.settings, "settings") from None

    def receiver(self, secret: str) -> tuple[str, ...]:
        """The settings that say where ``secret`` goes; a change of one must not send it somewhere else."""
        if secret in self.receivers:
            return self.receivers[secret]
        names = (one.name for one in msgspec.structs.fields(self.settings))
        return tuple(name for name in names if any(fnmatchcase(name, known) for known in ADDRESSES))

    def sends(self, settings: Any) -> bool:
        """Whether a register with ``settings`` sends documents to the tax service."""
        return self.kind == REGISTER and self.simulator is None and not self.stays(settings)

    def schema(self, day: str = "") -> dict[str, Any]:
        """The JSON Schema of the settings; with a ``day`` its defaults are those of a device that is added then."""
        schema = msgspec.json.schema(self.settings)
        members = schema["$defs"][self.settings.__name__]["properties"]
        for name, value in (self.fresh(day) if day else {}).items():
            members[name]["default"] = value
        return schema
