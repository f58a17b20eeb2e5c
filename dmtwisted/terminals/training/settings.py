"""The training terminal: a simulated PrivatBank terminal with its bank in this process; no card, no money."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from dmtwisted.devices.drivers import TERMINAL, Driver, Surroundings
from dmtwisted.store.values import DeviceRow
from dmtwisted.terminals.interface import names_of
from dmtwisted.terminals.privatbank.settings import CAPABILITIES, PrivatbankSettings
from dmtwisted.terminals.service import TerminalService
from dmtwisted.terminals.settings import DEFAULT_WAIT


class TrainingTerminalSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the simulated customer and bank behave."""

    wait_s: Annotated[float, Meta(ge=5, le=3600, description="Seconds that an operation may take")] = DEFAULT_WAIT
    operation_s: Annotated[
        float, Meta(ge=0, le=300, description="Seconds that an operation takes, the customer included")
    ] = 1.0
    confirm_s: Annotated[
        float, Meta(gt=0, le=600, description="Seconds for which task 6 waits for task 7 before it goes on by itself")
    ] = 70.0
    merchant: Annotated[str, Meta(description="Merchant for requests that name none; there are 1 and 2")] = ""


MERCHANTS = {1: "Навчальна крамниця", 2: "Кав’ярня"}
"""The merchants of the simulated terminal."""


def _build(row: DeviceRow, settings: Any, around: Surroundings) -> TerminalService:
    from dmtwisted.terminals.training.driver import TrainingDriver
    from protocols.simulators.terminal import Terminal

    ledger = None if around.state is None else around.state / "training" / f"{row.dev_id}.ledger"
    terminal = Terminal(
        around.clock,
        ledger,
        duration=settings.operation_s,
        hold=settings.confirm_s,
        merchants=MERCHANTS,
    )
    wire = PrivatbankSettings(
        host="training",
        wait_s=settings.wait_s,
        merchant=settings.merchant,
        opening="short",
        opening_pause_s=0.1,
        tells_receipts=True,
    )
    driver = TrainingDriver(wire, terminal, around.clock, around.reactor)
    return TerminalService(row.n, row.name, around.store, driver, around.clock)


DRIVER = Driver(
    kind=TERMINAL,
    name="training",
    title="Навчальний термінал",
    settings=TrainingTerminalSettings,
    build=_build,
    capabilities=names_of(CAPABILITIES),
    simulator=lambda service: service.driver.simulated,
)
