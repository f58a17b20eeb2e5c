"""Every device, checked without effect; the keys of registers, and the tax service behind them."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, gatherResults

from dmtwisted.clock import ServiceClock, day_of
from dmtwisted.devices.devices import Device, Devices, UnusableDevice
from dmtwisted.devices.driver import OTHER, REGISTER
from dmtwisted.doctor.clock import compare, http_date
from dmtwisted.doctor.findings import Check, Finding, Level, bad, good, of_need, warn
from dmtwisted.needs import key_days, needs_of
from dmtwisted.observed import Inquired
from dmtwisted.registers.interface import TaxServiceRegister
from dmtwisted.registers.proposals import odd_means, proposals
from dmtwisted.registers.prro.settings import PrroSettings
from dmtwisted.registers.settings import RegisterSettings, coming
from dmtwisted.results import Refused, Res, Text
from dmtwisted.store.values import StoreFailed
from dmtwisted.wording import wording


async def look(devices: Devices, clock: ServiceClock) -> list[Finding]:
    """Findings about every device, checked all at the same time; never raises."""
    looks = [Deferred.fromCoroutine(_look(device, devices, clock)) for device in devices]
    found = [finding for each in await gatherResults(looks) for finding in each]
    text = Text("Жодного пристрою ще немає", "There is no device yet")
    advice = Text("Додайте перший на сторінці пристроїв (/dm/).", "Add the first one on the page of devices (/dm/).")
    return found or [warn(Check.DEVICE, text, advice)]


async def _look(device: Device, devices: Devices, clock: ServiceClock) -> list[Finding]:
    found = [*await _device(device, devices), *_files(device, devices)]
    found += _coming(device, day_of(clock.now()))
    if device.kind == REGISTER:
        try:
            found += [*await _key(device), *await _tax_service(device, clock), *_law(device, day_of(clock.now()))]
        except (Refused, StoreFailed) as error:
            found.append(_fails(device.name, wording(error)))
    try:
        # What the checks have just shown of the device is part of this.
        device = devices.by_id(device.row.dev_id)
    except Refused:
        """It was removed meanwhile."""
        return []
    return found + [of_need(need) for need in await needs_of(device, devices, clock.now())]


async def _device(device: Device, devices: Devices) -> list[Finding]:
    name = device.name
    if device.turns.busy:
        return [good(Check.DEVICE, f"{name}: саме працює, не турбуємо", f"{name}: busy now, not checked", name)]
    if device.kind == OTHER:
        return [good(Check.DEVICE, f"{name}: записаний", f"{name}: recorded", name)]
    observed = device.built.observed if isinstance(device.built, Inquired) else None
    try:
        async with device.turns.owned():
            built = devices.by_id(device.row.dev_id).built
            observed = built.observed if isinstance(built, Inquired) else None
            await built.check()
    except Refused as refused:
        if refused.res is Res.DEVICE_BUSY:
            return [good(Check.DEVICE, f"{name}: працює з іншим сервісом", f"{name}: used by another service", name)]
        if isinstance(device, UnusableDevice):
            # It needs a person, and is listed with that.
            return []
        if observed is not None:
            observed.failed(refused, task=False)
            return []
        both = refused.words()
        text = Text(f"{name} не працює: {both.uk}", f"{name} does not work: {both.en}")
        return [bad(Check.DEVICE, text, Text(refused.res.cashier.uk, refused.res.cashier.en), name)]
    except Exception as error:
        # A fault of a driver is a finding too, and the other devices are still checked.
        return [_fails(name, wording(f"{type(error).__name__}: {error}"))]
    if observed is not None:
        observed.worked(task=False)
    return [good(Check.DEVICE, f"{name} відповідає", f"{name} answers", name)]


def _files(device: Device, devices: Devices) -> list[Finding]:
    name, elsewhere = device.name, ", ".join(devices.named_elsewhere(device))
    if not elsewhere:
        return []
    text = Text(
        f"{name}: налаштування називають файл поза теками для них: {elsewhere}",
        f"{name}: the settings name a file outside of the folders for them: {elsewhere}",
    )
    advice = Text(
        "Він ще читається. Перенесіть його до теки конфігурації або в /etc/ssl і назвіть знову.",
        "It is still read. Move it into the folder of the configuration or /etc/ssl, and name it again.",
    )
    return [warn(Check.DEVICE, text, advice, name)]


def _coming(device: Device, day: str) -> list[Finding]:
    """What changes soon in a register."""
    settings, name = device.settings, device.name
    rows = coming(settings, day) if isinstance(settings, RegisterSettings) else []
    told = [f"{row.setting} = {row.value}" for row in rows]
    return [
        good(Check.DEVICE, f"{name}: від {row.valid_from} {what}", f"{name}: from {row.valid_from} {what}", name)
        for row, what in zip(rows, told, strict=True)
    ]


def _fails(name: str, why: Text) -> Finding:
    advice = Text(
        "Перегляньте налаштування пристрою та журнал сервісу.",
        "Check the settings of the device and the log of the service.",
    )
    return bad(Check.DEVICE, Text(f"{name} не працює: {why.uk}", f"{name} does not work: {why.en}"), advice, name)


async def _key(device: Device) -> list[Finding]:
    state: dict[str, Any] = await device.built.state()
    days = state.get("key_days_left")
    if days is None or days < key_days(device):
        return []
    name = device.name
    return [good(Check.KEYS, f"{name}: ключ дійсний ще {days} дн.", f"{name}: key valid for {days} days", name)]


async def _tax_service(device: Device, clock: ServiceClock) -> list[Finding]:
    if not isinstance(device.built, TaxServiceRegister) or not isinstance(device.settings, PrroSettings):
        return []
    name, url = device.name, device.settings.server_url
    found: list[Finding] = []
    ahead = await device.built.ahead()
    if ahead is not None:
        reached = good(Check.TAX, f"{name}: податкова відповідає", f"{name}: the tax service answers", name)
        return [*found, reached, compare(ahead, name)]
    text = Text(f"{name}: сервер податкової {url} не відповідає", f"{name}: the tax service at {url} does not answer")
    advice = Text(
        "Перевірте інтернет, брандмауер і server_url; каса з offline_allowed тим часом працює офлайн.",
        "Check the internet, the firewall and server_url; a register with offline_allowed continues offline.",
    )
    found.append(bad(Check.TAX, text, advice, name))
    # To a clock that is far off every certificate looks invalid; only the date shows that.
    ahead = await clock.aside(http_date, url, clock.seconds())
    return found if ahead is None else [*found, compare(ahead, name)]


def _law(device: Device, day: str) -> list[Finding]:
    """What a register at the tax service does otherwise than its schema and the law's rules have it."""
    name, found = device.name, []
    for one in proposals(device.settings, day):
        advice = Text(
            f"Закрийте зміну і прийміть пропозицію на сторінці каси ({one.setting} = {one.value}).",
            f"Close the shift and accept the proposal on the register's page ({one.setting} = {one.value}).",
        )
        found.append(warn(Check.TAX, Text(f"{name}: {one.text.uk}", f"{name}: {one.text.en}"), advice, name))
    odd = ", ".join(odd_means(device.settings)) if isinstance(device.settings, PrroSettings) else ""
    if odd:
        text = Text(
            f"{name}: назви засобів оплати поза відомим переліком: {odd}",
            f"{name}: names of means of payment outside the known list: {odd}",
        )
        advice = Text(
            "Назвіть їх у pay_types за переліком або вимкніть ті, яких не приймаєте; запитайте бухгалтера.",
            "Name them in pay_types as in the list, or switch off those that you do not take; ask your accountant.",
        )
        # The list is known from the press alone, so a register that goes by its own names is well.
        found.append(Finding(Check.TAX, Level.GOOD, text, advice, name))
    return found
