"""The journal of changes: nobody changes the service without a record, and no record tells a secret."""

from __future__ import annotations

import ast
import base64
import csv
import hashlib
import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted import backups
from dmtwisted.changes import CALLER, LONGEST_VALUE, Action, Area, By, Caller, Changes, Hidden, differences
from dmtwisted.commands import tls
from dmtwisted.commands.main import main
from dmtwisted.config import TlsConfig
from dmtwisted.hooks.lanes import HOOK, Told
from dmtwisted.registers.customers import MAIL
from dmtwisted.store.carry.checking import check
from dmtwisted.store.migrate import upgrade
from dmtwisted.store.sqlite.file import take_lock
from dmtwisted.store.sqlite.rows import SqliteRows
from dmtwisted.store.values import CHANGE, Letter, OperationQuery, StoreFailed
from dmtwisted.store.verification import verify
from tests.certificates import key_pem, make_certificate, make_key, pem
from tests.example_day import every_route
from tests.prro_shop import PrroShop, container, keys
from tests.shop import MORNING
from tests.test_sessions import SETTINGS, AccessCase, token_of
from tests.web_case import DEVICES, HttpAnswer, multipart
from web.changes import AT_ONCE
from web.site import Door

CHANGES = "/dm/api/v3/changes"
ROOT = Path(__file__).parent.parent

OWN = "kavun-7-lito"

TASKS = frozenset({"POST /api/v3/fiscal/execute", "POST /dm/execute", "POST /dm/execute-pkg", "POST /dm/execute-prn"})
"""Tasks are in the journal of operations."""

NO_CHANGE = {
    "POST /dm/api/v3/check": "tries settings that are not stored",
    "POST /dm/api/v3/database/check": "reads",
    "POST /dm/api/v3/devices/{dev_id}/check": "asks the device how it is",
    "POST /dm/api/v3/devices/{dev_id}/interrupt": "ends the wait of a payment, which is in the journal of operations",
    "POST /dm/api/v3/devices/{dev_id}/reckon": "calculates",
    "POST /dm/api/v3/receipts/{dev_id}/{number}/return": "calculates",
    "POST /dm/api/v3/doctor": "reads, and asks the devices how they are",
    "POST /dm/api/v3/jobs/{n}/reprint": "prints: a job of its own in the journal of operations",
    "POST /dm/api/v3/operations/{n}/slip": "prints: a job of its own in the journal of operations",
    "POST /dm/api/v3/mail/test": "sends a letter that nothing is stored of",
    "POST /dm/api/v3/mail/{n}/retry": "tries a letter again",
    "POST /dm/api/v3/webhooks/{id}/test": "sends an event that nothing is stored of",
    "POST /dm/api/v3/webhooks/{id}/dead/retry": "tries events again",
    "POST /dm/api/v3/webhooks/{id}/dead/{n}/retry": "tries an event again",
    "DELETE /dm/api/v3/search": "ends a search, which stores nothing",
    "POST /dm/api/v3/search": "looks for devices, which stores nothing",
    "POST /dm/api/v3/tax-key": "examines a key that is not stored",
    "POST /login": "begins a session, which changes nothing of the service",
    "POST /logout": "ends a session",
}
"""Routes that change nothing of the service, and why."""


class ChangeCase(AccessCase):
    """A service whose journal of changes is read."""

    def changes(self, *headers: tuple[str, str], **filters: object) -> list[dict[str, Any]]:
        """The changes, newest first."""
        query = "&".join(f"{name}={quote(str(value))}" for name, value in filters.items())
        answer = self.request("GET", f"{CHANGES}?{query}", headers=headers)
        self.assertEqual(answer.status, 200, answer.body)
        told: list[dict[str, Any]] = answer.json["changes"]
        return told

    def id_of(self, name: str) -> str:
        """The id of a device."""
        return str(self.shop.core.devices.by_name(name).row.dev_id)

    def add(self, **settings: object) -> str:
        """The id of a new terminal with a password."""
        body = {"device": "pos", "kind": "terminal", "driver": "zvt", "settings": {"host": "127.0.0.1", **settings}}
        answer = self.request("POST", DEVICES, body)
        self.assertEqual(answer.status, 201, answer.body)
        return str(answer.json["dev_id"])

    def stored(self) -> bytes:
        """Every byte of the records of changes."""
        database = self.shop.store._db
        assert database is not None
        rows = database.execute(f"SELECT * FROM operation WHERE kind = '{CHANGE}'").fetchall()
        return b"\n".join(repr(row).encode() for row in rows)


