"""Installing, starting, stopping and removing the service on Windows.

==============  ===============================================================================================
step            what it does
==============  ===============================================================================================
account         ``NT SERVICE\\dmtwisted``, which Windows creates with the service: no password, few rights
data            a folder that only SYSTEM, administrators and that account can open
configuration   a file with that folder and a log in it, unless it exists
service         starts with Windows, a little after the services that it needs
recovery        restarts after 1, 5 and 15 minutes when it gave up; the count is reset after a day
event log       a source with the name of the service, so that its entries are readable
==============  ===============================================================================================

Every step can be repeated: installing over an older version updates it and keeps the data.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PureWindowsPath
from typing import Any

from dmtwisted.config import load
from dmtwisted.system.files import describe_error
from dmtwisted.system.supervisor import STOP_PATIENCE
from dmtwisted.windows.service import CONFIG, DESCRIPTION, NAME, PYTHON, TITLE, DmtwistedService

with suppress(ImportError):  # elsewhere this module can be imported, and no more
    import pywintypes
    import win32evtlogutil
    import win32service
    import win32serviceutil

ACCOUNT = f"NT SERVICE\\{NAME}"
"""The account of the service, with the same name in every language of Windows."""

SYSTEM, ADMINISTRATORS = "*S-1-5-18", "*S-1-5-32-544"
"""Accounts by their numbers, because their names are translated."""

CLASS = f"{DmtwistedService.__module__}.{DmtwistedService.__name__}"

RECOVERY_MS = (60_000, 300_000, 900_000)
"""Pauses before Windows' own restarts, after the first failure, the second and all others."""

FORGET_S = 86_400
"""Seconds without a failure after which Windows resets the count."""

DOES_NOT_EXIST, EXISTS, NOT_ACTIVE, ALREADY_RUNNING, DENIED = 1060, 1073, 1062, 1056, 5
"""Windows' error numbers."""

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
    """It failed; the text is one line for the user."""


def data_folder() -> Path:
    """The folder for the data of all users."""
    return Path(os.environ.get("PROGRAMDATA", r"C:\ProgramData")) / NAME


