"""The site: what every sale passes by its exact path, and a tree for the rest, loaded with its first request."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Coroutine
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred, DeferredLock
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.http import Request as HTTPRequest
from twisted.web.resource import IResource, Resource
from twisted.web.server import NOT_DONE_YET, Request, Site

from dmtwisted.cloud import CloudTasks
from dmtwisted.core import Core
from web.answers import page_language
from web.cloud import PATH as CLOUD
from web.cloud import CloudResource
from web.connection import IDLE_CONNECTION, BoundedRequest, Connections
from web.gate import Gate, OnlyHere, Rule, StrangeHost, is_at_the_machine, rule_of
from web.health import Health
from web.metrics import MetricsPage
from web.short_way import Head, ShortChannel
from web.tasks import TaskResource, Trusts, printer_of
from web.terminals import PATHS, ServiceMethod
from web.waiting import Places

if TYPE_CHECKING:
    from web.tree import Tree

log = Logger()

TREE = "web.tree"
"""The module with the tree: a third of all that a service could load, and a till alone needs none of it."""


class Door(Site):
    """The site: task endpoints and probes by their exact path, everything else by a tree of resources."""

    protocol: Any = ShortChannel

    def __init__(self, core: Core) -> None:
        language = core.config.service.language
        self._later = Later(self._whole)
        # Without the flag twisted.web parses the content type of every POST as if it were mail
        # (docs/performance.md).
        super().__init__(
            self._later,
            requestFactory=BoundedRequest,
            timeout=IDLE_CONNECTION,
            reactor=core.reactor,
            parsePOSTFormSubmission=False,
        )
        self._core, self._language = core, language
        self._tree: Tree | None = None
        self._loading = DeferredLock()
        self._loaded: set[str] = set()
        """The languages in which pages are loaded, and an empty one when the tree is."""
        self.connections = Connections()
        self._gate = Gate(core, language)
        self._only_here, self._strange_host = OnlyHere(language), StrangeHost(core.hosts, language)
        self._usual_hosts = core.hosts.usual
        # On a training service nothing is secret.
        trusts: Trusts = (lambda request: True) if core.config.service.training else self._gate.knows_all
        execute, places = core.dispatcher.execute, Places(core.clock)
        self.exact: dict[bytes, IResource] = {
            b"/dm/execute": TaskResource(execute, language, trusts=trusts, places=places),
            b"/dm/execute-prn": TaskResource(execute, language, printer_of, trusts, places),
            b"/dm/execute-pkg": TaskResource(partial(execute, batch=True), language, trusts=trusts, places=places),
            b"/health/live": Health(lambda: True, language),
            b"/health/ready": Health(lambda: core.ready, language),
            b"/metrics": MetricsPage(core, language),
            **{path: ServiceMethod(name, core.devices, core.clock, language) for path, name in PATHS.items()},
        }
        self._tasks = {path: found for path, found in self.exact.items() if isinstance(found, TaskResource)}
        cloud = CloudTasks(core.devices, core.dispatcher, core.clock)
        self.gated: dict[bytes, IResource] = {CLOUD: CloudResource(cloud, language)}
        """Paths of sales that everybody has to pass the gate for."""

    @property
    def tree(self) -> Tree:
        """Every other path."""
        if self._tree is None:
            made: Tree = import_module(TREE).Tree(self._core, self._gate, ChainMap(self.exact, self.gated))
            self._tree = made
        return self._tree

    async def _whole(self, request: Request) -> IResource:
        """Where ``request`` leads, after that was loaded."""
        wanted = self._wanted(request)
        # Once, however many ask: the threads are for signatures, too.
        async with self._loading:
            if wanted not in self._loaded:
                # It takes longer than a till may wait.
                await self._core.clock.aside(_load, wanted)
                self._loaded |= {wanted, ""}
        return self._gate.before(self.tree.find(request))

    def _wanted(self, request: Request) -> str:
        """The language of the page that ``request`` asks for; empty for anything else of the tree."""
        return page_language(request, self._language) if rule_of(request.path) is Rule.PAGE else ""

    def getResourceFor(self, request: Request) -> IResource:
        """Where ``request`` leads."""
        request.site = self
        path = request.path
        hosts = request.requestHeaders.getRawHeaders(b"host")
        # On the way of every sale: a known name costs one look.
        if hosts is not None and (len(hosts) != 1 or hosts[0] not in self._usual_hosts):  # noqa: SIM102 - the usual way
            if self._strange_host.refuses(request, hosts):
                return self._strange_host
        if not self._core.settings.now.extAccess and not is_at_the_machine(request):
            return self._only_here
        exact = self.exact.get(path)
        if exact is not None:
            # On the way of every sale, so the gate is there only for those whom it concerns.
            return self._gate.before(exact) if self._gate.concerns_task(request) else exact
        gated = self.gated.get(path)
        if gated is not None:
            return self._gate.before(gated)
        return self._gate.before(self.tree.find(request)) if self._wanted(request) in self._loaded else self._later

    def task_for(self, head: Head) -> TaskResource | None:
        """The task endpoint that an ordinary request leads to; `None` when a rule of the site concerns it."""
        if head.host is not None and head.host not in self._usual_hosts:
            return None
        if not self._core.settings.now.extAccess or self._gate.concerns_tasks:
            return None
        return self._tasks.get(head.path)

    def log(self, request: HTTPRequest) -> None:
        """No access log: tasks log themselves, and say more."""


def _load(language: str) -> None:
    """Load the tree, and the templates of pages in ``language``; none for an empty one."""
    import_module(TREE)
    if language:
        import_module("web.pages.rendering").load_templates(language)


class Later(Resource):
    """A request that is answered when what it leads to was loaded.

    :param whole: loads it, and says where the request leads.
    """

    isLeaf = True

    def __init__(self, whole: Callable[[Request], Coroutine[Any, Any, IResource]]) -> None:
        super().__init__()
        self._whole = whole

    def render(self, request: Request) -> int:
        """Answer later."""
        found = Deferred.fromCoroutine(self._whole(request))
        found.addCallback(partial(_render, request)).addErrback(partial(_failed, request))
        return NOT_DONE_YET


def _render(request: Request, resource: IResource) -> None:
    # The client may have disconnected.
    if request.channel is not None:
        request.render(resource)


def _failed(request: Request, reason: Failure) -> None:
    log.failure("a request could not be answered", reason)
    if request.channel is not None:
        request.setResponseCode(500)
        request.finish()
