"""Answers of a tax service that somebody else signed: refused, and kept for a person to look at.

Each is a file of the state folder, so that it outlives the service. There are few and small ones: who sends false
answers can send many.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from twisted.logger import Logger

from dmtwisted.secrets import write_private

FOLDER = "evidence"
"""The folder in the state folder."""

MOST_FILES = 50
"""Files that are kept; then the oldest is deleted for a new one."""

MOST_BYTES = 64 << 10
"""Bytes that are kept of an answer; a ticket has 5 KB."""


class RefusedAnswer(msgspec.Struct, frozen=True):
    """An answer that was refused.

    :param at: when, in milliseconds since 1970. :param register: for which register, :param server: of which server.
    :param signer: who signed it, :param issuer: by whose certificate, :param key: with which key; empty if unknown.
    :param size: of the whole answer, :param answer: its beginning, in base64.
    """

    at: int
    register: int
    server: str
    why: str
    signer: str
    issuer: str
    key: str
    size: int
    answer: str


class Evidence:
    """The refused answers of one register.

    :param state: the state folder; `None` only counts.
    """

    log = Logger()

    def __init__(self, state: Path | None) -> None:
        self._folder = None if state is None else state / FOLDER
        self.count = 0
        """Answers that were refused since the start."""

    def keep(
        self, message: bytes, at: int, register: int, server: str, why: str, signer: tuple[str, str, str]
    ) -> None:
        """Keep an answer; called in a thread. What cannot be written is logged, and the answer stays refused."""
        self.count += 1
        self.log.error("{register}: an answer was refused: {why}", register=register, why=why)
        if self._folder is None:
            return
        answer = base64.b64encode(message[:MOST_BYTES]).decode()
        refused = RefusedAnswer(at, register, server, why, *signer, len(message), answer)
        # The same answer once more is the same file.
        file = self._folder / f"{register}-{hashlib.sha256(message).hexdigest()[:16]}.json"
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            if not file.exists():
                for old in _oldest_first(self._folder)[: 1 - MOST_FILES]:
                    old.unlink(missing_ok=True)
                write_private(file, msgspec.json.encode(refused))
                # Files of one tick of the system's clock keep their order.
                os.utime(file, ns=(at * 1_000_000,) * 2)
        except OSError as error:
            self.log.error("{file} cannot be written: {why}", file=str(file), why=str(error))


def kept_in(state: Path) -> list[RefusedAnswer]:
    """The refused answers in a state folder, oldest first; what is no file of ours is left out."""
    found = []
    for file in _oldest_first(state / FOLDER):
        with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
            found.append(msgspec.json.decode(file.read_bytes(), type=RefusedAnswer))
    return sorted(found, key=lambda refused: refused.at)


def described(refused: Iterable[RefusedAnswer]) -> list[dict[str, Any]]:
    """Refused answers for support: without the answers, which may be receipts."""
    return [{**msgspec.structs.asdict(one), "answer": ""} for one in refused]


def _oldest_first(folder: Path) -> list[Path]:
    def age(file: Path) -> float:
        try:
            return file.stat().st_mtime
        except OSError:
            return 0.0

    return sorted(folder.glob("*.json"), key=age)
