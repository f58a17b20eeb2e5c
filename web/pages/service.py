"""What the settings pages show about the service: access, certificate, sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dmtwisted.config import place_of
from dmtwisted.core import Core
from web.pages.rendering import Registers
from web.pages.words import speaker

TRUST = (
    ("Windows", "certutil -addstore Root authority.pem"),
    ("Debian, Ubuntu", "cp authority.pem /usr/local/share/ca-certificates/dmtwisted.crt && update-ca-certificates"),
    ("Fedora", "cp authority.pem /etc/pki/ca-trust/source/anchors/ && update-ca-trust"),
    ("macOS", "security add-trusted-cert -d -k /Library/Keychains/System.keychain authority.pem"),
    ("Firefox", "Settings → Certificates → Authorities → Import"),
    ("Java", "keytool -importcert -cacerts -alias dmtwisted -file authority.pem"),
    ("curl, Python", 'curl --cacert authority.pem; verify="authority.pem"'),
)
"""How to trust the authority: the system, and the command or menu there."""

ROOMS = (
    ("dmtwisted.registers.channels", "tax"),
    ("dmtwisted.registers", "registers"),
    ("dmtwisted.documents", "registers"),
    ("dmtwisted.terminals", "terminals"),
    ("dmtwisted.printing", "printing"),
    ("dmtwisted.papers", "printing"),
    ("dmtwisted.store", "store"),
    ("dmtwisted.retention", "store"),
    ("dmtwisted.backup", "store"),
    ("dmtwisted.batch", "batch"),
    ("dmtwisted.mail", "mail"),
    ("dmtwisted.outbox", "mail"),
    ("dmtwisted.hooks", "webhooks"),
    ("dmtwisted.access", "access"),
    ("dmtwisted.dispatch", "requests"),
    ("dmtwisted.devices", "devices"),
    ("dmtwisted.watching", "devices"),
    ("protocols.fiscal", "tax"),
    ("protocols.terminals", "terminals"),
    ("protocols.printers", "printing"),
    ("protocols.simulators", "simulators"),
    ("web.pages", "pages"),
    ("web.tasks", "requests"),
    ("web", "pages"),
    ("twisted", "network"),
)
"""The part of the service that writes to the log under a name; the first that fits, else the service itself."""

LEVELS = ("debug", "info", "warn", "error", "critical")


def log_words(language: str) -> dict[str, Any]:
    """What the log's script says in place of names and levels."""
    say = speaker(language)
    return {
        "rooms": [(name, say(f"log_room_{room}")) for name, room in ROOMS],
        "service": say("log_room_service"),
        "levels": {level: say(f"log_level_{level}") for level in LEVELS},
        "missed": say("log_missed"),
        "waiting": say("feed_waiting"),
        "pause": say("feed_pause"),
        "go_on": say("feed_go_on"),
    }


KIBI = 1024


@dataclass(frozen=True)
class Protection:
    """Who has access, at a glance."""

    address: str
    local: bool
    """Whether only this machine can reach it."""
    https: bool
    login: bool
    hardened: bool
    keys: int


def protection(core: Core) -> Protection:
    """The current protection of the service."""
    server = core.config.server
    return Protection(
        address=", ".join(place_of(host, server.port) for host in server.hosts),
        local=core.local,
        https=core.certificate is not None,
        login=core.access.on,
        hardened=server.hardened,
        keys=sum(1 for _ in core.access.keys),
    )


def warned_of(core: Core) -> Registers:
    """The registers that every page warns of."""
    return Registers({one.row.dev_id: one.name for one in core.devices if core.devices.mark(one) == "real"})


def bytes_in_words(size: int | None) -> str:
    """A size for people: ``12.5 MB``; a dash when it is not known."""
    if size is None:
        return "—"
    value = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if value < KIBI or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= KIBI
    raise AssertionError
