"""Settings that a person changes while the service runs (docs/reference/http-interface.md#service-settings)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from dmtwisted.changes import Action, Area, Changes
from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import BadSettings, misfit
from dmtwisted.hardened import BadList
from dmtwisted.host_names import read_hosts
from dmtwisted.registers.customers import mail_address
from dmtwisted.registers.settings import is_loopback
from dmtwisted.secrets import Secrets
from dmtwisted.setting_row import SettingRow
from dmtwisted.store.interface import IStore

Days = Annotated[int, Meta(ge=1, le=3650)]
LineText = Annotated[str, Meta(max_length=1000, pattern=r"^[^\x00-\x1f\x7f]*$")]
"""One line: a control character in it would reach logs, mails and pages."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the service, with the names of the interface."""

    supmail: Annotated[LineText, Meta(description="Mail address of the support")] = ""
    logdays: Annotated[Days, Meta(description="Days that logs are kept")] = 7
    packdays: Annotated[Days, Meta(description="Days that receipts are kept (specification 1.11)")] = 40
    paydays: Annotated[Days, Meta(description="Days that terminal operations are kept (specification 1.11)")] = 90
    event_days: Annotated[
        Days, Meta(description="Days that events of devices and needs are kept; others stay with what they tell of")
    ] = 30
    token: Annotated[str, Meta(description="Token of a cloud cabinet, sealed; nothing here uses it")] = ""
    autoupdate: Annotated[bool, Meta(description="Kept for clients; the service does not update itself")] = False
    autoupdatetime: Annotated[LineText, Meta(description="Kept for clients, as autoupdate")] = ""
    extAccess: Annotated[
        bool,
        Meta(description="Whether other machines are served; if so, the configuration decides which"),
    ] = True
    warn_unknown: Annotated[
        Literal["training", "always", "never"],
        Meta(description="When answers warn of members that the task does not use"),
    ] = "training"
    known_members: Annotated[
        LineText,
        Meta(description="Members that are never warned of nor counted: names or paths, with blanks between"),
    ] = ""
    allowed_hosts: Annotated[
        LineText,
        Meta(description="Names by which the service may be called, besides those of the configuration"),
    ] = ""
    task_keys: Annotated[
        bool, Meta(description="Whether tasks need a login or a key whose devices include those of the task")
    ] = False
    smtp_host: Annotated[LineText, Meta(description="Mail server for receipts; empty sends none")] = ""
    smtp_port: Annotated[int, Meta(ge=1, le=65535, description="Its port: 587 with starttls, 465 with tls")] = 587
    smtp_security: Annotated[
        Literal["starttls", "tls", "local", "plain"],
        Meta(
            description="TLS after the greeting, or from the first byte; `local` is none, on this machine only; "
            "`plain` is none: password and receipts travel readably"
        ),
    ] = "starttls"
    smtp_ca: Annotated[
        str,
        Meta(max_length=65_536, description="Certificates (PEM) that the server is trusted by, besides the usual"),
    ] = ""
    smtp_login: Annotated[LineText, Meta(description="Login at the mail server; empty is none")] = ""
    smtp_password: Annotated[str, Meta(description="Its password, sealed; it goes to no other server")] = ""
    mail_from: Annotated[LineText, Meta(description="Address that receipts come from")] = ""
    mail_name: Annotated[LineText, Meta(description="Name beside it; empty is the name of the outlet")] = ""
    mail_reply_to: Annotated[LineText, Meta(description="Address for replies; empty is none")] = ""
    mail_days: Annotated[
        Days, Meta(description="Days that an e-mail or number is kept that could not be told, `packdays` at most")
    ] = 7
    phone_events: Annotated[
        bool, Meta(description="Whether telephone numbers of customers go out as events (`receipt_phone`)")
    ] = False
    # A change of the print forms goes to every register, whose own settings decide (`web.settings`).
    pf_charcount: Annotated[int, Meta(ge=24, le=120, description="Width of text forms, in characters")] = 48
    pf_charwidth: Annotated[int, Meta(ge=6, le=48, description="Kept for clients; paper decides here")] = 12
    pf_astext: Annotated[bool, Meta(description="Answers carry the text form unless the request says")] = False
    pf_asimage: Annotated[bool, Meta(description="Answers carry the picture unless the request says")] = False
    pf_aspdf: Annotated[bool, Meta(description="Answers carry the PDF unless the request says")] = False
    pf_custom: Annotated[
        str, Meta(max_length=65_536, description="The shop's own lines around receipts; empty is none")
    ] = ""


OTHER_SPELLINGS = {"extaccess": "extAccess"}
"""Members whose name in a request differs from the one in an answer."""

TOKEN, PASSWORD = "token", "smtp_password"
SECRETS = (TOKEN, PASSWORD)
LONGEST_SECRET = 1000

MAIL_SERVER = ("smtp_host", "smtp_port", "smtp_security", "smtp_ca")
"""What says where the password goes, and who may read it on the way."""

_KEEPS_WHEN_EMPTY = frozenset(
    {
        *SECRETS,
        *("logdays", "packdays", "paydays", "event_days", "mail_days", "smtp_port", "smtp_security"),
        *("pf_charcount", "pf_charwidth", "warn_unknown"),
    }
)
"""Members that an empty text does not change: numbers, choices, and secrets, which pages do not get."""

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


