"""The names and addresses of this service: what the `Host` of a request may say (docs/security.md).

A page on the internet can let its own name lead to this machine (DNS rebinding). For the browser it is then at home
here, and only `Host` still shows the foreign name. An address as a name cannot be led elsewhere.
"""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

from twisted.logger import Logger

from dmtwisted.hardened import BadList, Network, listed

Address = IPv4Address | IPv6Address
Host = str | Address
"""A name in lower case without a final dot, international ones as DNS has them; or an address."""

MOST_USUAL = 256
"""Values of `Host` that are remembered as allowed."""

MOST_REFUSED = 20
"""Refused names that are counted; beyond them the one that came least often is forgotten."""

FRESH_S = 10.0
"""Seconds for which the names of the machine are not read again."""

MOST_READ, MOST_LINES = 1 << 16, 500
"""Bytes and lines of a system's file that are read."""

MOST_ALIASES = 20
"""An address with more names in the hosts file is the target of a block list, whose names are not ours."""

_HOST = re.compile(
    r"(\[(?P<address>[0-9A-Fa-f:.]+)(%[^\]]*)?\]|(?P<name>[^\x00-\x20\x7f:\[\]/@?#\\]+))(:[0-9]{0,5})?"
)
_NAME = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")


class BadHost(Exception):
    """A `Host` that is no name and no address."""


def host_of(value: bytes) -> Host:
    """The name or address of a `Host` header, without its port.

    :raises BadHost: when it is neither.
    """
    try:
        found = _HOST.fullmatch(value.decode())
    except UnicodeDecodeError:
        found = None
    if found is None:
        raise BadHost
    if found["address"]:
        try:
            return _plain(ip_address(found["address"]))
        except ValueError:
            raise BadHost from None
    name = found["name"].removesuffix(".")
    try:
        return _plain(ip_address(name))
    except ValueError:
        return _name(name)


def _plain(address: Address) -> Address:
    """``address`` as IPv4, if it is one in the form of IPv6."""
    return (address.version == 6 and address.ipv4_mapped) or address


def _name(text: str) -> str:
    """``text`` as DNS has it.

    :raises BadHost: when it is no name.
    """
    try:
        name = text.lower() if text.isascii() else text.encode("idna").decode().lower()
    except UnicodeError:
        raise BadHost from None
    if len(name) > 253 or not _NAME.fullmatch(name):
        raise BadHost
    return name


@dataclass(frozen=True)
class HostList:
    """Names, ``*.shop.example`` for all names one level below, and addresses or whole networks of them."""

    names: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    def has(self, host: Host) -> bool:
        """Whether ``host`` is in the list."""
        if isinstance(host, str):
            return host in self.names or f"*.{host.partition('.')[2]}" in self.names
        return any(host in network for network in self.networks)


@lru_cache(maxsize=8)
def read_hosts(text: str) -> HostList:
    """The list in ``text``, separated by commas or blanks.

    :raises BadList: when an entry is neither a name nor an address.
    """
    return _list_of(map(read_host, listed(re.sub(r"\s+", ",", text))))


def read_host(text: str) -> str | Network:
    """An entry of such a list.

    :raises BadList: when it is neither a name nor an address.
    """
    bare = text.strip("[]").removesuffix(".")
    with suppress(ValueError):
        return ip_network(bare, strict=False)
    wild = "*." if bare.startswith("*.") else ""
    try:
        return wild + _name(bare.removeprefix(wild))
    except BadHost:
        raise BadList(f"{text} is not a host name") from None


def _list_of(entries: Iterable[str | Network]) -> HostList:
    found = list(entries)
    return HostList(
        frozenset(one for one in found if isinstance(one, str)),
        tuple(one for one in found if not isinstance(one, str)),
    )


