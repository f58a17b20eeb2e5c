"""What the service has to know of the counter terminal before there is one."""

from __future__ import annotations

from dmtwisted.terminals.interface import PING, Task
from dmtwisted.terminals.settings import TerminalSettings, terminal_driver

CAPABILITIES: frozenset[int] = frozenset({Task.PAYMENT})
SERVICES = frozenset({PING})
PORT = 7000


class TinySettings(TerminalSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As any terminal."""


DRIVER = terminal_driver(
    "tiny", "Counter terminal", TinySettings, CAPABILITIES, "tiny.terminal", stand="tiny.stand:STAND"
)
