"""The standard streams take every text, whatever the code page of the system."""

from __future__ import annotations

from io import TextIOWrapper
from typing import TextIO


def take_any_letter(*streams: TextIO | None) -> None:
    """Let these streams take every text. A console does; a pipe or a file has the code page of the system.

    Where that page has no Ukrainian letters they become UTF-8; else single letters that it lacks are escaped.
    """
    for stream in streams:
        if isinstance(stream, TextIOWrapper):
            try:
                "їґ".encode(stream.encoding)
            except UnicodeEncodeError:
                stream.reconfigure(encoding="utf-8")
            stream.reconfigure(errors="backslashreplace")
