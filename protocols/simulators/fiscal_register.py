"""One register as the fiscal server knows it: what it has of it, and what it takes next (fiscal-server 5, 6, 8, 16).

The order of the checks: right of the key, block, payer, time, local number, shift, Z, totals, offline rules. The real
order is not published; this is the one of the emulator that is known.
"""

from __future__ import annotations

import copy
from collections import ChainMap
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from protocols.fiscal.check_xml import Check
from protocols.fiscal.document_kinds import SETTLEMENTS, Kind, content_faults, kind_of
from protocols.fiscal.document_xml import Document
from protocols.fiscal.error_codes import Code
from protocols.fiscal.zrep_xml import ZRep
from protocols.simulators.fiscal_arithmetic import receipt_faults
from protocols.simulators.fiscal_offline_rules import LONGEST_MONTH_MIN, LONGEST_SESSION_MIN, OfflineRecord
from protocols.simulators.fiscal_totals import ShiftSums


@dataclass(frozen=True)
class Operator:
    """A key that may sign for a register; ``key`` is its identifier, empty where nothing is signed."""

    key: str
    name: str = ""
    chief: bool = False


@dataclass(frozen=True)
class Registration:
    """A register as its owner registered it; without ``operators`` every key may use it."""

    number: int
    local: int = 1
    tin: str = "34554363"
    ipn: str = ""
    org_name: str = "Тестовий платник"
    point_name: str = "Тестова торгова точка"
    address: str = "Україна, м. Київ"
    name: str = "Каса 1"
    offline_allowed: bool = True
    closed: bool = False
    operators: tuple[Operator, ...] = ()

    def operator(self, key: str) -> Operator | None:
        """Who signs with ``key``; `None` when they have no right to the register."""
        if not self.operators:
            return Operator(key, chief=True)
        return next((operator for operator in self.operators if operator.key == key), None)


@dataclass(frozen=True)
class Stored:
    """A registered document."""

    number: str
    local: int
    kind: Kind
    document: Document
    sent: bytes
    content: bytes
    shift: int
    revoked: bool = False
    storned: bool = False


@dataclass
class ShiftRecord:
    """One shift; times are Kyiv's."""

    id: int
    open_number: str
    opened: datetime
    open_key: str
    open_name: str
    testing: bool
    first_local: int
    sums: ShiftSums = field(default_factory=ShiftSums)
    z_number: str = ""
    close_number: str = ""
    closed: datetime | None = None
    close_key: str = ""
    close_name: str = ""


@dataclass(frozen=True)
class Refusal:
    """Why a document is not taken."""

    code: Code
    text: str


