"""Folders and files of the service: present, writable, closed to others; disk space; the key of the secrets.

Everything here blocks for a moment, so a service runs it in a thread. Nothing is written but one temporary file.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from dmtwisted.clock import kyiv
from dmtwisted.config import BACKUPS, TLS_FOLDER, Config, ConfigError
from dmtwisted.doctor.findings import Check, Finding, Fix, bad, good, of_need, warn
from dmtwisted.needs import newest_backup, of_backup, of_disk
from dmtwisted.registers.channels.evidence import FOLDER, kept_in
from dmtwisted.results import Text, joined
from dmtwisted.secrets import KEY_FILE, Secrets, SecretsError
from dmtwisted.state_folder import prepare_state
from dmtwisted.wording import wording


def look(config: Config, now: float) -> list[Finding]:
    """Findings about the files of ``config``.

    :param now: the machine's time in seconds since 1970.
    """
    state = config.state
    found = [_state(state)]
    if os.path.isdir(state) and os.access(state, os.R_OK | os.X_OK):
        found += [*_permissions(config), _disk(state), *_secrets(state), *_evidence(state), *_backup(config, now)]
    found += _log(config)
    return found


def private_files(config: Config) -> Iterator[tuple[Path, int]]:
    """The files and folders that only the service may read, each with the mode that it should have."""
    state = config.state
    yield state, 0o700
    yield state / KEY_FILE, 0o600
    if config.tls.given:
        yield Path(config.tls.key), 0o600
    database = config.sqlite_file
    if database is not None and (database.parent != state or is_open(state)):
        yield from ((database.with_name(f"{database.name}{ending}"), 0o600) for ending in ("", "-wal", "-shm"))
    if not is_open(state):
        # A closed folder protects the files in it.
        return
    for folder in (state / TLS_FOLDER, state / BACKUPS):
        if folder.is_dir():
            yield folder, 0o700
            yield from ((file, 0o600) for file in sorted(folder.iterdir()) if file.suffix in (".key", ".gz"))


def is_open(file: Path) -> bool:
    """Whether others than its owner can read or change ``file``; false if it does not exist."""
    try:
        return bool(stat.S_IMODE(file.stat().st_mode) & 0o077)
    except OSError:
        return False


def open_files(config: Config) -> list[tuple[Path, int]]:
    """Those of `private_files` that others can read or change; on Windows the folder's own rights decide."""
    if os.name != "posix":
        return []
    return [(file, mode) for file, mode in private_files(config) if is_open(file)]


def another_users(folder: Path) -> int | None:
    """The owner of ``folder``, if that is another user."""
    try:
        owner = folder.stat().st_uid
    except OSError:
        return None
    return owner if os.name == "posix" and owner != os.geteuid() else None


def log_folder(config: Config) -> Path | None:
    """The folder of the log file; `None` if there is no log file."""
    return Path(config.log.file).parent if config.log.file else None


def _state(state: Path) -> Finding:
    about = str(state)
    owner = another_users(state)
    if owner is not None and not os.access(state, os.W_OK | os.X_OK):
        text = Text(
            f"Тека даних {state} належить іншому користувачеві, звідси її не видно",
            f"The state folder {state} belongs to another user and cannot be read from here",
        )
        advice = Text(
            f"Запустіть від імені сервісу: sudo -u '#{owner}' dmtwisted doctor …",
            f"Run it as the user of the service: sudo -u '#{owner}' dmtwisted doctor …",
        )
        return warn(Check.FILES, text, advice, about)
    if not os.path.exists(state):
        advice = Text(
            "Якщо сервіс уже працював, вкажіть правильну теку (--state або [service] state) чи підключіть диск;"
            " новий сервіс створить її сам.",
            "If the service has run before, name the right folder (--state or [service] state) or attach its disk;"
            " a new service creates the folder.",
        )
        text = Text(f"Теки даних {state} немає", f"The state folder {state} does not exist")
        return bad(Check.FILES, text, advice, about)
    try:
        prepare_state(state)
    except ConfigError as error:
        advice = Text(
            f"Віддайте теку користувачеві сервісу: chown -R <користувач> {state}; перевірте, чи диск не лише для"
            " читання.",
            f"Make the service's user the owner: chown -R <user> {state}; check that the disk is not mounted"
            " read-only.",
        )
        text = joined(Text("У теку даних не можна писати", "The state folder cannot be written"), wording(error))
        return bad(Check.FILES, text, advice, about)
    return good(Check.FILES, f"Тека даних {state} є, і в неї можна писати", f"The state folder {state} is writable")


