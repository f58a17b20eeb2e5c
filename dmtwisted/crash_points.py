"""Places at which the service can be made to die, by name: one at every durable step of every kind of task.

A crash at any moment shall lose nothing and double nothing; ``dmtwisted crashlab`` ends the process at each of these
places to see whether that is so (docs/reliability.md). Unless the environment says so when a process starts,
`reached` does nothing.

`VARIABLE` names a file of orders. As long as it holds a line ``POINT COUNT NONCE``, a process that comes to that
point for the ``COUNT``-th time takes the file away, by renaming it to ``FILE.struck``, and ends itself by SIGKILL.
So one order ends one process, whichever of the service's processes comes there first, and whoever gave it can tell
that it was carried out. Orders can be given while the service works, for they are looked at again at each point.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

VARIABLE = "DMTWISTED_CRASH_ORDERS"
"""The variable of the environment that names the file of orders."""

POINTS: Mapping[str, str] = {
    # Documents of a register (dmtwisted/registers/bookkeeping.py)
    "document.before-intent": "The document is drawn up and signed; nothing of it is kept.",
    "document.intent-stored": "The intent is durable; nothing has left.",
    "document.before-submit": "The bytes are about to leave, or to be kept as made offline.",
    "document.submitted": "The far end has answered; nobody has kept what.",
    "document.first-accepted": "Of the two documents of a Z the first one's acceptance is durable.",
    "document.outcome-stored": "Outcome, answer and the register's state are durable; nobody was told.",
    "document.doubt-stored": "That nobody knows what became of the document is durable; nobody was told.",
    "document.refusal-stored": "That the document was refused is durable; nobody was told.",
    "task.before-answer": "A task is done, its paper too; the answer is about to leave.",
    # What became of a document whose answer was lost
    "collision.asked": "The far end has told whether it has the document; nothing follows from it yet.",
    "collision.voided": "The far end never saw it, and that is durable.",
    # Offline and back
    "offline.refused": "The document did not leave and is refused; the register is about to go offline by itself.",
    "offline.begun": "The begin of the session is durable; the document is not drawn up anew yet.",
    "offline.package-sent": "The far end has taken a package of documents; nobody has noted it.",
    "offline.ended": "The end of the session is durable; nobody was told.",
    # A document whose answer was lost, made again offline (dmtwisted/registers/lost_online.py)
    "offline.let-go": "The lost operation's tag and number are free, and that is durable; no session has begun.",
    "offline.taken-back": "After that and a start: the lost operation is open again, and that is durable.",
    "offline.made-again": "The document is made again offline; nobody was told.",
    "offline.copy-noted": "What became of the online copy is durable; the begin of the session has not left.",
    # Payments, on every wire (dmtwisted/terminals/service.py)
    "payment.intent-stored": "The intent is durable; the terminal was asked nothing.",
    "payment.snapshot-asked": "The terminal has told its last operation; that is not kept yet.",
    "payment.send-noted": "That the request may leave is durable; it has not left.",
    "payment.verdict-kept": "The verdict is durable, before it is acknowledged to the terminal.",
    "payment.verdict-heard": "The wire's exchange is over; its end is not stored.",
    "payment.outcome-stored": "Verdict and answer are durable; nobody was told.",
    "payment.asked-after": "The terminal has told what became of a lost operation; that is not stored.",
    "payment.never-taken": "That the terminal never took it is durable; nobody was told.",
    "payment.never-sent": "After a start: that the request never left is durable.",
    "payment.doubt-stored": "That nobody knows the end is durable; nobody was told.",
    # Paper (dmtwisted/printing/service.py)
    "print.before-job": "The paper is composed; nothing is kept.",
    "print.job-stored": "The job is durable; no byte has left.",
    "print.delivered": "The printer's verdict is there; it is not stored.",
    "print.outcome-stored": "What became of the paper is durable; nobody was told.",
    "print.left-open": "After a start: that nobody knows what of a job is on paper is durable.",
    # Card and receipt as one act (dmtwisted/batch/service.py)
    "batch.intent-stored": "The saga is durable; the terminal was asked nothing by it.",
    "batch.paid": "The terminal's verdict is there; the saga does not know it.",
    "batch.payment-noted": "The saga knows that it was paid; there is no receipt.",
    "batch.receipt-made": "There is a receipt; the saga does not know it.",
    "batch.ended": "The saga's end is durable; nobody was told.",
    "batch.back-noted": "That the money is to be given back is durable; the terminal was not asked.",
    "batch.back-given": "The terminal has given it back; the saga does not know it.",
    "batch.back-ended": "The end of a saga whose money went back is durable; nobody was told.",
    "batch.declined": "The end of a saga without a payment is durable; nobody was told.",
    "batch.never-paid": "After a start: that the saga never got to its payment is durable.",
    "batch.stays-open": "That the saga is paid and has no receipt yet is durable; nobody was told.",
    # The store itself (dmtwisted/store/sqlite/writer.py); here it is the writer that dies
    "writer.before-commit": "A batch of verbs is run; its transaction is open.",
    "writer.committed": "The transaction is durable; nobody was answered.",
    # What goes on beside the tasks
    "retention.operations-cut": "A step of old operations is removed, with the seals that tell of it.",
    "retention.seals-cut": "A step of old seals is dropped.",
    "retention.codes-forgotten": "Item codes of an old shift are forgotten.",
    "migration.begun": "The database's lock is taken; no revision has run.",
    "migration.in-transaction": "The statements of a revision have run; its transaction is open.",
    "migration.done": "All revisions have run; whoever waits was not told.",
    "move.portion-carried": "A portion of rows is in the target, with the note of how far it has come.",
    "move.carried": "All rows are there; nothing was compared.",
    "move.compared": "Both sides are equal; the target still bears the mark of an unfinished move.",
    "backup.written": "The archive is written and read once more; it does not bear its name yet.",
    "backup.named": "The archive bears its name; nobody was told.",
    "restore.unpacked": "The backup is unpacked and checked; nothing is decided.",
    "restore.planned": "The plan is durable: the restored files are those that count; none is in its place.",
    "restore.step-done": "A file of the plan is in its place.",
}
"""Every point by its name, and what is durable there."""


class Orders:
    """The file of orders, as one process sees it.

    :param end: ends the process; never returns in a real one.
    """

    def __init__(self, file: Path, end: Callable[[], None]) -> None:
        self._file, self._end = file, end
        self._order = ""
        self._times = 0

    def reached(self, point: str) -> None:
        """Die here, when that is the order."""
        try:
            order = self._file.read_text("ascii")
        except OSError:
            return
        wanted, count, _ = order.split(" ", 2)
        if wanted != point:
            return
        if order != self._order:
            self._order, self._times = order, 0
        self._times += 1
        if self._times < int(count):
            return
        try:
            # Only one process can take the order away.
            os.replace(self._file, f"{self._file}.struck")
        except OSError:
            return
        self._end()


def _end() -> None:
    os.kill(os.getpid(), signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)


def _pass(point: str) -> None:
    """Nobody is to die."""


def armed(environment: Mapping[str, str]) -> Callable[[str], None]:
    """What `reached` is in a process with this environment."""
    file = environment.get(VARIABLE)
    return Orders(Path(file), _end).reached if file else _pass


reached: Callable[[str], None] = armed(os.environ)
"""Say that this point is reached: the process ends here if that was ordered, else nothing happens."""
