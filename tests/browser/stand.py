"""Every simulated device on a port of its own, in one process beside the service: ``python -m tests.browser.stand``.

A device is what ``dmtwisted simulate`` makes of its options, with the same control interface under its name, and two
more actions: `pull` takes its plug out (open lines break, nobody listens), `plug` puts it back.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from twisted.internet.protocol import Factory
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.web.resource import Resource
from twisted.web.server import Request

from dmtwisted.commands.control import Control
from dmtwisted.commands.servers import LOOPBACK, QuietSite, serve
from dmtwisted.commands.simulate import SimulateOptions
from dmtwisted.lab.children import free_port

TERMINALS = ("privatbank-json", "ssi-json", "zvt", "ecr17", "caisse-ap", "concert-v2")

SIMULATED: dict[str, str] = {
    "tax": "tax-service --keys {folder}/tax",
    "escpos": "printer --profile epson",
    "star": "printer --profile star",
    "queue": "ipp --queue receipts --duration 0.1",
    **{name: f"terminal --protocol {name} --duration 0.2" for name in TERMINALS},
    "nexo": "terminal --protocol nexo --duration 0.2 --terminal-id V400m-1 --pem {folder}/terminal.pem",
}
"""The devices by name, as the options of ``dmtwisted simulate``."""


class Outlet(WrappingFactory):
    """The port of a device, which can lose its plug."""

    noisy = False

    def __init__(self, reactor: Any, device: Factory) -> None:
        super().__init__(device)
        self._reactor = reactor
        # Nobody takes this one while the plug is out.
        self.number = free_port()
        self._port = reactor.listenTCP(self.number, self, interface=LOOPBACK)

    def buildProtocol(self, addr: Any) -> Any:
        """The device's side of a line; it may turn the caller away."""
        inner = self.wrappedFactory.buildProtocol(addr)
        return None if inner is None else ProtocolWrapper(self, inner)

    def pull(self) -> None:
        """Take the plug out."""
        self._port.stopListening()
        for line in list(self.protocols):
            line.transport.abortConnection()

    def plug(self) -> None:
        """Put the plug back."""
        self._port = self._reactor.listenTCP(self.number, self, interface=LOOPBACK)


class Desk(Resource):
    """The control interfaces of all devices, each under its name."""

    def __init__(self, outlets: dict[str, Outlet], controls: dict[str, Control]) -> None:
        super().__init__()
        self._outlets, self._controls = outlets, controls

    def getChild(self, path: bytes, request: Request) -> Resource:
        """The device, or itself when its plug is meant."""
        name = path.decode()
        deed: bytes = request.path.rpartition(b"/")[2]
        if deed in (b"pull", b"plug"):
            getattr(self._outlets[name], deed.decode())()
            deed = b"state"
            request.method = b"GET"
        request.path = b"/" + deed
        return self._controls[name]


def main(folder: Path) -> int:
    """Serve until the process is ended; prints the ports by name, and `control`."""

    def start(reactor: Any) -> str:
        outlets, controls = {}, {}
        for name, words in SIMULATED.items():
            options = SimulateOptions()
            options.parseOptions(words.format(folder=folder).split())
            peer = options.subOptions.peer(reactor)
            outlets[name], controls[name] = Outlet(reactor, peer.factory), Control(peer)
        control = reactor.listenTCP(0, QuietSite(Desk(outlets, controls)), interface=LOOPBACK)
        ports = {name: outlet.number for name, outlet in outlets.items()}
        return json.dumps({**ports, "control": control.getHost().port})

    return serve("stand", start)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
