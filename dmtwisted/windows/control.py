"""Installing the service on Windows, and what else an administrator does with it.

==============  ===============================================================================================
step            what it does
==============  ===============================================================================================
account         ``NT SERVICE\\dmtwisted``, which Windows makes with the service: no password, no rights but its own
data            a folder that SYSTEM, administrators and that account alone can open
configuration   a file with that folder and a log in it, unless there is one
service         begins with Windows, a little after what has to be there first
recovery        begins again after 1, 5 and 15 minutes when it gave up; forgotten after a day
event log       a source with the name of the service, so that its entries can be read
==============  ===============================================================================================

Every step can be done again: installing over an older version changes what is there and keeps the data.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PureWindowsPath
from typing import Any

from dmtwisted.system.supervisor import STOP_PATIENCE
from dmtwisted.windows.service import CONFIG, DESCRIPTION, NAME, PYTHON, TITLE, DmtwistedService

ACCOUNT = f"NT SERVICE\\{NAME}"
"""The account of the service; its name is the same in every language of Windows."""

SYSTEM, ADMINISTRATORS = "*S-1-5-18", "*S-1-5-32-544"
"""Accounts by their numbers, for their names are translated."""

CLASS = f"{DmtwistedService.__module__}.{DmtwistedService.__name__}"

RECOVERY_MS = (60_000, 300_000, 900_000)
"""Pauses of Windows' own restarts, after the first failure, the second one, and all others."""

FORGET_S = 86_400
"""Seconds without a failure after which Windows counts anew."""

DOES_NOT_EXIST, EXISTS, NOT_ACTIVE, ALREADY_RUNNING, DENIED = 1060, 1073, 1062, 1056, 5
"""Windows' numbers for what may be in the way."""

FIRST_CONFIG = """\
# {title}. Every key: docs/configuration.md
[service]
state = {state}

[log]
file = {log}
"""

Execute = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]
"""Runs a program of Windows to its end."""


class ControlFailed(Exception):
    """It cannot be done; the text is one line for whoever asked."""


def data_folder() -> Path:
    """Where programs keep what is common to all users."""
    return Path(os.environ.get("PROGRAMDATA", r"C:\ProgramData")) / NAME


