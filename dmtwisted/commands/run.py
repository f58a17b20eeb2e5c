"""``dmtwisted run``: the service in the foreground, by twistd and our plugin."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TextIO

from twisted.scripts import twistd

from dmtwisted.commands.launch import LaunchOptions
from dmtwisted.config import Config, ConfigError
from dmtwisted.store.urls import POSTGRES


def run(options: LaunchOptions, platform: str = sys.platform) -> int:
    """Start the service; return when it has stopped."""
    try:
        config = options.load()
    except ConfigError as error:
        print(f"dmtwisted: {error}", file=sys.stderr)
        return 1
    if platform == "win32":
        choose_reactor(config)
        take_any_letter(sys.stdout, sys.stderr)
    sys.argv = arguments(options, platform)
    twistd.run()
    return 0


def arguments(options: LaunchOptions, platform: str) -> list[str]:
    """The command line of twistd that means the same."""
    # On Windows twistd keeps no file with the number of its process, and knows no option for it.
    made = ["twistd", "--nodaemon", *([] if platform == "win32" else ["--pidfile="]), "dmtwisted"]
    for name in ("config", "state", "port"):
        if options[name] is not None:
            made += [f"--{name}", str(options[name])]
    return made + [f"--{name}" for name in ("training", "until-input-ends") if options[name]]


def choose_reactor(config: Config) -> None:
    """Install the reactor of Windows' completion ports, before anybody asks for the one that is the default there.

    That one (`select`) takes no more than 512 connections. The driver of PostgreSQL waits at sockets of its own,
    which completion ports do not know: with it the default stays.
    """
    if not config.database.url.startswith(POSTGRES):
        import_module("twisted.internet.iocpreactor").install()


def take_any_letter(*streams: TextIO) -> None:
    """Let these streams spell out what their code page has no letter for: output that goes to a file on Windows."""
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
