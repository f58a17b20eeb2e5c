"""Programs that get events, for pages and programs: ``/dm/api/v3/webhooks`` and its page."""

from __future__ import annotations

import json
from typing import Any

from tests.hook_desk import HOST, URL, HookShop, answer
from tests.web_case import JSON_TYPE, HttpAnswer, WebCase, sale
from web.site import Door

HOOKS = "/dm/api/v3/webhooks"
PAGE = "/dm/main/settings/webhooks"
EN = [("Accept-Language", "en")]
NEW = {"name": "accounts", "url": URL, "allow_local": HOST, "events": ["document.made"]}


class HookWebCase(WebCase):
    """A shop with receivers, over HTTP."""

    def setUp(self) -> None:
        """An open shift."""
        self.shop: HookShop = HookShop(self)
        self.receivers = self.shop.receivers
        self.door = Door(self.shop.core)
        self.open_shift()

    def ask(self, method: str, path: str = "", body: object = None) -> HttpAnswer:
        """The answer to a request that may have to wait for a receiver."""
        connection = self.connect()
        connection.ask(method, HOOKS + path, b"" if body is None else json.dumps(body).encode(), [*EN, JSON_TYPE])
        for _ in range(200):
            self.receivers.flush()
            found = connection.answers()
            if found:
                return found[0]
            self.shop.clock.advance(0.1)
        raise AssertionError("no answer")

    def add(self, **members: Any) -> Any:
        """A new subscriber."""
        made = self.ask("POST", "", {**NEW, **members})
        self.assertEqual(made.status, 201, made.body)
        self.shop.post()
        return made.json

    def one(self) -> Any:
        """The only subscriber."""
        [one] = self.ask("GET").json["webhooks"]
        return one


