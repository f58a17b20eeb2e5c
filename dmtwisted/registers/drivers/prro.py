"""The register that fiscalises at the tax service itself, protocol A, and signs with a key of its own (design 10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from dmtwisted.devices.driver import REGISTER, Driver, Surroundings
from dmtwisted.registers.channels.interface import OutletRecord
from dmtwisted.registers.engine import SoftwareRegister
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.registers.totals import RegisterState
from dmtwisted.requests import TaskRequest
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import DeviceRow

if TYPE_CHECKING:
    from dmtwisted.registers.channels.time_stamps import TimeStamps
    from dmtwisted.registers.keys import ISigningKey
    from protocols.fiscal.client import Exchange
    from protocols.fiscal.crypto.trust import Trust

SERVER_URL = "https://fs.tax.gov.ua:8643/fs"
"""The fiscal server; test documents go there too (fiscal-server 2)."""


class PrroSettings(RegisterSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any software register, with the way to the tax service."""

    server_url: Annotated[str, Meta(description="Address of the fiscal server")] = SERVER_URL
    server_ca: Annotated[
        str, Meta(description="Roots to trust in TLS besides the machine's: PEM, or the path of a PEM file")
    ] = ""
    trusted_certificates: Annotated[
        str | tuple[str, ...],
        Meta(
            description="Whose signature on tickets is accepted: PEM, or paths of files with certificates; "
            "none is the built-in list, and while that is empty TLS alone says who answers"
        ),
    ] = ()
    fiscal_number: Annotated[
        str, Meta(pattern="^[0-9]{0,18}$", description="Fiscal number of the register, as it was registered")
    ] = ""
    local_number: Annotated[int, Meta(ge=1, description="Number of the register within its outlet")] = 1
    testing: Annotated[bool, Meta(description="Whether documents are tests, without fiscal force")] = False
    time_stamps: Annotated[
        Literal["off", "try", "must"],
        Meta(description="Time stamps of online documents: none; when the provider gives one; no document without"),
    ] = "off"
    time_stamp_url: Annotated[
        str, Meta(description="Address of the time-stamp provider; empty is the one that the certificate names")
    ] = ""
    signer_url: Annotated[
        str,
        Meta(description="Address of a signing agent that holds the key; empty: the key is loaded into the service"),
    ] = ""
    signer_token: Annotated[str, Meta(max_length=200, description="By which the signing agent knows us")] = ""
    signer_ca: Annotated[
        str, Meta(description="Roots to trust at the signing agent besides the machine's: PEM, or the path of a file")
    ] = ""
    connect_s: Annotated[float, Meta(gt=0, le=60, description="Seconds to wait for a connection")] = 5.0
    wait_s: Annotated[float, Meta(gt=0, le=120, description="Seconds to wait for an answer, after that")] = 15.0
    offline_after_lost_answer: Annotated[
        Literal["wait", "revoke"],
        Meta(
            description="While nobody can be asked about a document whose answer was lost: wait; or go offline, "
            "make it again there, and revoke its online copy at the return, if there is one"
        ),
    ] = "wait"
    retry_s: Annotated[
        float, Meta(ge=0, le=600, description="Seconds to leave a server alone that did not answer in time")
    ] = 30.0

    def __post_init__(self) -> None:
        RegisterSettings.__post_init__(self)
        _address("server_url", self.server_url)
        if self.time_stamp_url:
            _address("time_stamp_url", self.time_stamp_url)
        if self.signer_url:
            host = _address("signer_url", self.signer_url)
            if self.signer_url.startswith("http:") and host not in ("localhost", "127.0.0.1", "::1"):
                raise ValueError(
                    "signer_url: to another machine https is expected, for receipts and token travel there"
                )
        for name, roots in (("server_ca", self.server_ca), ("signer_ca", self.signer_ca)):
            _roots(name, roots)
        _named("trusted_certificates", lambda: trust_in(self.trusted_certificates))


def _address(name: str, url: str) -> str:
    """The host of an address.

    :raises ValueError: when it is none; the text names its member.
    """
    try:
        address = urlsplit(url)
        host = None if address.port == 0 else address.hostname
    except ValueError:
        host = None
    if host is None or address.scheme not in ("https", "http") or not url.isascii():
        raise ValueError(f"{name}: an address like https://host:port/path is expected")
    return host


def _roots(name: str, given: str) -> None:
    """See that the certificates in a setting can be read.

    :raises ValueError: when they cannot; the text names its member.
    """
    if given:
        from protocols.fiscal.https import roots_in

        _named(name, lambda: roots_in(_file(given)))


