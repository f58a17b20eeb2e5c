"""Caisse-AP terminals: tasks become actions, codes become results (docs/reference/caisse-ap.md).

Such a terminal cannot be asked how an operation ended. After a lost answer the end stays unknown until a person has
read the slip; meanwhile the terminal takes no other operation (docs/reference/caisse-ap.md#lost-answers).
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from zope.interface import implementer

from dmtwisted.devices.driver import Surroundings
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import DeviceRow
from dmtwisted.terminals.base import SlipOnlyDriver, check_slip_only, handle_of
from dmtwisted.terminals.caisse_ap.settings import CAPABILITIES, PORT, SERVICES, CaisseApSettings
from dmtwisted.terminals.codes import catalogued
from dmtwisted.terminals.connection import Unreached, endpoint_of
from dmtwisted.terminals.interface import (
    Activity,
    Approved,
    ITerminal,
    Keep,
    Order,
    Task,
    Verdict,
)
from dmtwisted.terminals.service import TerminalService
from protocols.errors import Garbled, NotReached, WireError
from protocols.terminals.caisse_ap import CaisseApAnswer, CaisseApTerminal, Detail, Done, Settings, SpokeFirst

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
"""Results by reason (AF, docs/reference/caisse-ap.md#result-codes); any other code is 5009."""

CONTRADICTIONS = frozenset({Detail.AUTHORISED, Detail.FORCED})
"""Details that contradict an AE of "not done": such an answer proves nothing."""

BRANDS = {"002": "AMEX", "00D": "AMEX", "00C": "CHEQUE"}
"""The card's brand by the application (CC); the others say only how it was read."""


@implementer(ITerminal)
class CaisseApDriver(SlipOnlyDriver[CaisseApSettings]):
    """One Caisse-AP terminal."""

    capabilities = CAPABILITIES
    services = SERVICES
    protocol = "caisse-ap"
    port_only = True
    terminal: CaisseApTerminal

    def __init__(
        self,
        settings: CaisseApSettings,
        endpoint: IStreamClientEndpoint,
        clock: IReactorTime,
        unreached: Callable[[WireError], Refused],
    ) -> None:
        super().__init__(settings, unreached)
        wire = Settings(
            settings.protocol_id,
            settings.register,
            settings.currency,
            settings.version,
            answer_wait=settings.wait_s,
        )
        self.terminal = CaisseApTerminal(endpoint, clock, wire)

    async def snapshot(self, order: Order) -> bytes:
        """Nothing can be asked beforehand; an order that the wire cannot carry is refused."""
        check_slip_only(order, 0, MOST)
        return b""

    async def perform(self, order: Order, snapshot: bytes, keep: Keep) -> Verdict:
        """See `ITerminal.perform`. A busy terminal ignores the request, which looks like a lost answer."""
        self._report(Activity.WORKING)
        asks = {Task.PAYMENT: self.terminal.pay, Task.CANCEL: self.terminal.cancel}
        ask = asks.get(Task(order.task), self.terminal.refund)
        with self._refused((NotReached, SpokeFirst)):
            answer = await ask(order.sum)
        return _verdict(order, answer)


def _verdict(order: Order, answer: CaisseApAnswer) -> Verdict:
    """The verdict of an answer.

    :raises Garbled: when it is neither an approval nor a refusal.
    """
    if answer.done is Done.TAKEN:
        raise Garbled("the terminal only reports that it has started")
    if answer.approved:
        return _approved(order, answer)
    detail = answer.detail
    if detail in CONTRADICTIONS:
        raise Garbled(f"not done, and yet {detail.name.lower()}")
    words = detail.name.lower().replace("_", " ") if detail in DETAILS else ""
    res = DETAILS.get(detail) if detail is not None else None
    return catalogued(order, res, answer.detail_code or "-", words, words)


def _approved(order: Order, answer: CaisseApAnswer) -> Approved:
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


def build(row: DeviceRow, settings: CaisseApSettings, around: Surroundings) -> TerminalService:
    """The service of a Caisse-AP terminal."""
    endpoint = endpoint_of(settings, around.reactor, PORT, 0)
    driver = CaisseApDriver(settings, endpoint, around.reactor, Unreached(settings))
    return TerminalService(row.n, row.name, around.store, driver, around.clock)
