"""Windows' print spooler under Wine, which hands its jobs to CUPS."""

from __future__ import annotations

import json
from unittest import SkipTest

from tests.test_service_process import until
from tests.web_case import DEVICES
from tests.windows.cups import MISSING, QUEUE, Cups
from tests.windows.wine import WineCase

EVERY_BYTE = bytes(range(256)) * 600

DELIVER = f"""
from twisted.internet import iocpreactor
iocpreactor.install()
from twisted.internet import reactor
from protocols.printers.windows_spooler import windows_queue

import win32print
print([name for _, _, name, _ in win32print.EnumPrinters(win32print.PRINTER_ENUM_LOCAL)])
sent = windows_queue(reactor, {QUEUE!r}).deliver(bytes(range(256)) * 600, "every byte", 5)
sent.addCallback(lambda verdict: print(verdict.outcome)).addBoth(lambda _: reactor.stop())
reactor.run()
"""


class SpoolerTests(WineCase):
    """A print queue of Windows."""

    def setUp(self) -> None:
        """A CUPS server that Wine's spooler uses.

        :raises SkipTest: when there is none.
        """
        if MISSING:
            raise SkipTest(MISSING)
        super().setUp()
        self.cups = Cups(self.folder / "cups")
        self.addCleanup(self.cups.end)
        self.wine.environment["CUPS_SERVER"] = self.cups.address
        self.addCleanup(self.wine.environment.pop, "CUPS_SERVER")

    def test_every_byte(self) -> None:
        """The spooler lists the queue, and no byte of a job is changed on its way to the printer."""
        said = self.wine.python("-c", DELIVER)
        self.assertEqual(said.split(), [f"[{QUEUE!r}]", "accepted"])
        until(lambda: self.cups.jobs or None, "nothing was printed")
        self.assertEqual(self.cups.jobs, [EVERY_BYTE])

    def test_receipts(self) -> None:
        """The service prints by a queue; one that takes no job has an unknown one, and an absent one is named."""
        service = self.windows_service()
        for name, queue in (("prn1", QUEUE), ("prn2", "absent")):
            settings = {"interface": "windows", "queue": queue, "profile": "epson"}
            device = {"device": name, "kind": "printer", "driver": "escpos", "settings": settings}
            self.assertEqual(service.request("POST", DEVICES, device)[0], 201)
        task = {"device": "prn1", "type": 2, "doc": {"lines": [{"t": "Кава"}]}}
        checks = [
            json.loads(service.request("POST", f"{service.device(name)}/check")[1])["res"]
            for name in ("prn1", "prn2")
        ]
        self.assertEqual(checks, [0, 1016])
        printed = service.execute(task)
        self.assertEqual((printed["res"], printed["info"]["state"]), (0, "accepted"))
        until(lambda: self.cups.jobs or None, "nothing was printed")
        self.assertIn("Кава".encode("cp1251"), self.cups.jobs[0])
        self.cups.command("cupsreject", QUEUE)
        refused = service.execute(task)
        self.assertEqual((refused["res"], refused["res_action"]), (430, 2))
        self.cups.command("cupsaccept", QUEUE)
        self.assertEqual(service.execute(task)["res"], 0)
        absent = service.execute({**task, "device": "prn2"})
        self.assertEqual((absent["res"], absent["res_action"]), (1016, 3))
        self.assertEqual(service.stop(), 0)
