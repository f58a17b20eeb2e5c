"""The life of an operation in the journal: from each state, what a verb of the store may make of it, and when.

The models make these transitions and no others, and the code is watched on shop days: each of its writes has to be a
row, and each row has to come. A state is that of the journal (`dmtwisted.store.values.State`) with how far the
operation came: ``sent``, ``half``, or the step of a saga.
"""

from __future__ import annotations

from typing import NamedTuple

NONE = "none"
INTENDED, UNKNOWN, DONE, REFUSED = "intended", "unknown", "done", "refused"


class Row(NamedTuple):
    """One transition; ``when`` says what has happened before it."""

    before: str
    verb: str
    after: str
    when: str


REGISTER = (
    Row(NONE, "reserve", INTENDED, "the document is made and signed; nothing was sent"),
    Row(NONE, "conclude_at_once", DONE, "the document is made offline, or opens a session: it leaves later"),
    Row(INTENDED, "conclude", DONE, "the tax service has accepted it; after a kill: it says that it has it"),
    Row(INTENDED, "conclude", REFUSED, "it was refused, or certainly never arrived"),
    Row(INTENDED, "conclude", UNKNOWN, "its answer is lost"),
    Row(UNKNOWN, "conclude", DONE, "asked, the tax service has it"),
    Row(UNKNOWN, "conclude", REFUSED, "asked, the tax service has never seen it, or refuses it now"),
    Row(
        REFUSED,
        "conclude",
        UNKNOWN,
        "the tax service expects another number: a void document has come late after all",
    ),
    Row(REFUSED, "note", REFUSED, "a document that was made again offline: what became of its online copy"),
    Row(INTENDED, "accept_document", "intended half", "of a Z and the closing the Z is accepted"),
    Row("intended half", "conclude", DONE, "the closing is accepted too"),
    Row("intended half", "conclude", "unknown half", "the answer to the closing is lost"),
    Row("unknown half", "conclude", DONE, "asked, the tax service has the closing"),
    Row("unknown half", "conclude", "unknown half", "its answer is lost once more"),
    Row(UNKNOWN, "accept_document", "unknown half", "the Z, whose answer was lost, is there"),
)
"""Documents of a software register (`dmtwisted.registers.bookkeeping`)."""

TERMINAL = (
    Row(NONE, "reserve", INTENDED, "nothing was asked of the terminal"),
    Row(
        INTENDED, "conclude", REFUSED, "the terminal is not there, or busy; after a kill: the request was never sent"
    ),
    Row(INTENDED, "note", "sent", "from here on the request may have been sent"),
    Row(INTENDED, "conclude", DONE, "a report, or a card that was only read: no money moved"),
    Row(NONE, "reserve", "sent", "a payment that stopped at its card goes on: task 7 is an operation of its own"),
    Row("sent", "conclude", DONE, "the terminal has approved; after a break: it says so"),
    Row("sent", "conclude", REFUSED, "it has declined; after a break: it never took it"),
    Row("sent", "conclude", UNKNOWN, "nothing is known, and it cannot be asked now"),
    Row("sent", "note", "sent", "an approval that the terminal may still take back"),
    Row(UNKNOWN, "conclude", DONE, "asked, it has approved; or a person has read so on the slip"),
    Row(UNKNOWN, "conclude", REFUSED, "asked, it has declined or never took it; or a person has read so"),
    Row(DONE, "conclude", DONE, "an approval that was stored before it was acknowledged is heard by a caller"),
    Row(DONE, "note", DONE, "a caller has heard the approval at last"),
    Row(REFUSED, "conclude", REFUSED, "the same with a decline"),
    Row(REFUSED, "note", REFUSED, "a caller has heard it at last"),
    Row(REFUSED, "conclude", DONE, "the terminal was asked too early, and says later that it has approved"),
)
"""Payments (`dmtwisted.terminals.service`)."""

SAGA = (
    Row(NONE, "reserve", "intended paying", "nothing was asked of the terminal"),
    Row("intended paying", "conclude", "refused paying", "no money was taken"),
    Row("intended paying", "conclude", "unknown paying", "what became of the payment is unknown"),
    Row("intended paying", "note", "intended paid", "the money is taken"),
    Row("intended paid", "conclude", "done paid", "the receipt is there"),
    Row(
        "intended paid", "conclude", "unknown paid", "what became of the receipt is unknown, or it cannot be made now"
    ),
    Row("intended paid", "note", "intended taking_back", "the receipt was refused for good"),
    Row("intended paid", "conclude", "unknown taking_back", "and the payment cannot be taken back"),
    Row("intended taking_back", "conclude", "refused taking_back", "the money went back"),
    Row("intended taking_back", "conclude", "unknown taking_back", "it did not go back, or that is unknown"),
    Row("intended taking_back", "note", "intended taking_back", "after a kill: it is taken back under another label"),
    Row("unknown paying", "note", "unknown paid", "asked, the terminal has taken the money"),
    Row("unknown paying", "conclude", "refused paying", "asked, it has not"),
    Row("unknown paid", "conclude", "done paid", "the receipt is there at last"),
    Row("unknown paid", "conclude", "unknown paid", "not yet"),
    Row("unknown paid", "note", "unknown taking_back", "the receipt is refused for good now"),
    Row("unknown paid", "conclude", "unknown taking_back", "and the payment cannot be taken back"),
    Row("unknown taking_back", "conclude", "refused taking_back", "the money went back at last"),
    Row("unknown taking_back", "conclude", "unknown taking_back", "it still did not go back"),
    Row("unknown taking_back", "note", "unknown taking_back", "it is taken back under another label"),
    Row("refused paying", "conclude", "unknown paying", "its payment, which was given up, is approved after all"),
    Row("unknown paid", "conclude", "refused settled", "a person has given the money back"),
    Row("unknown taking_back", "conclude", "refused settled", "the same"),
)
"""Card and receipt as one operation (`dmtwisted.batch.service`)."""

TABLES: dict[str, tuple[Row, ...]] = {"fiscal": REGISTER, "pay": TERMINAL, "pkg": SAGA}
"""Each kind of operation with its table."""


def allowed(kind: str) -> frozenset[tuple[str, str, str]]:
    """The transitions of a kind."""
    return frozenset(row[:3] for row in TABLES[kind])
