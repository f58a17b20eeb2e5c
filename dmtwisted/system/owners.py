"""Which process has a port or a lock: for the person who reads that it is taken.

It is asked only after something was refused, and finds nothing rather than fail. Linux tells it in ``/proc``, Windows
by three calls; elsewhere, and of other users' processes, a person has to ask (`how_to_ask`).

===================  ==============================================================================================
``/proc/net/tcp``    each socket: its port and state in hexadecimal, the number of its user, and its inode
``/proc/N/fd``       the open files of process N; a socket is the link ``socket:[INODE]``
``/proc/locks``      each lock: ``1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE 0 EOF``
===================  ==============================================================================================
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

LISTENING, WINDOWS_IN_USE = "0A", 10048

OWN_CHILDREN = "dmtwisted.store."
"""Modules that run as children of the process that a person knows: of the service, or of a command."""


def port_owner(port: int) -> str:
    """The process that listens on a TCP port of this machine, as ``dmtwisted run, process 12``; else empty."""
    with suppress(OSError, ValueError, LookupError):
        return _port_owner(port)
    return ""


def lock_owner(file: str) -> str:
    """The process that has locked ``file``, likewise."""
    with suppress(OSError, ValueError, LookupError):
        return _lock_owner(file)
    return ""


def taken(port: int, error: OSError) -> tuple[str, str]:
    """Why nobody can listen on ``port``, with the process that does; and what to do."""
    why, owner = error.strerror or str(error), ""
    if error.errno not in (errno.EADDRINUSE, errno.EACCES, WINDOWS_IN_USE):
        return why, "Choose an address of this machine and a port above 1023."
    owner = port_owner(port)
    if not owner and error.errno == errno.EACCES:
        return why, "Choose a port above 1023, or run the command with more rights."
    stop = "Stop that process" if owner else f"See who has it ({how_to_ask(port)})"
    return f"{why} ({owner})" if owner else why, f"{stop}, or choose another port."


def how_to_ask(port: int, platform: str = sys.platform) -> str:
    """The command that shows who listens on ``port``, for a person with more rights than we have."""
    if platform == "win32":
        return f"netstat -ano | findstr :{port}"
    return f"sudo ss -ltnp sport = :{port}" if platform == "linux" else f"sudo lsof -nP -iTCP:{port} -sTCP:LISTEN"


def in_short(words: Sequence[str]) -> str:
    """A command line without its options, which may hold secrets: the program, and a word that may be its command."""
    program, *rest = words or [""]
    name = _base(program)
    if name.startswith("python"):
        while rest and rest[0].startswith("-") and rest[0] != "-m":
            rest = rest[2:] if rest[0] in ("-X", "-W") else rest[1:]
        module = rest[:1] == ["-m"]
        name, *rest = rest[module:] or [name]
        name = "dmtwisted" if name == "dmtwisted.commands.main" else _base(name)
    return f"{name} {rest[0]}" if rest and rest[0].isalpha() else name


def _base(program: str) -> str:
    return os.path.basename(program.replace("\\", "/")).removesuffix(".exe")


if sys.platform == "win32":
    import ctypes
    import socket
    from ctypes import wintypes

    LISTENERS, QUERY, TOO_SMALL = 3, 0x1000, 122

    ROWS = ((socket.AF_INET, 24, 8, 20), (socket.AF_INET6, 56, 20, 52))
    """For each family the bytes of a row of the table, and where its port and its process are."""

    class _Unique(ctypes.Structure):
        _fields_ = (("process", wintypes.DWORD), ("started", wintypes.FILETIME))

    class _User(ctypes.Structure):
        """``RM_PROCESS_INFO``: a process that has a file open."""

        _fields_ = (
            ("unique", _Unique),
            ("name", wintypes.WCHAR * 256),
            ("service", wintypes.WCHAR * 64),
            ("kind", ctypes.c_int),
            ("status", wintypes.ULONG),
            ("session", wintypes.DWORD),
            ("restartable", wintypes.BOOL),
        )

    def _port_owner(port: int) -> str:
        for family, size, at_port, at_process in ROWS:
            room, table = wintypes.DWORD(0), None
            call = ctypes.windll.iphlpapi.GetExtendedTcpTable
            while call(table, ctypes.byref(room), False, int(family), LISTENERS, 0) == TOO_SMALL:
                table = ctypes.create_string_buffer(room.value)
            data = table.raw if table is not None else b""
            for n in range(int.from_bytes(data[:4], "little")):
                row = data[4 + n * size :][:size]
                if int.from_bytes(row[at_port : at_port + 2], "big") == port:
                    return _program(int.from_bytes(row[at_process : at_process + 4], "little"))
        return ""

    def _lock_owner(file: str) -> str:
        manager, session = ctypes.windll.rstrtmgr, wintypes.DWORD()
        if manager.RmStartSession(ctypes.byref(session), 0, ctypes.create_unicode_buffer(33)):
            return ""
        try:
            manager.RmRegisterResources(session, 1, (ctypes.c_wchar_p * 1)(file), 0, None, 0, None)
            needed, count, why = wintypes.UINT(), wintypes.UINT(8), wintypes.DWORD()
            users = (_User * 8)()
            if manager.RmGetList(session, *map(ctypes.byref, (needed, count)), users, ctypes.byref(why)):
                return ""
            others = [each.unique.process for each in users[: count.value] if each.unique.process != os.getpid()]
            return _program(others[0]) if others else ""
        finally:
            manager.RmEndSession(session)

    def _program(process: int) -> str:
        kernel = ctypes.windll.kernel32
        kernel.OpenProcess.restype = wintypes.HANDLE
        if not process:
            return ""
        name, room = ctypes.create_unicode_buffer(1024), wintypes.DWORD(1024)
        handle = wintypes.HANDLE(kernel.OpenProcess(QUERY, False, process))
        if handle:
            kernel.QueryFullProcessImageNameW(handle, 0, name, ctypes.byref(room))
            kernel.CloseHandle(handle)
        return f"{in_short([name.value]) or 'a program'}, process {process}"

else:
    import pwd

    PROC = Path("/proc")

    def _port_owner(port: int) -> str:
        for table in ("tcp", "tcp6"):
            for line in _lines(PROC / "net" / table):
                words = line.split()
                if words[3] == LISTENING and int(words[1].rpartition(":")[2], 16) == port:
                    return _holder(f"socket:[{words[9]}]") or f"a program of the user {_user(int(words[7]))}"
        return ""

    def _lines(file: Path) -> Iterator[str]:
        # A machine without IPv6 has no table for it.
        with suppress(FileNotFoundError):
            yield from file.read_text("ascii").splitlines()[1:]

    def _holder(link: str) -> str:
        for process in PROC.iterdir():
            # Of other users' processes, and of those that end meanwhile, nothing is told.
            with suppress(OSError):
                if process.name.isdigit() and any(os.readlink(each) == link for each in (process / "fd").iterdir()):
                    return _process(int(process.name))
        return ""

    def _lock_owner(file: str) -> str:
        inode = str(os.stat(file).st_ino)
        for line in (PROC / "locks").read_text("ascii").splitlines():
            words = line.split()
            # A process that waits for a lock has an arrow in its line.
            if words[1] == "FLOCK" and words[5].rpartition(":")[2] == inode and words[4] != "0":
                return _process(int(words[4]))
        return ""

    def _process(number: int) -> str:
        words = (PROC / str(number) / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        if any(word.startswith(OWN_CHILDREN) for word in words):
            # After the name, which may hold spaces: its state and its parent.
            parent = int((PROC / str(number) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1])
            if parent > 1:
                return _process(parent)
        return f"{in_short(words) or 'a program'}, process {number}"

    def _user(number: int) -> str:
        try:
            return pwd.getpwuid(number).pw_name
        except KeyError:
            return str(number)
