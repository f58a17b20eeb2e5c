"""Nothing that a program sends is ignored in silence: it is warned of and counted."""

from __future__ import annotations

import json
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.cloud import CloudTasks
from dmtwisted.programs import EVERY, FORGOTTEN_AFTER, LONGEST_SOURCE, MOST_NAMES, MOST_PROGRAMS, OTHERS, ROW, Program
from dmtwisted.requests import read_json, read_task
from dmtwisted.store.values import StoreFailed
from tests.shop import Shop, sale
from web.openapi.tasks import ALL

MISSPELLED = {"name": "x", "cnt": 1, "price": 5, "prise": 5, "taxgrp": 2}


class ProgramCase(SynchronousTestCase):
    """A shop with an open shift."""

    training = True

    def setUp(self) -> None:
        self.shop = Shop(self, warns=True, training=self.training)
        self.shop.open_shift()

    def set(self, **changes: Any) -> None:
        """Change settings of the service."""
        self.successResultOf(Deferred.fromCoroutine(self.shop.core.settings.change(changes)))

    def send(self, source: str = "till", language: str = "en", **members: Any) -> dict[str, Any]:
        """The answer to a sale of a misspelled row."""
        receipt = {"sum": 5, "rows": [MISSPELLED], "pays": [{"type": 0, "sum": 5}]}
        body = {"device": "test", "type": 1, "source": source, "fiscal": {"task": 1, "receipt": receipt}, **members}
        return self.shop.ask(body, language)

    def warned(self, **members: Any) -> list[tuple[int, str]]:
        """The warnings of that answer."""
        return [(one["code"], one["wtxt"]) for one in self.send(**members)["warnings"]]

    def kept(self) -> dict[str, Program]:
        """What is counted of each program."""
        return self.successResultOf(Deferred.fromCoroutine(self.shop.core.dispatcher.programs.all()))

    def ignored(self) -> dict[str, int]:
        """What is counted as ignored of the till."""
        return self.kept()["till"].ignored


PRISE = (2000, "fiscal.receipt.rows[0].prise: ignored, did you mean price?")


class WarningTests(ProgramCase):
    """Warnings in answers."""

    def test_nearest_name(self) -> None:
        """In training mode an unknown member is warned of, with its path and the nearest name, in one language."""
        self.assertEqual(self.warned(), [PRISE])
        self.assertEqual(
            self.warned(language="uk"), [(2000, "fiscal.receipt.rows[0].prise: пропущено, можливо, це price?")]
        )

    def test_words(self) -> None:
        """A member of another task, one with a meaning elsewhere, and one that resembles nothing, in their words."""
        for name, value, said in (
            ("skipprint", True, "skipprint: ignored, the task does not use it here"),
            ("pays", [{"type": 0}], "pays: ignored, the task does not use it here"),
            ("dev_id", "prn", "dev_id: ignored, the printer is named in the address: ?dev_id=name"),
            ("zzzzzz", 1, "zzzzzz: ignored, there is no such member"),
            ("Device", "x", "Device: ignored, did you mean device?"),
        ):
            self.assertEqual(self.warned(**{name: value})[0], (2000, said))

    def test_in_a_refusal(self) -> None:
        """A refusal is warned, too: the misspelled name may be its reason."""
        receipt = {"sum": 5, "rows": [{"name": "x", "cnt": 1, "prise": 5}], "pays": [{"type": 0, "sum": 5}]}
        answer = self.send(fiscal={"task": 1, "receipt": receipt})
        self.assertEqual(answer["res"], 1107)
        self.assertEqual([one["wtxt"] for one in answer["warnings"]], [PRISE[1]])

    def test_of_a_repeat(self) -> None:
        """A repeat is warned as the first time was; the stored answer has no such warning."""
        for status in (1, 2):
            answer = self.send(tag="t")
            self.assertEqual((answer["task_status"], len(answer["warnings"])), (status, 1))
        self.assertEqual(self.shop.look_up("t")["warnings"], [])

    def test_settings(self) -> None:
        """The setting switches the warnings on and off; listed members are not warned of."""
        self.set(warn_unknown="never")
        self.assertEqual(self.warned(), [])
        self.set(warn_unknown="always")
        self.assertEqual(self.warned(), [PRISE])
        for listed in ("prise", "other, prise", "fiscal.receipt.rows[].prise"):
            self.set(known_members=listed)
            self.assertEqual(self.warned(), [], listed)
        self.set(known_members="rows[].prise price")
        self.assertEqual(self.warned(), [PRISE])

    def test_of_every_device(self) -> None:
        """Terminals and printers warn as registers do; for printers also in the lines."""
        shop = Shop(self, whole=True, warns=True)

        def said(body: dict[str, Any]) -> list[str]:
            due = shop.asked(body, "en")
            shop.clock.pump([0.1] * 50)
            return [one["wtxt"] for one in json.loads(self.successResultOf(due))["warnings"]]

        self.assertEqual(
            said({"device": "prn", "type": 2, "doc": {"lines": [{"t": "x", "bald": True}], "cut": 1}}),
            ["doc.cut: ignored, there is no such member", "doc.lines[0].bald: ignored, did you mean bold?"],
        )
        self.assertEqual(
            said({"device": "pos", "type": 3, "pay": {"task": 1, "sum": 5, "refundid": "7"}}),
            ["pay.refundid: ignored, the task does not use it here"],
        )


class ExampleTests(SynchronousTestCase):
    """The requests of the documentation."""

    def test_nothing_is_ignored(self) -> None:
        """Every member of every example is used by its task."""
        for task in ALL:
            root = read_json(json.dumps(task.body).encode())
            read_task(root, batch=task.path.endswith("pkg"))
            self.assertEqual(root.strays, {}, task.key)


