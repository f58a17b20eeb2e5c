"""What is inside every simulated hardware register: the document, the article table, sums, paper, the shift.

The simulators of the wires translate commands into its methods, and its refusals into their own codes. It refuses
before it does anything: a refused command changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from enum import Enum

from protocols.registers.troubles import Trouble

DAY = 24 * 3600.0
CASH_FORM = 0
BY_HAND = -1
"""The article of sales at the register's own keyboard."""


class Why(Enum):
    """Why a register refuses."""

    PAPER = Trouble.NO_PAPER, "paper"
    COVER = Trouble.COVER_OPEN, "cover"
    MEMORY_FULL = Trouble.MEMORY_FULL, "memory"
    SHIFT_OVER = Trouble.SHIFT_OVER, "24 h"
    NOT_FISCALISED = Trouble.NOT_FISCALISED, "not fiscalised"
    UNSENT = Trouble.UNSENT, "nothing sent for 72 h"
    SHIFT_CLOSED = Trouble.WRONG_MODE, "shift closed"
    NEED_Z = Trouble.WRONG_MODE, "before Z"
    OPEN = Trouble.WRONG_MODE, "a document is open"
    NOT_OPEN = Trouble.WRONG_MODE, "no document is open"
    ORDER = Trouble.WRONG_MODE, "not at this place of the document"
    UNPAID = Trouble.WRONG_MODE, "not paid"
    FORM = Trouble.WRONG_MODE, "form of payment"
    OVERPAID = Trouble.WRONG_MODE, "more than is due"
    DISCOUNT = Trouble.BAD_SYNTAX, "discount"
    OPERATOR = Trouble.ARTICLE, "operator"
    PASSWORD = Trouble.BAD_PASSWORD, "password"
    ARTICLE_UNKNOWN = Trouble.ARTICLE, "article unknown"
    ARTICLE_CHANGED = Trouble.ARTICLE, "article differs"
    ARTICLES_FULL = Trouble.ARTICLE, "article table full"
    TAX = Trouble.TAX_FORBIDDEN, "tax"
    CASH_SHORT = Trouble.CASH_SHORT, "cash"
    SUM = Trouble.OVERFLOW, "sum"
    TOO_MANY = Trouble.OVERFLOW, "too many lines"
    QUANTITY = Trouble.BAD_SYNTAX, "quantity"


class Refuses(Exception):
    """The register does not do it."""

    def __init__(self, why: Why) -> None:
        super().__init__(why.value[1])
        self.why = why


class Kind(Enum):
    """Kinds of documents."""

    SALE = "sale"
    RETURN = "return"
    CASH = "cash"
    TEXT = "text"


class AfterCut(Enum):
    """What a register does with an open document when its power is back."""

    KEEPS = "keeps"
    VOIDS = "voids"


@dataclass(frozen=True)
class IronSettings:
    """The capacities of a register and its habits; amounts in kopecks.

    :param reports: Z reports that the fiscal memory has room for.
    :param needs_operators: whether operators must be written before a document.
    """

    articles: int = 10_000
    lines: int = 500
    reports: int = 1_000
    taxes: int = 5
    forms: int = 4
    largest: int = 999_999_999
    after_cut: AfterCut = AfterCut.KEEPS
    needs_operators: bool = False
    epoch: float = 1_750_000_000.0
    """Unix time when the simulator's clock is 0."""


@dataclass(frozen=True)
class Article:
    """A row of the article table."""

    name: str
    tax: int
    price: int = 0


@dataclass(frozen=True)
class Sold:
    """A line of a document; ``cost`` is after its discount."""

    article: int
    name: str
    tax: int
    quantity: int
    price: int
    cost: int


@dataclass
class Document:
    """The open document."""

    kind: Kind
    operator: int = 0
    lines: list[Sold] = field(default_factory=list)
    paid: dict[int, int] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    totalled: bool = False
    changed: bool = False
    """Whether the last line has its discount."""
    moved: int = 0
    """Cash in or out, in a document of cash."""

    @property
    def total(self) -> int:
        """The sum of the lines."""
        return sum(line.cost for line in self.lines)

    @property
    def rest(self) -> int:
        """What is not paid yet; negative is change."""
        return self.total - sum(self.paid.values())

    def by_tax(self, count: int) -> tuple[int, ...]:
        """The sums of the tax groups."""
        return tuple(sum(line.cost for line in self.lines if line.tax == tax) for tax in range(count))


