"""``/dm/main/api/v1/prro``: registers for programs (docs/reference/http-interface.md#registers-by-program).

The bodies of the original interface are not known. So a `POST` takes all that a `GET` answers: the name, the fiscal
number, the print forms by the names of the service's settings, and every setting of the driver, beside the others or
under ``settings``. Every answer is HTTP 200, with ``res`` and ``errortxt``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.clock import stamp14
from dmtwisted.core import Core
from dmtwisted.devices.devices import Device
from dmtwisted.devices.driver import REGISTER, BadSettings, Driver
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.results import Refused, Res
from dmtwisted.secrets import SecretsError
from dmtwisted.service_settings import LONGEST_SECRET
from dmtwisted.store.values import StoreFailed
from dmtwisted.wording import wording
from web.answers import Done, done_with, json_answer, language_of, refused_in_body
from web.management import answer_errors, lasting, read_object
from web.rights import permit_of

MINUTE, HOUR = 60_000, 3_600_000
"""In milliseconds."""

REAL, TRAINING = "prro", "training"
"""The drivers that ``prro_type`` 1 and 0 stand for."""

PRINT_FORMS = {"pf_charcount": "pf_charcount", "pf_astext": "pf_text", "pf_asimage": "pf_image", "pf_aspdf": "pf_pdf"}
"""Print forms: their names in this interface, and in a register's settings."""

SAME = {"fisid": "fiscal_number"}
"""Members that have another name than their setting."""

_FLAGS: dict[object, bool] = {"1": True, "true": True, "0": False, "false": False, 1: True, 0: False}


class DashboardRow(msgspec.Struct):
    """The state of one register."""

    device: str
    dev_id: str
    prro_type: int
    fisid: str
    token: str
    signinfo: str
    shiftdt: str
    shiftterm: int
    prro_status: int
    prro_info: str
    offline_time1: int
    offline_time2: int


class PrintForms(msgspec.Struct):
    """The print forms in a register's answers, and their width."""

    pf_charcount: int
    pf_charwidth: int
    pf_astext: bool
    pf_asimage: bool
    pf_aspdf: bool


class _RegisterRow(DashboardRow):
    driver: str
    printforms: PrintForms
    settings: dict[str, Any]


RegisterRow = done_with(
    "RegisterRow", _RegisterRow, "One register with its print forms, and its settings without secrets."
)


class GroupRecord(msgspec.Struct):
    """A tax group."""

    gr_id: int
    caption: str
    tg_print: str


class Groups(Done, kw_only=True):
    """The enabled tax groups."""

    fis_groups: list[GroupRecord]


async def answer_in_body(request: IRequest, default_language: str, work: Awaitable[msgspec.Struct]) -> bytes:
    """The answer of ``work``, or its refusal, with HTTP 200, ``res`` and ``errortxt``."""
    try:
        return json_answer(request, 200, await work)
    except BadSettings as error:
        refused = Refused(Res.MALFORMED, wording(error))
    except SecretsError as error:
        refused = Refused(Res.INTERNAL, wording(error))
    except StoreFailed as error:
        refused = Refused(Res.STORE_FAILED, note=wording(error))
    except Refused as error:
        refused = error
    return json_answer(request, 200, refused_in_body(refused, language_of(request, default_language)))


def register_of(core: Core, request: IRequest, dev_id: str = "") -> Device:
    """The register with the ``dev_id`` of the body, or else of the query.

    :raises Refused: 2007 when there is none.
    """
    dev_id = dev_id or request.args.get(b"dev_id", [b""])[-1].decode("utf-8", "replace")
    try:
        device = core.devices.by_id(dev_id)
    except Refused:
        raise Refused(Res.REGISTER_ID_NOT_FOUND, dev_id[:64]) from None
    if device.kind != REGISTER or not permit_of(request).covers(dev_id):
        raise Refused(Res.REGISTER_ID_NOT_FOUND, dev_id[:64])
    return device