def trust_in(texts: str | Sequence[str]) -> Trust | None:
    """The certificates that ``texts`` spell or name, else those of the built-in list; `None` when that is empty too.

    :raises ValueError: when one cannot be read.
    """
    given = [text for text in ([texts] if isinstance(texts, str) else texts) if text.strip()]
    from protocols.fiscal.crypto.certificates import read_certificates
    from protocols.fiscal.crypto.errors import CryptoError
    from protocols.fiscal.crypto.trust import Trust
    from protocols.fiscal.trusted import built_in

    if not given:
        return Trust(built_in()) if built_in() else None
    try:
        return Trust([certificate for text in given for certificate in read_certificates(_file(text))])
    except CryptoError as error:
        raise ValueError(str(error)) from None


def _file(text: str) -> bytes:
    """PEM as it is, else the file of that name."""
    if "-----BEGIN" in text:
        return text.encode()
    try:
        return Path(text.strip()).read_bytes()
    except (OSError, ValueError) as error:
        raise ValueError(f"{text.strip()[:200]} cannot be read ({error})") from None


def _named(name: str, read: Callable[[], object]) -> None:
    """Read, and let an error name its member."""
    try:
        read()
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


class PrroRegister(SoftwareRegister):
    """A software register at the tax service's own server."""

    def __init__(
        self,
        row: DeviceRow,
        settings: PrroSettings,
        around: Surroundings,
        exchange: Exchange,
        agent: Exchange | None = None,
        stamps: Exchange | None = None,
    ) -> None:
        # The cryptography is loaded with the first register that signs, not with the service.
        from dmtwisted.registers.channels.breaker import Breaker
        from dmtwisted.registers.channels.known_outlet import KnownOutlet
        from dmtwisted.registers.channels.tax_service import Register, TaxServiceChannel

        self._key = _key_of(row, settings, around, agent)
        number = int(settings.fiscal_number or 0)
        self._way = channel = TaxServiceChannel(
            Register(
                number=number,
                local=settings.local_number,
                testing=settings.testing,
                groups={group.code: group for group in settings.tax_groups},
            ),
            self._key,
            Breaker(exchange, around.clock, settings.retry_s),
            settings.server_url,
            trust_in(settings.trusted_certificates),
            around.clock,
            KnownOutlet(number, row.dev_id, around.store),
            _stamps_of(settings, stamps or exchange, around),
        )
        self._own_settings, self._unasked = settings, False
        super().__init__(row.n, row.name, settings.fiscal_number, settings, around.store, channel, around.clock)
        self._revokes = settings.offline_after_lost_answer == "revoke"

    async def resolve(self) -> None:
        """As any register; which key there is belongs to what it has to know first."""
        await self._key.read()
        await super().resolve()

    async def _settle(self, request: TaskRequest | None, fingerprint: bytes) -> None:
        if self._unasked:
            self._stored, self._unasked = None, False
        await super()._settle(request, fingerprint)

    async def _fresh(self) -> RegisterState:
        """As any register, with the number at which the tax service stands: another program may have used it.

        Until it can be asked the number is a guess, and a wrong guess is refused there.
        """
        try:
            number = await self._way.first_number()
        except Refused:
            self._unasked = True
            return RegisterState()
        return RegisterState(next_number=number)

    async def state(self) -> dict[str, object]:
        """How the register stands, and whose key signs for it."""
        await self._key.read()
        return {
            **await super().state(),
            "signinfo": self._key.info,
            "key_days_left": self._key.days_left(),
            "key": self._key.told(self._own_settings.warn_key_days),
        }

    async def ahead(self) -> float | None:
        """Seconds that the tax service's clock is before ours; `None` when it tells no time."""
        return await self._way.ahead()

    async def tax_objects(self) -> list[OutletRecord]:
        """The outlets and registers that the key may be used for, as the tax service has them; nothing is changed.

        :raises Refused: as the key is, or as the tax service answers.
        """
        return await self._way.tax_objects()

    async def check_change(self, settings: msgspec.Struct) -> None:
        """As any register; what makes the lines of a Z stays as it is during a shift.

        :raises Refused: 1100 when tax groups, payment types, payer or register would change while it is open.
        """
        await super().check_change(settings)
        if not isinstance(settings, PrroSettings):
            return
        if all(getattr(settings, name) == getattr(self._own_settings, name) for name in _OF_A_SHIFT):
            return
        state = await super().state()
        if state["shift_status"] or state["online_status"]:
            raise Refused(Res.SHIFT_MUST_BE_CLOSED)

    async def load_key(self, file: bytes, password: str, certificates: Sequence[bytes]) -> None:
        """Sign with the key in ``file`` from now on; the device's turn is the caller's.

        In an open shift a key is replaced only when the one before cannot be used any more; then that shift may only
        be closed (1124).

        :raises Refused: 2009 when the register is open, 2003 when the key cannot be read.
        """
        state = await super().state()
        is_open = bool(state["shift_status"])
        if is_open and await self._key.usable():
            raise Refused(Res.KEY_IN_USE, self._name)
        shift = state["shift"]
        assert isinstance(shift, int)
        await self._key.load(file, password, certificates, shift if is_open else 0)

    def close(self) -> None:
        """Let go of the key."""
        self._key.close()


