"""The management interface that programs know by heart: settings, dashboard, registers (http-api 6)."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted import __version__
from dmtwisted.access import LoginChange
from dmtwisted.clock import stamp14, stamp17
from dmtwisted.core import Core
from dmtwisted.devices.devices import Device
from dmtwisted.devices.drivers import REGISTER, BadSettings
from dmtwisted.requests import MAX_BODY
from dmtwisted.results import Refused, Res
from dmtwisted.secrets import SecretsError
from dmtwisted.store.values import StoreFailed
from web.answers import json_answer, language_of
from web.management import answer_errors, lasting

MINUTE, HOUR = 60_000, 3_600_000
"""In milliseconds."""

_DATABASES = {"postgresql": "PostgreSQL", "mssql": "MS SQL"}
_YES = {"1": True, "true": True, "0": False, "false": False, "": None}


class SettingsApi:
    """``/dm/main/api/v1/…`` and ``/dm/api/v1/sys_info``."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, default_language: str) -> None:
        self._core, self.default_language = core, default_language

    @app.route("/dm/main/api/v1/settings", methods=["GET"])
    def settings(self, request: IRequest) -> bytes:
        """Every setting, numbers as numbers and booleans as booleans (http-api 6.2); secrets are empty."""
        settings, access = self._core.settings.now, self._core.access
        return json_answer(
            request,
            200,
            {
                **msgspec.structs.asdict(settings),
                "token": "",
                "pf_del_custom": False,
                "pf_is_custom": bool(settings.pf_custom),
                "usr_uiauth": access.on,
                "usr_chuser": False,
                "usr_login": access.login,
                "usr_pass": "",
                "usr_confpass": "",
            },
        )

    @app.route("/dm/main/api/v1/settings", methods=["POST"])
    async def change(self, request: IRequest) -> bytes:
        """Change what is named, the login included; HTTP 200 whatever comes of it, ``errortxt`` tells (design 10)."""
        language = language_of(request, self.default_language)
        try:
            await lasting(self._change(_members(request)))
        except BadSettings as error:
            refused = Refused(Res.MALFORMED, str(error))
        except SecretsError as error:
            refused = Refused(Res.INTERNAL, str(error))
        except StoreFailed as error:
            refused = Refused(Res.STORE_FAILED, note=str(error))
        except Refused as error:
            refused = error
        else:
            return json_answer(request, 200, {"res": 0, "errortxt": ""})
        return json_answer(request, 200, {"res": refused.res.code, "errortxt": refused.errortxt(language)})

    async def _change(self, members: Mapping[str, Any]) -> None:
        core = self._core
        # All of it is looked at before any of it is done.
        core.settings.check(members)
        login = LoginChange(
            on=_boolean(members, "usr_uiauth"),
            login=_text(members, "usr_login"),
            password=_text(members, "usr_pass"),
            confirmation=_text(members, "usr_confpass"),
        )
        core.access.check(login)
        await core.settings.change(members)
        await core.access.change_login(login)

    @app.route("/dm/main/api/v1/dashboard", methods=["GET"])
    async def dashboard(self, request: IRequest) -> bytes:
        """How every register stands (http-api 6.1)."""
        rows = [await self._row(device) for device in self._core.devices if device.kind == REGISTER]
        told = {"devices": rows, "dfs_metr": 0, "need_upd": 0, "server_v": __version__}
        return json_answer(request, 200, told)

    async def _row(self, device: Device) -> dict[str, Any]:
        now = self._core.clock.now()
        try:
            state = await device.built.state()
        except StoreFailed as error:
            state = {"error": str(error)}
        is_open = bool(state.get("shift_status"))
        opened_at = int(state.get("opened_at") or 0) if is_open else 0
        offline_since = int(state.get("offline_since") or 0)
        return {
            "device": device.name,
            "dev_id": device.row.dev_id,
            "prro_type": int(state.get("dtype") or 0),
            "fisid": str(state.get("fisid") or ""),
            "token": "",
            "signinfo": str(state.get("signinfo") or ""),
            "shiftdt": stamp14(opened_at) if is_open else "",
            "shiftterm": max(0, now - opened_at) // HOUR if is_open else 0,
            "prro_status": 2 if "error" in state else int(state.get("online_status") or 0),
            "prro_info": str(state.get("error") or ""),
            "offline_time1": max(0, now - offline_since) // MINUTE if offline_since else 0,
            "offline_time2": int(state.get("offline_month_min") or 0),
        }

    @app.route("/dm/main/api/v1/prro", methods=["GET"])
    async def register(self, request: IRequest) -> bytes:
        """One register, ``dev_id`` names it (http-api 6.4)."""
        device = self._register(request)
        row = await self._row(device)
        settings = device.settings
        row["printforms"] = {
            "pf_charcount": int(getattr(settings, "pf_charcount", self._core.settings.now.pf_charcount)),
            "pf_charwidth": self._core.settings.now.pf_charwidth,
            "pf_astext": bool(getattr(settings, "pf_text", False)),
            "pf_asimage": bool(getattr(settings, "pf_image", False)),
            "pf_aspdf": bool(getattr(settings, "pf_pdf", False)),
        }
        return json_answer(request, 200, row)

    @app.route("/dm/main/api/v1/prro/groups", methods=["GET"])
    def groups(self, request: IRequest) -> bytes:
        """The tax groups of one register that are enabled (http-api 6.4)."""
        found = [
            {"gr_id": group.code, "caption": group.name, "tg_print": group.letter}
            for group in getattr(self._register(request).settings, "tax_groups", ())
            if group.enabled
        ]
        return json_answer(request, 200, {"fis_groups": found})

    def _register(self, request: IRequest) -> Device:
        dev_id = request.args.get(b"dev_id", [b""])[-1].decode("utf-8", "replace")
        device = self._core.devices.by_id(dev_id)
        if device.kind != REGISTER:
            raise Refused(Res.UNKNOWN_DEVICE)
        return device

    @app.route("/dm/api/v1/sys_info", methods=["GET"])
    def sys_info(self, request: IRequest) -> bytes:
        """The service itself: database, version, how long it runs in seconds (http-api 6.4)."""
        core = self._core
        now = core.clock.now()
        database = _DATABASES.get(core.config.database.url.partition("://")[0], "SQLite")
        told = {
            "database": database,
            "version": __version__,
            "uptime": max(0, int(core.reactor.seconds() - core.began)),
            "dt": stamp17(now),
            "system": platform.system(),
            "python": platform.python_version(),
            "training": core.config.service.training,
            "https": core.certificate is not None,
            "ready": core.ready,
        }
        return json_answer(request, 200, told)


def _members(request: IRequest) -> dict[str, Any]:
    body = request.content.read(MAX_BODY + 1)
    if len(body) > MAX_BODY:
        raise Refused(Res.MALFORMED, f"the body is longer than {MAX_BODY} bytes")
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(Res.MALFORMED, str(error)) from None


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
