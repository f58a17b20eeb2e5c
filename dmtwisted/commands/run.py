"""``dmtwisted run``: the service in the foreground, by twistd and our plugin alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from twisted.application import app
from twisted.scripts import twistd

from dmtwisted.commands.console import FAILED, complain
from dmtwisted.commands.launch import LaunchOptions
from dmtwisted.config import Config, ConfigError
from dmtwisted.store.urls import POSTGRES
from dmtwisted.system.reactor import without_tls

# Its module has one for each system, and no types for it.
_Options: Any = vars(twistd)["ServerOptions"]


class OurOptions(_Options):  # type: ignore[misc]
    """The options of twistd that knows our plugin alone: it would load something of each one to list them all."""

    @property
    def subCommands(self) -> Iterator[tuple[str, None, Any, str]]:
        """Our plugin."""
        plugin = import_module("twisted.plugins.dmtwisted_plugin").whole_stack
        self.loadedPlugins = {plugin.tapname: plugin}
        yield plugin.tapname, None, plugin.options, plugin.description


def run(options: LaunchOptions, platform: str = sys.platform) -> int:
    """Start the service; return when it has stopped."""
    try:
        config = options.load()
    except ConfigError as error:
        complain(str(error), error.advice)
        return FAILED
    if platform == "win32":
        choose_reactor(config)
    sys.argv = arguments(options, platform)
    app.run(twistd.runApp, OurOptions)
    return 0


def arguments(options: LaunchOptions, platform: str) -> list[str]:
    """The command line of twistd with the same meaning."""
    # On Windows twistd has no pid file, and no option for it.
    made = ["twistd", "--nodaemon", *([] if platform == "win32" else ["--pidfile="]), "dmtwisted"]
    for name in ("config", "state", "port", "training-protocol"):
        if options[name] is not None:
            made += [f"--{name}", str(options[name])]
    return made + [f"--{name}" for name in ("training", "until-input-ends") if options[name]]


def choose_reactor(config: Config) -> None:
    """Install the reactor for Windows' completion ports, before the default reactor is imported.

    The default (`select`) supports only 512 connections. It stays with PostgreSQL, whose driver waits at its own
    sockets, which completion ports do not support.
    """
    if not config.database.url.startswith(POSTGRES):
        with without_tls():
            import_module("twisted.internet.iocpreactor").install()
