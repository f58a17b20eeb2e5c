"""How often somebody may guess: a few times at once, then slowly, for each address and for all together."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

from twisted.internet.interfaces import IReactorTime


@dataclass(frozen=True)
class Allowance:
    """So many tries at once, and one more each time that so many seconds have passed."""

    tries: int
    every_s: float


EACH = Allowance(tries=5, every_s=30.0)
"""What one address may try."""

ALL = Allowance(tries=50, every_s=3.0)
"""What all addresses of the network may try together: a guesser with many addresses gains little."""


class Throttle:
    """Counts tries by address; a try that was right is given back.

    This machine itself has only its own allowance: whoever sits at it can log in while the network guesses.
    """

    def __init__(self, clock: IReactorTime, each: Allowance = EACH, together: Allowance = ALL) -> None:
        self._clock, self._each, self._together = clock, each, together
        # The moment at which an address has its whole allowance again.
        self._whole: dict[str, float] = {}
        self._whole_together = 0.0

    def take(self, address: str) -> float:
        """Count a try from ``address``: 0 when it may be made, else the seconds until one may be made."""
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
        """The last try from ``address`` was right: whoever knows the password has guessed nothing."""
        who = group_of(address)
        self._whole.pop(who, None)
        if who != THIS_MACHINE:
            self._whole_together -= self._together.every_s

    def _forget(self, now: float) -> None:
        """Drop whoever has the whole allowance again; so no more are kept than all may try together."""
        for who in [who for who, whole in self._whole.items() if whole <= now]:
            del self._whole[who]


THIS_MACHINE = "this machine"
"""All loopback addresses together."""


def group_of(address: str) -> str:
    """Who counts as one: this machine, an IPv4 address, or the /64 network that one IPv6 subscriber has."""
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
    """The moment within what the allowance can mean, though the machine's clock was set back."""
    return min(max(whole, now), now + allowance.tries * allowance.every_s)


def _wait(whole: float, now: float, allowance: Allowance) -> float:
    return max(0.0, whole + allowance.every_s - now - allowance.tries * allowance.every_s)
