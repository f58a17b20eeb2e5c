"""The training register: the real engine with a simulated tax service in the same process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from dmtwisted.devices.driver import REGISTER, Driver, Surroundings
from dmtwisted.registers.channels.training import TrainingChannel
from dmtwisted.registers.engine import SoftwareRegister
from dmtwisted.registers.mark_rules import service_of
from dmtwisted.registers.settings import RECEIVERS, SECRETS, RegisterSettings
from dmtwisted.store.values import DeviceRow
from protocols.simulators.tax_service import TaxService

if TYPE_CHECKING:
    from dmtwisted.registers.channels.cabinet import CabinetChannel
    from protocols.simulators.cabinet_server import CabinetServerSimulator

FIRST_FISCAL_NUMBER = 4_000_000_000
"""Training registers are numbered from here, as the tax service numbers real ones."""


class TrainingSettings(RegisterSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any software register, with going offline allowed and an outlet to print."""

    wait_s: Annotated[
        float, Meta(gt=0, le=60, description="Seconds to wait for the simulated tax service's answer")
    ] = 8.0
    default_taxgrp: Annotated[int, Meta(description="Tax group of an item that names none")] = 2
    rounding_step: Annotated[
        Literal[0, 10, 50], Meta(description="Cash is rounded to this many kopecks; 0 does not round")
    ] = 50
    offline_allowed: Annotated[
        bool, Meta(description="Whether the register may go offline, by itself too when the tax service is away")
    ] = True
    key_valid_to: Annotated[
        str,
        Meta(
            pattern=r"^(|[0-9]{4}-[0-9]{2}-[0-9]{2})$",
            description="Last day of a signing key that is not there, to try its warnings; empty is never",
        ),
    ] = ""
    name: Annotated[str, Meta(description="Taxpayer, first line of the receipt")] = "ТОВ «Навчальна крамниця»"
    shopname: Annotated[str, Meta(description="Name of the outlet")] = "Навчальна каса"
    shopad: Annotated[str, Meta(description="Address of the outlet")] = "м. Київ, вул. Прикладна, 1"
    fis_code: Annotated[str, Meta(description="Tax number, printed after ІД")] = "1234567890"


class TrainingRegister(SoftwareRegister):
    """A software register with a simulated tax service."""

    def __init__(self, row: DeviceRow, settings: TrainingSettings, around: Surroundings) -> None:
        fisid = str(FIRST_FISCAL_NUMBER + row.n)
        folder = None if around.state is None else around.state / "training"
        self.tax_service: TaxService | CabinetServerSimulator
        channel: TrainingChannel | CabinetChannel
        if around.training_protocol == "b":
            # A training register by protocol A does without its server.
            from dmtwisted.registers.channels.training_cabinet import training_cabinet

            files = None if folder is None else folder / f"{row.dev_id}.cabinet"
            self.tax_service, channel = training_cabinet(
                fisid, settings.fis_code, settings.wait_s, settings.key_valid_to, self._terms, files, around.clock
            )
        else:
            ledger = None if folder is None else folder / f"{row.dev_id}.ledger"
            self.tax_service = TaxService(fisid, around.clock.seconds, ledger)
            channel = TrainingChannel(self.tax_service, around.clock, settings.wait_s, settings.key_valid_to)
        marks = service_of(settings, around)
        super().__init__(
            *(row.n, row.name, fisid, settings, around.store, channel, around.clock),
            marks=marks,
            posted=around.posted,
            ways=around.ways,
        )

    def close(self) -> None:
        """Close the ledger."""
        super().close()
        self.tax_service.close()


def _build(row: DeviceRow, settings: Any, around: Surroundings) -> TrainingRegister:
    return TrainingRegister(row, settings, around)


DRIVER = Driver(
    kind=REGISTER,
    name="training",
    title="Навчальна каса",
    settings=TrainingSettings,
    build=_build,
    capabilities=("open", "sale", "cash_in", "cash_out", "x", "z", "status", "copy", "rounding", "offline"),
    simulator=lambda register: register.tax_service,
    secrets=SECRETS,
    receivers=RECEIVERS,
)
