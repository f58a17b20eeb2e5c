"""A shop of processes: the real service, and beside it tax service, printer and a terminal of every wire, simulated.

Only the service is ever killed. The far ends keep working and keep their ledgers, as the real ones would.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import random
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, Self

from dmtwisted.lab.children import HOST, BenchFailed, Child, family, is_writer
from dmtwisted.lab.crash.books import (
    PERSON,
    Books,
    Deed,
    Findings,
    accepted,
    compare_shop,
    net_payments,
    read_journal,
)
from dmtwisted.lab.crash.parent import Parent
from dmtwisted.lab.crash.wire import Wire

REGISTER, PRINTER = "till", "prn"
FISCAL_NUMBER, TIN, PASSWORD = 4_000_000_001, "34554363", "tax-test"

OPERATION = 0.02
"""Seconds that the simulated customers take."""

LATEST_START = 120.0
"""Seconds for a process to be ready: a dozen of them start at once."""

PORTS = range(15_000, 32_000)
"""Below those that systems give to outgoing calls, above those of known services."""

WRITER_PATIENCE = 20.0
"""Seconds within which a running service has a writer, on a busy machine."""

WIRES: Mapping[str, Mapping[str, object]] = {
    "privatbank-json": {"opening_pause_s": 0, "tells_receipts": True},
    "ssi-json": {},
    "zvt": {"tells_last": True},
    "ecr17": {"lrc": "std", "tells_last": True},
    "caisse-ap": {},
    "concert-v2": {"interface": "tcp"},
    "nexo": {"poi_id": "V400m-346403161"},
}
"""The protocols of terminals, with settings besides their place."""

NOBODY_TO_ASK = frozenset({"caisse-ap", "concert-v2"})
"""Protocols without a question for a lost operation: what breaks there a person has to look up on the slip."""

BATCH_TERMINAL = "privatbank-json"

PAPER = re.compile(r"LAB(\d+)")
"""How a sale is known on paper: by the name of what was sold."""


_given: set[int] = set()


def lasting_port() -> int:
    """A port that stays ours while whoever listens there is dead: no outgoing call is given one of these numbers.

    :raises BenchFailed: when there is none.
    """
    for port in random.SystemRandom().sample(PORTS, 500):
        if port not in _given:
            with suppress(OSError), socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((HOST, port))
                _given.add(port)
                return port
    raise BenchFailed("no port is free")


class Grown(Child):
    """A process of the lab's, forked by its parent."""

    start_patience = LATEST_START

    def __init__(self, parent: Parent, name: str, arguments: Sequence[str], port: int, log: Path) -> None:
        super().__init__(name, arguments, port, log)
        self._parent, self._arguments = parent, arguments

    def spawn(self) -> None:
        """Start it."""
        self._process = self._parent.fork(self._arguments, self.log)


class FarEnd(Grown):
    """A simulator; it is ready when its control port answers."""

    def __init__(self, parent: Parent, name: str, arguments: Sequence[str], control: int, folder: Path) -> None:
        self.ledger = folder / f"{name}.ledger"
        whole = [*arguments, "--ledger", str(self.ledger)]
        super().__init__(parent, name, whole, control, folder / f"{name}.log")

    def _ready(self) -> bool:
        try:
            return self.ask("GET", "/scenario")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def entries(self) -> list[dict[str, Any]]:
        """Its ledger, from the file: of documents without a sum the control port tells nothing."""
        return [json.loads(line) for line in self.ledger.read_text("utf-8").splitlines()]

    def rules(self, *rules: Mapping[str, object]) -> None:
        """What shall go wrong from now on."""
        status, body = self.ask("PUT", "/scenario", {"rules": list(rules)})
        if status != 200:
            raise BenchFailed(f"the rules were refused: {body.decode(errors='replace')[:300]}")


