"""A shop of processes: the real service, and a simulated tax service, printer and terminal of every protocol.

Only the service is killed. The simulators keep running and keep their ledgers, as real devices would.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Self

from dmtwisted.access.authority import issue, make_authority
from dmtwisted.lab.children import (
    HOST,
    TIN,
    BenchFailed,
    Child,
    Simulator,
    family,
    is_writer,
    make_device,
    root_in,
    upload_key,
)
from dmtwisted.lab.crash.books import (
    PERSON,
    Books,
    Entry,
    Findings,
    HeldMark,
    Rows,
    TillTask,
    accepted,
    compare_mails,
    compare_marks,
    compare_shop,
    judge_journal,
    net_payments,
    read_marks,
)
from dmtwisted.lab.crash.databases import SQLITE, Ground
from dmtwisted.lab.crash.listener import Document, Listener
from dmtwisted.lab.crash.parent import Parent
from dmtwisted.lab.crash.power import Power, tracer
from dmtwisted.lab.crash.wire import TillConnection
from dmtwisted.lab.mailbox import Mailbox

REGISTER, PRINTER, MARKS = "till", "prn", "marks"
FISCAL_NUMBER = 4_000_000_001

OPERATION = 0.02
"""Seconds that simulated customers take."""

LATEST_START = 120.0
"""Seconds for a process to be ready: a dozen of them start at once."""

PORTS = range(15_000, 32_000)
"""Below the ports of outgoing connections, above those of known services."""

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
"""The protocols of terminals, with settings besides host and port."""

WITHOUT_QUERY = frozenset({"caisse-ap", "concert-v2"})
"""Protocols without a query for a lost operation: a person has to look at the slip."""

BATCH_TERMINAL = "privatbank-json"

PAPER = re.compile(r"LAB(\d+)")
"""The name of the goods, by which a sale is found on paper."""


_given: set[int] = set()


def lasting_port() -> int:
    """A port that stays ours while its service is dead: outgoing connections do not use these numbers.

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


class ForkedChild(Child):
    """A process forked by the lab's parent."""

    start_patience = LATEST_START

    def __init__(self, parent: Parent, name: str, arguments: Sequence[str], port: int, log: Path) -> None:
        super().__init__(name, arguments, port, log)
        self._parent, self._arguments = parent, arguments

    def spawn(self) -> None:
        """Start it."""
        self._process = self._parent.fork(self._arguments, self.log)


class Peer(ForkedChild, Simulator):
    """A simulator with its ledger."""

    def __init__(self, parent: Parent, name: str, arguments: Sequence[str], control: int, folder: Path) -> None:
        self.ledger = folder / f"{name}.ledger"
        whole = [*arguments, "--ledger", str(self.ledger)]
        super().__init__(parent, name, whole, control, folder / f"{name}.log")

    def entries(self) -> list[dict[str, Any]]:
        """Its ledger, from the file: the control port leaves out documents without a sum."""
        return [json.loads(line) for line in self.ledger.read_text("utf-8").splitlines()]


