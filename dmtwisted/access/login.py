"""Who may log in, their sessions, and API keys (specification 5)."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from dmtwisted.access.api_keys import ApiKeys
from dmtwisted.access.login_sessions import Sessions
from dmtwisted.access.passwords import Passwords, unfit
from dmtwisted.access.presence import Presence
from dmtwisted.access.roles import ANYONE, Permit, Role, check_devices
from dmtwisted.access.throttle import Throttle
from dmtwisted.changes import Action, Area, Changes, Hidden
from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import BadSettings
from dmtwisted.setting_row import SettingRow
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import Change

LONGEST_LOGIN = 100
MOST_PEOPLE = 100

FIRST = "first"
"""The id of the person whose login an earlier version stored."""

PRESENT = "present"
"""In place of the id of a person: whoever knew the one-time code."""


class WrongLogin(Exception):
    """Login or password is wrong; it does not say which."""


class TryLater(Exception):
    """Too many wrong tries; ``seconds`` until the next one is allowed."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"too many tries; the next one in {seconds:.0f} s")
        self.seconds = seconds


class Person(msgspec.Struct, frozen=True):
    """Someone who may log in; ``devices`` are the ids of their devices, if the role is for some."""

    id: str
    login: str
    hash: str
    role: Role = Role.ADMINISTRATOR
    devices: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Person({self.login!r}, {self.role})"


class Login(msgspec.Struct, frozen=True):
    """Everybody who may log in; with an empty hash no login is required.

    ``login`` and ``hash`` are those of the first administrator: versions with one login (specification 5.2) stored
    nothing else, and read nothing else after a way back.
    """

    login: str = ""
    hash: str = msgspec.field(default="")
    people: tuple[Person, ...] = ()

    def __repr__(self) -> str:
        return f"Login({self.login!r})"

    @property
    def everybody(self) -> tuple[Person, ...]:
        """All people, the first administrator first."""
        return self.people or ((Person(FIRST, self.login, self.hash),) if self.hash else ())

    @classmethod
    def of(cls, people: tuple[Person, ...]) -> Login:
        """The login of ``people``.

        :raises BadSettings: when there are too many, a login occurs twice, or nobody is an administrator.
        """
        if len(people) > MOST_PEOPLE:
            raise BadSettings("login", f"there are {MOST_PEOPLE} people already; delete one first")
        if len({one.login for one in people}) < len(people):
            raise BadSettings("login", "this login exists already")
        first = next((one for one in people if one.role is Role.ADMINISTRATOR), None)
        if first is None:
            raise BadSettings("role", "the last administrator stays; make another one first")
        return cls(first.login, first.hash, (first, *(one for one in people if one is not first)))


class LoginChange(msgspec.Struct, frozen=True):
    """A change of the login (docs/reference/http-interface.md#login); `None` and empty texts change nothing."""

    on: bool | None = None
    login: str = ""
    password: str = ""
    confirmation: str = ""

    def __repr__(self) -> str:
        return f"LoginChange({self.on}, {self.login!r})"


