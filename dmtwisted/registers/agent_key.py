"""The key of a register that a signing agent keeps (docs/reference/cryptography.md#signing-agent).

Every signature is checked before it is used: only the content that was sent to the agent, signed by the key that the
agent named, goes to the tax service.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NoReturn

from twisted.logger import Logger
from zope.interface import implementer

from dmtwisted.clock import ServiceClock
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document
from dmtwisted.registers.keys import AFTER_EMERGENCY, ISigningKey, key_members, owner_until
from dmtwisted.results import Refused, Res
from dmtwisted.wording import wording
from protocols.errors import NotReached, WireError
from protocols.fiscal import signing_agent
from protocols.fiscal.client import Exchange
from protocols.fiscal.crypto.certificates import Certificate, read_certificate
from protocols.fiscal.crypto.errors import CryptoError
from protocols.fiscal.crypto.signed_message import read
from protocols.fiscal.crypto.signer import KeyFacts
from protocols.fiscal.crypto.verifying import profile_faults, verify
from protocols.fiscal.signing_agent import AgentError

ASK_AGAIN_S = 30.0
"""Seconds before an agent that did not answer is asked again whose key it has, when nothing has to be signed."""

_MAY_CHANGE = AFTER_EMERGENCY | {documents.OPEN}
"""Documents with which another key may begin: the opening of a shift, and those that end it."""


@implementer(ISigningKey)
class AgentKey:
    """The key of one register, at an agent.

    :param name: the register's name, :param url: of the agent, :param token: authenticates us there.
    :param exchange: carries one request; see `protocols.fiscal.client.Exchange`.
    """

    log = Logger()

    def __init__(self, name: str, url: str, token: str, exchange: Exchange, clock: ServiceClock) -> None:
        self._name, self._url, self._clock = name, url.rstrip("/"), clock
        self._headers, self._exchange = signing_agent.headers(token), exchange
        self._certificate: Certificate | None = None
        self._asked_at = float("-inf")
        self._may_change = True

    async def read(self) -> None:
        """Ask the agent whose key it has, while that is unknown; an agent that is away is not asked again at once."""
        now = self._clock.seconds()
        if self._certificate is not None or now - self._asked_at < ASK_AGAIN_S:
            return
        self._asked_at = now
        try:
            await self.ready()
        except Refused as refused:
            self.log.warn("{device}: {why}", device=self._name, why=str(refused))

    async def ready(self) -> None:
        """See that the agent has a key.

        :raises Refused: 1069 when it cannot be asked, or has no key that may sign.
        """
        if self._certificate is None:
            key = await self._ask("GET", signing_agent.KEY_PATH, b"", signing_agent.KeyTold)
            if key.protocol != signing_agent.VERSION:
                raise _failed(f"it speaks version {key.protocol} of the protocol")
            self._certificate = await self._clock.aside(_certificate_in, key.certificate)

    async def sign(self, content: Callable[[], bytes]) -> bytes:
        """What ``content`` makes, signed by the agent, and checked.

        :raises Refused: 1069 when there is no valid signature, 1124 when another key than the shift's signs; and as
            ``content`` raises.
        """
        await self.ready()
        made = await self._clock.aside(content)
        asked = signing_agent.encode(signing_agent.SignAsked(made))
        signed = await self._ask("POST", signing_agent.SIGN_PATH, asked, signing_agent.Signed)
        moment = datetime.fromtimestamp(self._clock.seconds(), UTC)
        signer = await self._clock.aside(_checked, signed.message, made, moment)
        if signer != self._certificate:
            if not self._may_change:
                # The new key may open the next shift; it can only end this one.
                raise Refused(Res.KEY_REPLACED_IN_EMERGENCY, self._name)
            who = signer.subject.common
            self.log.info("{device}: the agent signs with another key now: {who}", device=self._name, who=who)
            self._certificate = signer
        return signed.message

    async def _ask(self, method: str, path: str, body: bytes, shape: type[signing_agent.T]) -> signing_agent.T:
        try:
            reply = await self._exchange(method, self._url + path, self._headers, body)
            return signing_agent.read_answer(reply, shape)
        except NotReached as error:
            raise _failed(f"it cannot be reached: {error.reason}") from error
        except WireError as error:
            raise _failed(f"no answer: {error}") from error
        except AgentError as error:
            raise _failed(str(error)) from error

    async def usable(self) -> bool:
        """Whether the agent answers, and its key has not expired."""
        try:
            await self.ready()
        except Refused:
            return False
        return (self.days_left() or 0) >= 0

    async def examine(self, file: bytes, password: str, certificates: Sequence[bytes]) -> NoReturn:
        """Refused: keys are loaded at the agent.

        :raises Refused: 2003, always.
        """
        raise Refused(
            Res.KEY_UNREADABLE, wording(f"the key is kept by the signing agent {self._url}; replace it there")
        )

    async def load(self, file: bytes, password: str, certificates: Sequence[bytes], emergency: int) -> None:
        """As `examine`.

        :raises Refused: 2003, always.
        """
        await self.examine(file, password, certificates)

    def allow(self, document: Document) -> None:
        """Note whether another key may begin with ``document``."""
        self._may_change = document.kind in _MAY_CHANGE

    def days_left(self) -> int | None:
        """See `ISigningKey`."""
        if self._certificate is None:
            return None
        return self._certificate.days_left(datetime.fromtimestamp(self._clock.seconds(), UTC))

    @property
    def subject(self) -> str:
        """See `ISigningKey`."""
        return self._certificate.subject.common if self._certificate is not None else ""

    @property
    def info(self) -> str:
        """See `ISigningKey`."""
        if self._certificate is None:
            return ""
        return owner_until(self.subject, int(self._certificate.valid_to.timestamp() * 1000))

    def describe(self, warn_days: int) -> dict[str, object] | None:
        """See `ISigningKey`; with the agent's address."""
        days = self.days_left()
        if self._certificate is None or days is None:
            return None

        return {**key_members(KeyFacts.of(self._certificate), days, warn_days), "agent": self._url}

    def close(self) -> None:
        """No key is here."""


def _failed(why: str) -> Refused:
    return Refused(Res.SIGNING_FAILED, wording(f"signing agent: {why}"))


def _certificate_in(raw: bytes) -> Certificate:
    try:
        certificate = read_certificate(raw)
    except CryptoError as error:
        raise _failed(f"its certificate cannot be read ({error})") from error
    if certificate.public_key is None or not certificate.may_sign():
        raise _failed("its key does not sign documents")
    return certificate


def _checked(message: bytes, content: bytes, moment: datetime) -> Certificate:
    """The certificate that signed ``message``, which has to contain ``content`` as the tax service takes it.

    :raises Refused: 1069 when anything is wrong with it.
    """
    try:
        verdict = verify(message, moment, None)
        faults = [*verdict.faults, *profile_faults(read(message))]
    except CryptoError as error:
        raise _failed(f"its signature cannot be read ({error})") from error
    if faults or verdict.signer is None:
        raise _failed(f"its signature is wrong: {'; '.join(map(str, faults))}")
    if verdict.content != content:
        raise _failed("it signed something else")
    if not verdict.signer.valid_at(moment):
        raise _failed(f"its certificate is good until {verdict.signer.valid_to:%Y-%m-%d}, not now")
    return verdict.signer