async def row_of(core: Core, device: Device) -> DashboardRow:
    """The dashboard's row of a register (docs/reference/http-interface.md#dashboard)."""
    now = core.clock.now()
    try:
        state: dict[str, Any] = await device.built.state()
    except StoreFailed as error:
        state = {"error": str(error)}
    is_open = bool(state.get("shift_status"))
    opened_at = int(state.get("opened_at") or 0) if is_open else 0
    offline_since = int(state.get("offline_since") or 0)
    return DashboardRow(
        device=device.name,
        dev_id=device.row.dev_id,
        prro_type=int(state.get("dtype") or 0),
        fisid=str(state.get("fisid") or ""),
        token="",
        signinfo=str(state.get("signinfo") or ""),
        shiftdt=stamp14(opened_at) if is_open else "",
        shiftterm=max(0, now - opened_at) // HOUR if is_open else 0,
        prro_status=2 if "error" in state else int(state.get("online_status") or 0),
        prro_info=str(state.get("error") or ""),
        offline_time1=max(0, now - offline_since) // MINUTE if offline_since else 0,
        offline_time2=int(state.get("offline_month_min") or 0),
    )


class PrroApi:
    """Reads, creates and changes registers."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, default_language: str) -> None:
        self._core, self.default_language = core, default_language

    @app.route("/dm/main/api/v1/prro", methods=["GET"])
    async def read(self, request: IRequest) -> bytes:
        """One register: its state, print forms, and settings without secrets."""
        return await answer_in_body(request, self.default_language, self._read(request))

    async def _read(self, request: IRequest) -> msgspec.Struct:
        return await self._record(register_of(self._core, request))

    @app.route("/dm/main/api/v1/prro", methods=["POST"])
    async def write(self, request: IRequest) -> bytes:
        """Create a register, or with ``dev_id`` change its name or settings; what is not sent stays."""
        return await lasting(answer_in_body(request, self.default_language, self._write(request)))

    @app.route("/dm/main/api/v1/prro/groups", methods=["GET"])
    async def groups(self, request: IRequest) -> bytes:
        """The enabled tax groups of one register."""
        return await answer_in_body(request, self.default_language, self._groups(request))

    async def _groups(self, request: IRequest) -> msgspec.Struct:
        settings = register_of(self._core, request).settings
        groups = settings.tax_groups if isinstance(settings, RegisterSettings) else ()
        found = [GroupRecord(group.code, group.name, group.letter) for group in groups if group.enabled]
        return Groups(fis_groups=found)

    async def _record(self, device: Device) -> msgspec.Struct:
        settings = msgspec.to_builtins(device.settings)
        for name in device.driver.secrets:
            settings.pop(name, None)
        defaults = self._core.settings.now
        own = device.settings
        if not isinstance(own, RegisterSettings):
            own = RegisterSettings(pf_charcount=defaults.pf_charcount)
        forms = PrintForms(own.pf_charcount, defaults.pf_charwidth, own.pf_text, own.pf_image, own.pf_pdf)
        row = msgspec.structs.astuple(await row_of(self._core, device))
        made: msgspec.Struct = RegisterRow(0, "", *row, device.row.driver, forms, settings)
        return made

    async def _write(self, request: IRequest) -> msgspec.Struct:
        # Known clients spell members in more than one way.
        members = {name.lower(): value for name, value in read_object(request, dict[str, Any]).items()}
        named = members.get("dev_id") or request.args.get(b"dev_id", [b""])[-1]
        _check_token(members)
        device = await (self._change(request, members) if named else self._create(members))
        return await self._record(device)

    async def _create(self, members: Mapping[str, Any]) -> Device:
        name = _name(members)
        if name is None:
            raise BadSettings("device", "a name is expected")
        driver = self._driver(members)
        # A new register has the print forms that were set for all; its own go before them.
        usual = self._core.settings.now
        forms = {own: getattr(usual, known) for known, own in PRINT_FORMS.items() if hasattr(driver.settings, own)}
        settings = {**forms, **_changes(members, driver)}
        _check_configured(driver, settings)
        return await self._core.devices.add(name, REGISTER, driver.name, settings, _confirms(members))

    def _driver(self, members: Mapping[str, Any]) -> Driver:
        """The driver that is asked for: by its name, by ``prro_type``, else what a service of this kind is for."""
        named = members.get("driver")
        if named is None:
            training = self._core.config.service.training and not members.get("fisid")
            kind = members.get("prro_type")
            named = (TRAINING if training else REAL) if kind in (None, "") else REAL if _flag(kind) else TRAINING
        driver = self._core.devices.drivers.get((REGISTER, named)) if isinstance(named, str) else None
        if driver is None:
            raise BadSettings("driver", "the name of a driver for registers is expected")
        return driver

    async def _change(self, request: IRequest, members: Mapping[str, Any]) -> Device:
        device = register_of(self._core, request, str(members.get("dev_id") or ""))
        dev_id = device.row.dev_id
        changes = _changes(members, device.driver)
        if changes:
            _check_configured(device.driver, {**msgspec.to_builtins(device.settings), **changes})
        try:
            return await self._core.devices.change(dev_id, _name(members), changes, _confirms(members))
        except Refused as refused:
            if refused.res is Res.SHIFT_MUST_BE_CLOSED:
                state = await device.built.state()
                if state.get("online_status") and not state.get("shift_status"):
                    raise Refused(Res.REGISTER_OFFLINE, dev_id) from None
            raise


def _name(members: Mapping[str, Any]) -> str | None:
    """The name of the device; `None` when there is none."""
    for member in ("device", "name"):
        value = members.get(member)
        if value not in (None, ""):
            if not isinstance(value, str):
                raise BadSettings(member, "a text is expected")
            return value
    return None


def _confirms(members: Mapping[str, Any]) -> bool:
    """Whether a register may send real documents in training mode."""
    return _flag(members.get("confirm_real", False), "confirm_real")


def _check_token(members: Mapping[str, Any]) -> None:
    """Check the form of a cloud cabinet's token; the service does not use or keep it.

    :raises Refused: 2001 when it cannot be a token.
    """
    token = members.get("token")
    if token is None:
        return
    if not isinstance(token, str) or len(token) > LONGEST_SECRET or not (token.isascii() and token.isprintable()):
        raise Refused(Res.CLOUD_TOKEN_INVALID)


def _check_configured(driver: Driver, settings: Mapping[str, Any]) -> None:
    """Check that a register with ``settings`` could issue a receipt.

    :raises BadSettings: when a setting does not fit.
    :raises Refused: 2014 when no tax group or no payment type would be enabled.
    """
    value = driver.read(settings)
    for name in ("tax_groups", "pay_types"):
        if not any(one.enabled for one in getattr(value, name, ())):
            raise Refused(Res.REGISTER_NOT_CONFIGURED)


def _changes(members: Mapping[str, Any], driver: Driver) -> dict[str, Any]:
    """The settings among ``members``, by the driver's names; unknown members are ignored.

    :raises BadSettings: when a member does not fit.
    """
    known = {field.name: field for field in msgspec.structs.fields(driver.settings)}
    given: dict[str, tuple[str, Any]] = {}
    forms = members.get("printforms")
    if forms is not None and not isinstance(forms, dict):
        raise BadSettings("printforms", "an object is expected")
    for name, value in (forms or {}).items():
        if name in PRINT_FORMS:
            given[PRINT_FORMS[name]] = (f"printforms.{name}", value)
    for name, value in members.items():
        # `name` is the register's name here; the setting `name` is the taxpayer's.
        own = SAME.get(name, name)
        if name != "name" and own in known:
            given[own] = (name, value)
    changes = {
        own: _spelled(path, value, known[own].default)
        for own, (path, value) in given.items()
        if own in known and value is not None and not (value == "" and not isinstance(known[own].default, str))
    }
    settings = members.get("settings")
    if settings is not None and not isinstance(settings, dict):
        raise BadSettings("settings", "an object is expected")
    return {**changes, **(settings or {})}


def _spelled(path: str, value: Any, default: object) -> Any:
    """``value`` with the type of ``default``: numbers and booleans may be texts."""
    if isinstance(default, bool):
        return value if isinstance(value, bool) else _flag(value, path)
    if isinstance(default, int | float) and isinstance(value, str):
        try:
            return type(default)(value)
        except ValueError:
            raise BadSettings(path, "a number is expected") from None
    return value


def _flag(value: object, path: str = "prro_type") -> bool:
    key = value.strip().lower() if isinstance(value, str) else value
    if not isinstance(key, str | int) or key not in _FLAGS:
        raise BadSettings(path, "1 or 0 is expected")
    return _FLAGS[key]
