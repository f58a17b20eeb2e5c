"""The certificate of HTTPS: readable, valid, and right for its key and for the names of this machine."""

from __future__ import annotations

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
    return [warn(Check.CERTIFICATE, text, advice, str(file), fix) for text in texts] or [
        good(Check.CERTIFICATE, uk, en, str(file))
    ]


REMARKS = {
    "it names no machine": "у ньому не названо жодного комп’ютера, браузери його не приймуть",
    "it is not meant for servers": "він не призначений для серверів (extendedKeyUsage)",
    "browsers do not know": "браузери не знають такого виду ключа; звичайний — P-256",
}
"""Remarks of `dmtwisted.access.certificates`, by how they begin, in Ukrainian."""


def _uk(remark: str) -> str:
    return next((words for begin, words in REMARKS.items() if remark.startswith(begin)), remark)
