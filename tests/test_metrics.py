"""Figures of the service: counted during tasks, in the format of Prometheus, used by a dashboard and alerts."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.config import ServerConfig
from dmtwisted.metrics import METRICS, Page
from dmtwisted.store.values import StoreFailed
from dmtwisted.tally import BOUNDS, MOST_SERIES, Durations, Tally
from tests.prro_shop import PrroShop
from tests.shop import Shop, hurry
from tests.test_sessions import AccessCase
from tests.web_case import WebCase
from web.metrics import FRESH
from web.site import Door

DOCS = Path(__file__).parent.parent / "docs"
SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})? (-?[0-9.e+-]+)')
NAME = re.compile(r"\b(?:dmtwisted|process)_[a-z_]+\b")


def samples(text: bytes) -> dict[str, float]:
    """Every sample of an answer by name and labels; each line has to be one, a comment, or a head."""
    found: dict[str, float] = {}
    for line in text.decode().splitlines():
        if re.fullmatch(r"# (HELP|TYPE) [a-z_]+ .+", line):
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        key = f"{match[1]}{{{match[2] or ''}}}"
        assert key not in found, key
        found[key] = float(match[3])
    return found


def names() -> Iterable[str]:
    """Every name that a line can begin with."""
    for name, (kind, _) in METRICS.items():
        yield from (f"{name}{ending}" for ending in ("_bucket", "_sum", "_count")) if kind == "histogram" else (name,)


class MetricsTests(WebCase):
    """``GET /metrics``"""

    def figures(self) -> dict[str, float]:
        """The figures of now."""
        self.shop.clock.advance(FRESH)
        answer = self.request("GET", "/metrics")
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8")
        return samples(answer.body)

    def test_tasks(self) -> None:
        """Tasks are counted by kind, number and result, with the time that they took."""
        self.open_shift()
        self.sell("a")
        self.sell("b", sum=1)
        self.execute({"nonsense": True})
        told = self.figures()
        self.assertEqual(told['dmtwisted_tasks_total{kind="fiscal",task="0",res="0"}'], 1)
        self.assertEqual(told['dmtwisted_tasks_total{kind="fiscal",task="1",res="0"}'], 1)
        self.assertEqual(sum(one for key, one in told.items() if key.startswith("dmtwisted_tasks_total")), 4)
        self.assertEqual(told['dmtwisted_task_seconds_count{kind="fiscal"}'], 3)
        self.assertEqual(told['dmtwisted_task_seconds_bucket{kind="fiscal",le="+Inf"}'], 3)

    def test_register(self) -> None:
        """The state of a register: its shift, whether it is offline, the days of its key."""
        name = '{device="test"}'
        self.assertEqual(self.figures()[f"dmtwisted_register_shift_open{name}"], 0)
        self.open_shift()
        self.shop.clock.advance(3600)
        told = self.figures()
        self.assertEqual(told[f"dmtwisted_register_shift_open{name}"], 1)
        self.assertEqual(told[f"dmtwisted_register_shift_seconds{name}"], 3600 + FRESH)
        self.assertEqual(told['dmtwisted_device_up{device="test",kind="register",driver="training"}'], 1)
        self.assertEqual(told[f"dmtwisted_register_offline{name}"], 0)
        self.shop.settings(offline_allowed=True)
        self.request("POST", f"/dm/api/v3/devices/{self.dev_id}/go-offline", {})
        self.shop.clock.advance(60)
        told = self.figures()
        self.assertEqual(told[f"dmtwisted_register_offline{name}"], 1)
        self.assertGreaterEqual(told[f"dmtwisted_register_offline_seconds{name}"], 60)
        self.assertGreater(told[f"dmtwisted_register_offline_numbers{name}"], 0)

    def test_key(self) -> None:
        """The days of a signing key; a register without one has no figure."""
        self.shop = PrroShop(self, "one")
        self.door = Door(self.shop.core)
        told = self.figures()
        self.assertGreater(told['dmtwisted_register_key_days{device="one"}'], 100)
        self.assertNotIn('dmtwisted_register_key_days{device="two"}', told)

    def test_refused_payment(self) -> None:
        """A payment that the bank refuses is counted and logged with its code, stored or not."""
        self.shop = Shop(self, whole=True)
        self.door = Door(self.shop.core)
        self.shop.scenario({"on": "payment", "then": "refuse", "code": "51"}, device="pos")
        log = self.logged()
        label = "5b0c3a5c-6a53-5d8b-9d0e-0a1b2c3d4e5f"
        body = {"device": "pos", "type": 3, "transaction_id": label, "pay": {"task": 1, "sum": 5}}
        for search in (0, 1):
            due = self.shop.asked({**body, "transaction_search": search})
            self.shop.clock.pump([0.1] * 100)
            self.assertIn(b'"res":5018,', self.successResultOf(due))
        self.assertEqual(self.figures()['dmtwisted_tasks_total{kind="pay",task="1",res="5018"}'], 2)
        self.assertEqual(log.getvalue().count("res=5018"), 2)

    def test_terminal_and_wait(self) -> None:
        """Terminals say whether a payment is in doubt; a task that waits for its turn is timed."""
        self.shop = Shop(self, whole=True)
        self.door = Door(self.shop.core)
        self.assertEqual(self.figures()['dmtwisted_terminal_in_doubt{device="pos"}'], 0)
        turns = self.shop.core.devices.by_name("prn").turns
        self.successResultOf(Deferred.fromCoroutine(turns.take()))
        asked = self.shop.asked({"ver": 6, "device": "prn", "tag": "x", "type": 2, "doc": {"lines": []}})
        self.shop.clock.advance(2)
        self.assertEqual(self.figures()['dmtwisted_device_busy{device="prn",kind="printer",driver="training"}'], 1)
        turns.give_back()
        self.shop.clock.pump([0.1] * 20)
        self.successResultOf(asked)
        told = self.figures()
        self.assertEqual(told['dmtwisted_turn_wait_seconds_count{kind="printer"}'], 1)
        self.assertGreaterEqual(told['dmtwisted_turn_wait_seconds_sum{kind="printer"}'], 2)

    def test_broken_device(self) -> None:
        """A device that cannot be used is down, whatever is in its name; the other figures are there all the same."""
        adding = self.shop.store.add_device("x", 'till "7"\\', "printer", "no-such-driver", b"{}")
        self.successResultOf(Deferred.fromCoroutine(adding))
        self.shop.crash()
        self.door = Door(self.shop.core)
        told = self.figures()
        self.assertEqual(
            told['dmtwisted_device_up{device="till \\"7\\"\\\\",kind="printer",driver="no-such-driver"}'], 0
        )
        self.assertIn('dmtwisted_device_up{device="test",kind="register",driver="training"}', told)
        self.flushLoggedErrors()

    def test_store_away(self) -> None:
        """While the store fails devices are down, and the service still answers."""

        async def fail(*_: object) -> None:
            raise StoreFailed("gone")

        for verb in ("unresolved", "register_state"):
            self.patch(self.shop.store, verb, fail)
        told = self.figures()
        self.assertNotIn("dmtwisted_unfinished_operations{}", told)
        self.assertIn("dmtwisted_ready{}", told)

    def test_unfinished(self) -> None:
        """Operations whose end is not known."""
        hurry(self)
        self.open_shift()
        self.assertEqual(self.figures()["dmtwisted_unfinished_operations{}"], 0)
        self.shop.scenario({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "unreachable", "times": 0})
        self.sell("sale-1")
        told = self.figures()
        self.assertEqual(told["dmtwisted_unfinished_operations{}"], 1)
        self.assertEqual(told['dmtwisted_register_collision{device="test"}'], 1)

    def test_asked_often(self) -> None:
        """A second request within a moment gets the same figures: the store is not read."""
        before = self.request("GET", "/metrics").body
        self.open_shift()
        self.assertEqual(self.request("GET", "/metrics").body, before)
        self.assertEqual(self.request("HEAD", "/metrics").body, b"")
        self.assertEqual(self.request("POST", "/metrics", {}).status, 405)

    def test_every_name(self) -> None:
        """A service with every kind of device has every metric, except those of certificates."""
        self.shop = Shop(self, whole=True)
        self.door = Door(self.shop.core)
        self.open_shift()
        told = {key.partition("{")[0] for key in self.figures()}
        self.assertLessEqual(told, set(names()))
        missing = {f"dmtwisted_{name}" for name in ("certificate_days", "register_key_days", "register_unverified")}
        missing.add("dmtwisted_register_answers_refused_total")
        if sys.platform != "linux":
            missing.add("process_resident_memory_bytes")
        self.assertLessEqual(set(names()) - told, missing)


class AccessTests(AccessCase):
    """Who may ask."""

    def test_login(self) -> None:
        """With a login on the figures stay open, as the probes do."""
        self.switch_on()
        self.assertEqual(self.request("GET", "/metrics").status, 200)

    def test_hardened(self) -> None:
        """A hardened service answers them to listed addresses with a key only: they name its devices."""
        self.configure(ServerConfig(hardened=True, allowed_addresses="192.168.1.20"))
        key = self.key()
        for address, status in (("127.0.0.1", 200), ("192.168.1.20", 200), ("192.168.1.21", 403)):
            asked = self.ask(self.connect_from(address), "GET", "/metrics", headers=[key])
            self.assertEqual(asked.status, status, address)
        self.assertEqual(self.request("GET", "/metrics").status, 401)

    def test_no_secret(self) -> None:
        """No text that a person entered is in it but the names of devices."""
        self.open_shift()
        self.sell("tag-of-mine")
        text = self.request("GET", "/metrics").body.decode()
        for private in ("Олена", "Кава", "tag-of-mine", str(self.shop.state)):
            self.assertNotIn(private, text)
        # The sum of the sale; processor time, memory and disk are the machine's, and may have any digits.
        lines = [line for line in text.splitlines() if not line.startswith(("process_", "dmtwisted_disk_"))]
        self.assertGreater(len(lines), 50)
        text = "\n".join(lines)
        self.assertNotRegex(text, r"(?<![\d.])125([.]50?)?(?!\d)|(?<!\d)12550(?!\d)")


class TallyTests(SynchronousTestCase):
    """What is counted."""

    def test_bounded(self) -> None:
        """Callers cannot fill the memory: numbers that are no task's and too many combinations count together."""
        tally = Tally()
        for task in range(-5, MOST_SERIES * 2):
            tally.ended(77, False, task, task, 0.1)
        self.assertLessEqual(len(tally.tasks), MOST_SERIES + 1)
        self.assertEqual(sum(tally.tasks.values()), MOST_SERIES * 2 + 5)
        self.assertEqual({kind for kind, _, _ in tally.tasks}, {"other"})

    def test_durations(self) -> None:
        """A histogram adds up: each class holds those below it too, a bound belongs to its class."""
        durations = Durations()
        for seconds in (0.0, BOUNDS[0], 0.3, 9999.0):
            durations.add(seconds)
        page = Page()
        page.add_durations("dmtwisted_task_seconds", durations, {"kind": "pay"})
        told = samples(bytes(page))
        self.assertEqual(told['dmtwisted_task_seconds_bucket{kind="pay",le="0.001"}'], 2)
        self.assertEqual(told['dmtwisted_task_seconds_bucket{kind="pay",le="0.5"}'], 3)
        self.assertEqual(told['dmtwisted_task_seconds_bucket{kind="pay",le="+Inf"}'], 4)
        self.assertAlmostEqual(told['dmtwisted_task_seconds_sum{kind="pay"}'], 9999.301)


