"""The database: there, whole, of this version, not too large for its disk; what of it waits for a person."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from dmtwisted.clock import kyiv
from dmtwisted.doctor.findings import Check, Finding, bad, good, warn
from dmtwisted.results import Text
from dmtwisted.store.facts import Facts, facts_of_file
from dmtwisted.store.revisions import head, unfit
from dmtwisted.store.sqlite.damage import open_for_reading, quick_look
from dmtwisted.store.values import StoreFailed

LARGEST_LOOKED_AT = 512 << 20
"""Bytes up to which every page is looked at here; `dmtwisted db check` looks at larger files."""

_RESTORE = Text(
    "Зупиніть сервіс, збережіть файл убік і поверніть резервну копію: dmtwisted restore <файл> (docs/databases.md).",
    "Stop the service, put the file aside and put a backup in its place: dmtwisted restore <file>"
    " (docs/databases.md).",
)


def look(file: Path) -> list[Finding]:
    """What there is to say of a SQLite file; blocks for as long as looking at its pages takes."""
    about = str(file)
    if os.path.isdir(file.parent) and not os.access(file.parent, os.X_OK):
        return [
            warn(
                Check.DATABASE,
                Text(f"Бази даних {file} звідси не видно", f"The database {file} cannot be looked at from here"),
                Text(
                    "Запустіть цю команду від імені користувача сервісу.",
                    "Run this command as the user of the service.",
                ),
                about,
            )
        ]
    if not os.path.exists(file):
        return [
            warn(
                Check.DATABASE,
                Text(f"Бази даних {file} ще немає", f"The database {file} is not there yet"),
                Text(
                    "Перший запуск сервісу створить її. Якщо сервіс уже працював, вкажіть правильну теку.",
                    "The first start of the service makes it. If it has worked before, name the right folder.",
                ),
                about,
            )
        ]
    try:
        trouble = "" if file.stat().st_size > LARGEST_LOOKED_AT else _quick(file)
        facts = None if trouble else facts_of_file(file)
    except (StoreFailed, OSError) as error:
        trouble, facts = str(error), None
    if facts is None:
        return [
            bad(
                Check.DATABASE,
                Text(f"База даних {file} пошкоджена: {trouble}", f"The database {file} is damaged: {trouble}"),
                _RESTORE,
                about,
            )
        ]
    return judge(facts, shutil.disk_usage(file.parent).free)


def _quick(file: Path) -> str:
    try:
        with closing(open_for_reading(str(file))) as db:
            return quick_look(db)
    except sqlite3.Error as error:
        return str(error)


def judge(facts: Facts, free: int | None = None) -> list[Finding]:
    """What there is to say of a database that can be read.

    :param free: bytes free on its disk; `None` when nobody knows.
    """
    size = "" if facts.size is None else f", {facts.size / 1e6:.1f} MB"
    oldest = "" if facts.oldest is None else f"{kyiv(facts.oldest):%d.%m.%Y}"
    told = good(
        Check.DATABASE,
        f"{facts.kind}{size}, документів {facts.receipts}" + (f", найстаріший від {oldest}" if oldest else ""),
        f"{facts.kind}{size}, {facts.receipts} documents" + (f", the oldest of {oldest}" if oldest else ""),
        facts.place,
    )
    found = [told, *fitness(facts.revision, facts.place)] if facts.revision else [told]
    if facts.unfinished:
        found.append(unfinished(facts.unfinished))
    if free is not None and facts.size is not None and free < 2 * facts.size:
        found.append(
            warn(
                Check.DISK,
                Text(
                    "На диску менше місця, ніж дві копії бази: не буде де зробити резервну копію чи оновлення",
                    "The disk has less room than two copies of the database: no backup and no upgrade will fit",
                ),
                Text("Звільніть місце або перенесіть базу.", "Make room, or move the database."),
                facts.place,
            )
        )
    return found


def fitness(revision: str, place: str) -> list[Finding]:
    """What there is to say of the version of a database."""
    if revision == head():
        return []
    if revision < head():
        return [
            warn(
                Check.DATABASE,
                Text(
                    f"База від старішої версії (схема {revision})", f"It is of an older version (schema {revision})"
                ),
                Text(
                    "Наступний запуск сервісу оновить її сам; або: dmtwisted db upgrade.",
                    "The next start of the service brings it up to date; or: dmtwisted db upgrade.",
                ),
                place,
            )
        ]
    return [
        bad(
            Check.DATABASE,
            Text(f"База від новішої версії програми (схема {revision})", f"The database {unfit(revision)}"),
            Text(
                "Поставте новішу версію програми або поверніть стару резервну копію.",
                "Install the newer version of the program, or put an older backup in its place.",
            ),
            place,
        )
    ]


def unfinished(count: int) -> Finding:
    """Operations whose end nobody knows."""
    return warn(
        Check.DATABASE,
        Text(f"Незавершених операцій: {count}", f"{count} operations are unfinished"),
        Text(
            "Відкрийте огляд (/dm/main/): там сказано, що робити з кожною.",
            "Open the overview (/dm/main/): it says what to do about each of them.",
        ),
    )


def unreachable(place: str, why: str) -> Finding:
    """A server that does not answer."""
    return bad(
        Check.DATABASE,
        Text(f"База даних недоступна: {why}", f"The database cannot be reached: {why}"),
        Text(
            "Перевірте, чи працює сервер бази, мережу, ім’я та пароль у [database] url.",
            "See whether its server runs, the network, and name and password in [database] url.",
        ),
        place,
    )
