"""The driver of registers that fiscalise at the tax service itself, by protocol A or B (docs/registers.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dmtwisted.devices.driver import REGISTER, Driver, Surroundings
from dmtwisted.documents import law
from dmtwisted.registers.prro.settings import TAX, PrroSettings
from dmtwisted.registers.settings import FRESH, RECEIVERS, SECRETS
from dmtwisted.store.values import DeviceRow

if TYPE_CHECKING:
    from dmtwisted.registers.prro.protocols import ToCabinet
    from dmtwisted.registers.prro.register import PrroRegister
    from protocols.fiscal.client import Exchange

MakeExchange = Callable[[PrroSettings, Surroundings], "Exchange | None"]
"""Gives what carries the requests of one register to one server; `None` when it has no such server."""


MakeCabinet = Callable[[PrroSettings, Surroundings], "ToCabinet"]
"""Gives what makes the calls of one register to the cabinet's server."""


def driver(
    to_server: MakeExchange | None = None,
    to_agent: MakeExchange | None = None,
    to_stamps: MakeExchange | None = None,
    to_cabinet: MakeCabinet | None = None,
) -> Driver:
    """The driver; the tests give it other ways to the server, the signing agent and the time stamps."""

    def build(row: DeviceRow, settings: Any, around: Surroundings) -> PrroRegister:
        # The cryptography is loaded with the first register that needs it, not with the service.
        from dmtwisted.registers.prro import register

        exchange = (to_server or register.to_server)(settings, around)
        agent = (to_agent or register.to_agent)(settings, around)
        stamps = (to_stamps or register.to_stamps)(settings, around)
        assert exchange is not None
        cabinet = (to_cabinet or register.to_cabinet)(settings, around)
        return register.PrroRegister(row, settings, around, exchange, agent, stamps, cabinet)

    return Driver(
        kind=REGISTER,
        name="prro",
        title="ПРРО на сервері ДПС",
        settings=PrroSettings,
        build=build,
        capabilities=(
            *("open", "sale", "return", "cash_in", "cash_out", "withdrawal", "storno", "x", "z", "status"),
            *("copy", "rounding", "offline"),
        ),
        secrets=("signer_token", *SECRETS),
        files=("server_ca", "signer_ca", "trusted_certificates"),
        receivers={"signer_token": ("signer_url", "signer_ca"), **RECEIVERS},
        fresh=lambda day: {"pay_codes": TAX, "rounding_step": law.on(day, law.CASH_STEPS), **FRESH},
        stays=lambda settings: settings.stays,
    )


DRIVER = driver()
