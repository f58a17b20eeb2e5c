"""The port: is it our own service that answers there, and is it ready?  Blocks; for the command, not the service."""

from __future__ import annotations

import json
import socket
import ssl
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any

from dmtwisted.config import Config
from dmtwisted.doctor.findings import Check, Finding, bad, good, warn
from dmtwisted.results import Text

PATIENCE = 5.0
"""Seconds for a probe."""

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Addresses that a service listens on and nobody can call, and where it is called on its own machine."""

_START = Text(
    "Запустіть сервіс: dmtwisted run, або systemctl start dmtwisted.",
    "Start it: dmtwisted run, or systemctl start dmtwisted.",
)


@dataclass(frozen=True)
class Asked:
    """What an HTTP request came to; ``body`` is the JSON of the answer, or `None`."""

    status: int
    body: Any


class Service:
    """The running service, called on its own machine."""

    def __init__(self, config: Config, api_key: str = "") -> None:
        self._config, self._api_key = config, api_key
        self.host = EVERYWHERE.get(config.server.host, config.server.host)
        self.port = config.server.port

    def ask(self, method: str, path: str, language: str = "uk", patience: float = PATIENCE) -> Asked:
        """The answer of the service.

        :raises OSError: when nobody answers.
        :raises HTTPException: when it is no HTTP that answers.
        """
        connection = self._connection(patience)
        headers = {"accept-language": language, "content-type": "application/json"}
        if self._api_key:
            headers["x-api-key"] = self._api_key
        try:
            connection.request(method, path, "{}" if method == "POST" else None, headers)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        try:
            return Asked(answer.status, json.loads(content))
        except ValueError:
            return Asked(answer.status, None)

    def _connection(self, patience: float) -> HTTPConnection:
        tls = self._config.tls
        if not tls.given:
            return HTTPConnection(self.host, self.port, timeout=patience)
        # The very certificate of the configuration is expected, whatever names are in it.
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(tls.certificate)
        return HTTPSConnection(self.host, self.port, timeout=patience, context=context)


def look(service: Service) -> tuple[list[Finding], bool]:
    """What there is to say of the port, and whether our service answers there."""
    where = f"{service.host}:{service.port}"
    try:
        live, ready = service.ask("GET", "/health/live"), service.ask("GET", "/health/ready")
    except ConnectionRefusedError:
        return [_free(service)], False
    except ssl.SSLError as error:
        return [
            bad(
                Check.PORT,
                Text(
                    f"На {where} відповідають не з тим сертифікатом: {error.reason or error}",
                    f"Whoever answers on {where} has another certificate: {error.reason or error}",
                ),
                Text(
                    "Якщо сертифікат щойно поставлено, перезапустіть сервіс; інакше порт зайняла інша програма.",
                    "If the certificate is new, restart the service; else another program has the port.",
                ),
                where,
            )
        ], False
    except (OSError, HTTPException, ValueError) as error:
        return [_stranger(where, str(error) or type(error).__name__)], False
    if live.status in (401, 403):
        return [
            warn(
                Check.PORT,
                Text(
                    f"Сервіс на {where} не приймає запитів звідси", f"The service on {where} lets nobody in from here"
                ),
                Text(
                    "Запустіть цю команду на комп’ютері сервісу.", "Run this command on the machine of the service."
                ),
                where,
            )
        ], False
    if not isinstance(live.body, dict) or live.body.get("status") != "ok":
        return [_stranger(where, f"HTTP {live.status}")], False
    if ready.status != 200:
        return [
            bad(
                Check.PORT,
                Text(f"Сервіс на {where} працює, але не готовий", f"The service on {where} runs, but is not ready"),
                Text(
                    "Якщо за хвилину не минуло, причина нижче (база даних) або в журналі.",
                    "If that is not over in a minute, the reason is below (database), or in the log.",
                ),
                where,
            )
        ], True
    return [good(Check.PORT, f"Сервіс працює на {where}", f"The service answers on {where}", where)], True


def _free(service: Service) -> Finding:
    where = f"{service.host}:{service.port}"
    family = socket.AF_INET6 if ":" in service.host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((service.host, service.port))
    except OSError as error:
        why = error.strerror or str(error)
        return bad(
            Check.PORT,
            Text(f"Порт {where} не можна зайняти: {why}", f"The port {where} cannot be listened on: {why}"),
            Text(
                "Виберіть [server] port понад 1023 і адресу цього комп’ютера в [server] host.",
                "Choose a [server] port above 1023, and an address of this machine as [server] host.",
            ),
            where,
        )
    return warn(
        Check.PORT,
        Text(f"Сервіс не запущено: на {where} нікого", f"The service does not run: nobody is on {where}"),
        _START,
        where,
    )


def _stranger(where: str, why: str) -> Finding:
    return bad(
        Check.PORT,
        Text(f"На {where} відповідає інша програма ({why})", f"Another program answers on {where} ({why})"),
        Text(
            "Зупиніть її (ss -ltnp покаже, хто це) або змініть [server] port.",
            "Stop it (ss -ltnp shows who it is), or change [server] port.",
        ),
        where,
    )
