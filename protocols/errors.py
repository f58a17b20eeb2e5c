"""The errors of a line, as data: drivers turn them into results."""

from __future__ import annotations

from protocols.hiding import shown


class WireError(Exception):
    """An exchange with a device failed."""


class NotReached(WireError):
    """The line could not be opened: nothing was sent."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the device is not reached: {reason}")
        self.reason = reason


class Garbled(WireError):
    """The peer sent something that is not a frame of this protocol."""

    def __init__(self, what: str, data: bytes = b"") -> None:
        super().__init__(f"{what}: {shown(data)}" if data else what)
        self.what, self.data = what, data


class Silent(WireError):
    """The peer did not answer a request for ``seconds``.

    :param taken: whether it has shown that it had received the request.
    """

    def __init__(self, seconds: float, taken: bool = False) -> None:
        super().__init__(f"no answer in {seconds:g} s")
        self.seconds, self.taken = seconds, taken


class LineLost(WireError):
    """The line broke while an answer was due."""

    def __init__(self, reason: str = "the line was closed") -> None:
        super().__init__(reason)
        self.reason = reason
