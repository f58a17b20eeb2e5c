"""Every target by its name; a module of targets is loaded only when one of them is needed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from tests.fuzz.target import Target

MODULES = ("terminals", "registers", "printers", "fiscal", "cabinet", "crypto", "rooms", "simulators")


def in_module(module: str) -> tuple[Target, ...]:
    """The targets of one module."""
    found: tuple[Target, ...] = import_module(f"tests.fuzz.{module}").TARGETS
    return found


def every() -> Iterator[tuple[str, Target]]:
    """Each target with its module."""
    for module in MODULES:
        for target in in_module(module):
            yield module, target


def named(name: str) -> Target:
    """The target with that name, ``module/name`` or the name alone.

    :raises LookupError: when there is none.
    """
    module, _, bare = name.rpartition("/")
    for other in (module,) if module else MODULES:
        for target in in_module(other):
            if target.name == bare:
                return target
    raise LookupError(f"there is no target {name}")
