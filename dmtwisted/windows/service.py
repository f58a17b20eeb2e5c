"""The Windows service by pywin32, a thin layer around a `Supervisor`.

Windows' Service Control Manager starts ``pythonservice.exe``, which imports this module and creates a
`DmtwistedService`; that runs the real service as a child. On other systems the module can be imported, and no more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from dmtwisted.system.supervisor import STOP_PATIENCE, State, Supervisor, What
from dmtwisted.windows.child import ServiceChild, command_of

if TYPE_CHECKING:
    from win32serviceutil import ServiceFramework
else:
    ServiceFramework = object
with suppress(ImportError):
    import pywintypes
    import win32api
    import win32con
    import win32evtlog
    import win32evtlogutil
    import win32job
    import win32service
    from win32serviceutil import ServiceFramework

NAME = "dmtwisted"
"""The name of the service, of its account (``NT SERVICE\\dmtwisted``) and of its event log source."""

TITLE = "dmtwisted: fiscal registers, terminals, printers"

DESCRIPTION = "Drives fiscal registers, receipt printers and bank terminals behind one HTTP interface on port 3939."

PYTHON, CONFIG, LOG, PAGE = "Python", "Config", "Log", "Page"
"""Options of the service in the registry: interpreter and configuration; log and address for the Start menu."""

PARAMETERS = rf"System\CurrentControlSet\Services\{NAME}\Parameters"
"""Their key."""


class DmtwistedService(ServiceFramework):
    """The object that the Service Control Manager calls."""

    _svc_name_ = NAME
    _svc_display_name_ = TITLE
    _svc_description_ = DESCRIPTION

    def __init__(self, args: Sequence[str]) -> None:
        super().__init__(args)
        self._supervisor = Supervisor(self._start, self)

    # Calls of the Service Control Manager

    def SvcRun(self) -> None:
        """Keep the service running until it is stopped.

        :raises GaveUp: when it does not keep running: pywin32 then reports a failure, and Windows runs the recovery
            actions of the service.
        """
        self._supervisor.run()

    def SvcStop(self) -> None:
        """Stop; this thread has to return at once."""
        self._supervisor.stop()
        self.report(State.STOPPING, STOP_PATIENCE)

    def SvcOtherEx(self, control: int, event_type: int, data: Any) -> None:
        """Stop before a shutdown of Windows, earlier than other services and with more time."""

        if control == win32service.SERVICE_CONTROL_PRESHUTDOWN:
            self.SvcStop()

    def SvcInterrogate(self) -> None:
        """Report the state."""
        self.report(self._supervisor.state, STOP_PATIENCE)

    def GetAcceptedControls(self) -> int:
        """Stop and preshutdown."""

        return win32service.SERVICE_ACCEPT_STOP | win32service.SERVICE_ACCEPT_PRESHUTDOWN

    # Reports of the supervisor

    def report(self, state: State, patience: float) -> None:
        """Report the state, with a growing checkpoint."""

        numbers = {
            State.STARTING: win32service.SERVICE_START_PENDING,
            State.RUNNING: win32service.SERVICE_RUNNING,
            State.STOPPING: win32service.SERVICE_STOP_PENDING,
            # pywin32 itself reports the end after our return.
            State.STOPPED: win32service.SERVICE_STOP_PENDING,
        }
        self.ReportServiceStatus(numbers[state], waitHint=int(patience * 1000))

    def tell(self, what: What, words: str) -> None:
        """Write to the event log; a full log does not stop the service."""
        write_event(what, words)

    def _start(self) -> ServiceChild:
        return ServiceChild(command_of(option(PYTHON), option(CONFIG)), {**os.environ, "PYTHONUTF8": "1"}, job_of)


def option(name: str) -> str:
    """The option ``name`` of the installation; empty when absent.

    The key is opened only for reading: the account of the service may not change it, and pywin32 would open it for
    writing.
    """

    try:
        key = win32api.RegOpenKey(win32con.HKEY_LOCAL_MACHINE, PARAMETERS, False, win32con.KEY_READ)
        try:
            return str(win32api.RegQueryValueEx(key, name)[0])
        finally:
            win32api.RegCloseKey(key)
    except pywintypes.error:
        return ""


def write_event(what: What, words: str) -> None:
    """Write an entry to the event log; never raises for a full log."""

    kinds = (
        win32evtlog.EVENTLOG_INFORMATION_TYPE,
        win32evtlog.EVENTLOG_WARNING_TYPE,
        win32evtlog.EVENTLOG_ERROR_TYPE,
    )
    with suppress(pywintypes.error):
        win32evtlogutil.ReportEvent(NAME, what.number, eventType=kinds[what.severity], strings=[words])


def job_of(process: Any) -> Callable[[], None]:
    """Put a process into a job, which its children inherit; returns the function that kills them all.

    Where an administrator has forbidden jobs only the process is killed; its writer then ends when its input closes.
    """

    try:
        handle: Any = win32api.OpenProcess(win32con.PROCESS_ALL_ACCESS, False, process.pid)
        # Its type annotations lack the returned handle.
        job: Any = cast(Any, win32job).CreateJobObject(None, "")
        win32job.AssignProcessToJobObject(job, handle)
    except pywintypes.error:
        return cast("Callable[[], None]", process.kill)
    return lambda: win32job.TerminateJobObject(job, 1)
