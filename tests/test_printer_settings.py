"""The settings of printers: what is taken, what is refused with its path, what they lead to."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.devices import Unusable
from dmtwisted.devices.driver import BadSettings, Surroundings
from dmtwisted.devices.drivers import find_drivers
from dmtwisted.printing.drivers import escpos, star, training
from dmtwisted.printing.service import PrinterService
from dmtwisted.printing.settings import PrinterSettings, profile_of, way_of
from dmtwisted.printing.ways import LineWay, QueueWay
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import DeviceRow
from protocols.printers.commands import Text
from protocols.printers.compose import compose
from protocols.printers.profiles import PROFILES
from tests.test_printing_service import PrintCase, lines
from tests.web_case import DEVICES

HERE: dict[str, Any] = {"host": "192.0.2.7"}


class WrongTests(PrintCase):
    """What does not fit is 422 with its path, when a printer is made and when it is changed."""

    CASES: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("escpos", {}, "settings.host"),
        ("escpos", {"interface": "serial"}, "settings.serial_port"),
        ("escpos", {"interface": "usb", "device_file": ""}, "settings.device_file"),
        ("escpos", {"interface": "cups"}, "settings.queue"),
        ("escpos", {"interface": "windows"}, "settings.queue"),
        ("escpos", {"interface": "radio"}, "settings.interface"),
        ("escpos", {**HERE, "port": 70000}, "settings.port"),
        ("escpos", {**HERE, "port": "9100"}, "settings.port"),
        ("escpos", {**HERE, "baudrate": 0}, "settings.baudrate"),
        ("escpos", {**HERE, "flow": "maybe"}, "settings.flow"),
        ("escpos", {**HERE, "profile": "pos-printer"}, "settings.profile"),
        ("escpos", {**HERE, "profile": "star"}, "settings.profile"),
        ("star", {**HERE, "profile": "epson"}, "settings.profile"),
        ("star", {}, "settings.host"),
        ("training", {"profile": "pos-printer"}, "settings.profile"),
        ("training", {"host": "a"}, "settings.host"),
        ("escpos", {**HERE, "code_page": "koi8-u"}, "settings.code_page"),
        ("escpos", {**HERE, "code_page": "cp1125"}, "settings.code_table"),
        ("escpos", {**HERE, "code_table": 256}, "settings.code_table"),
        ("escpos", {**HERE, "columns": 20}, "settings.columns"),
        ("escpos", {**HERE, "dots": 2000}, "settings.dots"),
        ("escpos", {**HERE, "job_ttl_s": 1}, "settings.job_ttl_s"),
        ("escpos", {**HERE, "spare": 7}, "settings.spare"),
        ("escpos", {**HERE, "hat": 1}, "settings.hat"),
    )

    def test_new(self) -> None:
        """No such printer is made."""
        for driver, settings, path in self.CASES:
            body = {"device": "x", "kind": "printer", "driver": driver, "settings": settings}
            answer = self.request("POST", DEVICES, body)
            self.assertEqual(answer.status, 422, (driver, settings, answer.body))
            self.assertEqual([error["path"] for error in answer.json["errors"]], [path], settings)
        self.assertEqual(len(self.request("GET", DEVICES).json["devices"]), len(list(self.shop.core.devices)))
        self.assertNotIn("x", [device.name for device in self.shop.core.devices])

    def test_changed(self) -> None:
        """A printer that would not fit any more stays as it was."""
        dev_id = self.device("x", "escpos", **HERE)
        for change, path in (
            ({"host": ""}, "settings.host"),
            ({"profile": "star"}, "settings.profile"),
            ({"interface": "cups"}, "settings.queue"),
            ({"code_page": "cp1125"}, "settings.code_table"),
        ):
            answer = self.request("PATCH", f"{DEVICES}/{dev_id}", {"settings": change})
            self.assertEqual((answer.status, answer.json["errors"][0]["path"]), (422, path))
        settings = self.request("GET", f"{DEVICES}/{dev_id}").json["settings"]
        self.assertEqual((settings["host"], settings["profile"]), ("192.0.2.7", "generic-80"))

    def test_known_profiles(self) -> None:
        """Who names an unknown family reads the known ones, those that the driver speaks the language of."""
        for driver, known, unknown in (("escpos", "zjiang-58", "star"), ("star", "star", "epson")):
            body = {"device": "x", "kind": "printer", "driver": driver, "settings": {**HERE, "profile": "z"}}
            text = self.request("POST", DEVICES, body).json["errors"][0]["text"]
            names = text.removeprefix("очікується одне з ").split(", ")
            self.assertIn(known, names)
            self.assertNotIn(unknown, names)
            self.assertLessEqual(set(names), set(PROFILES))

    def test_kept_from_before(self) -> None:
        """Settings in the database that do not fit any more: the printer is there, says why, and can be mended."""
        dev_id = self.device("x", "escpos", **HERE)
        database = self.shop.store._db
        assert database is not None
        database.execute("UPDATE device SET settings = CAST('{}' AS BLOB) WHERE name = 'x'")
        self.kill()
        self.flushLoggedErrors(BadSettings)
        self.assertIsInstance(self.built("x"), Unusable)
        self.assertEqual(self.print(lines(1), "x")["res"], 430)
        self.assertEqual(self.request("PATCH", f"{DEVICES}/{dev_id}", {"settings": HERE}).status, 200)
        self.assertIsInstance(self.built("x"), PrinterService)


class RecordTests(PrintCase):
    """A printer as a resource."""

    def test_record(self) -> None:
        """A printer prints documents, takes no payments, has no secrets and says what its last job was."""
        dev_id = self.device("x", "escpos", **HERE)
        record = self.request("GET", f"{DEVICES}/{dev_id}").json
        self.assertEqual((record["is_doc"], record["is_pay"], record["is_fis"]), (True, False, False))
        self.assertEqual(record["state"], {"busy": False, "last_job": None})
        self.assertEqual(set(record["settings"]), set(PrinterSettings.__struct_fields__))
        for driver in (escpos.DRIVER, star.DRIVER, training.DRIVER):
            self.assertEqual(driver.secrets, ())
        n = self.print(lines(1))["info"]["job"]
        prn = self.request("GET", f"{DEVICES}/{self.shop.core.devices.by_name('prn').row.dev_id}").json
        self.assertEqual(prn["state"]["last_job"], {"id": n, "fate": "printed", "reason": ""})

    def test_schema(self) -> None:
        """Each setting of each driver has a description, and every driver is found."""
        for name in ("escpos", "star", "training"):
            driver = find_drivers()["printer", name]
            schema = driver.schema()
            [definition] = [each for each in schema["$defs"].values() if "properties" in each]
            for member, details in definition["properties"].items():
                self.assertIn("description", str(details), (name, member))


class WayOfTests(SynchronousTestCase):
    """What settings lead to."""

    def setUp(self) -> None:
        """A reactor in memory."""
        self.reactor = MemoryReactorClock()
        self.around = Surroundings(self.reactor, ServiceClock(self.reactor), MemoryStore(), None)

    def way(self, **settings: Any) -> Any:
        """The way that these settings describe."""
        return way_of(PrinterSettings(**settings), self.around)

    def test_tcp(self) -> None:
        """A host is called at port 9100 unless another one is named, and the call is given up within 5 s."""
        for given, port in (({}, 9100), ({"port": 9101}, 9101)):
            way = self.way(**HERE, **given)
            self.assertIsInstance(way, LineWay)
            ended = way.deliver(compose([Text("а")], way.profile)).done
            self.assertEqual(self.reactor.tcpClients[-1][:2], ("192.0.2.7", port))
            self.reactor.advance(4.5)
            self.assertNoResult(ended)
            self.reactor.advance(0.5)
            self.assertEqual(self.successResultOf(ended).reason, "unreachable")
        self.assertEqual(self.reactor.getDelayedCalls(), [])

    def test_moved_clock(self) -> None:
        """A line is given the reactor's own time: a training clock that is moved uses up nothing of it."""
        self.assertIs(self.way(**HERE)._clock, self.reactor)

    def test_serial(self) -> None:
        """A COM port without flow control is written to no faster than it carries; with it, as it comes."""
        for flow, rate in (("none", 1920), ("rtscts", 0), ("xonxoff", 0)):
            way = self.way(interface="serial", serial_port="/dev/ttyUSB7", baudrate=19200, flow=flow)
            self.assertEqual(way._rate, rate)

    def test_queues(self) -> None:
        """CUPS and Windows are queues; a device file is a line."""
        self.assertIsInstance(self.way(interface="cups", queue="q"), QueueWay)
        self.assertIsInstance(self.way(interface="windows", queue="q"), QueueWay)
        self.assertIsInstance(self.way(interface="usb"), LineWay)

    def test_profile(self) -> None:
        """Width, table and its number override the family's."""
        profile = profile_of(PrinterSettings(**HERE, columns=42, dots=512, code_page="cp1251", code_table=6))
        self.assertEqual((profile.columns(), profile.dots), (42, 512))
        self.assertEqual((profile.best_page(), profile.code_tables["cp1251"]), ("cp1251", 6))
        self.assertEqual(profile_of(PrinterSettings(**HERE, code_page="raster")).best_page(), "raster")
        self.assertEqual(PROFILES["generic-80"].columns(), 48)

    def test_drivers(self) -> None:
        """Each driver builds a printing service of its settings."""
        row = DeviceRow(1, "id", "x", "printer", "escpos", b"{}")
        for driver in (escpos.DRIVER, star.DRIVER):
            built = driver.build(row, driver.read(HERE), self.around)
            self.assertIsInstance(built, PrinterService)
            built.close()
        built = training.DRIVER.build(row, training.DRIVER.read({}), self.around)
        self.assertIs(training.DRIVER.simulator and training.DRIVER.simulator(built), built.printer)
        built.close()

    def test_finder(self) -> None:
        """The page of code tables can be made for printers that draw their lines, too."""
        for profile in PROFILES.values():
            driver = star.DRIVER if profile.language == "star" else escpos.DRIVER
            way = way_of(driver.read({**HERE, "profile": profile.name}), self.around)  # type: ignore[arg-type]
            self.assertGreater(len(way.finder().data), 200, profile.name)

    def test_status_before_any_answer(self) -> None:
        """A status that is asked for when nothing listens fails, and leaves no call behind."""
        asking = Deferred.fromCoroutine(self.way(**HERE).status())
        self.reactor.advance(3.1)
        self.failureResultOf(asking)
        self.assertEqual(self.reactor.getDelayedCalls(), [])