@dataclass(frozen=True)
class Receipt:
    """A document that the register has registered and printed."""

    number: int
    kind: Kind
    lines: tuple[Sold, ...]
    total: int
    """In a document of cash what was put in, negative when it was taken out."""
    payments: tuple[tuple[int, int], ...]
    """Form and sum, after change."""
    change: int
    z: int
    at: float


def cost_of(quantity: int, price: int) -> int:
    """Thousandths times kopecks, half a kopeck upwards."""
    return (quantity * price + 500) // 1000


class Iron:
    """A register.

    :param now: the seconds of the simulator's clock.
    """

    def __init__(self, now: Callable[[], float], settings: IronSettings | None = None) -> None:
        self._now, self.settings = now, settings or IronSettings()
        self.ledger: list[Receipt] = []
        """Every document that was closed, service documents too."""
        self.document: Document | None = None
        self.voided = 0
        self.number = 0
        """Of the last document, a voided one too."""
        self.articles: dict[int, Article] = {}
        self.used: set[int] = set()
        """Articles sold since the last Z report; their name and tax cannot change."""
        self.operators: dict[int, str] = {}
        self.drawer = 0
        self.sold: dict[int, int] = {}
        """Sums of sales by form of payment since the last Z report."""
        self.returned: dict[int, int] = {}
        self.cash_in = self.cash_out = 0
        self.receipts = self.returns = 0
        """Counts since the last Z report."""
        self.z = 0
        """Number of the last Z report."""
        self.shift_since: float | None = None
        self.last_z_at: float | None = None
        self.paper: int | None = None
        """Lines that are left; `None` does not end."""
        self.cover_open = False
        self.stuck: Why | None = None
        """Why it refuses the next command that prints."""
        self.fiscalised = True
        self.unsent = False
        """Whether it sells no more because the tax service has heard nothing for 72 hours."""
        self.copied = 0
        self.opened_drawer = 0
        self.drift = 0.0
        """What the clock was set forward."""

    # What is asked.

    @property
    def time(self) -> float:
        """Unix time of the register's clock."""
        return self.settings.epoch + self._now() + self.drift

    @property
    def shift_open(self) -> bool:
        """Whether anything was registered since the last Z report."""
        return self.shift_since is not None

    @property
    def shift_over(self) -> bool:
        """Whether the shift is longer than a day."""
        return self.shift_since is not None and self._now() - self.shift_since >= DAY

    @property
    def memory_full(self) -> bool:
        """Whether there is no room for another Z report."""
        return self.z >= self.settings.reports

    def turnover(self, form: int) -> int:
        """Sales less returns of a form of payment."""
        return self.sold.get(form, 0) - self.returned.get(form, 0)

    def open_document(self, *kinds: Kind) -> Document:
        """The open document, which must be of one of ``kinds`` if any are given."""
        if self.document is None:
            raise Refuses(Why.NOT_OPEN)
        if kinds and self.document.kind not in kinds:
            raise Refuses(Why.ORDER)
        return self.document

    # Tables.

    def _may_register(self) -> None:
        if not self.fiscalised:
            raise Refuses(Why.NOT_FISCALISED)
        if self.memory_full:
            raise Refuses(Why.MEMORY_FULL)

    def write_article(self, code: int, article: Article) -> None:
        """Write an article; one that was sold in this shift keeps name and tax."""
        known = self.articles.get(code)
        if article.tax not in range(self.settings.taxes):
            raise Refuses(Why.TAX)
        if known is None and len(self.articles) >= self.settings.articles:
            raise Refuses(Why.ARTICLES_FULL)
        if known is not None and code in self.used and (known.name, known.tax) != (article.name, article.tax):
            raise Refuses(Why.ARTICLE_CHANGED)
        self.articles[code] = article

    # The document.

    def open(self, kind: Kind, operator: int = 0) -> None:
        """Open a document."""
        if self.document is not None:
            raise Refuses(Why.OPEN)
        if kind is not Kind.TEXT:
            self._may_register()
            if self.unsent:
                raise Refuses(Why.UNSENT)
            if self.shift_over:
                raise Refuses(Why.SHIFT_OVER)
            if self.settings.needs_operators and operator not in self.operators:
                raise Refuses(Why.OPERATOR)
        self.print()
        self.document = Document(kind, operator)
        if kind is not Kind.TEXT and self.shift_since is None:
            self.shift_since = self._now()

    def sell(self, code: int, quantity: int, price: int | None = None, cost: int | None = None) -> Sold:
        """Add a line of an article in the table."""
        document = self.open_document(Kind.SALE, Kind.RETURN)
        article = self.articles.get(code)
        if document.totalled or document.paid:
            raise Refuses(Why.ORDER)
        if article is None:
            raise Refuses(Why.ARTICLE_UNKNOWN)
        if quantity <= 0:
            raise Refuses(Why.QUANTITY)
        if len(document.lines) >= self.settings.lines:
            raise Refuses(Why.TOO_MANY)
        price = article.price if price is None else price
        cost = cost_of(quantity, price) if cost is None else cost
        if not 0 <= price <= self.settings.largest or document.total + cost > self.settings.largest:
            raise Refuses(Why.SUM)
        self.print()
        line = Sold(code, article.name, article.tax, quantity, price, cost)
        document.lines.append(line)
        document.changed = False
        self.used.add(code)
        return line

    def change(self, amount: int) -> Sold:
        """A discount (negative) or a markup on the last line, right after it."""
        document = self.open_document(Kind.SALE, Kind.RETURN)
        if document.totalled or not document.lines or document.changed:
            raise Refuses(Why.ORDER)
        line = document.lines[-1]
        if line.cost + amount < 0:
            raise Refuses(Why.DISCOUNT)
        self.print()
        document.lines[-1] = line = replace(line, cost=line.cost + amount)
        document.changed = True
        return line

    def change_all(self, amount: int) -> int:
        """A discount or a markup on the lines so far, in proportion to them; the new total."""
        document = self.open_document(Kind.SALE, Kind.RETURN)
        total = document.total
        if document.paid or not document.lines:
            raise Refuses(Why.ORDER)
        if not 0 <= total + amount <= self.settings.largest or (not total and amount):
            raise Refuses(Why.DISCOUNT)
        self.print()
        left = amount
        for place, line in enumerate(document.lines):
            part = left if place == len(document.lines) - 1 else amount * line.cost // (total or 1)
            document.lines[place] = replace(line, cost=line.cost + part)
            left -= part
        document.changed = True
        return document.total

    def percent(self, hundredths: int) -> Sold:
        """The same as `change`, in hundredths of a percent."""
        document = self.open_document(Kind.SALE, Kind.RETURN)
        cost = document.lines[-1].cost if document.lines else 0
        sign = -1 if hundredths < 0 else 1
        return self.change(sign * ((cost * abs(hundredths) + 5_000) // 10_000))

    def total(self) -> int:
        """Total the document: no line can be added."""
        document = self.open_document(Kind.SALE, Kind.RETURN)
        if not document.totalled:
            self.print()
        document.totalled = True
        return document.total

    def pay(self, form: int, amount: int) -> int:
        """Pay; what is left to pay, negative when it is change."""
        document = self.open_document(Kind.SALE, Kind.RETURN)
        if form not in range(self.settings.forms):
            raise Refuses(Why.FORM)
        if amount < 0 or (document.rest <= 0 and document.paid):
            raise Refuses(Why.ORDER)
        if amount > document.rest and (form != CASH_FORM or document.kind is Kind.RETURN):
            raise Refuses(Why.OVERPAID)
        # A part of a payment that is missing in the drawer is noticed here, before anything is printed.
        if document.kind is Kind.RETURN and form == CASH_FORM and amount > self.drawer:
            raise Refuses(Why.CASH_SHORT)
        self.print()
        document.totalled = True
        document.paid[form] = document.paid.get(form, 0) + amount
        return document.rest

    def move_cash(self, amount: int) -> None:
        """Put cash in or take it out, in a document of cash."""
        document = self.open_document(Kind.CASH)
        if self.drawer + document.moved + amount < 0:
            raise Refuses(Why.CASH_SHORT)
        self.print()
        document.moved += amount

    def cash(self, amount: int) -> Receipt | None:
        """A whole document of cash at once."""
        if self.drawer + amount < 0:
            raise Refuses(Why.CASH_SHORT)
        if self.paper is not None and self.paper < 3:
            raise Refuses(Why.PAPER)
        self.open(Kind.CASH)
        self.move_cash(amount)
        return self.close()

    def sell_by_hand(self, amount: int) -> Receipt | None:
        """A sale for cash at the register's own keyboard."""
        self.articles[BY_HAND] = Article("Товар", 0)
        self.operators.setdefault(1, "")
        self.open(Kind.SALE, 1)
        self.sell(BY_HAND, 1000, amount)
        self.pay(CASH_FORM, amount)
        return self.close()

    def take_back(self, code: int, quantity: int) -> None:
        """Remove the last line of an article with this quantity."""
        document = self.open_document(Kind.SALE, Kind.RETURN)
        if document.totalled or document.paid:
            raise Refuses(Why.ORDER)
        for place in reversed(range(len(document.lines))):
            line = document.lines[place]
            if (line.article, line.quantity) == (code, quantity):
                self.print()
                del document.lines[place]
                document.changed = True
                return
        raise Refuses(Why.ARTICLE_UNKNOWN)

    def text(self, line: str) -> None:
        """Print a line in the open document."""
        document = self.open_document()
        self.print()
        document.texts.append(line)

    def close(self) -> Receipt | None:
        """Close the document; `None` for one of text, which is not registered."""
        document = self.open_document()
        if document.kind in (Kind.SALE, Kind.RETURN) and (not document.lines or not document.paid):
            raise Refuses(Why.UNPAID)
        if document.rest > 0:
            raise Refuses(Why.UNPAID)
        self.print()
        self.document = None
        if document.kind is Kind.TEXT:
            return None
        change = -document.rest if document.kind is not Kind.CASH else 0
        payments = {**document.paid}
        if change:
            payments[CASH_FORM] -= change
        self.number += 1
        receipt = Receipt(
            self.number,
            document.kind,
            tuple(document.lines),
            document.moved if document.kind is Kind.CASH else document.total,
            tuple(sorted(payments.items())),
            change,
            self.z + 1,
            self.time,
        )
        self._book(receipt)
        return receipt

    def _book(self, receipt: Receipt) -> None:
        self.ledger.append(receipt)
        if receipt.kind is Kind.CASH:
            self.drawer += receipt.total
            self.cash_in += max(receipt.total, 0)
            self.cash_out += max(-receipt.total, 0)
            return
        sums, sign = (self.sold, 1) if receipt.kind is Kind.SALE else (self.returned, -1)
        for form, amount in receipt.payments:
            sums[form] = sums.get(form, 0) + amount
            if form == CASH_FORM:
                self.drawer += sign * amount
        if receipt.kind is Kind.SALE:
            self.receipts += 1
        else:
            self.returns += 1

    def void(self) -> None:
        """Cancel the document; it gets a number, and its paper says that it is void."""
        document = self.open_document()
        self.print()
        self._void(document)

    def _void(self, document: Document) -> None:
        self.document = None
        if document.kind is not Kind.TEXT:
            self.number += 1
            self.voided += 1

    # Everything else.

    def x_report(self) -> None:
        """Print the sums."""
        if self.document is not None:
            raise Refuses(Why.OPEN)
        self.print()

    def z_report(self) -> int:
        """Close the shift; the number of the report."""
        if self.document is not None:
            raise Refuses(Why.OPEN)
        self._may_register()
        self.print()
        self.z += 1
        self.last_z_at = self.time
        self.shift_since = None
        self.used.clear()
        self.sold, self.returned = {}, {}
        self.cash_in = self.cash_out = self.receipts = self.returns = 0
        return self.z

    def copy(self) -> None:
        """Print the last receipt again."""
        if self.document is not None:
            raise Refuses(Why.OPEN)
        if not self.ledger:
            raise Refuses(Why.ORDER)
        self.print()
        self.copied += 1

    def print(self) -> None:
        """Use one line of the paper."""
        stuck, self.stuck = self.stuck, None
        if stuck is not None:
            raise Refuses(stuck)
        if self.cover_open:
            raise Refuses(Why.COVER)
        if self.paper == 0:
            raise Refuses(Why.PAPER)
        if self.paper is not None:
            self.paper -= 1

    def keep(self) -> Callable[[], None]:
        """Remember everything; the function that is returned brings it back."""
        kept = {name: copy(value) for name, value in vars(self).items() if name not in ("_now", "settings", "stuck")}
        return lambda: vars(self).update(kept)

    def power_cut(self) -> None:
        """The power fails and comes back."""
        if self.document is not None and self.settings.after_cut is AfterCut.VOIDS:
            self._void(self.document)
