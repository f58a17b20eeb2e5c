"""The life of documents: two tills with a tag each, one register, its tax service, cuts and kills.

The tills repeat until they know. The service does one request at a time; its next number, the void operations that it
remembers, and the documents made offline are durable with the outcome that changes them. A document of the register
can be lost on its way, or wander and arrive late; its answer can be lost; the tax service can be away, and then the
register goes offline. A kill takes all but the journal and what is at the tax service or on its way there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tests.life_model.search import Journal
from tests.life_model.table import DONE, INTENDED, NONE, REFUSED, UNKNOWN

NOBODY, START, HOME = -1, 2, 3
"""Who is served, besides the tills 0 and 1: nobody, the start of the service, the way back online."""

BEGIN, END = 8, 9
"""The documents that open and close an offline session, among the tags."""

OPEN = (INTENDED, UNKNOWN)

NEW, WAITS, REPEATS = "new", "waits", "repeats"
"""A till before it asks, while it waits, and when it does not know more; at the end it is `DONE` or `REFUSED`."""


class State(NamedTuple):
    """Everything that matters."""

    tills: tuple[str, str] = (NEW, NEW)
    doing: int = NOBODY
    at: str = ""
    """The next step of the service."""
    about: int = 0
    """The tag whose document it asks for."""
    alive: bool = True
    sure: bool = True
    """Whether the service knows that nothing is open; in memory."""
    absent: int = 0
    """How often in a row the tax service said that it does not know the document; in memory."""
    ops: tuple[str, str] = (NONE, NONE)
    numbers: tuple[int, int] = (0, 0)
    next: int = 1
    voids: tuple[int, ...] = ()
    """Tags of void operations whose document had the next number."""
    there: tuple[int, ...] = ()
    """The tags of the documents that the tax service has, in the order of their numbers."""
    wanders: tuple[int, ...] = ()
    """Tag and number of a document that may still arrive."""
    offline: bool = False
    queue: tuple[int, ...] = ()
    """Documents made offline that were not handed in, as far as the service knows; they have the last numbers."""
    end: str = NONE
    """The operation that closes the session."""
    person: bool = False
    """Whether the tax service has another document under a number of ours: 1074, a person has to look."""
    cuts: int = 0
    kills: int = 0


def _put(pair: tuple[str, str], n: int, value: str) -> tuple[str, str]:
    return (value, pair[1]) if n == 0 else (pair[0], value)


class Register:
    """The model.

    :param cuts: how many messages go wrong. :param kills: how often the service dies.
    :param bad: whether the tax service refuses the first till's document for good.
    :param offline: whether the register may go offline.
    :param wanders: whether a document may arrive after the tax service has said that it does not have it. Only then a
        person may have to look: when the register has given its number to another document meanwhile.
    """

    def __init__(self, cuts: int, kills: int, bad: bool = False, offline: bool = True, wanders: bool = True) -> None:
        self.cuts, self.kills, self._bad, self._offline, self._wanders = cuts, kills, bad, offline, wanders
        self.journal = Journal()

    def first(self) -> Iterable[State]:
        """Nothing has happened."""
        return [State()]

    def settled(self, s: State) -> bool:
        """Both tills know, nothing is open, and nothing waits to be handed in."""
        known = all(till in (DONE, REFUSED) for till in s.tills)
        idle = s.alive and s.doing == NOBODY
        return s.person or (known and idle and not (s.queue or s.offline or s.wanders or self._open(s)))

    def wrong(self, s: State) -> str:
        """At most one document of a tag; no answer without its outcome; nothing refused that is there."""
        for tag in (0, 1):
            made = s.there.count(tag) + (tag in s.queue and tag not in s.there)
            if made > 1:
                return "twice"
            if s.tills[tag] == DONE and s.ops[tag] != DONE:
                return "answered, and not durable"
            if s.ops[tag] == DONE and made != 1:
                return "done, and not there"
            if s.tills[tag] == REFUSED and made:
                return "refused for good, and there"
            late = tag in s.voids and s.numbers[tag] == s.next
            if s.ops[tag] in (NONE, REFUSED) and made and not (late or s.person or self._came_late(s, tag)):
                return "there, and nobody will find it"
            elsewhere = tag in s.there and s.there.index(tag) + 1 != s.numbers[tag]
            if s.ops[tag] == DONE and elsewhere and not (s.offline or s.person):
                return "done, and there under another number"
        if s.person and not self._wanders:
            return "left to a person"
        return "the tax service is ahead by more than one" if len(s.there) > s.next else ""

    def _came_late(self, s: State, tag: int) -> bool:
        """Whether a void document has come under a number that the register has given to another one since."""
        return s.there[s.numbers[tag] - 1] == tag and s.numbers[tag] < s.next

    # What can happen

    def steps(self, s: State) -> Iterator[tuple[str, State]]:
        """Tills, service, wire, and faults."""
        for till in (0, 1):
            if s.tills[till] in (NEW, REPEATS) and s.alive and s.doing == NOBODY:
                asks = s._replace(tills=_put(s.tills, till, WAITS), doing=till, at="look", absent=0)
                yield f"till {till} asks", asks
            if s.tills[till] == WAITS:
                yield f"till {till} loses patience", s._replace(tills=_put(s.tills, till, REPEATS))
        if s.wanders:
            yield "the wandering document arrives", self._arrived(s._replace(wanders=()), *s.wanders)
            yield "the wandering document is lost", s._replace(wanders=())
        if not s.alive:
            yield "start", s._replace(alive=True, sure=False, doing=START, at="look", absent=0)
            return
        if s.kills < self.kills:
            first, second = (REPEATS if till == WAITS else till for till in s.tills)
            dead = s._replace(tills=(first, second), alive=False, doing=NOBODY, at="", about=0, absent=0, sure=True)
            yield "kill", dead._replace(kills=s.kills + 1)
        if s.doing != NOBODY:
            yield from getattr(self, f"_{s.at}")(s)
        elif s.offline:
            yield "goes home", s._replace(doing=HOME, at="look", absent=0)

    def _open(self, s: State) -> list[int]:
        """The tags of open operations; `END` for that of the session."""
        return [tag for tag in (0, 1) if s.ops[tag] in OPEN] + ([END] if s.end in OPEN else [])

    def _answer(self, s: State, told: str) -> State:
        """The till that is served, if it still waits, hears this."""
        tills = s.tills
        if s.doing in (0, 1) and tills[s.doing] == WAITS:
            tills = _put(tills, s.doing, told)
        return s._replace(tills=tills, doing=NOBODY, at="", about=0, absent=0)

    def _write(self, s: State, tag: int, verb: str, after: str) -> State:
        if tag == END:
            return s._replace(end=self.journal.write("fiscal", s.end, verb, after))
        return s._replace(ops=_put(s.ops, tag, self.journal.write("fiscal", s.ops[tag], verb, after)))

    def _done(self, s: State, tag: int) -> State:
        """The outcome, with the register's next number."""
        done = self._write(s, tag, "conclude", DONE)._replace(next=self._number(s, tag) + 1, voids=())
        return done._replace(offline=False, end=NONE) if tag == END else done

    def _number(self, s: State, tag: int) -> int:
        return s.next if tag == END else s.numbers[tag]

    def _void(self, s: State, tag: int) -> State:
        """It never arrived: its number is free, and that is remembered."""
        if tag == END:
            return self._write(s, tag, "conclude", REFUSED)._replace(end=NONE)
        voids = (*(one for one in s.voids if one != tag), tag) if s.numbers[tag] == s.next else s.voids
        return self._write(s, tag, "conclude", REFUSED)._replace(voids=voids)

    def _arrived(self, s: State, tag: int, number: int) -> State:
        """The tax service takes the document if it has the number that is due, and is right."""
        if number != len(s.there) + 1 or (self._bad and tag == 0):
            return s
        return s._replace(there=(*s.there, tag))

    # The service, step by step

    def _look(self, s: State) -> Iterator[tuple[str, State]]:
        """What is open is asked for first."""
        open_ones = [] if s.sure else self._open(s)
        if open_ones:
            yield "asks for what is open", s._replace(at="ask_later", about=open_ones[0])
        elif s.doing == START:
            yield "is ready", self._answer(s._replace(sure=True), "")
        elif s.doing == HOME and not s.offline:
            yield "is home already", self._answer(s._replace(sure=True), "")
        elif s.doing == HOME:
            yield "may go home", s._replace(sure=True, at="hand_in" if s.queue else "end")
        elif s.ops[s.doing] == DONE:
            yield "has done that tag", self._answer(s._replace(sure=True), DONE)
        else:
            yield "nothing is open", s._replace(sure=True, at="make")

    def _make(self, s: State) -> Iterator[tuple[str, State]]:
        """The intent, or offline the whole document."""
        tag = s.doing
        numbers = (s.next, s.numbers[1]) if tag == 0 else (s.numbers[0], s.next)
        fresh = s._replace(ops=_put(s.ops, tag, NONE), numbers=numbers)
        if s.offline:
            made = self._write(fresh, tag, "conclude_at_once", DONE)
            yield (
                "makes it offline",
                made._replace(next=s.next + 1, voids=(), queue=(*s.queue, tag), at="answer_done"),
            )
        else:
            yield "stores the intent", self._write(fresh, tag, "reserve", INTENDED)._replace(at="send")

    def _answer_done(self, s: State) -> Iterator[tuple[str, State]]:
        yield "answers", self._answer(s, DONE)

    def _answer_refused(self, s: State) -> Iterator[tuple[str, State]]:
        yield "refuses", self._answer(s, REFUSED)

    def _answer_again(self, s: State) -> Iterator[tuple[str, State]]:
        yield "says: repeat", self._answer(s, REPEATS)

    def _send(self, s: State) -> Iterator[tuple[str, State]]:
        """The document goes to the tax service; so does the same once more, when it never arrived."""
        tag = s.doing
        number, cut = s.numbers[tag], s._replace(cuts=s.cuts + 1)
        if self._bad and tag == 0:
            yield "is refused for good", s._replace(at="refused")
        elif number == len(s.there) + 1:
            yield "is accepted", self._arrived(s, tag, number)._replace(at="accepted")
        elif number <= len(s.there) and s.there[number - 1] == tag:
            yield "was there already", s._replace(at="lost")
        else:
            yield "has a wrong number", s._replace(at="wrong")
        if s.cuts < self.cuts:
            yield "arrives, the answer is lost", self._arrived(cut, tag, number)._replace(at="lost")
            yield "is lost", cut._replace(at="lost")
            if self._wanders and not s.wanders:
                yield "wanders", cut._replace(at="lost", wanders=(tag, number))
            if s.ops[tag] == INTENDED:
                yield "does not leave", cut._replace(at="away")

    def _accepted(self, s: State) -> Iterator[tuple[str, State]]:
        yield "stores the outcome", self._done(s, s.doing)._replace(at="answer_done", sure=True)

    def _refused(self, s: State) -> Iterator[tuple[str, State]]:
        after = self._void(s, s.doing) if s.ops[s.doing] == UNKNOWN else self._write(s, s.doing, "conclude", REFUSED)
        yield "stores the refusal", after._replace(at="answer_refused", sure=True)

    def _away(self, s: State) -> Iterator[tuple[str, State]]:
        """Nothing left: the register goes offline, where it may, and makes the document under another number."""
        free = self._write(s, s.doing, "conclude", REFUSED)
        if not self._offline:
            yield "stores that nothing left", free._replace(at="answer_again")
            return
        yield "stores that nothing left", free._replace(at="go_offline")

    def _go_offline(self, s: State) -> Iterator[tuple[str, State]]:
        yield "opens a session", s._replace(offline=True, queue=(BEGIN,), next=s.next + 1, voids=(), at="make")

    def _lost(self, s: State) -> Iterator[tuple[str, State]]:
        """That nothing is known is durable before it is asked for."""
        if s.ops[s.doing] == INTENDED:
            s = self._write(s, s.doing, "conclude", UNKNOWN)
        yield "stores the doubt", s._replace(at="ask_now", about=s.doing, sure=False, absent=0)

    def _ask_now(self, s: State) -> Iterator[tuple[str, State]]:
        """While the till waits: what the tax service says twice counts, and the same bytes are sent once more."""
        tag = s.about
        found = self._probe(s, tag)
        if found == "there":
            yield "finds it", self._done(s, tag)._replace(at="answer_done", sure=True)
        elif found == "another":
            yield "finds another document", s._replace(person=True, at="answer_again")
        elif s.absent < 1:
            yield "does not find it", s._replace(absent=s.absent + 1)
        else:
            yield "does not find it twice, sends it again", s._replace(at="send", absent=0)
            yield "does not find it, and the time is over", self._void(s, tag)._replace(at="answer_again", sure=True)
        yield "has no more time", s._replace(at="answer_again")
        if s.cuts < self.cuts:
            yield "gets no answer", s._replace(cuts=s.cuts + 1)

    def _ask_later(self, s: State) -> Iterator[tuple[str, State]]:
        """At the start, and before the next task."""
        tag = s.about
        found = self._probe(s, tag)
        if found == "there":
            yield "finds it", self._done(s, tag)._replace(at="look", about=0)
        elif found == "another":
            yield "finds another document", s._replace(person=True, at="answer_again")
        else:
            yield "does not find it", self._void(s, tag)._replace(at="look", about=0)
        if s.cuts < self.cuts:
            yield "gets no answer", self._answer(s._replace(cuts=s.cuts + 1), REPEATS)

    def _probe(self, s: State, tag: int) -> str:
        number = self._number(s, tag)
        if number > len(s.there):
            return "absent"
        return "there" if s.there[number - 1] == tag else "another"

    def _wrong(self, s: State) -> Iterator[tuple[str, State]]:
        """The tax service expects another number: a void document may have come late, and is opened again then."""
        tag = s.doing
        if s.ops[tag] == UNKNOWN:
            yield "asks once more", s._replace(at="lost")
            return
        refused = self._write(s, tag, "conclude", REFUSED)
        late = next((one for one in s.voids if one in s.there), None)
        if late is None:
            yield "does not know why", refused._replace(person=True, at="answer_again")
            return
        opened = self._write(refused, late, "conclude", UNKNOWN)
        yield "opens a void one again", opened._replace(sure=False, at="look")
        if s.cuts < self.cuts:
            closed = self._write(opened, late, "conclude", REFUSED)
            yield "cannot ask for it", closed._replace(cuts=s.cuts + 1, at="answer_again")

    # Back online

    def _hand_in(self, s: State) -> Iterator[tuple[str, State]]:
        """The documents of the session; what arrived before is not sent twice."""
        first = s.next - len(s.queue)
        before = s.there[first - 1 :]
        if s.queue[: len(before)] != before:
            yield "finds another document", self._answer(s._replace(person=True), "")
            return
        there = (*s.there[: first - 1], *s.queue)
        yield "hands in", s._replace(there=there, queue=(), at="end")
        if s.cuts < self.cuts:
            yield "hands in, the answer is lost", self._answer(s._replace(there=there, cuts=s.cuts + 1), "")
            yield "does not reach it", self._answer(s._replace(cuts=s.cuts + 1), "")

    def _end(self, s: State) -> Iterator[tuple[str, State]]:
        end = self.journal.write("fiscal", s.end, "reserve", INTENDED)
        yield "stores the end of the session", s._replace(end=end, at="send_end")

    def _send_end(self, s: State) -> Iterator[tuple[str, State]]:
        """The document that closes the session; it is asked for later when its answer is lost."""
        there = s._replace(there=(*s.there, END))
        yield "is accepted", there._replace(at="ended")
        if s.cuts < self.cuts:
            doubt = self._write(s._replace(cuts=s.cuts + 1), END, "conclude", UNKNOWN)._replace(sure=False)
            yield "arrives, the answer is lost", self._answer(doubt._replace(there=there.there), "")
            yield "is lost", self._answer(doubt, "")

    def _ended(self, s: State) -> Iterator[tuple[str, State]]:
        yield "is online again", self._answer(self._done(s, END)._replace(sure=True), "")
