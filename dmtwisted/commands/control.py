"""The control port of a simulator: scenario, ledger, paper and what people do, over HTTP (design 8).

Words and shapes are those of ``/dm/api/v3/devices/{dev_id}/`` of the service, so that a test that steers a training
device steers a simulator with the same code::

    GET  /                        what is simulated, and what this port understands
    GET  /state                   how the device is
    PUT  /scenario                what shall go wrong next; GET shows the rules that are left
    GET  /ledger                  what the device believes has happened
    GET  /strip?format=text|png   the paper of a printer
    POST /NAME                    what people do to it: open its cover, press its red key

An error is ``{"res", "errortxt", "errors": [{"path", "text"}]}`` with a status: 400 no JSON, 404 and 405 no such path
or method, 409 not at this moment, 422 a member that does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from twisted.internet.interfaces import IProtocolFactory
from twisted.logger import Logger
from twisted.web.resource import Resource
from twisted.web.server import Request, Site

from dmtwisted.requests import MAX_BODY
from dmtwisted.results import Refused, Res
from protocols.members import explain
from protocols.simulators.ledger import Entry
from protocols.simulators.paper import Paper
from protocols.simulators.scenario import Scenario, ScenarioError


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a deed that needs no words: ``{}`` or none at all."""


@dataclass(frozen=True)
class Deed:
    """Something that people do to a device.

    :param do: does it, with a ``body`` that fits; may raise `NotPossible`.
    :param body: the members that it takes.
    """

    do: Callable[[Any], object]
    body: type[msgspec.Struct] = Nothing


class NotPossible(Exception):
    """A deed that cannot be done; ``path`` names the member that does not fit, empty when it is the moment."""

    def __init__(self, text: str, path: str = "") -> None:
        super().__init__(text)
        self.text, self.path = text, path


class NotStarted(Exception):
    """The simulator cannot run; the text is one line for whoever starts it."""


@dataclass(frozen=True)
class FarEnd:
    """A simulated device as those see it who run it and steer it.

    :param name: what it is, such as ``terminal zvt``.
    :param factory: makes its end of each line.
    :param state: how it is now, ready for JSON.
    :param deeds: what people do to it, by name.
    :param close: lets go of its files and timers.
    :param paper: what came out of it; `None` for devices without paper of their own.
    :param remark: what else is told when it starts.
    """

    name: str
    factory: IProtocolFactory
    scenario: Scenario
    entries: Callable[[], Iterable[Entry]]
    state: Callable[[], Mapping[str, Any]]
    deeds: Mapping[str, Deed]
    close: Callable[[], object]
    paper: Callable[[], Paper] | None = None
    remark: str = ""


class _Answer(Exception):
    """An error that is answered with ``status``; ``errors`` are paths of members and what is wrong with them."""

    def __init__(self, status: int, refused: Refused, *errors: tuple[str, str]) -> None:
        super().__init__(status)
        self.status, self.refused, self.errors = status, refused, errors


Way = Callable[[Request], bytes]


