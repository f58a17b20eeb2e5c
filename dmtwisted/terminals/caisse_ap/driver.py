"""The service's words and a Caisse-AP terminal's: tasks become actions, codes results (terminals.md 1, 2, 9).

Nobody can ask such a terminal what became of an operation. An answer that is lost stays unknown until a person has
looked at the slip; meanwhile the terminal takes no other operation (terminals.md 3, rule 3).
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from zope.interface import implementer

from dmtwisted.results import Refused, Res
from dmtwisted.terminals.caisse_ap.settings import CAPABILITIES, SERVICES, CaisseApSettings
from dmtwisted.terminals.interface import (
    Activity,
    Approved,
    Declined,
    Found,
    ITerminal,
    Keep,
    Order,
    ReadCard,
    Task,
    TerminalProgress,
    Undecided,
    Verdict,
)
from dmtwisted.terminals.telling import nothing_sent
from protocols.errors import Garbled, NotReached, WireError
from protocols.terminals.caisse_ap import Answer, CaisseApTerminal, Detail, Done, Settings, SpokeFirst

MOST = 10**12 - 1
"""Hundredths that the amount (CB) holds."""

DETAILS: dict[Detail, Res] = {
    **dict.fromkeys(
        (Detail.UNKNOWN, Detail.NOT_COMPLETED, Detail.FORMAT, Detail.SELECTION, Detail.CURRENCY), Res.TERMINAL_ERROR
    ),
    **dict.fromkeys((Detail.REFUSED, Detail.FORBIDDEN, Detail.CALL_THE_BANK), Res.BANK_REFUSED),
    **dict.fromkeys((Detail.ABANDONED, Detail.OPERATOR), Res.CANCELLED_BY_USER),
    Detail.INPUT_TIMEOUT: Res.OPERATION_CANCELLED,
    Detail.UNKNOWN_ACTION: Res.TASK_NOT_SUPPORTED,
}
"""Why it was not done (AF, terminals.md 2.2); a code that is not here is 5009."""

CONTRADICTIONS = frozenset({Detail.AUTHORISED, Detail.FORCED})
"""Details that say yes beside an AE that says no: such an answer proves nothing."""

BRANDS = {"002": "AMEX", "00D": "AMEX", "00C": "CHEQUE"}
"""What the application (CC) tells of the card's brand; the others tell only how it was read."""

LOOK = "this protocol has no question for it: look at the terminal's slip"
"""Why nothing can be found out."""


