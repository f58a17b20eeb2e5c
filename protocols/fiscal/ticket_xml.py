"""The document TICKET: the fiscal server's answer to one document (docs/reference/tax-service.md#tickets)."""

from __future__ import annotations

from dataclasses import dataclass

from protocols.fiscal.simple_types import Count, Date, Number, Text, Text128, Time, Version


@dataclass(frozen=True, kw_only=True)
class Ticket:
    """``TICKET``: the fiscal number of a document, or why it was refused.

    The opening of a shift grants an offline session; some servers write 0 without one.
    """

    uid: Text
    """The GUID of the document; empty when the server could not read it."""
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
