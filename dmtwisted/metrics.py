"""The figures of the service in Prometheus' text format (version 0.0.4).

docs/dependencies.md says why prometheus-client is not used. Labels are bounded: kinds, task numbers and result codes
are closed sets, and at most `MOST_DEVICES` devices are listed. No figure shows money, a person, an address or a
secret.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import dmtwisted
from dmtwisted.core import Core
from dmtwisted.devices.devices import Device
from dmtwisted.devices.driver import REGISTER, TERMINAL
from dmtwisted.observed import Inquired
from dmtwisted.store.values import StoreFailed
from dmtwisted.tally import BOUNDS, Durations, Tally
from dmtwisted.watching import state_of

TYPE = b"text/plain; version=0.0.4; charset=utf-8"
"""The media type."""

MOST_DEVICES = 200

Labels = Mapping[str, object]

METRICS: dict[str, tuple[str, str]] = {
    "dmtwisted_info": ("gauge", "Version of the service and of Python; always 1."),
    "dmtwisted_ready": ("gauge", "1 while tasks are taken, as /health/ready."),
    "dmtwisted_start_time_seconds": ("gauge", "When the service began, in seconds since 1970."),
    "dmtwisted_tasks_total": ("counter", "Answered tasks by kind, number of the task and result code."),
    "dmtwisted_task_seconds": ("histogram", "Time from the request of a task to its answer, by kind."),
    "dmtwisted_turn_wait_seconds": ("histogram", "Time that a task waited for its turn, by kind of device."),
    "dmtwisted_device_up": ("gauge", "1 while a device can be used as it is set up, 0 when it says why not."),
    "dmtwisted_device_busy": ("gauge", "1 while a task is under way at a device."),
    "dmtwisted_register_offline": ("gauge", "1 while a register is offline."),
    "dmtwisted_register_offline_seconds": ("gauge", "How long a register has been offline; 0 online."),
    "dmtwisted_register_offline_month_seconds": ("gauge", "How long a register was offline this month."),
    "dmtwisted_register_offline_numbers": ("gauge", "Offline numbers that a register has left."),
    "dmtwisted_register_shift_open": ("gauge", "1 while a shift is open."),
    "dmtwisted_register_shift_seconds": ("gauge", "How long the shift has been open; 0 when it is closed."),
    "dmtwisted_register_collision": ("gauge", "1 while a register does not know what became of a document."),
    "dmtwisted_register_key_days": ("gauge", "Whole days that the signing key is still good for."),
    "dmtwisted_register_unverified": ("gauge", "1 while a register takes the tax service's answers unverified."),
    "dmtwisted_register_answers_refused_total": ("counter", "Answers of the tax service that somebody else signed."),
    "dmtwisted_terminal_in_doubt": ("gauge", "1 while a terminal does not know what became of a payment."),
    "dmtwisted_needs": ("gauge", "1 for each thing that needs a person, as the pages list it."),
    "dmtwisted_device_seen_seconds": ("gauge", "Seconds since a device last worked or answered."),
    "dmtwisted_unfinished_operations": ("gauge", "Operations under way, and those whose end is not known."),
    "dmtwisted_database_damaged": ("gauge", "1 when the database can be read at best."),
    "dmtwisted_certificate_days": ("gauge", "Whole days that the certificate of HTTPS is still good for."),
    "dmtwisted_disk_free_bytes": ("gauge", "Bytes free on the disk of the state folder."),
    "process_resident_memory_bytes": ("gauge", "Memory of the service's own process."),
    "process_cpu_seconds_total": ("counter", "Processor time of the service's own process."),
}
"""Every metric with its type and its help text."""


class Page:
    """The lines of the answer; the head of a metric comes once."""

    def __init__(self) -> None:
        self._values: dict[str, list[str]] = {}

    def add(self, name: str, value: float, labels: Labels | None = None, ending: str = "") -> None:
        """Add a value of the metric ``name``; ``ending`` is the suffix of a part of a histogram."""
        assert name in METRICS, name
        self._values.setdefault(name, []).append(f"{name}{ending}{_labels(labels or {})} {_number(value)}\n")

    def add_durations(self, name: str, durations: Durations, labels: Labels) -> None:
        """Add a histogram."""
        count = 0
        for bound, number in zip((*BOUNDS, "+Inf"), durations.classes, strict=True):
            count += number
            self.add(name, count, {**labels, "le": bound}, "_bucket")
        self.add(name, durations.total, labels, "_sum")
        self.add(name, count, labels, "_count")

    def __bytes__(self) -> bytes:
        lines = []
        for name, (kind, text) in METRICS.items():
            if name in self._values:
                lines += [f"# HELP {name} {text}\n", f"# TYPE {name} {kind}\n", *self._values[name]]
        return "".join(lines).encode()


async def render(core: Core) -> bytes:
    """The current figures; one that cannot be read is left out."""
    page = Page()
    page.add("dmtwisted_info", 1, {"version": dmtwisted.__version__, "python": sys.version.split()[0]})
    page.add("dmtwisted_ready", core.ready)
    page.add("dmtwisted_start_time_seconds", core.began)
    page.add("dmtwisted_database_damaged", bool(core.store.damage))
    _counted(page, core.dispatcher.tally)
    now = core.clock.now()
    for device in list(core.devices)[:MOST_DEVICES]:
        await _device(page, device, now)
    for need in (await core.needs.fresh())[:MOST_DEVICES]:
        page.add("dmtwisted_needs", 1, {"code": need.code, "level": need.level, "device": need.device})
    with suppress(StoreFailed):
        page.add("dmtwisted_unfinished_operations", len(await core.store.unresolved(None)))
    if core.certificate is not None and "days_left" in (status := core.certificate.status()):
        page.add("dmtwisted_certificate_days", status["days_left"])
    _process(page, core)
    return bytes(page)


def _counted(page: Page, tally: Tally) -> None:
    for (kind, task, res), count in sorted(tally.tasks.items()):
        labels = {"kind": kind, "task": _or_other(task), "res": _or_other(res)}
        page.add("dmtwisted_tasks_total", count, labels)
    for kind, took in tally.took.items():
        page.add_durations("dmtwisted_task_seconds", took, {"kind": kind})
    for kind, waited in tally.waited.items():
        page.add_durations("dmtwisted_turn_wait_seconds", waited, {"kind": kind})


def _or_other(number: int) -> str:
    return str(number) if number >= 0 else "other"


async def _device(page: Page, device: Device, now: int) -> None:
    name = {"device": device.name}
    labels = {**name, "kind": device.kind, "driver": device.row.driver}
    try:
        state: dict[str, Any] = await state_of(device)
    except Exception:
        # A device whose state cannot be read does not work; the log of its tasks has the reason.
        state = {"error": "?"}
    page.add("dmtwisted_device_up", "error" not in state, labels)
    page.add("dmtwisted_device_busy", device.turns.busy, labels)
    if isinstance(device.built, Inquired) and device.built.observed.age is not None:
        page.add("dmtwisted_device_seen_seconds", round(device.built.observed.age, 3), labels)
    if "error" in state:
        return
    if device.kind == REGISTER:
        _register(page, state, name, now)
    elif device.kind == TERMINAL:
        page.add("dmtwisted_terminal_in_doubt", bool(state.get("in_doubt")), name)


def _register(page: Page, state: Mapping[str, Any], name: Labels, now: int) -> None:
    offline, is_open = bool(state.get("online_status")), bool(state.get("shift_status"))
    page.add("dmtwisted_register_offline", offline, name)
    page.add("dmtwisted_register_offline_seconds", _since(now, state.get("offline_since")) if offline else 0, name)
    page.add("dmtwisted_register_offline_month_seconds", int(state.get("offline_month_min") or 0) * 60, name)
    page.add("dmtwisted_register_offline_numbers", int(state.get("offline_numbers") or 0), name)
    page.add("dmtwisted_register_shift_open", is_open, name)
    page.add("dmtwisted_register_shift_seconds", _since(now, state.get("opened_at")) if is_open else 0, name)
    page.add("dmtwisted_register_collision", bool(state.get("collision")), name)
    if state.get("key_days_left") is not None:
        page.add("dmtwisted_register_key_days", int(state["key_days_left"]), name)
    if "unverified" in state:
        page.add("dmtwisted_register_unverified", bool(state["unverified"]), name)
        page.add("dmtwisted_register_answers_refused_total", int(state["refused_answers"]), name)


def _since(now: int, at: object) -> float:
    return max(0, now - at) / 1000 if isinstance(at, int) and at else 0


def _process(page: Page, core: Core) -> None:
    if core.state is not None:
        with suppress(OSError):
            page.add("dmtwisted_disk_free_bytes", shutil.disk_usage(core.state).free)
    spent = os.times()
    page.add("process_cpu_seconds_total", spent.user + spent.system)
    if sys.platform != "linux":
        # A system without /proc has tools of its own for this.
        return
    try:
        with open("/proc/self/statm", "rb") as file:
            pages = int(file.read().split()[1])
    except OSError:
        return
    page.add("process_resident_memory_bytes", pages * os.sysconf("SC_PAGE_SIZE"))


def _labels(labels: Labels) -> str:
    listed = ",".join(f'{name}="{_escaped(str(value))}"' for name, value in labels.items())
    return f"{{{listed}}}" if listed else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
