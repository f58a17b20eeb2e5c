"""``POST /dm/api/v3/tax-key``: what a key file is, and which registers the tax service has for it
(docs/reference/http-interface.md#register-keys).

It is the first step to a register, before there is one: nothing is stored, here and at the tax service.
"""

from __future__ import annotations

from typing import Any

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.devices.devices import Device, Devices
from dmtwisted.devices.driver import REGISTER
from dmtwisted.registers.channels.interface import OutletRecord
from dmtwisted.results import Refused
from web.answers import Done, json_answer, language_of, refused_in_body
from web.keys import upload_of
from web.management import answer_errors, lasting

DRIVER = "prro"
"""The driver of registers with a key of their own."""


class ExaminedKeyRecord(Done, kw_only=True):
    """A key and its registers. With `key`, `res` is what the tax service says; without, why the file is no use.

    `open_shifts` has the fiscal numbers whose shift is open at the tax service, `devices` the devices that already
    have a fiscal number here, `other_payers` the tax numbers of the other registers here that are not in the list.
    """

    key: dict[str, Any] | None = None
    tax_objects: list[OutletRecord] = msgspec.field(default_factory=list)
    open_shifts: list[str] = msgspec.field(default_factory=list)
    devices: dict[str, str] = msgspec.field(default_factory=dict)
    other_payers: list[str] = msgspec.field(default_factory=list)


class TaxKeyApi:
    """Examines keys; none is kept."""

    app = Klein()
    answer_errors(app)

    def __init__(self, devices: Devices, default_language: str) -> None:
        self._devices, self.default_language = devices, default_language

    @app.route("/dm/api/v3/tax-key", methods=["POST"])
    async def examine(self, request: IRequest) -> bytes:
        """Examine a key file with its password, and ask the tax service for its registers; see `res`."""
        upload, language = upload_of(request), language_of(request, self.default_language)
        settings = {"server_url": upload.server_url} if upload.server_url else {}
        if upload.fiscal_number:
            settings |= {"protocol": "b", "fiscal_number": upload.fiscal_number}

        async def examined() -> ExaminedKeyRecord:
            async with self._devices.on_trial(REGISTER, DRIVER, settings) as register:
                key, said = await register.examine_key(upload.key, upload.password, upload.certificate)
            refused = refused_in_body(said.refused, language) if said.refused is not None else Done()
            payers = {outlet.tin for outlet in said.outlets}
            known = {number: device for device in self._devices if (number := _setting(device, "fiscal_number"))}
            others = {tin for device in known.values() if (tin := _setting(device, "fis_code"))} - payers
            return ExaminedKeyRecord(
                res=refused.res,
                errortxt=refused.errortxt,
                key=key,
                tax_objects=said.outlets,
                open_shifts=sorted(said.open_shifts),
                devices={number: device.name for number, device in known.items()},
                other_payers=sorted(others) if payers else [],
            )

        try:
            return json_answer(request, 200, await lasting(examined()))
        except Refused as refused:
            done = refused_in_body(refused, language)
            return json_answer(request, 200, ExaminedKeyRecord(res=done.res, errortxt=done.errortxt))


def _setting(device: Device, name: str) -> str:
    """A text among the settings of a register at the tax service; empty for other devices."""
    if device.kind != REGISTER or device.row.driver != DRIVER:
        return ""
    settings = device.settings
    return str(settings.get(name, "") if isinstance(settings, dict) else getattr(settings, name, ""))