class Control(Resource):
    """The control port of one `FarEnd`."""

    isLeaf = True
    log = Logger()

    def __init__(self, far_end: FarEnd) -> None:
        super().__init__()
        self._far_end = far_end
        self._ways: dict[str, dict[bytes, Way]] = {
            "": {b"GET": self._about},
            "state": {b"GET": self._state},
            "scenario": {b"GET": self._scenario, b"PUT": self._replace},
            "ledger": {b"GET": self._ledger},
        }
        if far_end.paper is not None:
            self._ways["strip"] = {b"GET": self._strip}
        for name in far_end.deeds:
            self._ways[name] = {b"POST": self._do}

    def render(self, request: Request) -> bytes:
        """Answer one request."""
        try:
            body = self._way(request)(request)
        except _Answer as no:
            body = _error(request, no)
        except Exception as error:
            self.log.failure("a fault of ours at {path}", path=request.path)
            body = _error(request, _Answer(500, Refused(Res.INTERNAL, type(error).__name__)))
        request.setHeader(b"cache-control", b"no-store")
        if request.method != b"HEAD":
            return body
        request.setHeader(b"content-length", b"%d" % len(body))
        return b""

    def _way(self, request: Request) -> Way:
        ways = self._ways.get(_path(request))
        if ways is None:
            raise _Answer(404, Refused(Res.MALFORMED, "there is nothing at this path"))
        way = ways.get(b"GET" if request.method == b"HEAD" else request.method)
        if way is None:
            allowed = b", ".join(ways)
            request.setHeader(b"allow", allowed)
            raise _Answer(405, Refused(Res.MALFORMED, f"use {allowed.decode()}"))
        return way

    def _about(self, request: Request) -> bytes:
        paths = [
            {"path": f"/{name}", "methods": sorted(method.decode() for method in ways)}
            for name, ways in self._ways.items()
        ]
        return _json(request, {"simulator": self._far_end.name, "paths": paths})

    def _state(self, request: Request) -> bytes:
        return _json(request, self._far_end.state())

    def _scenario(self, request: Request) -> bytes:
        return _json(request, self._far_end.scenario.document())

    def _replace(self, request: Request) -> bytes:
        given = _read(request, dict[str, Any])
        try:
            self._far_end.scenario.replace(given)
        except ScenarioError as error:
            raise _unfit(error.path, error.text) from None
        return self._scenario(request)

    def _ledger(self, request: Request) -> bytes:
        return _json(request, {"entries": list(self._far_end.entries())})

    def _strip(self, request: Request) -> bytes:
        assert self._far_end.paper is not None
        wanted = (request.args or {}).get(b"format", [b"text"])[-1]
        if wanted == b"png":
            request.setHeader(b"content-type", b"image/png")
            return self._far_end.paper().png()
        if wanted != b"text":
            raise _unfit("format", "png or text is expected")
        request.setHeader(b"content-type", b"text/plain; charset=utf-8")
        return self._far_end.paper().text().encode()

    def _do(self, request: Request) -> bytes:
        deed = self._far_end.deeds[_path(request)]
        given = _read(request, deed.body)
        try:
            deed.do(given)
        except NotPossible as no:
            if no.path:
                raise _unfit(no.path, no.text) from None
            raise _Answer(409, Refused(Res.DEVICE_ERROR, no.text)) from None
        return self._state(request)


class ControlSite(Site):
    """The control port's HTTP server, which keeps no log of who asked."""

    def __init__(self, far_end: FarEnd) -> None:
        super().__init__(Control(far_end), parsePOSTFormSubmission=False)

    def log(self, request: object) -> None:
        """Only what goes wrong is worth a line."""


def _path(request: Request) -> str:
    return bytes(request.path).decode("latin-1").strip("/")


def _read(request: Request, kind: type[Any]) -> Any:
    """The body as ``kind``; none at all is an empty object."""
    assert request.content is not None
    body = request.content.read(MAX_BODY + 1)
    if len(body) > MAX_BODY:
        raise _Answer(400, Refused(Res.MALFORMED, f"the body is longer than {MAX_BODY} bytes"))
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise _unfit(*explain(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _Answer(400, Refused(Res.MALFORMED, f"the body is not JSON ({error})")) from None


def _unfit(path: str, text: str) -> _Answer:
    return _Answer(422, Refused(Res.MALFORMED, f"{path}: {text}" if path else text), (path, text))


def _json(request: Request, value: object) -> bytes:
    request.setHeader(b"content-type", b"application/json")
    return msgspec.json.encode(value)


def _error(request: Request, answer: _Answer) -> bytes:
    request.setResponseCode(answer.status)
    return _json(
        request,
        {
            "res": answer.refused.res.code,
            "errortxt": answer.refused.errortxt("en"),
            "errors": [{"path": path, "text": text} for path, text in answer.errors],
        },
    )
