"""The parts of the benchmark beside sales: their options, requests and calculations."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from twisted.python import usage
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from dmtwisted.access.authority import issue, make_authority
from dmtwisted.lab import children
from dmtwisted.lab.bench import bench, timed
from dmtwisted.lab.bench import idle as bench_idle
from dmtwisted.lab.bench import tasks as bench_tasks
from dmtwisted.lab.bench.figures import Share, columns, spread
from dmtwisted.lab.bench.idle import Idle, Process, Start, as_json, pss_mb, start_words, words
from dmtwisted.lab.bench.options import PARTS, BenchOptions
from dmtwisted.lab.bench.steps import WHOLE, report_of, steps_report
from dmtwisted.lab.bench.steps import table as steps_table
from dmtwisted.lab.bench.tasks import Turn, busy, look_ups, open_load, payments, rows_of, table
from dmtwisted.lab.bench.timed import ENDS, STEPS, Watch
from dmtwisted.lab.bench.tls import Turn as TlsTurn
from dmtwisted.lab.bench.tls import row_of as tls_row
from dmtwisted.lab.bench.tls import table as tls_table
from dmtwisted.lab.bench.tls import tls_report
from dmtwisted.lab.children import HOST, BenchFailed, free_port, scratch_folder, service
from dmtwisted.lab.load import KINDS, Load, LookUp, Payment, Sale, drive, drive_at, drive_fresh, is_success, trust
from dmtwisted.requests import read_json, read_task
from tests.shop import Shop


def chosen(*words: str) -> Any:
    """The options of a part."""
    options = BenchOptions()
    options.parseOptions(words)
    return options.subOptions


def load(rate: float, p50: float = 1.0, p99: float = 2.0, most: float = 3.0) -> Load:
    """A load of ten seconds."""
    return Load(int(rate * 10), 10.0, p50, p99, most, 0)


class OptionsTests(SynchronousTestCase):
    """The options of the parts."""

    def test_every_part(self) -> None:
        """Every part that is offered can be measured, and says how it is used."""
        offered = {str(part[0]) for part in BenchOptions.subCommands}
        self.assertEqual(offered, {*PARTS})
        for part in offered:
            self.assertIn(f" {part} [options]", str(chosen(part)))

    def test_defaults(self) -> None:
        """Without options it is what the figures of the documentation were measured with."""
        self.assertEqual(chosen("look-ups")["connections"], [1, 8, 64])
        self.assertEqual((chosen("open")["rates"], chosen("open")["connections"]), ([100, 500, 1000], 64))
        self.assertEqual((chosen("idle")["devices"], chosen("start")["rounds"]), (50, 5))
        self.assertEqual(chosen("payments")["database"], "")

    def test_database(self) -> None:
        """Where a store is part of it another database can be measured; it is written into the service's file."""
        url = "postgresql://till@db.example/bench"
        self.assertEqual(chosen("busy", "--database", url)["database"], url)
        state = Path(self.mktemp()) / "state"
        state.mkdir(parents=True)
        child = service(state, 1, url)
        config = Path(child.command[-1])
        self.assertEqual(config.read_text("utf-8"), f'[database]\nurl = "{url}"\n')
        self.assertNotIn("--config", service(state, 1).command)

    def test_unknown(self) -> None:
        """Without a part, the command lists all parts."""
        with self.assertRaises(usage.UsageError) as raised:
            BenchOptions().parseOptions([])
        for part in PARTS:
            self.assertIn(part, str(raised.exception))


