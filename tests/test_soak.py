"""The soak's parts: what falls due, what is counted, what is seen of processes, and what is judged of it."""

from __future__ import annotations

import io
import json
import os
import random
import selectors
import socket
import time
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

from twisted.python import usage
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from dmtwisted.commands.progress import ProgressBar
from dmtwisted.lab.soak import command as command
from dmtwisted.lab.soak.command import SoakOptions, words
from dmtwisted.lab.soak.judging import Minute, SoakVerdict, drift, growth, judge, kept, slope
from dmtwisted.lab.soak.load import (
    OTHER,
    SALE,
    Asked,
    Counted,
    NowAndThen,
    QueuedConnection,
    Till,
    get,
    payment,
    print_job,
    whole_end,
)
from dmtwisted.lab.soak.sampling import Held, Sample, gauge, held_by, sample


def body_of(asked: Asked) -> dict[str, object]:
    """The task in a request."""
    found: dict[str, object] = json.loads(asked.raw.partition(b"\r\n\r\n")[2])
    return found


class TillTests(SynchronousTestCase):
    """What one till asks for."""

    def asked(self, sales: int, shift: float = 1000.0) -> list[Asked]:
        """What falls due with so many sales, one in a second."""
        till = Till("soak-0", "salt", 0, 4, shift)
        return [each for at in range(sales) for each in till.due(at, at)]

    def test_sales(self) -> None:
        """Each sale has a tag of its own; look-ups and repeats name one that was sold, reports come now and then."""
        asked = self.asked(100)
        sales = [body_of(each)["tag"] for each in asked if each.kind == SALE]
        self.assertEqual((len(sales), len(set(sales))), (100, 100))
        others = [body_of(each) for each in asked if each.kind == OTHER]
        self.assertEqual([each["tag"] for each in others if "type" not in each], sales[9::10])
        repeats = [each for each in others if each.get("type") == 1 and each["tag"]]
        self.assertEqual([each["tag"] for each in repeats], sales[24::25])
        reports = [each["fiscal"] for each in others if not each["tag"]]
        self.assertEqual(reports, [{"task": 10, "cashier": "Оксана Коваль"}])

    def test_shifts(self) -> None:
        """A shift is closed and the next one opened long before it is a day old, each till at a time of its own."""
        tasks = [
            (each.due, body_of(each)["fiscal"]["task"])  # type: ignore[index]
            for each in self.asked(120, shift=40)
            if each.kind == OTHER and str(body_of(each)["tag"]).startswith(("z-", "open-"))
        ]
        self.assertEqual(tasks, [(10, 11), (10, 0), (50, 11), (50, 0), (90, 11), (90, 0)])

    def test_others(self) -> None:
        """Payments, print jobs and pages come once in so many seconds."""
        pays = NowAndThen(3.0, payment("pos", "salt"))
        asked = [each for at in range(10) for each in pays.due(at, at)]
        self.assertEqual([each.due for each in asked], [2, 5, 8])
        self.assertEqual(len({json.dumps(body_of(each)) for each in asked}), 3)
        (job,) = NowAndThen(2.0, print_job("prn")).due(1, 1)
        self.assertEqual(body_of(job)["type"], 2)
        self.assertTrue(get("/metrics").startswith(b"GET /metrics HTTP/1.1\r\n"))


class CountedTests(SynchronousTestCase):
    """What is counted in a minute."""

    OK = b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"res":0}'

    def test_counted(self) -> None:
        """The time of a sale counts from when it was due; any other answer is a failure with its text."""
        counted = Counted()
        for spent in (1, 2, 3, 100):
            counted.answered(Asked(1_000_000, SALE, b"sale"), self.OK, 1_000_000 + spent * 1_000_000)
        counted.answered(Asked(0, OTHER, b"look-up"), self.OK, 5)
        counted.answered(Asked(0, OTHER, b"page", task=False), b"HTTP/1.1 200 OK\r\n\r\n<p>", 5)
        counted.answered(Asked(0, OTHER, b"page", task=False), b"HTTP/1.1 500 No\r\n\r\n", 5)
        counted.answered(Asked(0, SALE, b"sale"), b'HTTP/1.1 200 OK\r\n\r\n{"res":1105}', 5)
        minute = counted.minute(2, 7)
        self.assertEqual(
            (minute.minute, minute.sales, minute.others, minute.failures, minute.waiting), (2, 4, 2, 2, 7)
        )
        self.assertEqual((minute.p50_ms, minute.p99_ms), (2.0, 100.0))
        self.assertIn("500", minute.samples[0])

    def test_whole(self) -> None:
        """Answers end where their length or their last chunk says."""
        self.assertEqual(whole_end(self.OK + b"more"), len(self.OK))
        self.assertEqual(whole_end(self.OK[:-1]), 0)
        chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        for at in range(len(chunked)):
            self.assertEqual(whole_end(chunked[:at]), 0)
        self.assertEqual(whole_end(chunked), len(chunked))


class _Wire:
    """One end of a pair of sockets, which knows no options of TCP."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def setsockopt(self, *_: int) -> None:
        """Nothing to set."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._end, name)


