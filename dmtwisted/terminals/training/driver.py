"""A PrivatBank terminal that is simulated in this process."""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTime

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import Surroundings
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import DeviceRow
from dmtwisted.terminals.interface import Declined, Keep, Order, ReadCard
from dmtwisted.terminals.privatbank import driver as privatbank
from dmtwisted.terminals.privatbank.driver import PrivatbankDriver
from dmtwisted.terminals.privatbank.settings import PrivatbankSettings
from dmtwisted.terminals.service import TerminalService
from dmtwisted.terminals.training.settings import MERCHANTS, TrainingTerminalSettings
from dmtwisted.wording import wording
from protocols.errors import NotReached, WireError
from protocols.simulators.in_process import InProcessEndpoint
from protocols.simulators.privatbank_json import PrivatbankSimulator
from protocols.simulators.scenario import FAILED_QUESTIONS, Then, fails_questions
from protocols.simulators.terminal import Terminal
from protocols.terminals.privatbank_json.line import Pace
from protocols.terminals.privatbank_json.messages import Reply

POLL = 0.2
"""Seconds between two questions for the progress, which has to show the states of an operation of one second."""

ADJUST = 5.0
"""Seconds for which a purchase stops at its card for the question that task 6 asks at once."""


LAST_OF_BANKS = 299
"""Greater numbers of a rule are those of the catalogue, but for the terminal's own from 1000 on."""

FORCED = {
    f"{res.code:04d}": res for res in Res if res.code > LAST_OF_BANKS and f"{res.code:04d}" not in privatbank.TERMINAL
}
"""The line of the catalogue for the code of a rule, as the wire spells it."""


class TrainingDriver(PrivatbankDriver):
    """The driver and its simulator; `simulated` has the scenario and the ledger."""

    def __init__(
        self,
        settings: PrivatbankSettings,
        simulated: Terminal,
        clock: ServiceClock,
        reactor: IReactorTime,
    ) -> None:
        self.simulated = simulated
        self._device = PrivatbankSimulator(simulated, reactor)
        pace = Pace(operation=settings.wait_s, poll=POLL, gap=0.01)
        endpoint = InProcessEndpoint(self._device, reactor)
        super().__init__(settings, endpoint, clock, reactor, _not_there, pace)

    async def snapshot(self, order: Order) -> bytes:
        """As any terminal; the line is closed first when the scenario says that the terminal is not there."""
        rules = self.simulated.scenario.document()["rules"]
        if rules and rules[0]["then"] == Then.UNREACHABLE:
            await self.terminal.close()
        return await super().snapshot(order)

    async def inquire(self) -> bool | None:
        """As the scenario says, which loses no rule by it: see `IInquired`."""
        rule = self.simulated.scenario.coming("payment", "probe", "any")
        if rule is not None and fails_questions(rule):
            raise _not_there(NotReached(FAILED_QUESTIONS[rule.then]))
        return True

    async def read_card(self, order: Order, snapshot: bytes, keep: Keep) -> ReadCard:
        """As any terminal; only now the simulated one stops at the card."""
        self._device.adjust = ADJUST
        try:
            return await super().read_card(order, snapshot, keep)
        finally:
            self._device.adjust = 0.0

    def _declined(self, order: Order, reply: Reply) -> Declined:
        """As any terminal; a rule may also name a number of the catalogue."""
        res = FORCED.get(reply.code)
        return super()._declined(order, reply) if res is None else Declined.of(res, text=reply.text)

    def close(self) -> None:
        """Close line, ledger and journal."""
        super().close()
        self.simulated.close()


def _not_there(error: WireError) -> Refused:
    return Refused(Res.TERMINAL_ADDRESS_UNREACHABLE, aq_errortxt=wording(error))


def build(row: DeviceRow, settings: TrainingTerminalSettings, around: Surroundings) -> TerminalService:
    """The service of a training terminal, whose ledger is kept in the state folder."""
    ledger = None if around.state is None else around.state / "training" / f"{row.dev_id}.ledger"
    terminal = Terminal(
        around.clock, ledger, duration=settings.operation_s, hold=settings.confirm_s, merchants=MERCHANTS
    )
    wire = PrivatbankSettings(
        host="training",
        wait_s=settings.wait_s,
        merchant=settings.merchant,
        opening="short",
        opening_pause_s=0.1,
        tells_receipts=True,
        return_lost_answer=settings.return_lost_answer,
    )
    driver = TrainingDriver(wire, terminal, around.clock, around.reactor)
    return TerminalService(row.n, row.name, around.store, driver, around.clock)
