"""The link in a receipt's QR code, by which a customer looks it up (fiscal-server 11)."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import urlencode

CABINET = "https://cabinet.tax.gov.ua/cashregs/check"


def qr_link(fiscal_number: str, issued: datetime, register: int, amount: int, previous_hash: str = "") -> str:
    """The link to a receipt.

    :param issued: Kyiv time. :param amount: kopecks.
    :param previous_hash: of an offline receipt: the hash that it carries of the document before.
    """
    members = {
        "id": fiscal_number,
        "date": f"{issued:%Y%m%d}",
        "time": f"{issued:%H%M%S}",
        "fn": str(register),
        "sm": f"{amount // 100}.{amount % 100:02d}",
    }
    if previous_hash:
        members["mac"] = previous_hash
    return f"{CABINET}?{urlencode(members)}"
