"""A shop in memory with registers of the driver `prro`, and the simulated tax service, all with generated keys."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.core import Core
from dmtwisted.devices.driver import REGISTER
from dmtwisted.registers.drivers.prro import driver
from protocols.fiscal.client import Exchange
from protocols.fiscal.crypto.authority import Authority, Identity
from protocols.fiscal.crypto.curves import NAMED
from protocols.fiscal.crypto.errors import CryptoError
from protocols.fiscal.crypto.key_formats import write_private_key
from protocols.fiscal.crypto.pkcs12_file import write_pkcs12
from protocols.fiscal.crypto.signing import sign
from protocols.fiscal.crypto.verifying import verify
from protocols.fiscal.signatures import Signed, WrongSignature
from protocols.simulators.fiscal_in_process import InProcessExchange
from protocols.simulators.fiscal_register import Operator, Registration
from protocols.simulators.fiscal_server import FiscalServer
from tests.shop import MORNING, Shop

TIN = "34554363"
EARLIER = {"offline_probe_before_receipt": False, "offline_by_hand": "as_asked", "warn_offline_h": 24.0}
"""What a register of an earlier version has; `tests.test_link_check` has a new one."""

FIRST = 4_000_000_202
"""Fiscal numbers of the registers count from here."""


class Keys:
    """The authority, the server's key and the cashier's, made once for all tests."""

    def __init__(self) -> None:
        now = datetime.fromtimestamp(MORNING, UTC)
        # The shortest curve: what it proves here is the same, and the tests are three times as fast.
        self.authority = Authority(now, NAMED[0])
        self.server = self.authority.issue("Fiscal server")
        self.cashier = self.authority.cashier("Олена Коваль", TIN)
        self.other = self.authority.cashier("Інший касир", TIN)
        self.ending = self.authority.cashier("Касир", TIN, days=2.5)

    def file(self, identity: Identity) -> bytes:
        """The key as PKCS#8, as which a register takes it too."""
        return write_private_key(identity.key)


keys = cache(Keys)


def cashier_of_today() -> Identity:
    """The cashier, for a service that has the clock of the machine."""
    return Authority(datetime.now(UTC), NAMED[0]).cashier("Олена Коваль", TIN)


def container(identity: Identity, password: str) -> bytes:
    """A key file with its certificate, locked with a password in few rounds."""
    return write_pkcs12([write_private_key(identity.key)], [identity.certificate], password, rounds=10)


class PrroShop(Shop):
    """A shop with two registers at the tax service, `one` and `two`.

    :param keyed: those that have their key already.
    """

    def __init__(self, case: SynchronousTestCase, *keyed: str, **settings: Any) -> None:
        self._settings = settings
        self.fiscal_server: FiscalServer | None = None
        self.agent: Exchange | None = None
        """The way to a signing agent, for registers whose settings name one."""
        self.stamps: Exchange | None = None
        """The way to a time-stamp provider."""
        super().__init__(case)
        self.add_register("one", FIRST)
        self.add_register("two", FIRST + 1)
        for name in keyed:
            self.load_key(name, keys().cashier)

    def _open(self) -> Core:
        if self.fiscal_server is None:
            who = keys()
            operators = tuple(
                Operator(one.certificate.key_id.hex(), one.certificate.subject.common, chief=True)
                for one in (who.cashier, who.other, who.ending)
            )
            self.fiscal_server = FiscalServer(
                self.clock,
                [Registration(FIRST + n, tin=TIN, operators=operators) for n in range(2)],
                open=self._opened,
                seal=lambda content: sign(content, who.server.key, who.server.certificate),
            )
        server = self.fiscal_server
        core = Core(self._config, self.store, self.clock, self.state)
        core.devices.drivers[REGISTER, "prro"] = driver(
            lambda settings, around: InProcessExchange(server, self.clock, settings.connect_s + settings.wait_s),
            lambda settings, around: self.agent if settings.signer_url else None,
            lambda settings, around: self.stamps,
        )
        self._case.successResultOf(Deferred.fromCoroutine(core.open()))
        return core

    def _opened(self, message: bytes) -> Signed:
        try:
            verdict = verify(message, datetime.fromtimestamp(self.clock.seconds(), UTC), keys().authority.trust)
        except CryptoError as error:
            raise WrongSignature(str(error)) from None
        if not verdict.valid or verdict.signer is None:
            raise WrongSignature("; ".join(map(str, verdict.faults)))
        return Signed(verdict.content, verdict.signer.key_id.hex(), verdict.signer.subject.common)

    def add_register(self, device: str, number: int, **settings: Any) -> None:
        """One more register."""
        anchor = keys().authority.root.certificate.raw
        file = self.state / "trusted.cer"
        file.write_bytes(anchor)
        settings = {
            "server_url": "http://localhost/fs",
            "trusted_certificates": str(file),
            "fiscal_number": str(number),
            "fis_code": TIN,
            "name": "ТОВ «Крамниця»",
            "shopname": "Кав’ярня ₴",
            "shopad": "м. Київ",
            "offline_allowed": True,
            "rounding_step": 10,
            **EARLIER,
            **self._settings,
            **settings,
        }
        self.done(self.core.devices.add(device, REGISTER, "prro", settings, confirm_real=True))

    def done(self, coroutine: Any) -> Any:
        """What ``coroutine`` comes to, at once."""
        return self._case.successResultOf(Deferred.fromCoroutine(coroutine))

    def built(self, name: str = "one") -> Any:
        """The register itself."""
        return self.core.devices.by_name(name).built

    def load_key(self, name: str, identity: Identity, certificates: list[bytes] | None = None) -> None:
        """Load a key into a register."""
        given = [identity.certificate.raw] if certificates is None else certificates
        self.done(self.built(name).load_key(keys().file(identity), "", given))

    @property
    def far_end(self) -> FiscalServer:
        """The tax service."""
        assert self.fiscal_server is not None
        return self.fiscal_server

    def rules(self, *rules: dict[str, Any]) -> None:
        """What goes wrong next at the tax service."""
        self.far_end.scenario.replace({"rules": list(rules)})

    def taken(self, register: int = FIRST) -> list[Any]:
        """The documents that the tax service has of a register, in their order."""
        return [stored.document for stored in self.far_end.books.registers[register].documents.values()]

    def kinds(self, register: int = FIRST) -> list[str]:
        """What these documents are."""
        return [stored.kind.value for stored in self.far_end.books.registers[register].documents.values()]
