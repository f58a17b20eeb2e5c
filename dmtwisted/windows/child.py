"""One life of the service as a child process: `dmtwisted run --until-input-ends`, watched by its output."""

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
"""Last lines of its output that are kept."""

CREATION: int = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
"""On Windows: no window, and out of reach of whoever presses Ctrl+C in ours."""

Group = Callable[[Any], Callable[[], None]]
"""Takes a process into a group of its own with all its children to come; gives what ends them all."""


class ServiceChild:
    """The service; what it writes is read to its end, or it would wait for a reader one day.

    :param group: where the system can end a process with its children.
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
        # Its own first child comes a second later: it has to load all of us before.
        self._end_all = self._process.kill if group is None else group(self._process)
        self._reader = Thread(target=self._read, name="service-output", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Its process."""
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
        """Its exit status; `None` while it lives."""
        return self._process.poll()

    def last_words(self) -> str:
        """Why it does not start, or the last line that it wrote."""
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
        """End it at once, with its children."""
        with suppress(OSError):
            self._end_all()

    def forget(self) -> None:
        """Close what is left of its pipes; the reader ends with the last process that can write."""
        self.ask_to_stop()
        if self.status() is None:
            self.end()


def command_of(python: str, config: str, extra: Sequence[str] = ()) -> list[str]:
    """The command line of the service.

    :param python: the interpreter; in a service of Windows `sys.executable` is the program that hosts it.
    :param config: its configuration file.
    """
    run = ["-m", "dmtwisted.commands.main", "run", "--until-input-ends", "--config", config]
    return [python or sys.executable, "-X", "utf8", *run, *extra]
