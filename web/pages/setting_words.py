"""Titles and descriptions of device settings on pages.

A driver describes its settings in English, for programs. This module has the words for the fields of a form: titles
in both languages, and descriptions in Ukrainian. A setting without words here is shown by its name and description.
"""

from __future__ import annotations

from typing import NamedTuple

from dmtwisted.results import Text
from web.pages.fields import Field


class SettingWords(NamedTuple):
    """The title of a field, and its description in Ukrainian."""

    title: Text
    help_uk: str = ""


def _words(uk: str, en: str, help_uk: str = "") -> SettingWords:
    return SettingWords(Text(uk, en), help_uk)


SETTINGS: dict[str, SettingWords] = {
    # where a device is
    "interface": _words(
        "Під’єднання",
        "Connection",
        "tcp: мережа; serial: COM-порт; usb: файл пристрою в Linux; cups, windows: черга друку системи",
    ),
    "host": _words("Адреса", "Address", "IP-адреса або ім’я пристрою в мережі"),
    "port": _words("Порт TCP", "TCP port", "Число від 0 до 65535; для принтерів 0 означає стандартний порт"),
    "serial_port": _words("COM-порт", "COM port", "Наприклад, COM3 або /dev/ttyUSB0"),
    "baudrate": _words("Швидкість", "Speed", "Швидкість COM-порту, біт за секунду"),
    "flow": _words("Керування потоком", "Flow control", "Як пристрій просить зачекати на COM-порту"),
    "device_file": _words("Файл пристрою", "Device file", "Файл USB-принтера в Linux"),
    "queue": _words("Черга друку", "Print queue", "Назва черги в CUPS або Windows"),
    "wait_s": _words("Чекати, секунд", "Wait, seconds", "Скільки секунд чекати на відповідь"),
    # printers
    "profile": _words("Модель", "Model", "Родина, до якої належить принтер"),
    "code_page": _words("Кодування", "Code page", "Таблиця символів; порожнє: найкраща для моделі"),
    "code_table": _words("Номер таблиці", "Code table number", "Його показує друк таблиць символів"),
    "columns": _words("Символів у рядку", "Characters per line"),
    "dots": _words("Ширина, точок", "Width, dots"),
    "drawer_inverted": _words(
        "Інвертований контакт шухляди", "Inverted drawer contact", "Контакт шухляди повідомляє протилежний стан"
    ),
    "job_ttl_s": _words("Чекати на папір, секунд", "Wait for paper, seconds", "Потім завдання друку скасовується"),
    "spare": _words("Запасний принтер", "Spare printer", "Назва принтера, який друкує замість цього"),
    # terminals
    "merchant": _words("Мерчант", "Merchant", "Мерчант термінала, якщо запит його не називає; порожнє: типовий"),
    "return_lost_answer": _words(
        "Повертати втрачену відповідь",
        "Return a lost answer",
        "transaction_search 0 за 10 хвилин поверне схвалення, якого ніхто не отримав",
    ),
    "opening": _words("Початок зв’язку", "Connection start", "thorough: повний, за описом банку; short: короткий"),
    "opening_pause_s": _words("Пауза між з’єднаннями, секунд", "Pause between connections", "Verifone потребує 3–5"),
    "tells_receipts": _words("Завжди повертає останній чек", "Always returns its last receipt"),
    "instalments": _words("Розстрочка", "Instalments", "Послуга банку для завдання 15"),
    "instalments_refund": _words("Повернення розстрочки", "Refund of instalments", "Послуга банку для завдання 16"),
    "two_steps": _words("У два кроки", "In two steps", "Спершу картка, потім сума"),
    "confirm_s": _words("Чекати на касира, секунд", "Wait for the cashier", "Між завданнями 6 і 7"),
    "operation_s": _words("Тривалість, секунд", "Duration, seconds", "Скільки триває навчальна операція"),
    # registers: what a receipt says
    "name": _words("Платник податків", "Taxpayer", "Перший рядок чека"),
    "shopname": _words("Назва точки", "Name of the outlet", "Другий рядок чека"),
    "shopad": _words("Адреса точки", "Address of the outlet"),
    "vat_code": _words("Номер платника ПДВ", "VAT number", "Друкується після ПН"),
    "fis_code": _words("Податковий номер", "Tax number", "Друкується після ІД"),
    "header": _words("Рядки згори", "Lines at the top", "Власні рядки на початку кожного чека"),
    "footer": _words("Рядки знизу", "Lines at the end", "Власні рядки наприкінці кожного чека"),
    "template": _words("Шаблон друку", "Print template", "Власні рядки навколо чека (docs/print-forms.md)"),
    # registers: how they work
    "tax_groups": _words("Податкові групи", "Tax groups", "Групи, за якими продають"),
    "dated": _words("Зміни від певного дня", "Changes on a day"),
    "default_taxgrp": _words("Типова група", "Default tax group", "Для товару без групи; 0: відмова"),
    "pay_types": _words("Види оплати", "Payment types", "Чим можна платити"),
    "pay_codes": _words(
        "Коди оплат для податкової",
        "Payment codes for the tax service",
        "types: номери видів оплати, як надсилали попередні версії; tax: за схемою податкової, як у нових кас",
    ),
    "rounding_step": _words("Округлення готівки, копійок", "Cash rounding, kopecks", "0: без округлення"),
    "storno_allowed": _words("Дозволити сторно", "Storno allowed", "Скасовувати останній документ завданням 17"),
    "excise_needs_uktzed": _words(
        "УКТЗЕД підакцизного товару",
        "UKTZED of excisable goods",
        "Товар з акцизом без коду УКТЗЕД із 10 цифр: off: продати; warn: з попередженням; refuse: не продавати",
    ),
    "print_zero_change": _words("Друкувати нульову решту", "Print a change of zero", "Рядок «Решта» без решти"),
    "warn_midnight": _words(
        "Нагадати після півночі", "Reminder after midnight", "Коли зміна з операціями відкрита далі за північ"
    ),
    "auto_close": _words("Закривати зміну о", "Close the shift at", "Час у Києві, наприклад 23:50; порожнє: ніколи"),
    "warn_shift_h": _words("Нагадати про зміну, годин", "Shift reminder, hours"),
    "offline_allowed": _words("Дозволити офлайн", "Offline allowed", "Працювати без зв’язку з податковою"),
    "offline_probe_s": _words("Спроби повернутися в онлайн, секунд", "Retry online, seconds"),
    "offline_probe_before_receipt": _words(
        "Перевіряти зв’язок перед кожним офлайн-чеком",
        "Check the link before each offline receipt",
        "Є відповідь: каса повертається в онлайн і пробиває чек там",
    ),
    "offline_probe_limit_s": _words("Чекати на цю перевірку, секунд", "Wait for that check, seconds"),
    "offline_by_hand": _words(
        "Офлайн уручну",
        "Offline by hand",
        "only_without_link: лише коли податкова не відповідає; as_asked: завжди",
    ),
    "offline_limit_h": _words("Обмеження офлайн, годин", "Offline limit, hours", "Далі лише Z-звіт; за законом 36"),
    "warn_offline_h": _words("Показувати залишок офлайн, після годин", "Tell offline time left, after hours"),
    "warn_offline_numbers": _words("Попередити про офлайн-номери", "Offline number warning", "Коли залишиться менше"),
    "warn_key_days": _words("Попередити про ключ, днів", "Key warning, days", "До кінця строку дії ключа"),
    "key_valid_to": _words("Ключ дійсний до", "Key valid until", "РРРР-ММ-ДД, щоб спробувати попередження"),
    "pf_text": _words("Текст у відповіді", "Text in answers", "Якщо запит не вимагає іншого"),
    "pf_image": _words("Зображення у відповіді", "Picture in answers", "Якщо запит не вимагає іншого"),
    "pf_pdf": _words("PDF у відповіді", "PDF in answers", "Якщо запит не вимагає іншого"),
    "pf_doccmd": _words("doccmd у відповіді", "doccmd in answers", "Якщо запит не вимагає іншого"),
    "pf_dots": _words("Ширина зображення, точок", "Picture width, dots", "384 для стрічки 58 мм"),
    "pf_charcount": _words("Ширина тексту, символів", "Text width, characters"),
    "qr_time": _words("Час у посиланні QR", "Time in the QR link", "hhmmss: із секундами; hhmm: без секунд"),
    "check_cash": _words("Контролювати готівку", "Check the cash", "Не видавати більше, ніж є в шухляді"),
    "strict_tags": _words("Суворі ключі", "Strict keys", "Відмовляти, коли той самий tag має інший зміст"),
    "untagged_repeat": _words(
        "Повтор без tag",
        "Repeat without a tag",
        "Той самий чек без tag після втраченої відповіді: warn: пробити з попередженням; return: повернути перший; "
        "sell: пробити",
    ),
    "marks_check": _words(
        "Перевіряти акцизні марки",
        "Check excise marks",
        "off: ні; local: не продавати двічі на касах цього сервісу; service: ще й питати сховище марок",
    ),
    "marks_repeat": _words(
        "Продаж на розлив", "Sale by the glass", "Марку відкритої пляшки можна продавати в кількох чеках"
    ),
    "marks_count": _words(
        "Марок менше, ніж одиниць", "Fewer marks than units", "off: продавати; warn: з попередженням; refuse: ні"
    ),
    "marks_offline": _words(
        "Марки без зв’язку", "Marks without a link", "Коли каса офлайн або сховище марок мовчить: sell чи refuse"
    ),
    "marks_stale": _words(
        "Застарілі дані про марку", "Old data of a mark", "Сховище марок її не знає або дані старі: sell чи refuse"
    ),
    "marks_url": _words("Адреса сховища марок", "Address of the marks service", "https, крім цього комп’ютера"),
    "marks_token": _words("Токен сховища марок", "Token of the marks service"),
    "marks_object": _words("Код об’єкта в сховищі марок", "Code of this shop there", "Порожнє: марки всіх об’єктів"),
    "marks_gs": _words(
        "Замість роздільника GS", "Instead of the separator GS", "Знаки для XML податкової; порожнє: відмовляти"
    ),
    "marks_qr": _words("QR-код марки на чеку", "QR code of marks", "Друкувати кожну марку ще й кодом"),
    "cloud_token": _words(
        "Токен хмарної каси", "Cloud register token", "Ним програма, написана для хмарної каси, називає цю касу"
    ),
    "batch": _words("Пакетний режим", "Batch mode", "Картка, чек і друк одним запитом"),
    "terminal": _words("Термінал", "Terminal", "Назва термінала; порожнє: без картки"),
    "printer": _words("Принтер", "Printer", "Назва принтера; порожнє: prn"),
    "auto_cancel": _words("Скасовувати оплату", "Cancel the payment", "Якщо чек остаточно відхилено"),
    # the tax service
    "server_url": _words("Сервер податкової", "Tax server", "Адреса фіскального сервера"),
    "server_ca": _words("Сертифікати сервера", "Server's certificates"),
    "device_register": _words(
        "Одна каса, один пристрій",
        "One device per register",
        "off: не звіряти; on: не відкривати, якщо податкова знає касу на іншому комп’ютері; take_over: забрати собі",
    ),
    "time_stamps": _words(
        "Позначки часу",
        "Time stamps",
        "off: без позначок; try: якщо надавач доступний; must: без позначки не продавати",
    ),
    "time_stamp_url": _words("Надавач позначок часу", "Time-stamp provider", "Порожнє: з сертифіката"),
    "signer_url": _words("Агент підпису", "Signing agent", "Адреса; порожнє: ключ завантажено сюди"),
    "signer_token": _words("Пароль агента", "Agent's token"),
    "signer_ca": _words("Сертифікати агента", "Agent's certificates"),
    "fiscal_number": _words("Фіскальний номер", "Fiscal number", "Фіскальний номер каси з кабінету"),
    "local_number": _words("Локальний номер", "Local number", "Локальний номер каси з кабінету"),
    "testing": _words("Тестові чеки", "Test receipts", "Надсилати документи з позначкою тесту"),
}
"""Words by the name of a setting."""


def title_of(field: Field, language: str) -> str:
    """The title of ``field``; its name when it has no words."""
    return name_of(field.name, language)


def name_of(setting: str, language: str) -> str:
    """The title of a setting; its name when it has no words."""
    words = SETTINGS.get(setting)
    return words.title.for_language(language) if words is not None else setting


def help_of(field: Field, language: str) -> str:
    """The text below ``field``: in English the driver's own description."""
    words = SETTINGS.get(field.name)
    if language == "en" or words is None:
        return field.title
    return words.help_uk