class RequestTests(SynchronousTestCase):
    """What is asked."""

    def body(self, make: Any, n: int) -> Any:
        """The task that a request holds."""
        return read_task(read_json(make(n).partition(b"\r\n\r\n")[2]))

    def test_look_up(self) -> None:
        """Look-ups ask for the first sales of a register, over and over."""
        asked = [self.body(LookUp("bench-3", "salt-3", 2), n) for n in range(3)]
        self.assertEqual([(task.type, task.tag) for task in asked[:2]], [(0, f"salt-3-{n:010d}") for n in range(2)])
        self.assertEqual(asked[2].tag, asked[0].tag)
        self.assertEqual(self.body(Sale("bench-3", "salt-3"), 1).tag, asked[1].tag)

    def test_payment(self) -> None:
        """Payments are purchases, each under a label of its own."""
        first, second = (self.body(Payment("pos-0", "salt"), n) for n in range(2))
        self.assertEqual((first.device, first.type, first.pay.task), ("pos-0", 3, 1))
        self.assertNotEqual(first.transaction_id, second.transaction_id)

    def test_known(self) -> None:
        """A real service finds with a look-up what was sold by the load."""
        shop = Shop(self)
        shop.open_shift()
        for make in (Sale("test", "known-0"), LookUp("test", "known-0")):
            answer = shop.ask(make(7).partition(b"\r\n\r\n")[2])
            self.assertEqual((answer["res"], answer["info"]["docno"]), (0, "2"))

    def test_wanted(self) -> None:
        """What counts is what is wanted: of a register that works, that it says so."""
        answer = b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"res":1105}'
        self.assertFalse(is_success(answer))
        self.assertTrue(is_success(answer, bench_tasks.BUSY))

    def test_kinds(self) -> None:
        """Each kind makes requests out of a device and the beginning of its tags."""
        for make in KINDS.values():
            self.assertIn(b"salt", make("x", "salt")(1))


class ArrivalTests(SynchronousTestCase):
    """Open load."""

    def test_stall_is_seen(self) -> None:
        """Who had to wait because the service stood still has waited since its moment, not since it was sent."""
        with _server(stall=0.3) as port:
            seen, _ = drive_at("127.0.0.1", port, [Sale("x", "s")], 0.5, 50)
            closed, _ = drive("127.0.0.1", port, [Sale("x", "s")], 0.5, limit=25)
        self.assertEqual((seen.count, seen.failures), (25, 0))
        # Of 25 requests 15 were due in the 300 ms; a closed load sends one in them, the others wait unseen.
        self.assertGreater(seen.p50_ms, 50)
        self.assertLess(closed.p50_ms, 50)


class PortTests(SynchronousTestCase):
    """Ports for programs that are started later."""

    def test_free(self) -> None:
        """Each is another one, free now, and the system gives it to no connection."""
        ports = [free_port() for _ in range(300)]
        self.assertEqual(len({*ports}), 300)
        with contextlib.suppress(FileNotFoundError):
            first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text("ascii").split()[0])
            self.assertLess(max(ports), first)
        with socket.create_server((HOST, free_port())) as taken:
            port, other = taken.getsockname()[1], free_port()
            self.patch(children, "PORTS", [port, other])
            self.assertEqual({free_port(), free_port()}, {other})


class FreshTests(SynchronousTestCase):
    """New connections, and TLS."""

    def test_each_its_own(self) -> None:
        """Each request has a connection of its own."""
        with _server() as port:
            seen, _ = drive_fresh("127.0.0.1", port, [Sale("x", "s")] * 2, 0.5)
        self.assertGreater(seen.count, 1)
        self.assertEqual(seen.failures, 0)

    def test_refused(self) -> None:
        """A server that hangs up is a failure, not an endless loop."""
        with _server(answers=0) as port:
            seen, _ = drive_fresh("127.0.0.1", port, [Sale("x", "s")], 0.5)
        self.assertEqual((seen.count, seen.failures), (0, 1))

    def test_tls(self) -> None:
        """Both kinds of load use TLS, and only with the right certificate."""
        folder = Path(self.mktemp())
        folder.mkdir()
        authority = make_authority(time.time())
        own = issue(authority, ["localhost"], time.time())
        (folder / "ca.pem").write_bytes(authority.certificates_pem())
        (folder / "own.pem").write_bytes(own.certificates_pem() + own.key_pem())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "own.pem")
        trusted = trust(str(folder / "ca.pem"))
        with _server(context=context) as port:
            kept, _ = drive("localhost", port, [Sale("x", "s")], 0.5, trusted=trusted)
            fresh, _ = drive_fresh("localhost", port, [Sale("x", "s")], 0.5, trusted=trusted)
            stranger, _ = drive_fresh("localhost", port, [Sale("x", "s")], 0.5, trusted=ssl.create_default_context())
        self.assertEqual((kept.failures, fresh.failures, stranger.count), (0, 0, 0))
        self.assertGreater(min(kept.count, fresh.count), 0)
        self.assertIs(trust(None), None)


