"""Devices: their names, settings and history, and the drivers that build them."""

from __future__ import annotations

import sys
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import ServiceClock
from dmtwisted.devices import drivers
from dmtwisted.devices.devices import Device, Devices
from dmtwisted.devices.driver import KINDS, BadSettings, Driver, Surroundings
from dmtwisted.devices.drivers import find_drivers
from dmtwisted.devices.sealing import expect_same_receivers
from dmtwisted.registers.drivers.training import TrainingSettings
from dmtwisted.requests import TaskRequest
from dmtwisted.results import Refused
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import DeviceRow, StoreFailed
from tests.shop import Shop, hurry, sale
from tests.specification import promises

MOMENT = 2**-10
"""The shortest time that matters here, exact as a binary fraction."""


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of settings."""

    host: str = "localhost"
    port: Annotated[int, Meta(ge=1, le=65535)] = 9100


class PlainSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of a device that does nothing."""

    title: str = ""
    copies: Annotated[int, Meta(ge=1, description="How often")] = 1
    lines: tuple[Line, ...] = ()


class Plain:
    """A device that does nothing but record how it was made and whether it was closed."""

    def __init__(self, row: DeviceRow, settings: PlainSettings) -> None:
        self.row, self.settings, self.closed = row, settings, 0

    async def check_change(self, settings: object) -> None:
        """Accept any settings."""

    def close(self) -> None:
        """Count."""
        self.closed += 1


def _built(device: Device) -> Any:
    """What the driver of ``device`` built, which is a `Plain`."""
    return device.built


def _settings(device: Device) -> Any:
    """The settings of ``device``, which are `PlainSettings`."""
    return device.settings


class _WithDevices(SynchronousTestCase):
    """Devices of every kind that do nothing."""

    def setUp(self) -> None:
        self.clock, self.store = Clock(), MemoryStore()
        self.done(self.store.open())
        self.built: list[Plain] = []
        self.devices = self.house()

    def house(self, *kinds: str) -> Devices:
        """The devices of the store, with a driver `plain` for each of ``kinds``, by default of all kinds."""
        known = {
            (kind, "plain"): Driver(kind=kind, name="plain", title="Plain", settings=PlainSettings, build=self.build)
            for kind in kinds or KINDS
        }
        around = Surroundings(self.clock, ServiceClock(self.clock), self.store, None)
        devices = Devices(known, around, 15.0, training=False)
        self.done(devices.open())
        return devices

    def build(self, row: DeviceRow, settings: Any, around: Surroundings) -> Plain:
        """Build a device and record it; one with a hundred copies cannot be built."""
        if settings.copies == 100:
            raise OSError("no such port")
        self.built.append(Plain(row, settings))
        return self.built[-1]

    def done(self, doing: Coroutine[Any, Any, Any]) -> Any:
        """The result of ``doing``, which must come at once."""
        return self.successResultOf(Deferred.fromCoroutine(doing))

    def add(self, name: str, kind: str = "printer", **settings: Any) -> Device:
        """Add a device."""
        device: Device = self.done(self.devices.add(name, kind, "plain", settings))
        return device

    def change(self, device: Device, name: str | None = None, **changes: Any) -> Device:
        """Change a device's settings or name."""
        changed: Device = self.done(self.devices.change(device.row.dev_id, name, changes))
        return changed

    def refused(self, doing: Coroutine[Any, Any, Any]) -> int:
        """The code of the refusal of ``doing``."""
        failure = self.failureResultOf(Deferred.fromCoroutine(doing), Refused)
        assert isinstance(failure.value, Refused)
        return failure.value.res.code

    def bad(self, doing: Coroutine[Any, Any, Any]) -> str:
        """The path of the member for which ``doing`` is refused."""
        failure = self.failureResultOf(Deferred.fromCoroutine(doing), BadSettings)
        assert isinstance(failure.value, BadSettings)
        self.assertTrue(failure.value.text)
        self.assertEqual(str(failure.value), f"{failure.value.path}: {failure.value.text}")
        return failure.value.path

    def names(self) -> list[str]:
        """The names of all devices."""
        return sorted(device.name for device in self.devices)

    def stored(self) -> list[tuple[str, str, bytes]]:
        """The rows of the devices in the store."""
        return [(row.name, row.kind, row.settings) for row in self.done(self.store.devices())]


