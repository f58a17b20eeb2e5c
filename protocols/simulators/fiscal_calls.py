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


class Wrong(Exception):
    """A request that the server answers with an error."""

    def __init__(self, code: Code, text: str, status: int = 400) -> None:
        super().__init__(code, text)
        self.code, self.text, self.status = code, text, status
