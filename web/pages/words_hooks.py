"""Texts of the page about programs that get events."""

from __future__ import annotations

HOOKS: dict[str, tuple[str, str]] = {
    "area_webhooks": ("Події програмам", "Events to programs"),
    "hook_list": ("Отримувачі подій", "Receivers of events"),
    "hook_text": (
        "Сервіс надсилає кожному підписані події (вебхуки), доки їх не приймуть: чеки, оплати, друк, несправності.",
        "The service sends signed events (webhooks) to each until taken: receipts, payments, prints, faults.",
    ),
    "hook_none_text": ("Отримувачів ще немає.", "There are no receivers yet."),
    "hook_new": ("Новий отримувач", "New receiver"),
    "hook_name": ("Назва", "Name"),
    "hook_url": ("Адреса", "Address"),
    "hook_wanted": ("Які події", "Which events"),
    "hook_wanted_text": (
        "Нічого не вибрано: усі події всіх пристроїв і самого сервісу.",
        "With nothing chosen it gets all events, of all devices and of the service.",
    ),
    "hook_events": ("Події", "Events"),
    "hook_inside": ("Адреса в цій мережі, сертифікати", "An address in this network, certificates"),
    "hook_local": ("Дозволені вузли", "Allowed hosts"),
    "hook_local_help": (
        "Лише для адреси на цьому комп’ютері або без https: її назва чи IP.",
        "Only for an address on this computer or without https: its name or IP.",
    ),
    "hook_add": ("Додати", "Add"),
    "hook_secret": (
        "Секрет для перевірки підпису. Скопіюйте його зараз: більше його не буде видно.",
        "The secret that proves the signature. Copy it now: it is not shown again.",
    ),
    "hook_test": ("Надіслати пробну", "Send a test"),
    "hook_taken": ("Отримувач прийняв подію", "The receiver took the event"),
    "hook_enable": ("Увімкнути", "Enable"),
    "hook_disable": ("Вимкнути", "Disable"),
    "hook_rotate": ("Новий секрет", "New secret"),
    "hook_rotate_sure": ("Створити новий секрет?", "Make a new secret?"),
    "hook_rotate_text": (
        "Добу події підписуються обома секретами; за цей час впишіть новий в отримувача.",
        "For a day events are signed with both; give the new one to the receiver in that time.",
    ),
    "hook_sure": ("Видалити отримувача?", "Delete the receiver?"),
    "hook_sure_text": (
        "Він більше нічого не отримає, і те, що чекає, теж.",
        "It gets nothing more, nor what is waiting for it.",
    ),
    "hook_gone": ("вимкнено: адреси більше немає", "off: its address is gone"),
    "hook_fails": ("не приймає", "takes nothing"),
    "hook_told": ("Остання прийнята", "Last taken"),
    "hook_waits": ("Чекають", "Waiting"),
    "hook_since": ("найстаріша", "the oldest"),
    "hook_fails_since": ("Не приймає з", "Failing since"),
    "hook_next": ("наступна спроба", "next try"),
    "hook_old_until": ("Старий секрет діє до", "The old secret is valid until"),
    "hook_dead": ("Неприйняті події", "Events that were never taken"),
    "hook_dead_text": (
        "Їх пробували три дні. Надіслані знову, вони прийдуть після новіших.",
        "They were tried for three days. Sent again, they come after newer ones.",
    ),
    "hook_again_all": ("Надіслати всі знову", "Send all again"),
    "hook_drop_sure": ("Видалити подію?", "Delete the event?"),
    "hook_drop_text": ("Отримувач її не побачить.", "The receiver will not see it."),
}

HOOKS_FOR_SCRIPTS = ("hook_secret", "hook_taken")
"""The keys that the script needs."""
