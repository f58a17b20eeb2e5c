"""Service methods of terminals, the wish to stop, scenario and ledger of the training terminal, through the door."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from tests.shop import Shop
from tests.specification import promises
from tests.terminal_matrix import shows
from tests.web_case import DEVICES, EXECUTE, JSON_TYPE, Connection, HttpAnswer, WebCase
from web.site import Door

Told = dict[str, Any]

METHODS = ("bankping", "getmerchantlist", "getmasklist", "getgetmasklist", "bankecho")


class PosWebCase(WebCase):
    """The door of a service with a terminal."""

    def setUp(self) -> None:
        """A fresh service in training mode."""
        self.shop = Shop(self, whole=True)
        self.door = Door(self.shop.core)

    def begin(self, method: str, path: str, body: object = None) -> Connection:
        """A request whose answer may take its time."""
        connection = self.connect()
        raw = b"" if body is None else json.dumps(body).encode()
        connection.ask(method, path, raw, [JSON_TYPE] if raw else [])
        return connection

    def answer(self, connection: Connection) -> HttpAnswer:
        """The one answer that came, once it came."""
        for _ in range(4000):
            answers = connection.answers()
            if answers:
                return answers[0]
            self.shop.clock.advance(0.1)
        raise AssertionError("no answer")

    def begin_payment(self, label: str = "", task: int = 1, **pay: Any) -> Connection:
        """A payment on its way."""
        told = {"device": "pos", "type": 3, "transaction_id": label, "pay": {"task": task, "sum": 100, **pay}}
        return self.begin("POST", EXECUTE, told)

    def pay(self, **more: Any) -> Told:
        """The answer to a payment."""
        told: Told = self.answer(self.begin_payment(**more)).json
        return told

    def ask(self, name: str, device: str = "pos") -> Told:
        """The answer of a service method."""
        answer = self.answer(self.begin("GET", f"/dm/{name}?dev_name={device}"))
        self.assertEqual((answer.status, answer.header("content-type")), (200, "application/json"))
        told: Told = answer.json
        return told

    def put_scenario(self, *rules: Told) -> None:
        """What the training terminal does next."""
        self.assertEqual(self.request("PUT", f"{DEVICES}/{self.pos}/scenario", {"rules": rules}).status, 200)

    @property
    def pos(self) -> str:
        """The id of the terminal."""
        return self.shop.core.devices.by_name("pos").row.dev_id


class EndpointTests(PosWebCase):
    """One door for each kind of device."""

    @promises("1.7.1", "4.1.execute", "4.1.execute-prn", "4.2.numbers.1", "4.4.numbers.1")
    def test_every_action(self) -> None:
        """Registers and terminals hear each of their tasks at `/dm/execute`, printers at `/dm/execute-prn`."""
        answers = {task: self.answer(self.begin_payment(task=task)).json["res"] for task in range(20)}
        heard = {task for task, res in answers.items() if res not in (303, 317, 2000, 1091)}
        self.assertEqual(heard, {*range(1, 9), 10, 11, *range(14, 18)})
        heard = set()
        for task in range(30):
            told = {"ver": 6, "device": "test", "type": 1, "fiscal": {"task": task}}
            answer = self.answer(self.begin("POST", EXECUTE, told)).json
            heard |= {task} if answer["res"] not in (307, 2000, 1091) else set()
        self.assertEqual(heard, {*range(6), *range(10, 18), 18, *range(20, 24)})
        told = {"ver": 6, "device": "prn", "type": 2, "doc": {"lines": [{"t": "Кава"}]}}
        self.assertEqual(self.answer(self.begin("POST", f"{EXECUTE}-prn", told)).json["res"], 0)


class ServiceMethodTests(PosWebCase):
    """``GET /dm/…?dev_name=``"""

    @promises("2.2.dev_name", "4.4.label.2")
    def test_answers(self) -> None:
        """Each method answers in the shape of a task, without a label."""
        for name, told in (
            ("bankping", {"restxt": "OK"}),
            ("bankecho", {"restxt": "OK"}),
            ("getmerchantlist", {"merchListValue": {"1": "Навчальна крамниця", "2": "Кав’ярня"}}),
            ("getmasklist", {"maskListValue": {"1": "DM000001", "2": "DM000001"}}),
            ("getgetmasklist", {"maskListValue": {"1": "DM000001", "2": "DM000001"}}),
            ("transaction-status", {"state": "idle", "text": ""}),
        ):
            answer = self.ask(name)
            self.assertEqual((answer["res"], answer["task_status"], answer["type"]), (0, 1, 3), name)
            self.assertEqual((answer["device"], answer["info"]), ("pos", told))
            self.assertNotIn("transaction_id", answer)

    @promises("2.2.dev_name")
    def test_unknown_device(self) -> None:
        """An unknown name, and a device that is not a terminal, are 303 with the name."""
        for name in (*METHODS, "transaction-status", "lasttransaction"):
            for device in ("nobody", "test"):
                answer = self.ask(name, device)
                self.assertEqual((answer["res"], answer["res_action"], answer["info"]), (303, 3, {}))
                self.assertIn(device, answer["errortxt"])
        self.assertEqual(self.answer(self.begin("GET", "/dm/bankping")).json["res"], 303)

    def test_not_in_the_protocol(self) -> None:
        """What the terminal's protocol lacks is 303 with the names of both."""
        body = {"device": "ssi", "kind": "terminal", "driver": "ssi-json", "settings": {"host": "192.0.2.1"}}
        self.assertEqual(self.request("POST", DEVICES, body).status, 201)
        for name in ("bankping", "getmasklist", "getgetmasklist"):
            answer = self.ask(name, "ssi")
            self.assertEqual(answer["res"], 303)
            self.assertIn("«ssi», драйвер ssi-json", answer["errortxt"])

    def test_unusable(self) -> None:
        """A terminal that cannot be used says why: 430."""
        self.shop.make_unusable("pos", "its settings do not fit")
        answer = self.ask("bankping")
        self.assertEqual((answer["res"], "settings do not fit" in answer["errortxt"]), (430, True))

    @promises("1.9e.1.2")
    def test_while_it_works(self) -> None:
        """While an operation runs nothing answers 1105: the terminal is busy, or is not asked at all."""
        self.pay()
        running = self.begin_payment("c5a6f0a8-3a4e-5b7e-9d3a-3f1b1c2d4e5f")
        self.shop.clock.pump([0.1] * 8)
        for name in METHODS:
            [answer] = self.ask_now(name)
            self.assertEqual((answer["res"], answer["res_action"]), (5022, 1))
        [last] = self.ask_now("lasttransaction")
        self.assertEqual((last["res"], last["task_status"], last["info"]["sum"]), (0, 2, 100))
        [status] = self.ask_now("transaction-status")
        self.assertIn(status["info"]["state"], ("waiting_card", "card_read", "pin", "bank", "printing"))
        self.assertEqual(
            (status["info"]["task"], status["info"]["transaction_id"]), (1, "c5a6f0a8-3a4e-5b7e-9d3a-3f1b1c2d4e5f")
        )
        self.assertEqual(self.answer(running).json["res"], 0)

    def ask_now(self, name: str) -> list[Told]:
        """The answers that are there at once."""
        return [answer.json for answer in self.begin("GET", f"/dm/{name}?dev_name=pos").answers()]

    @shows("rule 11")
    def test_progress_is_fresh(self) -> None:
        """The state of the terminal is published less than a second after the change."""
        self.put_scenario({"on": "payment", "then": "accept", "delay_ms": 5000})
        running = self.begin_payment()
        terminal = self.shop.core.devices.by_name("pos").simulator
        words = {"waiting_card": "waiting_card", "authorising": "bank"}
        since, state = 0.0, ""
        for _ in range(60):
            self.shop.clock.advance(0.1)
            since = since + 0.1 if str(terminal.state) == state else 0.0
            state = str(terminal.state)
            if since >= 0.9 and state in words:
                [told] = self.ask_now("transaction-status")
                self.assertEqual(told["info"]["state"], words[state])
        self.answer(running)
        self.assertEqual(self.ask("transaction-status")["info"]["state"], "idle")

    def test_between_card_and_confirmation(self) -> None:
        """Between tasks 6 and 7 the terminal is not asked: 5073."""
        self.pay(task=6)
        for name in METHODS:
            self.assertEqual(self.ask(name)["res"], 5073)
        self.assertEqual(self.ask("transaction-status")["info"]["state"], "waiting_cashier")
        self.assertEqual(self.pay(task=7)["res"], 0)

    def test_last(self) -> None:
        """The last operation is the stored answer; before the first it is 5013."""
        self.assertEqual(self.ask("lasttransaction")["res"], 5013)
        self.put_scenario({"on": "payment", "then": "refuse", "code": "51"})
        refused = self.pay()
        self.assertEqual(self.ask("lasttransaction"), refused)
        paid = self.pay()
        self.assertEqual(self.ask("lasttransaction"), {**paid, "task_status": 2})

    def test_last_in_doubt(self) -> None:
        """An operation with an unknown outcome is queried before it is returned as the last one."""
        running = self.begin_payment()
        terminal = self.shop.core.devices.by_name("pos").simulator
        while not terminal.entries():
            self.shop.clock.advance(0.05)
        self.shop.core.devices.close()
        self.shop.clock.advance(0)
        self.shop.crash()
        self.door = Door(self.shop.core)
        running.hang_up()
        self.assertEqual(self.ask("lasttransaction")["info"]["sum"], 100)

    def test_methods_and_origins(self) -> None:
        """Pages of any origin may ask; anything but GET is refused."""
        answer = self.request("OPTIONS", "/dm/bankping")
        self.assertEqual((answer.status, answer.header("access-control-allow-origin")), (204, "*"))
        self.assertEqual(answer.header("access-control-allow-methods"), "GET, OPTIONS")
        self.assertEqual(answer.header("access-control-allow-private-network"), "true")
        told = self.request("GET", "/dm/transaction-status?dev_name=pos")
        self.assertEqual(told.header("access-control-allow-origin"), "*")
        self.assertEqual(self.request("POST", "/dm/bankping", {}).status, 405)
        self.assertEqual(self.request("HEAD", "/dm/transaction-status?dev_name=pos").body, b"")

    def test_languages(self) -> None:
        """Errors are in the caller's language."""
        connection = self.connect()
        connection.ask("GET", "/dm/bankping?dev_name=x", headers=[("Accept-Language", "en")])
        [answer] = connection.answers()
        self.assertIn("No terminal protocol is found for this device name", answer.json["errortxt"])

    def test_hang_up(self) -> None:
        """A caller that hangs up leaves nothing behind: the terminal is asked to the end and free again."""
        connection = self.begin("GET", "/dm/bankping?dev_name=pos")
        connection.hang_up()
        self.shop.clock.pump([0.1] * 20)
        self.assertEqual(self.ask("bankping")["res"], 0)

    def test_store_away(self) -> None:
        """A store that fails is 1082."""
        self.shop.store.broken = True
        self.assertEqual(self.ask("lasttransaction")["res"], 1082)
        self.shop.store.broken = False


