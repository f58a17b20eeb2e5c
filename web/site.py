"""The whole door: which path leads where, and how much of a request is let in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from typing import Any
from urllib.parse import unquote_to_bytes

from twisted.web.http import HTTPChannel
from twisted.web.http import Request as HTTPRequest
from twisted.web.http_headers import Headers
from twisted.web.resource import IResource, Resource
from twisted.web.server import Request, Site

from dmtwisted.backups import Backups
from dmtwisted.core import Core
from dmtwisted.requests import MAX_BODY
from dmtwisted.results import Refused, Res
from web.answers import error_answer, language_of, not_found
from web.api_keys import ApiKeyApi
from web.backups import PATH as BACKUPS
from web.backups import BackupApi
from web.certificate import CertificateApi
from web.damage import DamagePage
from web.devices import DeviceApi
from web.doctor import PATH as DOCTOR
from web.doctor import DoctorApi, Examination
from web.events import Announcing, EventStream
from web.gate import Gate
from web.health import Health
from web.journal import JournalApi
from web.keys import PATH as SIGNING_KEY
from web.keys import KeyApi
from web.metrics import MetricsPage
from web.openapi.resource import OPENAPI, POSTMAN, DocumentApi
from web.pages.dry_check import PATH as DRY_CHECK
from web.pages.dry_check import DryCheck
from web.pages.site import PageSite, is_page
from web.pages.static import PREFIX, StaticFiles
from web.prro import PATH as PRRO
from web.prro import PrroApi
from web.receipts import PATH as RECEIPTS
from web.receipts import ReceiptApi
from web.sessions import SessionApi
from web.settings import SettingsApi
from web.support import PATHS as SUPPORT
from web.support import Database, SupportApi
from web.tasks import TaskResource
from web.terminals import PATHS, InterruptApi, ServiceMethod
from web.training import TrainingApi

IDLE_CONNECTION = 120.0
"""Seconds that a connection may stay open without a request."""


class BoundedRequest(Request):
    """A request that keeps at most one byte more than is taken; the rest of a body is read and dropped.

    So whoever sends too much still hears why, and memory does not pay for it.
    """

    from_known_origin = False
    """Whether it comes from a page that the configuration lists; the gate says so."""

    def gotLength(self, length: int | None) -> None:
        """The body begins: it stays in memory, for it is bounded."""
        self.content = BytesIO()

    def handleContentChunk(self, data: bytes) -> None:
        """A piece of the body."""
        content = self.content
        assert content is not None
        room = MAX_BODY + 1 - content.tell()
        if room > 0:
            content.write(data[:room])


class Nothing(Resource):
    """Every path that leads nowhere."""

    isLeaf = True

    def __init__(self, default_language: str) -> None:
        super().__init__()
        self._default_language = default_language

    def render(self, request: Request) -> bytes:
        """404 as JSON."""
        return not_found(request, self._default_language)


class Management(Resource):
    """The gate of the management interface, in front of Klein.

    A page of another origin may use the task endpoints, but not change the service: a browser sends such
    requests without asking when they look like a form, so the origin is compared here (design 6).
    """

    isLeaf = True

    def __init__(self, inner: IResource, default_language: str) -> None:
        super().__init__()
        self._inner, self._default_language = inner, default_language

    def render(self, request: Request) -> int | bytes:
        """Let the request in, or tell why not."""
        host = request.getHeader(b"host") or b""
        origin = request.getHeader(b"origin")
        foreign = origin is not None and origin.split(b"://")[-1] != host
        if foreign and request.method not in READING and not getattr(request, "from_known_origin", False):
            refused = Refused(Res.MALFORMED, "this origin may not change the service")
            return error_answer(request, 403, refused, language_of(request, self._default_language))
        try:
            unquote_to_bytes(request.path).decode()
        except UnicodeDecodeError:
            return not_found(request, self._default_language)
        if not _HOST.fullmatch(host):
            # Klein would fail on it, and nothing of ours depends on it.
            request.requestHeaders.setRawHeaders(b"host", [b"localhost"])
        answer: int | bytes = self._inner.render(request)
        return answer


MAIN = b"/dm/main"
"""The tree that `path_alias` is a second name for."""

READING = (b"GET", b"HEAD", b"OPTIONS")
"""Methods that change nothing."""

_HOST = re.compile(rb"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*(:[0-9]{1,5})?")


class BoundedChannel(HTTPChannel):
    """A connection whose requests arrive in time and name a length that can be meant."""

    _begun: float | None = None
    _working = False
    _host: Any = None

    def getHost(self) -> Any:
        """Our own end, which stays the same: each request asks for it, and the system is asked once."""
        if self._host is None:
            self._host = super().getHost()
        return self._host

    def dataReceived(self, data: bytes) -> None:
        """Bytes of a request; one that has dripped in for too long is not waited for any more."""
        if not self._working:
            now = self._now()
            if self._begun is None:
                self._begun = now
            elif now - self._begun > REQUEST_PATIENCE:
                self.forceAbortClient()
                return
        super().dataReceived(data)

    def headerReceived(self, line: bytes) -> bool:
        """A header; a length of more digits than any body has is refused before it is reckoned."""
        if len(line) > LONGEST_LENGTH and line[:15].lower() == b"content-length:":
            self._respondToBadRequestAndDisconnect()
            return False
        return bool(super().headerReceived(line))

    def allContentReceived(self) -> None:
        """The request is whole; how long its answer takes is not the caller's doing."""
        self._begun, self._working = None, True
        super().allContentReceived()

    def writeHeaders(self, version: bytes, code: bytes, reason: bytes, headers: Any) -> None:
        """The head of an answer as one piece: the transport looks at each piece that it is given, twice."""
        if not isinstance(headers, Headers):
            super().writeHeaders(version, code, reason, headers)
            return
        head = [version, b" ", code, b" ", reason, b"\r\n"]
        for name, values in headers.getAllRawHeaders():
            for value in values:
                head += (name, b": ", value, b"\r\n")
        head.append(b"\r\n")
        assert self.transport is not None
        self.transport.write(b"".join(head))

    def requestDone(self, request: HTTPRequest) -> None:
        """The answer is on its way."""
        self._working = False
        super().requestDone(request)

    def _now(self) -> float:
        return float(self.factory.reactor.seconds())


