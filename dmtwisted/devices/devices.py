"""The devices of the service: found by name on the way of every task, kept in the store, built by their drivers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from uuid import uuid4

import msgspec
from twisted.logger import Logger

from dmtwisted.devices.driver import KINDS, REGISTER, BadSettings, Driver, Surroundings
from dmtwisted.devices.sealing import SettingsSeal, in_clear
from dmtwisted.devices.sharing import Sharing
from dmtwisted.requests import TaskRequest
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import DeviceRow, NameTaken, StoreFailed
from dmtwisted.turns import Turns

LONGEST_NAME = 200


class Device:
    """One device at work: its record, its driver, whose turn it is, and the thing itself."""

    def __init__(self, row: DeviceRow, driver: Driver, settings: Any, built: Any, turns: Turns) -> None:
        self.row, self.driver, self.settings = row, driver, settings
        self.built, self.turns = built, turns

    @property
    def name(self) -> str:
        """``device`` of requests."""
        return self.row.name

    @property
    def kind(self) -> str:
        """register, printer, terminal or other."""
        return self.row.kind

    @property
    def simulator(self) -> Any:
        """The far end of a training device; `None` behind a real one."""
        if self.driver.simulator is None or isinstance(self.built, Unusable):
            return None
        return self.driver.simulator(self.built)


class Devices:
    """Every device, by name and by id."""

    log = Logger()

    def __init__(self, drivers: dict[tuple[str, str], Driver], around: Surroundings, turn_wait_s: float) -> None:
        self.drivers = drivers
        self._around, self._turn_wait_s = around, turn_wait_s
        self.clock, self.state = around.clock, around.state
        self._by_name: dict[str, Device] = {}
        self._by_id: dict[str, Device] = {}
        self._turns: dict[int, Turns] = {}
        self._seal = SettingsSeal(around.secrets)
        self.sharing = Sharing(around.store, self.renew)

    async def open(self) -> None:
        """Build every device that the store knows; one that cannot be built is there all the same, and says why."""
        for row in await self._around.store.devices():
            self._bring_in(await self._sealed(row))

    async def _sealed(self, row: DeviceRow) -> DeviceRow:
        """``row`` as it should be kept: an earlier version kept secrets as they were entered."""
        driver = self.drivers.get((row.kind, row.driver))
        # Where services share a database each may have a key of its own, so it waits for a change.
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
        """Build a device anew from its row as it is now: another service has worked with it meanwhile."""
        device = self.by_id(dev_id)
        rows = await self._around.store.devices()
        self._leave_out(device)
        for row in rows:
            if row.dev_id == dev_id:
                self._bring_in(row)
            elif row.dev_id in self._by_id and self.sharing.may_be_another(row.n):
                self._rename(self._by_id[row.dev_id], row.name)

    def _rename(self, device: Device, name: str) -> None:
        """Find ``device`` by the name that another service gave it; when its turn comes it is built anew."""
        self._forget_name(device)
        device.row = msgspec.structs.replace(device.row, name=name)
        self._by_name[name] = device

    def _forget_name(self, device: Device) -> None:
        # Another service may have given the name to another device.
        if self._by_name.get(device.name) is device:
            del self._by_name[device.name]

    def _bring_in(self, row: DeviceRow) -> None:
        driver = self.drivers.get((row.kind, row.driver), _no_driver(row))
        try:
            value = driver.read(self._seal.open(row.dev_id, driver, row.settings))
        except BadSettings as error:
            settings = msgspec.json.decode(row.settings)
            self._keep(Device(row, driver, settings, self._unusable(row, error), self._turns_of(row)))
        else:
            self._take_in(row, driver, value)

    def close(self) -> None:
        """Let go of every device."""
        for device in self:
            self._leave_out(device)

    def __iter__(self) -> Iterator[Device]:
        return iter(list(self._by_id.values()))

    def by_name(self, name: str) -> Device:
        """The device with exactly this name.

        :raises Refused: 1091 when there is none.
        """
        try:
            return self._by_name[name]
        except KeyError:
            raise Refused(Res.UNKNOWN_DEVICE) from None

    def by_id(self, dev_id: str) -> Device:
        """The device with this id.

        :raises Refused: 1091 when there is none.
        """
        try:
            return self._by_id[dev_id]
        except KeyError:
            raise Refused(Res.UNKNOWN_DEVICE) from None

    async def add(self, name: str, kind: str, driver_name: str, settings: Mapping[str, Any]) -> Device:
        """Make a new device.

        :raises BadSettings: when a member does not fit.
        :raises Refused: 2002 when the name is taken.
        """
        _check_name(name)
        if kind not in KINDS:
            raise BadSettings("kind", f"one of {', '.join(KINDS)} is expected")
        driver = self.drivers.get((kind, driver_name))
        if driver is None:
            known = ", ".join(sorted(found for of_kind, found in self.drivers if of_kind == kind)) or "none yet"
            raise BadSettings("driver", f"there is no such driver for a {kind}; known: {known}")
        value = driver.read(settings)
        dev_id = str(uuid4())
        sealed = self._seal.seal(dev_id, driver, settings)
        try:
            row = await self._around.store.add_device(dev_id, name, kind, driver_name, sealed)
        except NameTaken:
            raise Refused(Res.DEVICE_NAME_TAKEN) from None
        return self._take_in(row, driver, value)

    async def change(self, dev_id: str, name: str | None, changes: Mapping[str, Any]) -> Device:
        """Give a device another name or other settings; members that are not named stay as they were.

        Waits until the device has no task.

        :raises BadSettings: when a member does not fit.
        :raises Refused: 1091 for an unknown one, 2002 when the name is taken.
        """
        async with self.by_id(dev_id).turns.owned():
            device = self.by_id(dev_id)
            name = device.name if name is None else name
            _check_name(name)
            kept = self._seal.open(dev_id, device.driver, device.row.settings, but=changes)
            settings = {**kept, **changes}
            value = device.driver.read(settings)
            if device.kind == REGISTER:
                await device.built.check_change(value)
            encoded = self._seal.seal(dev_id, device.driver, settings)
            try:
                await self._around.store.change_device(device.row.n, name, encoded)
            except NameTaken:
                raise Refused(Res.DEVICE_NAME_TAKEN) from None
            row = msgspec.structs.replace(device.row, name=name, settings=encoded)
            scenario = device.simulator.scenario if device.simulator is not None else None
            self._leave_out(device)
            changed = self._take_in(row, device.driver, value)
            if scenario is not None and changed.simulator is not None:
                changed.simulator.scenario.take_over(scenario)
            return changed

    async def remove(self, dev_id: str) -> None:
        """Forget a device, once it has no task; its receipts stay in the store.

        :raises Refused: 1091 for an unknown one.
        """
        async with self.by_id(dev_id).turns.owned():
            device = self.by_id(dev_id)
            await self._around.store.remove_device(device.row.n)
            self._leave_out(device)
            del self._turns[device.row.n]

    def _take_in(self, row: DeviceRow, driver: Driver, settings: Any) -> Device:
        try:
            built = driver.build(row, settings, self._around)
        except Exception as error:
            built = self._unusable(row, error)
        return self._keep(Device(row, driver, settings, built, self._turns_of(row)))

    def _unusable(self, row: DeviceRow, error: Exception) -> Unusable:
        self.log.failure("{device} cannot be used", device=row.name)
        return Unusable(f"{type(error).__name__}: {error}")

    def _keep(self, device: Device) -> Device:
        self._by_name[device.name] = self._by_id[device.row.dev_id] = device
        return device

    def _turns_of(self, row: DeviceRow) -> Turns:
        """The turns of a device: they stay when it is built anew, with whoever waits for one."""
        if row.n not in self._turns:
            patience = 0.0 if row.kind == REGISTER else self._turn_wait_s
            own = partial(self.sharing.own, row.n, row.dev_id) if self.sharing.shared else None
            self._turns[row.n] = Turns(self._around.clock, patience, own)
        return self._turns[row.n]

    def _leave_out(self, device: Device) -> None:
        del self._by_id[device.row.dev_id]
        self._forget_name(device)
        try:
            device.built.close()
        except Exception:
            # The store knows already that it is gone or changed, and the other devices are to be let go of too.
            self.log.failure("{device} was not closed well", device=device.name)


class Unusable:
    """Stands in for a device that cannot be built: it can be seen, mended and deleted, and refuses all else."""

    def __init__(self, why: str) -> None:
        self._why = why

    async def perform(self, request: TaskRequest, language: str) -> bytes:
        """Refuse with 430 and the reason."""
        raise Refused(Res.DEVICE_ERROR, self._why)

    async def look_up(self, request: TaskRequest) -> bytes:
        """Refuse with 430 and the reason."""
        raise Refused(Res.DEVICE_ERROR, self._why)

    async def check(self) -> None:
        """Refuse with 430 and the reason."""
        raise Refused(Res.DEVICE_ERROR, self._why)

    async def go_offline(self, language: str) -> None:
        """Refuse with 430 and the reason."""
        raise Refused(Res.DEVICE_ERROR, self._why)

    go_online = go_offline

    away, watched, probe_s = False, False, 60.0

    async def answers(self) -> bool:
        """There is nobody to ask."""
        return False

    async def come_home(self, language: str) -> bool:
        """Refuse with 430 and the reason."""
        raise Refused(Res.DEVICE_ERROR, self._why)

    async def resolve(self) -> None:
        """There is nobody to ask."""

    async def check_change(self, settings: object) -> None:
        """Anything may be better than what it has."""

    async def state(self) -> dict[str, object]:
        """The reason."""
        return {"error": self._why}

    def close(self) -> None:
        """There is nothing to let go of."""


def _no_driver(row: DeviceRow) -> Driver:
    """What stands in for a driver that is gone."""

    def build(*_: object) -> Any:
        raise LookupError(f"there is no driver {row.driver} for a {row.kind}")

    return Driver(row.kind, row.driver, row.driver, _AnySettings, build)


class _AnySettings(msgspec.Struct):
    """Settings that nobody understands any more."""


def _check_name(name: str) -> None:
    if not name:
        raise BadSettings("device", "a name is expected")
    if len(name) > LONGEST_NAME:
        raise BadSettings("device", f"at most {LONGEST_NAME} characters are taken")
    if not name.isprintable():
        raise BadSettings("device", "the name has characters that cannot be seen")
