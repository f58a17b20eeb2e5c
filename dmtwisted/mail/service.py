"""What customers are told, and by which way: the senders of their letters (`dmtwisted.outbox`).

An e-mail that its mail server has taken is dropped. *Power fails between both:* it goes out once more, with the same
`Message-ID`. A telephone number is an event for whoever listens for numbers; while nobody does, it waits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.devices import Devices, register_settings
from dmtwisted.devices.driver import Ways
from dmtwisted.documents import documents
from dmtwisted.documents.qr import receipt_qr
from dmtwisted.events import Events
from dmtwisted.money import hryvnias
from dmtwisted.outbox import Later, Never
from dmtwisted.registers.customers import MAIL, PHONE, ForCustomer, decode
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.secrets import SecretsError
from dmtwisted.service_settings import ServiceSettings
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import LetterRow, StoreFailed

if TYPE_CHECKING:
    from dmtwisted.mail.posting import Posting
    from protocols.smtp import Line

KINDS = [MAIL, PHONE]

MOST = 1000
"""Letters that are listed, and looked through for old ones, at a time."""

DAY_MS = 86_400_000


class Waiting(NamedTuple):
    """A letter that is not told yet; the customer's address is masked."""

    row: LetterRow
    to: str
    fiscal_number: str
    at: int


class CustomerPost:
    """Tells customers what the registers have stored for them."""

    log = Logger()
    line: Line | None = None
    """Makes the endpoint of the mail server; TCP by name when absent."""

    def __init__(
        self,
        store: IStore,
        settings: ServiceSettings,
        clock: ServiceClock,
        reactor: Any,
        language: str,
    ) -> None:
        self._store, self._settings, self._clock, self._reactor = store, settings, clock, reactor
        self._language = language
        self._devices: Devices | None = None
        self._events: Events | None = None
        self._under_way: Deferred[None] | None = None

    def among(self, devices: Devices, events: Events, posted: Callable[[], None]) -> None:
        """Know the registers, whose post it is, and who listens for numbers.

        :param posted: says that letters are due.
        """
        self._devices, self._events = devices, events

        def came() -> None:
            Deferred.fromCoroutine(self._operator_came(posted))

        events.operator_came = came

    def ways(self) -> Ways:
        """How receipts reach customers, as the settings are now."""
        now = self._settings.now
        return Ways(bool(now.smtp_host), now.phone_events)

    # Senders

    async def mail(self, letter: LetterRow) -> None:
        """Send an e-mail.

        :raises Later: when it was not taken, or may not have been.
        :raises Never: when the server will not take it.
        """
        told = _told(letter)
        await self._giving_up(self._posting().receipt(told, self._register(letter.device_n)))

    async def phone(self, letter: LetterRow) -> None:
        """Publish a number.

        :raises Later: when nobody listens for numbers.
        """
        told = _told(letter)
        document = documents.decode(told.document)
        taken = self._events is not None and self._events.tell_operators(
            "receipt_phone",
            device=self._name(letter.device_n),
            phone=told.to,
            kind=document.kind,
            fiscal_number=told.fiscal_number,
            sum=hryvnias(document.sum),
            qr=receipt_qr(document, told.fiscal_number),
        )
        if not taken:
            raise Later("nobody listens for telephone numbers")

    async def test(self, to: str) -> None:
        """Send an e-mail that shows that e-mail works; raises as `mail` does."""
        await self._giving_up(self._posting().test(to))

    def give_up(self) -> None:
        """End a try that is under way: the letter is tried again."""
        if self._under_way is not None:
            self._under_way.cancel()

    async def _giving_up(self, work: Awaitable[None]) -> None:
        self._under_way = Deferred.fromCoroutine(work)  # type: ignore[arg-type]
        try:
            await self._under_way
        except CancelledError:
            raise Later("given up") from None
        finally:
            self._under_way = None

    def _posting(self) -> Posting:
        """The mail server as it is set now.

        :raises Later: when it cannot be used now.
        """
        settings = self._settings.now
        if not settings.smtp_host:
            raise Later("e-mail is not set up in the service")
        try:
            password = self._settings.smtp_password
        except SecretsError as error:
            raise Later(str(error)) from None
        # Lazy: SMTP, PDF and e-mail take some MB, and most services send none.
        from dmtwisted.mail.posting import Posting

        return Posting(settings, password, self._language, self._clock, self._reactor, self.line)

    def _register(self, n: int) -> RegisterSettings:
        for device in self._devices or ():
            if device.row.n == n:
                return register_settings(device)
        return RegisterSettings()

    def _name(self, n: int) -> str:
        return next((device.name for device in self._devices or () if device.row.n == n), "")

    # What waits

    async def waiting(self, dead: bool) -> list[Waiting]:
        """Letters that wait, or dead ones, oldest first, with masked addresses."""
        found = []
        for row in await self._store.find_letters(KINDS, dead, MOST, 0):
            try:
                told = decode(row.payload)
            except msgspec.MsgspecError:
                told = ForCustomer("?", "", 0, b"")
            found.append(Waiting(row, masked(told.to), told.fiscal_number, told.at))
        return found

    async def again(self, n: int) -> bool:
        """Try a letter again now; whether it is there."""
        for dead in (True, False):
            for row in await self._store.find_letters(KINDS, dead, MOST, 0):
                if row.n == n:
                    await self._store.put_letter(n, self._clock.now(), False, row.why)
                    return True
        return False

    async def find(self, n: int) -> Waiting | None:
        """A letter that waits, or is dead."""
        found = [one for dead in (True, False) for one in await self.waiting(dead) if one.row.n == n]
        return found[0] if found else None

    async def remove(self, n: int) -> None:
        """Remove a letter."""
        await self._store.drop_letter(n)

    async def _operator_came(self, posted: Callable[[], None]) -> None:
        """Somebody listens for telephone numbers from now on: those that wait are due."""
        try:
            for row in await self._store.find_letters([PHONE], False, MOST, 0):
                await self._store.put_letter(row.n, self._clock.now(), False, row.why)
        except StoreFailed as error:
            self.log.warn("telephone numbers wait for the database: {why}", why=str(error))
        posted()

    async def forget_old(self) -> None:
        """Remove what could not be told for longer than the settings allow."""
        settings = self._settings.now
        before = self._clock.now() - min(settings.mail_days, settings.packdays) * DAY_MS
        for dead in (True, False):
            old = [one for one in await self.waiting(dead) if one.at < before]
            for one in old:
                await self._store.drop_letter(one.row.n)
            if old:
                self.log.warn("{count} letters to customers are too old and were removed", count=len(old))


def _told(letter: LetterRow) -> ForCustomer:
    try:
        return decode(letter.payload)
    except msgspec.MsgspecError:
        raise Never("the letter cannot be read") from None


def masked(address: str) -> str:
    """A customer's address with its first sign, and its domain; of a number the last two digits."""
    local, at, domain = address.rpartition("@")
    return f"{local[:1]}***@{domain}" if at else f"***{address[-2:]}"
