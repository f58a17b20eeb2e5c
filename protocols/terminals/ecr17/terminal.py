"""An ECR17 terminal as the service uses it: operations, readiness, recovery (docs/reference/ecr17.md#recovery)."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.internet.task import deferLater
from twisted.logger import Logger

from protocols.errors import LineLost, NotReached, Silent, WireError
from protocols.terminals.ecr17 import requests
from protocols.terminals.ecr17.answers import (
    CardAnswer,
    CloseAnswer,
    Ecr17Answer,
    PaymentAnswer,
    PreauthorisationAnswer,
    Receipt,
    StatusAnswer,
    TerminalState,
    TotalsAnswer,
)
from protocols.terminals.ecr17.frames import Lrc
from protocols.terminals.ecr17.line import DEFAULTS, Ecr17Protocol, Keep, NotOperative, NotTaken, Settings
from protocols.terminals.lines import expect, ignore, open_line


class Ecr17Terminal:
    """One terminal, with a line of its own for each operation.

    Every operation raises `NotReached` when nothing happened: the line cannot be opened, the terminal does not answer
    the status request before a payment, or it refused the frame (`NotTaken`). After `Silent`, `LineLost` and
    `Garbled` the outcome is unknown: see `recover`.

    :param endpoint: where the terminal is, TCP or serial.
    """

    log = Logger()

    def __init__(
        self,
        endpoint: IStreamClientEndpoint,
        clock: IReactorTime,
        settings: Settings = DEFAULTS,
        progress: Callable[[str], object] = ignore,
        receipt: Callable[[Receipt], object] = ignore,
        late: Callable[[Ecr17Answer], object] = ignore,
    ) -> None:
        self._endpoint, self._clock, self.settings = endpoint, clock, settings
        self._listeners = progress, receipt, late
        self.lrc = settings.lrc
        self._line: Ecr17Protocol | None = None

    async def status(self) -> StatusAnswer:
        """Query the terminal's state, and find the variant of its check byte when it is unknown.

        :raises WireError: it does not answer; after `Silent` an operation may be running.
        """
        if self.lrc is None:
            return await self._learn_variant()
        line = await self._open(self.lrc)
        try:
            return await self._state(line)
        finally:
            line.leave(0)

    async def pay(
        self,
        cents: int,
        text: str = "",
        *,
        card_present: bool = False,
        card_type: requests.CardType = requests.CardType.AUTO,
        keep: Keep | None = None,
    ) -> PaymentAnswer:
        """Take ``cents`` from a card.

        :param card_present: use the card of `verify_card`.
        """
        request = requests.Payment(
            cents, requests.PaymentKind.PAYMENT, text, card_present, card_type, False, **self._numbers
        )
        return expect(await self.run(request, keep), PaymentAnswer)

    async def reverse(self, stan: str = requests.LAST_STAN, keep: Keep | None = None) -> PaymentAnswer:
        """Reverse the whole operation ``stan``."""
        return expect(await self.run(requests.Reversal(stan, **self._numbers), keep), PaymentAnswer)

    async def verify_card(self) -> CardAnswer | PaymentAnswer:
        """Ask for a card and verify it; no money moves."""
        answer = await self.run(requests.CardCheck(**self._numbers))
        return answer if isinstance(answer, CardAnswer) else expect(answer, PaymentAnswer)

    async def totals(self) -> TotalsAnswer:
        """The sum of the session so far."""
        return expect(
            await self.run(requests.Report(requests.ReportKind.TOTALS, False, **self._numbers)), TotalsAnswer
        )

    async def close_session(self, keep: Keep | None = None) -> CloseAnswer:
        """Close the session with the bank."""
        return expect(
            await self.run(requests.Report(requests.ReportKind.CLOSE, False, **self._numbers), keep), CloseAnswer
        )

    async def print_on_register(self, on: bool) -> None:
        """Choose who prints receipts from now on: the till (`receipt` gets them) or the terminal."""
        await self.run(requests.PrintOnRegister(on, terminal=self.settings.terminal))

    async def last(self) -> PaymentAnswer | PreauthorisationAnswer:
        """The stored answer to the last operation.

        Taken before a payment and stored with it, this is the snapshot that `recover` compares with.
        """
        answer = await self.run(requests.LastResult(False, **self._numbers))
        if isinstance(answer, PreauthorisationAnswer):
            return answer
        return expect(answer, PaymentAnswer)

    async def recover(
        self, before: PaymentAnswer | PreauthorisationAnswer | None, wait: float
    ) -> PaymentAnswer | PreauthorisationAnswer | None:
        """Find the lost answer of an operation (docs/reference/terminals.md#rule-3).

        Queries the state until the terminal is free again, at most for ``wait`` seconds, then the last result.

        :param before: what `last` returned before the operation.
        :return: the lost answer; `None` when the last result is still the one from before, so that the operation
            never happened.
        :raises WireError: the outcome stays unknown.
        """
        end = self._clock.seconds() + wait
        while True:
            try:
                await self.status()
                found = await self.last()
                break
            except WireError as error:
                if self._clock.seconds() + self.settings.ready_every >= end:
                    raise
                self.log.info("the terminal does not answer queries yet: {error}", error=str(error))
            await deferLater(self._clock, self.settings.ready_every)
        return None if found == before else found

    # Lines.

    @property
    def _numbers(self) -> dict[str, str]:
        return {"terminal": self.settings.terminal, "register": self.settings.register}

    async def run(self, request: requests.Request, keep: Keep | None = None) -> Ecr17Answer:
        """Send any request over a line of its own."""
        if self.lrc is None:
            await self._learn_variant()
        line = await self._open(self.lrc or Lrc.STD)
        try:
            if request.money:
                await self._be_ready(line)
                # Some terminals close after each answer: a payment sent to a closing line would be unknown.
                await deferLater(self._clock, self.settings.pause)
                if line.gone:
                    line = await self._open(self.lrc or Lrc.STD)
            return await line.ask(request, self.settings.answer_wait, keep)
        finally:
            line.leave(self.settings.receipt_wait)

    async def _be_ready(self, line: Ecr17Protocol) -> None:
        """Make sure before a payment that the terminal answers."""
        try:
            status = await self._state(line)
        except NotReached:
            raise
        except WireError as error:
            raise NotTaken(f"the status request failed: {error}") from error
        if status.state is not TerminalState.OPERATIVE:
            raise NotOperative(status.state)

    async def _state(self, line: Ecr17Protocol, repeats: int | None = None) -> StatusAnswer:
        wait = self.settings.ack_wait * (self.settings.repeats + 2)
        return expect(
            await line.ask(requests.StatusRequest(terminal=self.settings.terminal), wait, repeats=repeats),
            StatusAnswer,
        )

    async def _learn_variant(self) -> StatusAnswer:
        """Query the state with each variant of the check byte, until one is understood."""
        for lrc in Lrc:
            line = await self._open(lrc)
            try:
                answer = await self._state(line, repeats=0)
            except (NotTaken, Silent, LineLost) as error:
                self.log.info("not the variant {lrc}: {error}", lrc=lrc.name, error=str(error))
                continue
            finally:
                line.leave(0)
            self.lrc = lrc
            return answer
        raise NotTaken("the status request was understood with no variant of the check byte")

    async def _open(self, lrc: Lrc) -> Ecr17Protocol:
        """A line, once the one before it is closed: a terminal and a serial port take one at a time."""
        before, self._line = self._line, None
        if before is not None:
            before.leave(0)
            await before.lost
        line = await open_line(
            self._endpoint,
            lambda: Ecr17Protocol(self._clock, self.settings, lrc, *self._listeners),
            self._clock,
            self.settings.connect_wait,
        )
        self._line = line
        return line