REQUEST_PATIENCE = 60.0
"""Seconds within which a request has to have arrived whole."""

LONGEST_LENGTH = 64
"""Bytes of a `Content-Length` header that can be meant."""


class Door(Site):
    """The site: task endpoints and probes by their exact path, everything else by the start of it."""

    protocol: Any = BoundedChannel

    def __init__(self, core: Core) -> None:
        language = core.config.service.language
        # Without the flag twisted.web parses the content type of every POST as if it were mail
        # (docs/performance.md).
        super().__init__(
            Nothing(language),
            requestFactory=BoundedRequest,
            timeout=IDLE_CONNECTION,
            reactor=core.reactor,
            parsePOSTFormSubmission=False,
        )
        server = core.config.server
        self._core, self._damaged = core, DamagePage(core, language)
        self._gate, self._hardened = Gate(core.access, server, language), server.hardened
        self._alias = f"/dm/{server.path_alias}/".encode() if server.path_alias else b""
        tasks = TaskResource(core.dispatcher.execute, language)
        self._exact: dict[bytes, IResource] = {
            b"/dm/execute": tasks,
            b"/dm/execute-prn": TaskResource(core.dispatcher.execute, language, prints=True),
            b"/dm/execute-pkg": TaskResource(partial(core.dispatcher.execute, batch=True), language),
            b"/health/live": Health(lambda: True, language),
            b"/health/ready": Health(lambda: core.ready, language),
            b"/metrics": MetricsPage(core, language),
            **{path: ServiceMethod(name, core.devices, core.clock, language) for path, name in PATHS.items()},
        }
        events = core.dispatcher.events

        def announced(api: Any) -> IResource:
            return Announcing(Management(api.app.resource(), language), events)

        devices = announced(DeviceApi(core.devices, language))
        journal = announced(
            JournalApi(core.store, core.devices, core.dispatcher.batch, core.dispatcher.papers, language)
        )
        # Beside the other paths of a device, whose own module knows nothing of terminals.
        self._interrupt: IResource = Management(InterruptApi(core.devices, language).app.resource(), language)
        self._starts: list[tuple[bytes, IResource]] = [
            (b"/dm/api/v3/operations", journal),
            (RECEIPTS, Management(ReceiptApi(core.store, core.devices, language).app.resource(), language)),
            (b"/dm/api/v3/jobs", journal),
            (b"/dm/api/v3/devices", devices),
            (b"/dm/api/v3/drivers", devices),
        ]
        sessions = Management(SessionApi(core.access, language).app.resource(), language)
        settings, keys = announced(SettingsApi(core, language)), announced(ApiKeyApi(core.access.keys, language))
        self._starts += [
            (b"/login", sessions),
            (b"/logout", sessions),
            (SIGNING_KEY, announced(KeyApi(core, language))),
            (PRRO, announced(PrroApi(core, language))),
            (b"/dm/main/api/v1", settings),
            (b"/dm/api/v1/sys_info", settings),
            (b"/dm/api/v3/api-keys", keys),
        ]
        database = Database(core)
        backups = Backups(core, events.publish)
        self._starts.append((BACKUPS, announced(BackupApi(core, backups, language))))
        support = announced(SupportApi(core, database, language))
        self._starts += [(path, support) for path in SUPPORT]
        certificate, examination = CertificateApi(core, language), Examination(core)
        pages = PageSite(core, language, database, certificate.current, examination, backups)
        document = Management(DocumentApi(self.resources, core.clock, language).app.resource(), language)
        self._pages: IResource = Management(pages.app.resource(), language)
        self._starts += [
            (OPENAPI, document),
            (POSTMAN, document),
            (b"/dm/api/v3/events", EventStream(core.devices, events, core.clock, language)),
            (DRY_CHECK, Management(DryCheck(core, language).app.resource(), language)),
            (PREFIX.rstrip(b"/"), StaticFiles(language)),
            (DOCTOR, announced(DoctorApi(core, examination, language))),
        ]
        self._starts.append((b"/dm/api/v3/tls", announced(certificate)))
        if core.config.service.training:
            training = Management(TrainingApi(core.clock, core.retention.soon, language).app.resource(), language)
            self._starts.append((b"/dm/api/v3/training", training))

    def resources(self) -> Iterator[tuple[bytes, IResource]]:
        """Everything behind the door, each with the start of its path."""
        yield from self._exact.items()
        yield from self._starts
        yield b"/dm/api/v3/devices", self._interrupt
        yield b"/dm/main", self._pages

    def getResourceFor(self, request: Request) -> IResource:
        """Where ``request`` leads."""
        request.site = self
        path = request.path
        exact = self._exact.get(path)
        if exact is not None:
            # On the way of every sale, so only a hardened service has a gate there.
            return self._gate.before(exact) if self._hardened else exact
        if self._alias and (path + b"/").startswith(self._alias):
            path = request.path = MAIN + path[len(self._alias) - 1 :]
            # What Klein goes by was taken from the path before.
            request.postpath = [unquote_to_bytes(part) for part in path[1:].split(b"/")]
        return self._gate.before(self._behind(path))

    def _behind(self, path: bytes) -> IResource:
        if path.startswith(b"/dm/api/v3/devices/") and path.endswith(b"/interrupt"):
            return self._interrupt
        for start, resource in self._starts:
            if path == start or path.startswith(start + b"/"):
                return resource
        if is_page(path):
            return self._damaged if self._core.store.damage else self._pages
        return self.resource  # type: ignore[no-any-return]

    def log(self, request: HTTPRequest) -> None:
        """Tasks log themselves, with more than an access log would tell."""