class Access:
    """Who may log in, nobody by default, their sessions, and the API keys.

    :param state: the state folder, for the one-time code.
    """

    log = Logger()

    def __init__(self, store: IStore, clock: ServiceClock, reactor: IReactorTime, state: Path | None = None) -> None:
        self._changes = Changes(store, clock)
        self._row = SettingRow(store, "login", Login, Login(), self._changed)
        self._passwords = Passwords(clock)
        # Not the service's clock, which can be moved: that would allow to guess faster.
        self._throttle, self._proofs = Throttle(reactor), Throttle(reactor)
        self.presence = Presence(state)
        self.sessions = Sessions(clock)
        self.keys = ApiKeys(store, clock, self._ended)
        self.listeners: list[Callable[[], None]] = []
        """Called after a permit may have ended."""
        self._unread = False

    def _changed(self, before: Login, after: Login) -> Change:
        """The record of the change of one person; that of the first login is one of the service."""
        old, new = ({one.id: one for one in side.everybody} for side in (before, after))
        [id] = [id for id in {**old, **new} if old.get(id) != new.get(id)]
        if not before.hash or not after.hash or (id == FIRST and id in old and id in new):
            return self._changes.change(Area.LOGIN, Action.CHANGED, *map(_shown, (before, after)))
        action = Action.CREATED if id not in old else Action.DELETED if id not in new else Action.CHANGED
        sides = (_shown_person(side.get(id)) for side in (old, new))
        return self._changes.change(Area.USER, action, *sides, subject=(new.get(id) or old[id]).login, id=id)

    def _ended(self) -> None:
        if self.on:
            self.sessions.end_of(PRESENT)
        self.presence.expect(not self.on)
        for listener in list(self.listeners):
            listener()

    async def open(self) -> None:
        """Read login and keys from the store.

        :raises StoreFailed: when that fails; then every access is refused.
        """
        self._unread = True
        await self._row.open()
        await self.keys.open()
        self._unread = False
        self.presence.expect(not self.on)
        self.presence.expect(not self.on)

    @property
    def on(self) -> bool:
        """Whether a login is required (specification 5.1: not by default); also while it could not be read."""
        return self._unread or bool(self._row.value.hash)

    @property
    def login(self) -> str:
        """The first administrator's name; empty while no login is required."""
        return self._row.value.login

    @property
    def people(self) -> tuple[Person, ...]:
        """Everybody who may log in."""
        return self._row.value.everybody

    # What a caller may do

    def permit_of_key(self, key: bytes) -> Permit | None:
        """What an API key allows; `None` when it is not valid."""
        known = self.keys.known(key)
        return None if known is None else Permit(known.role, known.name, frozenset(known.devices), known)

    def permit_of_session(self, token: str, page: bool = False) -> Permit | None:
        """What a session allows, which this request renews; `None` without one.

        :param page: whether the request is for a page.
        """
        if not token or not self.sessions.renew(token, page):
            return None
        session, id = self.sessions.of(token)
        if id == PRESENT:
            return None if self.on else Permit(Role.ADMINISTRATOR, session=session)
        person = next((one for one in self.people if one.id == id), None)
        return None if person is None else _permit(person, session)

    def still_allows(self, permit: Permit) -> bool:
        """Whether nothing that ``permit`` was made from has ended or changed."""
        source = permit.source
        if source is None:
            return permit.whole and not self.on and (permit is ANYONE or self.sessions.has(permit.session))
        if isinstance(source, Person):
            return source in self.people and self.sessions.has(permit.session)
        return any(source == key for key in self.keys)

    # Sessions

    async def log_in(self, login: str, password: str, address: str) -> str:
        """The token of a new session for a client at ``address``.

        :raises WrongLogin: when login or password is wrong.
        :raises TryLater: after too many wrong tries from this address or from all.
        """
        person = await self._proven(login, password, address)
        self.log.info("{login} logged in from {address}", login=person.login, address=address)
        return self.sessions.begin(person.id)

    async def _proven(self, login: str, password: str, address: str) -> Person:
        wait = self._throttle.take(address)
        if wait:
            self.log.warn("login from {address} is refused for {seconds:.0f} s", address=address, seconds=wait)
            raise TryLater(wait)
        asked, person = login.encode("utf-8", "replace"), None
        for one in self.people:
            if hmac.compare_digest(asked, one.login.encode()):
                person = one
        fits = await self._passwords.fits("" if person is None else person.hash, password)
        # The login may have changed while the hash was calculated.
        if person is None or not fits or person not in self.people:
            self.log.warn("wrong login from {address}", address=address)
            raise WrongLogin
        self._throttle.give_back(address)
        return person

    def log_out(self, token: str) -> None:
        """End a session, if it exists."""
        self.sessions.end(token)
        self._ended()

    def prove(self, code: str, address: str) -> None:
        """Take the one-time code from a client at ``address``, who may then do what a login allows.

        :raises WrongLogin: when it is wrong, or there is a login.
        :raises TryLater: after too many wrong tries from this address or from all.
        """
        wait = self._proofs.take(address)
        if wait:
            raise TryLater(wait)
        if not self.presence.fits(code):
            self.log.warn("wrong one-time code from {address}", address=address)
            raise WrongLogin
        self._proofs.give_back(address)
        self.log.warn("the one-time code was used from {address}", address=address)

    def check(self, change: LoginChange) -> str | None:
        """The login that gets a new password by ``change``, ``""`` to switch it off, `None` for no change.

        The current name without a password is no change: pages send back what they read.

        :raises BadSettings: when the password is unfit or differs from its confirmation, or a name is missing.
        """
        known = self._row.value
        if change.on is False or (change.on is None and not known.hash):
            if change.on is None and change.password:
                raise BadSettings("usr_uiauth", "true is expected together with a new password")
            if len(known.everybody) > 1:
                raise BadSettings("usr_uiauth", "delete the other people first")
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
        if name is None:
            return
        hash = await self._passwords.hash(change.password) if name else ""

        def changed(known: Login) -> Login:
            if not hash:
                return Login()
            first, *others = known.everybody or (Person(FIRST, "", ""),)
            return Login.of((msgspec.structs.replace(first, login=name, hash=hash), *others))

        # What is refused ends nothing.
        changed(self._row.value)
        ended = self.people[0].id if self.people else FIRST
        try:
            await self._row.change(changed)
        finally:
            # Whatever is stored now, the sessions of the old login end.
            self.sessions.end_of(ended)
            self._ended()
        self.log.info("the login was {how}", how="set" if hash else "switched off")

    # People

    async def add(self, login: str, password: str, role: Role, devices: tuple[str, ...] = ()) -> Person:
        """Let another person log in.

        :raises BadSettings: when a member is invalid.
        :raises StoreFailed: when it could not be stored.
        """
        _check_person(login, role, devices)
        _check_password("password", password, login)
        person = Person(str(uuid4()), login, await self._passwords.hash(password), role, devices)
        await self._row.change(lambda known: Login.of((*known.everybody, person)))
        self._ended()
        self.log.info("{login} may log in as {role}", login=login, role=role)
        return person

    async def change(self, id: str, changes: dict[str, Any], password: str = "") -> Person | None:
        """Change the login, role, devices or password of a person, whose sessions end; `None` for an unknown one.

        :raises BadSettings: when a member is invalid, or nobody would be an administrator.
        :raises StoreFailed: when it could not be stored.
        """
        if password:
            known = next((person.login for person in self.people if person.id == id), "")
            _check_password("password", password, changes.get("login", known))
            changes = {**changes, "hash": await self._passwords.hash(password)}

        def changed(person: Person) -> Person:
            after = msgspec.structs.replace(person, **changes)
            _check_person(after.login, after.role, after.devices)
            return after

        return next((one for one in await self._change(id, changed) if one.id == id), None)

    async def remove(self, id: str) -> bool:
        """Remove a person, whose sessions end; whether there was one.

        :raises BadSettings: when nobody would be an administrator.
        :raises StoreFailed: when it could not be stored.
        """
        known = len(self.people)
        return len(await self._change(id, lambda _: None)) < known

    async def change_own(self, permit: Permit, old: str, new: str, address: str) -> None:
        """Change the password of the person with ``permit``, who proves it by the ``old`` one; the sessions end.

        :raises BadSettings: when the new one is invalid.
        :raises WrongLogin: when the old one is wrong, or nobody logged in.
        :raises TryLater: after too many wrong tries from this address or from all.
        :raises StoreFailed: when it could not be stored.
        """
        if not isinstance(permit.source, Person):
            raise WrongLogin
        _check_password("password", new, permit.source.login)
        person = await self._proven(permit.source.login, old, address)
        await self.change(person.id, {}, new)

    async def _change(self, id: str, changed: Callable[[Person], Person | None]) -> tuple[Person, ...]:
        def after(known: Login) -> Login:
            people = [changed(one) if one.id == id else one for one in known.everybody]
            there = tuple(one for one in people if one is not None)
            return known if there == known.everybody else Login.of(there)

        # What is refused ends nothing.
        after(self._row.value)
        try:
            return (await self._row.change(after)).everybody
        finally:
            # Whatever is stored now, what was allowed before ends.
            self.sessions.end_of(id)
            self._ended()


