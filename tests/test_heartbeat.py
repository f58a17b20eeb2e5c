"""No request stops the service: the longest turn of its reactor while it answers the worst that 4 MB can hold."""

from __future__ import annotations

import json
import os
import signal
import socket
from base64 import b64encode
from collections.abc import Callable
from typing import Any
from unittest import SkipTest

import msgspec

from dmtwisted.documents.pictures import png_file
from dmtwisted.lab.children import free_port
from tests.heartbeat import FILE
from tests.test_service_process import HOST, PATIENCE, ProcessCase, Service, until
from tests.web_case import EXECUTE, fiscal, multipart, sale
from web.cloud import PATH as CLOUD

LONGEST = 0.05
"""Seconds of processor time that a turn may take on a machine that does the fixed work in `USUAL`."""

USUAL = 0.0085

TRIES = 3

PRINTED = "/dm/execute-prn"

FORMS = {"need_pf_txt": 2, "need_pf_img": 2, "need_pf_pdf": 2, "need_pf_doccmd": 2}

QR = {"cmd": "qr", "data": "x" * 2300}
BARCODE = {"cmd": "barcode", "kind": "code128", "data": "x" * 47}
DOT = {"cmd": "image", "data": b64encode(png_file(1, 1, b"x\x9cc`\x00\x00\x00\x02\x00\x01")).decode()}
TEXT = {"cmd": "text", "text": "Кава " * 8}


def doc(*commands: object, times: int = 1) -> dict[str, object]:
    """A document for the printer."""
    return {"device": "prn", "type": 2, "doc": {"doccmd": [*commands] * times}}


def lines(text: str, kind: int, times: int) -> dict[str, object]:
    """A service report."""
    return fiscal(5, lines=[{"t": text, "qr_type": kind}] * times)


def many(count: int, tag: str, **members: object) -> dict[str, object]:
    """A sale of ``count`` rows."""
    row = {"code": "1", "name": "Кава зернова", "cnt": 1, "price": 1, "taxgrp": 1, **members}
    return sale(tag, sum=count, rows=[row] * count, pays=[{"type": 0, "sum": count}])


TASKS: tuple[tuple[str, object, int], ...] = (
    (EXECUTE, doc(QR, times=100), 2000),
    (EXECUTE, doc(QR, times=7), 0),
    (EXECUTE, doc({"cmd": "qr", "data": "x" * 160}, times=100), 0),
    (PRINTED, lines("x" * 2300, 100, 100), 2000),
    (PRINTED, lines("x" * 2300, 100, 7), 0),
    (PRINTED, lines("x" * 160, 100, 100), 0),
    (PRINTED, lines("x" * 200, 0, 2000), 0),
    (EXECUTE, {**lines("x" * 160, 100, 10), **FORMS}, 0),
    (EXECUTE, many(45_000, "a"), 2000),
    (EXECUTE, many(1000, "b"), 0),
    (EXECUTE, {**many(1000, "c", comment="ї" * 300), **FORMS}, 0),
    (EXECUTE, many(1000, "d", prise=1, nmae=1), 0),
    (PRINTED, many(1000, "e"), 0),
    ("/dm/execute-pkg", many(1000, "f"), 0),
    (EXECUTE, sale("g", comment_up="ї" * 490_000), 0),
    (EXECUTE, {**sale("h", comment_up="x " * 50_000), **FORMS}, 0),
    (EXECUTE, sale("i", pays=[{"type": 0, "sum": 125.5, "cardmask": "4149-" * 190_000}]), 2000),
    (EXECUTE, doc(BARCODE, times=9000), 2000),
    (EXECUTE, doc(BARCODE, times=1000), 0),
    (EXECUTE, doc(DOT, times=9000), 2000),
    (EXECUTE, doc(TEXT, times=10_000), 0),
    (EXECUTE, {"device": "prn", "type": 2, "doc": {"lines": [{"t": "Кава " * 8, "zz": 1}] * 10_000}}, 0),
    (EXECUTE, {"device": "test", "type": 1, "tag": "4149 " * 800_000}, 2000),
    (EXECUTE, {"device": "4149 " * 200_000, "type": 1}, 2000),
    (EXECUTE, b'{"x":' * 700_000, 2000),
    (EXECUTE, b'{"device":' + b"9" * 4_000_000 + b"}", 2000),
    (EXECUTE, b'{"device":1.' + b"9" * 4_000_000 + b"}", 2000),
    (EXECUTE, b'{"sum":1e999999999,"type":1e999999999}', 2000),
    (EXECUTE, b'{"x":[' + b",".join([b'{"a":1e40}'] * 24_000) + b" " * 3_000_000 + b"]}", 1091),
    (EXECUTE, b'{"x":[' + b",".join([b'{"a":1e40}'] * 300_000) + b"]}", 2000),
    (CLOUD.decode(), b'{"token":"x","x":[' + b",".join([b'{"a":1e4}'] * 24_000) + b" " * 3_000_000 + b"]}", 1083),
    ("/dm/api/v3/devices", b'{"settings":{"x":[' + b",".join([b"{}"] * 1_000_000) + b"]}}", 2000),
)
"""The worst bodies, each with the result that it has."""

