"""What each role may do: every route of the document with every kind of caller, by real requests."""

from __future__ import annotations

import json
from typing import Any

from twisted.internet.defer import Deferred

from dmtwisted.access import passwords
from dmtwisted.access.roles import BOUND, Role
from dmtwisted.changes import Action, Area, record_of
from dmtwisted.config import ServerConfig
from dmtwisted.store.values import CHANGE, OperationQuery
from tests.example_day import every_route
from tests.shop import Shop
from tests.test_sessions import PASSWORD, SETTINGS, AccessCase, token_of
from tests.web_case import DEVICES, EXECUTE, HttpAnswer, fiscal, sale
from tools.roles_page import PAGE, with_table
from web.rights import RIGHTS
from web.site import Door

MATRIX = """
namciw GET /login
namciw POST /login
-amciw GET /dm/static/{name}
namciw GET /health/live
namciw GET /health/ready
namciw GET /metrics
namci- POST /dm/execute
namci- POST /dm/execute-prn
namci- POST /dm/execute-pkg
namci- GET /dm/execute
namci- GET /dm/execute-prn
namci- GET /dm/execute-pkg
namci- GET /dm/bankping
namci- GET /dm/bankecho
namci- GET /dm/getmerchantlist
namci- GET /dm/getmasklist
namci- GET /dm/getgetmasklist
namci- GET /dm/transaction-status
namci- GET /dm/lasttransaction
-amciw POST /api/v3/fiscal/execute
-amciw GET /
-amciw GET /dm
-amciw GET /dm/
-amciw GET /dm/main
-amciw GET /dm/main/
-amciw GET /dm/main/dashboard.html
-amciw GET /dm/main/settings.html
-amciw GET /dm/devices
-amciw GET /dm/devices/
-amciw GET /dm/devices/{dev_id}
-amciw GET /dm/main/codes
-amciw GET /dm/main/codes.json
-amciw GET /dm/api
-amciw GET /dm/api/v3/openapi.json
-amciw GET /dm/api/v3/postman.json
-amciw GET /dm/api/v3/tls/authority.pem
-amciw GET /dm/api/v3/devices
-amciw GET /dm/api/v3/devices/{dev_id}
-amciw GET /dm/api/v3/drivers
-amciw GET /dm/api/v3/events
-amciw GET /dm/api/v3/events/stored
-amciw GET /dm/main/api/v1/dashboard
-amciw GET /dm/api/v1/sys_info
-amciw GET /dm/main/me
-amciw POST /dm/api/v3/users/me/password
-amci- GET /dm/main/receipts
-amci- GET /dm/main/receipts.csv
-amci- GET /dm/main/receipts/{dev_id}/{number}
-amci- GET /dm/main/receipts/{dev_id}/{number}/picture
-amci- GET /dm/main/receipts/{dev_id}/{number}/qr
-amci- GET /dm/main/registers/{dev_id}
-amciw GET /dm/main/feed
-amci- GET /dm/main/day
-amci- GET /dm/main/day/{picture}
-amci- GET /dm/api/v3/receipts
-amci- GET /dm/api/v3/receipts/{dev_id}/{number}
-amci- GET /dm/api/v3/operations
-amci- GET /dm/api/v3/jobs
-amci- GET /dm/api/v3/devices/{dev_id}/strip
-amci- GET /dm/main/api/v1/prro
-amci- GET /dm/main/api/v1/prro/groups
-a-ci- GET /dm/main/sell
-a-ci- GET /dm/main/registers/{dev_id}/sell
-a-ci- POST /dm/api/v3/devices/{dev_id}/reckon
-a-ci- GET /dm/main/receipts/{dev_id}/{number}/return
-a-ci- POST /dm/api/v3/receipts/{dev_id}/{number}/return
-amci- GET /dm/main/goods
-amci- GET /dm/api/v3/goods
-amci- GET /dm/api/v3/goods/export
-am--- POST /dm/api/v3/goods
-am--- DELETE /dm/api/v3/goods
-am--- POST /dm/api/v3/goods/import
-a-ci- POST /dm/api/v3/devices/{dev_id}/check
-a-ci- POST /dm/api/v3/devices/{dev_id}/interrupt
-a-ci- POST /dm/api/v3/jobs/{n}/reprint
-a-ci- POST /dm/api/v3/operations/{n}/slip
-a-ci- GET /dm/main/practise
-a-ci- GET /dm/api/v3/devices/{dev_id}/scenario
-a-ci- PUT /dm/api/v3/devices/{dev_id}/scenario
-a-ci- GET /dm/api/v3/devices/{dev_id}/ledger
-a-ci- POST /dm/api/v3/receipts/{dev_id}/{number}/mail
-a--i- GET /dm/main/console
-a--i- GET /dm/api/v3/training/clock
-am--- GET /dm/api/v3/accounts
-am--w GET /dm/api/v3/doctor
-am--w GET /dm/api/v3/tls
-a---- GET /dm/main/first
-a---- GET /dm/devices/new
-a---- GET /dm/devices/new/register
-a---- GET /dm/main/settings
-a---- GET /dm/main/settings/certificate
-a---- GET /dm/main/settings/changes
-a---- GET /dm/main/settings/mail
-a---- GET /dm/main/settings/webhooks
-a---- GET /dm/api/v3/webhooks
-a---- POST /dm/api/v3/webhooks
-a---- PATCH /dm/api/v3/webhooks/{id}
-a---- DELETE /dm/api/v3/webhooks/{id}
-a---- POST /dm/api/v3/webhooks/{id}/rotate
-a---- POST /dm/api/v3/webhooks/{id}/test
-a---- GET /dm/api/v3/webhooks/{id}/dead
-a---- POST /dm/api/v3/webhooks/{id}/dead/retry
-a---- POST /dm/api/v3/webhooks/{id}/dead/{n}/retry
-a---- DELETE /dm/api/v3/webhooks/{id}/dead/{n}
-a---- GET /dm/main/settings/database
-a---- GET /dm/main/settings/doctor
-a---- GET /dm/main/settings/log
-a---- GET /dm/main/settings/changes
-a---- GET /dm/api/v3/mail
-a---- POST /dm/api/v3/mail/test
-a---- POST /dm/api/v3/mail/{n}/retry
-a---- DELETE /dm/api/v3/mail/{n}
-a---- GET /dm/api/v3/changes
-a---- GET /dm/api/v3/changes/export
-a---- POST /dm/api/v3/devices
-a---- PATCH /dm/api/v3/devices/{dev_id}
-a---- DELETE /dm/api/v3/devices/{dev_id}
-a---- POST /dm/api/v3/devices/{dev_id}/go-offline
-a---- POST /dm/api/v3/devices/{dev_id}/go-online
-a---- GET /dm/api/v3/devices/{dev_id}/tax-objects
-a---- GET /dm/api/v3/devices/{dev_id}/protocol
-a---- POST /dm/api/v3/check
-a---- PUT /dm/api/v3/training/clock
-a---- POST /dm/api/v3/operations/{n}/settle
-a---- GET /dm/api/v3/api-keys
-a---- POST /dm/api/v3/api-keys
-a---- DELETE /dm/api/v3/api-keys/{id}
-a---- POST /dm/api/v3/api-keys/{id}/replace
-a---- PATCH /dm/api/v3/api-keys/{id}
-a---- GET /dm/api/v3/users
-a---- POST /dm/api/v3/users
-a---- PATCH /dm/api/v3/users/{id}
-a---- DELETE /dm/api/v3/users/{id}
-a---- GET /dm/api/v3/found
-a---- GET /dm/api/v3/search
-a---- POST /dm/api/v3/search
-a---- DELETE /dm/api/v3/search
-a---- POST /dm/api/v3/tax-key
-a---- POST /dm/api/v3/tls
-a---- DELETE /dm/api/v3/tls
-a---- POST /dm/api/v3/tls/reload
-a---- POST /dm/api/v3/tls/authority
-a---- GET /dm/api/v3/log
-a---- GET /dm/api/v3/mail
-a---- POST /dm/api/v3/mail/test
-a---- POST /dm/api/v3/mail/{n}/retry
-a---- DELETE /dm/api/v3/mail/{n}
-a---- GET /dm/api/v3/changes
-a---- GET /dm/api/v3/changes/export
-a---- GET /dm/api/v3/diagnostics
-a---- POST /dm/api/v3/doctor
-a---- POST /dm/api/v3/doctor/fix
-a---- GET /dm/api/v3/backups
-a---- POST /dm/api/v3/backups
-a---- GET /dm/api/v3/backups/{name}
-a---- GET /dm/api/v3/database
-a---- POST /dm/api/v3/database/check
-a---- GET /dm/main/api/v1/settings
-a---- POST /dm/main/api/v1/settings
-a---- POST /dm/main/api/v1/prro
-a---- POST /dm/main/api/v1/prro/sign
namciw POST /logout
"""
"""Each route, and who may use it while a login is required: nobody (n), and the five roles by their first letters."""

