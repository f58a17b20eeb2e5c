"""Tasks whose caller does not wait: 202, a place to ask, and the answer that any caller would have got."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

from tests.web_case import EXECUTE, JSON_TYPE, HttpAnswer, WebCase, fiscal, sale
from web import waiting
from web.waiting import KEPT_S

LATER = ("Prefer", "respond-async")
SLOW = {"on": "sale", "then": "accept", "delay_ms": 3000}


class Waiting(WebCase):
    """A till that does not wait."""

    def setUp(self) -> None:
        """An open shift and a tax service that takes three seconds for a sale."""
        super().setUp()
        self.open_shift()
        self.shop.scenario(SLOW)

    def later(self, body: object, *wishes: str, path: str = EXECUTE) -> HttpAnswer:
        """The first answer to a task that is sent with these wishes."""
        return self.request("POST", path, body, [("Prefer", wish) for wish in wishes or ("respond-async",)])

    def begun(self, tag: str = "a-1") -> str:
        """The place of a sale that is under way."""
        answer = self.later(sale(tag))
        self.assertEqual(answer.status, 202)
        place = answer.header("location")
        assert place is not None
        return place

    def asked(self, place: str) -> HttpAnswer:
        """What is at a place now."""
        return self.request("GET", place)

    def test_place(self) -> None:
        """The caller hears at once where the answer will be, and gets it there as often as it asks."""
        answer = self.later(sale("a-1"))
        place = answer.header("location") or ""
        self.assertEqual((answer.status, answer.json), (202, {"status": "running", "answer": place}))
        self.assertEqual(answer.header("preference-applied"), "respond-async")
        early = self.asked(place)
        self.assertEqual((early.status, early.header("retry-after")), (202, "1"))
        self.shop.clock.pump([1.0] * 4)
        first, second = self.asked(place), self.asked(place)
        self.assertEqual((first.status, first.json["res"], first.json["tag"]), (200, 0, "a-1"))
        self.assertEqual(first.body, second.body)
        self.assertEqual(first.header("x-request-id"), answer.header("x-request-id"))
        self.assertEqual(len(self.shop.ledger(kind="sale")), 1)

    def test_same_answer(self) -> None:
        """It is the answer that a caller who waits gets, byte for byte, repeated tags included."""
        place = self.begun()
        self.shop.clock.pump([1.0] * 4)
        told = self.asked(place).json
        repeated = self.sell("a-1")
        self.assertEqual({**told, "task_status": 2, "warnings": repeated["warnings"]}, repeated)
        self.assertEqual(len(self.shop.ledger(kind="sale")), 1)

    def test_wait(self) -> None:
        """Who grants some seconds gets the answer itself when it comes in time, else the place."""
        for wishes in (("respond-async, wait=5",), ("respond-async", 'wait="5"'), ("wait=5; respond-async",)):
            self.shop.scenario(SLOW)
            connection = self.connect()
            connection.ask("POST", EXECUTE, _json(sale()), [JSON_TYPE, *(("Prefer", wish) for wish in wishes)])
            self.assertEqual(connection.answers(), [])
            self.shop.clock.pump([1.0] * 4)
            [answer] = connection.answers()
            self.assertEqual((answer.status, answer.json["res"]), (200, 0), wishes)
        self.shop.scenario(SLOW)
        connection = self.connect()
        connection.ask("POST", EXECUTE, _json(sale()), [JSON_TYPE, ("Prefer", "respond-async, wait=2")])
        self.shop.clock.pump([1.0] * 2)
        [answer] = connection.answers()
        self.assertEqual(answer.status, 202)

    def test_long_polling(self) -> None:
        """A question waits for as long as it says, and ends with the task."""
        place = self.begun()
        for wish in ([("Prefer", "wait=30")], []):
            connection = self.connect()
            connection.ask("GET", place if wish else f"{place}&wait=1", headers=wish)
            self.assertEqual(connection.answers(), [])
            self.shop.clock.advance(1.0)
            if wish:
                patient = connection
            else:
                [answer] = connection.answers()
                self.assertEqual(answer.status, 202)
        self.shop.clock.pump([1.0] * 2)
        [answer] = patient.answers()
        self.assertEqual((answer.status, answer.json["res"]), (200, 0))

    def test_no_wait_without_number(self) -> None:
        """A wish that is no number of seconds is no wish."""
        for wish in ("wait=soon", "wait=", "wait=-1", "wait=1.5"):
            self.assertEqual(self.later(fiscal(18), f"respond-async, {wish}").status, 200)
        self.assertEqual(self.later(sale(), "respond-async, wait=soon").status, 202)

    def test_quick_task(self) -> None:
        """A task that ends at once is answered at once: there is nothing to wait for."""
        answer = self.later(fiscal(18))
        self.assertEqual((answer.status, answer.json["res"]), (200, 0))

    def test_other_wishes(self) -> None:
        """Other preferences leave the caller waiting."""
        connection = self.connect()
        connection.ask("POST", EXECUTE, _json(sale()), [JSON_TYPE, ("Prefer", "return=minimal, wait=1")])
        self.shop.clock.advance(2.0)
        self.assertEqual(connection.answers(), [])

    def test_caller_gone(self) -> None:
        """A caller who hangs up while it waits loses nothing: the task goes on, and its answer waits."""
        connection = self.connect()
        connection.ask("POST", EXECUTE, _json(sale("a-1")), [JSON_TYPE, ("Prefer", "respond-async, wait=5")])
        connection.hang_up()
        self.shop.clock.pump([1.0] * 4)
        self.assertEqual(len(self.shop.ledger(kind="sale")), 1)
        self.assertEqual(self.sell("a-1")["task_status"], 2)

    def test_unheard(self) -> None:
        """A receipt whose answer nobody fetches counts as unheard: the next sale is told of it."""
        place = self.begun()
        self.shop.clock.pump([1.0] * 4)
        self.assertNotIn("3004", str(self.sell("a-2").get("warnings")))
        self.shop.clock.pump([60.0] * 11)
        self.assertEqual(self.asked(place).status, 404)
        self.assertIn("3004", str(self.sell("a-3").get("warnings")))

    def test_heard(self) -> None:
        """A receipt whose answer was fetched is heard."""
        place = self.begun()
        self.shop.clock.pump([1.0] * 4)
        self.asked(place)
        self.shop.clock.pump([60.0] * 11)
        self.assertNotIn("3004", str(self.sell("a-3").get("warnings")))

    def test_unknown_place(self) -> None:
        """An unknown place says that the tag tells; so does the place of another endpoint."""
        place = self.begun()
        self.shop.clock.pump([1.0] * 4)
        for wrong in (f"{EXECUTE}?answer=nothing", place.replace("execute", "execute-pkg"), f"{EXECUTE}?answer="):
            answer = self.asked(wrong)
            self.assertEqual(answer.status, 404, wrong)
            self.assertIn("tag", answer.json["errortxt"])
        self.shop.clock.advance(KEPT_S - 2)
        self.assertEqual(self.asked(place).status, 200)
        self.shop.clock.advance(10)
        self.assertEqual(self.asked(place).status, 404)

    def test_full(self) -> None:
        """With too many under way the caller waits like any other; the oldest answers give way first."""
        self.shop.add("second")
        for name in ("test", "second"):
            self.execute({**fiscal(0), "device": name})
            self.shop.scenario({**SLOW, "times": 3}, device=name)
        with patch.object(waiting, "MOST_PLACES", 1):
            place = self.begun("a-1")
            connection = self.connect()
            connection.ask("POST", EXECUTE, _json({**sale("a-2"), "device": "second"}), [JSON_TYPE, LATER])
            self.assertEqual(connection.answers(), [])
            self.shop.clock.pump([1.0] * 4)
            [answer] = connection.answers()
            self.assertEqual((answer.status, answer.json["res"]), (200, 0))
            newest = self.begun("a-3")
            self.assertEqual([self.asked(each).status for each in (place, newest)], [404, 202])

    def test_bytes(self) -> None:
        """Answers that are too much together give way, the oldest first."""
        place = self.begun()
        self.shop.clock.pump([1.0] * 4)
        with patch.object(waiting, "MOST_BYTES", 10):
            self.assertEqual(self.asked(place).status, 404)

    def test_forgotten(self) -> None:
        """What nobody fetches goes by itself, and what was answered at once is not kept."""
        self.later(fiscal(18))
        self.begun()
        places: Any = self.door.exact[EXECUTE.encode()]
        self.assertEqual(len(places._places._places), 1)
        self.shop.clock.pump([60.0] * 25)
        self.assertEqual(len(places._places._places), 0)

    def test_refusals_too(self) -> None:
        """A refusal waits at the place like any other answer."""
        self.shop.scenario({**SLOW, "then": "refuse"})
        place = self.begun()
        self.shop.clock.pump([1.0] * 4)
        answer = self.asked(place)
        self.assertEqual(answer.status, 200)
        self.assertNotEqual(answer.json["res"], 0)

    def test_methods(self) -> None:
        """Without the name of a place GET is refused as ever, and a browser page may ask with the wish."""
        self.assertEqual(self.request("GET", EXECUTE).status, 405)
        asked = [("Origin", "https://shop.example"), ("Access-Control-Request-Headers", "prefer")]
        preflight = self.request("OPTIONS", EXECUTE, headers=asked)
        self.assertIn("prefer", preflight.header("access-control-allow-headers") or "")
        self.assertIn("location", self.later(sale()).header("access-control-expose-headers") or "")


def _json(body: Any) -> bytes:
    return json.dumps(body).encode()
