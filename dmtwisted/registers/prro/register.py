"""The register that fiscalises at a server of the tax service and signs with a key of its own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from dmtwisted.clock import day_of
from dmtwisted.devices.driver import Surroundings
from dmtwisted.registers.agent_key import AgentKey
from dmtwisted.registers.channels.breaker import Breaker, CallBreaker, Pausing
from dmtwisted.registers.channels.evidence import Evidence
from dmtwisted.registers.channels.interface import OutletRecord, ProtocolFound
from dmtwisted.registers.channels.known_outlet import KnownOutlet
from dmtwisted.registers.channels.opening import Opening
from dmtwisted.registers.channels.tax_service import Register, TaxServiceChannel
from dmtwisted.registers.channels.time_stamps import MUST, OFF, TimeStamps
from dmtwisted.registers.engine import SoftwareRegister
from dmtwisted.registers.interface import ExaminedKey
from dmtwisted.registers.keys import SigningKey, key_members, signed
from dmtwisted.registers.mark_rules import service_of
from dmtwisted.registers.prro.protocols import ICall, ProtocolFinder, ToCabinet
from dmtwisted.registers.prro.settings import CABINET_URL, SERVER_URL, PrroSettings
from dmtwisted.registers.prro.trust import Trusted, roots_of
from dmtwisted.registers.settings import OF_A_SHIFT, on_day
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import DeviceRow
from dmtwisted.wording import wording
from protocols.fiscal.client import Exchange
from protocols.fiscal.crypto.errors import CryptoError
from protocols.fiscal.crypto.signed_message import read
from protocols.fiscal.https import HttpsExchange, ServerEndpoints

if TYPE_CHECKING:
    from dmtwisted.registers.channels.cabinet import CabinetChannel


class PrroRegister(SoftwareRegister):
    """A software register at one of the two servers of the tax service.

    :param calls: makes the calls to the cabinet's server at an address.
    """

    def __init__(
        self,
        row: DeviceRow,
        settings: PrroSettings,
        around: Surroundings,
        exchange: Exchange,
        agent: Exchange | None = None,
        stamps: Exchange | None = None,
        calls: ToCabinet | None = None,
    ) -> None:
        self._key = _key_of(row, settings, around, agent)
        self._evidence = Evidence(around.state)
        self._trusted = Trusted(settings.trusted_certificates, around.state, settings.stays)
        self._exchange, self._to_cabinet = exchange, calls or to_cabinet(settings, around)
        number = int(settings.fiscal_number or 0)
        outlet = KnownOutlet(number, row.dev_id, around.store)
        stamped = _stamps_of(settings, stamps or exchange, around)
        self._opening = Opening(self._trusted, self._evidence, number, settings.server_url, around.clock)
        self._call: ICall | None = None
        self._way: TaxServiceChannel | CabinetChannel
        pausing: Pausing
        if settings.protocol == "b":
            from dmtwisted.registers.channels.cabinet import CabinetChannel, CabinetRegister, Signatures

            self._call = self._to_cabinet(settings.server_url)
            pausing = breaking = CallBreaker(self._call, around.clock, settings.retry_s)
            self._way = CabinetChannel(
                CabinetRegister(
                    number=settings.fiscal_number,
                    local=settings.local_number,
                    testing=settings.testing,
                    terms=self._terms,
                    marks_gs=settings.marks_gs,
                ),
                self._key,
                breaking,
                settings.connect_s + settings.wait_s,
                Signatures(self._opening, _content_of, lambda: self._trusted.unverified),
                around.clock,
                outlet,
                stamped,
            )
        else:
            pausing = breaker = Breaker(exchange, around.clock, settings.retry_s)
            self._way = TaxServiceChannel(
                Register(
                    number=number,
                    local=settings.local_number,
                    testing=settings.testing,
                    terms=self._terms,
                    marks_gs=settings.marks_gs,
                    device_register=settings.device_register,
                ),
                self._key,
                breaker,
                settings.server_url,
                self._trusted,
                self._evidence,
                around.clock,
                outlet,
                stamped,
            )
        self._own_settings = settings
        super().__init__(
            row.n,
            row.name,
            settings.fiscal_number,
            settings,
            around.store,
            self._way,
            around.clock,
            revokes=settings.offline_after_lost_answer == "revoke",
            insist=pausing.insist,
            marks=service_of(settings, around),
            posted=around.posted,
            ways=around.ways,
        )

    async def resolve(self) -> None:
        """As any register, once it is known which key there is."""
        await self._key.read()
        await super().resolve()

    async def state(self) -> dict[str, object]:
        """As any register, and whose key signs for it."""
        await self._key.read()
        fault, way = self._trusted.fault(), self._way
        return {
            **await super().state(),
            **({"error": fault} if fault else {}),
            "signinfo": self._key.info,
            "key_days_left": self._key.days_left(),
            "key": self._key.describe(self._own_settings.warn_key_days),
            "unverified": self.unverified,
            "refused_answers": self._evidence.count,
            "answers_signed_by": way.signer if isinstance(way, TaxServiceChannel) else self._opening.signer,
            "protocol": self._own_settings.protocol,
        }

    async def check(self) -> None:
        """As any register; its answers must be verifiable.

        :raises Refused: 430 when the list of trusted certificates cannot be read.
        """
        if fault := self._trusted.fault():
            raise Refused(Res.DEVICE_ERROR, wording(fault))
        await super().check()

    @property
    def unverified(self) -> bool:
        """Whether the tax service's answers count whoever signed them."""
        return self._way.unverified

    async def ahead(self) -> float | None:
        """Seconds that the tax service's clock is ahead of ours; `None` when it returns no time."""
        return await self._way.ahead()

    async def tax_objects(self) -> list[OutletRecord]:
        """The outlets and registers that the key may be used for, as the tax service has them; nothing is changed.

        :raises Refused: as the key is, or as the tax service answers.
        """
        return await self._way.tax_objects()

    async def examine_key(self, file: bytes, password: str, certificates: Sequence[bytes]) -> ExaminedKey:
        """What the key in ``file`` is and may do, before it is loaded: see `TaxServiceRegister`."""
        signer = await self._key.examine(file, password, certificates)

        async def sign(content: bytes) -> bytes:
            return await self._clock.aside(signed, signer, lambda: content)

        facts, moment = signer.facts, datetime.fromtimestamp(self._clock.seconds(), UTC)
        try:
            said = await self._way.said_of(sign)
        finally:
            signer.close()
        return ExaminedKey(key_members(facts, facts.days_left(moment), self._own_settings.warn_key_days), said)

    async def check_change(self, settings: msgspec.Struct) -> None:
        """As any register; during a shift the settings that a Z depends on may not change.

        :raises Refused: 1100 when tax groups, payment types, payer or register would change while it is open.
        """
        await super().check_change(settings)
        if not isinstance(settings, PrroSettings):
            return
        state = await self._books.current()
        if not state.shift_open and state.offline is None:
            return
        day = day_of(state.opened_at if state.shift_open else self._clock.now())
        new, old = on_day(settings, day), on_day(self._own_settings, day)
        stays = _OF_A_SHIFT if state.shift_open else _OF_A_SESSION
        if any(getattr(new, name) != getattr(old, name) for name in stays):
            raise Refused(Res.SHIFT_MUST_BE_CLOSED)

    async def load_key(self, file: bytes, password: str, certificates: Sequence[bytes]) -> None:
        """Sign with the key in ``file`` from now on; the caller holds the device's turn.

        In an open shift a key is replaced only when the old one cannot be used any more; then that shift may only be
        closed (1124).

        :raises Refused: 2009 when the register is open, 2003 when the key cannot be read.
        """
        state = await self._books.current()
        if state.shift_open and await self._key.usable():
            raise Refused(Res.KEY_IN_USE, self._name)
        await self._key.load(file, password, certificates, state.shift if state.shift_open else 0)

    async def find_protocol(self, other_url: str, language: str) -> ProtocolFound:
        """Ask both servers of the tax service which of them knows the register: see `TaxServiceRegister`."""
        settings = self._own_settings
        await self._key.ready()
        if not settings.fiscal_number:
            raise Refused(Res.FISCAL_NUMBER_EMPTY)
        other = other_url or ("" if settings.stays else CABINET_URL if settings.protocol == "a" else SERVER_URL)
        urls = (settings.server_url, other) if settings.protocol == "a" else (other, settings.server_url)
        finder = ProtocolFinder(
            settings.fiscal_number,
            self._key,
            self._opening,
            self._exchange,
            self._to_cabinet,
            self._clock.aside,
            settings.connect_s + settings.wait_s,
        )
        return await finder.find(*urls, language)

    def close(self) -> None:
        """Forget the key."""
        super().close()
        if self._call is not None:
            self._call.close()
        self._key.close()


