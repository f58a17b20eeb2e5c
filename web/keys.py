"""The upload of a register's signing key (docs/reference/http-interface.md#register-keys)."""

from __future__ import annotations

from typing import Any

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.core import Core
from dmtwisted.devices.devices import Devices, RegisterDevice
from dmtwisted.devices.driver import BadSettings
from dmtwisted.registers.interface import TaxServiceRegister
from dmtwisted.results import Refused, Res
from web.answers import Done
from web.management import answer_errors, lasting, read_object
from web.prro import answer_in_body, register_of
from web.uploads import Form, bytes_of, is_form, read_form


class KeyUpload(msgspec.Struct, frozen=True):
    """An uploaded key: the file, its password, files of certificates, and which tax server is asked about it.

    With a register's `fiscal_number` it is the cabinet's server, which lists no registers but knows this one.
    """

    key: bytes
    password: str = ""
    certificate: tuple[bytes, ...] = ()
    server_url: str = ""
    fiscal_number: str = ""


class KeyLoaded(Done, kw_only=True):
    """`signinfo` describes the key that signs from now on."""

    signinfo: str


class KeyApi:
    """Takes keys in; none ever leaves the service."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, default_language: str) -> None:
        self._core, self.default_language = core, default_language

    @app.route("/dm/main/api/v1/prro/sign", methods=["POST"])
    async def load(self, request: IRequest) -> bytes:
        """Load or replace the key of a register; always HTTP 200: see `res`."""
        return await lasting(answer_in_body(request, self.default_language, self._load(request)))

    async def _load(self, request: IRequest) -> msgspec.Struct:
        device = register_of(self._core, request)
        if not isinstance(device.built, TaxServiceRegister):
            raise Refused(Res.REGISTER_ID_NOT_FOUND, device.row.dev_id)
        return KeyLoaded(signinfo=await _load(device.row.dev_id, self._core.devices, upload_of(request)))


async def _load(dev_id: str, devices: Devices, upload: KeyUpload) -> str:
    """Load the key in the device's turn; its description.

    :raises Refused: 2009 while a task runs, 2013 while the register is offline, and as the register refuses.
    """
    device = devices.by_id(dev_id)
    try:
        await device.turns.take()
    except Refused as refused:
        if refused.res is not Res.DEVICE_BUSY:
            raise
        raise Refused(Res.KEY_IN_USE, device.name) from None
    try:
        now = devices.by_id(dev_id)
        if not isinstance(now, RegisterDevice) or not isinstance(now.built, TaxServiceRegister):
            raise Refused(Res.REGISTER_ID_NOT_FOUND, dev_id)
        built = now.built
        state: dict[str, Any] = await built.state()
        if state.get("online_status") and not state.get("shift_status") and (state.get("key_days_left") or 0) > 0:
            # The old key has to send what was made offline; only then it may be replaced.
            raise Refused(Res.REGISTER_OFFLINE, dev_id)
        await built.load_key(upload.key, upload.password, upload.certificate)
        return str((await built.state()).get("signinfo") or "")
    finally:
        device.turns.give_back()


def upload_of(request: IRequest) -> KeyUpload:
    """The key in the body: multipart as a page sends it, or JSON with base64.

    :raises Refused: 2000 when the body is neither.
    :raises BadSettings: when a member is missing or does not fit.
    """
    upload = _of_form(read_form(request)) if is_form(request) else _of_json(read_object(request, _JsonUpload))
    if not upload.key:
        raise BadSettings("key", "the key file is expected")
    return upload


def _of_form(form: Form) -> KeyUpload:
    certificates = tuple(one for one in form.files.get("certificate", ()) if one)
    return KeyUpload(
        key=form.file("file") or form.file("key"),
        password=form.text("password"),
        certificate=certificates,
        server_url=form.text("server_url"),
        fiscal_number=form.text("fiscal_number"),
    )


class _JsonUpload(msgspec.Struct):
    key: str = ""
    password: str = ""
    certificate: str | list[str] | None = None
    server_url: str = ""
    fiscal_number: str = ""


def _of_json(upload: _JsonUpload) -> KeyUpload:
    given: Any = upload.certificate or []
    certificates = [given] if isinstance(given, str) else given
    return KeyUpload(
        key=bytes_of("key", upload.key),
        password=upload.password,
        certificate=tuple(bytes_of("certificate", text) for text in certificates),
        server_url=upload.server_url,
        fiscal_number=upload.fiscal_number,
    )