def _permit(person: Person, session: bytes) -> Permit:
    return Permit(person.role, person.login, frozenset(person.devices), person, session)


def _check_person(login: str, role: Role, devices: tuple[str, ...]) -> None:
    _check_name("login", login)
    check_devices(role, devices)


def _check_name(path: str, name: str) -> None:
    if not name.strip() or len(name) > LONGEST_LOGIN or not name.isprintable():
        raise BadSettings(path, f"a login of 1 to {LONGEST_LOGIN} characters is expected")


def _check_password(path: str, password: str, login: str) -> None:
    why = unfit(password, login)
    if why:
        raise BadSettings(path, why)


def _shown(login: Login) -> dict[str, object]:
    """The login for the journal of changes."""
    return {"on": bool(login.hash), "login": login.login, "password": Hidden(login.hash)}


def _shown_person(person: Person | None) -> dict[str, object]:
    """A person for the journal of changes."""
    if person is None:
        return {}
    facts = {"login": person.login, "password": Hidden(person.hash)}
    return {**facts, "role": person.role, "devices": list(person.devices)}


def _check(name: str, change: LoginChange) -> None:
    _check_name("usr_login", name)
    if change.password and not hmac.compare_digest(
        change.password.encode("utf-8", "replace"), change.confirmation.encode("utf-8", "replace")
    ):
        raise BadSettings("usr_confpass", "the confirmation differs from the password")
    _check_password("usr_pass", change.password, name)
