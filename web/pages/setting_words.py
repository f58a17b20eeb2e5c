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
        "Як пристрій під’єднано до комп’ютера або мережі",
    ),
    "host": _words("Адреса", "Address", "IP-адреса або ім’я пристрою в мережі"),
    "port": _words("Порт TCP", "TCP port", "Число від 0 до 65535; для принтерів 0 означає стандартний порт"),
    "serial_port": _words("COM-порт", "COM port", "Наприклад, COM3 або /dev/ttyUSB0"),
    "baudrate": _words("Швидкість", "Speed", "Швидкість COM-порту, біт за секунду"),
    "flow": _words("Керування потоком", "Flow control", "Як пристрій просить зачекати на COM-порту"),
    "device_file": _words("Файл пристрою", "Device file", "Файл USB-принтера в Linux"),
    "queue": _words("Черга друку", "Print queue", "Назва черги в CUPS або Windows"),
    "tax_map": _words(
        "Податкові групи апарата",
        "The register's tax groups",
        "Рядок на групу: наша група=її номер в апараті, наприклад 2=3; порожнє: за порядком наших груп",
    ),
    "form_map": _words(
        "Форми оплати апарата",
        "The register's forms of payment",
        "Рядок на тип: тип оплати=форма в апараті, наприклад 2=4; порожнє: готівка й картка, як із заводу",
    ),
    "operator": _words("Оператор", "Operator", "Номер оператора в апараті"),
    "till": _words("Номер каси на чеках", "Number of the till on receipts", "Апарат друкує його в чеках"),
    "user": _words("Користувач апарата", "The register's user", "service або номер касира"),
    "report_password": _words(
        "Пароль звітів", "Password of reports", "Пароль X- і Z-звітів апарата; порожній: як із заводу"
    ),
    "wait_s": _words("Чекати, секунд", "Wait, seconds", "Скільки секунд чекати на відповідь"),
    # printers
    "profile": _words("Модель", "Model", "Родина, до якої належить принтер"),
    "code_page": _words("Кодування", "Code page", "Таблиця символів; порожнє: найкраща для моделі"),
    "code_table": _words("Номер таблиці", "Code table number", "Його показує друк таблиць символів"),
    "columns": _words(
        "Символів у рядку", "Characters per line", "Скільки символів уміщує рядок; порожнє: як у моделі"
    ),
    "dots": _words("Ширина, точок", "Width, dots", "Ширина друку в точках; порожнє: як у моделі"),
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
    "opening": _words(
        "Початок зв’язку", "Connection start", "Повний: за описом банку; короткий: його досить багатьом моделям"
    ),
    "opening_pause_s": _words("Пауза між з’єднаннями, секунд", "Pause between connections", "Verifone потребує 3–5"),
    "tells_receipts": _words(
        "Завжди повертає останній чек",
        "Always returns its last receipt",
        "Якщо ні, сервіс з’ясує це сам, щойно термінал поверне один чек",
    ),
    "instalments": _words("Розстрочка", "Instalments", "Послуга банку для завдання 15"),
    "instalments_refund": _words("Повернення розстрочки", "Refund of instalments", "Послуга банку для завдання 16"),
    "two_steps": _words("У два кроки", "In two steps", "Спершу картка, потім сума"),
    "confirm_s": _words("Чекати на касира, секунд", "Wait for the cashier", "Між завданнями 6 і 7"),
    "operation_s": _words("Тривалість, секунд", "Duration, seconds", "Скільки триває навчальна операція"),
    "register": _words("Номер каси", "Number of the till", "Яким номером ця каса називає себе терміналу"),
    "currency": _words("Валюта", "Currency", "Гривня: 980 або UAH, як вимагає протокол"),
    "password": _words(
        "Пароль",
        "Password",
        "У терміналі часто 000000 або 123456; порожнє в апарата: заводський",
    ),
    "charset": _words("Кодування текстів термінала", "Character set of the terminal", "Для CardComplete: iso-8859-1"),
    "slips": _words(
        "Сліпи надсилати касі", "Slips go to the till", "Термінал передає сліпи, а не друкує їх на своєму папері"
    ),
    "locks_menu": _words(
        "Оплата лише з каси", "Payments from the till only", "Кнопками самого термінала оплату не почати"
    ),
    "abort_payments": _words(
        "Переривання оплати",
        "Payments can be aborted",
        "Термінал виконує переривання під час оплати; це вміють не всі",
    ),
    "tells_last": _words(
        "Завжди повідомляє останню операцію",
        "Always reports the last operation",
        "Якщо ні, сервіс з’ясує це сам, щойно термінал її повідомить",
    ),
    "in_step": _words(
        "Звіряти останній чек",
        "Compare the last receipt",
        "Оплата називає останній чек, який знає каса, щоб не розійтися",
    ),
    "protocol_id": _words(
        "Номер протоколу", "Identifier of the protocol", "12 цифр, які отримав виробник касової програми"
    ),
    "version": _words("Версія протоколу", "Version of the protocol", "Бувають також 0301 і 0320"),
    "least": _words(
        "Найменша сума, копійок", "Smallest sum, hundredths", "Деякі термінали не приймають менше за 100"
    ),
    "full": _words("Номер картки у відповіді", "Card number in answers", "Замаскований номер картки"),
    "force": _words("Щоразу питати банк", "Always ask the bank", "Кожну оплату термінал підтверджує в банку"),
    "lrc": _words("Контрольний байт", "Check byte", "auto: сервіс з’ясує варіант сам"),
    "terminal_id": _words("Номер термінала", "Number of the terminal", "8 цифр; нулі: будь-який"),
    "receipts": _words(
        "Чеки надсилати касі", "Receipts go to the till", "Термінал передає чеки, а не друкує їх на своєму папері"
    ),
    "receipt_wait_s": _words("Чекати на чек, секунд", "Wait for a receipt, seconds", "Після операції"),
    "poi_id": _words(
        "Модель і серійний номер термінала", "Model and serial number", "Як на наліпці, наприклад V400m-346403161"
    ),
    "ca": _words(
        "Кореневий сертифікат термінала",
        "Root certificate of the terminal",
        "Сертифікати PEM, якими виробник підписав сертифікат термінала",
    ),
    "sale_id": _words("Назва каси для термінала", "Name of this till", "У кожної каси біля термінала своя"),
    "server_name": _words(
        "Назва в сертифікаті термінала", "Name in the terminal's certificate", "Порожнє: адреса термінала"
    ),
    "passphrase": _words(
        "Парольна фраза спільного ключа", "Passphrase of the shared key", "Порожнє: повідомлення не шифруються"
    ),
    "key_identifier": _words("Назва спільного ключа", "Name of the shared key", "Як її задано в терміналі"),
    "key_version": _words("Версія спільного ключа", "Version of the shared key", "Як її задано в терміналі"),
    "refunds": _words("Повернення", "Refunds", "На картку оплати, яку називає запит, або на картку, яку покажуть"),
    "notices_port": _words(
        "Порт для повідомлень термінала",
        "Port for the terminal's notices",
        "Сюди термінал надсилає те, що показує на екрані; 0: нікуди",
    ),
    "notices_pem": _words(
        "Сертифікат цього порту",
        "Certificate of that port",
        "Сертифікат і закритий ключ PEM для HTTPS; порожнє: HTTP",
    ),
    # registers: what a receipt says
    "name": _words("Платник податків", "Taxpayer", "Перший рядок чека"),
    "shopname": _words("Назва точки", "Name of the outlet", "Другий рядок чека"),
    "shopad": _words("Адреса точки", "Address of the outlet", "Друкується на чеку"),
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
        "За схемою податкової працюють нові каси, номери видів оплати надсилали попередні версії",
    ),
    "rounding_step": _words("Округлення готівки, копійок", "Cash rounding, kopecks", "0: без округлення"),
    "storno_allowed": _words("Дозволити сторно", "Storno allowed", "Скасовувати останній документ завданням 17"),
    "excise_needs_uktzed": _words(
        "УКТЗЕД підакцизного товару",
        "UKTZED of excisable goods",
        "Товар з акцизом без коду УКТЗЕД із 10 цифр",
    ),
    "print_zero_change": _words("Друкувати нульову решту", "Print a change of zero", "Рядок «Решта» без решти"),
    "warn_midnight": _words(
        "Нагадати після півночі", "Reminder after midnight", "Коли зміна з операціями відкрита далі за північ"
    ),
    "auto_close": _words("Закривати зміну о", "Close the shift at", "Час у Києві, наприклад 23:50; порожнє: ніколи"),
    "warn_shift_h": _words(
        "Нагадати про зміну, годин",
        "Shift reminder, hours",
        "Через стільки годин відкрита зміна додає попередження 3003",
    ),
    "offline_allowed": _words("Дозволити офлайн", "Offline allowed", "Працювати без зв’язку з податковою"),
    "offline_probe_s": _words(
        "Спроби повернутися в онлайн, секунд", "Retry online, seconds", "Пауза між спробами, у секундах"
    ),
    "offline_probe_before_receipt": _words(
        "Перевіряти зв’язок перед кожним офлайн-чеком",
        "Check the link before each offline receipt",
        "Є відповідь: каса повертається в онлайн і пробиває чек там",
    ),
    "offline_probe_limit_s": _words(
        "Чекати на цю перевірку, секунд",
        "Wait for that check, seconds",
        "Без відповіді за цей час вважається, що зв’язку немає",
    ),
    "offline_by_hand": _words(
        "Офлайн уручну",
        "Offline by hand",
        "Завжди, або лише коли податкова не відповідає",
    ),
    "offline_limit_h": _words("Обмеження офлайн, годин", "Offline limit, hours", "Далі лише Z-звіт; за законом 36"),
    "warn_offline_h": _words(
        "Показувати залишок офлайн, після годин",
        "Tell offline time left, after hours",
        "Про останні дві години попереджають завжди",
    ),
    "warn_offline_numbers": _words("Попередити про офлайн-номери", "Offline number warning", "Коли залишиться менше"),
    "warn_key_days": _words("Попередити про ключ, днів", "Key warning, days", "До кінця строку дії ключа"),
    "key_valid_to": _words("Ключ дійсний до", "Key valid until", "РРРР-ММ-ДД, щоб спробувати попередження"),
    "pf_text": _words("Текст у відповіді", "Text in answers", "Якщо запит не вимагає іншого"),
    "pf_image": _words("Зображення у відповіді", "Picture in answers", "Якщо запит не вимагає іншого"),
    "pf_pdf": _words("PDF у відповіді", "PDF in answers", "Якщо запит не вимагає іншого"),
    "pf_doccmd": _words("doccmd у відповіді", "doccmd in answers", "Якщо запит не вимагає іншого"),
    "pf_dots": _words("Ширина зображення, точок", "Picture width, dots", "384 для стрічки 58 мм"),
    "pf_charcount": _words(
        "Ширина тексту, символів", "Text width, characters", "Скільки символів у рядку текстового чека"
    ),
    "qr_time": _words("Час у посиланні QR", "Time in the QR link", "У посиланні QR-коду чека"),
    "check_cash": _words("Контролювати готівку", "Check the cash", "Не видавати більше, ніж є в шухляді"),
    "strict_tags": _words("Суворі ключі", "Strict keys", "Відмовляти, коли той самий tag має інший зміст"),
    "untagged_repeat": _words(
        "Повтор без tag",
        "Repeat without a tag",
        "Той самий чек без tag після втраченої відповіді",
    ),
    "marks_check": _words(
        "Перевіряти акцизні марки",
        "Check excise marks",
        "Чи відмовляти, коли марку вже продано",
    ),
    "marks_repeat": _words(
        "Продаж на розлив", "Sale by the glass", "Марку відкритої пляшки можна продавати в кількох чеках"
    ),
    "marks_count": _words(
        "Марок менше, ніж одиниць",
        "Fewer marks than units",
        "Рядок із цілими одиницями, у якому марок менше, ніж одиниць",
    ),
    "marks_offline": _words(
        "Марки без зв’язку", "Marks without a link", "Коли каса офлайн або сховище марок мовчить"
    ),
    "marks_stale": _words(
        "Застарілі дані про марку", "Old data of a mark", "Сховище марок її не знає або дані старі"
    ),
    "marks_url": _words("Адреса сховища марок", "Address of the marks service", "https, крім цього комп’ютера"),
    "marks_token": _words(
        "Токен сховища марок", "Token of the marks service", "Ним сховище марок впізнає цей сервіс"
    ),
    "marks_object": _words("Код об’єкта в сховищі марок", "Code of this shop there", "Порожнє: марки всіх об’єктів"),
    "marks_gs": _words(
        "Замість роздільника GS", "Instead of the separator GS", "Знаки для XML податкової; порожнє: відмовляти"
    ),
    "marks_qr": _words("QR-код марки на чеку", "QR code of marks", "Друкувати кожну марку ще й кодом"),
    "cloud_token": _words(
        "Токен хмарної каси", "Cloud register token", "Ним програма, написана для хмарної каси, називає цю касу"
    ),
    "classic_listen": _words(
        "Лінія для старих програм",
        "Line for old tills",
        "Для програм, що знають лише класичний Datecs: адреса:порт (127.0.0.1:9100) або COM-порт; порожнє: немає",
    ),
    "classic_baudrate": _words("Швидкість цього порту", "Speed of that port", "Якщо лінія послідовна"),
    "classic_allowed": _words(
        "Звідки можна", "From where", "Адреси й мережі таких програм через кому; цей комп’ютер може завжди"
    ),
    "classic_password": _words("Пароль оператора", "Operator's password", "Ним представляється така програма"),
    "classic_printer": _words("Принтер", "Printer", "Для паперів такої програми; порожнє: не друкувати"),
    "classic_taxes": _words("Літери А, Б, В, Г, Д", "Letters А, Б, В, Г, Д", "Податкові групи цих літер"),
    "classic_payments": _words("Оплати P, N, C, D", "Payments P, N, C, D", "Типи оплати цих літер"),
    "batch": _words("Пакетний режим", "Batch mode", "Картка, чек і друк одним запитом"),
    "terminal": _words("Термінал", "Terminal", "Назва термінала; порожнє: без картки"),
    "printer": _words("Принтер", "Printer", "Назва принтера; порожнє: prn"),
    "auto_cancel": _words("Скасовувати оплату", "Cancel the payment", "Якщо чек остаточно відхилено"),
    # the tax service
    "protocol": _words(
        "Протокол податкової",
        "Tax service's protocol",
        "Де зареєстровано касу; з’ясує кнопка в розділі ключа. Змінюють, коли зміну закрито",
    ),
    "server_url": _words("Сервер податкової", "Tax server", "Адреса сервера цього протоколу"),
    "server_ca": _words(
        "Сертифікати сервера",
        "Server's certificates",
        "Кому довіряти в TLS, крім системних: PEM або шлях до файлу PEM",
    ),
    "trusted_certificates": _words(
        "Чиїм підписам вірити",
        "Whose signatures are accepted",
        "Сертифікати сервера податкової: PEM або шляхи до файлів; порожнє: вбудований список",
    ),
    "connect_s": _words("Чекати на з’єднання, секунд", "Wait for a connection", "З сервером податкової"),
    "retry_s": _words(
        "Пауза після мовчання, секунд",
        "Pause after silence, seconds",
        "Стільки сервер, який не відповів, не питають знову",
    ),
    "offline_after_lost_answer": _words(
        "Коли відповідь загубилася",
        "After a lost answer",
        "Чекати, доки податкова скаже, чи є в неї документ; або пробити його офлайн, а копію потім відкликати",
    ),
    "device_register": _words(
        "Одна каса, один пристрій",
        "One device per register",
        "Чи відкривати касу, якщо податкова знає її на іншому комп’ютері",
    ),
    "time_stamps": _words(
        "Позначки часу",
        "Time stamps",
        "Час документа від кваліфікованого надавача; обов’язково: без позначки не продавати",
    ),
    "time_stamp_url": _words("Надавач позначок часу", "Time-stamp provider", "Порожнє: з сертифіката"),
    "signer_url": _words("Агент підпису", "Signing agent", "Адреса; порожнє: ключ завантажено сюди"),
    "signer_token": _words("Пароль агента", "Agent's token", "Ним агент упізнає цей сервіс"),
    "signer_ca": _words(
        "Сертифікати агента",
        "Agent's certificates",
        "Кому довіряти в TLS з агентом, крім системних: PEM або шлях до файлу",
    ),
    "fiscal_number": _words("Фіскальний номер", "Fiscal number", "Фіскальний номер каси з кабінету"),
    "local_number": _words("Локальний номер", "Local number", "Локальний номер каси з кабінету"),
    "testing": _words("Тестові чеки", "Test receipts", "Надсилати документи з позначкою тесту"),
}
"""Words by the name of a setting."""


