"""A picture of every page: both languages, a desk and a phone, by day and by night, on one sheet for each page.

``DMTWISTED_PICTURES=docs/img trial tests.browser.pictures`` writes them: a tool in the clothes of a test, because it
needs the same service and browser. Its name keeps it out of the suite.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from tests.browser.case import PICTURES, browser
from tests.browser.shop import ShopCase
from tests.browser.test_accessible import DESK, PHONE

HALF, GAP = 0.5, 12
"""The scale of the pictures, and what is between two."""

BACK = (120, 130, 126)


class Pictures(ShopCase):
    """All pages of a shop."""

    long = False

    def test_pictures(self) -> None:
        """Each page has its sheet."""
        self.assertTrue(PICTURES, "set DMTWISTED_PICTURES to a folder")
        self.readers: dict[Any, Any] = {}
        for name, path in self.named().items():
            self.sheet(path).save(Path(PICTURES) / f"page-{name}.webp", quality=60, method=6)

    def named(self) -> dict[str, str]:
        """The path of each page by the name of its sheet; one device of a kind is enough."""
        ids = {device["dev_id"]: device for device in self.devices().values()}
        found: dict[str, str] = {}
        for path in self.paths():
            parts = path.removeprefix("/dm/").replace("?", "/").replace("&", "/").strip("/").split("/")
            words = [ids[part]["kind"] if part in ids else part for part in parts]
            found.setdefault("-".join(words).replace("=", "-") or "devices", path)
        return found

    def sheet(self, path: str) -> Image.Image:
        """The page in every way: Ukrainian above, English below, light left, dark right of it."""
        seen: dict[tuple[int, int], list[Image.Image]] = {}
        for language, locale in (("uk", "uk-UA"), ("en", "en-GB")):
            for size in (DESK, PHONE):
                for scheme in ("light", "dark"):
                    picture = self.look(path, language, locale, size, scheme)
                    seen.setdefault(size, []).append(picture)
        desks, phones = seen[DESK], seen[PHONE]
        (wide, low), (narrow, high) = desks[0].size, phones[0].size
        height = max(low, high)
        whole = Image.new("RGB", (2 * (wide + narrow) + 5 * GAP, 2 * height + 3 * GAP), BACK)
        for row in (0, 1):
            x, y = GAP, GAP + row * (height + GAP)
            for picture in (*desks[2 * row : 2 * row + 2], *phones[2 * row : 2 * row + 2]):
                whole.paste(picture, (x, y))
                x += picture.width + GAP
        return whole

    def look(self, path: str, language: str, locale: str, size: tuple[int, int], scheme: str) -> Image.Image:
        """The page as one reader sees it."""
        page = self.readers.get((language, size, scheme))
        if page is None:
            context = browser().new_context(
                locale=locale,
                color_scheme=scheme,
                viewport={"width": size[0], "height": size[1]},
                reduced_motion="reduce",
            )
            self.addCleanup(context.close)
            page = self.readers[language, size, scheme] = context.new_page()
        page.goto(f"http://localhost:{self.service.port}{path}{'&' if '?' in path else '?'}lang={language}")
        page.wait_for_timeout(150)
        picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
        return picture.resize((int(picture.width * HALF), int(picture.height * HALF)), Image.Resampling.LANCZOS)