class HostNames:
    """Everything that `Host` may say, and what it said in vain.

    :param configured: the list of the configuration.
    :param added: the list of the settings.
    :param certified: the names in the certificate of HTTPS.
    :param seconds: the time.
    :param machine: the machine's own names.
    :param is_own: whether an address is the machine's own.
    """

    log = Logger()

    def __init__(
        self,
        configured: HostList,
        added: Callable[[], str],
        certified: Callable[[], Iterable[str]],
        seconds: Callable[[], float],
        machine: Callable[[], frozenset[str]] | None = None,
        is_own: Callable[[Address], bool] | None = None,
    ) -> None:
        self._configured, self._added, self._certified, self._seconds = configured, added, certified, seconds
        self._machine, self._is_own = machine or machine_names, is_own or is_own_address
        self._read_at, self._own_names = float("-inf"), frozenset[str]()
        self.usual: set[bytes] = set()
        """Values of `Host` that were allowed, so that the next request costs one look."""
        self.refused: dict[str, int] = {}
        """Names that were refused, and how often."""

    def allows(self, value: bytes, here: str) -> bool:
        """Whether a request may name its host ``value``.

        :param here: the address that the caller reached.
        :raises BadHost: when it is no name and no address.
        """
        host = host_of(value)
        if not self._knows(host, here):
            self._count(str(host))
            return False
        if len(self.usual) >= MOST_USUAL:
            self.usual.clear()
        self.usual.add(value)
        return True

    def forget(self) -> None:
        """Judge every name anew: a list or the certificate was replaced."""
        self.usual.clear()
        self.refused = {name: count for name, count in self.refused.items() if not self._knows(_again(name), "")}

    def names(self) -> list[str]:
        """The allowed names and addresses, besides the machine's own addresses."""
        own = self.machine_names() | {"localhost"}
        more = {str(one) for known in self._lists() for one in (*known.names, *known.networks)}
        return [*sorted(own), *sorted(more - own)]

    def _knows(self, host: Host, here: str) -> bool:
        if any(known.has(host) for known in self._lists()):
            return True
        if isinstance(host, str):
            return host == "localhost" or host.endswith(".localhost") or host in self.machine_names()
        return host.is_loopback or host == _address(here) or self._is_own(host)

    def _lists(self) -> Iterator[HostList]:
        yield self._configured
        yield _list_of(_readable(self._added().replace(",", " ").split()))
        yield _list_of(_readable(self._certified()))

    def machine_names(self) -> frozenset[str]:
        """The machine's own names."""
        now = self._seconds()
        if not 0 <= now - self._read_at < FRESH_S:
            self._read_at, self._own_names = now, self._machine()
        return self._own_names

    def _count(self, name: str) -> None:
        if name not in self.refused:
            if len(self.refused) < MOST_REFUSED:
                self.log.warn("refused a request to the unknown name {host}: see allowed_hosts", host=name)
            else:
                del self.refused[min(self.refused, key=self.refused.__getitem__)]
        self.refused[name] = self.refused.get(name, 0) + 1


def _again(name: str) -> Host:
    return host_of(f"[{name}]".encode() if ":" in name else name.encode())


def _readable(names: Iterable[str]) -> Iterator[str | Network]:
    for name in names:
        with suppress(BadList):
            yield read_host(name)


def _address(text: str) -> Address | None:
    try:
        return _plain(ip_address(text.partition("%")[0]))
    except ValueError:
        return None


def is_own_address(address: Address) -> bool:
    """Whether the machine has ``address``: then a socket can be bound to it. Nothing is sent."""
    if address.is_unspecified or address.is_multicast:
        return False
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.bind((str(address), 0))
    except OSError:
        return False
    return True


def machine_names() -> frozenset[str]:
    """The machine's host name, short, as ``.local`` and in the domains of its network, and the names that its hosts
    file gives to its own addresses.

    It asks no name server: that would take time, and its answer would be somebody else's word.
    """
    whole = socket.gethostname()
    short = whole.partition(".")[0]
    found = {whole, short, *(f"{short}.{domain}" for domain in ("local", *_domains()))}
    for address, names in _hosts_file(_text_of(_HOSTS_FILE)).items():
        own = _address(address)
        if len(names) <= MOST_ALIASES and own is not None and (own.is_loopback or is_own_address(own)):
            found |= names
    return frozenset(str(one) for one in _readable(found))


def _hosts_file(text: str) -> dict[str, set[str]]:
    """The names of each address in a hosts file."""
    found: dict[str, set[str]] = {}
    for line in text.splitlines()[:MOST_LINES]:
        address, *names = line.partition("#")[0].split() or [""]
        found.setdefault(address, set()).update(names)
    return found


def _text_of(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(MOST_READ).decode("utf-8", "replace")
    except OSError:
        return ""


if sys.platform == "win32":
    import winreg

    _HOSTS_FILE = Path(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "drivers", "etc", "hosts")

    def _domains() -> list[str]:
        """The domains of the network, as the system knows them."""
        found: list[str] = []
        place = r"SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"
        with suppress(OSError), winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, place) as key:
            for name in ("Domain", "DhcpDomain", "SearchList"):
                with suppress(OSError):
                    found += listed(str(winreg.QueryValueEx(key, name)[0]))
        return found

else:
    _HOSTS_FILE = Path("/etc/hosts")

    def _domains() -> list[str]:
        """The domains of the network, as the system knows them."""
        lines = (line.split() for line in _text_of(Path("/etc/resolv.conf")).splitlines()[:MOST_LINES])
        return [domain for words in lines if words and words[0] in ("domain", "search") for domain in words[1:]]