class Link:
    """The way to the tax service, which can be cut: then nobody listens there, as behind a router without a line."""

    def __init__(self, target: int) -> None:
        self.port = lasting_port()
        self._target = target
        self._listening: socket.socket | None = None

    @property
    def mended(self) -> bool:
        """Whether calls get through."""
        return self._listening is not None

    def mend(self) -> None:
        """Let calls through."""
        if self._listening is None:
            self._listening = listening = socket.create_server((HOST, self.port), backlog=50)
            threading.Thread(target=self._serve, args=(listening,), daemon=True).start()

    def cut(self) -> None:
        """Let no call through any more; calls that are under way go on."""
        if self._listening is not None:
            with suppress(OSError):
                self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
            self._listening = None

    def _serve(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listening.accept()
                try:
                    far = socket.create_connection((HOST, self._target))
                except OSError:
                    near.close()
                    continue
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=_pipe, args=(one, other), daemon=True).start()


def _pipe(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class Doomed(Grown):
    """The service under orders to die: see `dmtwisted.crash_points`."""

    def __init__(self, parent: Parent, state: Path, port: int, *more: str) -> None:
        arguments = ["run", "--state", str(state), "--port", str(port), *more]
        super().__init__(parent, "service", arguments, port, state.parent / f"{state.name}.log")
        self._orders = parent.orders
        self._nonce = 0

    def order(self, point: str, count: int = 1) -> None:
        """Die at the ``count``-th time that you come to ``point`` from now on."""
        self._nonce += 1
        fresh = self._orders.with_name("fresh.orders")
        fresh.write_text(f"{point} {count} {self._nonce}", "ascii")
        os.replace(fresh, self._orders)

    def struck(self) -> bool:
        """Whether the order was carried out; in any case there is none any more."""
        struck = Path(f"{self._orders}.struck")
        carried_out = struck.exists()
        for file in (self._orders, struck):
            file.unlink(missing_ok=True)
        return carried_out

    @property
    def waits(self) -> bool:
        """Whether the order is still to be carried out."""
        return self._orders.exists()

    @property
    def dead(self) -> bool:
        """Whether it has ended."""
        return self._process is None or self._process.poll() is not None

    @property
    def fell(self) -> bool:
        """Whether it has ended by itself, and nobody killed it."""
        return self._process is not None and self._process.poll() not in (None, -signal.SIGKILL)

    @property
    def writer(self) -> int | None:
        """The process of its store."""
        return next((pid for pid in family(self.pid) if is_writer(pid)), None)


class Hurried(Doomed):
    """The service, taken to be ready as soon as it answers: tills do not wait until it has asked far ends."""

    def _ready(self) -> bool:
        try:
            return self.ask("GET", "/health/live")[0] == 200
        except (OSError, http.client.HTTPException):
            return False


class Shop:
    """The processes, what the tills did, and what is wrong.

    :param revokes: the register makes documents whose answer was lost again offline, while nobody can be asked.
    """

    def __init__(self, folder: Path, revokes: bool = False) -> None:
        self.folder, self._revokes = folder, revokes
        self.deeds: list[Deed] = []
        self.link: Link
        self.found = Findings()
        self.by_hand = self.looked = 0
        """How much was left to a person by the last look, see `left_to_a_person`."""
        self._held = ExitStack()
        self._papers: dict[int, int] = {}
        self._kopecks = 1000
        self._lock = threading.Lock()
        state = folder / "state"
        state.mkdir()
        self.state = state
        self.parent = Parent(folder / "orders", folder / "parent.log")
        self.service = Hurried(self.parent, state, lasting_port())
        self.far: dict[str, FarEnd] = {}
        self.ids: dict[str, str] = {}
        self.made_again = 0
        """How often a document was made again offline: every second one had arrived."""
        self.labels: dict[str, int] = {}
        """The sum behind each label of a payment."""

    def __enter__(self) -> Self:
        try:
            self._open()
        except BaseException:
            self._held.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def next_sum(self) -> int:
        """A sum in kopecks that nothing else has."""
        with self._lock:
            self._kopecks += 1
            return self._kopecks

    def add(self, deed: Deed) -> None:
        """Note what a till did and heard."""
        with self._lock:
            self.deeds.append(deed)

    # Opening

    def _far_end(self, name: str, *command: str) -> int:
        port, control = lasting_port(), lasting_port()
        whole = ["simulate", *command, "--listen", f"{HOST}:{port}", "--control", f"{HOST}:{control}"]
        self.far[name] = child = FarEnd(self.parent, name, whole, control, self.folder)
        self._held.callback(child.stop)
        child.spawn()
        return port

    def _open(self) -> None:
        self._held.enter_context(self.parent)
        keys, pem = self.folder / "keys", self.folder / "nexo.pem"
        authority = _certificate(pem)
        tax = self._far_end("tax", "tax-service", "--keys", str(keys), "--register", str(FISCAL_NUMBER))
        printer = self._far_end(PRINTER, "printer")
        ports = {}
        for wire, settings in WIRES.items():
            more = ["--pem", str(pem), "--terminal-id", str(settings["poi_id"])] if wire == "nexo" else []
            ports[wire] = self._far_end(wire, "terminal", "--protocol", wire, "--duration", str(OPERATION), *more)
        for child in self.far.values():
            child.wait_until_ready()
        self.link = Link(tax)
        self.link.mend()
        self._held.callback(self.link.cut)
        self._held.callback(self.service.stop)
        self.service.start()
        self.ids[PRINTER] = self._device(PRINTER, "printer", "escpos", host=HOST, port=printer, profile="epson")
        for wire, settings in WIRES.items():
            secured = {"ca": authority, "server_name": "localhost"} if wire == "nexo" else {}
            self.ids[wire] = self._device(
                wire, "terminal", wire, host=HOST, port=ports[wire], wait_s=10, **settings, **secured
            )
        self.ids[REGISTER] = self._device(
            REGISTER,
            "register",
            "prro",
            server_url=f"http://{HOST}:{self.link.port}/fs",
            fiscal_number=str(FISCAL_NUMBER),
            fis_code=TIN,
            name="ТОВ «Крамниця»",
            shopname="Крамниця",
            shopad="м. Київ",
            trusted_certificates=str(keys / "root.cer"),
            offline_allowed=True,
            offline_probe_s=1,
            offline_after_lost_answer="revoke" if self._revokes else "wait",
            retry_s=0,
            wait_s=5,
            batch={"terminal": BATCH_TERMINAL},
        )
        key = {"key": base64.b64encode((keys / "cashier.p12").read_bytes()).decode(), "password": PASSWORD}
        told = self.ask("POST", f"/dm/main/api/v1/prro/sign?dev_id={self.ids[REGISTER]}", key)
        if told["res"]:
            raise BenchFailed(f"the key was refused: {told['errortxt'][:300]}")

    def _device(self, device: str, kind: str, driver: str, /, **settings: object) -> str:
        wanted = {"device": device, "kind": kind, "driver": driver, "settings": settings}
        made: str = self.ask("POST", "/dm/api/v3/devices", wanted)["dev_id"]
        return made

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """One request to the service that has to be answered well."""
        status, answer = self.service.ask(method, path, body)
        if status not in (200, 201):
            raise BenchFailed(f"{method} {path}: status {status}: {answer.decode(errors='replace')[:300]}")
        return json.loads(answer)

    def wire(self) -> Wire:
        """A till's connection."""
        return Wire(self.service.port)

    # Ends

    def calm(self) -> None:
        """Everything works from now on."""
        self.link.mend()
        self.far["tax"].rules()

    def rested(self) -> bool:
        """Whether nothing but jobs of printers is unfinished."""
        unfinished = self.ask("GET", "/dm/api/v3/operations?state=unfinished")["operations"]
        return all(row["kind"] == "doc" for row in unfinished)

    def revive(self, wait: bool = True) -> None:
        """Start the service again when it has died.

        :param wait: return only when it answers.
        """
        if self.service.dead:
            self.service.spawn()
            if wait:
                self.service.wait_until_ready()

    def kill(self, whom: str) -> bool:
        """End the service, its writer or both, as a power cut of the process would; whether there was one to end."""
        deadline = time.monotonic() + WRITER_PATIENCE
        writer = None
        # One that was killed just now comes back a moment later.
        while whom != "service" and writer is None and time.monotonic() < deadline:
            writer = self.service.writer
            if writer is None:
                time.sleep(0.02)
        if whom != "writer":
            self.service.kill()
        if writer is not None:
            with suppress(ProcessLookupError):
                os.kill(writer, signal.SIGKILL)
        return whom == "service" or writer is not None

    def left_to_a_person(self) -> tuple[list[str], int]:
        """What waits for a person's word: deeds that we could know of, in sentences, and how many only eyes can tell.

        Only eyes can: a slip, where the wire has no question for a lost operation, and a paper on its way.
        """
        by_hand, looked = [], 0
        for deed in self.deeds:
            looked += deed.paper == PERSON
            if deed.heard == PERSON:
                if deed.terminal in NOBODY_TO_ASK:
                    looked += 1
                else:
                    by_hand.append(f"by hand: {deed.terminal}, {deed.kopecks}: {deed.why}")
        return by_hand, looked

    # The books

    def wait(self, reached: Callable[[], bool], patience: float, otherwise: str) -> None:
        """Return when something has come about.

        :raises BenchFailed: when it does not.
        """
        deadline = time.monotonic() + patience
        while not reached():
            if time.monotonic() > deadline:
                raise BenchFailed(otherwise)
            time.sleep(0.02)

    def online(self) -> bool:
        """Whether the register is online and nothing about it is unknown."""
        state = self.ask("GET", f"/dm/api/v3/devices/{self.ids[REGISTER]}")["state"]
        return state.get("online_status") == 0 and not state.get("collision")

    def at_home(self) -> bool:
        """As `online`; not while the service cannot say."""
        try:
            return self.online()
        except (OSError, http.client.HTTPException, BenchFailed):
            return False

    def settle(self, terminal: str) -> None:
        """Do what a person does with a payment that its terminal does not tell of: look at the slips, and say."""
        unfinished = self.ask("GET", "/dm/api/v3/operations?state=unfinished")["operations"]
        for row in unfinished:
            if (row["kind"], row["device"]) == ("pay", terminal):
                held = net_payments(self.far[terminal].entries())
                outcome = "approved" if held[self.labels.get(row["key"], 0)] else "refused"
                self.ask("POST", f"/dm/api/v3/operations/{row['id']}/settle", {"outcome": outcome})

    def compare(self) -> None:
        """Hold all books against each other; the tills rest meanwhile."""
        journal, found = read_journal(self.state, may_stay_open="doc")
        text = self.far[PRINTER].ask("GET", "/strip?format=text")[1].decode()
        copies: dict[int, int] = {}
        for kopecks in PAPER.findall(text):
            copies[int(kopecks)] = copies.get(int(kopecks), 0) + 1
        # The strip is as long as a roll; what has left it is remembered.
        for number, times in copies.items():
            self._papers[number] = max(times, self._papers.get(number, 0))
        books = Books(
            accepted(self.far["tax"].entries()),
            journal.get(REGISTER, []),
            {wire: self.far[wire].entries() for wire in WIRES},
            self._papers,
        )
        found.add(compare_shop(REGISTER, self.deeds, books))
        self.found.add(found)


def _certificate(pem: Path) -> str:
    """Make the nexo terminal's certificate in ``pem``; the one that it leads to."""
    from dmtwisted.access.authority import issue, make_authority

    authority = make_authority(time.time())
    own = issue(authority, ["localhost", HOST], time.time())
    with closing(pem.open("wb")) as file:
        file.write(own.certificates_pem() + own.key_pem())
    return authority.certificates_pem().decode()
