"""A nexo terminal and the service as two processes: TLS, the shared key and the notices over real sockets."""

from __future__ import annotations

import json
import socket
import time
from http.client import HTTPConnection
from threading import Thread
from typing import Any

from dmtwisted.lab.children import free_port
from tests.certificates import key_pem, make_certificate, make_key, pem
from tests.test_service_process import HOST, ProcessCase, Service, until
from tests.web_case import DEVICES

NAME = "V400m-1.terminal.example"


def listens(port: int) -> bool | None:
    """Whether the port accepts connections."""
    try:
        socket.create_connection((HOST, port), 1).close()
    except OSError:
        return None
    return True


class WholeWayTests(ProcessCase):
    """Till, service, terminal."""

    def test_payment(self) -> None:
        """A payment goes over TLS under the shared key, and every state is seen on its way."""
        now, root, key = time.time(), make_key(), make_key()
        authority = make_certificate(now, root, "root", is_authority=True)
        own = make_certificate(now, key, NAME, issuer=(authority, root), names=(NAME,))
        (self.folder / "terminal.pem").write_bytes(pem(own) + key_pem(key))
        port, notices = free_port(), free_port()
        words = f"--protocol nexo --terminal-id V400m-1 --duration 8 --listen {HOST}:{port} --control {HOST}:0"
        more = f"--pem {self.folder}/terminal.pem --shared-key open-sesame:key:1 --notices http://{HOST}:{notices}/"
        simulate = ("-m", "dmtwisted.commands.main", "simulate", "terminal")
        terminal = Service(self.folder / "terminal", [*simulate, *words.split(), *more.split()])
        self.addCleanup(terminal.end)
        service = self.run_service()
        until(lambda: listens(port), "the terminal does not listen")
        settings = {
            "host": HOST,
            "port": port,
            "poi_id": "V400m-1",
            "ca": pem(authority).decode(),
            "server_name": NAME,
            "passphrase": "open-sesame",
            "key_identifier": "key",
            "notices_port": notices,
        }
        device = {"device": "card", "kind": "terminal", "driver": "nexo", "settings": settings}
        status, told = service.request("POST", DEVICES, device)
        self.assertEqual(status, 201, told)
        checked = service.request("POST", f"{service.device('card')}/check")[1]
        self.assertEqual(json.loads(checked)["res"], 0, checked)
        answers: list[Any] = []
        sale = {"device": "card", "type": 3, "pay": {"task": 1, "sum": 125.5}}
        paying = Thread(target=lambda: answers.append(service.execute(sale)))
        paying.start()
        seen: list[str] = []
        looking = HTTPConnection(HOST, service.port, timeout=10)
        while paying.is_alive():
            looking.request("GET", "/dm/transaction-status?dev_name=card")
            state = json.loads(looking.getresponse().read())["info"]["state"]
            if state not in seen:
                seen.append(state)
            time.sleep(0.05)
        paying.join()
        looking.close()
        self.assertEqual((answers[0]["res"], answers[0]["info"]["sum"]), (0, 125.5), answers)
        self.assertLessEqual({"waiting_card", "card_read", "pin", "bank"}, set(seen))
        service.stop()
        for file in self.folder.rglob("*"):
            if file.is_file():
                self.assertNotIn(b"open-sesame", file.read_bytes(), file)
