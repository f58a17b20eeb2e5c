"""The state of a register between two documents: numbers, shift, cash and the shift's totals.

The state changes only by `apply`, once for each accepted document, and is stored in the same transaction as the
document's outcome; so X, Z and the sum of the receipts always agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from dmtwisted.clock import kyiv
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document, PaySum, Receipt, ShiftTotals, TaxSum
from protocols.fiscal.offline import document_hash

RECEIPTS = frozenset(documents.LISTED) - {documents.STORNO, documents.Z}
"""Documents that move money, and that a storno can take back."""


BY_ITSELF = "offline"
"""The ``source`` of the opening document of a session that the register began itself, and of the closing document of
one that it ended itself."""

SESSION_NUMBERS = 10_000
"""Documents in one offline session; the tax service itself names no limit."""


class LastDocument(msgspec.Struct, omit_defaults=True):
    """The last document that was accepted."""

    number: int = 0
    fiscal_number: str = ""
    task: int = 0
    kind: str = ""


class Session(msgspec.Struct, frozen=True, omit_defaults=True):
    """An offline session that the tax service has granted, for when the register has to go offline.

    On protocol A numbers are calculated from ``id`` and ``seed``; on protocol B both are empty.
    """

    id: str
    seed: str
    numbers: tuple[str, ...] = ()
    """On protocol B: the reserved numbers that no document has yet."""

    def with_more(self, session: Session | None) -> Session:
        """These numbers after those of ``session``, each once: the tax service returns unused ones again."""
        if session is None or not session.numbers:
            return self
        return replace(self, numbers=tuple(dict.fromkeys((*session.numbers, *self.numbers))))


class OfflineMonth(msgspec.Struct, frozen=True, omit_defaults=True):
    """How long a register was offline in one month, ``yyyymm``, in sessions that have ended."""

    month: str = ""
    spent: int = 0
    """Milliseconds."""

    def before(self, at: int) -> int:
        """Milliseconds before a session that begins at ``at``; a session counts in the month in which it began."""
        return self.spent if self.month == _month(at) else 0


class Offline(msgspec.Struct, omit_defaults=True):
    """A register that is offline."""

    first: int
    """The local number of the session's opening document; the documents from it on are to be handed in."""
    since: int
    ordinal: int = 0
    """Documents of the session so far."""
    hash: str = ""
    """Hash of the last document; empty after the opening one (docs/reference/tax-service.md#hash-chain)."""
    by_itself: bool = False
    """Whether the register went offline by itself."""
    lost: int = 0
    """The operation whose online copy may have arrived, and which the first document of the session repeats."""
    last: int = 0
    """When the last receipt or Z was made: the end of the session's duration."""
    made: int = 0
    """When the last document was made: the next one may not be older."""


class LostOnline(msgspec.Struct, frozen=True):
    """An operation whose document may have arrived online and is to be made again offline, under the same key."""

    operation: int
    kind: str
    key: str
    fingerprint: bytes
    value: bytes
    sent: bytes
    request: bytes


class UnheardReceipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """A receipt whose caller heard no success (`dmtwisted.registers.unheard`)."""

    number: int
    fiscal_number: str
    sum: int
    at: int
    shift: int
    tag: str
    fingerprint: bytes
    """Of the request; equal for the same content."""
    told_at: int = 0
    """When another caller had heard of it; 0 is not yet."""


class RegisterState(msgspec.Struct, omit_defaults=True):
    """A register between two documents."""

    next_number: int = 1
    """The local number of the next document."""
    local: int | None = None
    """On protocol B: the number of the next document within its shift."""
    chain: str = ""
    """On protocol B: the hash of the last document."""
    z_number: int = 0
    """The number of the last Z."""
    shift_open: bool = False
    opened_at: int = 0
    safe: int = 0
    """Cash in the drawer; a Z does not reset it."""
    session: Session | None = None
    offline: Offline | None = None
    offline_month: OfflineMonth = OfflineMonth()
    lost: LostOnline | None = None
    """Set from when its tag and number are freed until it was made again offline."""
    voids: tuple[int, ...] = ()
    """Operations whose document had the next number and, as the tax service said, never arrived: it may come late."""
    unheard: tuple[UnheardReceipt, ...] = ()
    """Receipts whose caller heard no success, before the last document."""
    last: LastDocument = msgspec.field(default_factory=LastDocument)
    last_receipt: int = 0
    """The local number of the last document that moved money."""
    totals: ShiftTotals = msgspec.field(default_factory=ShiftTotals)

    @property
    def shift(self) -> int:
        """The number of the current shift's Z; of the next one while the shift is closed."""
        return self.z_number + 1

    @property
    def offline_numbers_left(self) -> int:
        """How many documents can still be made offline."""
        if self.session is None:
            return 0
        if not self.session.id:
            return len(self.session.numbers)
        return SESSION_NUMBERS - (self.offline.ordinal if self.offline is not None else 0)

    def report(self) -> ShiftTotals:
        """The totals for a report made now."""
        return replace(self.totals, safe=self.safe)

    def copy(self) -> RegisterState:
        """A copy that `apply` can change: it shares what `apply` replaces, such as the lines of the totals."""
        totals = replace(self.totals)
        totals.pays, totals.money = totals.pays.copy(), totals.money.copy()
        totals.cash, totals.taxes = totals.cash.copy(), totals.taxes.copy()
        offline = None if self.offline is None else replace(self.offline)
        return replace(self, totals=totals, offline=offline)


encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(RegisterState).decode


def apply(
    state: RegisterState,
    document: Document,
    fiscal_number: str,
    sent: bytes,
    session: Session | None = None,
    link: str = "",
) -> None:
    """Change ``state`` by ``document``, accepted as ``fiscal_number``.

    A line of the totals is replaced by a changed one: a copy of the state may share it (`RegisterState.copy`).

    :param sent: its signed bytes, whose hash is in the next offline document.
    :param session: an offline session that was granted with the acceptance.
    :param link: on protocol B: its hash, which the next document names.
    """
    kind = document.kind
    if session is not None:
        state.session = session.with_more(state.session)
    if document.place is not None:
        _go_on(state, document, link)
    if kind == documents.OFFLINE_BEGIN:
        by_itself = document.caller.source == BY_ITSELF
        lost = state.lost.operation if state.lost is not None else 0
        state.offline = Offline(first=document.number, since=document.at, by_itself=by_itself, lost=lost)
    if kind == documents.OFFLINE_END:
        if state.offline is not None:
            state.offline_month = _spent(state.offline_month, state.offline)
        state.offline = None
    elif state.offline is not None:
        state.offline.ordinal += 1
        state.offline.made = document.at
        state.offline.hash = document_hash(sent) if kind != documents.OFFLINE_BEGIN else ""
        if kind in (documents.Z, documents.STORNO) or kind in RECEIPTS:
            state.offline.last = document.at
        if kind != documents.OFFLINE_BEGIN:
            state.lost = None
    state.next_number, state.voids = document.number + 1, ()
    if kind == documents.NUMBERS:
        # Nobody asked for it, so the last document and the shift's range stay.
        return
    state.last = LastDocument(document.number, fiscal_number, document.caller.task, kind)
    if kind == documents.OPEN:
        state.shift_open = True
        state.opened_at = document.at
        if document.drawer is not None:
            state.safe = document.drawer
        state.totals = ShiftTotals(first_docno=document.number, safe_start=state.safe)
    state.totals.last_docno = document.number
    if kind == documents.STORNO:
        assert document.reverses is not None
        _count(state, document.reverses.kind, document, -1)
        _drop_empty(state.totals)
    elif kind in RECEIPTS:
        state.last_receipt = document.number
        if kind == documents.SALE:
            state.totals.last_docno_p = document.number
        elif kind == documents.RETURN:
            state.totals.last_docno_m = document.number
        _count(state, kind, document, 1)
    elif kind == documents.Z:
        state.z_number = document.shift
        if document.place is not None:
            state.shift_open = False
    elif kind == documents.CLOSE:
        state.shift_open = False


def _go_on(state: RegisterState, document: Document, link: str) -> None:
    """The numbers and the chain of a register on protocol B (docs/reference/tax-cabinet.md#numbers)."""
    assert document.place is not None
    state.chain = link
    # A question for numbers has the next document's number and leaves it free.
    state.local = document.place + (document.kind != documents.NUMBERS)
    if document.offline is not None and state.session is not None:
        left = tuple(number for number in state.session.numbers if number != document.offline.number)
        state.session = replace(state.session, numbers=left)


def _spent(month: OfflineMonth, session: Offline) -> OfflineMonth:
    """The month with a session that has ended."""
    return OfflineMonth(_month(session.since), month.before(session.since) + max(session.last - session.since, 0))


def _month(at: int) -> str:
    return f"{kyiv(at):%Y%m}"


def _count(state: RegisterState, kind: str, document: Document, sign: int) -> None:
    """Add the money of ``document`` (``sign`` 1), or take it out again (-1)."""
    totals, receipt, cash = state.totals, document.receipt, document.cash
    if kind in (documents.SALE, documents.RETURN):
        assert receipt is not None
        _add_receipt(totals, receipt, kind == documents.SALE, sign)
        state.safe += (sign if kind == documents.SALE else -sign) * receipt.in_cash
    elif kind in (documents.INCOME, documents.EXPENSE):
        assert receipt is not None
        for pay in receipt.pays:
            _add(totals.money, pay.type, pay.name, kind == documents.INCOME, sign * pay.sum)
        state.safe += (sign if kind == documents.INCOME else -sign) * receipt.in_cash
    else:
        assert cash is not None
        came_in = kind == documents.CASH_IN
        if kind == documents.WITHDRAWAL:
            totals.count_14 += sign
        lines = totals.cash if kind == documents.WITHDRAWAL else totals.money
        _add(lines, cash.type, cash.name, came_in, sign * cash.sum)
        state.safe += (sign if came_in else -sign) * cash.sum