CHOICES: dict[str, dict[object, Text]] = {
    "interface": {
        "tcp": Text("Мережа", "Network"),
        "serial": Text("COM-порт", "COM port"),
        "usb": Text("USB у Linux (файл пристрою)", "USB on Linux (device file)"),
        "cups": Text("Черга друку CUPS", "Print queue of CUPS"),
        "windows": Text("Черга друку Windows", "Print queue of Windows"),
    },
    "flow": {
        "none": Text("Немає", "None"),
        "rtscts": Text("Апаратне (RTS/CTS)", "Hardware (RTS/CTS)"),
        "xonxoff": Text("Програмне (XON/XOFF)", "Software (XON/XOFF)"),
    },
    "code_page": {"": Text("Найкраще для моделі", "The model's best"), "raster": Text("Картинкою", "Drawn")},
    "excise_needs_uktzed": {
        "off": Text("Продати", "Sell"),
        "warn": Text("Продати з попередженням", "Sell with a warning"),
        "refuse": Text("Не продавати", "Refuse"),
    },
    "protocol": {
        "a": Text("А: фіскальний сервер, fs.tax.gov.ua", "A: the fiscal server, fs.tax.gov.ua"),
        "b": Text("Б: сервер кабінету, prro.tax.gov.ua", "B: the cabinet's server, prro.tax.gov.ua"),
    },
    "pay_codes": {
        "types": Text("Номери видів оплати", "Numbers of the payment types"),
        "tax": Text("За схемою податкової", "By the tax service's schema"),
    },
    "offline_by_hand": {
        "as_asked": Text("Завжди", "Always"),
        "only_without_link": Text("Лише без зв’язку", "Only without a link"),
    },
    "offline_after_lost_answer": {
        "wait": Text("Чекати", "Wait"),
        "revoke": Text("Пробити офлайн і відкликати копію", "Go offline and revoke the copy"),
    },
    "qr_time": {"hhmmss": Text("Із секундами", "With seconds"), "hhmm": Text("Без секунд", "Without seconds")},
    "device_register": {
        "off": Text("Не звіряти", "Do not compare"),
        "on": Text("Лише на цьому комп’ютері", "Only on this computer"),
        "take_over": Text("Забрати з іншого комп’ютера", "Take over from another computer"),
    },
    "untagged_repeat": {
        "warn": Text("Пробити з попередженням", "Do it with a warning"),
        "return": Text("Повернути перший чек", "Return the first receipt"),
        "sell": Text("Пробити", "Do it"),
    },
    "marks_check": {
        "off": Text("Ні", "No"),
        "local": Text("За продажами цього сервісу", "By the sales of this service"),
        "service": Text("Ще й у сховищі марок", "And in the marks service"),
    },
    "marks_count": {
        "off": Text("Продати", "Sell"),
        "warn": Text("Продати з попередженням", "Sell with a warning"),
        "refuse": Text("Не продавати", "Refuse"),
    },
    "marks_offline": {"sell": Text("Продати", "Sell"), "refuse": Text("Не продавати", "Refuse")},
    "marks_stale": {"sell": Text("Продати", "Sell"), "refuse": Text("Не продавати", "Refuse")},
    "time_stamps": {
        "off": Text("Немає", "None"),
        "try": Text("Якщо надавач доступний", "If the provider answers"),
        "must": Text("Обов’язково", "Always"),
    },
    "lrc": {"auto": Text("З’ясувати самому", "Find out")},
    "refunds": {
        "referenced": Text("На картку оплати", "To the card of the payment"),
        "card": Text("На картку, яку покажуть", "To whatever card is shown"),
    },
    "opening": {"thorough": Text("Повний", "Thorough"), "short": Text("Короткий", "Short")},
}
"""Words for the values of settings; a value without words is a name of its own: a code table, a bank's service."""


def choice_of(field: Field, value: object, language: str) -> str:
    """How a value of ``field`` is called."""
    words = CHOICES.get(field.name, {}).get(value)
    return words.for_language(language) if words is not None else str(value)


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
