"""Every code on demand over HTTP, as its page describes it, and every text of it in both languages.

``python -m tests.test_recipes`` prints the table of all texts, for a person to read: `tests/vectors/code_texts.txt`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import day_of
from dmtwisted.results import LANGUAGES, Res
from tests import test_catalogue as catalogue
from tests.http_shop import HttpIronShop, HttpPrroShop, HttpShop, OverHttp
from tests.language_check import foreign
from tests.prro_shop import keys
from tests.shop import sale
from tests.specification import promises
from tests.web_case import DEVICES
from tools.result_page import RESERVED, SEEN
from web import support

TABLE = Path(__file__).parent / "vectors" / "code_texts.txt"

Recipe = Callable[[Any], object]


def forced(res: Res) -> Recipe:
    """A reserved code, by force of a rule."""
    if res.group == "terminal":
        return catalogue.paid("refuse", str(res.code))
    return catalogue.refused("sale", res.code)


def taken_name(shop: OverHttp) -> None:
    """A second device gets the name of the first."""
    shop.called("POST", DEVICES, {"device": "test", "kind": "register", "driver": "training"})


def other_batch(shop: OverHttp) -> None:
    """The settings of batch mode change during a shift."""
    shop.open_shift()
    shop.called("PATCH", shop.address("test"), {"settings": {"batch": {"terminal": "pos"}}})


def old_shift(shop: OverHttp) -> None:
    """A sale on the second day of a shift."""
    shop.open_shift()
    shop.called("PUT", "/dm/api/v3/training/clock", {"offset_s": 90_000})
    shop.sell()


def dated_row(shop: OverHttp) -> None:
    """A Z with a change within thirty days."""
    shop.open_shift()
    soon = day_of(shop.core.clock.now() + 86_400_000)
    shop.settings(dated=[{"valid_from": soon, "setting": "rounding_step", "value": 10}])
    shop.fiscal(11)


def after_midnight(shop: OverHttp) -> None:
    """A sale after midnight in a shift of the day before."""
    shop.settings(warn_midnight=True)
    shop.open_shift()
    shop.called("PUT", "/dm/api/v3/training/clock", {"offset_s": 54_000})
    shop.sell()


def excise_without_code(shop: OverHttp) -> None:
    """An item with excise whose UKTZED code is not sent."""
    shop.settings(excise_needs_uktzed="warn")
    shop.open_shift()
    receipt = sale(10)
    receipt["rows"][0]["taxgrp"] = 3
    shop.fiscal(1, receipt=receipt)


def open_batch(shop: OverHttp) -> None:
    """A card is charged, and the tax service is away."""
    shop.settings(batch={"terminal": "pos"}, offline_allowed=False)
    shop.open_shift()
    shop.scenario({"on": "sale", "then": "unreachable"})
    receipt = {**sale(), "pays": [{"type": 2, "sum": 100}]}
    due = shop.call(
        "POST",
        "/dm/execute-pkg",
        {"device": "test", "tag": "t", "type": 1, "fiscal": {"task": 1, "receipt": receipt}},
    )
    catalogue.in_time(shop, due)
    shop.fiscal(18)


def may_be_repeat(shop: OverHttp) -> None:
    """A sale after one whose answer was lost."""
    catalogue.lost(shop)
    shop.scenario()
    shop.sell(200)


def checked_twice(shop: OverHttp) -> None:
    """A second check begins while the first one is running."""

    # Kept, because what waits for a forgotten Deferred is collected, and the check would be over.
    shop.never = Deferred()

    async def never(*_: object) -> None:
        await shop.never

    shop._case.patch(support, "check_file", never)
    shop.core.state = Path(shop.state)
    for _ in range(2):
        shop.call("POST", "/dm/api/v3/database/check")


def used_tag(shop: OverHttp) -> None:
    """A used tag with another sum."""
    shop.open_shift()
    catalogue.used_tag(shop)


def long_offline(shop: OverHttp) -> None:
    """Hours of offline work, a key and numbers that are about to end."""
    shop.settings(warn_offline_numbers=20_000, warn_shift_h=1000, key_valid_to="2026-09-27")
    shop.open_shift()
    shop.called("POST", f"{shop.address('test')}/go-offline")
    shop.clock.advance(30 * 3600)
    shop.sell(1)


def unverified(shop: Any) -> None:
    """A register at the real tax service, before a person has trusted certificates."""
    settings = {"server_url": "https://fs.tax.gov.ua:8643/fs", "trusted_certificates": ""}
    shop.called("PATCH", shop.address("one"), {"settings": settings, "confirm_real": True})
    shop.load_key("one", keys().cashier)
    shop.fiscal(0, device="one")


def both_codes(shop: Any) -> None:
    """An item with a code of goods and one of services."""
    shop.load_key("one", keys().cashier)
    shop.fiscal(0, device="one")
    row = {"name": "Пиво", "cnt": 1, "price": 50, "taxgrp": 1, "code2": "2203000100", "code3": "56.10"}
    shop.fiscal(1, device="one", receipt={"sum": 50, "rows": [row], "pays": [{"type": 0, "sum": 50}]})


def no_mail(shop: OverHttp) -> None:
    """A customer's address in a shop without e-mail."""
    shop.open_shift()
    receipt = {
        "sum": 5,
        "rows": [{"name": "Кава", "cnt": 1, "price": 5, "taxgrp": 1}],
        "pays": [{"type": 0, "sum": 5}],
    }
    body = {"device": "test", "type": 1, "fiscal": {"task": 1, "receipt": receipt}}
    shop.ask({**body, "userinfo": {"email": "olena@customer.example"}})


