"""Documents out of requests: what a task would fiscalise, or why it may not.

Only calculation: no store, no channel. The caller passes what a document needs of the past.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from dmtwisted.clock import ServiceClock, kyiv
from dmtwisted.documents import documents, law
from dmtwisted.documents.catalogue import CASH
from dmtwisted.documents.documents import Caller, Document, OfflineMark, Reversed
from dmtwisted.money import hryvnias
from dmtwisted.registers.arithmetic import cash_move, owed, receipt, turnover, withdrawal
from dmtwisted.registers.interface import (
    CASH_IN,
    CASH_OUT,
    EXPENSE,
    INCOME,
    OPEN_SHIFT,
    RETURN,
    SALE,
    WITHDRAWAL,
    Z_REPORT,
)
from dmtwisted.registers.offline_time import LONGEST_MONTH_OFFLINE, longest_session, month_spent
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.registers.shift import shift
from dmtwisted.registers.terms import Calendar, Terms
from dmtwisted.registers.texts import check_cashier, check_pay
from dmtwisted.registers.totals import RECEIPTS, RegisterState, Session
from dmtwisted.requests import FiscalRequest, PayRequest, ReceiptRequest, TaskRequest, malformed
from dmtwisted.results import Refused, Res, Text, one_of
from protocols.fiscal.offline import control_number, fiscal_number

NUMBERS_FOR_CLOSING = 2
"""Offline numbers that are reserved for a Z and the closing of its shift; on protocol B of the session."""

LEAST_KEY_DAYS = 3
"""Days for which the signing key must still be valid when the register goes offline (specification 8)."""


_UKTZED = re.compile(rf"[0-9]{{{law.UKTZED_LENGTH}}}")
_UKTZED_EXPECTED = Text(
    f"для підакцизного товару очікується код УКТЗЕД із {law.UKTZED_LENGTH} цифр",
    f"an item with excise is expected to have a UKTZED code of {law.UKTZED_LENGTH} digits",
)


def _shown(at: int) -> datetime:
    """The local time in Kyiv, which is all that a document says of a moment."""
    return kyiv(at).replace(tzinfo=None, fold=0)


class Asked(msgspec.Struct, frozen=True):
    """A task, and the register that is to do it."""

    request: TaskRequest
    fiscal: FiscalRequest
    state: RegisterState
    sold: dict[str, int]
    """Tax groups of the item codes that were sold in this shift."""
    terms: Terms
    """What is valid for this shift."""


class Drafting:
    """Draws up the documents of one register."""

    def __init__(
        self,
        name: str,
        settings: RegisterSettings,
        calendar: Calendar,
        dtype: int,
        desk: str,
        clock: ServiceClock,
    ) -> None:
        self._name, self._settings, self._calendar = name, settings, calendar
        self._dtype, self._desk, self._clock = dtype, desk, clock

    def draft(self, request: TaskRequest, state: RegisterState, sold: dict[str, int]) -> Document:
        """The document of a task that carries a tag.

        :param sold: tax groups of the item codes that were sold in this shift.
        :raises Refused: when the task may not be done now, or breaks a rule; 307 for a task that makes none.
        """
        task = request.task
        make = _MAKERS.get(task)
        if make is None or request.fiscal is None:
            raise Refused(Res.UNKNOWN_FISCAL_TASK, task)
        if not state.shift_open and task not in (OPEN_SHIFT, Z_REPORT):
            shift(state.shift_open).trade()
        check_cashier(request.fiscal.cashier)
        return make(self, Asked(request, request.fiscal, state, sold, self._calendar.of(state)))

    def uncoded(self, document: Document, state: RegisterState) -> list[int]:
        """The rows of a sale with excise and without a UKTZED code of its length (docs/law.md, G1)."""
        if self._settings.excise_needs_uktzed == "off" or document.kind != documents.SALE or document.receipt is None:
            return []
        groups = self._calendar.of(state).groups
        return [
            index
            for index, good in enumerate(document.receipt.goods)
            if groups[good.taxgrp].has_excise and not _UKTZED.fullmatch(good.code2.strip())
        ]

    def owed(self, asked: ReceiptRequest, state: RegisterState) -> int:
        """What a receipt without its payments comes to, in kopecks."""
        return owed(asked, self._calendar.of(state).rates, self._name)

    def closing(self, request: TaskRequest, state: RegisterState) -> Document:
        """The document that closes the shift; ``state`` is the register with its Z."""
        return self._document(documents.CLOSE, request, state)

    def storno(self, request: TaskRequest, state: RegisterState, last: Document | None) -> Document:
        """The document that takes back the last one, task 17.

        :raises Refused: 1092 on a closed shift, 1158 when the settings forbid it, 1058 when the last document cannot
            be taken back.
        """
        shift(state.shift_open).trade()
        assert request.fiscal is not None
        if not self._settings.storno_allowed:
            raise Refused(Res.STORNO_FORBIDDEN)
        check_cashier(request.fiscal.cashier)
        if last is None or last.kind not in RECEIPTS or last.number != state.last.number:
            raise Refused(Res.TAG_NOT_FOUND)
        return self._document(
            documents.STORNO,
            request,
            state,
            receipt=last.receipt,
            cash=last.cash,
            reverses=Reversed(last.kind, last.number, state.last.fiscal_number),
        )

    def offline_begin(self, state: RegisterState, key_days: int | None, source: str) -> Document:
        """The document with which the register goes offline.

        :param source: `BY_ITSELF` when the register decided it itself.
        :raises Refused: 1052 when the settings forbid it, 1053 when it is offline, 1056 without a session, 1117
            when the key is about to expire, 1042 when the hours of the month are used up.
        """
        if state.offline is not None:
            raise Refused(Res.ALREADY_OFFLINE)
        if not self._settings.offline_allowed:
            raise Refused(Res.OFFLINE_FORBIDDEN)
        # One more is that of this document.
        if state.offline_numbers_left <= NUMBERS_FOR_CLOSING + 1:
            raise Refused(Res.NO_OFFLINE_NUMBERS)
        if key_days is not None and key_days < LEAST_KEY_DAYS:
            raise Refused(Res.KEY_EXPIRES_SOON)
        if state.offline_month.before(self._clock.now()) >= LONGEST_MONTH_OFFLINE:
            raise Refused(Res.TAX_SERVICE_BLOCKED)
        return self._document(documents.OFFLINE_BEGIN, _management(self._name, source), state)

    def again(self, lost: Document, state: RegisterState) -> Document:
        """``lost``, a document whose online copy may have arrived, as the first one of the session that began for it.

        It has the time of the opening document: it was due then, however long the power was off since.
        """
        assert state.offline is not None
        document = msgspec.structs.replace(lost, number=state.next_number, at=state.offline.since)
        return self._numbered_offline(_in_its_place(document, state), state)

    def numbers(self, state: RegisterState) -> Document:
        """The document that asks for offline numbers, on protocol B."""
        return self._document(documents.NUMBERS, _management(self._name), state)

    def offline_end(self, state: RegisterState, source: str = "") -> Document:
        """The document with which the register comes back.

        :param source: `BY_ITSELF` when nobody asked for it.
        :raises Refused: 1054 when it is online.
        """
        if state.offline is None:
            raise Refused(Res.ALREADY_ONLINE)
        return self._document(documents.OFFLINE_END, _management(self._name, source), state)

    def _document(self, kind: str, request: TaskRequest, state: RegisterState, **parts: Any) -> Document:
        assert request.fiscal is not None
        document = Document(
            kind=kind,
            number=state.next_number,
            shift=state.shift,
            at=self._clock.now(),
            cashier=request.fiscal.cashier,
            header=self._calendar.of(state).header,
            caller=caller_of(request),
            dtype=self._dtype,
            **parts,
        )
        if state.local is not None:
            document = _in_its_place(document, state)
        if state.offline is None and kind != documents.OFFLINE_BEGIN:
            return document
        return self._numbered_offline(document, state)

    def _numbered_offline(self, document: Document, state: RegisterState) -> Document:
        """``document`` with a number of the register's own (docs/reference/tax-service.md#offline-numbers)."""
        session, offline = state.session, state.offline
        assert session is not None
        used = 0 if offline is None else offline.ordinal
        if offline is not None and _shown(document.at) < _shown(offline.made):
            # The clock was set back, or this is the hour that comes twice in autumn. The tax service refuses packages
            # in which local time goes backwards (docs/reference/tax-service.md#time).
            document = msgspec.structs.replace(document, at=offline.made)
        if offline is not None and document.kind not in _CLOSING:
            if state.offline_numbers_left <= NUMBERS_FOR_CLOSING:
                raise Refused(Res.OFFLINE_NUMBERS_EXHAUSTED)
            if document.at - offline.since > longest_session(self._settings):
                hours = f"{self._settings.offline_limit_h:g}"
                raise Refused(Res.OFFLINE_TOO_LONG, note=Text(f"понад {hours} год", f"over {hours} h"))
            if month_spent(state, document.at) > LONGEST_MONTH_OFFLINE:
                raise Refused(Res.TAX_SERVICE_BLOCKED)
        if not session.id:
            return msgspec.structs.replace(document, offline=_reserved(session, document))
        hash = "" if offline is None else offline.hash
        control = control_number(
            session.seed,
            f"{kyiv(document.at):%d%m%Y}",
            f"{kyiv(document.at):%H%M%S}",
            document.number,
            document.header.fisid,
            self._desk,
            hryvnias(document.total) if document.has_total else "",
            hash,
        )
        mark = OfflineMark(fiscal_number(session.id, used + 1, control), hash)
        return msgspec.structs.replace(document, offline=mark)

    def _open(self, asked: Asked) -> Document:
        shift(asked.state.shift_open).open()
        return self._document(documents.OPEN, asked.request, asked.state)

    def _sale(self, asked: Asked) -> Document:
        rates = asked.terms.rates
        value = receipt(_receipt_of(asked.fiscal), asked.terms.settings, rates, self._name)
        # One receipt must not hold a code in two groups either.
        here: dict[str, int] = {}
        for good in value.goods:
            if not good.code:
                continue
            group = asked.sold.get(good.code)
            if group is None:
                group = here.setdefault(good.code, good.taxgrp)
            if group != good.taxgrp:
                letter = rates.letter(group)
                raise Refused(Res.CODE_SOLD_IN_OTHER_GROUP, good.code, group, letter)
        document = self._document(documents.SALE, asked.request, asked.state, receipt=value)
        uncoded = self.uncoded(document, asked.state) if self._settings.excise_needs_uktzed == "refuse" else []
        if uncoded:
            raise malformed(f"fiscal.receipt.rows[{uncoded[0]}].code2", _UKTZED_EXPECTED)
        return document

    def _return(self, asked: Asked) -> Document:
        given = _receipt_of(asked.fiscal)
        value = receipt(given, asked.terms.settings, asked.terms.rates, self._name)
        if not given.not_check_safe:
            self._check_cash(asked.state, value.in_cash)
        return self._document(documents.RETURN, asked.request, asked.state, receipt=value)

    def _cash_in(self, asked: Asked) -> Document:
        return self._document(documents.CASH_IN, asked.request, asked.state, cash=_cash_move(asked))

    def _cash_out(self, asked: Asked) -> Document:
        cash = _cash_move(asked)
        self._check_cash(asked.state, cash.sum)
        return self._document(documents.CASH_OUT, asked.request, asked.state, cash=cash)

    def _withdrawal(self, asked: Asked) -> Document:
        if asked.fiscal.cash is None:
            raise Refused(Res.MISSING_OBJECT, "fiscal.cash")
        check_pay(asked.fiscal.cash, "fiscal.cash")
        cash = withdrawal(asked.fiscal.cash, asked.terms.rates)
        self._check_cash(asked.state, cash.sum)
        return self._document(documents.WITHDRAWAL, asked.request, asked.state, cash=cash)

    def _turnover(self, asked: Asked) -> Document:
        given = _receipt_of(asked.fiscal)
        value = turnover(given, asked.terms.settings, asked.terms.rates, self._name)
        kind = documents.INCOME if asked.request.task == INCOME else documents.EXPENSE
        if kind == documents.EXPENSE and not given.not_check_safe:
            self._check_cash(asked.state, value.in_cash)
        return self._document(kind, asked.request, asked.state, receipt=value)

    def _z(self, asked: Asked) -> Document:
        state = asked.state
        shift(state.shift_open).close()
        report = state.report()
        report.last_docno = state.next_number
        return self._document(documents.Z, asked.request, state, report=report)

    def _check_cash(self, state: RegisterState, amount: int) -> None:
        if self._settings.check_cash and amount > state.safe:
            raise Refused(Res.NOT_ENOUGH_CASH)


