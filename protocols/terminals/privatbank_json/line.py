"""The register's end of one connection to a PrivatBank terminal (docs/reference/privatbank-json.md).

One primary method is due at a time, and beside it one service message. Since answers carry no number, three rules
keep an answer from being matched to the wrong request:

- **A ping between two operations.** After an operation that moves money, answered or not, and on a new line, the next
  one waits until a query was answered: late answers to other operations come before that.
- **"Busy" and "unknown method" come at once.** When the terminal has shown progress since the request, both are
  ignored: the operation is running, and its own answer decides.
- **Nothing else is matched.** A reply without a request goes to the callback for late replies.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime, ITCPTransport
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.hiding import shown
from protocols.terminals.lines import drop, ignore, notify, silent, stop
from protocols.terminals.privatbank_json.amounts import amount_text
from protocols.terminals.privatbank_json.messages import (
    END,
    SERVICE,
    Deframer,
    PresentedCard,
    Reply,
    Request,
    frame,
)
from protocols.terminals.privatbank_json.requests import PingDevice, Primary, Purchase

CORRECTION_POSSIBLE = 11
"""The progress code at which the card is known and the sum may change."""

_MOVED = frozenset(range(1, 12))
"""Progress codes of a running operation."""


@dataclass(frozen=True)
class Pace:
    """Deadlines and pauses in seconds (docs/reference/privatbank-json.md#timings)."""

    handshake: float = 3.0
    """For the answer to a ping."""
    service: float = 5.0
    """For the answer to a service message."""
    request: float = 30.0
    """For the answer to a method that moves no money."""
    operation: float = 300.0
    """For the answer to a method that moves money, or that waits for a person."""
    poll: float = 1.0
    """Between two queries of the progress code, 0.5 to 1."""
    gap: float = 0.1
    """At least this long between two messages of ours."""


PACE = Pace()

LateReply = Callable[[Reply], object]
ProgressListener = Callable[[int], object]


@dataclass(eq=False)
class _Due:
    """A request whose answer is due."""

    name: str
    """The method, or the type of a service message."""
    request: Request
    answer: Deferred[Reply]
    sent: bool = False
    moves_money: bool = False
    moved: bool = False
    """The terminal has shown progress since the request."""


@dataclass(eq=False)
class OpenPurchase:
    """A purchase that stops at the card, so that the sum may change (docs/reference/privatbank-json.md#corrections).

    Its owner must wait for `ended`, whatever happens to the task that asked for the card: without a correction in
    time the terminal goes on with the first sum.
    """

    card: Deferred[PresentedCard | None] = field(default_factory=Deferred)
    """Fires with the card, or with `None` when the purchase did not stop; it never fails."""
    ended: Deferred[Reply] = field(default_factory=Deferred)
    """The purchase's own answer, or a `WireError`."""


class PrivatbankLine(Protocol):
    """One connection to a terminal: sends, waits, and separates answers from late replies.

    :param clock: for deadlines and pauses.
    :param late: called with each reply without a request, so that an earlier operation may be completed.
    """

    log = Logger()

    def __init__(self, clock: IReactorTime, pace: Pace = PACE, late: LateReply = ignore) -> None:
        self.pace = pace
        self._clock, self._late = clock, late
        self._deframer = Deframer()
        self._primary: _Due | None = None
        self._services: deque[_Due] = deque()
        self._outgoing: deque[tuple[_Due, bytes]] = deque()
        self._gap: IDelayedCall | None = None
        self._poll: IDelayedCall | None = None
        self._open = False
        self._greeting = False
        self._noise = b""
        # Late answers to the client before may come on this line too.
        self._stirred = True
        self._doubtful: set[str] = set()
        self._lost: Deferred[None] = Deferred()

    # Requests.

    @property
    def usable(self) -> bool:
        """Whether the line is open."""
        return self._open

    @property
    def at_work(self) -> bool:
        """Whether a primary method is due."""
        return self._primary is not None

    def handshake(self) -> Deferred[Reply]:
        """Ping as the first message of a connection, with the zero byte that flushes half a message.

        The answer may be that the terminal is busy.

        :raises WireError: `Silent`, `LineLost` or, with the first bytes of another protocol, `Garbled`.
        """
        self._greeting = True
        answer = self._ask(PingDevice(), self.pace.handshake, leading=END)

        def greeted(answer: Reply | Failure) -> Reply | Failure:
            self._greeting = False
            heard = self._noise + self._deframer.pending
            if isinstance(answer, Failure) and answer.check(Silent, LineLost) and heard:
                return Failure(Garbled("another protocol answers", heard))
            return answer

        return answer.addBoth(greeted)

    def ask(
        self, request: Primary, patience: float | None = None, progress: ProgressListener | None = None
    ) -> Deferred[Reply]:
        """Run a primary method; the answer may be that the terminal is busy or does not have the method.

        :param patience: seconds for the whole operation; `None` for those of `Pace`.
        :param progress: called with the terminal's progress code at each poll.
        :raises NotReached: when the request was not sent: nothing happened.
        :raises WireError: otherwise; the outcome is then unknown.
        """
        wait = patience or (self.pace.operation if request.moves_money else self.pace.request)

        def pinged(answer: Reply) -> Reply | Deferred[Reply]:
            return answer if answer.busy else self._ask(request, wait, progress=progress)

        if request.moves_money and self._stirred and self._open:
            return self._ask(PingDevice(), self.pace.handshake).addCallbacks(pinged, _not_sent)
        return self._ask(request, wait, progress=progress)

    def read_card(
        self, purchase: Purchase, patience: float | None = None, progress: ProgressListener | None = None
    ) -> OpenPurchase:
        """Begin a purchase and return its card as soon as the sum may be corrected."""
        opened = OpenPurchase()
        asked = False

        def moved(code: int) -> None:
            nonlocal asked
            if progress is not None:
                progress(code)
            if code == CORRECTION_POSSIBLE and not asked:
                asked = True
                self.service("getDiscountName").addCallbacks(
                    lambda reply: show(PresentedCard.read(reply.params)), lambda _: show(PresentedCard())
                )

        def show(card: PresentedCard | None) -> None:
            if not opened.card.called:
                opened.card.callback(card)

        def ended(answer: Reply | Failure) -> Reply | Failure:
            show(None)
            return answer

        self.ask(purchase, patience, moved).addBoth(ended).chainDeferred(opened.ended)
        return opened

    def correct(self, kopecks: int, discount: int | None = None) -> Deferred[Reply]:
        """Change the sum of a purchase that stopped at the card; ``error`` in the answer means that it was too late.

        In any case the sum in the purchase's own reply is the true one.
        """
        return self.service(
            "correctTransaction",
            amount=amount_text(kopecks),
            discount="" if discount is None else amount_text(discount),
        )

    def interrupt(self) -> Deferred[Reply]:
        """Ask the running operation to stop; its own answer shows whether it did
        (docs/reference/terminals.md#rule-8).
        """
        return self.service("interrupt")

    def service(self, name: str, **params: str) -> Deferred[Reply]:
        """Send a service message, also while a primary method runs; they go out one after the other.

        :raises WireError: `Silent`, `LineLost`, `Garbled`, or `NotReached` when it was not sent.
        """
        if not self._open:
            return fail(NotReached("the line is closed"))
        answer: Deferred[Reply] = Deferred(lambda _: self._give_up_service(due))
        due = _Due(name, Request(SERVICE, {"msgType": name, **params}), answer)
        self._services.append(due)
        if len(self._services) == 1:
            self._begin_service()
        return answer

    def close(self) -> Deferred[None]:
        """Close the line; fires when it is closed."""
        if not self._open:
            return succeed(None)
        closed: Deferred[None] = Deferred()
        self._lost.addCallback(closed.callback)
        assert self.transport is not None
        self.transport.loseConnection()
        return closed

    # Sending.

    def _ask(
        self, request: Primary, patience: float, leading: bytes = b"", progress: ProgressListener | None = None
    ) -> Deferred[Reply]:
        if not self._open:
            return fail(NotReached("the line is closed"))
        assert self._primary is None, "one primary method at a time"
        answer: Deferred[Reply] = Deferred(lambda _: self._give_up(due))
        self._primary = due = _Due(request.method, request.request(), answer, moves_money=request.moves_money)
        if request.moves_money:
            self._stirred = True
        if progress is not None:
            self._poll = self._clock.callLater(self.pace.poll, self._ask_progress, due, progress)
        self._send(due, leading)
        return answer.addTimeout(patience, self._clock, lambda _, seconds: Failure(Silent(seconds, due.moved)))

    def _begin_service(self) -> None:
        due = self._services[0]
        self._send(due)
        due.answer.addTimeout(self.pace.service, self._clock, silent)

    def _send(self, due: _Due, leading: bytes = b"") -> None:
        self._outgoing.append((due, leading + frame(due.request.encode())))
        if self._gap is None:
            self._write_next()

    def _write_next(self) -> None:
        self._gap = None
        if not self._outgoing or not self._open:
            return
        due, data = self._outgoing.popleft()
        due.sent = True
        self._gap = self._clock.callLater(self.pace.gap, self._write_next)
        self.log.debug("to the terminal: {request!r}", request=due.request)
        assert self.transport is not None
        self.transport.write(data)

    def _unsend(self, due: _Due) -> None:
        self._outgoing = deque(each for each in self._outgoing if each[0] is not due)

    def _give_up(self, due: _Due) -> None:
        """Stop waiting for the primary method; its answer is late from now on."""
        self._unsend(due)
        self._settle()
        if due.name == PingDevice().method and due.sent:
            # Two open pings could not be distinguished, and a terminal that does not answer one is gone.
            self._abort()

    def _give_up_service(self, due: _Due) -> None:
        self._unsend(due)
        if due.sent and due.name == "correctTransaction":
            # The next correction must not get this one's answer; for other messages either answer is right.
            self._doubtful.add(due.name)
        self._drop_service(due)

    def _ask_progress(self, due: _Due, progress: ProgressListener) -> None:
        self._poll = None

        def answered(reply: Reply) -> bool:
            code = reply.params.get("LastStatMsgCode", "")
            if self._primary is due and code.isdecimal() and len(code) < 4:
                due.moved = due.moved or int(code) in _MOVED
                notify(progress, int(code))
            return not reply.unknown_method

        def again(more: bool | Failure) -> None:
            # A failed poll says nothing about the operation, which has its own deadline.
            if self._primary is due and more is not False:
                self._poll = self._clock.callLater(self.pace.poll, self._ask_progress, due, progress)

        if due.sent:
            self.service("getLastStatMsgCode").addCallback(answered).addBoth(again)
        else:
            again(True)

    # Receiving.

    def connectionMade(self) -> None:
        """Enable keepalive: a terminal does not close its lines (docs/reference/privatbank-json.md#line)."""
        self._open = True
        if ITCPTransport.providedBy(self.transport):
            self.transport.setTcpNoDelay(True)
            self.transport.setTcpKeepAlive(True)
            _keep_alive(getattr(self.transport, "getHandle", lambda: None)())

    def dataReceived(self, data: bytes) -> None:
        """Take messages out of the stream; noise ends the exchange and the line."""
        if not self._open:
            return
        try:
            for payload in self._deframer.feed(data):
                self._read(payload)
                if not self._open:
                    return
        except Garbled as garbled:
            self._disturbed(garbled)
            return
        begun = self._deframer.pending.lstrip()
        if begun and not begun.startswith(b"{") and not self._greeting:
            self._disturbed(Garbled("not a message of this protocol", begun))

    def _read(self, payload: bytes) -> None:
        try:
            reply = Reply.decode(payload)
        except Garbled:
            if not self._greeting:
                raise
            # Before the first answer it may be the rest of a message to another client.
            if not self._noise:
                self.log.info("before the handshake: {data}", data=shown(payload))
            self._noise = self._noise or payload[:32]
            return
        self.log.debug("from the terminal: {reply!r}", reply=reply)
        due = self._asked(reply)
        if due is None:
            self.log.info("a late reply: {reply!r}", reply=reply)
            notify(self._late, reply)
            return
        if due is self._primary:
            self._settle()
            if reply.method == due.name and not due.moves_money:
                self._stirred = False
        else:
            self._drop_service(due)
        due.answer.callback(reply)

    def _asked(self, reply: Reply) -> _Due | None:
        """The request that ``reply`` answers."""
        primary = self._primary if self._primary is not None and self._primary.sent else None
        service = self._services[0] if self._services and self._services[0].sent else None
        if reply.method != SERVICE:
            return primary if primary is not None and primary.name == reply.method else None
        name = "correctTransaction" if reply.message_type == "correctionTransmitted" else reply.message_type
        name = "interrupt" if name == "interruptTransmitted" else name
        if name in self._doubtful:
            self._doubtful.discard(name)
            return None
        if service is not None and service.name == name:
            return service
        if reply.unknown_method and service is not None:
            return service
        if (reply.busy or reply.unknown_method) and primary is not None:
            return None if primary.moved else primary
        return service if reply.busy else None

    def _settle(self) -> None:
        """Forget the primary method and its poll."""
        self._primary = None
        stop(self._poll)

    def _drop_service(self, due: _Due) -> None:
        was_first = self._services[0] is due
        self._services.remove(due)
        if was_first and self._services and self._open:
            self._begin_service()

    # The end of the line.

    def _disturbed(self, garbled: Garbled) -> None:
        self.log.warn("the line is closed: {reason}", reason=garbled)
        self._end(garbled)
        self._abort()

    def _abort(self) -> None:
        self._open = False
        assert self.transport is not None
        drop(self.transport)
        self._end(LineLost("the line was closed"))

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Fail what is due; the operation may still have gone through."""
        self._open = False
        self._end(LineLost(reason.getErrorMessage()))
        lost, self._lost = self._lost, Deferred()
        lost.callback(None)

    def _end(self, error: WireError) -> None:
        self._open = False
        stop(self._gap)
        self._gap = None
        primary, services = self._primary, list(self._services)
        self._settle()
        self._services.clear()
        self._outgoing.clear()
        for due in [*([primary] if primary else []), *services]:
            due.answer.errback(error if due.sent else NotReached(str(error)))


def _keep_alive(handle: socket.socket | None) -> None:
    """Send keepalives each second after 10 s of silence, where the system allows it."""
    for option, seconds in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 1)):
        if handle is not None and hasattr(socket, option):
            handle.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), seconds)


def _not_sent(failure: Failure) -> Failure:
    return Failure(NotReached(f"the terminal does not answer between two operations ({failure.getErrorMessage()})"))