def execute(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a program of Windows."""
    return subprocess.run(list(command), capture_output=True, text=True, errors="replace", check=False)


def install(
    config: Path | None = None, *, manual: bool = False, folder: Path | None = None, run: Execute = execute
) -> list[str]:
    """Install the service, or change what is installed; what was done, and what is left to do.

    :param config: its configuration; one is made in the data folder when absent.
    :param manual: begin only when somebody says so.
    :raises ControlFailed: when it cannot be done.
    """
    _expect_common(sys.prefix)
    folder = data_folder() if folder is None else folder
    done: list[str] = []
    with _explained():
        config = _configuration(folder, done) if config is None else config.absolute()
        if not config.is_file():
            raise ControlFailed(f"there is no file {config}")
        _service(config, manual, done)
        # The account is there only when the service is.
        _protect(folder, run)
        done.append(f"{folder} belongs to {ACCOUNT}, administrators and the system")
        _event_source()
    done.append(f"begin: {NAME} service start; look: {NAME} doctor --config {config}")
    done.append(firewall_hint(_port(config)))
    return done


def remove() -> list[str]:
    """Stop and remove the service; its data stay.

    :raises ControlFailed: when it cannot be done.
    """
    import win32serviceutil

    with _explained():
        try:
            stop()
        except ControlFailed as error:
            if NOT_THERE in str(error):
                raise
        # Takes the source of the event log along.
        win32serviceutil.RemoveService(NAME)
    return [f"the service is removed; the data stay in {data_folder()}: they are receipts, so delete them by hand"]


def start(patience: int = 120) -> list[str]:
    """Start the service and wait until it serves.

    :raises ControlFailed: when it does not.
    """
    import win32service
    import win32serviceutil

    with _explained(ALREADY_RUNNING):
        win32serviceutil.StartService(NAME)
    with _explained():
        win32serviceutil.WaitForServiceStatus(NAME, win32service.SERVICE_RUNNING, patience)
    return ["the service takes requests"]


def stop(patience: int = int(STOP_PATIENCE) + 15) -> list[str]:
    """Stop the service and wait until it has ended.

    :raises ControlFailed: when it does not.
    """
    import win32service
    import win32serviceutil

    with _explained(NOT_ACTIVE):
        win32serviceutil.StopService(NAME)
    with _explained():
        win32serviceutil.WaitForServiceStatus(NAME, win32service.SERVICE_STOPPED, patience)
    return ["the service has stopped"]


def status() -> tuple[bool, str]:
    """Whether the service runs, and that in words.

    :raises ControlFailed: when it cannot be told.
    """
    import win32service
    import win32serviceutil

    with _explained():
        # The type comes first, then the state.
        now = win32serviceutil.QueryServiceStatus(NAME)[1]
    words = {
        win32service.SERVICE_STOPPED: "stopped",
        win32service.SERVICE_START_PENDING: "starting",
        win32service.SERVICE_STOP_PENDING: "stopping",
        win32service.SERVICE_RUNNING: "running",
    }
    return now == win32service.SERVICE_RUNNING, words.get(now, f"in state {now}")


def firewall_hint(port: int) -> str:
    """How tills on other computers get through; not done by itself, for most tills are on this one."""
    rule = f'name="{NAME}" dir=in action=allow protocol=TCP localport={port} profile=private,domain'
    return f"tills on other computers: netsh advfirewall firewall add rule {rule}"


NOT_THERE = "the service is not installed"

_WORDS = {
    DENIED: "this needs an administrator: open the command prompt by 'Run as administrator'",
    DOES_NOT_EXIST: f"{NOT_THERE}: {NAME} service install",
    1053: f"the service did not answer in time; see the event log (eventvwr, Application, source {NAME})",
    1072: "the service is being removed; close the window 'Services' and try again",
}


@contextmanager
def _explained(*fine: int) -> Iterator[None]:
    import pywintypes

    try:
        yield
    except pywintypes.error as error:
        if error.winerror not in fine:
            words = _WORDS.get(error.winerror, f"{error.funcname}: {error.strerror} ({error.winerror})")
            raise ControlFailed(words) from None
    except OSError as error:
        raise ControlFailed(f"{error.filename or 'a file'}: {error.strerror or error}") from None


def _expect_common(prefix: str) -> None:
    """Refuse a Python that the service's account cannot read: one that is installed for a single user.

    :raises ControlFailed: for such a one.
    """
    home = os.environ.get("USERPROFILE")
    if home and PureWindowsPath(prefix).is_relative_to(PureWindowsPath(home)):
        raise ControlFailed(
            f"Python lies in {prefix}, which only you can read; the service has an account of its own."
            rf" Make the environment elsewhere, such as C:\Program Files\{NAME}, by a Python for all users"
        )


def _configuration(folder: Path, done: list[str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / f"{NAME}.toml"
    if not config.exists():
        # TOML's quotes without escapes, for backslashes.
        state, log = (f"'{folder / name}'" for name in ("data", f"{NAME}.log"))
        config.write_text(FIRST_CONFIG.format(title=TITLE, state=state, log=log), "utf-8")
        done.append(f"{config} is made: look at it before the first start")
    return config


def _service(config: Path, manual: bool, done: list[str]) -> None:
    import pywintypes
    import win32service
    import win32serviceutil

    begins = win32service.SERVICE_DEMAND_START if manual else win32service.SERVICE_AUTO_START
    common: dict[str, Any] = {
        "startType": begins,
        "description": DESCRIPTION,
        "delayedstart": not manual,
        "userName": ACCOUNT,
        "password": "",
    }
    try:
        win32serviceutil.InstallService(CLASS, NAME, TITLE, **common)
        done.append("the service is installed")
    except pywintypes.error as error:
        if error.winerror != EXISTS:
            raise
        win32serviceutil.ChangeServiceConfig(CLASS, NAME, displayName=TITLE, **common)
        done.append("the service was there and is brought up to date")
    win32serviceutil.SetServiceCustomOption(NAME, PYTHON, sys.executable)
    win32serviceutil.SetServiceCustomOption(NAME, CONFIG, str(config))
    _recovery()


def _recovery() -> None:
    """What Windows does when we gave up: begin again, later and later."""
    import win32service

    manager = win32service.OpenSCManager(None, None, win32service.SC_MANAGER_ALL_ACCESS)
    try:
        handle = win32service.OpenService(manager, NAME, win32service.SERVICE_ALL_ACCESS)
        try:
            actions = tuple((win32service.SC_ACTION_RESTART, pause) for pause in RECOVERY_MS)
            failure = {"ResetPeriod": FORGET_S, "RebootMsg": "", "Command": "", "Actions": actions}
            for level, info in (
                (win32service.SERVICE_CONFIG_FAILURE_ACTIONS, failure),
                # Giving up is an orderly end with an error, and counts too.
                (win32service.SERVICE_CONFIG_FAILURE_ACTIONS_FLAG, True),
                (win32service.SERVICE_CONFIG_PRESHUTDOWN_INFO, int(STOP_PATIENCE + 15) * 1000),
            ):
                win32service.ChangeServiceConfig2(handle, level, info)
        finally:
            win32service.CloseServiceHandle(handle)
    finally:
        win32service.CloseServiceHandle(manager)


def _protect(folder: Path, run: Execute) -> None:
    """Keys and receipts are for the service and administrators alone.

    :raises ControlFailed: when Windows refuses.
    """
    folder.mkdir(parents=True, exist_ok=True)
    grants = [f"{who}:(OI)(CI)F" for who in (SYSTEM, ADMINISTRATORS, ACCOUNT)]
    command = ["icacls", str(folder), "/inheritance:r", "/grant:r", *grants, "/T", "/Q"]
    ended = run(command)
    if ended.returncode:
        raise ControlFailed(f"icacls {folder}: {(ended.stderr or ended.stdout).strip() or ended.returncode}")


def _event_source() -> None:
    import win32evtlogutil

    win32evtlogutil.AddSourceToRegistry(NAME)


def _port(config: Path) -> int:
    from dmtwisted.config import load

    return load(config).server.port
