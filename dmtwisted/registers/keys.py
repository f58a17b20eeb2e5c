"""The key with which one register signs: loaded once, kept sealed, opened when it is needed.

The store keeps the key itself, without the password of its file, sealed by `dmtwisted.secrets`. So opening it takes
milliseconds where the file took seconds, and the password is not kept. The public facts are stored beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace
from twisted.internet.defer import DeferredLock
from twisted.logger import Logger
from zope.interface import Attribute, Interface, implementer

from dmtwisted.changes import Action, Area, Changes
from dmtwisted.clock import ServiceClock, kyiv
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document
from dmtwisted.registers.key_opening import PATIENCE, WORK, Opened, PlainKey, Upload, certificates_in
from dmtwisted.results import Refused, Res
from dmtwisted.secrets import Secrets, SecretsError
from dmtwisted.store.interface import IStore
from dmtwisted.system.apart import apart
from dmtwisted.wording import wording
from protocols.fiscal.crypto.errors import CryptoError, SelfTestFailed
from protocols.fiscal.crypto.signer import BuiltInSigner, KeyFacts, open_signer

AFTER_EMERGENCY = frozenset({documents.Z, documents.CLOSE, documents.OFFLINE_END})
"""Documents that are allowed in a shift whose key had to be replaced (specification 3.1)."""


class ISigningKey(Interface):
    """The key of one register, kept here or by a signing agent."""

    subject = Attribute("Whom the certificate names; empty while no key is known.")
    info = Attribute("The key for people: its owner and its last day; empty while none is known.")

    async def read() -> None:
        """Find out which key there is, as far as that is easy."""

    async def ready() -> None:
        """See that there is a key that can sign.

        :raises Refused: 1069, 1094 or 1095 when there is none.
        """

    async def sign(content: Callable[[], bytes]) -> bytes:
        """What ``content`` makes, signed; both happen in a thread.

        :raises Refused: as `ready`, 1069 when it cannot be signed, and whatever ``content`` raises.
        """

    async def usable() -> bool:
        """Whether there is a key that opens and has not ended."""

    async def examine(file: bytes, password: str, certificates: Sequence[bytes]) -> BuiltInSigner:
        """The key in ``file``, which may be closed at once; nothing is kept.

        :raises Refused: as `load` does.
        """

    async def load(file: bytes, password: str, certificates: Sequence[bytes], emergency: int) -> None:
        """Sign with the key in ``file`` from now on.

        :param certificates: files of certificates, for key files that hold none.
        :param emergency: the shift that is open meanwhile; 0 when none is.
        :raises Refused: 2003 when it cannot be read, or is not valid now; 1069 when this machine cannot sign.
        """

    def allow(document: Document) -> None:
        """See that ``document`` may be signed in its shift.

        :raises Refused: 1124 when the key was replaced during that shift, which may only be closed now.
        """

    def days_left() -> int | None:
        """Whole days for which the key is still valid, rounded down; `None` while none is known."""

    def describe(warn_days: int) -> dict[str, object] | None:
        """The key for programs and pages; `None` while none is known.

        :param warn_days: with fewer days left, ``ends_soon`` is true.
        """

    def close() -> None:
        """Forget the key in memory."""


class KeptKey(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A register's key as the store has it; times are milliseconds since 1970."""

    sealed: str
    subject: str
    issuer: str
    tax_number: str
    key_id: str
    valid_from: int
    valid_to: int
    serial: str = ""
    """Of the certificate, hex; empty in keys of earlier versions, until the key is opened."""
    emergency: int = 0
    """The shift during which it replaced another key; 0 when none was open."""


