"""``dmtwisted tls``: install a certificate, look at it, or make one with a local authority."""

from __future__ import annotations

import getpass
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from twisted.python import usage

from dmtwisted.authority import AUTHORITY_FILE, issue, names_of_this_machine, open_authority
from dmtwisted.certificates import BadCertificate, Identity, check, read_any, read_pem, remarks
from dmtwisted.config import Config, ConfigError, Overrides, load
from dmtwisted.secrets import write_private

FOLDER, INSTALLED = "tls", "desk.pem"
"""Where a certificate is installed while the configuration names no place: in the state folder, in one file."""

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


class TlsOptions(usage.Options):
    """``dmtwisted tls``"""

    synopsis = "Usage: dmtwisted tls install|status|authority [options]"
    subCommands: ClassVar = [
        ["install", None, InstallOptions, "Install a certificate."],
        ["status", None, StatusOptions, "Tell how the certificate stands."],
        ["authority", None, AuthorityOptions, "Make a local authority and a certificate of this machine."],
    ]

    def postOptions(self) -> None:
        """One of them has to be named."""
        if not self.subCommand:
            raise usage.UsageError("say what to do: install, status or authority")


def run(options: TlsOptions) -> int:
    """Do it; 1 and one line of why when it cannot be done."""
    commands: dict[str, Callable[[usage.Options, float], int]] = {
        "install": install,
        "status": status,
        "authority": authority,
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
    folder = config.state / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    own, made = open_authority(folder, now)
    check(own, now, folder / AUTHORITY_FILE)
    identity = issue(own, [*names_of_this_machine(), *options["names"]], now)
    _install(identity, config)
    _tell(identity, now)
    print(f"\nThe authority {'was made' if made else 'is'}: {folder / AUTHORITY_FILE}")
    print(TRUST.format(file=folder / AUTHORITY_FILE, fingerprint=own.fingerprint))
    return 0


def _config(options: usage.Options) -> Config:
    return load(
        Path(options["config"]) if options["config"] else None,
        Overrides(state=Path(options["state"]) if options["state"] else None),
    )


def _install(identity: Identity, config: Config) -> None:
    """Write the files, and say what has to stand in the configuration when it is not there yet."""
    secret = config.tls.passphrase
    chain, key = identity.certificates_pem(), identity.key_pem(secret)
    if config.tls.given:
        file, key_file = Path(config.tls.certificate), Path(config.tls.key)
        if file == key_file:
            write_private(file, chain + key)
        else:
            write_private(key_file, key)
            write_private(file, chain)
        print(f"installed in {file}; a running service takes it within some seconds")
        return
    folder = config.state / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = Path(os.path.abspath(folder / INSTALLED))
    write_private(file, chain + key)
    name = json.dumps(str(file), ensure_ascii=False)
    print(f"installed in {file}; put this into the configuration and start the service again:\n")
    print(f"[tls]\ncertificate = {name}\nkey = {name}")


def _tell(identity: Identity, now: float, key: Path | None = None) -> None:
    print(f"\ncertificate of {identity.subject}, made by {identity.issuer}")
    print(f"for {', '.join(identity.names) or 'no name at all'}")
    print(f"{identity.days_left(now)} days left, until {identity.leaf.not_valid_after_utc:%Y-%m-%d}")
    print(f"SHA-256 {identity.fingerprint}")
    for remark in remarks(identity, now, key):
        print(f"take care: {remark}")


TRUST = """
Bring this file to every machine that calls the service, and let it be trusted there (its fingerprint:
{fingerprint}). The key beside it stays here.

  Windows            certutil -addstore Root authority.pem            (as administrator)
  Debian, Ubuntu     cp authority.pem /usr/local/share/ca-certificates/dmtwisted.crt && update-ca-certificates
  Fedora             cp authority.pem /etc/pki/ca-trust/source/anchors/ && update-ca-trust
  macOS              security add-trusted-cert -d -k /Library/Keychains/System.keychain authority.pem
  Firefox            Settings, Certificates, Authorities, Import
  Java               keytool -importcert -cacerts -alias dmtwisted -file authority.pem
  Python, curl       verify="authority.pem";  curl --cacert authority.pem
"""
