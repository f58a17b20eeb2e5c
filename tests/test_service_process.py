"""The service as a process: started, refused, stopped, killed, and robbed of its disk.

These are real processes on the loopback address. Everything that can be shown without them is shown elsewhere.
"""

from __future__ import annotations

import errno
import http.client
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar
from unittest import SkipTest

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.config import PRESENCE_FILE, ServerConfig, load
from dmtwisted.lab.children import family, free_port, is_writer
from dmtwisted.store.sqlite.file import take_lock
from dmtwisted.system.owners import port_owner
from tests.specification import promises
from tests.test_state_folder import open_paths
from tests.web_case import EXECUTE, fiscal, sale
from web.service import CannotListen, bind

HOME = Path(__file__).parent.parent
HOST = "127.0.0.1"
PATIENCE = 90.0
"""Seconds in which anything here has to happen; what is promised in less is measured."""

RUN = ("-m", "dmtwisted.commands.main", "run")
NO_PID_FILE = () if sys.platform == "win32" else ("--pidfile=",)
TWISTD = ("-c", "from twisted.scripts.twistd import run; run()", "--nodaemon", *NO_PID_FILE, "dmtwisted")

T = TypeVar("T")


def until(found: Callable[[], T | None], what: str, patience: float = 0) -> T:
    """What ``found`` returns as soon as it returns anything.

    :param patience: seconds; `PATIENCE` by default.
    :raises AssertionError: when it does not in time.
    """
    patience = patience or PATIENCE
    deadline = time.monotonic() + patience
    while (value := found()) is None:
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not after {patience:.0f} s")
        time.sleep(0.01)
    return value


