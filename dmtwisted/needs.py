"""What needs a person: one list, for the pages, the doctor, metrics and events.

Each need has a stable code, says what is wrong and what to do about it, and where. It is gone when its cause is.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from dmtwisted.clock import ServiceClock
from dmtwisted.config import BACKUPS
from dmtwisted.devices.devices import Device, Devices, register_settings
from dmtwisted.devices.driver import REGISTER
from dmtwisted.events import Events
from dmtwisted.hooks.lanes import HOOK
from dmtwisted.messages.kinds import DeviceData, EventType, NeedData, StartedData
from dmtwisted.observed import Health, Inquired
from dmtwisted.printing.service import PrinterService
from dmtwisted.registers.channels.interface import Away
from dmtwisted.registers.customers import MAIL, PHONE
from dmtwisted.registers.interface import OnALine
from dmtwisted.registers.marks import LETTERS
from dmtwisted.results import Refused, Res, Text, joined
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import EVENT, Change, StoreFailed
from dmtwisted.unfinished import Unfinished, unfinished
from dmtwisted.watching import state_of
from dmtwisted.wording import wording

EVERY_S, NEAR_S = 60.0, 3.0
"""Seconds between two looks; and while somebody looks at the pages."""

SOON_S = 0.1
"""Seconds that changes are gathered for one look."""

FRESH_S = 1.0
"""Seconds for which a list is that of this moment, for readers that ask often."""

FILES_S = 30.0
"""Seconds for which disk and backups count as looked at."""

LEAST_FREE, LITTLE_FREE = 200 << 20, 2 << 30
"""Bytes free on the disk: below the first sales are in danger, below the second there is a warning."""

OLD_BACKUP_DAYS = 7
"""Days after which the newest backup is too old."""

KEY_DAYS = 14
"""Days left of a signing key from which there is a warning, unless the register's settings say more."""

CERTIFICATE_DAYS = 30
"""The same for the certificate of HTTPS."""

SHIFT_OLD_H = 24
"""Hours after which a shift has to be closed (docs/law.md, D5)."""

DRAWER_S = 300.0
"""Seconds for which a drawer may stand open."""

DAY_S, HOUR_MS = 86_400, 3_600_000

MOST_LETTERS = 1000
"""Dead letters that are counted."""

Level = Literal["warn", "bad"]
"""It works, but needs attention; it does not work, or not for long."""


FAULTS = frozenset({"unusable", "fault", "not_answering", "paper_out", "cover_open"})
"""The codes of a device that does not work at all."""


class Need(NamedTuple):
    """One need, of a device or of the service."""

    code: str
    level: Level
    text: Text
    advice: Text
    area: str
    """What it belongs to: a name of `dmtwisted.doctor.findings.Check`."""
    device: str = ""
    dev_id: str = ""
    link: str = ""
    """The page where it is done."""
    at: int = 0
    """Since when, in milliseconds since 1970; 0 when that is not known."""

    @property
    def words(self) -> Text:
        """The whole sentence, for readers without a column of devices."""
        if not self.device:
            return self.text
        fails = self.code in FAULTS
        uk, en = ("{} не працює: {}", "{} does not work: {}") if fails else ("{}: {}", "{}: {}")
        return Text(uk.format(self.device, self.text.uk), en.format(self.device, self.text.en))


def worst(needs: Iterable[Need]) -> Level | Literal["good"]:
    """The worst level of ``needs``."""
    levels = {need.level for need in needs}
    return "bad" if "bad" in levels else "warn" if levels else "good"


def health_of(device: Device) -> Health:
    """Whether ``device`` works, as far as that was observed."""
    return device.built.observed.health if isinstance(device.built, Inquired) else "unknown"


# Of a device


def of_device(device: Device, state: dict[str, Any], mark: str, now: int) -> list[Need]:
    """The needs of ``device`` in this ``state``.

    :param mark: what is unusual about it (`Devices.mark`).
    """
    found = [*_unusable(device, state), *_observed(device, state), *_unusual(device, mark)]
    if device.kind == REGISTER and "error" not in state:
        found += [*_key(device, state), *_offline(device, state), *_shift(device, state, now), *_trust(device, state)]
        if isinstance(device.built, OnALine):
            found += _machine(device, device.built)
    elif isinstance(device.built, PrinterService):
        found += _paper(device, device.built)
    return found


