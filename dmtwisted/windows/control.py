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

Every step can be repeated: installing over an older version updates it and keeps the data. Delayed start and recovery
are left out with a line about it where the system does not know them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any, cast

from dmtwisted.config import CALLED, Config, ConfigError, load, place_of
from dmtwisted.system.files import describe_error
from dmtwisted.system.supervisor import STOP_PATIENCE
from dmtwisted.windows.service import CONFIG, DESCRIPTION, LOG, NAME, PAGE, PYTHON, TITLE, DmtwistedService, option

with suppress(ImportError):  # elsewhere this module can be imported, and no more
    import pywintypes
    import win32evtlog
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

DOES_NOT_EXIST, EXISTS, NOT_ACTIVE, ALREADY_RUNNING, DENIED, UNKNOWN_LEVEL = 1060, 1073, 1062, 1056, 5, 124
"""Windows' error numbers."""

START_PATIENCE = 120
"""Seconds that a start by hand waits; the service itself takes longer when it has a large database to update."""

SEEN_EVERY, LOOK_EVERY = 10.0, 0.5
"""Seconds between two lines about a start that is under way, and between two looks at it."""

TOLD = 3
"""Number of last entries of the event log, and of lines of the log, that explain a start that failed."""

FIRST_CONFIG = """\
# {title}. Every key: docs/configuration.md
[server]
port = {port}

[service]
state = {state}

[log]
file = {log}
"""

Execute = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]
"""Runs a program of Windows to its end."""

Say = Callable[[str], object]
"""Shows a line while work is under way."""


@dataclass(frozen=True)
class First:
    """What the configuration has when it is created; without ``state`` the data is in the data folder."""

    port: int = 3939
    state: Path | None = None


@dataclass(frozen=True)
class Registered:
    """The interpreter and the configuration of a service that is installed."""

    python: Path
    config: Path


class ControlFailed(Exception):
    """It failed; the text is one line for the user."""


def data_folder() -> Path:
    """The folder for the data of all users."""
    return Path(os.environ.get("PROGRAMDATA", r"C:\ProgramData")) / NAME


