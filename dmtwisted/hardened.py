"""The hardened profile: the addresses, host names and origins that are allowed (docs/security.md).

Any page that is open in a browser on the shop's network can send requests to the service. `Host` shows whether the
page used a name of its own for the service, `Origin` which page it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network

OUR_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
"""The names of this machine for itself."""

_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[^:\[\]/@?#\s]+)(:(?P<port>[0-9]{1,5}))?")
_ORIGIN = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*")


class BadList(Exception):
    """A list of the configuration has an invalid entry; the text names it."""


@dataclass(frozen=True)
class Circle:
    """The callers that the configuration allows, beside this machine itself."""

    networks: tuple[Network, ...] = ()
    hosts: frozenset[str] = field(default_factory=frozenset)
    origins: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def read(cls, addresses: str = "", hosts: str = "", origins: str = "") -> Circle:
        """The circle of three lists, each separated by commas.

        :raises BadList: when an entry is not an address, a host name or an origin.
        """
        return cls(
            tuple(read_network(text) for text in listed(addresses)),
            frozenset(read_host(text) for text in listed(hosts)),
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

    def has_host(self, host: str, here: str) -> bool:
        """Whether ``host``, a `Host` header, is allowed: this machine, a listed name, or ``here``, the address that
        the caller connected to, which no page from elsewhere can have as its name.
        """
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found["name"].strip("[]").lower().removesuffix(".")
        return name in OUR_NAMES or name in self.hosts or name == here.removeprefix("::ffff:")

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


def read_host(text: str) -> str:
    """A host name or address without scheme and port, in lower case.

    :raises BadList: when it is neither.
    """
    bare = text.strip("[]")
    try:
        return str(ip_address(bare))
    except ValueError:
        if not _NAME.fullmatch(text):
            raise BadList(f"{text} is not a host name") from None
        return text.lower()


def read_origin(text: str) -> str:
    """An origin as browsers send it: ``https://shop.example``, with a port that is not the default.

    :raises BadList: when it is not an origin.
    """
    if not _ORIGIN.fullmatch(text):
        raise BadList(f"{text} is not an origin; one like https://shop.example is expected")
    return text.lower()
