"""The counter terminal's end of its wire."""

from __future__ import annotations

from typing import Any

from tiny.wire import Reply
from twisted.internet.protocol import Factory
from twisted.protocols.basic import LineOnlyReceiver

from protocols.simulators.scenario import Then
from protocols.simulators.terminal import Busy, Cause, Ending, Outcome, Terminal


class TinySimulator(Factory):
    """Answers calls for ``terminal``."""

    noisy = False

    def __init__(self, terminal: Terminal, clock: Any) -> None:
        self.terminal, self.clock = terminal, clock

    def buildProtocol(self, addr: object) -> TinyFar | None:
        """One line; none when the scenario has no answer."""
        return TinyFar(self.terminal) if self.terminal.takes_call() else None


class TinyFar(LineOnlyReceiver):
    """One line to the terminal."""

    delimiter = b"\n"

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def lineReceived(self, line: bytes) -> None:
        """Do what the till says."""
        word, *members = line.decode("ascii", "replace").split(" ")
        if word == "PING":
            self._say(Then.ACCEPT, Reply("HERE"))
        elif word == "PAY" and len(members) == 2:
            self._pay(members[0], int(members[1]))
        elif word == "ASK" and len(members) == 1:
            fate = self._terminal.probe()
            busy = fate.line is Then.REFUSE
            self._say(
                Then.ACCEPT if busy else fate.line, Reply("BUSY", (members[0],)) if busy else self._known(members[0])
            )

    def _pay(self, name: str, kopecks: int) -> None:
        try:
            operation = self._terminal.purchase(kopecks, reference=name)
        except Busy:
            self._say(Then.ACCEPT, Reply("BUSY", (name,)))
            return
        operation.ending.addCallback(self._ended, name)

    def _ended(self, ending: Ending, name: str) -> None:
        reply = _told(name, ending.outcome) if ending.outcome is not None else Reply("NONE", (name,))
        self._say(ending.line, reply)

    def _known(self, name: str) -> Reply:
        running = self._terminal.running
        if running is not None and running.reference == name:
            return Reply("WAIT", (name,))
        outcome = self._terminal.find(name)
        return _told(name, outcome) if outcome is not None else Reply("NONE", (name,))

    def _say(self, line: Then, reply: Reply) -> None:
        """What the scenario makes of the line, and of the words on it."""
        if line in (Then.LOST_BEFORE, Then.LOST_AFTER):
            self.transport.loseConnection()
        elif line is Then.GARBAGE:
            self.transport.write(b"\xff\x00 what?\n")
        elif line is not Then.SILENT:
            self.transport.write(reply.encode() + b"\n")


def _told(name: str, outcome: Outcome) -> Reply:
    if not outcome.approved:
        bank = outcome.code if outcome.cause is Cause.BANK and outcome.code.isalnum() else "05"
        return Reply("NO", (name, bank))
    card = outcome.card.pan if outcome.card is not None else "-"
    return Reply("OK", (name, str(outcome.reported), outcome.rrn, outcome.auth_code, card))