def execute(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a program of Windows."""
    return subprocess.run(list(command), capture_output=True, text=True, errors="replace", check=False)


def install(
    config: Path | None = None,
    *,
    manual: bool = False,
    first: First | None = None,
    folder: Path | None = None,
    run: Execute = execute,
) -> list[str]:
    """Install or update the service; what was done, and what to do next, as lines.

    :param config: its configuration; by default that of the installed service, or else one in the data folder, which
        is created.
    :param manual: do not start with Windows.
    :raises ControlFailed: when it fails.
    """
    _expect_common(sys.prefix)
    folder = data_folder() if folder is None else folder
    former = registered()
    if config is None and former is not None and former.config.is_file():
        config = former.config
    done: list[str] = []
    with _explained():
        config = _configuration(folder, first or First(), done) if config is None else config.absolute()
        if not config.is_file():
            raise ControlFailed(f"there is no file {config}")
        settings = load(config)
        _service(config, settings, manual, done)
        # The account exists only with the service.
        _protect(folder, run)
        done.append(f"{folder} belongs to {ACCOUNT}, administrators and the system")
        if not config.is_relative_to(folder):
            _icacls(run, [str(config), "/grant", f"{ACCOUNT}:R", "/Q"])
        if first is not None and first.state is not None:
            _protect(first.state, run)
        win32evtlogutil.AddSourceToRegistry(NAME)
    done.append(f"start: {NAME} service start; check: {NAME} doctor --config {config}")
    done.append(firewall_hint(settings.server.port))
    return done


def registered() -> Registered | None:
    """The installed service; `None` when there is none."""
    python, config = option(PYTHON), option(CONFIG)
    return Registered(Path(python), Path(config)) if python and config else None


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


def start(
    patience: float = START_PATIENCE,
    say: Say = print,
    seconds: Callable[[], float] = time.monotonic,
    wait: Callable[[float], object] = time.sleep,
) -> list[str]:
    """Start the service and wait until it accepts requests, at most ``patience`` seconds.

    :raises ControlFailed: when it does not; the lines say what is known of the reason.
    """
    with _explained(ALREADY_RUNNING):
        win32serviceutil.StartService(NAME)
    began = told = seconds()
    while True:
        runs, words = status()
        now = seconds()
        if runs:
            return ["the service accepts requests"]
        if words == STOPPED:
            raise ControlFailed("\n".join(["the service does not start", *last_words()]))
        if now - began >= patience:
            after = f"the service is still {words} after {patience:g} s, and goes on"
            raise ControlFailed("\n".join([after, *last_words()]))
        if now - told >= SEEN_EVERY:
            told = now
            say(f"{words} for {now - began:.0f} s")
        wait(LOOK_EVERY)


def last_words() -> list[str]:
    """The last entries of the event log that are ours, and the last lines of the log."""
    said = [f"event log: {words}" for words in _events()]
    log = option(LOG)
    with suppress(OSError), open(log, encoding="utf-8", errors="replace") as lines:
        said += [f"log: {line.rstrip()}" for line in deque(lines, TOLD)]
    return [*said, f"more in the event log (eventvwr, Application, source {NAME})" + (f" and {log}" if log else "")]


def _events() -> list[str]:
    # Wine has no entries to read.
    with suppress(pywintypes.error):
        log = win32evtlog.OpenEventLog(None, "Application")
        try:
            way = win32evtlog.EVENTLOG_BACKWARDS_READ | win32evtlog.EVENTLOG_SEQUENTIAL_READ
            ours = [one for one in win32evtlog.ReadEventLog(log, way, 0) if one.SourceName == NAME]
            return [" ".join(one.StringInserts or ()) for one in ours[:TOLD]]
        finally:
            win32evtlog.CloseEventLog(log)
    return []


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
        win32service.SERVICE_STOPPED: STOPPED,
        win32service.SERVICE_START_PENDING: "starting",
        win32service.SERVICE_STOP_PENDING: "stopping",
        win32service.SERVICE_RUNNING: "running",
    }
    return now == win32service.SERVICE_RUNNING, words.get(now, f"in state {now}")


NETSH = ("netsh", "advfirewall", "firewall")


def _rule(port: int) -> list[str]:
    return [
        f"name={NAME}",
        *("dir=in", "action=allow", "protocol=TCP"),
        f"localport={port}",
        "profile=private,domain",
    ]


def firewall_hint(port: int) -> str:
    """The command that lets tills on other computers connect; not run unasked, since most tills are on this one."""
    return " ".join(["tills on other computers:", *NETSH, "add rule", *_rule(port)])


def open_firewall(port: int, run: Execute = execute) -> list[str]:
    """Let tills on other computers connect; what was done, as lines.

    :raises ControlFailed: when Windows refuses.
    """
    # A second rule of the same name would leave the old port open.
    close_firewall(run)
    ended = run([*NETSH, "add", "rule", *_rule(port)])
    if ended.returncode:
        raise ControlFailed(f"netsh: {(ended.stdout or ended.stderr).strip() or ended.returncode}")
    return [f"the firewall lets tills on other computers connect to port {port}"]


def close_firewall(run: Execute = execute) -> None:
    """Remove that rule; there need not be one."""
    run([*NETSH, "delete", "rule", f"name={NAME}"])


def page(config: Config) -> str:
    """The address of the first page, on this machine."""
    host = config.server.hosts[0]
    called = "localhost" if host in CALLED else host
    return f"{'https' if config.tls.given else 'http'}://{place_of(called, config.server.port)}/"


def show(what: str, open_file: Callable[..., object] | None = None) -> list[str]:
    """Open the first ``page`` in the browser, or the ``doctor`` or the ``log``, which only an administrator may read.

    :raises ControlFailed: when that is refused.
    """
    open_file = open_file or cast(Any, os).startfile
    known = registered()
    with _explained():
        if known is None:
            raise ControlFailed(_WORDS[DOES_NOT_EXIST])
        if what == "page":
            open_file(option(PAGE))
        elif what == "doctor":
            command = f'"{known.python}" -X utf8 -m dmtwisted.commands.main doctor --config "{known.config}"'
            open_file("cmd.exe", "runas", f'/k "{command}"')
        elif log := option(LOG):
            open_file("notepad.exe", "runas", f'"{log}"')
        else:
            open_file("eventvwr.msc")
    return []


STOPPED = "stopped"

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
    except ConfigError as error:
        raise ControlFailed(str(error)) from None


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


def _configuration(folder: Path, first: First, done: list[str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / f"{NAME}.toml"
    if not config.exists():
        # TOML's quotes without escapes, for backslashes.
        state, log = (f"'{path}'" for path in (first.state or folder / "data", folder / f"{NAME}.log"))
        config.write_text(FIRST_CONFIG.format(title=TITLE, port=first.port, state=state, log=log), "utf-8")
        done.append(f"{config} is created: check it before the first start")
    return config


def _service(config: Path, settings: Config, manual: bool, done: list[str]) -> None:

    begins = win32service.SERVICE_DEMAND_START if manual else win32service.SERVICE_AUTO_START
    common: dict[str, Any] = {
        "startType": begins,
        "description": DESCRIPTION,
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
    for name, value in (
        (PYTHON, sys.executable),
        (CONFIG, str(config)),
        (LOG, settings.log.file),
        (PAGE, page(settings)),
    ):
        win32serviceutil.SetServiceCustomOption(NAME, name, value)
    _extras(manual, done)


def _extras(manual: bool, done: list[str]) -> None:
    """Start a little later than others; let Windows restart the service after it gave up, with growing pauses."""

    manager = win32service.OpenSCManager(None, None, win32service.SC_MANAGER_ALL_ACCESS)
    try:
        handle = win32service.OpenService(manager, NAME, win32service.SERVICE_ALL_ACCESS)
        try:
            actions = tuple((win32service.SC_ACTION_RESTART, pause) for pause in RECOVERY_MS)
            failure = {"ResetPeriod": FORGET_S, "RebootMsg": "", "Command": "", "Actions": actions}
            for what, level, info in (
                ("delayed start", win32service.SERVICE_CONFIG_DELAYED_AUTO_START_INFO, not manual),
                ("restart after a failure", win32service.SERVICE_CONFIG_FAILURE_ACTIONS, failure),
                # Giving up is a regular end with an error, which counts too.
                ("restart after giving up", win32service.SERVICE_CONFIG_FAILURE_ACTIONS_FLAG, True),
                ("time to stop", win32service.SERVICE_CONFIG_PRESHUTDOWN_INFO, int(STOP_PATIENCE + 15) * 1000),
            ):
                try:
                    win32service.ChangeServiceConfig2(handle, level, info)
                except pywintypes.error as error:
                    if error.winerror != UNKNOWN_LEVEL:
                        raise
                    done.append(f"warning: this system does not know '{what}'; it is left out")
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
    _icacls(run, [str(folder), "/inheritance:r", "/grant:r", *grants, "/T", "/Q"])


def _icacls(run: Execute, words: Sequence[str]) -> None:
    ended = run(["icacls", *words])
    if ended.returncode:
        raise ControlFailed(f"icacls {words[0]}: {(ended.stderr or ended.stdout).strip() or ended.returncode}")