_MAKERS: dict[int, Callable[[Drafting, Asked], Document]] = {
    OPEN_SHIFT: Drafting._open,
    SALE: Drafting._sale,
    RETURN: Drafting._return,
    CASH_IN: Drafting._cash_in,
    CASH_OUT: Drafting._cash_out,
    Z_REPORT: Drafting._z,
    WITHDRAWAL: Drafting._withdrawal,
    INCOME: Drafting._turnover,
    EXPENSE: Drafting._turnover,
}
"""The makers of documents of each task that carries a tag."""

_CLOSING = (documents.Z, documents.CLOSE, documents.OFFLINE_END)
"""Documents that may still be made offline when a limit is reached."""


def _in_its_place(document: Document, state: RegisterState) -> Document:
    """``document`` with its number within the shift, after the document before it (protocol B)."""
    place = 0 if document.kind == documents.OPEN else state.local
    return msgspec.structs.replace(document, place=place, previous=state.chain)


def _reserved(session: Session, document: Document) -> OfflineMark:
    """The next reserved number, for a document of protocol B.

    :raises Refused: 1122 when none is left.
    """
    if not session.numbers:
        raise Refused(Res.OFFLINE_NUMBERS_EXHAUSTED)
    return OfflineMark(session.numbers[0], document.previous)


