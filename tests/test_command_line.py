"""The command line as a new user meets it: help, slips, missing folders, colours, Ctrl-C."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.commands import backup as backup_command
from dmtwisted.commands import doctor
from dmtwisted.commands.main import COMMANDS, MainOptions, main
from dmtwisted.commands.options import CommandOptions, Group, in_plain
from dmtwisted.commands.progress import ProgressBar
from dmtwisted.commands.shared import ADVICE
from dmtwisted.config import near_path
from dmtwisted.doctor.findings import Check, FindingRecord, Fix, Level
from dmtwisted.system.files import describe_error


class Terminal(io.StringIO):
    """A terminal, or what takes its place."""

    def isatty(self) -> bool:
        return True


def folder_of(test: SynchronousTestCase) -> Path:
    """A new folder."""
    folder = Path(test.mktemp()).resolve()
    folder.mkdir(parents=True)
    return folder


def call(*words: str, error: io.StringIO | None = None) -> tuple[int, str, str]:
    """The exit status of ``dmtwisted WORDS``, and what it prints on both streams."""
    out, err = io.StringIO(), error or io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(list(words))
        except SystemExit as end:
            status = int(end.code or 0)
    return status, out.getvalue(), err.getvalue()


def every(options: Group, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], CommandOptions]]:
    """Every command with its words, those with sub-commands first."""
    for name, _, build, _ in options.subCommands:
        made = build()
        made.parent, options.subCommand = options, name
        yield (*words, name), made
        if isinstance(made, Group):
            yield from every(made, (*words, name))


class HelpTests(SynchronousTestCase):
    """``--help`` of every command."""

    def test_usage(self) -> None:
        """Each command's help names it once and has each of its options, with plain defaults."""
        count = 0
        for words, options in every(MainOptions()):
            text, count = str(options), count + 1
            first = text.splitlines()[0]
            self.assertTrue(first.startswith(f"Usage: dmtwisted {' '.join(words)} "), first)
            self.assertEqual(first.count("dmtwisted"), 1, first)
            for never in ("None", "[]", "('", "default: )", "Sizes(", "[default", "Twisted version", "=  "):
                self.assertNotIn(never, text, first)
            self.assertLessEqual(max(map(len, text.splitlines()[1:])), 100, first)
            for name in options.longOpt:
                if name not in ("help", "version"):
                    self.assertRegex(text, rf"(?m)^  (-\w, |    )--{name.rstrip('=')}( \S+)?(  |$)", first)
        self.assertGreater(count, 50)

    def test_defaults(self) -> None:
        """A default is shown as one types it."""
        for value, shown in (
            (5.0, "5"),
            (1.5, "1.5"),
            ([1, 8, 64], "1,8,64"),
            (("127.0.0.1", 3950), "127.0.0.1:3950"),
            (Path("tax-service"), "tax-service"),
            (3, "3"),
            (None, ""),
            ("", ""),
            ([], ""),
        ):
            self.assertEqual(in_plain(value), shown)

    def test_alone(self) -> None:
        """``dmtwisted`` alone lists every command by purpose, those of each day first; a group lists its own."""
        status, out, err = call()
        self.assertEqual((status, out), (2, ""))
        at = [err.index(f"\n  {name} ") for name in COMMANDS]
        self.assertEqual(at, sorted(at))
        self.assertLess(err.index("Run it:"), err.index("\n  run "))
        status, _, err = call("db")
        self.assertEqual(status, 2)
        self.assertTrue(err.startswith("Usage: dmtwisted db COMMAND"), err)

    def test_asked(self) -> None:
        """``--help``, ``-h`` and ``help`` before a command show the same; ``--version`` is ours everywhere."""
        shown = call("db", "move", "--help")
        self.assertEqual((shown, shown), (call("db", "move", "-h"), call("help", "db", "move")))
        self.assertEqual(shown[0], 0)
        self.assertEqual(call("--version"), call("run", "--version"))
        self.assertTrue(call("--version")[1].startswith("dmtwisted "))