def _key_of(row: DeviceRow, settings: PrroSettings, around: Surroundings, agent: Exchange | None) -> ISigningKey:
    """The key, kept here or with an agent."""
    if settings.signer_url and agent is not None:
        from dmtwisted.registers.agent_key import AgentKey

        return AgentKey(row.name, settings.signer_url, settings.signer_token, agent, around.clock)
    from dmtwisted.registers.keys import SigningKey

    return SigningKey(row.name, row.dev_id, around.store, around.secrets, around.clock)


def _stamps_of(settings: PrroSettings, exchange: Exchange, around: Surroundings) -> TimeStamps | None:
    if settings.time_stamps == "off":
        return None
    from dmtwisted.registers.channels.breaker import Breaker
    from dmtwisted.registers.channels.time_stamps import MUST, TimeStamps

    must = settings.time_stamps == MUST
    return TimeStamps(settings.time_stamp_url, must, Breaker(exchange, around.clock, settings.retry_s), around.clock)


_OF_A_SHIFT = ("tax_groups", "pay_types", "fis_code", "vat_code", "fiscal_number", "local_number", "testing")
"""Settings that the documents of one shift have to agree in (fiscal-server 5, 7.1)."""

AGENT_CONNECT_S, AGENT_S = 3.0, 10.0
"""Seconds for a connection to the signing agent or the time-stamp provider, and for its whole answer."""

MakeExchange = Callable[[PrroSettings, Surroundings], "Exchange"]
"""What carries the requests of one register."""

MakeOther = Callable[[PrroSettings, Surroundings], "Exchange | None"]
"""What carries the requests to its signing agent, or its time-stamp provider, if there is one."""


def over_https(settings: PrroSettings, around: Surroundings) -> Exchange:
    """The exchange over the network."""
    from protocols.fiscal.https import HttpsExchange, ServerEndpoints, roots_in

    roots = roots_in(_file(settings.server_ca)) if settings.server_ca else None
    endpoints = ServerEndpoints(around.reactor, roots, settings.connect_s)
    return HttpsExchange(around.reactor, endpoints, settings.connect_s + settings.wait_s)


def to_agent(settings: PrroSettings, around: Surroundings) -> Exchange | None:
    """The exchange with the signing agent over the network; `None` when the settings name none."""
    if not settings.signer_url:
        return None
    from protocols.fiscal.https import HttpsExchange, ServerEndpoints, roots_in

    roots = roots_in(_file(settings.signer_ca)) if settings.signer_ca else None
    return HttpsExchange(around.reactor, ServerEndpoints(around.reactor, roots, AGENT_CONNECT_S), AGENT_S)


def to_stamps(settings: PrroSettings, around: Surroundings) -> Exchange | None:
    """The exchange with the time-stamp provider over the network; `None` when nothing is stamped."""
    if settings.time_stamps == "off":
        return None
    from protocols.fiscal.https import HttpsExchange, ServerEndpoints

    return HttpsExchange(around.reactor, ServerEndpoints(around.reactor, None, AGENT_CONNECT_S), AGENT_S)


def driver(
    make_exchange: MakeExchange = over_https, make_agent: MakeOther = to_agent, make_stamps: MakeOther = to_stamps
) -> Driver:
    """The driver, with another way to the server, the signing agent or the stamps when one is given."""

    def build(row: DeviceRow, settings: Any, around: Surroundings) -> PrroRegister:
        exchange, agent = make_exchange(settings, around), make_agent(settings, around)
        return PrroRegister(row, settings, around, exchange, agent, make_stamps(settings, around))

    return Driver(
        kind=REGISTER,
        name="prro",
        title="ПРРО на сервері ДПС",
        settings=PrroSettings,
        build=build,
        capabilities=("open", "sale", "return", "cash_in", "cash_out", "withdrawal", "storno", "x", "z", "status"),
        secrets=("signer_token",),
    )


DRIVER = driver()
