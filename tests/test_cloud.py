"""``POST /api/v3/fiscal/execute``: programs that were written for a cloud cabinet."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any
from zipfile import ZipFile

from dmtwisted.config import ServerConfig
from dmtwisted.devices.devices import register_settings
from tests.specification import promises
from tests.test_sessions import DRIVERS, KEYS, AccessCase
from tests.web_case import DEVICES, EXECUTE, Headers, HttpAnswer, sale
from web.cloud import PATH

CLOUD = PATH.decode()
TOKEN = "m5wItBxX8jghcVwTEkGd_of-the-test"
EN = ("Accept-Language", "en")


def cloudy(tag: str = "", **members: object) -> dict[str, Any]:
    """A sale as such programs send it: neither `device` nor `type`."""
    body: dict[str, Any] = {"source": "shop", "userinfo": {"email": "a@b.example"}, "fiscal": sale()["fiscal"]}
    return {**body, **({"tag": tag} if tag else {}), **members}


class CloudCase(AccessCase):
    """A training register with a token."""

    def setUp(self) -> None:
        """Set it as a person does."""
        super().setUp()
        self.shop.settings("test", cloud_token=TOKEN)

    def cloud(self, body: object, token: str = TOKEN, headers: Headers = ()) -> HttpAnswer:
        """The answer to a request with the token in the header that such programs use."""
        return self.request("POST", CLOUD, body, [*([("Authorization", token)] if token else []), EN, *headers])

    def done(self, body: object, token: str = TOKEN) -> Any:
        """The decoded answer; HTTP 200 and JSON, as every task is answered."""
        answer = self.cloud(body, token)
        self.assertEqual((answer.status, answer.header("content-type")), (200, "application/json"))
        return answer.json


class TaskTests(CloudCase):
    """The same task as at ``/dm/execute``."""

    def test_sale(self) -> None:
        """A sale is done on the register of the token; its shift is opened for it, as a cabinet does."""
        answer = self.done(cloudy("order 7", device="4000999999"))
        self.assertEqual(
            [answer[name] for name in ("res", "device", "type", "task", "tag", "source", "task_status")],
            [0, "test", 1, 1, "order 7", "shop", 1],
        )
        self.assertEqual([entry.kind for entry in self.shop.ledger()], ["open", "sale"])
        self.assertEqual(self.done(cloudy("order 8"))["info"]["docno"], "3")

    def test_repeat(self) -> None:
        """A tag is sold once, whichever endpoint repeats or looks it up."""
        sold = cloudy("order 7")
        del sold["userinfo"]
        first = self.done(sold)
        self.assertEqual(self.done(sold), {**first, "task_status": 2})
        self.assertEqual(self.done({"tag": "order 7", "source": "shop"}), {**first, "task_status": 2})
        again = self.execute({**sale("order 7"), "source": "shop"})
        self.assertEqual((again["task_status"], again["info"]), (2, first["info"]))
        self.assertEqual(len(self.shop.ledger(kind="sale")), 1)

    def test_where_the_token_is(self) -> None:
        """In the header as it is or after `Bearer`, or in the body, which goes before the header."""
        status = {"fiscal": {"task": 18}}
        for header, member in (
            (TOKEN, {}),
            (f"Bearer {TOKEN}", {}),
            ("", {"token": TOKEN}),
            ("old", {"token": TOKEN}),
        ):
            self.assertEqual(self.done({**status, **member}, header)["res"], 0, (header, member))
        self.assertEqual(self.done({**status, "token": "x" * 20})["res"], 1083)
        body = b"\xef\xbb\xbf" + json.dumps(status).encode()
        self.assertEqual(self.done(body)["info"]["shift_status"], 0)

    def test_type(self) -> None:
        """A `type` in the body stands; one that a register does not take is refused as elsewhere."""
        self.assertEqual(self.done({"type": "1", "fiscal": {"task": 18}})["res"], 0)
        self.assertEqual(self.done({"type": 0, "tag": "t", "fiscal": {"task": 1}})["res"], 1058)
        self.assertEqual(self.done({"type": 3, "pay": {"task": 1}})["res"], 2000)
        self.assertEqual(self.done({"tag": "none"})["res"], 1058)

    def test_malformed(self) -> None:
        """What is wrong with a body is said as at the other endpoints."""
        for body in (b"{", b"[]", b"{}", b'{"fiscal": 5}', b'{"fiscal": {"task": []}}'):
            self.assertEqual(self.done(body)["res"], 1058 if body == b"{}" else 2000, body)

    def test_reports_open_nothing(self) -> None:
        """Only a task that makes a document opens the shift, and only one that the shift alone is missing for."""
        self.assertNotEqual(self.done({"fiscal": {"task": 10}})["res"], 0)
        self.assertEqual(self.done({"fiscal": {"task": 11}})["res"], 1006)
        self.assertEqual(self.shop.ledger(), [])
        self.assertEqual(self.done(cloudy(fiscal={"task": 1, "receipt": {"sum": 5}}))["res"], 1097)

    def test_opening_fails(self) -> None:
        """A shift that cannot be opened is answered with that reason, under the caller's tag; a repeat sells."""
        rules = [{"on": "open", "then": "refuse", "code": "1044"}]
        self.shop.scenario(*rules)
        answer = self.done(cloudy("order 7"))
        self.assertEqual([answer[name] for name in ("res", "tag", "task", "task_status")], [1044, "order 7", 1, 3])
        self.assertEqual(self.done(cloudy("order 7"))["res"], 0)
        self.assertEqual(len(self.shop.ledger(kind="sale")), 1)


