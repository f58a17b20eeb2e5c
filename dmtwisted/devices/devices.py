"""The devices of the service: found by name for each task, kept in the store, built by their drivers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Generic, Literal, NoReturn, TypeVar, cast
from uuid import uuid4

import msgspec
from twisted.logger import Logger
from twisted.python.failure import Failure

from dmtwisted.changes import Action, Area
from dmtwisted.clock import day_of
from dmtwisted.devices.driver import (
    KINDS,
    OTHER,
    PRINTER,
    REGISTER,
    TERMINAL,
    BadSettings,
    Driver,
    Kind,
    Surroundings,
)
from dmtwisted.devices.named_files import names_in, with_files
from dmtwisted.devices.sealing import SettingsSeal, expect_same_receivers, hidden_secrets, in_clear
from dmtwisted.devices.sharing import Sharing
from dmtwisted.printing.service import PrinterService
from dmtwisted.registers.interface import IRegister, Remembering
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.results import Refused, Res, Text, joined
from dmtwisted.store.values import Change, DeviceRow, NameTaken, StoreFailed
from dmtwisted.terminals.service import TerminalService
from dmtwisted.turns import Turns
from dmtwisted.wording import wording

LONGEST_NAME = 200

Mark = Literal["", "real", "simulated"]
"""What is unusual about a device: it sends real documents in training mode, or it is simulated outside of it."""

ONLY_TRAINING = (
    "a training terminal approves payments without money, so it works in training mode only (--training); add the "
    "bank's terminal instead"
)
SENDS_REAL = (
    "this register would send real documents to the tax service although the service is in training mode; if that is "
    "what you want, repeat with confirm_real true"
)

TRUSTED: ContextVar[Callable[[], bool]] = ContextVar("trusted", default=lambda: False)
"""Whether the caller of the task may hear the names of other devices; only a refusal asks."""

MOST_NAMED = 20
"""Devices that a refusal names."""

Built = TypeVar("Built")
Settings = TypeVar("Settings")


class _Device(Generic[Settings, Built]):
    """One device: its record, its driver, its turns, its settings, and what the driver built."""

    def __init__(self, row: DeviceRow, driver: Driver, turns: Turns, settings: Settings, built: Built) -> None:
        self.row, self.driver, self.turns = row, driver, turns
        self.settings, self.built = settings, built

    @property
    def name(self) -> str:
        """``device`` of requests."""
        return self.row.name

    @property
    def simulator(self) -> Any:
        """The simulated device behind a training device; `None` for a real one."""
        return self.driver.simulator(self.built) if self.driver.simulator is not None else None

    @property
    def sends(self) -> bool:
        """Whether it is a register that sends documents to the tax service."""
        return self.driver.sends(self.settings)


class RegisterDevice(_Device[msgspec.Struct, IRegister]):
    """A fiscal register."""

    kind: Literal["register"] = REGISTER


class PrinterDevice(_Device[msgspec.Struct, PrinterService]):
    """A printer."""

    kind: Literal["printer"] = PRINTER


class TerminalDevice(_Device[msgspec.Struct, TerminalService]):
    """A bank terminal."""

    kind: Literal["terminal"] = TERMINAL


class OtherDevice(_Device[msgspec.Struct, Any]):
    """A device of another kind, which no driver of the service has; it takes no task."""

    kind: Literal["other"] = OTHER


class UnusableDevice(_Device["msgspec.Struct | dict[str, Any]", "Unusable"]):
    """A device that cannot be built: it is listed, can be changed and deleted, and refuses everything else."""

    @property
    def kind(self) -> Kind:
        """The kind that its record names."""
        return cast(Kind, self.row.kind)

    @property
    def simulator(self) -> Any:
        """Nothing was built, so nothing is simulated."""
        return None

    @property
    def sends(self) -> bool:
        """It sends nothing."""
        return False


class Unusable:
    """In place of what the driver could not build."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def refused(self) -> Refused:
        """430 with the reason."""
        return Refused(Res.DEVICE_ERROR, wording(self._error))

    async def refuse(self, *_: object) -> NoReturn:
        """Refuse with 430 and the reason."""
        raise self.refused()

    perform = look_up = check = go_offline = go_online = come_home = refuse

    async def resolve(self) -> None:
        """There is nothing to find out."""

    async def state(self) -> dict[str, object]:
        """The reason."""
        return {"error": f"{type(self._error).__name__}: {self._error}"}

    def close(self) -> None:
        """There is nothing to release."""


