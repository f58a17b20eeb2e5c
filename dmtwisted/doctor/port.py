"""The port: is it our own service that answers there, and is it ready?  Blocks; for the command, not the service."""

from __future__ import annotations

import json
import socket
import ssl
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any

from dmtwisted.config import CALLED, Config, place_of
from dmtwisted.doctor.findings import Check, Finding, Level, bad, good, warn
from dmtwisted.results import Text, joined
from dmtwisted.wording import wording

PATIENCE = 5.0
"""Seconds to wait for an answer."""


@dataclass(frozen=True)
class Asked:
    """The answer to an HTTP request; ``body`` is its JSON, or `None`."""

    status: int
    body: Any


class Service:
    """The running service, called on its own machine.

    :param nth: at which of its addresses.
    """

    def __init__(self, config: Config, api_key: str = "", nth: int = 0) -> None:
        self._config, self._api_key = config, api_key
        hosts = config.server.hosts
        self.host, self.port = CALLED.get(hosts[nth], hosts[nth]), config.server.port
        self.others = [Service(config, api_key, other) for other in range(1, len(hosts)) if not nth]
        """The same at its other addresses."""

    @property
    def where(self) -> str:
        """Host and port."""
        return place_of(self.host, self.port)

    def ask(self, method: str, path: str, language: str = "uk", patience: float = PATIENCE) -> Asked:
        """The answer of the service.

        :raises OSError: when there is no answer.
        :raises HTTPException: when the answer is not HTTP.
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
        # Exactly the certificate of the configuration is expected, whatever names it has.
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(tls.certificate)
        return HTTPSConnection(self.host, self.port, timeout=patience, context=context)


def look(service: Service) -> tuple[list[Finding], bool]:
    """Findings about the port, and whether our service answers there."""
    first, runs = _look(service)
    found = [first]
    for other in service.others:
        try:
            family = socket.AF_INET6 if ":" in other.host else socket.AF_INET
            with socket.socket(family, socket.SOCK_STREAM) as trial:
                trial.bind((other.host, 0))
        except OSError:
            # The machine does not have this family; the service does without it.
            continue
        also, answers = _look(other)
        if runs and also.level is Level.WARN and not answers:
            text = Text(f"Сервіс не відповідає на {other.where}", f"The service does not answer on {other.where}")
            also = warn(Check.PORT, text, _RESTART, other.where)
        # "It does not run" is said once.
        if runs or also.level is Level.BAD:
            found.append(also)
    return found, runs


_RESTART = Text("Перезапустіть сервіс.", "Restart the service.")


def _look(service: Service) -> tuple[Finding, bool]:
    where = service.where
    try:
        live, ready = service.ask("GET", "/health/live"), service.ask("GET", "/health/ready")
    except ConnectionRefusedError:
        return _not_running(service), False
    except ssl.SSLError as error:
        text = Text(
            f"На {where} відповідають не з тим сертифікатом: {error.reason or error}",
            f"The program on {where} has another certificate: {error.reason or error}",
        )
        advice = Text(
            "Якщо сертифікат щойно поставлено, перезапустіть сервіс; інакше порт зайняла інша програма.",
            "If the certificate is new, restart the service; otherwise another program uses the port.",
        )
        return bad(Check.PORT, text, advice, where), False
    except (OSError, HTTPException, ValueError) as error:
        return _another_program(where, str(error) or type(error).__name__), False
    if live.status in (401, 403):
        text = Text(
            f"Сервіс на {where} не приймає запитів звідси", f"The service on {where} refuses requests from here"
        )
        advice = Text(
            "Запустіть цю команду на комп’ютері сервісу.", "Run this command on the machine of the service."
        )
        return warn(Check.PORT, text, advice, where), False
    if not isinstance(live.body, dict) or live.body.get("status") != "ok":
        return _another_program(where, f"HTTP {live.status}"), False
    if ready.status != 200:
        text = Text(f"Сервіс на {where} працює, але не готовий", f"The service on {where} runs, but is not ready")
        advice = Text(
            "Якщо за хвилину не минуло, причина нижче (база даних) або в журналі.",
            "If this lasts longer than a minute, the reason is below (database) or in the log.",
        )
        return bad(Check.PORT, text, advice, where), True
    return good(Check.PORT, f"Сервіс працює на {where}", f"The service answers on {where}", where), True


def _not_running(service: Service) -> Finding:
    where = service.where
    family = socket.AF_INET6 if ":" in service.host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((service.host, service.port))
    except OSError as error:
        why = error.strerror or str(error)
        text = joined(Text(f"Порт {where} не можна зайняти", f"The service cannot listen on {where}"), wording(why))
        advice = Text(
            "Виберіть [server] port понад 1023 і адресу цього комп’ютера в [server] host.",
            "Choose a [server] port above 1023, and an address of this machine as [server] host.",
        )
        return bad(Check.PORT, text, advice, where)
    advice = Text(
        "Запустіть сервіс: dmtwisted run, або systemctl start dmtwisted.",
        "Start it: dmtwisted run, or systemctl start dmtwisted.",
    )
    text = Text(
        f"Сервіс не запущено: на {where} ніхто не відповідає", f"The service does not run: no answer on {where}"
    )
    return warn(Check.PORT, text, advice, where)


def _another_program(where: str, why: str) -> Finding:
    advice = Text(
        "Зупиніть її (ss -ltnp покаже, хто це) або змініть [server] port.",
        "Stop it (ss -ltnp shows which it is), or change [server] port.",
    )
    text = joined(Text(f"На {where} відповідає інша програма", f"Another program answers on {where}"), wording(why))
    return bad(Check.PORT, text, advice, where)
