"""A test page that shows the number of a printer's code page (docs/reference/printers.md#code-pages).

It prints Ukrainian letters under each number; the readable line shows the number to set. Each code page has a test
page of its own, because its bytes differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from protocols.printers.codepages import CODE_PAGES, CodePage, spell
from protocols.printers.commands import Cut
from protocols.printers.compose import LINE_DOTS, Job, compose, encode
from protocols.printers.instructions import CodeTable, Instruction, Letters, LineFeed, SingleByte
from protocols.printers.profiles import Profile

SAMPLE = "Єє Її Іі Ґґ №"
"""Letters that differ between code pages."""

NUMBERS = range(256)


def finder(profile: Profile, page: CodePage, numbers: Iterable[int] = NUMBERS) -> Job:
    """A job that prints `SAMPLE` in the bytes of ``page`` under each of ``numbers``."""
    if page not in CODE_PAGES:
        raise ValueError(f"one of {', '.join(CODE_PAGES)} is expected")
    wanted = list(numbers)
    # Reset, cut and proof are those of any job; only the lines between are special.
    frame = compose((Cut(),), replace(profile, page="raster"))
    lines: list[Instruction] = [SingleByte()] if profile.kanji_off else []
    lines += (Letters(page.encode()), LineFeed())
    for number in wanted:
        lines += (CodeTable(number), Letters(f"n={number} ".encode() + spell(SAMPLE, page).data), LineFeed())
    return replace(
        frame,
        data=encode(lines, profile) + frame.data,
        dots=frame.dots + LINE_DOTS * (len(wanted) + 1),
    )
