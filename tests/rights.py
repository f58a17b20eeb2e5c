"""The rights of a file as `stat` tells them: Windows tells whether it may be written, and no more."""

from __future__ import annotations

import sys

OWNER_ONLY = 0o666 if sys.platform == "win32" else 0o600
"""A file for its owner alone; on Windows the folder's rights keep others out."""
