"""The filters of a list, read from the query (docs/reference/http-interface.md#lists)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from twisted.web.iweb import IRequest

from dmtwisted.access.roles import Permit
from dmtwisted.clock import SPAN_EXPECTED, span
from dmtwisted.devices.devices import Device, Devices
from dmtwisted.devices.driver import BadSettings

PAGE_SIZE, LARGEST_PAGE = 50, 1000

LARGEST_NUMBER = 2**63 - 1
"""The largest number of every store."""


class PageOf(msgspec.Struct):
    """The page of a list."""

    page: int
    page_size: int
    total: int


def query_of(request: IRequest) -> dict[str, str]:
    """The parameters of the query; the last of several with one name."""
    return {
        name.decode("utf-8", "replace"): values[-1].decode("utf-8", "replace")
        for name, values in request.args.items()
    }


def given_in(request: IRequest, known: Sequence[str]) -> dict[str, str]:
    """The filters of ``request``.

    :raises BadSettings: for an unknown one: the list would look filtered, and would not be.
    """
    given = query_of(request)
    for name in given:
        if name not in known:
            raise BadSettings(name, f"one of {', '.join(known)} is expected")
    return given


def page_of(given: Mapping[str, str]) -> tuple[int, int]:
    """The number of the page, and its size.

    :raises BadSettings: when one of them is not a number in its range.
    """
    return whole(given, "page", 1, 10**9), whole(given, "page_size", PAGE_SIZE, LARGEST_PAGE)


def whole(given: Mapping[str, str], name: str, default: int, largest: int) -> int:
    text = given.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:30]) <= largest:
        raise BadSettings(name, f"a number from 1 to {largest} is expected")
    return int(text)


NO_DEVICE = -1
"""The number of no device."""


def devices_of(named: str, devices: Devices, permit: Permit) -> list[int]:
    """The numbers of the devices with the name or id ``named`` that the permit covers; none of them means all.

    :raises BadSettings: when there is no such device.
    """
    if not named:
        return [device.row.n for device in covered(devices, permit)] or [NO_DEVICE] if permit.bound else []
    found = [device.row.n for device in covered(devices, permit) if named in (device.name, device.row.dev_id)]
    if not found:
        raise BadSettings("device", "the name or id of a device is expected")
    return found


def covered(devices: Devices, permit: Permit) -> list[Device]:
    """The devices that the permit covers."""
    return [device for device in devices if permit.covers(device.row.dev_id)]


def moment_of(given: Mapping[str, str], name: str, end: int) -> int | None:
    """The first (``end`` 0) or last moment of the filter ``name``; `None` without it.

    :raises BadSettings: when it is not a beginning of ``yyyyMMddHHmmss``.
    """
    if not given.get(name):
        return None
    try:
        return span(given[name])[end]
    except ValueError:
        raise BadSettings(name, SPAN_EXPECTED.en) from None