@implementer(ISigningKey)
class SigningKey:
    """The key of one register, kept here.

    :param name: the register's name, :param dev_id: its GUID, under which the key is kept.
    """

    log = Logger()

    def __init__(self, name: str, dev_id: str, store: IStore, secrets: Secrets, clock: ServiceClock) -> None:
        self._name, self._place = name, f"signing-key.{dev_id}"
        self._store, self._secrets, self._clock = store, secrets, clock
        self._lock = DeferredLock()
        self._read, self._kept = False, _NONE
        self._signer: BuiltInSigner | None = None

    async def read(self) -> None:
        """Read the key's facts from the store."""
        if self._read:
            return
        kept = (await self._store.settings()).get(self._place)
        self._kept = _NONE if kept is None else msgspec.json.decode(kept, type=KeptKey)
        self._read = True

    async def signer(self) -> BuiltInSigner:
        """The signer with the opened key.

        :raises Refused: 1095 when no key was loaded, 1094 when the stored one cannot be opened here, 1069 when this
            machine cannot sign.
        """
        await self.read()
        async with self._lock:
            if self._signer is None:
                self._signer = await self._open()
                self._kept = replace(self._kept, serial=self._signer.facts.serial)
            return self._signer

    async def _open(self) -> BuiltInSigner:
        if not self._kept.sealed:
            raise Refused(Res.SIGNING_NOT_SET_UP)
        try:
            plain = msgspec.json.decode(self._secrets.read(self._kept.sealed, self._place), type=PlainKey)
            return await self._clock.aside(_signer_of, plain)
        except SelfTestFailed as error:
            raise Refused(Res.SIGNING_FAILED, wording(error)) from error
        except (SecretsError, msgspec.MsgspecError, CryptoError) as error:
            self.log.error("{device}: the key cannot be opened: {why}", device=self._name, why=str(error))
            raise Refused(Res.KEY_NOT_LOADED, note=wording(error)) from error

    async def ready(self) -> None:
        """As `signer`."""
        await self.signer()

    async def sign(self, content: Callable[[], bytes]) -> bytes:
        """See `ISigningKey`."""
        return await self._clock.aside(signed, await self.signer(), content)

    async def usable(self) -> bool:
        """See `ISigningKey`."""
        try:
            await self.signer()
        except Refused:
            return False
        return self._clock.now() <= self._kept.valid_to

    async def examine(self, file: bytes, password: str, certificates: Sequence[bytes]) -> BuiltInSigner:
        """See `ISigningKey`."""
        return (await self._usable_in(Upload(file, password, list(certificates))))[1]

    async def load(self, file: bytes, password: str, certificates: Sequence[bytes], emergency: int) -> None:
        """See `ISigningKey`."""
        plain, signer = await self._usable_in(Upload(file, password, list(certificates)))
        facts = signer.facts
        try:
            sealed = self._secrets.seal(msgspec.json.encode(plain).decode(), self._place)
        except SecretsError as error:
            raise Refused(Res.KEY_UNREADABLE, wording(error)) from error
        kept = KeptKey(
            sealed=sealed,
            subject=facts.subject,
            issuer=facts.issuer,
            tax_number=facts.tax_number,
            key_id=facts.key_id,
            serial=facts.serial,
            valid_from=int(facts.valid_from.timestamp() * 1000),
            valid_to=int(facts.valid_to.timestamp() * 1000),
            emergency=emergency,
        )
        await self.read()
        before = self._kept
        # Until the store has confirmed it, it is unknown which key is stored.
        self.close()
        self._read = False
        change = Changes(self._store, self._clock).change(
            Area.REGISTER_KEY, Action.REPLACED, _shown(before), _shown(kept), subject=self._name
        )
        await self._store.change_settings({self._place: msgspec.json.encode(kept)}, change)
        self._read, self._kept, self._signer = True, kept, signer
        self.log.info(
            "{device} signs as {subject} with the key {key}",
            device=self._name,
            subject=kept.subject,
            key=kept.key_id[:16],
        )

    async def _usable_in(self, upload: Upload) -> tuple[PlainKey, BuiltInSigner]:
        """The key in an uploaded file, which is valid now."""
        plain = await self._opened(upload)
        signer = await self._clock.aside(_signer_of, plain)
        facts = signer.facts
        if facts.valid_from > self._moment():
            raise Refused(Res.KEY_UNREADABLE, wording(f"the certificate begins on {facts.valid_from:%Y-%m-%d}"))
        if facts.valid_to < self._moment():
            raise Refused(Res.KEY_UNREADABLE, wording(f"the certificate ended on {facts.valid_to:%Y-%m-%d}"))
        return plain, signer

    async def _opened(self, upload: Upload) -> PlainKey:
        """The key in an uploaded file, opened in a process that can be ended."""
        result = await apart(self._clock.reactor, WORK, msgspec.json.encode(upload), PATIENCE)
        if result is None:
            raise Refused(Res.KEY_UNREADABLE, wording("it takes too long to open"))
        opened = msgspec.json.decode(result, type=Opened)
        if opened.plain is None:
            raise Refused(Res.SIGNING_FAILED if opened.broken else Res.KEY_UNREADABLE, opened.why)
        return opened.plain

    def allow(self, document: Document) -> None:
        """See `ISigningKey`."""
        if self._kept.emergency and document.shift == self._kept.emergency and document.kind not in AFTER_EMERGENCY:
            raise Refused(Res.KEY_REPLACED_IN_EMERGENCY, self._name)

    def days_left(self) -> int | None:
        """See `ISigningKey`."""
        if not self._kept.sealed:
            return None
        return (self._kept.valid_to - self._clock.now()) // DAY

    @property
    def subject(self) -> str:
        """See `ISigningKey`."""
        return self._kept.subject

    @property
    def info(self) -> str:
        """See `ISigningKey`."""
        if not self._kept.sealed:
            return ""
        return owner_until(self._kept.subject, self._kept.valid_to)

    def describe(self, warn_days: int) -> dict[str, object] | None:
        """See `ISigningKey`."""
        days = self.days_left()
        return None if days is None else key_members(self._kept, days, warn_days)

    def close(self) -> None:
        """See `ISigningKey`."""
        if self._signer is not None:
            self._signer.close()
            self._signer = None

    def _moment(self) -> datetime:
        return datetime.fromtimestamp(self._clock.seconds(), UTC)


