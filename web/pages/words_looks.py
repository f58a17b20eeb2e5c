"""Texts of the frame of every page, of copying, and of the pages that are there without a login."""

from __future__ import annotations

LOOKS: dict[str, tuple[str, str]] = {
    "for_programs": ("Для програм", "For programs"),
    "notices": ("Попередження", "Warnings of the service"),
    "presence_short": ("Потрібен одноразовий код", "A one-time code is needed"),
    "training_real_short": ("Навчання, але чеки справжні", "Training, but with real receipts"),
    "training_short": ("Навчальний режим", "Training mode"),
    "copy": ("Скопіювати", "Copy"),
    "copied": ("Скопійовано", "Copied"),
    "not_copied": ("Не вдалося скопіювати: виділіть текст самі", "It could not be copied: select the text yourself"),
    "search_interface": ("Пошук: адреса, завдання, код", "Search: path, task, code"),
    "shapes": ("Структури", "Structures"),
    # refusals in a browser
    "for_programs_only": ("Ця адреса для програм", "This address is for programs"),
    "for_programs_text": (
        "Касова програма надсилає сюди запити, у браузері тут нічого дивитися. Спробуйте запит на сторінці «Запити».",
        "Till programs send requests here; there is nothing to see in a browser. The page Requests lets you try one.",
    ),
    "refused_here": ("Сервіс відмовив", "The service refused"),
    # what stands in place of an empty list
    "show_all": ("Показати все", "Show everything"),
    "no_receipts_found": (
        "Чеків за цими умовами немає. Приберіть частину умов або покажіть усе.",
        "No receipt fits. Clear some of the fields, or show everything.",
    ),
    "no_codes_found": (
        "Такого коду немає. Спробуйте інше слово або номер.",
        "No such code. Try another word or number.",
    ),
    "no_documents_text": (
        "Документів ще немає. Перший з’явиться, щойно відкриєте зміну.",
        "No documents yet. Open the shift to make the first one.",
    ),
    "no_devices_text": (
        "Пристроїв ще немає. Додайте касу, принтер або термінал.",
        "There are no devices yet. Add a register, a printer or a terminal.",
    ),
    "no_registers_text": (
        "Кас ще немає. Без каси чек не пробити: додайте її першою.",
        "There are no registers yet. Receipts need one: add it first.",
    ),
    "add_register": ("Додати касу", "Add a register"),
    "no_others_text": (
        "Принтерів і терміналів ще немає. Чеки пробиваються й без них; додайте їх, щоб друкувати й приймати картки.",
        "There are no printers or terminals yet. Receipts work without them; add them to print and to take cards.",
    ),
    "no_keys_text": (
        "Ключів ще немає. Створіть ключ для кожної програми, яка змінює налаштування або читає чеки.",
        "There are no keys yet. Create one for each program that changes settings or reads receipts.",
    ),
    "mail_none_text": ("Усе надіслано, нічого не чекає.", "Everything is delivered; nothing is waiting."),
    "no_backups_text": (
        "Копій ще немає. Створіть першу: це можна робити під час продажів.",
        "There are no backups yet. Create the first one; sales go on meanwhile.",
    ),
}
"""Ukrainian and English text by key."""
