"""What installer and uninstaller do with the service; the rest, in ``packaging/windows/``, is files and windows.

::

    read the options, load the configuration ──wrong──▶ REFUSED: nothing has changed
    back up, by the former version, while it sells ──fails──▶ REFUSED
    stop the former version, register this one, start it, ask whether it is ready ──▶ SERVES
        otherwise: stop it, register the former one, start it, ask ──▶ FORMER_SERVES or NOTHING_SERVES
        without a former one it stays as it is ──▶ INSTALLED

The files of this version are beside those of the former one, which stay until this one serves. *Power fails at any
line:* the service of Windows names one of both versions, whose files are there, and starts with Windows; run the
installer again.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from dmtwisted.config import Config, ConfigError, load
from dmtwisted.system.supervisor import START_PATIENCE
from dmtwisted.windows import control
from dmtwisted.windows.control import ControlFailed, Execute, First, Registered, Say
from dmtwisted.windows.service import NAME

READY_PATIENCE = 30.0
"""Seconds from the service's own report that it serves until its health address has to agree."""

VERSIONS = "versions"
"""The folder in which the installer lays versions side by side."""

DATABASE = "dmtwisted.db"
"""The file by which a state folder that is not empty is known as ours."""


class Outcome(IntEnum):
    """The exit status of the installer; 1 and 2 are NSIS' own: cancelled, failed."""

    SERVES = 0
    FORMER_SERVES = 3
    NOTHING_SERVES = 4
    REFUSED = 5
    INSTALLED = 6


@dataclass(frozen=True)
class Options:
    """The command line of the installer or uninstaller."""

    port: int | None = None
    state: Path | None = None
    config: Path | None = None
    firewall: bool = False
    delete_data: bool = False


Ready = Callable[[Config], str]
"""Asks the running service; why it is not ready, empty when it is."""

_WORD = re.compile(r"""\s*(?:/([\w-]+)(?:=("[^"]*"|[^\s"]*))?|"/([\w-]+)(?:=([^"]*))?")(?=\s|$)""")

IGNORED = frozenset({"S", "NCRC"})
"""Options for NSIS itself, which takes out ``/D=`` alone."""


def read(line: str) -> Options:
    """The options of a command line such as ``/S /PORT=4000 /STATE="D:\\our tills"``.

    :raises ControlFailed: for one that is unknown or makes no sense; a wrong word must not become a default.
    """
    given: dict[str, str] = {}
    at, line = 0, line.strip()
    while at < len(line):
        word = _WORD.match(line, at)
        if word is None:
            raise ControlFailed(f"not an option: {line[at:].strip()}")
        given[(word[1] or word[3]).upper()] = (word[2] or word[4] or "").strip('"')
        at = word.end()
    port = given.pop("PORT", None)
    if port is not None and not (port.isdecimal() and 0 < int(port) < 65536):
        raise ControlFailed(f"/PORT={port}: a number from 1 to 65535 is expected")
    paths: dict[str, Path | None] = {}
    for name in ("STATE", "CONFIG"):
        text = given.pop(name, None)
        if text is not None and not Path(text).is_absolute():
            raise ControlFailed(f"/{name}={text}: a whole path is expected")
        paths[name] = None if text is None else Path(text)
    flags = {name: given.pop(name, None) is not None for name in ("FIREWALL", "DELETE-DATA")}
    if unknown := given.keys() - IGNORED:
        raise ControlFailed(f"unknown option /{min(unknown)}")
    return Options(
        None if port is None else int(port), paths["STATE"], paths["CONFIG"], flags["FIREWALL"], flags["DELETE-DATA"]
    )