async def kept_state(device: Device) -> dict[str, Any] | None:
    """The state of ``device``, with the reason when it has none; `None` when the store does not answer."""
    try:
        return await state_of(device)
    except StoreFailed:
        # The database has a need of its own.
        return None
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


async def needs_of(device: Device, devices: Devices, now: int) -> list[Need]:
    """The needs of ``device`` as it is now; never raises."""
    return of_device(device, await kept_state(device) or {}, devices.mark(device), now)


def _of(
    device: Device,
    code: str,
    level: Level,
    text: Text,
    advice: Text,
    at: int = 0,
    area: str = "device",
    page: str = "",
) -> Need:
    link = page or f"/dm/devices/{device.row.dev_id}"
    return Need(code, level, text, advice, area, device.name, device.row.dev_id, link, at)


def _unusable(device: Device, state: dict[str, Any]) -> list[Need]:
    if "error" not in state:
        return []
    why = wording(str(state["error"]))
    both = why if isinstance(why, Text) else Text(why, why)
    return [_of(device, "unusable", "bad", both, _SETTINGS)]


_SETTINGS = Text(
    "Перегляньте налаштування пристрою та журнал сервісу.",
    "Check the settings of the device and the log of the service.",
)


def _observed(device: Device, state: dict[str, Any]) -> list[Need]:
    """How it failed, until it works again."""
    if not isinstance(device.built, Inquired) or device.built.observed.why is None:
        return []
    why, at = device.built.observed.why, device.built.observed.failed_at
    both = text = why.words()
    code, advice, page = _code(device, why), Text(why.res.cashier.uk, why.res.cashier.en), ""
    if not device.built.observed.by_task:
        # The advice of a result is for who waits for a receipt or a payment.
        advice = _IDLE.get(code, advice)
    level: Level = "bad"
    if code in _DONE:
        text, advice = _DONE[code]
    kind: str = device.kind
    if kind == REGISTER:
        page = f"/dm/main/registers/{device.row.dev_id}"
        if code == "tax_away":
            if why.res is not Res.TAX_SERVICE_UNREACHABLE:
                text = Text(f"податкова не відповідає: {both.uk}", f"the tax service does not answer: {both.en}")
            if state.get("online_status"):
                # Its receipts are made offline meanwhile, so none is to be made again.
                level, advice = "warn", _IDLE[code]
        elif code == "refused":
            level, text = "warn", Text(f"останню дію відхилено: {both.uk}", f"the last action was refused: {both.en}")
    return [_of(device, code, level, text, advice, at, page=page)]


_DONE = {
    "paper_out": (
        Text("закінчився папір", "it is out of paper"),
        Text("Вставте новий рулон.", "Put in a new roll."),
    ),
    "cover_open": (
        Text("відкрито кришку", "its cover is open"),
        Text("Закрийте кришку, поки не клацне.", "Close the cover until it clicks."),
    ),
}
"""What a person can put right at once."""

_IDLE = {
    "tax_away": Text(
        "Перевірте інтернет. Як пробивати чеки тим часом, сторінка каси підкаже.",
        "Check the internet. The register's page says how to go on meanwhile.",
    ),
    "not_answering": Text(
        "Перевірте, чи пристрій увімкнено і чи під’єднано його кабель або мережу.",
        "Check that the device is switched on, and its cable or network.",
    ),
}


def _code(device: Device, why: Refused) -> str:
    """The code of a need for a device that failed with ``why``."""
    kind: str = device.kind
    if kind == REGISTER:
        if isinstance(device.built, OnALine):
            return _code_of_machine(why)
        return "tax_away" if why.res in TAX_AWAY else "refused"
    if isinstance(device.built, PrinterService):
        reason = None if device.built.status is None else device.built.status.reason
        if reason in _CONDITIONS and why.res is Res.DEVICE_ERROR:
            return _CONDITIONS[reason]
    return "not_answering" if why.res in NOT_ANSWERING else "fault"