def sold_by_hand(shop: Any) -> None:
    """A status after a sale at the keyboard of a hardware register."""
    shop.task(0)
    shop.device.sell_by_hand(5000)
    shop.task(18)


def memory_lost(shop: Any) -> None:
    """A Z of a hardware register whose fiscal memory is not ready."""
    shop.task(0)
    shop.task(1, receipt={**sale(5), "rows": [{"name": "Кава", "cnt": 1, "price": 5, "taxgrp": 1}]})
    shop.device.iron.fiscalised = False
    shop.task(11)


def recipes(case: SynchronousTestCase) -> Iterator[tuple[Res, Callable[[], OverHttp], Recipe]]:
    """Every code with a shop and what makes the code there; some codes have several."""

    def alone() -> OverHttp:
        return HttpShop(case)

    def whole() -> OverHttp:
        return HttpShop(case, whole=True)

    def prro() -> OverHttp:
        return HttpPrroShop(case)

    def iron() -> OverHttp:
        return HttpIronShop(case)

    for scenes, shop in (
        (catalogue.SCENES, alone),
        (catalogue.PRINTER_SCENES, whole),
        (catalogue.TERMINAL_SCENES, whole),
        (catalogue.SWITCHES, alone),
        (catalogue.PRRO_SCENES, prro),
    ):
        for res, play in dict[Res, Recipe](scenes).items():
            yield res, shop, play
    for res in RESERVED:
        yield res, whole, forced(res)
    yield Res.OK, alone, lambda shop: shop.fiscal(0)
    yield Res.DEVICE_NAME_TAKEN, alone, taken_name
    yield Res.SHIFT_MUST_BE_CLOSED, alone, other_batch
    yield Res.SHIFT_OLD, alone, old_shift
    yield Res.SETTINGS_CHANGE, alone, dated_row
    yield Res.SHIFT_PAST_MIDNIGHT, alone, after_midnight
    yield Res.EXCISE_UNCODED, alone, excise_without_code
    yield Res.COLLISION_UNSOLVABLE, whole, open_batch
    yield Res.MAY_BE_REPEAT, alone, may_be_repeat
    yield Res.NOT_NOW, whole, checked_twice
    yield Res.ANOTHER_SUM, whole, catalogue.paid("accept", "partial:100")
    yield Res.TAG_KNOWN, alone, used_tag
    yield Res.ANSWERS_UNVERIFIED, prro, unverified
    yield Res.LEFT_OUT, prro, both_codes
    yield Res.NOT_DELIVERED, alone, no_mail
    yield Res.MACHINE_DIFFERS, iron, sold_by_hand
    yield Res.Z_REPORT_FAILED, iron, memory_lost
    for res in (Res.OFFLINE_TOO_LONG, Res.OFFLINE_NUMBERS_EXHAUSTED, Res.KEY_EXPIRES_SOON):
        yield res, alone, long_offline


def said(shop: OverHttp, res: Res) -> tuple[str, str]:
    """How the last answer with ``res`` says it, as a refusal or as a warning, and its text."""
    for answer in reversed(shop.said):
        if answer.get("res") == res.code:
            return "refusal", "; aq_errortxt: ".join(filter(None, (answer["errortxt"], answer.get("aq_errortxt"))))
        for warning in answer.get("warnings", []):
            if warning["code"] == res.code:
                return "warning", warning["wtxt"]
    raise AssertionError((res, shop.said))


_CHANGING = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|/tmp/tmp\w+|(?<=є порти: ).*|(?<=existing ports: ).*")
"""What differs from run to run, or from machine to machine."""

