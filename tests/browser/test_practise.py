"""A cashier practises failures: each exercise to its end, by the buttons of its page."""

from __future__ import annotations

import json

from tests.browser.case import BrowserCase

REPEATED = "#pending button.main"
"""The button of the list of actions without an answer."""

WAYS = {
    "away": ("[data-do=online]", "Готово", "офлайн"),
    "unheard": (REPEATED, "1075", "не пробивайте новий чек"),
    "paper": ("[data-do=reprint]", "закінчився папір", "вставте папір"),
    "declined": ("[data-do=sell]", "5018", "іншу картку"),
    "cut": (REPEATED, "Результат поки невідомий", "не беріть оплату вдруге"),
}
"""Of each exercise: the cashier's last button, what the answer says, and what the page advises."""


class PractiseTests(BrowserCase):
    """The exercises."""

    def press(self, exercise: str, step: str) -> None:
        """Press a button of an exercise."""
        self.click(f"[data-exercise={exercise}] [data-do={step}]:visible" if step.isalpha() else step)

    def ledger_of(self, device: str, kind: str) -> int:
        """How many of ``kind`` the simulated side has taken."""
        entries = json.loads(self.service.request("GET", f"{self.service.device(device)}/ledger")[1])["entries"]
        return sum((entry["kind"], entry["status"]) == (kind, "accepted") for entry in entries)

    def test_every_exercise(self) -> None:
        """Each failure is made, sold through, advised on and repaired; the books agree each time, also after reloads.

        The fault is seen in the real answer, one receipt comes out of each, and nothing stays broken.
        """
        self.go("/dm/main/")
        self.click("a[href='/dm/main/practise']")
        for number, (exercise, (last, answer, advice)) in enumerate(WAYS.items(), 1):
            self.see(f"[data-exercise={exercise}] [data-do=fault]:visible")
            if exercise == "away":
                self.picture("practise")
            self.press(exercise, "fault")
            self.see(f"[data-exercise={exercise}] [data-do=sell]:visible")
            self.page.reload()
            self.press(exercise, "sell")
            self.see(f"[data-exercise={exercise}] [data-do=repair]:visible")
            self.see(f"[data-exercise={exercise}] .answer #outcome:has-text('{answer}')")
            self.assertIn(advice, self.text(f"[data-exercise={exercise}]").lower())
            if exercise != "paper":
                self.see(f"[data-exercise={exercise}] .books:has-text('Поки не збігається')")
            self.page.reload()
            self.see(f"[data-exercise={exercise}] #outcome:has-text('{answer}')")
            if exercise == "unheard":
                self.picture("practise-unheard")
            self.press(exercise, "repair")
            self.page.wait_for_selector(f"[data-exercise={exercise}] [data-do=repair]", state="hidden")
            self.click(f"[data-exercise={exercise}] {last}:visible")
            self.see(f"[data-exercise={exercise}].done")
            self.assertIn("рівно один", self.text(f"[data-exercise={exercise}] .books"))
            self.assertEqual(len(self.service.sales()), number)
            self.page.reload()
            self.press(exercise, "next")
        self.page.wait_for_url("**/dm/main/")
        self.assertEqual((self.ledger_of("pos", "payment"), self.ledger_of("prn", "print")), (2, 5))

    def test_ways_out(self) -> None:
        """Leaving in the middle leaves nothing broken; without training devices the page offers to add them."""
        self.go("/dm/main/practise")
        self.press("away", "fault")
        self.see("[data-exercise=away] [data-do=sell]:visible")
        self.press("cut", "begin")
        self.press("cut", "fault")
        self.see("[data-exercise=cut] [data-do=sell]:visible")
        self.click("#leave")
        self.page.wait_for_url("**/dm/main/")
        for name in ("test", "pos", "prn"):
            path = f"{self.service.device(name)}/scenario"
            self.assertEqual(json.loads(self.service.request("GET", path)[1])["rules"], [], name)
        for name in ("pos", "prn"):
            self.service.request("DELETE", self.service.device(name))
        self.go("/dm/main/practise")
        self.assertEqual(self.page.query_selector("[data-do]"), None)
        self.click("#add")
        self.see("[data-exercise=away] [data-do=fault]:visible")
        self.assertEqual({name: one["driver"] for name, one in self.devices().items()}["pos"], "training")
