"""Requests to the simulated fiscal server and their outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from protocols.fiscal.error_codes import Code
from protocols.fiscal.verdicts import Reply


@dataclass(frozen=True)
class Call:
    """One request; names in ``headers`` are in lower case."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Ending(Enum):
    """How the connection ends."""

    WHOLE = "whole"
    HALF = "half"
    """After half of the answer the connection breaks."""
    BROKEN = "broken"
    SILENT = "silent"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True)
class Played:
    """The outcome of one request: the answer, if any, ``delay_s`` seconds later."""

    ending: Ending
    reply: Reply | None = None
    delay_s: float = 0.0


_STATUS = {
    Code.TRANSACTIONS_REGISTRAR_ABSENT: 404,
    Code.OPERATOR_ACCESS_TO_TRANSACTIONS_REGISTRAR_NOT_GRANTED: 401,
    Code.NO_CONTENT: 204,
}


class ServerError(Exception):
    """A request that the server answers with an error; the default says that nothing was found.

    :param status: of HTTP; that of the code when absent.
    """

    def __init__(self, code: Code = Code.NO_CONTENT, text: str = "Дані відсутні", status: int = 0) -> None:
        super().__init__(code, text)
        self.code, self.text, self.status = code, text, status or _STATUS.get(code, 400)
