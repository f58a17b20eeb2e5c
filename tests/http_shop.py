"""A shop whose tasks, scenarios and settings go over HTTP, as those of an integrator do."""

from __future__ import annotations

import json
from typing import Any

from twisted.internet.defer import Deferred

from dmtwisted.core import Core
from tests.iron_shop import IronShop
from tests.prro_shop import PrroShop
from tests.shop import Shop
from tests.web_case import DEVICES, EXECUTE, JSON_TYPE, Connection
from web.site import Door


class OverHttp(Shop):
    """The way over HTTP; `said` has every answer, `rules_set` the rules of every scenario."""

    language = "uk"
    never: Deferred[None]
    """What a recipe waits for in vain."""
    _door: Door | None = None
    _core_of_door: Core | None = None

    def call(self, method: str, path: str, body: object = None) -> Deferred[bytes]:
        """Send a request; the body of its answer comes when the clock has gone on far enough."""
        if self._door is None or self._core_of_door is not self.core:
            self._door, self._core_of_door = Door(self.core), self.core
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        connection = Connection(self._door, self.clock)
        connection.ask(method, path, raw, [JSON_TYPE, ("Accept-Language", self.language)])
        due: Deferred[bytes] = Deferred()
        self._waiting().append((connection, due))
        self._look()
        return due

    def called(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """The decoded answer to a request, which must come at once, or as soon as a lost answer was asked for."""
        due = self.call(method, path, body)
        self.settle(due)
        answer: dict[str, Any] = json.loads(self._case.successResultOf(due))
        return answer

    def address(self, device: str) -> str:
        """The address of a device in the management interface."""
        return f"{DEVICES}/{self.core.devices.by_name(device).row.dev_id}"

    @property
    def said(self) -> list[dict[str, Any]]:
        """Every answer until now."""
        found: list[dict[str, Any]] = self.__dict__.setdefault("_said", [])
        return found

    @property
    def rules_set(self) -> list[dict[str, Any]]:
        """Every rule until now."""
        found: list[dict[str, Any]] = self.__dict__.setdefault("_rules", [])
        return found

    def asked(self, body: dict[str, Any] | bytes, language: str = "") -> Deferred[bytes]:
        """As in any shop, to ``/dm/execute``."""
        return self.call("POST", EXECUTE, body)

    def scenario(self, *rules: dict[str, Any], device: str = "test") -> None:
        """As in any shop, with the address for it."""
        self.rules_set.extend(rules)
        answer = self.called("PUT", f"{self.address(device)}/scenario", {"rules": list(rules)})
        self._case.assertEqual(len(answer["rules"]), len(rules))

    def settings(self, device: str = "test", **changes: Any) -> None:
        """As in any shop, with the address for it."""
        if changes:
            self.called("PATCH", self.address(device), {"settings": changes})

    def _waiting(self) -> list[tuple[Connection, Deferred[bytes]]]:
        if "_due" not in self.__dict__:
            self._due: list[tuple[Connection, Deferred[bytes]]] = []
            advance = self.clock.advance

            def advanced(seconds: float) -> None:
                advance(seconds)
                self._look()

            self._case.patch(self.clock, "advance", advanced)
        return self._due

    def _look(self) -> None:
        for one in list(self._due):
            connection, due = one
            answers = connection.answers()
            if answers:
                self._due.remove(one)
                connection.hang_up()
                if (answers[0].header("content-type") or "").startswith("application/json"):
                    self.said.append(json.loads(answers[0].body))
                due.callback(answers[0].body)


class HttpShop(OverHttp):
    """A shop in training mode."""


class HttpPrroShop(OverHttp, PrroShop):
    """A shop with registers at the tax service."""


class HttpIronShop(OverHttp, IronShop):
    """A shop with a hardware register."""