class RouteTests(ChangeCase):
    """Every route of the interface that is not a GET, or that hands out the shop's data, leaves a record."""

    def setUp(self) -> None:
        """A shop with a register, a payment and a receipt with an unknown outcome, and played child processes."""
        super().setUp()
        self.patch(backups, "apart", lambda *_: succeed(b""))
        self.caller: list[tuple[str, str]] = []

    def path(self) -> str:
        """The path of the register."""
        return f"{DEVICES}/{self.id_of('test')}"

    def device_made(self) -> HttpAnswer:
        """A new device."""
        return self.request("POST", DEVICES, {"device": "k", "kind": "printer", "driver": "training"})

    def item(self, method: str = "POST") -> HttpAnswer:
        """An item of the list of goods, and its end."""
        made = self.request("POST", "/dm/api/v3/goods", {"code": "7", "name": "x", "price": 1})
        return made if method == "POST" else self.request(method, "/dm/api/v3/goods?code=7")

    def key_made(self) -> str:
        """The path of a new key."""
        made = self.request("POST", "/dm/api/v3/api-keys", {"name": "shop"}).json
        return f"/dm/api/v3/api-keys/{made['id']}"

    def key_changed(self) -> HttpAnswer:
        """A key with another name."""
        return self.request("PATCH", self.key_made(), {"name": "another"})

    def person(self, method: str = "POST", body: object = None) -> HttpAnswer:
        """A person who is added, and then changed or removed, by the first one."""
        self.switch_on()
        self.caller = [self.cookie()]
        path, added = "/dm/api/v3/users", {"login": "owner", "password": OWN, "role": "manager"}
        answer = self.request("POST", path, added, self.caller)
        return answer if method == "POST" else self.request(method, f"{path}/{answer.json['id']}", body, self.caller)

    def own_password(self) -> HttpAnswer:
        """A person who changes the own password."""
        self.person()
        login = self.log_in("owner", OWN)
        owner = ("Cookie", f"DMUIToken={token_of(login)}")
        answer = self.request(
            "POST", "/dm/api/v3/users/me/password", {"old": OWN, "password": "dynia-8-osin"}, [owner]
        )
        self.caller = [self.cookie()]
        return answer

    def settled(self) -> HttpAnswer:
        """A payment that a person settles."""
        pos = {"device": "pos", "kind": "terminal", "driver": "training"}
        self.assertEqual(self.request("POST", DEVICES, pos).status, 201)
        lost, silent = {"on": "payment", "then": "lost_after"}, {"on": "probe", "then": "silent", "times": 0}
        self.shop.scenario(lost, device="pos")
        connection = self.connect()
        body = {"ver": 6, "device": "pos", "type": 3, "pay": {"task": 1, "sum": 1}}
        connection.ask("POST", "/dm/execute", json.dumps(body).encode(), [("Content-Type", "application/json")])
        while not self.shop.core.devices.by_name("pos").simulator.entries():
            self.shop.clock.advance(0.05)
        self.shop.scenario(silent, device="pos")
        self.shop.clock.pump([0.5] * 400)
        self.assertEqual(connection.answers()[0].json["res_action"], 2)
        [row] = [
            row for row in self.request("GET", "/dm/api/v3/operations").json["operations"] if row["kind"] == "pay"
        ]
        connection = self.connect()
        connection.ask("POST", f"/dm/api/v3/operations/{row['id']}/settle", b'{"outcome":"refused"}')
        self.shop.clock.pump([0.1] * 100)
        [answer] = connection.answers()
        return answer

    def certificate(self) -> HttpAnswer:
        """A certificate that is installed."""
        key = make_key()
        body, kind = multipart(file=pem(make_certificate(MORNING, key)), key=key_pem(key))
        return self.request("POST", "/dm/api/v3/tls", body, [("Content-Type", kind)])

    def removed_letter(self) -> HttpAnswer:
        """A letter to a customer that a person removes."""
        posted = self.shop.store.post([Letter(MAIL, 1, int(MORNING) * 1000, b"")])
        self.successResultOf(Deferred.fromCoroutine(posted))
        return self.request("DELETE", "/dm/api/v3/mail/1")

    def webhook(self, method: str = "POST", path: str = "", body: object = None) -> HttpAnswer:
        """A subscriber, and what becomes of it."""
        url = "/dm/api/v3/webhooks"
        made = self.request("POST", url, {"name": "books", "url": "https://books.example/in"})
        return self.request(method, f"{url}/{made.json['id']}{path}", body) if method != "POST" or path else made

    def removed_event(self) -> HttpAnswer:
        """An event for a subscriber that a person removes."""
        id = self.webhook().json["id"]
        told = Told(id, "1-ab", "document.made", 0, b"{}")
        dead = Letter(HOOK, 1, int(MORNING) * 1000, msgspec.json.encode(told))
        self.successResultOf(Deferred.fromCoroutine(self.shop.store.post([dead])))
        self.successResultOf(Deferred.fromCoroutine(self.shop.store.put_letter(1, 0, True, "away")))
        return self.request("DELETE", f"/dm/api/v3/webhooks/{id}/dead/1")

    def posted_receipt(self) -> HttpAnswer:
        """A receipt that a person sends to a customer."""
        members = {"smtp_host": "mail.example.com", "mail_from": "shop@example.com"}
        self.assertEqual(self.request("POST", "/dm/main/api/v1/settings", members).json["res"], 0)
        self.open_shift()
        self.sell("sale-1")
        path = f"/dm/api/v3/receipts/{self.id_of('test')}/2/mail"
        return self.request("POST", path, {"to": "customer@example.com"})

    def removed_certificate(self) -> HttpAnswer:
        """The same, removed."""
        self.certificate()
        return self.request("DELETE", "/dm/api/v3/tls")

    def mode(self, *modes: str) -> HttpAnswer:
        """The register goes offline, or comes back."""
        self.open_shift()
        return [self.request("POST", f"{DEVICES}/{self.id_of('test')}/{mode}", {}) for mode in modes][-1]

    def signing_key(self) -> HttpAnswer:
        """A register's key that is loaded."""
        self.shop = PrroShop(self)
        self.door = Door(self.shop.core)
        file = base64.b64encode(container(keys().cashier, "пароль-1")).decode()
        path = f"/dm/main/api/v1/prro/sign?dev_id={self.id_of('one')}"
        return self.request("POST", path, {"key": file, "password": "пароль-1"})

    def test_every_route(self) -> None:
        """A new route that changes something needs a record, or a line that says why it has none."""
        found = {route.key for route in every_route(self.door) if route.method != "GET"}
        recorded = {key for key in RECORDED if not key.startswith("GET")}
        self.assertEqual(found - TASKS, recorded | set(NO_CHANGE))


