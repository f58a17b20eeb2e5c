"""Every code of the catalogue on demand: a small scene produces it, or its page says why no scene can."""

from __future__ import annotations

import ast
import base64
import json
import re
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionRefusedError
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted import backups
from dmtwisted.cloud import CloudTasks
from dmtwisted.devices.devices import PrinterDevice
from dmtwisted.printing.service import PrinterService
from dmtwisted.printing.ways import QueueWay
from dmtwisted.registers import totals
from dmtwisted.results import Action, Refused, Res
from protocols.errors import LineLost
from protocols.printers.profiles import PROFILES
from protocols.printers.queues import UnknownQueue
from tests.http_shop import OverHttp
from tests.prro_shop import FIRST, PrroShop, container, keys
from tests.shop import Shop, sale
from tests.specification import promises
from tests.test_printing_service import Queue
from tests.web_case import JSON_TYPE, Connection
from tools.result_page import RESERVED, SEEN, page, ukrainian_page
from web import certificate, support
from web.site import Door
from web.terminals import ServiceMethod

ROOT = Path(__file__).parent.parent

Answer = dict[str, Any]
Scene = Callable[[Shop], Answer]
"""A scene in a shop; its result is the till's last answer."""

SHAPE = {
    "ver": 6,
    "resp_ver": 4,
    "source": "",
    "task_status": 3,
    "warnings": [],
    "info": {},
}
"""The members of every refusal."""


# Scenes


def refused(on: str, code: int) -> Scene:
    """A document that the simulated tax service refuses with ``code``."""

    def play(shop: Shop) -> Answer:
        rule = {"on": on, "then": "refuse", "code": str(code)}
        if on == "open":
            shop.scenario(rule)
            return shop.fiscal(0)
        shop.open_shift()
        shop.scenario(rule)
        return shop.sell() if on == "sale" else shop.fiscal(11)

    return play


def opened(act: Scene, **settings: Any) -> Scene:
    """Call ``act`` with an open register that has these settings."""

    def play(shop: Shop) -> Answer:
        shop.settings(**settings)
        shop.open_shift()
        return act(shop)

    return play


def sold(row: Answer | None = None, **receipt: Any) -> Scene:
    """A sale with one row: the members of ``row`` replace those of the row, ``receipt`` those of the receipt."""

    def play(shop: Shop) -> Answer:
        base = sale()
        base["rows"][0].update(row or {})
        return shop.fiscal(1, receipt={**base, **receipt})

    return opened(play)


def marked(shop: Shop, **row: Any) -> Answer:
    """A sale of one item with an excise mark."""
    base = sale()
    base["rows"][0].update(code_a="T25I9MLQ0JEOYJ06z9v8W", **row)
    return shop.fiscal(1, receipt=base)


def sold_mark(shop: Shop) -> Answer:
    """A mark is sold twice."""
    marked(shop)
    return marked(shop)


def marked_offline(shop: Shop) -> Answer:
    """A register that is offline sells an item with a mark."""
    shop.scenario({"on": "sale", "then": "unreachable"})
    shop.sell()
    return marked(shop)


def asked(task: int, **members: Any) -> Scene:
    """A task with these members at an open register."""
    return opened(lambda shop: shop.fiscal(task, **members))


def income(**receipt: Any) -> Scene:
    """An income of 10 in cash, with other members of its receipt."""
    return asked(15, receipt={"sum": 10, "pays": [{"type": 0, "sum": 10}], **receipt})


def withdrawn(**cash: Any) -> Scene:
    """A cash withdrawal of 10 by card, with other members."""
    return asked(14, cash={"type": 2, "sum": 10, **cash})


def lost(shop: Shop) -> Answer:
    """A sale with the tag `lost` reaches the tax service, its answer is lost, and no question is answered."""
    shop.open_shift()
    shop.scenario({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "unreachable", "times": 0})
    return shop.sell(100, "lost")


def unreadable_state(shop: Shop) -> Answer:
    """The register's row in the database is damaged."""
    shop.open_shift()
    damage(shop, "UPDATE register SET state = CAST('{' AS BLOB)")
    shop.crash()
    return shop.sell()


def unusable(shop: Shop) -> Answer:
    """The register's settings in the database are not valid for its driver."""
    damage(shop, "UPDATE device SET settings = CAST('{\"hat\": 1}' AS BLOB)")
    shop.crash()
    return shop.fiscal(18)


def offline(shop: Shop) -> None:
    """The register opens and goes offline."""
    shop.open_shift()
    assert switch(shop, "offline") is None


def switch(shop: Shop, way: str) -> Refused | None:
    """Request that the register goes offline or online; return the refusal, if any."""
    if isinstance(shop, OverHttp):
        answer = shop.called("POST", f"{shop.address('test')}/go-{way}")
        return Refused(Res.by_code(answer["res"])) if answer["res"] else None
    going = Deferred.fromCoroutine(getattr(shop.core.devices.by_name("test").built, f"go_{way}")("uk"))
    shop.settle(going)
    found: list[Failure] = []
    going.addErrback(found.append)
    if not found:
        return None
    found[0].trap(Refused)
    assert isinstance(found[0].value, Refused)
    return found[0].value


def offline_too_long(shop: Shop) -> Answer:
    """A sale is sent when the register has been offline for more than 35 hours."""
    shop.scenario({"on": "probe", "then": "unreachable", "times": 0})
    offline(shop)
    shop.clock.advance(35 * 3600 + 1)
    return shop.sell()


def numbers_used_up(shop: Shop) -> Answer:
    """A sale is sent when the register has no offline number left."""
    offline(shop)
    stored: list[tuple[bytes]] = list(database(shop).execute("SELECT state FROM register"))
    state = totals.decode(stored[0][0])
    assert state.offline is not None
    state.offline.ordinal += state.offline_numbers_left
    database(shop).execute("UPDATE register SET state = ?", (totals.encode(state),))
    shop.crash()
    return shop.sell()


