"""What printers of each family can do: data, not code (printers.md 1.2, 1.3).

A profile is a starting point. The database that the numbers come from has been wrong about single models, so every
figure can be set differently for a device, by `dataclasses.replace`; `protocols.printers.finder` prints the page by
which a person finds the number of a code table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from protocols.printers.codepages import CODE_PAGES, CodePage
from protocols.printers.commands import Font

Language = Literal["escpos", "star"]
Knife = Literal["none", "full", "partial", "both"]
Drawn = Literal["native", "raster"]
RasterCommand = Literal["gs-v-0", "gs-paren-l", "esc-gs-s"]
Completion = Literal["gs-r", "process-id", "etb", "none"]
"""How the printer proves that it printed: an answer in its turn, an answer with a name, a counter, or not at all."""
Beeper = Literal["esc-b", "esc-paren-a", "none"]
LogoCommand = Literal["fs-p", "gs-paren-l", "esc-fs-p", "none"]


@dataclass(frozen=True)
class Profile:
    """One family of printers."""

    name: str
    language: Language = "escpos"
    dots: int = 576
    """Width of the printed area."""
    columns_a: int = 48
    columns_b: int = 64
    code_tables: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """Number of each table for `ESC t n`; the settings of a device override it."""
    page: CodePage | Literal["raster"] | None = None
    """The table to use; `None` is the best one that the printer has."""
    kanji_off: bool = False
    """Whether the printer starts in a double-byte mode that has to be left first."""
    knife: Knife = "both"
    drawer: bool = True
    drawer_now: bool = False
    """Whether the drawer can be opened while the printer cannot print (`DLE DC4`)."""
    inverted: bool = True
    barcode: Drawn = "native"
    qr: Drawn = "native"
    raster: RasterCommand = "gs-v-0"
    logo: LogoCommand = "none"
    beeper: Beeper = "none"
    feed_before_cut: int = 0
    """Lines to feed before the command that cuts, for printers whose cut does not feed."""
    tear_lines: int = 5
    """Lines from the head to the tear bar, fed instead of a cut by printers without a knife."""
    answers: bool = True
    """Whether the printer answers questions about its state at all."""
    reliable: bool = False
    """Whether silence means that something is wrong; otherwise it only means that nothing is known."""
    automatic: bool = False
    """Whether it tells changes by itself (automatic status back) and answers in turn when that is switched on."""
    real_time: bool = True
    """Whether real-time commands are recognised inside of images, so that images have to avoid them."""
    completion: Completion = "none"
    dots_per_second: int = 400
    """The slowest speed at which it prints: 50 mm/s at 203 dpi."""

    def best_page(self) -> CodePage | Literal["raster"]:
        """The code table that is used: the one that is set, or the best one that the printer has."""
        if self.page is not None:
            return self.page
        for page in CODE_PAGES:
            if page in self.code_tables:
                return page
        return "raster"

    def columns(self, font: Font = "A", width: int = 1) -> int:
        """Letters in a line, enlarged ``width`` times."""
        return (self.columns_a if font == "A" else self.columns_b) // width


def _tables(**numbers: int) -> Mapping[str, int]:
    return MappingProxyType(numbers)


_EPSON_TABLES = _tables(cp866=17, cp1125=44, cp1251=46)

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            Profile(
                "epson",
                code_tables=_EPSON_TABLES,
                reliable=True,
                automatic=True,
                completion="gs-r",
                logo="gs-paren-l",
                drawer_now=True,
            ),
            Profile(
                "epson-512",
                dots=512,
                columns_a=42,
                columns_b=56,
                code_tables=_EPSON_TABLES,
                reliable=True,
                automatic=True,
                completion="gs-r",
                logo="gs-paren-l",
                drawer_now=True,
            ),
            Profile(
                "epson-old",
                dots=512,
                columns_a=42,
                columns_b=56,
                code_tables=_tables(cp866=17),
                reliable=True,
                automatic=True,
                completion="gs-r",
                qr="raster",
                logo="fs-p",
                drawer_now=True,
            ),
            Profile("citizen", code_tables=_EPSON_TABLES, automatic=True, completion="gs-r", logo="fs-p"),
            Profile(
                "zjiang-58",
                dots=384,
                columns_a=32,
                columns_b=42,
                code_tables=_tables(cp866=59, cp1251=73),
                kanji_off=True,
                knife="none",
                inverted=False,
                beeper="esc-b",
            ),
            Profile(
                "zjiang-80",
                code_tables=_tables(cp866=59, cp1251=73),
                kanji_off=True,
                inverted=False,
                beeper="esc-b",
            ),
            Profile(
                "zj-5870",
                dots=384,
                columns_a=32,
                columns_b=42,
                code_tables=_tables(cp866=17),
                kanji_off=True,
                knife="none",
                inverted=False,
            ),
            Profile("rongta", code_tables=_tables(cp866=7, cp1251=6), kanji_off=True, inverted=False, beeper="esc-b"),
            Profile("kefar", code_tables=_tables(cp866=37, cp1251=51), kanji_off=True, inverted=False),
            Profile("yhd", code_tables=_tables(cp866=12, cp1251=18), kanji_off=True, inverted=False),
            Profile("wincor", code_tables=_tables(cp866=7), qr="raster"),
            Profile(
                "generic-58",
                dots=384,
                columns_a=32,
                columns_b=42,
                code_tables=_tables(cp866=17),
                kanji_off=True,
                knife="none",
                inverted=False,
            ),
            Profile("generic-80", code_tables=_tables(cp866=17), kanji_off=True, inverted=False),
            Profile(
                "raster-58",
                dots=384,
                columns_a=32,
                columns_b=42,
                page="raster",
                kanji_off=True,
                knife="none",
                barcode="raster",
                qr="raster",
            ),
            Profile("raster-80", page="raster", kanji_off=True, barcode="raster", qr="raster"),
            Profile(
                "star",
                language="star",
                code_tables=_tables(cp866=10, cp1251=34),
                raster="esc-gs-s",
                logo="esc-fs-p",
                reliable=True,
                real_time=False,
                completion="etb",
            ),
        )
    }
)
"""The families by name."""