DAY = 86_400_000
"""Milliseconds."""

_NONE = KeptKey(sealed="", subject="", issuer="", tax_number="", key_id="", valid_from=0, valid_to=0)


def _shown(key: KeptKey) -> dict[str, object]:
    """A key for the journal of changes."""
    public = ("subject", "issuer", "key_id", "serial", "valid_from", "valid_to", "emergency")
    return {name: getattr(key, name) for name in public} if key.sealed else {}


def owner_until(subject: str, valid_to: int) -> str:
    """A key for people: its owner and its last day."""
    return f"{subject}, {kyiv(valid_to):%d.%m.%Y}"


def key_members(key: KeptKey | KeyFacts, days: int, warn_days: int) -> dict[str, object]:
    """A key for programs and pages; see `ISigningKey.describe`."""
    return {
        "owner": key.subject,
        "issuer": key.issuer,
        "tax_number": key.tax_number,
        "key_id": key.key_id,
        "serial": key.serial,
        "valid_from": _utc(key.valid_from),
        "valid_to": _utc(key.valid_to),
        "days_left": days,
        "ends_soon": days < warn_days,
    }


def _utc(at: int | datetime) -> str:
    moment = at if isinstance(at, datetime) else datetime.fromtimestamp(at // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def signed(signer: BuiltInSigner, content: Callable[[], bytes]) -> bytes:
    """What ``content`` makes, signed; runs in a thread.

    :raises Refused: 1069 when it cannot be signed.
    """
    made = content()
    try:
        return signer.sign(made)
    except CryptoError as error:
        raise Refused(Res.SIGNING_FAILED, wording(error)) from error


def _signer_of(plain: PlainKey) -> BuiltInSigner:
    return open_signer(plain.key, "", certificates_in([plain.certificate]))