class Setup:
    """One run of the installer.

    :param ready: asks the service.
    :param say: shows a line.
    :param run: runs programs.
    """

    def __init__(
        self,
        ready: Ready,
        say: Say,
        run: Execute = control.execute,
        seconds: Callable[[], float] = time.monotonic,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        self._ready, self._say, self._run = ready, say, run
        self._seconds, self._wait = seconds, wait
        self._folder = control.data_folder()

    def install(self, line: str) -> Outcome:
        """Install, repair or upgrade."""
        former = control.registered()
        try:
            options = read(line)
            config = self._expect_agreement(options, former)
            if former is not None:
                self._back_up(former)
        except (ControlFailed, ConfigError, OSError) as error:
            self._say(f"refused, nothing has changed: {error}")
            return Outcome.REFUSED
        first = First(options.port or First.port, options.state)
        try:
            self._stop()
            self._tell(control.install(config, first=first, run=self._run))
            self._serve()
            if options.firewall:
                self._tell(control.open_firewall(self._settings().server.port, self._run))
        except Exception as error:
            # Whatever it is, and a defect of this version too: the shop has to sell.
            self._say(f"not ready: {error}")
            return Outcome.INSTALLED if former is None else self._go_back(former)
        self._say("the service is ready")
        _forget_others()
        return Outcome.SERVES

    def uninstall(self, line: str) -> Outcome:
        """Stop and remove the service; its data too, if that is asked for."""
        try:
            options = read(line)
            known = control.registered()
            state = self._folder / "data"
            with suppress(ConfigError):
                state = state if known is None else load(known.config).state
            # Whatever is not stopped is neither removed nor robbed of its data.
            self._stop()
            try:
                self._tell(control.remove())
            except ControlFailed as error:
                if control.NOT_THERE not in str(error):
                    raise
                self._say(str(error))
        except ControlFailed as error:
            self._say(f"refused, nothing has changed: {error}")
            return Outcome.REFUSED
        control.close_firewall(self._run)
        if options.delete_data:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._say(f"{self._folder} is deleted")
            if state.exists():
                self._say(f"{state} stays: delete it by hand")
        return Outcome.SERVES

    def _expect_agreement(self, options: Options, former: Registered | None) -> Path | None:
        """The configuration that is there; `None` when the first one is to be created.

        :raises ControlFailed: when the options say something else.
        """
        there = former.config if former is not None else self._folder / f"{NAME}.toml"
        config = options.config or (there if there.is_file() else None)
        if config is None:
            if options.state is not None:
                _expect_own(options.state)
            return None
        if not config.is_file():
            raise ControlFailed(f"there is no file {config}")
        settings = load(config)
        for name, wanted, has in (
            ("PORT", options.port, settings.server.port),
            ("STATE", options.state, settings.state),
        ):
            if wanted is not None and wanted != has:
                raise ControlFailed(f"/{name}={wanted}, but {config} has {has}: change it there")
        return config

    def _back_up(self, former: Registered) -> None:
        """Let the former version make a backup, which its service needs not be stopped for.

        :raises ControlFailed: when it cannot.
        """
        if not former.python.is_file():
            self._say(f"no backup is made: there is no {former.python} any more")
            return
        file = load(former.config).sqlite_file
        if file is not None and not file.exists():
            self._say("no backup is made: there is no data yet")
        else:
            ended = self._run(_command(former, "backup", "--config", str(former.config)))
            if ended.returncode:
                raise ControlFailed(f"no backup could be made: {_last(ended)}")
            self._say(_last(ended))

    def _go_back(self, former: Registered) -> Outcome:
        try:
            self._stop()
            ended = self._run(_command(former, "service", "install", "--config", str(former.config)))
            if ended.returncode:
                raise ControlFailed(f"{former.python} could not be registered: {_last(ended)}")
            self._serve()
        except (ControlFailed, ConfigError, OSError) as error:
            self._say(f"the former version does not serve either: {error}")
            return Outcome.NOTHING_SERVES
        self._say("the former version serves again")
        return Outcome.FORMER_SERVES

    def _stop(self) -> None:
        if control.registered() is not None:
            self._tell(control.stop())

    def _serve(self) -> None:
        """Start what is registered.

        :raises ControlFailed: when it does not become ready.
        """
        control.start(START_PATIENCE + 10, self._say, self._seconds, self._wait)
        settings = self._settings()
        until = self._seconds() + READY_PATIENCE
        while why := self._ready(settings):
            if self._seconds() >= until:
                raise ControlFailed("\n".join([why, *control.last_words()]))
            self._wait(control.LOOK_EVERY)

    def _settings(self) -> Config:
        now = control.registered()
        assert now is not None
        return load(now.config)

    def _tell(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._say(line)


def _command(version: Registered, *words: str) -> list[str]:
    return [str(version.python), "-X", "utf8", "-m", "dmtwisted.commands.main", *words]


def _last(ended: subprocess.CompletedProcess[str]) -> str:
    lines = (ended.stdout + ended.stderr).strip().splitlines()
    return lines[-1] if lines else f"exit status {ended.returncode}"


def _expect_own(state: Path) -> None:
    """Refuse a folder of other files: the service takes the rights of everybody else from it.

    :raises ControlFailed: for such a folder.
    """
    if state.parent == state or (state.exists() and any(state.iterdir()) and not (state / DATABASE).exists()):
        raise ControlFailed(f"/STATE={state}: an empty or a new folder is expected")


def _forget_others() -> None:
    """Delete the versions beside ours; what is still open stays until the next time."""
    ours = Path(sys.executable).parent
    if ours.parent.name == VERSIONS:
        for folder in ours.parent.iterdir():
            if folder != ours:
                shutil.rmtree(folder, ignore_errors=True)
