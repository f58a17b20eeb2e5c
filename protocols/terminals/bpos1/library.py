"""The vendor's library as its process uses it: one call at a time, looked at until it has ended.

Its methods return at once and work in a thread of the library; ``LastResult`` is 2 meanwhile
(docs/reference/bpos1.md#calls). Nothing here waits, so that a simulated library and a clock of tests drive it too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protocols.terminals.bpos1.messages import CARD, CORRECTABLE, FAILED, NO_STATUS, RUNNING, Call, Said

POLL = 0.05
"""Seconds between two looks at a call."""

SETTLING = 0.2
"""Seconds for which a result may still be that of the call before: the library works in a thread of its own."""

BEAT = 2.0
"""Seconds after which a call that works is reported although nothing has changed."""


class Library:
    """The COM object, and the call that works.

    :param com: the object; its properties and methods are those of ``BPOS1Lib``.
    :param say: takes what is to be reported.
    :param seconds: the time.
    """

    def __init__(self, com: Any, say: Callable[[Said], None], seconds: Callable[[], float]) -> None:
        self._com, self._say, self._seconds = com, say, seconds
        self._call: Call | None = None
        self._begun = self._told = 0.0
        self._worked = False
        self._status = -1

    def take(self, call: Call) -> None:
        """Begin a call."""
        try:
            getattr(self._com, call.call)(*call.given)
        except Exception as error:
            self._say(Said(call.n, failed=_reason(error)))
            return
        if not call.at_once:
            self._call, self._worked, self._status = call, False, -1
            self._begun = self._told = self._seconds()

    def look(self) -> None:
        """See how far the call is."""
        call = self._call
        if call is None:
            return
        try:
            said = self._progress(call)
        except Exception as error:
            said = Said(call.n, failed=_reason(error))
        if said is None:
            return
        if said.status is None:
            self._call = None
        self._told = self._seconds()
        self._say(said)

    def _progress(self, call: Call) -> Said | None:
        com, now = self._com, self._seconds()
        result = int(com.LastResult)
        if result == RUNNING:
            self._worked = True
            status = int(com.LastStatMsgCode)
            if status == self._status and now - self._told < BEAT:
                return None
            changed, self._status = status != self._status, status
            text = str(com.LastStatMsgDescription or "") if changed and status != NO_STATUS else ""
            return Said(call.n, status=status, text=text, values=self._read(CARD if status == CORRECTABLE else ()))
        if not self._worked and now - self._begun < SETTLING:
            return None
        values = self._read(call.read)
        if result != FAILED:
            return Said(call.n, result=result, values=values)
        values |= self._read(("ResponseCode",))
        text = str(com.LastErrorDescription or "")
        return Said(call.n, result=result, error=int(com.LastErrorCode), text=text, values=values)

    def _read(self, names: Any) -> dict[str, Any]:
        found = ((name, getattr(self._com, name)) for name in names)
        return {name: value if isinstance(value, int) else str(value or "") for name, value in found}

    def close(self) -> None:
        """Close the port; a transaction that was not confirmed is the terminal's to cancel."""
        self._com.CommClose()


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
