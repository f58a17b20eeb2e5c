"""A receipt history of any length, written by the store's own statements: ``python -m tests.filler FILE COUNT``."""

from __future__ import annotations

import random
import sys
import time
from contextlib import closing
from pathlib import Path

from dmtwisted.store.migrate import upgrade
from dmtwisted.store.sqlite.wire import FUNCTIONS
from dmtwisted.store.sqlite.writer import connect
from dmtwisted.store.urls import SQLITE
from dmtwisted.store.values import DocumentIntent, Intent, Outcome, State

BEGIN = 1_700_000_000_000
"""The time of the first receipt."""

PORTION = 5000
"""Receipts in one transaction."""


def fill(path: Path, receipts: int, registers: int = 4, answer: int = 3100, document: int = 1100) -> None:
    """Make a database with ``receipts`` receipts; an answer has ``answer`` bytes, a document ``document``."""
    upgrade(f"{SQLITE}{path}")
    made = random.Random(1)
    with closing(connect(str(path))) as db:
        db.execute("PRAGMA synchronous=OFF")
        db.execute("BEGIN")
        for n in range(1, registers + 1):
            FUNCTIONS["add_device"](db, f"id-{n}", f"Каса {n}", "register", "training", b"{}")
        FUNCTIONS["change_settings"](db, {"language": b'"uk"', "retention": b"40"})
        for number in range(receipts):
            register = number % registers + 1
            local = number // registers + 1
            at = BEGIN + number * 1000
            body = made.randbytes(document // 2).hex().encode()
            paper = DocumentIntent(local, "sale", local // 500 + 1, at, 12550, body, made.randbytes(90))
            key = f"{made.getrandbits(128):032x}"
            intent = Intent(register, "fiscal", 1, key, made.randbytes(16), at, [paper], b"{}")
            reserved = FUNCTIONS["reserve"](db, intent)
            if number % 997 == 996:
                FUNCTIONS["conclude"](db, Outcome(reserved.n, register, State.REFUSED, at + 300, 1037, b"", {}, None))
                continue
            answered = (made.randbytes(answer // 4).hex() + "0" * (answer // 2)).encode()
            numbers = {local: f"TEST_{register}_{local}"}
            state = b'{"number": %d}' % local
            sold = {str(number % 5000): 1} if number % 50 == 0 else {}
            outcome = Outcome(
                reserved.n, register, State.DONE, at + 300, 0, answered, numbers, state, local // 500 + 1, sold
            )
            FUNCTIONS["conclude"](db, outcome)
            if number % PORTION == PORTION - 1:
                db.execute("COMMIT")
                db.execute("BEGIN")
        db.execute("COMMIT")


if __name__ == "__main__":
    begun = time.monotonic()
    fill(Path(sys.argv[1]), int(sys.argv[2]))
    print(f"{time.monotonic() - begun:.0f} s, {Path(sys.argv[1]).stat().st_size / 1e6:.0f} MB")
