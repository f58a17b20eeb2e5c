"""A shop without a till program: sales, returns and goods in the browser."""

from __future__ import annotations

from typing import Any

from tests.browser.keyboard import KeyboardCase

GOODS = """код;штрихкод;назва;ціна;податкова група;одиниця;уктзед;акцизна марка
1;4820000000017;Кава зернова;125,50;1;шт;;
2;4820000000024;Сир;310;1;кг;;
3;4820000000031;Горілка;199,99;3;шт;2208601100;так
"""


class SellCase(KeyboardCase):
    """A cashier in front of the page of sales of `test`."""

    def stock(self) -> None:
        """The shop has goods."""
        answer = self.service.request("POST", "/dm/api/v3/goods/import", {"csv": GOODS})
        self.assertIn(b'"added":3', answer[1])

    def desk(self) -> str:
        """The address of the page."""
        return f"/dm/main/registers/{self.devices()['test']['dev_id']}/sell"

    def scan(self, code: str) -> None:
        """A scanner at the keyboard: digits, then Enter."""
        self.see("#scan:focus")
        self.page.keyboard.type(code)
        self.press("Enter")

    def rows(self, count: int) -> None:
        """Wait until the basket has so many rows."""
        self.page.wait_for_function("count => document.querySelectorAll('#rows > li').length === count", arg=count)

    def total(self, sum: str) -> None:
        """Wait until the service has said what the basket comes to."""
        self.see(f"#total:text-is('{sum}')")


class CashTests(SellCase):
    """Sales for cash."""

    def test_sale(self) -> None:
        """A cashier opens the shift, scans, takes cash, gives the change and prints, by the keyboard of a scanner."""
        self.stock()
        self.go("/dm/main/sell")
        self.page.wait_for_url("**/sell")
        self.click("#open-shift")
        self.page.wait_for_selector("#open-shift", state="detached")
        self.page.focus("#scan")
        self.scan("4820000000017")
        self.rows(1)
        self.scan("4820000000017")
        self.scan("2")
        self.see("#rows li:nth-child(2) input:focus")
        self.type("0,5")
        self.press("Enter")
        self.total("406.00")
        self.fill("#disc", "10")
        self.total("365.50")
        self.assertIn("Заокруглення", self.text("#sums"))
        self.press("Tab")
        self.page.focus("#scan")
        self.press("Enter")
        self.see("#given:focus")
        self.type("400")
        self.see("#sums :text-is('34.50')")
        self.press("Enter")
        self.see("#again:focus")
        self.assertIn("34.50", self.text("#done"))
        [sold] = self.service.sales()
        self.assertEqual(sold["sum"], 36550)
        self.press("Enter")
        self.see("#scan:focus")
        self.rows(0)

    def test_lost_answer(self) -> None:
        """The service dies while it sells: after a reload the page knows the receipt, and there is exactly one."""
        self.stock()
        self.open_shift(self.service)
        self.go(self.desk())
        self.scan("1")
        self.total("125.50")
        self.reload()
        self.rows(1)
        self.total("125.50")
        self.lose(reaches=True)
        self.see("#again")
        self.assertEqual(len(self.service.sales()), 1)
        self.assertEqual(self.page.evaluate("localStorage.getItem('dm.pending')"), "[]")
        self.click("#again")
        self.rows(0)
        # And once more, but the request never came: nothing is sold behind the cashier's back.
        self.scan("1")
        self.total("125.50")
        self.lose(reaches=False)
        self.see("#pending:not([hidden])")
        self.rows(1)
        self.click("#sell")
        self.see("#pending button:focus")
        self.assertEqual(len(self.service.sales()), 1)
        self.press("Enter")
        self.see("#again:focus")
        self.assertEqual(len(self.service.sales()), 2)
        self.press("Enter")
        self.rows(0)

    def lose(self, reaches: bool) -> None:
        """Sell, kill the service before its answer is there, start it again, and load the page anew."""

        def handle(route: Any) -> None:
            if reaches:
                route.fetch()
            self.service.process.kill()
            route.abort()

        self.page.route("**/dm/execute*", handle, times=1)
        self.click("#sell")
        self.see("#pending:not([hidden])")
        self.restart()
        self.reload()

    def reload(self) -> None:
        """Press F5."""
        self.page.reload()
        self.page.wait_for_load_state("load")
