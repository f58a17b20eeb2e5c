"""The tree of paths: pages and the management interface, loaded with the first request to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from klein import Klein
from twisted.web.resource import IResource, Resource, getChildForRequest
from twisted.web.server import Request
from werkzeug.exceptions import HTTPException

from dmtwisted.backups import Backups
from dmtwisted.core import Core
from dmtwisted.finding.finder import Finder
from dmtwisted.finding.machine import machine_of
from dmtwisted.results import Text
from web.accounts import AccountsApi
from web.answers import not_found
from web.api_keys import ApiKeyApi
from web.backups import BackupApi
from web.certificate import CertificateApi
from web.changes import ChangeApi
from web.damage import DamagePage
from web.devices import DeviceApi
from web.doctor import DoctorApi, Examination
from web.events import Announcing, EventStream
from web.finding import FindingApi
from web.gate import Gate, refuse_foreign
from web.goods import GoodsApi
from web.hooks import HookApi
from web.interruption import InterruptApi
from web.journal import JournalApi
from web.keys import KeyApi
from web.mail import MailApi
from web.openapi.resource import DocumentApi
from web.pages.dry_check import DryCheck
from web.pages.site import PageSite
from web.pages.static import StaticFiles
from web.prro import PrroApi
from web.receipts import ReceiptApi
from web.rights import permit_of, refusal_of, route_of
from web.selling import SellingApi
from web.sessions import SessionApi
from web.settings import SettingsApi
from web.stored_events import StoredEventApi
from web.support import Database, SupportApi
from web.tax_key import TaxKeyApi
from web.training import TrainingApi
from web.users import UserApi

Forbid = Callable[[Request, Text], bytes]


class Nothing(Resource):
    """Every path that leads nowhere."""

    isLeaf = True

    def __init__(self, default_language: str) -> None:
        super().__init__()
        self._default_language = default_language

    def render(self, request: Request) -> bytes:
        """404 as JSON."""
        return not_found(request, self._default_language)


class Folder(Resource):
    """A place in the tree of paths: ``here`` answers its own path, ``below`` every path under it without a folder."""

    def __init__(self, here: IResource, below: IResource) -> None:
        super().__init__()
        self.here, self.below = here, below

    def mount(self, path: bytes, here: IResource, below: IResource | None = None) -> None:
        """Let ``here`` answer ``path``, and what is under it too unless ``below`` does; a ``*`` is any name.

        A path is mounted before those under it.
        """
        folder = self
        for name in path[1:].split(b"/"):
            child = folder.children.get(name)
            if not isinstance(child, Folder):
                child = Folder(folder.below, folder.below)
                folder.putChild(name, child)
            folder = child
        folder.here, folder.below = here, below or here

    def getChild(self, name: bytes, request: Request) -> IResource:
        """What answers a name that has no folder of its own."""
        found: IResource = self.children.get(ANY_NAME, self.below)
        return found


ANY_NAME = b"*"


class Management(Resource):
    """The check of every request to the management interface, in front of Klein.

    Pages of other origins may use the task endpoints, but not change the service. A caller with a role that does not
    allow the route gets what ``forbid`` answers.
    """

    isLeaf = True
    asks_itself = True

    def __init__(self, app: Klein, default_language: str, forbid: Forbid) -> None:
        super().__init__()
        self._inner: IResource = app.resource()
        self._routes = app.url_map.bind("localhost")
        self._default_language, self._forbid = default_language, forbid

    def render(self, request: Request) -> int | bytes:
        """Let the request in, or say why not."""
        refused = refuse_foreign(request, self._default_language)
        if refused is not None:
            return refused
        try:
            unquote_to_bytes(request.path).decode()
        except UnicodeDecodeError:
            return not_found(request, self._default_language)
        if not _HOST.fullmatch(request.getHeader(b"host") or b""):
            # Klein would fail on a missing or unusual one, and no answer depends on it.
            request.requestHeaders.setRawHeaders(b"host", [b"localhost"])
        why_not = None if permit_of(request).whole else self._why_not(request)
        if why_not is not None:
            return self._forbid(request, why_not)
        answer: int | bytes = self._inner.render(request)
        return answer

    def _why_not(self, request: Request) -> Text | None:
        """Why the caller may not use the route that Klein will find; `None` when they may, or when there is none."""
        path = b"/" + b"/".join(request.postpath or ())
        try:
            rule, parts = self._routes.match(path.decode(), request.method.decode("latin-1"), return_rule=True)
        except HTTPException:
            return None
        return refusal_of(permit_of(request), route_of(request.method, rule.rule), parts.get("dev_id"))


MAIN = b"/dm/main"
"""The tree that every other word leads to as well."""

_WORD = re.compile(rb"[A-Za-z0-9_~-][A-Za-z0-9._~-]*")

_HOST = re.compile(rb"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*)(:[0-9]{1,5})?")


class Tree:
    """Every path of pages and of the management interface.

    :param apart: the paths that lead elsewhere before they come here.
    """

    def __init__(self, core: Core, gate: Gate, apart: Mapping[bytes, IResource]) -> None:
        language, server = core.config.service.language, core.config.server
        self._nothing = nothing = Nothing(language)
        self._core, self._language, self._gate, self._apart = core, language, gate, apart
        self._root, self._alias = Folder(nothing, nothing), server.path_alias.encode()
        self.finder = Finder(core.devices, machine_of(core.reactor))
        self.mounted: dict[bytes, Klein | None] = {}
        """Every path that is mounted, with the routes of what answers it and what is under it."""
        database, examination = Database(core), Examination(core)
        backups, certificate = Backups(core, core.dispatcher.events.publish), CertificateApi(core, language)
        pages = PageSite(core, language, database, certificate.current, examination, backups, gate.asks_for_code)
        self._pages, self._damaged = Management(pages.app, language, pages.forbid), DamagePage(core, language)
        for path in (b"/", b"/dm", b"/dm/", b"/dm/api"):
            self._mount(path, self._pages, pages.app, below=nothing)
        for path in (b"/dm/main", b"/dm/devices"):
            self._mount(path, self._pages, pages.app)
        self._mount(b"/dm/static", StaticFiles(language))
        self._serve(SessionApi(core.access, language, core.dispatcher.events.publish), b"/login", b"/logout")
        self._mount_api(database, examination, backups, certificate)
        self._words = {path.split(b"/")[2] for path in self.paths() if path.startswith(b"/dm/")}

    def _mount_api(
        self, database: Database, examination: Examination, backups: Backups, certificate: CertificateApi
    ) -> None:
        core, language, v3 = self._core, self._language, b"/dm/api/v3"
        store, devices, dispatcher = core.store, core.devices, core.dispatcher
        journal = JournalApi(store, devices, dispatcher.batch, dispatcher.papers, core.changes, language)
        self._announce(SettingsApi(core, language), b"/dm/main/api/v1", b"/dm/api/v1/sys_info")
        self._announce(PrroApi(core, language), b"/dm/main/api/v1/prro")
        self._announce(KeyApi(core, language), b"/dm/main/api/v1/prro/sign")
        self._announce(DeviceApi(devices, core.changes, language), v3 + b"/devices", v3 + b"/drivers")
        self._serve(InterruptApi(devices, language), v3 + b"/devices/*/interrupt")
        selling = SellingApi(core, language)
        self._serve(selling, v3 + b"/devices/*/reckon")
        self._announce(GoodsApi(core, language), v3 + b"/goods")
        self._serve(DryCheck(core, language), v3 + b"/check")
        self._serve(FindingApi(self.finder, language), v3 + b"/found", v3 + b"/search")
        self._serve(TaxKeyApi(devices, language), v3 + b"/tax-key")
        self._announce(journal, v3 + b"/operations", v3 + b"/jobs")
        self._serve(ReceiptApi(core, language), v3 + b"/receipts")
        self._serve(selling, v3 + b"/receipts/*/*/return")
        self._announce(ApiKeyApi(core.access.keys, devices, language), v3 + b"/api-keys")
        self._announce(UserApi(core.access, devices, language), v3 + b"/users")
        self._announce(certificate, v3 + b"/tls")
        self._announce(DoctorApi(core, examination, language), v3 + b"/doctor")
        self._announce(BackupApi(core, backups, language), v3 + b"/backups")
        self._serve(ChangeApi(core, language), v3 + b"/changes")
        self._announce(MailApi(core, language), v3 + b"/mail")
        self._announce(HookApi(core, language), v3 + b"/webhooks")
        self._serve(AccountsApi(core, language), v3 + b"/accounts")
        support = SupportApi(core, database, language)
        self._announce(support, v3 + b"/log", v3 + b"/diagnostics", v3 + b"/database")
        self._mount(
            v3 + b"/events", EventStream(devices, dispatcher.events, core.feed, core.access, core.clock, language)
        )
        self._serve(StoredEventApi(core, language), v3 + b"/events/stored")
        self._serve(DocumentApi(self.paths, core.clock, language), v3 + b"/openapi.json", v3 + b"/postman.json")
        if core.config.service.training:
            self._serve(TrainingApi(core.clock, core.changes, core.retention.soon, language), v3 + b"/training")

    def _mount(self, path: bytes, here: IResource, app: Klein | None = None, below: IResource | None = None) -> None:
        self._root.mount(path, here, below)
        self.mounted[path] = app

    def _serve(self, api: Any, *paths: bytes) -> None:
        resource = Management(api.app, self._language, self._gate.forbid)
        for path in paths:
            self._mount(path, resource, api.app)

    def _announce(self, api: Any, *paths: bytes) -> None:
        """Serve ``api``, and publish an event after each change that it makes."""
        management = Management(api.app, self._language, self._gate.forbid)
        resource = Announcing(management, self._core.dispatcher.events)
        for path in paths:
            self._mount(path, resource, api.app)

    def paths(self) -> dict[bytes, Klein | None]:
        """Every path of the site, with the routes of those that have some."""
        return {**dict.fromkeys(self._apart), **self.mounted}

    def find(self, request: Request) -> IResource:
        """Where ``request`` leads."""
        path = request.path
        if not path.startswith(b"/"):
            return self._nothing
        if path.startswith(b"/dm/"):
            path = request.path = self._with_main(path)
        # The gate judges the path as it came, so the tree must not know other spellings of it.
        request.postpath = path[1:].split(b"/")
        found: Any = getChildForRequest(self._root, request)
        # Klein matches the whole path.
        request.prepath, request.postpath = [], [unquote_to_bytes(name) for name in path[1:].split(b"/")]
        resource: IResource = found.here if isinstance(found, Folder) else found
        return self._damaged if resource is self._pages and self._core.store.damage else resource

    def _with_main(self, path: bytes) -> bytes:
        """``path`` with `main` for any other word: clients know the management paths under the word of their program.

        A word without a path under it stays, unless it is the configured one: it may be a misspelled task endpoint.
        """
        word, slash, rest = path[4:].partition(b"/")
        if not word or (word in self._words or not _WORD.fullmatch(word) if slash else word != self._alias):
            return path
        return MAIN + slash + rest
