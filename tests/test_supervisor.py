"""The supervisor: with a clock and children made of rules, and with the real service."""

from __future__ import annotations

import http.client
import os
import socket
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from threading import Thread

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.lab.children import free_port
from dmtwisted.system.environment import environment
from dmtwisted.system.supervisor import (
    END_PATIENCE,
    GIVE_UP_AFTER,
    HINT,
    PAUSES,
    START_PATIENCE,
    STEADY,
    STOP_PATIENCE,
    GaveUp,
    State,
    Supervisor,
    What,
)
from dmtwisted.windows.child import ServiceChild, command_of
from tests.test_service_process import until


class Life:
    """A child that serves after a while, ends after another one, and stops in its own time when it is asked to."""

    def __init__(
        self,
        desk: Desk,
        serves: float = 1,
        ends: float = float("inf"),
        status: int = 1,
        words: str = "",
        stops_in: float = 0.5,
    ) -> None:
        self._desk, self._began = desk, desk.now
        self._serves, self._ends, self._status, self._words = serves, ends, status, words
        self._stops_in = stops_in
        self.asked = self.ended = self.forgotten = 0

    @property
    def serving(self) -> bool:
        """Whether it takes requests by now."""
        return self._desk.now - self._began >= self._serves

    def status(self) -> int | None:
        """Its exit status."""
        return self._status if self._desk.now - self._began >= self._ends else None

    def last_words(self) -> str:
        """What it said."""
        return self._words

    def ask_to_stop(self) -> None:
        """Stop a little later, well."""
        self.asked += 1
        self._status, self._ends = 0, self._desk.now - self._began + self._stops_in

    def end(self) -> None:
        """End now."""
        self.ended += 1
        self._status, self._ends = -9, self._desk.now - self._began

    def forget(self) -> None:
        """Let go."""
        self.forgotten += 1


class Desk:
    """A clock, the runs of the service, and the reports of the supervisor."""

    def __init__(self) -> None:
        self.now = 0.0
        self.plans: list[Callable[[], Life]] = []
        self.lives: list[Life] = []
        self.begun_at: list[float] = []
        self.reports: list[tuple[float, State]] = []
        self.told: list[tuple[What, str]] = []
        self.at: dict[float, Callable[[], None]] = {}
        self.supervisor = Supervisor(self.start, self, lambda: self.now, self.wait)

    def start(self) -> Life:
        """The next life, the last of them again and again."""
        self.begun_at.append(self.now)
        plan = self.plans.pop(0) if len(self.plans) > 1 else self.plans[0]
        self.lives.append(plan())
        return self.lives[-1]

    def wait(self, seconds: float) -> None:
        """Time passes, and what is due happens."""
        self.now += seconds
        for moment in [moment for moment in self.at if moment <= self.now]:
            self.at.pop(moment)()

    def report(self, state: State, patience: float) -> None:
        """Keep it."""
        self.reports.append((self.now, state))

    def tell(self, what: What, words: str) -> None:
        """Keep it."""
        self.told.append((what, words))

    @property
    def whats(self) -> list[What]:
        """What happened, without words."""
        return [what for what, _ in self.told]

    @property
    def states(self) -> list[State]:
        """The states one after the other."""
        states = [state for _, state in self.reports]
        return [state for before, state in zip([None, *states], states, strict=False) if state is not before]