def execute(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a program of Windows."""
    return subprocess.run(list(command), capture_output=True, text=True, errors="replace", check=False)


def install(
    config: Path | None = None, *, manual: bool = False, folder: Path | None = None, run: Execute = execute
) -> list[str]:
    """Install or update the service; what was done, and what to do next, as lines.

    :param config: its configuration; by default one is created in the data folder.
    :param manual: do not start with Windows.
    :raises ControlFailed: when it fails.
    """
    _expect_common(sys.prefix)
    folder = data_folder() if folder is None else folder
    done: list[str] = []
    with _explained():
        config = _configuration(folder, done) if config is None else config.absolute()
        if not config.is_file():
            raise ControlFailed(f"there is no file {config}")
        _service(config, manual, done)
        # The account exists only with the service.
        _protect(folder, run)
        done.append(f"{folder} belongs to {ACCOUNT}, administrators and the system")
        win32evtlogutil.AddSourceToRegistry(NAME)
    done.append(f"start: {NAME} service start; check: {NAME} doctor --config {config}")
    done.append(firewall_hint(load(config).server.port))
    return done


def remove() -> list[str]:
    """Stop and remove the service; its data stays.

    :raises ControlFailed: when it fails.
    """

    with _explained():
        try:
            stop()
        except ControlFailed as error:
            if NOT_THERE in str(error):
                raise
        # This removes the source of the event log too.
        win32serviceutil.RemoveService(NAME)
    return [f"the service is removed; its data stays in {data_folder()}: delete the receipts there by hand"]


def start(patience: int = 120) -> list[str]:
    """Start the service and wait until it accepts requests.

    :raises ControlFailed: when it does not.
    """

    with _explained(ALREADY_RUNNING):
        win32serviceutil.StartService(NAME)
    with _explained():
        win32serviceutil.WaitForServiceStatus(NAME, win32service.SERVICE_RUNNING, patience)
    return ["the service accepts requests"]


def stop(patience: int = int(STOP_PATIENCE) + 15) -> list[str]:
    """Stop the service and wait until it has ended.

    :raises ControlFailed: when it does not.
    """

    with _explained(NOT_ACTIVE):
        win32serviceutil.StopService(NAME)
    with _explained():
        win32serviceutil.WaitForServiceStatus(NAME, win32service.SERVICE_STOPPED, patience)
    return ["the service has stopped"]


def status() -> tuple[bool, str]:
    """Whether the service runs, and its state in words.

    :raises ControlFailed: when it is unknown.
    """

    with _explained():
        # The type is first, then the state.
        now = win32serviceutil.QueryServiceStatus(NAME)[1]
    words = {
        win32service.SERVICE_STOPPED: "stopped",
        win32service.SERVICE_START_PENDING: "starting",
        win32service.SERVICE_STOP_PENDING: "stopping",
        win32service.SERVICE_RUNNING: "running",
    }
    return now == win32service.SERVICE_RUNNING, words.get(now, f"in state {now}")


def firewall_hint(port: int) -> str:
    """The command that lets tills on other computers connect; not run by itself, since most tills are on this one."""
    rule = f'name="{NAME}" dir=in action=allow protocol=TCP localport={port} profile=private,domain'
    return f"tills on other computers: netsh advfirewall firewall add rule {rule}"


NOT_THERE = "the service is not installed"

_WORDS = {
    DENIED: "this requires an administrator: open the command prompt with 'Run as administrator'",
    DOES_NOT_EXIST: f"{NOT_THERE}: {NAME} service install",
    1053: f"the service did not answer in time; see the event log (eventvwr, Application, source {NAME})",
    1072: "the service is being removed; close the window 'Services' and try again",
}


@contextmanager
def _explained(*fine: int) -> Iterator[None]:

    try:
        yield
    except pywintypes.error as error:
        if error.winerror not in fine:
            words = _WORDS.get(error.winerror, f"{error.funcname}: {error.strerror} ({error.winerror})")
            raise ControlFailed(words) from None
    except OSError as error:
        raise ControlFailed(describe_error(error)) from None


def _expect_common(prefix: str) -> None:
    """Refuse a Python that is installed for a single user: the service's account cannot read it.

    :raises ControlFailed: for such a Python.
    """
    home = os.environ.get("USERPROFILE")
    if home and PureWindowsPath(prefix).is_relative_to(PureWindowsPath(home)):
        raise ControlFailed(
            f"Python is in {prefix}, which only you can read; the service has its own account."
            rf" Create the environment elsewhere, such as C:\Program Files\{NAME}, by a Python for all users"
        )


def _configuration(folder: Path, done: list[str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / f"{NAME}.toml"
    if not config.exists():
        # TOML's quotes without escapes, for backslashes.
        state, log = (f"'{folder / name}'" for name in ("data", f"{NAME}.log"))
        config.write_text(FIRST_CONFIG.format(title=TITLE, state=state, log=log), "utf-8")
        done.append(f"{config} is created: check it before the first start")
    return config


def _service(config: Path, manual: bool, done: list[str]) -> None:

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
        done.append("the service existed and is updated")
    win32serviceutil.SetServiceCustomOption(NAME, PYTHON, sys.executable)
    win32serviceutil.SetServiceCustomOption(NAME, CONFIG, str(config))
    _recovery()


def _recovery() -> None:
    """Let Windows restart the service after it gave up, with growing pauses."""

    manager = win32service.OpenSCManager(None, None, win32service.SC_MANAGER_ALL_ACCESS)
    try:
        handle = win32service.OpenService(manager, NAME, win32service.SERVICE_ALL_ACCESS)
        try:
            actions = tuple((win32service.SC_ACTION_RESTART, pause) for pause in RECOVERY_MS)
            failure = {"ResetPeriod": FORGET_S, "RebootMsg": "", "Command": "", "Actions": actions}
            for level, info in (
                (win32service.SERVICE_CONFIG_FAILURE_ACTIONS, failure),
                # Giving up is a regular end with an error, which counts too.
                (win32service.SERVICE_CONFIG_FAILURE_ACTIONS_FLAG, True),
                (win32service.SERVICE_CONFIG_PRESHUTDOWN_INFO, int(STOP_PATIENCE + 15) * 1000),
            ):
                win32service.ChangeServiceConfig2(handle, level, info)
        finally:
            win32service.CloseServiceHandle(handle)
    finally:
        win32service.CloseServiceHandle(manager)


def _protect(folder: Path, run: Execute) -> None:
    """Allow access only to the service and administrators.

    :raises ControlFailed: when Windows refuses.
    """
    folder.mkdir(parents=True, exist_ok=True)
    grants = [f"{who}:(OI)(CI)F" for who in (SYSTEM, ADMINISTRATORS, ACCOUNT)]
    command = ["icacls", str(folder), "/inheritance:r", "/grant:r", *grants, "/T", "/Q"]
    ended = run(command)
    if ended.returncode:
        raise ControlFailed(f"icacls {folder}: {(ended.stderr or ended.stdout).strip() or ended.returncode}")
