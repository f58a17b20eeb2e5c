"""The devices of the service: found by name on the way of every task, kept in the store, built by their drivers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import msgspec
from twisted.logger import Logger

from dmtwisted.devices.drivers import KINDS, REGISTER, BadSettings, Driver, Surroundings
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import DeviceRow, NameTaken
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
        return None if self.driver.simulator is None else self.driver.simulator(self.built)


class Devices:
    """Every device, by name and by id."""

    log = Logger()

    def __init__(self, drivers: dict[tuple[str, str], Driver], around: Surroundings, turn_wait_s: float) -> None:
        self.drivers = drivers
        self._around, self._turn_wait_s = around, turn_wait_s
        self._by_name: dict[str, Device] = {}
        self._by_id: dict[str, Device] = {}

    async def open(self) -> None:
        """Build every device that the store knows."""
        for row in await self._around.store.devices():
            driver = self.drivers.get((row.kind, row.driver))
            if driver is None:
                self.log.error("{device}: there is no driver {driver} any more", device=row.name, driver=row.driver)
                continue
            self._take_in(row, driver, driver.read(msgspec.json.decode(row.settings)))

    def close(self) -> None:
        """Let go of every device."""
        for device in self._by_id.values():
            device.built.close()
        self._by_name, self._by_id = {}, {}

    def __iter__(self) -> Any:
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
        try:
            row = await self._around.store.add_device(
                str(uuid4()), name, kind, driver_name, msgspec.json.encode(settings)
            )
        except NameTaken:
            raise Refused(Res.DEVICE_NAME_TAKEN) from None
        return self._take_in(row, driver, value)

    async def change(self, device: Device, name: str | None, changes: Mapping[str, Any]) -> Device:
        """Give a device another name or other settings; members that are not named stay as they were.

        :raises BadSettings: when a member does not fit.
        :raises Refused: 2002 when the name is taken, 1105 while the device works.
        """
        name = device.name if name is None else name
        _check_name(name)
        settings = {**msgspec.json.decode(device.row.settings), **changes}
        value = device.driver.read(settings)
        async with device.turns.turn():
            encoded = msgspec.json.encode(settings)
            try:
                await self._around.store.change_device(device.row.n, name, encoded)
            except NameTaken:
                raise Refused(Res.DEVICE_NAME_TAKEN) from None
            row = msgspec.structs.replace(device.row, name=name, settings=encoded)
            self._leave_out(device)
            return self._take_in(row, device.driver, value)

    async def remove(self, device: Device) -> None:
        """Forget a device; its receipts stay in the store.

        :raises Refused: 1105 while the device works.
        """
        async with device.turns.turn():
            await self._around.store.remove_device(device.row.n)
            self._leave_out(device)

    def _take_in(self, row: DeviceRow, driver: Driver, settings: Any) -> Device:
        patience = 0.0 if row.kind == REGISTER else self._turn_wait_s
        turns = Turns(self._around.clock, patience)
        device = Device(row, driver, settings, driver.build(row, settings, self._around), turns)
        self._by_name[row.name] = self._by_id[row.dev_id] = device
        return device

    def _leave_out(self, device: Device) -> None:
        del self._by_name[device.name], self._by_id[device.row.dev_id]
        device.built.close()


def _check_name(name: str) -> None:
    if not name:
        raise BadSettings("device", "a name is expected")
    if len(name) > LONGEST_NAME:
        raise BadSettings("device", f"at most {LONGEST_NAME} characters are taken")
    if not name.isprintable():
        raise BadSettings("device", "the name has characters that cannot be seen")
