"""What commands write for people: colour where a terminal shows it, and errors in two lines."""

from __future__ import annotations

import os
import sys
from typing import TextIO

RED, GREEN, YELLOW = 31, 32, 33

DONE, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130
"""Exit statuses (docs/operating.md#the-command-line)."""


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at ``stream`` on a terminal that can draw over a line."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def in_colour(stream: TextIO) -> bool:
    """Whether ``stream`` gets colours: on a terminal, unless the environment says otherwise."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") != "0":
        return True
    return is_terminal(stream) and _knows_colours(stream)


if sys.platform == "win32":
    import ctypes
    import msvcrt

    ANSI = 4

    def _knows_colours(stream: TextIO) -> bool:
        """Switch the console to the usual codes; an old one does not know them."""
        kernel, mode = ctypes.windll.kernel32, ctypes.c_ulong()
        try:
            handle = ctypes.c_void_p(msvcrt.get_osfhandle(stream.fileno()))
        except OSError:
            return False
        return bool(
            kernel.GetConsoleMode(handle, ctypes.byref(mode)) and kernel.SetConsoleMode(handle, mode.value | ANSI)
        )

else:

    def _knows_colours(stream: TextIO) -> bool:
        return True


def coloured(text: str, colour: int, stream: TextIO) -> str:
    """``text`` as ``stream`` shows it."""
    return f"\x1b[{colour}m{text}\x1b[0m" if text and in_colour(stream) else text


def complain(why: str, advice: str = "", command: str = "dmtwisted") -> None:
    """Say what is wrong, and in a second line what to do."""
    print(f"{command}: {coloured(why, RED, sys.stderr)}", file=sys.stderr)
    if advice:
        print(f"  {advice}", file=sys.stderr)
    sys.stderr.flush()
