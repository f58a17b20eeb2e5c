"""The machine of MG registers: one POST is one receipt, and the journal tells what became of it.

A break leaves nothing open. The journal has one entry more than before, or it has not; an entry is ours when kind,
sum, names, quantities and prices are (docs/reference/registers.md#mg).
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from zope.interface import implementer

from dmtwisted.devices.driver import Surroundings
from dmtwisted.documents import documents
from dmtwisted.registers.drivers.mg import MgSettings
from dmtwisted.registers.wired.interface import (
    About,
    Figures,
    IMachine,
    Made,
    NotMade,
    Slip,
    SlipLine,
    Unclear,
)
from dmtwisted.registers.wired.lines import endpoint_of
from dmtwisted.results import Text
from protocols.registers.mg import documents as mg
from protocols.registers.mg.digest import Login
from protocols.registers.mg.documents import Document, Entry, Kind, Line, State
from protocols.registers.mg.register import SERVICE, X_REPORT, Z_REPORT, MgRegister
from protocols.registers.troubles import DeviceRefused, Trouble

KINDS = {
    documents.SALE: Kind.SALE,
    documents.RETURN: Kind.RETURN,
    documents.CASH_IN: Kind.CASH,
    documents.CASH_OUT: Kind.CASH,
}

JOURNAL = "journal"
"""The last entry of the journal, among the figures that only this machine needs."""

PAUSE_S = 3.0
"""Seconds after which a journal that has not grown is read again: the register may be at work still (L)."""

LOOK = Text(
    "Журнал каси має схожий чек. Порівняйте останній чек на стрічці з цим.",
    "The register's journal has a similar receipt. Compare the last receipt on paper with this one.",
)
ANOTHER = Text(
    "Журнал каси почався заново. Подивіться на її останній чек.",
    "The register's journal began anew. Look at its last receipt.",
)


@implementer(IMachine)
class MgMachine:
    """An MG register."""

    kinds = frozenset({*KINDS, documents.Z})

    def __init__(self, register: MgRegister, clock: IReactorTime) -> None:
        self._register, self._clock = register, clock
        self._serial = ""
        self.lines = 0
        """How often another register has answered; each request has a connection of its own."""

    async def about(self) -> About:
        """Which machine it is."""
        state, numbers = await self._state(), await self._register.information()
        named = {name: str(numbers.get(name, "")).strip() for name in ("dev_zn", "dev_fn", "dev_ver")}
        return About(state.model, named["dev_zn"] or state.serial, named["dev_fn"], named["dev_ver"])

    async def _state(self) -> State:
        state = await self._register.state()
        if state.serial != self._serial:
            self._serial = state.serial
            self.lines += 1
        return state

    async def figures(self) -> Figures:
        """What it says of itself."""
        state = await self._state()
        forms = {each.row: each.amount for each in await self._register.sums()}
        return Figures(shift_open=state.shift_open, z=state.z - 1, forms=forms, more={JOURNAL: state.chk_id})

    async def make(self, slip: Slip, before: Figures) -> Made:
        """Register a slip: see `IMachine`. The register checks the payments against its total itself."""
        if slip.kind == documents.Z:
            await self._register.report(Z_REPORT)
            return Made(str((before.z or 0) + 1))
        try:
            entry = await self._register.register(document_of(slip))
        except DeviceRefused as refused:
            if refused.meaning.trouble is not Trouble.ARTICLE:
                raise
            # A code that was sold with another name or tax in this shift.
            entry = await self._register.register(document_of(slip, own_codes=True))
        return Made(str(entry.number))

    async def became(self, slip: Slip, before: Figures) -> Made | NotMade | Unclear:
        """What became of a slip: see `IMachine`."""
        found = await self._found(slip, before)
        if isinstance(found, NotMade):
            await deferLater(self._clock, PAUSE_S)
            found = await self._found(slip, before)
        return found

    async def _found(self, slip: Slip, before: Figures) -> Made | NotMade | Unclear:
        state = await self._state()
        if slip.kind == documents.Z:
            return Made(str(state.z - 1)) if state.z - 1 > (before.z or 0) else NotMade()
        last = before.more[JOURNAL]
        if state.chk_id < last:
            return Unclear(ANOTHER)
        entries = await self._register.journal(last + 1) if state.chk_id > last else []
        alike = [entry for entry in entries if entry.id > last and _alike(slip, entry)]
        for entry in alike:
            if _same_goods(entry.document, document_of(slip)):
                return Made(str(entry.number))
        return Unclear(LOOK) if alike else NotMade()

    async def x_report(self) -> None:
        """Print an X report."""
        await self._register.report(X_REPORT)

    async def copy_last(self) -> None:
        """Print a copy of the last receipt."""
        await self._register.proceed("lastreceipt")

    async def print_text(self, lines: tuple[str, ...]) -> None:
        """Print a document of text."""
        await self._register.register(Document(Kind.TEXT, tuple(map(mg.Text, lines))))

    async def open_drawer(self) -> None:
        """Open the cash drawer."""
        await self._register.proceed("openbox")

    async def let_go(self) -> None:
        """As `close`."""

    def close(self) -> None:
        """Every request has a connection of its own; none is left."""


def document_of(slip: Slip, own_codes: bool = False) -> Document:
    """The document of a slip.

    :param own_codes: whether codes are made of name and tax, because those of the till were refused.
    """
    if slip.kind in (documents.CASH_IN, documents.CASH_OUT):
        return Document(Kind.CASH, (mg.Cash(slip.total if slip.kind == documents.CASH_IN else -slip.total),))
    lines: list[Line] = [mg.Comment(text) for text in slip.above]
    for line in slip.lines:
        code = line.code if line.code and not own_codes else code_of(line)
        goods = mg.Sale(code, line.name, line.quantity, line.price, line.tax + 1)
        lines.append(replace(goods, uktzed=line.uktzed or None, excise=line.marks))
        if line.discount:
            lines.append(mg.Discount(-line.discount))
        if line.text:
            lines.append(mg.Comment(line.text))
    for pay in slip.payments:
        rrn, card, bank, terminal, approval = (
            text or None for text in (pay.rrn, pay.card, pay.bank, pay.terminal, pay.auth_code)
        )
        lines.append(mg.Payment(pay.form, pay.sum, rrn, card, bank, terminal, approval))
    lines += [mg.Comment(text) for text in slip.below]
    return Document(KINDS[slip.kind], tuple(lines))


def code_of(line: SlipLine) -> str:
    """A code of 13 digits that the same name and tax always have."""
    digest = blake2b(f"{line.tax} {line.name}".encode(), digest_size=8).digest()
    return f"{int.from_bytes(digest) % 10**13:013}"


def _alike(slip: Slip, entry: Entry) -> bool:
    """Whether an entry has the kind and the sum of a slip."""
    document = document_of(slip)
    if entry.document.kind is not document.kind:
        return False
    if document.kind is Kind.CASH:
        return _moved(entry.document) == _moved(document)
    return slip.total == (_sum_of(entry.document) if entry.total is None else entry.total)


def _moved(document: Document) -> int:
    return sum(line.amount for line in document.lines if isinstance(line, mg.Cash))


def _sum_of(document: Document) -> int:
    goods = sum((line.quantity * line.price + 500) // 1000 for line in document.lines if isinstance(line, mg.Sale))
    return goods + sum(line.amount or 0 for line in document.lines if isinstance(line, mg.Discount))


def _same_goods(theirs: Document, ours: Document) -> bool:
    """Whether an entry has the goods of our document; the register may have cut the names."""
    there, here = ([line for line in each.lines if isinstance(line, mg.Sale)] for each in (theirs, ours))
    return len(there) == len(here) and all(
        (one.quantity, one.price) == (own.quantity, own.price)
        and own.name.casefold().startswith(one.name.strip().casefold())
        for one, own in zip(there, here, strict=True)
    )


def machine(settings: MgSettings, around: Surroundings) -> MgMachine:
    """The machine at the address of the settings."""
    login = Login(settings.user, settings.password) if settings.password else Login(settings.user, SERVICE.password)
    endpoint = endpoint_of(settings, around.reactor)
    return MgMachine(MgRegister(around.reactor, endpoint, login, host=settings.host), around.reactor)
