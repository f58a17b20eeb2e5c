"""Which addresses a webhook may reach (docs/events.md#addresses).

Whoever sets a subscriber's address makes the service speak to it. Services inside the machine, and those that a
network offers on link-local addresses, trust everybody who can reach them, so they are reached only when the
subscriber's setting `allow_local` names them. A name may lead to another address at every look: each address that it
leads to is judged when a connection to it is about to be made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from urllib.parse import urlsplit

from dmtwisted.host_names import Address, BadHost, HostList, host_of, is_own_address, read_hosts
from dmtwisted.registers.settings import web_address

_TRANSLATED = IPv6Network("64:ff9b::/96")
"""Addresses behind which a network puts those of IPv4 (RFC 6052)."""


Own = Callable[[Address], bool]
"""Whether the machine has an address."""


class Refused(Exception):
    """A connection that is not made; the text says why."""


def check_url(url: str, allow_local: str) -> None:
    """See that ``url`` can be the address of a subscriber.

    :raises ValueError: when it cannot; the text says why.
    :raises BadList: when ``allow_local`` is no list of hosts.
    """
    host, parts, allowed = web_address("url", url), urlsplit(url), read_hosts(allow_local)
    if "@" in parts.netloc or parts.fragment:
        raise ValueError("an address without a login and without # is expected")
    if any(not sign.isprintable() or sign.isspace() for sign in url):
        raise ValueError("an address without blanks is expected")
    if parts.scheme == "http" and not _named(host, allowed):
        raise ValueError("https is expected; http only to a host that allow_local names")


def check_address(host: str, address: Address, allowed: HostList, own: Own = is_own_address) -> None:
    """See that ``address``, to which ``host`` leads, may be reached.

    :raises Refused: when it may not.
    """
    if _named(host, allowed):
        return
    for one in _meant(address):
        if not allowed.has(one) and (_special(one) or own(one)):
            raise Refused(f"{address} is inside this machine or only on its link; allow_local does not name it")


def _named(host: str, allowed: HostList) -> bool:
    try:
        return allowed.has(host_of(f"[{host}]".encode() if ":" in host else host.encode()))
    except BadHost:
        return False


def _special(address: Address) -> bool:
    return (
        address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
        or (address.version == 4 and address.is_reserved)
    )


def _meant(address: Address) -> Iterator[Address]:
    """``address``, and those of IPv4 that a network may reach by it."""
    yield address
    if isinstance(address, IPv6Address):
        inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in _TRANSLATED:
            inner.append(IPv4Address(int(address) & 0xFFFF_FFFF))
        elif int(address) >> 32 == 0 and int(address) > 1:
            inner.append(IPv4Address(int(address)))
        yield from (one for one in inner if one is not None)
