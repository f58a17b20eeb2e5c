"""Libraries that are loaded at first use: a service that does not need them starts faster and uses less memory."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """A module that is imported when an attribute of it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
