"""The environment of child processes."""

from __future__ import annotations

import os
import sys


def environment() -> dict[str, str]:
    """Our environment with the same import path and UTF-8 output."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONUTF8": "1"}
