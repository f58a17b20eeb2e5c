"""The service as a child process: `dmtwisted run --until-input-ends`, watched by its output."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import Any

from dmtwisted.system.supervised import COMPLAINT, SERVING

KEPT = 20
"""Number of last output lines that are kept."""

CREATION: int = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
"""On Windows: no window, and no Ctrl+C from ours."""

Group = Callable[[Any], Callable[[], None]]
"""Puts a process into its own group with all its later children; returns the function that kills them all."""


class ServiceChild:
    """The service; its output is read to the end, because a full pipe would block it.

    :param group: puts it into a group, where the system can.
    :raises OSError: when it cannot be started.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str], group: Group | None = None) -> None:
        self.serving = False
        self._lines: deque[str] = deque(maxlen=KEPT)
        self._complaint = ""
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(env),
            encoding="utf-8",
            errors="replace",
            creationflags=CREATION,
        )
        # It starts its own first child a second later, after loading its modules.
        self._end_all = self._process.kill if group is None else group(self._process)
        self._reader = Thread(target=self._read, name="service-output", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def _read(self) -> None:
        assert self._process.stdout is not None
        with suppress(ValueError, OSError):
            for line in self._process.stdout:
                text = line.rstrip()
                if text == SERVING:
                    self.serving = True
                elif text:
                    self._lines.append(text)
                    if text.startswith(COMPLAINT):
                        self._complaint = text.removeprefix(COMPLAINT)

    def status(self) -> int | None:
        """Its exit status; `None` while it runs."""
        return self._process.poll()

    def last_words(self) -> str:
        """The reason why it does not start, or the last line of its output."""
        if self.status() is not None:
            # The last line may still be in the pipe.
            self._reader.join(1)
        return self._complaint or (self._lines[-1] if self._lines else "")

    def ask_to_stop(self) -> None:
        """Close its input."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def end(self) -> None:
        """Kill it with its children."""
        with suppress(OSError):
            self._end_all()

    def forget(self) -> None:
        """Close its pipes; the reader ends with the last process that can write."""
        self.ask_to_stop()
        if self.status() is None:
            self.end()


def command_of(python: str, config: str, extra: Sequence[str] = ()) -> list[str]:
    """The command line of the service.

    :param python: the interpreter; in a Windows service `sys.executable` is the hosting program.
    :param config: its configuration file.
    """
    run = ["-m", "dmtwisted.commands.main", "run", "--until-input-ends", "--config", config]
    return [python or sys.executable, "-X", "utf8", *run, *extra]
