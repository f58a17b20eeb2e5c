"""What a printer tells about itself, as one value whatever the language (printers.md 1.4, 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Paper = Literal["ok", "near_end", "out"]
Fault = Literal["none", "cutter", "mechanical", "overheat", "unrecoverable"]

Reason = Literal["paper", "cover", "cutter", "mechanical", "overheat", "unrecoverable", "offline"]
"""Why a printer does not print."""


@dataclass(frozen=True)
class PrinterStatus:
    """The state of a printer; `None` is what it has not told."""

    online: bool | None = None
    cover_open: bool | None = None
    paper: Paper | None = None
    drawer_open: bool | None = None
    error: Fault = "none"
    raw: bytes = b""
    """The answers that this was taken from, in the order in which they came; for people and logs."""

    @property
    def known(self) -> bool:
        """Whether the printer has told anything."""
        return (self.online, self.cover_open, self.paper) != (None, None, None) or self.error != "none"

    @property
    def reason(self) -> Reason | None:
        """Why it does not print: what a person can mend first, before what is only said in general."""
        if self.cover_open:
            return "cover"
        if self.paper == "out":
            return "paper"
        if self.error != "none":
            return self.error
        return "offline" if self.online is False else None