class InterruptTests(PosWebCase):
    """``POST /dm/api/v3/devices/{dev_id}/interrupt``"""

    def interrupt(self, dev_id: str = "") -> HttpAnswer:
        """The answer to the wish."""
        return self.answer(self.begin("POST", f"{DEVICES}/{dev_id or self.pos}/interrupt", {}))

    def test_in_time(self) -> None:
        """Before the bank is asked, the payment ends as cancelled, and its own answer says so."""
        label = str(uuid4())
        running = self.begin_payment(label)
        self.shop.clock.pump([0.1] * 4)
        answer = self.interrupt()
        self.assertEqual((answer.status, answer.json["res"]), (200, 0))
        told = self.answer(running).json
        self.assertEqual((told["res"], told["res_action"], told["transaction_id"]), (5023, 3, label))
        self.assertEqual(self.request("GET", f"{DEVICES}/{self.pos}/ledger").json["entries"][0]["status"], "refused")

    @shows("rule 8")
    def test_loses_to_an_approval(self) -> None:
        """An interruption that comes too late changes nothing: the approval is returned as one."""
        self.put_scenario({"on": "payment", "then": "accept", "delay_ms": 3000})
        running = self.begin_payment()
        self.shop.clock.pump([0.1] * 20)
        self.assertEqual(self.interrupt().status, 200)
        self.assertEqual(self.answer(running).json["res"], 0)
        [entry] = self.request("GET", f"{DEVICES}/{self.pos}/ledger").json["entries"]
        self.assertEqual((entry["status"], entry["sum"]), ("accepted", 10_000))

    def test_nothing_runs(self) -> None:
        """Without an operation there is nothing to stop: 409 with 5074."""
        answer = self.interrupt()
        self.assertEqual((answer.status, answer.json["res"], answer.json["errors"]), (409, 5074, []))

    def test_no_terminal(self) -> None:
        """An unknown device is 404, and so is one that is no terminal."""
        self.assertEqual(self.interrupt("nobody").status, 404)
        self.assertEqual(self.interrupt(self.shop.core.devices.by_name("test").row.dev_id).status, 404)
        self.assertEqual(self.request("GET", f"{DEVICES}/{self.pos}/interrupt").status, 405)

    def test_other_origins(self) -> None:
        """A page of another origin may not stop a payment."""
        answer = self.request("POST", f"{DEVICES}/{self.pos}/interrupt", {}, [("Origin", "http://elsewhere")])
        self.assertEqual(answer.status, 403)