def full_disk(shop: Shop) -> Answer:
    """The database refuses every write."""
    shop.open_shift()
    shop.store.broken = True
    return shop.sell()


def while_busy(shop: Shop) -> Answer:
    """The register gets a task while a sale is in progress."""
    shop.open_shift()
    shop.scenario({"on": "sale", "then": "accept", "delay_ms": 1000})
    under_way = shop.asked({"device": "test", "type": 1, "fiscal": {"task": 1, "receipt": sale()}})
    answer = shop.fiscal(18)
    shop.clock.advance(1)
    assert under_way.called
    return answer


def used_tag(shop: Shop) -> Answer:
    """A strict register gets a used tag with another sum."""
    shop.sell(10, "used")
    return shop.sell(11, "used")


def damaged_z(shop: Shop) -> Answer:
    """A stored Z-report cannot be read."""
    shop.open_shift()
    shop.fiscal(11)
    damage(shop, "UPDATE document SET value = x'FF' WHERE kind = 'z'")
    return shop.fiscal(12, n_from=1)


def unrepaired(shop: Shop) -> Answer:
    """The answer of a sale is lost, and the tax service cannot be queried about it."""
    return lost(shop)


def reused_in_collision(shop: Shop) -> Answer:
    """The tag of a sale with a lost answer is sent with another sum."""
    lost(shop)
    return shop.sell(101, "lost")


def unreachable(shop: Shop) -> Answer:
    """The tax service cannot be reached, and the register may not go offline."""
    shop.settings(offline_allowed=False)
    shop.open_shift()
    shop.scenario({"on": "sale", "then": "unreachable"})
    return shop.sell()


def in_two_groups(shop: Shop) -> Answer:
    """An item is sold in one tax group and then in another."""
    rows = [{"code": "7", "name": "Сік", "cnt": 1, "price": 100, "taxgrp": 1}]
    shop.sell(rows=rows)
    return shop.sell(rows=[{**rows[0], "taxgrp": 2}])


def damage(shop: Shop, statement: str) -> None:
    """Change the database while the service runs."""
    assert database(shop).execute(statement).rowcount == 1


def database(shop: Shop) -> sqlite3.Connection:
    """The database of the shop's store."""
    found = shop.store._db
    assert found is not None
    return found


def printed(shop: Shop) -> Answer:
    """The printer `prn` gets a line to print; the answer comes within the time that a caller waits."""
    asked = shop.asked({"device": "prn", "type": 2, "doc": {"lines": [{"t": "а"}]}})
    came: list[bytes] = []
    asked.addCallback(came.append)
    for _ in range(110):
        if not came:
            shop.clock.advance(0.05)
    answer: Answer = json.loads(came[0])
    return answer


def at_the_printer(**rule: Any) -> Scene:
    """A print that meets this rule of the simulated printer."""

    def play(shop: Shop) -> Answer:
        shop.scenario({"on": "print", **rule}, device="prn")
        return printed(shop)

    return play


def unknown_queue(shop: Shop) -> Answer:
    """The printer is a queue that does not exist in the system."""
    device = shop.core.devices.by_name("prn")
    assert isinstance(device, PrinterDevice)
    device.built.close()
    queue = Queue(UnknownQueue("kitchen"), LineLost(""))
    way = QueueWay(PROFILES["generic-80"], queue)
    device.built = PrinterService(device.row.n, device.name, shop.store, way, shop.core.clock)
    return printed(shop)


def no_session(shop: Shop) -> Refused | None:
    """A register whose opening brought no offline session goes offline."""
    shop.scenario({"on": "open", "then": "accept", "code": "no_session"})
    shop.open_shift()
    return switch(shop, "offline")


def twice_offline(shop: Shop) -> Refused | None:
    """A register that is offline goes offline."""
    offline(shop)
    return switch(shop, "offline")


def twice_online(shop: Shop) -> Refused | None:
    """A register that is online goes online."""
    shop.open_shift()
    return switch(shop, "online")


def lost_end(shop: Shop) -> Refused | None:
    """A register goes online, loses the answer, and is requested to go online again."""
    offline(shop)
    unanswered = {"on": "probe", "then": "unreachable", "times": 0}
    shop.scenario({"on": "any", "then": "accept"}, {"on": "any", "then": "lost_after"}, unanswered)
    assert switch(shop, "online") is not None
    shop.scenario()
    return switch(shop, "online")


def going_offline(**settings: Any) -> Callable[[Shop], Refused | None]:
    """An open register with these settings goes offline."""

    def play(shop: Shop) -> Refused | None:
        shop.settings(**settings)
        shop.open_shift()
        return switch(shop, "offline")

    return play


def uploaded(shop: PrroShop, password: str, device: str) -> Answer:
    """Upload a key for ``device``."""
    key = base64.b64encode(container(keys().cashier, "right")).decode()
    path = f"/dm/main/api/v1/prro/sign?dev_id={shop.core.devices.by_name(device).row.dev_id}"
    return asked_of_door(shop, path, {"key": key, "password": password})


def opened_prro(shop: PrroShop) -> None:
    """The register `one` is open with its key."""
    shop.load_key("one", keys().cashier)
    assert shop.fiscal(0, device="one")["res"] == 0


def without_number(shop: PrroShop) -> Answer:
    """The register does not know its fiscal number."""
    shop.settings("one", fiscal_number="")
    return shop.fiscal(0, device="one")


def lost_secret(shop: PrroShop) -> Answer:
    """The file that unseals the key is gone."""
    opened_prro(shop)
    (shop.state / "secret.key").unlink()
    shop.crash()
    return shop.fiscal(1, device="one", receipt=sale())