class SupervisorTests(SynchronousTestCase):
    """Decisions."""

    def setUp(self) -> None:
        """A desk."""
        self.desk = Desk()

    def plan(self, *plans: Callable[[], Life]) -> None:
        """What the lives of the service will be."""
        self.desk.plans = list(plans)

    def run_until(self, moment: float) -> None:
        """Run, and stop at ``moment``."""
        self.desk.at[moment] = self.desk.supervisor.stop
        self.desk.supervisor.run()

    def test_a_day(self) -> None:
        """It starts, serves, is stopped: the states in order, two entries in the log, one life."""
        self.plan(lambda: Life(self.desk))
        self.run_until(3600)
        self.assertEqual(self.desk.states, [State.STARTING, State.RUNNING, State.STOPPING, State.STOPPED])
        self.assertEqual(self.desk.whats, [What.STARTED, What.STOPPED])
        [life] = self.desk.lives
        self.assertEqual((life.asked, life.ended, life.forgotten), (1, 0, 1))

    def test_heard_of_in_time(self) -> None:
        """A start or a stop is reported before the promised time is over."""
        self.plan(lambda: Life(self.desk, serves=60, stops_in=60))
        self.run_until(100)
        pending = [at for at, state in self.desk.reports if state is not State.RUNNING]
        starting = [at for at in pending if at <= 60]
        stopping = [at for at in pending if at >= 100]
        for moments in (starting, stopping):
            self.assertLess(max(b - a for a, b in pairwise(moments)), HINT)
        self.assertLess(len([1 for _, state in self.desk.reports if state is State.RUNNING]), 3)

    def test_crash(self) -> None:
        """A service that ends by itself is started again after a second, and the log says how it ended."""
        self.plan(lambda: Life(self.desk, ends=30, status=3, words="it broke {here}"), lambda: Life(self.desk))
        self.run_until(60)
        self.assertEqual(self.desk.whats, [What.STARTED, What.CRASHED, What.STARTED, What.STOPPED])
        self.assertIn("(status 3)", self.desk.told[1][1])
        self.assertIn("it broke {here}", self.desk.told[1][1])
        self.assertApproximates(self.desk.begun_at[1], 30 + PAUSES[0], 0.5)
        self.assertEqual(self.desk.states, [State.STARTING, State.RUNNING, State.STOPPING, State.STOPPED])

    def test_growing_pauses_and_giving_up(self) -> None:
        """One that does not stay up is started after growing pauses, and is given up at the fifth end."""
        self.plan(lambda: Life(self.desk, ends=5, words="broken"))
        self.assertRaises(GaveUp, self.desk.supervisor.run)
        begun = self.desk.begun_at
        self.assertEqual(len(begun), GIVE_UP_AFTER)
        for pause, before, after in zip(PAUSES, begun, begun[1:], strict=False):
            self.assertApproximates(after - before, 5 + pause, 0.5)
        self.assertEqual(self.desk.whats[-1], What.GAVE_UP)
        self.assertIn("broken", self.desk.told[-1][1])
        self.assertEqual([life.forgotten for life in self.desk.lives], [1] * GIVE_UP_AFTER)

    def test_steady(self) -> None:
        """Ends that are far apart never make it give up."""
        self.plan(lambda: Life(self.desk, ends=STEADY + 10))
        self.run_until((STEADY + 20) * 12)
        self.assertGreater(len(self.desk.lives), 2 * GIVE_UP_AFTER)
        self.assertNotIn(What.GAVE_UP, self.desk.whats)

    def test_not_steady(self) -> None:
        """Ends just before that time count."""
        self.plan(lambda: Life(self.desk, ends=STEADY - 5))
        self.assertRaises(GaveUp, self.desk.supervisor.run)

    def test_port_taken(self) -> None:
        """A port that another program has is named, and tried again: that program may be an old one of ours."""
        words = "cannot listen on 0.0.0.0:3939: Address already in use"
        self.plan(lambda: Life(self.desk, serves=99, ends=1, words=words), lambda: Life(self.desk))
        self.run_until(60)
        self.assertEqual(self.desk.whats, [What.PORT_TAKEN, What.CRASHED, What.STARTED, What.STOPPED])
        self.assertIn("0.0.0.0:3939", self.desk.told[0][1])

    def test_too_slow(self) -> None:
        """One that does not take requests in time is ended and started again; an upgrade has its time."""
        self.plan(lambda: Life(self.desk, serves=START_PATIENCE - 1), lambda: Life(self.desk))
        self.run_until(START_PATIENCE + 60)
        self.assertEqual(self.desk.whats, [What.STARTED, What.STOPPED])
        self.desk = Desk()
        self.plan(lambda: Life(self.desk, serves=START_PATIENCE + 1), lambda: Life(self.desk))
        self.run_until(START_PATIENCE + 60)
        self.assertEqual(self.desk.whats, [What.TOO_SLOW, What.CRASHED, What.STARTED, What.STOPPED])
        self.assertEqual(self.desk.lives[0].ended, 1)

    def test_cannot_be_started(self) -> None:
        """A missing program is reported, tried again, and given up."""

        def none() -> Life:
            raise FileNotFoundError(2, "No such file or directory", "python.exe")

        self.plan(none)
        self.assertRaises(GaveUp, self.desk.supervisor.run)
        self.assertEqual(self.desk.whats.count(What.NOT_STARTED), GIVE_UP_AFTER)

    def test_stopped_in_its_time(self) -> None:
        """Whatever is under way has its time, and no more: then it is ended, which the log says."""
        self.plan(lambda: Life(self.desk, stops_in=STOP_PATIENCE - 1))
        self.run_until(10)
        self.assertEqual(self.desk.whats, [What.STARTED, What.STOPPED])
        self.desk = Desk()
        self.plan(lambda: Life(self.desk, stops_in=STOP_PATIENCE + 1))
        self.run_until(10)
        self.assertEqual(self.desk.whats, [What.STARTED, What.ENDED, What.STOPPED])
        self.assertEqual(self.desk.lives[0].ended, 1)

    def test_never_ends(self) -> None:
        """A process that the system cannot kill does not block for ever."""
        self.plan(lambda: Life(self.desk, stops_in=float("inf")))
        self.patch(Life, "end", lambda life: None)
        self.run_until(10)
        self.assertEqual(self.desk.states[-1], State.STOPPED)
        self.assertLess(self.desk.now, 10 + STOP_PATIENCE + END_PATIENCE + 2)

    def test_stopped_before_it_serves(self) -> None:
        """A stop during the start is one."""
        self.plan(lambda: Life(self.desk, serves=60))
        self.run_until(10)
        self.assertEqual(self.desk.states, [State.STARTING, State.STOPPING, State.STOPPED])

    def test_stopped_in_a_pause(self) -> None:
        """A stop between two lives waits for nothing, and starts none."""
        self.plan(lambda: Life(self.desk, ends=1))
        self.desk.at[1.6] = self.desk.supervisor.stop
        self.desk.supervisor.run()
        self.assertEqual(len(self.desk.lives), 1)
        self.assertLess(self.desk.now, 2.1)

    def test_stopped_before_it_began(self) -> None:
        """A stop before all is one too."""
        self.plan(lambda: Life(self.desk))
        self.desk.supervisor.stop()
        self.desk.supervisor.run()
        self.assertEqual(self.desk.lives, [])

    def test_numbers(self) -> None:
        """Each event has its own number, by which a log can be filtered."""
        self.assertEqual(len({what.number for what in What}), len(What))