EXPECTED = {route: letters for letters, _, route in (line.partition(" ") for line in MATRIX.strip().splitlines())}

SCENARIO = {"rules": [{"on": "sale", "then": "lost_after"}]}


class RolesCase(AccessCase):
    """A training service with all its devices and a second register, and a person and a key of each role."""

    def setUp(self) -> None:
        """Cashier and integrator may use the first three devices; the register `other` is not theirs."""
        super().setUp()
        # Hashes that cost nothing.
        self.patch(passwords, "TIME_COST", 1)
        self.patch(passwords, "MEMORY_KIB", 8)
        self.shop = Shop(self, whole=True)
        self.shop.add("other")
        self.door = Door(self.shop.core)
        self.ids = {each["device"]: each["dev_id"] for each in self.request("GET", DEVICES).json["devices"]}
        self.own = tuple(self.ids[name] for name in ("test", "prn", "pos"))
        self.switch_on()
        self.cookies = {Role.ADMINISTRATOR: self.cookie()}
        self.keys: dict[Role, tuple[str, str]] = {}
        access = self.shop.core.access
        for role in Role:
            devices = self.own if role in BOUND else ()
            self.keys[role] = ("x-api-key", self.now(access.keys.make(role, "", role, devices))[1])
            if role is not Role.ADMINISTRATOR:
                self.now(access.add(role, PASSWORD, role, devices))
                token = token_of(self.log_in(role))
                self.cookies[role] = ("Cookie", f"DMUIToken={token}")

    def now(self, work: Any) -> Any:
        """The result of ``work``, which must be there at once."""
        return self.successResultOf(Deferred.fromCoroutine(work))

    def asked(self, route: str, device: str, *headers: tuple[str, str]) -> HttpAnswer:
        """The answer to a request for ``route`` that changes nothing, with the names of one device filled in."""
        method, path = route.split(" ")
        dev_id = self.ids.get(device, device)
        path = path.replace("{dev_id}", dev_id).replace("{number}", "1").replace("{n}", "1")
        path = path.replace("{id}", "none").replace("{name}", "none")
        if "prro" in path:
            path += f"?dev_id={dev_id}"
        if "/dm/execute" in path or "scenario" in path:
            body: object = SCENARIO if "scenario" in path else fiscal(18) | {"device": device}
        else:
            # Not JSON: who may use the route is told so, and nothing happens.
            body = b"{" if method in ("POST", "PUT", "PATCH") else None
        if (
            path in ("/dm/bankping", "/dm/bankecho", "/dm/transaction-status", "/dm/lasttransaction")
            or "list" in path
        ):
            path += f"?dev_name={'pos' if device == 'test' else device}"
        connection = self.connect()
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        connection.ask(method, path, raw, [*([("Content-Type", "application/json")] if raw else []), *headers])
        if path.endswith("/events") and connection._transport.value().startswith(b"HTTP/1.1 200 "):
            # It never ends.
            return HttpAnswer(200, (), b"")
        for _ in range(400):
            answers: list[HttpAnswer] = connection.answers()
            if answers:
                return answers[0]
            self.shop.clock.advance(0.05)
        raise AssertionError(f"{route} was not answered")


