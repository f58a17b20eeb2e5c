"""A machine: one hardware register on its wire, as the engine needs it.

The engine draws up the document, keeps its own totals, and stores the intent. The intent holds the `Slip` and the
`Figures` that the machine had before, so that after any break the machine can be asked what became of the slip:

1. `IMachine.figures` is read; nothing has happened;
2. slip and figures are stored with the intent; *power fails:* `IMachine.became` finds that nothing happened;
3. `IMachine.make` sends it; *power fails at any byte, on either side:* `IMachine.became` reads the machine, takes
   back a document that is open, and says whether the slip was registered;
4. the outcome is stored with the machine's number.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from zope.interface import Attribute, Interface

from dmtwisted.results import Text


class SlipLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of goods; ``cost`` is price times quantity, rounded, before the discount."""

    name: str
    quantity: int
    """Thousandths."""
    price: int
    """Kopecks."""
    cost: int
    tax: int
    """The machine's tax group, from 0."""
    discount: int = 0
    """Kopecks; negative is a markup."""
    code: str = ""
    uktzed: str = ""
    marks: tuple[str, ...] = ()
    text: str = ""
    """Printed under the line."""


class SlipPayment(msgspec.Struct, frozen=True, omit_defaults=True):
    """A payment; ``sum`` in kopecks is what was given, in cash with what is returned as change."""

    form: int
    """The machine's form of payment, in its own numbering."""
    sum: int
    cash: bool = False
    rrn: str = ""
    card: str = ""
    bank: str = ""
    terminal: str = ""
    auth_code: str = ""


class Slip(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the machine is to register; ``kind`` is one of `dmtwisted.documents.documents`."""

    kind: str
    """``sale``, ``return``, ``cash_in``, ``cash_out`` or ``z``."""
    cashier: str = ""
    lines: tuple[SlipLine, ...] = ()
    payments: tuple[SlipPayment, ...] = ()
    total: int = 0
    """Kopecks: what the lines come to, which the machine's subtotal must equal; the amount of cash in or out."""
    change: int = 0
    purchase: str = ""
    """Of a return: the number of the sale's receipt."""
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    """Lines of text above and below the goods."""


class Figures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a machine says of itself; `None` is what it does not tell. Amounts in kopecks, since the last Z report."""

    shift_open: bool | None = None
    document_open: bool = False
    number: int | None = None
    """Of the last registered document."""
    z: int | None = None
    """Of the last Z report."""
    drawer: int | None = None
    sales: int | None = None
    returns: int | None = None
    forms: dict[int, int] = {}
    """Sales less returns by form of payment."""
    sold: int | None = None
    returned: int | None = None
    """How many receipts of sales and of returns."""
    more: dict[str, int] = {}
    """What only this protocol's machine needs to tell whether a slip was registered."""


class About(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which machine it is."""

    model: str = ""
    serial: str = ""
    fiscal_number: str = ""
    firmware: str = ""


@dataclass(frozen=True)
class Made:
    """The machine has registered the slip; ``number`` is its number there, empty when it does not tell."""

    number: str


@dataclass(frozen=True)
class NotMade:
    """The machine has certainly not registered the slip, and no document is open on it."""


@dataclass(frozen=True)
class Unclear:
    """The machine answers, but cannot tell what became of the slip: a person has to look at its paper."""

    advice: Text


class IMachine(Interface):
    """One hardware register. The caller holds its turn: one call at a time.

    Every method may raise these; what has no other meaning in a method's own list is a fault before any effect:

    * `protocols.errors.NotReached`: there was no line; nothing was sent;
    * `protocols.registers.troubles.DeviceRefused`: the machine refused, and nothing was registered;
    * another `protocols.errors.WireError`: the answer was lost.
    """

    kinds = Attribute("The kinds of slips that it can register, a frozenset of texts.")
    """Others are refused before anything happens."""

    lines = Attribute("How many lines were opened to it, an int: another machine may be at the end of a new one.")

    async def about() -> About:
        """Which machine it is."""

    async def figures() -> Figures:
        """What it says of itself; has no effect."""

    async def make(slip: Slip, before: Figures) -> Made:
        """Register a slip that `figures` were read for; its total is compared with ours before the first payment.

        :raises DeviceRefused: the slip is not registered, and what had been opened for it is taken back.
        :raises NotReached: it is not registered, and no document is open.
        :raises WireError: the outcome is unknown; `became` finds it out.
        """

    async def became(slip: Slip, before: Figures) -> Made | NotMade | Unclear:
        """What became of a slip. An open document that is not paid in full is taken back, one that is paid is closed.

        :raises WireError: the machine cannot be asked now.
        """

    async def x_report() -> None:
        """Print an X report."""

    async def copy_last() -> None:
        """Print a copy of the last receipt."""

    async def print_text(lines: tuple[str, ...]) -> None:
        """Print a document of text, which is not registered."""

    async def open_drawer() -> None:
        """Open the cash drawer."""

    async def let_go() -> None:
        """Close the line until its next use."""

    def close() -> None:
        """Close the line for good."""