class AddTests(_WithDevices):
    """A new device."""

    @promises("2.1.device.1", "2.1.device.2")
    def test_added(self) -> None:
        """A device of any kind is found by its name and by its id, the GUID that it was given."""
        for kind in KINDS:
            device = self.add(f'{kind} №1 "Ї"', kind, title="Каса", lines=[{"host": "a"}])
            self.assertIs(self.devices.by_name(f'{kind} №1 "Ї"'), device)
            self.assertIs(self.devices.by_id(device.row.dev_id), device)
            self.assertEqual(str(UUID(device.row.dev_id)), device.row.dev_id)
            self.assertEqual((device.kind, device.row.driver), (kind, "plain"))
            self.assertEqual(device.settings, PlainSettings("Каса", 1, (Line("a", 9100),)))
            self.assertIs(_built(device).settings, device.settings)
        self.assertEqual(len({device.row.dev_id for device in self.devices}), 4)

    @promises("2.1.device.3")
    def test_name_taken(self) -> None:
        """No two devices have the same name, of whatever kinds: 2002, and the first one stays."""
        first = self.add("a", "register")
        for kind in KINDS:
            self.assertEqual(self.refused(self.devices.add("a", kind, "plain", {})), 2002)
        self.assertIs(self.devices.by_name("a"), first)
        self.assertEqual((self.names(), len(self.stored()), len(self.built)), (["a"], 1, 1))

    def test_names_are_exact(self) -> None:
        """Names that differ in a blank or in the case of a letter are two names."""
        for name in ("a", "A", " a", "a "):
            self.add(name)
        self.assertEqual(self.names(), [" a", "A", "a", "a "])

    def test_bad_names(self) -> None:
        """A name has one to two hundred visible characters."""
        self.add("x" * 200)
        for name in ("", "x" * 201, "a\nb", "a\0", "\u200b", "\ud800"):
            self.assertEqual(self.bad(self.devices.add(name, "printer", "plain", {})), "device", repr(name))
        self.assertEqual(len(self.stored()), 1)

    def test_unknown_kind(self) -> None:
        """An unknown kind is refused with the member's path."""
        for kind in ("", "till", "Register"):
            self.assertEqual(self.bad(self.devices.add("a", kind, "plain", {})), "kind")

    def test_unknown_driver(self) -> None:
        """An unknown driver of the kind is refused with the member's path and the known drivers."""
        self.devices = self.house("printer")
        failure = self.failureResultOf(
            Deferred.fromCoroutine(self.devices.add("a", "printer", "fancy", {})), BadSettings
        )
        self.assertIn("plain", str(failure.value))
        self.assertEqual(self.bad(self.devices.add("a", "printer", "", {})), "driver")
        self.assertEqual(self.bad(self.devices.add("a", "terminal", "plain", {})), "driver")

    def test_bad_settings(self) -> None:
        """An invalid setting is refused with its path, and nothing is stored."""
        places: list[tuple[dict[str, Any], str]] = [
            ({"copies": 0}, "settings.copies"),
            ({"copies": "two"}, "settings.copies"),
            ({"copies": None}, "settings.copies"),
            ({"title": 5}, "settings.title"),
            ({"lines": {}}, "settings.lines"),
            ({"lines": [{"port": 80}, {"port": 0}]}, "settings.lines[1].port"),
            ({"lines": [{"prot": 80}]}, "settings.lines[0].prot"),
            ({"lines": [5]}, "settings.lines[0]"),
            ({"copy": 2}, "settings.copy"),
        ]
        for settings, path in places:
            self.assertEqual(self.bad(self.devices.add("a", "printer", "plain", settings)), path)
        self.assertEqual((self.stored(), self.built), ([], []))
        self.add("a")

    def test_store_fails(self) -> None:
        """A device that could not be stored does not exist, and can be added when the store works again."""
        self.store.broken = True
        doing = Deferred.fromCoroutine(self.devices.add("a", "printer", "plain", {}))
        self.failureResultOf(doing, StoreFailed)
        self.assertEqual(self.names(), [])
        self.store.broken = False
        self.add("a")

    def test_unknown(self) -> None:
        """A name or an id that no device has is refused with 1091."""
        for find in (self.devices.by_name, self.devices.by_id):
            self.assertEqual(self.assertRaises(Refused, find, "a").res.code, 1091)
        self.assertRaises(Refused, self.devices.by_id, self.add("a").name)

    def test_patience(self) -> None:
        """A register has no queue; printers, terminals and others have one."""
        for kind, patient in (("register", False), ("printer", True), ("terminal", True), ("other", True)):
            turns = self.add(kind, kind).turns
            self.done(turns.take())
            waiting = Deferred.fromCoroutine(turns.take())
            if patient:
                self.clock.advance(15 - MOMENT)
                self.assertNoResult(waiting)
                self.clock.advance(MOMENT)
            failure = self.failureResultOf(waiting, Refused)
            assert isinstance(failure.value, Refused)
            self.assertEqual(failure.value.res.code, 1105, kind)