class TrainingTerminalTests(PosWebCase):
    """``PUT scenario`` and ``GET ledger`` of `pos`."""

    def test_lost_after(self) -> None:
        """A payment whose answer is lost is approved once, in the ledger and for the caller."""
        self.put_scenario({"on": "payment", "then": "lost_after"})
        answer = self.pay()
        [entry] = self.request("GET", f"{DEVICES}/{self.pos}/ledger").json["entries"]
        self.assertEqual((answer["res"], answer["info"]["refundid"]), (0, entry["number"]))
        self.assertEqual((entry["kind"], entry["sum"], entry["ref"]), ("payment", 10_000, "1"))

    def test_record(self) -> None:
        """The device is a terminal with its state; the list of drivers has the abilities of each protocol."""
        record = self.request("GET", f"{DEVICES}/{self.pos}").json
        state = record["state"]
        self.assertEqual((record["is_pay"], state["progress"], state["busy"]), (True, "idle", False))
        drivers = self.request("GET", "/dm/api/v3/drivers").json["drivers"]
        terminals = {driver["driver"]: driver for driver in drivers if driver["kind"] == "terminal"}
        self.assertLessEqual({"training", "privatbank-json", "ssi-json"}, set(terminals))
        self.assertIn("instalments", terminals["privatbank-json"]["capabilities"])
        self.assertNotIn("instalments", terminals["ssi-json"]["capabilities"])
        self.assertIn("wait_s", str(terminals["ssi-json"]["settings_schema"]))

    def test_settings(self) -> None:
        """Settings that do not say where a terminal is are 422 with the path."""
        body = {"device": "p", "kind": "terminal", "driver": "privatbank-json", "settings": {}}
        answer = self.request("POST", DEVICES, body)
        self.assertEqual((answer.status, answer.json["errors"][0]["path"]), (422, "settings.host"))

    def test_settle(self) -> None:
        """A person says how a payment ended that the terminal cannot report, and the terminal is free again."""
        self.put_scenario({"on": "payment", "then": "lost_after"})
        running = self.begin_payment()
        terminal = self.shop.core.devices.by_name("pos").simulator
        while not terminal.entries():
            self.shop.clock.advance(0.05)
        self.put_scenario({"on": "probe", "then": "silent", "times": 0})
        self.assertEqual(self.answer(running).json["res_action"], 2)
        [row] = self.request("GET", "/dm/api/v3/operations?state=unfinished").json["operations"]
        path = f"/dm/api/v3/operations/{row['id']}/settle"
        answer = self.answer(self.begin("POST", path, {"outcome": "approved"}))
        self.assertEqual((answer.status, answer.json["state"]), (200, "done"))
        self.put_scenario()
        self.assertEqual(self.pay()["res"], 0)

    def test_change_waits(self) -> None:
        """A terminal is changed when its operation is over, not in the midst of it."""
        running = self.begin_payment()
        change = self.begin("PATCH", f"{DEVICES}/{self.pos}", {"settings": {"operation_s": 0.5}})
        self.shop.clock.pump([0.1] * 4)
        self.assertEqual(change.answers(), [])
        self.assertEqual(self.answer(running).json["res"], 0)
        self.assertEqual(self.answer(change).json["settings"]["operation_s"], 0.5)
        self.assertEqual(self.pay()["res"], 0)


