"""``dmtwisted doctor``: is the service well, and if not, what is to be done?

It works whether the service runs or not. A running service is asked over HTTP and checks its devices itself. If none
runs, the devices are checked from here, with the lock of the database held so that no service can start meanwhile.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any, ClassVar

import msgspec
from twisted.internet.defer import Deferred
from twisted.python import usage

from dmtwisted.access.api_keys import ApiKeys
from dmtwisted.clock import ServiceClock
from dmtwisted.commands.console import GREEN, RED, YELLOW, coloured
from dmtwisted.commands.options import PLACE, PORT, CommandOptions
from dmtwisted.commands.shared import configuration
from dmtwisted.config import PRESENCE_FILE, Config, ConfigError
from dmtwisted.devices.devices import Devices
from dmtwisted.devices.driver import Surroundings
from dmtwisted.devices.drivers import find_drivers
from dmtwisted.doctor import client, database, devices, port
from dmtwisted.doctor.files import another_users
from dmtwisted.doctor.findings import Check, Finding, FindingRecord, Level, bad, good, in_order, status, warn
from dmtwisted.doctor.service import of_machine, weak_keys
from dmtwisted.doctor.tls import library
from dmtwisted.results import Text, joined
from dmtwisted.secrets import Secrets
from dmtwisted.store.carry.looking import look
from dmtwisted.store.opening import check_database, open_rows, store_of
from dmtwisted.store.rows import CarryError
from dmtwisted.store.sqlite.file import IN_USE
from dmtwisted.wording import wording

PATIENCE = 180.0
"""Seconds for the service to check all of its devices."""

SIGNS = {Level.GOOD: "  ok ", Level.WARN: "  !  ", Level.BAD: " BAD "}
"""What is printed before a finding."""

ORDER = (Level.BAD, Level.WARN, Level.GOOD)

COLOURS = {Level.BAD: RED, Level.WARN: YELLOW, Level.GOOD: GREEN}

LANGUAGES = ("uk", "en")


class DoctorOptions(CommandOptions):
    """``dmtwisted doctor``"""

    longdesc = (
        "Check the configuration, port, files, disk, clock, certificate, database, keys, tax service and every "
        "device, and say what to do. Exit status 0: all is well; 1: something needs attention; 2: something does "
        "not work."
    )
    optParameters: ClassVar = [
        *PLACE,
        PORT,
        ["language", "l", None, "Language of the findings; by default that of the configuration."],
        ["api-key", "k", None, "The x-api-key for a service with a login or a hardened profile."],
        ["client", None, None, "Report instead what the program with this source sent, up to the last minute."],
    ]
    optFlags: ClassVar = [["json", None, "Print JSON."]]

    def postOptions(self) -> None:
        """Check the language."""
        if self["language"] not in (None, *LANGUAGES):
            raise usage.UsageError("--language: uk or en is expected")


def run(options: DoctorOptions) -> int:
    """Examine, report, and return the exit status."""
    try:
        config = configuration(options)
        check_database(config)
    except ConfigError as error:
        language = options["language"] or "uk"
        return report([_unusable(str(error)).record(language)], language, bool(options["json"]))
    language = options["language"] or config.service.language
    if options["client"] is not None:
        found = [finding.record(language) for finding in of_client(config, options["client"])]
        return report(found, language, bool(options["json"]))
    return report(examine(config, language, options["api-key"] or ""), language, bool(options["json"]))


def examine(config: Config, language: str, api_key: str = "") -> list[FindingRecord]:
    """All findings, in one language."""
    found = [good(Check.CONFIGURATION, "Конфігурацію прочитано", "The configuration is valid")]
    service = port.Service(config, api_key)
    at_port, runs = port.look(service)
    found += at_port
    if runs:
        found += _presence(config)
        answered = _ask(service, language)
        if answered is not None:
            return [*(finding.record(language) for finding in found), *answered]
        found.append(_no_answer())
    found += of_machine(config, time.time())
    if not config.tls.given:
        found += library()
    found += _database(config)
    if not runs and not any(one.check is Check.DATABASE and one.level is not Level.GOOD for one in found):
        tried = _devices(config)
        if tried == [_HELD]:
            # It runs, and the port was a wrong one; what was said of the port is not so.
            found = [one for one in found if one.check is not Check.PORT]
        found += tried
    return [finding.record(language) for finding in in_order(found)]


def of_client(config: Config, source: str) -> list[Finding]:
    """Findings about the program ``source``, from the database alone: the service may run or not."""
    try:
        with open_rows(config.database_url, reading=True) as rows:
            return client.look(client.kept_in(rows), source)
    except CarryError as error:
        return [database.unreachable(str(error))]


def report(found: Sequence[FindingRecord], language: str, as_json: bool) -> int:
    """Print the findings; the exit status."""
    ends = status(one.level for one in found)
    if as_json:
        print(json.dumps({"status": ends, "findings": msgspec.to_builtins(found)}, ensure_ascii=False))
        return ends
    # What does not work comes first; within a level it is the order of the checks.
    for one in sorted(found, key=lambda one: ORDER.index(one.level)):
        print(f"{coloured(SIGNS[one.level], COLOURS[one.level], sys.stdout)} {one.text}")
        if one.advice:
            print(f"       → {one.advice}")
    print(coloured(VERDICTS[ends].for_language(language), COLOURS[ORDER[-1 - ends]], sys.stdout))
    return ends


VERDICTS = (
    Text("Усе гаразд.", "All is well."),
    Text("Працює, але варто подивитися на позначене «!».", "It works, but what is marked with ! needs attention."),
    Text("Є несправності: їх позначено BAD.", "What is marked with BAD does not work."),
)


def _unusable(why: str) -> Finding:
    advice = Text(
        "Виправте названий рядок; усі ключі описано в docs/configuration.md.",
        "Correct the line that is named; docs/configuration.md describes every key.",
    )
    text = joined(Text("Конфігурація непридатна", "The configuration cannot be used"), wording(why))
    return bad(Check.CONFIGURATION, text, advice)


def _ask(service: port.Service, language: str) -> list[FindingRecord] | None:
    """The findings of the running service; `None` when it does not report them."""
    try:
        asked = service.ask("POST", "/dm/api/v3/doctor", language, PATIENCE)
    except (OSError, HTTPException):
        return None
    if asked.status != 200 or not isinstance(asked.body, dict):
        return None
    return msgspec.convert(asked.body["findings"], list[FindingRecord])


def _presence(config: Config) -> list[Finding]:
    """The one-time code of a service without a login; it is read here, because the service tells it nobody."""
    file = config.state / PRESENCE_FILE
    try:
        code = file.read_text("ascii").strip()
    except FileNotFoundError:
        return []
    except (OSError, ValueError):
        return [
            good(
                Check.ACCESS,
                f"Входу за паролем немає; одноразовий код для інших комп’ютерів у файлі {file}",
                f"There is no login; the one-time code for other computers is in {file}",
            )
        ]
    uk = f"Входу за паролем немає; з іншого комп’ютера його замінює одноразовий код {code}"
    en = f"There is no login; from another computer the one-time code {code} stands for it"
    return [good(Check.ACCESS, uk, en)]


def _no_answer() -> Finding:
    advice = Text(
        "Якщо ввімкнено пароль або hardened: dmtwisted doctor --api-key <ключ>. Або сторінка"
        " /dm/main/settings/doctor.",
        "With a login or a hardened profile: dmtwisted doctor --api-key <key>. Or the page /dm/main/settings/doctor.",
    )
    text = Text("Сервіс не повідомив про свої пристрої", "The service did not report on its devices")
    return warn(Check.DEVICE, text, advice)


def _database(config: Config) -> list[Finding]:
    if config.sqlite_file is not None:
        return database.look(config.sqlite_file)
    try:
        with open_rows(config.database_url, reading=True) as rows:
            found = look(rows)
    except CarryError as error:
        return [database.unreachable(str(error))]
    uk, en = f"База даних {found.name} відповідає", f"The database {found.name} answers"
    findings = [good(Check.DATABASE, uk, en, found.name), *database.fitness(found.revision or "", found.name)]
    return [*findings, database.unfinished(len(found.unfinished))] if found.unfinished else findings


def _devices(config: Config) -> list[Finding]:
    """Check the devices from here, since no service uses them."""
    owner = another_users(config.state)
    if owner is not None:
        # The database would create files that belong to us, and the service could not open them.
        text = Text(
            "Пристрої не випробувано: тека даних належить іншому користувачеві",
            "The devices were not checked: the state folder belongs to another user",
        )
        advice = Text(
            f"Запустіть від його імені: sudo -u '#{owner}' dmtwisted doctor …",
            f"Run it as that user: sudo -u '#{owner}' dmtwisted doctor …",
        )
        return [warn(Check.DEVICE, text, advice)]
    from twisted.internet import reactor  # installed only here

    running: Any = reactor
    found: list[Finding] = []

    def begin() -> None:
        Deferred.fromCoroutine(_check_devices(config, found, running)).addErrback(
            lambda failure: found.append(_not_checked(failure.getErrorMessage()))
        ).addBoth(lambda _: running.stop())

    running.callWhenRunning(begin)
    running.run()
    return found


async def _check_devices(config: Config, found: list[Finding], reactor: Any) -> None:
    store, clock = store_of(config, reactor), ServiceClock(reactor)
    await store.open()
    try:
        folders = config.named_folders(config.state)
        around = Surroundings(reactor, clock, store, config.state, Secrets(config.state), folders)
        known = Devices(find_drivers(), around, config.service.turn_wait_s, config.service.training)
        try:
            await known.open()
            keys = ApiKeys(store, clock)
            await keys.open()
            found += weak_keys(keys)
            found += await devices.look(known, clock)
        finally:
            known.close()
    finally:
        await store.close()


_HELD = warn(
    Check.PORT,
    Text(
        "Сервіс працює з цією текою даних, але на іншому порту",
        "The service runs with this state folder, on another port",
    ),
    Text(
        "Назвіть його порт: dmtwisted doctor --port <порт>; порт є в журналі сервісу (serving on).",
        "Name its port: dmtwisted doctor --port <port>; the log of the service has it (serving on).",
    ),
)


def _not_checked(why: str) -> Finding:
    if why.startswith(IN_USE):
        return _HELD
    advice = Text(
        "Подивіться, чи база доступна, і перегляньте журнал сервісу.",
        "Check that the database can be reached, and the log of the service.",
    )
    text = joined(Text("Пристрої не вдалося випробувати", "The devices could not be checked"), wording(why))
    return bad(Check.DEVICE, text, advice)
