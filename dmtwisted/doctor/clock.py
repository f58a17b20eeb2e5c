"""The machine's clock: a plausible date, the zone of Kyiv, and no more than half an hour from the tax service."""

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
"""Seconds between our clock and the tax service's from which documents are refused (fiscal-server 10)."""

SOME_APART = 60.0
"""Seconds from which somebody should look."""

NO_EARLIER = 1_767_225_600.0
"""The first moment of 2026: a machine whose battery is empty tells an earlier one."""

_SET = Text(
    "Увімкніть синхронізацію часу: timedatectl set-ntp true (Windows: служба «Час Windows»).",
    "Let the machine set its clock: timedatectl set-ntp true (Windows: the service Windows Time).",
)


def look(now: float, zone_s: int | None = None) -> list[Finding]:
    """What the machine itself shows.

    :param now: its time in seconds since 1970.
    :param zone_s: seconds that its zone is east of Greenwich; what the system says when absent.
    """
    zone_s = time.localtime(now).tm_gmtoff if zone_s is None else zone_s
    if now < NO_EARLIER:
        text = Text("Годинник комп’ютера показує минуле", "The clock of the machine shows the past")
        return [bad(Check.CLOCK, Text(f"{text.uk}: {_shown(now)}", f"{text.en}: {_shown(now)}"), _SET)]
    offset = kyiv(int(now * 1000)).utcoffset()
    assert offset is not None
    if zone_s != offset.total_seconds():
        return [
            warn(
                Check.CLOCK,
                Text("Часовий пояс комп’ютера — не Київ", "The time zone of the machine is not Kyiv's"),
                Text(
                    "Чеки мають київський час і так; щоб годинник касира збігався з чеком:"
                    " timedatectl set-timezone Europe/Kyiv.",
                    "Receipts carry Kyiv's time all the same; to have the cashier's clock agree with them:"
                    " timedatectl set-timezone Europe/Kyiv.",
                ),
            )
        ]
    return [good(Check.CLOCK, f"Годинник комп’ютера: {_shown(now)}", f"The clock of the machine: {_shown(now)}")]


def compare(ahead: float, about: str) -> Finding:
    """What to say when the clock of ``about`` is ``ahead`` seconds before ours."""
    apart = abs(ahead)
    shown = f"{apart / 60:.0f} хв" if apart >= SOME_APART else f"{apart:.0f} с"
    shown_en = f"{apart / 60:.0f} min" if apart >= SOME_APART else f"{apart:.0f} s"
    uk, en = ("відстає", "behind") if ahead > 0 else ("поспішає", "ahead")
    text = Text(
        f"Годинник комп’ютера {uk} від податкової на {shown}",
        f"The machine's clock is {shown_en} {en} the tax office's",
    )
    if apart >= MOST_APART:
        return bad(Check.CLOCK, text, _SET, about)
    if apart >= SOME_APART:
        return warn(Check.CLOCK, text, _SET, about)
    return good(
        Check.CLOCK,
        f"Годинник збігається з податковою ({shown})",
        f"The clock agrees with the tax office ({shown_en})",
        about,
    )


def http_date(url: str, now: float, patience: float = 5.0) -> float | None:
    """Seconds that the clock of a web server is before ours by its ``Date``; `None` when it tells none. Blocks.

    The certificate is not checked: to a wrong clock it looks invalid, and nothing but the date is taken.
    """
    try:
        parts = urlsplit(url)
        connection: HTTPConnection = (
            HTTPSConnection(
                parts.hostname or "", parts.port, timeout=patience, context=ssl._create_unverified_context()
            )
            if parts.scheme == "https"
            else HTTPConnection(parts.hostname or "", parts.port, timeout=patience)
        )
        try:
            connection.request("HEAD", parts.path or "/")
            date = connection.getresponse().getheader("date")
        finally:
            connection.close()
        return None if date is None else parsedate_to_datetime(date).timestamp() - now
    except (OSError, HTTPException, ValueError):
        return None


def _shown(now: float) -> str:
    return f"{kyiv(int(now * 1000)):%d.%m.%Y %H:%M:%S}"