@dataclass
class RegisterRecord:
    """Where a register stands."""

    registration: Registration
    next_local: int = 1
    open_shift: ShiftRecord | None = None
    shifts: list[ShiftRecord] = field(default_factory=list)
    documents: MutableMapping[int, Stored] = field(default_factory=dict)
    """By local number."""
    last_local: int = 0
    last_online: int = 0
    """The last document that was registered online; 0 once it cannot be revoked any more."""
    offline: OfflineRecord = field(default_factory=OfflineRecord)
    sessions: int = 0
    blocked_until: datetime | None = None
    device: str = ""

    def trial(self) -> RegisterRecord:
        """A copy on which a package can be tried without leaving a trace."""
        tried = copy.copy(self)
        tried.open_shift = copy.deepcopy(self.open_shift)
        tried.shifts = list(self.shifts)
        tried.documents = ChainMap({}, self.documents)
        tried.offline = copy.deepcopy(self.offline)
        return tried

    def blocked(self, now: datetime) -> bool:
        """Whether the server takes nothing from it."""
        return self.blocked_until is not None and now < self.blocked_until

    def judge(
        self, document: Document, key: str, now: datetime, tolerance: float, in_package: bool = False
    ) -> Refusal | None:
        """Why ``document`` is not taken as the next one; `None` when it is.

        :param now: the server's time in Kyiv. :param tolerance: seconds that an online document's may differ.
        """
        refusal = self.judge_sender(document.head.tin, key, now)
        if refusal is not None:
            return refusal
        kind = kind_of(document)
        wrong = next(content_faults(document), None)
        if wrong is not None or kind is None:
            return Refusal(Code.DOCUMENT_VALIDATION_ERROR, f"Помилки валідації XML: {wrong}")
        issued = datetime.combine(document.head.orderdate, document.head.ordertime)
        early = (issued - now).total_seconds()
        if early > tolerance or (not in_package and -early > tolerance):
            return Refusal(
                Code.DOCUMENT_VALIDATION_ERROR,
                f"Дата і час документа {issued:%d.%m.%Y %H:%M:%S} не відповідають часу сервера",
            )
        return self._judge_place(document, kind, in_package)

    def judge_sender(self, tin: str, key: str, now: datetime) -> Refusal | None:
        """Why nothing is taken of who signed with ``key`` for the payer ``tin``, whatever the document says."""
        if self.registration.operator(key) is None:
            return Refusal(
                Code.OPERATOR_ACCESS_TO_TRANSACTIONS_REGISTRAR_NOT_GRANTED,
                f"Ключ {key} не має доступу до ПРРО {self.registration.number}",
            )
        if self.blocked(now):
            return Refusal(
                Code.DOCUMENT_VALIDATION_ERROR,
                f"ПРРО {self.registration.number} заблоковано: перевищено тривалість роботи офлайн (36/168 годин)",
            )
        if tin != self.registration.tin:
            return Refusal(Code.INVALID_TIN, "Код платника не дорівнює коду господарської одиниці")
        return None

    def _judge_place(self, document: Document, kind: Kind, in_package: bool) -> Refusal | None:
        if document.head.ordernum != self.next_local:
            return Refusal(
                Code.CHECK_LOCAL_NUMBER_INVALID,
                f"Некоректний локальний номер документа {document.head.ordernum} для ПРРО з фіскальним номером "
                f"{self.registration.number}. Номер документа повинен дорівнювати {self.next_local}",
            )
        if document.head.cashdesknum != self.registration.local:
            return Refusal(Code.DOCUMENT_VALIDATION_ERROR, "Локальний номер ПРРО не відповідає реєстрації")
        refusal = self._judge_shift(kind)
        if refusal is None:
            wrong = next(self._content_wrong(document, kind, in_package), None)
            refusal = Refusal(Code.DOCUMENT_VALIDATION_ERROR, wrong) if wrong is not None else None
        return refusal

    def _judge_shift(self, kind: Kind) -> Refusal | None:
        shift = self.open_shift
        if kind in (Kind.OFFLINE_BEGIN, Kind.OFFLINE_END):
            return None
        if kind is Kind.OPEN:
            if shift is not None:
                return Refusal(Code.SHIFT_ALREADY_OPENED, f"Зміну відкрито: {shift.open_name}, ключ {shift.open_key}")
            return None
        if shift is None:
            return Refusal(Code.SHIFT_NOT_OPENED, "Зміну для ПРРО наразі не відкрито")
        if kind is Kind.CLOSE:
            last = self.documents.get(self.last_local)
            if not shift.z_number or last is None or self._last_in_shift() is not Kind.Z:
                return Refusal(Code.LAST_DOCUMENT_MUST_BE_Z_REP, "Останній документ перед закриттям - Z-звіт")
            return None
        if shift.z_number:
            return Refusal(Code.Z_REP_ALREADY_REGISTERED, "Z-звіт для поточної зміни вже зареєстровано")
        return None

    def _last_in_shift(self) -> Kind | None:
        """The last document but for a session's begin and end, which belong to no shift."""
        for local in range(self.last_local, 0, -1):
            kind = self.documents[local].kind
            if kind not in (Kind.OFFLINE_BEGIN, Kind.OFFLINE_END):
                return kind
        return None

    def _content_wrong(self, document: Document, kind: Kind, in_package: bool) -> Iterator[str]:
        shift = self.open_shift
        if kind not in (Kind.OPEN, Kind.OFFLINE_BEGIN, Kind.OFFLINE_END) and shift is not None:
            if bool(document.head.testing) != shift.testing:
                yield "Зміна містить або лише тестові, або лише фіскальні документи"
            if isinstance(document, ZRep):
                for fault in shift.sums.faults(document):
                    yield f"Z-звіт: {fault}"
        if isinstance(document, Check):
            yield from receipt_faults(document)
            if kind is Kind.STORNO:
                yield from self._storno_wrong(document)
        if not in_package:
            if document.head.offline:
                yield "Документ сформовано в режимі офлайн"
            elif self.offline.under_way:
                yield "Офлайн сесію не завершено"
        else:
            if not document.head.offline:
                yield "Документ сформовано в режимі онлайн"
            if kind is Kind.OFFLINE_BEGIN:
                yield from self._begin_wrong(document)
            yield from self.offline.faults(document, self.registration.number)

    def _begin_wrong(self, document: Document) -> Iterator[str]:
        if not self.registration.offline_allowed:
            yield "Робота в режимі офлайн не дозволена"
        if isinstance(document, Check) and document.checkhead.revokelastonlinedoc:
            last = self.documents.get(self.last_online)
            if last is None or last.kind not in SETTLEMENTS:
                yield f"Останній документ типу {last.kind if last is not None else '-'} не може бути відкликаний"

    def _storno_wrong(self, document: Check) -> Iterator[str]:
        last, named = self.documents.get(self.last_local), document.checkhead.orderstornum
        if last is None or last.number != named or last.kind not in SETTLEMENTS or last.kind is Kind.STORNO:
            yield "Сторнувати можна лише останній документ"

    def take(
        self, document: Document, number: str, sent: bytes, content: bytes, now: datetime, key: str, name: str
    ) -> None:
        """Go on with ``document``, registered as ``number``."""
        kind, local, shift = kind_of(document), document.head.ordernum, self.open_shift
        assert kind is not None
        if kind is Kind.OPEN:
            self.open_shift = shift = ShiftRecord(
                *(self.registration.number % 10_000 * 10_000 + len(self.shifts) + 1, number, now, key, name),
                testing=bool(document.head.testing),
                first_local=local,
            )
            self.shifts.append(shift)
            if not self.offline.id and self.registration.offline_allowed:
                self.grant()
        self.documents[local] = Stored(
            number, local, kind, document, sent, content, shift.id if shift is not None else 0
        )
        if document.head.offline:
            self._take_offline(document, kind, sent, now)
        else:
            self.last_online = local
        self._count(document, kind, shift, number)
        if kind is Kind.CLOSE and shift is not None:
            shift.close_number, shift.closed, shift.close_key, shift.close_name = number, now, key, name
            self.open_shift = None
        self.next_local, self.last_local = local + 1, local

    def _count(self, document: Document, kind: Kind, shift: ShiftRecord | None, number: str) -> None:
        if shift is None:
            return
        if kind is Kind.Z:
            shift.z_number = number
        elif kind is Kind.STORNO:
            back = self.documents[self.last_local]
            self.documents[self.last_local] = replace(back, storned=True)
            if isinstance(back.document, Check):
                shift.sums.add(back.document, -1)
        elif kind in SETTLEMENTS and isinstance(document, Check):
            shift.sums.add(document)

    def _take_offline(self, document: Document, kind: Kind, sent: bytes, now: datetime) -> None:
        if kind is Kind.OFFLINE_BEGIN and isinstance(document, Check) and document.checkhead.revokelastonlinedoc:
            revoked = self.documents[self.last_online]
            self.documents[self.last_online] = replace(revoked, revoked=True)
            if self.open_shift is not None and isinstance(revoked.document, Check) and not revoked.storned:
                self.open_shift.sums.add(revoked.document, -1)
        self.last_online = 0
        self.offline.take(document, sent)
        if kind is Kind.OFFLINE_END:
            if self.offline.minutes > LONGEST_SESSION_MIN or self.offline.month_minutes() > LONGEST_MONTH_MIN:
                self.block(now)
            self.grant()

    def grant(self) -> None:
        """Grant the next offline session."""
        self.sessions += 1
        self.offline.grant(f"{self.registration.number % 1_000_000:d}{self.sessions:03d}")

    def block(self, now: datetime) -> None:
        """Take nothing more until the next month begins."""
        first = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        self.blocked_until = (first + timedelta(days=32)).replace(day=1)