def _drop_empty(totals: ShiftTotals) -> None:
    """Remove lines that are all zero: a report does not show what was taken back."""
    for name in _LINES:
        lines: dict[int, PaySum | TaxSum] = getattr(totals, name)
        for code in [code for code, line in lines.items() if not any(getattr(line, name) for name in _summed(line))]:
            del lines[code]


def _summed(line: PaySum | TaxSum) -> Iterator[str]:
    """The members of a line that are sums, not names or rates."""
    for name in line.__struct_fields__:
        if isinstance(getattr(line, name), int) and not name.endswith("percent"):
            yield name


def _add(lines: dict[int, PaySum], code: int, name: str, came_in: bool, amount: int) -> PaySum:
    line = lines.get(code)
    line = lines[code] = PaySum(name) if line is None else replace(line)
    if came_in:
        line.sum_p += amount
    else:
        line.sum_m += amount
    return line


def _add_receipt(totals: ShiftTotals, receipt: Receipt, sold: bool, sign: int) -> None:
    if sold:
        totals.count_p += sign
        totals.base_p += sign * receipt.turnover
        totals.disc_p += sign * receipt.discount
        totals.calc_p += sign * receipt.sum_topay
    else:
        totals.count_m += sign
        totals.base_m += sign * receipt.turnover
        totals.disc_m += sign * receipt.discount
        totals.calc_m += sign * receipt.sum_topay
    for pay in receipt.pays:
        line = _add(totals.pays, pay.type, pay.name, sold, sign * pay.exact)
        if not pay.round:
            continue
        up, down = sign * max(pay.round, 0), sign * max(-pay.round, 0)
        if sold:
            line.round_pu += up
            line.round_pd += down
        else:
            line.round_mu += up
            line.round_md += down
    turnovers: dict[int, int] = {}
    for good in receipt.goods:
        turnovers[good.taxgrp] = turnovers.get(good.taxgrp, 0) + sign * good.cost
    for tax in receipt.taxes:
        turnover = turnovers.get(tax.gr_code, 0)
        sums = totals.taxes.get(tax.gr_code)
        if sums is None:
            sums = TaxSum(tax.tax_name, tax.tax_fname, tax.tax_lit, tax.tax_percent, tax.ex_name, tax.ex_percent)
        else:
            sums = replace(sums)
        totals.taxes[tax.gr_code] = sums
        if sold:
            sums.base_sum_p += sign * tax.base_sum
            sums.base_tax_sum_p += sign * tax.base_tax_sum
            sums.base_ex_sum_p += sign * tax.base_ex_sum
            sums.tax_sum_p += sign * tax.tax_sum
            sums.ex_sum_p += sign * tax.ex_sum
            sums.turnover_p += turnover
        else:
            sums.base_sum_m += sign * tax.base_sum
            sums.base_tax_sum_m += sign * tax.base_tax_sum
            sums.base_ex_sum_m += sign * tax.base_ex_sum
            sums.tax_sum_m += sign * tax.tax_sum
            sums.ex_sum_m += sign * tax.ex_sum
            sums.turnover_m += turnover


def together(reports: Iterable[ShiftTotals]) -> ShiftTotals:
    """The totals of several shifts as one, oldest first (tasks 12 and 13)."""
    whole = ShiftTotals()
    for index, report in enumerate(reports):
        for name in _COUNTS:
            setattr(whole, name, getattr(whole, name) + getattr(report, name))
        for name in _LINES:
            _add_lines(getattr(whole, name), getattr(report, name))
        if not index:
            whole.first_docno, whole.safe_start = report.first_docno, report.safe_start
        whole.last_docno, whole.safe = report.last_docno, report.safe
        whole.last_docno_p = report.last_docno_p or whole.last_docno_p
        whole.last_docno_m = report.last_docno_m or whole.last_docno_m
    return whole


_COUNTS = ("count_p", "count_m", "count_14", "base_p", "base_m", "disc_p", "disc_m", "calc_p", "calc_m")
_LINES = ("pays", "money", "cash", "taxes")


def _add_lines(whole: dict[int, PaySum | TaxSum], part: dict[int, PaySum | TaxSum]) -> None:
    for code, line in part.items():
        known = whole.get(code)
        if known is None:
            whole[code] = replace(line)
            continue
        for name in _summed(line):
            setattr(known, name, getattr(known, name) + getattr(line, name))
