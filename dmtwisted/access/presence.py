"""A one-time code that shows that a caller can see the machine: it stands for the login until there is one.

The console of the service, ``dmtwisted doctor`` and a file that only the service's user may read show it; the log and
the pages never do.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from twisted.logger import Logger

from dmtwisted.config import PRESENCE_FILE

LETTERS = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Digits and letters that are not mistaken for one another."""

LENGTH = 8
"""Letters of a code: 39 bits, against a few tries a minute."""


class Presence:
    """The code, while there is one.

    :param folder: the state folder; `None` keeps the code in memory.
    """

    log = Logger()

    def __init__(self, folder: Path | None) -> None:
        self._file = folder / PRESENCE_FILE if folder is not None else None
        self.code = ""
        self.renewed: Callable[[], None] = lambda: None
        """Called when there is another code."""

    def expect(self, wanted: bool) -> None:
        """Have a code, or none."""
        if wanted and not self.code:
            self._renew()
        elif not wanted:
            self.code = ""
            self._write()

    def fits(self, given: str) -> bool:
        """Whether ``given`` is the code, in any spelling; it is used up by that."""
        bare = given.replace("-", "").replace(" ", "").upper()
        if not self.code or not hmac.compare_digest(bare.encode("utf-8", "replace"), self.code.encode()):
            return False
        self._renew()
        return True

    @property
    def shown(self) -> str:
        """The code in two groups, to be typed."""
        return f"{self.code[:4]}-{self.code[4:]}" if self.code else ""

    def _renew(self) -> None:
        self.code = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
        self._write()
        self.renewed()

    def _write(self) -> None:
        """Replace the file, so that it never has another owner or mode."""
        if self._file is None:
            return
        try:
            with suppress(FileNotFoundError):
                self._file.unlink()
            if self.code:
                with open(
                    os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
                ) as file:
                    file.write(f"{self.shown}\n")
        except OSError as error:
            self.log.warn("{file} cannot be written: {why}", file=str(self._file), why=error.strerror or str(error))
