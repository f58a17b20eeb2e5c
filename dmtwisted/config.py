"""The configuration file: settings that the service needs to start, read and checked once.

One TOML file, every key optional. The dataclasses below contain the documentation of each key, from which
`tools.config_page` makes ``docs/configuration.md``. Settings that change while the service runs are in the database.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from dmtwisted.hardened import BadList, Circle, listed, read_network, read_origin
from dmtwisted.host_names import HostList, read_host, read_hosts

T = TypeVar("T")


class ConfigError(Exception):
    """The configuration cannot be used; the text is one line that names file, section and key.

    :param advice: a line that says what to do, for the person at the command line.
    """

    def __init__(self, why: str, advice: str = "") -> None:
        super().__init__(why)
        self.advice = advice


@dataclass(frozen=True)
class About:
    """The documentation of a key, beside its default."""

    effect: str
    example: str | int | float | bool
    choices: tuple[str, ...] = ()
    bounds: tuple[float, float] | None = None
    pattern: str = ""
    pattern_text: str = ""
    is_path: bool = False
    is_secret: bool = False


def option(default: T, effect: str, example: T, **more: Any) -> T:
    """A key of the file: a dataclass field with its `About`."""
    assert isinstance(example, str | int | float | bool)
    about = About(effect, example, **more)
    return field(default=default, repr=not about.is_secret, metadata={"about": about})


_BOTH = {"": ("0.0.0.0", "::"), "localhost": ("127.0.0.1", "::1")}
"""Values of `host` that mean an address of each family."""

CALLED = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Addresses to listen on that cannot be called, each with the one to call on the same machine."""