V3 = "/dm/api/v3"

RECORDED: dict[str, tuple[Area, Action, Callable[[RouteTests], HttpAnswer]]] = {
    f"POST {V3}/api-keys": (
        Area.API_KEY,
        Action.CREATED,
        lambda case: case.request("POST", f"{V3}/api-keys", {"name": "x"}),
    ),
    f"DELETE {V3}/api-keys/{{id}}": (
        Area.API_KEY,
        Action.DELETED,
        lambda case: case.request("DELETE", case.key_made()),
    ),
    f"POST {V3}/goods": (Area.GOODS, Action.CREATED, lambda case: case.item()),
    f"DELETE {V3}/goods": (Area.GOODS, Action.DELETED, lambda case: case.item("DELETE")),
    f"POST {V3}/goods/import": (
        Area.GOODS,
        Action.CHANGED,
        lambda case: case.request("POST", f"{V3}/goods/import", {"csv": "code;name;price\n7;x;1"}),
    ),
    f"PATCH {V3}/api-keys/{{id}}": (Area.API_KEY, Action.CHANGED, RouteTests.key_changed),
    f"POST {V3}/users": (Area.USER, Action.CREATED, RouteTests.person),
    f"PATCH {V3}/users/{{id}}": (
        Area.USER,
        Action.CHANGED,
        lambda case: case.person("PATCH", {"login": "heir"}),
    ),
    f"DELETE {V3}/users/{{id}}": (Area.USER, Action.DELETED, lambda case: case.person("DELETE")),
    f"POST {V3}/users/me/password": (Area.USER, Action.CHANGED, RouteTests.own_password),
    f"POST {V3}/api-keys/{{id}}/replace": (
        Area.API_KEY,
        Action.REPLACED,
        lambda case: case.request("POST", f"{case.key_made()}/replace", {}),
    ),
    f"POST {V3}/backups": (
        Area.BACKUP,
        Action.CREATED,
        lambda case: case.request("POST", f"{V3}/backups", {}),
    ),
    f"POST {V3}/devices": (Area.DEVICE, Action.CREATED, RouteTests.device_made),
    f"DELETE {V3}/devices/{{dev_id}}": (
        Area.DEVICE,
        Action.DELETED,
        lambda case: case.request("DELETE", case.path()),
    ),
    f"PATCH {V3}/devices/{{dev_id}}": (
        Area.DEVICE,
        Action.CHANGED,
        lambda case: case.request("PATCH", case.path(), {"device": "t"}),
    ),
    f"POST {V3}/devices/{{dev_id}}/go-offline": (
        Area.MODE,
        Action.WENT_OFFLINE,
        lambda case: case.mode("go-offline"),
    ),
    f"POST {V3}/devices/{{dev_id}}/go-online": (
        Area.MODE,
        Action.WENT_ONLINE,
        lambda case: case.mode("go-offline", "go-online"),
    ),
    f"PUT {V3}/devices/{{dev_id}}/scenario": (
        Area.TRAINING,
        Action.CHANGED,
        lambda case: case.request(
            "PUT", f"{case.path()}/scenario", {"rules": [{"on": "sale", "then": "lost_after"}]}
        ),
    ),
    f"POST {V3}/doctor/fix": (
        Area.FILES,
        Action.MENDED,
        lambda case: case.request("POST", f"{V3}/doctor/fix", {"fix": "permissions"}),
    ),
    f"POST {V3}/operations/{{n}}/settle": (Area.SETTLEMENT, Action.REFUSED, RouteTests.settled),
    f"POST {V3}/tls": (Area.CERTIFICATE, Action.INSTALLED, RouteTests.certificate),
    f"DELETE {V3}/tls": (Area.CERTIFICATE, Action.DELETED, RouteTests.removed_certificate),
    f"POST {V3}/tls/authority": (
        Area.CERTIFICATE,
        Action.ISSUED,
        lambda case: case.request("POST", f"{V3}/tls/authority", {"names": ["shop.local"]}),
    ),
    f"POST {V3}/tls/reload": (
        Area.CERTIFICATE,
        Action.RELOADED,
        lambda case: case.request("POST", f"{V3}/tls/reload", {}),
    ),
    f"POST {V3}/receipts/{{dev_id}}/{{number}}/mail": (Area.MAIL, Action.CREATED, RouteTests.posted_receipt),
    f"DELETE {V3}/mail/{{n}}": (Area.MAIL, Action.DELETED, RouteTests.removed_letter),
    f"POST {V3}/webhooks": (Area.WEBHOOK, Action.CREATED, RouteTests.webhook),
    f"PATCH {V3}/webhooks/{{id}}": (
        Area.WEBHOOK,
        Action.CHANGED,
        lambda case: case.webhook("PATCH", "", {"name": "accounts"}),
    ),
    f"DELETE {V3}/webhooks/{{id}}": (Area.WEBHOOK, Action.DELETED, lambda case: case.webhook("DELETE")),
    f"POST {V3}/webhooks/{{id}}/rotate": (
        Area.WEBHOOK,
        Action.REPLACED,
        lambda case: case.webhook("POST", "/rotate", {}),
    ),
    f"DELETE {V3}/webhooks/{{id}}/dead/{{n}}": (Area.WEBHOOK, Action.DELETED, RouteTests.removed_event),
    f"PUT {V3}/training/clock": (
        Area.TRAINING,
        Action.CHANGED,
        lambda case: case.request("PUT", f"{V3}/training/clock", {"offset_s": 60}),
    ),
    "POST /dm/main/api/v1/prro": (
        Area.DEVICE,
        Action.CREATED,
        lambda case: case.request("POST", "/dm/main/api/v1/prro", {"device": "two", "prro_type": 0}),
    ),
    "POST /dm/main/api/v1/prro/sign": (Area.REGISTER_KEY, Action.REPLACED, RouteTests.signing_key),
    "POST /dm/main/api/v1/settings": (
        Area.SETTINGS,
        Action.CHANGED,
        lambda case: case.request("POST", SETTINGS, {"packdays": 50}),
    ),
    f"GET {V3}/diagnostics": (
        Area.SUPPORT,
        Action.DOWNLOADED,
        lambda case: case.request("GET", f"{V3}/diagnostics"),
    ),
}
"""What each route records, and how it is used."""