def _code_of_machine(why: Refused) -> str:
    if why.res is Res.DEVICE_ERROR:
        return "not_answering" if isinstance(why, Away) else "fault"
    if why.res is Res.NO_PAPER:
        return "paper_out"
    return "not_answering" if why.res is Res.COLLISION_NOT_REPAIRED else "refused"


TAX_AWAY = frozenset(
    {
        Res.TAX_SERVICE_UNREACHABLE,
        Res.TAX_SERVICE_UNAVAILABLE,
        Res.TAX_SERVICE_ERROR,
        Res.COLLISION_NOT_REPAIRED,
    }
)
"""With these the tax service gave no readable answer."""

NOT_ANSWERING = frozenset(
    {
        Res.PRINTER_CONNECT,
        Res.TERMINAL_CONNECT,
        Res.TERMINAL_SILENT,
        Res.TERMINAL_UNREACHABLE,
        Res.TERMINAL_ADDRESS_UNREACHABLE,
        Res.COM_PORT_ERROR,
        Res.REQUEST_NOT_TAKEN,
        Res.HANDSHAKE_SILENT,
    }
)
"""With these a printer or terminal is not reached, or says nothing."""

_CONDITIONS = {"paper": "paper_out", "cover": "cover_open"}


def _unusual(device: Device, mark: str) -> list[Need]:
    """A real register in training mode, or a simulated device outside of it."""
    if mark == "real":
        text = Text(
            "навчальний режим, але ця каса надсилає справжні документи до податкової",
            "training mode, but this register sends real documents to the tax service",
        )
        advice = Text(
            "Для навчання використовуйте навчальну касу, а цю видаліть або перенесіть на робочий сервіс.",
            "Use a training register for practice; delete this one or move it to a service without --training.",
        )
        return [_of(device, "real_in_training", "bad", text, advice)]
    if mark == "simulated":
        text = Text("навчальний пристрій у робочому сервісі", "a training device in a service that is real")
        advice = Text(
            "Видаліть його: чеки, оплати й друк на ньому несправжні.",
            "Delete it: its receipts, payments and prints are not real.",
        )
        return [_of(device, "simulated", "warn", text, advice)]
    return []


def _key(device: Device, state: dict[str, Any]) -> list[Need]:
    if "key_days_left" not in state:
        return []
    days = state["key_days_left"]
    if days is None:
        text = Text("немає ключа підпису", "there is no signing key")
        advice = Text("Завантажте файл ключа на сторінці каси.", "Upload the key file on the register's page.")
        return [_of(device, "key_missing", "bad", text, advice, area="keys")]
    advice = Text(
        "Отримайте новий ключ і завантажте його на сторінці каси до цього дня.",
        "Get a new key and upload it on the register's page before that day.",
    )
    if days < 0:
        text = Text("ключ підпису прострочений", "the signing key has expired")
        return [_of(device, "key_expired", "bad", text, advice, area="keys")]
    if days < key_days(device):
        text = Text(f"ключ підпису закінчується за {days} дн.", f"the signing key expires in {days} days")
        return [_of(device, "key_expires", "warn", text, advice, area="keys")]
    return []


def key_days(device: Device) -> int:
    """Days left of a register's signing key from which there is a warning."""
    return max(KEY_DAYS, register_settings(device).warn_key_days)


def _offline(device: Device, state: dict[str, Any]) -> list[Need]:
    left = state.get("offline_left")
    if not state.get("online_status") or not left:
        return []
    page, minutes = f"/dm/main/registers/{device.row.dev_id}", min(left["session_min"], left["month_min"])
    at = int(state.get("offline_since") or 0)
    if not minutes:
        text = Text(
            "каса офлайн, і дозволений час вичерпано", "the register is offline, and the allowed time is over"
        )
        advice = Text(
            "Відновіть зв’язок із податковою; доти можна зробити лише Z-звіт.",
            "Get the connection to the tax service back; until then only a Z-report can be made.",
        )
        return [_of(device, "offline_over", "bad", text, advice, at, "tax", page)]
    hours, rest = divmod(minutes, 60)
    text = Text(
        f"каса офлайн, лишилося {hours} год {rest} хв", f"the register is offline, {hours} h {rest} min are left"
    )
    advice = Text(
        "Продавайте далі. Каса повернеться сама, коли відповість податкова; перевірте інтернет.",
        "Sell on. The register comes back by itself when the tax service answers; check the internet.",
    )
    return [_of(device, "offline", "bad" if left["ends_soon"] else "warn", text, advice, at, "tax", page)]


