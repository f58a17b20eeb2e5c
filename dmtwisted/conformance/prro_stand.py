"""The stand of the register at the tax service: the simulated fiscal server, with keys that are made for it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

from dmtwisted.conformance.desk import MORNING, Desk, FarEnd
from dmtwisted.conformance.line import World
from dmtwisted.devices.driver import Surroundings
from dmtwisted.registers.prro.register import PrroRegister
from dmtwisted.store.values import DeviceRow
from protocols.fiscal.crypto.authority import Authority
from protocols.fiscal.crypto.curves import NAMED
from protocols.fiscal.crypto.errors import CryptoError
from protocols.fiscal.crypto.key_formats import write_private_key
from protocols.fiscal.crypto.signing import sign
from protocols.fiscal.crypto.verifying import verify
from protocols.fiscal.signatures import Signed, WrongSignature
from protocols.simulators.fiscal_in_process import InProcessExchange
from protocols.simulators.fiscal_register import Operator, Registration
from protocols.simulators.fiscal_server import FiscalServer

TIN = "34554363"
NUMBER = 4_000_000_202


class Keys:
    """The authority, the server's key and the cashier's."""

    def __init__(self) -> None:
        # The shortest curve: what it proves here is the same, and it is three times as fast.
        self.authority = Authority(datetime.fromtimestamp(MORNING, UTC), NAMED[0])
        self.server = self.authority.issue("Fiscal server")
        self.cashier = self.authority.cashier("Олена Коваль", TIN)


keys = cache(Keys)


SETTINGS = {
    "server_url": "http://localhost/fs",
    "fiscal_number": str(NUMBER),
    "fis_code": TIN,
    "name": "ТОВ «Крамниця»",
    "shopname": "Кав’ярня ₴",
    "shopad": "м. Київ",
    "offline_allowed": True,
    "rounding_step": 50,
}
"""The settings of the register."""


def far(world: World) -> FarEnd:
    """The simulated server, which knows the register and its cashier."""
    who = keys()

    def opened(message: bytes) -> Signed:
        try:
            verdict = verify(message, datetime.fromtimestamp(world.seconds(), UTC), who.authority.trust)
        except CryptoError as error:
            raise WrongSignature(str(error)) from None
        if not verdict.valid or verdict.signer is None:
            raise WrongSignature("; ".join(map(str, verdict.faults)))
        return Signed(verdict.content, verdict.signer.key_id.hex(), verdict.signer.subject.common)

    certificate = who.cashier.certificate
    cashier = Operator(certificate.key_id.hex(), certificate.subject.common, chief=True)
    server = FiscalServer(
        world,
        [Registration(NUMBER, tin=TIN, operators=(cashier,))],
        open=opened,
        seal=lambda content: sign(content, who.server.key, who.server.certificate),
    )
    return FarEnd(server)


def build(row: DeviceRow, settings: Any, around: Surroundings, far: FarEnd) -> PrroRegister:
    """The register, whose requests reach that server."""
    exchange = InProcessExchange(far.device, around.reactor, settings.connect_s + settings.wait_s)
    return PrroRegister(row, settings, around, exchange)


def load_key(desk: Desk) -> None:
    """Load the cashier's key, as a person would."""
    cashier = keys().cashier
    desk.now(desk.built.load_key(write_private_key(cashier.key), "", [cashier.certificate.raw]))
