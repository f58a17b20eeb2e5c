"""``/dm/api/v3/tls``: status, installation, issue, reload and removal of the certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.access.certificates import BadCertificate
from dmtwisted.access.tls_orders import Order, Result, lasting_facts, ordered
from dmtwisted.changes import Action, Area
from dmtwisted.clock import wall
from dmtwisted.config import INSTALLED, TLS_FOLDER
from dmtwisted.core import Core
from dmtwisted.devices.driver import BadSettings
from dmtwisted.results import Text
from dmtwisted.wording import wording
from web.answers import json_answer, not_found, plain_answer
from web.management import HttpRefusal, OneAtATime, answer_errors, lasting, read_object
from web.uploads import bytes_of, is_form, read_form

AUTHORITY = "authority.pem"
"""The certificate of the local authority, by the name of its file."""


class CertificateStatus(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The status of the certificate; `error` is empty when the one in the files is served.

    A service without a certificate answers `https` false alone; `restart` says that the next start brings a change.
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
    """The same after a new one was installed or issued."""

    res: int
    errortxt: str


class CertificateApi:
    """The certificate of the service, which speaks HTTPS already or will after its next start."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, default_language: str) -> None:
        self._core, self.default_language = core, default_language
        # Each order may keep a processor busy for a while.
        self._checking = OneAtATime(Text("перевіряється інший сертифікат", "another certificate is being checked"))

    @app.route("/dm/api/v3/tls", methods=["GET"])
    async def status(self, request: IRequest) -> bytes:
        """Names, issuer, days left and warnings; without HTTPS, of the certificate for the next start."""
        return json_answer(request, 200, await self.current())

    async def current(self) -> CertificateStatus:
        """Its status."""
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
        """Install an uploaded certificate, PEM with its key or PKCS#12; 422 and the reason when it cannot be used."""
        upload = _upload(request)
        return await lasting(self._change(request, "install", **upload))

    @app.route("/dm/api/v3/tls/authority", methods=["POST"])
    async def certify(self, request: IRequest) -> bytes:
        """Issue a certificate for this machine by the local authority, which is created with the first one."""
        asked = read_object(request, NewCertificate)
        return await lasting(self._change(request, "authority", names=asked.names, new=asked.new))

    @app.route("/dm/api/v3/tls/authority.pem", methods=["GET"])
    async def authority(self, request: IRequest) -> bytes:
        """The authority's certificate, for machines that have to trust it; its key never leaves the service."""
        file = None if self._core.state is None else self._core.state / TLS_FOLDER / AUTHORITY
        if file is None or not file.exists():
            return not_found(request, self.default_language)
        request.setHeader(b"content-disposition", f'attachment; filename="{AUTHORITY}"'.encode())
        return plain_answer(request, b"application/x-pem-file", await self._core.clock.aside(file.read_bytes))

    @app.route("/dm/api/v3/tls", methods=["DELETE"])
    async def remove(self, request: IRequest) -> bytes:
        """Remove the installed certificate: after its next start the service speaks HTTP."""
        core = self._core
        if core.config.tls.given and not core.config.tls_is_installed:
            raise HttpRefusal(409, wording("the configuration names the certificate; remove it there"))
        installed = self._installed()
        if installed is not None:
            await lasting(self._remove(installed))
        request.setResponseCode(204)
        return b""

    @app.route("/dm/api/v3/tls/reload", methods=["POST"])
    async def reload(self, request: IRequest) -> bytes:
        """Load the files again; 422 and the reason when they cannot be used, and the old certificate stays."""
        await lasting(self._changed(Action.RELOADED))
        return json_answer(request, 200, await self.current())

    async def _change(self, request: IRequest, do: Literal["install", "authority"], **what: Any) -> bytes:
        if self._core.state is None:
            raise HttpRefusal(409, wording("there is no state folder to keep a certificate in"))
        with self._checking:
            await self._changed(Action.INSTALLED if do == "install" else Action.ISSUED, do, **what)
        return json_answer(request, 200, CertificateChanged(**await self._current(), res=0, errortxt=""))

    async def _changed(self, action: Action, do: Literal["install", "authority"] | None = None, **what: Any) -> None:
        """Do an order, if there is one, and use what the files contain then.

        :raises HttpRefusal: when they cannot be used.
        """
        before = lasting_facts(await self._current())
        async with self._core.changes.about(Area.CERTIFICATE, action, before) as after:
            why = (await self._order(do, **what)).error if do is not None else ""
            why = why or self._take_up()
            if why:
                raise HttpRefusal(422, why)
            after.update(lasting_facts(await self._current()))

    async def _remove(self, installed: Path) -> None:
        before = lasting_facts(await self._current())
        async with self._core.changes.about(Area.CERTIFICATE, Action.DELETED, before):
            await self._core.clock.aside(installed.unlink)

    async def _order(self, do: Literal["install", "authority", "status"], **what: Any) -> Result:
        core, tls = self._core, self._core.config.tls
        order = Order(do, str(core.state), wall(core.reactor), tls.certificate, tls.key, tls.passphrase)
        return await ordered(msgspec.structs.replace(order, **what), core.reactor)

    def _take_up(self) -> str:
        """Use what the files contain now; the reason when that fails. Without HTTPS there is nothing to load."""
        if self._core.certificate is None:
            return ""
        try:
            self._core.certificate.reload()
        except BadCertificate as error:
            return str(error)
        return ""

    def _installed(self) -> Path | None:
        """The certificate in the state folder; `None` when there is none."""
        if self._core.state is None:
            return None
        file = self._core.state / TLS_FOLDER / INSTALLED
        return file if file.exists() else None


class NewCertificate(msgspec.Struct, forbid_unknown_fields=True):
    """The body of an order for a certificate: further names and addresses of this machine.

    `new` makes a new authority, which every machine has to trust instead.
    """

    names: tuple[str, ...] = ()
    new: bool = False

    def __post_init__(self) -> None:
        if len(self.names) > MOST_NAMES:
            raise ValueError(f"names: at most {MOST_NAMES} are taken")


MOST_NAMES = 50


class CertificateGiven(msgspec.Struct, forbid_unknown_fields=True):
    """PEM with its key (or the key in `key`), or PKCS#12 in base64; in a form the files themselves."""

    file: str
    key: str = ""
    password: str = ""


def _upload(request: IRequest) -> dict[str, Any]:
    """The upload: a form from a page, or JSON with PEM or base64.

    :raises Refused: 2000 when the body is neither.
    :raises BadSettings: when the file is missing.
    """
    if is_form(request):
        form = read_form(request)
        file, key, password = form.file("file"), form.file("key"), form.text("password")
    else:
        body = read_object(request, CertificateGiven)
        file, key, password = bytes_of("file", body.file), bytes_of("key", body.key), body.password
    if not file:
        raise BadSettings("file", "the file of the certificate is expected")
    return {"file": file, "key_file": key, "password": password}
