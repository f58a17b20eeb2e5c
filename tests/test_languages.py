"""One language in one sentence: whatever a caller may get is Ukrainian or English, never both."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.results import Text
from dmtwisted.wording import PHRASES, wording
from protocols.errors import Garbled, LineLost, NotReached, Silent
from tests.language_check import foreign

ROOT = Path(__file__).parent.parent

FOR_CALLERS = {
    "Refused": 1,
    "malformed": 1,
    "HttpRefusal": 1,
    "Warning": 1,
    "Warning.of": 2,
    "Away": 0,
    "unreachable": 0,
    "OneAtATime": 0,
}
"""What takes words for a caller, and how many of its arguments are none."""

_BELOW = """
BadSettings Undecided StoreFailed NotReached LineLost NotTaken NotReady Unanswered Unsupported WrongPassword NoKey
NoStamp AgentError BrokenPackage Fault SecretsError BrokenTemplate TooLong Unknown ScenarioError Interrupted
BodyTooLarge UnreadableBody _failed
"""
FROM_BELOW = frozenset(_BELOW.split())
"""Reasons that `wording` turns into words for a caller."""

NOT_FOR_CALLERS = ("dmtwisted/lab/", "dmtwisted/commands/", "dmtwisted/conformance/", "dmtwisted/client.py")

_NAMES = """
ASCII BMP CHECK Code EUR GOST Java JCEKS LEFT Linux MS OK OpenSSL PIN PKCS RIGHT RSA SQL Windows ZREP dmtwisted db
move EAN YYYYMMDDHHMMSS DER names approved refused unfinished item pywin32 receipt PNG PEM https
tls authority new training
"""
NAMES = frozenset(_NAMES.split())
"""Names in reasons."""


def calls(rooms: Collection[str]) -> Iterator[tuple[str, str, ast.Call]]:
    """Every call in the ``rooms`` whose words may reach a caller: where it is, what is called, the call."""
    for room in rooms:
        for path in sorted((ROOT / room).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            if place.startswith(NOT_FOR_CALLERS):
                continue
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call):
                    yield f"{place}:{node.lineno}", ast.unparse(node.func), node


def texts(node: ast.expr) -> Iterator[str]:
    """The texts that ``node`` may be, with 7 in the place of values; calls are looked at by themselves."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values)
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.IfExp):
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                yield from texts(part)


class OwnWordsTests(SynchronousTestCase):
    """Own words are given in both languages."""

    def test_both(self) -> None:
        """No word for a caller is written in one language only."""
        found = []
        for place, name, call in calls(("dmtwisted", "web")):
            if name not in FOR_CALLERS:
                continue
            for given in [*call.args[FOR_CALLERS[name] :], *(keyword.value for keyword in call.keywords)]:
                if ast.unparse(given).startswith("str("):
                    found.append(f"{place}: {ast.unparse(given)}")
                found += [f"{place}: {text}" for text in texts(given) if foreign(text, "uk") or foreign(text, "en")]
        self.assertEqual(found, [])

    def test_reasons(self) -> None:
        """Every reason that comes from below has its Ukrainian words."""
        found = []
        for place, name, call in calls(("dmtwisted", "web", "protocols")):
            if name.split(".")[-1] in FROM_BELOW and "simulators" not in place:
                for given in [*call.args, *(keyword.value for keyword in call.keywords)]:
                    for text in texts(given):
                        left = foreign(wording(text).uk, "uk", *NAMES)
                        if " " in text and left:
                            found.append(f"{place}: {text}: {left}")
        self.assertEqual(found, [])


class WordingTests(SynchronousTestCase):
    """Reasons from below in both languages."""

    def test_reasons(self) -> None:
        """A known reason is said in Ukrainian, with its data in place; an English caller gets it as it is."""
        for en, uk in (
            ("10.0.0.7:9100: nothing is listening there", "10.0.0.7:9100: там ніхто не слухає"),
            ("Expected `int | null`, got `str`", "очікується ціле число або null, а не текст"),
            ("/x/a.db: database or disk is full", "/x/a.db: на диску немає місця"),
            ("there is a file C:\\shop\\1.tar.gz already", "файл C:\\shop\\1.tar.gz вже є"),
            (
                "The tax server cannot be reached: connection refused",
                "Немає доступу до сервера ДПС: у з’єднанні відмовлено",
            ),
            ("the device is not reached: COM9: another program uses the port", None),
        ):
            self.assertEqual(wording(en).en, en)
            if uk is not None:
                self.assertEqual(wording(en).uk, uk)
        self.assertEqual(wording(en).uk, "пристрій недосяжний: COM9: порт зайнятий іншою програмою")

    def test_errors(self) -> None:
        """An error of a line says what it is; what exactly is wrong with bytes stays in the English text."""
        for error, uk in (
            (Silent(2.5), "немає відповіді за 2.5 с"),
            (Garbled("the length of the message is wrong", b"\x06\x1e"), "незрозуміла відповідь: 06 1e"),
            (LineLost(), "з’єднання розірвано"),
            (NotReached("no connection in 5 s"), "пристрій недосяжний: немає з’єднання за 5 с"),
        ):
            self.assertEqual(wording(error), Text(uk, str(error)))

    def test_words_of_others(self) -> None:
        """What the tax service, a bank or another program says stays as it came."""
        for text in ("Документ з номером 7 вже зареєстровано", "ISSUER OR SWITCH INOPERATIVE", "[Errno 71] EPROTO"):
            self.assertEqual(wording(text), Text(text, text))

    def test_table(self) -> None:
        """Every line of the table reads in one language, and has the same data on both sides."""
        lines = [line for line in PHRASES.strip().splitlines() if line and not line.startswith("#")]
        for line in lines:
            en, uk = line.split(" = ", 1)
            self.assertEqual(en.count("{}"), uk.count("{}"), line)
            self.assertEqual(foreign(uk, "uk", *NAMES), [], line)
            self.assertEqual(foreign(en, "en"), [], line)
            self.assertEqual(uk, uk.strip(), line)
        self.assertEqual(len({line.split(" = ")[0] for line in lines}), len(lines))

    def test_reserved_words(self) -> None:
        """The Ukrainian words keep the rules for error texts (dmtwisted/results.py)."""
        for stem in ("змін", "закрит", "папір", "папер", "принтер"):
            self.assertNotIn(stem, PHRASES.lower())
