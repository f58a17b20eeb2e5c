"""The page of every key of the configuration file, made from the keys themselves.

``python -m tools.config_page`` prints ``docs/configuration.md``; with ``uk`` behind it, the
page in ``docs/uk``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from typing import Any

from dmtwisted.config import KINDS, SECTIONS, about_key, as_shown, as_toml, listed_words

_PREFACE = """\
# Configuration

This page is written by `python -m tools.config_page` from the keys themselves; do not edit it by hand.

The service reads one TOML file: `dmtwisted run --config FILE`, or `twistd -n dmtwisted --config FILE`. Every
key may be left out, and so may the whole file. An unknown section or key, or a value that does not fit, stops
the start with one line that says where it stands. Relative paths in the file, the default of `state`
included, lie beside the file; without a file, and on the command line, in the current folder. On Windows
paths are written with `/`, or in single quotes.
"""


@dataclass(frozen=True)
class PageWords:
    """What the page of all keys says in one language; what has no words is told in those of the keys themselves.

    :param kinds: a word for each kind of value.
    :param bounds: kind, least and greatest value, in this order.
    :param sections: what each section is about.
    :param effects: what each key does.
    """

    preface: str
    head: tuple[str, ...]
    whole: str
    kinds: Mapping[type, str]
    path: str
    bounds: str
    either: str
    sections: Mapping[str, str]
    effects: Mapping[str, str]


ENGLISH = PageWords(
    preface=_PREFACE,
    head=("key", "value", "default", "effect", "example"),
    whole="A file with every key",
    kinds=KINDS,
    path="a path",
    bounds="{} from {} to {}",
    either="or",
    sections={},
    effects={},
)


def reference(words: PageWords = ENGLISH) -> str:
    """The page of all keys: kind of value, default, effect, example."""
    parts = [words.preface]
    whole = []
    for name, cls in SECTIONS.items():
        rows = [f"| {' | '.join(words.head)} |", "|---" * len(words.head) + "|"]
        lines = [f"[{name}]"]
        for spec in fields(cls):
            about = about_key(spec)
            line = f"{spec.name} = {as_toml(about.example)}"
            lines.append(line)
            value, default = _value(spec, words), as_shown(spec.default)
            effect = words.effects.get(spec.name, about.effect)
            rows.append(f"| `{spec.name}` | {value} | `{default}` | {effect} | `{line}` |")
        parts.append(f"## `[{name}]`\n\n{words.sections.get(name, cls.__doc__)}\n\n" + "\n".join(rows) + "\n")
        whole.append("\n".join(lines) + "\n")
    parts.append(f"## {words.whole}\n\n```toml\n" + "\n".join(whole) + "```\n")
    return "\n".join(parts)


def _value(spec: Field[Any], words: PageWords) -> str:
    about = about_key(spec)
    if about.choices:
        return listed_words([f"`{choice}`" for choice in about.choices], words.either)
    if about.is_path:
        return words.path
    text = words.kinds[spec.default.__class__]
    return words.bounds.format(text, *about.bounds) if about.bounds else text


UKRAINIAN = PageWords(
    preface="""\
# Конфігурація

Цю сторінку пише `python -m tools.config_page uk` із самих ключів; не змінюйте її вручну.

Сервіс читає один файл TOML: `dmtwisted run --config FILE` або `twistd -n dmtwisted --config FILE`. Будь-який ключ
можна пропустити, як і весь файл. Невідомий розділ чи ключ або значення, яке не підходить, зупиняє запуск одним
рядком, де сказано місце. Відносні шляхи у файлі, разом із типовим `state`, рахуються від теки файла; без файла і в
командному рядку від поточної теки. У Windows шляхи пишуть через `/` або в одинарних лапках.
""",
    head=("ключ", "значення", "типово", "що робить", "приклад"),
    whole="Файл з усіма ключами",
    kinds={str: "текст", int: "ціле число", float: "число", bool: "true або false"},
    path="шлях",
    bounds="{} від {} до {}",
    either="або",
    sections={
        "server": "Де сервіс слухає.",
        "tls": "Сертифікат. З ним сервіс відповідає лише за HTTPS, без нього лише за HTTP.",
        "database": "Де зберігаються чеки, операції та налаштування.",
        "log": "Що і де записувати про роботу сервісу.",
        "service": "Сервіс у цілому.",
    },
    effects={
        "host": "Адреса, на якій слухати; `127.0.0.1` означає лише цей комп’ютер.",
        "port": "Порт TCP; 0 бере будь-який вільний. `--port` важливіший.",
        "path_alias": "Друге ім’я частини шляху `main`: усе з `/dm/main/` відкривається й під ним.",
        "hardened": (
            "Пускати лише цей комп’ютер і `allowed_addresses`, під іменами з `allowed_hosts`, зі сторінок"
            " `allowed_origins`, а завдання ще й із ключем API ([хто має доступ](security.md))."
        ),
        "allowed_addresses": "Адреси й мережі, яким, крім цього комп’ютера, відкрито захищений сервіс, через кому.",
        "allowed_hosts": "Імена, під якими знають захищений сервіс, крім `localhost` і його адреси, через кому.",
        "allowed_origins": (
            "Джерела (origin) сторінок, яким можна користуватися інтерфейсом керування, а в захищеному сервісі й"
            " завданнями, через кому; власним сторінкам можна завжди."
        ),
        "certificate": (
            "Сертифікат із ланцюжком, файл PEM; разом із `key`. Без нього береться встановлений на сторінці або"
            " командою `dmtwisted tls`, якщо він є."
        ),
        "key": "Закритий ключ сертифіката, файл PEM.",
        "passphrase": "Чим зашифровано закритий ключ, якщо зашифровано.",
        "url": (
            "`sqlite:///FILE`, `postgresql://…` або `mssql://…`; порожнє означає файл SQLite `dmtwisted.db` у теці"
            " стану. Як обрати й налаштувати, сказано в [databases](../databases.md)."
        ),
        "level": "Найменша важливість того, що записується; `debug` показує байти на лініях до пристроїв.",
        "format": "`text` для людей, `json` (об’єкт на рядок) для збирачів журналів.",
        "file": (
            "Файл, до якого дописувати; порожнє означає стандартний вивід. Кожен день має власний файл, стиснутий, і"
            " зберігається `logdays` днів із налаштувань ([експлуатація](operating.md))."
        ),
        "language": "Мова текстів помилок для тих, хто не просить жодної через `Accept-Language`.",
        "training": "Усі пристрої імітовані, і нічого не виходить за межі комп’ютера. Вмикає `--training`.",
        "state": "Тека всього, що сервіс зберігає у файлах, разом із базою SQLite. `--state` важливіший.",
        "turn_wait_s": "Скільки секунд завдання чекає на зайнятий принтер або термінал, перш ніж отримає 1105.",
    },
)


if __name__ == "__main__":
    print(reference(UKRAINIAN if sys.argv[1:] == ["uk"] else ENGLISH), end="")
