"""Stand-ins for Windows services and the modules of pywin32 that use them, with pywin32's own signatures.

Where pywin32 itself is Python (``win32serviceutil``, ``win32evtlogutil``), names, order and defaults of parameters
are those of version 312; numbers are those of the Windows SDK.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

from tests.windows_doubles import error

SERVICE = {
    "SC_MANAGER_ALL_ACCESS": 0xF003F,
    "SERVICE_ALL_ACCESS": 0xF01FF,
    "SERVICE_AUTO_START": 2,
    "SERVICE_DEMAND_START": 3,
    "SERVICE_STOPPED": 1,
    "SERVICE_START_PENDING": 2,
    "SERVICE_STOP_PENDING": 3,
    "SERVICE_RUNNING": 4,
    "SERVICE_ACCEPT_STOP": 1,
    "SERVICE_ACCEPT_PRESHUTDOWN": 0x100,
    "SERVICE_CONTROL_STOP": 1,
    "SERVICE_CONTROL_INTERROGATE": 4,
    "SERVICE_CONTROL_PRESHUTDOWN": 15,
    "SERVICE_CONFIG_FAILURE_ACTIONS": 2,
    "SERVICE_CONFIG_DELAYED_AUTO_START_INFO": 3,
    "SERVICE_CONFIG_FAILURE_ACTIONS_FLAG": 4,
    "SERVICE_CONFIG_PRESHUTDOWN_INFO": 7,
    "SC_ACTION_RESTART": 1,
}


@dataclass
class Installed:
    """A service that is known to Windows."""

    python_class: str
    title: str
    given: dict[str, Any]
    state: int = 1
    recovery: dict[int, Any] = field(default_factory=dict)


@dataclass
class Windows:
    """A machine: its services, its registry, its event log, and whether the user is an administrator."""

    administrator: bool = True
    services: dict[str, Installed] = field(default_factory=dict)
    options: dict[tuple[str, str], str] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    events: list[tuple[str, int, int, list[str]]] = field(default_factory=list)
    log_is_full: bool = False
    starts: bool = True
    coming: list[int] = field(default_factory=list)
    """States that are seen, one at each look, before the one that stays."""
    unknown_levels: set[int] = field(default_factory=set)
    """What this system lacks of ``ChangeServiceConfig2``."""
    open_handles: int = 0
    jobs: list[Any] = field(default_factory=list)
    ended_jobs: list[Any] = field(default_factory=list)
    jobs_forbidden: bool = False

    def check(self, function: str) -> None:
        """Refuse unless the user is an administrator."""
        if not self.administrator:
            raise error(5, function, "Access is denied.")

    def service(self, name: str, function: str = "OpenService") -> Installed:
        """The service ``name``."""
        if name not in self.services:
            raise error(1060, function, "The specified service does not exist as an installed service.")
        return self.services[name]

    def modules(self) -> dict[str, ModuleType]:
        """The modules to import."""
        modules: dict[str, dict[str, Any]] = {
            "pywintypes": {"error": error},
            "win32con": {"HKEY_LOCAL_MACHINE": -0x7FFFFFFE, "KEY_READ": 0x20019, "PROCESS_ALL_ACCESS": 0x1F0FFF},
            "win32api": vars(Api(self).names()),
            "win32service": {**SERVICE, **vars(Manager(self).names())},
            "win32serviceutil": {**vars(Util(self).names()), "ServiceFramework": framework(self)},
            "win32evtlog": {
                "EVENTLOG_ERROR_TYPE": 1,
                "EVENTLOG_WARNING_TYPE": 2,
                "EVENTLOG_INFORMATION_TYPE": 4,
                "EVENTLOG_SEQUENTIAL_READ": 1,
                "EVENTLOG_BACKWARDS_READ": 8,
                **vars(Entries(self).names()),
            },
            "win32evtlogutil": vars(Log(self).names()),
            "win32job": vars(Jobs(self).names()),
        }
        made = {name: ModuleType(name) for name in modules}
        for name, names in modules.items():
            made[name].__dict__.update(names)
        return made


class _Part:
    def __init__(self, windows: Windows) -> None:
        self.windows = windows

    def names(self) -> SimpleNamespace:
        """Its functions."""
        return SimpleNamespace(**{name: getattr(self, name) for name in dir(type(self)) if name[0].isupper()})


class Api(_Part):
    """``win32api``."""

    def RegOpenKey(self, key: int, subkey: str | None, reserved: bool = False, sam: int = 0, /) -> str:
        assert (key, sam) == (-0x7FFFFFFE, 0x20019) and subkey is not None
        self.windows.open_handles += 1
        return subkey

    def RegQueryValueEx(self, key: str, valueName: str | None, /) -> tuple[str, int]:
        *_, name, _parameters = key.split("\\")
        try:
            return self.windows.options[name, str(valueName)], 1
        except KeyError:
            raise error(2, "RegQueryValueEx", "The system cannot find the file specified.") from None

    def RegCloseKey(self, key: str, /) -> None:
        self.windows.open_handles -= 1

    def OpenProcess(self, reqdAccess: int, bInherit: int | bool, pid: int, /) -> int:
        assert reqdAccess == 0x1F0FFF and not bInherit
        return pid


class Manager(_Part):
    """``win32service``."""

    def OpenSCManager(self, machineName: str | None, dbName: str | None, desiredAccess: int, /) -> str:
        self.windows.check("OpenSCManager")
        self.windows.open_handles += 1
        return "manager"

    def OpenService(self, scHandle: str, name: str, desiredAccess: int, /) -> str:
        self.windows.service(name)
        self.windows.open_handles += 1
        return name

    def CloseServiceHandle(self, scHandle: str, /) -> None:
        self.windows.open_handles -= 1

    def ChangeServiceConfig2(self, hService: str, InfoLevel: int, info: Any, /) -> None:
        if InfoLevel in self.windows.unknown_levels:
            raise error(124, "ChangeServiceConfig2", "Invalid level.")
        self.windows.service(hService).recovery[InfoLevel] = info


class Util(_Part):
    """``win32serviceutil``."""

    def InstallService(
        self,
        pythonClassString: str,
        serviceName: str,
        displayName: str,
        startType: int | None = None,
        errorControl: int | None = None,
        bRunInteractive: int = 0,
        serviceDeps: Any = None,
        userName: str | None = None,
        password: str | None = None,
        exeName: str | None = None,
        perfMonIni: Any = None,
        perfMonDll: Any = None,
        exeArgs: str | None = None,
        description: str | None = None,
        delayedstart: bool | None = None,
    ) -> None:
        self.windows.check("OpenSCManager")
        if serviceName in self.windows.services:
            raise error(1073, "CreateService", "The specified service already exists.")
        given = {"start": startType, "account": userName, "password": password, "delayed": delayedstart}
        given["description"] = description
        self.windows.services[serviceName] = Installed(pythonClassString, displayName, given)

    def ChangeServiceConfig(
        self,
        pythonClassString: str,
        serviceName: str,
        startType: int | None = None,
        errorControl: int | None = None,
        bRunInteractive: int = 0,
        serviceDeps: Any = None,
        userName: str | None = None,
        password: str | None = None,
        exeName: str | None = None,
        displayName: str | None = None,
        perfMonIni: Any = None,
        perfMonDll: Any = None,
        exeArgs: str | None = None,
        description: str | None = None,
        delayedstart: bool | None = None,
    ) -> None:
        self.windows.check("OpenSCManager")
        service = self.windows.service(serviceName)
        service.python_class, service.title = pythonClassString, displayName or service.title
        service.given |= {"start": startType, "account": userName, "delayed": delayedstart}

    def SetServiceCustomOption(self, serviceName: str, option: str, value: str) -> None:
        self.windows.check("RegCreateKey")
        self.windows.options[serviceName, option] = value

    def RemoveService(self, serviceName: str) -> None:
        self.windows.check("OpenSCManager")
        del self.windows.services[self.name(serviceName)]
        self.windows.sources.remove(serviceName)

    def name(self, name: str) -> str:
        """``name``, if there is such a service."""
        self.windows.service(name)
        return name

    def StartService(self, serviceName: str, args: Any = None, machine: str | None = None) -> None:
        self.windows.check("OpenSCManager")
        service = self.windows.service(serviceName)
        if service.state == 4:
            raise error(1056, "StartService", "An instance of the service is already running.")
        service.state = 4 if self.windows.starts else 1

    def StopService(self, serviceName: str, machine: str | None = None) -> tuple[int, ...]:
        self.windows.check("OpenSCManager")
        service = self.windows.service(serviceName)
        if service.state == 1:
            raise error(1062, "ControlService", "The service has not been started.")
        service.state = 1
        return (16, 3, 0, 0, 0, 0, 0)

    def WaitForServiceStatus(self, serviceName: str, status: int, waitSecs: int, machine: str | None = None) -> None:
        assert isinstance(waitSecs, int)
        if self.windows.service(serviceName).state != status:
            raise error(1053, "QueryServiceStatus", "The service did not respond in a timely fashion.")

    def QueryServiceStatus(self, serviceName: str, machine: str | None = None) -> tuple[int, ...]:
        state = self.windows.service(serviceName).state
        return (16, self.windows.coming.pop(0) if self.windows.coming else state, 0, 0, 0, 0, 0)


class Entries(_Part):
    """``win32evtlog``."""

    def OpenEventLog(self, serverName: str | None, sourceName: str, /) -> str:
        self.windows.open_handles += 1
        return sourceName

    def ReadEventLog(self, handle: str, Flags: int, Offset: int, Size: int = 0, /) -> list[SimpleNamespace]:
        assert (handle, Flags) == ("Application", 9)
        if not self.windows.events:
            raise error(38, "ReadEventLog", "Reached the end of the file.")
        return [SimpleNamespace(SourceName=one[0], StringInserts=one[3]) for one in reversed(self.windows.events)]

    def CloseEventLog(self, handle: str, /) -> None:
        self.windows.open_handles -= 1


class Log(_Part):
    """``win32evtlogutil``."""

    def AddSourceToRegistry(
        self,
        appName: str,
        msgDLL: str | None = None,
        eventLogType: str = "Application",
        eventLogFlags: int | None = None,
        categoryDLL: str | None = None,
        categoryCount: int = 0,
    ) -> None:
        self.windows.check("RegCreateKey")
        self.windows.sources = sorted({*self.windows.sources, appName})

    def ReportEvent(
        self,
        appName: str,
        eventID: int,
        eventCategory: int = 0,
        eventType: int = 1,
        strings: list[str] | None = None,
        data: bytes | None = None,
        sid: Any = None,
    ) -> None:
        if self.windows.log_is_full:
            raise error(1502, "ReportEvent", "The event log file is full.")
        self.windows.events.append((appName, eventID, eventType, list(strings or ())))


class Jobs(_Part):
    """``win32job``."""

    def CreateJobObject(self, jobAttributes: Any, name: str, /) -> list[int]:
        if self.windows.jobs_forbidden:
            raise error(5, "CreateJobObject", "Access is denied.")
        self.windows.jobs.append([])
        made: list[int] = self.windows.jobs[-1]
        return made

    def AssignProcessToJobObject(self, hJob: list[int], hProcess: int, /) -> None:
        hJob.append(hProcess)

    def TerminateJobObject(self, hJob: list[int], exitCode: int, /) -> None:
        self.windows.ended_jobs.append(hJob)


def framework(windows: Windows) -> type:
    """``win32serviceutil.ServiceFramework``: the base class of a service."""

    class ServiceFramework:
        """Record the reports to Windows."""

        def __init__(self, args: Any) -> None:
            self.reported: list[tuple[int, int, int, int]] = []
            self.checkPoint = 0

        def GetAcceptedControls(self) -> int:
            return 0

        def ReportServiceStatus(
            self, serviceStatus: int, waitHint: int = 5000, win32ExitCode: int = 0, svcExitCode: int = 0
        ) -> None:
            self.checkPoint = 0 if serviceStatus in (1, 4) else self.checkPoint + 1
            accepted = 0 if serviceStatus == 2 else self.GetAcceptedControls()
            self.reported.append((serviceStatus, accepted, self.checkPoint, waitHint))

        def SvcOther(self, control: int) -> None:
            raise AssertionError(control)

        def SvcOtherEx(self, control: int, event_type: int, data: Any) -> Any:
            return self.SvcOther(control)

        def ServiceCtrlHandlerEx(self, control: int, event_type: int, data: Any) -> Any:
            if control == 1:
                return self.SvcStop()  # type: ignore[attr-defined]
            if control == 4:
                return self.SvcInterrogate()  # type: ignore[attr-defined]
            return self.SvcOtherEx(control, event_type, data)

    return ServiceFramework