class OpenTests(_WithDevices):
    """Devices after a restart."""

    def test_opened_again(self) -> None:
        """After a restart every device exists again, with its id and settings."""
        before = [(self.add(kind, kind, title=kind)).row for kind in KINDS]
        self.devices.close()
        self.devices = self.house()
        self.assertEqual([device.row for device in self.devices], before)
        self.assertEqual([_settings(device).title for device in self.devices], list(KINDS))

    def test_order(self) -> None:
        """Devices are listed in the order in which they were added."""
        for name in "cab":
            self.add(name)
        self.devices = self.house()
        self.assertEqual([device.name for device in self.devices], ["c", "a", "b"])

    def test_closed(self) -> None:
        """When the devices are closed, each is closed once and none is found."""
        for kind in KINDS:
            self.add(kind, kind)
        self.devices.close()
        self.devices.close()
        self.assertEqual([built.closed for built in self.built], [1, 1, 1, 1])
        self.assertEqual(self.names(), [])
        self.assertRaises(Refused, self.devices.by_name, "printer")

    def test_badly_closed(self) -> None:
        """A device that cannot be closed is logged, and the others are closed."""

        def fail() -> None:
            raise OSError("the line is stuck")

        self.patch(self.add("a").built, "close", fail)
        self.add("b")
        self.devices.close()
        self.assertEqual((self.built[1].closed, self.names()), (1, []))
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)


class UnusableTests(_WithDevices):
    """A device that cannot be built."""

    def assertUnusable(self, name: str, why: str) -> Device:
        """A device exists, reports why it cannot be used, and refuses every request with 430 and the reason."""
        (failure,) = self.flushLoggedErrors()
        self.assertIn(why, str(failure.value))
        device = self.devices.by_name(name)
        self.assertIs(self.devices.by_id(device.row.dev_id), device)
        self.assertIn(why, self.done(device.built.state())["error"])
        self.assertIsNone(device.simulator)
        self.assertIsNone(self.done(device.built.resolve()))
        asked = TaskRequest(device=name, type=1, tag="t", source="")
        for doing in (
            *(device.built.perform(asked, "uk"), _built(device).look_up(asked), device.built.check()),
            *(_built(device).go_offline("uk"), _built(device).go_online("uk")),
        ):
            failed = self.failureResultOf(Deferred.fromCoroutine(doing), Refused)
            assert isinstance(failed.value, Refused)
            self.assertEqual(failed.value.res.code, 430)
            self.assertIn(why, failed.value.errortxt("uk"))
        return device

    def test_driver_gone(self) -> None:
        """A device without its driver does not stop the others; its settings are not shown."""
        self.add("a", "printer", title="Каса")
        self.add("b", "terminal")
        self.devices = self.house("terminal")
        device = self.assertUnusable("a", "there is no driver plain for a printer")
        # It is unknown which of them are secret.
        self.assertEqual(msgspec.to_builtins(device.settings), {})
        self.assertIsInstance(self.devices.by_name("b").built, Plain)
        self.devices = self.house()
        self.assertEqual(self.devices.by_name("a").settings, PlainSettings("Каса"))

    def test_settings_of_another_version(self) -> None:
        """A device whose stored settings are no longer valid is shown with them, and can be repaired."""
        row = self.add("a").row
        self.done(self.store.change_device(row.n, "a", b'{"copies":0}'))
        self.devices = self.house()
        device = self.assertUnusable("a", "settings.copies")
        self.assertEqual(device.settings, {"copies": 0})
        self.assertEqual(self.change(device, copies=3).settings, PlainSettings("", 3))
        self.assertIs(self.devices.by_name("a").built, self.built[-1])

    def test_cannot_be_built(self) -> None:
        """A device that cannot be built when it is added or changed is stored, and can be repaired."""
        device = self.add("a", copies=100)
        self.assertUnusable("a", "no such port")
        self.change(device, copies=1)
        self.change(device, copies=100)
        self.assertUnusable("a", "no such port")
        self.assertEqual([built.closed for built in self.built], [1])
        self.devices = self.house()
        self.assertUnusable("a", "no such port")
        self.done(self.devices.remove(device.row.dev_id))
        self.assertEqual(self.stored(), [])

    def test_start(self) -> None:
        """A service with a register that cannot be built starts, and answers its tasks and look-ups with 430."""
        shop = Shop(self)
        shop.add("bar")
        row = shop.core.devices.by_name("bar").row
        self.done(shop.store.change_device(row.n, "bar", b'{"setting_of_tomorrow":1}'))
        shop.crash()
        self.flushLoggedErrors(BadSettings)
        self.assertTrue(shop.core.ready)
        for answer in (shop.fiscal(18, device="bar"), shop.look_up("t", "bar")):
            self.assertEqual((answer["res"], answer["res_action"], answer["task_status"]), (430, 3, 3))
            self.assertIn("setting_of_tomorrow", answer["errortxt"])
        self.assertEqual(shop.fiscal(18)["res"], 0)