class ServiceSettings:
    """The current settings, and their changes."""

    def __init__(self, store: IStore, secrets: Secrets, clock: ServiceClock) -> None:
        changes = Changes(store, clock)
        self._row = SettingRow(
            store,
            "service",
            Settings,
            Settings(),
            lambda *sides: changes.change(Area.SETTINGS, Action.CHANGED, *map(msgspec.structs.asdict, sides)),
        )
        self._secrets = secrets

    async def open(self) -> None:
        """Read them from the store.

        :raises StoreFailed: when that fails.
        """
        await self._row.open()

    @property
    def now(self) -> Settings:
        """The settings, with secrets sealed."""
        return self._row.value

    async def kept(self) -> Settings:
        """The settings in the store, which another process may have changed.

        :raises StoreFailed: when they cannot be read.
        """
        return await self._row.kept()

    @property
    def token(self) -> str:
        """The token in clear, empty when there is none.

        :raises SecretsError: when the key of the secrets is missing.
        """
        return self._secrets.read(self.now.token, TOKEN) if self.now.token else ""

    @property
    def smtp_password(self) -> str:
        """The password of the mail server in clear, empty when there is none.

        :raises SecretsError: when the key of the secrets is missing.
        """
        return self._secrets.read(self.now.smtp_password, PASSWORD) if self.now.smtp_password else ""

    def check(self, changes: Mapping[str, Any]) -> Settings:
        """The settings after ``changes``, with new secrets in clear.

        :raises BadSettings: with the name of the invalid member.
        """
        return _changed(self.now, _read(changes))

    async def change(self, changes: Mapping[str, Any]) -> Settings:
        """Change the members of ``changes`` that are settings; the others stay as they are.

        Numbers may be texts and booleans ``"1"`` or ``1``; `None`, and ``""`` for a number, counts as absent; unknown
        names are ignored. ``pf_del_custom`` true removes the shop's own form.

        :raises BadSettings: with the name of the invalid member; then nothing is changed.
        :raises SecretsError: when a secret cannot be sealed.
        :raises StoreFailed: when the store does not confirm it.
        """
        read = _read(changes)
        _changed(self.now, read)
        for name in SECRETS:
            if name in read:
                read[name] = self._secrets.seal(str(read[name]), name)
        return await self._row.change(lambda settings: _changed(settings, read))


def _read(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The members to change, with the names of `Settings`."""
    read: dict[str, Any] = {}
    for given, value in changes.items():
        name = OTHER_SPELLINGS.get(given, given)
        if name not in Settings.__struct_fields__ or value is None:
            continue
        if isinstance(value, str) and not value.strip() and name in _KEEPS_WHEN_EMPTY:
            continue
        if name in SECRETS and not (isinstance(value, str) and len(value) <= LONGEST_SECRET):
            raise BadSettings(name, f"a text of at most {LONGEST_SECRET} characters is expected")
        read[name] = value
    if _true(changes.get("pf_del_custom")):
        read["pf_custom"] = ""
    elif not read.get("pf_custom", "?"):
        # Clients send it empty with every change; only ``pf_del_custom`` removes the form.
        del read["pf_custom"]
    return read


def _true(value: object) -> bool:
    return value is True or value == 1 or (isinstance(value, str) and _BOOLEANS.get(value.lower(), False))


def _changed(settings: Settings, read: Mapping[str, Any]) -> Settings:
    members = {**msgspec.structs.asdict(settings), **read}
    for name, value in members.items():
        default = getattr(_DEFAULTS, name)
        if isinstance(default, bool) and isinstance(value, str):
            # Some clients send an empty text for false.
            members[name] = _BOOLEANS.get(value.strip().lower() or "0", value)
        elif isinstance(default, str) and not isinstance(value, str):
            raise BadSettings(name, "a text is expected")
        elif isinstance(default, int) and not isinstance(default, bool) and isinstance(value, bool):
            raise BadSettings(name, "a whole number is expected")
    try:
        changed = _with_mail(settings, msgspec.convert(members, Settings, strict=False), PASSWORD in read)
        read_hosts(changed.allowed_hosts)
    except msgspec.ValidationError as error:
        raise misfit(error, Settings) from None
    except BadList as error:
        raise BadSettings("allowed_hosts", str(error)) from None
    return changed


def _with_mail(before: Settings, after: Settings, renewed: bool) -> Settings:
    """``after`` with its e-mail checked; a password never goes on to another server by itself.

    :param renewed: whether the password was given with the change.
    :raises BadSettings: with the name of what is wrong.
    """
    if not after.smtp_host:
        # A server that is removed takes its password with it.
        after = msgspec.structs.replace(after, smtp_password="")
    elif not _HOST.fullmatch(after.smtp_host):
        raise BadSettings("smtp_host", "a host name or an address is expected")
    elif after.smtp_ca and "-----BEGIN CERTIFICATE-----" not in after.smtp_ca:
        raise BadSettings("smtp_ca", "certificates in PEM are expected")
    elif not after.mail_from:
        raise BadSettings("mail_from", "an e-mail address is expected")
    elif after.smtp_security == "local" and not is_loopback(after.smtp_host):
        raise BadSettings("smtp_security", "without TLS the mail server has to be on this machine")
    elif before.smtp_password and not renewed and any(getattr(before, n) != getattr(after, n) for n in MAIL_SERVER):
        raise BadSettings(PASSWORD, "the address is another one now and does not get what is stored; enter it again")
    for name in ("mail_from", "mail_reply_to"):
        address = getattr(after, name)
        if address and not mail_address(address):
            raise BadSettings(name, "an e-mail address is expected")
    return after


_HOST = re.compile(r"[^\W_](?:[\w.-]{0,252}[^\W_])?|[0-9A-Fa-f:.]{2,45}")

_DEFAULTS = Settings()
