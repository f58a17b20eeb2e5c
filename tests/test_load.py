"""The load generator builds correct requests, reads answers in any pieces, and calculates its figures correctly."""

from __future__ import annotations

import json
import socket
import time
from contextlib import closing
from threading import Thread

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.lab.load import Load, Sale, answer_end, drive_at, is_success, percentile, summary
from dmtwisted.requests import read_json, read_task

DONE = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n{"ver":6,"res":0,1'


class SaleTests(SynchronousTestCase):
    """Requests that are built beforehand."""

    def request(self, n: int) -> tuple[bytes, bytes]:
        """Head and body of a request."""
        head, _, body = Sale("bench-3", "salt").__call__(n).partition(b"\r\n\r\n")
        return head, body

    def test_tag_differs(self) -> None:
        """Each request has a tag of its own and is otherwise the same."""
        first, second = self.request(1)[1], self.request(2)[1]
        self.assertEqual(json.loads(first)["tag"], "salt-0000000001")
        self.assertEqual(first.replace(b"salt-0000000001", b"salt-0000000002"), second)

    def test_length(self) -> None:
        """The head has the length of the body in bytes, including Ukrainian letters."""
        head, body = self.request(7)
        self.assertIn(b"\r\nContent-Length: %d" % len(body), head)

    def test_is_a_sale(self) -> None:
        """The service reads the body as a sale whose rows and payments make up its sum."""
        task = read_task(read_json(self.request(7)[1]))
        self.assertEqual((task.device, task.type, task.task), ("bench-3", 1, 1))
        assert task.fiscal is not None and task.fiscal.receipt is not None
        receipt = task.fiscal.receipt
        self.assertEqual(sum(row.cost or 0 for row in receipt.rows), receipt.sum)
        self.assertEqual([pay.sum for pay in receipt.pays], [receipt.sum])


class AnswerTests(SynchronousTestCase):
    """Answers off the wire."""

    def test_cut_anywhere(self) -> None:
        """An answer is whole with its last byte and not before."""
        for cut in range(len(DONE)):
            self.assertEqual(answer_end(DONE[:cut]), 0)
        self.assertEqual(answer_end(DONE), len(DONE))

    def test_end(self) -> None:
        """An answer ends where its length says, whatever follows."""
        self.assertEqual(answer_end(DONE + b"HTTP/1.1 200"), len(DONE))

    def test_case_of_names(self) -> None:
        """Header names are read in any case, and the length may stand last."""
        self.assertEqual(answer_end(b"HTTP/1.1 200 OK\r\ncontent-LENGTH:2\r\n\r\n{}"), 39)

    def test_without_length(self) -> None:
        """An answer that does not say how long it is is an error, not a wait for ever."""
        self.assertRaises(ValueError, answer_end, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")

    def test_success(self) -> None:
        """Only status 200 with ``res`` 0 counts as a sale."""
        self.assertTrue(is_success(DONE))
        self.assertFalse(is_success(DONE.replace(b'"res":0', b'"res":1105')))
        self.assertFalse(is_success(DONE.replace(b"200 OK", b"500 Oh")))


class SummaryTests(SynchronousTestCase):
    """Figures."""

    def test_percentile(self) -> None:
        """A percentile is the smallest value that so many do not exceed."""
        hundred = list(range(1, 101))
        self.assertEqual([percentile(hundred, share) for share in (0, 0.5, 0.99, 1)], [1, 50, 99, 100])
        self.assertEqual([percentile([7], share) for share in (0, 0.5, 0.99, 1)], [7] * 4)
        self.assertEqual(percentile([], 0.5), 0)

    def test_summary(self) -> None:
        """Nanoseconds become milliseconds, our processor time is shared out among the successes."""
        load = summary([3_000_000, 1_000_000, 2_000_000, 9_000_000], 2.0, 1, ["no"], 0.0004)
        self.assertEqual(load, Load(4, 2.0, 2.0, 9.0, 9.0, 1, ["no"], 100.0))
        self.assertEqual(load.rate, 2.0)

    def test_nothing(self) -> None:
        """Without a success nothing is divided by zero."""
        load = summary([], 0.0, 3, [], 0.1)
        self.assertEqual((load.count, load.failures), (0, 3))
        self.assertEqual((load.rate, load.p99_ms, load.cpu_us), (0, 0, 0))


class AppointedTests(SynchronousTestCase):
    """Sales at a constant rate, at a server in a thread."""

    def sell(self, answers: int, slow: float, rate: float, seconds: float) -> tuple[Load, list[int]]:
        """Sell on one connection of a server that answers so often, the first time after ``slow`` seconds."""
        with closing(socket.create_server(("127.0.0.1", 0))) as listening:
            thread = Thread(target=self.serve, args=(listening, answers, slow), daemon=True)
            thread.start()
            found = drive_at("127.0.0.1", listening.getsockname()[1], [Sale("bench-0", "salt")], seconds, rate)
            thread.join(20)
        return found

    @staticmethod
    def serve(listening: socket.socket, answers: int, slow: float) -> None:
        """Answer so many requests, then close."""
        wire, _ = listening.accept()
        with closing(wire):
            for n in range(answers):
                if not wire.recv(1 << 16):
                    return
                time.sleep(0 if n else slow)
                wire.sendall(DONE)

    def test_rate(self) -> None:
        """So many are sold as were meant."""
        load, spent = self.sell(10, 0.0, 200, 0.05)
        self.assertEqual((load.count, load.failures, len(spent)), (10, 0, 10))
        self.assertGreaterEqual(load.seconds, 0.045)

    def test_waiting_counts(self) -> None:
        """A sale that waits for a slow one before it counts from the moment when it was due."""
        load, spent = self.sell(5, 0.2, 200, 0.025)
        self.assertEqual(load.count, 5)
        self.assertGreater(min(spent), 0.15e9)
        self.assertGreater(load.p50_ms, 150)

    def test_broken(self) -> None:
        """A connection that breaks fails what was under way on it and all that was to come."""
        load, _ = self.sell(2, 0.0, 500, 0.02)
        self.assertEqual((load.count, load.failures), (2, 8))
