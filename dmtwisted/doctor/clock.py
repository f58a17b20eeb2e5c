"""The machine's clock: a plausible date, the time zone of Kyiv, and at most half an hour from the tax service."""

from __future__ import annotations

import ssl
import time
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from dmtwisted.clock import kyiv
from dmtwisted.doctor.findings import Check, Finding, bad, good, warn
from dmtwisted.results import Text

MOST_APART = 1800.0
"""Seconds of difference from which the tax service refuses documents (docs/reference/tax-service.md#time)."""

SOME_APART = 60.0
"""Seconds of difference from which there is a warning."""

NO_EARLIER = 1_767_225_600.0
"""The beginning of 2026: a machine with an empty battery shows an earlier time."""

_SET = Text(
    "Увімкніть синхронізацію часу: timedatectl set-ntp true (Windows: служба «Час Windows»).",
    "Synchronize the clock: timedatectl set-ntp true (Windows: the service Windows Time).",
)


def look(now: float, zone_s: int | None = None) -> list[Finding]:
    """What the machine itself shows.

    :param now: its time in seconds since 1970.
    :param zone_s: offset of its time zone from UTC in seconds; by default that of the system.
    """
    zone_s = time.localtime(now).tm_gmtoff if zone_s is None else zone_s
    shown = f"{kyiv(int(now * 1000)):%d.%m.%Y %H:%M:%S}"
    if now < NO_EARLIER:
        text = Text(f"Годинник комп’ютера показує минуле: {shown}", f"The machine's clock shows the past: {shown}")
        return [bad(Check.CLOCK, text, _SET)]
    offset = kyiv(int(now * 1000)).utcoffset()
    assert offset is not None
    if zone_s != offset.total_seconds():
        text = Text("Часовий пояс комп’ютера — не Київ", "The time zone of the machine is not Kyiv's")
        advice = Text(
            "Чеки мають київський час і так; щоб годинник касира збігався з чеком:"
            " timedatectl set-timezone Europe/Kyiv.",
            "Receipts have Kyiv time in any case; to make the cashier's clock agree with them:"
            " timedatectl set-timezone Europe/Kyiv.",
        )
        return [warn(Check.CLOCK, text, advice)]
    return [good(Check.CLOCK, f"Годинник комп’ютера: {shown}", f"The machine's clock: {shown}")]


def compare(ahead: float, about: str) -> Finding:
    """The finding when the tax service of the register ``about`` has a clock ``ahead`` seconds before ours."""
    apart = abs(ahead)
    shown = f"{apart / 60:.0f} хв" if apart >= SOME_APART else f"{apart:.0f} с"
    shown_en = f"{apart / 60:.0f} min" if apart >= SOME_APART else f"{apart:.0f} s"
    uk = "відстає від годинника" if ahead > 0 else "випереджає годинник"
    text = Text(
        f"Годинник комп’ютера {uk} податкової на {shown}",
        f"The machine's clock is {shown_en} {'behind' if ahead > 0 else 'ahead of'} the tax service's",
    )
    if apart >= MOST_APART:
        return bad(Check.CLOCK, text, _SET, about)
    if apart >= SOME_APART:
        return warn(Check.CLOCK, text, _SET, about)
    uk, en = f"Годинник збігається з податковою ({shown})", f"The clock agrees with the tax service ({shown_en})"
    return good(Check.CLOCK, uk, en, about)


def http_date(url: str, now: float, patience: float = 5.0) -> float | None:
    """Seconds by which the clock of a web server is ahead of ours, by its ``Date``; `None` without one. Blocks.

    The certificate is not checked: to a wrong clock it looks invalid, and only the date is used.
    """
    try:
        parts = urlsplit(url)
        connection: HTTPConnection
        if parts.scheme == "https":
            context = ssl._create_unverified_context()
            connection = HTTPSConnection(parts.hostname or "", parts.port, timeout=patience, context=context)
        else:
            connection = HTTPConnection(parts.hostname or "", parts.port, timeout=patience)
        try:
            connection.request("HEAD", parts.path or "/")
            date = connection.getresponse().getheader("date")
        finally:
            connection.close()
        return None if date is None else parsedate_to_datetime(date).timestamp() - now
    except (OSError, HTTPException, ValueError):
        return None
