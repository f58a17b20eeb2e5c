"""What tells this machine from every other one."""

from __future__ import annotations

import hashlib
import sys
import uuid
from contextlib import suppress
from pathlib import Path

PLACES = ("/etc/machine-id", "/var/lib/dbus/machine-id")
"""Where Linux keeps the number of an installation."""

MULTICAST = 1 << 40
"""Set in a hardware address that is random, because none was found."""


def machine_id() -> str:
    """64 hexadecimal digits that are the same as long as the system is not installed again.

    They are a digest: nobody learns the number of the machine from them.

    :raises OSError: when the machine has nothing that stays.
    """
    return hashlib.sha256(f"dmtwisted {_number()}".encode()).hexdigest()


if sys.platform == "win32":
    import winreg

    def _number() -> str:
        place, access = r"SOFTWARE\Microsoft\Cryptography", winreg.KEY_READ | winreg.KEY_WOW64_64KEY
        with suppress(OSError), winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, place, 0, access) as key:
            return str(winreg.QueryValueEx(key, "MachineGuid")[0])
        return _address()

else:

    def _number() -> str:
        for place in PLACES:
            with suppress(OSError):
                number = Path(place).read_text("utf-8", "replace").strip()
                if number:
                    return number
        return _address()


def _address() -> str:
    """The hardware address of a network card."""
    found = uuid.getnode()
    if found & MULTICAST:
        raise OSError("no network card with an address of its own was found")
    return f"{found:012x}"