Device = RegisterDevice | PrinterDevice | TerminalDevice | OtherDevice | UnusableDevice
AnyRegister = RegisterDevice | UnusableDevice
"""What ``device.kind == REGISTER`` leaves of `Device`."""

_CLASSES: dict[str, type[RegisterDevice | PrinterDevice | TerminalDevice | OtherDevice]] = {
    known.kind: known for known in (RegisterDevice, PrinterDevice, TerminalDevice, OtherDevice)
}


Usable = TypeVar("Usable", RegisterDevice, PrinterDevice, TerminalDevice)


def usable(device: Device, wanted: type[Usable]) -> Usable:
    """``device`` as a device of the kind ``wanted``.

    :raises Refused: 430 with the reason when it cannot be used, 1091 when it is of another kind.
    """
    if isinstance(device, wanted):
        return device
    if isinstance(device, UnusableDevice) and device.kind == wanted.kind:
        raise device.built.refused()
    one, _ = _KIND_NAMES[wanted.kind]
    raise Refused(
        Res.UNKNOWN_DEVICE,
        note=Text(f"«{device.name}» не {one.uk}", f'"{device.name}" is no {one.en}'),
    )


_KIND_NAMES: dict[str, tuple[Text, Text]] = {
    "": (Text("пристрій", "device"), Text("пристрої", "devices")),
    REGISTER: (Text("каса", "register"), Text("каси", "registers")),
    # The usual Ukrainian word is reserved for 5005 (dmtwisted/results.py).
    PRINTER: (Text("пристрій друку", "printer"), Text("пристрої друку", "printers")),
    TERMINAL: (Text("термінал", "terminal"), Text("термінали", "terminals")),
    OTHER: (Text("інший пристрій", "device of another kind"), Text("інші пристрої", "other devices")),
}
"""How a kind of device is called, one and many."""


def _plain(name: str) -> str:
    """``name`` without what the eye does not see: case and blanks."""
    return "".join(name.split()).casefold()


def _differs(near: str) -> Text:
    uk, en = (
        (f"назви «{near}»", f'the name "{near}"') if near else ("назви пристрою, який є,", "the name of a device")
    )
    return Text(
        f"відрізняється від {uk} лише великими літерами або пробілами", f"differs from {en} only by case or blanks"
    )


def _listed(many: Text, names: Sequence[str]) -> Text:
    if not names:
        return Text(f"{many.uk} ще не додано", f"there are no {many.en} yet")
    more = ", …" if len(names) > MOST_NAMED else ""
    uk, en = (", ".join(quoted.format(name) for name in names[:MOST_NAMED]) for quoted in ("«{}»", '"{}"'))
    return Text(f"є {many.uk} {uk}{more}", f"known {many.en}: {en}{more}")


def kind_name(kind: str) -> Text:
    """How a kind of device is called."""
    return _KIND_NAMES[kind][0]


def register_settings(device: Device) -> RegisterSettings:
    """The settings that every register has; their defaults for a driver that has others, or when none can be read."""
    return device.settings if isinstance(device.settings, RegisterSettings) else RegisterSettings()


