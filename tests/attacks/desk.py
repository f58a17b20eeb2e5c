"""The service under attack: in memory or as a process, with the same questions to it.

A `Desk` is used by two: the attacker, who asks and sends, and the owner, who sells and looks whether anything was
taken or changed.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from twisted.internet.address import IPv4Address

from dmtwisted.config import ServerConfig
from dmtwisted.lab.children import family, free_port
from tests.attacks.variants import Stage
from tests.shop import Shop
from tests.test_service_process import HOST, RUN, Service
from tests.test_sessions import KEYS, SETTINGS, AccessCase, token_of
from tests.web_case import DEVICES, EXECUTE, JSON_TYPE, Headers, HttpAnswer, _take, fiscal, sale
from web.site import Door

PASSWORD = "кавун 7 літо"
"""The owner's."""

STRANGER = "192.168.1.66"
"""Another computer in the shop's network."""

LOCAL = "127.0.0.1"
PATIENCE = 20.0
QUIET = 0.4
"""Seconds without a byte after which a process has said all that it will say."""


@dataclass(frozen=True)
class Talk:
    """What came back for raw bytes: the whole answers, and whether the service closed the connection."""

    answers: tuple[HttpAnswer, ...]
    closed: bool
    raw: bytes

    @property
    def statuses(self) -> list[int]:
        """The status of each answer."""
        return [answer.status for answer in self.answers]


