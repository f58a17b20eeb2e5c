"""What every device has to keep: settings, checks without effect, secrets, an orderly end."""

from __future__ import annotations

import json
from contextlib import suppress

import msgspec
from twisted.internet.defer import Deferred

from dmtwisted.conformance.desk import NAME, Desk, expect, same
from dmtwisted.conformance.suite import SAFE, check
from dmtwisted.devices.driver import PRINTER, REGISTER, TERMINAL, BadSettings
from dmtwisted.devices.sealing import without_secrets
from dmtwisted.results import Refused

ALL = (REGISTER, PRINTER, TERMINAL)

CANARY = "canary-7c1f2b"
"""A secret that must not appear again."""


@check(*ALL, level=SAFE, source="docs/drivers.md#settings")
def settings_are_described(desk: Desk) -> None:
    """Each setting has a description and its limits, so that a form can be made of it."""
    driver = desk.stand.driver
    schema = driver.schema()
    own = schema["$defs"][schema["$ref"].rpartition("/")[2]]
    expect(own.get("additionalProperties") is False, "unknown settings are accepted")
    silent = [name for name, member in own["properties"].items() if not member.get("description")]
    same(silent, [], "settings without a description")
    expect(driver.title, "the driver has no title")


@check(PRINTER, TERMINAL, level=SAFE, source="docs/drivers.md#the-stand")
def the_line_can_be_disturbed(desk: Desk) -> None:
    """The stand leads the driver's line to a device that can be cut off, unless the driver has its own simulator."""
    stand = desk.stand
    expect("line" in stand.has or stand.driver.simulator is not None, "no fault of the line can be tried")


@check(*ALL, level=SAFE, source="docs/drivers.md#settings")
def wrong_settings_name_their_path(desk: Desk) -> None:
    """A wrong or unknown setting is refused with its path, and no device is made."""
    wrong = (({**desk.stand.settings, "no_such_setting": 1}, "settings.no_such_setting"), *desk.stand.wrong)
    for members, path in wrong:
        try:
            desk.stand.driver.read({**desk.stand.settings, **members})
        except BadSettings as error:
            same(error.path, path, "the path of a wrong setting")
            expect(error.text, "a wrong setting is refused without a text")
        else:
            expect(False, f"{path} was taken as {members}")
        try:
            desk.now(desk.devices.add("wrong", desk.stand.driver.kind, desk.stand.driver.name, dict(members)))
        except BadSettings:
            continue
        expect(False, f"a device was made with a wrong {path}")


@check(*ALL, level=SAFE, source="docs/security.md")
def secrets_stay_in(desk: Desk) -> None:
    """Secret settings are neither shown nor logged, and are sealed in the store."""
    driver = desk.stand.driver
    given = dict(desk.stand.settings)
    for name in driver.secrets:
        if isinstance(given.get(name), str) and given[name]:
            continue
        given[name] = CANARY
        try:
            driver.read(given)
        except BadSettings:
            del given[name]
    clear = [str(given[name]) for name in driver.secrets if given.get(name)]
    desk.now(desk.devices.add("second", driver.kind, driver.name, given))
    device = desk.devices.by_name("second")
    shown = json.dumps(without_secrets(driver, msgspec.to_builtins(device.settings)))
    with suppress(Refused):
        desk.wait(Deferred.fromCoroutine(device.built.check()))
    for secret in clear:
        expect(secret not in shown, "a secret is shown")
        expect(len(secret) < 8 or secret not in desk.log.text, "a secret is in the log")
        expect(f'"{secret}"'.encode() not in desk.kept(), "a secret is in the store in clear")


@check(*ALL, level=SAFE, source="docs/drivers.md#check")
def a_check_changes_nothing(desk: Desk) -> None:
    """The check of a device changes nothing, however often."""
    before = [entry.n for entry in desk.device.entries()]
    for _ in range(3):
        same(desk.check(), "", "a check of a device that works")
    same([entry.n for entry in desk.device.entries()], before, "what the device has done")
    same(desk.rows(), [], "operations in the journal")


@check(*ALL, level=SAFE, source="docs/drivers.md#check", needs=("line",))
def a_check_sees_an_unreachable_device(desk: Desk) -> None:
    """The check of a device that cannot be reached fails within half a minute, with a code of the catalogue."""
    desk.switch_off()
    began = desk.world.seconds()
    expect(desk.check(), "the check succeeds")
    expect(desk.world.seconds() - began <= 30, "the check takes longer than half a minute")


@check(*ALL, level=SAFE, source="docs/drivers.md#life-of-a-device")
def state_can_be_read_at_any_time(desk: Desk) -> None:
    """The state of a device can be read whether it is there or not, and fits into JSON."""
    for _ in range(2):
        if hasattr(desk.built, "state"):
            msgspec.json.encode(desk.now(desk.built.state()))
        desk.is_on = False


@check(*ALL, level=SAFE, source="docs/drivers.md#life-of-a-device")
def closing_lets_go(desk: Desk) -> None:
    """A closed device closes its line; it may be closed twice, and built again at once."""
    same(desk.check(), "", "a check of a device that works")
    desk.devices.close()
    desk.run(60)
    same(desk.world.open_lines, 0, "lines that stay open")
    desk.restart()
    same(desk.check(), "", "a check of a device that works")


@check(*ALL, level=SAFE, source="docs/drivers.md#life-of-a-device")
def a_change_of_settings_takes_hold(desk: Desk) -> None:
    """Settings can be changed and the device renamed while it is idle, and it goes on working."""
    dev_id = desk.devices.by_name(NAME).row.dev_id
    desk.now(desk.devices.change(dev_id, "another", {}))
    desk.now(desk.devices.change(dev_id, NAME, {}))
    same(desk.check(), "", "a check of a device that works")


@check(*ALL, level=SAFE, source="docs/integrating.md")
def tasks_of_other_kinds_are_refused(desk: Desk) -> None:
    """A task for another kind of device is refused with 2000 and never reaches the device."""
    own = {REGISTER: (0, 1), PRINTER: (2,), TERMINAL: (3,)}[desk.stand.driver.kind]
    heard = desk.world.heard
    for kind in {0, 1, 2, 3}.difference(own):
        answer = desk.ask({"type": kind, "tag": "t", "fiscal": {"task": 18}, "doc": {"test": 1}, "pay": {"task": 1}})
        same(answer["res"], 2000, f"a task of type {kind}")
    same((desk.rows(), desk.world.heard), ([], heard), "what is left of it")