@contextmanager
def _server(stall: float = 0.0, answers: int = 10**9, context: Any = None) -> Iterator[int]:
    """A port that answers with success; the first answer takes ``stall`` seconds, after so many it hangs up."""
    answer = b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"res":0}'
    length = len(Sale("x", "s")(0))
    stalls = [stall]
    listening = socket.create_server(("127.0.0.1", 0))

    def serve(plain: socket.socket) -> None:
        try:
            wire = context.wrap_socket(plain, server_side=True) if context is not None else plain
            for _ in range(answers):
                data = b""
                while len(data) < length:
                    piece = wire.recv(length - len(data))
                    if not piece:
                        return
                    data += piece
                threading.Event().wait(stalls.pop() if stalls else 0)
                wire.sendall(answer)
        except OSError:
            return
        finally:
            plain.close()

    def accept() -> None:
        while True:
            try:
                plain, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(plain,), daemon=True).start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield listening.getsockname()[1]
    finally:
        # Closing alone does not end a waiting accept, but on Windows, which in turn does not know this.
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        accepting.join()


class RowTests(SynchronousTestCase):
    """From measurements to tables."""

    def test_medians(self) -> None:
        """Each number has the medians of its rounds, the worst maximum, and the share of the peer in each round."""
        turns = [
            Turn(8, load(100, 1, 5, 9), (300.0, 100.0), load(200)),
            Turn(1, load(50), (1.0, 1.0), load(50)),
            Turn(8, load(300, 3, 7, 8), (500.0, 120.0), load(300)),
            Turn(8, load(200, 2, 6, 7), None, load(1000)),
        ]
        one, eight = rows_of(turns)
        self.assertEqual((one.number, one.of_plain), (1, Share(1, 1, 1)))
        self.assertEqual((eight.per_s, eight.p50_ms, eight.p99_ms, eight.max_ms), (200, 2, 6, 9))
        self.assertEqual((eight.service_cpu_us, eight.writer_cpu_us), (400.0, 110.0))
        self.assertEqual(eight.of_plain, Share(0.5, 0.2, 1.0))

    def test_columns_nobody_knows(self) -> None:
        """What was not measured has no column."""
        lines = table(rows_of([Turn(100, load(100), None)]), "sales/s due").splitlines()
        self.assertNotIn("µs", lines[0])
        self.assertNotIn("plain", lines[0])
        self.assertEqual(lines[1].split(), ["100", "100", "1.00", "2.00", "3.0"])

    def test_tls(self) -> None:
        """The share of HTTP is taken within each round."""
        turns = [
            TlsTurn(load(50), load(100), 900.0, 400.0),
            TlsTurn(load(90), load(100), 800.0, None),
            TlsTurn(load(60), load(60), None, None),
        ]
        row = tls_row("kept", 8, turns)
        self.assertEqual((row.sales_per_s, row.clear_per_s, row.of_clear), (60, 100, Share(0.9, 0.5, 1.0)))
        self.assertEqual((row.service_cpu_us, row.clear_cpu_us), (850.0, 400.0))
        self.assertIn("0.90 (0.50..1.00)", tls_table([row]))

    def test_figures(self) -> None:
        """Ratios tell their spread; cells stand under each other."""
        self.assertEqual(spread(Share(1, 0.5, 2)), "1.00 (0.50..2.00)")
        self.assertEqual(columns([["a", "bbb"], ["cc", "d"]]), " a  bbb\ncc    d")

    def test_another_database(self) -> None:
        """Sales on a given database are shown beside the plain resource, without a file system."""
        rows = rows_of([Turn(1, load(10), None, load(40))])
        self.patch(bench_tasks, "sales", lambda *asked: rows if asked[-1] == "postgresql://x/y" else [])
        home = Path(self.mktemp())
        home.mkdir()
        options = BenchOptions()
        options.parseOptions(["sales", "--state", str(home), "--database", "postgresql://x/y"])
        with redirect_stdout(StringIO()) as out:
            self.assertEqual(bench.run(options), 0)
        self.assertIn("0.25 (0.25..0.25)", out.getvalue())
        self.assertNotIn("lay on", out.getvalue())

    def test_told(self) -> None:
        """A part prints its rows as text or as JSON, with the file system of the database."""
        rows = rows_of([Turn(1, load(10), None)])
        self.patch(bench_tasks, "look_ups", lambda *_: rows)
        for more, told in ((["--json"], '"rows"'), ([], "The database was on")):
            home = Path(self.mktemp())
            home.mkdir()
            options = BenchOptions()
            options.parseOptions(["look-ups", "--state", str(home), *more])
            with redirect_stdout(StringIO()) as out:
                self.assertEqual(bench.run(options), 0)
            self.assertIn(told, out.getvalue())


