"""``/dm/api/v3/devices`` and ``/dm/api/v3/drivers``: all devices as resources
(docs/reference/http-interface.md#devices).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.changes import Action, Area, Changes
from dmtwisted.clock import day_of
from dmtwisted.conformance.levels import command_for, found_of
from dmtwisted.devices.devices import Device, Devices
from dmtwisted.devices.driver import KINDS, PRINTER, REGISTER, TERMINAL, BadSettings, Driver
from dmtwisted.devices.sealing import without_secrets
from dmtwisted.registers.channels.interface import OutletRecord
from dmtwisted.registers.interface import TaxServiceRegister
from dmtwisted.registers.settings import is_loopback, web_address
from dmtwisted.results import Refused, Res, Text
from dmtwisted.store.values import StoreFailed
from dmtwisted.wording import wording
from protocols.simulators.ledger import Entry
from protocols.simulators.paper import render_png
from protocols.simulators.scenario import Rule
from web.answers import Done, done_with, json_answer, language_of, plain_answer, refused_in_body
from web.filters import covered
from web.management import HttpRefusal, answer_errors, lasting, read_object
from web.rights import permit_of

Kind = Annotated[str, msgspec.Meta(extra_json_schema={"enum": list(KINDS)})]


class DriverRecord(msgspec.Struct):
    """A driver with the JSON Schema of its settings.

    `level` is the result of version `suite` of the conformance suite: 0 not safe, 1 safe, 2 recovers, 3 whole; null
    for a driver of another package that was never tested. `origin` is that package, `conform` the command that runs
    the suite on it.
    """

    kind: Kind
    driver: str
    title: str
    capabilities: tuple[str, ...]
    level: Annotated[int, msgspec.Meta(ge=0, le=3)] | None
    suite: int | None
    origin: str
    conform: str
    settings_schema: dict[str, Any]


class Drivers(msgspec.Struct):
    """All drivers."""

    drivers: list[DriverRecord]


class DeviceRecord(msgspec.Struct):
    """A device. `settings` has no secrets; the members of `state` depend on the kind."""

    dev_id: str
    device: str
    dev_code: str
    kind: Kind
    driver: str
    is_doc: bool
    is_pay: bool
    is_fis: bool
    settings: dict[str, Any]
    state: dict[str, Any]


class DeviceList(msgspec.Struct):
    """All devices."""

    devices: list[DeviceRecord]


ModeChanged = done_with("ModeChanged", DeviceRecord, "The register after it went offline or online.")


class Outlets(msgspec.Struct):
    """The outlets that belong to the key of a register; none for a key that is not registered yet."""

    tax_objects: list[OutletRecord]


class ScenarioRules(msgspec.Struct):
    """The rules that were not used yet."""

    rules: list[Rule]


class LedgerEntries(msgspec.Struct):
    """What the simulated device has recorded; `sum` in kopecks."""

    entries: list[Entry]


class DeviceApi:
    """Creates, lists, reads, changes, deletes and checks devices."""

    app = Klein()
    answer_errors(app)

    def __init__(self, devices: Devices, changes: Changes, default_language: str) -> None:
        self._changes = changes
        self._devices, self.default_language = devices, default_language

    @app.route("/dm/api/v3/drivers", methods=["GET"])
    def drivers(self, request: IRequest) -> bytes:
        """All drivers with the JSON Schema of their settings and their conformance levels."""
        day = day_of(self._devices.clock.now())
        found = [_driver(driver, self._devices.state, day) for driver in self._devices.drivers.values()]
        return json_answer(request, 200, Drivers(found))

    @app.route("/dm/api/v3/devices", methods=["GET"])
    async def list(self, request: IRequest) -> bytes:
        """All devices."""
        found = [await _record(device) for device in covered(self._devices, permit_of(request))]
        return json_answer(request, 200, DeviceList(found))

    @app.route("/dm/api/v3/devices", methods=["POST"])
    async def create(self, request: IRequest) -> bytes:
        """Create a device."""
        asked = read_object(request, NewDevice)
        adding = self._devices.add(asked.device, asked.kind, asked.driver, asked.settings, asked.confirm_real)
        device = await lasting(adding)
        request.setHeader(b"location", f"/dm/api/v3/devices/{device.row.dev_id}".encode())
        return json_answer(request, 201, await _record(device))

    @app.route("/dm/api/v3/devices/<dev_id>", methods=["GET"])
    async def read(self, request: IRequest, dev_id: str) -> bytes:
        """One device."""
        return json_answer(request, 200, await _record(self._devices.by_id(dev_id)))

    @app.route("/dm/api/v3/devices/<dev_id>", methods=["PATCH"])
    async def change(self, request: IRequest, dev_id: str) -> bytes:
        """Change the name or settings; what is not sent stays."""
        asked = read_object(request, DeviceChange)
        device = await lasting(self._devices.change(dev_id, asked.device, asked.settings, asked.confirm_real))
        return json_answer(request, 200, await _record(device))

    @app.route("/dm/api/v3/devices/<dev_id>", methods=["DELETE"])
    async def delete(self, request: IRequest, dev_id: str) -> bytes:
        """Delete a device."""
        await lasting(self._devices.remove(dev_id))
        request.setResponseCode(204)
        return b""

    @app.route("/dm/api/v3/devices/<dev_id>/check", methods=["POST"])
    async def check(self, request: IRequest, dev_id: str) -> bytes:
        """Check the device without effect; HTTP 200 also when it does not work: see `res`; 409 in use elsewhere."""
        language = language_of(request, self.default_language)
        try:
            async with self._devices.by_id(dev_id).turns.owned():
                await self._devices.by_id(dev_id).built.check()
        except Refused as refused:
            if refused.res in (Res.UNKNOWN_DEVICE, Res.DEVICE_BUSY):
                raise
            return json_answer(request, 200, refused_in_body(refused, language))
        return json_answer(request, 200, Done())

    @app.route("/dm/api/v3/devices/<dev_id>/tax-objects", methods=["GET"])
    async def tax_objects(self, request: IRequest, dev_id: str) -> bytes:
        """The outlets and registers that the tax service lists for the owner of a register's key."""
        built = self._devices.by_id(dev_id).built
        if not isinstance(built, TaxServiceRegister):
            raise Refused(Res.UNKNOWN_DEVICE, note=wording("only registers at the tax service have tax objects"))
        return json_answer(request, 200, Outlets(await built.tax_objects()))

    @app.route("/dm/api/v3/devices/<dev_id>/protocol", methods=["GET"])
    async def protocol(self, request: IRequest, dev_id: str) -> bytes:
        """Which of the tax service's two servers knows a register, and why; nothing is changed."""
        built = self._devices.by_id(dev_id).built
        if not isinstance(built, TaxServiceRegister):
            raise Refused(Res.UNKNOWN_DEVICE, note=wording("only registers at the tax service have tax objects"))
        other = request.args.get(b"other_url", [b""])[-1].decode("utf-8", "replace")
        try:
            strange = bool(other) and not is_loopback(web_address("other_url", other))
        except ValueError:
            strange = True
        if strange:
            raise BadSettings("other_url", "an address of this machine is expected")
        language = language_of(request, self.default_language)
        return json_answer(request, 200, await built.find_protocol(other, language))

    @app.route("/dm/api/v3/devices/<dev_id>/go-offline", methods=["POST"])
    async def go_offline(self, request: IRequest, dev_id: str) -> bytes:
        """Put a register offline: it numbers its documents itself."""
        return await lasting(self._change_mode(request, dev_id, offline=True))

    @app.route("/dm/api/v3/devices/<dev_id>/go-online", methods=["POST"])
    async def go_online(self, request: IRequest, dev_id: str) -> bytes:
        """Send the offline documents of a register, and put it online."""
        return await lasting(self._change_mode(request, dev_id, offline=False))

    async def _change_mode(self, request: IRequest, dev_id: str, offline: bool) -> bytes:
        async with self._devices.by_id(dev_id).turns.owned():
            device = self._devices.by_id(dev_id)
            if device.kind != REGISTER:
                raise Refused(Res.UNKNOWN_DEVICE, note=wording("only registers go offline and online"))
            state = await device.built.state()
            if state.get("docno") == 0 and "error" not in state:
                raise Refused(Res.REGISTER_NOT_IN_USE, dev_id)
            change = device.built.go_offline if offline else device.built.go_online
            action = Action.WENT_OFFLINE if offline else Action.WENT_ONLINE
            async with self._changes.about(Area.MODE, action, subject=device.name, id=dev_id, device_n=device.row.n):
                await change(language_of(request, self.default_language))
        return json_answer(request, 200, ModeChanged(0, "", *msgspec.structs.astuple(await _record(device))))

    @app.route("/dm/api/v3/devices/<dev_id>/scenario", methods=["PUT"])
    async def set_scenario(self, request: IRequest, dev_id: str) -> bytes:
        """Set the faults that a training device simulates next; 409 outside of training mode."""
        self._simulator(dev_id)
        if not self._devices.training:
            raise HttpRefusal(409, _NO_SCENARIO)
        await lasting(self._set_scenario(dev_id, read_object(request, dict[str, Any])))
        return self.scenario(request, dev_id)

    async def _set_scenario(self, dev_id: str, given: dict[str, Any]) -> None:
        device, scenario = self._devices.by_id(dev_id), self._simulator(dev_id).scenario
        async with self._changes.about(
            Area.TRAINING, Action.CHANGED, scenario.document(), subject=device.name, id=dev_id, device_n=device.row.n
        ) as after:
            scenario.replace(given)
            after.update(scenario.document())

    @app.route("/dm/api/v3/devices/<dev_id>/scenario", methods=["GET"])
    def scenario(self, request: IRequest, dev_id: str) -> bytes:
        """The rules that were not used yet."""
        return json_answer(request, 200, msgspec.convert(self._simulator(dev_id).scenario.document(), ScenarioRules))

    @app.route("/dm/api/v3/devices/<dev_id>/ledger", methods=["GET"])
    def ledger(self, request: IRequest, dev_id: str) -> bytes:
        """What the simulated side of a training device has recorded."""
        return json_answer(request, 200, LedgerEntries(self._simulator(dev_id).entries()))

    @app.route("/dm/api/v3/devices/<dev_id>/strip", methods=["GET"])
    async def strip(self, request: IRequest, dev_id: str) -> bytes:
        """The paper of a training printer: ``format`` is text (the default) or png."""
        simulator = self._simulator(dev_id)
        if not hasattr(simulator, "mechanism"):
            raise Refused(Res.UNKNOWN_DEVICE, note=wording("only training printers have a strip"))
        wanted = request.args.get(b"format", [b"text"])[-1]
        if wanted == b"png":
            paper = simulator.mechanism.paper
            # Metres of paper take seconds to draw; tills must not wait for that.
            picture = await self._devices.clock.apart(render_png, paper.pieces, paper.dots)
            return plain_answer(request, b"image/png", picture)
        if wanted != b"text":
            raise BadSettings("format", "png or text is expected")
        return plain_answer(request, b"text/plain; charset=utf-8", simulator.mechanism.paper.text().encode())

    def _simulator(self, dev_id: str) -> Any:
        simulator = self._devices.by_id(dev_id).simulator
        if simulator is None:
            raise Refused(Res.UNKNOWN_DEVICE, note=wording("only training devices have a scenario and a ledger"))
        return simulator


