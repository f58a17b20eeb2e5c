"""The page by which a person finds the number of a printer's code table (printers.md 1.2 rule 6).

It prints the Ukrainian letters once for each number; the line that can be read names the number to set. One page for
each table, because the same bytes are other letters in another table.
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
"""The letters that tell the tables apart."""

NUMBERS = range(256)


def finder(profile: Profile, page: CodePage, numbers: Iterable[int] = NUMBERS) -> Job:
    """A job that prints `SAMPLE` in the bytes of ``page``, once under each of ``numbers``."""
    if page not in CODE_PAGES:
        raise ValueError(f"one of {', '.join(CODE_PAGES)} is expected")
    wanted = list(numbers)
    # The styles, the cut and the proof are those of any job; only the lines between are special.
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