def _recorded(key: str) -> Any:
    def test(self: RouteTests) -> None:
        area, action, use = RECORDED[key]
        answer = use(self)
        self.assertIn(answer.status, (200, 201, 202, 204), answer.body)
        newest = self.changes(*self.caller)[0]
        self.assertEqual((newest["kind"], newest["action"], newest["outcome"]), (area, action, "done"), newest)
        who = "login" if self.caller else "machine"
        self.assertEqual((newest["by"], newest["address"]), (who, "127.0.0.1"))
        self.assertIsNone(self.successResultOf(Deferred.fromCoroutine(verify(self.shop.store))))

    test.__doc__ = f"{key} leaves a sealed record."
    return test


for _number, _key in enumerate(RECORDED):
    setattr(RouteTests, f"test_recorded_{_number:02}", _recorded(_key))


class WhoTests(ChangeCase):
    """Who, from where, when."""

    def test_everyone(self) -> None:
        """A login, a key, this machine, another machine: each with its name and address; nobody takes over a name."""
        self.change(packdays=41)
        away, code = self.connect_from("192.168.1.20"), self.shop.core.access.presence.code
        headers = [("Content-Type", "application/json"), ("X-Presence-Code", code)]
        self.ask(away, "POST", SETTINGS, b'{"packdays":42}', headers)
        key = self.key()
        self.request("POST", SETTINGS, {"packdays": 43}, [key])
        self.switch_on()
        self.request("POST", SETTINGS, {"packdays": 44}, [self.cookie()])
        self.successResultOf(Deferred.fromCoroutine(self.shop.core.settings.change({"packdays": 45})))
        told = [
            (one["by"], one["name"], one["address"], one["before"], one["after"])
            for one in self.changes(key, kind="settings")
        ]
        self.assertEqual(
            told,
            [
                ("service", "", "", {"packdays": 44}, {"packdays": 45}),
                ("login", "admin", "127.0.0.1", {"packdays": 43}, {"packdays": 44}),
                ("key", "till", "127.0.0.1", {"packdays": 42}, {"packdays": 43}),
                ("network", "", "192.168.1.20", {"packdays": 41}, {"packdays": 42}),
                ("machine", "", "127.0.0.1", {"packdays": 40}, {"packdays": 41}),
            ],
        )
        self.assertEqual(CALLER.get(), Caller(By.SERVICE))

    def test_when(self) -> None:
        """The time is that of the service's clock, by which the list is filtered."""
        self.change(packdays=41)
        self.shop.clock.advance(86_400)
        self.change(packdays=42)
        self.assertEqual([one["dt"][:8] for one in self.changes()], ["20260922", "20260921"])
        self.assertEqual([one["after"] for one in self.changes(**{"from": "20260922"})], [{"packdays": 42}])
        self.assertEqual([one["after"] for one in self.changes(to="20260921")], [{"packdays": 41}])

    def test_blocked(self) -> None:
        """With a login on, list, file and page need it."""
        self.switch_on()
        for path in (CHANGES, f"{CHANGES}/export", "/dm/main/settings/changes"):
            self.assertTrue(self.is_blocked(self.request("GET", path)), path)


