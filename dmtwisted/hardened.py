"""The hardened profile: which addresses, which names of ours and which pages are let in, by one switch.

A browser on the shop's network can be led to send requests here by any page that somebody reads on it. The name
in `Host` tells whether the page reached us under a name of its own, `Origin` which page it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network

OUR_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
"""By what this machine calls itself."""

_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[^:\[\]/@?#\s]+)(:(?P<port>[0-9]{1,5}))?")
_ORIGIN = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*")


class BadList(Exception):
    """A list of the configuration holds something else than it should; the text says what."""


@dataclass(frozen=True)
class Circle:
    """Whom the configuration lets in, beside this machine itself."""

    networks: tuple[Network, ...] = ()
    hosts: frozenset[str] = field(default_factory=frozenset)
    origins: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def read(cls, addresses: str = "", hosts: str = "", origins: str = "") -> Circle:
        """The circle of three lists, each separated by commas.

        :raises BadList: when something in them is no address, no name or no origin.
        """
        return cls(
            tuple(read_network(text) for text in listed(addresses)),
            frozenset(read_host(text) for text in listed(hosts)),
            frozenset(read_origin(text) for text in listed(origins)),
        )

    def has_address(self, address: str) -> bool:
        """Whether a caller from ``address`` is let in: this machine, or one that is listed."""
        try:
            ip = ip_address(address.partition("%")[0])
        except ValueError:
            return False
        if ip.version == 6 and ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        return ip.is_loopback or any(ip in network for network in self.networks)

    def has_host(self, host: str, here: str) -> bool:
        """Whether ``host``, a `Host` header, names us: this machine, a listed name, or ``here``, the very address
        that the caller reached, which no foreign page can have as its name."""
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found["name"].strip("[]").lower().removesuffix(".")
        return name in OUR_NAMES or name in self.hosts or name == here.removeprefix("::ffff:")

    def has_origin(self, origin: str) -> bool:
        """Whether pages of ``origin`` are listed."""
        return origin.lower() in self.origins


def listed(text: str) -> Iterator[str]:
    """The parts of a list that is separated by commas, without blanks and empty ones."""
    return (part.strip() for part in text.split(",") if part.strip())


def read_network(text: str) -> Network:
    """An address, or a network as ``192.168.1.0/24``.

    :raises BadList: when it is none.
    """
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise BadList(f"{text} is neither an address nor a network") from None


def read_host(text: str) -> str:
    """A name or address without scheme and port, in small letters.

    :raises BadList: when it is none.
    """
    bare = text.strip("[]")
    try:
        return str(ip_address(bare))
    except ValueError:
        if not _NAME.fullmatch(text):
            raise BadList(f"{text} is no name of a machine") from None
        return text.lower()


def read_origin(text: str) -> str:
    """An origin as browsers send it: ``https://shop.example``, with its port when it is not the usual one.

    :raises BadList: when it is none.
    """
    if not _ORIGIN.fullmatch(text):
        raise BadList(f"{text} is no origin; one like https://shop.example is expected")
    return text.lower()