class ChangeTests(_WithDevices):
    """A device that is changed."""

    def test_settings(self) -> None:
        """Settings that are named change, and the others stay."""
        device = self.add("a", title="Каса", copies=2)
        changed = self.change(device, copies=3)
        self.assertEqual(changed.settings, PlainSettings("Каса", 3))
        self.assertIs(self.devices.by_name("a"), changed)
        self.assertIs(self.devices.by_id(device.row.dev_id), changed)
        self.assertEqual(self.change(changed, title="").settings, PlainSettings("", 3))

    def test_kept(self) -> None:
        """A change survives a restart."""
        self.change(self.add("a", title="Каса"), "b", copies=3)
        self.devices = self.house()
        self.assertEqual(self.devices.by_name("b").settings, PlainSettings("Каса", 3))
        self.assertEqual(self.names(), ["b"])

    def test_built_anew(self) -> None:
        """The device is built again from its settings, and the old one is closed."""
        changed = self.change(self.add("a"), copies=3)
        self.assertEqual([(built.settings.copies, built.closed) for built in self.built], [(1, 1), (3, 0)])
        self.assertIs(changed.built, self.built[1])

    @promises("2.1.device.4")
    def test_renamed(self) -> None:
        """A renamed device is found by the new name only, and the old name is free."""
        device = self.add("a")
        changed = self.change(device, "b")
        self.assertEqual((changed.name, changed.row.n, changed.row.dev_id), ("b", device.row.n, device.row.dev_id))
        self.assertRaises(Refused, self.devices.by_name, "a")
        self.add("a")
        self.assertEqual(self.names(), ["a", "b"])

    @promises("2.1.device.3")
    def test_name_taken(self) -> None:
        """A device cannot take another one's name: 2002, and both stay unchanged."""
        first, second = self.add("a", "register"), self.add("b", "terminal", copies=2)
        self.assertEqual(self.refused(self.devices.change(second.row.dev_id, "a", {"copies": 5})), 2002)
        self.assertIs(self.devices.by_name("a"), first)
        self.assertIs(self.devices.by_name("b"), second)
        self.assertEqual((_settings(second).copies, [built.closed for built in self.built]), (2, [0, 0]))
        self.assertFalse(second.turns.busy)

    def test_same_name(self) -> None:
        """A device may be given the name that it has."""
        self.assertEqual(_settings(self.change(self.add("a"), "a", copies=2)).copies, 2)

    def test_bad(self) -> None:
        """An invalid setting or name is refused with its path, and the device stays unchanged."""
        device = self.add("a", copies=2)
        before = self.stored()
        self.assertEqual(self.bad(self.devices.change(device.row.dev_id, None, {"copies": 0})), "settings.copies")
        self.assertEqual(self.bad(self.devices.change(device.row.dev_id, None, {"copy": 1})), "settings.copy")
        self.assertEqual(self.bad(self.devices.change(device.row.dev_id, "", {})), "device")
        self.assertIs(self.devices.by_name("a"), device)
        self.assertEqual((self.stored(), _built(device).closed), (before, 0))

    def test_store_fails(self) -> None:
        """A change that could not be stored leaves the device unchanged, and free."""
        device = self.add("a", copies=2)
        self.store.broken = True
        doing = Deferred.fromCoroutine(self.devices.change(device.row.dev_id, "b", {"copies": 3}))
        self.failureResultOf(doing, StoreFailed)
        self.store.broken = False
        self.assertIs(self.devices.by_name("a"), device)
        self.assertEqual((_settings(device).copies, _built(device).closed, device.turns.busy), (2, 0, False))
        self.change(device, "b", copies=3)

    @promises("1.9e.1.2")
    def test_busy(self) -> None:
        """A change of a busy device waits for its task, however long that takes."""
        for kind in KINDS:
            device = self.add(kind, kind)
            self.done(device.turns.take())
            changing = Deferred.fromCoroutine(self.devices.change(device.row.dev_id, None, {"copies": 2}))
            self.clock.advance(1000)
            self.assertNoResult(changing)
            self.assertIs(self.devices.by_name(kind), device)
            self.assertEqual((_settings(device).copies, _built(device).closed), (1, 0))
            device.turns.give_back()
            self.assertEqual(_settings(self.successResultOf(changing)).copies, 2)

    def test_unknown(self) -> None:
        """An unknown device is neither changed nor removed: 1091."""
        name = self.add("a").name
        for doing in (self.devices.change(name, "b", {}), self.devices.remove(name)):
            self.assertEqual(self.refused(doing), 1091)

    def test_two_changes_that_wait(self) -> None:
        """Two changes that wait for a busy device are both made, one after the other."""
        device = self.add("a")
        self.done(device.turns.take())
        first = Deferred.fromCoroutine(self.devices.change(device.row.dev_id, None, {"copies": 2}))
        second = Deferred.fromCoroutine(self.devices.change(device.row.dev_id, None, {"title": "Каса"}))
        device.turns.give_back()
        self.successResultOf(first)
        self.successResultOf(second)
        self.assertEqual(self.devices.by_name("a").settings, PlainSettings("Каса", 2))
        self.assertEqual([built.closed for built in self.built], [1, 1, 0])

    def test_removal_behind_a_change(self) -> None:
        """If a device is removed after a waiting change, the changed device is closed."""
        device = self.add("a")
        self.done(device.turns.take())
        changing = Deferred.fromCoroutine(self.devices.change(device.row.dev_id, "b", {}))
        removing = Deferred.fromCoroutine(self.devices.remove(device.row.dev_id))
        device.turns.give_back()
        self.successResultOf(changing)
        self.successResultOf(removing)
        self.assertEqual((self.names(), self.stored()), ([], []))
        self.assertEqual([built.closed for built in self.built], [1, 1])

    def test_change_behind_a_removal(self) -> None:
        """A change that waits for a device which is then removed is refused with 1091, and restores nothing."""
        device = self.add("a")
        self.done(device.turns.take())
        removing = Deferred.fromCoroutine(self.devices.remove(device.row.dev_id))
        changing = Deferred.fromCoroutine(self.devices.change(device.row.dev_id, "b", {}))
        device.turns.give_back()
        self.successResultOf(removing)
        failure = self.failureResultOf(changing, Refused)
        assert isinstance(failure.value, Refused)
        self.assertEqual(failure.value.res.code, 1091)
        self.assertEqual((self.names(), self.stored(), device.turns.busy), ([], [], False))


