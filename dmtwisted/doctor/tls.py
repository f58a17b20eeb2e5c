"""The certificate of HTTPS: readable, valid, fit for its key and for the names of this machine."""

from __future__ import annotations

from pathlib import Path

from dmtwisted.config import Config, ConfigError
from dmtwisted.doctor.findings import Check, Finding, Fix, bad, good, warn
from dmtwisted.results import Text

SOON = 30
"""Days left from which on its owner is told."""


def look(config: Config, now: float) -> list[Finding]:
    """What there is to say of the certificate of ``config``; of a service that speaks HTTP there is nothing.

    :param now: the machine's time in seconds since 1970.
    """
    if not config.tls.given:
        return []
    # What follows reads certificates; a service without one need not carry that in memory.
    from dmtwisted.access.authority import authority_file
    from dmtwisted.access.certificates import facts, read_pem
    from dmtwisted.access.tls import check_before_start

    file, key = Path(config.tls.certificate), Path(config.tls.key)
    renewable = config.tls_is_installed and authority_file(config.state).exists()
    fix = Fix.CERTIFICATE if renewable else Fix.NONE
    advice = (
        Text("Оновіть: dmtwisted tls authority.", "Renew it: dmtwisted tls authority.")
        if renewable
        else Text(
            "Поставте новий: dmtwisted tls install <файл>.", "Install another one: dmtwisted tls install <file>."
        )
    )
    try:
        check_before_start(config.tls, now)
    except ConfigError as error:
        uk, en = "Сертифікат HTTPS непридатний, сервіс із ним не запуститься", "The certificate cannot be served"
        return [bad(Check.CERTIFICATE, Text(f"{uk}: {error}", f"{en}: {error}"), advice, str(file), fix)]
    told = facts(read_pem(file, key, config.tls.passphrase), now)
    days = told["days_left"]
    found = []
    if days < SOON:
        text = Text(f"Сертифікат HTTPS закінчується за {days} дн.", f"The certificate ends in {days} days")
        found.append(warn(Check.CERTIFICATE, text, advice, str(file), fix))
    found += [
        warn(
            Check.CERTIFICATE,
            Text(f"Сертифікат HTTPS: {_uk(remark)}", f"The certificate: {remark}"),
            advice,
            str(file),
            fix,
        )
        for remark in told["warnings"]
        if not remark.startswith("it ends in")
    ]
    return found or [
        good(
            Check.CERTIFICATE,
            f"Сертифікат HTTPS дійсний ще {days} дн., для {', '.join(told['names'])}",
            f"The certificate is good for {days} days, for {', '.join(told['names'])}",
            str(file),
        )
    ]


REMARKS = {
    "it names no machine": "у ньому не названо жодного комп’ютера, браузери його не приймуть",
    "it is not meant for servers": "він не призначений для серверів (extendedKeyUsage)",
    "browsers do not know": "браузери не знають такого виду ключа; звичайний — P-256",
}
"""Remarks of `dmtwisted.access.certificates`, by how they begin, in Ukrainian."""


def _uk(remark: str) -> str:
    return next((words for begin, words in REMARKS.items() if remark.startswith(begin)), remark)