POST = b"POST /dm/execute HTTP/1.1\r\nHost: localhost\r\n"

BYTES = (
    POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 700_000,
    b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 700_000,
    b"GET / HTTP/1.1\r\na: b\r\n" + b" x\r\n" * 700_000,
    b"GET /dm/api/v3/receipts?" + b"&".join([b"a=b"] * 4000) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50_000,
    b"GET /dm/api/v3/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3000,
    (POST + b"Content-Length: 2\r\n\r\n{}") * 30_000,
)
"""The worst connections; nobody reads their answers."""


class HeartbeatTests(ProcessCase):
    """A service in training mode that watches its own turns."""

    def setUp(self) -> None:
        """The service, with everything loaded that is loaded once."""
        super().setUp()
        if not hasattr(signal, "SIGUSR1"):
            raise SkipTest("the service is asked by a signal that this system does not have")
        arguments = ("run", "--training", "--state", str(self.folder / "state"), "--port", str(free_port()))
        self.service = self.spawn("-m", "tests.heartbeat", *arguments)
        self.service.wait_until_ready()
        self.open_shift(self.service)
        for path, body in ((PRINTED, {**sale("first"), **FORMS}), (EXECUTE, doc(QR, times=2))):
            self.assertEqual(self.ask(self.service, path, body)["res"], 0)
        self.service.request("GET", "/dm/api/v3/openapi.json")
        self.turn()

    def ask(self, service: Service, path: str, body: object) -> Any:
        """The decoded answer."""
        connection = service.connect()
        self.addCleanup(connection.close)
        raw = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        connection.request("POST", path, raw, {"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read())

    def turn(self) -> float:
        """The longest turn since the last call, in seconds of a machine of the usual speed."""
        told = self.folder / FILE
        told.unlink(missing_ok=True)
        os.kill(self.service.process.pid, signal.SIGUSR1)
        until(lambda: told.exists() or None, "it does not tell its turns")
        longest, speed = msgspec.json.decode(told.read_bytes(), type=tuple[float, float])
        return longest / max(1.0, speed / USUAL)

    def assertShort(self, what: str, act: Callable[[int], None]) -> None:
        """See that ``act`` needs no turn that is too long.

        It is done again when one was: what the machine does besides can make one turn long, not each of them.
        """
        turns = []
        for count in range(TRIES):
            act(count)
            turns.append(self.turn())
            if turns[-1] < LONGEST:
                return
        self.fail(f"{what}: {turns}")

    def test_tasks(self) -> None:
        """No body of 4 MB blocks the reactor for 50 ms; each gets its answer, and the next sale is done."""
        for place, (path, body, res) in enumerate(TASKS):

            def act(count: int, path: str = path, body: object = body, res: int = res) -> None:
                if isinstance(body, dict) and "tag" in body:
                    body = {**body, "tag": f"{body['tag']}{count}"}
                answer = self.ask(self.service, path, body)
                self.assertEqual(answer["res"], res, (path, str(body)[:80], answer["errortxt"]))

            self.assertShort(f"body {place}: {str(body)[:80]}", act)
        self.assertEqual(self.service.execute(sale("last"))["res"], 0)

    def test_form(self) -> None:
        """Neither does a form of 4 MB."""
        for content in (b"\r\n" * 1_900_000, b"\r\n--" * 900_000):
            body, kind = multipart(file=content, password=b"x")

            def act(_: int, body: bytes = body, kind: str = kind) -> None:
                connection = self.service.connect()
                self.addCleanup(connection.close)
                connection.request("POST", "/dm/api/v3/tls", body, {"Content-Type": kind})
                self.assertEqual(connection.getresponse().status, 422)

            self.assertShort(repr(content[:8]), act)

    def test_connections(self) -> None:
        """Neither do chunks, headers and pipelines without end, and a sale is done while they wait to be read."""
        before = self.memory()
        for data in BYTES:

            def act(_: int, data: bytes = data) -> None:
                with socket.create_connection((HOST, self.service.port), PATIENCE) as line:
                    line.settimeout(0.5)
                    try:
                        line.sendall(data)
                    except OSError:
                        """It takes no more, or has closed."""
                    self.assertEqual(self.service.execute(sale())["res"], 0)

            self.assertShort(repr(data[:60]), act)
        self.assertLess(self.memory() - before, 32 << 20)

    def memory(self) -> int:
        """Bytes of memory that the service has."""
        try:
            pages = until(self._pages, "no memory")
        except OSError:
            raise SkipTest("memory is read from /proc, which is not here") from None
        return pages * os.sysconf("SC_PAGE_SIZE")

    def _pages(self) -> int:
        with open(f"/proc/{self.service.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1])
