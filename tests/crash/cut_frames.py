"""Sales on protocol B over a line that breaks in frames: ``python -m tests.crash.cut_frames --cuts 200 --seed 1``.

The real service and ``dmtwisted simulate tax --protocol b`` are processes with TLS between them, and a proxy on the
way. It lets some bytes through, in both directions together, and then breaks the connection: in the handshake, in a
request, in an answer, between two. Every sale is repeated until its outcome is known. At the end of each dozen the
answers to tills, the journal and the server's ledger must agree. The exit status is 1 when they do not.
"""

from __future__ import annotations

import socket
import sys
import tempfile
import threading
import time
from argparse import ArgumentParser
from pathlib import Path
from random import Random

from dmtwisted.lab.children import BenchFailed
from dmtwisted.lab.crash.cabinet import CabinetShop
from dmtwisted.lab.crash.scenes import PATIENCE, open_shift, sale
from dmtwisted.lab.crash.shop import Link

HANDSHAKE, CALL = 9000, 4500
"""Bytes that a new connection and one sale take at the most, about."""

DOZEN = 12


class CuttingLink(Link):
    """A line that breaks once after some bytes."""

    def __init__(self, target: int) -> None:
        super().__init__(target, lasting=True)
        self._left: int | None = None
        self._lock = threading.Lock()
        self.cuts = 0

    def break_after(self, count: int) -> None:
        """Let ``count`` bytes through, then break the connection on which the next one comes."""
        with self._lock:
            self._left = count

    def calm(self) -> None:
        """Break nothing."""
        with self._lock:
            self._left = None

    def _pass_on(self, data: bytes, sink: socket.socket) -> bool:
        with self._lock:
            if self._left is None or self._left >= len(data):
                self._left = None if self._left is None else self._left - len(data)
                room = None
            else:
                room, self._left = self._left, None
                self.cuts += 1
        sink.sendall(data[:room])
        return room is None


class CutShop(CabinetShop):
    """A shop with such a line."""

    def _link(self, port: int) -> Link:
        self.cutting = CuttingLink(port)
        return self.cutting


def cut_frames(folder: Path, cuts: int, seed: int) -> CutShop:
    """Sell while the line breaks ``cuts`` times; the shop, with what was found."""
    dice = Random(seed)
    with CutShop(folder) as shop:
        open_shift(shop)
        while shop.cutting.cuts < cuts and not shop.found:
            for _ in range(DOZEN):
                shop.cutting.break_after(dice.randint(0, HANDSHAKE if dice.random() < 0.3 else CALL))
                sale(shop)
            shop.cutting.calm()
            shop.wait(shop.at_home, PATIENCE, "the register did not come back online")
            shop.compare()
    return shop


def main(arguments: list[str]) -> int:
    """Run and print the results; 1 when books disagree."""
    parser = ArgumentParser(prog="python -m tests.crash.cut_frames", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--cuts", type=int, default=200, help="how often the line breaks")
    parser.add_argument("--seed", type=int, default=1, help="decides where")
    chosen = parser.parse_args(arguments)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dmtwisted-cuts-") as folder:
        try:
            shop = cut_frames(Path(folder).resolve(), chosen.cuts, chosen.seed)
        except BenchFailed as error:
            print(f"WRONG: {error}")
            return 1
    for sentence in (*shop.found.lost, *shop.found.doubled, *shop.found.gaps, *shop.found.other):
        print(f"WRONG: {sentence}")
    print(f"{shop.cutting.cuts} cuts, {len(shop.tasks)} sales: {shop.found}; {time.monotonic() - begun:.0f} s")
    return int(bool(shop.found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
