"""Example requests for the console, with the names of this service's devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dmtwisted.devices.devices import Device
from dmtwisted.devices.driver import PRINTER, REGISTER, TERMINAL

TAG = "{tag}"
"""Placeholder for a key, which the page replaces: the same key until the person wants a new one."""


@dataclass(frozen=True)
class Example:
    """One request: the key of its title, its path, its body."""

    word: str
    path: str
    body: dict[str, Any]


def examples(devices: Sequence[Device], coffee: str) -> list[Example]:
    """Examples with the names of existing devices, or the usual name of a missing kind.

    :param coffee: the name of the item.
    """
    names = {REGISTER: "test", PRINTER: "prn", TERMINAL: "pos"}
    for kind in names:
        names[kind] = next((device.name for device in devices if device.kind == kind), names[kind])
    row = {"code": "1", "name": coffee, "cnt": 1, "price": 125.5, "taxgrp": 1}
    receipt = {"sum": 125.5, "rows": [row], "pays": [{"type": 0, "sum": 200}]}
    card = {"sum": 125.5, "rows": [row], "pays": [{"type": 2, "sum": 125.5}]}
    back = {"sum": 125.5, "rows": [row], "pays": [{"type": 0, "sum": 125.5}]}
    execute = "/dm/execute"

    def fiscal(task: int, tagged: bool = True, **members: Any) -> dict[str, Any]:
        named = {"tag": TAG} if tagged else {}
        return {"ver": 6, "device": names[REGISTER], **named, "type": 1, "fiscal": {"task": task, **members}}

    return [
        Example("ex_sale", execute, fiscal(1, receipt=receipt)),
        Example("open_shift", execute, fiscal(0)),
        Example("ex_card", execute, fiscal(1, receipt=card)),
        Example("kind_return", execute, fiscal(2, receipt=back)),
        Example("x_report", execute, fiscal(10, tagged=False)),
        Example("kind_z", execute, fiscal(11)),
        Example("ex_status", execute, fiscal(18, tagged=False)),
        Example("ex_lookup", execute, {"ver": 6, "device": names[REGISTER], "tag": TAG, "type": 0}),
        Example(
            "ex_payment",
            execute,
            {
                "ver": 6,
                "device": names[TERMINAL],
                "transaction_id": TAG,
                "transaction_search": 2,
                "type": 3,
                "pay": {"task": 1, "sum": 125.5},
            },
        ),
        Example("ex_batch", "/dm/execute-pkg", fiscal(1, receipt=card)),
        Example(
            "ex_print",
            execute,
            {
                "ver": 6,
                "device": names[PRINTER],
                "type": 2,
                "doc": {"lines": [{"t": coffee, "bold": True}, {"t": "https://example.com/", "qr_type": 100}]},
            },
        ),
        Example("test_print", execute, {"ver": 6, "device": names[PRINTER], "type": 2, "doc": {"test": 1}}),
    ]


PATHS = ("/dm/execute", "/dm/execute-prn", "/dm/execute-pkg")
"""The paths of the console's requests."""