def words_of_system(host: str, port: int) -> str:
    """Why the system lets nobody listen there."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as plain:
        try:
            plain.bind((host, port))
        except OSError as error:
            return error.strerror or str(error)
    raise AssertionError("somebody can listen there")


class Service:
    """A service in a process of its own; what it prints is in ``folder``."""

    def __init__(self, folder: Path, command: Sequence[str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._out, self._err = folder / "stdout", folder / "stderr"
        path = os.pathsep.join([str(HOME), *filter(None, [os.environ.get("PYTHONPATH")])])
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": path},
                # As in a terminal of its own: Ctrl-C reaches the writer too, and not the tests.
                start_new_session=True,
            )
        self.port = 0

    @property
    def printed(self) -> str:
        """What it wrote to its standard output so far."""
        return self._out.read_text("utf-8", errors="replace")

    @property
    def complaints(self) -> str:
        """What it wrote to its standard error so far."""
        return self._err.read_text("utf-8", errors="replace")

    def wait_until_ready(self) -> None:
        """Return when it says on which port it serves, and is ready there."""
        self.port = until(self._port, "no port was printed")
        until(self._ready, "the service is not ready")

    def _port(self) -> int | None:
        found = re.search(r"https?://[][\w.:]+:(\d+)", self.printed)
        assert found or self.process.poll() is None, f"it ended: {self.complaints or self.printed}"
        return int(found[1]) if found else None

    def _ready(self) -> bool | None:
        try:
            return True if self.request("GET", "/health/ready")[0] == 200 else None
        except OSError:
            return None

    host = HOST

    def connect(self) -> http.client.HTTPConnection:
        """A connection to it."""
        return http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)

    def request(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Status and body of the answer to a request on a connection of its own."""
        connection = self.connect()
        try:
            send(connection, method, path, body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def execute(self, body: object) -> Any:
        """The decoded answer to a task."""
        status, answer = self.request("POST", EXECUTE, body)
        assert status == 200, (status, answer)
        return json.loads(answer)

    def device(self, name: str = "test") -> str:
        """The path of a device."""
        devices = json.loads(self.request("GET", "/dm/api/v3/devices")[1])["devices"]
        [dev_id] = [device["dev_id"] for device in devices if device["device"] == name]
        return f"/dm/api/v3/devices/{dev_id}"

    def sales(self) -> list[Any]:
        """The sales that the tax service has taken from `test`."""
        entries = json.loads(self.request("GET", f"{self.device()}/ledger")[1])["entries"]
        return [entry for entry in entries if (entry["kind"], entry["status"]) == ("sale", "accepted")]

    @property
    def writer(self) -> int:
        """The process that writes its database."""
        if sys.platform != "linux":
            raise SkipTest("the writer is found by /proc, which is not here")
        return until(self._writer, "there is no writer")

    def _writer(self) -> int | None:
        return next((pid for pid in family(self.process.pid) if is_writer(pid)), None)

    def wait(self) -> int:
        """Its exit status."""
        return self.process.wait(PATIENCE)

    def stop(self) -> int:
        """Ask it to end; its exit status. Windows has no signal for that, and ends it at once."""
        self.process.terminate()
        status = self.wait()
        if sys.platform == "win32":
            assert status == 1, status
            self.wait_for_writer()
            return 0
        return status

    def wait_for_writer(self) -> None:
        """Return when its writer, which outlives a killed service by a moment, has let its files go."""
        for lock in self._out.parent.glob("*/*.db.lock"):
            take_lock(str(lock), PATIENCE).close()

    def end(self) -> None:
        """See to it that it is gone."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)


def send(connection: http.client.HTTPConnection, method: str, path: str, body: object = None) -> None:
    """Send a request and do not wait for its answer."""
    raw = None if body is None else json.dumps(body).encode()
    connection.request(method, path, raw, {"Content-Type": "application/json"})


class ProcessCase(SynchronousTestCase):
    """Tests that start a service; they take seconds, so there are few."""

    def setUp(self) -> None:
        """A folder of its own."""
        self.folder = Path(self.mktemp()).absolute()
        self.folder.mkdir()

    def spawn(self, *command: str) -> Service:
        """A service that has just been started with ``command``; it is gone after the test."""
        service = Service(self.folder, command)
        self.addCleanup(service.end)
        return service

    def run_service(self, *options: str) -> Service:
        """A service in training mode that is ready, on the state that the last one left."""
        given = (*RUN, "--training", "--state", str(self.folder / "state"), "--port", str(free_port()))
        service = self.spawn(*given, *options)
        service.wait_until_ready()
        return service

    def open_shift(self, service: Service) -> None:
        """Open the shift of `test`."""
        self.assertEqual(service.execute(fiscal(0, "open"))["res"], 0)

    def config(self, text: str) -> str:
        """The path of a configuration file that holds ``text``."""
        path = self.folder / "dm.toml"
        path.write_text(text, "utf-8")
        return str(path)


class StartTests(ProcessCase):
    """A start that succeeds."""

    @promises("1.1.1", "1.1.2.2", "1.2.1.1", "1.3.1.1", "1.4.1", "1.4b.2", "1.9b.1.1")
    def test_first_sale(self) -> None:
        """A service that was started with an empty folder sells at once, over HTTP, and keeps it in SQLite."""
        service = self.run_service()
        self.open_shift(service)
        answer = service.execute(sale("first"))
        self.assertEqual((answer["res"], answer["info"]["doccode"]), (0, "TEST_400000000100000002"))
        self.assertEqual([entry["number"] for entry in service.sales()], [answer["info"]["doccode"]])
        database = self.folder / "state" / "dmtwisted.db"
        self.assertEqual(database.read_bytes()[:16], b"SQLite format 3\x00")
        self.assertIn(f"curl -s http://localhost:{service.port}/dm/execute", service.printed)
        self.assertEqual(service.complaints, "")

    def test_closed_to_others(self) -> None:
        """Whatever the service finds in its folder, and whatever it makes there, only its user can read."""
        state = self.folder / "state"
        (state / "training").mkdir(parents=True)
        (state / "training" / "old.ledger").write_text("", "utf-8")
        for path in (state, *state.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        before = os.umask(0o022)
        self.addCleanup(os.umask, before)
        service = self.run_service()
        self.open_shift(service)
        self.assertEqual(service.execute(sale("first"))["res"], 0)
        self.assertTrue((state / "dmtwisted.db-wal").exists())
        self.assertEqual(open_paths(state), [])
        self.assertIn("were open to others", service.printed)

    if sys.platform == "win32":
        test_closed_to_others.skip = "Windows has no such modes."  # type: ignore[attr-defined]

    def test_printed_sale(self) -> None:
        """The sale that a service in training mode prints succeeds when it is pasted as it is."""
        service = self.run_service()
        bodies = re.findall(r"curl -s http://localhost:\d+/dm/execute .* -d '(.*)'", service.printed)
        self.assertEqual(len(bodies), 2)
        self.assertEqual([service.execute(json.loads(body))["res"] for body in bodies], [0, 0])
        self.assertEqual([entry["sum"] for entry in service.sales()], [12550])

    @promises("1.2.1.2", "1.3.1.2", "8.port")
    def test_address(self) -> None:
        """Without a configuration it listens on port 3939, on every address of the machine."""
        bound: list[Any] = []

        class Listening(socket.socket):
            def bind(self, address: Any) -> None:
                bound.append(address)

            def listen(self, backlog: int = 0) -> None: ...

            def getsockname(self) -> Any:
                return bound[-1]

        self.patch(socket, "socket", Listening)
        for one in bind(load(None).server):
            one.close()
        self.assertEqual(bound[0], ("0.0.0.0", 3939))
        self.assertEqual({port for _, port in bound}, {3939})

    @promises("1.2.2")
    def test_twistd(self) -> None:
        """``twistd dmtwisted --config FILE`` serves the same, on the port and in the folder that the file names."""
        port = free_port()
        text = f'[server]\nhost = "{HOST}"\nport = {port}\n[service]\ntraining = true\nstate = "kept"\n'
        service = self.spawn(*TWISTD, "--config", self.config(text))
        service.wait_until_ready()
        self.assertEqual(service.port, port)
        self.open_shift(service)
        self.assertEqual(service.execute(sale("first"))["info"]["docno"], "2")
        self.assertTrue((self.folder / "kept" / "dmtwisted.db").exists())
        self.assertEqual((service.stop(), service.complaints), (0, ""))

    def test_not_in_training(self) -> None:
        """Without training no device is created by default; only the log and the one-time code are printed."""
        service = self.spawn(*RUN, "--state", "state", "--port", "0")
        service.wait_until_ready()
        self.assertEqual(service.execute(sale())["res"], 1091)
        self.assertEqual(service.request("GET", "/dm/api/v3/devices"), (200, b'{"devices":[]}'))
        code = (self.folder / "state" / PRESENCE_FILE).read_text("utf-8").strip()
        [told] = [line for line in service.printed.splitlines() if not re.match(r"\d{4}-\d\d-\d\dT", line)]
        self.assertTrue(told.endswith(f"this one-time code stands for it: {code}"), told)
        self.assertNotIn(code.encode(), service.request("GET", "/dm/api/v3/log")[1])

    def test_code(self) -> None:
        """A used code is replaced on the console and in its file; a service that ends, or has a login, has none."""
        service = self.spawn(
            *RUN, "--state", "state", "--port", "0", "--config", self.config('[log]\nformat = "json"\n')
        )
        service.wait_until_ready()
        file = self.folder / "state" / PRESENCE_FILE
        codes = [file.read_text("utf-8").strip()]
        self.assertEqual(service.request("POST", "/login", {"code": codes[0]})[0], 200)
        codes.append(file.read_text("utf-8").strip())
        told = [json.loads(line)["message"] for line in service.printed.splitlines()]
        self.assertEqual([line[-9:] for line in told if "one-time code stands" in line], codes)
        service.process.terminate()
        service.wait()
        self.assertFalse(file.exists())

    def test_code_for_nobody(self) -> None:
        """A service that only its own machine can reach prints no code."""
        service = self.spawn(
            *RUN, "--state", "state", "--port", "0", "--config", self.config('[server]\nhost = "127.0.0.1"\n')
        )
        service.wait_until_ready()
        self.assertNotIn("one-time", service.printed)


class FamilyTests(ProcessCase):
    """IPv4 and IPv6."""

    def setUp(self) -> None:
        """A machine with both."""
        super().setUp()
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            raise SkipTest("this machine has no IPv6") from None

    @promises("1.3.1.1", "1.4.1")
    def test_both(self) -> None:
        """By default it answers at each family, on one port, and prints addresses that can be opened."""
        service = self.run_service()
        here = f"http://127.0.0.1:{service.port}/ and http://[::1]:{service.port}/"
        self.assertIn(f"serving on {here}, on every address of this machine", service.printed)
        self.assertEqual(service.execute(fiscal(0, "open"))["res"], 0)
        service.host = "::1"
        self.assertEqual(service.execute(sale("first"))["res"], 0)
        connection = service.connect()
        self.addCleanup(connection.close)
        connection.request("GET", "/")
        self.assertEqual(connection.getresponse().getheader("location"), f"http://[::1]:{service.port}/dm/main/")
        self.assertEqual(service.stop(), 0)
        for host in (HOST, "::1"):
            self.assertRaises(ConnectionRefusedError, socket.create_connection, (host, service.port), PATIENCE)

    def test_named(self) -> None:
        """A named address is the only one; `localhost` is this machine, of each family."""
        for host, places in (
            ("::1", ["http://[::1]:{}/"]),
            ("[::1]", ["http://[::1]:{}/"]),
            ("localhost", ["http://127.0.0.1:{}/", "http://[::1]:{}/"]),
        ):
            config = self.config(f'[server]\nhost = "{host}"\nport = 0\n[service]\ntraining = true\n')
            service = self.spawn(*RUN, "--config", config)
            service.host = "::1"
            service.wait_until_ready()
            told = " and ".join(places).format(*[service.port] * 2)
            self.assertIn(f"serving on {told}\n", service.printed)
            self.assertIn(f"Open http://localhost:{service.port}/ in", service.printed)
            service.process.kill()
            service.wait()

    def test_taken(self) -> None:
        """A port in use at one family is named; nothing listens at the other one."""
        for kind, host, place in ((socket.AF_INET, HOST, "0.0.0.0"), (socket.AF_INET6, "::1", "[::]")):
            with socket.create_server((host, free_port()), family=kind) as taken:
                port = taken.getsockname()[1]
                refused = self.assertRaises(CannotListen, bind, ServerConfig(port=port))
                why = words_of_system(host, port)
            self.assertTrue(str(refused).startswith(f"cannot listen on {place}:{port}: {why}"), str(refused))
            self.assertIn("choose another port", refused.advice)
            for one in bind(ServerConfig(port=port)):
                one.close()

    def test_one_family(self) -> None:
        """A machine without IPv6, or without IPv4, starts with the other; with neither it says which is missing."""
        lacking: set[int] = set()
        usual = socket.socket

        def made(kind: int, *more: int) -> socket.socket:
            if kind in lacking:
                raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))
            return usual(kind, *more)

        self.patch(socket, "socket", made)
        for lost, left in ((socket.AF_INET6, socket.AF_INET), (socket.AF_INET, socket.AF_INET6)):
            lacking.clear()
            lacking.add(lost)
            [one] = bind(ServerConfig(port=0))
            self.assertEqual(one.family, left)
            one.close()
        lacking.add(socket.AF_INET6)
        self.assertIn("cannot listen on 0.0.0.0:0", str(self.assertRaises(CannotListen, bind, ServerConfig(port=0))))


class RefusedStartTests(ProcessCase):
    """A start that cannot succeed: one clear line, status 1."""

    def complaint(self, *options: str) -> str:
        """What the service says of ``options`` before it ends."""
        service = self.spawn(*RUN, *options)
        try:
            status = service.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.fail(f"it neither serves nor ends; it said {service.complaints or service.printed}")
        self.assertEqual((status, "Traceback" in service.printed + service.complaints), (1, False))
        line, *advice = service.complaints.splitlines()
        self.assertTrue(line.startswith("dmtwisted: "), line)
        # Below it at most what to do.
        self.assertEqual([each[:2] for each in advice][1:], [])
        return line.removeprefix("dmtwisted: ")

    def test_port_taken(self) -> None:
        """A port in use is named with the reason and the process that has it."""
        with socket.create_server((HOST, 0)) as taken:
            port = taken.getsockname()[1]
            said = self.complaint("--state", "state", "--port", str(port))
            why, owner = words_of_system(HOST, port), port_owner(port)
            self.assertEqual(said, f"cannot listen on 0.0.0.0:{port}: {why}{f' ({owner})' if owner else ''}")

    def test_address_of_another_machine(self) -> None:
        """An address that is not ours is named with the reason."""
        said = self.complaint("--config", self.config('[server]\nhost = "192.0.2.1"\nport = 0\n'))
        self.assertEqual(said, f"cannot listen on 192.0.2.1:0: {words_of_system('192.0.2.1', 0)}")

    def test_name_as_an_address(self) -> None:
        """A host that cannot be resolved is named, without a traceback."""
        said = self.complaint("--config", self.config('[server]\nhost = "no.such.host.invalid"\nport = 0\n'))
        self.assertIn("cannot listen on no.such.host.invalid:0: ", said)

    def test_state_is_a_file(self) -> None:
        """A state folder that is a file is named."""
        (self.folder / "state").write_text("", "utf-8")
        said = self.complaint("--state", "state", "--port", "0")
        self.assertTrue(said.startswith(f"the state folder {self.folder / 'state'} cannot be written"), said)

    def test_unknown_key(self) -> None:
        """An unknown key is named, with the nearest that is known."""
        path = self.config("[server]\nprot = 1\n")
        self.assertEqual(self.complaint("--config", path), f"{path}: unknown key [server] prot; did you mean port?")

    def test_wrong_type(self) -> None:
        """A value of a wrong type is named with the type that is expected."""
        path = self.config('[server]\nport = "1"\n')
        said = self.complaint("--config", path)
        self.assertEqual(said, f'{path}: [server] port: a whole number is expected, not "1"')

    def test_database_of_another_program(self) -> None:
        """A database with conflicting tables is named with the conflict."""
        state = self.folder / "state"
        state.mkdir()
        with closing(sqlite3.connect(state / "dmtwisted.db")) as database:
            database.execute("CREATE TABLE device (whose TEXT)")
        said = self.complaint("--state", str(state), "--port", "0")
        self.assertIn(str(state / "dmtwisted.db"), said)
        self.assertIn("table device already exists", said)

    def test_unknown_option(self) -> None:
        """An unknown option is reported with the near one, with status 2 and without a traceback."""
        service = self.spawn(*RUN, "--prot", "1")
        self.assertEqual(service.wait(), 2)
        self.assertIn("no option --prot; did you mean --port?", service.complaints.splitlines()[0])
        self.assertNotIn("Traceback", service.complaints)


class StopTests(ProcessCase):
    """Being asked to stop."""

    def stop_while_selling(self, stop: Callable[[int], None]) -> None:
        """Let ``stop`` ask a service to stop in the middle of a sale, and see what becomes of everybody."""
        service = self.run_service()
        second = {"device": "second", "kind": "register", "driver": "training"}
        self.assertEqual(service.request("POST", "/dm/api/v3/devices", second)[0], 201)
        self.open_shift(service)
        rules = {"rules": [{"on": "sale", "then": "accept", "delay_ms": 4000}]}
        path, writer = service.device(), service.writer
        self.assertEqual(service.request("PUT", f"{path}/scenario", rules)[0], 200)
        selling, idle = service.connect(), service.connect()
        self.addCleanup(selling.close)
        self.addCleanup(idle.close)
        send(idle, "GET", "/health/live")
        self.assertEqual(idle.getresponse().read(), b'{"status":"ok"}')
        send(selling, "POST", EXECUTE, sale("slow"))
        until(lambda: json.loads(service.request("GET", path)[1])["state"]["busy"] or None, "the sale has not begun")

        stop(service.process.pid)
        until(lambda: _refuses(service.port), "new connections are still taken")
        send(idle, "POST", EXECUTE, {**fiscal(0), "device": "second"})
        late = json.loads(idle.getresponse().read())
        self.assertEqual((late["res"], late["res_action"]), (1105, 1))
        answer = json.loads(selling.getresponse().read())
        self.assertEqual((answer["res"], answer["tag"], answer["info"]["docno"]), (0, "slow", "2"))
        # `idle` is still connected: the service does not wait for it.
        began = time.monotonic()
        self.assertEqual((service.wait(), service.complaints), (0, ""))
        self.assertLess(time.monotonic() - began, 20)
        self.assertFalse(is_writer(writer))
        self.assertNotIn("Traceback", service.printed)

    def test_terminated(self) -> None:
        """SIGTERM: the task under way is answered, a new one is refused, status 0, and no process stays behind."""
        self.stop_while_selling(lambda pid: os.kill(pid, signal.SIGTERM))

    def test_interrupted(self) -> None:
        """Ctrl-C, which a terminal sends to all processes of the service, does the same."""
        self.stop_while_selling(lambda pid: os.killpg(pid, signal.SIGINT))


def _refuses(port: int) -> bool | None:
    try:
        socket.create_connection((HOST, port), PATIENCE).close()
    except OSError:
        return True
    return None


class KillTests(ProcessCase):
    """``kill -9``, of the service and of its writer."""

    @promises("1.10.1.1", "2.3.task_status.2", "3.3.1.1")
    def test_service(self) -> None:
        """What was answered before the kill is answered in the same bytes after the next start, and numbers go on."""
        service = self.run_service()
        writer = service.writer if sys.platform == "linux" else 0
        self.open_shift(service)
        before = service.request("POST", EXECUTE, sale("t"))[1]
        service.process.kill()
        service.wait()
        until(lambda: None if is_writer(writer) else True, "the writer of a killed service lives on")
        service = self.run_service()
        after = service.request("POST", EXECUTE, {"device": "test", "tag": "t"})[1]
        again = before.replace(b'"task_status":1', b'"task_status":2')
        self.assertEqual(after, again.replace(b'"source":"till 1"', b'"source":""'))
        self.assertIn(b'"res":0,', after)
        self.assertEqual(service.execute(sale("u"))["info"]["docno"], "3")
        self.assertEqual(len(service.sales()), 2)

    @promises("3.2.1.3")
    def test_writer(self) -> None:
        """When its writer is killed the service answers 1082 for a moment, then it goes on without a restart."""
        service = self.run_service()
        self.open_shift(service)
        first = service.writer
        os.kill(first, signal.SIGKILL)
        answers = [service.execute(sale("t"))]
        until(lambda: _tried(service, answers), "no sale succeeds any more")
        self.assertEqual({answer["res"] for answer in answers[:-1]} - {1082}, set())
        self.assertEqual({answer["res_action"] for answer in answers[:-1]} - {1}, set())
        self.assertNotEqual(service.writer, first)
        self.assertEqual(len(service.sales()), 1)
        self.assertEqual(service.execute({"device": "test", "tag": "t"})["info"]["docno"], "2")


def _tried(service: Service, answers: list[Any]) -> bool | None:
    """Repeat the sale until one of ``answers`` is a success."""
    if answers[-1]["res"] != 0:
        answers.append(service.execute(sale("t")))
    return True if answers[-1]["res"] == 0 else None


class FullDiskTests(ProcessCase):
    """A disk that takes no more bytes."""

    def limit(self, writer: int, size: int) -> None:
        """Let no file that ``writer`` writes grow beyond ``size`` bytes; -1 lifts the limit."""
        import resource

        if not hasattr(resource, "prlimit"):
            raise SkipTest("the disk of another process can be taken away on Linux only")
        resource.prlimit(writer, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    @promises("3.2.1.1", "3.2.1.2", "3.2.1.3")
    def test_full(self) -> None:
        """Sales are 1082 without effect, what was sold can be looked up, and all is well once there is room again."""
        service = self.run_service()
        writer = service.writer
        self.open_shift(service)
        self.assertEqual(service.execute(sale("before"))["res"], 0)
        self.limit(writer, 0)
        for _ in range(3):
            answer = service.execute(sale("during"))
            self.assertEqual((answer["res"], answer["res_action"], answer["info"]), (1082, 1, {}))
            found = service.execute({"device": "test", "tag": "before"})
            self.assertEqual((found["res"], found["task_status"], found["info"]["docno"]), (0, 2, "2"))
            self.assertEqual(service.execute(fiscal(18))["info"]["shift_status"], 1)
        new = {"device": "second", "kind": "register", "driver": "training"}
        self.assertEqual(service.request("POST", "/dm/api/v3/devices", new)[0], 503)
        self.assertEqual(len(service.sales()), 1)
        self.limit(writer, -1)
        self.assertEqual(service.execute(sale("during"))["info"]["docno"], "3")
        self.assertEqual(service.writer, writer)
        self.assertEqual((len(service.sales()), service.complaints), (2, ""))
