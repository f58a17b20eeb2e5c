"""The database: present, undamaged, of this version, small enough for its disk, without unfinished operations."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from dmtwisted.clock import kyiv
from dmtwisted.doctor.findings import Check, Finding, bad, good, warn
from dmtwisted.results import Text, joined
from dmtwisted.store.facts import Facts, facts_of_file
from dmtwisted.store.revisions import head, unfit
from dmtwisted.store.sqlite.damage import open_for_reading, quick_look
from dmtwisted.store.values import StoreFailed
from dmtwisted.wording import wording

LARGEST_LOOKED_AT = 512 << 20
"""Bytes up to which every page is checked here; `dmtwisted db check` checks larger files."""


def look(file: Path) -> list[Finding]:
    """Findings about a SQLite file; blocks while its pages are read."""
    about = str(file)
    if os.path.isdir(file.parent) and not os.access(file.parent, os.X_OK):
        text = Text(f"Бази даних {file} звідси не видно", f"The database {file} cannot be read from here")
        advice = Text(
            "Запустіть цю команду від імені користувача сервісу.", "Run this command as the user of the service."
        )
        return [warn(Check.DATABASE, text, advice, about)]
    if not os.path.exists(file):
        text = Text(f"Бази даних {file} ще немає", f"The database {file} does not exist yet")
        advice = Text(
            "Перший запуск сервісу створить її. Якщо сервіс уже працював, вкажіть правильну теку.",
            "The first start of the service creates it. If the service has run before, name the right folder.",
        )
        return [warn(Check.DATABASE, text, advice, about)]
    try:
        trouble = "" if file.stat().st_size > LARGEST_LOOKED_AT else _quick(file)
        facts = None if trouble else facts_of_file(file)
    except (StoreFailed, OSError) as error:
        trouble, facts = str(error), None
    if facts is None:
        text = joined(Text(f"База даних {file} пошкоджена", f"The database {file} is damaged"), wording(trouble))
        advice = Text(
            "Зупиніть сервіс, збережіть файл убік і поверніть резервну копію: dmtwisted restore <файл>"
            " (docs/databases.md).",
            "Stop the service, put the file aside, restore a backup: dmtwisted restore <file> (docs/databases.md).",
        )
        return [bad(Check.DATABASE, text, advice, about)]
    return judge(facts, shutil.disk_usage(file.parent).free)


def _quick(file: Path) -> str:
    try:
        with closing(open_for_reading(str(file))) as db:
            return quick_look(db)
    except sqlite3.Error as error:
        return str(error)


def judge(facts: Facts, free: int | None = None) -> list[Finding]:
    """Findings about a database that can be read.

    :param free: bytes free on its disk; `None` when unknown.
    """
    size = "" if facts.size is None else f", {facts.size / 1e6:.1f} MB"
    oldest = "" if facts.oldest is None else f"{kyiv(facts.oldest):%d.%m.%Y}"
    uk = f"{facts.kind}{size}, документів {facts.receipts}" + (f", найстаріший від {oldest}" if oldest else "")
    en = f"{facts.kind}{size}, {facts.receipts} documents" + (f", the oldest of {oldest}" if oldest else "")
    found = [good(Check.DATABASE, uk, en, facts.place)]
    if facts.revision:
        found += fitness(facts.revision, facts.place)
    if facts.unfinished:
        found.append(unfinished(facts.unfinished))
    if free is not None and facts.size is not None and free < 2 * facts.size:
        text = Text(
            "На диску менше місця, ніж дві копії бази: не буде де зробити резервну копію чи оновлення",
            "The disk has less room than two copies of the database: a backup or an upgrade will not fit",
        )
        advice = Text("Звільніть місце або перенесіть базу.", "Free some space, or move the database.")
        found.append(warn(Check.DISK, text, advice, facts.place))
    return found


def fitness(revision: str, place: str) -> list[Finding]:
    """Findings about the version of a database."""
    if revision == head():
        return []
    if revision < head():
        text = Text(
            f"База від старішої версії (схема {revision})", f"The database is of an older version (schema {revision})"
        )
        advice = Text(
            "Наступний запуск сервісу оновить її сам; або: dmtwisted db upgrade.",
            "The next start of the service upgrades it; or: dmtwisted db upgrade.",
        )
        return [warn(Check.DATABASE, text, advice, place)]
    text = Text(f"База від новішої версії програми (схема {revision})", f"The database {unfit(revision)}")
    advice = Text(
        "Поставте новішу версію програми або поверніть стару резервну копію.",
        "Install the newer version of the program, or restore an older backup.",
    )
    return [bad(Check.DATABASE, text, advice, place)]


def unfinished(count: int) -> Finding:
    """Operations whose outcome is unknown."""
    advice = Text(
        "Відкрийте огляд (/dm/main/): там сказано, що робити з кожною.",
        "Open the overview (/dm/main/): it says what to do about each of them.",
    )
    text = Text(f"Незавершених операцій: {count}", f"{count} operations are unfinished")
    return warn(Check.DATABASE, text, advice)._replace(code="unfinished")


def unreachable(why: str) -> Finding:
    """A database server that does not answer."""
    advice = Text(
        "Перевірте, чи працює сервер бази, мережу, ім’я та пароль у [database] url.",
        "Check that its server runs, the network, and the name and password in [database] url.",
    )
    return bad(
        Check.DATABASE,
        joined(Text("База даних недоступна", "The database cannot be reached"), wording(why)),
        advice,
    )