class RemoveTests(_WithDevices):
    """A device that is removed."""

    def test_removed(self) -> None:
        """A removed device is closed and not found any more, also after a restart."""
        self.add("a")
        device = self.add("b")
        self.done(self.devices.remove(device.row.dev_id))
        self.assertEqual((self.names(), _built(device).closed), (["a"], 1))
        self.assertRaises(Refused, self.devices.by_name, "b")
        self.assertRaises(Refused, self.devices.by_id, device.row.dev_id)
        self.devices = self.house()
        self.assertEqual(self.names(), ["a"])

    def test_name_is_free(self) -> None:
        """The name of a removed device can be given again, to another device."""
        first = self.add("a")
        self.done(self.devices.remove(first.row.dev_id))
        second = self.add("a", "terminal")
        self.assertNotEqual((first.row.n, first.row.dev_id), (second.row.n, second.row.dev_id))
        self.assertGreater(second.row.n, first.row.n)

    def test_store_fails(self) -> None:
        """If a removal could not be stored, the device stays."""
        device = self.add("a")
        self.store.broken = True
        self.failureResultOf(Deferred.fromCoroutine(self.devices.remove(device.row.dev_id)), StoreFailed)
        self.store.broken = False
        self.assertIs(self.devices.by_name("a"), device)
        self.assertEqual((_built(device).closed, device.turns.busy), (0, False))


