"""Exercises with failures, on training devices alone: what goes wrong, and what a cashier does about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from dmtwisted.devices.devices import Device, register_settings
from dmtwisted.devices.driver import PRINTER, REGISTER, TERMINAL
from dmtwisted.papers import DEFAULT_PRINTER
from dmtwisted.registers.settings import BatchSettings

Rules = tuple[dict[str, Any], ...]

_AWAY: Rules = ({"on": "any", "then": "unreachable", "times": 0}, {"on": "probe", "then": "unreachable", "times": 0})
_UNHEARD: Rules = ({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "unreachable", "times": 0})
_CUT: Rules = (
    {"on": "payment", "then": "lost_after"},
    # The terminal is asked once before the payment.
    {"on": "probe", "then": "accept"},
    {"on": "probe", "then": "unreachable", "times": 0},
)


@dataclass(frozen=True)
class Exercise:
    """One failure.

    :param name: of its texts. :param kind: the device that fails. :param rules: how it fails.
    :param price: what is sold, in hryvnias; each exercise has its own, so that none takes another's receipt for its.
    :param way: a button for the cashier's last step: `sell` again, `reprint`, go `online`, `ask` what became of it;
        none where only the repeat of the same sale helps, which every page offers while an answer is missing.
    """

    name: str
    kind: str
    rules: Rules
    price: int
    way: str
    card: bool = False


EXERCISES = (
    Exercise("away", REGISTER, _AWAY, 50, "online"),
    Exercise("unheard", REGISTER, _UNHEARD, 60, "ask"),
    Exercise("paper", PRINTER, ({"on": "print", "then": "refuse"},), 70, "reprint"),
    Exercise("declined", TERMINAL, ({"on": "payment", "then": "refuse", "code": "51"},), 80, "sell", card=True),
    Exercise("cut", TERMINAL, _CUT, 90, "", card=True),
)


def practice_devices(devices: Iterable[Device]) -> dict[str, Device]:
    """A training register, and the training terminal and printer of its sales, by kind; what is missing is not there.

    A register whose sales would reach a real device is none for this.
    """
    found = list(devices)
    named = {device.name: device for device in found}
    best: dict[str, Device] = {}
    for device in found:
        if device.kind != REGISTER or device.simulator is None:
            continue
        batch = register_settings(device).batch or BatchSettings()
        those = {TERMINAL: named.get(batch.terminal), PRINTER: named.get(batch.printer or DEFAULT_PRINTER)}
        there = {REGISTER: device, **{kind: one for kind, one in those.items() if one is not None}}
        if len(there) > len(best) and all(one.simulator is not None for one in there.values()):
            best = there
    return best


def given_to_script(found: dict[str, Device], coffee: str) -> dict[str, Any]:
    """What the page's script has to know; the register first."""
    return {
        "device": found[REGISTER].name if REGISTER in found else "",
        "devices": {
            kind: {"dev_id": found[kind].row.dev_id, "device": found[kind].name}
            for kind in (REGISTER, TERMINAL, PRINTER)
            if kind in found
        },
        "exercises": [asdict(one) for one in EXERCISES],
        "coffee": coffee,
    }
