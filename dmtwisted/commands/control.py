"""The control port of a simulator: scenario, ledger, paper and actions of people, over HTTP.

Paths and members are those of ``/dm/api/v3/devices/{dev_id}/`` of the service, so that a test controls a training
device and a simulator with the same code (docs/reference/http-interface.md#scenarios)::

    GET  /                        the name of the simulator, and its paths
    GET  /state                   the state of the device
    PUT  /scenario                what goes wrong next; GET shows the remaining rules
    GET  /ledger                  what has happened from the device's point of view
    GET  /strip?format=text|png   the paper of a printer
    POST /NAME                    an action of people: open its cover, press its red key

An error is ``{"res", "errortxt", "errors": [{"path", "text"}]}`` with a status: 400 not JSON, 404, 405 unknown path
or method, 409 not possible now, 422 an invalid member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from twisted.internet.interfaces import IProtocolFactory
from twisted.logger import Logger
from twisted.web.resource import Resource
from twisted.web.server import Request

from dmtwisted.requests import MAX_BODY
from dmtwisted.results import Refused, Res
from protocols.members import explain
from protocols.simulators.ledger import Entry
from protocols.simulators.paper import Paper
from protocols.simulators.scenario import Scenario, ScenarioError


class NoMembers(msgspec.Struct, forbid_unknown_fields=True):
    """The body of an action without members: ``{}`` or empty."""


@dataclass(frozen=True)
class Action:
    """Something that people do to a device.

    :param do: does it, with a valid ``body``; may raise `NotPossible`.
    :param body: its members.
    """

    do: Callable[[Any], object]
    body: type[msgspec.Struct] = NoMembers


class NotPossible(Exception):
    """An action that is not possible now, or whose member ``path`` is invalid."""

    def __init__(self, text: str, path: str = "") -> None:
        super().__init__(text)
        self.text, self.path = text, path


@dataclass(frozen=True)
class SimulatedPeer:
    """A simulated device or tax service, as its ports see it.

    :param name: such as ``terminal zvt``.
    :param factory: makes its side of each connection.
    :param state: its state now, ready for JSON.
    :param actions: what people do to it, by name.
    :param close: closes its files and timers.
    :param paper: its printed paper; `None` for devices without paper.
    :param remark: the rest of the line that is printed at its start.
    """

    name: str
    factory: IProtocolFactory
    scenario: Scenario
    entries: Callable[[], Iterable[Entry]]
    state: Callable[[], Mapping[str, Any]]
    actions: Mapping[str, Action]
    close: Callable[[], object]
    paper: Callable[[], Paper] | None = None
    remark: str = ""


class _HttpError(Exception):
    """An answer with an error ``status``; ``errors`` are paths of invalid members, each with a text."""

    def __init__(self, status: int, refused: Refused, *errors: tuple[str, str]) -> None:
        super().__init__(status)
        self.status, self.refused, self.errors = status, refused, errors


Handler = Callable[[Request], bytes]


class Control(Resource):
    """The control port of one `SimulatedPeer`."""

    isLeaf = True
    log = Logger()

    def __init__(self, peer: SimulatedPeer) -> None:
        super().__init__()
        self._peer = peer
        self._ways: dict[str, dict[bytes, Handler]] = {
            "": {b"GET": self._about},
            "state": {b"GET": self._state},
            "scenario": {b"GET": self._scenario, b"PUT": self._replace},
            "ledger": {b"GET": self._ledger},
        }
        if peer.paper is not None:
            self._ways["strip"] = {b"GET": self._strip}
        for name in peer.actions:
            self._ways[name] = {b"POST": self._do}

    def render(self, request: Request) -> bytes:
        """Answer one request."""
        try:
            body = self._way(request)(request)
        except _HttpError as no:
            body = _error(request, no)
        except Exception as error:
            self.log.failure("internal error at {path}", path=request.path)
            body = _error(request, _HttpError(500, Refused(Res.INTERNAL, type(error).__name__)))
        request.setHeader(b"cache-control", b"no-store")
        if request.method != b"HEAD":
            return body
        request.setHeader(b"content-length", b"%d" % len(body))
        return b""

    def _way(self, request: Request) -> Handler:
        ways = self._ways.get(_path(request))
        if ways is None:
            raise _HttpError(404, Refused(Res.MALFORMED, "unknown path"))
        way = ways.get(b"GET" if request.method == b"HEAD" else request.method)
        if way is None:
            allowed = b", ".join(ways)
            request.setHeader(b"allow", allowed)
            raise _HttpError(405, Refused(Res.MALFORMED, f"use {allowed.decode()}"))
        return way

    def _about(self, request: Request) -> bytes:
        paths = [
            {"path": f"/{name}", "methods": sorted(method.decode() for method in ways)}
            for name, ways in self._ways.items()
        ]
        return _json(request, {"simulator": self._peer.name, "paths": paths})

    def _state(self, request: Request) -> bytes:
        return _json(request, self._peer.state())

    def _scenario(self, request: Request) -> bytes:
        return _json(request, self._peer.scenario.document())

    def _replace(self, request: Request) -> bytes:
        given = _read(request, dict[str, Any])
        try:
            self._peer.scenario.replace(given)
        except ScenarioError as error:
            raise _invalid(error.path, error.text) from None
        return self._scenario(request)

    def _ledger(self, request: Request) -> bytes:
        return _json(request, {"entries": list(self._peer.entries())})

    def _strip(self, request: Request) -> bytes:
        assert self._peer.paper is not None
        wanted = (request.args or {}).get(b"format", [b"text"])[-1]
        if wanted == b"png":
            request.setHeader(b"content-type", b"image/png")
            return self._peer.paper().png()
        if wanted != b"text":
            raise _invalid("format", "png or text is expected")
        request.setHeader(b"content-type", b"text/plain; charset=utf-8")
        return self._peer.paper().text().encode()

    def _do(self, request: Request) -> bytes:
        action = self._peer.actions[_path(request)]
        given = _read(request, action.body)
        try:
            action.do(given)
        except NotPossible as no:
            if no.path:
                raise _invalid(no.path, no.text) from None
            raise _HttpError(409, Refused(Res.DEVICE_ERROR, no.text)) from None
        return self._state(request)


def _path(request: Request) -> str:
    return bytes(request.path).decode("latin-1").strip("/")


def _read(request: Request, kind: type[Any]) -> Any:
    """The body as ``kind``; an empty body is an empty object."""
    assert request.content is not None
    body = request.content.read(MAX_BODY + 1)
    if len(body) > MAX_BODY:
        raise _HttpError(400, Refused(Res.MALFORMED, f"the body is longer than {MAX_BODY} bytes"))
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise _invalid(*explain(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _HttpError(400, Refused(Res.MALFORMED, f"the body is not JSON ({error})")) from None


def _invalid(path: str, text: str) -> _HttpError:
    return _HttpError(422, Refused(Res.MALFORMED, f"{path}: {text}" if path else text), (path, text))


def _json(request: Request, value: object) -> bytes:
    request.setHeader(b"content-type", b"application/json")
    return msgspec.json.encode(value)


def _error(request: Request, answer: _HttpError) -> bytes:
    request.setResponseCode(answer.status)
    return _json(
        request,
        {
            "res": answer.refused.res.code,
            "errortxt": answer.refused.errortxt("en"),
            "errors": [{"path": path, "text": text} for path, text in answer.errors],
        },
    )
