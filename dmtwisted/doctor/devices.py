"""Every device tried without effect; the keys of registers, and the tax service behind them."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, gatherResults

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.devices import Device, Devices, register_settings
from dmtwisted.devices.driver import OTHER, REGISTER
from dmtwisted.doctor.clock import compare, http_date
from dmtwisted.doctor.findings import Check, Finding, bad, good, warn
from dmtwisted.registers.interface import TaxServiceRegister
from dmtwisted.registers.prro.settings import PrroSettings
from dmtwisted.results import Refused, Res, Text
from dmtwisted.store.values import StoreFailed

KEY_DAYS = 14
"""Days left of a signing key from which on its owner is told, unless the register's settings say more."""


async def look(devices: Devices, clock: ServiceClock) -> list[Finding]:
    """What there is to say of every device, asked all at the same time; never raises."""
    found = await gatherResults([Deferred.fromCoroutine(_look(device, devices, clock)) for device in devices])
    told = [finding for each in found for finding in each]
    return told or [
        warn(
            Check.DEVICE,
            Text("Жодного пристрою ще немає", "There is no device yet"),
            Text("Додайте перший на сторінці пристроїв (/dm/).", "Add the first one on the page of devices (/dm/)."),
        )
    ]


async def _look(device: Device, devices: Devices, clock: ServiceClock) -> list[Finding]:
    found = [await _device(device, devices)]
    if device.kind == REGISTER:
        try:
            found += [*await _key(device), *await _tax_service(device, clock)]
        except (Refused, StoreFailed) as error:
            found.append(_fails(device, str(error), Text("", "")))
    return found


async def _device(device: Device, devices: Devices) -> Finding:
    name = device.name
    if device.turns.busy:
        return good(Check.DEVICE, f"{name}: саме працює, не турбуємо", f"{name}: at work just now, left alone", name)
    if device.kind == OTHER:
        return good(Check.DEVICE, f"{name}: записаний", f"{name}: it is kept", name)
    try:
        async with device.turns.owned():
            await devices.by_id(device.row.dev_id).built.check()
    except Refused as refused:
        if refused.res is Res.DEVICE_BUSY:
            return good(Check.DEVICE, f"{name}: працює з іншим сервісом", f"{name}: another service has it", name)
        both = Text(*(": ".join(filter(None, (refused.errortxt(one), refused.aq_errortxt))) for one in ("uk", "en")))
        return bad(
            Check.DEVICE,
            Text(f"{name} не працює: {both.uk}", f"{name} does not work: {both.en}"),
            Text(refused.res.cashier.uk, refused.res.cashier.en),
            name,
        )
    except Exception as error:
        # A driver that stumbles is a finding, too, and the others are still to be looked at.
        return _fails(device, f"{type(error).__name__}: {error}", Text("", ""))
    return good(Check.DEVICE, f"{name} відповідає", f"{name} answers", name)


def _fails(device: Device, why: str, advice: Text) -> Finding:
    name = device.name
    if not advice.en:
        advice = Text(
            "Перегляньте налаштування пристрою та журнал сервісу.",
            "Look at the settings of the device, and at the log.",
        )
    return bad(Check.DEVICE, Text(f"{name} не працює: {why}", f"{name} does not work: {why}"), advice, name)


async def _key(device: Device) -> list[Finding]:
    state: dict[str, Any] = await device.built.state()
    if "key_days_left" not in state:
        return []
    name, days = device.name, state["key_days_left"]
    if days is None:
        return [
            bad(
                Check.KEYS,
                Text(f"{name}: немає ключа підпису", f"{name}: there is no signing key"),
                Text(
                    "Завантажте файл ключа на сторінці каси (/dm/).",
                    "Load the file of the key on the page of the register (/dm/).",
                ),
                name,
            )
        ]
    advice = Text(
        "Отримайте новий ключ і завантажте його на сторінці каси до цього дня.",
        "Get a new key and load it on the page of the register before that day.",
    )
    if days < 0:
        return [
            bad(
                Check.KEYS,
                Text(f"{name}: ключ підпису прострочений", f"{name}: the signing key is over"),
                advice,
                name,
            )
        ]
    if days < max(KEY_DAYS, register_settings(device).warn_key_days):
        text = Text(
            f"{name}: ключ підпису закінчується за {days} дн.", f"{name}: the signing key ends in {days} days"
        )
        return [warn(Check.KEYS, text, advice, name)]
    return [good(Check.KEYS, f"{name}: ключ дійсний ще {days} дн.", f"{name}: the key is good for {days} days", name)]


async def _tax_service(device: Device, clock: ServiceClock) -> list[Finding]:
    if not isinstance(device.built, TaxServiceRegister) or not isinstance(device.settings, PrroSettings):
        return []
    name, url = device.name, device.settings.server_url
    ahead = await device.built.ahead()
    if ahead is not None:
        reached = good(Check.TAX, f"{name}: податкова відповідає", f"{name}: the tax service answers", name)
        return [reached, compare(ahead, name)]
    found = [
        bad(
            Check.TAX,
            Text(
                f"{name}: сервер податкової {url} не відповідає", f"{name}: the tax service at {url} does not answer"
            ),
            Text(
                "Перевірте інтернет, брандмауер і server_url; каса з offline_allowed тим часом працює офлайн.",
                "Look at the internet, the firewall and server_url; a register with offline_allowed goes on offline.",
            ),
            name,
        )
    ]
    # A clock that is far off makes every certificate look invalid: the date alone tells that.
    ahead = await clock.aside(http_date, url, clock.seconds())
    return found if ahead is None else [*found, compare(ahead, name)]