def _permissions(config: Config) -> list[Finding]:
    return [
        warn(
            Check.FILES,
            Text(f"Інші користувачі комп’ютера можуть читати {file}", f"Other users of this machine can read {file}"),
            Text(f"Закрийте: chmod {mode:o} {file}", f"Close it: chmod {mode:o} {file}"),
            str(file),
            Fix.PERMISSIONS,
        )
        for file, mode in open_files(config)
    ]


def _disk(state: Path) -> Finding:
    try:
        free = shutil.disk_usage(state).free
    except OSError as error:
        text = Text(
            f"Не видно, скільки місця на диску: {error.strerror}", f"Free disk space is unknown: {error.strerror}"
        )
        return bad(Check.DISK, text, Text("Перевірте диск.", "Check the disk."))
    found = of_disk(free)
    if found:
        return of_need(found[0])
    return good(Check.DISK, f"Вільно на диску {free / 1e9:.1f} ГБ", f"{free / 1e9:.1f} GB are free on the disk")


def _secrets(state: Path) -> list[Finding]:
    file = state / KEY_FILE
    if not os.path.exists(file):
        # It is created with the first secret; the devices report one that is missing.
        return []
    try:
        Secrets.check_file(file)
    except SecretsError as error:
        text = joined(Text("Файл ключа паролів непридатний", "The key of the secrets cannot be used"), wording(error))
        advice = Text(
            f"Поверніть {KEY_FILE} із резервної копії; без нього паролі й ключі підпису треба ввести знову.",
            f"Restore {KEY_FILE} from a backup; without it every password and signing key must be entered again.",
        )
        return [bad(Check.SECRETS, text, advice, str(file))]
    return [good(Check.SECRETS, "Ключ паролів на місці", "The key of the secrets is in place", str(file))]


def _evidence(state: Path) -> list[Finding]:
    refused = kept_in(state)
    if not refused:
        return []
    last, folder = refused[-1], str(state / FOLDER)
    day, signer = f"{kyiv(last.at):%d.%m.%Y %H:%M}", last.signer or "?"
    text = Text(
        f"Відхилених відповідей податкової: {len(refused)}, остання {day} для каси {last.register}, "
        f"підписав {signer}: {wording(last.why).uk}",
        f"Refused answers of the tax service: {len(refused)}, the last on {day} for register {last.register}, "
        f"signed by {signer}: {last.why}",
    )
    advice = Text(
        f"Хтось відповідає замість податкової, або в неї новий сертифікат. Відповіді лежать у {folder}: "
        "з’ясуйте, хто їх підписав, і видаліть файли.",
        f"Somebody answers in the tax service's place, or its certificate is new. The answers are in {folder}: "
        "find out who signed them, and delete the files.",
    )
    return [bad(Check.TAX, text, advice, folder)]


def _backup(config: Config, now: float) -> list[Finding]:
    if config.service.training:
        return []
    found = of_backup(newest_backup(config.state, now))
    made = sorted((config.state / BACKUPS).glob("*.tar.gz"))
    names = made[-1].name if made else ""
    return [of_need(need) for need in found] or [
        good(Check.BACKUP, f"Резервна копія: {names}", f"The newest backup is {names}")
    ]


def _log(config: Config) -> list[Finding]:
    folder = log_folder(config)
    if folder is None:
        return []
    if not os.path.isdir(folder):
        text = Text(f"Теки журналу {folder} немає", f"The log folder {folder} does not exist")
        advice = Text(f"Створіть її: mkdir -p {folder}", f"Create it: mkdir -p {folder}")
        return [bad(Check.FILES, text, advice, str(folder), Fix.FOLDER)]
    file = Path(config.log.file)
    if not os.access(file if os.path.exists(file) else folder, os.W_OK):
        text = Text(f"У журнал {file} не можна писати", f"The log {file} cannot be written")
        advice = Text(
            "Віддайте файл користувачеві сервісу (chown).", "Make the service's user the owner of the file (chown)."
        )
        return [bad(Check.FILES, text, advice, str(file))]
    return [good(Check.FILES, f"Журнал пишеться в {file}", f"The log is written to {file}")]