class Desk(ABC):
    """A service with the register `test`, whose shift is open."""

    host = "localhost:3939"
    """The right `Host`."""
    key: tuple[str, str] = ("x-none", "")
    """The header by which the owner gets in."""
    cookie: tuple[str, str] = ("x-none", "")
    """The owner's session, where there is a login."""

    def __init__(self) -> None:
        self.sold, self._tags = 0, 0
        """How many sales the register must have."""

    # The attacker

    @abstractmethod
    def send(self, *pieces: bytes, source: str = LOCAL) -> Talk:
        """What comes back for raw bytes, which arrive in these pieces; ``%HOST%`` in them is the right `Host`."""

    def ask(
        self, method: str, path: str, body: object = b"", headers: Headers = (), host: str = "", source: str = LOCAL
    ) -> HttpAnswer:
        """The answer to one request with right framing; a body that is no bytes is sent as JSON, without a type."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [("Host", host or self.host), *headers]
        if raw or method in ("POST", "PUT", "PATCH"):
            lines.append(("Content-Length", str(len(raw))))
        lines.append(("Connection", "close"))
        head = "".join(f"{name}: {value}\r\n" for name, value in lines)
        talk = self.send(
            f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("utf-8", "surrogateescape") + raw, source=source
        )
        assert len(talk.answers) == 1, f"{len(talk.answers)} answers to {method} {path}: {talk.raw[:300]!r}"
        return talk.answers[0]

    def execute(self, body: object, path: str = EXECUTE, headers: Headers = ()) -> Any:
        """The decoded answer to a task."""
        answer = self.ask("POST", path, body, [JSON_TYPE, self.key, *headers])
        assert (answer.status, answer.header("content-type")) == (200, "application/json"), answer
        return answer.json

    # The owner

    def own(self, method: str, path: str, body: object = b"") -> HttpAnswer:
        """The answer to the owner."""
        return self.ask(method, path, body, [JSON_TYPE, self.key, self.cookie])

    def open_shift(self) -> None:
        """The day begins."""
        answer = self.execute(fiscal(0, "open"))
        assert answer["res"] == 0, answer

    def sell(self) -> None:
        """A customer buys a coffee, whatever else happens."""
        answer = self.execute(sale(self.tag()))
        assert answer["res"] == 0, f"a sale fails: {answer}"
        self.sold += 1

    def tag(self) -> str:
        """A tag that no sale had."""
        self._tags += 1
        return f"own-{self._tags}"

    @abstractmethod
    def ledger(self) -> list[int]:
        """The kopecks of each sale that the tax service has."""

    @abstractmethod
    def files(self) -> set[str]:
        """The files of the state folder, by their names."""

    def picture(self) -> dict[str, Any]:
        """What nobody but the owner may change."""
        devices = self.own("GET", DEVICES).json["devices"]
        return {
            "settings": self.own("GET", SETTINGS).json,
            "keys": self.own("GET", KEYS).json,
            "devices": [
                {name: each.get(name) for name in ("dev_id", "device", "kind", "driver", "settings")}
                for each in devices
            ],
            "files": self.files(),
        }

    @contextmanager
    def unharmed(self) -> Iterator[None]:
        """Nothing is changed and nothing sold meanwhile but what the desk knows of, and afterwards sales go on."""
        before = self.picture()
        yield
        after = self.picture()
        for name, value in before.items():
            assert after[name] == value, f"{name} changed: {value} is now {after[name]}"
        assert len(self.ledger()) == self.sold, f"{len(self.ledger())} sales instead of {self.sold}"
        self.sell()
        assert len(self.ledger()) == self.sold, "the sale afterwards is not in the ledger"

    @abstractmethod
    def close(self) -> None:
        """It is not used again."""


class _Lent(AccessCase):
    """A test that is never run: it lends its service in memory, with what tests know about that."""

    def runTest(self) -> None:
        """Nothing."""


class MemoryDesk(Desk):
    """The real tree of resources and the real channel on a simulated clock."""

    def __init__(self, stage: Stage = Stage.MEMORY, server: ServerConfig | None = None) -> None:
        super().__init__()
        self.case = _Lent()
        self.case.shop = Shop(self.case, training=stage is not Stage.PRODUCTION)
        self.case.door = Door(self.case.shop.core)
        hardened = stage in (Stage.HARDENED, Stage.MEMORY_HARDENED)
        if hardened or server:
            self.case.configure(server or ServerConfig(hardened=True))
        self.files()
        if stage is not Stage.OPEN and stage is not Stage.MEMORY and stage is not Stage.PRODUCTION:
            self.key = self.make_key()
        if stage in (Stage.LOGIN, Stage.MEMORY_LOGIN):
            self.switch_on()
        if stage is not Stage.PRODUCTION:
            self.open_shift()

    @property
    def shop(self) -> Shop:
        """The service."""
        return self.case.shop

    def make_key(self) -> tuple[str, str]:
        """The header of a new API key of the owner."""
        answer = self.own("POST", KEYS, {"name": "owner"})
        assert answer.status == 201, answer
        return ("X-Api-Key", answer.json["key"])

    def switch_on(self) -> None:
        """The owner sets a login, and logs in."""
        login = {"usr_uiauth": True, "usr_login": "admin", "usr_pass": PASSWORD, "usr_confpass": PASSWORD}
        answer = self.own("POST", SETTINGS, login)
        assert answer.json["res"] == 0, answer
        self.cookie = self.log_in()

    def log_in(self) -> tuple[str, str]:
        """The header of a new session of the owner."""
        return ("Cookie", f"DMUIToken={token_of(self.own('POST', '/login', {'login': 'admin', 'pass': PASSWORD}))}")

    def send(self, *pieces: bytes, source: str = LOCAL) -> Talk:
        """As a client on the network, without one."""
        connection = self.case.connect()
        transport = connection._transport
        transport.peerAddr = IPv4Address("TCP", source, 50000)
        for piece in pieces:
            connection.send(piece.replace(b"%HOST%", self.host.encode()))
        raw = transport.value()
        talk = Talk(tuple(whole_answers(raw, pieces)), not connection.is_open, raw)
        connection.hang_up()
        return talk

    def ledger(self) -> list[int]:
        """As the simulated tax service has it."""
        return [entry.sum for entry in self.shop.ledger(kind="sale")]

    def files(self) -> set[str]:
        """Those of the state folder."""
        return {str(path.relative_to(self.shop.state)) for path in self.shop.state.rglob("*")}

    def close(self) -> None:
        """Stop it."""
        self.case._runCleanups(_Complaining())


class _Complaining:
    """What a clean-up that fails is told to."""

    def addError(self, case: object, failure: Any) -> None:
        """Let it be seen."""
        failure.raiseException()


class ProcessDesk(Desk):
    """A service in a process of its own, on a real port."""

    def __init__(self, stage: Stage = Stage.PROCESS, *options: str) -> None:
        super().__init__()
        self._folder = TemporaryDirectory(prefix="dmtwisted-attacks-", ignore_cleanup_errors=True)
        folder = Path(self._folder.name)
        config = folder / "dm.toml"
        hardened = str(stage is Stage.HARDENED).lower()
        config.write_text(f"[server]\nport = {free_port()}\nhardened = {hardened}\n", "utf-8")
        self.state = folder / "state"
        command = (*RUN, "--training", "--config", str(config), "--state", str(self.state), *options)
        self.service = Service(folder, command)
        try:
            self.service.wait_until_ready()
            self.host = f"localhost:{self.service.port}"
            if stage in (Stage.LOGIN, Stage.HARDENED):
                answer = self.own("POST", KEYS, {"name": "owner"})
                assert answer.status == 201, answer
                self.key = ("X-Api-Key", answer.json["key"])
            if stage is Stage.LOGIN:
                login = {"usr_uiauth": True, "usr_login": "admin", "usr_pass": PASSWORD, "usr_confpass": PASSWORD}
                assert self.own("POST", SETTINGS, login).json["res"] == 0
                token = token_of(self.own("POST", "/login", {"login": "admin", "pass": PASSWORD}))
                self.cookie = ("Cookie", f"DMUIToken={token}")
            self.open_shift()
        except BaseException:
            self.close()
            raise

    def connect(self, source: str = LOCAL) -> socket.socket:
        """A connection of the attacker; from the network it comes by this machine's own address there."""
        where = HOST if source == LOCAL else network_address()
        return socket.create_connection((where, self.service.port), PATIENCE)

    def send(self, *pieces: bytes, source: str = LOCAL) -> Talk:
        """Over a real connection."""
        with self.connect(source) as line:
            raw, closed = bytearray(), False
            for number, piece in enumerate(pieces):
                if number:
                    time.sleep(0.01)
                closed = _push(line, piece.replace(b"%HOST%", self.host.encode()), raw)
                if closed:
                    break
            line.setblocking(True)
            while not closed:
                # An answer that promises to be the last one may take its time.
                last = b"onnection: close" in b"".join(pieces)
                line.settimeout(PATIENCE if last else QUIET)
                try:
                    data = line.recv(1 << 16)
                except TimeoutError:
                    break
                except ConnectionError:
                    data = b""
                closed = not data
                raw += data
            return Talk(tuple(whole_answers(bytes(raw), pieces)), closed, bytes(raw))

    def ledger(self) -> list[int]:
        """As the simulated tax service has it."""
        return [entry["sum"] for entry in self.entries()]

    def entries(self) -> list[dict[str, Any]]:
        """The same with everything that it has of each sale."""
        found = self.own("GET", f"{DEVICES}/{self._device()}/ledger").json["entries"]
        return [entry for entry in found if (entry["kind"], entry["status"]) == ("sale", "accepted")]

    def _device(self) -> str:
        found = self.own("GET", DEVICES).json["devices"]
        return next(str(device["dev_id"]) for device in found if device["device"] == "test")

    def files(self) -> set[str]:
        """Those of the state folder, but for the working files of the database."""
        names = {str(path.relative_to(self.state)) for path in self.state.rglob("*")}
        return {name for name in names if not name.endswith(("-wal", "-shm", "-journal"))}

    @property
    def memory(self) -> int:
        """The bytes that the service and its children have in memory."""
        return sum(_resident(pid) for pid in family(self.service.process.pid))

    @property
    def alive(self) -> bool:
        """Whether the process is still the same one."""
        return self.service.process.poll() is None

    def close(self) -> None:
        """Stop it."""
        self.service.end()
        self.service.wait_for_writer()
        self._folder.cleanup()


