"""The training terminal: a simulated PrivatBank terminal with its bank in this process; no card, no money."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from dmtwisted.terminals.privatbank.settings import CAPABILITIES
from dmtwisted.terminals.settings import DEFAULT_WAIT, ReturnLostAnswer, terminal_driver


class TrainingTerminalSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the simulated customer and bank behave."""

    wait_s: Annotated[float, Meta(ge=5, le=3600, description="Seconds that an operation may take")] = DEFAULT_WAIT
    operation_s: Annotated[
        float, Meta(ge=0, le=300, description="Seconds that an operation takes, the customer included")
    ] = 1.0
    confirm_s: Annotated[
        float,
        Meta(gt=0, le=600, description="Seconds for which task 6 waits for task 7 before it continues alone"),
    ] = 70.0
    merchant: Annotated[str, Meta(description="Merchant for requests that name none; there are 1 and 2")] = ""
    return_lost_answer: ReturnLostAnswer = False


MERCHANTS = {1: "Навчальна крамниця", 2: "Кав’ярня"}
"""The merchants of the simulated terminal."""


DRIVER = terminal_driver(
    "training",
    "Навчальний термінал",
    TrainingTerminalSettings,
    CAPABILITIES,
    f"{__package__}.driver",
    simulator=lambda service: service.driver.simulated,
)
