"""The document TICKET: the fiscal server's answer to one document (fiscal-server 8)."""

from __future__ import annotations

from dataclasses import dataclass

from protocols.fiscal.simple_types import Count, Date, Number, Text, Text128, Time, Version


@dataclass(frozen=True, kw_only=True)
class Ticket:
    """``TICKET``: the fiscal number of a document, or why it was refused.

    An offline session comes with the opening of a shift; servers are met that write 0 when none is granted.
    """

    uid: Text
    """The GUID of the document that is answered; empty when the server could not read it."""
    orderdate: Date
    ordertime: Time
    ordernum: Number
    """The local number of that document."""
    ordertaxnum: Text128 | None = None
    offlinesessionid: Count | None = None
    offlineseed: Count | None = None
    errorcode: Count | None = None
    errortext: Text | None = None
    ver: Version = 1