class LineTests(SynchronousTestCase):
    """One till's connection."""

    def test_overdue(self) -> None:
        """A request fails half a minute after it was sent, however long it had waited for its turn."""
        near, far = socket.socketpair()
        self.addCleanup(near.close)
        self.addCleanup(far.close)
        self.patch(socket, "create_connection", lambda place, timeout: _Wire(near))
        with selectors.DefaultSelector() as selector:
            line = QueuedConnection(("127.0.0.1", 1), selector)
            line.add(Asked(0, SALE, b"first"))
            line.add(Asked(0, SALE, b"second"))
            self.assertEqual((far.recv(100), len(line.waiting)), (b"first", 1))
            now = time.monotonic_ns()
            self.assertFalse(line.overdue(now))
            self.assertTrue(line.overdue(now + 31 * 10**9))
            far.sendall(CountedTests.OK)
            self.assertEqual(line.receive(), CountedTests.OK)
            line.under_way = None
            line.go_on()
            self.assertEqual(far.recv(100), b"second")
            far.close()
            self.assertRaises(ConnectionResetError, line.receive)
            line.drop()
            self.assertIsNone(line.under_way)


class SamplingTests(SynchronousTestCase):
    """What is seen of processes."""

    def test_held(self) -> None:
        """Memory, descriptors and threads as the system shows them."""
        own = Path(self.mktemp()) / "7"
        (own / "fd").mkdir(parents=True)
        for number in range(3):
            (own / "fd" / str(number)).touch()
        (own / "smaps_rollup").write_text(
            "00400000-7fff ---p 00000000 00:00 0 [rollup]\nRss: 9 kB\nPss:  70 kB\nPss_Anon: 60 kB\n"
            "Private_Clean: 5 kB\nPrivate_Dirty: 50 kB\n",
            "utf-8",
        )
        (own / "status").write_text("Name:\tpython\nThreads:\t4\n", "utf-8")
        self.assertEqual(held_by(7, own.parent), Held(70, 55, 60, 3, 4))
        self.assertRaises(OSError, held_by, 8, own.parent)
        self.assertEqual(Held(1, 2, 3, 4, 5) + Held(1, 1, 1, 1, 1), Held(2, 3, 4, 5, 6))

    def test_sample(self) -> None:
        """A real process holds something; files count by their size, absent ones not."""
        if not Path("/proc/self/smaps_rollup").exists():
            raise SkipTest("there is no /proc/PID/smaps_rollup here")
        state = Path(self.mktemp())
        state.mkdir()
        (state / "dmtwisted.db").write_bytes(bytes(100))
        (state / "dmtwisted.db-wal").write_bytes(bytes(10))
        found = sample(os.getpid(), 5.0, state, state / "no.log", 3, 2)
        self.assertGreater(found.whole.pss, 1000)
        self.assertGreater(found.whole.descriptors, 0)
        self.assertEqual((found.database, found.log, found.unfinished, found.waiting), (110, 0, 3, 2))

    def test_gauge(self) -> None:
        """A figure of the page of figures, summed over its labels."""
        page = '# TYPE a gauge\na{x="1"} 2\na{x="2"} 3.0\nab 9\nb 4\n'
        self.assertEqual((gauge(page, "a"), gauge(page, "b"), gauge(page, "c")), (5, 4, 0))


def series(*megabytes: float, every: float = 10.0, descriptors: int = 50) -> list[Sample]:
    """Samples of a service that holds so much at each."""
    return [
        Sample(at * every, Held(round(each * 1024), 0, round(each * 1000), descriptors, 1), Held(), 2)
        for at, each in enumerate(megabytes)
    ]


MINUTES = [Minute(number, 6000, 5.0, 20.0) for number in range(30)]


