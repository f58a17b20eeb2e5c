"""What one program sent, by its `source`: the ignored, refused and repeated, and which settings would help it."""

from __future__ import annotations

from dmtwisted.clock import kyiv
from dmtwisted.doctor.findings import Check, Finding, good, warn
from dmtwisted.programs import ROW, Kept, Program, clean_source, read_row
from dmtwisted.results import Res, Text
from dmtwisted.store.rows import CarryError, Rows

MOST_SHOWN = 10
"""The most lines of one kind."""

SELECT = f"SELECT value FROM setting WHERE name = '{ROW}'"


def kept_in(rows: Rows) -> Kept:
    """What is counted of every program.

    :raises CarryError: when it cannot be read.
    """
    for (value,) in rows.ask(SELECT):
        kept = read_row(bytes(value))
        if kept is None:
            raise CarryError("the counts of programs cannot be read")
        return kept
    return {}


def look(kept: Kept, source: str) -> list[Finding]:
    """Findings about the program ``source``."""
    name = clean_source(source)
    program = kept.get(name)
    if program is None:
        known = ", ".join(sorted(kept)) or "-"
        text = Text(f"Програма «{name}» нічого не надсилала", f"The program “{name}” has sent nothing")
        advice = Text(f"Вкажіть її source; відомі: {known}.", f"Name its source; known are: {known}.")
        return [warn(Check.PROGRAM, text, advice, name)]
    return [_sent(name, program), *_ignored(name, program), *_refused(name, program), *_tags(name, program)]


def _sent(name: str, program: Program) -> Finding:
    tasks = ", ".join(f"{task} × {count}" for task, count in _most(program.tasks))
    since, last = f"{kyiv(program.since):%d.%m.%Y}", f"{kyiv(program.last):%d.%m.%Y %H:%M}"
    uk = f"{name}: {tasks}; з {since}, востаннє {last}; повторів {program.repeated}"
    en = f"{name}: {tasks}; since {since}, last {last}; {program.repeated} repeats"
    return good(Check.PROGRAM, uk, en, name)


def _ignored(name: str, program: Program) -> list[Finding]:
    if not program.ignored:
        return []
    members = ", ".join(f"{path} × {count}" for path, count in _most(program.ignored))
    advice = Text(
        "Ввімкніть warn_unknown (always): відповідь скаже, що мали на увазі. Зайве впишіть у known_members.",
        "Set warn_unknown to always: answers say what was meant. List what is sent on purpose in known_members.",
    )
    return [warn(Check.PROGRAM, Text(f"Пропущено поля: {members}", f"Ignored members: {members}"), advice, name)]


def _refused(name: str, program: Program) -> list[Finding]:
    found = []
    for code, count in _most(program.refused):
        res = _RESULTS.get(code)
        if res is None:
            continue
        # The place of a detail holds nothing here.
        uk, en = (text.replace("%s", "…").replace("%d", "…") for text in res.text)
        text = Text(f"Відмова {code} × {count}: {uk}", f"Refused with {code} × {count}: {en}")
        setting = SETTINGS.get(res, "")
        advice = Text(
            f"{res.caller.uk} Налаштування: {setting}." if setting else res.caller.uk,
            f"{res.caller.en} Settings: {setting}." if setting else res.caller.en,
        )
        found.append(warn(Check.PROGRAM, text, advice, name))
    return found


def _tags(name: str, program: Program) -> list[Finding]:
    found = []
    if program.untagged:
        text = Text(f"Без tag: {program.untagged}", f"Without a tag: {program.untagged}")
        advice = Text(
            "Надсилайте tag: тоді повтор ніколи не проб’є чек удруге. Якщо програма цього не вміє,"
            " untagged_repeat (return) повертає чек, відповідь на який загубилася.",
            "Send a tag: then a repeat never makes a second receipt. For a program that cannot, untagged_repeat"
            " (return) returns the receipt whose answer was lost.",
        )
        found.append(warn(Check.PROGRAM, text, advice, name))
    if program.other_content:
        count = program.other_content
        text = Text(f"Ужитий tag з іншим змістом: {count}", f"A used tag with other content: {count}")
        advice = Text(
            "Кожному чеку потрібен власний tag. Зі strict_tags це відмова, а не попередній чек.",
            "Each receipt needs a tag of its own. With strict_tags this is refused, and not the earlier receipt.",
        )
        found.append(warn(Check.PROGRAM, text, advice, name))
    return found


def _most(counts: dict[str, int]) -> list[tuple[str, int]]:
    """The largest counts, largest first."""
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:MOST_SHOWN]


_RESULTS = {str(res.code): res for res in Res}

SETTINGS = {
    Res.TAG_KNOWN: "strict_tags",
    Res.PAYS_DIFFER: "rounding_step (autoround)",
    Res.ROUNDING_NOT_ENABLED: "rounding_step",
    Res.NOT_ENOUGH_CASH: "check_cash",
    Res.WRONG_PAYMENT_TYPE: "pay_types",
    Res.WRONG_TAX_GROUP: "tax_groups, default_taxgrp",
    Res.CODE_NOT_ENABLED: "pay_types, tax_groups",
    Res.TRANSACTION_NOT_FOUND: "paydays",
    Res.TAG_NOT_FOUND: "packdays",
    Res.REGISTER_TOKEN_INVALID: "cloud_token",
}
"""By result: the settings of registers and of the service by which a program could be served."""