class WatchingFilesTests(SynchronousTestCase):
    """The board and the alert rules."""

    def names_in(self, text: str) -> set[str]:
        """The metrics that ``text`` names."""
        return set(NAME.findall(text))

    def test_board(self) -> None:
        """The board is JSON as Grafana imports it, and every metric that it shows exists."""
        board = json.loads((DOCS / "watching" / "grafana.json").read_text("utf-8"))
        asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
        self.assertGreater(len(asked), 15)
        self.assertLessEqual(self.names_in("\n".join(asked)), set(names()))
        ids = [panel["id"] for panel in board["panels"]]
        self.assertEqual(len(ids), len(set(ids)))

    def test_alerts(self) -> None:
        """Every metric of the rules exists, and the page for operators says of each alert what to do."""
        text = (DOCS / "watching" / "alerts.yml").read_text("utf-8")
        asked = re.findall(r"expr: '(.+)'", text)
        self.assertEqual(len(asked), text.count("- alert:"))
        self.assertLessEqual(self.names_in("\n".join(asked)), set(names()))
        page = (DOCS / "operating.md").read_text("utf-8")
        for name in re.findall(r"alert: (\w+)", text):
            self.assertIn(f"`{name}`", page)

    def test_documented(self) -> None:
        """The page for operators lists every metric."""
        page = (DOCS / "operating.md").read_text("utf-8")
        self.assertEqual([name for name in METRICS if f"`{name}`" not in page], [])