def _key_of(
    row: DeviceRow, settings: PrroSettings, around: Surroundings, agent: Exchange | None
) -> SigningKey | AgentKey:
    """The key, kept here or with an agent."""
    if settings.signer_url and agent is not None:
        return AgentKey(row.name, settings.signer_url, settings.signer_token, agent, around.clock)
    return SigningKey(row.name, row.dev_id, around.store, around.secrets, around.clock)


def _content_of(sent: bytes) -> bytes:
    """The content of our own signed bytes.

    :raises Refused: 1069 when they cannot be read: they were damaged in the store.
    """
    try:
        return read(sent).content or b""
    except CryptoError as error:
        raise Refused(Res.SIGNING_FAILED, wording(f"the stored document cannot be read ({error})")) from error


def _stamps_of(settings: PrroSettings, exchange: Exchange, around: Surroundings) -> TimeStamps | None:
    if settings.time_stamps == OFF:
        return None
    must = settings.time_stamps == MUST
    return TimeStamps(settings.time_stamp_url, must, Breaker(exchange, around.clock, settings.retry_s), around.clock)


_OF_A_SESSION = (
    *("tax_groups", "pay_types", "pay_codes", "fis_code", "vat_code"),
    *("fiscal_number", "local_number", "testing", "protocol"),
)
"""Settings that stay the same in all documents of an offline session."""