class SubscriberTests(HookWebCase):
    """Subscribers."""

    def test_life(self) -> None:
        """A subscriber is added, which shows its secret once, changed, gets a new secret, and is deleted."""
        made = self.add(events=["document.made"], devices=[self.dev_id])
        self.assertRegex(made["secret"], r"^whsec_[A-Za-z0-9+/]{43}=$")
        one = self.one()
        self.assertNotIn(made["secret"].encode(), self.ask("GET").body)
        self.assertEqual(
            (one["name"], one["url"], one["enabled"], one["events"]), ("accounts", URL, True, ["document.made"])
        )
        self.execute(sale("a"))
        self.shop.post()
        self.assertTrue(self.receivers.got[0].signed_with(made["secret"]))
        self.assertEqual(len(self.one()["told"]), 17)
        changed = self.ask("PATCH", f"/{made['id']}", {"name": "books", "enabled": False})
        self.assertEqual((changed.json["name"], changed.json["enabled"], changed.json["url"]), ("books", False, URL))
        rotated = self.ask("POST", f"/{made['id']}/rotate", {}).json
        self.assertNotEqual(rotated["secret"], made["secret"])
        self.assertEqual(self.one()["old_until"], rotated["old_until"])
        self.assertEqual(self.ask("DELETE", f"/{made['id']}").status, 204)
        self.assertEqual(self.ask("GET").json["webhooks"], [])

    def test_refused(self) -> None:
        """What is invalid is refused with the member's name; an unknown subscriber is 404."""
        for members, path in (
            ({"url": "http://accounts.example/", "allow_local": ""}, "url"),
            ({"url": "nowhere"}, "url"),
            ({"allow_local": "not a host!"}, "allow_local"),
            ({"name": " "}, "name"),
            ({"devices": ["nobody"]}, "devices"),
            ({"events": ["document.eaten"]}, "events[0]"),
            ({"ca": "x"}, "ca"),
            ({"secret": "x"}, "secret"),
        ):
            refused = self.ask("POST", "", {**NEW, **members})
            self.assertEqual((refused.status, refused.json["errors"][0]["path"]), (422, path), members)
        told = self.request("POST", HOOKS, {**NEW, "url": "nowhere"}, headers=[("Accept-Language", "uk")]).json
        self.assertIn("очікується адреса на зразок https://host:port/path", told["errortxt"])
        for method, path, body in (
            ("PATCH", "/x", {"name": "y"}),
            ("DELETE", "/x", None),
            ("POST", "/x/rotate", {}),
            ("POST", "/x/test", {}),
            ("GET", "/x/dead", None),
            ("POST", "/x/dead/retry", {}),
            ("POST", "/x/dead/1/retry", {}),
            ("DELETE", "/x/dead/1", None),
        ):
            self.assertEqual(self.ask(method, path, body).status, 404, path)

    def test_test(self) -> None:
        """A test shows the receiver's answer, or why there is none; the answer is cut after 4 KB."""
        id = self.add()["id"]
        self.receivers.answers[HOST] = [answer(200, b"thanks" * 2000), answer(500, b"<b>oops</b>")]
        tested = self.ask("POST", f"/{id}/test", {}).json
        self.assertEqual((tested["taken"], tested["status"], tested["why"]), (True, 200, ""))
        self.assertEqual((len(tested["answer"]), tested["answer"][:6]), (4096, "thanks"))
        self.assertEqual(self.receivers.got[-1].event["type"], "webhook.test")
        tested = self.ask("POST", f"/{id}/test", {}).json
        self.assertEqual((tested["taken"], tested["status"], tested["answer"]), (False, 500, "<b>oops</b>"))
        self.receivers.away.add(HOST)
        tested = self.ask("POST", f"/{id}/test", {}).json
        self.assertEqual((tested["taken"], tested["status"]), (False, 0))
        self.assertIn("the receiver is not reached: ", tested["why"])
        self.assertIn("refused", tested["why"])

    def test_failing(self) -> None:
        """While a receiver takes nothing, the list and the page say what waits, since when and why."""
        self.add()
        self.receivers.always[HOST] = answer(503, b"")
        self.execute(sale("a"))
        self.shop.post()
        one = self.one()
        self.assertEqual((one["waiting"], one["more"], one["why"]), (1, False, "the receiver answered 503"))
        for member in ("waiting_since", "failing_since", "next"):
            self.assertEqual(len(one[member]), 17, member)
        page = self.request("GET", PAGE, headers=EN).body.decode()
        for shown in ("accounts", f"http://{HOST}:8080", "the receiver answered 503", "takes nothing", "next try"):
            self.assertIn(shown, page)
        self.assertNotIn("8080/events", page)
        self.assertIn("не приймає", self.request("GET", f"{PAGE}?lang=uk").body.decode())

    def test_dead(self) -> None:
        """What was never taken is listed, sent again, one or all, and removed."""
        id = self.add()["id"]
        self.receivers.always[HOST] = answer(500)
        for tag in "abc":
            self.execute(sale(tag))
        self.shop.post(3.5 * 86_400, 900)
        dead = self.ask("GET", f"/{id}/dead").json["dead"]
        self.assertEqual(
            (dead[0]["type"], dead[0]["device"], dead[0]["why"]),
            ("document.made", "test", "the receiver answered 500"),
        )
        self.assertEqual((self.one()["dead"], len(dead)), (3, 3))
        # It fails no more: nothing waits for it.
        self.assertEqual((self.one()["waiting"], self.one()["why"], self.one()["failing_since"]), (0, "", ""))
        page = self.request("GET", PAGE, headers=EN).body.decode()
        self.assertIn(f'data-n="{dead[0]["n"]}"', page)
        self.receivers.always.clear()
        self.receivers.got.clear()
        self.ask("POST", f"/{id}/dead/{dead[1]['n']}/retry", {})
        self.shop.post()
        self.assertEqual([one.event["data"]["tag"] for one in self.receivers.got], ["b"])
        self.assertEqual(self.ask("DELETE", f"/{id}/dead/{dead[0]['n']}").status, 204)
        self.ask("POST", f"/{id}/dead/retry", {})
        self.shop.post()
        self.assertEqual([one.event["data"]["tag"] for one in self.receivers.got], ["b", "c"])
        self.assertEqual(self.ask("GET", f"/{id}/dead").json["dead"], [])