def _shift(device: Device, state: dict[str, Any], now: int) -> list[Need]:
    opened = int(state.get("opened_at") or 0)
    if not state.get("shift_status") or now - opened <= SHIFT_OLD_H * HOUR_MS:
        return []
    text = Text(
        f"зміну відкрито понад {SHIFT_OLD_H} години тому", f"the shift is open for more than {SHIFT_OLD_H} hours"
    )
    advice = Text("Зробіть Z-звіт і відкрийте зміну знову.", "Make a Z-report and open the shift again.")
    page = f"/dm/main/registers/{device.row.dev_id}"
    return [_of(device, "shift_old", "warn", text, advice, opened, page=page)]


def _machine(device: Device, built: OnALine) -> list[Need]:
    if not built.differing:
        return []
    differs = joined(*built.differing, separator="; ")
    text = Text(f"дані апарата інші: {differs.uk}", f"the machine's figures differ: {differs.en}")
    advice = Text(
        "Звірте стрічку апарата з продажами: ним, мабуть, користувалися без сервісу.",
        "Compare the machine's tape with the sales: somebody seems to have used it without the service.",
    )
    return [_of(device, "differs", "warn", text, advice, page=f"/dm/main/registers/{device.row.dev_id}")]


def _trust(device: Device, state: dict[str, Any]) -> list[Need]:
    found = []
    if state.get("unverified"):
        signer = state.get("answers_signed_by")
        text = Text(
            "відповіді податкової не перевіряються" + (f"; останню підписав {signer}" if signer else ""),
            "the tax service's answers are not verified" + (f"; {signer} signed the last" if signer else ""),
        )
        advice = Text(
            "Завантажте опублікований державою CACertificates.p7b і виконайте"
            " dmtwisted tax trust CACertificates.p7b.",
            "Download CACertificates.p7b, which the state publishes, and run dmtwisted tax trust CACertificates.p7b.",
        )
        found.append(_of(device, "unverified", "warn", text, advice, area="tax", page="/dm/main/settings/doctor"))
    if state.get("refused_answers"):
        count = state["refused_answers"]
        text = Text(f"відхилено відповідей податкової: {count}", f"{count} answers of the tax service were refused")
        advice = Text(
            "Хтось відповідає замість податкової, або в неї новий сертифікат. Де вони, скаже перевірка.",
            "Somebody answers in the tax service's place, or its certificate is new. The check-up says where.",
        )
        found.append(_of(device, "untrusted", "bad", text, advice, area="tax", page="/dm/main/settings/doctor"))
    return found


def _paper(device: Device, printer: PrinterService) -> list[Need]:
    status, found = printer.status, []
    if status is None or printer.observed.health == "unknown":
        return []
    if status.paper == "near_end":
        text = Text("папір закінчується", "the paper is near its end")
        advice = Text("Приготуйте новий рулон.", "Have a new roll at hand.")
        found.append(_of(device, "paper_low", "warn", text, advice))
    if status.drawer_open and printer.drawer_open_for > DRAWER_S:
        text = Text("грошову скриньку не закрито", "the cash drawer stands open")
        advice = Text("Закрийте її.", "Close it.")
        found.append(_of(device, "drawer_open", "warn", text, advice))
    return found


# Of the service


def of_disk(free: int | None) -> list[Need]:
    """The need for space on a disk with ``free`` bytes."""
    if free is None or free >= LITTLE_FREE:
        return []
    uk, en = f"Вільно на диску {free / 1e9:.1f} ГБ", f"{free / 1e9:.1f} GB are free on the disk"
    advice = Text(
        "Звільніть місце: старі копії в теці backups, журнали, чужі файли. Без місця чеки не приймаються.",
        "Free some space: old files in the folder backups, logs, other files. Without space receipts are refused.",
    )
    page = "/dm/main/settings/database"
    if free < LEAST_FREE:
        text = Text(f"{uk}: диск майже повний", f"{en}: the disk is nearly full")
        return [Need("disk", "bad", text, advice, "disk", link=page)]
    return [Need("disk", "warn", Text(f"{uk}: замало", f"{en}: too little"), advice, "disk", link=page)]