class RealServiceTests(SynchronousTestCase):
    """The service itself, kept by a supervisor in a thread of ours."""

    def setUp(self) -> None:
        """A folder, a port, a supervisor."""
        folder = Path(self.mktemp()).resolve()
        folder.mkdir(parents=True)
        self.port = free_port()
        self.config = folder / "dmtwisted.toml"
        server = f"[server]\nport = {self.port}\nhost = '127.0.0.1'\n"
        self.config.write_text(f"{server}[service]\nstate = '{folder / 'data'}'\n", "utf-8")
        self.told: list[tuple[What, str]] = []
        self.children: list[ServiceChild] = []
        self.supervisor = Supervisor(self.start, self)
        self.kept = Thread(target=self.supervisor.run)
        self.addCleanup(self.leave)

    def start(self) -> ServiceChild:
        """As the service of Windows does."""
        self.children.append(ServiceChild(command_of(sys.executable, str(self.config)), environment()))
        return self.children[-1]

    def report(self, state: State, patience: float) -> None:
        """There is no request."""

    def tell(self, what: What, words: str) -> None:
        """Keep it."""
        self.told.append((what, words))

    def heard(self, what: What, times: int = 1) -> str:
        """The text of ``what``, as soon as it was reported so often."""
        return until(
            lambda: (
                found[-1] if len(found := [words for told, words in self.told if told is what]) >= times else None
            ),
            what.name,
        )

    def leave(self) -> None:
        """Nothing is left behind."""
        self.supervisor.stop()
        if self.kept.ident is not None:
            self.kept.join(60)
        for child in self.children:
            child.forget()

    def ready(self) -> bool | None:
        """Whether it takes tasks."""
        wire = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            wire.request("GET", "/health/ready")
            return True if wire.getresponse().status == 200 else None
        except OSError:
            return None
        finally:
            wire.close()

    def test_kept(self) -> None:
        """A port in use is named, and used when it is free; after a kill the service serves again; it stops.

        Without a signal: it ends well when the pipe closes.
        """
        with socket.socket() as other:
            other.bind(("127.0.0.1", self.port))
            other.listen()
            self.kept.start()
            self.assertIn(f"127.0.0.1:{self.port}", self.heard(What.PORT_TAKEN))
        self.heard(What.STARTED)
        until(self.ready, "not ready")
        os.kill(self.children[-1].pid, 9)
        self.heard(What.STARTED, 2)
        self.supervisor.stop()
        self.kept.join(60)
        self.assertFalse(self.kept.is_alive())
        tail = [What.STARTED, What.CRASHED, What.STARTED, What.STOPPED]
        self.assertEqual([what for what, _ in self.told][-4:], tail)
        self.assertEqual(self.children[-1].status(), 0)