def emergency(shop: PrroShop) -> Answer:
    """An open register lost its key, and another key was uploaded."""
    lost_secret(shop)
    shop.load_key("one", keys().other)
    return shop.fiscal(1, device="one", receipt=sale())


def no_signature(shop: PrroShop) -> Answer:
    """The signer does not sign."""
    opened_prro(shop)
    shop.done(shop.built()._key.signer()).close()
    return shop.fiscal(1, device="one", receipt=sale())


def wrong_clock(shop: PrroShop) -> Answer:
    """The tax service's clock is forty minutes ahead."""
    opened_prro(shop)
    shop.far_end.skew_s = 2400
    return shop.fiscal(1, device="one", receipt=sale())


def key_in_use(shop: PrroShop) -> Answer:
    """A key is uploaded for an open register."""
    opened_prro(shop)
    return uploaded(shop, "right", "one")


def asked_of_door(shop: Shop, path: str, body: object) -> Answer:
    """The service's answer to ``body``."""
    if isinstance(shop, OverHttp):
        return shop.called("POST", path, body)
    connection = Connection(Door(shop.core), shop.clock)
    connection.ask("POST", path, json.dumps(body).encode(), [JSON_TYPE])
    (answer,) = connection.answers()
    connection.hang_up()
    decoded: Answer = answer.json
    return decoded


def closed_offline(shop: PrroShop) -> Answer:
    """The tax groups change of a register that is offline, with its shift closed."""
    opened_prro(shop)
    shop.done(shop.built().go_offline("uk"))
    assert shop.fiscal(11, device="one")["res"] == 0
    dev_id = shop.core.devices.by_name("one").row.dev_id
    groups = [{"code": 1, "name": "ПДВ", "letter": "А"}]
    return asked_of_door(shop, "/dm/main/api/v1/prro", {"dev_id": dev_id, "tax_groups": groups})


def never_opened(shop: PrroShop) -> Answer:
    """A register that was never opened is requested to go offline."""
    dev_id = shop.core.devices.by_name("one").row.dev_id
    return asked_of_door(shop, f"/dm/api/v3/devices/{dev_id}/go-offline", {})


def used_elsewhere(shop: PrroShop) -> Answer:
    """A register is opened that another machine has told the tax service of."""
    shop.load_key("one", keys().cashier)
    shop.settings("one", device_register="on")
    shop.far_end.books.registers[FIRST].device = "0" * 64
    return shop.fiscal(0, device="one")


def not_processed(shop: PrroShop) -> Answer:
    """The tax service has a document whose answer was lost, and has not given it a number yet."""
    shop.load_key("one", keys().cashier)
    # The next number and the time are told, the question after the opening is not answered.
    questions = {"on": "probe", "then": "accept", "times": 2}, {"on": "probe", "then": "unreachable", "times": 0}
    shop.rules({"on": "open", "then": "lost_after"}, *questions)
    shop.fiscal(0, device="one")
    shop.rules()
    documents = shop.far_end.books.registers[FIRST].documents
    documents[1] = replace(documents[1], number="")
    return shop.fiscal(0, device="one")


PRRO_SCENES: dict[Res, Callable[[PrroShop], Answer]] = {
    Res.SIGNING_FAILED: no_signature,
    Res.FISCAL_NUMBER_EMPTY: without_number,
    Res.KEY_NOT_LOADED: lost_secret,
    Res.SIGNING_NOT_SET_UP: lambda shop: shop.fiscal(0, device="one"),
    Res.CLOCK_DIFFERS: wrong_clock,
    Res.PREVIOUS_NOT_PROCESSED: not_processed,
    Res.REGISTER_ELSEWHERE: used_elsewhere,
    Res.KEY_REPLACED_IN_EMERGENCY: emergency,
    Res.KEY_UNREADABLE: lambda shop: uploaded(shop, "wrong", "one"),
    Res.REGISTER_ID_NOT_FOUND: lambda shop: uploaded(shop, "right", "test"),
    Res.KEY_IN_USE: key_in_use,
    Res.CLOUD_TOKEN_INVALID: lambda shop: asked_of_door(
        shop, "/dm/main/api/v1/prro", {"device": "new", "token": "a\nb"}
    ),
    Res.REGISTER_OFFLINE: closed_offline,
    Res.REGISTER_NOT_IN_USE: never_opened,
    Res.REGISTER_NOT_CONFIGURED: lambda shop: asked_of_door(
        shop, "/dm/main/api/v1/prro", {"device": "new", "tax_groups": []}
    ),
}
"""Scenes that need a register with its own key."""


TAX_SERVICE: dict[Res, tuple[str, int]] = {
    Res.TAX_SERVICE_REJECTED_SIGNATURE: ("sale", 12),
    Res.TAX_SERVICE_REJECTED_REGISTER: ("open", 4),
    Res.TAX_SERVICE_NOT_SAVED: ("sale", 1034),
    Res.TAX_SERVICE_ERROR: ("sale", 11),
    Res.TAX_SERVICE_WRONG_SEND_TYPE: ("open", 1036),
    Res.TAX_SERVICE_PREVIOUS_Z_MISSING: ("z", 6),
    Res.TAX_SERVICE_WRONG_XML: ("sale", 1038),
    Res.TAX_SERVICE_WRONG_DATE: ("sale", 1039),
    Res.TAX_SERVICE_WRONG_DATA: ("sale", 9),
    Res.TAX_SERVICE_WRONG_Z: ("z", 1041),
    Res.TAX_SERVICE_BLOCKED: ("open", 1042),
    Res.TAX_SERVICE_WRONG_HASH: ("sale", 7),
    Res.TAX_SERVICE_UNKNOWN_REGISTER: ("open", 1),
    Res.TAX_SERVICE_UNKNOWN_KEY: ("open", 2),
    Res.TAX_SERVICE_DAY_NOT_OPEN: ("z", 5),
    Res.TAX_SERVICE_WRONG_OFFLINE_NUMBER: ("sale", 1047),
    Res.TAX_SERVICE_UNAVAILABLE: ("sale", 1084),
    Res.Z_ALREADY_SENT: ("z", 8),
}
"""Documents refused by the tax service, by code; 1 to 13 are its own (docs/reference/tax-service.md#error-codes)."""