class SlipTests(SynchronousTestCase):
    """Wrong words: two lines, status 2, and the near word."""

    def test_slips(self) -> None:
        """What is wrong comes first and in one line; the second says where the options are."""
        for words, why, where in (
            ("bakcup", "dmtwisted: there is no command bakcup; did you mean backup?", ""),
            ("db mvoe", "dmtwisted db: there is no command mvoe; did you mean move?", " db"),
            ("run --potr 1", "dmtwisted run: there is no option --potr; did you mean --port?", " run"),
            ("run -x", "dmtwisted run: there is no option -x", " run"),
            ("run --port x", "dmtwisted run: --port: a whole number is expected, not 'x'", " run"),
            ("soak --minutes x", "dmtwisted soak: --minutes: a number is expected, not 'x'", " soak"),
            ("run --port", "dmtwisted run: --port needs a value: --port NUMBER", " run"),
            ("run --training=yes", "dmtwisted run: --training takes no value", " run"),
            (
                "simulate printer --se 1",
                "dmtwisted simulate printer: --se can mean --seed, --serial",
                " simulate printer",
            ),
            ("run extra", "dmtwisted run: 'extra' is one word too many", " run"),
            ("restore", "dmtwisted restore: FILE is missing", " restore"),
            ("restore a b", "dmtwisted restore: one FILE is expected, not 2: b a", " restore"),
            ("accounts", "dmtwisted accounts: FOLDER is missing", " accounts"),
        ):
            status, out, err = call(*words.split())
            self.assertEqual((status, out), (2, ""), words)
            self.assertEqual(err.splitlines(), [why, f"  All options: dmtwisted{where} --help"])

    def test_state(self) -> None:
        """A command that needs a state folder does not make another one after a slip, and names the near one."""
        folder = folder_of(self)
        (folder / "shop").mkdir()
        (folder / "shop" / "secret.key").touch()
        for words in (
            "backup",
            "restore kept.tar.gz --yes",
            "accounts out",
            "db status",
            "db check",
            "db upgrade",
            "db move --to sqlite:///other.db",
            "tls authority",
            "tls install desk.pem",
            "tls remove",
            "tax trust list.p7b",
            "tax trust --remove",
        ):
            status, _, err = call(*words.split(), "--state", str(folder / "shpo"))
            self.assertEqual(status, 1, words)
            first, second = err.splitlines()
            self.assertEqual(first, f"dmtwisted: there is no state folder {folder / 'shpo'}", words)
            self.assertEqual(second, f"  Did you mean --state {folder / 'shop'} ?")
            self.assertEqual(os.listdir(folder), ["shop"], words)
            self.assertEqual(os.listdir(folder / "shop"), ["secret.key"], words)
        status, _, err = call("backup", "--state", str(folder / "elsewhere"))
        self.assertEqual((status, "Name the folder" in err), (1, True))
        status, _, err = call("backup", "--state", str(folder / "shop"))
        self.assertEqual((status, os.listdir(folder / "shop")), (1, ["secret.key"]))
        self.assertIn("there is no database", err)

    def test_near_paths(self) -> None:
        """A slip in any part of a path is found; what is not like anything has no suggestion."""
        folder = folder_of(self)
        (folder / "backups").mkdir()
        (folder / "backups" / "monday.tar.gz").touch()
        self.assertEqual(near_path(folder / "bakcups" / "mnday.tar.gz"), folder / "backups" / "monday.tar.gz")
        self.assertIsNone(near_path(folder / "backups" / "x"))
        self.assertIsNone(near_path(folder / "backups" / "monday.tar.gz" / "x"))
        status, _, err = call("run", "--config", str(folder / "backups" / "mnday.tar.gz"))
        self.assertEqual(status, 1)
        self.assertIn(f"\n  Did you mean {folder / 'backups' / 'monday.tar.gz'} ?\n", err)


