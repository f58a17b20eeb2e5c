"""Drivers of other packages: found by their entry points, and none of them can keep the service from starting."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import LogEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.devices.drivers import find_drivers
from tests.shop import Shop
from tests.web_case import WebCase
from web.site import Door

DRIVER = """
import msgspec
from dmtwisted.devices.driver import Driver

class Settings(msgspec.Struct, forbid_unknown_fields=True):
    host: str = ""

def build(*_):
    raise LookupError("nothing to build")

DRIVER = Driver({kind!r}, {name!r}, "Чужий", Settings, build, secrets={secrets!r})
"""


class Packages:
    """A folder on the path, with packages that announce drivers."""

    def __init__(self, case: SynchronousTestCase) -> None:
        self._folder = Path(case.mktemp()).absolute()
        self._folder.mkdir(parents=True)
        case.patch(sys, "path", [str(self._folder), *sys.path])
        case.addCleanup(self._forget)
        self._modules: list[str] = []
        importlib.invalidate_caches()

    def add(self, module: str, source: str, place: str = "", version: str = "1.0") -> None:
        """A package of one module."""
        self._modules.append(module)
        (self._folder / f"{module}.py").write_text(source, "utf-8")
        told = self._folder / f"{module}-{version}.dist-info"
        told.mkdir()
        (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: {version}\n", "utf-8")
        (told / "entry_points.txt").write_text(
            f"[dmtwisted.drivers]\n{module} = {place or module + ':DRIVER'}\n", "utf-8"
        )
        importlib.invalidate_caches()

    def driver(self, module: str, kind: str = "terminal", name: str = "x", secrets: tuple[str, ...] = ()) -> None:
        """A package with one driver."""
        self.add(module, DRIVER.format(kind=kind, name=name, secrets=secrets))

    def _forget(self) -> None:
        for module in self._modules:
            sys.modules.pop(module, None)
        importlib.invalidate_caches()


class ThirdPartyTests(SynchronousTestCase):
    """`dmtwisted.devices.third_party`"""

    def setUp(self) -> None:
        """Packages, and an ear for the log."""
        self.packages = Packages(self)
        self.told: list[LogEvent] = []
        globalLogPublisher.addObserver(self.told.append)  # type: ignore[arg-type]
        self.addCleanup(globalLogPublisher.removeObserver, self.told.append)  # type: ignore[arg-type]

    def left_out(self) -> list[str]:
        """Why drivers were left out."""
        return [event["why"] for event in self.told if "is left out" in str(event.get("log_format"))]

    def test_found(self) -> None:
        """A driver of another package is there beside those of the tree, with the package that brought it."""
        before = set(find_drivers())
        for n, kind in enumerate(("register", "printer", "terminal")):
            self.packages.driver(f"package_of_a_test_{n}", kind)
        found = find_drivers()
        self.assertEqual(set(found) - before, {("register", "x"), ("printer", "x"), ("terminal", "x")})
        self.assertEqual(found["terminal", "x"].origin, "package_of_a_test_2 1.0")
        self.assertEqual({found[key].origin for key in before}, {""})
        self.assertEqual(self.left_out(), [])

    def test_broken(self) -> None:
        """Whatever is wrong with one, it is left out with a reason, and all others are there."""
        add, driver = self.packages.add, self.packages.driver
        add("package_no_module", "", "no_module_at_all:DRIVER")
        add("package_raises", "raise RuntimeError('not today')")
        add("package_exits", "import sys\nsys.exit(1)")
        add("package_syntax", "def (")
        add("package_no_name", "x = 1")
        add("package_no_driver", "DRIVER = 'zvt'")
        driver("package_kind", kind="other")
        driver("package_name", name="Мій драйвер")
        driver("package_secret", secrets=("pin",))
        driver("package_taken", name="zvt")
        driver("package_good", name="good")
        driver("package_good_too", name="good")
        zvt = find_drivers()["terminal", "zvt"]
        found = find_drivers()
        self.assertEqual(found["terminal", "zvt"], zvt)
        self.assertEqual(found["terminal", "good"].origin, "package_good 1.0")
        whys = " | ".join(self.left_out())
        for word in (
            *("no_module_at_all", "not today", "SystemExit", "SyntaxError", "DRIVER", "not str", "kind is one of"),
            *("Мій драйвер", "pin", "a terminal zvt already", "a terminal good already"),
        ):
            self.assertIn(word, whys)

    def test_nobody(self) -> None:
        """Where no package announces anything, the machinery that reads entry points is not even loaded."""
        self.patch(importlib.import_module("importlib.metadata"), "entry_points", self.fail)
        find_drivers()


class ServiceTests(WebCase):
    """The service with drivers of other packages."""

    def setUp(self) -> None:
        """One that works as far as it goes, and one that does not."""
        packages = Packages(self)
        packages.driver("package_shown", name="shown")
        packages.add("package_broken", "raise RuntimeError('not today')")
        self.shop = Shop(self)
        self.door = Door(self.shop.core)

    def test_listed(self) -> None:
        """It is in the list of drivers with its package, no level, and the command that finds one."""
        drivers = self.request("GET", "/dm/api/v3/drivers").json["drivers"]
        [shown] = [driver for driver in drivers if driver["driver"] == "shown"]
        self.assertEqual(
            (shown["level"], shown["suite"], shown["origin"], shown["conform"]),
            (None, None, "package_shown 1.0", "dmtwisted conform --kind terminal --driver shown --save"),
        )
        [french] = [driver for driver in drivers if driver["driver"] == "caisse-ap"]
        self.assertEqual((french["level"], french["suite"], french["origin"], french["conform"]), (1, 3, "", ""))

    def test_cannot_be_built(self) -> None:
        """A device of a driver that fails is there and says why; the register beside it works."""
        body = {"device": "pos", "kind": "terminal", "driver": "shown", "settings": {}}
        made = self.request("POST", "/dm/api/v3/devices", body)
        self.flushLoggedErrors(LookupError)
        self.assertEqual((made.status, made.json["state"]["error"]), (201, "LookupError: nothing to build"))
        self.assertEqual(self.shop.fiscal(0)["res"], 0)

    def test_gone(self) -> None:
        """A device whose package was removed is there and says so, and comes back with the package."""
        adding: Any = self.shop.core.devices.add("pos", "terminal", "shown", {})
        self.successResultOf(Deferred.fromCoroutine(adding))
        self.flushLoggedErrors(LookupError)
        sys.path[:] = sys.path[1:]
        sys.modules.pop("package_shown")
        importlib.invalidate_caches()
        self.shop.crash()
        self.flushLoggedErrors(LookupError)
        state: Any = self.shop.core.devices.by_name("pos").built.state()
        told = self.successResultOf(Deferred.fromCoroutine(state))
        self.assertEqual(told["error"], "LookupError: there is no driver shown for a terminal")