class SlipTests(PosWebCase):
    """``POST /dm/api/v3/operations/{id}/slip``: the terminal's slip on a printer of ours."""

    def slip(self, n: int, **body: Any) -> HttpAnswer:
        """The answer to the wish for the slip of the operation ``n``."""
        return self.answer(self.begin("POST", f"/dm/api/v3/operations/{n}/slip", body))

    def last(self) -> int:
        """The number of the last payment."""
        number: int = self.request("GET", "/dm/api/v3/operations?kind=pay").json["operations"][0]["id"]
        return number

    def strip(self) -> str:
        """What came out of the printer."""
        printer = self.shop.core.devices.by_name("prn").simulator
        return "\n".join(line.rstrip() for line in printer.mechanism.paper.text().splitlines())

    @shows("rule 15")
    def test_printed(self) -> None:
        """The stored slip comes out line by line as the terminal wrote it, as often as it is asked for."""
        slip = self.pay()["info"]["receipt"]
        for times in (1, 2):
            told = self.slip(self.last()).json
            self.assertEqual((told["device"], told["fate"], told["paper"]), ("prn", "printed", ""))
            whole = "\n".join(line.rstrip() for line in slip.splitlines())
            self.assertEqual(self.strip().count(whole), times)

    def test_no_slip(self) -> None:
        """Without a slip, an operation or a printer nothing is printed, and the answer has the reason."""
        self.put_scenario({"on": "payment", "then": "unreachable"})
        self.pay()
        self.assertEqual((self.slip(self.last()).status, self.slip(self.last()).json["res"]), (409, 5027))
        self.assertEqual(self.slip(9999).status, 404)
        self.pay()
        self.assertEqual((self.slip(self.last(), printer="none").status, self.strip()), (404, ""))