class UsualTests(ProgramCase):
    """A service that is not in training mode."""

    training = False

    def test_quiet(self) -> None:
        """Without training mode answers do not warn until the setting says so; what is ignored is counted anyway."""
        self.assertEqual(self.warned(), [])
        self.assertEqual(self.ignored(), {"fiscal.receipt.rows[].prise": 1})
        self.set(warn_unknown="always")
        self.assertEqual(self.warned(), [PRISE])


class CountTests(ProgramCase):
    """What is counted of each program."""

    def test_everything(self) -> None:
        """Tasks, refusals, repeats, missing tags, tags used for something else, and ignored members, by source."""
        self.send(tag="t")
        self.send(tag="t")
        self.send()
        self.shop.ask(
            {"device": "test", "type": 1, "source": "till", "tag": "t", "fiscal": {"task": 1, "receipt": sale(9)}}
        )
        self.shop.ask({"device": "nobody", "type": 1, "source": "till", "fiscal": {"task": 10}})
        self.shop.ask(b'{"source": "till", "type": {}}')
        self.send("other")
        kept = self.kept()
        till = kept["till"]
        self.assertEqual(till.tasks, {"fiscal 1": 4, "fiscal 10": 1, "lookup -1": 1})
        self.assertEqual(till.refused, {"1091": 1, "2000": 1})
        self.assertEqual((till.repeated, till.untagged, till.other_content), (2, 1, 1))
        self.assertEqual(till.ignored, {"fiscal.receipt.rows[].prise": 3})
        self.assertEqual(kept["other"].tasks, {"fiscal 1": 1})
        self.assertEqual((till.since, till.last), (kept["other"].since, kept["other"].last))

    def test_cloud(self) -> None:
        """A program for a cloud cabinet whose token no register has is counted as refused."""
        core = self.shop.core
        cloud = CloudTasks(core.devices, core.dispatcher, core.clock)
        body = b'{"source": "till", "fiscal": {"task": 1}}'
        self.successResultOf(Deferred.fromCoroutine(cloud.execute(body, "uk", "Bearer nobody-has-this-token")))
        self.assertEqual(self.kept()["till"].refused, {"1083": 1})

    def test_listed(self) -> None:
        """Members that are listed as known are not counted."""
        self.set(known_members="prise")
        self.send()
        self.assertEqual(self.ignored(), {})

    def test_kept_in_steps(self) -> None:
        """A task costs no call of the store; the counts are kept within a minute and when the service stops."""
        asked: list[str] = []
        change = self.shop.store.change_settings

        async def note(changes: dict[str, bytes]) -> None:
            asked.extend(changes)
            await change(changes)

        self.patch(self.shop.store, "change_settings", note)
        self.send()
        self.shop.clock.advance(EVERY - 1)
        self.shop.clock.advance(1)
        self.assertEqual(asked, [ROW])
        self.shop.clock.advance(EVERY)
        self.assertEqual(asked, [ROW])
        self.send()
        self.shop.crash()
        self.assertEqual(self.ignored(), {"fiscal.receipt.rows[].prise": 1})
        self.send()
        self.successResultOf(Deferred.fromCoroutine(self.shop.core.dispatcher.programs.stop()))
        self.shop.crash()
        self.assertEqual(self.ignored(), {"fiscal.receipt.rows[].prise": 2})

    def test_store_fails(self) -> None:
        """A step that fails is counted once, whether it happened or not, and fails no task."""
        change = self.shop.store.change_settings
        for happens in (False, True):

            async def fail(changes: dict[str, bytes], happens: bool = happens) -> None:
                if happens:
                    await change(changes)
                raise StoreFailed("the disk is full")

            patch = self.patch(self.shop.store, "change_settings", fail)
            self.send()
            self.shop.clock.advance(EVERY)
            self.send()
            patch.restore()
            self.shop.clock.advance(EVERY)
        self.assertEqual(self.ignored(), {"fiscal.receipt.rows[].prise": 4})

    def test_limits(self) -> None:
        """Programs and names beyond the limit are counted together; long and unprintable sources are cut."""
        for n in range(MOST_PROGRAMS + 5):
            self.send(f"till {n}")
        for n in range(MOST_NAMES + 5):
            self.send("till 1", "en", **{f"strange{n}": 1})
        self.send("x" * 1000)
        kept = self.kept()
        self.assertEqual(len(kept), MOST_PROGRAMS + 1)
        self.assertGreaterEqual(kept[OTHERS].tasks["fiscal 1"], 5)
        self.assertEqual(len(kept["till 1"].ignored), MOST_NAMES + 1)
        self.shop.clock.advance(FORGOTTEN_AFTER / 1000 + 1)
        self.send("x" * 1000)
        self.send("a\x1b[31m 5555555555554444")
        self.assertEqual(set(self.kept()), {"x" * LONGEST_SOURCE, "a?[31m 555555******4444"})

    def test_damaged(self) -> None:
        """Counts that cannot be read begin anew, and the log says so."""
        store = self.shop.store
        self.successResultOf(Deferred.fromCoroutine(store.change_settings({ROW: b"half"})))
        self.send()
        self.assertEqual(self.ignored(), {"fiscal.receipt.rows[].prise": 1})

    def test_both_services(self) -> None:
        """Two services on one database add to the same counts."""
        self.send()
        self.kept()
        before = json.loads(self.successResultOf(Deferred.fromCoroutine(self.shop.store.settings()))[ROW])
        before["till"]["ignored"]["fiscal.receipt.rows[].prise"] += 10
        row = json.dumps(before).encode()
        self.successResultOf(Deferred.fromCoroutine(self.shop.store.change_settings({ROW: row})))
        self.send()
        self.assertEqual(self.ignored(), {"fiscal.receipt.rows[].prise": 12})
