"""``dmtwisted tls``: install a certificate, look at it, or make one with a local authority."""

from __future__ import annotations

import getpass
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from twisted.python import usage

from dmtwisted.access.authority import TRUST, authority_file
from dmtwisted.access.certificates import BadCertificate, Identity, check, read_any, read_pem, remarks
from dmtwisted.access.tls_install import certify, install_at, remove_from
from dmtwisted.config import INSTALLED as INSTALLED
from dmtwisted.config import Config, ConfigError, Overrides, load

_PLACE: list[list[object]] = [
    ["config", "c", None, "The configuration file (TOML)."],
    ["state", None, None, "The state folder; goes before the file."],
]


class InstallOptions(usage.Options):
    """``dmtwisted tls install``"""

    synopsis = "Usage: dmtwisted tls install FILE [options]"
    longdesc = "Install a certificate: PKCS#12 (.pfx, .p12), or PEM with its key in it or in the file --key."
    optParameters: ClassVar = [
        *_PLACE,
        ["key", None, None, "The file of the private key, when FILE does not hold it."],
        ["password", "p", None, "Password of FILE; - asks for it, so that others do not see it."],
    ]

    def parseOptions(self, options: Sequence[str] | None = None) -> None:
        """Take the file before the options as well as after them."""
        words = list(options or ())
        if words and not words[0].startswith("-"):
            words.append(words.pop(0))
        super().parseOptions(words)

    def parseArgs(self, file: str) -> None:  # type: ignore[override]
        """One file."""
        self["file"] = file


class StatusOptions(usage.Options):
    """``dmtwisted tls status``"""

    synopsis = "Usage: dmtwisted tls status [options]"
    longdesc = "Tell how the installed certificate stands; status 1 when the service would not start with it."
    optParameters: ClassVar = [*_PLACE]


class AuthorityOptions(usage.Options):
    """``dmtwisted tls authority``"""

    synopsis = "Usage: dmtwisted tls authority [options]"
    longdesc = "Make a local authority and a certificate of this machine; called again, renew the certificate."
    optParameters: ClassVar = [*_PLACE]

    def __init__(self) -> None:
        super().__init__()
        self["names"] = []

    def opt_name(self, name: str) -> None:
        """One more name or address of this machine; may be given several times."""
        self["names"].append(name)


class RemoveOptions(usage.Options):
    """``dmtwisted tls remove``"""

    synopsis = "Usage: dmtwisted tls remove [options]"
    longdesc = "Take the installed certificate away: with its next start the service speaks HTTP."
    optParameters: ClassVar = [*_PLACE]


class TlsOptions(usage.Options):
    """``dmtwisted tls``"""

    synopsis = "Usage: dmtwisted tls install|status|authority|remove [options]"
    subCommands: ClassVar = [
        ["install", None, InstallOptions, "Install a certificate."],
        ["status", None, StatusOptions, "Tell how the certificate stands."],
        ["authority", None, AuthorityOptions, "Make a local authority and a certificate of this machine."],
        ["remove", None, RemoveOptions, "Take the installed certificate away."],
    ]

    def postOptions(self) -> None:
        """One of them has to be named."""
        if not self.subCommand:
            raise usage.UsageError("say what to do: install, status or authority, or remove")


def run(options: TlsOptions) -> int:
    """Do it; 1 and one line of why when it cannot be done."""
    commands: dict[str, Callable[[usage.Options, float], int]] = {
        "install": install,
        "status": status,
        "authority": authority,
        "remove": remove,
    }
    try:
        return commands[str(options.subCommand)](options.subOptions, time.time())
    except (BadCertificate, ConfigError, ValueError) as error:
        why = str(error)
    except OSError as error:
        why = f"{error.filename or 'a file'}: {error.strerror or error}"
    print(f"dmtwisted: {why}", file=sys.stderr)
    return 1


def install(options: usage.Options, now: float) -> int:
    """Check a certificate and put it where the service takes it from."""
    config = _config(options)
    password = options["password"] or ""
    if password == "-":
        password = getpass.getpass("Password: ")
    file = Path(options["file"])
    identity = read_any(file, password, Path(options["key"]) if options["key"] else None)
    check(identity, now, file)
    _install(identity, config)
    _tell(identity, now)
    return 0


def status(options: usage.Options, now: float) -> int:
    """Tell how the certificate of the configuration stands."""
    config = _config(options)
    if not config.tls.given:
        print("no certificate: the service speaks HTTP")
        return 0
    file, key = Path(config.tls.certificate), Path(config.tls.key)
    identity = read_pem(file, key, config.tls.passphrase)
    _tell(identity, now, key)
    check(identity, now, file)
    return 0


def authority(options: usage.Options, now: float) -> int:
    """Make or open the local authority, and install a certificate of this machine."""
    config = _config(options)
    own, made, identity = certify(config.state, options["names"], now)
    _install(identity, config)
    _tell(identity, now)
    file = authority_file(config.state)
    print(f"\nThe authority {'was made' if made else 'is'}: {file}")
    print(TRUST.format(file=file, fingerprint=own.fingerprint))
    return 0


def remove(options: usage.Options, now: float) -> int:
    """Take the installed certificate away."""
    config = _config(options)
    if config.tls.given and not config.tls_is_installed:
        raise ConfigError("[tls] the configuration names the certificate; take it out there")
    if remove_from(config.state):
        print("removed; with its next start the service speaks HTTP")
    else:
        print("no certificate is installed")
    return 0


def _config(options: usage.Options) -> Config:
    return load(
        Path(options["config"]) if options["config"] else None,
        Overrides(state=Path(options["state"]) if options["state"] else None),
    )


def _install(identity: Identity, config: Config) -> None:
    """Write the files, and say when they count."""
    file = install_at(identity, config.tls, config.state)
    if config.tls.given:
        print(f"installed in {file}; a running service takes it within some seconds")
        return
    print(f"installed in {file}; with its next start the service speaks HTTPS")
    name = json.dumps(str(file), ensure_ascii=False)
    print(f"a configuration may name it, too:\n\n[tls]\ncertificate = {name}\nkey = {name}")


def _tell(identity: Identity, now: float, key: Path | None = None) -> None:
    print(f"\ncertificate of {identity.subject}, made by {identity.issuer}")
    print(f"for {', '.join(identity.names) or 'no name at all'}")
    print(f"{identity.days_left(now)} days left, until {identity.leaf.not_valid_after_utc:%Y-%m-%d}")
    print(f"SHA-256 {identity.fingerprint}")
    for remark in remarks(identity, now, key):
        print(f"take care: {remark}")