class HeldTests(SynchronousTestCase):
    """Registers that are to be busy."""

    def setUp(self) -> None:
        """A service with one of our registers and another one, which records its requests."""
        self.asked: list[tuple[str, str]] = []
        self.ended = 0
        self.now = 100.0
        case = self

        class Wire:
            def __init__(self, host: str, port: int) -> None:
                case.asked.append(("sale", str(port)))

            def request(self, *arguments: object) -> None:
                """Sent."""

            def getresponse(self) -> BytesIO:
                case.ended += 1
                return BytesIO(b"{}")

            def close(self) -> None:
                """Done."""

        class Service:
            port = 7

            def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
                case.asked.append((method, path))
                rows = [{"device": "bench-0", "dev_id": "a"}, {"device": "test", "dev_id": "b"}]
                return 200, json.dumps({"devices": rows, "res": 1105}).replace(" ", "").encode()

        self.patch(http.client, "HTTPConnection", Wire)
        child: Any = Service()
        self.held = bench_tasks.Held(child, ["bench-0"], lambda: self.now)
        self.asked.clear()

    def test_held(self) -> None:
        """A register is made slow, sells, and answers that it is busy; others are not touched."""
        self.held.hold(10)
        rule = ("PUT", "/dm/api/v3/devices/a/scenario")
        self.assertEqual(self.asked, [rule, ("sale", "7"), ("POST", "/dm/execute")])

    def test_as_long_as_it_lasts(self) -> None:
        """As long as the sale lasts nothing is done; when it would end too early, its end is waited for first."""
        self.held.hold(10)
        self.asked.clear()
        self.now += bench_tasks.LONGEST_SALE - 10
        self.held.hold(10)
        self.assertEqual((self.asked, self.ended), ([], 0))
        self.now += 1
        self.held.hold(10)
        self.assertEqual((len(self.asked), self.ended), (3, 1))

    def test_too_long(self) -> None:
        """A measurement that takes longer than such a sale is refused before anything is started."""
        seconds = bench_tasks.LONGEST_SALE
        self.assertRaises(BenchFailed, busy, Path(self.mktemp()), [1], seconds, 1, "")


class IdleTests(SynchronousTestCase):
    """At rest, and starting."""

    idle = Idle(50, 4, [Process("service", 60.0), Process("writer", 11.5)], 20.0, 0.25)

    def test_words(self) -> None:
        """Memory is shown for each process and in total, processor time in percent of one processor."""
        self.assertIn("71.5 MB (service 60.0 MB, writer 11.5 MB); 0.25 %", words(self.idle))
        self.assertEqual(as_json(self.idle)["pss_mb"], 71.5)

    def test_starts(self) -> None:
        """A start is shown by its median, its maximum and, if known, its processor time."""
        self.assertIn("p50 1.20 s, max 3.00 s; 0.90 s", start_words(Start(50, [3.0, 1.0, 1.2], 0.9)))
        self.assertNotIn("processor", start_words(Start(50, [1.0], None)))
        self.assertEqual(as_json(Start(50, [3.0, 1.0, 1.2], None))["p50_s"], 1.2)

    def test_memory(self) -> None:
        """Our own process uses memory; for an ended one the system shows nothing."""
        if not Path("/proc/self/smaps_rollup").exists():
            self.assertRaises(BenchFailed, pss_mb, os.getpid())
        else:
            self.assertGreater(pss_mb(os.getpid()), 1.0)
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        self.assertRaises(BenchFailed, pss_mb, ended.pid)

    def test_devices(self) -> None:
        """Every second device is a register that sold; of the others one half is a terminal, the other a printer."""
        made: list[str] = []
        self.patch(bench_idle, "make_register", lambda child, name: made.append(name))
        self.patch(bench_idle, "make_device", lambda child, name, *more: made.append(name))
        self.patch(bench_idle, "execute", lambda child, body: made.append(json.loads(body)["tag"]))
        child: Any = None
        bench_idle.fill(child, 4, 1)
        self.assertEqual(made, ["register-0", "terminal-1", "register-2", "printer-3", "idle-0", "idle-0"])


