"""Each event is one line, with the id of its request and without what must not be shown."""

from __future__ import annotations

import atexit
import json
import os
import re
import sys
import time
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from io import StringIO
from pathlib import Path
from threading import Thread
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import ILogObserver, LogEvent, Logger, LogLevel, LogPublisher, _logger, eventAsJSON
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer
from zope.interface.verify import verifyObject

from dmtwisted.config import ConfigError, LogConfig
from dmtwisted.system.logs import (
    LONGEST_TEXT,
    LONGEST_VALUE,
    LineObserver,
    Sentence,
    clean_request_id,
    new_request_id,
    observer,
    open_observer,
    request_id,
)

CARD, MASKED = "4111111111111111", "411111******1111"
AT = 1795248902.123
"""2026-11-21 10:15:02.123 in Kyiv."""

STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+0[23]:00"


def _boom(words: str) -> Failure:
    try:
        raise ValueError(words)
    except ValueError:
        return Failure()


@implementer(ILogObserver)
def _prepare(event: LogEvent) -> None:
    """Leave in ``event`` what Twisted's JSON log leaves there."""
    eventAsJSON(event)


@implementer(ILogObserver)
def _change(event: LogEvent) -> None:
    """Change ``event``, as an observer may."""
    event.update(device="changed", more=1)


class _Unprintable:
    """A thing that cannot be turned into words."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


class _LogCase(SynchronousTestCase):
    """Events on their way through Twisted's logger to our observer and a stream in memory."""

    form = "text"

    def setUp(self) -> None:
        """A logger whose events end up in ``self.stream``."""
        self.stream = StringIO()
        self.observer = observer(self.stream, self.form, "debug")
        self.log = Logger("dmtwisted.dispatch", observer=LogPublisher(self.observer))

    def within(self, name: str, function: Callable[[], object]) -> None:
        """Call ``function`` as part of the request ``name``."""

        def run() -> None:
            request_id.set(name)
            function()

        copy_context().run(run)

    @property
    def words(self) -> str:
        """The text after the namespace in the only line so far."""
        found = re.fullmatch(rf"{STAMP} \w+ dmtwisted\.dispatch (.*)\n", self.stream.getvalue(), re.DOTALL)
        assert found is not None, self.stream.getvalue()
        return found[1]


class TextTests(_LogCase):
    """The form for people."""

    def test_line(self) -> None:
        """A line has time in Kyiv, level, namespace, request and text."""
        event = dict(log_level=LogLevel.info, log_namespace="dmtwisted.dispatch", log_time=AT)
        self.within(
            "3f2a9c01",
            lambda: self.observer({**event, "log_format": "till {till} paid {sum}", "till": "test", "sum": 5}),
        )
        self.assertEqual(
            self.stream.getvalue(),
            "2026-11-21T10:15:02.123+02:00 info dmtwisted.dispatch [3f2a9c01] till test paid 5\n",
        )

    def test_summer_time(self) -> None:
        """The zone is the one of the day, and the second that a line has from the one before is right."""
        for at in (AT - 130 * 86400, AT):
            self.observer({"log_level": LogLevel.info, "log_format": "x", "log_time": at})
        lines = self.stream.getvalue().splitlines()
        self.assertEqual(lines[0][:29], "2026-07-14T11:15:02.123+03:00")
        self.assertEqual(lines[1][:29], "2026-11-21T10:15:02.123+02:00")

    def test_outside_of_requests(self) -> None:
        """Outside of requests there are no brackets."""
        self.log.info("ready")
        self.assertEqual(self.words, "ready")

    def test_levels(self) -> None:
        """Each level shows its name."""
        for level in LogLevel.iterconstants():
            self.log.emit(level, "x")
        self.assertEqual(
            [line.split()[1] for line in self.stream.getvalue().splitlines()],
            ["debug", "info", "warn", "error", "critical"],
        )

    def test_traceback(self) -> None:
        """A failure follows its sentence, each line of it indented."""
        self.within("3f2a9c01", lambda: self.log.failure("no answer from {pos}", _boom("lost"), pos="pos"))
        first, *others = self.stream.getvalue().splitlines()
        self.assertRegex(first, rf"^{STAMP} critical dmtwisted\.dispatch \[3f2a9c01\] no answer from pos$")
        self.assertTrue(all(line.startswith("    ") for line in others), others)
        self.assertEqual(others[-1].strip(), "builtins.ValueError: lost")

    def test_failure_without_words(self) -> None:
        """A failure without a sentence is its traceback."""
        self.log.emit(LogLevel.error, None, log_failure=_boom("lost"))
        self.assertIn("builtins.ValueError: lost", self.words)

    def test_nothing_to_say(self) -> None:
        """An event without words and failure writes nothing."""
        self.log.info(None, sum=5)
        self.assertEqual(self.stream.getvalue(), "")

    def test_forged_lines(self) -> None:
        """Line ends and control characters that a caller sends cannot pass for another event."""
        self.log.info("unknown device {device}", device="a\n2026-11-21 b\r\x1b[2J\x85\u2028c")
        self.assertEqual(self.words, "unknown device a\n    2026-11-21 b\\r\\x1b[2J\\x85\\u2028c")

    def test_ukrainian(self) -> None:
        """Letters of any script are written as they are."""
        self.log.info("каса {name}", name="Їжак №1 «так»")
        self.assertEqual(self.words, "каса Їжак №1 «так»")


