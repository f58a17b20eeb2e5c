"""The books of the simulated cabinet's server: registers, documents, ledger.

A document is in the archive and in the ledger before it is answered. At the start the state is read from the archive,
and entries that a crash kept out of the ledger are added. A deletion is in the archive as a document without content,
under the number of the deleted one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from protocols.fiscal.cabinet.documents import RQ, decode
from protocols.fiscal.kinds import SESSION_ENDS, Kind
from protocols.simulators.cabinet_register import CabinetRecord
from protocols.simulators.cabinet_rules import NUMBERS, Claim, Outcome, Signer, Stored
from protocols.simulators.fiscal_archive import Archive, ArchivedDocument, Taken
from protocols.simulators.fiscal_books import KYIV
from protocols.simulators.fiscal_register import Registration
from protocols.simulators.ledger import ACCEPTED, REFUSED, Entry, Ledger

HIDDEN = frozenset({*SESSION_ENDS, NUMBERS})
"""Documents that the shown ledger leaves out."""


@dataclass(frozen=True)
class _Line:
    """What an entry of the ledger says about an accepted document, or about a deletion."""

    kind: str
    number: str
    amount: int
    ref: str
    dt: str


class CabinetBooks:
    """The registers by their fiscal numbers, and the documents that they handed in.

    :param ledger: the file of its entries, :param archive: that of its documents; `None` keeps them in memory.
    """

    def __init__(self, registrations: Iterable[Registration], ledger: Path | None, archive: Path | None) -> None:
        self.registers = {str(each.number): CabinetRecord(each) for each in registrations}
        self._ledger, self._archive = Ledger(ledger), Archive(archive)
        self._recall()

    def close(self) -> None:
        """Close the files."""
        self._ledger.close()
        self._archive.close()

    def entries(self) -> list[Entry]:
        """The ledger, oldest first, without `HIDDEN` documents and with numbers of its own."""
        shown = (entry for entry in self._ledger.entries() if entry.kind not in HIDDEN)
        return [msgspec.structs.replace(entry, n=n) for n, entry in enumerate(shown, 1)]

    def elsewhere(self, record: CabinetRecord, key: str) -> bool:
        """Whether ``key`` has an open shift on another register than ``record``."""
        others = (
            other.shift for other in self.registers.values() if other is not record and not other.registration.closed
        )
        return bool(key) and any(shift is not None and shift.key == key for shift in others)

    def take(
        self, record: CabinetRecord, document: RQ, content: bytes, sent: bytes, signer: Signer, now: datetime
    ) -> Outcome:
        """Register an accepted document.

        :param content: its bytes, :param sent: signed. :param now: the server's time, with its zone.
        """
        # Its number follows from the state, which the archive restores.
        self._archive.add(Taken(now.timestamp(), *_who(signer), (ArchivedDocument("", sent, content),)))
        outcome = record.take_document(document, content, signer, _local(now))
        self._note(_lines(outcome))
        return outcome

    def delete(self, record: CabinetRecord, request: bytes, signer: Signer, now: datetime) -> Stored:
        """Delete the last document of ``record``; returns it."""
        last = record.last
        assert last is not None
        self._archive.add(Taken(now.timestamp(), *_who(signer), (ArchivedDocument(last.number, request, b""),)))
        record.delete()
        self._note([_deletion(last, f"{now:%Y%m%d%H%M%S}")])
        return last

    def refuse(self, claim: Claim) -> None:
        """Note a refused document."""
        self._ledger.add(claim.kind, REFUSED, "", claim.amount, str(claim.local), _dt(claim))

    def _note(self, lines: Iterable[_Line]) -> None:
        for line in lines:
            self._ledger.add(line.kind, ACCEPTED, line.number, line.amount, line.ref, line.dt)

    def _recall(self) -> None:
        """Read the state from the files; add entries that a crash kept out of the ledger."""
        noted = sum(entry.status == ACCEPTED for entry in self._ledger.entries())
        lines = [line for taken in self._archive for line in self._recalled(taken)]
        self._note(lines[noted:])

    def _recalled(self, taken: Taken) -> Iterator[_Line]:
        """Change the state by what was registered; the entries that belong to it."""
        signer, now = Signer(taken.key, taken.name), datetime.fromtimestamp(taken.at, KYIV)
        for archived in taken.documents:
            if archived.content:
                document = decode(archived.content)
                # A register that is not simulated any more keeps its entries.
                record = self.registers.setdefault(document.dat.fn, _closed(document.dat.fn))
                yield from _lines(record.take_document(document, archived.content, signer, _local(now)))
            else:
                record = next(each for each in self.registers.values() if _last_number(each) == archived.number)
                yield _deletion(record.delete(), f"{now:%Y%m%d%H%M%S}")


def _closed(number: str) -> CabinetRecord:
    return CabinetRecord(Registration(int(number), closed=True))


def _last_number(record: CabinetRecord) -> str:
    return record.last.number if record.last is not None else ""


def _who(signer: Signer) -> tuple[str, str]:
    return signer.key, signer.name


def _local(now: datetime) -> datetime:
    return now.astimezone(KYIV).replace(tzinfo=None)


def _dt(claim: Claim) -> str:
    return f"{claim.issued:%Y%m%d%H%M%S}"


def _lines(outcome: Outcome) -> Iterator[_Line]:
    claim = outcome.stored.claim
    yield _Line(claim.kind, outcome.stored.number, claim.amount, str(claim.local), _dt(claim))
    if outcome.cancelled is not None:
        yield _Line(Kind.STORNO, outcome.stored.number, 0, outcome.cancelled.number, _dt(claim))


def _deletion(deleted: Stored, dt: str) -> _Line:
    return _Line(Kind.STORNO, deleted.number, 0, deleted.number, dt)