class ContentTests(ChangeCase):
    """Before and after."""

    def test_device(self) -> None:
        """A device's whole life: what it was made with, what changed, what it was when it was removed."""
        dev_id = self.add(password="481516")
        self.request("PATCH", f"{DEVICES}/{dev_id}", {"device": "pos 2", "settings": {"wait_s": 60}})
        self.request("PATCH", f"{DEVICES}/{dev_id}", {"settings": {"password": "234200"}})
        self.request("DELETE", f"{DEVICES}/{dev_id}")
        told = [(one["action"], one["subject"], one["before"], one["after"]) for one in self.changes()]
        whole = {"kind": "terminal", "driver": "zvt", "host": "127.0.0.1", "password": "***"}
        self.assertEqual(
            told,
            [
                ("deleted", "pos 2", {"device": "pos 2", "wait_s": 60, **whole}, {}),
                ("changed", "pos 2", {"password": "***"}, {"password": "changed"}),
                ("changed", "pos 2", {"device": "pos"}, {"device": "pos 2", "wait_s": 60}),
                ("created", "pos", {}, {"device": "pos", **whole, "password": "changed"}),
            ],
        )
        self.assertEqual({one["subject_id"] for one in self.changes()}, {dev_id})

    def test_exchange(self) -> None:
        """Two devices that exchange their names leave three changes, each under its own device."""
        self.shop.add("other")
        first, second = self.id_of("test"), self.id_of("other")
        for dev_id, name in ((first, "between"), (second, "test"), (first, "other")):
            self.assertEqual(self.request("PATCH", f"{DEVICES}/{dev_id}", {"device": name}).status, 200)
        told = [(one["before"], one["after"]) for one in self.changes(device="other")]
        self.assertEqual(
            told[:2], [({"device": "between"}, {"device": "other"}), ({"device": "test"}, {"device": "between"})]
        )
        self.assertEqual(self.changes(device=second)[0]["after"], {"device": "test"})

    def test_no_secret(self) -> None:
        """No password, token or key is in a record, nor a hash of one, whatever changed them."""
        secrets = ["canary-cabinet-token", "canary-password-1", "canary-password-2", "481516", "canary-key-of-old-0"]
        self.change(token=secrets[0])
        self.add(password=secrets[3])
        made = self.request("POST", "/dm/api/v3/api-keys", {"name": "old", "key": secrets[4]})
        replaced = self.request("POST", f"/dm/api/v3/api-keys/{made.json['id']}/replace", {}).json["key"]
        for password in secrets[1:3]:
            members = {"usr_uiauth": True, "usr_login": "a", "usr_pass": password, "usr_confpass": password}
            headers = [] if password == secrets[1] else [("X-Api-Key", replaced)]
            self.assertEqual(self.request("POST", SETTINGS, members, headers).json["res"], 0)
        kept = self.shop.store._db.execute("SELECT value FROM setting").fetchall()  # type: ignore[union-attr]
        hashes = [json.loads(value).get("hash", "") for (value,) in kept if value.startswith(b'{"login"')]
        stored, listed = self.stored(), json.dumps(self.changes(("X-Api-Key", replaced))).encode()
        for place in (stored, listed):
            for secret in (*secrets, replaced):
                self.assertNotIn(secret.encode(), place)
                self.assertNotIn(hashlib.sha256(secret.encode()).hexdigest().encode(), place)
                self.assertNotIn(base64.b64encode(secret.encode()), place)
            for kept_hash in filter(None, hashes):
                self.assertNotIn(kept_hash.encode(), place)
            self.assertIn(b"changed", place)
        self.assertTrue(any(hashes))

    def test_signing_key(self) -> None:
        """Of a register's key the record has whom it names, not the key and not its password."""
        self.shop = PrroShop(self)
        self.door = Door(self.shop.core)
        file = container(keys().cashier, "пароль-1")
        path = f"/dm/main/api/v1/prro/sign?dev_id={self.id_of('one')}"
        self.request("POST", path, {"key": base64.b64encode(file).decode(), "password": "пароль-1"})
        newest = self.changes()[0]
        self.assertEqual((newest["kind"], newest["subject"], newest["before"]), ("register_key", "one", {}))
        self.assertEqual(newest["after"]["subject"], "Олена Коваль")
        stored = self.stored()
        for secret in ("пароль-1".encode(), base64.b64encode(file)[:40], b"sealed"):
            self.assertNotIn(secret, stored)

    def test_long(self) -> None:
        """Of a long value its length and hash are kept, in a record of bounded size; the next change differs."""
        template = "%receipt\n" + ("дякуємо " * 60 + "\n") * 50
        self.assertEqual(self.change(pf_custom=template), {"res": 0, "errortxt": ""})
        [one] = [one for one in self.changes(kind="settings")]
        encoded = json.dumps(template, ensure_ascii=False).encode()
        self.assertEqual(
            one["after"]["pf_custom"], {"sha256": hashlib.sha256(encoded).hexdigest(), "length": len(encoded)}
        )
        self.assertLess(len(self.stored()), 20 * LONGEST_VALUE)

    def test_differences(self) -> None:
        """Only what differs; secrets by their names too, card numbers masked, passwords in addresses hidden."""
        before = {"same": 1, "gone": 2, "api_key": "a", "text": "4111 1111 1111 1111", "off": Hidden("x")}
        after = {
            "same": 1,
            "new": [3],
            "api_key": "b",
            "url": "https://u:p@host/x",
            "off": Hidden(""),
            "in": {"pin": "1"},
        }
        self.assertEqual(
            differences(before, after),
            (
                {"gone": 2, "api_key": "***", "text": "4111 11** **** 1111", "off": "***"},
                {"new": [3], "api_key": "changed", "url": "https://***@host/x", "off": "", "in": {"pin": "changed"}},
            ),
        )
        many = {f"m{number}": number for number in range(500)}
        self.assertEqual([len(side) for side in differences({}, many)], [0, 100])


