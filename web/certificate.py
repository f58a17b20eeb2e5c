"""``/dm/api/v3/tls``: how the certificate stands, and another one installed, made, taken up or away."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.access.tls_orders import Order, Told, ordered
from dmtwisted.clock import wall
from dmtwisted.config import TLS_FOLDER
from dmtwisted.core import Core
from dmtwisted.devices.drivers import BadSettings
from dmtwisted.results import Refused, Res
from web.answers import error_answer, json_answer, language_of, not_found, plain_answer
from web.management import answer_errors, lasting, read_object
from web.uploads import bytes_of, is_form, read_form

AUTHORITY = "authority.pem"
"""The certificate of the local authority, by the name of its file."""


class CertificateStatus(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How the certificate stands; `error` is empty when the one in the files is served.

    Of a service without one there is `https` false alone; `restart` says that the next start brings a change.
    """

    https: bool
    restart: bool
    authority: bool
    certificate: str | msgspec.UnsetType = msgspec.UNSET
    subject: str | msgspec.UnsetType = msgspec.UNSET
    issuer: str | msgspec.UnsetType = msgspec.UNSET
    names: list[str] | msgspec.UnsetType = msgspec.UNSET
    valid_to: str | msgspec.UnsetType = msgspec.UNSET
    days_left: int | msgspec.UnsetType = msgspec.UNSET
    fingerprint: str | msgspec.UnsetType = msgspec.UNSET
    warnings: list[str] | msgspec.UnsetType = msgspec.UNSET
    error: str | msgspec.UnsetType = msgspec.UNSET


class CertificateChanged(CertificateStatus, kw_only=True):
    """The same after another one was installed or made."""

    res: int
    errortxt: str


class CertificateApi:
    """The certificate of the service, whether it speaks HTTPS already or will with its next start."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, default_language: str) -> None:
        self._core, self.default_language = core, default_language
        self._busy = False

    @app.route("/dm/api/v3/tls", methods=["GET"])
    async def status(self, request: IRequest) -> bytes:
        """Names, issuer, days left, what to see to; what waits for the next start while this is HTTP."""
        return json_answer(request, 200, await self.current())

    async def current(self) -> CertificateStatus:
        """How it stands."""
        return CertificateStatus(**await self._current())

    async def _current(self) -> dict[str, Any]:
        core, installed = self._core, self._installed()
        known: dict[str, Any] = {"https": core.certificate is not None, "restart": False}
        known["authority"] = core.state is not None and (core.state / TLS_FOLDER / AUTHORITY).exists()
        if core.certificate is not None:
            restart = core.config.tls_is_installed and installed is None
            return {**known, **core.certificate.status(), "restart": restart}
        if installed is None:
            return known
        found = await self._order("status")
        return {**known, "certificate": str(installed), **found.facts, "error": found.error, "restart": True}

    @app.route("/dm/api/v3/tls", methods=["POST"])
    async def install(self, request: IRequest) -> bytes:
        """Take an uploaded certificate: PEM with its key, or PKCS#12; 422 and the reason when it cannot be served."""
        upload = _upload(request)
        return await lasting(self._change(request, "install", **upload))

    @app.route("/dm/api/v3/tls/authority", methods=["POST"])
    async def certify(self, request: IRequest) -> bytes:
        """Make a certificate of this machine by the local authority, which is made with the first one."""
        asked = read_object(request, NewCertificate)
        return await lasting(self._change(request, "authority", names=asked.names))

    @app.route("/dm/api/v3/tls/authority.pem", methods=["GET"])
    async def authority(self, request: IRequest) -> bytes:
        """The authority's certificate, for the machines that shall trust it; its key never leaves."""
        file = None if self._core.state is None else self._core.state / TLS_FOLDER / AUTHORITY
        if file is None or not file.exists():
            return not_found(request, self.default_language)
        request.setHeader(b"content-disposition", f'attachment; filename="{AUTHORITY}"'.encode())
        return plain_answer(request, b"application/x-pem-file", await self._core.clock.aside(file.read_bytes))

    @app.route("/dm/api/v3/tls", methods=["DELETE"])
    async def remove(self, request: IRequest) -> bytes:
        """Take the installed certificate away: with its next start the service speaks HTTP."""
        core = self._core
        if core.config.tls.given and not core.config.tls_is_installed:
            return self._refused(request, 409, "the configuration names the certificate; take it out there")
        installed = self._installed()
        if installed is not None:
            await lasting(core.clock.aside(installed.unlink))
        request.setResponseCode(204)
        return b""

    @app.route("/dm/api/v3/tls/reload", methods=["POST"])
    async def reload(self, request: IRequest) -> bytes:
        """Take what the files hold now; 422 and the reason when it cannot be served, and the old one stays."""
        why = self._take_up()
        return self._refused(request, 422, why) if why else json_answer(request, 200, await self.current())

    async def _change(self, request: IRequest, do: Literal["install", "authority"], **what: Any) -> bytes:
        if self._core.state is None:
            return self._refused(request, 409, "there is no state folder to keep a certificate in")
        if self._busy:
            # Each of them may keep a processor busy for a while.
            raise Refused(Res.DEVICE_BUSY, note="another certificate is being looked at")
        self._busy = True
        try:
            found = await self._order(do, **what)
        finally:
            self._busy = False
        why = found.error or self._take_up()
        if why:
            return self._refused(request, 422, why)
        return json_answer(request, 200, CertificateChanged(**await self._current(), res=0, errortxt=""))

    async def _order(self, do: Literal["install", "authority", "status"], **what: Any) -> Told:
        core, tls = self._core, self._core.config.tls
        order = Order(do, str(core.state), wall(core.reactor), tls.certificate, tls.key, tls.passphrase)
        return await ordered(msgspec.structs.replace(order, **what), core.reactor)

    def _take_up(self) -> str:
        """Serve what the files hold now; why not when that fails. A service that speaks HTTP has nothing to take."""
        if self._core.certificate is None:
            return ""
        from dmtwisted.access.certificates import BadCertificate

        try:
            self._core.certificate.reload()
        except BadCertificate as error:
            return str(error)
        return ""

    def _installed(self) -> Path | None:
        """The certificate in the state folder; `None` when there is none."""
        from dmtwisted.config import INSTALLED

        if self._core.state is None:
            return None
        file = self._core.state / TLS_FOLDER / INSTALLED
        return file if file.exists() else None

    def _refused(self, request: IRequest, status: int, why: str) -> bytes:
        return error_answer(request, status, Refused(Res.MALFORMED, why), language_of(request, self.default_language))


class NewCertificate(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a wish for a certificate: further names and addresses of this machine."""

    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.names) > MOST_NAMES:
            raise ValueError(f"names: at most {MOST_NAMES} are taken")


MOST_NAMES = 50


class _JsonUpload(msgspec.Struct, forbid_unknown_fields=True):
    file: str
    key: str = ""
    password: str = ""


def _upload(request: IRequest) -> dict[str, Any]:
    """What was uploaded: a page's form, or JSON with PEM or base64.

    :raises Refused: 2000 when the body is neither.
    :raises BadSettings: when the file is missing.
    """
    if is_form(request):
        form = read_form(request)
        file, key, password = form.file("file"), form.file("key"), form.text("password")
    else:
        told = read_object(request, _JsonUpload)
        file, key, password = bytes_of("file", told.file), bytes_of("key", told.key), told.password
    if not file:
        raise BadSettings("file", "the file of the certificate is expected")
    return {"file": file, "key_file": key, "password": password}
