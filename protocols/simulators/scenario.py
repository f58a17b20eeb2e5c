"""The control language of all simulators: what goes wrong next (docs/simulators.md).

A scenario is a list of rules, `{"on": "sale", "then": "lost_after", "times": 1, "code": "7", "delay_ms": 0}`. An
operation uses up the first rule that matches it; the next rule applies to the next operation.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from protocols.members import explain

OPERATIONS = (
    "open",
    "sale",
    "return",
    "cash_in",
    "cash_out",
    "withdrawal",
    "income",
    "expense",
    "storno",
    "z",
    "numbers",
    "payment",
    "refund",
    "cancel",
    "settlement",
    "print",
    "probe",
    "any",
)
"""What a rule may name in ``on``."""

QUIET = frozenset({"probe", "ping"})
"""Operations to which only rules with their name apply, never those for `any`."""

LONGEST_DELAY_MS = 600_000


class Then(StrEnum):
    """What the simulated device or service does."""

    ACCEPT = "accept"
    REFUSE = "refuse"
    LOST_BEFORE = "lost_before"
    """The line breaks and nothing happened."""
    LOST_AFTER = "lost_after"
    """It happened and the answer is lost."""
    SILENT = "silent"
    """The line stays open and no answer comes; nothing happened."""
    GARBAGE = "garbage"
    """It happened and the answer cannot be read."""
    UNREACHABLE = "unreachable"
    """No connection is made."""


FAILED_QUESTIONS = {
    Then.REFUSE: "the answer cannot be read",
    Then.LOST_BEFORE: "the line was closed",
    Then.LOST_AFTER: "the line was closed",
    Then.SILENT: "no answer in 2 s",
    Then.GARBAGE: "the answer cannot be read",
    Then.UNREACHABLE: "connection refused",
}
"""What becomes of a question whether a device is there, by the rule that comes next."""


class ScenarioError(ValueError):
    """An invalid scenario; ``path`` is the place of the fault."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(f"{path}: {text}" if path else text)
        self.path, self.text = path, text


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule; ``times`` 0 means until the scenario is replaced."""

    on: str
    then: Then
    times: int = 1
    code: str = ""
    delay_ms: int = 0


def fails_questions(rule: Rule) -> bool:
    """Whether a question whether the device is there fails by ``rule``: one for tasks leaves it on its line."""
    there = (Then.ACCEPT,) if rule.on == "probe" else (Then.ACCEPT, *_ONE_TASK)
    return rule.then not in there


_ONE_TASK = (Then.REFUSE, Then.LOST_BEFORE, Then.LOST_AFTER, Then.GARBAGE)


class _Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rules: list[Any]


class Scenario:
    """The rules that are left; they are lost when the process ends."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []
        self._left: list[int] = []

    def replace(self, document: object) -> None:
        """Replace the rules that are left by those of ``document``.

        :raises ScenarioError: when it is not a scenario; the old rules stay.
        """
        try:
            given = msgspec.convert(document, _Rules).rules
        except msgspec.ValidationError as error:
            raise ScenarioError(*explain(error)) from None
        rules = [_read(rule, f"rules[{index}]") for index, rule in enumerate(given)]
        self._rules, self._left = rules, [rule.times for rule in rules]

    def take_over(self, other: Scenario) -> None:
        """Continue with the rules that are left in ``other``."""
        self._rules, self._left = other._rules, other._left

    def take(self, operation: str) -> Rule | None:
        """The rule that applies to ``operation``, which uses it up."""
        for index, rule in enumerate(self._rules):
            if rule.on == operation or (rule.on == "any" and operation not in QUIET):
                if rule.times:
                    self._left[index] -= 1
                    if not self._left[index]:
                        del self._rules[index], self._left[index]
                return rule
        return None

    def coming(self, *operations: str) -> Rule | None:
        """The first rule that names one of ``operations``; it is not used up."""
        return next((rule for rule in self._rules if rule.on in operations), None)

    def document(self) -> dict[str, Any]:
        """The rules that are left, as a document."""
        return {
            "rules": [
                {
                    "on": rule.on,
                    "then": str(rule.then),
                    "times": left,
                    "code": rule.code,
                    "delay_ms": rule.delay_ms,
                }
                for rule, left in zip(self._rules, self._left, strict=True)
            ]
        }


def _read(given: Any, path: str) -> Rule:
    """The rule at ``path``, whose code may be text or a number."""
    if isinstance(given, dict) and type(given.get("code")) is int:
        given = {**given, "code": str(given["code"])}
    try:
        rule = msgspec.convert(given, Rule)
    except msgspec.ValidationError as error:
        inside, text = explain(error)
        raise ScenarioError(f"{path}.{inside}" if inside else path, text) from None
    if rule.on not in OPERATIONS:
        raise ScenarioError(f"{path}.on", f"one of {', '.join(OPERATIONS)} is expected")
    if rule.times < 0:
        raise ScenarioError(f"{path}.times", "a number from 0 is expected")
    if not 0 <= rule.delay_ms <= LONGEST_DELAY_MS:
        raise ScenarioError(f"{path}.delay_ms", f"a number from 0 to {LONGEST_DELAY_MS} is expected")
    return rule
