"""The service as twistd runs it: opens everything before it listens, finishes running tasks before it stops."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from twisted.application.service import Service
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IListeningPort, IReactorSocket
from twisted.logger import ILogObserver, Logger
from twisted.python.components import Componentized
from twisted.python.failure import Failure

from dmtwisted.config import CALLED, Config, LogConfig, ServerConfig, place_of
from dmtwisted.store.interface import IStore
from dmtwisted.system.log_files import LogFiles
from dmtwisted.system.logs import LineObserver, open_observer
from dmtwisted.system.memory import rarely_collect, return_large_blocks
from dmtwisted.system.notify import Notifier
from dmtwisted.system.output import take_any_letter
from dmtwisted.system.owners import taken
from dmtwisted.system.supervised import CANNOT_LISTEN, COMPLAINT, SERVING, call_when_input_ends

if TYPE_CHECKING:
    from dmtwisted.core import Core

BACKLOG = 512
"""The most connections that wait to be accepted."""


class CannotListen(Exception):
    """The service cannot listen on its address; the text is one line for the operator, ``advice`` another one."""

    def __init__(self, why: str, advice: str = "") -> None:
        super().__init__(why)
        self.advice = advice


def bind(server: ServerConfig) -> list[socket.socket]:
    """A socket for each address of ``server``, which listens; the first thing at start.

    Two sockets, one for each family, because not every system lets one socket serve both. A family that the machine
    does not have is left out, unless it is the only one.

    :raises CannotListen: when the port is taken or an address is not one of this machine.
    """
    found: list[socket.socket] = []
    port, lacking = server.port, CannotListen("")
    for host in server.hosts:
        try:
            listening = _listening(host, port, alone=len(server.hosts) == 1)
        except OSError as error:
            why, advice = taken(port, error)
            refused = CannotListen(f"{CANNOT_LISTEN}{place_of(host, port)}: {why}", advice)
            if error.errno in _NO_SUCH_FAMILY:
                lacking = lacking if str(lacking) else refused
                continue
            for other in found:
                other.close()
            raise refused from None
        found.append(listening)
        port = listening.getsockname()[1]
    if not found:
        raise lacking
    return found


_NO_SUCH_FAMILY = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)
"""What the system says of an address whose family it does not have."""


def _listening(host: str, port: int, alone: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        # On Windows SO_REUSEADDR would let another program take the port as well; this prevents it.
        exclusive: int | None = getattr(socket, "SO_EXCLUSIVEADDRUSE", None)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR if exclusive is None else exclusive, 1)
        if family == socket.AF_INET6 and not alone:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


def log_observer(log: LogConfig, twistd: Mapping[str, Any], reactor: Any) -> LineObserver:
    """The log of the service; ``--logfile`` of twistd is used when the configuration has no file.

    :raises ConfigError: when the file cannot be opened.
    """
    named = twistd.get("logfile") or ("" if twistd.get("nodaemon", True) else "twistd.log")
    if named and named != "-" and not log.file:
        log = replace(log, file=os.path.abspath(named))
    return open_observer(log, partial(reactor.callLater, 0))


class WholeService(Service):
    """The core and the site on its listening sockets; both are made when the reactor runs."""

    log = Logger()

    supervised = False
    """Whether a supervisor holds the standard input (`dmtwisted.system.supervised`)."""

    pid_file = ""
    """The PID file of twistd; removed here when twistd cannot."""

    def __init__(
        self, config: Config, store: IStore, listening: Iterable[socket.socket], reactor: Any, observer: LineObserver
    ) -> None:
        self._config, self._store = config, store
        self._listening, self._reactor, self._observer = listening, reactor, observer
        self._log_files: LogFiles | None = None
        self._ports: list[IListeningPort] = []
        self._notifier = Notifier.from_environment(os.environ, reactor)
        self._failed = self._built = False

    def _build(self) -> None:
        from dmtwisted.core import TRAINING_REGISTER, Core
        from web.site import Door

        observer = self._observer
        self._core: Core = Core(self._config, self._store, self._reactor, self._config.state)
        self._core.log_lines, self._training_register = observer.recent, TRAINING_REGISTER
        if observer.path:
            self._log_files = LogFiles(observer, lambda: self._core.settings.now.logdays, self._core.clock)
        door, certificate = Door(self._core), self._core.certificate
        self._site: Any = door if certificate is None else certificate.around(door)
        self._built = True

    def setServiceParent(self, parent: Any) -> None:
        """Become a part of twistd's application, which logs as the configuration says."""
        if isinstance(parent, Componentized):
            parent.setComponent(ILogObserver, self._observer)
        super().setServiceParent(parent)

    def startService(self) -> None:
        """Open the store and the devices, then accept requests."""
        super().startService()
        take_any_letter(sys.__stdout__, sys.__stderr__)
        # Only a running reactor can be stopped again when the start fails.
        self._reactor.callWhenRunning(self._begin)

    def _begin(self) -> None:
        self._take_signals()
        Deferred.fromCoroutine(self._start()).addErrback(self._cannot_start)

    async def _start(self) -> None:
        if self._config.sqlite_file is None:
            # A server's time to answer must not pass while everything is loaded.
            self._build()
        # The writer of a file starts as a process of its own while everything else is loaded here.
        opening = Deferred.fromCoroutine(self._store.open())
        if self._config.sqlite_file is not None:
            self._build()
        await self._core.open(opening)
        if self._log_files is not None:
            self._log_files.start()
        self._ports = [self._adopt(listening) for listening in self._listening]
        rarely_collect()
        return_large_blocks()
        bound: list[Any] = [port.getHost() for port in self._ports]
        hosts: dict[str, int] = {address.host: address.port for address in bound}
        scheme = "http" if self._core.certificate is None else "https"
        places = [place_of(CALLED.get(host, host), port) for host, port in hosts.items()]
        serving = " and ".join(f"{scheme}://{place}/" for place in places)
        if hosts.keys() & CALLED.keys():
            serving += ", on every address of this machine"
        self.log.info("serving on {serving}", serving=serving)
        self._notify_manager(f"serving on {serving}")
        self._core.access.presence.renewed = self._tell_code
        self._tell_code()
        if self.supervised:
            print(SERVING, file=sys.__stdout__, flush=True)
        elif self._core.config.service.training:
            # The log takes over the standard output; this text is for a person to read and paste.
            loopback = any(ip_address(CALLED.get(host, host)).is_loopback for host in hosts)
            place = place_of("localhost", next(iter(hosts.values()))) if loopback else places[0]
            sale = FIRST_SALE.format(base=f"{scheme}://{place}", device=self._training_register)
            print(sale, file=sys.__stdout__, flush=True)

    def _tell_code(self) -> None:
        """Print the one-time code, if somebody may need it. It never gets into the log, which support may get."""
        core = self._core
        code, config = core.access.presence.shown, core.config
        if not code or self.supervised or not (config.server.hardened or _is_exposed(config.server.hosts)):
            return
        text = CODE.format(code=code)
        if config.log.format == "json" and not config.log.file:
            text = json.dumps({"message": text})
        # The log takes over the standard output.
        print(text, file=sys.__stdout__, flush=True)

    def _notify_manager(self, status: str) -> None:
        """Report to the service manager that the service is ready; a damaged database counts as ready too."""
        if self._core.store.damage:
            self._notifier.ready("the database is damaged and read-only: see /dm/main/")
        elif self._core.ready:
            self._notifier.ready(status)
        else:
            self._core.when_ready = lambda: self._notifier.ready(status)

    def _adopt(self, listening: socket.socket) -> Any:
        """The port of a socket; a reactor that cannot adopt sockets listens on its address."""
        if IReactorSocket.providedBy(self._reactor):
            port: Any = self._reactor.adoptStreamPort(listening.fileno(), listening.family, self._site)
            listening.close()
            return port
        host, number = listening.getsockname()[:2]
        listening.close()
        return self._reactor.listenTCP(number, self._site, BACKLOG, host)

    def _take_signals(self) -> None:
        """Exit with status 0 when asked to stop; twistd itself would die by the signal."""
        # SIGBREAK (Ctrl+Break) exists on Windows only.
        for asked in ("SIGTERM", "SIGINT", "SIGBREAK"):
            if hasattr(signal, asked):
                number = getattr(signal, asked)
                signal.signal(number, lambda *_: self._reactor.callFromThread(self._stop_once))
        if self.supervised:
            call_when_input_ends(self._reactor, self._stop_once)
        if hasattr(signal, "SIGHUP"):
            outlives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # nohup
            signal.signal(signal.SIGHUP, lambda *_: self._reactor.callFromThread(self._hung_up, outlives))

    def _hung_up(self, outlives: bool) -> None:
        """Reopen the log file and reload the certificate, as daemons do.

        A service with neither stops with its terminal, unless it was started with nohup.
        """
        if self._core.certificate is None and self._log_files is None and not outlives and _has_terminal():
            self._stop_once()
            return
        self._notifier.reloading()
        if self._core.certificate is not None:
            self._core.certificate.reload_or_log()
        if self._log_files is not None:
            self._log_files.reopen()
        self._notifier.reloaded()

    def _stop_once(self) -> None:
        if self.running:
            self.running = False
            self._reactor.stop()

    def _cannot_start(self, reason: Failure) -> None:
        self._failed = True
        why = reason.getErrorMessage()
        if not self._built:
            self.log.failure("the service could not be put together", reason)
        self.log.critical("cannot start: {why}", why=why)
        # The log takes over the standard error.
        print(f"{COMPLAINT}{why}", file=sys.__stderr__, flush=True)
        # twistd cannot exit with another status once the reactor runs.
        self._reactor.addSystemEventTrigger("after", "shutdown", self._exit)
        self._reactor.stop()

    def _exit(self) -> None:
        self._observer.flush()
        if self.pid_file:
            with suppress(OSError):
                os.unlink(self.pid_file)
        os._exit(1)

    def stopService(self) -> Deferred[None]:
        """Accept no more connections, let running tasks finish, close the store."""
        super().stopService()
        self._notifier.stopping()
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        if self._log_files is not None:
            self._log_files.stop()
        for port in self._ports:
            await maybeDeferred(port.stopListening)
        if not self._failed:
            await self._core.close()
        self._notifier.stopped()
        self.log.info("stopped")


def _has_terminal() -> bool:
    """Whether a terminal started the service and stops it when it closes."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _is_exposed(hosts: Iterable[str]) -> bool:
    """Whether the service listens to other machines."""
    with suppress(ValueError):
        return not all(ip_address(CALLED.get(host, host)).is_loopback and host not in CALLED for host in hosts)
    return True


CODE = "There is no login. From another computer, this one-time code stands for it: {code}"

FIRST_SALE = """
Serving on {base} in training mode: nothing leaves this machine.
Open {base}/ in a browser, or open the shift of the register `{device}` and sell something:

  curl -s {base}/dm/execute -H 'Content-Type: application/json' -d '{{"ver":6,"device":"{device}","tag":"open-1","type":1,"fiscal":{{"task":0,"cashier":"Olena"}}}}'
  curl -s {base}/dm/execute -H 'Content-Type: application/json' -d '{{"ver":6,"device":"{device}","tag":"sale-1","type":1,"fiscal":{{"task":1,"cashier":"Olena","receipt":{{"sum":125.50,"rows":[{{"code":"1","name":"Кава","cnt":1,"price":125.50,"taxgrp":1}}],"pays":[{{"type":0,"sum":125.50}}]}}}}}}'
"""  # noqa: E501 - to be pasted as it is