class MatrixTests(RolesCase):
    """Every route with every caller."""

    def test_every_route(self) -> None:
        """Each route of the service is in the table of rights and in the matrix of this test, and no other one is."""
        routes = {route.key for route in every_route(self.door)}
        self.assertEqual(routes, set(RIGHTS))
        self.assertEqual(routes, set(EXPECTED))

    def test_written_down(self) -> None:
        """The table of the documentation is made of the rights that count."""
        text = PAGE.read_text("utf-8")
        self.assertEqual(with_table(text), text, "python -m tools.roles_page writes it")

    def refused(self, route: str, *headers: tuple[str, str]) -> bool:
        """Whether the gate or the rights keep this caller out."""
        # What would change a device for good is asked about one that is not there.
        whole = not headers or headers[0] in (self.keys[Role.ADMINISTRATOR], self.cookies[Role.ADMINISTRATOR])
        answer = self.asked(route, "none" if whole and "{dev_id}" in route else "test", *headers)
        return answer.status in (401, 403) or self.is_blocked(answer)

    def check(self, letter: str, *headers: tuple[str, str], pages: bool = True) -> None:
        """Ask every route; each answer is as the matrix says."""
        wrong = []
        for route, letters in EXPECTED.items():
            page = "/api/v" not in route and letters[0] == "-"
            allowed = letter in letters and (pages or not page)
            if self.refused(route, *headers) is allowed:
                wrong.append(f"{route}: {'refused' if allowed else 'allowed'}")
        self.assertEqual(wrong, [])

    def test_nobody(self) -> None:
        """Without a login there are tasks, probes and the login itself."""
        self.check("n")

    def test_revoked(self) -> None:
        """A deleted key is as good as none."""
        access = self.shop.core.access
        made, key = self.now(access.keys.make("gone"))
        self.now(access.keys.remove(made.id))
        self.check("n", ("x-api-key", key))

    def test_keys(self) -> None:
        """A key does what its role says, and opens no page."""
        for role, key in self.keys.items():
            self.check(role[0], key, pages=False)

    def test_people(self) -> None:
        """A person does what their role says."""
        for role, cookie in self.cookies.items():
            self.check(role[0], cookie)


