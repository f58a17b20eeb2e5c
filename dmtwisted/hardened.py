"""The hardened profile: the addresses and origins that are allowed (docs/security.md).

Any page that is open in a browser on the shop's network can send requests to the service. `Origin` shows which page
it was; `dmtwisted.host_names` is about the name that it used for the service.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network

_ORIGIN = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")


class BadList(Exception):
    """A list of the configuration has an invalid entry; the text names it."""


@dataclass(frozen=True)
class Circle:
    """The callers that the configuration allows, beside this machine itself."""

    networks: tuple[Network, ...] = ()
    origins: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def read(cls, addresses: str = "", origins: str = "") -> Circle:
        """The circle of two lists, each separated by commas.

        :raises BadList: when an entry is not an address or an origin.
        """
        return cls(
            tuple(read_network(text) for text in listed(addresses)),
            frozenset(read_origin(text) for text in listed(origins)),
        )

    def has_address(self, address: str) -> bool:
        """Whether a caller from ``address`` is allowed: this machine, or one that is listed."""
        try:
            ip = ip_address(address.partition("%")[0])
        except ValueError:
            return False
        if ip.version == 6 and ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        return ip.is_loopback or any(ip in network for network in self.networks)

    def has_origin(self, origin: str) -> bool:
        """Whether pages of ``origin`` are listed."""
        return origin.lower() in self.origins


def listed(text: str) -> Iterator[str]:
    """The parts of a list with commas, without blanks and empty parts."""
    return (part.strip() for part in text.split(",") if part.strip())


def read_network(text: str) -> Network:
    """An address, or a network as ``192.168.1.0/24``.

    :raises BadList: when it is neither.
    """
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise BadList(f"{text} is neither an address nor a network") from None


def read_origin(text: str) -> str:
    """An origin as browsers send it: ``https://shop.example``, with a port that is not the default.

    :raises BadList: when it is not an origin.
    """
    if not _ORIGIN.fullmatch(text):
        raise BadList(f"{text} is not an origin; one like https://shop.example is expected")
    return text.lower()
