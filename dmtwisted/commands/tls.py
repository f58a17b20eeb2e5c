"""``dmtwisted tls``: install a certificate, show it, create one with a local authority, or remove it."""

from __future__ import annotations

import getpass
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from twisted.python import usage

from dmtwisted.access.authority import NOT_PERMITTED, TRUST, authority_file
from dmtwisted.access.certificates import BadCertificate, Identity, check, facts, read_any, read_pem, remarks
from dmtwisted.access.tls_install import certify, install_at, remove_from
from dmtwisted.access.tls_orders import lasting_facts
from dmtwisted.changes import Action, Area
from dmtwisted.commands.options import PLACE, CommandOptions, FileOptions, Group, options_class
from dmtwisted.commands.recording import recorded
from dmtwisted.commands.shared import configuration, expect_state, status_of
from dmtwisted.config import Config, ConfigError


class InstallOptions(FileOptions):
    """``dmtwisted tls install``"""

    longdesc = "Install a certificate: PKCS#12 (.pfx, .p12), or PEM with the key in FILE or in the file --key."
    optParameters: ClassVar = [
        *PLACE,
        ["key", None, None, "The file of the private key, if FILE does not contain it."],
        ["password", "p", None, "The password of FILE; - asks for it, so that it does not show on the screen."],
    ]


StatusOptions = options_class("Show the installed certificate. Exit status 1 when the service cannot start with it.")
RemoveOptions = options_class("Remove the installed certificate. From its next start the service uses HTTP.")


class AuthorityOptions(CommandOptions):
    """``dmtwisted tls authority``"""

    longdesc = (
        "Create a local authority and a certificate for this machine; repeat it with all its names to renew it. The"
        " authority can sign for this machine and the names of its first run only."
    )
    optParameters: ClassVar = [*PLACE]
    optFlags: ClassVar = [["new", None, "Create a new authority, which every machine has to trust instead."]]

    def __init__(self) -> None:
        super().__init__()
        self["names"] = []

    def opt_name(self, name: str) -> None:
        """One more name or address of this machine; can be repeated."""
        self["names"].append(name)


class TlsOptions(Group):
    """``dmtwisted tls``"""

    subCommands: ClassVar[list[Any]] = [
        ["install", None, InstallOptions, "Install a certificate."],
        ["status", None, StatusOptions, "Show the certificate."],
        ["authority", None, AuthorityOptions, "Create a local authority and a certificate for this machine."],
        ["remove", None, RemoveOptions, "Remove the installed certificate."],
    ]


def run(options: TlsOptions) -> int:
    """Run the sub-command; 1 after one line that says why it failed."""
    commands: dict[str, Callable[[usage.Options, float], int]] = {
        "install": install,
        "status": status,
        "authority": authority,
        "remove": remove,
    }
    command = commands[str(options.subCommand)]
    return status_of(lambda: command(options.subOptions, time.time()), BadCertificate, ValueError)


def install(options: usage.Options, now: float) -> int:
    """Check a certificate and write it to the place from which the service reads it."""
    config = expect_state(configuration(options), to_make=True)
    password = options["password"] or ""
    if password == "-":
        password = getpass.getpass("Password: ")
    file = Path(options["file"])
    identity = read_any(file, password, Path(options["key"]) if options["key"] else None)
    check(identity, now, file)
    with recorded(config, Area.CERTIFICATE, Action.INSTALLED, now, lasting_facts(facts(identity, now))):
        _install(identity, config)
    _show(identity, now)
    return 0


def status(options: usage.Options, now: float) -> int:
    """Show the certificate of the configuration."""
    config = configuration(options)
    if not config.tls.given:
        print("no certificate: the service uses HTTP")
        return 0
    file, key = Path(config.tls.certificate), Path(config.tls.key)
    identity = read_pem(file, key, config.tls.passphrase)
    _show(identity, now, key)
    check(identity, now, file)
    return 0


def authority(options: usage.Options, now: float) -> int:
    """Create or open the local authority, and install a certificate for this machine."""
    config = expect_state(configuration(options), to_make=True)
    made = certify(config.state, options["names"], now, bool(options["new"]))
    with recorded(config, Area.CERTIFICATE, Action.ISSUED, now, lasting_facts(facts(made.identity, now))):
        _install(made.identity, config)
    _show(made.identity, now)
    for name in made.left_out:
        print(f"warning: {name}: {NOT_PERMITTED}")
    file = authority_file(config.state)
    print(f"\n{'Created the authority' if made.made else 'The authority is'}: {file}")
    print(TRUST.format(file=file, fingerprint=made.authority.fingerprint))
    return 0


def remove(options: usage.Options, now: float) -> int:
    """Remove the installed certificate."""
    config = expect_state(configuration(options))
    if config.tls.given and not config.tls_is_installed:
        raise ConfigError("[tls] the configuration names the certificate; remove it there")
    with recorded(config, Area.CERTIFICATE, Action.DELETED, now, {}):
        removed = remove_from(config.state)
    if removed:
        print("removed; from its next start the service uses HTTP")
    else:
        print("no certificate is installed")
    return 0


def _install(identity: Identity, config: Config) -> None:
    """Write the files and print when the service reads them."""
    file = install_at(identity, config.tls, config.state)
    if config.tls.given:
        print(f"installed in {file}; a running service reads it within seconds")
        return
    print(f"installed in {file}; from its next start the service uses HTTPS")
    name = json.dumps(str(file), ensure_ascii=False)
    print(f"the configuration file can name it too:\n\n[tls]\ncertificate = {name}\nkey = {name}")


def _show(identity: Identity, now: float, key: Path | None = None) -> None:
    print(f"\ncertificate of {identity.subject}, issued by {identity.issuer}")
    print(f"for {', '.join(identity.names) or 'no name'}")
    print(f"{identity.days_left(now)} days left, until {identity.leaf.not_valid_after_utc:%Y-%m-%d}")
    print(f"SHA-256 {identity.fingerprint}")
    for remark in remarks(identity, now, key):
        print(f"warning: {remark}")