class OutcomeTests(ChangeCase):
    """What is not in the database."""

    def about(self) -> Any:
        """A change that the test ends."""
        self.ended: Deferred[None] = Deferred()

        async def change() -> None:
            async with self.shop.core.changes.about(Area.FILES, Action.MENDED, {"a": 1}) as after:
                await self.ended
                after["a"] = 2

        return Deferred.fromCoroutine(change())

    def newest(self) -> tuple[object, ...]:
        """The newest change."""
        one = self.changes()[0]
        return one["outcome"], one["why"], one["before"], one["after"]

    def test_power_cut(self) -> None:
        """It is recorded before it begins; after a power cut the record says that it began, and it is sealed."""
        due = self.about()
        self.assertEqual(self.newest(), ("begun", "", {"a": 1}, {}))
        due.addErrback(lambda _: None)
        self.shop.crash()
        self.door = Door(self.shop.core)
        self.assertEqual(self.newest(), ("begun", "", {"a": 1}, {}))
        self.assertIsNone(self.successResultOf(Deferred.fromCoroutine(verify(self.shop.store))))
        self.assertEqual(self.request("GET", "/dm/api/v3/operations?state=unfinished").json["operations"], [])

    def test_done(self) -> None:
        """Afterwards it says what is so now."""
        due = self.about()
        self.ended.callback(None)
        self.successResultOf(due)
        self.assertEqual(self.newest(), ("done", "", {"a": 1}, {"a": 2}))

    def test_failed(self) -> None:
        """One that fails says so, without a text that somebody may have chosen."""
        due = self.about()
        self.ended.errback(ValueError("secret"))
        self.failureResultOf(due, ValueError)
        self.assertEqual(self.newest(), ("failed", "ValueError", {"a": 1}, {}))
        refused = self.request("POST", "/dm/api/v3/tls", {"file": "bm90aGluZw=="})
        self.assertEqual(refused.status, 422)
        self.assertEqual(self.newest()[:2], ("failed", "HttpRefusal"))

    def test_end_not_stored(self) -> None:
        """What has happened does not fail because its end cannot be recorded."""
        due = self.about()

        async def fail(*_: object) -> None:
            raise StoreFailed("away")

        self.patch(self.shop.store, "note", fail)
        self.ended.callback(None)
        self.successResultOf(due)
        self.assertEqual(self.newest()[0], "begun")
        self.flushLoggedErrors()

    def test_nothing_unrecorded(self) -> None:
        """What cannot be recorded is not done: 503, and the clock stands as it stood."""

        async def fail(*_: object) -> None:
            raise StoreFailed("away")

        patched = self.patch(self.shop.store, "record", fail)
        answer = self.request("PUT", "/dm/api/v3/training/clock", {"offset_s": 60})
        self.assertEqual((answer.status, self.shop.core.clock.offset), (503, 0.0))
        self.assertEqual(self.request("GET", "/dm/api/v3/diagnostics").status, 200)
        patched.restore()
        self.assertEqual(self.changes(), [])

    def test_damaged(self) -> None:
        """A damaged database takes no record, and stops nothing that helps."""
        self.shop.store.damage = "a page is broken"
        answer = self.request("PUT", "/dm/api/v3/training/clock", {"offset_s": 60})
        self.assertEqual((answer.status, self.shop.core.clock.offset), (200, 60.0))
        self.assertEqual(self.request("GET", "/dm/api/v3/diagnostics").status, 200)
        self.shop.store.damage = ""
        self.assertEqual(self.changes(), [])


