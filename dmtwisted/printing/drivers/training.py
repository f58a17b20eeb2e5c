"""The training printer: a simulated ESC/POS printer in this process, whose paper can be seen and never ends."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from dmtwisted.clock import kyiv
from dmtwisted.devices.driver import PRINTER, Driver, Surroundings
from dmtwisted.documents.model import Element
from dmtwisted.printing.result import PrintResult
from dmtwisted.printing.service import PrinterService
from dmtwisted.printing.settings import known_profile
from dmtwisted.printing.ways import LineWay
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import DeviceRow
from protocols.simulators.scenario import Then, fails_questions


class TrainingPrinterSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The simulated printer."""

    profile: Annotated[str, Meta(description="Family of printers that is played")] = "epson"
    job_ttl_s: Annotated[
        float, Meta(ge=5, le=3600, description="Seconds that a job may wait for paper before it is given up")
    ] = 60.0
    spare: Annotated[str, Meta(description="Printer that takes what this one does not")] = ""

    def __post_init__(self) -> None:
        """Check that the family is known.

        :raises BadSettings: when it is not.
        """
        known_profile(self.profile)


_NUMBERS = {str(res.code): res for res in Res if res is not Res.OK}


class TrainingPrinter(PrinterService):
    """A printing service with its printer in the same process."""

    def __init__(self, row: DeviceRow, settings: TrainingPrinterSettings, around: Surroundings) -> None:
        # Lazy: only a service in training mode loads simulators.
        from protocols.simulators.in_process import InProcessEndpoint
        from protocols.simulators.printer import CONDITIONS, PAPER_OUT, simulated_printer
        from protocols.simulators.printer_port import PrinterPort

        def now() -> datetime:
            return kyiv(around.clock.now())

        self._conditions, self._no_paper = CONDITIONS, CONDITIONS[PAPER_OUT]
        ledger = None if around.state is None else around.state / "training" / f"{row.dev_id}.ledger"
        self.printer = simulated_printer(settings.profile, ledger=ledger, clock=around.reactor, now=now)
        endpoint = InProcessEndpoint(PrinterPort(self.printer), around.reactor)
        way = LineWay(self.printer.profile, endpoint, around.reactor, settings.job_ttl_s)
        super().__init__(row.n, row.name, around.store, way, around.clock)

    async def print(
        self,
        elements: Sequence[Element],
        paper: str = "",
        elsewhere: Sequence[int] = (),
        until: float | None = None,
    ) -> PrintResult:
        """As any printer; a rule may also name a number of the catalogue, and then nothing is sent.

        :raises Refused: with that line of the catalogue.
        """
        res = self._forced()
        if res is not None:
            raise Refused(res)
        return await super().print(elements, paper, elsewhere, until)

    def _forced(self) -> Res | None:
        """The line of the catalogue that the next rule for a print names; the rule is used up."""
        scenario = self.printer.scenario
        rule = next((rule for rule in scenario.document()["rules"] if rule["on"] in ("print", "any")), None)
        if rule is None or rule["then"] != Then.REFUSE or rule["code"] not in _NUMBERS:
            return None
        scenario.take("print")
        return _NUMBERS[rule["code"]]

    async def inquire(self) -> bool | None:
        """As the simulated printer is, and as its scenario says, which loses no rule by it: see `Inquired`.

        :raises Refused: when it would not print.
        """
        rule, self.status = self.printer.scenario.coming("print", "probe", "any"), self.printer.status
        reason: str | None = self.status.reason
        if rule is not None and rule.then is Then.REFUSE:
            if rule.code in _NUMBERS and rule.code not in self._conditions:
                raise Refused(_NUMBERS[rule.code])
            self.status = self._conditions.get(rule.code, self._no_paper)
            reason = self.status.reason
        elif rule is not None and fails_questions(rule):
            reason = "silent"
        if reason is not None:
            raise PrintResult(0, "not_printed", reason).refused()
        return True

    def close(self) -> None:
        """Close the line and switch the printer off, so that it prints nothing after its ledger is closed."""
        super().close()
        self.printer.power_cycle()
        self.printer.ledger.close()


def _build(row: DeviceRow, settings: Any, around: Surroundings) -> TrainingPrinter:
    return TrainingPrinter(row, settings, around)


DRIVER = Driver(
    kind=PRINTER,
    name="training",
    title="Навчальний принтер",
    settings=TrainingPrinterSettings,
    build=_build,
    capabilities=("print", "drawer", "test", "strip"),
    simulator=lambda service: service.printer,
)