def unknown_token(shop: Shop) -> Answer:
    """A program of a cloud cabinet sends a token that no register has."""
    if isinstance(shop, OverHttp):
        return shop.called("POST", "/api/v3/fiscal/execute", {"token": "no", "fiscal": {"task": 1}})
    cloud = CloudTasks(shop.core.devices, shop.core.dispatcher, shop.core.clock)
    answer: Answer = json.loads(
        shop._case.successResultOf(Deferred.fromCoroutine(cloud.execute(b'{"fiscal":{"task":1}}', "uk", "no")))
    )
    return answer


SCENES: dict[Res, Scene] = {
    Res.REGISTER_TOKEN_INVALID: unknown_token,
    Res.DEVICE_ERROR: unusable,
    Res.OFFLINE_TOO_LONG: offline_too_long,
    Res.OFFLINE_NUMBERS_EXHAUSTED: numbers_used_up,
    Res.INTERNAL: unreadable_state,
    Res.STORE_FAILED: full_disk,
    Res.UNKNOWN_DEVICE: lambda shop: shop.fiscal(18, device=" test"),
    Res.DEVICE_BUSY: while_busy,
    Res.MALFORMED: asked(1, receipt={"sum": 0, "rows": {}}),
    Res.UNKNOWN_FISCAL_TASK: asked(6),
    Res.SHIFT_ALREADY_CLOSED: lambda shop: shop.fiscal(11),
    Res.TAX_SERVICE_UNREACHABLE: unreachable,
    Res.TAG_KNOWN: opened(used_tag, strict_tags=True),
    Res.TAG_NOT_FOUND: lambda shop: shop.fiscal(23, fiscal_number="TEST_1"),
    Res.NO_Z_IN_RANGE: asked(12, n_from=99),
    Res.Z_CORRUPTED: damaged_z,
    Res.X_REPORT_FAILED: lambda shop: shop.fiscal(10),
    Res.CASH_NEGATIVE: asked(3, cash={"type": 0, "sum": -1}),
    Res.INCOME_NEGATIVE: income(sum=-1),
    Res.INCOME_CHANGE_NEGATIVE: income(pays=[{"type": 0, "sum": 10, "change": -1}]),
    Res.INCOME_CARD_DATA_MISSING: income(pays=[{"type": 2, "sum": 10, "paysys": "VISA", "cardmask": "4***1"}]),
    Res.COLLISION_NOT_REPAIRED: unrepaired,
    Res.NOT_ENOUGH_CASH: asked(4, cash={"type": 0, "sum": 0.01}),
    Res.TAX_GROUPS_MISSING: opened(lambda shop: shop.sell(), tax_groups=[]),
    Res.TAX_ALGORITHM_UNSUPPORTED: opened(
        lambda shop: shop.sell(), tax_groups=[{"code": 1, "name": "ПДВ", "letter": "А", "algorithm": 9}]
    ),
    Res.COLLISION_DIFFERS: reused_in_collision,
    Res.WRONG_TAX_GROUP: sold({"taxgrp": 99}),
    Res.WRONG_PAYMENT_TYPE: sold(pays=[{"type": 99, "sum": 100}]),
    Res.FORBIDDEN_CHARACTER: sold({"code": "1\t"}),
    Res.MARK_REFUSED: opened(sold_mark, marks_check="local"),
    Res.MARKS_MISSING: opened(lambda shop: marked(shop, cnt=2, cost=100, price=50), marks_count="refuse"),
    Res.MARKS_UNCHECKED: opened(marked_offline, marks_offline="refuse"),
    Res.SHIFT_CLOSED: lambda shop: shop.sell(),
    Res.SHIFT_ALREADY_OPEN: asked(0),
    Res.EMPTY_ROWS: sold(rows=[]),
    Res.MISSING_OBJECT: asked(1),
    Res.RECEIPT_SUM_DIFFERS: sold(sum="99.99"),
    Res.PAYS_DIFFER: sold(pays=[{"type": 0, "sum": "99.99"}]),
    Res.NAME_EMPTY: sold({"name": " "}),
    Res.ROW_SUM_DIFFERS: sold({"price": 0}),
    Res.DISCOUNT_TOO_LARGE: sold({"disc": 100}, sum=0),
    Res.ZERO_PAYMENT: sold(pays=[{"type": 0, "sum": 100}, {"type": 2, "sum": 0}]),
    Res.CODE_NOT_ENABLED: opened(
        lambda shop: shop.sell(), pay_types=[{"code": 0, "name": "Готівка", "enabled": False}]
    ),
    Res.CODE_SOLD_IN_OTHER_GROUP: opened(in_two_groups),
    Res.ROUNDING_OUT_OF_RANGE: sold(round=1),
    Res.ROUNDING_NOT_ENABLED: opened(lambda shop: shop.sell(round="0.1"), rounding_step=0),
    Res.CASH_WITHDRAWAL_NEEDS_CARD: withdrawn(type=0),
    Res.COMMISSION_NEGATIVE: withdrawn(commission=-1),
    Res.ROUND_WITH_AUTOROUND: sold(round="0.1", autoround=True),
    Res.STORNO_FORBIDDEN: opened(lambda shop: shop.fiscal(17), storno_allowed=False),
    **{res: refused(on, code) for res, (on, code) in TAX_SERVICE.items()},
}
"""How each code that refuses a task is produced."""