class DeviceTests(RolesCase):
    """Cashiers and integrators, and a device that is not theirs."""

    def setUp(self) -> None:
        """A receipt on each register."""
        super().setUp()
        self.shop.settings("other", batch={"terminal": "pos"})
        for name in ("test", "other"):
            self.shop.open_shift(name)
            self.assertEqual(self.shop.fiscal(1, f"sale-{name}", name, receipt=RECEIPT)["res"], 0)

    def test_routes(self) -> None:
        """A route with a device in its path is refused for another device, to keys and people alike."""
        for role in BOUND:
            for route, letters in EXPECTED.items():
                if role[0] in letters and "{dev_id}" in route:
                    caller = self.cookies[role] if "/api/v" not in route else self.keys[role]
                    self.assertEqual(self.asked(route, "other", caller).status, 403, (role, route))
                    self.assertEqual(self.asked(route, "none", caller).status, 403, (role, route))

    def test_tasks(self) -> None:
        """A task of another device is refused before it begins, at every endpoint, and in both languages."""
        for role in BOUND:
            for caller in (self.keys[role], self.cookies[role]):
                for route in (route for route, letters in EXPECTED.items() if letters == "namci-"):
                    for device in ("other", "none"):
                        answer = self.asked(route, device, caller)
                        self.assertEqual((answer.status, answer.json["res"]), (403, 2000), (route, device))
                        self.assertIn("не дозволено", answer.json["errortxt"])
        answer = self.asked("POST /dm/execute", "other", self.keys[Role.CASHIER], ("Accept-Language", "en"))
        self.assertIn("not allowed", answer.json["errortxt"])

    def test_every_device_of_a_task(self) -> None:
        """All devices that a task uses have to be allowed: printer, terminal of batch mode, registers of a list."""
        access, test, limited = self.shop.core.access, self.ids["test"], {}
        key = ("x-api-key", self.now(access.keys.make("one", "", Role.INTEGRATOR, (test,)))[1])
        for name, devices in (("two", ("other", "prn")), ("three", ("other", "pos"))):
            made = access.keys.make(name, "", Role.INTEGRATOR, tuple(self.ids[one] for one in devices))
            limited[name] = ("x-api-key", self.now(made)[1])
        status = fiscal(18)
        both = self.keys[Role.INTEGRATOR]
        listing = {"ver": 6, "device": "test", "type": 1, "fiscal": {"get_receipts": True}}
        for path, body, caller, expected in (
            ("/dm/execute", status, key, 200),
            ("/dm/execute-prn", status, key, 403),
            ("/dm/execute-prn?dev_id=prn", status, both, 200),
            (f"/dm/execute-prn?dev_id={self.ids['prn']}", status, key, 403),
            ("/dm/execute-pkg", status, key, 403),
            ("/dm/execute-pkg", status | {"device": "other"}, limited["two"], 403),
            ("/dm/execute-pkg", status | {"device": "other"}, limited["three"], 403),
            ("/dm/execute-pkg", status | {"device": "other", "skipprint": True}, limited["three"], 200),
            ("/dm/execute", listing, both, 403),
            ("/dm/execute", listing | {"fiscal": {"get_receipts": True, "dev_name": "other"}}, both, 403),
            ("/dm/execute", listing | {"fiscal": {"get_receipts": True, "dev_id": self.ids["other"]}}, both, 403),
            ("/dm/execute", listing | {"fiscal": {"get_receipts": True, "dev_name": "test"}}, both, 200),
        ):
            self.assertEqual(self.request("POST", path, body, [caller]).status, expected, (path, body))

    def test_lists(self) -> None:
        """Lists, the journal and the dashboard show their devices only; a filter for another finds nothing."""
        for role in BOUND:
            key, ids = [self.keys[role]], self.ids
            everything = json.dumps(
                [
                    self.request("GET", path, headers=key).json
                    for path in (
                        *(DEVICES, "/dm/main/api/v1/dashboard", "/dm/api/v3/receipts", "/dm/api/v3/operations"),
                        *("/dm/api/v3/jobs", "/dm/api/v3/receipts?search=sale-other"),
                        "/dm/api/v3/operations?kind=fiscal&key=sale-other",
                    )
                ],
                default=str,
            )
            self.assertIn("sale-test", everything)
            for word in ("sale-other", ids["other"], '"other"'):
                self.assertNotIn(word, everything)
            for path in ("receipts", "operations", "jobs"):
                answer = self.request("GET", f"/dm/api/v3/{path}?device=other", headers=key)
                self.assertEqual(answer.status, 422, path)
            told = self.request("GET", f"/dm/main/api/v1/prro?dev_id={ids['other']}", headers=key).json
            self.assertEqual(told["res"], 2007)

    def test_without_devices(self) -> None:
        """Whoever's devices were all deleted sees nothing, not everything."""
        access = self.shop.core.access
        key = ("x-api-key", self.now(access.keys.make("left", "", Role.CASHIER, ("gone",)))[1])
        for path in ("receipts", "operations", "jobs"):
            self.assertEqual(self.request("GET", f"/dm/api/v3/{path}", headers=[key]).json["paging"]["total"], 0)

    def test_single_operations(self) -> None:
        """An operation of another device is not there for them."""
        [row] = self.request("GET", "/dm/api/v3/operations?key=sale-other", headers=[self.keys[Role.MANAGER]]).json[
            "operations"
        ]
        answer = self.request(
            "POST",
            f"/dm/api/v3/operations/{row['id']}/slip",
            {},
            [self.keys[Role.CASHIER], ("Accept-Language", "en")],
        )
        self.assertEqual(answer.status, 404)

    def test_pages(self) -> None:
        """Pages show their devices only, and only what the role may do."""
        pages = ("/dm/main/", "/dm/", "/dm/main/receipts", f"/dm/main/registers/{self.ids['test']}")
        for role, has, has_not in (
            (Role.CASHIER, ("sale", "test"), (">other<", "Sales by the hour")),
            (
                Role.MANAGER,
                (">other", "Sales by the hour", 'data-task="10"'),
                ('data-task="11"', 'data-mode="go-offline"'),
            ),
            (Role.ADMINISTRATOR, (">other", "Sales by the hour", 'data-mode="go-offline"', "/dm/main/settings"), ()),
        ):
            headers = [self.cookies[role], ("Accept-Language", "en")]
            text = "".join(self.request("GET", path, headers=headers).body.decode() for path in pages)
            for word in has:
                self.assertIn(word, text, role)
            for word in (*has_not, *(("/dm/main/settings", "/dm/devices/new") if role != Role.ADMINISTRATOR else ())):
                self.assertNotIn(word, text, role)

    def test_watcher_sees_no_sales(self) -> None:
        """A watcher sees the states of all devices, no receipt and no sum of the day."""
        headers = [self.cookies[Role.WATCHER], ("Accept-Language", "en")]
        text = self.request("GET", "/dm/main/", headers=headers).body.decode()
        self.assertIn(">other", text)
        self.assertNotIn("/dm/main/receipts", text)
        self.assertNotIn(BY_HOUR, text)

    def test_refused_page(self) -> None:
        """A refused page says so in a page, in the reader's language; the log names who asked for what."""
        log = self.logged()
        cookie = self.cookies[Role.CASHIER]
        answer = self.request("GET", "/dm/main/settings", headers=[cookie, ("Accept-Language", "en")])
        self.assertEqual((answer.status, answer.header("content-type")), (403, "text/html; charset=utf-8"))
        self.assertIn("No right to this", answer.body.decode())
        self.assertIn("Немає права", self.request("GET", "/dm/main/settings", headers=[cookie]).body.decode())
        self.request("GET", "/dm/api/v3/log", headers=[self.keys[Role.MANAGER]])
        self.assertIn("cashier cashier may not GET /dm/main/settings", log.getvalue())
        self.assertIn("manager manager may not GET /dm/api/v3/log", log.getvalue())
        self.assertNotIn(self.keys[Role.MANAGER][1], log.getvalue())


