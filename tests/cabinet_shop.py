"""A shop in memory whose registers are at the simulated server of the cabinet (protocol B)."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.core import Core
from dmtwisted.devices.driver import REGISTER
from dmtwisted.registers.drivers.prro import driver
from dmtwisted.results import Refused
from protocols.fiscal.cabinet.documents import RQ, decode
from protocols.fiscal.crypto.signing import sign
from protocols.simulators.cabinet_in_process import InProcessCall
from protocols.simulators.cabinet_register import kind_of
from protocols.simulators.cabinet_server import CabinetServerSimulator
from protocols.simulators.fiscal_in_process import InProcessExchange
from protocols.simulators.fiscal_register import Operator, Registration
from protocols.simulators.fiscal_server import FiscalServer
from tests.prro_shop import FIRST, TIN, PrroShop, keys
from tests.shop import sale

GONE = ({"on": "any", "then": "unreachable", "times": 0}, {"on": "probe", "then": "unreachable", "times": 0})
"""Nothing gets through: neither documents nor questions."""


class InProcess(InProcessCall):
    """A connection that can be closed, and counts its calls."""

    def __init__(self, server: CabinetServerSimulator, clock: Any, calls: list[str]) -> None:
        super().__init__(server, clock)
        self._calls = calls

    async def __call__(self, method: str, request: bytes, patience: float) -> bytes:
        """Make one call."""
        self._calls.append(method)
        return await super().__call__(method, request, patience)

    def close(self) -> None:
        """Nothing is open."""


class CabinetShop(PrroShop):
    """A shop with two registers, `one` and `two`, on protocol B.

    :param keyed: those that have their key already.
    """

    def __init__(self, case: SynchronousTestCase, *keyed: str, **settings: Any) -> None:
        self.cabinet: CabinetServerSimulator | None = None
        self._taken: list[bytes] = []
        self.calls: list[str] = []
        """The methods that were called."""
        super().__init__(case, *keyed, **{"protocol": "b", "server_url": "http://localhost:9443", **settings})

    def _open(self) -> Core:
        who = keys()
        operators = tuple(
            Operator(one.certificate.key_id.hex(), one.certificate.subject.common, chief=True)
            for one in (who.cashier, who.other, who.ending)
        )
        if self.cabinet is None:
            registrations = [Registration(FIRST + n, tin=TIN, operators=operators) for n in range(2)]
            self.cabinet = CabinetServerSimulator(
                self.clock, registrations, open=self._opened, seal=lambda content: sign(content, *self._server_key())
            )
            self._record(self.cabinet)
        if self.fiscal_server is None:
            self.fiscal_server = FiscalServer(
                self.clock, [], open=self._opened, seal=lambda content: sign(content, *self._server_key())
            )
        server, fiscal = self.cabinet, self.fiscal_server
        core = Core(self._config, self.store, self.clock, self.state)
        core.devices.drivers[REGISTER, "prro"] = driver(
            lambda settings, around: InProcessExchange(fiscal, self.clock, settings.connect_s + settings.wait_s),
            lambda settings, around: self.agent if settings.signer_url else None,
            lambda settings, around: self.stamps,
            lambda settings, around: lambda url: InProcess(server, self.clock, self.calls),
        )
        self._case.successResultOf(Deferred.fromCoroutine(core.open()))
        return core

    def _server_key(self) -> tuple[Any, Any]:
        return keys().server.key, keys().server.certificate

    @property
    def there(self) -> CabinetServerSimulator:
        """The cabinet's server."""
        assert self.cabinet is not None
        return self.cabinet

    def rules(self, *rules: dict[str, Any]) -> None:
        """What goes wrong next at the server."""
        self.there.scenario.replace({"rules": list(rules)})

    def standing(self, register: int = FIRST) -> Any:
        """A register as the server has it."""
        return self.there.books.registers[str(register)]

    def papers(self, register: int = FIRST) -> list[RQ]:
        """The documents that the server accepted of a register, in their order, without those that it deleted."""
        return [decode(content) for content in self.contents(register)]

    def contents(self, register: int = FIRST) -> list[bytes]:
        """The bytes of these documents."""
        return [content for content in self._taken if decode(content).dat.fn == str(register)]

    def _record(self, server: CabinetServerSimulator) -> None:
        """Keep what the server accepts."""
        take, delete = server.books.take, server.books.delete

        def taking(record: Any, claim: Any, content: bytes, *given: Any) -> Any:
            self._taken.append(content)
            return take(record, claim, content, *given)

        def deleting(*given: Any) -> Any:
            deleted = delete(*given)
            self._taken.remove(deleted.content)
            return deleted

        self._case.patch(server.books, "take", taking)
        self._case.patch(server.books, "delete", deleting)

    def kinds(self, register: int = FIRST) -> list[str]:
        """What these documents are."""
        return [kind_of(paper.dat.content) for paper in self.papers(register)]


class CabinetCase(SynchronousTestCase):
    """A shop on protocol B; nothing is open yet."""

    settings: dict[str, Any] = {}  # noqa: RUF012

    def setUp(self) -> None:
        """Load the key of register `one`."""
        self.shop = CabinetShop(self, "one", **self.settings)

    def do(self, task: int, tag: str = "", device: str = "one", **members: Any) -> dict[str, Any]:
        """The answer to a task."""
        return self.shop.fiscal(task, tag, device, **members)

    def sell(self, amount: float = 50, tag: str = "", device: str = "one") -> dict[str, Any]:
        """The answer to a sale in cash."""
        return self.do(1, tag, device, receipt=sale(amount))

    def told(self, answer: dict[str, Any], res: int = 0, action: int | None = None) -> dict[str, Any]:
        """``answer``, which has to tell ``res``, and ``res_action`` if one is given."""
        self.assertEqual(answer["res"], res, answer)
        if action is not None:
            self.assertEqual(answer["res_action"], action, answer)
        return answer

    def go(self, way: str, device: str = "one") -> int:
        """Ask the register to go offline or online: 0, or the code of the refusal."""
        going = Deferred.fromCoroutine(getattr(self.shop.built(device), f"go_{way}")("uk"))
        self.shop.settle(going)
        going.addErrback(_code_of)
        return self.successResultOf(going) or 0

    def state(self, device: str = "one") -> Any:
        """The register's state as its books have it."""
        return self.shop.built(device)._books.state

    def agree(self, register: int = FIRST, device: str = "one") -> None:
        """Both ends know the same: the last document, the next number, the last Z; the chain has no gap."""
        ours, theirs = self.state(device), self.shop.standing(register)
        self.assertEqual(ours.chain, theirs.tip)
        self.assertEqual((ours.local, ours.z_number), (theirs.next_local, theirs.z))
        self.assertEqual(ours.shift_open, theirs.shift is not None)


def _code_of(failure: Failure) -> int:
    failure.trap(Refused)
    assert isinstance(failure.value, Refused)
    return failure.value.res.code
