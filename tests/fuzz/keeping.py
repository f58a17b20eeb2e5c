"""Which inputs are worth keeping: the smallest ones that lead through lines no other leads through.

It needs no fuzzer: Python itself tells which line follows which. So the committed corpus stays small and can be made
anew after a change.
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
"""What is kept of one target."""

MOST_LOOKED_AT = 400
"""Inputs that are looked at, the shortest first: following every line is slow."""

Arc = tuple[str, int, int]


def arcs(target: Target, data: bytes) -> set[Arc]:
    """Which line of ours followed which, while ``target`` had ``data``."""
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
    """The inputs that add something to the target's seeds and to those before them, the shortest first."""
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
    """Choose anew from the committed corpus and what has grown in ``grown``, and write the choice."""
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