BY_HOUR, OFFLINE = "Sales by the hour", 'data-mode="go-offline"'

RECEIPT = sale()["fiscal"]["receipt"]  # type: ignore[index]


class TaskTests(RolesCase):
    """Tasks with and without a key."""

    def test_manager(self) -> None:
        """A manager may ask for reports and copies, and for nothing that makes a document or moves money."""
        for body, expected in (
            *((fiscal(task), 403) for task in (0, 1, 2, 3, 4, 5, 11, 14, 15, 16, 17)),
            *((fiscal(task), 200) for task in (10, 12, 13, 18, 20, 21, 22, 23)),
            ({"ver": 6, "device": "test", "tag": "x", "type": 0}, 200),
            ({"ver": 6, "device": "test", "type": 1, "fiscal": {"get_receipts": True}}, 200),
            ({"ver": 6, "device": "prn", "type": 2, "doc": {"test": 1}}, 403),
            ({"ver": 6, "device": "pos", "type": 3, "pay": {"task": 1, "sum": 1}}, 403),
        ):
            for caller in (self.keys[Role.MANAGER], self.cookies[Role.MANAGER]):
                self.assertEqual(self.request("POST", EXECUTE, body, [caller]).status, expected, body)

    def test_keys_not_needed(self) -> None:
        """Without `task_keys` a task needs no key, and an unknown one is ignored (specification 5.3)."""
        for headers in ((), (("x-api-key", "unknown"),)):
            self.assertEqual(self.request("POST", EXECUTE, fiscal(18), headers).status, 200)

    def test_keys_needed(self) -> None:
        """With `task_keys` every task and service method needs a key or a session that allows it."""
        self.now(self.shop.core.settings.change({"task_keys": True}))
        for route in (route for route, letters in EXPECTED.items() if letters == "namci-"):
            # A place of an answer is asked for by its name.
            let_in = 405 if route.startswith("GET /dm/execute") else 200
            for headers, expected in (
                ((), 401),
                ((("x-api-key", "unknown"),), 401),
                ((self.keys[Role.WATCHER],), 403),
                ((self.keys[Role.INTEGRATOR],), let_in),
                ((self.cookies[Role.CASHIER],), let_in),
                ((self.keys[Role.ADMINISTRATOR],), let_in),
            ):
                self.assertEqual(self.asked(route, "test", *headers).status, expected, (route, headers))
        self.assertEqual(self.request("OPTIONS", EXECUTE).status, 204)

    def test_hardened(self) -> None:
        """In the hardened profile a task needs a key or a session with the right to it, not just any."""
        self.configure(ServerConfig(hardened=True))
        for headers, expected in (
            ((), 401),
            ((self.keys[Role.WATCHER],), 403),
            ((self.keys[Role.INTEGRATOR],), 200),
            ((self.keys[Role.ADMINISTRATOR],), 200),
        ):
            self.assertEqual(self.asked("POST /dm/execute", "test", *headers).status, expected, headers)
        self.assertEqual(self.asked("POST /dm/execute", "other", self.keys[Role.INTEGRATOR]).status, 403)

    def test_no_effect(self) -> None:
        """A refused task leaves no trace at the device."""
        self.request("POST", EXECUTE, fiscal(0, "t") | {"device": "other"}, [self.keys[Role.CASHIER]])
        self.assertEqual(self.shop.fiscal(18, device="other")["info"]["shift_status"], 0)
        self.assertEqual(self.shop.look_up("t", "other")["res"], 1058)

    def test_login_off(self) -> None:
        """Without a login everything is open as before, but a key with a role allows no more than its role."""
        self.shop = Shop(self, whole=True)
        self.door = Door(self.shop.core)
        key = ("x-api-key", self.now(self.shop.core.access.keys.make("w", "", Role.WATCHER))[1])
        self.assertEqual(self.request("GET", "/dm/api/v3/log").status, 200)
        self.assertEqual(self.request("GET", "/dm/api/v3/log", headers=[key]).status, 403)
        self.assertEqual(self.request("POST", EXECUTE, fiscal(18), [key]).status, 403)