class SentenceTests(_LogCase):
    """From the format and its fields to the words."""

    def test_as_twisted(self) -> None:
        """Conversions, specifications, attributes, items, calls and braces read as in Twisted's own log."""
        for form, fields, words in (
            ("{a!r} {b:>4} {c:.2f}", {"a": "x", "b": 7, "c": 1.234}, "'x'    7 1.23"),
            ("{b:>{width}}", {"b": 7, "width": 4}, "   7"),
            ("{a.real} {b[x]} {c()}", {"a": 5, "b": {"x": 6}, "c": lambda: 7}, "5 6 7"),
            ("{{}} {a}", {"a": 5}, "{} 5"),
            ("100 % {a}", {"a": None}, "100 % None"),
            ("plain", {}, "plain"),
        ):
            self.stream.truncate(self.stream.seek(0))
            self.log.info(form, **fields)
            self.assertEqual(self.words, words)

    def test_mistakes(self) -> None:
        """A format that does not fit its fields is still logged, without an error."""
        for form, fields in (
            ("{missing}", {}),
            ("{a:d}", {"a": "x"}),
            ("{", {}),
            ("{} {}", {}),
            ("{a}", {"a": _Unprintable()}),
        ):
            self.stream.truncate(self.stream.seek(0))
            self.log.info(form, **fields)
            self.assertRegex(self.words, "Unable to format event|MESSAGE LOST")

    def test_secrets(self) -> None:
        """A field with a secret name shows ``***``, whatever it is and anywhere in the format."""
        for form in ("{password}", "{x_api_key!r:>20}", "{tls.passphrase}", "{body[usr_pass]}", "{token()}"):
            self.stream.truncate(self.stream.seek(0))
            self.log.info(f"a {form} {{b}}", password="x", body={"usr_pass": "x"}, b="{c}")
            self.assertEqual(self.words, "a *** {c}")

    def test_secrets_inside(self) -> None:
        """Secrets inside of objects and arrays are hidden too."""
        self.log.info("got {body} and {rows[0]}", body={"login": "a", "pass": "x"}, rows=[{"token": "x"}])
        self.assertEqual(self.words, "got {'login': 'a', 'pass': '***'} and {'token': '***'}")

    def test_secrets_of_mistakes(self) -> None:
        """A format that fails shows its event, and the secrets of the event stay hidden."""
        self.log.info("{missing}", password="sesame", body={"pass": "sesame"})
        self.assertNotIn("sesame", self.stream.getvalue())

    def test_event_stays(self) -> None:
        """Other observers see the event as it was."""
        event = {"log_level": LogLevel.info, "log_format": "{body}", "body": {"pass": "x"}}
        self.observer(event)
        self.assertEqual(event["body"], {"pass": "x"})

    def test_cards(self) -> None:
        """A card number is masked in fields, in the sentence itself, and across both."""
        for form, card in (("card {card}.", CARD), (f"card {CARD}.", ""), ("card 411111{card}.", CARD[6:])):
            self.stream.truncate(self.stream.seek(0))
            self.log.info(form, card=card)
            self.assertEqual(self.words, f"card {MASKED}.")

    def test_cards_in_tracebacks(self) -> None:
        """A card number in an exception is masked."""
        self.log.failure("x", _boom(f"bad card {CARD}"))
        self.assertIn(f"bad card {MASKED}", self.words)

    def test_cards_as_request_ids(self) -> None:
        """A caller who takes a card number for a request id does not get it into the log."""
        self.within(CARD, lambda: self.log.info("x"))
        self.assertEqual(self.words, f"[{MASKED}] x")

    def test_long_values(self) -> None:
        """Of a value without end its beginning and its end are shown; the line says how much is left out."""
        self.log.info("{device} tag={tag} res={res}", device="till", tag="a" * 500_000 + "b" * 500_000, res=0)
        self.assertLess(len(self.words), LONGEST_VALUE + 100)
        self.assertTrue(self.words.startswith("till tag=aaa"))
        self.assertTrue(self.words.endswith("bbb res=0"))
        self.assertIn(f"… {1_000_000 - LONGEST_VALUE} characters left out …", self.words)

    def test_long_values_of_any_kind(self) -> None:
        """A long list, a long text with its quotes and a long traceback are bounded too."""
        self.log.info("{all} {quoted!r} {one[0]}", all=["x"] * 100_000, quoted="y" * 100_000, one=["z" * 100_000])
        self.log.failure("it failed", _boom("w" * 1_000_000))
        for line in self.stream.getvalue().splitlines():
            self.assertLess(len(line), 2 * LONGEST_TEXT)
        self.assertLess(len(self.stream.getvalue()), 4 * LONGEST_TEXT)

    def test_cards_at_a_cut(self) -> None:
        """Wherever a card number stands in a long value, no more of it is shown than in a short one."""
        card = "4111.1111.1111.1111"
        for at in range(LONGEST_VALUE // 2 - 40, LONGEST_VALUE // 2 + 5):
            self.stream.truncate(0)
            self.stream.seek(0)
            self.log.info("tag={tag}", tag="x" * at + card + "x" * 5000 + card + "x" * at)
            self.assertNotIn("1111.1", self.words)

    def test_after_another_observer(self) -> None:
        """An observer that prepared the event before us does not bring the secrets back."""
        publisher = LogPublisher()
        for other in (_prepare, self.observer):
            publisher.addObserver(other)
        Logger("dmtwisted.dispatch", observer=publisher).info("{body[pass]} {b.real}", body={"pass": "x"}, b=5)
        self.assertEqual(self.words, "*** 5")


class JsonTests(_LogCase):
    """The form for log collectors."""

    form = "json"

    @property
    def object(self) -> dict[str, Any]:
        """The only line so far."""
        text = self.stream.getvalue()
        assert text.count("\n") == 1 and text.endswith("\n"), text
        found = json.loads(text)
        assert isinstance(found, dict)
        return found

    def test_line(self) -> None:
        """A line is one object with time, level, namespace, request, message and the event's own fields."""
        event = dict(log_level=LogLevel.warn, log_namespace="dmtwisted.dispatch", log_time=AT)
        fields = dict(till="каса", sum=5, rate=0.5, training=True, tag=None)
        self.within("3f2a9c01", lambda: self.observer({**event, "log_format": "till {till}\npaid {sum}", **fields}))
        self.assertEqual(
            self.object,
            {
                "time": "2026-11-21T10:15:02.123+02:00",
                "level": "warn",
                "namespace": "dmtwisted.dispatch",
                "request_id": "3f2a9c01",
                "message": "till каса\npaid 5",
                **fields,
            },
        )

    def test_no_request(self) -> None:
        """Outside of requests the id is empty."""
        self.log.info("x")
        self.assertEqual(self.object["request_id"], "")

    def test_own_names(self) -> None:
        """An event's field cannot take the place of ours, and things that are no plain values stay out."""
        self.log.info("x", message="y", time="z", thing=object(), raw=b"raw", body={"a": 1})
        self.assertEqual(set(self.object), {"time", "level", "namespace", "request_id", "message"})
        self.assertEqual(self.object["message"], "x")
        self.assertRegex(self.object["time"], STAMP)

    def test_failure(self) -> None:
        """A traceback is a member of the same object, so that it has the request's id."""
        self.within("3f2a9c01", lambda: self.log.failure("x", _boom(f"card {CARD}")))
        self.assertEqual(self.object["request_id"], "3f2a9c01")
        self.assertTrue(self.object["traceback"].endswith(f"builtins.ValueError: card {MASKED}"))

    def test_secrets_and_cards(self) -> None:
        """Fields with secret names are hidden; card numbers are masked as texts and as numbers."""
        self.log.info("x {a}", a=CARD, b=int(CARD), password="x", escaped=f"\x01{CARD}", rrn=123456789012)
        self.assertEqual(self.object["message"], f"x {MASKED}")
        for name, value in (
            *(("a", MASKED), ("b", MASKED), ("password", "***"), ("escaped", f"\x01{MASKED}")),
            ("rrn", 123456789012),
        ):
            self.assertEqual(self.object[name], value)

    def test_long_values(self) -> None:
        """Message, members and traceback are bounded."""
        self.log.failure("tag={tag}", _boom("w" * 100_000), tag="a" * 1_000_000)
        self.assertLess(len(self.stream.getvalue()), 2 * LONGEST_TEXT)

    def test_strange_values(self) -> None:
        """Lone surrogates, huge numbers and numbers that are none still make a line of JSON."""
        self.log.info("x", a="\udcff", b=10**30, c=float("nan"))
        self.assertEqual((self.object["a"], self.object["b"]), ("\udcff", 10**30))

    def test_nothing_to_say(self) -> None:
        """An event without words and failure writes nothing."""
        self.log.info(None, sum=5)
        self.assertEqual(self.stream.getvalue(), "")


class LevelTests(SynchronousTestCase):
    """What is too unimportant to be written."""

    def test_levels(self) -> None:
        """Each level lets itself and what is above it through."""
        names = ["debug", "info", "warn", "error", "critical"]
        for number, least in enumerate(names[:4]):
            stream = StringIO()
            log = Logger("x", observer=observer(stream, "text", least))
            for level in LogLevel.iterconstants():
                log.emit(level, "y")
            self.assertEqual([line.split()[1] for line in stream.getvalue().splitlines()], names[number:])

    def test_not_formatted(self) -> None:
        """What is not written is not turned into words either."""
        stream = StringIO()
        Logger("x", observer=observer(stream, "text", "info")).debug("{a()}", a=lambda: self.fail("formatted"))
        self.assertEqual(stream.getvalue(), "")


class _Full(StringIO):
    """A stream on a disk that can be full."""

    full = False

    def write(self, text: str) -> int:
        """Write, or fail."""
        if self.full:
            raise OSError(28, "No space left on device")
        return super().write(text)


class _Counting(StringIO):
    """A stream that counts writes, and can do something in the middle of the first."""

    writes = 0
    on_first: Callable[[], None] | None = None

    def write(self, text: str) -> int:
        """Write and count."""
        self.writes += 1
        todo, self.on_first = self.on_first, None
        written = super().write(text)
        if todo is not None:
            todo()
        return written


class WritingTests(SynchronousTestCase):
    """When lines reach the stream."""

    def setUp(self) -> None:
        """A stream, a clock in place of the reactor, and a logger with deferred writing."""
        self.stream, self.clock = _Counting(), Clock()
        self.observer = observer(self.stream, "text", "info", lambda flush: self.clock.callLater(0, flush))
        self.log = Logger("x", observer=LogPublisher(self.observer))

    @property
    def words(self) -> list[str]:
        """The last word of each line that was written."""
        return [line.split()[-1] for line in self.stream.getvalue().splitlines()]

    def test_interface(self) -> None:
        """It is an observer of Twisted's logger."""
        verifyObject(ILogObserver, self.observer)

    def test_at_once(self) -> None:
        """Without a schedule each line is written before the logger returns."""
        log = Logger("x", observer=observer(self.stream))
        for number in range(3):
            log.info("{n}", n=number)
            self.assertEqual(self.stream.writes, number + 1)

    def test_one_write_for_a_turn(self) -> None:
        """All lines of one turn of the reactor go in one write, in their order; the next turn has its own."""
        for number in range(3):
            self.log.info("{n}", n=number)
        self.assertEqual((self.stream.writes, len(self.clock.getDelayedCalls())), (0, 1))
        self.clock.advance(0)
        self.assertEqual((self.stream.writes, self.words), (1, ["0", "1", "2"]))
        self.log.info("3")
        self.clock.advance(0)
        self.assertEqual((self.stream.writes, self.words), (2, ["0", "1", "2", "3"]))

    def test_errors_at_once(self) -> None:
        """An error is written at once, after the lines that wait."""
        self.log.info("0")
        self.log.error("1")
        self.assertEqual(self.words, ["0", "1"])
        self.log.info("2")
        self.log.critical("3")
        self.assertEqual(self.words, ["0", "1", "2", "3"])
        self.clock.advance(0)
        self.log.info("4")
        self.clock.advance(0)
        self.assertEqual(self.words, ["0", "1", "2", "3", "4"])

    def test_flush(self) -> None:
        """At its end the service can write out everything."""
        self.log.info("0")
        self.observer.flush()
        self.assertEqual(self.words, ["0"])

    def test_other_threads(self) -> None:
        """Another thread's lines are written without the reactor, which it must not touch, and none is lost."""

        def work() -> None:
            for _ in range(500):
                self.log.info("t")

        threads = [Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.observer.flush()
        self.assertEqual(self.words, ["t"] * 2000)

    def test_destructors(self) -> None:
        """An event in the middle of a write, such as a destructor's, follows it and blocks nothing."""
        self.stream.on_first = lambda: self.log.error("1")
        self.log.error("0")
        self.assertEqual(self.words, ["0", "1"])

    def test_full_disk(self) -> None:
        """A log that cannot be written does not stop the service, and continues when it can be."""
        stream = _Full()
        log = Logger("x", observer=observer(stream))
        stream.full = True
        log.info("0")
        stream.full = False
        log.info("1")
        self.assertEqual([line.split()[-1] for line in stream.getvalue().splitlines()], ["1"])

    def test_closed_stream(self) -> None:
        """A line after the end is dropped."""
        self.observer.close()
        self.log.error("0")


class OftenTests(SynchronousTestCase):
    """The sentence of every task, which costs less than others."""

    FORMAT = "{device} tag={tag} {ms:.1f} ms"

    def setUp(self) -> None:
        """What is logged."""
        self.fields: dict[str, Any] = {"device": f"Каса {CARD}", "tag": "a\nb", "ms": 12.345}

    def test_any_observer(self) -> None:
        """Every observer gets the event that the logger would have made."""
        told: list[LogEvent] = []
        log = Logger("x", source=self, observer=LogPublisher(told.append))  # type: ignore[arg-type]
        self.patch(time, "time", lambda: AT)
        self.patch(_logger, "time", lambda: AT)
        log.info(self.FORMAT, **self.fields)
        Sentence(log, self.FORMAT)(**self.fields)
        self.assertEqual(told[0], told[1])

    def test_line(self) -> None:
        """Its line is the usual one, in its place among others, with the request and the fields that it had."""
        for form in ("text", "json"):
            made = []
            for short in (False, True):
                stream, clock = StringIO(), Clock()
                publisher = LogPublisher(observer(stream, form, "info", partial(clock.callLater, 0)))
                publisher.addObserver(_prepare)
                publisher.addObserver(_change)
                log = Logger("x", observer=publisher)
                self.patch(time, "time", lambda: AT)
                self.patch(_logger, "time", lambda: AT)
                context = copy_context()
                context.run(request_id.set, "3f2a9c01")
                log.info("before")
                context.run(Sentence(log, self.FORMAT) if short else partial(log.info, self.FORMAT), **self.fields)
                log.info("after")
                self.assertEqual(stream.getvalue(), "")
                clock.advance(0)
                made.append(stream.getvalue())
            self.assertEqual(made[0], made[1])
            self.assertEqual((made[0].count("3f2a9c01"), made[0].count(MASKED)), (1, 2 if form == "json" else 1))

    def test_level(self) -> None:
        """It is information: a log of warnings has none of it."""
        stream = StringIO()
        Sentence(Logger("x", observer=observer(stream, "text", "warn")), "x")()
        self.assertEqual(stream.getvalue(), "")

    def test_recent(self) -> None:
        """The log page has it when it is written."""
        clock = Clock()
        watching = observer(StringIO(), "text", "info", lambda flush: clock.callLater(0, flush))
        log = Logger("x", observer=watching)
        Sentence(log, "one")()
        log.info("two")
        clock.advance(0)
        self.assertEqual([line.split()[-1] for line in watching.recent], ["one", "two"])
        self.assertEqual(watching.recent.written, 2)


class OpenTests(SynchronousTestCase):
    """From the configuration to an observer."""

    def opened(self, config: LogConfig, **more: Any) -> LineObserver:
        """The observer for ``config``, closed after the test."""
        found = open_observer(config, **more)
        self.addCleanup(found.close)
        return found

    def test_file(self) -> None:
        """Lines go to the end of the file, in UTF-8, with one line end on every system."""
        path = Path(self.mktemp())
        path.write_bytes(b"before\n")
        log = Logger("x", observer=self.opened(LogConfig(file=str(path))))
        log.info("каса \udcff")
        lines = path.read_bytes().split(b"\n")
        self.assertEqual((lines[0], lines[2]), (b"before", b""))
        self.assertTrue(lines[1].endswith("info x каса \\udcff".encode()), lines[1])

    def test_mode(self) -> None:
        """Other users of the machine cannot read a new log file."""
        before = os.umask(0o002)
        self.addCleanup(os.umask, before)
        path = Path(self.mktemp())
        self.opened(LogConfig(file=str(path)))
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)

    if sys.platform == "win32":
        test_mode.skip = "Windows has no such modes."  # type: ignore[attr-defined]

    def test_form_and_level(self) -> None:
        """Form and level are those of the configuration."""
        path = Path(self.mktemp())
        log = Logger("x", observer=self.opened(LogConfig(level="warn", format="json", file=str(path))))
        log.info("a")
        log.warn("b")
        self.assertEqual([json.loads(line)["message"] for line in path.read_text("utf-8").splitlines()], ["b"])

    def test_standard_output(self) -> None:
        """Without a file lines go to the standard output, also when Twisted has put its own in its place."""
        path = Path(self.mktemp())
        sys.stdout.flush()
        kept = os.dup(1)
        with path.open("wb") as file:
            os.dup2(file.fileno(), 1)
        try:
            found = open_observer(LogConfig())
            Logger("x", observer=found).info("каса")
            found.close()
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        self.assertTrue(path.read_text("utf-8").endswith("info x каса\n"))

    def test_cannot_open(self) -> None:
        """A file that cannot be opened is one clear line with section and key."""
        path = str(Path(self.mktemp()) / "no" / "dm.log")
        error = self.assertRaises(ConfigError, open_observer, LogConfig(file=path))
        self.assertEqual(str(error), f"[log] file: {path} cannot be opened (No such file or directory)")

    def test_end_of_the_process(self) -> None:
        """Lines that wait for a turn of the reactor that never comes are written when the process ends."""
        at_exit: list[Callable[[], None]] = []
        self.patch(atexit, "register", at_exit.append)
        path = Path(self.mktemp())
        log = Logger("x", observer=self.opened(LogConfig(file=str(path)), schedule=lambda flush: None))
        log.info("last")
        self.assertEqual(path.read_text("utf-8"), "")
        at_exit[0]()
        self.assertTrue(path.read_text("utf-8").endswith("last\n"))


class ContextTests(_LogCase):
    """The id of a request goes where the request goes, and nowhere else."""

    async def _work(self, name: str, wait: Deferred[None]) -> None:
        request_id.set(name)
        self.log.info("{n} begins", n=name)
        try:
            await wait
            self.log.info("{n} ends", n=name)
        except ValueError:
            self.log.failure("{n} fails", n=name)

    @property
    def lines(self) -> list[str]:
        """The text after the namespace in each first line."""
        return [line.split(" ", 3)[3] for line in self.stream.getvalue().splitlines() if line[0] != " "]

    def test_await(self) -> None:
        """A coroutine keeps its id when what it waits for is fired from another request."""
        wait = Deferred[None]()
        done = Deferred.fromCoroutine(self._work("a", wait))
        self.within("b", lambda: wait.callback(None))
        self.assertEqual(self.lines, ["[a] a begins", "[a] a ends"])
        self.successResultOf(done)

    def test_failure(self) -> None:
        """A coroutine keeps its id when what it waits for fails in another request."""
        wait = Deferred[None]()
        done = Deferred.fromCoroutine(self._work("a", wait))
        self.within("b", lambda: wait.errback(ValueError("lost")))
        self.assertEqual(self.lines, ["[a] a begins", "[a] a fails"])
        self.successResultOf(done)

    def test_many(self) -> None:
        """Requests that run at the same time and end in any order each keep their own."""
        waits = {name: Deferred[None]() for name in ("a", "b", "c")}
        for name, wait in waits.items():
            Deferred.fromCoroutine(self._work(name, wait))
        for name in ("c", "a", "b"):
            waits[name].callback(None)
        self.assertEqual(
            self.lines,
            [f"[{n}] {n} begins" for n in "abc"] + [f"[{n}] {n} ends" for n in "cab"],
        )

    def test_one_ends_another(self) -> None:
        """A request that fires what another waits for goes on under its own id."""
        first, second = Deferred[None](), Deferred[None]()

        async def ends_other() -> None:
            request_id.set("b")
            await first
            second.callback(None)
            self.log.info("b ends")

        Deferred.fromCoroutine(self._work("a", second))
        Deferred.fromCoroutine(ends_other())
        first.callback(None)
        self.assertEqual(self.lines, ["[a] a begins", "[a] a ends", "[b] b ends"])

    def test_coroutines_inside(self) -> None:
        """What a request awaits, and what it starts beside itself, has its id."""
        wait, beside = Deferred[None](), Deferred[None]()

        async def inner() -> None:
            await wait
            self.log.info("inner")

        async def started() -> None:
            await beside
            self.log.info("started")

        async def outer() -> None:
            request_id.set("a")
            Deferred.fromCoroutine(started())
            await inner()
            self.log.info("outer")

        Deferred.fromCoroutine(outer())
        wait.callback(None)
        self.within("b", lambda: beside.callback(None))
        self.assertEqual(self.lines, ["[a] inner", "[a] outer", "[a] started"])

    def test_nobody_else(self) -> None:
        """An id that a coroutine sets is not visible to the code that started it or that fires."""
        wait = Deferred[None]()
        Deferred.fromCoroutine(self._work("a", wait))
        self.assertEqual(request_id.get(), "")
        wait.callback(None)
        self.assertEqual(request_id.get(), "")

    def test_set_before(self) -> None:
        """An id that is set around the start of a coroutine is that coroutine's for good."""
        wait = Deferred[None]()

        async def work() -> None:
            await wait
            self.log.info("works")

        before = request_id.set("a")
        Deferred.fromCoroutine(work())
        request_id.reset(before)
        wait.callback(None)
        self.assertEqual(self.lines, ["[a] works"])

    def test_plain_callbacks(self) -> None:
        """A callback of a plain Deferred runs with the id of the code that fires it; await keeps the own id."""
        wait = Deferred[None]()
        self.within("a", lambda: wait.addCallback(lambda _: self.log.info("called")))
        self.within("b", lambda: wait.callback(None))
        self.assertEqual(self.lines, ["[b] called"])


class RequestIdTests(SynchronousTestCase):
    """Ids of requests, ours and those of callers."""

    def test_new(self) -> None:
        """A new id is eight hexadecimal digits, another one each time."""
        ids = {new_request_id() for _ in range(1000)}
        self.assertGreater(len(ids), 995)
        for name in ids:
            self.assertRegex(name, "^[0-9a-f]{8}$")

    def test_new_is_clean(self) -> None:
        """An id of ours would be taken from a caller."""
        name = new_request_id()
        self.assertEqual(clean_request_id(name.encode()), name)

    def test_taken(self) -> None:
        """A caller's id of 1 to 64 letters, digits, dots, underscores and dashes is taken as it is."""
        for value in (b"a", b"A.b_c-9", b"x" * 64, b"7f1e0a52-0000-4000-8000-000000000000"):
            self.assertEqual(clean_request_id(value), value.decode())

    def test_not_taken(self) -> None:
        """Anything else is not."""
        for value in (None, b"", b"x" * 65, b"a b", b"a\n", b"\xd0\x87", b"a/b", b"[a]", b"a\x00"):
            self.assertIsNone(clean_request_id(value))
