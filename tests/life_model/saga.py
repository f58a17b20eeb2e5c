"""The batch saga: two tills with a tag each, one register, one terminal, cuts and kills.

A till gets its receipt with the card charged once, or neither. The terminal works on when its line breaks: money can
be taken after the service has died. The receipt is one document that is accepted, refused for good, lost, or late; a
payment whose receipt is refused for good is taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from tests.life_model.search import Journal
from tests.life_model.table import DONE, INTENDED, NONE, REFUSED, UNKNOWN

NOBODY, START = -1, 2
NEW, WAITS, REPEATS = "new", "waits", "repeats"

SENT = "sent"
"""A terminal's operation whose request may have been sent."""

PAY, BACK = 0, 1
"""The two operations of a saga at the terminal: the payment, and taking it back."""

Pair = tuple[str, str]
Pairs = tuple[Pair, Pair]


class State(NamedTuple):
    """Everything that matters; each pair has one member for each tag."""

    tills: Pair = (NEW, NEW)
    doing: int = NOBODY
    at: str = ""
    tag: int = 0
    """Whose saga goes on."""
    alive: bool = True
    sagas: Pair = (NONE, NONE)
    cards: Pairs = ((NONE, NONE), (NONE, NONE))
    """Payment and cancel of each tag in the terminal's journal."""
    receipts: Pair = (NONE, NONE)
    taken: tuple[int, int] = (0, 0)
    """How often the terminal has the money of each tag."""
    made: tuple[int, int] = (0, 0)
    """How many receipts of each tag the tax service has."""
    running: tuple[int, ...] = ()
    """The tag and the operation on which the terminal works on, though its line broke."""
    cuts: int = 0
    kills: int = 0


V = TypeVar("V")


def _put(pair: tuple[V, V], n: int, value: V) -> tuple[V, V]:
    return (value, pair[1]) if n == 0 else (pair[0], value)


