"""The books of the simulated fiscal server: registers, documents, ledger (docs/reference/tax-service.md#simulator).

A document is in the archive and in the ledger before it is answered. At the start the state is read from the archive,
and entries that a crash kept out of the ledger are added.
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
from protocols.simulators.fiscal_archive import Archive, ArchivedDocument, Taken
from protocols.simulators.fiscal_calls import ServerError
from protocols.simulators.fiscal_register import RegisterRecord, Registration
from protocols.simulators.ledger import ACCEPTED, Entry, Ledger

KYIV = ZoneInfo("Europe/Kyiv")

FIRST_NUMBER = 3_000_000_001
"""The fiscal number of the first document that is registered online."""

HIDDEN = frozenset({Kind.CLOSE.value, Kind.OFFLINE_BEGIN.value, Kind.OFFLINE_END.value})
"""Documents that the shown ledger leaves out."""


class FiscalBooks:
    """The registers, and the documents that they handed in.

    :param ledger: the file of its entries, :param archive: that of its documents; `None` keeps them in memory.
    :param tolerance: seconds that a document may differ from the server's time.
    :param passes_over_known: whether a package may start with documents that were accepted before.
    :param revoking_skips: the number of an opening document that revokes another one, see `Standing`.
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
        self.registers = {each.number: RegisterRecord(each) for each in registrations}
        for record in self.registers.values():
            record.revoking_skips = revoking_skips
        self._tolerance, self._passes_over_known = tolerance, passes_over_known
        self._online = 0
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

    def take(self, record: RegisterRecord, signed: Signed, sent: bytes, now: datetime) -> str:
        """Register the accepted document in ``signed``; returns its fiscal number."""
        number = str(FIRST_NUMBER + self._online)
        self._apply(record, self._write(signed, (ArchivedDocument(number, sent, signed.content),), now))
        return number

    def take_package(self, signed: Signed, sent: tuple[bytes, ...], open: Open, now: datetime) -> NextSession | None:
        """Register all documents of a package, or none; a session when the package closed one.

        :raises ServerError: when one is refused; the text names it.
        """
        if len(sent) > packages.MOST_DOCUMENTS:
            raise ServerError(Code.PACKAGE_VALIDATION_ERROR, f"Понад {packages.MOST_DOCUMENTS} документів у пакеті")
        trial: RegisterRecord | None = None
        record: RegisterRecord | None = None
        fresh: list[ArchivedDocument] = []
        place, ended, local = 0, False, now.replace(tzinfo=None)
        for position, message in enumerate(sent, 1):
            where = f"Помилка обробки документа за № {position} в пакеті, дислокація {place}: "
            document, inner = self._packed(message, open, where)
            if record is None or trial is None:
                record = self._package_register(document, where)
                trial = record.trial()
            elif document.head.cashregisternum != record.registration.number:
                raise ServerError(Code.PACKAGE_VALIDATION_ERROR, f"{where}документ іншого ПРРО")
            known = record.documents.get(document.head.ordernum)
            passes = self._passes_over_known and not fresh and known is not None and known.sent == message
            if not passes:
                refusal = trial.judge_document(document, inner.key, local, self._tolerance, in_package=True)
                if refusal is not None:
                    raise ServerError(refusal.packed().code, where + refusal.text)
                fresh.append(ArchivedDocument(document.head.ordertaxnum or "", message, inner.content))
                trial.take_document(document, fresh[-1], local, inner.key, inner.key)
            ended = ended or kind_of(document) is Kind.OFFLINE_END
            place += packages.LENGTH_BYTES + len(message)
        assert record is not None
        if fresh:
            self._apply(record, self._write(signed, tuple(fresh), now, package=True))
        if not ended:
            return None
        return NextSession(offline_session_id=record.offline.id, offline_seed=record.offline.seed)

    def _packed(self, message: bytes, open: Open, where: str) -> tuple[Document, Signed]:
        try:
            signed = open(message)
            return decode_again(signed.content), signed
        except (WrongSignature, DocumentError) as error:
            raise ServerError(Code.PACKAGE_VALIDATION_ERROR, f"{where}{error}") from None

    def _package_register(self, document: Document, where: str) -> RegisterRecord:
        record = self.registers.get(document.head.cashregisternum)
        if record is None or record.registration.closed:
            raise ServerError(Code.TRANSACTIONS_REGISTRAR_ABSENT, f"{where}ПРРО не зареєстрований")
        return record

    def _write(
        self, signed: Signed, documents: tuple[ArchivedDocument, ...], now: datetime, package: bool = False
    ) -> Taken:
        taken = Taken(now.timestamp(), signed.key, signed.name, documents, package)
        self._archive.add(taken)
        return taken

    def _apply(self, record: RegisterRecord, taken: Taken, noted: bool = True) -> None:
        """Change the state by what was registered."""
        for registered in taken.documents:
            document = decode(registered.content)
            at = datetime.fromtimestamp(taken.at, KYIV).replace(tzinfo=None)
            record.take_document(document, registered, at, taken.key, taken.name)
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
        """Note a revoked document as a reversal that names it."""
        record = self.registers[document.head.cashregisternum]
        if record.revoked:
            self._ledger.add(Kind.STORNO.value, ACCEPTED, number, 0, record.revoked[-1].number, dt)

    def _recall(self) -> None:
        """Read the state from the files; add entries that a crash kept out of the ledger."""
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
    """The document in ``content``, which the server must be able to write too.

    :raises DocumentError: when it is not one, or has characters that windows-1251 lacks.
    """
    document = decode(content)
    encode(document)
    return document


def _is_revocation(entry: Entry) -> bool:
    """Whether the entry is of a document revoked by an offline session's opening, whose number it has."""
    return entry.kind == Kind.STORNO.value and ".1." in entry.number
