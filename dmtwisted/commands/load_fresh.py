"""A new connection for each request: what tills cost that do not keep theirs, and what a TLS handshake does."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Sequence

from dmtwisted.lab.load import GRACE, SAMPLES, SUCCESS, Load, Maker, answer_end, is_success, summary


def drive_fresh(
    host: str,
    port: int,
    makers: Sequence[Maker],
    seconds: float,
    wanted: bytes = SUCCESS,
    trusted: ssl.SSLContext | None = None,
) -> tuple[Load, list[int]]:
    """Load ``host`` with a thread for each of ``makers``; a time counts from opening the connection to its answer.

    Also tells the nanoseconds of each success.

    :param trusted: whose certificate is taken, over TLS. Every connection makes a handshake of its own: no session
        is taken up again.
    """
    spent: list[int] = []
    samples: list[str] = []
    failures: list[str] = []
    clock = time.perf_counter_ns
    begun, cpu = clock(), time.process_time()
    deadline = begun + int(seconds * 1e9)

    def till(make: Maker) -> None:
        n = 0
        while (asked_at := clock()) < deadline:
            try:
                answer = _asked(host, port, make(n), trusted)
            except (OSError, ValueError) as error:
                failures.append(str(error))
                return
            if is_success(answer, wanted):
                spent.append(clock() - asked_at)
            else:
                failures.append(answer.decode(errors="replace"))
            n += 1

    threads = [threading.Thread(target=till, args=(make,)) for make in makers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    samples += failures[:SAMPLES]
    return summary(spent, (clock() - begun) / 1e9, len(failures), samples, time.process_time() - cpu), spent


def _asked(host: str, port: int, request: bytes, trusted: ssl.SSLContext | None) -> bytes:
    with socket.create_connection((host, port), GRACE) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wire = plain if trusted is None else trusted.wrap_socket(plain, server_hostname="localhost")
        with wire:
            wire.sendall(request)
            data = b""
            while not (end := answer_end(data)):
                piece = wire.recv(1 << 16)
                if not piece:
                    raise OSError("the connection was closed")
                data += piece
            return data[:end]