PRINTER_SCENES: dict[Res, Scene] = {
    Res.PRINTER_CONNECT: at_the_printer(then="unreachable"),
    Res.DEVICE_ERROR: at_the_printer(then="refuse", code="paper"),
    Res.INTERNAL: unknown_queue,
}
"""How each code of printers is produced (specification 7.4)."""


def at_pos(
    task: int, rule: Answer | None = None, *, label: str = "", search: int = 0, device: str = "pos", **pay: Any
) -> Scene:
    """A task of the training terminal, or of another one, that meets a rule."""

    def play(shop: Shop) -> Answer:
        if rule is not None:
            shop.scenario(rule, device="pos")
        body = {"device": device, "type": 3, "transaction_id": label, "transaction_search": search}
        return in_time(shop, shop.asked({**body, "pay": {"task": task, "sum": 10, **pay}}))

    return play


def in_time(shop: Shop, due: Deferred[bytes]) -> Answer:
    """The answer, which may need time."""
    for _ in range(7000):
        if due.called:
            break
        shop.clock.advance(0.1)
    answer: Answer = json.loads(shop._case.successResultOf(due))
    return answer


def paid(then: str, code: str = "", on: str = "payment", times: int = 1) -> Scene:
    """A payment that meets a rule of the training terminal."""
    return at_pos(1, {"on": on, "then": then, "code": code, "times": times})


def nobody(host: str, port: int, factory: Any, *_: object, **__: object) -> None:
    """Nothing is listening at any address."""
    factory.clientConnectionFailed(None, Failure(ConnectionRefusedError()))


def at_another(driver: str, **settings: Any) -> Scene:
    """A payment at a real terminal that is not connected."""

    def play(shop: Shop) -> Answer:
        # The clock of a test opens no connections; here nobody is at the address.
        shop.clock.connectTCP = nobody  # type: ignore[attr-defined]
        adding = shop.core.devices.add("real", "terminal", driver, settings)
        shop._case.successResultOf(Deferred.fromCoroutine(adding))
        return at_pos(1, device="real")(shop)

    return play


def after(*scenes: Scene) -> Scene:
    """Several scenes in a row; the result is the last one's."""

    def play(shop: Shop) -> Answer:
        return [scene(shop) for scene in scenes][-1]

    return play


def silent_terminal(shop: Shop) -> Answer:
    """The terminal takes a payment, and is still at work when its time is over."""
    shop.scenario({"on": "payment", "then": "accept", "delay_ms": 600_000}, device="pos")
    return in_time(shop, shop.asked({"device": "pos", "type": 3, "pay": {"task": 1, "sum": 10}}))


def stopped(shop: Shop) -> Answer:
    """A payment is interrupted while the terminal waits for the card."""
    due = shop.asked({"device": "pos", "type": 3, "pay": {"task": 1, "sum": 10}})
    shop.clock.pump([0.1] * 4)
    if isinstance(shop, OverHttp):
        shop.call("POST", f"{shop.address('pos')}/interrupt")
    else:
        Deferred.fromCoroutine(shop.built("pos").interrupt())
    return in_time(shop, due)


def pinged_register(shop: Shop) -> Answer:
    """A service method of terminals is sent to a register."""
    if isinstance(shop, OverHttp):
        return shop.called("GET", "/dm/bankping?dev_name=test")
    ping = ServiceMethod("ping", shop.core.devices, shop.core.clock, "uk")
    answer: Answer = json.loads(shop._case.successResultOf(Deferred.fromCoroutine(ping.answer("test", "uk"))))
    return answer


TERMINAL_SCENES: dict[Res, Scene] = {
    Res.UNKNOWN_TERMINAL_PROTOCOL: pinged_register,
    Res.UNKNOWN_PAY_TASK: at_pos(9),
    Res.TERMINAL_SILENT: silent_terminal,
    Res.COM_PORT_UNAVAILABLE: at_another("privatbank-json", interface="serial", serial_port="/dev/none"),
    Res.COM_PORT_ERROR: at_another("ssi-json", interface="serial", serial_port="/dev/none"),
    Res.TERMINAL_CONNECT: paid("lost_before", on="probe", times=0),
    Res.TRANSACTION_NOT_FOUND: at_pos(1, label="0b7d2c1e-5f1a-5c3b-8e2d-6a4f9c8b7a60", search=1),
    Res.REQUEST_NOT_TAKEN: paid("lost_before"),
    Res.TERMINAL_UNREACHABLE: at_another("ssi-json", host="192.0.2.1"),
    Res.TASK_NOT_SUPPORTED: at_pos(4),
    Res.TERMINAL_ADDRESS_UNREACHABLE: paid("unreachable"),
    Res.HANDSHAKE_SILENT: paid("silent", on="probe", times=0),
    Res.OPERATION_CANCELLED: stopped,
    Res.OPERATION_NOT_FOUND: at_pos(3, cancelid="77"),
    Res.CONFIRMATION_ACTIVE: after(at_pos(6), at_pos(1)),
    Res.NOTHING_TO_CONFIRM: at_pos(7),
    Res.WRONG_RRN: at_pos(2, refundid="1"),
    Res.TERMINAL_BUSY: paid("refuse", "busy"),
    Res.TERMINAL_ERROR: paid("refuse", "1000"),
    Res.CANCELLED_BY_USER: paid("refuse", "cancelled"),
    Res.EMV_DECLINED: paid("refuse", "chip"),
    Res.TERMINAL_JOURNAL_FULL: paid("refuse", "journal_full"),
    Res.NO_BANK_CONNECTION: paid("refuse", "no_link"),
    Res.NO_PAPER: paid("refuse", "no_paper"),
    Res.TERMINAL_KEYS_WRONG: paid("refuse", "keys"),
    Res.CARD_READER_MISSING: paid("refuse", "reader"),
    Res.TRANSACTION_COMPLETE: paid("refuse", "reversed"),
    Res.UNHANDLED_CODE: paid("refuse", "1999"),
    Res.SETTLEMENT_REQUIRED: paid("refuse", "settle_first"),
    Res.BANK_REFUSED: paid("refuse", "5"),
    Res.BANK_AMOUNT_NOT_ALLOWED: paid("refuse", "13"),
    Res.BANK_WRONG_CARD: paid("refuse", "14"),
    Res.INSUFFICIENT_FUNDS: paid("refuse", "51"),
    Res.WRONG_PIN: paid("refuse", "55"),
    Res.BANK_LIMIT_EXCEEDED: paid("refuse", "61"),
    Res.BANK_DOWN: paid("refuse", "91"),
    Res.BANK_MESSAGE: paid("refuse", "57"),
}
"""How each code of terminals is produced."""