_FROM_OTHERS = re.compile(
    "Transaction canceled by user|Помилка термінала(?=; aq|$| \\()|Відмова банку|Журнал заповнено, .*"
    "|Операцію не знайдено$|Потрібна звірка підсумків$|Дата і час документа .*|(?<=tag )lost|\\(А\\)"
)
"""Words of simulated devices and of the simulated tax service, which stay as they came, and data of the recipes."""

DATA = ("DecodeError", "dev/none", "one", "training", "tcp", "TEST_400000000100000002", "T25I9MLQ0JEOYJ06z9v8W")
"""Words of requests, settings and devices in the texts."""


def table(case: SynchronousTestCase) -> Iterator[tuple[Res, str, list[str], list[OverHttp]]]:
    """Each code in each context: its text in both languages, and the shops where it was said."""
    for res, shop, play in recipes(case):
        texts, shops, context = [], [], ""
        for language in LANGUAGES:
            here = shop()
            here.language = language
            play(here)
            context, text = said(here, res)
            texts.append(_CHANGING.sub("…", text))
            shops.append(here)
        yield res, context, texts, shops


def lines(rows: Iterator[tuple[Res, str, list[str], list[OverHttp]]]) -> str:
    """The table as text."""
    found = sorted({(res.code, context, *texts) for res, context, texts, _ in rows})
    return "".join(f"{code} {context}\n  {uk}\n  {en}\n" for code, context, uk, en in found)


def missing_on_the_page(res: Res, shop: OverHttp) -> Iterator[str]:
    """The rules of a recipe that the page does not name."""
    page = SEEN.get(res, f"`sale=refuse:{res.code}` `payment=refuse:{res.code}`")
    page += "".join(SEEN[Res.by_code(int(other))] for other in re.findall(r"as (\d+)", page))
    for rule in shop.rules_set:
        named = f"{rule['on']}={rule['then']}" + (f":{rule['code']}" if rule.get("code") else "")
        if f"`{named}`" not in page:
            yield named


class RecipeTests(SynchronousTestCase):
    """The recipes of all codes."""

    @promises("7.codes.1", "2.3.errortxt.1")
    def test_all(self) -> None:
        """Every code is produced over HTTP; its texts, also those stored, are in the caller's language alone."""
        rows = list(table(self))
        self.flushLoggedErrors()
        self.assertEqual({res for res, *_ in rows}, set(Res))
        strange = []
        for res, _, texts, shops in rows:
            for text, language in zip(texts, LANGUAGES, strict=True):
                own = _FROM_OTHERS.sub("", text.replace("aq_errortxt", ""))
                strange += [(res, word, text) for word in foreign(own, language, *DATA)]
            strange += [(res, rule, "is not on the page") for rule in missing_on_the_page(res, shops[0])]
        self.maxDiff = None
        self.assertEqual(strange, [])
        self.assertEqual(lines(iter(rows)), TABLE.read_text("utf-8"))

    def test_every_device(self) -> None:
        """A rule may name any code of the catalogue at a terminal and at a printer."""
        shop = HttpShop(self, whole=True)
        for res in Res:
            if res is Res.OK:
                continue
            shop.scenario({"on": "print", "then": "refuse", "code": str(res.code)}, device="prn")
            self.assertEqual(catalogue.printed(shop)["res"], res.code)
            number = f"{res.code:04d}"
            if res.code > 299 and number not in catalogue_of_the_terminal():
                answer = catalogue.paid("refuse", str(res.code))(shop)
                self.assertEqual((answer["res"], answer["res_action"]), (res.code, int(res.action)), answer)
        self.assertEqual(shop.ledger("pos", "payment"), [])

    def test_stored(self) -> None:
        """A stored refusal keeps the language in which it was said, with nothing of the other added."""
        shop = HttpShop(self, whole=True)
        first = catalogue.paid("refuse", "no_link")(shop)
        shop.language = "en"
        body = {
            "device": "pos",
            "type": 3,
            "transaction_id": first["transaction_id"],
            "transaction_search": 2,
            "pay": {"task": 1, "sum": 10},
        }
        again = json.loads(self.successResultOf(shop.asked(body)))
        self.assertEqual((again["res"], again["errortxt"]), (first["res"], first["errortxt"]))


def catalogue_of_the_terminal() -> frozenset[str]:
    """The codes that the simulated terminal has itself."""
    from dmtwisted.terminals.privatbank.driver import TERMINAL

    return frozenset(TERMINAL)


class _Printed(SynchronousTestCase):
    def runTest(self) -> None:
        """Print the table."""
        sys.stdout.write(lines(table(self)))


if __name__ == "__main__":
    _Printed().debug()
