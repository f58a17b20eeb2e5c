"""What printers of each family can do, as data (docs/reference/printers.md#profiles).

A profile is a starting point: published figures are wrong for some models. A device's settings replace any of them;
`protocols.printers.finder` prints a test page that shows the number of a code page.
"""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from protocols.printers.codepages import CODE_PAGES, CodePage
from protocols.printers.commands import Font

Language = Literal["escpos", "star"]
Cutter = Literal["none", "full", "partial", "both"]
Drawn = Literal["native", "raster"]
RasterCommand = Literal["gs-v-0", "gs-paren-l", "esc-gs-s"]
Completion = Literal["gs-r", "process-id", "etb", "none"]
"""How the printer proves that it printed: an answer in turn, a named answer, a counter, or not at all."""
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
    """Number of each code page for `ESC t n`."""
    page: CodePage | Literal["raster"] | None = None
    """The code page to use; `None` is the best one that the printer has."""
    kanji_off: bool = False
    """Whether the printer starts in a double-byte mode, which is switched off first."""
    cutter: Cutter = "both"
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
    """Lines to feed before cutting, for printers whose cut does not feed."""
    tear_lines: int = 5
    """Lines from the head to the tear bar, fed instead of a cut by printers without a cutter."""
    answers: bool = True
    """Whether the printer ever answers status queries."""
    reliable: bool = False
    """Whether silence is an error; otherwise the state is unknown."""
    automatic: bool = False
    """Whether it supports automatic status, whose activation it answers in turn."""
    real_time: bool = True
    """Whether it obeys real-time commands inside pictures, so that pictures must not contain them."""
    completion: Completion = "none"
    dots_per_second: int = 400
    """The lowest printing speed: 50 mm/s at 203 dpi."""

    def best_page(self) -> CodePage | Literal["raster"]:
        """The code page that is used: the configured one, or the best one that the printer has."""
        if self.page is not None:
            return self.page
        for page in CODE_PAGES:
            if page in self.code_tables:
                return page
        return "raster"

    def columns(self, font: Font = "A", width: int = 1) -> int:
        """Characters in a line, each ``width`` times as wide as normal."""
        return (self.columns_a if font == "A" else self.columns_b) // width


def _tables(**numbers: int) -> MappingProxyType[str, int]:
    return MappingProxyType(numbers)


def _copied(numbers: dict[str, int]) -> MappingProxyType[str, int]:
    return _tables(**numbers)


# A profile goes to the process that draws.
copyreg.pickle(MappingProxyType, lambda tables: (_copied, (dict(tables),)))


_EPSON = Profile(
    "epson",
    code_tables=_tables(cp866=17, cp1125=44, cp1251=46),
    reliable=True,
    automatic=True,
    completion="gs-r",
    logo="gs-paren-l",
    drawer_now=True,
)
_EPSON_512 = replace(_EPSON, name="epson-512", dots=512, columns_a=42, columns_b=56)
_GENERIC = Profile("generic-80", code_tables=_tables(cp866=17), kanji_off=True, inverted=False)
_ZJIANG = replace(_GENERIC, name="zjiang-80", code_tables=_tables(cp866=59, cp1251=73), beeper="esc-b")
_RASTER = Profile("raster-80", page="raster", kanji_off=True, barcode="raster", qr="raster")


def _narrow(wide: Profile, name: str) -> Profile:
    """``wide`` for paper of 58 mm, without a cutter."""
    return replace(wide, name=name, dots=384, columns_a=32, columns_b=42, cutter="none")


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            _EPSON,
            _EPSON_512,
            replace(_EPSON_512, name="epson-old", code_tables=_tables(cp866=17), qr="raster", logo="fs-p"),
            Profile("citizen", code_tables=_EPSON.code_tables, automatic=True, completion="gs-r", logo="fs-p"),
            _narrow(_ZJIANG, "zjiang-58"),
            _ZJIANG,
            _narrow(_GENERIC, "zj-5870"),
            replace(_ZJIANG, name="rongta", code_tables=_tables(cp866=7, cp1251=6)),
            replace(_GENERIC, name="kefar", code_tables=_tables(cp866=37, cp1251=51)),
            replace(_GENERIC, name="yhd", code_tables=_tables(cp866=12, cp1251=18)),
            Profile("wincor", code_tables=_tables(cp866=7), qr="raster"),
            _narrow(_GENERIC, "generic-58"),
            _GENERIC,
            _narrow(_RASTER, "raster-58"),
            _RASTER,
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
"""The profiles by name."""
