"""Which of the tax service's two servers knows a register (docs/registers.md#two-servers)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, Protocol

from dmtwisted.registers.channels.interface import ProtocolFound, ServerSaid
from dmtwisted.registers.channels.protocol_a import refusal_of as refusal_a
from dmtwisted.registers.keys import ISigningKey
from dmtwisted.results import Refused, Res, Text, in_language
from dmtwisted.wording import wording
from protocols.fiscal import verdicts
from protocols.fiscal.client import Aside, Exchange, FiscalServer
from protocols.fiscal.signatures import Open
from protocols.fiscal.verdicts import Answered, Nothing


class ICall(Protocol):
    """Makes calls to the cabinet's server: see `protocols.fiscal.cabinet.client.Call`."""

    async def __call__(self, method: str, request: bytes, deadline: float, /) -> bytes:
        """Make one call."""

    def close(self) -> None:
        """Close the connection."""


ToCabinet = Callable[[str], ICall]
"""From an address to what makes the calls there."""


class ProtocolFinder:
    """Asks both servers; nothing is changed there.

    :param number: the register's fiscal number. :param open: verifies what the fiscal server signed.
    :param patience: seconds for each answer of the cabinet's server.
    """

    def __init__(
        self,
        number: str,
        key: ISigningKey,
        open: Open,
        exchange: Exchange,
        to_cabinet: ToCabinet,
        aside: Aside,
        patience: float,
    ) -> None:
        self._number, self._key, self._open, self._aside = number, key, open, aside
        self._exchange, self._to_cabinet, self._patience = exchange, to_cabinet, patience

    async def find(self, url_a: str, url_b: str, language: str) -> ProtocolFound:
        """What the servers at both addresses say; an empty address is not asked."""
        a = await self._said(url_a, self._of_a, language)
        b = await self._said(url_b, self._of_b, language)
        protocol: Literal["a", "b", "both", "neither", "unknown"] = "unknown"
        if a.knows and b.knows:
            protocol = "both"
        elif a.knows and b.knows is False:
            protocol = "a"
        elif b.knows and a.knows is False:
            protocol = "b"
        elif a.knows is False and b.knows is False:
            protocol = "neither"
        return ProtocolFound(protocol, a, b)

    async def _said(self, url: str, ask: Callable[[str], Awaitable[Answer]], language: str) -> ServerSaid:
        if not url:
            return ServerSaid(url, None, _NOT_ASKED.for_language(language))
        knows, why = await ask(url)
        return ServerSaid(url, knows, in_language(why, language))

    async def _sign(self, content: bytes) -> bytes:
        return await self._key.sign(lambda: content)

    async def _of_a(self, url: str) -> Answer:
        server = FiscalServer(self._exchange, self._sign, self._open, url, aside=self._aside)
        asked = await server.objects()
        if isinstance(asked, Nothing):
            return False, _NO_KEY
        if isinstance(asked, verdicts.Refused):
            return None, refusal_a(asked).words()
        if not isinstance(asked, Answered):
            return None, wording(asked.why)
        for outlet in asked.value.tax_objects:
            for one in outlet.transactions_registrars:
                if str(one.num_fiscal) == self._number:
                    return not one.closed, _CLOSED if one.closed else Text(outlet.name or "", outlet.name or "")
        return False, _NOT_LISTED

    async def _of_b(self, url: str) -> Answer:
        from dmtwisted.registers.channels.cabinet import REGISTERED
        from dmtwisted.registers.channels.cabinet_refusals import refusal_of as refusal_b
        from protocols.fiscal.cabinet.client import CabinetServer

        call = self._to_cabinet(url)
        try:
            asked = await CabinetServer(call, self._sign, self._patience).info(self._number)
        finally:
            call.close()
        if isinstance(asked, Answered):
            name, closed = asked.value.name_to or asked.value.name, asked.value.status_rro != REGISTERED
            return not closed, _CLOSED if closed else Text(name, name)
        if isinstance(asked, verdicts.Refused):
            refused: Refused = refusal_b(asked)
            strange = refused.res is Res.TAX_SERVICE_UNKNOWN_REGISTER or refused.res is Res.TAX_SERVICE_UNKNOWN_KEY
            return (False if strange else None), refused.words()
        return None, wording(asked.why)


Answer = tuple[bool | None, Text]
"""Whether a server knows the register, `None` when it did not say; and why."""

_NOT_ASKED = Text("не запитано: ця каса працює з імітатором", "not asked: this register works with a simulator")
_NO_KEY = Text("сервер не знає ключа", "the server does not know the key")
_NOT_LISTED = Text(
    "серед кас власника ключа цього номера немає", "the registers of the key's owner do not include this number"
)
_CLOSED = Text("реєстрацію скасовано", "the registration is cancelled")
