"""What the management interfaces share: strict bodies, and errors in one shape.

Task endpoints are tolerant, because tills are. A person who sets up devices needs to see each mistake: here an
error has an HTTP status and names its member (docs/reference/http-interface.md#management-errors).
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec
from klein import Klein
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.iweb import IRequest
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from dmtwisted.devices.driver import BadSettings, misfit
from dmtwisted.requests import check_count, not_json
from dmtwisted.results import Refused, Res, Text, Words, in_language, joined
from dmtwisted.store.values import StoreFailed
from dmtwisted.system.crew import CrewFailed
from dmtwisted.wording import wording
from protocols.simulators.scenario import ScenarioError
from web.answers import error_answer, language_of, not_allowed, not_found
from web.uploads import read_body

T = TypeVar("T")
log = Logger()

CHECKING = Text("перевірка вже триває", "a check is already running")

_STATUS = {
    Res.UNKNOWN_DEVICE: 404,
    Res.DEVICE_NAME_TAKEN: 409,
    Res.MALFORMED: 400,
    Res.STORE_FAILED: 503,
}
"""HTTP statuses of results about the resource or the body; any other refusal is a conflict."""


class OneAtATime:
    """A context for work that must not run twice at a time.

    :raises Refused: 2100 with ``note`` on entry while the work is running.
    """

    def __init__(self, note: Text) -> None:
        self._note, self._busy = note, False

    def __enter__(self) -> None:
        if self._busy:
            raise Refused(Res.NOT_NOW, note=self._note)
        self._busy = True

    def __exit__(self, *_: object) -> None:
        self._busy = False


class HttpRefusal(Exception):
    """A request that cannot be served, with its HTTP status and the reason."""

    def __init__(self, status: int, why: Words) -> None:
        super().__init__(in_language(why, "en"))
        self.status, self.why = status, why


def read_object(request: IRequest, kind: type[T]) -> T:
    """The body as ``kind``.

    :raises Refused: 2000 when it is not JSON, or has too many values.
    :raises BadSettings: with its path when a member does not fit.
    """
    body = read_body(request)
    check_count(body)
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise misfit(error, kind) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(Res.MALFORMED, not_json(error)) from None


def lasting(work: Coroutine[Any, Any, T]) -> Deferred[T]:
    """``work`` as a Deferred that goes on when the client disconnects and Klein cancels the route."""
    result: Deferred[T] = Deferred()
    Deferred.fromCoroutine(work).addCallbacks(result.callback, result.errback)
    return result


def answer_errors(app: Klein) -> None:
    """Let ``app`` answer all errors of its routes; its instance has a `default_language`."""

    @app.handle_errors(HTTPException)
    def no_such_thing(self: Any, request: IRequest, failure: Failure) -> bytes:
        error = failure.value
        if isinstance(error, MethodNotAllowed):
            methods = sorted(set(error.valid_methods or ()) - {"HEAD"})
            return not_allowed(request, ", ".join(methods).encode(), self.default_language)
        return not_found(request, self.default_language)

    @app.handle_errors(Exception)
    def failed(self: Any, request: IRequest, failure: Failure) -> bytes:
        language = language_of(request, self.default_language)
        error = failure.value
        if isinstance(error, Refused):
            return error_answer(request, _STATUS.get(error.res, 409), error, language)
        if isinstance(error, BadSettings | ScenarioError):
            text = wording(error.text)
            refused = Refused(Res.MALFORMED, joined(error.path, text))
            return error_answer(request, 422, refused, language, [(error.path, text.for_language(language))])
        if isinstance(error, HttpRefusal):
            return error_answer(request, error.status, Refused(Res.MALFORMED, error.why), language)
        if isinstance(error, CrewFailed):
            return error_answer(request, 503, Refused(Res.NOT_NOW, note=wording(error)), language)
        if isinstance(error, StoreFailed):
            return error_answer(request, 503, Refused(Res.STORE_FAILED, note=wording(error)), language)
        log.failure("internal error at {path}", failure, path=request.path)
        return error_answer(request, 500, Refused(Res.INTERNAL, type(error).__name__), language)
