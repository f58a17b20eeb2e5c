"""The certificate of HTTPS: readable, valid, and right for its key and for the names of this machine."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from dmtwisted.config import Config, ConfigError
from dmtwisted.doctor.findings import Check, Finding, Fix, bad, good, warn
from dmtwisted.results import Text
from dmtwisted.wording import wording

SOON = 30
"""Days left from which there is a warning."""


def look(config: Config, now: float) -> list[Finding]:
    """Findings about the certificate of ``config``; none for a service that uses HTTP.

    :param now: the machine's time in seconds since 1970.
    """
    if not config.tls.given:
        return []
    if lacking := library():
        return lacking
    # Only with a certificate: a service without one does not carry this in memory.
    from dmtwisted.access.authority import authority_file
    from dmtwisted.access.certificates import facts, read_pem
    from dmtwisted.access.tls import check_before_start

    file, key = Path(config.tls.certificate), Path(config.tls.key)
    advice = Text("Поставте новий: dmtwisted tls install <файл>.", "Install a new one: dmtwisted tls install <file>.")
    fix = Fix.NONE
    if config.tls_is_installed and authority_file(config.state).exists():
        advice, fix = Text("Оновіть: dmtwisted tls authority.", "Renew it: dmtwisted tls authority."), Fix.CERTIFICATE
    try:
        check_before_start(config.tls, now)
    except ConfigError as error:
        uk = f"Сертифікат HTTPS непридатний, сервіс із ним не запуститься: {wording(error).uk}"
        en = f"The service cannot start with this certificate: {error}"
        return [bad(Check.CERTIFICATE, Text(uk, en), advice, str(file), fix)]
    described = facts(read_pem(file, key, config.tls.passphrase), now)
    days, names = described["days_left"], ", ".join(described["names"])
    texts = [
        Text(f"Сертифікат HTTPS: {_uk(remark)}", f"The certificate: {remark}")
        for remark in described["warnings"]
        if not remark.startswith("it ends in")
    ]
    if days < SOON:
        texts.insert(
            0, Text(f"Сертифікат HTTPS закінчується за {days} дн.", f"The certificate expires in {days} days")
        )
    uk = f"Сертифікат HTTPS дійсний ще {days} дн., для {names}"
    en = f"The certificate is valid for {days} days, for {names}"
    found = [warn(Check.CERTIFICATE, text, advice, str(file), fix) for text in texts]
    if fix is Fix.CERTIFICATE:
        found += _authority(config, authority_file(config.state))
    return found or [good(Check.CERTIFICATE, uk, en, str(file))]


def library() -> list[Finding]:
    """A finding when the TLS library does not load; nothing of this program speaks TLS without it."""
    try:
        import_module("OpenSSL.SSL")
    except ImportError as error:
        uk = f"Бібліотека TLS не завантажується, тому немає HTTPS і зв’язку з податковою: {error}"
        en = f"The TLS library does not load, so there is no HTTPS and no connection to the tax service: {error}"
        advice = Text("Установіть програму заново.", "Install the program again.")
        return [bad(Check.CERTIFICATE, Text(uk, en), advice)]
    return []


def _authority(config: Config, file: Path) -> list[Finding]:
    """Findings about the local authority that issued the certificate, and about names that its certificate lacks."""
    from dmtwisted.access.authority import is_limited, issued_by, not_named, permits
    from dmtwisted.access.certificates import read_pem

    own = read_pem(Path(config.tls.certificate), Path(config.tls.key), config.tls.passphrase)
    authority = issued_by(own.leaf, file)
    if authority is None:
        return []
    new = Text(
        "Створіть новий центр (dmtwisted tls authority --new) й установіть його authority.pem на кожному комп’ютері.",
        "Make a new authority (dmtwisted tls authority --new) and install its authority.pem on every machine.",
    )
    found = []
    if not is_limited(authority):
        text = Text(
            "Власний центр сертифікації може підписати будь-яке ім’я: з його ключем можна видати себе за інший сайт",
            "The local authority may sign for any name: with its key any site can be imitated",
        )
        found.append(warn(Check.CERTIFICATE, text, new, str(file)))
    for name in not_named(own):
        text = Text(
            f"У сертифікаті HTTPS немає імені {name} цього комп’ютера", f"The certificate lacks the name {name}"
        )
        if permits(authority, name):
            renew = Text("Оновіть: dmtwisted tls authority.", "Renew it: dmtwisted tls authority.")
            found.append(warn(Check.CERTIFICATE, text, renew, str(file), Fix.CERTIFICATE))
        else:
            found.append(warn(Check.CERTIFICATE, text, new, str(file)))
    return found


REMARKS = {
    "it names no machine": "у ньому не названо жодного комп’ютера, браузери його не приймуть",
    "it is not meant for servers": "він не призначений для серверів (extendedKeyUsage)",
    "browsers do not know": "браузери не знають такого виду ключа; звичайний — P-256",
}
"""Remarks of `dmtwisted.access.certificates`, by how they begin, in Ukrainian."""


def _uk(remark: str) -> str:
    return next((words for begin, words in REMARKS.items() if remark.startswith(begin)), remark)
