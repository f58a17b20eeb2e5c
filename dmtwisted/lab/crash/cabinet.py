"""A shop whose register is at the cabinet's server, protocol B, over TLS; and what is done there while it dies."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from dmtwisted.lab.children import HOST, BenchFailed
from dmtwisted.lab.crash.books import DONE, Entry, Findings, TillTask, accepted_by_cabinet
from dmtwisted.lab.crash.databases import SQLITE, Ground
from dmtwisted.lab.crash.scenes import (
    DOCUMENT,
    PATIENCE,
    SCENES,
    Play,
    Scene,
    batch,
    made_again,
    paper,
    pause,
    sale,
    shift,
    untagged,
)
from dmtwisted.lab.crash.shop import BATCH_TERMINAL, REGISTER, WIRES, Link, Shop
from dmtwisted.lab.crash.wire import shown

FEW = 20
"""The small stock of offline numbers; half of it is enough for every scene that goes offline."""

AWAY_S = 8.0
"""Seconds for which the line is cut at the most: a receipt that may have been sent is never issued offline."""


class CabinetShop(Shop):
    """As `Shop`; its only terminal is that of batches.

    :param few: the register keeps a small stock of offline numbers, so that it soon asks for more.
    """

    wires: ClassVar[Mapping[str, Mapping[str, object]]] = {BATCH_TERMINAL: WIRES[BATCH_TERMINAL]}
    tax: ClassVar[Sequence[str]] = ("--protocol", "b", "--tls")

    def __init__(self, folder: Path, revokes: bool = False, ground: Ground = SQLITE, few: bool = False) -> None:
        self.ahead = ("dmtwisted.lab.crash.few_numbers" if few else "dmtwisted.registers.channels.cabinet",)
        super().__init__(folder, revokes, ground)
        self._few = few

    def calm(self) -> None:
        """As `Shop.calm`; a register with a small stock has filled it."""
        super().calm()
        if self._few:
            self.wait(self.stocked, PATIENCE, "there are no offline numbers")

    def _link(self, port: int) -> Link:
        return Link(port, lasting=True)

    def _there(self, keys: Path) -> dict[str, object]:
        ca = (keys / "authority.pem").read_text("utf-8")
        return {"protocol": "b", "server_url": f"https://{HOST}:{self.link.port}", "server_ca": ca}

    def _accepted(self, journal: Sequence[Entry], found: Findings) -> list[Entry]:
        return accepted_by_cabinet(self.peers["tax"].entries(), journal, found)

    def numbers(self) -> int | None:
        """The offline numbers in stock; `None` while the service does not answer."""
        try:
            state = self.ask("GET", f"/dm/api/v3/devices/{self.ids[REGISTER]}")["state"]
        except (OSError, http.client.HTTPException, BenchFailed):
            return None
        return int(state["offline_numbers"])

    def refused_numbers(self) -> int:
        """How often the server has refused to give numbers."""
        entries = self.peers["tax"].entries()
        return sum((entry["kind"], entry["status"]) == ("numbers", "refused") for entry in entries)

    def stocked(self) -> bool:
        """Whether it has enough of them."""
        left = self.numbers()
        return left is not None and 2 * left >= FEW


def _task(shop: Shop, task: int, tag: str, again: Callable[[], None] = pause, **members: object) -> Any:
    """``info`` of a task, which has to succeed in the end."""
    body = {"ver": 6, "device": REGISTER, "tag": tag, "type": 1, "fiscal": {"task": task, **members}}
    wire = shop.wire()
    try:
        answer = wire.execute(body, again, PATIENCE)
    finally:
        wire.close()
    if answer["res"]:
        raise BenchFailed(f"{tag} was refused: {shown(answer)}")
    return answer["info"]


def give_back(shop: Shop) -> None:
    """A sale, and its return."""
    kopecks = shop.next_sum()
    amount, tag = kopecks / 100, f"sold-{kopecks}"
    row = {"code": "1", "name": f"BACK{kopecks}", "cnt": 1, "price": amount, "taxgrp": 1}
    receipt: dict[str, object] = {"sum": amount, "rows": [row], "pays": [{"type": 0, "sum": amount}]}
    info = _task(shop, 1, tag, receipt=receipt)
    number = info["doccode"]
    shop.add(TillTask(kopecks, DONE, tag=tag, receipt=(int(info["docno"]), number)))
    _task(shop, 2, f"back-{kopecks}", receipt={**receipt, "purchase_receipt_fisn": number})


def close_offline(shop: Shop) -> None:
    """The line is cut; the shift ends and the next one begins offline."""
    number, begun = shop.next_sum(), time.monotonic()

    def again() -> None:
        if time.monotonic() > begun + AWAY_S:
            shop.link.mend()
        pause()

    shop.link.cut()
    try:
        _task(shop, 3, f"drawer-{number}", again, cash={"type": 0, "sum": number / 100})
        _task(shop, 11, f"z-{number}", again)
        _task(shop, 0, f"open-{number}", again)
    finally:
        shop.link.mend()
    shop.wait(shop.at_home, PATIENCE, "the register did not come back online")


def copy_deleted(shop: Shop) -> None:
    """The answer to a sale that arrived is lost and then the line; it is issued again, its copy deleted."""
    shop.made_again = 0
    made_again(shop)


def _run_short(shop: Shop) -> None:
    """Use up offline numbers, and have the question for more refused."""
    assert isinstance(shop, CabinetShop)
    before = shop.refused_numbers()
    shop.peers["tax"].set_rules({"on": "numbers", "then": "refuse", "code": "2", "times": 0})
    shop.link.cut()
    try:
        # One more is that of the session's closing document.
        while (left := shop.numbers()) is None or 2 * left > FEW:
            sale(shop)
    finally:
        shop.link.mend()
    # It asks as soon as it is back, and again a second later: between the two the order to die is given.
    shop.wait(lambda: shop.refused_numbers() > before, PATIENCE, "the register did not ask for offline numbers")
    shop.wait(shop.at_home, PATIENCE, "the register did not come back online")


def numbers(shop: Shop) -> None:
    """The register asks for offline numbers by itself."""
    assert isinstance(shop, CabinetShop)
    shop.peers["tax"].set_rules()
    shop.wait(shop.stocked, PATIENCE, "the register did not get offline numbers")


def lost_numbers(shop: Shop) -> None:
    """The same, and the answer is lost: the next task asks what became of it."""
    assert isinstance(shop, CabinetShop)
    shop.peers["tax"].set_rules({"on": "numbers", "then": "lost_after"})
    shop.wait(lambda: not shop.at_home(), PATIENCE, "the register did not ask for offline numbers")
    while not shop.stocked():
        sale(shop)


ON_CABINET: tuple[Scene, ...] = (
    Scene("shift on B", shift, dict.fromkeys(DOCUMENT, 2)),
    Scene("return", give_back, dict.fromkeys(DOCUMENT, 2)),
    Scene("numbers", numbers, DOCUMENT, prepare=_run_short),
    Scene("numbers lost", lost_numbers, {"document.doubt-stored": 1, "collision.asked": 1}, prepare=_run_short),
    Scene("shift offline", close_offline, {"offline.made": 3, "offline.stored": 3}),
    Scene("online copy deleted", copy_deleted, {"offline.copy-noted": 1, "offline.copy-deleted": 1}),
)
"""Scenes of protocol B only."""

SAME = frozenset(
    {
        *("receipt", "receipt without tag", "answer lost, no tag", "receipt refused", "answer lost", "receipt lost"),
        *("offline", "made again offline", "paper"),
    }
)
"""Scenes that both protocols have."""

CABINET: tuple[Scene, ...] = (
    *(replace(scene, name=f"{scene.name} on B") for scene in SCENES if scene.name in SAME),
    *ON_CABINET,
)
"""What is done on protocol B; a kill there counts for the scene on B only."""

CABINET_LOAD: tuple[Play, ...] = (sale, untagged, paper, give_back, batch)
"""The tasks that run at the same time while the service is killed at random."""

LOAD_ON_CABINET = "load on B"
"""The name of these kills."""
