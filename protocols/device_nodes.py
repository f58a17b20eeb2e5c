"""Which character devices are serial ports and printers, found out before one is opened.

To open a device can do something: one restarts the machine when it is closed again, others have no end, and a file
would be overwritten by what is printed. The kernel says in ``/sys`` which of its parts drives a device. Pseudo
terminals are not listed there, and in some containers nothing is; then the major numbers that never change decide.
"""

from __future__ import annotations

import os
import re
import stat
import sys

TTY, PRINTERS = "tty", frozenset({"usbmisc", "usb", "printer", "tty"})
"""Parts of the kernel: that of serial ports, and those that drive printers; some printers are on a serial port."""

ANY = "any"
"""A character device of a system without ``/sys``."""

_BY_MAJOR = {4: TTY, 6: "printer", 166: TTY, 180: "usbmisc", 188: TTY, **dict.fromkeys(range(136, 144), TTY)}
_WINDOWS_PORT = re.compile(r"(?:\\\\\.\\)?[A-Za-z][A-Za-z0-9_-]*")


def is_serial_port(path: str, platform: str = sys.platform) -> bool:
    """Whether ``path`` is a serial port; on Windows, whether it has the form of its name."""
    if platform == "win32":
        return _WINDOWS_PORT.fullmatch(path) is not None
    return _driven_by(path, platform) in (TTY, ANY)


def is_printer(path: str, platform: str = sys.platform) -> bool:
    """Whether ``path`` is the device file of a printer."""
    return _driven_by(path, platform) in (*PRINTERS, ANY)


def _driven_by(path: str, platform: str) -> str:
    """The part of the kernel that drives the character device ``path``; empty for anything else."""
    try:
        about = os.stat(path)
    except (OSError, ValueError):
        return ""
    if not stat.S_ISCHR(about.st_mode):
        return ""
    if platform != "linux":
        return ANY
    major = os.major(about.st_rdev)
    try:
        return os.path.basename(os.readlink(f"/sys/dev/char/{major}:{os.minor(about.st_rdev)}/subsystem"))
    except OSError:
        return _BY_MAJOR.get(major, "")
