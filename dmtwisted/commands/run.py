"""``dmtwisted run``: the service in the foreground, by twistd and our plugin."""

from __future__ import annotations

import sys

from twisted.scripts import twistd

from dmtwisted.commands.launch import LaunchOptions
from dmtwisted.config import ConfigError


def run(options: LaunchOptions) -> int:
    """Start the service; return when it has stopped."""
    try:
        options.load()
    except ConfigError as error:
        print(f"dmtwisted: {error}", file=sys.stderr)
        return 1
    arguments = ["twistd", "--nodaemon", "--pidfile=", "dmtwisted"]
    for name in ("config", "state", "port"):
        if options[name] is not None:
            arguments += [f"--{name}", str(options[name])]
    if options["training"]:
        arguments.append("--training")
    sys.argv = arguments
    twistd.run()
    return 0