class JudgingTests(SynchronousTestCase):
    """What is made of it."""

    def judged(self, samples: list[Sample], minutes: list[Minute] = MINUTES) -> SoakVerdict:
        """The verdict after half an hour of which five minutes do not count."""
        return judge(samples, minutes, 300, 100)

    def test_steady(self) -> None:
        """A service that stays as it is is well, also when it breathes and now and then takes more for a moment."""
        chance = random.Random(1)
        memory = [80 + chance.random() + (30 if n % 40 == 7 else 0) for n in range(180)]
        verdict = self.judged(series(*memory))
        self.assertEqual(verdict.wrong, ())
        self.assertLess(abs(verdict.growth), 0.5)
        self.assertEqual((verdict.sales, verdict.rate, verdict.failures, verdict.leaked), (180_000, 100, 0, 0))
        self.assertLess(abs(verdict.start_mb - 80.5), 0.6)

    def test_warm_up(self) -> None:
        """Memory that is used in the first minutes is not growth."""
        self.assertEqual(self.judged(series(*(min(80, 50 + n) for n in range(180)))).wrong, ())

    def test_growth(self) -> None:
        """Slowly growing memory is found despite its variation, and the growth is reported."""
        chance = random.Random(1)
        verdict = self.judged(series(*(80 + 0.05 * n + chance.random() for n in range(180))))
        self.assertLess(abs(verdict.growth - 100 * 0.05 * 149 / 82), 0.4)
        self.assertFalse(verdict.good)
        self.assertIn("memory grew", verdict.wrong[0])

    def test_leaks(self) -> None:
        """Descriptors that stay are found, those that come and go are not."""
        samples = series(*[80.0] * 180)
        coming = [
            replace(each, service=replace(each.service, descriptors=50 + n % 3)) for n, each in enumerate(samples)
        ]
        self.assertEqual(self.judged(coming).wrong, ())
        leaking = [replace(each, service=replace(each.service, descriptors=50 + n)) for n, each in enumerate(samples)]
        self.assertGreater(self.judged(leaking).leaked, 100)
        self.assertIn("descriptors leaked", self.judged(leaking).wrong[0])

    def test_failures(self) -> None:
        """A request that failed, and sales that were not done, are wrong."""
        bad = [replace(MINUTES[0], failures=2, samples=["no answer in time"]), *MINUTES[1:]]
        self.assertIn("2 requests failed: no answer in time", self.judged(series(*[80.0] * 180), bad).wrong[0])
        slow = [replace(each, sales=5000) for each in MINUTES]
        self.assertIn("83.3 sales/s", self.judged(series(*[80.0] * 180), slow).wrong[0])

    def test_drift(self) -> None:
        """The p99 of the end in relation to that of the beginning."""
        self.assertEqual(drift([replace(each, p99_ms=10.0 + each.minute) for each in MINUTES]), 34.5 / 14.5)
        self.assertEqual(drift(MINUTES[:2]), 1.0)

    def test_little(self) -> None:
        """Of a soak that was ended at once there is a verdict too."""
        self.assertFalse(judge([], [], 300, 100).good)
        self.assertEqual(judge(series(80.0), [], 300, 100).growth, 0.0)
        self.assertEqual((slope([]), slope([(1, 2)]), growth([], lambda each: 0), kept([], lambda each: 0)), (0,) * 4)

    def test_slope(self) -> None:
        """A line has its slope, also with wild points among its own; many points take no time."""
        points = [(float(x), 3.0 * x) for x in range(5000)]
        points[::10] = [(x, 1e9) for x, _ in points[::10]]
        self.assertLess(abs(slope(points) - 3.0), 0.01)

    def test_words(self) -> None:
        """People read what was seen and what is wrong."""
        said = words(self.judged(series(*(80 + 0.05 * n for n in range(180)))))
        self.assertIn("180,000 sales", said)
        self.assertIn("WRONG: memory grew", said)


class CommandTests(SynchronousTestCase):
    """The command as a whole."""

    def options(self, **more: str) -> SoakOptions:
        """Options as they are given."""
        options = SoakOptions()
        options.parseOptions([f"--{name}={value}" for name, value in more.items()])
        return options

    def play(self, minutes: list[Minute], stopped: bool) -> tuple[int, dict[str, object]]:
        """The exit status and the file of a soak that saw this."""

        class Played(command.Soak):
            """One that only remembers."""

            def run(self) -> None:
                """See what is to be seen."""
                self.samples, self.minutes, self.stopped = series(*[80.0] * 180), minutes, stopped

        self.patch(command, "Soak", Played)
        file = Path(self.mktemp())
        with redirect_stdout(io.StringIO()):
            status = command.run(self.options(json=str(file), state=self._folder()))
        return status, json.loads(file.read_text("utf-8"))

    def _folder(self) -> str:
        folder = Path(self.mktemp())
        folder.mkdir()
        return str(folder)

    def test_status(self) -> None:
        """0 when all is well, 130 when it was ended early, 1 when something is wrong; the file has all figures."""
        status, told = self.play(MINUTES, stopped=False)
        self.assertEqual((status, told["stopped"], len(told["minutes"])), (0, False, 30))  # type: ignore[arg-type]
        status, told = self.play(MINUTES[:10], stopped=True)
        self.assertEqual((status, told["stopped"]), (130, True))
        self.assertEqual(self.play([replace(MINUTES[0], failures=1)], stopped=False)[0], 1)

    def test_options(self) -> None:
        """What makes no sense is refused."""
        self.assertEqual(self.options()["rate"], 100.0)
        self.assertRaises(usage.UsageError, self.options, minutes="0")
        self.assertRaises(usage.UsageError, self.options, rate="x")

    def test_really(self) -> None:
        """Ten seconds with the real processes: everything is asked, nothing fails."""
        if os.environ.get("DMTWISTED_SLOW") != "1":
            raise SkipTest("set DMTWISTED_SLOW=1: it starts a service with its simulators")
        soak = command.Soak(
            Path(self._folder()),
            self.options(minutes="1.05", rate="20", registers="4", shift="0.3"),
            ProgressBar("s"),
        )
        with redirect_stdout(io.StringIO()):
            soak.run()
        self.assertEqual([minute.failures for minute in soak.minutes], [0])
        self.assertGreater(soak.minutes[0].others, 60)
        self.assertGreater(soak.samples[-1].whole.pss, 10_000)