class CertificateTests(ChangeCase):
    """A certificate that somebody replaces on the disk."""

    def write(self) -> None:
        """Another certificate in the files of the service."""
        key = make_key()
        (self.shop.state / "own.pem").write_bytes(pem(make_certificate(MORNING, key)) + key_pem(key))

    def seen(self) -> list[tuple[object, ...]]:
        """Whether each change knows what was there before and after, newest first."""
        told = self.changes(kind="certificate")
        return [
            (one["by"], one["action"], *("fingerprint" in one[side] for side in ("before", "after"))) for one in told
        ]

    def test_replaced(self) -> None:
        """It is recorded when the service takes it up, or at its next start; the same one is not recorded again."""
        self.write()
        file = str(self.shop.state / "own.pem")
        self.shop._config = replace(self.shop._config, tls=TlsConfig(file, file))

        def start() -> None:
            if self.shop.core.certificate is not None:
                self.shop.core.certificate.close()
            self.shop.crash()
            self.door = Door(self.shop.core)

        start()
        first = [("service", "replaced", False, True)]
        self.assertEqual(self.seen(), first)
        self.write()
        self.shop.clock.pump([5.0] * 3)
        later = ("service", "replaced", True, True)
        self.assertEqual(self.seen(), [later, *first])
        start()
        self.assertEqual(self.seen(), [later, *first])
        self.write()
        start()
        self.assertEqual(self.seen(), [later, later, *first])
        self.assertEqual(self.request("POST", "/dm/api/v3/tls/reload", {}).status, 200)
        start()
        self.assertEqual(len(self.seen()), 4)


class ListTests(ChangeCase):
    """List, file and page."""

    def many(self, count: int) -> None:
        """So many changes of the service."""
        changes = Changes(self.shop.store, self.shop.core.clock)

        async def fill() -> None:
            for number in range(count):
                await self.shop.store.record(
                    changes.change(Area.SETTINGS, Action.CHANGED, {"n": number}, {"n": number + 1})
                )

        self.successResultOf(Deferred.fromCoroutine(fill()))

    def test_pages(self) -> None:
        """Newest first, in pages, with the number of all."""
        self.many(5)
        answer = self.request("GET", f"{CHANGES}?page=2&page_size=2").json
        self.assertEqual(answer["paging"], {"page": 2, "page_size": 2, "total": 5})
        self.assertEqual([one["before"]["n"] for one in answer["changes"]], [2, 1])
        for query in ("kind=sale", "device=none", "colour=red", "from=yesterday"):
            self.assertEqual(self.request("GET", f"{CHANGES}?{query}").status, 422, query)

    def test_file(self) -> None:
        """The file has all changes once, in both formats, also while new ones come; a slow caller costs no memory."""
        self.many(3 * AT_ONCE)
        lines = list(csv.DictReader(StringIO(self.request("GET", f"{CHANGES}/export").body.decode("utf-8-sig"))))
        self.assertEqual([json.loads(line["before"])["n"] for line in lines], list(range(3 * AT_ONCE))[::-1])
        told = self.request("GET", f"{CHANGES}/export?format=json&kind=settings").json["changes"]
        self.assertEqual([one["before"]["n"] for one in told], list(range(3 * AT_ONCE))[::-1])
        self.assertEqual(self.request("GET", f"{CHANGES}/export?format=xml").status, 422)
        connection = self.connect()
        transport: Any = connection._transport
        find, asked = self.shop.store.find_operations, []

        async def counted(query: OperationQuery) -> Any:
            asked.append(query.below)
            found = await find(query)
            if len(asked) == 1:
                transport.producer.pauseProducing()
                self.many(5)
            return found

        self.patch(self.shop.store, "find_operations", counted)
        connection.ask("GET", f"{CHANGES}/export?format=json", b"")
        self.assertEqual(len(asked), 1)
        transport.producer.resumeProducing()
        [answer] = connection.answers()
        numbers = [one["before"]["n"] for one in answer.json["changes"]]
        self.assertEqual(numbers, list(range(3 * AT_ONCE))[::-1])
        self.assertEqual(len(asked), 4)

    def test_formula(self) -> None:
        """A spreadsheet takes nothing in the file for a formula."""
        for name in ("=1+1", "+1", "-1", "@SUM(A1)"):
            self.request("POST", "/dm/api/v3/api-keys", {"name": name})
        text = self.request("GET", f"{CHANGES}/export?format=csv").body.decode("utf-8-sig")
        cells = [cell for line in csv.reader(StringIO(text)) for cell in line]
        self.assertEqual([cell for cell in cells if cell[:1] in "=+-@\t\r" and cell], [])
        self.assertIn("'=1+1", cells)

    def test_page(self) -> None:
        """The page says it in words, filters, pages and hands out the file; what somebody entered is text."""
        self.request("PATCH", f"{DEVICES}/{self.id_of('test')}", {"device": "<b>till</b>"})
        self.change(packdays=41)
        page = "/dm/main/settings/changes"
        for language, words in (
            ("uk", ("Пристрій", "змінено", "цей комп’ютер")),
            ("en", ("Device", "changed", "this")),
        ):
            body = self.request("GET", f"{page}?lang={language}").body.decode()
            for word in (*words, "&lt;b&gt;till&lt;/b&gt;", "127.0.0.1", "40", "41"):
                self.assertIn(word, body)
            self.assertNotIn("<b>till", body)
        self.assertNotIn("packdays", self.request("GET", f"{page}?kind=device&lang=en").body.decode())
        wrong = self.request("GET", f"{page}?from=yesterday&lang=en")
        self.assertIn(b"a date is expected", wrong.body)
        self.many(120)
        body = self.request("GET", f"{page}?page=2&kind=settings&from=2026-09-21&lang=en").body.decode()
        self.assertIn("page=3", body)
        self.assertIn(
            "kind=settings&amp;from=20260921" if "kind=settings&amp;from" in body else "from=20260921", body
        )