SWITCHES: dict[Res, Callable[[Shop], Refused | None]] = {
    Res.OFFLINE_FORBIDDEN: going_offline(offline_allowed=False),
    Res.ALREADY_OFFLINE: twice_offline,
    Res.ALREADY_ONLINE: twice_online,
    Res.ONLINE_REQUEST_IMPOSSIBLE: lost_end,
    Res.NO_OFFLINE_NUMBERS: no_session,
    Res.KEY_EXPIRES_SOON: going_offline(key_valid_to="2026-09-22"),
}
"""How each code that refuses to go offline or online is produced."""

PROTOCOL_A = dict(enumerate((1044, 1045, 1040, 1033, 1046, 1037, 1043, 1099, 1040, 1040, 1035, 1032, 1035), start=1))
"""The codes for the tax service's own result codes (docs/reference/tax-service.md#result-codes)."""


def as_published(res: Res) -> str:
    """The pattern of a text in Ukrainian: with filled placeholders, and perhaps a note after a colon."""
    text = re.escape(res.text.uk).replace("%s", "(?!-($| )).+").replace("%d", r"\d+")
    return rf"{text}(: .+)?"


class ProducedTests(SynchronousTestCase):
    """The codes that a till can get."""

    def wrong(self, res: Res, answer: Answer, kind: int = 1) -> Answer:
        """Members of ``answer`` that differ from a refusal with ``res``; nothing if all are right."""
        expected = {
            **SHAPE,
            "res": res.code,
            "res_action": int(res.action),
            "device": answer["device"],
            "tag": answer["tag"],
            "type": kind,
            "task": answer["task"],
            "dt": answer["dt"],
            "errortxt": answer["errortxt"],
            "aq_errortxt": answer["aq_errortxt"],
        }
        if kind == 3 and "transaction_id" in answer:
            expected["transaction_id"] = answer["transaction_id"]
        found = {name: value for name, value in answer.items() if expected.get(name, "(none)") != value}
        found.update({name: "(missing)" for name in expected if name not in answer})
        if not re.fullmatch(as_published(res), answer["errortxt"]):
            found["errortxt"] = answer["errortxt"]
        if not re.fullmatch(r"2026092[12]\d{9}", answer["dt"]):
            found["dt"] = answer["dt"]
        return found

    @promises(
        *("2.3.res.2", "2.3.task_status.3", "2.3.res_action", "2.3.errortxt.1", "3.2.1.2", "3.2.2.2", "3.2.3.4"),
        *("3.2.3.1", "3.2.3.2", "3.2.3.3", "7.0.1", "7.codes.1"),
    )
    def test_scenes(self) -> None:
        """Each scene ends with its code, with task_status 3, an empty info, the published text and res_action."""
        found = {res.code: self.wrong(res, play(Shop(self))) for res, play in SCENES.items()}
        self.flushLoggedErrors()
        self.assertEqual({code: wrong for code, wrong in found.items() if wrong}, {})

    @promises("7.codes.1")
    def test_printer_scenes(self) -> None:
        """Each scene at a printer ends the same way."""
        found = {res.code: self.wrong(res, play(Shop(self, whole=True)), 2) for res, play in PRINTER_SCENES.items()}
        self.assertEqual({code: wrong for code, wrong in found.items() if wrong}, {})

    @promises("7.codes.1")
    def test_terminal_scenes(self) -> None:
        """Each scene at a terminal ends the same way; none takes money and reports a failure."""
        found = {}
        for res, play in TERMINAL_SCENES.items():
            shop = Shop(self, whole=True)
            found[res.code] = self.wrong(res, play(shop), 3)
            self.assertEqual(shop.ledger("pos", "payment"), [], res)
        self.assertEqual({code: wrong for code, wrong in found.items() if wrong}, {})

    def test_own_driver(self) -> None:
        """Each code of keys and signing is reported with its published action, and nothing was sold."""
        for res, play in PRRO_SCENES.items():
            shop = PrroShop(self)
            answer = play(shop)
            self.assertEqual(answer["res"], res.code, answer)
            self.assertEqual(answer.get("res_action", int(res.action)), int(res.action))
            self.assertTrue(answer["errortxt"])
            self.assertNotIn("sale", shop.kinds())

    @promises("3.2.0.1", "3.2.0.2", "2.3.res.1", "2.3.errortxt.2")
    def test_success(self) -> None:
        """0: a task that is done has no text, and res_action 0."""
        answer = Shop(self).fiscal(0)
        members = [answer[name] for name in ("res", "res_action", "task_status", "errortxt", "aq_errortxt")]
        self.assertEqual(members, [Res.OK.code, Res.OK.action, 1, Res.OK.text.uk, ""])

    @promises("2.3.warnings.1")
    def test_old_shift(self) -> None:
        """3003: a register whose shift has been open for more than a day warns, and does its task."""
        shop = Shop(self)
        shop.open_shift()
        shop.clock.advance(90_000)
        answer = shop.sell()
        self.assertEqual((answer["res"], answer["res_action"]), (0, 0))
        self.assertEqual(answer["warnings"], [{"code": Res.SHIFT_OLD.code, "wtxt": Res.SHIFT_OLD.text.uk}])

    def test_may_be_repeat(self) -> None:
        """3004: the next task after a lost answer names the receipt that exists, and is done."""
        shop = Shop(self)
        lost(shop)
        shop.scenario()
        answer = shop.sell(200)
        self.assertEqual((answer["res"], answer["res_action"]), (0, 0))
        [warning] = answer["warnings"]
        self.assertEqual(warning["code"], Res.MAY_BE_REPEAT.code)
        self.assertRegex(warning["wtxt"], as_published(Res.MAY_BE_REPEAT))

    def test_another_sum(self) -> None:
        """5075: a part that was approved is no success, but its `info` says what was taken; more is unknown."""
        for code, action in (("partial:100", Action.CORRECT), ("sum:99999900", Action.COLLISION)):
            answer = paid("accept", code)(Shop(self, whole=True))
            self.assertEqual((answer["res"], answer["res_action"], answer["task_status"]), (5075, action, 3))
            self.assertRegex(answer["errortxt"], as_published(Res.ANOTHER_SUM))
            taken = answer["info"].get("sum"), [warning["code"] for warning in answer["warnings"]]
            self.assertEqual(taken, (1.0, [5075]) if action is Action.CORRECT else (None, []))

    def test_used_tag(self) -> None:
        """1051 is a warning in the earlier answer if the register is not strict."""
        shop = Shop(self)
        shop.open_shift()
        answer = used_tag(shop)
        self.assertEqual((answer["res"], answer["task_status"]), (0, 2))
        self.assertEqual(answer["warnings"], [{"code": Res.TAG_KNOWN.code, "wtxt": Res.TAG_KNOWN.warning.uk}])

    def test_switches(self) -> None:
        """An impossible change to offline or online is refused with the published action of its code."""
        for res, play in SWITCHES.items():
            refusal = play(Shop(self))
            assert refusal is not None, res
            self.assertEqual((refusal.res, refusal.action), (res, res.action))

    @promises("1.9e.1.2")
    def test_other_work(self) -> None:
        """2100: work of the service that must not run twice is 409 while it is under way, never 1105."""
        # Kept, because work that nothing refers to is collected, and ends.
        waited: list[Deferred[None]] = []

        async def never(*_: object) -> None:
            waited.append(Deferred())
            await waited[-1]

        for module, name in ((support, "check_file"), (certificate, "ordered"), (backups, "apart")):
            self.patch(module, name, never)
        shop = Shop(self, whole=True)
        shop.core.state = Path(shop.state)
        door = Door(shop.core)
        for path, body, words in (
            ("doctor", b"", "перевірка вже триває"),
            ("database/check", b"", "перевірка вже триває"),
            ("tls/authority", b"{}", "перевіряється інший сертифікат"),
            ("backups", b"", "резервна копія вже створюється"),
        ):
            told = []
            for _ in range(2):
                connection = Connection(door, shop.clock)
                connection.ask("POST", f"/dm/api/v3/{path}", body, [JSON_TYPE])
                told += [(one.status, one.json.get("res"), one.json.get("errortxt")) for one in connection.answers()]
            self.assertEqual(told[-1], (409, 2100, f"{Res.NOT_NOW.text.uk}: {words}"), path)

    @promises("2.1.device.3")
    def test_name_taken(self) -> None:
        """2002: a second device with the same name is refused."""
        shop = Shop(self)
        adding = shop.core.devices.add("test", "register", "training", {})
        failure = self.failureResultOf(Deferred.fromCoroutine(adding), Refused)
        self.assertIs(failure.value.res, Res.DEVICE_NAME_TAKEN)
        self.assertIs(failure.value.action, Action.CORRECT)

    def test_batch_settings(self) -> None:
        """1100: the settings of batch mode cannot be changed during a shift."""
        shop = Shop(self)
        shop.open_shift()
        devices = shop.core.devices
        changing = devices.change(devices.by_name("test").row.dev_id, None, {"batch": {"terminal": "pos"}})
        failure = self.failureResultOf(Deferred.fromCoroutine(changing), Refused)
        self.assertIs(failure.value.res, Res.SHIFT_MUST_BE_CLOSED)
        self.assertIs(failure.value.action, Action.CORRECT)

    def test_open_batch(self) -> None:
        """1074 is a warning while a payment of the register has no receipt yet, and says where to see it."""
        shop = Shop(self, whole=True)
        shop.settings(batch={"terminal": "pos"}, offline_allowed=False)
        shop.open_shift()
        shop.scenario({"on": "sale", "then": "unreachable"})
        receipt = {**sale(), "pays": [{"type": 2, "sum": 100}]}
        body = json.dumps({"device": "test", "tag": "t", "type": 1, "fiscal": {"task": 1, "receipt": receipt}})
        came: list[bytes] = []
        execute = shop.core.dispatcher.execute(body.encode(), "uk", batch=True)
        Deferred.fromCoroutine(execute).addCallback(came.append)
        for _ in range(100):
            if not came:
                shop.clock.advance(0.1)
        self.assertEqual(json.loads(came[0])["res"], Res.TAX_SERVICE_UNREACHABLE.code)
        [warning] = shop.fiscal(18)["warnings"]
        self.assertEqual(warning["code"], Res.COLLISION_UNSOLVABLE.code)
        self.assertEqual(
            warning["wtxt"], f"{Res.COLLISION_UNSOLVABLE.text.uk}: GET /dm/api/v3/operations?state=unfinished"
        )

    @promises("3.2.2.1")
    def test_unknown_outcome(self) -> None:
        """1075 has res_action 2 while the outcome of the receipt is unknown; what was refused is 1084 with 1."""
        shop = Shop(self)
        shop.open_shift()
        unanswered = {"on": "probe", "then": "unreachable", "times": 0}
        for then, res, action in (("lost_after", 1075, 2), ("lost_before", 1075, 2), ("refuse", 1084, 1)):
            shop.scenario({"on": "sale", "then": then, "code": "1084"}, unanswered)
            answer = shop.sell()
            self.assertEqual((answer["res"], answer["res_action"]), (res, action), then)
            shop.scenario()
            shop.fiscal(18)

    def test_codes_of_the_tax_service(self) -> None:
        """Each code of protocol A becomes its entry of the catalogue, and is reported with its own number."""
        shop = Shop(self)
        shop.open_shift()
        for code, wanted in PROTOCOL_A.items():
            shop.scenario({"on": "sale", "then": "refuse", "code": str(code)})
            answer = shop.sell()
            res = Res.by_code(wanted)
            self.assertEqual((answer["res"], answer["res_action"]), (wanted, int(res.action)), code)
            self.assertEqual(answer["errortxt"], f"{res.text.uk}: код ФС {code}")
        self.assertEqual(shop.ledger(kind="sale"), [])

    def test_on_demand(self) -> None:
        """Each code is the answer to a sale that the scenario refuses with it."""
        shop = Shop(self)
        shop.open_shift()
        demanded = [res for res in Res if res is not Res.OK and res.group != "warning"]
        for res in demanded:
            shop.scenario({"on": "sale", "then": "refuse", "code": str(res.code)})
            answer = shop.sell()
            self.assertEqual(
                (answer["res"], answer["res_action"], answer["task_status"], answer["info"]),
                (res.code, int(res.action), 3, {}),
            )
        self.assertEqual(len(shop.ledger(kind="sale", status="refused")), len(demanded))
        self.assertEqual(shop.ledger(kind="sale"), [])


