"""Settings, dashboard and system information (docs/reference/http-interface.md#management)."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Annotated, Any, cast

import msgspec
from klein import Klein
from msgspec import Meta
from twisted.web.iweb import IRequest
from twisted.web.server import Request

from dmtwisted import __version__
from dmtwisted.access.login import LoginChange
from dmtwisted.clock import stamp17
from dmtwisted.core import Core
from dmtwisted.devices.devices import Device
from dmtwisted.devices.driver import REGISTER, BadSettings
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.service_settings import SECRETS, Settings
from web.answers import Done, json_answer
from web.filters import covered
from web.gate import is_at_the_machine
from web.management import answer_errors, lasting, read_object
from web.prro import PRINT_FORMS, DashboardRow, answer_in_body, row_of
from web.rights import permit_of

_DATABASES = {"postgresql": "PostgreSQL", "mssql": "MS SQL"}
_YES = {"1": True, "true": True, "0": False, "false": False, "": None}


class SettingsRecord(Settings, frozen=True, kw_only=True):
    """The settings of the service, by the names that clients of the interface know."""

    pf_del_custom: bool
    pf_is_custom: Annotated[bool, Meta(description="Whether the shop has its own lines around receipts.")]
    usr_uiauth: Annotated[bool, Meta(description="Whether a login is required.")]
    usr_chuser: bool
    usr_login: str
    usr_pass: Annotated[str, Meta(description="Always empty in answers.")]
    usr_confpass: Annotated[str, Meta(description="Always empty in answers.")]


class Dashboard(msgspec.Struct):
    """The state of every register."""

    devices: list[DashboardRow]
    dfs_metr: int
    need_upd: int
    server_v: str


class SystemInfo(msgspec.Struct):
    """The service itself; `uptime` in seconds."""

    database: str
    version: str
    uptime: int
    dt: str
    system: str
    python: str
    training: bool
    https: bool
    ready: bool


class SettingsApi:
    """``/dm/main/api/v1/…`` and ``/dm/api/v1/sys_info``."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, default_language: str) -> None:
        self._core, self.default_language = core, default_language

    @app.route("/dm/main/api/v1/settings", methods=["GET"])
    def settings(self, request: IRequest) -> bytes:
        """All settings, numbers as numbers and booleans as booleans; secrets are empty."""
        settings, access = self._core.settings.now, self._core.access
        record = SettingsRecord(
            **{**msgspec.structs.asdict(settings), **dict.fromkeys(SECRETS, "")},
            pf_del_custom=False,
            pf_is_custom=bool(settings.pf_custom),
            usr_uiauth=access.on,
            usr_chuser=False,
            usr_login=access.login,
            usr_pass="",
            usr_confpass="",
        )
        return json_answer(request, 200, record)

    @app.route("/dm/main/api/v1/settings", methods=["POST"])
    async def change(self, request: IRequest) -> bytes:
        """Change the settings that are sent, the login included; always HTTP 200: see `errortxt`."""
        return await lasting(answer_in_body(request, self.default_language, self._change(request)))

    async def _change(self, request: IRequest) -> Done:
        core, members = self._core, read_object(request, dict[str, Any])
        # Everything is checked before anything is changed.
        after = core.settings.check(members)
        forms = _forms(core.settings.now, after)
        for register in self._registers() if forms else ():
            _check_forms(register, forms)
        login = LoginChange(
            on=_boolean(members, "usr_uiauth"),
            login=_text(members, "usr_login"),
            password=_text(members, "usr_pass"),
            confirmation=_text(members, "usr_confpass"),
        )
        core.access.check(login)
        if not (after.extAccess or is_at_the_machine(cast(Request, request))):
            # It would lock out its own caller, and perhaps everyone who could undo it.
            raise BadSettings("extAccess", "only a program on the machine of the service may switch this off")
        await core.settings.change(members)
        core.hosts.forget()
        await core.access.change_login(login)
        for register in self._registers() if forms else ():
            await core.devices.change(register.row.dev_id, None, forms)
        return Done()

    def _registers(self) -> list[Device]:
        """Registers with print forms; a register that cannot be used keeps its settings."""
        return [
            device
            for device in self._core.devices
            if device.kind == REGISTER and isinstance(device.settings, RegisterSettings)
        ]

    @app.route("/dm/main/api/v1/dashboard", methods=["GET"])
    async def dashboard(self, request: IRequest) -> bytes:
        """The state of every register."""
        registers = (one for one in covered(self._core.devices, permit_of(request)) if one.kind == REGISTER)
        rows = [await row_of(self._core, device) for device in registers]
        return json_answer(request, 200, Dashboard(rows, dfs_metr=0, need_upd=0, server_v=__version__))

    @app.route("/dm/api/v1/sys_info", methods=["GET"])
    def sys_info(self, request: IRequest) -> bytes:
        """The service itself: database, version, seconds since its start."""
        core = self._core
        now = core.clock.now()
        database = _DATABASES.get(core.config.database.url.partition("://")[0], "SQLite")
        info = SystemInfo(
            database=database,
            version=__version__,
            uptime=max(0, int(core.reactor.seconds() - core.began)),
            dt=stamp17(now),
            system=platform.system(),
            python=platform.python_version(),
            training=core.config.service.training,
            https=core.certificate is not None,
            ready=core.ready,
        )
        return json_answer(request, 200, info)


FORMS = {**PRINT_FORMS, "pf_custom": "template"}
"""Print forms of the whole service: their names in this interface, and in a register's settings."""


def _forms(before: Settings, after: Settings) -> dict[str, Any]:
    """The print forms that change, by the names of a register's settings."""
    return {
        own: getattr(after, known) for known, own in FORMS.items() if getattr(after, known) != getattr(before, known)
    }


def _check_forms(register: Device, forms: Mapping[str, Any]) -> None:
    """Check that ``register`` can take these print forms.

    :raises BadSettings: with the name in this interface.
    """
    try:
        register.driver.read({**msgspec.to_builtins(register.settings), **forms})
    except BadSettings as error:
        raise BadSettings("pf_custom" if "template" in error.text else error.path, error.text) from None


def _boolean(members: Mapping[str, Any], name: str) -> bool | None:
    value = members.get(name)
    if value is None or isinstance(value, bool):
        return value
    if value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in _YES:
        return _YES[value.strip().lower()]
    raise BadSettings(name, "true or false is expected")


def _text(members: Mapping[str, Any], name: str) -> str:
    value = members.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadSettings(name, "a text is expected")
    return value