class CommandTests(SynchronousTestCase):
    """Commands while the service is stopped, and while it runs."""

    def setUp(self) -> None:
        """A state folder with a database."""
        self.state = Path(self.mktemp()).absolute()
        self.state.mkdir()
        self.file = self.state / "dmtwisted.db"
        upgrade(f"sqlite:///{self.file}")

    def command(self, *words: str) -> None:
        """Run a command that must succeed."""
        with redirect_stdout(StringIO()), self.assertRaises(SystemExit) as ended:
            main([*words, "--state", str(self.state)])
        self.assertFalse(ended.exception.code)

    def recorded(self) -> list[tuple[object, ...]]:
        """Action, outcome and the names of the certificate of each change, oldest first; all sealed."""
        with SqliteRows(self.file, reading=True) as rows:
            found = rows.ask("SELECT request FROM operation WHERE kind = 'change' ORDER BY n")
            self.assertEqual(check(rows, lambda *_: None).faults, [])
        told = [json.loads(request) for (request,) in found]
        self.assertLessEqual({one["by"] for one in told}, {"command"})
        return [
            (one["action"], one.get("outcome", "done"), "names" in one.get("after", {}), bool(one["name"]))
            for one in told
        ]

    def test_tls(self) -> None:
        """A certificate that is made and removed has a record of each, with the user of the operating system."""
        self.command("tls", "authority", "--name", "till.shop")
        self.command("tls", "remove")
        self.assertEqual(self.recorded(), [("issued", "done", True, True), ("deleted", "done", False, True)])

    def test_interrupted(self) -> None:
        """What is interrupted has a record that says so."""

        def fail(*_: object) -> None:
            with SqliteRows(self.file, reading=True) as rows:
                self.begun = rows.ask("SELECT request FROM operation WHERE kind = 'change'")
            raise KeyboardInterrupt

        self.patch(tls, "install_at", fail)
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()), self.assertRaises(SystemExit):
            main(["tls", "authority", "--state", str(self.state)])
        self.assertIn(b'"outcome":"begun"', self.begun[0][0])
        self.assertEqual(self.recorded(), [("issued", "failed", True, True)])

    def test_running(self) -> None:
        """While a service has the database, it is the service that records what it sees."""
        with take_lock(f"{self.file}.lock", 0):
            self.command("tls", "authority")
        self.assertEqual(self.recorded(), [])
        self.file.unlink()
        self.command("tls", "authority")
        self.assertFalse(self.file.exists())


UNRECORDED = {
    "dmtwisted/classic/memory.py": {"change_settings": "what an old till's register remembers"},
    "dmtwisted/devices/devices.py": {"change_device": "an earlier version's plain secrets are sealed at the start"},
    "dmtwisted/programs.py": {"change_settings": "counts of what programs send"},
    "dmtwisted/registers/channels/known_outlet.py": {"change_settings": "what the tax service says of the outlet"},
    "dmtwisted/registers/unheard.py": {"change_settings": "which answer a till has not heard"},
    "dmtwisted/store/restored.py": {"change_settings": "which registers were compared after a restore"},
}
"""Where the service changes its own notes, and what they are."""

VERBS = {"add_device": 6, "change_device": 4, "remove_device": 2, "change_settings": 2}
"""The verbs that change the service, and how many arguments they have with a record."""


class SourceTests(SynchronousTestCase):
    """The code."""

    def test_every_caller(self) -> None:
        """Whoever changes devices or settings hands over a record, or is listed with the reason."""
        found: dict[str, set[str]] = {}
        for floor in ("dmtwisted", "web"):
            for path in sorted((ROOT / floor).rglob("*.py")):
                name = path.relative_to(ROOT).as_posix()
                if name.startswith(("dmtwisted/lab/", "dmtwisted/conformance/", "dmtwisted/store/interface")):
                    continue
                for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                    verb = (
                        node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
                    )
                    if isinstance(node, ast.Call) and verb in VERBS and len(node.args) < VERBS[verb]:
                        found.setdefault(name, set()).add(verb)
        self.assertEqual(found, {name: set(verbs) for name, verbs in UNRECORDED.items()})
