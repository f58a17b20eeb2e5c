"""The link in a receipt's QR code, by which a customer looks it up (docs/reference/tax-service.md#qr-link)."""

from __future__ import annotations

from protocols.fiscal.offline import hryvnias

CABINET = "https://cabinet.tax.gov.ua/cashregs/check"


def qr_link(fiscal_number: str, issued: str, register: str, kopecks: int, previous_hash: str = "") -> str:
    """The link to a receipt.

    :param issued: Kyiv time as ``yyyyMMddHHmmss``, or without seconds; :param register: its fiscal number.
    :param previous_hash: of an offline receipt: the hash that it contains of the previous document.
    """
    mac = f"&mac={previous_hash}" if previous_hash else ""
    date, time = issued[:8], issued[8:]
    return f"{CABINET}?id={fiscal_number}&date={date}&time={time}&fn={register}&sm={hryvnias(kopecks)}{mac}"
