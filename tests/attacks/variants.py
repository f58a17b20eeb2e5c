"""The declaration of an attack: what is sent, what must be true, how bad it would be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """What the attacker would have if the attempt succeeded."""

    CRITICAL = "critical"
    """Keys, the database, or the shop's signature."""
    HIGH = "high"
    """Sales stop, money or documents are wrong, or secrets leave."""
    MEDIUM = "medium"
    """Others read or change what is not theirs."""
    LOW = "low"
    """A clue, or a nuisance."""


CRITICAL, HIGH, MEDIUM, LOW = Severity


class Stage(StrEnum):
    """What a variant is tried on. Only those of the first group exist in memory and as a process."""

    OPEN = "a new service"
    LOGIN = "a service with a login"
    HARDENED = "a service with the hardened profile"

    MEMORY = "a new service in memory, with the clock and the addresses in our hands"
    MEMORY_LOGIN = "a service with a login, in memory"
    MEMORY_HARDENED = "a service with the hardened profile, in memory"
    PRODUCTION = "a new service that is not in training, in memory"
    PROCESS = "a process that is used for nothing else"
    BROWSER = "a service and a browser"
    ALONE = "parts of the service, put together by the variant"


@dataclass(frozen=True)
class Variant:
    """One attempt. ``attempt`` gets the stage and raises when the expectation is not met.

    :param openness: the sentence of the specification that demands what the attacker gets, for an accepted risk.
    :param quick: whether it is part of the suite.
    """

    family: str
    name: str
    sends: str
    expects: str
    severity: Severity
    stage: Stage
    attempt: Callable[[Any], None] = field(repr=False)
    openness: str = ""
    quick: bool = True

    @property
    def id(self) -> str:
        """Its name among all."""
        return f"{self.family}.{self.name}"


class Family:
    """A class of attacks; ``title`` is its row in the table."""

    def __init__(self, name: str, title: str) -> None:
        self.name, self.title = name, title
        self.variants: dict[str, Variant] = {}

    def each(
        self,
        rows: Mapping[str, tuple[Any, ...]],
        expects: str,
        severity: Severity,
        stage: Stage = Stage.OPEN,
        openness: str = "",
        quick: bool = True,
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Declare a variant for each row: what is sent, in words, then what the attempt gets besides the stage.

        :param expects: one sentence; ``{0}``, ``{1}`` … stand for the row's values.
        """

        def declare(attempt: Callable[..., None]) -> Callable[..., None]:
            for name, (sends, *values) in rows.items():
                made = Variant(
                    self.name,
                    name,
                    sends,
                    expects.format(*values),
                    severity,
                    stage,
                    _bound(attempt, values),
                    openness,
                    quick,
                )
                assert name not in self.variants, made.id
                self.variants[name] = made
            return attempt

        return declare

    def one(
        self, name: str, sends: str, expects: str, severity: Severity, stage: Stage = Stage.OPEN, **more: Any
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Declare a single variant."""
        return self.each({name: (sends,)}, expects, severity, stage, **more)

    def __iter__(self) -> Iterator[Variant]:
        return iter(self.variants.values())


def _bound(attempt: Callable[..., None], values: Sequence[Any]) -> Callable[[Any], None]:
    return lambda desk: attempt(desk, *values)