class Devices:
    """All devices, by name and by id.

    :param training: whether the service is in training mode.
    """

    log = Logger()

    def __init__(
        self, drivers: dict[tuple[str, str], Driver], around: Surroundings, turn_wait_s: float, training: bool
    ) -> None:
        self.drivers, self.training = drivers, training
        self._around, self._turn_wait_s = around, turn_wait_s
        self.clock, self.state = around.clock, around.state
        self._by_name: dict[str, Device] = {}
        self._by_id: dict[str, Device] = {}
        self._turns: dict[int, Turns] = {}
        self._seal = SettingsSeal(around.secrets)
        self.sharing = Sharing(around.store, self.renew)

    async def open(self) -> None:
        """Build every device of the store; one that cannot be built is listed with the reason."""
        for row in await self._around.store.devices():
            (await self._read(await self._sealed(row)))()

    async def _sealed(self, row: DeviceRow) -> DeviceRow:
        """``row`` with its secrets sealed: an earlier version stored them as they were entered."""
        driver = self.drivers.get((row.kind, row.driver))
        # Services that share a database may have a key each, so this waits for the next change.
        if driver is None or self.sharing.shared or not in_clear(driver, row.settings):
            return row
        try:
            sealed = self._seal.seal(row.dev_id, driver, msgspec.json.decode(row.settings))
            await self._around.store.change_device(row.n, row.name, sealed)
        except (BadSettings, StoreFailed) as error:
            self.log.error("{device}: its secrets stay readable: {why}", device=row.name, why=str(error))
            return row
        return msgspec.structs.replace(row, settings=sealed)

    async def renew(self, dev_id: str) -> None:
        """Build a device again from its row: another service has worked with it in the meantime."""
        rows = await self._around.store.devices()
        found = [await self._read(row) for row in rows if row.dev_id == dev_id]
        self._leave_out(self.by_id(dev_id))
        for row in rows:
            if row.dev_id == dev_id:
                found.pop()()
            elif row.dev_id in self._by_id and self.sharing.may_be_another(row.n):
                # Another service may have renamed it; it is built again when its turn comes.
                other = self._by_id[row.dev_id]
                self._forget_name(other)
                other.row = msgspec.structs.replace(other.row, name=row.name)
                self._by_name[row.name] = other

    def _forget_name(self, device: Device) -> None:
        # Another service may have given the name to another device.
        if self._by_name.get(device.name) is device:
            del self._by_name[device.name]

    async def _read(self, row: DeviceRow) -> Callable[[], Device]:
        """What builds the device of ``row``, when everything for it has been read."""
        driver = self.drivers.get((row.kind, row.driver), _no_driver(row))
        try:
            members = self._seal.open(row.dev_id, driver, row.settings)
            value = driver.read(members)
            ready = await self.with_files(driver, value, members)
        except BadSettings as error:
            return partial(self._keep_unusable, row, driver, msgspec.json.decode(row.settings), error)
        return partial(self._take_in, row, driver, value, ready)

    async def with_files(
        self, driver: Driver, settings: msgspec.Struct, kept: Mapping[str, Any] | None = None
    ) -> msgspec.Struct:
        """``settings`` as they are built: with the content of the files that they name, read in a thread.

        :param kept: the stored settings of the device.
        :raises BadSettings: when a file cannot be read.
        """
        if not names_in(driver, settings):
            return settings
        return await self.clock.aside(with_files, driver, settings, kept or {}, self._around.folders)

    @asynccontextmanager
    async def on_trial(self, kind: str, driver_name: str, members: Mapping[str, Any]) -> AsyncIterator[Any]:
        """A device as ``members`` describe it, for a while: it has no row in the store and no file.

        :raises BadSettings: when a member is invalid.
        :raises Refused: 430 when it cannot be built.
        """
        driver = self._driver(kind, driver_name)
        settings = await self.with_files(driver, driver.read(members))
        # No device has this number, so the store has nothing for it.
        row = DeviceRow(0, "", "", kind, driver_name, msgspec.json.encode(members))
        around = self._around
        try:
            built = driver.build(row, settings, Surroundings(around.reactor, around.clock, around.store, None))
        except Exception as error:
            raise Refused(Res.DEVICE_ERROR, f"{type(error).__name__}: {error}") from error
        try:
            yield built
        finally:
            built.close()

    def _driver(self, kind: str, name: str) -> Driver:
        if kind not in KINDS:
            raise BadSettings("kind", f"one of {', '.join(KINDS)} is expected")
        driver = self.drivers.get((kind, name))
        if driver is None:
            known = ", ".join(sorted(found for of_kind, found in self.drivers if of_kind == kind)) or "none yet"
            raise BadSettings("driver", f"there is no such driver for a {kind}; known: {known}")
        return driver

    def named_elsewhere(self, device: Device) -> list[str]:
        """The files that a device's settings name outside of the folders for them."""
        if isinstance(device, UnusableDevice):
            return []
        homes = [folder.resolve() for folder in self._around.folders]
        files = [Path(name).resolve() for _, name in names_in(device.driver, device.settings)]
        return [str(file) for file in files if not any(file.is_relative_to(home) for home in homes)]

    def close(self) -> None:
        """Close every device."""
        for device in self:
            self._leave_out(device)

    async def remember(self) -> None:
        """Store what registers know in memory only, before they are closed."""
        for device in self:
            await self._remember(device)

    async def _remember(self, device: Device) -> None:
        if isinstance(device.built, Remembering):
            try:
                await device.built.remember()
            except StoreFailed as error:
                self.log.warn("{device}: not remembered: {why}", device=device.name, why=str(error))

    def __iter__(self) -> Iterator[Device]:
        return iter(list(self._by_id.values()))

    def by_name(self, name: str) -> Device:
        """The device with exactly this name.

        :raises Refused: 1091 when it does not exist.
        """
        try:
            return self._by_name[name]
        except KeyError:
            raise self.unknown(name) from None

    def unknown(self, name: str, kind: str = "") -> Refused:
        """1091 for a device ``name``, of the ``kind`` that was looked for; a trusted caller hears which there are."""
        tells = TRUSTED.get()()
        looked_for = [device.name for device in self if kind in ("", device.kind)]
        near = next((one for one in looked_for if _plain(one) == _plain(name) != ""), None)
        one, many = _KIND_NAMES[kind]
        return Refused(
            Res.UNKNOWN_DEVICE,
            note=joined(
                Text(f"{one.uk} «{name[:LONGEST_NAME]}»", f'{one.en} "{name[:LONGEST_NAME]}"'),
                "" if near is None else _differs(near if tells else ""),
                _listed(many, looked_for) if tells else "",
                separator="; ",
            ),
        )

    def by_id(self, dev_id: str) -> Device:
        """The device with this id.

        :raises Refused: 1091 when it does not exist.
        """
        try:
            return self._by_id[dev_id]
        except KeyError:
            raise Refused(Res.UNKNOWN_DEVICE) from None

    def mark(self, device: Device) -> Mark:
        """What is unusual about ``device``; empty for most."""
        if self.training:
            return "real" if device.sends else ""
        return "simulated" if device.driver.simulator is not None else ""

    async def add(
        self, name: str, kind: str, driver_name: str, settings: Mapping[str, Any], confirm_real: bool = False
    ) -> Device:
        """Add a device.

        :param confirm_real: that a register may send real documents in training mode.
        :raises BadSettings: when a member is invalid.
        :raises Refused: 2002 when the name is taken.
        """
        _check_name(name)
        driver = self._driver(kind, driver_name)
        settings = {**driver.fresh(day_of(self.clock.now())), **settings}
        value = driver.read(settings)
        if self.bars(driver):
            raise BadSettings("driver", ONLY_TRAINING)
        self._check_real(driver, value, confirm_real)
        self._check_token(value, "")
        ready = await self.with_files(driver, value)
        dev_id = str(uuid4())
        sealed = self._seal.seal(dev_id, driver, settings)
        try:
            change = self._recorded(Action.CREATED, dev_id, name, {}, _shown(name, driver, settings))
            row = await self._around.store.add_device(dev_id, name, kind, driver_name, sealed, change)
        except NameTaken:
            raise Refused(Res.DEVICE_NAME_TAKEN) from None
        return self._take_in(row, driver, value, ready)

    async def change(
        self, dev_id: str, name: str | None, changes: Mapping[str, Any], confirm_real: bool = False
    ) -> Device:
        """Change the name or the settings of a device; members that are not given stay as they are.

        Waits until the device has no task.

        :param confirm_real: that a register may begin to send real documents in training mode.
        :raises BadSettings: when a member is invalid, or a stored secret would go to another address.
        :raises Refused: 1091 for an unknown device, 2002 when the name is taken.
        """
        async with self.by_id(dev_id).turns.owned():
            device = self.by_id(dev_id)
            name = device.name if name is None else name
            _check_name(name)
            kept = self._seal.open(dev_id, device.driver, device.row.settings, but=changes)
            settings = expect_same_receivers(device.driver, kept, changes)
            value = device.driver.read(settings)
            self._check_real(device.driver, value, confirm_real or device.sends)
            self._check_token(value, dev_id)
            ready = await self.with_files(device.driver, value, kept)
            if isinstance(device, RegisterDevice):
                await device.built.check_change(value)
            encoded = self._seal.seal(dev_id, device.driver, settings)
            before, after = _shown(device.name, device.driver, kept), _shown(name, device.driver, settings)
            change = self._recorded(Action.CHANGED, dev_id, name, before, after)
            try:
                await self._around.store.change_device(device.row.n, name, encoded, change)
            except NameTaken:
                raise Refused(Res.DEVICE_NAME_TAKEN) from None
            await self._remember(device)
            row = msgspec.structs.replace(device.row, name=name, settings=encoded)
            scenario = device.simulator.scenario if device.simulator is not None else None
            self._leave_out(device)
            changed = self._take_in(row, device.driver, value, ready)
            if scenario is not None and changed.simulator is not None:
                changed.simulator.scenario.take_over(scenario)
            return changed

    def bars(self, driver: Driver) -> bool:
        """Whether devices of ``driver`` would approve payments without money here."""
        return driver.kind == TERMINAL and driver.simulator is not None and not self.training

    def _check_real(self, driver: Driver, settings: msgspec.Struct, confirmed: bool) -> None:
        """See that somebody wants a register to send real documents in training mode.

        :raises BadSettings: when nobody said so.
        """
        if self.training and not confirmed and driver.sends(settings):
            raise BadSettings("confirm_real", SENDS_REAL)

    def _check_token(self, settings: msgspec.Struct, dev_id: str) -> None:
        """See that no other register has the `cloud_token`, which names one.

        :raises BadSettings: when one has it.
        """
        token = getattr(settings, "cloud_token", "")
        if token and any(register_settings(one).cloud_token == token for one in self if one.row.dev_id != dev_id):
            raise BadSettings("settings.cloud_token", "another register has this token")

    async def remove(self, dev_id: str) -> None:
        """Remove a device, once it has no task; its receipts stay in the store.

        :raises Refused: 1091 for an unknown device.
        """
        async with self.by_id(dev_id).turns.owned():
            device = self.by_id(dev_id)
            row = device.row
            before = _shown(row.name, device.driver, msgspec.json.decode(row.settings))
            change = self._recorded(Action.DELETED, dev_id, row.name, before, {})
            await self._around.store.remove_device(row.n, change)
            self._leave_out(device)
            del self._turns[device.row.n]

    def _recorded(
        self, action: Action, dev_id: str, name: str, before: dict[str, Any], after: dict[str, Any]
    ) -> Change:
        return self._around.changes.change(Area.DEVICE, action, before, after, subject=name, id=dev_id)

    def _take_in(self, row: DeviceRow, driver: Driver, settings: msgspec.Struct, ready: msgspec.Struct) -> Device:
        try:
            if self.bars(driver):
                # One of an earlier version; nothing of it is built, so nothing can approve.
                raise BadSettings("driver", ONLY_TRAINING)
            built = driver.build(row, ready, self._around)
            device: Device = _CLASSES[driver.kind](row, driver, self._turns_of(row), settings, built)
        except Exception as error:
            device = self._unusable(row, driver, settings, error)
        return self._keep(device)

    def _keep_unusable(self, row: DeviceRow, driver: Driver, members: dict[str, Any], error: Exception) -> Device:
        return self._keep(self._unusable(row, driver, members, error))

    def _unusable(
        self, row: DeviceRow, driver: Driver, settings: msgspec.Struct | dict[str, Any], error: Exception
    ) -> UnusableDevice:
        self.log.failure("{device} cannot be used", Failure(error), device=row.name)
        return UnusableDevice(row, driver, self._turns_of(row), settings, Unusable(error))

    def _keep(self, device: Device) -> Device:
        self._by_name[device.name] = self._by_id[device.row.dev_id] = device
        return device

    def _turns_of(self, row: DeviceRow) -> Turns:
        """The turns of a device; they stay when it is built again, with the tasks that wait for one."""
        if row.n not in self._turns:
            patience = 0.0 if row.kind == REGISTER else self._turn_wait_s
            own = partial(self.sharing.own, row.n, row.dev_id) if self.sharing.shared else None
            self._turns[row.n] = Turns(self._around.clock.reactor, patience, own)
        return self._turns[row.n]

    def _leave_out(self, device: Device) -> None:
        del self._by_id[device.row.dev_id]
        self._forget_name(device)
        try:
            device.built.close()
        except Exception:
            # The store has the change already, and the other devices are still to be closed.
            self.log.failure("{device} could not be closed", device=device.name)


def _shown(name: str, driver: Driver, settings: Mapping[str, Any]) -> dict[str, Any]:
    """A device for the journal of changes."""
    return {"device": name, "kind": driver.kind, "driver": driver.name, **hidden_secrets(driver, settings)}


def _no_driver(row: DeviceRow) -> Driver:
    """In place of a driver that is gone."""

    def build(*_: object) -> Any:
        raise LookupError(f"there is no driver {row.driver} for a {row.kind}")

    return Driver(row.kind, row.driver, row.driver, _AnySettings, build)


class _AnySettings(msgspec.Struct):
    """Settings of a driver that is gone."""


def _check_name(name: str) -> None:
    if not name:
        raise BadSettings("device", "a name is expected")
    if len(name) > LONGEST_NAME:
        raise BadSettings("device", f"at most {LONGEST_NAME} characters are taken")
    if not name.isprintable():
        raise BadSettings("device", "the name has characters that cannot be seen")
