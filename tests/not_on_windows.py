"""Tests that the Windows Python under Wine does not run, each with its reason: a module, a class or a test a line."""

from __future__ import annotations

EXCLUDED: dict[str, str] = {
    "windows": "these drive Wine from Linux",
}
"""Names without ``tests.`` in front."""


def reason(test: str) -> str:
    """Why the test with this id, or what it is in, is excluded; empty if it is not."""
    parts = test.removeprefix("tests.").split(".")
    names = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return next((EXCLUDED[name] for name in names if name in EXCLUDED), "")
