"""What a service at rest carries: only what its devices and its tills use."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.system.environment import environment
from tests.web_case import DEVICES, WebCase
from web.pages import rendering

AT_REST = """
import json, sys
from twisted.internet.defer import Deferred
from dmtwisted.commands.run import OurOptions

KINDS = (("register", "training"), ("terminal", "training"), ("printer", "training"))
options = OurOptions()
options.parseOptions(["--nodaemon", "dmtwisted", "--state", sys.argv[1], "--port", "0", "--training"])
service = options.loadedPlugins[options.subCommand].makeService(options.subOptions)
from twisted.internet import reactor

async def rest():
    await service._start()
    core = service._core
    for n in range(47):
        kind, driver = KINDS[n % 3]
        await core.devices.add(f"{kind}-{n}", kind, driver, {})
    print(json.dumps([len(list(core.devices)), core.ready, sorted(sys.modules)]), file=sys.__stdout__)
    await service._stop()
    reactor.stop()

reactor.callWhenRunning(lambda: Deferred.fromCoroutine(rest()).addErrback(lambda why: why.printTraceback()))
reactor.run()
"""
"""Prints the number of devices, whether the service is ready, and its modules."""

THE_WRITER = """
import json, sys
import dmtwisted.store.sqlite.writer
print(json.dumps(sorted(sys.modules)))
"""

NOT_AT_REST = {
    "OpenSSL, cryptography, service_identity, twisted.internet.ssl": "TLS, with the first line that uses it",
    "alembic, sqlalchemy, mako": "migrations, in a process of their own",
    "PIL, reportlab, segno": "pictures and PDF, with the first print form",
    "klein, werkzeug, jinja2, markupsafe, web.tree, web.pages.site, web.openapi": "pages, with the first one",
    "treq, twisted.web.client, twisted.mail, email.mime, protocols.smtp": "what calls others",
    "psycopg2, txpostgres, pymssql, dmtwisted.store.postgres": "other databases",
    "unittest, twisted.trial, twisted.conch, twisted.words, twisted.names": "what twistd's other plugins bring",
    "serial, cups, win32print, pywintypes": "wires that no device here uses",
    "dmtwisted.lab, dmtwisted.conformance, dmtwisted.doctor, dmtwisted.finding": "what a person calls",
    "dmtwisted.backups, dmtwisted.diagnostics": "the same",
    "dmtwisted.classic.ends, protocols.registers.numbered": "the lines of old tills",
    "protocols.registers.datecs, protocols.registers.maria, protocols.registers.mg": "registers on a wire",
    "protocols.simulators.zvt, protocols.simulators.nexo, protocols.simulators.ecr17": "simulators of other devices",
}
"""Modules, with all that is inside them, and when they are needed."""

NOT_IN_THE_WRITER = ("twisted", "zope", "attr", "asyncio", "ssl", "email", "http", "web", "protocols", "subprocess")
"""The writer needs sqlite3, msgspec and the statements."""


def among(names: list[str], modules: list[str]) -> list[str]:
    """Those of ``modules`` that are one of ``names`` or inside it."""
    return [module for module in modules if any(f"{module}.".startswith(f"{name}.") for name in names)]


class RestTests(SynchronousTestCase):
    """The modules of the processes."""

    def run_child(self, code: str, *arguments: str) -> list[str]:
        """What a program has printed, line by line."""
        command = [sys.executable, "-c", code, *arguments]
        ended = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        return ended.stdout.splitlines()

    def test_service(self) -> None:
        """A service with 50 training devices has loaded nothing that only others, or a person, would use."""
        state = Path(self.mktemp()).resolve()
        [found] = [line for line in self.run_child(AT_REST, str(state)) if line.startswith("[")]
        count, ready, modules = json.loads(found)
        self.assertEqual((count, ready), (50, True))
        self.assertIn("dmtwisted.registers.engine", modules)
        for names, why in NOT_AT_REST.items():
            self.assertEqual(among(names.split(", "), modules), [], why)

    def test_writer(self) -> None:
        """The writer has loaded neither Twisted nor anything above the store."""
        [found] = self.run_child(THE_WRITER)
        modules = json.loads(found)
        self.assertIn("dmtwisted.store.sqlite.statements", modules)
        self.assertEqual(among([*NOT_IN_THE_WRITER, *", ".join(NOT_AT_REST).split(", ")], modules), [])
        ours = {".".join(name.split(".")[:2]) for name in among(["dmtwisted"], modules)}
        self.assertEqual(ours, {"dmtwisted", "dmtwisted.store", "dmtwisted.system", "dmtwisted.crash_points"})


class LaterTests(WebCase):
    """Requests that come before what they lead to is loaded."""

    def setUp(self) -> None:
        """A service that loads until the test says that it has done so."""
        super().setUp()
        self.loading: list[Deferred[None]] = []

        async def aside(work: Callable[..., Any], *arguments: object) -> Any:
            loaded: Deferred[None] = Deferred()
            self.loading.append(loaded)
            await loaded
            return work(*arguments)

        self.patch(self.shop.core.clock, "aside", aside)

    def loaded(self) -> None:
        """It has loaded."""
        for waiting in self.loading:
            waiting.callback(None)

    def test_waits(self) -> None:
        """Such requests wait and are answered, while tills sell; later ones do not wait."""
        lines = [self.connect(), self.connect()]
        lines[0].ask("GET", DEVICES)
        lines[1].ask("HEAD", "/dm/main/")
        self.assertEqual([line.answers() for line in lines], [[], []])
        # However many wait: the threads are for signatures, too.
        self.assertEqual(len(self.loading), 1)
        self.assertEqual(self.fiscal(18)["res"], 0)
        self.loaded()
        self.assertEqual([[answer.status for answer in line.answers()] for line in lines], [[200], [200]])
        before = len(self.loading)
        self.assertEqual((self.request("GET", DEVICES).status, len(self.loading)), (200, before))

    def test_gone(self) -> None:
        """Nothing is answered to a caller who has gone meanwhile."""
        line = self.connect()
        line.ask("POST", DEVICES, b"{}")
        line.hang_up()
        self.loaded()
        self.assertEqual(line.answers(), [])

    def test_templates(self) -> None:
        """What the first page is made of is compiled aside, in its reader's language, whatever was asked before."""
        compiled: dict[str, bool] = {}
        aside: list[object] = []
        compile_one = Environment.compile

        def compiles(templates: Environment, source: Any, name: str, *more: Any) -> Any:
            compiled[name] = bool(aside)
            return compile_one(templates, source, name, *more)

        async def call(work: Callable[..., Any], *arguments: object) -> Any:
            aside.append(work)
            done = work(*arguments)
            aside.remove(work)
            return done

        self.patch(Environment, "compile", compiles)
        self.patch(self.shop.core.clock, "aside", call)
        rendering.environment.cache_clear()
        self.addCleanup(rendering.environment.cache_clear)
        self.assertEqual(self.request("GET", DEVICES).status, 200)
        self.assertEqual(self.request("GET", "/dm/main/", headers=[("Accept-Language", "en")]).status, 200)
        self.assertEqual(compiled, dict.fromkeys(rendering.FIRST, True))