class StreamTests(RolesCase):
    """Event streams."""

    def listen(self, *headers: tuple[str, str]) -> Any:
        """A connection that has begun to listen."""
        connection = self.connect()
        connection.ask("GET", "/dm/api/v3/events", headers=headers)
        self.assertTrue(connection._transport.value().startswith(b"HTTP/1.1 200 "))
        return connection

    def test_filtered(self) -> None:
        """Cashiers and integrators hear of their devices, others of all."""
        streams = {role: self.listen(key) for role, key in self.keys.items()}
        for name in ("test", "other"):
            self.shop.fiscal(18, f"tag-{name}", name)
        self.shop.core.dispatcher.events.publish("changed", method="PUT", path=f"/x/{self.ids['other']}")
        for role, stream in streams.items():
            text = stream._transport.value().decode()
            self.assertIn('"device":"test"', text)
            self.assertEqual('"device":"other"' in text, role not in BOUND, role)
            self.assertEqual("event: changed" in text, role not in BOUND, role)

    def test_ended(self) -> None:
        """A stream ends with the key, the session, the password or the role that it was opened with, at once."""
        access = self.shop.core.access
        people = {person.role: person.id for person in access.people}
        keys = {key.role: key.id for key in access.keys}
        token = self.cookies[Role.CASHIER][1].removeprefix("DMUIToken=")
        stays = self.listen(self.keys[Role.ADMINISTRATOR])
        for caller, end in (
            (self.keys[Role.MANAGER], lambda: self.now(access.keys.remove(keys[Role.MANAGER]))),
            (self.keys[Role.WATCHER], lambda: self.now(access.keys.replace(keys[Role.WATCHER]))),
            (
                self.keys[Role.INTEGRATOR],
                lambda: self.now(access.keys.change(keys[Role.INTEGRATOR], {"devices": (self.ids["other"],)})),
            ),
            (self.cookies[Role.CASHIER], lambda: access.log_out(token)),
            (self.cookies[Role.MANAGER], lambda: self.now(access.remove(people[Role.MANAGER]))),
            (
                self.cookies[Role.INTEGRATOR],
                lambda: self.now(access.change(people[Role.INTEGRATOR], {}, "kavun-7-lito")),
            ),
            (
                self.cookies[Role.WATCHER],
                lambda: self.now(access.change(people[Role.WATCHER], {"role": Role.MANAGER})),
            ),
        ):
            stream = self.listen(caller)
            end()
            self.assertTrue(stream._transport.value().endswith(b"0\r\n\r\n"), caller)
        self.assertFalse(stays._transport.value().endswith(b"0\r\n\r\n"))
        self.assertEqual(len(self.door.exact and access.listeners), 1)

    def test_login_begins(self) -> None:
        """A stream that was open to everybody ends when a login is required."""
        self.shop = Shop(self)
        self.door = Door(self.shop.core)
        stream = self.listen()
        self.switch_on()
        self.assertTrue(stream._transport.value().endswith(b"0\r\n\r\n"))


USERS, KEYS = "/dm/api/v3/users", "/dm/api/v3/api-keys"


