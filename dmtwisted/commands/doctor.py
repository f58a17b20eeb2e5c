"""``dmtwisted doctor``: is the service well, and if not, what is to be done?

It works whether the service runs or not. A running service is asked over HTTP and looks at its devices itself; when
none runs, the devices are tried from here, with the lock of the database held so that none can start meanwhile.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from twisted.python import usage

from dmtwisted.commands.database import PLACE, url_of
from dmtwisted.config import Config, ConfigError, Overrides, load
from dmtwisted.doctor import database, devices, port
from dmtwisted.doctor.files import another_users
from dmtwisted.doctor.findings import Check, Finding, FindingRecord, Level, bad, good, in_order, status, warn
from dmtwisted.doctor.service import of_machine
from dmtwisted.results import Text
from dmtwisted.store.opening import check_database

PATIENCE = 180.0
"""Seconds for the service to try all of its devices."""

SIGNS = {Level.GOOD: "  ok ", Level.WARN: "  !  ", Level.BAD: " BAD "}
"""What stands before a finding."""

LANGUAGES = ("uk", "en")


class DoctorOptions(usage.Options):
    """``dmtwisted doctor``"""

    synopsis = "Usage: dmtwisted doctor [options]"
    longdesc = (
        "Look at configuration, port, files, disk, clock, certificate, database, keys, the tax service and every "
        "device, and say what to do. Status 0: all is well; 1: somebody should look; 2: something does not work."
    )
    optParameters: ClassVar = [
        *PLACE,
        ["port", None, None, "The TCP port of the service; goes before the file.", int],
        ["language", "l", None, "uk or en; without it the language of the configuration."],
        ["api-key", "k", None, "The x-api-key of a service with a login or a hardened profile."],
    ]
    optFlags: ClassVar = [["json", None, "As JSON, for programs."]]

    def postOptions(self) -> None:
        """The language is one of ours."""
        if self["language"] not in (None, *LANGUAGES):
            raise usage.UsageError("--language: uk or en is expected")


def run(options: DoctorOptions) -> int:
    """Look, tell, and return the exit status."""
    try:
        config = load(
            Path(options["config"]) if options["config"] else None,
            Overrides(state=Path(options["state"]) if options["state"] else None, port=options["port"]),
        )
        check_database(config)
    except ConfigError as error:
        language = options["language"] or "uk"
        return tell([_unusable(str(error)).record(language)], language, bool(options["json"]))
    language = options["language"] or config.service.language
    return tell(examine(config, language, options["api-key"] or ""), language, bool(options["json"]))


def examine(config: Config, language: str, api_key: str = "") -> list[FindingRecord]:
    """Everything that was found, in one language."""
    found = [good(Check.CONFIGURATION, "Конфігурацію прочитано", "The configuration can be used")]
    service = port.Service(config, api_key)
    at_port, runs = port.look(service)
    found += at_port
    if runs:
        told = _ask(service, language)
        if told is not None:
            return [*(finding.record(language) for finding in found), *told]
        found.append(_closed())
    found += of_machine(config, time.time())
    found += _database(config)
    if not runs and not any(one.check is Check.DATABASE and one.level is not Level.GOOD for one in found):
        found += _devices(config)
    return [finding.record(language) for finding in in_order(found)]


def tell(found: Sequence[FindingRecord], language: str, as_json: bool) -> int:
    """Print the findings; the exit status."""
    ends = status(one.level for one in found)
    if as_json:
        print(json.dumps({"status": ends, "findings": msgspec.to_builtins(found)}, ensure_ascii=False))
        return ends
    for one in found:
        print(f"{SIGNS[one.level]} {one.text}")
        if one.advice and one.level != Level.GOOD:
            print(f"       → {one.advice}")
    print(VERDICTS[ends].for_language(language))
    return ends


VERDICTS = (
    Text("Усе гаразд.", "All is well."),
    Text("Працює, але варто подивитися на позначене «!».", "It works; see to what is marked with !."),
    Text("Є несправності: їх позначено BAD.", "Something does not work: it is marked with BAD."),
)


def _unusable(why: str) -> Finding:
    return bad(
        Check.CONFIGURATION,
        Text(f"Конфігурація непридатна: {why}", f"The configuration cannot be used: {why}"),
        Text(
            "Виправте названий рядок; усі ключі описано в docs/configuration.md.",
            "Mend the line that is named; docs/configuration.md has every key.",
        ),
    )


def _ask(service: port.Service, language: str) -> list[FindingRecord] | None:
    """What the running service finds; `None` when it does not tell."""
    try:
        asked = service.ask("POST", "/dm/api/v3/doctor", language, PATIENCE)
    except (OSError, HTTPException):
        return None
    if asked.status != 200 or not isinstance(asked.body, dict):
        return None
    return msgspec.convert(asked.body["findings"], list[FindingRecord])


def _closed() -> Finding:
    return warn(
        Check.DEVICE,
        Text("Сервіс не розповів про свої пристрої", "The service did not tell of its devices"),
        Text(
            "Якщо ввімкнено пароль або hardened: dmtwisted doctor --api-key <ключ>. Або сторінка"
            " /dm/main/settings/doctor.",
            "With a login or a hardened profile: dmtwisted doctor --api-key <key>. Or the page"
            " /dm/main/settings/doctor.",
        ),
    )


def _database(config: Config) -> list[Finding]:
    if config.sqlite_file is not None:
        return database.look(config.sqlite_file)
    from dmtwisted.store.carry.looking import look
    from dmtwisted.store.opening import open_rows
    from dmtwisted.store.rows import CarryError

    try:
        with open_rows(url_of(config), reading=True) as rows:
            found = look(rows)
    except CarryError as error:
        return [database.unreachable("", str(error))]
    told = [
        good(Check.DATABASE, f"База даних {found.name} відповідає", f"The database {found.name} answers", found.name)
    ]
    told += database.fitness(found.revision or "", found.name)
    return [*told, database.unfinished(len(found.unfinished))] if found.unfinished else told


def _devices(config: Config) -> list[Finding]:
    """Try the devices from here: nobody else has them."""
    owner = another_users(config.state)
    if owner is not None:
        # Files that the database makes meanwhile would be ours, and the service could not open them.
        return [
            warn(
                Check.DEVICE,
                Text(
                    "Пристрої не випробувано: тека даних належить іншому користувачеві",
                    "The devices were not tried: the state folder is another user's",
                ),
                Text(
                    f"Запустіть від його імені: sudo -u '#{owner}' dmtwisted doctor …",
                    f"Run it as that user: sudo -u '#{owner}' dmtwisted doctor …",
                ),
            )
        ]
    from twisted.internet import reactor
    from twisted.internet.defer import Deferred

    found: list[Finding] = []

    def stop(_: object) -> None:
        running: Any = reactor
        running.stop()

    def begin() -> None:
        Deferred.fromCoroutine(_try_devices(config, found)).addErrback(
            lambda failure: found.append(_not_tried(failure.getErrorMessage()))
        ).addBoth(stop)

    running: Any = reactor
    running.callWhenRunning(begin)
    running.run()
    return found


async def _try_devices(config: Config, found: list[Finding]) -> None:
    from twisted.internet import reactor

    from dmtwisted.clock import ServiceClock
    from dmtwisted.devices.devices import Devices
    from dmtwisted.devices.driver import Surroundings
    from dmtwisted.devices.drivers import find_drivers
    from dmtwisted.secrets import Secrets
    from dmtwisted.store.opening import store_of

    running: Any = reactor
    store, clock = store_of(config, running), ServiceClock(running)
    await store.open()
    try:
        around = Surroundings(running, clock, store, config.state, Secrets(config.state))
        known = Devices(find_drivers(), around, config.service.turn_wait_s)
        try:
            await known.open()
            found += await devices.look(known, clock)
        finally:
            known.close()
    finally:
        await store.close()


def _not_tried(why: str) -> Finding:
    return bad(
        Check.DEVICE,
        Text(f"Пристрої не вдалося випробувати: {why}", f"The devices could not be tried: {why}"),
        Text(
            "Подивіться, чи не працює з базою інший сервіс.", "See whether another service works with the database."
        ),
    )
