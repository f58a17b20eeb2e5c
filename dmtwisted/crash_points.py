"""Named crash points: one at every durable step of every kind of task.

A crash at any moment must lose nothing and do nothing twice; ``dmtwisted crashlab`` ends the process at each of these
points to test that (docs/reliability.md). `reached` does nothing unless the environment of the process says so.

`VARIABLE` names a file with an order, a line ``POINT COUNT NONCE``. The process that comes to that point for the
``COUNT``-th time renames the file to ``FILE.struck`` and ends itself by SIGKILL. So one order ends one process, the
first of the service's processes that comes there, and the new name shows that it was carried out. The file is read at
each point, so orders can be given while the service runs.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

VARIABLE = "DMTWISTED_CRASH_ORDERS"
"""The environment variable with the name of the file of orders."""

POINTS: Mapping[str, str] = {
    # Documents of a register (dmtwisted/registers/bookkeeping.py)
    "document.before-intent": "The document is made and signed; nothing of it is stored.",
    "document.intent-stored": "The intent is durable; nothing was sent.",
    "document.before-submit": "The bytes are about to be sent.",
    "document.submitted": "The tax service has answered; the answer is not stored.",
    "document.first-accepted": "Of the two documents of a Z the first one's acceptance is durable.",
    "document.outcome-stored": "Outcome, answer and the register's state are durable; the caller was not answered.",
    "document.doubt-stored": "That the outcome of the document is unknown is durable; the caller was not answered.",
    "document.refusal-stored": "That the document was refused is durable; the caller was not answered.",
    "task.before-answer": "A task is done, its paper too; the answer is about to be sent.",
    # A document whose answer was lost
    "collision.asked": "The tax service has answered whether it has the document; nothing is stored yet.",
    "collision.voided": "That the tax service never received it is durable.",
    # Offline and back
    "offline.refused": "The document was not sent and is refused; the register is about to go offline by itself.",
    "offline.begun": "The opening of the session is durable; the document is not made again yet.",
    "offline.made": "A document is made and signed offline; nothing of it is stored.",
    "offline.stored": "A document made offline is durable with its outcome; the caller was not answered.",
    "offline.package-sent": "The tax service has accepted a package of documents; that is not stored.",
    "offline.ended": "The closing of the session is durable; the caller was not answered.",
    # A document whose answer was lost, made again offline (dmtwisted/registers/lost_online.py)
    "offline.let-go": "That the lost operation's tag and number are free is durable; no session was opened.",
    "offline.taken-back": "After that and a start: that the lost operation is open again is durable.",
    "offline.made-again": "The document is made again offline; the caller was not answered.",
    "offline.copy-noted": "The outcome of the online copy is durable; the opening of the session was not sent.",
    "offline.copy-deleted": "The cabinet has deleted the online copy; the opening of the session was not sent.",
    # Payments, on every wire (dmtwisted/terminals/service.py)
    "payment.intent-stored": "The intent is durable; nothing was sent to the terminal.",
    "payment.snapshot-asked": "The terminal has answered with its last operation; that is not stored yet.",
    "payment.send-noted": "That the request may have been sent is durable; it was not sent yet.",
    "payment.verdict-kept": "The verdict is durable, before it is acknowledged to the terminal.",
    "payment.verdict-heard": "The exchange with the terminal is over; its result is not stored.",
    "payment.outcome-stored": "Verdict and answer are durable; the caller was not answered.",
    "payment.asked-after": "The terminal has answered with the outcome of a lost operation; that is not stored.",
    "payment.never-taken": "That the terminal never accepted it is durable; the caller was not answered.",
    "payment.never-sent": "After a start: that the request was never sent is durable.",
    "payment.doubt-stored": "That the outcome is unknown is durable; the caller was not answered.",
    # Paper (dmtwisted/printing/service.py)
    "print.before-job": "The paper is composed; nothing is stored.",
    "print.job-stored": "The job is durable; no byte was sent.",
    "print.delivered": "The printer's verdict is there; it is not stored.",
    "print.outcome-stored": "The outcome of the print is durable; the caller was not answered.",
    "print.left-open": "After a start: that the outcome of a job is unknown is durable.",
    # Card and receipt as one operation (dmtwisted/batch/service.py)
    "batch.intent-stored": "The saga is durable; nothing was sent to the terminal.",
    "batch.paid": "The terminal's verdict is there; it is not stored in the saga.",
    "batch.payment-noted": "That the saga is paid is durable; there is no receipt.",
    "batch.receipt-made": "There is a receipt; that is not stored in the saga.",
    "batch.ended": "The saga's end is durable; the caller was not answered.",
    "batch.back-noted": "That the payment is to be taken back is durable; nothing was sent to the terminal.",
    "batch.back-given": "The terminal has cancelled the payment; that is not stored in the saga.",
    "batch.back-ended": "The end of a saga whose payment was taken back is durable; the caller was not answered.",
    "batch.declined": "The end of a saga without a payment is durable; the caller was not answered.",
    "batch.never-paid": "After a start: that the saga never paid is durable.",
    "batch.stays-open": "That the saga is paid and has no receipt yet is durable; the caller was not answered.",
    # Letters that tell of an outcome (dmtwisted/outbox.py)
    "outbox.taken": "That the letter is being tried is durable; nothing was sent.",
    "outbox.told": "The receiver has confirmed the letter; it is still stored.",
    # Events on their way to subscribers (dmtwisted/hooks/lanes.py)
    "hook.told": "The subscriber has taken the event; that is not stored.",
    # The store itself (dmtwisted/store/sqlite/writer.py); here it is the writer that dies
    "writer.before-commit": "A batch of verbs is run; its transaction is open.",
    "writer.committed": "The transaction is durable; no caller was answered.",
    # Work beside the tasks
    "retention.operations-cut": "A part of the old operations is removed, with the seals that record it.",
    "retention.seals-cut": "A part of the old seals is removed.",
    "retention.codes-forgotten": "The item codes of an old shift are removed.",
    "migration.begun": "The database's lock is taken; no revision has run.",
    "migration.in-transaction": "The statements of a revision have run; its transaction is open.",
    "migration.done": "All revisions have run; the process that waits was not informed.",
    "move.portion-carried": "A part of the rows is in the target, with a note of the progress.",
    "move.carried": "All rows are in the target; nothing was compared.",
    "move.compared": "Both sides are equal; the target still has the mark of an unfinished move.",
    "backup.written": "The archive is written and read again; it does not have its final name yet.",
    "backup.named": "The archive has its final name; the caller was not informed.",
    "restore.unpacked": "The backup is unpacked and checked; nothing is decided.",
    "restore.planned": "The plan is durable: the restored files count from now on; none is in its place.",
    "restore.step-done": "A file of the plan is in its place.",
}
"""Every point by name, and what is durable there."""


class Orders:
    """The file of orders in one process.

    :param end: ends the process; never returns in a real one.
    """

    def __init__(self, file: Path, end: Callable[[], None]) -> None:
        self._file, self._end = file, end
        self._order = ""
        self._times = 0

    def reached(self, point: str) -> None:
        """End the process here, if that is the order."""
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
            # Only one process succeeds.
            os.replace(self._file, f"{self._file}.struck")
        except OSError:
            return
        self._end()


def _end() -> None:
    os.kill(os.getpid(), signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)


def _pass(point: str) -> None:
    """Do nothing."""


def armed(environment: Mapping[str, str]) -> Callable[[str], None]:
    """`reached` for a process with this environment."""
    file = environment.get(VARIABLE)
    return Orders(Path(file), _end).reached if file else _pass


reached: Callable[[str], None] = armed(os.environ)
"""Called at a crash point: the process ends here if that was ordered, else nothing happens."""