_OF_A_SHIFT = (*_OF_A_SESSION, *OF_A_SHIFT)
"""Settings that stay the same in all documents of one shift (docs/reference/tax-service.md#z-report)."""

AGENT_CONNECT_S, AGENT_S = 3.0, 10.0
"""Seconds for a connection to the signing agent or the time-stamp provider, and for its whole answer."""


def to_cabinet(settings: PrroSettings, around: Surroundings) -> ToCabinet:
    """Makes the calls to the cabinet's server over the network."""

    def to(url: str) -> ICall:
        # HTTP/2 is loaded with the first register that needs it.
        from protocols.fiscal.cabinet.client import CabinetCall

        return CabinetCall(around.reactor, url, roots_of(settings.server_ca), settings.connect_s)

    return to


def to_server(settings: PrroSettings, around: Surroundings) -> Exchange:
    """The exchange over the network."""
    endpoints = ServerEndpoints(around.reactor, roots_of(settings.server_ca), settings.connect_s)
    return HttpsExchange(around.reactor, endpoints, settings.connect_s + settings.wait_s)


def to_agent(settings: PrroSettings, around: Surroundings) -> Exchange | None:
    """The exchange with the signing agent over the network; `None` when the settings name none."""
    if not settings.signer_url:
        return None
    endpoints = ServerEndpoints(around.reactor, roots_of(settings.signer_ca), AGENT_CONNECT_S)
    return HttpsExchange(around.reactor, endpoints, AGENT_S)


def to_stamps(settings: PrroSettings, around: Surroundings) -> Exchange | None:
    """The exchange with the time-stamp provider over the network; `None` when nothing is stamped."""
    if settings.time_stamps == OFF:
        return None
    return HttpsExchange(around.reactor, ServerEndpoints(around.reactor, None, AGENT_CONNECT_S), AGENT_S)
