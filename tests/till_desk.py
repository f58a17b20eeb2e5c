"""An old till in front of the service: a shop in memory, its register's line, the till's end of that line."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, cast

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IProtocolFactory
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.registers import totals
from protocols.registers.datecs import classic
from protocols.registers.datecs.link import CLOSE_LIMIT, ClassicRegister, DatecsLink, numbers
from protocols.registers.troubles import DeviceRefused
from tests.register_desk import Desk
from tests.shop import Shop

HERE = IPv4Address("TCP", "127.0.0.1", 40_000)
LISTEN = "127.0.0.1:9100"


class Ports:
    """The listening ports of a reactor without any."""

    def __init__(self) -> None:
        self.open: dict[tuple[str, int], Any] = {}

    def listen(self, port: int, factory: Any, backlog: int = 50, interface: str = "") -> Any:
        """Open one."""
        place, ports = (interface, port), self.open
        ports[place] = factory

        class Port:
            """An open port."""

            def stopListening(self) -> None:
                """Close it."""
                ports.pop(place, None)

        return Port()


class TillCase(SynchronousTestCase):
    """A shop whose register `test` listens to an old till."""

    settings: ClassVar[dict[str, Any]] = {"rounding_step": 0}

    def setUp(self) -> None:
        self.shop = Shop(self)
        self.clock = self.shop.clock
        self.ports = Ports()
        self.clock.listenTCP = self.ports.listen  # type: ignore[attr-defined]
        self.shop.settings(classic_listen=LISTEN, **self.settings)
        self.numbers = numbers()
        self.desk = Desk(self.clock, cast(IProtocolFactory, self))
        self.spoil: Callable[[bytes, Callable[[], None]], bytes] | None = None
        """Changes the bytes of an answer, or breaks the line."""
        self.clock.advance(2)
        self.connect()

    @property
    def lines(self) -> Any:
        """The factory of the register's lines."""
        return self.ports.open["127.0.0.1", 9100]

    def buildProtocol(self, address: object) -> Any:
        """A line of a till on this computer."""
        end = self.lines.buildProtocol(HERE)
        send = end.send

        def spoilt(data: bytes) -> None:
            send(self.spoil(data, end.hang_up) if self.spoil is not None else data)

        end.send = spoilt
        return end

    def connect(self) -> None:
        """A new line, and nothing said on it."""
        self.till = ClassicRegister(self.desk.open(lambda: DatecsLink(self.clock, self.numbers)))

    def begin(self) -> None:
        """A new line of a till that does not know the number used last."""
        self.connect()
        self.desk.done(self.till.greet())

    def crash(self) -> None:
        """The service dies and starts again; every line breaks."""
        lines = self.lines
        self.shop.crash()
        lines.hang_up()
        self.desk.endpoint.flush()

    def do(self, command: Any, limit: float = CLOSE_LIMIT, again: bool = False) -> Any:
        """Have a command executed."""
        return self.desk.done(self.till.do(command, limit, again))

    def refused(self, command: Any) -> str:
        """The bit with which a command is refused."""
        doing: Awaitable[object] = self.till.do(command, CLOSE_LIMIT)
        return str(self.assertRaises(DeviceRefused, self.desk.done, doing).code)

    def program(self, code: int = 1, price: int = 2550, tax: str = "А", name: str = "Хліб") -> None:
        """Write an article."""
        answer = self.do(classic.WriteArticle("P", tax, code, price=price, name=name))
        self.assertEqual(answer, classic.Result("P"))

    def paid(self, pieces: int = 2) -> int:
        """A receipt that only has to be closed; what it comes to."""
        self.do(classic.Open())
        self.do(classic.Sell(1, 1000 * pieces))
        total: int = self.do(classic.Subtotal()).total
        self.do(classic.Pay("P", total))
        return total

    def sell(self, pieces: int = 2) -> classic.Counts:
        """A whole receipt."""
        self.paid(pieces)
        counts: classic.Counts = self.do(classic.Close())
        return counts

    def forms(self) -> tuple[int, int, int, int]:
        """The turnover of the forms of payment."""
        sums = self.do(classic.ReadForms())
        return sums.cash, sums.credit, sums.card, sums.cheque

    def sales(self, kind: str = "sale") -> list[int]:
        """The sums of the receipts in the tax service's ledger."""
        return [entry.sum for entry in self.shop.ledger(kind=kind)]

    def state(self) -> totals.RegisterState:
        """What the store holds of the register."""
        row = self.shop.core.devices.by_name("test").row
        kept = self.successResultOf(Deferred.fromCoroutine(self.shop.store.register_state(row.n)))
        return totals.decode(kept) if kept else totals.RegisterState()


class Killed(BaseException):
    """The service is dead from here on."""


VERBS = ("change_settings", "reserve", "conclude", "conclude_at_once", "accept_document")


class Kills:
    """Kills the service of a case at the n-th durable step, or counts the steps."""

    def __init__(self, case: TillCase) -> None:
        self._case, self._left = case, 0
        self.passed: list[str] = []
        for name, module in list(sys.modules.items()):
            # The store in memory has no writer that could die.
            if name.startswith(("dmtwisted.registers", "dmtwisted.dispatch")) and hasattr(module, "reached"):
                case.patch(module, "reached", self._reached)
        for verb in VERBS:
            case.patch(case.shop.store, verb, self._around(verb, getattr(case.shop.store, verb)))

    def at(self, step: int) -> None:
        """Kill at this step from now, counted from 1; 0 never kills."""
        self._left, self.passed = step, []

    @property
    def waits(self) -> bool:
        """Whether the kill is still to come."""
        return self._left > 0

    def _reached(self, step: str) -> None:
        self.passed.append(step)
        self._left -= 1
        if self._left == 0:
            self._case.lines.hang_up()
            raise Killed

    def _around(self, name: str, verb: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def ask(*arguments: Any) -> Any:
            self._reached(f"before {name}")
            answer = await verb(*arguments)
            self._reached(f"after {name}")
            return answer

        return ask