def _push(line: socket.socket, data: bytes, heard: bytearray) -> bool:
    """Send ``data`` while the answers are read; whether the service closed meanwhile."""
    line.setblocking(False)
    view, deadline = memoryview(data), time.monotonic() + PATIENCE
    while view and time.monotonic() < deadline:
        readable, writable, _ = select.select([line], [line], [], 1.0)
        try:
            if readable:
                found = line.recv(1 << 16)
                heard += found
                if not found:
                    return True
            if writable:
                view = view[line.send(view[: 1 << 16]) :]
        except BlockingIOError:
            continue
        except ConnectionError:
            return True
    return False


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text("utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def network_address() -> str:
    """An address of this machine that is not loopback; where there is none, loopback after all."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking, contextlib.suppress(OSError):
        asking.connect(("192.0.2.1", 9))
        return str(asking.getsockname()[0])
    return HOST


def whole_answers(raw: bytes, asked: tuple[bytes, ...]) -> Iterator[HttpAnswer]:
    """The answers that ``raw`` holds to the end."""
    method = "HEAD" if asked[0].startswith(b"HEAD ") else ""
    while raw:
        try:
            answer, raw = _take(raw, method)
        except (AssertionError, ValueError):
            return
        yield answer


def make_desk(stage: Stage, real: bool) -> Desk:
    """A service for a variant; ``real`` for a process where there may be either."""
    if stage in (Stage.PROCESS, Stage.BROWSER) or (real and stage in (Stage.OPEN, Stage.LOGIN, Stage.HARDENED)):
        return ProcessDesk(stage)
    return MemoryDesk(stage)
