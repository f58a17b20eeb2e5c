"""The clock of a service in training mode can be moved, so that rules about time can be tried."""

from __future__ import annotations

import json
from typing import Any

from dmtwisted.requests import MAX_BODY
from tests.shop import Shop
from tests.specification import promises
from tests.web_case import EXECUTE, HttpAnswer, WebCase, fiscal, sale
from web.site import Door

CLOCK = "/dm/api/v3/training/clock"
DAY = 24 * 3600
SHIFT_IS_OLD = 3003
BLOCKED = 1042
DEVICES = "/dm/api/v3/devices"


class TrainingClockTests(WebCase):
    """``GET`` and ``PUT /dm/api/v3/training/clock``"""

    def move(self, body: object) -> HttpAnswer:
        """The answer to a move of the clock."""
        return self.request("PUT", CLOCK, body)

    def moved(self, seconds: float) -> None:
        """Move the clock to ``seconds`` ahead of the machine's."""
        self.assertEqual(self.move({"offset_s": seconds}).status, 200)

    def warnings(self, answer: Any) -> list[int]:
        """The codes of the warnings in an answer, which must be a success."""
        self.assertEqual(answer["res"], 0)
        return [warning["code"] for warning in answer["warnings"]]

    def test_read(self) -> None:
        """The clock shows the machine's time until it is moved."""
        answer = self.request("GET", CLOCK)
        self.assertEqual((answer.status, answer.header("content-type")), (200, "application/json"))
        self.assertEqual((answer.json["offset_s"], answer.json["dt"]), (0, "20260921090000000"))

    def test_moved(self) -> None:
        """A moved clock is reported and runs on from there; another move counts from the machine's time."""
        answer = self.move({"offset_s": DAY + 0.5})
        self.assertEqual((answer.status, answer.json["dt"]), (200, "20260922090000500"))
        self.shop.clock.advance(60)
        self.assertEqual(self.request("GET", CLOCK).json["dt"], "20260922090100500")
        self.assertEqual(self.move({"offset_s": -3600}).json["dt"], "20260921080100000")
        self.assertEqual(self.move({"offset_s": 0}).json["dt"], "20260921090100000")

    def test_documents(self) -> None:
        """Receipts have the time of the moved clock, in all their forms."""
        self.moved(40 * DAY)
        self.open_shift()
        answer = self.sell()
        self.assertEqual(answer["dt"], "20261031080000000")
        self.assertEqual(answer["info"]["dt"], "20261031080000")
        self.assertEqual(answer["info"]["printinfo"]["dt"], "31-10-2026 08:00:00")
        self.assertEqual([entry.dt for entry in self.shop.ledger()], ["20261031080000"] * 2)

    def test_waiting(self) -> None:
        """Waits are not affected: 800 ms take 800 ms whatever the clock shows."""
        self.open_shift()
        self.shop.scenario({"on": "sale", "then": "accept", "delay_ms": 800})
        waiting = self.connect()
        waiting.ask("POST", EXECUTE, json.dumps(sale("t")).encode())
        self.moved(10 * DAY)
        self.assertEqual(waiting.answers(), [])
        self.shop.clock.advance(0.8)
        self.assertEqual([answer.json["res"] for answer in waiting.answers()], [0])

    @promises("2.3.warnings.1")
    def test_old_shift(self) -> None:
        """A shift that is open for more than 24 hours adds warning 3003 to every answer, until it is closed."""
        self.open_shift()
        self.moved(DAY)
        self.assertEqual(self.warnings(self.sell()), [])
        self.moved(DAY + 1)
        answers = [self.sell("late"), self.fiscal(3, cash={"type": 0, "sum": 5}), self.fiscal(18), self.fiscal(10)]
        self.assertEqual([self.warnings(answer) for answer in answers], [[SHIFT_IS_OLD]] * 4)
        self.assertEqual(self.fiscal(11)["res"], 0)
        self.assertEqual(self.warnings(self.fiscal(18)), [])
        self.open_shift()
        self.assertEqual(self.warnings(self.sell()), [])

    def offline(self, way: str) -> int:
        """Go ``offline`` or ``online``; the code of the answer."""
        dev_id = self.shop.core.devices.by_name("test").row.dev_id
        path = f"{DEVICES}/{dev_id}/go-{way}"
        return int(self.request("POST", path, {}).json["res"])

    @promises("8.offline.1")
    def test_blocked(self) -> None:
        """After more than 36 hours offline the tax service accepts all documents; 1042 until the month is over."""
        self.open_shift()
        self.assertEqual(self.offline("offline"), 0)
        self.moved(37 * 3600)
        self.assertEqual([self.sell()["res"], self.fiscal(11)["res"]], [1062, 0])
        self.assertEqual(self.offline("online"), 0)
        self.assertEqual(self.fiscal(0)["res"], BLOCKED)
        self.shop.crash()
        self.door = Door(self.shop.core)
        self.assertEqual(self.fiscal(0)["res"], BLOCKED)
        self.moved(9 * DAY)
        self.assertEqual(self.fiscal(0)["res"], BLOCKED)
        self.moved(10 * DAY)
        self.assertEqual([self.fiscal(0)["res"], self.sell()["res"]], [0, 0])

    def test_set_back_while_offline(self) -> None:
        """A clock that is set back while the register is offline does not keep it offline."""
        self.open_shift()
        self.assertEqual(self.offline("offline"), 0)
        self.moved(30 * 3600)
        self.assertEqual(self.sell()["info"]["dt"], "20260922150000")
        self.moved(0)
        self.assertEqual(self.sell()["info"]["dt"], "20260922150000")
        self.moved(31 * 3600)
        self.assertEqual(self.sell()["info"]["dt"], "20260922160000")
        self.moved(0)
        self.assertEqual(self.offline("online"), 0)
        self.assertEqual(self.sell()["info"]["dt"], "20260921090000")
        self.assertEqual(len(self.shop.ledger()), 5)

    def test_text_of_the_warning(self) -> None:
        """The warning has a text in the client's language."""
        self.open_shift()
        self.moved(2 * DAY)
        for language, letters in (("uk", "[а-яі]"), ("en", "[a-z]")):
            answer = self.execute(fiscal(18), headers=[("Accept-Language", language)])
            [warning] = answer["warnings"]
            self.assertEqual((warning["code"], type(warning["code"])), (SHIFT_IS_OLD, int))
            self.assertRegex(warning["wtxt"], letters)

    def test_restart(self) -> None:
        """After a restart the clock shows the machine's time."""
        self.moved(DAY)
        self.shop.crash()
        self.door = Door(self.shop.core)
        self.assertEqual(self.request("GET", CLOCK).json["offset_s"], 0)

    def test_bad_moves(self) -> None:
        """A move that is not a number, or leads outside the calendar, is 422 with its path and changes nothing."""
        offsets: tuple[object, ...] = ("5", None, [], True, 1e12, -1e12, 1e300)
        for offset in offsets:
            answer = self.move({"offset_s": offset})
            self.assertEqual((answer.status, answer.json["res"]), (422, 2000), offset)
            self.assertEqual([error["path"] for error in answer.json["errors"]], ["offset_s"])
        for body, path in (({}, "offset_s"), ({"offset_s": 1, "offset": 1}, "offset")):
            answer = self.move(body)
            self.assertEqual((answer.status, [error["path"] for error in answer.json["errors"]]), (422, [path]))
        self.assertEqual(self.fiscal(18)["dt"], "20260921090000000")

    def test_no_json(self) -> None:
        """A body that is not JSON, or too long, is 400."""
        for body in (b"", b"{", b"{" + b" " * MAX_BODY + b"}"):
            answer = self.move(body)
            self.assertEqual((answer.status, answer.json["res"]), (400, 2000))

    def test_other_methods(self) -> None:
        """Another method is 405, another path below it 404."""
        answer = self.request("POST", CLOCK, {"offset_s": 1})
        self.assertEqual((answer.status, answer.header("allow")), (405, "GET, PUT"))
        for path in ("/dm/api/v3/training", f"{CLOCK}/x"):
            self.assertEqual(self.request("GET", path).status, 404)

    def test_not_in_training(self) -> None:
        """A service that is not in training mode has no clock to move: 404, and its time is not changed."""
        self.shop = Shop(self, training=False)
        self.door = Door(self.shop.core)
        for method in ("GET", "PUT"):
            answer = self.request(method, CLOCK, {"offset_s": DAY})
            self.assertEqual((answer.status, answer.header("content-type")), (404, "application/json"))
        self.assertEqual(self.shop.core.clock.offset, 0)
