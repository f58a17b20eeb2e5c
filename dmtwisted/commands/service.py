"""``dmtwisted service``: install, start, stop and remove the Windows service (docs/windows.md)."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from http.client import HTTPException
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from twisted.python.usage import UsageError

from dmtwisted.commands.console import complain
from dmtwisted.commands.options import CommandOptions, Group
from dmtwisted.config import Config
from dmtwisted.doctor.port import Service

GIVEN = "DMTWISTED_SETUP"
"""The environment variable with the command line of the installer: its quotes survive there."""

SETUP_LOG = "setup.log"
"""What the installer did, in its folder, which is two above our interpreter."""

ELSEWHERE = "this command is for Windows", "On Linux systemd runs the service: systemctl status dmtwisted"


class InstallOptions(CommandOptions):
    """``dmtwisted service install``"""

    longdesc = "Install or update the Windows service. Requires an administrator."
    optParameters: ClassVar = [
        [
            "config",
            "c",
            None,
            "The configuration file; by default the former one, or a new one in %ProgramData%\\dmtwisted.",
            Path,
        ]
    ]
    optFlags: ClassVar = [["manual", None, "Do not start the service with Windows."]]


class ShowOptions(CommandOptions):
    """``dmtwisted service show``"""

    synopsis = "page|doctor|log"
    longdesc = "Open the first page in the browser, or the checks or the log as an administrator."

    def parseArgs(self, *words: str) -> None:
        """Take what to show."""
        if words not in {("page",), ("doctor",), ("log",)}:
            raise UsageError("page, doctor or log is expected")
        self["what"] = words[0]


class ServiceOptions(Group):
    """``dmtwisted service``"""

    subCommands: ClassVar[list[Any]] = [
        ["install", None, InstallOptions, "Install or update the service."],
        ["remove", None, CommandOptions, "Stop and remove the service; its data stays."],
        ["start", None, CommandOptions, "Start the service and wait until it accepts requests."],
        ["stop", None, CommandOptions, "Stop the service and wait until it has ended."],
        ["status", None, CommandOptions, "Show the state of the service; exit status 3 when it does not run."],
        ["show", None, ShowOptions, "Open the first page, the checks or the log."],
        ["setup", None, CommandOptions, "For the installer: install or upgrade, start, or go back."],
        ["uninstall", None, CommandOptions, "For the uninstaller: stop and remove the service."],
    ]


def run(options: ServiceOptions, platform: str = sys.platform) -> int:
    """Run the sub-command; 1 after one line that says why it failed."""
    if platform != "win32":
        complain(*ELSEWHERE)
        return 1
    from dmtwisted.windows import control, setup  # for Windows only

    wanted = options.subOptions
    commands: dict[str, Callable[[], list[str] | int]] = {
        "install": lambda: control.install(wanted["config"], manual=bool(wanted["manual"])),
        "remove": control.remove,
        "start": control.start,
        "stop": control.stop,
        "status": lambda: _state(*control.status()),
        "show": lambda: control.show(wanted["what"]),
        "setup": lambda: setup.Setup(not_ready, _logged).install(os.environ.get(GIVEN, "")),
        "uninstall": lambda: setup.Setup(not_ready, print).uninstall(os.environ.get(GIVEN, "")),
    }
    try:
        import_module("pywintypes")
        done = commands[str(options.subCommand)]()
    except (control.ControlFailed, ImportError) as error:
        if isinstance(error, ImportError):
            complain("pywin32 is missing", "Install it: pip install pywin32")
        else:
            complain(str(error))
        return 1
    if isinstance(done, int):
        return done
    for line in done:
        print(line)
    return 0


def not_ready(config: Config) -> str:
    """Why the service with this configuration is not ready; empty when it is, or when its port is any free one."""
    if not config.server.port:
        return ""
    service = Service(config)
    try:
        answer = service.ask("GET", "/health/ready")
    except (OSError, HTTPException) as error:
        return f"{service.where}: {error or type(error).__name__}"
    return "" if answer.status == 200 else f"{service.where}: {answer.body}"


def _state(runs: bool, words: str) -> int:
    print(words)
    return 0 if runs else 3


def _logged(line: str) -> None:
    print(line, flush=True)
    with (Path(sys.prefix).parents[1] / SETUP_LOG).open("a", encoding="utf-8") as log:
        log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")
