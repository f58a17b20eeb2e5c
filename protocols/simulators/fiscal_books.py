"""The books of the simulated fiscal server: registers, documents, ledger (fiscal-server 5, 6, 7, 16).

What is registered is in the archive and in the ledger before anybody hears of it. The archive is the truth: the
state is read from it at the start, and entries that a crash kept out of the ledger are made up for.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec

from protocols.fiscal import packages
from protocols.fiscal.check_xml import Check
from protocols.fiscal.command_answers import NextSession
from protocols.fiscal.document_kinds import kind_of
from protocols.fiscal.document_xml import Document, decode, encode
from protocols.fiscal.error_codes import Code
from protocols.fiscal.kinds import Kind
from protocols.fiscal.schema import DocumentError
from protocols.fiscal.signatures import Open, Signed, WrongSignature
from protocols.simulators.fiscal_archive import Archive, Registered, Taken
from protocols.simulators.fiscal_calls import Wrong
from protocols.simulators.fiscal_register import RegisterRecord, Registration
from protocols.simulators.ledger import ACCEPTED, Entry, Ledger

KYIV = ZoneInfo("Europe/Kyiv")

FIRST_NUMBER = 3_000_000_001
"""The fiscal number of the first document that is registered online."""

HIDDEN = frozenset({Kind.CLOSE.value, Kind.OFFLINE_BEGIN.value, Kind.OFFLINE_END.value})
"""Documents that are no entries that people look for."""


class FiscalBooks:
    """The registers that were registered, and what they handed in.

    :param ledger: the file of its entries, :param archive: that of its documents; `None` keeps them in memory.
    :param tolerance: seconds that a document may be ahead of the server's time.
    :param passes_over_known: whether a package may begin with documents that were taken before.
    :param revoking_skips: which number a begin has that revokes a document, see `RegisterRecord`.
    """

    def __init__(
        self,
        registrations: Iterable[Registration],
        ledger: Path | None,
        archive: Path | None,
        tolerance: float,
        passes_over_known: bool,
        revoking_skips: bool = False,
    ) -> None:
        self.registers = {told.number: RegisterRecord(told) for told in registrations}
        for record in self.registers.values():
            record.revoking_skips = revoking_skips
        self._tolerance, self._passes_over_known = tolerance, passes_over_known
        self._online = 0
        self._ledger, self._archive = Ledger(ledger), Archive(archive)
        self._recall()

    def close(self) -> None:
        """Let go of the files."""
        self._ledger.close()
        self._archive.close()

    def entries(self) -> list[Entry]:
        """The ledger, oldest first, numbered anew without closings and the begins and ends of sessions."""
        shown = (entry for entry in self._ledger.entries() if entry.kind not in HIDDEN)
        return [msgspec.structs.replace(entry, n=n) for n, entry in enumerate(shown, 1)]

    def take(self, record: RegisterRecord, signed: Signed, sent: bytes, now: datetime) -> str:
        """Register the document in ``signed``, which was judged; its fiscal number."""
        number = str(FIRST_NUMBER + self._online)
        self._apply(record, self._write(signed, (Registered(number, sent, signed.content),), now))
        return number

    def take_package(self, signed: Signed, sent: tuple[bytes, ...], open: Open, now: datetime) -> NextSession | None:
        """Register all documents of a package, or none of them; a session when the package ended one.

        :raises Wrong: when one of them is not taken; the text names it.
        """
        if len(sent) > packages.MOST_DOCUMENTS:
            raise Wrong(Code.PACKAGE_VALIDATION_ERROR, f"Понад {packages.MOST_DOCUMENTS} документів у пакеті")
        trial: RegisterRecord | None = None
        record: RegisterRecord | None = None
        fresh: list[Registered] = []
        place, ended = 0, False
        for position, message in enumerate(sent, 1):
            where = f"Помилка обробки документа за № {position} в пакеті, дислокація {place}: "
            document, content, key = self._packed(message, open, where)
            if record is None or trial is None:
                record = self._package_register(document, where)
                trial = record.trial()
            elif document.head.cashregisternum != record.registration.number:
                raise Wrong(Code.PACKAGE_VALIDATION_ERROR, f"{where}документ іншого ПРРО")
            known = record.documents.get(document.head.ordernum)
            passes = self._passes_over_known and not fresh and known is not None and known.sent == message
            if not passes:
                self._try(trial, document, message, content, key, now, where)
                fresh.append(Registered(document.head.ordertaxnum or "", message, content))
            ended = ended or kind_of(document) is Kind.OFFLINE_END
            place += packages.LENGTH_BYTES + len(message)
        assert record is not None
        if fresh:
            self._apply(record, self._write(signed, tuple(fresh), now, package=True))
        if not ended:
            return None
        return NextSession(offline_session_id=record.offline.id, offline_seed=record.offline.seed)

    def _packed(self, message: bytes, open: Open, where: str) -> tuple[Document, bytes, str]:
        try:
            signed = open(message)
            return decode_again(signed.content), signed.content, signed.key
        except (WrongSignature, DocumentError) as error:
            raise Wrong(Code.PACKAGE_VALIDATION_ERROR, f"{where}{error}") from None

    def _package_register(self, document: Document, where: str) -> RegisterRecord:
        record = self.registers.get(document.head.cashregisternum)
        if record is None or record.registration.closed:
            raise Wrong(Code.TRANSACTIONS_REGISTRAR_ABSENT, f"{where}ПРРО не зареєстрований", 404)
        return record

    def _try(
        self,
        trial: RegisterRecord,
        document: Document,
        sent: bytes,
        content: bytes,
        key: str,
        now: datetime,
        where: str,
    ) -> None:
        local = now.replace(tzinfo=None)
        refusal = trial.judge_document(document, key, local, self._tolerance, in_package=True)
        if refusal is not None:
            raise Wrong(refusal.packed().code, where + refusal.text)
        trial.take_document(document, document.head.ordertaxnum or "", sent, content, local, key, key)

    def _write(
        self, signed: Signed, documents: tuple[Registered, ...], now: datetime, package: bool = False
    ) -> Taken:
        taken = Taken(now.timestamp(), signed.key, signed.name, documents, package)
        self._archive.add(taken)
        return taken

    def _apply(self, record: RegisterRecord, taken: Taken, noted: bool = True) -> None:
        """Go on with what was taken."""
        for registered in taken.documents:
            document = decode(registered.content)
            at = datetime.fromtimestamp(taken.at, KYIV).replace(tzinfo=None)
            record.take_document(
                document, registered.number, registered.sent, registered.content, at, taken.key, taken.name
            )
            self._online += not taken.package
            if noted:
                self.note(document, ACCEPTED, registered.number)

    def note(self, document: Document, status: str, number: str) -> None:
        """Write into the ledger what became of ``document``."""
        head, kind = document.head, kind_of(document)
        total = document.checktotal if isinstance(document, Check) else None
        reversed_number = document.checkhead.orderstornum if isinstance(document, Check) else None
        amount = 0 if kind is Kind.STORNO or total is None else total.sum or 0
        dt = f"{head.orderdate:%Y%m%d}{head.ordertime:%H%M%S}"
        ref = reversed_number if reversed_number and kind is Kind.STORNO else str(head.ordernum)
        self._ledger.add(kind.value if kind is not None else "document", status, number, amount, ref, dt)
        if isinstance(document, Check) and document.checkhead.revokelastonlinedoc and status == ACCEPTED:
            self._note_revoked(document, number, dt)

    def _note_revoked(self, document: Check, number: str, dt: str) -> None:
        """A revoked document is reversed like one that was taken back: an entry that names it."""
        record = self.registers[document.head.cashregisternum]
        if record.revoked:
            self._ledger.add(Kind.STORNO.value, ACCEPTED, number, 0, record.revoked[-1].number, dt)

    def _recall(self) -> None:
        """Know again what the files say; entries that a crash kept out of the ledger are made up for."""
        missing: list[tuple[Document, str]] = []
        noted = sum(entry.status == ACCEPTED for entry in self._ledger.entries() if not _is_revocation(entry))
        for taken in self._archive:
            missing += [(decode(registered.content), registered.number) for registered in taken.documents]
            record = self.registers.get(missing[-1][0].head.cashregisternum)
            if record is not None:
                self._apply(record, taken, noted=False)
        for document, number in missing[noted:]:
            if document.head.cashregisternum in self.registers:
                self.note(document, ACCEPTED, number)


def decode_again(content: bytes) -> Document:
    """The document that ``content`` holds, when the server could write it anew.

    :raises DocumentError: when it is none, or has letters that windows-1251 lacks.
    """
    document = decode(content)
    encode(document)
    return document


def _is_revocation(entry: Entry) -> bool:
    """Whether an entry tells of a document that an offline begin revoked: those have that begin's own number."""
    return entry.kind == Kind.STORNO.value and ".1." in entry.number