class PageTests(SynchronousTestCase):
    """What the page says about each code."""

    @promises("7.codes.2")
    def test_each_code(self) -> None:
        """Each code is either produced by a test, or listed with the reason why it cannot be."""
        produced = {
            *SCENES,
            *PRINTER_SCENES,
            *TERMINAL_SCENES,
            *SWITCHES,
            *PRRO_SCENES,
            Res.OK,
            Res.NOT_NOW,
            Res.DEVICE_NAME_TAKEN,
            Res.SHIFT_MUST_BE_CLOSED,
            Res.SHIFT_OLD,
            Res.SETTINGS_CHANGE,
            Res.SHIFT_PAST_MIDNIGHT,
            Res.EXCISE_UNCODED,
            Res.MAY_BE_REPEAT,
            Res.ANSWERS_UNVERIFIED,
            Res.LEFT_OUT,
            Res.NOT_DELIVERED,
            Res.MACHINE_DIFFERS,
            Res.Z_REPORT_FAILED,
            Res.COLLISION_UNSOLVABLE,
            Res.ANOTHER_SUM,
        }
        self.assertEqual([res for res in Res if (res in produced) == (res in RESERVED)], [])
        self.assertEqual({res for res in Res if res in SEEN}, produced)

    def test_nothing_raised_is_listed_as_missing(self) -> None:
        """A code that the product code uses is not listed as one that cannot be produced."""
        for folder in ("dmtwisted", "protocols", "web"):
            for path in (ROOT / folder).rglob("*.py"):
                if path.name in ("results.py", "result_page.py"):
                    continue
                named = {
                    node.attr
                    for node in ast.walk(ast.parse(path.read_text("utf-8")))
                    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Res"
                }
                self.assertEqual([res.code for res in RESERVED if res.name in named], [], str(path))

    def test_rules(self) -> None:
        """The page names the same rule for a code of the tax service as the tests use."""
        for res, (on, code) in TAX_SERVICE.items():
            self.assertTrue(SEEN[res].startswith(f"`{on}=refuse:{code}`"), SEEN[res])

    def test_current(self) -> None:
        """`docs/result-codes.md` is equal to the generated page."""
        self.assertEqual((ROOT / "docs" / "result-codes.md").read_text(encoding="utf-8"), page())

    def test_ukrainian(self) -> None:
        """`docs/uk/result-codes.md` has each code in Ukrainian, with what the cashier and the program do."""
        self.assertEqual((ROOT / "docs" / "uk" / "result-codes.md").read_text(encoding="utf-8"), ukrainian_page())
        for res, (text, action, cashier, caller) in self.rows(ukrainian_page(), "Як"):
            self.assertEqual((text, action), (res.text.uk or "(порожньо)", str(int(res.action))))
            self.assertEqual((cashier, caller), (res.cashier.uk, res.caller.uk))

    def test_english(self) -> None:
        """The English page has each code in English, with what the program does and how to produce it."""
        for res, (text, action, caller, how) in self.rows(page(), "As"):
            self.assertEqual((text, action), (res.text.en or "(empty)", str(int(res.action))))
            self.assertEqual(caller, res.caller.en)
            self.assertTrue(how)

    def rows(self, shown: str, same: str) -> list[tuple[Res, list[str]]]:
        """The rows of a page: one for each code, in its group and ordered by number, with five cells.

        A caller's advice that another row has is replaced by the words of that row.
        """
        found = re.findall(r"^\|(\d{1,4})\|(.*)\|$", shown.partition("\n## ")[2], re.MULTILINE)
        groups = ("general", "cash_register", "terminal", "printer", "warning")
        wanted = [code for group in groups for code in sorted(res.code for res in Res if res.group == group)]
        self.assertEqual([int(code) for code, _ in found], wanted)
        cells = {code: line.split("|") for code, line in found}
        for line in cells.values():
            self.assertEqual(len(line), 4)
            for at, cell in enumerate(line):
                if reference := re.fullmatch(rf"{same} (\d+)", cell):
                    line[at] = cells[reference[1]][at]
        return [(Res.by_code(int(code)), line) for code, line in cells.items()]
