"""A limit for login tries: a few at once, then slowly, for each address and for all together."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

from twisted.internet.interfaces import IReactorTime


@dataclass(frozen=True)
class Allowance:
    """A number of tries at once, and one more every ``every_s`` seconds."""

    tries: int
    every_s: float


EACH = Allowance(tries=5, every_s=30.0)
"""The limit for one address."""

ALL = Allowance(tries=50, every_s=3.0)
"""The limit for all addresses of the network together, so that many addresses help an attacker little."""


class Throttle:
    """Counts tries by address; a correct try is given back.

    This machine has only its own limit, so that its user can log in during an attack from the network.
    """

    def __init__(self, clock: IReactorTime, each: Allowance = EACH, together: Allowance = ALL) -> None:
        self._clock, self._each, self._together = clock, each, together
        # When an address has its whole allowance again.
        self._whole: dict[str, float] = {}
        self._whole_together = 0.0

    def take(self, address: str) -> float:
        """Count a try from ``address``: 0 when it is allowed, else the seconds until the next one is."""
        now = self._clock.seconds()
        self._forget(now)
        who = group_of(address)
        own = _limited(self._whole.get(who, now), now, self._each)
        together = _limited(self._whole_together, now, self._together)
        wait = _wait(own, now, self._each)
        if who != THIS_MACHINE:
            wait = max(wait, _wait(together, now, self._together))
        if wait > 0:
            return wait
        self._whole[who] = own + self._each.every_s
        if who != THIS_MACHINE:
            self._whole_together = together + self._together.every_s
        return 0.0

    def give_back(self, address: str) -> None:
        """Give back the last try from ``address``, which was correct."""
        who = group_of(address)
        self._whole.pop(who, None)
        if who != THIS_MACHINE:
            self._whole_together -= self._together.every_s

    def _forget(self, now: float) -> None:
        """Forget addresses with their whole allowance; so the number of stored addresses is limited."""
        for who in [who for who, whole in self._whole.items() if whole <= now]:
            del self._whole[who]


THIS_MACHINE = "this machine"
"""All loopback addresses together."""


def group_of(address: str) -> str:
    """What counts as one address: this machine, an IPv4 address, or the /64 network of an IPv6 subscriber."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if ip.version == 6 and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    if ip.is_loopback:
        return THIS_MACHINE
    return str(ip) if ip.version == 4 else ip.exploded[:19]


def _limited(whole: float, now: float, allowance: Allowance) -> float:
    """The moment, limited to the allowance, for when the machine's clock was set back."""
    return min(max(whole, now), now + allowance.tries * allowance.every_s)


def _wait(whole: float, now: float, allowance: Allowance) -> float:
    return max(0.0, whole + allowance.every_s - now - allowance.tries * allowance.every_s)
