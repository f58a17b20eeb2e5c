"""The state of a printer, as one value for every language (docs/reference/printers.md#status)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Paper = Literal["ok", "near_end", "out"]
Fault = Literal["none", "cutter", "mechanical", "overheat", "unrecoverable"]

Reason = Literal["paper", "cover", "cutter", "mechanical", "overheat", "unrecoverable", "offline"]
"""Why a printer does not print."""


@dataclass(frozen=True)
class PrinterStatus:
    """The state of a printer; `None` is unknown."""

    online: bool | None = None
    cover_open: bool | None = None
    paper: Paper | None = None
    drawer_open: bool | None = None
    error: Fault = "none"
    raw: bytes = b""
    """The answers that it was read from, in order; for logs and diagnostics."""

    @property
    def known(self) -> bool:
        """Whether the printer has reported anything."""
        return (self.online, self.cover_open, self.paper) != (None, None, None) or self.error != "none"

    @property
    def reason(self) -> Reason | None:
        """Why it does not print; what a person can fix comes before general reasons."""
        if self.cover_open:
            return "cover"
        if self.paper == "out":
            return "paper"
        if self.error != "none":
            return self.error
        return "offline" if self.online is False else None