class UserTests(RolesCase):
    """``/dm/api/v3/users``, and the roles of keys."""

    def ask(self, method: str, path: str, body: object = None) -> HttpAnswer:  # type: ignore[override]
        """The answer to an administrator, in English."""
        key = self.keys[Role.ADMINISTRATOR]
        return self.request(method, path, body, [key, ("Accept-Language", "en")])

    def wrong(self, method: str, path: str, body: object) -> tuple[str, str]:
        """The member of a mistake, and what is said of it."""
        answer = self.ask(method, path, body)
        self.assertEqual(answer.status, 422)
        [problem] = answer.json["errors"]
        return problem["path"], problem["text"]

    def ids_of(self) -> dict[str, str]:
        """The ids of people by their logins."""
        return {one["login"]: one["id"] for one in self.ask("GET", USERS).json["users"]}

    def test_added(self) -> None:
        """A person is added with a role, listed without a password, and logs in, after a restart too."""
        body = {"login": "olena", "password": "kavun-7-lito", "role": "cashier", "devices": list(self.own)}
        made = self.ask("POST", USERS, body)
        self.assertEqual(made.status, 201)
        expected = {"id": made.json["id"], "login": "olena", "role": "cashier", "devices": list(self.own)}
        self.assertEqual(made.json, expected)
        listed = self.ask("GET", USERS)
        self.assertEqual(listed.json["users"][-1], expected)
        self.assertEqual(listed.json["users"][0]["role"], "administrator")
        self.assertNotIn(b"argon2", listed.body)
        self.shop.crash()
        self.door = Door(self.shop.core)
        self.assertEqual(self.log_in("olena", "kavun-7-lito").status, 200)
        self.assertEqual(self.log_in("olena", PASSWORD).status, 401)
        self.assertEqual(self.log_in("admin", PASSWORD).status, 200)

    def test_mistakes(self) -> None:
        """A mistake is named by its member, and nobody is added."""
        good: dict[str, object] = {"login": "olena", "password": "kavun-7-lito", "role": "manager"}
        for change, path in (
            ({"login": ""}, "login"),
            ({"login": "admin"}, "login"),
            ({"password": ""}, "password"),
            ({"password": "123"}, "password"),
            ({"password": "olena2024"}, "password"),
            ({"role": "owner"}, "role"),
            ({"role": "cashier"}, "devices"),
            ({"role": "integrator", "devices": ["none"]}, "devices"),
            ({"devices": list(self.own)}, "devices"),
        ):
            self.assertEqual(self.wrong("POST", USERS, {**good, **change})[0], path, change)
        self.assertEqual(len(self.ids_of()), 5)
        self.assertEqual(self.ask("PATCH", f"{USERS}/none", {"role": "manager"}).status, 404)
        self.assertEqual(self.ask("DELETE", f"{USERS}/none").status, 404)

    def test_last_administrator(self) -> None:
        """The last administrator cannot be deleted or get another role; with a second one the first can."""
        first = f"{USERS}/{self.ids_of()['admin']}"
        self.assertEqual(self.wrong("DELETE", first, None)[0], "role")
        path, text = self.wrong("PATCH", first, {"role": "manager"})
        self.assertEqual((path, text), ("role", "the last administrator stays; make another one first"))
        self.assertEqual(self.request("GET", DEVICES, headers=[self.cookies[Role.ADMINISTRATOR]]).status, 200)
        self.ask("POST", USERS, {"login": "second", "password": "kavun-7-lito", "role": "administrator"})
        self.assertEqual(self.ask("DELETE", first).status, 204)
        self.assertEqual(self.log_in("admin", PASSWORD).status, 401)
        self.assertEqual(self.log_in("second", "kavun-7-lito").status, 200)
        # A version with one login finds this one.
        kept = json.loads(self.now(self.shop.store.settings())["login"])
        self.assertEqual(kept["login"], "second")

    def test_changed(self) -> None:
        """A change of password, role, devices or login ends the sessions of that person at once, and of no other."""
        ids = self.ids_of()
        for role, change in (
            (Role.CASHIER, {"devices": [self.ids["other"]]}),
            (Role.MANAGER, {"password": "kavun-7-lito"}),
            (Role.WATCHER, {"role": "manager"}),
            (Role.INTEGRATOR, {"login": "other"}),
        ):
            cookie = self.cookies[role]
            self.assertEqual(self.request("GET", DEVICES, headers=[cookie]).status, 200)
            self.assertEqual(self.ask("PATCH", f"{USERS}/{ids[role]}", change).status, 200)
            self.assertTrue(self.is_blocked(self.request("GET", DEVICES, headers=[cookie])), role)
        self.assertEqual(self.request("GET", DEVICES, headers=[self.cookies[Role.ADMINISTRATOR]]).status, 200)
        answer = self.request("GET", DEVICES, headers=[self.session_of("cashier", PASSWORD)])
        self.assertEqual([one["device"] for one in answer.json["devices"]], ["other"])
        self.assertEqual(self.log_in("manager", PASSWORD).status, 401)

    def session_of(self, login: str, password: str) -> tuple[str, str]:
        """The header of a new session."""
        return ("Cookie", f"DMUIToken={token_of(self.log_in(login, password))}")

    def test_deleted(self) -> None:
        """A deleted person's session ends at once."""
        self.assertEqual(self.ask("DELETE", f"{USERS}/{self.ids_of()['manager']}").status, 204)
        self.assertTrue(self.is_blocked(self.request("GET", DEVICES, headers=[self.cookies[Role.MANAGER]])))

    def test_own_password(self) -> None:
        """Everybody changes their password with the old one, and logs in again; wrong ones are slowed down."""
        path, cookie = f"{USERS}/me/password", self.cookies[Role.CASHIER]
        wrong = self.request("POST", path, {"old": "x", "password": "kavun-7-lito"}, [cookie])
        self.assertEqual((wrong.status, wrong.json["errors"][0]["path"]), (422, "old"))
        self.assertEqual(wrong.json["errors"][0]["text"], "старий пароль неправильний")
        self.assertEqual(self.request("POST", path, {"old": PASSWORD, "password": ""}, [cookie]).status, 422)
        answer = self.request("POST", path, {"old": PASSWORD, "password": "kavun-7-lito"}, [cookie])
        self.assertEqual((answer.status, answer.json["res"]), (200, 0))
        self.assertTrue(self.is_blocked(self.request("GET", DEVICES, headers=[cookie])))
        self.assertEqual(self.log_in("cashier", "kavun-7-lito").status, 200)
        guess = {"old": "x", "password": "kavun-7-lito"}
        statuses = [self.request("POST", path, guess, [self.cookies[Role.MANAGER]]).status for _ in range(8)]
        self.assertEqual((statuses[0], statuses[-1]), (422, 429))
        self.assertEqual(self.ask("POST", path, guess).status, 409)

    def test_login_off(self) -> None:
        """The first login is set with the settings; switching it off would drop the others, so they go first."""
        answer = self.request(
            "POST", SETTINGS, {"usr_uiauth": False}, [self.cookies[Role.ADMINISTRATOR], ("Accept-Language", "en")]
        )
        self.assertIn("delete the other people first", answer.json["errortxt"])
        for role, id in self.ids_of().items():
            if role != "admin":
                self.ask("DELETE", f"{USERS}/{id}")
        self.assertEqual(self.ask("POST", SETTINGS, {"usr_uiauth": False}).json["res"], 0)
        self.assertFalse(self.shop.core.access.on)
        body = {"login": "olena", "password": "kavun-7-lito", "role": "administrator"}
        self.assertEqual(self.ask("POST", USERS, body).status, 409)

    def test_first_administrator(self) -> None:
        """The settings change the first administrator and leave the others alone."""
        change = {
            "usr_uiauth": True,
            "usr_login": "owner",
            "usr_pass": "kavun-7-lito",
            "usr_confpass": "kavun-7-lito",
        }
        self.assertEqual(self.ask("POST", SETTINGS, change).json["res"], 0)
        self.assertTrue(self.is_blocked(self.request("GET", DEVICES, headers=[self.cookies[Role.ADMINISTRATOR]])))
        self.assertEqual(self.request("GET", DEVICES, headers=[self.cookies[Role.MANAGER]]).status, 200)
        self.assertEqual(self.log_in("owner", "kavun-7-lito").status, 200)
        self.assertEqual(self.log_in("admin", PASSWORD).status, 401)

    def test_of_an_earlier_version(self) -> None:
        """A login and a key that an earlier version stored are an administrator's."""
        kept = self.now(self.shop.store.settings())
        login, [key, *_] = json.loads(kept["login"]), json.loads(kept["api_keys"])
        old = {"login": json.dumps({"login": login["login"], "hash": login["hash"]}).encode()}
        old["api_keys"] = json.dumps([{name: key[name] for name in ("id", "name", "hash", "made_at")}]).encode()
        change = self.shop.core.access._changes.change(Area.LOGIN, Action.CHANGED)
        self.now(self.shop.store.change_settings(old, change))
        self.shop.crash()
        self.door = Door(self.shop.core)
        self.assertEqual(self.ids_of(), {"admin": "first"})
        self.assertEqual(self.request("GET", "/dm/api/v3/log", headers=[self.cookie()]).status, 200)
        self.assertEqual(self.ask("GET", "/dm/api/v3/log").status, 200)

    def test_keys(self) -> None:
        """A key is made with a role and changed later; it stays the same key, and its new role counts at once."""
        made = self.ask("POST", KEYS, {"name": "till", "role": "integrator", "devices": [self.ids["test"]]})
        self.assertEqual(made.status, 201)
        key = ("x-api-key", made.json["key"])
        self.assertEqual(self.request("POST", EXECUTE, fiscal(18), [key]).status, 200)
        path = f"{KEYS}/{made.json['id']}"
        self.assertEqual(self.wrong("PATCH", path, {"role": "manager"})[0], "devices")
        changed = self.ask("PATCH", path, {"name": "books", "role": "manager", "devices": []})
        self.assertEqual((changed.status, changed.json["name"], changed.json["role"]), (200, "books", "manager"))
        self.assertEqual(self.request("POST", EXECUTE, fiscal(0), [key]).status, 403)
        self.assertEqual(self.ask("PATCH", f"{KEYS}/none", {"name": "x"}).status, 404)
        for body in ({"name": "x", "role": "cashier"}, {"name": "x", "devices": [self.ids["test"]]}):
            self.assertEqual(self.wrong("POST", KEYS, body)[0], "devices")

    def test_pages(self) -> None:
        """The settings show people and keys with their roles; each person has a page with their password."""
        text = self.request("GET", "/dm/main/settings", headers=[self.cookies[Role.ADMINISTRATOR]]).body.decode()
        for word in ("Хто входить", "касир", "new-person", 'name="task_keys"', "/dm/main/me"):
            self.assertIn(word, text)
        self.assertNotIn("argon2", text)
        headers = [self.cookies[Role.CASHIER], ("Accept-Language", "en")]
        page = self.request("GET", "/dm/main/me", headers=headers).body.decode()
        for word in ("cashier", "own-password", "test, prn, pos"):
            self.assertIn(word, page)
        self.assertNotIn("other", page.split("<main")[1].split("</main>")[0].replace("data-other", ""))

    def test_recorded(self) -> None:
        """Changes of people and keys are in the journal of changes, without hashes."""
        self.ask("PATCH", f"{USERS}/{self.ids_of()['cashier']}", {"devices": [self.ids["other"]]})
        query = OperationQuery(kinds=[CHANGE], limit=1)
        [row] = self.now(self.shop.store.find_operations(query)).operations
        record = record_of(row)
        self.assertEqual((row.key, record.action, record.subject), (Area.USER, Action.CHANGED, "cashier"))
        self.assertEqual(record.after, {"devices": [self.ids["other"]]})