class StepTests(SynchronousTestCase):
    """The watch on the steps of a sale."""

    def setUp(self) -> None:
        """A watch whose time goes on by one millisecond with each look, and one till."""
        self.till = "a"
        self.time = iter(range(0, 10**12, 10**6))
        self.watch = Watch(lambda: self.till, lambda: next(self.time))

    def test_each_step(self) -> None:
        """Each step takes from the end of the one before it to its own."""
        for moment in ENDS:
            self.watch.reached(moment)
        self.assertEqual(self.watch.spent, {step: [10**6] for step in STEPS})

    def test_two_tills(self) -> None:
        """Tasks of different tills are kept apart."""
        for moment in ENDS:
            for self.till in "ab":
                self.watch.reached(moment)
        self.assertEqual(self.watch.spent, {step: [2 * 10**6] * 2 for step in STEPS})

    def test_no_sale(self) -> None:
        """A task that makes no document counts for nothing, nor do moments without a task."""
        self.watch.reached("document.submitted")
        for moment in ("begun", "read", "document.before-submit", "ended"):
            self.watch.reached(moment)
        self.assertEqual(sum(map(len, self.watch.spent.values())), 0)

    def test_whole_way(self) -> None:
        """The places that are watched are those that a sale comes through, in this order."""
        seen: list[str] = []

        class Noting(Watch):
            def reached(self, moment: str) -> None:
                seen.append(moment)

        names = ("dispatch", "registers.bookkeeping", "crash_points")
        dispatch, bookkeeping, crash_points = (import_module(f"dmtwisted.{name}") for name in names)
        noting = Noting(lambda: "")
        for module in (bookkeeping, dispatch, crash_points):
            self.patch(module, "reached", noting.reached)
        self.patch(dispatch, "plain_sale", dispatch.plain_sale)
        self.patch(dispatch, "read_task", dispatch.read_task)
        self.patch(dispatch.Dispatcher, "execute", dispatch.Dispatcher.execute)
        self.patch(bookkeeping, "Outcome", bookkeeping.Outcome)
        timed.watch(noting)
        shop = Shop(self)
        shop.open_shift()
        seen.clear()
        self.assertEqual(shop.sell()["res"], 0)
        self.assertEqual([moment for moment in seen if moment in ENDS], list(ENDS))

    def test_report(self) -> None:
        """The steps are shown with their sum, and the whole time of the till."""
        spent = {step: [10**6, 3 * 10**6] for step in STEPS}
        report = report_of(8, spent, load(100, 9.5, 30.0))
        self.assertEqual([step.name for step in report.steps], [*STEPS, "all of these", WHOLE])
        self.assertEqual([step.p99_ms for step in report.steps][-2:], [3.0 * len(STEPS), 30.0])
        told = steps_table([report, report])
        self.assertIn("8: p50 ms", told)
        self.assertIn("100 at 8, 100 at 8 connections", told)


class MeasuredTests(SynchronousTestCase):
    """The real service."""

    def setUp(self) -> None:
        """These start processes."""
        if not os.environ.get("DMTWISTED_SLOW"):
            raise SkipTest("set DMTWISTED_SLOW=1 to start services and simulators")

    def test_tasks(self) -> None:
        """Look-ups, busy answers, payments and sales that come at a rate are all answered."""
        for measure in (bench_tasks.sales, look_ups, busy, payments):
            with scratch_folder(None) as folder:
                (row,) = measure(folder, [2], 0.5, 1, "")
            self.assertGreater(row.per_s, 0)
        with scratch_folder(None) as folder:
            (row,) = open_load(folder, [20], 2, 0.5, 1, "")
        self.assertGreater(row.per_s, 0)

    def test_tls(self) -> None:
        """Sales over TLS, on connections kept and new."""
        with scratch_folder(None) as folder:
            rows = tls_report(folder, [1], 0.3, 1)
        self.assertEqual(len(rows), 2)

    def test_rest(self) -> None:
        """A service at rest, and one that starts."""
        with scratch_folder(None) as folder:
            idle = bench_idle.idle_report(folder, 3, 0.5, 1)
        self.assertEqual([process.name for process in idle.processes], ["service", "writer"])
        with scratch_folder(None) as folder:
            self.assertEqual(len(bench_idle.start_report(folder, 3, 2).starts), 2)

    def test_steps(self) -> None:
        """The steps of real sales come to less than what the till saw."""
        with scratch_folder(None) as folder:
            (report,) = steps_report(folder, [1], 0.5)
        *steps, inside, seen = report.steps
        self.assertTrue(all(0 < step.p50_ms <= inside.p50_ms for step in steps))
        self.assertLess(inside.p50_ms, seen.p50_ms)