class HistoryTests(SynchronousTestCase):
    """The history of a training register, through changes of its settings."""

    def setUp(self) -> None:
        self.shop = Shop(self)
        self.shop.open_shift()
        self.sold = self.shop.sell(10, "t")

    def done(self, doing: Coroutine[Any, Any, Any]) -> Any:
        """The result of ``doing``, which must come at once."""
        return self.successResultOf(Deferred.fromCoroutine(doing))

    def rename(self, old: str, new: str) -> None:
        """Rename a register."""
        devices = self.shop.core.devices
        self.done(devices.change(devices.by_name(old).row.dev_id, new, {}))

    def test_first_start(self) -> None:
        """A service in training mode starts with training devices, and only the first time."""
        fresh = Shop(self, whole=True)
        for _ in range(2):
            made = [(device.name, device.kind, device.row.driver) for device in fresh.core.devices]
            self.assertIn(("test", "register", "training"), made)
            self.assertIn(("prn", "printer", "training"), made)
            self.assertIn(("pos", "terminal", "training"), made)
            linked = _settings(fresh.core.devices.by_name("test")).batch
            self.assertEqual((linked.terminal, linked.printer), ("pos", "prn"))
            self.assertEqual(len(made), len({name for name, _, _ in made}))
            fresh.crash()
        empty = Shop(self, whole=True, training=False)
        self.assertEqual(list(empty.core.devices), [])

    def test_renamed(self) -> None:
        """A renamed register keeps shift, cash, numbers, fiscal number and tags."""
        self.rename("test", "bar")
        for _ in range(2):
            self.assertEqual(self.shop.look_up("t", "bar"), {**self.sold, "task_status": 2})
            status = self.shop.fiscal(18, device="bar")["info"]
            self.assertEqual((status["safe"], status["shift_status"], status["docno"]), (10.0, 1, "2"))
            self.assertEqual(status["fisid"], "4000000001")
            self.assertEqual([entry.kind for entry in self.shop.ledger("bar")], ["open", "sale"])
            self.shop.crash()
        self.assertEqual(self.shop.look_up("t")["res"], 1091)
        self.assertEqual(self.shop.fiscal(3, device="bar", cash={"sum": 1})["info"]["docno"], "3")

    def test_settings(self) -> None:
        """A register whose settings change keeps its history, and uses the new settings."""
        self.shop.settings(rounding_step=10)
        sold = self.shop.sell("10.34", autoround=True)["info"]
        self.assertEqual((sold["printinfo"]["sum_topay"], sold["safe"], sold["docno"]), (10.3, 20.3, "3"))
        self.assertEqual(self.shop.look_up("t")["task_status"], 2)

    def test_collision(self) -> None:
        """A register whose settings change during a collision still queries the outcome of its receipt."""
        hurry(self)
        self.shop.scenario({"on": "sale", "then": "lost_after"})
        self.assertEqual(self.shop.sell(20, "lost")["res"], 1075)
        self.shop.settings(strict_tags=True)
        self.assertEqual(self.shop.sell(20, "lost")["task_status"], 2)

    def test_scenario(self) -> None:
        """A change of settings does not restart the process: the rules of the scenario stay."""
        self.shop.scenario({"on": "sale", "then": "refuse", "code": "9", "times": 0})
        self.shop.settings(strict_tags=True)
        self.assertEqual(self.shop.sell(20)["res"], 1040)

    def test_removed_and_added(self) -> None:
        """A register with the name of a removed one has its own history, which begins with number 1."""
        devices = self.shop.core.devices
        self.done(devices.remove(devices.by_name("test").row.dev_id))
        self.assertEqual(self.shop.look_up("t")["res"], 1091)
        self.shop.add("test")
        self.assertEqual(self.shop.look_up("t")["res"], 1058)
        opened = self.shop.fiscal(0)["info"]
        self.assertEqual((opened["docno"], opened["safe"]), ("1", 0.0))
        self.assertNotEqual(opened["fisid"], self.sold["info"]["fisid"])
        self.assertEqual(self.shop.sell(5, "t")["task_status"], 1)

    def test_busy(self) -> None:
        """A register is renamed after its task, which ends normally and is found under the new name."""
        self.shop.scenario({"on": "sale", "then": "accept", "delay_ms": 1000})
        due = self.shop.asked({"device": "test", "tag": "slow", "type": 1, "fiscal": {"task": 1, "receipt": sale(5)}})
        devices = self.shop.core.devices
        changing = Deferred.fromCoroutine(devices.change(devices.by_name("test").row.dev_id, "bar", {}))
        self.assertNoResult(changing)
        self.shop.clock.advance(1)
        self.assertIn(b'"res":0', self.successResultOf(due))
        self.assertEqual(self.successResultOf(changing).name, "bar")
        self.assertEqual(self.shop.look_up("slow", "bar")["task_status"], 2)


