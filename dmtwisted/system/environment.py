"""The environment of child processes."""

from __future__ import annotations

import os
import sys


def environment() -> dict[str, str]:
    """Our environment with UTF-8 output and the same import path, without the folder in which a child is started.

    That folder may hold another version of this program.
    """
    path = os.pathsep.join(path for path in sys.path if path)
    return {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1", "PYTHONUTF8": "1"}
