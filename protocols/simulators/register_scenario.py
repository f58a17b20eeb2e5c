"""Scenarios for simulated registers: which command of a document a rule strikes, and how.

A rule for a kind of document strikes the command that registers it: until then nothing has happened. One that refuses
strikes a line before it, where there are lines: what is paid for is complete, and only waits to be closed. The line
repeats a command by itself, so most faults come to nothing there; ``lost_before`` and ``lost_after`` break the line,
and ``unreachable`` is a power cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from protocols.simulators.iron import Iron, Kind, Why
from protocols.simulators.ledger import ACCEPTED, Entry
from protocols.simulators.register_line import Fault, What
from protocols.simulators.scenario import Rule, Scenario, Then

REGISTERS = frozenset({"Close", "Complete", "Pay", "register"})
"""Commands that register the open document; a payment does in ICS, where the last one closes."""

LINES = frozenset({"Sell", "MoveCash"})
"""Commands that add to a document which another command closes."""

AT_ONCE = {
    "MoveCash": ("cash_in", "cash_out"),
    "PutIn": ("cash_in",),
    "TakeOut": ("cash_out",),
    "ZReport": ("z",),
    **dict.fromkeys(("Report", "PrintReport", "report"), ("z", "print")),
    **dict.fromkeys(("XReport", "Copy", "PrintText", "proceed"), ("print",)),
}
"""What other commands do by themselves."""

DARK_S = 5.0
"""Seconds without power, unless a rule says otherwise."""

_DOCUMENTS = {Kind.SALE: "sale", Kind.RETURN: "return", Kind.TEXT: "print"}


class ByScenario:
    """Steers a simulated register by the rules of a scenario.

    :param closes: whether the protocol has a command that closes a document, so that a payment does not register it.
    :param coming: the kind of the document that a command brings as a whole.
    """

    def __init__(
        self, iron: Iron, scenario: Scenario, closes: bool, coming: Callable[[], Kind | None] = lambda: None
    ) -> None:
        self._iron, self._scenario, self._coming = iron, scenario, coming
        self._closes = closes
        self._registers = REGISTERS - {"Pay"} if closes else REGISTERS

    def __call__(self, command: str) -> Fault | None:
        """What goes wrong with this command."""
        if self._closes and command in LINES and self._iron.document is not None:
            for operation in self._of(self._iron.document.kind):
                rule = self._scenario.coming(operation, "any")
                if rule is not None and rule.then is Then.REFUSE:
                    return self._fault(self._scenario.take(operation) or rule)
            return None
        for operation in self._operations(command):
            rule = self._scenario.take(operation)
            if rule is not None:
                return self._fault(rule)
        return None

    def _operations(self, command: str) -> tuple[str, ...]:
        """What a command does, in the words of scenarios; nothing for a step on the way."""
        document = self._iron.document
        if command in self._registers:
            return self._of(self._coming() if document is None else document.kind)
        if document is not None:
            return ()
        return AT_ONCE.get(command, ("probe",) if command.startswith("Read") or command.islower() else ())

    def _of(self, kind: Kind | None) -> tuple[str, ...]:
        document = self._iron.document
        if kind is Kind.CASH:
            return ("cash_out",) if document is not None and document.moved < 0 else ("cash_in", "cash_out")
        return (_DOCUMENTS[kind],) if kind is not None else ()

    def _fault(self, rule: Rule) -> Fault | None:
        seconds = rule.delay_ms / 1000
        match rule.then:
            case Then.ACCEPT:
                return Fault(What.SLOW, seconds) if seconds else None
            case Then.REFUSE:
                named = rule.code.upper()
                self._iron.stuck = Why[named] if named in Why.__members__ else Why.PAPER
                return None
            case Then.LOST_BEFORE:
                return Fault(What.BROKEN_BEFORE)
            case Then.LOST_AFTER:
                return Fault(What.BROKEN_AFTER)
            case Then.SILENT:
                return Fault(What.UNHEARD)
            case Then.GARBAGE:
                return Fault(What.DAMAGED, 3)
        return Fault(What.DARK_BEFORE, seconds or DARK_S)


def entries(iron: Iron, time: Callable[[float], str]) -> Iterator[Entry]:
    """Every document that was registered; ``ref`` has its payments, as form and kopecks."""
    for n, receipt in enumerate(iron.ledger, 1):
        kind = _DOCUMENTS.get(receipt.kind) or ("cash_in" if receipt.total >= 0 else "cash_out")
        paid = ",".join(f"{form}:{amount}" for form, amount in receipt.payments)
        yield Entry(n, kind, ACCEPTED, str(receipt.number), abs(receipt.total), paid, time(receipt.at))
