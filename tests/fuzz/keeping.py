"""Choose the inputs to keep: the smallest ones that each reach lines no other one reaches.

It needs no fuzzer: Python itself traces the lines. So the committed corpus stays small and can be made again after a
change.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from dmtwisted.lab.children import HOME
from tests.fuzz.target import CORPUS, Target, Watch

OURS = tuple(str(HOME / name) for name in ("protocols", "dmtwisted", "web"))

MOST_BYTES, MOST_FILES = 5000, 24
"""How many inputs are kept for one target."""

MOST_LOOKED_AT = 400
"""How many inputs are tried, the shortest first: tracing every line is slow."""

Arc = tuple[str, int, int]


def arcs(target: Target, data: bytes) -> set[Arc]:
    """The pairs of our lines that ran one after the other while ``target`` read ``data``."""
    found: set[Arc] = set()
    last: dict[int, int] = {}

    def follow(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "call" and not frame.f_code.co_filename.startswith(OURS):
            return None
        line = frame.f_lineno
        found.add((frame.f_code.co_filename, last.get(id(frame), 0), line))
        last[id(frame)] = line
        if event == "return":
            last.pop(id(frame), None)
        return follow

    with Watch() as watch, suppress(Exception):
        sys.settrace(follow)
        try:
            watch.hold(target, data)
        finally:
            sys.settrace(None)
    return found


def chosen(target: Target, inputs: Iterable[bytes]) -> list[bytes]:
    """The inputs that reach more than the target's seeds and the inputs before them, the shortest first."""
    known: set[Arc] = set()
    for seed in target.seeds:
        known |= arcs(target, seed)
    kept: list[bytes] = []
    for data in sorted(set(inputs), key=lambda each: (len(each), each))[:MOST_LOOKED_AT]:
        if len(kept) == MOST_FILES:
            break
        if len(data) + sum(map(len, kept)) > MOST_BYTES:
            continue
        new = arcs(target, data) - known
        if new:
            known |= new
            kept.append(data)
    return kept


def keep(targets: Sequence[Target], grown: Path, corpus: Path = CORPUS) -> None:
    """Choose from the committed corpus and the inputs in ``grown``, and write the choice."""
    for target in targets:
        own = corpus / target.name
        files = [*own.glob("*"), *(grown / target.name).glob("*")]
        kept = chosen(target, [file.read_bytes() for file in files])
        own.mkdir(parents=True, exist_ok=True)
        for old in own.glob("*"):
            old.unlink()
        for data in kept:
            (own / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
        print(f"{target.name}: {len(kept)} of {len(files)} inputs, {sum(map(len, kept)):,} bytes")
