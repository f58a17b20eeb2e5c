"""The login, its sessions, and API keys (specification 5)."""

from __future__ import annotations

import hmac

import msgspec
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from dmtwisted.access.api_keys import ApiKeys
from dmtwisted.access.login_sessions import Sessions
from dmtwisted.access.passwords import LONGEST, Passwords
from dmtwisted.access.throttle import Throttle
from dmtwisted.changes import Action, Area, Changes, Hidden
from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import BadSettings
from dmtwisted.setting_row import SettingRow
from dmtwisted.store.interface import IStore

LONGEST_LOGIN = 100


class WrongLogin(Exception):
    """Login or password is wrong; it does not say which."""


class TryLater(Exception):
    """Too many wrong tries; ``seconds`` until the next one is allowed."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"too many tries; the next one in {seconds:.0f} s")
        self.seconds = seconds


class Login(msgspec.Struct, frozen=True):
    """The one login (specification 5.2); with an empty hash no login is required."""

    login: str = ""
    hash: str = msgspec.field(default="")

    def __repr__(self) -> str:
        return f"Login({self.login!r})"


class LoginChange(msgspec.Struct, frozen=True):
    """A change of the login (docs/reference/http-interface.md#login); `None` and empty texts change nothing."""

    on: bool | None = None
    login: str = ""
    password: str = ""
    confirmation: str = ""

    def __repr__(self) -> str:
        return f"LoginChange({self.on}, {self.login!r})"


class Access:
    """The login, which is off by default, its sessions, and the API keys."""

    log = Logger()

    def __init__(self, store: IStore, clock: ServiceClock, reactor: IReactorTime) -> None:
        changes = Changes(store, clock)
        self._row = SettingRow(
            store,
            "login",
            Login,
            Login(),
            lambda *sides: changes.change(Area.LOGIN, Action.CHANGED, *map(_shown, sides)),
        )
        self._passwords = Passwords(clock)
        # Not the service's clock, which can be moved: that would allow to guess faster.
        self._throttle = Throttle(reactor)
        self.sessions = Sessions(clock)
        self.keys = ApiKeys(store, clock)
        self._unread = False

    async def open(self) -> None:
        """Read login and keys from the store.

        :raises StoreFailed: when that fails; then every access is refused.
        """
        self._unread = True
        await self._row.open()
        await self.keys.open()
        self._unread = False

    @property
    def on(self) -> bool:
        """Whether a login is required (specification 5.1: not by default); also while it could not be read."""
        return self._unread or bool(self._row.value.hash)

    @property
    def login(self) -> str:
        """The login's name; empty while no login is required."""
        return self._row.value.login

    async def log_in(self, login: str, password: str, address: str) -> str:
        """The token of a new session for a client at ``address``.

        :raises WrongLogin: when login or password is wrong.
        :raises TryLater: after too many wrong tries from this address or from all.
        """
        wait = self._throttle.take(address)
        if wait:
            self.log.warn("login from {address} is refused for {seconds:.0f} s", address=address, seconds=wait)
            raise TryLater(wait)
        known = self._row.value
        named = hmac.compare_digest(login.encode("utf-8", "replace"), known.login.encode())
        fits = await self._passwords.fits(known.hash, password)
        # The login may have changed while the hash was calculated.
        if not (named and fits and known is self._row.value):
            self.log.warn("wrong login from {address}", address=address)
            raise WrongLogin
        self._throttle.give_back(address)
        self.log.info("logged in from {address}", address=address)
        return self.sessions.begin()

    def check(self, change: LoginChange) -> str | None:
        """The login that gets a new password by ``change``, ``""`` to switch it off, `None` for no change.

        The current name without a password is no change: pages send back what they read.

        :raises BadSettings: when the password is empty or differs from its confirmation, or a name is missing.
        """
        known = self._row.value
        if change.on is False or (change.on is None and not known.hash):
            if change.on is None and change.password:
                raise BadSettings("usr_uiauth", "true is expected together with a new password")
            return "" if known.hash else None
        name = change.login or known.login
        if known.hash and name == known.login and not change.password and not change.confirmation:
            return None
        _check(name, change)
        return name

    async def change_login(self, change: LoginChange) -> None:
        """Switch the login on or off, or change its name or password; this ends all sessions.

        :raises BadSettings: as `check` does.
        :raises StoreFailed: when it could not be stored.
        """
        name = self.check(change)
        if name is not None:
            after = Login(name, await self._passwords.hash(change.password)) if name else Login()
            try:
                await self._row.change(lambda _: after)
            finally:
                # Whatever is stored now, the old login's sessions end.
                self.sessions.end_all()
            self.log.info("the login was {how}", how="switched off" if not after.hash else "set")


def _shown(login: Login) -> dict[str, object]:
    """The login for the journal of changes."""
    return {"on": bool(login.hash), "login": login.login, "password": Hidden(login.hash)}


def _check(name: str, change: LoginChange) -> None:
    if not name.strip() or len(name) > LONGEST_LOGIN or not name.isprintable():
        raise BadSettings("usr_login", f"a login of 1 to {LONGEST_LOGIN} characters is expected")
    if not change.password:
        raise BadSettings("usr_pass", "a password is expected")
    if len(change.password) > LONGEST:
        raise BadSettings("usr_pass", f"at most {LONGEST} characters are taken")
    if not hmac.compare_digest(
        change.password.encode("utf-8", "replace"), change.confirmation.encode("utf-8", "replace")
    ):
        raise BadSettings("usr_confpass", "the confirmation differs from the password")
