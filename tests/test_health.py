"""The probes: whether the process runs, and whether it can take tasks."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from dmtwisted.core import Core
from tests.shop import hurry
from tests.specification import promises
from tests.web_case import WebCase, fiscal
from web.site import Door

LIVE, READY = "/health/live", "/health/ready"


class HealthTests(WebCase):
    """``/health/live`` and ``/health/ready``"""

    def probes(self) -> tuple[int, int]:
        """The statuses of both probes."""
        return self.request("GET", LIVE).status, self.request("GET", READY).status

    def successor(self, *rules: dict[str, object]) -> Core:
        """A service that is about to start on what this one leaves; its far ends follow ``rules``."""
        self.shop.core.devices.close()
        core = Core(self.shop.core.config, self.shop.store, self.shop.clock, self.shop.state)
        open_devices = core.devices.open

        async def open_with_rules() -> None:
            await open_devices()
            for device in core.devices:
                device.simulator.scenario.replace({"rules": list(rules)})

        self.patch(core.devices, "open", open_with_rules)
        self.shop.core, self.door = core, Door(core)
        return core

    def leave_unknown(self, *devices: str) -> None:
        """Receipts with an unknown outcome."""
        hurry(self)
        for device in devices:
            if device != "test":
                add = self.shop.core.devices.add(device, "register", "training", {})
                self.successResultOf(Deferred.fromCoroutine(add))
            self.shop.open_shift(device)
            self.shop.scenario({"on": "cash_in", "then": "lost_after"}, device=device)
            answer = self.shop.fiscal(3, "t", device, cash={"type": 0, "sum": 5})
            self.assertEqual((answer["res"], answer["res_action"]), (1075, 2))

    def test_well(self) -> None:
        """A service that takes tasks is alive and ready, as JSON."""
        for path in (LIVE, READY):
            answer = self.request("GET", path)
            self.assertEqual((answer.status, answer.header("content-type")), (200, "application/json"))
            self.assertEqual(answer.body, b'{"status":"ok"}')

    def test_before_the_start(self) -> None:
        """A service whose store is not open yet is alive and not ready."""
        self.successor()
        self.assertEqual(self.probes(), (200, 503))
        self.assertEqual(self.request("GET", READY).body, b'{"status":"not ready"}')

    def test_after_the_end(self) -> None:
        """A service that has closed its store is not ready any more."""
        self.successResultOf(Deferred.fromCoroutine(self.shop.core.close()))
        self.assertEqual(self.probes(), (200, 503))

    @promises("3.2.2.3")
    def test_unknown_receipts(self) -> None:
        """A service that starts is ready once it has asked what became of every unknown receipt."""
        self.leave_unknown("test")
        core = self.successor({"on": "probe", "then": "accept", "delay_ms": 500})
        self.successResultOf(Deferred.fromCoroutine(core.open()))
        self.assertEqual(self.probes(), (200, 503))
        self.shop.clock.advance(0.5)
        self.assertEqual(self.probes(), (200, 200))
        answer = self.execute({"device": "test", "tag": "t"})
        self.assertEqual((answer["res"], answer["task_status"]), (0, 2))

    def test_silent_far_ends(self) -> None:
        """Far ends that do not answer keep the service from being ready for at most three seconds."""
        self.leave_unknown("test", "second", "third")
        core = self.successor({"on": "probe", "then": "silent", "times": 0})
        self.successResultOf(Deferred.fromCoroutine(core.open()))
        self.shop.clock.advance(3)
        self.assertEqual(self.probes(), (200, 200))

    def test_tasks_before_ready(self) -> None:
        """Tasks for registers that have nothing unknown are done before the service is ready."""
        self.leave_unknown("test")
        add = self.shop.core.devices.add("second", "register", "training", {})
        self.successResultOf(Deferred.fromCoroutine(add))
        core = self.successor({"on": "probe", "then": "accept", "delay_ms": 500})
        self.successResultOf(Deferred.fromCoroutine(core.open()))
        self.assertEqual(self.probes(), (200, 503))
        self.assertEqual(self.execute({**fiscal(18), "device": "second"})["res"], 0)
        self.assertEqual(self.execute(fiscal(18))["res"], 1105)

    def test_full_disk(self) -> None:
        """A store that fails does not make the process look dead."""
        self.shop.store.broken = True
        self.assertEqual(self.request("GET", LIVE).status, 200)

    def test_other_methods(self) -> None:
        """Only GET and HEAD are there, anything else is 405 as JSON."""
        for path in (LIVE, READY):
            answer = self.request("POST", path, {})
            self.assertEqual((answer.status, answer.header("allow")), (405, "GET, HEAD"))
            self.assertEqual(answer.header("content-type"), "application/json")
            self.assertEqual(answer.json["res"], 2000)
            self.assertEqual(self.request("HEAD", path).status, 200)

    def test_quiet(self) -> None:
        """Probes come every few seconds and leave nothing in the log."""
        log = self.logged()
        self.assertEqual(self.probes(), (200, 200))
        self.assertEqual(log.getvalue(), "")
