"""A person who has no mouse: keys alone, and a look at where the focus is after each of them."""

from __future__ import annotations

from typing import Any

from tests.browser.case import PATIENCE, BrowserCase

LONGEST_WALK = 400
"""Presses of Tab after which a control is not to be reached."""

TRIES = 3
"""Walks over a page that is brought up to date while somebody walks."""

CONTROLS = """
    [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')].filter(each =>
        !each.disabled && each.type !== 'hidden' && each.checkVisibility({visibilityProperty: true})
        && !each.closest('dialog:not([open])'))
"""
"""Everything on the page that a person can use, in the order of reading."""

WATCH = """() => {
    window.walked = [];
    const name = each => [each.tagName, each.id, each.name ?? '', each.getAttribute('href') ?? '',
        JSON.stringify(each.dataset), (each.textContent ?? '').trim().slice(0, 30)].join('|');
    const seen = each => {
        // The field of a file is drawn by what is around it.
        const style = getComputedStyle(each.type === 'file' ? each.closest('.drop') : each);
        const box = each.getBoundingClientRect();
        return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 && box.width > 0 && box.height > 0
            && box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight;
    };
    let last = null;
    document.addEventListener('focusin', ({target}) => {
        // A part of the page that was brought up to date gives the focus to the same control again.
        const again = last && !last.isConnected && name(last) === name(target);
        if (!again) window.walked.push([name(target), seen(target)]);
        last = target;
    });
    // From the top of the page, wherever it put the focus itself.
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute('tabindex');
    window.walked = [];
    return CONTROLS.map(name);
}""".replace("CONTROLS", CONTROLS.strip())


class KeyboardCase(BrowserCase):
    """A person with a keyboard alone: `go` types an address, everything else is a key."""

    def press(self, *names: str) -> None:
        """Press keys, one after the other."""
        for name in names:
            self.page.keyboard.press(name)

    def type(self, text: str) -> None:
        """Write where the focus is, in the place of what is there."""
        self.press("Control+A")
        self.page.keyboard.insert_text(text)

    def at(self, selector: str) -> bool:
        """Whether the focus is there."""
        return bool(self.page.evaluate("selector => document.activeElement.matches(selector)", selector))

    def walk_to(self, selector: str, key: str = "Tab") -> None:
        """Press Tab until the focus is there; it is to be seen at every step."""
        for _ in range(LONGEST_WALK):
            self.press(key)
            seen, there = self.page.evaluate(
                """selector => {
                    const at = document.activeElement, drawn = at.type === 'file' ? at.closest('.drop') : at;
                    const style = getComputedStyle(drawn);
                    const nowhere = at === document.body;
                    const seen = nowhere || style.outlineStyle !== 'none' && style.outlineWidth !== '0px';
                    return [seen || at.outerHTML.slice(0, 200), at.matches(selector)];
                }""",
                selector,
            )
            self.assertIs(seen, True, f"the focus cannot be seen on the way to {selector}: {seen}")
            if there:
                return
        self.fail(f"{selector} is not reached by {key}")

    def write(self, selector: str, text: str) -> None:
        """Go to a field and fill it in."""
        self.walk_to(selector)
        self.type(text)

    def use(self, selector: str, key: str = "Enter") -> None:
        """Go to a control and press it."""
        self.walk_to(selector)
        self.press(key)

    def choose_file(self, selector: str, file: dict[str, Any]) -> None:
        """Go to the field of a file and open the system's own window for it; what is chosen there is no page's."""
        for again in range(TRIES, 0, -1):
            self.walk_to(selector)
            try:
                with self.page.expect_file_chooser(timeout=PATIENCE / TRIES) as coming:
                    self.press("Space")
            except Exception:
                # A busy machine may take the key before the field has the focus.
                if again == 1:
                    raise
            else:
                coming.value.set_files(file)
                return

    def agree(self, dialog: str) -> None:
        """Answer a question with yes: the focus is on the harmless answer first, and never leaves the dialog."""
        self.see(f"#{dialog}[open] button[value='no']:focus")
        self.press("Tab")
        self.assertTrue(self.at(f"#{dialog} button[value='yes']"))
        self.press("Enter")
        self.page.wait_for_selector(f"#{dialog}", state="hidden")

    def escape(self, dialog: str, opener: str) -> None:
        """Leave a question by Escape: it is gone, and the focus is where it was."""
        self.see(f"#{dialog}[open] button[value='no']:focus")
        self.press("Escape")
        self.page.wait_for_selector(f"#{dialog}", state="hidden")
        self.see(f"{opener}:focus")

    def walk(self, path: str) -> None:
        """Walk a page from its first control to its last and back: all of them, in the order of reading.

        A page that was brought up to date meanwhile is walked again.
        """
        for again in range(TRIES, 0, -1):
            try:
                return self._walk(path)
            except AssertionError:
                if again == 1:
                    raise
                self.page.reload()
                self.page.wait_for_load_state("load")
                self.unfold(path)

    def unfold(self, path: str) -> None:
        """Open what is folded; the page of the interface has too much of it."""
        if path != "/dm/api":
            self.page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")

    def _walk(self, path: str) -> None:
        expected = self.page.evaluate(WATCH)
        # The page that is not there has the way back alone.
        self.assertGreater(len(expected), 0, path)
        # Fields of a date have places of their own within, which are no controls of the page.
        most = 2 * len(expected) + 20
        found = self._walked("Tab", len(expected), most)
        self.assertEqual([name for name, seen in found if not seen], [], f"{path}: the focus cannot be seen")
        names = [name for name, _ in found]
        self.assertEqual(names, expected, path)
        self.page.evaluate("window.walked = []")
        back = [name for name, _ in self._walked("Shift+Tab", len(names) - 1, most)]
        self.assertEqual(back, names[-2::-1], f"{path}, backwards")

    def _walked(self, key: str, controls: int, most: int) -> list[Any]:
        found: list[Any] = []
        for n in range(most):
            self.press(key)
            # Asking costs more than pressing.
            if n + 1 < controls:
                continue
            found = self.page.evaluate("window.walked")
            if len(found) >= controls:
                return found[:controls]
        self.fail(f"{key} reaches {len(found)} of {controls} controls: {found[-1:]}")