class Link:
    """The line to the tax service, which can be cut: then nothing listens there.

    :param lasting: its connections are used for many calls, so a cut breaks the open ones too.
    """

    def __init__(self, target: int, lasting: bool = False) -> None:
        self.port = lasting_port()
        self._target, self._lasting = target, lasting
        self._listening: socket.socket | None = None
        self._open: list[socket.socket] = []

    @property
    def mended(self) -> bool:
        """Whether connections get through."""
        return self._listening is not None

    def mend(self) -> None:
        """Let connections through."""
        if self._listening is None:
            self._listening = listening = socket.create_server((HOST, self.port), backlog=50)
            threading.Thread(target=self._serve, args=(listening,), daemon=True).start()

    def cut(self) -> None:
        """Refuse new connections; open ones continue, if each is used for one call."""
        if self._listening is not None:
            with suppress(OSError):
                self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
            self._listening = None
        while self._open:
            with suppress(OSError):
                self._open.pop().shutdown(socket.SHUT_RDWR)

    def _serve(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listening.accept()
                try:
                    far = socket.create_connection((HOST, self._target))
                except OSError:
                    near.close()
                    continue
                if self._lasting:
                    self._open.append(near)
                    if listening is not self._listening:
                        # It was cut meanwhile.
                        self.cut()
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        """Carry everything from one end to the other, until one of them ends."""
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if not self._pass_on(data, sink):
                    break
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _pass_on(self, data: bytes, sink: socket.socket) -> bool:
        """Pass something on; whether the connection goes on."""
        sink.sendall(data)
        return True


class KilledService(ForkedChild):
    """The service, which can be ordered to die (`dmtwisted.crash_points`)."""

    def __init__(self, parent: Parent, state: Path, port: int, *more: str) -> None:
        arguments = ["run", "--state", str(state), "--port", str(port), *more]
        super().__init__(parent, "service", arguments, port, state.parent / f"{state.name}.log")
        self._orders = parent.orders
        self._nonce = self._followed = 0

    def add(self, *arguments: str) -> None:
        """Start it with more arguments from now on."""
        self._arguments = [*self._arguments, *arguments]

    def order(self, point: str, count: int = 1) -> None:
        """Let it die when it reaches ``point`` for the ``count``-th time from now on."""
        self._nonce += 1
        fresh = self._orders.with_name("fresh.orders")
        fresh.write_text(f"{point} {count} {self._nonce}", "ascii")
        os.replace(fresh, self._orders)

    def struck(self) -> bool:
        """Whether the order was carried out; the order is removed in any case."""
        struck = Path(f"{self._orders}.struck")
        carried_out = struck.exists()
        for file in (self._orders, struck):
            file.unlink(missing_ok=True)
        return carried_out

    def follow(self) -> None:
        """Die too, if another process of it has carried out the order."""
        if self._followed != self._nonce and Path(f"{self._orders}.struck").exists():
            self._followed = self._nonce
            self.kill()

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
        """Whether it has ended by itself, without being killed."""
        return self._process is not None and self._process.poll() not in (None, -signal.SIGKILL)

    @property
    def writer(self) -> int | None:
        """The number of its writer's process."""
        return next((pid for pid in family(self.pid) if is_writer(pid)), None)


class Shop:
    """The processes, the tasks of the tills, and the faults.

    :param revokes: the register issues documents whose answer was lost again offline when the line is cut.
    :param ground: where the service keeps its data, and how it dies.
    """

    wires: ClassVar[Mapping[str, Mapping[str, object]]] = WIRES
    tax: ClassVar[Sequence[str]] = ()
    """More options of the simulated tax service."""
    ahead: Sequence[str] = ()
    """More modules for the parent to import."""

    def __init__(self, folder: Path, revokes: bool = False, ground: Ground = SQLITE) -> None:
        self.folder, self._revokes = folder, revokes
        self.tasks: list[TillTask] = []
        self.link: Link
        self.found = Findings()
        self.by_hand = self.looked = 0
        """What was left to a person at the last comparison, see `left_to_a_person`."""
        self._held = ExitStack()
        self._papers: dict[int, int] = {}
        self._kopecks = 1000
        self._lock = threading.Lock()
        state = folder / "state"
        state.mkdir()
        self.state = state
        self.parent = Parent(folder / "orders", folder / "parent.log", self.ahead)
        self._database = ground.database()
        self._whole = ground.way != "sqlite"
        self._reading = threading.RLock()
        self._runner = self.parent
        self._power: Power | None = None
        if ground.power:
            record = folder / "calls"
            self._runner = Parent(self.parent.orders, folder / "runner.log", self.ahead, before=tracer(record))
            self._power = Power(state, record, folder.name)
        self.service = KilledService(self._runner, state, lasting_port())
        self.listener, self.mailbox = Listener(), Mailbox()
        # Tills do not wait until it has asked its devices.
        self.service.ready_path = "/health/live"
        self.peers: dict[str, Peer] = {}
        self.ids: dict[str, str] = {}
        self.made_again = 0
        """How often a document was issued again offline: every second one had arrived."""
        self.labels: dict[str, int] = {}
        """The sum of each payment, by its label."""

    def __enter__(self) -> Self:
        try:
            self._held.enter_context(self.parent)
            if self._runner is not self.parent:
                self._held.enter_context(self._runner)
            self._held.callback(self.listener.stop)
            self._held.callback(self.mailbox.stop)
            self._held.callback(self._database.remove)
            self.service.add(*self._database.configure(self.state))
            self._open()
        except BaseException:
            self._held.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def next_sum(self) -> int:
        """A sum in kopecks that no other task has."""
        with self._lock:
            self._kopecks += 1
            return self._kopecks

    def next_mark(self, kopecks: int) -> str:
        """An excise mark that came into stock for the sale of this sum."""
        mark = f"T25і {kopecks}"
        status, body = self.peers[MARKS].ask("POST", "/put_mark", {"mark": mark})
        if status != 200:
            raise BenchFailed(f"the mark was refused: {body.decode(errors='replace')[:300]}")
        return mark

    def add(self, task: TillTask) -> None:
        """Record a task of a till."""
        with self._lock:
            self.tasks.append(task)

    # Opening

    def _peer(self, name: str, *command: str) -> int:
        port, control = lasting_port(), lasting_port()
        whole = ["simulate", *command, "--listen", f"{HOST}:{port}", "--control", f"{HOST}:{control}"]
        self.peers[name] = child = Peer(self.parent, name, whole, control, self.folder)
        self._held.callback(child.stop)
        child.spawn()
        return port

    def _open(self) -> None:
        keys, pem = self.folder / "keys", self.folder / "nexo.pem"
        authority = _certificate(pem)
        tax = self._peer("tax", "tax-service", *self.tax, "--keys", str(keys), "--register", str(FISCAL_NUMBER))
        printer = self._peer(PRINTER, "printer")
        marks = self._peer(MARKS, "marks")
        ports = {}
        for wire, settings in self.wires.items():
            more = ["--pem", str(pem), "--terminal-id", str(settings["poi_id"])] if wire == "nexo" else []
            ports[wire] = self._peer(wire, "terminal", "--protocol", wire, "--duration", str(OPERATION), *more)
        for child in self.peers.values():
            child.wait_until_ready()
        self.link = self._link(tax)
        self.link.mend()
        self._held.callback(self.link.cut)
        self._held.callback(self.service.stop)
        self.service.start()
        self.ids[PRINTER] = self._device(PRINTER, "printer", "escpos", host=HOST, port=printer, profile="epson")
        for wire, settings in self.wires.items():
            secured = {"ca": authority, "server_name": "localhost"} if wire == "nexo" else {}
            self.ids[wire] = self._device(
                wire, "terminal", wire, host=HOST, port=ports[wire], wait_s=10, **settings, **secured
            )
        self.ids[REGISTER] = self._device(
            REGISTER,
            "register",
            "prro",
            **self._there(keys),
            fiscal_number=str(FISCAL_NUMBER),
            fis_code=TIN,
            name="ТОВ «Крамниця»",
            shopname="Крамниця",
            shopad="м. Київ",
            trusted_certificates=root_in(keys),
            offline_allowed=True,
            offline_probe_s=1,
            offline_after_lost_answer="revoke" if self._revokes else "wait",
            retry_s=0,
            wait_s=5,
            batch={"terminal": BATCH_TERMINAL},
            marks_check="service",
            marks_url=f"http://{HOST}:{marks}",
        )
        upload_key(self.service, self.ids[REGISTER], keys)
        mail = {"smtp_host": HOST, "smtp_port": self.mailbox.port, "smtp_security": "local"}
        self.ask("POST", "/dm/main/api/v1/settings", {**mail, "mail_from": "shop@example.com"})
        self.listener.subscribe(self.service)

    def _link(self, port: int) -> Link:
        """The line to the tax service at ``port``."""
        return Link(port)

    def _there(self, keys: Path) -> dict[str, object]:
        """The settings that tell a register where the tax service is."""
        return {"server_url": f"http://{HOST}:{self.link.port}/fs"}

    def _device(self, device: str, kind: str, driver: str, /, **settings: object) -> str:
        return make_device(self.service, device, kind, driver, settings)

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """One request to the service that has to succeed."""
        status, answer = self.service.ask(method, path, body)
        if status not in (200, 201):
            raise BenchFailed(f"{method} {path}: status {status}: {answer.decode(errors='replace')[:300]}")
        return json.loads(answer)

    def wire(self) -> TillConnection:
        """A till's connection."""
        return TillConnection(self.service.port)

    # Kills and restarts

    def calm(self) -> None:
        """Let everything work from now on."""
        self.link.mend()
        self.peers["tax"].set_rules()

    def rested(self) -> bool:
        """Whether only print jobs are unfinished."""
        unfinished = self.ask("GET", "/dm/api/v3/operations?state=unfinished")["operations"]
        return all(row["kind"] == "doc" for row in unfinished)

    def revive(self, wait: bool = True) -> None:
        """Restart the service when it has died.

        :param wait: return only when it answers.
        """
        if self.service.dead:
            if self._power is not None:
                with self._reading:
                    self._power.fail(self.service.pid, self._runner.pid)
            self.service.spawn()
            if wait:
                self.service.wait_until_ready()

    def black_out(self) -> None:
        """Where the power fails, nothing outlives the process that was ordered to die."""
        if self._power is not None:
            self.service.follow()

    def kill(self, whom: str) -> bool:
        """Kill the service, its writer or both; whether there was one to kill.

        A power cut meets all of it, and on a database server it has no writer.
        """
        if self._whole:
            whom = "service"
        deadline = time.monotonic() + WRITER_PATIENCE
        writer = None
        # A writer that was killed just now is restarted a moment later.
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
        """What waits for a person: tasks whose outcome the service could know, and the number of others.

        The others are slips of protocols without a query for a lost operation, and papers that were being printed.
        """
        by_hand, looked = [], 0
        for task in self.tasks:
            looked += task.paper == PERSON
            if task.heard == PERSON:
                if task.terminal in WITHOUT_QUERY:
                    looked += 1
                else:
                    by_hand.append(f"by hand: {task.terminal}, {task.kopecks}: {task.why}")
        return by_hand, looked

    # The books

    def wait(self, reached: Callable[[], bool], patience: float, otherwise: str) -> None:
        """Wait for something.

        :raises BenchFailed: when it does not happen.
        """
        deadline = time.monotonic() + patience
        while not reached():
            if time.monotonic() > deadline:
                raise BenchFailed(otherwise)
            time.sleep(0.02)

    def online(self) -> bool:
        """Whether the register is online and has no document without an answer."""
        state = self.ask("GET", f"/dm/api/v3/devices/{self.ids[REGISTER]}")["state"]
        return state.get("online_status") == 0 and not state.get("collision")

    def at_home(self) -> bool:
        """As `online`; false while the service does not answer."""
        try:
            return self.online()
        except (OSError, http.client.HTTPException, BenchFailed):
            return False

    def settle(self, terminal: str) -> None:
        """Settle a payment as a person does: by the slips of its terminal."""
        unfinished = self.ask("GET", "/dm/api/v3/operations?state=unfinished")["operations"]
        for row in unfinished:
            if (row["kind"], row["device"]) == ("pay", terminal):
                held = net_payments(self.peers[terminal].entries())
                outcome = "approved" if held[self.labels.get(row["key"], 0)] else "refused"
                self.ask("POST", f"/dm/api/v3/operations/{row['id']}/settle", {"outcome": outcome})

    def marks(self) -> tuple[list[HeldMark], int]:
        """The excise marks in the database, and how many letters wait."""
        with self.rows() as rows:
            return read_marks(rows)

    def read_journal(self, may_stay_open: str = "") -> tuple[dict[str, list[Entry]], Findings]:
        """The documents that are done, by the name of their register, and the faults of the database.

        :param may_stay_open: as in `judge_journal`.
        """
        with self.rows() as rows:
            journal, found = judge_journal(rows, may_stay_open)
            if damage := self._database.damage(self.state):
                found.other.append(damage)
        return journal, found

    @contextmanager
    def rows(self) -> Iterator[Rows]:
        """Read the database, which no power cut changes meanwhile."""
        with self._reading, self._database.rows(self.state) as rows:
            yield rows

    def all_told(self) -> bool:
        """Whether the marks service and customers were told everything."""
        return not self.marks()[1]

    def all_heard(self) -> bool:
        """Whether the subscriber of events has every document of the journal."""
        with self.rows() as rows:
            journal, _ = judge_journal(rows, "doc")
        return not self.listener.untold(self._documents(journal))

    def _documents(self, journal: Mapping[str, Iterable[Entry]]) -> list[Document]:
        return [(REGISTER, entry.number, entry.fiscal_number) for entry in journal.get(REGISTER, ())]

    def compare(self) -> None:
        """Compare all books; the tills do not work meanwhile."""
        journal, found = self.read_journal("doc")
        text = self.peers[PRINTER].ask("GET", "/strip?format=text")[1].decode()
        copies: dict[int, int] = {}
        for kopecks in PAPER.findall(text):
            copies[int(kopecks)] = copies.get(int(kopecks), 0) + 1
        # The strip is limited to one roll; what has left it is remembered.
        for number, times in copies.items():
            self._papers[number] = max(times, self._papers.get(number, 0))
        books = Books(
            self._accepted(journal.get(REGISTER, []), found),
            journal.get(REGISTER, []),
            {wire: self.peers[wire].entries() for wire in self.wires},
            self._papers,
        )
        found.add(compare_shop(REGISTER, self.tasks, books))
        found.add(compare_mails(self.tasks, self.mailbox.came()))
        found.add(compare_marks(self.tasks, *self.marks(), self.peers[MARKS].entries()))
        found.add(self.listener.judge(self._documents(journal)))
        self.found.add(found)

    def _accepted(self, journal: Sequence[Entry], found: Findings) -> list[Entry]:
        """What the tax service accepted, in order; gaps that this shows are added to ``found``."""
        return accepted(self.peers["tax"].entries())


def _certificate(pem: Path) -> str:
    """Create the nexo terminal's certificate in ``pem``; returns the authority's certificate."""
    authority = make_authority(time.time())
    own = issue(authority, ["localhost", HOST], time.time())
    with closing(pem.open("wb")) as file:
        file.write(own.certificates_pem() + own.key_pem())
    return authority.certificates_pem().decode()
