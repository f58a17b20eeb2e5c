"""The environment of our child processes."""

from __future__ import annotations

import os
import sys


def environment() -> dict[str, str]:
    """Ours, with the import path as it is here: the child finds the same code, and writes UTF-8."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONUTF8": "1"}