class Saga:
    """The model.

    :param cuts: how many messages go wrong. :param kills: how often the service dies.
    :param bad: whether the tax service refuses the first till's receipt for good.
    """

    def __init__(self, cuts: int, kills: int, bad: bool = False) -> None:
        self.cuts, self.kills, self._bad = cuts, kills, bad
        self.journal = Journal()

    def first(self) -> Iterable[State]:
        """Nothing has happened."""
        return [State()]

    def settled(self, s: State) -> bool:
        """Both tills know, and no saga is open."""
        known = all(till in (DONE, REFUSED) for till in s.tills)
        return known and s.alive and s.doing == NOBODY and not (self._open(s) or s.running)

    def wrong(self, s: State) -> str:
        """Money and receipt, or neither; in between the saga is open, and so known to the service and to people."""
        for tag in (0, 1):
            taken, made, saga = s.taken[tag], s.made[tag], s.sagas[tag]
            is_open = saga.startswith((INTENDED, UNKNOWN))
            if taken > 1 or made > 1:
                return "twice"
            if taken < 0:
                return "given back twice"
            if made and not taken:
                return "a receipt without money"
            if taken != made and not is_open:
                return "money without a receipt, and nobody knows"
            if s.tills[tag] == DONE and not (saga.startswith(DONE) and taken and made):
                return "answered, and not so"
            if s.tills[tag] == REFUSED and (taken or made):
                return "refused for good, and taken"
            if saga.startswith(REFUSED) and s.running[:1] == (tag,):
                return "closed while the terminal is still at it"
        return ""

    def steps(self, s: State) -> Iterator[tuple[str, State]]:
        """Tills, service, terminal, and faults."""
        for till in (0, 1):
            if s.tills[till] in (NEW, REPEATS) and s.alive and s.doing == NOBODY:
                yield f"till {till} asks", s._replace(tills=_put(s.tills, till, WAITS), doing=till, at="look")
            if s.tills[till] == WAITS:
                yield f"till {till} loses patience", s._replace(tills=_put(s.tills, till, REPEATS))
        if s.running:
            for what, after in self._decides(s._replace(running=()), *s.running):
                yield f"on its own the terminal {what}", after
        if not s.alive:
            yield "start", s._replace(alive=True, doing=START, at="look")
            return
        if s.kills < self.kills:
            first, second = (REPEATS if till == WAITS else till for till in s.tills)
            dead = s._replace(tills=(first, second), alive=False, doing=NOBODY, at="", tag=0, kills=s.kills + 1)
            if s.at in ("paying", "cancelling"):
                yield "kill, the terminal works on", dead._replace(running=(s.tag, int(s.at == "cancelling")))
            yield "kill", dead
        if s.doing != NOBODY:
            yield from getattr(self, f"_{s.at}")(s)

    # Writing

    def _saga(self, s: State, verb: str, after: str) -> State:
        return s._replace(sagas=_put(s.sagas, s.tag, self.journal.write("pkg", s.sagas[s.tag], verb, after)))

    def _ends(self, s: State, state: str) -> State:
        """The saga ends, or stays open, in its step."""
        step = s.sagas[s.tag].partition(" ")[2]
        return self._saga(s, "conclude", f"{state} {step}")

    def _card(self, s: State, which: int, verb: str, after: str) -> State:
        cards = s.cards[s.tag]
        written = self.journal.write("pay", cards[which], verb, after)
        return s._replace(cards=_put(s.cards, s.tag, _put(cards, which, written)))

    def _fresh_card(self, s: State, which: int) -> State:
        return s._replace(cards=_put(s.cards, s.tag, _put(s.cards[s.tag], which, NONE)))

    def _document(self, s: State, verb: str, after: str) -> State:
        written = self.journal.write("fiscal", s.receipts[s.tag], verb, after)
        return s._replace(receipts=_put(s.receipts, s.tag, written))

    def _answer(self, s: State, told: str) -> State:
        """The till that is served hears this; the start goes on with the next open saga."""
        if s.doing == START:
            return s._replace(at="look" if told != REPEATS else "stays", tag=0)
        tills = s.tills
        if tills[s.doing] == WAITS:
            tills = _put(tills, s.doing, told)
        return s._replace(tills=tills, doing=NOBODY, at="", tag=0)

    def _open(self, s: State) -> list[int]:
        return [tag for tag in (0, 1) if s.sagas[tag].startswith((INTENDED, UNKNOWN))]

    # The service, step by step

    def _look(self, s: State) -> Iterator[tuple[str, State]]:
        """An open saga of the tag goes on; at the start all of them."""
        if s.doing == START:
            open_ones = self._open(s)
            if open_ones:
                yield "goes on with what is open", s._replace(tag=open_ones[0], at="go_on")
            else:
                yield "is ready", s._replace(doing=NOBODY, at="", tag=0)
            return
        saga = s.sagas[s.doing]
        s = s._replace(tag=s.doing)
        if saga.startswith(DONE):
            yield "has done that tag", self._answer(s, DONE)
        elif saga.startswith((INTENDED, UNKNOWN)):
            yield "goes on with it", s._replace(at="go_on")
        else:
            yield "begins", s._replace(at="begin")

    def _stays(self, s: State) -> Iterator[tuple[str, State]]:
        """At the start: what cannot be found out now waits for its till, or for a person."""
        yield "is ready", s._replace(doing=NOBODY, at="", tag=0)

    def _begin(self, s: State) -> Iterator[tuple[str, State]]:
        # The labels are new, and so are the operations under them.
        free = s._replace(
            sagas=_put(s.sagas, s.tag, NONE),
            cards=_put(s.cards, s.tag, (NONE, NONE)),
            receipts=_put(s.receipts, s.tag, NONE),
        )
        yield "stores the saga", self._saga(free, "reserve", "intended paying")._replace(at="intend")

    def _intend(self, s: State) -> Iterator[tuple[str, State]]:
        """The payment; not while the end of another tag's operation is unknown, nor while the terminal is at work."""
        other = 1 - s.tag
        if s.running or any(card in (SENT, UNKNOWN) for card in s.cards[other]):
            yield "is refused: another one is open", self._answer(self._ends(s, REFUSED), REPEATS)
            return
        yield "stores the payment", self._card(self._fresh_card(s, PAY), PAY, "reserve", INTENDED)._replace(at="send")

    def _send(self, s: State) -> Iterator[tuple[str, State]]:
        yield "may have sent it", self._card(s, PAY, "note", SENT)._replace(at="paying")
        if s.cuts < self.cuts:
            away = self._card(s._replace(cuts=s.cuts + 1), PAY, "conclude", REFUSED)
            yield "finds no terminal", self._answer(self._ends(away, REFUSED), REPEATS)

    def _decides(self, s: State, tag: int, which: int) -> Iterator[tuple[str, State]]:
        """What terminal, bank and customer can make of an operation."""
        amount = 1 if which == PAY else -1
        yield "approves", s._replace(taken=_put(s.taken, tag, s.taken[tag] + amount))
        yield "does nothing", s

    def _paying(self, s: State) -> Iterator[tuple[str, State]]:
        """The terminal's verdict, or a break."""
        approved, nothing = (after for _, after in self._decides(s, s.tag, PAY))
        yield "is approved", self._card(approved, PAY, "conclude", DONE)._replace(at="paid")
        declined = self._card(nothing, PAY, "conclude", REFUSED)
        yield "is declined", self._answer(self._ends(declined, REFUSED), REFUSED)
        if s.cuts < self.cuts:
            cut = s._replace(cuts=s.cuts + 1, at="asks_payment")
            yield "is approved, the answer is lost", cut._replace(taken=approved.taken)
            yield "is lost", cut
            yield "breaks, the terminal works on", cut._replace(running=(s.tag, PAY))

    def _asks_payment(self, s: State) -> Iterator[tuple[str, State]]:
        """What became of the payment; it is never sent again."""
        if not s.running and s.taken[s.tag]:
            yield "finds it approved", self._card(s, PAY, "conclude", DONE)._replace(at="paid")
        elif not s.running:
            never = self._card(s, PAY, "conclude", REFUSED)
            yield "finds that it never began", self._answer(self._ends(never, REFUSED), REPEATS)
        if s.running or s.cuts < self.cuts:
            asked = s if s.running else s._replace(cuts=s.cuts + 1)
            doubt = asked if s.cards[s.tag][PAY] == UNKNOWN else self._card(asked, PAY, "conclude", UNKNOWN)
            # A saga that was open before stays as it is.
            doubt = self._ends(doubt, UNKNOWN) if s.sagas[s.tag] == "intended paying" and s.doing != START else doubt
            yield "finds out nothing", self._answer(doubt, REPEATS)

    def _paid(self, s: State) -> Iterator[tuple[str, State]]:
        state = s.sagas[s.tag].partition(" ")[0]
        yield "stores that it is paid", self._saga(s, "note", f"{state} paid")._replace(at="receipt")

    def _receipt_again(self, s: State) -> State:
        return s._replace(receipts=_put(s.receipts, s.tag, NONE), at="receipt")

    def _receipt(self, s: State) -> Iterator[tuple[str, State]]:
        yield "stores the document", self._document(s, "reserve", INTENDED)._replace(at="fiscal")

    def _fiscal(self, s: State) -> Iterator[tuple[str, State]]:
        """The document goes to the tax service."""
        made = s._replace(made=_put(s.made, s.tag, s.made[s.tag] + 1))
        if self._bad and s.tag == 0:
            yield "is refused for good", self._document(s, "conclude", REFUSED)._replace(at="take_back")
        else:
            yield "is accepted", self._document(made, "conclude", DONE)._replace(at="finish")
        if s.cuts < self.cuts:
            cut = self._document(s._replace(cuts=s.cuts + 1), "conclude", UNKNOWN)._replace(at="asks_receipt")
            if not (self._bad and s.tag == 0):
                yield "is accepted, the answer is lost", cut._replace(made=made.made)
            yield "is lost", cut

    def _asks_receipt(self, s: State) -> Iterator[tuple[str, State]]:
        if s.made[s.tag]:
            yield "finds the receipt", self._document(s, "conclude", DONE)._replace(at="finish")
        else:
            void = self._document(s, "conclude", REFUSED)
            yield "finds that it never arrived", self._answer(self._ends(void, UNKNOWN), REPEATS)
        if s.cuts < self.cuts:
            yield "finds out nothing", self._answer(self._ends(s._replace(cuts=s.cuts + 1), UNKNOWN), REPEATS)

    def _finish(self, s: State) -> Iterator[tuple[str, State]]:
        yield "is done", self._answer(self._ends(s, DONE), DONE)

    def _take_back(self, s: State) -> Iterator[tuple[str, State]]:
        """There will be no receipt."""
        state = s.sagas[s.tag].partition(" ")[0]
        other = 1 - s.tag
        if s.running or any(card in (SENT, UNKNOWN) for card in s.cards[other]):
            yield "cannot take it back now", self._answer(self._saga(s, "conclude", "unknown taking_back"), REPEATS)
            return
        noted = self._saga(s, "note", f"{state} taking_back")
        yield "stores that it goes back", self._fresh_card(noted, BACK)._replace(at="intend_back")

    def _intend_back(self, s: State) -> Iterator[tuple[str, State]]:
        yield "stores the cancel", self._card(s, BACK, "reserve", INTENDED)._replace(at="send_back")

    def _send_back(self, s: State) -> Iterator[tuple[str, State]]:
        yield "may have sent it", self._card(s, BACK, "note", SENT)._replace(at="cancelling")

    def _cancelling(self, s: State) -> Iterator[tuple[str, State]]:
        back, _ = (after for _, after in self._decides(s, s.tag, BACK))
        gone = self._card(back, BACK, "conclude", DONE)
        yield "is cancelled", self._answer(self._ends(gone, REFUSED), REFUSED)
        if s.cuts < self.cuts:
            cut = s._replace(cuts=s.cuts + 1)
            yield (
                "is declined",
                self._answer(self._ends(self._card(cut, BACK, "conclude", REFUSED), UNKNOWN), REPEATS),
            )
            yield "is cancelled, the answer is lost", cut._replace(taken=back.taken, at="asks_back")
            yield "is lost", cut._replace(at="asks_back")
            yield "breaks, the terminal works on", cut._replace(running=(s.tag, BACK), at="asks_back")

    def _asks_back(self, s: State) -> Iterator[tuple[str, State]]:
        if not s.running and not s.taken[s.tag]:
            gone = self._card(s, BACK, "conclude", DONE)
            yield "finds it cancelled", self._answer(self._ends(gone, REFUSED), REFUSED)
        elif not s.running:
            never = self._card(s, BACK, "conclude", REFUSED)
            yield "finds that it never began", self._answer(self._ends(never, UNKNOWN), REPEATS)
        if s.running or s.cuts < self.cuts:
            asked = s if s.running else s._replace(cuts=s.cuts + 1)
            doubt = asked if s.cards[s.tag][BACK] == UNKNOWN else self._card(asked, BACK, "conclude", UNKNOWN)
            yield "finds out nothing", self._answer(self._ends(doubt, UNKNOWN), REPEATS)

    def _go_on(self, s: State) -> Iterator[tuple[str, State]]:
        """From the last durable step."""
        step = s.sagas[s.tag].partition(" ")[2]
        pay, back = s.cards[s.tag]
        receipt = s.receipts[s.tag]
        if step == "paying":
            if pay == DONE:
                yield "knows that it is paid", s._replace(at="paid")
            elif pay in (SENT, UNKNOWN):
                yield "asks for the payment", s._replace(at="asks_payment")
            else:
                closed = self._card(s, PAY, "conclude", REFUSED) if pay == INTENDED else s
                ended = self._ends(closed, REFUSED)
                yield "was never paid", self._answer(ended, "") if s.doing == START else ended._replace(at="begin")
        elif step == "paid":
            if receipt == DONE:
                yield "knows the receipt", s._replace(at="finish")
            elif receipt in (INTENDED, UNKNOWN):
                yield "asks for the receipt", s._replace(at="asks_receipt")
            else:
                yield "makes the receipt", self._receipt_again(s)
        elif back == DONE:
            yield "knows that it went back", self._answer(self._ends(s, REFUSED), REFUSED)
        elif back in (SENT, UNKNOWN):
            yield "asks for the cancel", s._replace(at="asks_back")
        else:
            closed = self._card(s, BACK, "conclude", REFUSED) if back == INTENDED else s
            yield "takes it back", closed._replace(at="take_back")