def caller_of(request: TaskRequest) -> Caller:
    """What the answer repeats of ``request``."""
    return Caller(
        device=request.device,
        source=request.source,
        tag=request.tag,
        type=request.type,
        task=request.task,
        untagged=request.untagged,
        paid=request.paid,
    )


def _management(name: str, source: str = "") -> TaskRequest:
    """The request of a document that no task asked for."""
    return TaskRequest(device=name, type=1, tag="", source=source, fiscal=FiscalRequest(task=None))


def _receipt_of(fiscal: FiscalRequest) -> ReceiptRequest:
    if fiscal.receipt is None:
        raise Refused(Res.MISSING_OBJECT, "fiscal.receipt")
    return fiscal.receipt


def _cash_move(asked: Asked) -> documents.Payment:
    fiscal = asked.fiscal
    given = fiscal.cash or _cash_of_receipt(fiscal.receipt)
    if given is None:
        raise Refused(Res.MISSING_OBJECT, "fiscal.cash")
    pay_type = asked.terms.rates.pay_type(given.type)
    if pay_type.code != CASH:
        raise Refused(Res.WRONG_PAYMENT_TYPE, given.type, note=one_of(CASH))
    check_pay(given, "fiscal.cash" if fiscal.cash is not None else "fiscal.receipt.pays[0]")
    return cash_move(given, pay_type)


def _cash_of_receipt(asked: ReceiptRequest | None) -> PayRequest | None:
    """The amount of a cash-in or cash-out that a till put into a receipt."""
    if asked is None:
        return None
    return asked.pays[0] if asked.pays else PayRequest(type=str(CASH), sum=asked.sum)