_NO_SCENARIO = Text(
    "сценарії діють лише в навчальному режимі (--training)", "scenarios are for training mode only (--training)"
)


class NewDevice(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a new device.

    `confirm_real` is needed for a register that sends real documents although the service is in training mode.
    """

    device: str
    kind: str
    driver: str
    settings: dict[str, Any] = {}
    confirm_real: bool = False


class DeviceChange(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a change; `confirm_real` as in a new device."""

    device: str | None = None
    settings: dict[str, Any] = {}
    confirm_real: bool = False


def _driver(driver: Driver, state: Path | None, day: str) -> DriverRecord:
    found = found_of(driver, state)
    return DriverRecord(
        kind=driver.kind,
        driver=driver.name,
        title=driver.title,
        capabilities=driver.capabilities,
        level=found.level if found is not None else None,
        suite=found.suite if found is not None else None,
        origin=driver.origin,
        conform=command_for(driver) if driver.origin else "",
        settings_schema=driver.schema(day),
    )


async def _record(device: Device) -> DeviceRecord:
    settings = without_secrets(device.driver, msgspec.to_builtins(device.settings))
    try:
        state = await device.built.state()
    except StoreFailed:
        state = {"res": Res.STORE_FAILED.code}
    return DeviceRecord(
        dev_id=device.row.dev_id,
        device=device.name,
        dev_code=device.name,
        kind=device.kind,
        driver=device.row.driver,
        is_doc=device.kind == PRINTER,
        is_pay=device.kind == TERMINAL,
        is_fis=device.kind == REGISTER,
        settings=settings,
        state={"busy": device.turns.busy, **state},
    )
