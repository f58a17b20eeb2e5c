"""A private CUPS with one raw queue, whose printer keeps each job as a file."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

from dmtwisted.lab.children import free_port
from tests.test_service_process import HOST, PATIENCE, until

_SERVER = shutil.which("cupsd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
_ADMIN = shutil.which("lpadmin", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
MISSING = "" if _SERVER and _ADMIN else "there is no CUPS here (Debian: apt-get install cups-daemon cups-client)"
"""Why there can be none; empty when there can."""

QUEUE = "receipts"

_CONFIG = """
Listen {address}
Browsing No
WebInterface No
DefaultAuthType None
<Location />
Allow localhost
</Location>
<Policy default>
<Limit All>
Allow localhost
</Limit>
</Policy>
"""

_FILES = """
ServerRoot {folder}
ServerBin {folder}
RequestRoot {folder}/spool
TempDir {folder}/spool/tmp
CacheDir {folder}/cache
StateDir {folder}/state
ErrorLog {folder}/error
AccessLog {folder}/access
PageLog {folder}/page
SystemGroup {group}
"""

_PRINTER = """#!/bin/sh
[ $# -eq 0 ] && exit
cd "${DEVICE_URI#keep:}" && cat "${6:--}" > part && mv part "$1"
"""
"""The program by which CUPS reaches a printer of the kind ``keep``."""


class Cups:
    """A print server on the loopback address, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.address = f"{HOST}:{free_port()}"
        self._printed = folder / "printed"
        for name in ("spool/tmp", "cache", "state", "printed", "backend"):
            (folder / name).mkdir(parents=True)
        (folder / "backend" / "keep").write_text(_PRINTER, "utf-8")
        # With these rights it runs as the user of the server, whoever that is.
        (folder / "backend" / "keep").chmod(0o700)
        (folder / "daemon").symlink_to("/usr/lib/cups/daemon")
        (folder / "cupsd.conf").write_text(_CONFIG.format(address=self.address), "utf-8")
        group = "root" if os.geteuid() == 0 else Path.home().group()
        (folder / "files.conf").write_text(_FILES.format(folder=folder, group=group), "utf-8")
        # AppArmor lets the installed program use its own folders only.
        assert _SERVER is not None
        server = shutil.copy(_SERVER, folder / "cupsd")
        self._server = subprocess.Popen(
            [server, "-f", "-c", str(folder / "cupsd.conf"), "-s", str(folder / "files.conf")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(self._listens, "CUPS does not listen")
        self.command("lpadmin", "-p", QUEUE, "-E", "-v", f"keep:{self._printed}", "-m", "raw")

    @property
    def jobs(self) -> list[bytes]:
        """What the printer has got of each job so far."""
        files = [file for file in self._printed.iterdir() if file.name.isdecimal()]
        return [file.read_bytes() for file in sorted(files, key=lambda file: int(file.name))]

    def command(self, name: str, *words: str) -> None:
        """Run one of the programs of CUPS."""
        assert _ADMIN is not None
        environment = {**os.environ, "CUPS_SERVER": self.address}
        command = (str(Path(_ADMIN).with_name(name)), *words)
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=PATIENCE)

    def end(self) -> None:
        """End it."""
        self._server.terminate()
        self._server.wait(PATIENCE)

    def _listens(self) -> bool | None:
        host, _, port = self.address.partition(":")
        try:
            socket.create_connection((host, int(port)), 1).close()
        except OSError:
            return None
        return True