class DriverTests(SynchronousTestCase):
    """The registry of drivers."""

    def test_training_register(self) -> None:
        """The training register has a title, its capabilities and a simulator."""
        driver = find_drivers()["register", "training"]
        self.assertEqual((driver.kind, driver.name, driver.title), ("register", "training", "Навчальна каса"))
        self.assertLessEqual({"open", "sale", "cash_in", "cash_out", "x", "z", "status"}, set(driver.capabilities))
        assert driver.simulator is not None

    def test_each(self) -> None:
        """Each driver is found by its kind and name, has a title, and its secrets are settings."""
        found = find_drivers()
        for (kind, name), driver in found.items():
            self.assertEqual((driver.kind, driver.name), (kind, name))
            self.assertIn(kind, KINDS)
            self.assertTrue(driver.title)
            self.assertLessEqual(
                set(driver.secrets), {field.name for field in msgspec.structs.fields(driver.settings)}
            )

    def test_secrets_and_addresses(self) -> None:
        """No driver lets a stored secret follow another address; only secrets that never leave the service stay."""
        stay: set[str] = set()
        for driver in find_drivers().values():
            known = {one.name: one.default for one in msgspec.structs.fields(driver.settings)}
            for secret in driver.secrets:
                receiver = driver.receiver(secret)
                self.assertLessEqual(set(receiver), set(known), driver.name)
                stay.update(() if receiver else (secret,))
                for name in receiver:
                    self.assertRaises(
                        BadSettings, expect_same_receivers, driver, {secret: "s", receiver[0]: "a"}, {name: "another"}
                    )
                    moved = expect_same_receivers(driver, {secret: "s"}, {name: "another", secret: "new"})
                    self.assertEqual((moved[name], moved[secret]), ("another", "new"))
        self.assertEqual(stay, {"cloud_token", "classic_password", "notices_pem"})

    def test_undeclared_receiver(self) -> None:
        """The secret of a driver that names no receiver is bound to every setting that looks like an address."""
        driver = replace(find_drivers()["terminal", "zvt"], receivers={})
        self.assertEqual(driver.receiver("password"), ("interface", "host", "port", "serial_port"))

    def test_new_module(self) -> None:
        """A module in one of the folders is a driver; no other code names it."""
        folder = Path(self.mktemp()).absolute()
        package = folder / "drivers_of_a_test"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("", "utf-8")
        for kind in ("printer", "terminal"):
            (package / f"{kind}_x.py").write_text(
                "import msgspec\n"
                "from dmtwisted.devices.driver import Driver\n"
                "class Settings(msgspec.Struct):\n    host: str\n"
                f"DRIVER = Driver(kind={kind!r}, name='x', title='X', settings=Settings, build=None)\n",
                "utf-8",
            )
        self.patch(sys, "path", [str(folder), *sys.path])
        self.patch(drivers, "FOLDERS", (*drivers.FOLDERS, "drivers_of_a_test"))
        self.addCleanup(
            lambda: [sys.modules.pop(name) for name in list(sys.modules) if name.startswith("drivers_of_a_test")]
        )
        before = {("register", "training")}
        found = find_drivers()
        self.assertLessEqual({*before, ("printer", "x"), ("terminal", "x")}, set(found))
        self.assertEqual(found["printer", "x"].schema()["$defs"]["Settings"]["required"], ["host"])

    def test_schema(self) -> None:
        """The schema of a driver has each of its settings with type and default, and allows no others."""
        schema = find_drivers()["register", "training"].schema()
        self.assertEqual(schema["$ref"], "#/$defs/TrainingSettings")
        settings = schema["$defs"]["TrainingSettings"]
        self.assertEqual(
            set(settings["properties"]), {field.name for field in msgspec.structs.fields(TrainingSettings)}
        )
        self.assertEqual((settings["type"], settings["additionalProperties"]), ("object", False))
        self.assertEqual(settings["properties"]["rounding_step"]["enum"], [0, 10, 50])
        self.assertEqual(settings["properties"]["rounding_step"]["default"], 50)
        self.assertEqual(settings["properties"]["wait_s"]["default"], 8.0)
        self.assertEqual((settings["properties"]["strict_tags"]["type"], settings.get("required")), ("boolean", []))

    @promises("8.terminal-wait.1")
    def test_wait_for_a_terminal(self) -> None:
        """Every terminal has 300 seconds to reply unless its settings say otherwise."""
        waits = {
            name: next(each.default for each in msgspec.structs.fields(driver.settings) if each.name == "wait_s")
            for (kind, name), driver in find_drivers().items()
            if kind == "terminal"
        }
        self.assertEqual(set(waits.values()), {300}, waits)

    def test_settings_described(self) -> None:
        """Each setting of each driver has a description."""
        for driver in find_drivers().values():
            settings = driver.schema()["$defs"][driver.settings.__name__]["properties"]
            silent = [name for name, setting in settings.items() if not setting.get("description")]
            self.assertEqual(silent, [], driver.name)

    def test_read(self) -> None:
        """Empty settings are the defaults; a training register allows everything by default."""
        read = find_drivers()["register", "training"].read({})
        assert isinstance(read, TrainingSettings)
        self.assertEqual((read.rounding_step, read.wait_s, read.strict_tags, read.check_cash), (50, 8.0, False, True))
        self.assertEqual([group.code for group in read.tax_groups if group.enabled], list(range(1, 11)))
        self.assertEqual(
            [pay.code for pay in read.pay_types if pay.enabled], [0, 1, 2, 3, 4, 5, 6, 8, *range(11, 21)]
        )

    def test_slow_probe(self) -> None:
        """A register comes home in time for the law: what an earlier version took beyond 1,800 s is 1,800 s."""
        driver = find_drivers()["register", "training"]
        for given, taken in ((60, 60), (1800, 1800), (1801, 1800), (3600, 1800), (1e9, 1800)):
            settings = driver.read({"offline_probe_s": given})
            assert isinstance(settings, TrainingSettings)
            self.assertEqual(settings.offline_probe_s, taken)
        properties = driver.schema()["$defs"]["TrainingSettings"]["properties"]
        self.assertEqual(properties["offline_probe_s"]["maximum"], 1800)

    def test_read_badly(self) -> None:
        """An invalid setting of a training register is reported with its path."""
        driver = find_drivers()["register", "training"]
        places: list[tuple[dict[str, Any], str]] = [
            ({"rounding_step": 5}, "settings.rounding_step"),
            ({"wait_s": 0}, "settings.wait_s"),
            ({"wait_s": 61}, "settings.wait_s"),
            ({"strict_tags": "yes"}, "settings.strict_tags"),
            ({"tax_groups": [{"code": 1, "name": "ПДВ", "percent": "20"}]}, "settings.tax_groups[0].percent"),
            ({"pay_types": [{"code": 0, "name": "Готівка", "on": True}]}, "settings.pay_types[0].on"),
            ({"rounding": 10}, "settings.rounding"),
        ]
        for settings, path in places:
            error = self.assertRaises(BadSettings, driver.read, settings)
            self.assertEqual(error.path, path)