def place_of(host: str, port: int) -> str:
    """Host and port as in a URL: ``127.0.0.1:3939``, ``[::1]:3939``."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass(frozen=True)
class ServerConfig:
    """Where the service listens."""

    host: str = option(
        "",
        "The address to listen on; `localhost` is for this machine only. By default every address, IPv4 and IPv6.",
        "localhost",
    )
    port: int = option(3939, "The TCP port; 0 is any free port. `--port` overrides it.", 8080, bounds=(0, 65535))
    path_alias: str = option(
        "",
        "The word in place of `main` in links of pages. In requests any word may stand there.",
        "desk",
        pattern=r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*",
        pattern_text="one path segment of letters, digits and . _ ~ -",
    )
    hardened: bool = option(
        False,
        "Allow only this machine and `allowed_addresses` and pages of `allowed_origins`, and require a login or an"
        " API key for everything, tasks too (docs/security.md).",
        True,
    )
    allowed_addresses: str = option(
        "",
        "Addresses and networks that may use a hardened service besides this machine, separated by commas.",
        "192.168.1.20, 192.168.2.0/24",
    )
    allowed_hosts: str = option(
        "",
        "Names by which the service may be called besides those of its machine, of `host` and of the certificate,"
        " separated by commas; `*.shop.example` is every name one level below, a network every address in it.",
        "desk.shop.example",
    )
    allowed_origins: str = option(
        "",
        "Origins of pages that may use the management interface, and the tasks of a hardened service, separated by"
        " commas; its own pages always may.",
        "https://shop.example",
    )

    @property
    def hosts(self) -> tuple[str, ...]:
        """The addresses to listen on; of two, one may be of a family that the machine does not have."""
        return _BOTH.get(self.host, (self.host.strip("[]"),))

    @property
    def circle(self) -> Circle:
        """The clients that two of the lists allow.

        :raises BadList: when one of them is invalid; `load` has checked that for a file.
        """
        return Circle.read(self.allowed_addresses, self.allowed_origins)

    @property
    def names(self) -> HostList:
        """The names of `allowed_hosts`.

        :raises BadList: when one of them is invalid; `load` has checked that for a file.
        """
        return read_hosts(self.allowed_hosts)


@dataclass(frozen=True)
class TlsConfig:
    """The certificate. With one the service uses only HTTPS, without one only HTTP."""

    certificate: str = option(
        "",
        "The certificate with its chain, a PEM file; needs `key`. By default the one that was installed on the page"
        " or by `dmtwisted tls`, if there is one.",
        "tls/desk.pem",
        is_path=True,
    )
    key: str = option("", "The private key of the certificate, a PEM file.", "tls/desk.key", is_path=True)
    passphrase: str = option("", "The passphrase of an encrypted private key.", "correct horse", is_secret=True)

    @property
    def given(self) -> bool:
        """Whether there is a certificate: HTTPS or HTTP."""
        return bool(self.certificate)


@dataclass(frozen=True)
class DatabaseConfig:
    """Where receipts, operations and settings are stored."""

    url: str = option(
        "",
        "`sqlite:///FILE`, `postgresql://…` or `mssql://…`; by default the SQLite file `dmtwisted.db` in the state"
        " folder. See `docs/databases.md`.",
        "postgresql://till:secret@db.example/tills",
        is_secret=True,
    )


@dataclass(frozen=True)
class LogConfig:
    """What is logged, and where."""

    level: str = option(
        "info",
        "The lowest level that is written; `debug` shows the bytes exchanged with devices.",
        "debug",
        choices=("debug", "info", "warn", "error"),
    )
    format: str = option(
        "text",
        "`text` for people, `json` (one object per line) for log collectors.",
        "json",
        choices=("text", "json"),
    )
    file: str = option(
        "",
        "The file to append to; by default the standard output. There is one file per day, compressed and kept for"
        " `logdays` of the settings (docs/operating.md).",
        "log/dmtwisted.log",
        is_path=True,
    )


@dataclass(frozen=True)
class ServiceConfig:
    """The service as a whole."""

    language: str = option(
        "uk",
        "The language of error texts for clients without `Accept-Language`.",
        "en",
        choices=("uk", "en"),
    )
    training: bool = option(
        False, "All devices are simulated and nothing leaves the machine. `--training` switches it on.", True
    )
    state: str = option(
        "var",
        "The folder of all files of the service, including the SQLite database. `--state` overrides it.",
        "/var/lib/dmtwisted",
        is_path=True,
    )
    turn_wait_s: float = option(
        15.0,
        "Seconds that a task waits for a busy printer or terminal before the answer 1105.",
        5.0,
        bounds=(0, 3600),
    )
    training_protocol: str = option(
        "a",
        "The protocol of the tax service that training registers practise. `--training-protocol` overrides it.",
        "b",
        choices=("a", "b"),
    )


TLS_FOLDER, INSTALLED = "tls", "desk.pem"
"""The place of an installed certificate in the state folder, with its key in the same file."""

BACKUPS = "backups"
"""The folder of backups in the state folder."""

PRESENCE_FILE = "presence-code"
"""The file in the state folder with the one-time code that stands for the login until there is one."""

SYSTEM_FOLDERS = (
    (Path(os.environ.get("PROGRAMDATA", r"C:\ProgramData")) / "dmtwisted",)
    if os.name == "nt"
    else tuple(
        Path(folder)
        for folder in (
            *("/etc/dmtwisted", "/etc/ssl", "/etc/pki"),
            *("/usr/share/ca-certificates", "/usr/local/share/ca-certificates"),
        )
    )
)
"""Where certificates of the machine are."""


@dataclass(frozen=True)
class Config:
    """The whole file, checked, with every path absolute."""

    server: ServerConfig = ServerConfig()
    tls: TlsConfig = TlsConfig()
    database: DatabaseConfig = DatabaseConfig()
    log: LogConfig = LogConfig()
    service: ServiceConfig = ServiceConfig()
    folder: Path | None = field(default=None, compare=False)
    """Where its relative paths begin."""

    @property
    def state(self) -> Path:
        """The folder of all files of the service."""
        return Path(self.service.state)

    @property
    def installed_certificate(self) -> str:
        """The file of the installed certificate in the state folder, which need not exist."""
        return os.path.abspath(self.state / TLS_FOLDER / INSTALLED)

    @property
    def tls_is_installed(self) -> bool:
        """Whether the service uses that one."""
        return self.tls.certificate == self.installed_certificate

    @property
    def sqlite_file(self) -> Path | None:
        """The file of the SQLite database; `None` when the database is a server."""
        if not self.database.url:
            return self.state / "dmtwisted.db"
        if self.database.url.startswith(SQLITE):
            return Path(self.database.url.removeprefix(SQLITE))
        return None

    def named_folders(self, state: Path | None) -> tuple[Path, ...]:
        """The folders in which settings of devices may name files; never the whole disk."""
        own = (folder for folder in (state, self.folder) if folder is not None and folder != folder.parent)
        return (*own, *SYSTEM_FOLDERS)

    @property
    def database_url(self) -> str:
        """The URL of the database, also of the SQLite file in the state folder."""
        return self.database.url if self.sqlite_file is None else f"{SQLITE}{self.sqlite_file}"


@dataclass(frozen=True)
class Overrides:
    """Settings of the command line, which override the file."""

    state: Path | None = None
    port: int | None = None
    training: bool = False
    training_protocol: str | None = None


SQLITE = "sqlite:///"
DATABASES = (SQLITE, "postgresql://", "mssql://")
"""The beginning of a database URL, for each kind."""

SECTIONS: dict[str, type[Any]] = {
    "server": ServerConfig,
    "tls": TlsConfig,
    "database": DatabaseConfig,
    "log": LogConfig,
    "service": ServiceConfig,
}


RESERVED = frozenset({"api", "devices", "main", "static"})
"""Path segments that cannot be used as an alias."""

_LISTS = {"allowed_addresses": read_network, "allowed_hosts": read_host, "allowed_origins": read_origin}
"""The reader for the parts of each list."""


def load(path: Path | None, overrides: Overrides | None = None) -> Config:
    """The configuration of the file ``path``, or the defaults, with ``overrides``.

    Relative paths start at the folder of the file; without a file, and in ``overrides``, at the current folder.

    :raises ConfigError: when something in it cannot be used.
    """
    reader = _Reader("", {}) if path is None else _Reader(f"{path}: ", _parse(path))
    reader.check_sections()
    folder = Path() if path is None else path.parent
    tls = reader.section("tls", TlsConfig, folder)
    for name, other in (("key", tls.certificate), ("certificate", tls.key)):
        if other and not getattr(tls, name):
            raise reader.error(f"[tls] {name}: is missing; certificate and key need each other")
    server = reader.section("server", ServerConfig, folder)
    if server.path_alias in RESERVED:
        raise reader.error(f"[server] path_alias: {server.path_alias} has its own meaning under /dm/")
    for key, read in _LISTS.items():
        try:
            for part in listed(getattr(server, key)):
                read(part)
        except BadList as error:
            raise reader.error(f"[server] {key}: {error}") from None
    database = reader.section("database", DatabaseConfig, folder)
    config = Config(
        server=server,
        tls=tls,
        database=replace(database, url=_database_url(reader, database.url, folder)),
        log=reader.section("log", LogConfig, folder),
        service=reader.section("service", ServiceConfig, folder),
        folder=folder.absolute(),
    )
    return _override(config, overrides or Overrides())


def _override(config: Config, overrides: Overrides) -> Config:
    server, service = config.server, config.service
    if overrides.port is not None:
        if not 0 <= overrides.port <= 65535:
            raise ConfigError(f"--port: a number from 0 to 65535 is expected, not {overrides.port}")
        server = replace(server, port=overrides.port)
    if overrides.state is not None:
        service = replace(service, state=os.path.abspath(overrides.state))
    if overrides.training:
        service = replace(service, training=True)
    if overrides.training_protocol is not None:
        if overrides.training_protocol not in ("a", "b"):
            raise ConfigError(f"--training-protocol: a or b is expected, not {overrides.training_protocol}")
        service = replace(service, training_protocol=overrides.training_protocol)
    return _with_installed(replace(config, server=server, service=service))


def _with_installed(config: Config) -> Config:
    """``config`` with the certificate installed in the state folder, if it names no other."""
    file = config.installed_certificate
    if config.tls.given or not os.path.exists(file):
        return config
    return replace(config, tls=replace(config.tls, certificate=file, key=file))


def _parse(path: Path) -> dict[str, Any]:
    try:
        # Editors on Windows write a byte order mark, which is not TOML.
        return tomllib.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        near = near_path(path)
        advice = f"Did you mean {near} ?" if near else "Without --config every key has its default."
        raise ConfigError(f"{path}: there is no such file", advice) from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not valid TOML: {error}") from None


def near_path(path: Path) -> Path | None:
    """A path that exists, for one that does not: it differs by a slip in one or more of its names."""
    found = Path(path.anchor)
    for part in path.relative_to(found).parts:
        if not (found / part).exists():
            try:
                near = get_close_matches(part, os.listdir(found), 1)
            except OSError:
                near = []
            if not near:
                return None
            part = near[0]
        found /= part
    return found


def _database_url(reader: _Reader, url: str, folder: Path) -> str:
    if url and not url.startswith(DATABASES):
        # Not shown: the URL may contain a password.
        raise reader.error(f"[database] url: a URL that begins with {listed_words(DATABASES)} is expected")
    if not url.startswith(SQLITE):
        return url
    file = url.removeprefix(SQLITE)
    if not file:
        raise reader.error(f"[database] url: a file is expected after {SQLITE}")
    return SQLITE + os.path.abspath(folder / file)


class _Reader:
    """A parsed file; each error begins with its ``name``."""

    def __init__(self, name: str, tables: dict[str, Any]) -> None:
        self._name, self._tables = name, tables

    def error(self, text: str) -> ConfigError:
        """An error about this file."""
        return ConfigError(self._name + text)

    def check_sections(self) -> None:
        """Raise an error for the first unknown section, or key outside of sections."""
        for name, value in self._tables.items():
            if name in SECTIONS:
                if not isinstance(value, dict):
                    raise self.error(f"[{name}]: a section is expected, not {as_shown(value)}")
            elif isinstance(value, dict):
                raise self.error(f"unknown section [{_name(name)}]{_hint(name, SECTIONS, '[{}]')}")
            else:
                homes = [section for section, cls in SECTIONS.items() if name in _keys(cls)]
                hint = f"; did you mean [{homes[0]}] {name}?" if homes else ""
                raise self.error(f"the key {_name(name)} is not in a section{hint}")

    def section(self, name: str, cls: type[T], folder: Path) -> T:
        """The section ``name`` as its dataclass, with paths made absolute from ``folder``."""
        table: dict[str, Any] = self._tables.get(name, {})
        keys = _keys(cls)
        for given in table:
            if given not in keys:
                raise self.error(f"unknown key [{name}] {_name(given)}{_hint(given, keys, '{}')}")
        values = {}
        for key_name, spec in keys.items():
            default: Any = spec.default
            value = default
            if key_name in table:
                value = self._value(f"[{name}] {key_name}: ", spec, table[key_name])
            if about_key(spec).is_path and (value or default):
                value = os.path.abspath(folder / (value or default))
            values[key_name] = value
        return cls(**values)

    def _value(self, where: str, spec: Field[Any], value: Any) -> Any:
        about = about_key(spec)
        shown = "" if about.is_secret else f", not {as_shown(value)}"
        kind: type = spec.default.__class__
        if not (_is(value, kind) or (kind is float and _is(value, int))):
            raise self.error(f"{where}{KINDS[kind]} is expected{shown}")
        if about.bounds and not about.bounds[0] <= value <= about.bounds[1]:
            least, greatest = about.bounds
            raise self.error(f"{where}a number from {least} to {greatest} is expected{shown}")
        if about.choices and value not in about.choices:
            hint = _hint(value, about.choices, "{}")
            raise self.error(f"{where}{listed_words(about.choices)} is expected{shown}{hint}")
        if about.pattern and value and not re.fullmatch(about.pattern, value):
            raise self.error(f"{where}{about.pattern_text} is expected{shown}")
        if kind is str and "\0" in value:
            raise self.error(f"{where}a text without the character NUL is expected")
        return kind(value)


KINDS: dict[type, str] = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def _is(value: object, kind: type) -> bool:
    """Whether ``value`` is of exactly this kind: true and false are not whole numbers here."""
    return value.__class__ is kind


def _keys(cls: type[Any]) -> dict[str, Field[Any]]:
    return {spec.name: spec for spec in fields(cls)}


def about_key(spec: Field[Any]) -> About:
    """The documentation of the key of a field."""
    about = spec.metadata["about"]
    assert isinstance(about, About)
    return about


def as_shown(value: Any) -> str:
    """``value`` as in the file, if it is short."""
    if isinstance(value, dict):
        return "a section"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, bool | str | int | float):
        text = as_toml(value)
        return text if len(text) <= 60 else f"{text[:56]}…"
    return "a date or time"


def _name(given: str) -> str:
    """A name as in the file: with quotes if it is not a bare word."""
    return given if re.fullmatch(r"[A-Za-z0-9_-]+", given) else as_toml(given)


def as_toml(value: str | int | float | bool) -> str:
    """``value`` as it is written in the file."""
    # A JSON string is a TOML string too.
    return json.dumps(value, ensure_ascii=False)


def _hint(name: str, known: Iterable[str], form: str) -> str:
    near = get_close_matches(name.lower(), list(known), n=1, cutoff=0.5)
    return f"; did you mean {form.format(near[0])}?" if near else ""


def listed_words(words: Sequence[str], last: str = "or") -> str:
    """``words`` listed as in a sentence, with ``last`` before the last one."""
    return f"{', '.join(words[:-1])} {last} {words[-1]}"
