"""Requests to the simulated fiscal server, and the ways in which one can go (fiscal-server 2, 16)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from protocols.fiscal.error_codes import Code
from protocols.fiscal.verdicts import Reply


@dataclass(frozen=True)
class Call:
    """One request; the names of ``headers`` are in small letters."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Ending(Enum):
    """How the line ends."""

    WHOLE = "whole"
    HALF = "half"
    """Half of the answer comes, then the line breaks."""
    BROKEN = "broken"
    SILENT = "silent"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True)
class Played:
    """How one request goes: the answer, if any, ``delay_s`` seconds later."""

    ending: Ending
    reply: Reply | None = None
    delay_s: float = 0.0


class Wrong(Exception):
    """A request that ends with an error of the server's."""

    def __init__(self, code: Code, text: str, status: int = 400) -> None:
        super().__init__(code, text)
        self.code, self.text, self.status = code, text, status
