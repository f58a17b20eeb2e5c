"""What the lines to all terminals share: opening, closing, deadlines, listeners."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from twisted.internet.interfaces import IDelayedCall, IReactorTime, IStreamClientEndpoint, ITransport
from twisted.internet.protocol import Factory, Protocol
from twisted.logger import Logger
from twisted.python.failure import Failure

from protocols.errors import Garbled, NotReached, Silent, WireError

log = Logger()

_P = TypeVar("_P", bound=Protocol)
_T = TypeVar("_T")


async def open_line(
    endpoint: IStreamClientEndpoint, build: Callable[[], _P], clock: IReactorTime | None = None, wait: float = 0
) -> _P:
    """Open a line.

    :param build: makes the till's end of it.
    :param wait: seconds on ``clock`` after which it is given up; 0 leaves that to the endpoint.
    :raises NotReached: no connection was made.
    """
    factory = Factory.forProtocol(build)
    # It would log each attempt.
    setattr(factory, "noisy", False)  # noqa: B010 - not in the interface
    try:
        opening = endpoint.connect(factory)
        if wait and clock is not None:
            opening.addTimeout(wait, clock)
        return cast(_P, await opening)
    except WireError:
        raise
    except Exception as error:
        raise NotReached(str(error) or type(error).__name__) from error


def drop(transport: ITransport) -> None:
    """Close at once: what is still to be written must not reach the terminal later."""
    getattr(transport, "abortConnection", transport.loseConnection)()


def stop(call: IDelayedCall | None) -> None:
    """Cancel ``call`` when it is still to come."""
    if call is not None and call.active():
        call.cancel()


def silent(_: object, seconds: float) -> Failure:
    """What a Deferred whose time is over fails with."""
    return Failure(Silent(seconds))


def ignore(_: object) -> None:
    """A listener that does nothing."""


def notify(listener: Callable[[_T], object] | None, value: _T) -> None:
    """Call ``listener``; its errors are logged, because they must not cost the answer that is awaited."""
    if listener is not None:
        try:
            listener(value)
        except Exception:
            log.failure("a listener failed")


def expect(answer: object, kind: type[_T]) -> _T:
    """The answer, when it is of the kind that the question asks for.

    :raises Garbled: when it is not.
    """
    if not isinstance(answer, kind):
        raise Garbled(f"the answer {type(answer).__name__} does not belong to the question")
    return answer