class StreamTests(SynchronousTestCase):
    """Colours, pipes and Ctrl-C."""

    def setUp(self) -> None:
        """An environment that says nothing of colours."""
        self.patch(os, "environ", {"TERM": "xterm", "HOME": "/"})

    def test_colours(self) -> None:
        """An error is red on a terminal and nowhere else, unless the environment says otherwise."""
        red = "dmtwisted: \x1b[31mthere is no command x\x1b[0m\n"
        plain = "dmtwisted: there is no command x\n"
        for stream, environment, expected in (
            (Terminal(), {}, red),
            (io.StringIO(), {}, plain),
            (Terminal(), {"NO_COLOR": "1"}, plain),
            (Terminal(), {"TERM": "dumb"}, plain),
            (io.StringIO(), {"FORCE_COLOR": "1"}, red),
            (Terminal(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, plain),
        ):
            with mock.patch.dict(os.environ, environment):
                self.assertTrue(call("x", error=stream)[2].startswith(expected), environment)

    def test_doctor(self) -> None:
        """The doctor names what does not work first, in red on a terminal; the rest keeps the order of the checks."""
        found = [
            FindingRecord(Check.PORT, Level.GOOD, "", "it answers", "", Fix.NONE),
            FindingRecord(Check.DISK, Level.WARN, "", "little room", "free some", Fix.NONE),
            FindingRecord(Check.KEYS, Level.BAD, "", "the key has ended", "load a new one", Fix.NONE),
        ]
        plain = (
            " BAD  the key has ended\n       → load a new one\n"
            "  !   little room\n       → free some\n"
            "  ok  it answers\n"
        )
        for stream, expected in (
            (io.StringIO(), plain),
            (Terminal(), plain.replace(" BAD ", "\x1b[31m BAD \x1b[0m").replace("  ok ", "\x1b[32m  ok \x1b[0m")),
        ):
            with redirect_stdout(stream):
                self.assertEqual(doctor.report(found, "en", False), 2)
            said = stream.getvalue().replace("\x1b[33m  !  \x1b[0m", "  !  ")
            self.assertTrue(said.startswith(expected), said)

    def test_interrupted(self) -> None:
        """Ctrl-C in the middle has a status of its own, and the person is told what it left."""
        self.patch(backup_command, "configuration", mock.Mock(side_effect=KeyboardInterrupt))
        self.assertEqual(
            call("backup"), (130, "", "dmtwisted: interrupted: no backup was made, and nothing was changed\n")
        )
        self.patch(MainOptions, "parseOptions", mock.Mock(side_effect=KeyboardInterrupt))
        self.assertEqual(call("backup"), (130, "", "dmtwisted: interrupted\n"))

    def test_nobody_answers(self) -> None:
        """A question where the input has ended is an error that says so, not a traceback."""
        self.patch(backup_command, "configuration", mock.Mock(side_effect=EOFError))
        status, _, err = call("backup")
        self.assertEqual((status, err.count("\n"), "input ended" in err), (1, 2, True))

    def test_disk_full(self) -> None:
        """A full disk is named with what to do."""
        full = OSError(28, "No space left on device", "/shop/backups")
        self.patch(backup_command, "configuration", mock.Mock(side_effect=full))
        status, _, err = call("backup")
        self.assertEqual((status, err), (1, f"dmtwisted: {describe_error(full)}\n  {ADVICE[28]}\n"))

    def test_nobody_reads(self) -> None:
        """A reader that has seen enough, as ``| head``, is no error that one sees."""
        self.patch(backup_command, "configuration", mock.Mock(side_effect=BrokenPipeError))
        with open(self.mktemp(), "w+") as out:
            self.patch(sys, "stdout", out)
            err = io.StringIO()
            with redirect_stderr(err):
                end = self.assertRaises(SystemExit, main, ["backup"])
        self.assertEqual((end.code, err.getvalue()), (1, ""))


class ProgressTests(SynchronousTestCase):
    """What is seen of long work."""

    def setUp(self) -> None:
        """A clock of our own, and a terminal of 100 characters."""
        self.now = 1000.0
        self.patch(time, "monotonic", lambda: self.now)
        self.patch(os, "environ", {"TERM": "xterm", "COLUMNS": "100"})

    def shown(self, stream: io.StringIO) -> str:
        """What is written of a work of two parts, and of the second one each second half way."""
        with ProgressBar(stream=stream) as bar:
            bar("copy", 500, 1000)
            for second in range(60):
                self.now += 1
                bar("compare", 100 * second, 12_000)
        return stream.getvalue()

    def test_lines(self) -> None:
        """Without a terminal there is a plain line each ten seconds, with count, share, pace and the time left."""
        shown = self.shown(io.StringIO())
        self.assertEqual(
            shown.splitlines()[1:3],
            [
                " 16%  1,900 of 12,000 rows, 100/s, 1:41 left  compare",
                " 24%  2,900 of 12,000 rows, 100/s, 1:31 left  compare",
            ],
        )
        self.assertEqual((len(shown.splitlines()), "\r" in shown, "\x1b" in shown), (6, False, False))

    def test_bar(self) -> None:
        """On a terminal there is a bar that is drawn over itself, without codes, and is gone at the end."""
        shown = self.shown(Terminal())
        self.assertIn("\r[######..................]  25%  3,000 of 12,000 rows, 100/s, 1:30 left  compare", shown)
        self.assertNotIn("\x1b", shown)
        self.assertRegex(shown, r"\r {50,}\r$")
        self.assertLess(max(map(len, shown.split("\r"))), 100)

    def test_narrow(self) -> None:
        """On a narrow terminal the line is cut, because a wrapped one could not be drawn over."""
        os.environ["COLUMNS"] = "40"
        self.assertEqual(max(map(len, self.shown(Terminal()).split("\r"))), 39)

    def test_dumb(self) -> None:
        """A terminal that cannot draw, and NO_COLOR, get lines."""
        for name, value in (("TERM", "dumb"), ("NO_COLOR", "1")):
            with mock.patch.dict(os.environ, {name: value}):
                self.assertNotIn("\r", self.shown(Terminal()))

    def test_steps(self) -> None:
        """Steps of long work are shown as each begins; a result is printed above the bar, on the standard output."""
        stream, out = Terminal(), io.StringIO()
        with redirect_stdout(out), ProgressBar("rounds", stream) as bar:
            for n in bar.each(range(4), lambda n: "measuring"):
                self.now += 30
                bar.say(f"round {n}")
        self.assertEqual(out.getvalue(), "round 0\nround 1\nround 2\nround 3\n")
        self.assertIn("75%  3 of 4 rounds, 0:30 left  measuring", stream.getvalue())

    def test_short(self) -> None:
        """Short work says nothing where there is no terminal."""
        told = io.StringIO()
        with ProgressBar(stream=told) as bar:
            bar("operation", 0, 1000)
            bar("operation", 1000, 1000)
        self.assertEqual(told.getvalue(), "")