class TokenTests(CloudCase):
    """The token as a credential and as a secret."""

    def test_unknown(self) -> None:
        """Without a register's token nothing is done: 1083 in the shape of a task, and the log has no token."""
        log = self.logged()
        for token in ("", "no register has this one", TOKEN[:-1], TOKEN + "x", "токен-якого-немає"):
            answer = self.done(cloudy("order 7"), token)
            self.assertEqual(
                [
                    answer[name]
                    for name in ("res", "res_action", "task_status", "tag", "source", "type", "task", "info")
                ],
                [1083, 3, 3, "order 7", "shop", 1, 1, {}],
            )
            self.assertIn("cloud_token", answer["errortxt"])
        self.shop.settings("test", cloud_token="")
        self.assertEqual([self.done(cloudy(), token)["res"] for token in ("", TOKEN)], [1083, 1083])
        self.assertEqual(self.shop.ledger(), [])
        self.assertNotIn(TOKEN[:-1], log.getvalue())

    def test_secret(self) -> None:
        """It is stored sealed and leaves the service nowhere; a log at debug level does not have it."""
        log, dispatcher, passed = self.logged(), self.shop.core.dispatcher, list[bytes]()
        execute = dispatcher.execute

        def noted(body: bytes, *more: Any) -> Any:
            passed.append(body)
            return execute(body, *more)

        self.patch(dispatcher, "execute", noted)
        self.done(cloudy("order 7"))
        self.done({"token": TOKEN, **cloudy("order 8")}, "")
        self.assertNotIn(TOKEN.encode(), b"".join(passed))
        paths = (
            DEVICES,
            f"{DEVICES}/{self.dev_id}",
            f"/dm/main/api/v1/prro?dev_id={self.dev_id}",
            "/dm/main/settings",
        )
        for path in (*paths, f"/dm/devices/{self.dev_id}", "/dm/api/v3/diagnostics", "/dm/api/v3/operations"):
            self.assertNotIn(TOKEN.encode(), self.request("GET", path).body, path)
        page = self.request("GET", f"/dm/devices/{self.dev_id}").body
        self.assertIn(b'cloud_token" data-control="password"', page)
        with ZipFile(BytesIO(self.request("GET", "/dm/api/v3/diagnostics").body)) as bundle:
            for name in bundle.namelist():
                self.assertNotIn(TOKEN.encode(), bundle.read(name), name)
        row = self.shop.core.devices.by_name("test").row
        self.assertIn(b"cloud_token", row.settings)
        self.assertNotIn(TOKEN.encode(), row.settings)
        self.assertNotIn(TOKEN, log.getvalue())
        self.shop.crash()
        self.assertEqual(register_settings(self.shop.core.devices.by_name("test")).cloud_token, TOKEN)

    def test_names_one_register(self) -> None:
        """Two registers cannot have the same token, and a token is long; the register itself may send it again."""
        other = {"device": "bar", "kind": "register", "driver": "training", "settings": {"cloud_token": TOKEN}}
        for settings in (
            {"cloud_token": TOKEN},
            {"cloud_token": "short"},
            {"cloud_token": "with blanks in the middle"},
        ):
            answer = self.request("POST", DEVICES, {**other, "settings": settings})
            self.assertEqual((answer.status, answer.json["errors"][0]["path"]), (422, "settings.cloud_token"))
            self.assertNotIn(TOKEN.encode(), answer.body)
        other["settings"] = {"cloud_token": "another" * 4}
        bar = self.request("POST", DEVICES, other).json["dev_id"]
        change = self.request("PATCH", f"{DEVICES}/{bar}", {"settings": {"cloud_token": TOKEN}})
        self.assertEqual(change.status, 422)
        self.shop.settings("test", cloud_token=TOKEN)
        self.assertEqual(self.done({"fiscal": {"task": 18}}, "another" * 4)["device"], "bar")
        self.request("DELETE", f"{DEVICES}/{bar}")
        self.assertEqual(self.done({"fiscal": {"task": 18}}, "another" * 4)["res"], 1083)

    @promises("5.3b.1.3", "5.3b.1.4")
    def test_login(self) -> None:
        """With the login on the token opens its own path alone; without it the path leads to the login."""
        self.switch_on()
        self.assertEqual(self.done(cloudy("order 7"))["res"], 0)
        self.assertEqual(self.done({"token": TOKEN, "fiscal": {"task": 18}}, "")["res"], 0)
        for token in ("", "no register has this one"):
            self.assertTrue(self.is_blocked(self.cloud(cloudy(), token)))
        for path in (DRIVERS, "/dm/main/api/v1/settings", "/dm/main/"):
            self.assertTrue(self.is_blocked(self.request("GET", path, headers=[("Authorization", TOKEN)])), path)
        key = self.request("POST", KEYS, {"name": "x"}, [self.cookie()]).json["key"]
        self.assertEqual(self.cloud(cloudy(), "", [("x-api-key", key)]).json["res"], 1083)
        self.assertEqual(len(self.shop.ledger(kind="sale")), 1)

    def test_hardened(self) -> None:
        """A hardened service takes the token in place of an API key, on this path alone."""
        self.configure(ServerConfig(hardened=True))
        self.assertEqual(self.cloud(cloudy("order 7")).json["res"], 0)
        self.assertEqual(self.cloud(cloudy(), "no register has this one").status, 401)
        self.assertEqual(self.request("POST", EXECUTE, sale(), [("Authorization", TOKEN)]).status, 401)
        self.assertEqual(self.cloud(cloudy(), headers=[("Host", "evil.example")]).status, 421)

    def test_other_origins(self) -> None:
        """A page of another origin may not use it, and other methods and paths lead nowhere."""
        answer = self.cloud(cloudy(), headers=[("Origin", "https://evil.example")])
        self.assertEqual(answer.status, 403)
        self.assertEqual(self.cloud(cloudy(), headers=[("Origin", "http://localhost:3939")]).json["res"], 0)
        self.assertEqual(self.request("GET", CLOUD).status, 405)
        self.assertIsNone(self.request("OPTIONS", CLOUD).header("access-control-allow-origin"))
        for path in ("/api", "/api/v3/fiscal", f"{CLOUD}/more", "/api/v2/fiscal/execute"):
            self.assertEqual(self.request("POST", path, cloudy(), [("Authorization", TOKEN)]).status, 404, path)