def newest_backup(state: Path, now: float) -> int | None:
    """Whole days since the newest backup in the state folder was made; `None` without one."""
    made = sorted((state / BACKUPS).glob("*.tar.gz"), reverse=True)
    try:
        return int((now - made[0].stat().st_mtime) // DAY_S) if made else None
    except OSError:
        return None


def of_backup(days: int | None) -> list[Need]:
    """The need for a backup, when the newest one was made so many ``days`` ago."""
    if days is None:
        text = Text("Резервної копії ще немає", "There is no backup yet")
    elif days > OLD_BACKUP_DAYS:
        text = Text(f"Остання резервна копія зроблена {days} дн. тому", f"The newest backup is {days} days old")
    else:
        return []
    advice = Text(
        "Зробіть копію: dmtwisted backup, щодня за розкладом.", "Make one: dmtwisted backup, daily by a timer."
    )
    return [Need("backup", "warn", text, advice, "backup", link="/dm/main/settings/database")]


def of_certificate(days: int | None) -> list[Need]:
    """The need for a certificate, when the current one is good for so many ``days``; `None` without one."""
    if days is None or days >= CERTIFICATE_DAYS:
        return []
    text = Text(f"Сертифікат HTTPS закінчується за {days} дн.", f"The certificate expires in {days} days")
    if days < 0:
        text = Text("Сертифікат HTTPS прострочений", "The certificate has expired")
    advice = Text("Поставте новий сертифікат.", "Install a new certificate.")
    page = "/dm/main/settings/certificate"
    return [Need("certificate", "bad" if days < 0 else "warn", text, advice, "certificate", link=page)]


def of_unfinished(open_ones: Iterable[Unfinished]) -> list[Need]:
    """A need for each device with operations whose outcome is unknown."""
    by_device: dict[str, list[Unfinished]] = {}
    for one in open_ones:
        by_device.setdefault(one.dev_id, []).append(one)
    advice = Text(
        "Відкрийте огляд: там сказано, що робити з кожною.",
        "Open the overview: it says what to do about each of them.",
    )
    return [
        Need(
            "unfinished",
            "bad",
            Text(f"незавершених операцій: {len(those)}", f"{len(those)} operations are unfinished"),
            advice,
            "database",
            those[0].device,
            dev_id,
            "/dm/main/#unfinished",
            those[-1].at,
        )
        for dev_id, those in by_device.items()
    ]


def of_letters(count: int) -> list[Need]:
    """The need to see to letters that nobody takes."""
    if not count:
        return []
    text = Text(f"Не доставлено листів: {count}", f"{count} letters are not delivered")
    advice = Text(
        "Перегляньте, чому, і надішліть їх знову або видаліть.", "See why, and send them again or delete them."
    )
    return [Need("letters", "warn", text, advice, "access", link="/dm/main/settings/mail")]


def of_webhooks(dead: int) -> list[Need]:
    """The need to see to so many events that were never taken."""
    if not dead:
        return []
    text = Text(f"Події, яких ніхто не прийняв: {dead}", f"{dead} events were never taken")
    advice = Text(
        "Перегляньте, чому, і надішліть їх знову або видаліть.", "See why, and send them again or delete them."
    )
    return [Need("webhooks", "warn", text, advice, "access", link=HOOKS_PAGE)]


def of_gone(names: list[str]) -> list[Need]:
    """The need to see to subscribers of events whose address is gone."""
    if not names:
        return []
    all_ = ", ".join(names)
    text = Text(
        f"Події більше не надсилаються, адреси немає: {all_}", f"No more events for {all_}: its address is gone"
    )
    advice = Text(
        "Виправте адресу й увімкніть отримувача, або видаліть його.",
        "Correct the address and enable it, or delete it.",
    )
    return [Need("webhook_gone", "warn", text, advice, "access", link=HOOKS_PAGE)]


def of_till_line(device: Device, where: str, why: str) -> Need:
    """The need of a register whose line for old tills, at ``where``, cannot be opened."""
    text = Text(
        f"лінію {where} для старої каси не відкрито: {why}", f"the line {where} for old tills is not open: {why}"
    )
    advice = Text(
        "Перевірте, чи не зайняла її інша програма, або змініть classic_listen.",
        "See whether another program uses it, or change classic_listen.",
    )
    return _of(device, "till_line", "bad", text, advice)


HOOKS_PAGE = "/dm/main/settings/webhooks"


EXPOSED = Need(
    "exposed",
    "warn",
    Text(
        "Сервіс доступний у мережі без пароля: будь-хто в ній бачить чеки й налаштування",
        "The service is open to the network without a password: anybody there can see receipts and settings",
    ),
    Text("Увімкніть пароль.", "Switch the login on."),
    "access",
    link="/dm/main/settings#login-title",
)


def of_damage(damage: str) -> list[Need]:
    """The need of a damaged database."""
    if not damage:
        return []
    advice = Text(
        "Зупиніть сервіс, збережіть файл убік і поверніть резервну копію: dmtwisted restore <файл>.",
        "Stop the service, put the file aside, restore a backup: dmtwisted restore <file>.",
    )
    text = Text("База даних пошкоджена і лише читається", "The database is damaged and is only read")
    return [Need("database", "bad", text, advice, "database", link="/dm/main/settings/database")]


def _both(text: Text) -> dict[str, str]:
    """A text in both languages, as events have it."""
    return {"uk": text.uk, "en": text.en}


class Needs:
    """The list as it is now, looked at anew from time to time and when something changed.

    :param state: the state folder; `None` has neither disk nor backups.
    :param exposed: whether the network may change settings without a login.
    :param certificate_days: whole days that the certificate of HTTPS is good for; `None` without one.
    :param also: needs that other parts of the service know.
    """

    log = Logger()

    def __init__(
        self,
        devices: Devices,
        store: IStore,
        clock: ServiceClock,
        events: Events,
        state: Path | None,
        exposed: Callable[[], bool],
        certificate_days: Callable[[], int | None],
        also: Callable[[], list[Need]] = list,
    ) -> None:
        self._devices, self._store, self._clock, self._events = devices, store, clock, events
        self._state, self._exposed, self._certificate_days, self._also = state, exposed, certificate_days, also
        self.now: tuple[Need, ...] = ()
        """The list of the last look, the worst first."""
        self._states: dict[str, dict[str, Any] | None] = {}
        self._stored: list[Need] = []
        self._looked: float | None = None
        self._files: tuple[float, list[Need]] | None = None
        self._next: IDelayedCall | None = None
        self._running = self._looking = self._again = self._recording = False
        self._begun = False
        self._told: dict[tuple[str, str], Need] = {}
        self._bad: dict[str, str] = {}

    def start(self) -> None:
        """Begin to look."""
        self._running = True
        self.soon()

    def stop(self) -> None:
        """Look no more."""
        self._running = False
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def soon(self) -> None:
        """Something may have changed."""
        if self._looking:
            self._again = True
        elif self._running:
            self._in(SOON_S)

    def seen(self) -> tuple[Need, ...]:
        """The list for a page: what devices have shown until now, and the rest as of the last look."""
        if self._looked is None or self._clock.steady() - self._looked > NEAR_S:
            self.soon()
        return self._made()

    def _in(self, seconds: float) -> None:
        if self._next is not None:
            self._next.cancel()
        self._next = self._clock.callLater(seconds, self._due)

    def _due(self) -> None:
        self._next = None
        Deferred.fromCoroutine(self._one())

    async def _one(self) -> None:
        self._looking = True
        try:
            await self.look()
        except Exception:
            self.log.failure("the list of what needs a person could not be made")
        finally:
            self._looking = False
        if self._running:
            again, self._again = self._again, False
            self._in(SOON_S if again else NEAR_S if self._events.attended else EVERY_S)

    async def fresh(self) -> tuple[Need, ...]:
        """The list of this second."""
        old = self._looked is None or self._clock.steady() - self._looked > FRESH_S
        return await self.look() if old else self._made()

    async def look(self) -> tuple[Need, ...]:
        """The list of this moment; who listens hears what changed."""
        self._states = {device.row.dev_id: await kept_state(device) for device in self._devices}
        stored = await self._of_files()
        with suppress(StoreFailed):
            stored += of_unfinished(await unfinished(self._store, self._devices, self._clock.now()))
            stored += of_webhooks(len(await self._store.find_letters([HOOK], True, MOST_LETTERS, 0)))
            stored += of_letters(len(await self._store.find_letters([MAIL, PHONE, LETTERS], True, MOST_LETTERS, 0)))
        self._stored = stored
        before, self.now, first = self.now, self._made(), self._looked is None
        self._looked = self._clock.steady()
        if not first:
            self._tell(before)
        if self._running and not (self._recording or self._store.damage):
            self._recording = True
            try:
                await self._record()
            except StoreFailed as error:
                self.log.warn("what needs a person is not recorded yet: {why}", why=str(error))
            finally:
                self._recording = False
        return self.now

    def _made(self) -> tuple[Need, ...]:
        """The list, the worst first, of what was read at the last look."""
        found = [*of_damage(self._store.damage), *([EXPOSED] if self._exposed() else [])]
        found += [*of_certificate(self._certificate_days()), *self._also(), *self._stored]
        now = self._clock.now()
        for device in self._devices:
            state = self._states.get(device.row.dev_id)
            found += of_device(device, {} if state is None else state, self._devices.mark(device), now)
        return tuple(sorted(found, key=lambda need: need.level != "bad"))

    async def _of_files(self) -> list[Need]:
        """Disk and backups, which are looked at rarely."""
        if self._state is None:
            return []
        now = self._clock.steady()
        if self._files is None or now - self._files[0] > FILES_S:
            self._files = now, await self._clock.aside(self._look_at_files, self._state, self._clock.seconds())
        return list(self._files[1])

    def _look_at_files(self, state: Path, now: float) -> list[Need]:
        try:
            free = shutil.disk_usage(state).free
        except OSError:
            return []
        return [*of_disk(free), *([] if self._devices.training else of_backup(newest_backup(state, now)))]

    async def _record(self) -> None:
        """Keep what began or ended since the last time as events; after a start everything is new.

        :raises StoreFailed: when not all of it is kept; the next look does the rest.
        """
        ours = {one.row.dev_id: one for one in self._devices if not self._devices.sharing.may_be_another(one.row.n)}
        if not self._begun:
            await self._keep(EventType.SERVICE_STARTED, 0, StartedData(list(ours)))
            self._begun = True
        for dev_id, device in ours.items():
            why = device.built.observed.why if isinstance(device.built, Inquired) else None
            text = "" if why is None else why.words().en
            if self._bad.get(dev_id, "") != text:
                data = DeviceData("good") if why is None else DeviceData("bad", why.res.code, _both(why.words()))
                await self._keep(EventType.DEVICE_CHANGED, device.row.n, data)
                self._bad[dev_id] = text
        found = {(need.dev_id, need.code): need for need in self.now if not need.dev_id or need.dev_id in ours}
        for key, need in {**self._told, **found}.items():
            device_n = ours[need.dev_id].row.n if need.dev_id in ours else 0
            if key not in found:
                await self._keep(EventType.NEED_ENDED, device_n, NeedData(need.code))
                del self._told[key]
            elif key not in self._told:
                data_ = NeedData(need.code, need.level, _both(need.text), _both(need.advice))
                await self._keep(EventType.NEED_RAISED, device_n, data_)
                self._told[key] = need

    async def _keep(self, kind: EventType, device_n: int, data: DeviceData | NeedData | StartedData) -> None:
        await self._store.record(Change(kind, self._clock.now(), msgspec.json.encode(data), device_n, EVENT))

    def _tell(self, before: tuple[Need, ...]) -> None:
        """Publish the needs of each device whose needs changed, and those of the service."""
        if before == self.now or not self._events.watched:
            return
        for dev_id in dict.fromkeys(need.dev_id for need in (*before, *self.now)):
            was = [need for need in before if need.dev_id == dev_id]
            those = [need for need in self.now if need.dev_id == dev_id]
            if was != those:
                name = (those or was)[0].device
                codes = [need.code for need in those]
                self._events.publish("needs", device=name, dev_id=dev_id, level=worst(those), needs=codes)
