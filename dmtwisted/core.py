"""The parts of the service below HTTP as one thing that opens and closes: store, clock, devices, dispatcher."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from dmtwisted.access.login import Access
from dmtwisted.access.tls_orders import lasting_facts
from dmtwisted.changes import Action, Area, Changes, record_of
from dmtwisted.classic.lines import TillLines
from dmtwisted.clock import ServiceClock
from dmtwisted.closing import ShiftClosing
from dmtwisted.config import CALLED, Config
from dmtwisted.devices.devices import Devices
from dmtwisted.devices.driver import PRINTER, REGISTER, TERMINAL, Surroundings
from dmtwisted.devices.drivers import find_drivers
from dmtwisted.dispatch import Dispatcher
from dmtwisted.goods.goods import Goods
from dmtwisted.homecoming import Homecoming
from dmtwisted.hooks.service import Hooks
from dmtwisted.host_names import HostNames
from dmtwisted.mail.service import CustomerPost
from dmtwisted.messages.feed import Feed
from dmtwisted.messages.kinds import DeviceName
from dmtwisted.needs import Need, Needs, of_gone
from dmtwisted.observing import Observing
from dmtwisted.outbox import Later, Never, Outbox
from dmtwisted.papers import DEFAULT_PRINTER
from dmtwisted.registers.customers import MAIL, PHONE
from dmtwisted.registers.interface import TellsMarks
from dmtwisted.registers.marks import LETTERS
from dmtwisted.retention import Retention
from dmtwisted.secrets import Secrets
from dmtwisted.service_settings import ServiceSettings
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import CHANGE, LetterRow, OperationQuery, StoreDamaged, StoreFailed
from dmtwisted.system.crew import Crew
from dmtwisted.system.logs import Recent

if TYPE_CHECKING:
    from dmtwisted.access.tls import LiveCertificate

TRAINING_REGISTER = "test"
"""The register of a fresh service in training mode (docs/reference/http-interface.md#training-mode)."""

TRAINING_TERMINAL = "pos"
"""And its terminal."""

MOST_CERTIFICATES = 50
"""Changes of the certificate among which the newest that names one is looked for."""

MARK_LEASE_S = 10.0
"""Seconds for one try to tell a marks service, which is given up much earlier."""

POST_LEASE_S = 120.0
"""Seconds for one try to tell a customer."""

TELLING_S = 5.0
"""Seconds for an e-mail that is on its way when the service stops; then it is tried again after the start."""

LATEST_READY = 3.0
"""Seconds after which the service is ready even if a device has not answered."""


class Core:
    """The parts of the service, for `web` and for commands.

    :param state: the folder for the files of devices; `None` keeps them in memory.
    """

    log = Logger()

    def __init__(self, config: Config, store: IStore, reactor: Any, state: Path | None) -> None:
        self.config, self.store, self.reactor, self.state = config, store, reactor, state
        self.clock, self.crew = ServiceClock(reactor), Crew(reactor)
        self.clock.crew = self.crew.do
        self.log_lines = Recent()
        """The newest lines of the log, oldest first; set by the part that writes the log."""
        self.when_ready: Callable[[], None] = lambda: None
        """Called once, when the service becomes `ready`."""
        self.began = float(reactor.seconds())
        self.secrets = Secrets(state)
        self.changes = Changes(store, self.clock)
        self.settings = ServiceSettings(store, self.secrets, self.clock)
        self.access = Access(store, self.clock, reactor, state)
        self.goods = Goods(store, self.changes)
        self.certificate = _certificate(config, reactor)
        self.hosts = HostNames(
            config.server.names, lambda: self.settings.now.allowed_hosts, self._named, reactor.seconds
        )
        if self.certificate is not None:
            self.certificate.replaced = self.hosts.forget
        self.outbox = Outbox(store, self.clock)
        self.feed = Feed(store, self.clock, self._device_name)
        self.post = CustomerPost(store, self.settings, self.clock, reactor, config.service.language)
        self.outbox.tell_by(LETTERS, self._tell_mark, MARK_LEASE_S)
        self.outbox.tell_by(MAIL, self.post.mail, POST_LEASE_S)
        self.outbox.tell_by(PHONE, self.post.phone, POST_LEASE_S)
        folders = config.named_folders(state)
        around = Surroundings(
            *(reactor, self.clock, store, state, self.secrets, folders, self.outbox.posted, self.post.ways),
            training_protocol=config.service.training_protocol,
        )
        self.devices = Devices(find_drivers(), around, config.service.turn_wait_s, config.service.training)
        self.dispatcher = Dispatcher(self.devices, store, self.clock, self.settings, config.service.training)
        self.post.among(self.devices, self.dispatcher.events, self.outbox.posted)
        self.observing = Observing(self.devices, self.dispatcher.events, self.clock)
        self.needs = Needs(
            *(self.devices, store, self.clock, self.dispatcher.events, state),
            lambda: self.exposed,
            lambda: None if self.certificate is None else self.certificate.status().get("days_left"),
            self._other_needs,
        )
        self.observing.changed = self.needs.soon
        self.hooks = Hooks(
            *(store, self.secrets, self.settings, self.clock, reactor, self.devices, self.feed, self.outbox)
        )
        self._closing = ShiftClosing(self.devices, self.dispatcher, self.clock)
        self.till_lines = TillLines(self.devices, self.dispatcher, store, self._serves)
        self._homecoming = Homecoming(self.devices, self.clock)
        self._ready = False
        self.retention = Retention(
            store, self.settings, self.clock, travels=config.service.training, also=self._forget_old
        )
        self._soon_ready: IDelayedCall | None = None

    def _named(self) -> Iterable[str]:
        """The names of the configuration and of the certificate."""
        yield from (host for host in self.config.server.hosts if host not in CALLED)
        if self.certificate is not None:
            yield from self.certificate.names

    def _serves(self, host: str) -> bool:
        """Whether another machine with this address is answered at all."""
        server = self.config.server
        return self.settings.now.extAccess and (not server.hardened or server.circle.has_address(host))

    @property
    def local(self) -> bool:
        """Whether only this machine is served."""
        try:
            loopback = all(ip_address(host).is_loopback for host in self.config.server.hosts)
        except ValueError:
            loopback = False
        return loopback or not self.settings.now.extAccess

    @property
    def exposed(self) -> bool:
        """Whether the network may change settings, without a login and a hardened profile."""
        return not (self.local or self.config.server.hardened or self.access.on)

    @property
    def ready(self) -> bool:
        """Whether tasks are accepted and every unknown outcome was queried once."""
        return self._ready and not self.store.damage

    async def open(self, opening: Awaitable[None] | None = None) -> None:
        """Open the store and every device, and query every unknown outcome once.

        :param opening: what `IStore.open` has returned, where it was called before.
        :raises BadCertificate: when the certificate cannot be served.
        :raises StoreFailed: when the store cannot be opened.
        """
        if self.certificate is not None:
            self.certificate.open()
            self.certificate.watch(self._certificate_replaced)
        try:
            await (self.store.open() if opening is None else opening)
        except StoreDamaged as error:
            await self._open_damaged(str(error))
            return
        await self.settings.open()
        await self.access.open()
        await self.hooks.subscribers.open()
        await self.devices.open()
        await self._note_certificate()
        if self.config.service.training and not list(self.devices):
            batch = {"terminal": TRAINING_TERMINAL, "printer": DEFAULT_PRINTER}
            await self.devices.add(TRAINING_REGISTER, REGISTER, "training", {"batch": batch})
            await self.devices.add(DEFAULT_PRINTER, PRINTER, "training", {})
            await self.devices.add(TRAINING_TERMINAL, TERMINAL, "training", {})
        self._closing.start()
        self._homecoming.start()
        self.till_lines.start()
        self.observing.start()
        self.needs.start()
        self.outbox.start()
        self.hooks.start()
        self.retention.start()
        self.dispatcher.programs.start()
        # A device that does not answer must not delay the start: tasks of that device report what is unknown.
        asked = Deferred.fromCoroutine(self.dispatcher.resolve())
        self._soon_ready = self.clock.callLater(LATEST_READY, self._now_ready)
        asked.addCallback(lambda _: self._now_ready())

    def _device_name(self, n: int) -> DeviceName:
        """How events name a device."""
        found = next((device for device in self.devices if device.row.n == n), None)
        return DeviceName() if found is None else DeviceName(found.row.dev_id, found.name, found.kind)

    def _other_needs(self) -> list[Need]:
        """The needs that are not about a device or a file."""
        gone = [one.name for one in self.hooks.subscribers if one.gone_at]
        return [*of_gone(gone), *self.till_lines.needs()]

    async def _forget_old(self) -> None:
        """Remove what could not be told for too long."""
        await self.post.forget_old()
        await self.hooks.forget_old()

    async def _tell_mark(self, letter: LetterRow) -> None:
        """Tell the marks service of the register that sold a mark."""
        device = next((device for device in self.devices if device.row.n == letter.device_n), None)
        if device is None:
            raise Never("the register that sold it was removed")
        if not isinstance(device.built, TellsMarks):
            raise Later("the register that sold it cannot be used now")
        await device.built.tell_mark(letter)

    async def _note_certificate(self) -> None:
        """Record a certificate that the journal of changes does not know: it came while the service did not run."""
        if self.certificate is None:
            return
        asked = OperationQuery(kinds=[CHANGE], key=Area.CERTIFICATE, limit=MOST_CERTIFICATES)
        found = [record_of(row) for row in (await self.store.find_operations(asked)).operations]
        known = next((one.after for one in found if one.after.get("fingerprint")), {})
        now = lasting_facts(self.certificate.status())
        if known.get("fingerprint") != now.get("fingerprint"):
            self._certificate_replaced(known, now)

    def _certificate_replaced(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Record that the files of the certificate were replaced by somebody outside of the service."""
        kept = Deferred.fromCoroutine(self.changes.keep(Area.CERTIFICATE, Action.REPLACED, before, after, must=False))
        kept.addErrback(lambda why: self.log.failure("a new certificate was not recorded", why))

    async def _open_damaged(self, damage: str) -> None:
        """Serve what can be read of a damaged database; nothing is written and no task is done."""
        self.log.critical("the database is damaged and is only read: {why}", why=damage)
        await self.store.open_damaged(damage)
        for part in (self.settings, self.access, self.devices):
            try:
                await part.open()
            except StoreFailed as error:
                self.log.error("cannot be read: {why}", why=str(error))
        self.needs.start()

    def _now_ready(self) -> None:
        if self._soon_ready is not None:
            if self._soon_ready.active():
                self._soon_ready.cancel()
            self._soon_ready, self._ready = None, True
            self.when_ready()

    def _give_up(self) -> None:
        """End what is on its way to others: it is tried again after the next start."""
        self.post.give_up()
        self.hooks.give_up()

    async def close(self) -> None:
        """Refuse new tasks, wait for the running ones, close devices and store."""
        self._ready = False
        if self.certificate is not None:
            self.certificate.close()
        if self._soon_ready is not None:
            self._soon_ready.cancel()
            self._soon_ready = None
        self._closing.stop()
        self._homecoming.stop()
        self.till_lines.stop()
        self.observing.stop()
        self.needs.stop()
        await self.retention.stop()
        await self.dispatcher.finish()
        await self.till_lines.ended()
        giving_up = self.clock.callLater(TELLING_S, self._give_up)
        await self.hooks.stop()
        await self.outbox.stop()
        if giving_up.active():
            giving_up.cancel()
        await self.devices.remember()
        await self.dispatcher.programs.stop()
        self.devices.close()
        await self.crew.close()
        self.access.presence.expect(False)
        self.feed.stop()
        await self.store.close()


def _certificate(config: Config, reactor: Any) -> LiveCertificate | None:
    """The certificate of a service with HTTPS."""
    if not config.tls.given:
        return None
    # Lazy: OpenSSL takes several MB, and a service without HTTPS does without it.
    from dmtwisted.access.tls import LiveCertificate

    return LiveCertificate(config.tls, reactor)
