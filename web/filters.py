"""What narrows a list of the management interface, read from the query of the address (design 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from twisted.web.iweb import IRequest

from dmtwisted.clock import span
from dmtwisted.devices.devices import Devices
from dmtwisted.devices.drivers import BadSettings

PAGE_SIZE, LARGEST_PAGE = 50, 1000

LARGEST_NUMBER = 2**63 - 1
"""No store counts any further."""


class PageOf(msgspec.Struct):
    """Which page of a list this is."""

    page: int
    page_size: int
    total: int


def given_in(request: IRequest, known: Sequence[str]) -> dict[str, str]:
    """The filters of ``request``; of several with one name the last.

    :raises BadSettings: for one that nobody heeds: the list would look as if it had been heeded.
    """
    given = {
        name.decode("utf-8", "replace"): values[-1].decode("utf-8", "replace")
        for name, values in request.args.items()
    }
    for name in given:
        if name not in known:
            raise BadSettings(name, f"one of {', '.join(known)} is expected")
    return given


def page_of(given: Mapping[str, str]) -> tuple[int, int]:
    """Which page, and how many things are on it.

    :raises BadSettings: when one of them is no number in its range.
    """
    return _whole(given, "page", 1, 10**9), _whole(given, "page_size", PAGE_SIZE, LARGEST_PAGE)


def _whole(given: Mapping[str, str], name: str, default: int, largest: int) -> int:
    text = given.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:30]) <= largest:
        raise BadSettings(name, f"a number from 1 to {largest} is expected")
    return int(text)


def devices_of(named: str, devices: Devices) -> list[int]:
    """The numbers of the devices that ``named`` means by name or id; none when it is empty.

    :raises BadSettings: when there is no such device.
    """
    if not named:
        return []
    found = [device.row.n for device in devices if named in (device.name, device.row.dev_id)]
    if not found:
        raise BadSettings("device", "the name or id of a device is expected")
    return found


def moment_of(given: Mapping[str, str], name: str, end: int) -> int | None:
    """The first (``end`` 0) or last moment of what ``given`` says; `None` when it says nothing.

    :raises BadSettings: when it is no beginning of ``yyyyMMddHHmmss``.
    """
    if not given.get(name):
        return None
    try:
        return span(given[name])[end]
    except ValueError as error:
        raise BadSettings(name, str(error)) from None