@implementer(ITerminal)
class CaisseApDriver:
    """One Caisse-AP terminal.

    :param endpoint: opens lines, one for each operation.
    :param clock: the time of deadlines, which nobody moves.
    :param unreached: what to say when there is no connection.
    """

    capabilities = CAPABILITIES
    services = SERVICES
    protocol = "caisse-ap"
    keeps_early = False

    def __init__(
        self,
        settings: CaisseApSettings,
        endpoint: IStreamClientEndpoint,
        clock: IReactorTime,
        unreached: Callable[[WireError], Refused],
    ) -> None:
        self._unreached = unreached
        self.wait_s = settings.wait_s
        wire = Settings(
            settings.protocol_id,
            settings.register,
            settings.currency,
            settings.version,
            answer_wait=settings.wait_s,
        )
        self.terminal = CaisseApTerminal(endpoint, clock, wire)
        self._progressed: Callable[[TerminalProgress], None] = lambda _: None

    def listen(self, progress: Callable[[TerminalProgress], None], late: Callable[[str, Verdict], None]) -> None:
        """See `ITerminal.listen`; a line ends with its operation, so nothing comes late."""
        self._progressed = progress

    def recall(self, snapshot: bytes) -> None:
        """See `ITerminal.recall`: nothing is learned here."""

    async def snapshot(self, order: Order) -> bytes:
        """Nothing can be asked beforehand; what the wire cannot carry is refused here.

        :raises Refused: when the order does not fit this protocol.
        """
        if order.part:
            raise Refused(Res.TASK_NOT_SUPPORTED, Task.CANCEL, note="a cancel of a part")
        if order.task == Task.CANCEL and not order.sum:
            # The terminal finds the operation by its sum, and asks the cashier which one is meant.
            raise Refused(Res.MISSING_OBJECT, "pay.sum")
        if order.sum > MOST:
            raise Refused(Res.BANK_AMOUNT_NOT_ALLOWED)
        return b""

    async def perform(self, order: Order, snapshot: bytes, keep: Keep) -> Verdict:
        """See `ITerminal.perform`. A busy terminal ignores the request, which cannot be told from a lost answer."""
        self._progressed(TerminalProgress(Activity.WORKING))
        terminal = self.terminal
        try:
            if order.task == Task.PAYMENT:
                answer = await terminal.pay(order.sum)
            elif order.task == Task.CANCEL:
                answer = await terminal.cancel(order.sum)
            else:
                answer = await terminal.refund(order.sum)
        except (NotReached, SpokeFirst) as error:
            raise nothing_sent(error, self._unreached(error)) from error
        return _verdict(order, answer)

    async def find_out(self, order: Order, snapshot: bytes, keep: Keep, patience: float) -> Found:
        """Nothing: only a person can tell."""
        return Undecided(LOOK)

    async def read_card(self, order: Order, snapshot: bytes, keep: Keep) -> ReadCard:
        """This protocol reads no card without paying.

        :raises Refused: 5029.
        """
        raise Refused(Res.TASK_NOT_SUPPORTED, order.task)

    async def proceed(self, order: Order) -> None:
        """Nothing ever stops at a card.

        :raises Refused: 5074.
        """
        raise Refused(Res.NOTHING_TO_CONFIRM)

    async def interrupt(self) -> None:
        """Only the terminal's red key stops it.

        :raises Refused: 5029.
        """
        raise Refused(Res.TASK_NOT_SUPPORTED, "interrupt")

    async def check(self) -> None:
        """A connection, which is all that can be tried without effect."""
        try:
            await self.terminal.ping()
        except WireError as error:
            raise nothing_sent(error, self._unreached(error)) from error

    async def serve(self, name: str) -> dict[str, object]:
        """There are no service methods.

        :raises Refused: 303.
        """
        raise Refused(Res.UNKNOWN_TERMINAL_PROTOCOL, self.protocol, name)

    def close(self) -> None:
        """No line is kept between operations."""


def handle_of(order: Order) -> str:
    """The name of an operation for a later cancel: the wire has none, and the terminal goes by the sum."""
    return order.uid[:8]


def _verdict(order: Order, answer: Answer) -> Verdict:
    """What an answer says of its operation.

    :raises Garbled: when it says neither yes nor no.
    """
    if answer.done is Done.TAKEN:
        raise Garbled("the terminal says only that it has begun")
    if answer.approved:
        return _approved(order, answer)
    detail = answer.detail
    if detail in CONTRADICTIONS:
        raise Garbled(f"not done, and yet {detail.name.lower()}")
    res = DETAILS.get(detail) if detail is not None else None
    if detail is None or res is None:
        return Declined.of(Res.UNHANDLED_CODE, answer.detail_code or "-")
    words = detail.name.lower().replace("_", " ")
    details = {Res.TERMINAL_ERROR: words, Res.TASK_NOT_SUPPORTED: str(order.task)}
    return Declined.of(res, *([details[res]] if res in details else []), text=words)


def _approved(order: Order, answer: Answer) -> Approved:
    handle = handle_of(order)
    return Approved(
        sum=answer.ask.cents,
        cardmask=answer.pan.replace("#", "*"),
        paysys=BRANDS.get(answer.application, ""),
        auth_code=answer.authorisation,
        rrn=answer.authorisation or handle,
        cancelid=handle,
        slip=answer.slip,
        merchant=answer.contract,
    )
