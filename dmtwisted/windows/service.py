"""The thin end: a service of Windows by pywin32, around a `Supervisor` that decides everything.

Windows' Service Control Manager starts ``pythonservice.exe``, which imports this module and makes a
`DmtwistedService`; that starts the service proper as a child and keeps it. On other systems the module can be
imported, and no more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from dmtwisted.system.supervisor import STOP_PATIENCE, State, Supervisor, What
from dmtwisted.windows.child import ServiceChild, command_of

if TYPE_CHECKING:
    from win32serviceutil import ServiceFramework
else:
    try:
        from win32serviceutil import ServiceFramework
    except ImportError:
        ServiceFramework = object

NAME = "dmtwisted"
"""The name of the service, of its account (``NT SERVICE\\dmtwisted``) and of its source in the event log."""

TITLE = "dmtwisted: fiscal registers, terminals, printers"

DESCRIPTION = "Drives fiscal registers, receipt printers and bank terminals behind one HTTP interface on port 3939."

PYTHON, CONFIG = "Python", "Config"
"""Options of the service in the registry: the interpreter and the configuration file."""

PARAMETERS = rf"System\CurrentControlSet\Services\{NAME}\Parameters"
"""Where they are."""


class DmtwistedService(ServiceFramework):
    """What the Service Control Manager talks to."""

    _svc_name_ = NAME
    _svc_display_name_ = TITLE
    _svc_description_ = DESCRIPTION

    def __init__(self, args: Sequence[str]) -> None:
        super().__init__(args)
        self._supervisor = Supervisor(self._start, self)

    # What the Service Control Manager asks

    def SvcRun(self) -> None:
        """Keep the service until it is stopped.

        :raises GaveUp: when it does not stay up: pywin32 then reports a failure, and the recovery actions that are
            set for the service take place.
        """
        self._supervisor.run()

    def SvcStop(self) -> None:
        """Stop; this thread has to come back at once."""
        self._supervisor.stop()
        self.report(State.STOPPING, STOP_PATIENCE)

    def SvcOtherEx(self, control: int, event_type: int, data: Any) -> None:
        """Windows is about to shut down; this comes before others are stopped, and with more time."""
        import win32service

        if control == win32service.SERVICE_CONTROL_PRESHUTDOWN:
            self.SvcStop()

    def SvcInterrogate(self) -> None:
        """Tell how it stands."""
        self.report(self._supervisor.state, STOP_PATIENCE)

    def GetAcceptedControls(self) -> int:
        """Stopping, and hearing of a shutdown early."""
        import win32service

        return win32service.SERVICE_ACCEPT_STOP | win32service.SERVICE_ACCEPT_PRESHUTDOWN

    # What the supervisor tells

    def report(self, state: State, patience: float) -> None:
        """Hand the state on, with a checkpoint that moves."""
        import win32service

        numbers = {
            State.STARTING: win32service.SERVICE_START_PENDING,
            State.RUNNING: win32service.SERVICE_RUNNING,
            State.STOPPING: win32service.SERVICE_STOP_PENDING,
            # pywin32 itself tells the end, when we have come back.
            State.STOPPED: win32service.SERVICE_STOP_PENDING,
        }
        self.ReportServiceStatus(numbers[state], waitHint=int(patience * 1000))

    def tell(self, what: What, words: str) -> None:
        """Write into the event log; a log that takes nothing stops nobody's work."""
        write_event(what, words)

    def _start(self) -> ServiceChild:
        return ServiceChild(command_of(option(PYTHON), option(CONFIG)), {**os.environ, "PYTHONUTF8": "1"}, job_of)


def option(name: str) -> str:
    """What was said of ``name`` when the service was installed; empty when nothing was.

    Read and no more: the account of the service may not change its key, and pywin32's own way opens it for writing.
    """
    import pywintypes
    import win32api
    import win32con

    try:
        key = win32api.RegOpenKey(win32con.HKEY_LOCAL_MACHINE, PARAMETERS, False, win32con.KEY_READ)
        try:
            return str(win32api.RegQueryValueEx(key, name)[0])
        finally:
            win32api.RegCloseKey(key)
    except pywintypes.error:
        return ""


def write_event(what: What, words: str) -> None:
    """One entry in the event log, under our name; never raises for a log that cannot be written."""
    import pywintypes
    import win32evtlog
    import win32evtlogutil

    kinds = (
        win32evtlog.EVENTLOG_INFORMATION_TYPE,
        win32evtlog.EVENTLOG_WARNING_TYPE,
        win32evtlog.EVENTLOG_ERROR_TYPE,
    )
    try:
        win32evtlogutil.ReportEvent(NAME, what.number, eventType=kinds[what.gravity], strings=[words])
    except pywintypes.error:
        """A full log: the service's own one has what matters."""


def job_of(process: Any) -> Callable[[], None]:
    """Take a process into a job, which its children inherit; what ends them all.

    Without a job, as where an administrator has forbidden them, what is ended is the process alone; its writer then
    ends by itself, as its input does.
    """
    import pywintypes
    import win32api
    import win32con
    import win32job

    try:
        handle: Any = win32api.OpenProcess(win32con.PROCESS_ALL_ACCESS, False, process.pid)
        # Its annotations forget the handle that it returns.
        job: Any = cast(Any, win32job).CreateJobObject(None, "")
        win32job.AssignProcessToJobObject(job, handle)
    except pywintypes.error:
        return cast("Callable[[], None]", process.kill)
    return lambda: win32job.TerminateJobObject(job, 1)
