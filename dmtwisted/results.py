"""The published catalogue of results, and the exception that carries them.

The outcome of a task is a number, ``res``. This module has the table of these numbers: the text in both languages,
what the caller may do next (``res_action``), and advice for the caller's program and for the cashier. The numbers are
written only here; all other code uses names, ``Refused(Res.SHIFT_CLOSED)``.

Two rules bind the error texts, because tills search them instead of comparing the numbers:

- The stems ``змін``, ``закрит`` and ``shift`` are in the text of 1092 only: a till that finds one of them opens a
  shift. The other texts speak of the business day, of opening the register and of the Z-report.
- The words ``папір``, ``папер``, ``принтер`` and ``paper`` are in the text of 5005 only: a till that finds one of
them asks for paper.

Details and notes in a text keep the same rules. The advice is never part of an error text, so it is free.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import Enum, IntEnum, unique
from typing import Literal, NamedTuple

Group = Literal["general", "cash_register", "terminal", "printer", "warning"]


@unique
class Action(IntEnum):
    """What the caller may do next: ``res_action`` of an answer (specification 3.2)."""

    DONE = 0
    REPEAT = 1
    COLLISION = 2
    CORRECT = 3


LANGUAGES = ("uk", "en")
"""The languages of the service, in the order of a `Text`."""


class Text(NamedTuple):
    """One text in both languages of the service."""

    uk: str
    en: str

    def for_language(self, language: str) -> str:
        """The English text for ``"en"``, the Ukrainian one for everything else."""
        return self.en if language == "en" else self.uk


Words = str | Text
"""Words for a caller: own ones are a `Text`, those of a bank or of the tax service stay as they came."""


def in_language(words: Words, language: str) -> str:
    """``words`` in ``language``, as far as they have it."""
    return words.for_language(language) if isinstance(words, Text) else words


def each(words: Words, change: Callable[[str], str]) -> Words:
    """``words`` with every text of theirs changed."""
    return Text(*map(change, words)) if isinstance(words, Text) else change(words)


def joined(*parts: Words, separator: str = ": ") -> Text:
    """``parts`` behind each other in both languages, without the empty ones."""
    return Text(*(separator.join(filter(None, (in_language(part, one) for part in parts))) for one in LANGUAGES))


def one_of(*choices: object) -> Text:
    """That one of ``choices`` is expected."""

    def listed(language: str, last: str) -> str:
        *most, final = (in_language(one, language) if isinstance(one, Text) else str(one) for one in choices)
        return last.join([", ".join(most), final] if most else [final])

    return Text(f"очікується {listed('uk', ' або ')}", f"{listed('en', ' or ')} is expected")


def from_to(least: float, most: float | None = None) -> Text:
    """That a number within these limits is expected."""
    if most is None:
        return Text(f"очікується число від {least:g}", f"a number from {least:g} is expected")
    return Text(f"очікується число від {least:g} до {most:g}", f"a number from {least:g} to {most:g} is expected")


def at_most(characters: int, given: int | None = None) -> Text:
    """That a text may have so many ``characters``, not as many as are ``given``."""
    limit = Text(f"щонайбільше {characters} символів", f"at most {characters} characters are taken")
    return limit if given is None else joined(limit, Text(f"а не {given}", f"not {given}"), separator=", ")


_Line = tuple[Group, int, Action, Text, Text, Text, Text]
"""Group, code, action, text of a refusal, advice for the caller's program and for the cashier, text of a warning."""


def _lines_of(group: Group) -> Callable[..., _Line]:
    """A function that makes a line of ``group``; each of its texts is given in Ukrainian, then in English.

    They are three, and a fourth where the code is a warning too that says something else.
    """

    def line(code: int, action: Action, *texts: str) -> _Line:
        text, caller, cashier, *warning = map(Text, texts[::2], texts[1::2])
        return group, code, action, text, caller, cashier, warning[0] if warning else text

    return line


_general, _register, _terminal = _lines_of("general"), _lines_of("cash_register"), _lines_of("terminal")
_printer, _warning = _lines_of("printer"), _lines_of("warning")

# Advice of several codes.

_SAME_TAG = Text(
    "Повторіть той самий запит із тим самим tag.",
    "Repeat the same request with the same tag.",
)
_NEW_ID = Text(
    "Надішліть операцію ще раз із новим transaction_id: за старим повернеться збережена відмова.",
    "Send the operation again with a new transaction_id: the old one returns the stored refusal.",
)
_NOT_PAID = Text(
    "Оплати немає, надішліть нову операцію з новим transaction_id, коли покупець вибере інший спосіб.",
    "Nothing was paid, send a new operation with a new transaction_id once the customer chose another way.",
)
_LINE_SETTINGS = Text(
    "Перевірте адресу або COM-порт у налаштуваннях термінала й повторіть операцію з новим transaction_id.",
    "Check the address or COM port in the terminal's settings and repeat with a new transaction_id.",
)
_SEND_LOG = Text(
    "Повтор не допоможе: передайте службі підтримки tag, час і журнал сервісу.",
    "A repeat will not help: give support the tag, the time and the service's log.",
)
_FIX_PROGRAM = Text(
    "Облікова програма надіслала неправильні дані, і чек не пробито, тож покличте її адміністратора.",
    "The accounting program sent wrong data and nothing was registered, so call its administrator.",
)
_CALL_SUPPORT = Text(
    "Чек не пробито, зверніться до служби підтримки.",
    "The receipt was not registered, call support.",
)
_CALL_ADMINISTRATOR = Text(
    "Покличте того, хто налаштовує касу.",
    "Call the person who sets up the register.",
)
_CALL_BANK = Text(
    "Зателефонуйте до підтримки банку: термінал потребує налаштування.",
    "Call the bank's support: the terminal needs to be set up.",
)
_WAIT_A_MINUTE = Text(
    "Зачекайте хвилину й пробийте той самий чек ще раз.",
    "Wait a minute and register the same receipt again.",
)
_TERMINAL_LINE = Text(
    "Перевірте, чи термінал увімкнено і чи під’єднано його кабель або мережу, та повторіть оплату.",
    "Check that the terminal is on and its cable or network is connected, then repeat the payment.",
)
_ANOTHER_CARD = Text(
    "Запропонуйте покупцеві іншу картку або готівку.",
    "Offer the customer another card or cash.",
)


@unique
class Res(Enum):
    """One line of the published catalogue."""

    code: int
    group: Group
    action: Action
    text: Text
    caller: Text
    cashier: Text
    warning: Text
    """The text among the warnings of a success."""

    def __new__(
        cls, group: Group, code: int, action: Action, text: Text, caller: Text, cashier: Text, warning: Text
    ) -> Res:
        member = object.__new__(cls)
        # The number is the value, so that `unique` checks the numbers and a member is short in a log.
        member._value_ = code
        member.code, member.group, member.action = code, group, action
        member.text, member.caller, member.cashier, member.warning = text, caller, cashier, warning
        return member

    @classmethod
    def by_code(cls, code: int) -> Res:
        """The line of a published number.

        :raises KeyError: for an unknown number.
        """
        return _BY_CODE[code]

    # General: any device.

    OK = _general(
        0,
        Action.DONE,
        "",
        "",
        "Завдання виконано, надсилайте наступне.",
        "The task is done, send the next one.",
        "Усе гаразд, продовжуйте роботу.",
        "All is well, go on working.",
    )
    DEVICE_ERROR = _general(
        430,
        Action.CORRECT,
        "Помилка пристрою: %s",
        "Device error: %s",
        "Покажіть текст касирові й повторіть запит, коли причину буде усунено.",
        "Show the text to the cashier and repeat the request once the cause is removed.",
        "Усуньте те, що названо в тексті, а якщо не вдається, зверніться до служби підтримки.",
        "Remove what the text names, and call support if you cannot.",
    )
    INTERNAL = _general(
        1016,
        Action.CORRECT,
        "Внутрішня помилка: %s",
        "Internal error: %s",
        "З’ясуйте підсумок за tag або transaction_id, а текст і журнал передайте службі підтримки.",
        "Look the outcome up by tag or transaction_id, and give the text and the log to support.",
        "Перевірте, чи надруковано чек або сліп, і не беріть гроші вдруге, доки не з’ясуєте.",
        "Check whether a receipt or slip came out, and do not take the money again before you know.",
    )
    STORE_FAILED = _general(
        1082,
        Action.REPEAT,
        "Не вдалося записати в базу даних",
        "Cannot write to the database",
        "Перевірте місце на диску, права служби й цілість бази, потім повторіть запит із тим самим tag.",
        "Check disk space, the service's rights and the database, then repeat with the same tag.",
        "Покличте того, хто дбає про цей комп’ютер: сервіс не може зберегти чек.",
        "Call the person who looks after this computer: the service cannot store the receipt.",
    )
    UNKNOWN_DEVICE = _general(
        1091,
        Action.CORRECT,
        "Пристрою з такою назвою немає",
        "There is no device with this name",
        "Надішліть у device назву з налаштувань сервісу, символ у символ, без пробілів по краях.",
        "Send in device the name from the service's settings, letter for letter, without outer blanks.",
        "У програмі вибрано пристрій, якого немає, тож виберіть інший або покличте адміністратора.",
        "The program names a device that does not exist, choose another one or call the administrator.",
    )
    DEVICE_BUSY = _general(
        1105,
        Action.REPEAT,
        "Пристрій зайнятий попереднім завданням",
        "The device is busy with a previous task",
        "Дочекайтеся відповіді на попереднє завдання, потім повторіть той самий запит.",
        "Wait for the answer to the previous task, then repeat the very same request.",
        "Зачекайте, доки пристрій завершить попередню дію, і повторіть.",
        "Wait until the device has finished what it is doing, then try again.",
    )
    MALFORMED = _general(
        2000,
        Action.CORRECT,
        "Некоректний запит: %s",
        "Malformed request: %s",
        "Виправте в JSON поле, назване в тексті, і надішліть запит знову.",
        "Correct the member of the JSON that the text names and send the request again.",
        "Облікова програма надіслала некоректний запит, тож покличте її адміністратора.",
        "The accounting program sent a malformed request, so call its administrator.",
    )
    NOT_NOW = _general(
        2100,
        Action.REPEAT,
        "Зараз неможливо, зачекайте й повторіть",
        "Not possible now, wait and repeat",
        "Дочекайтеся, доки завершиться названа в тексті робота, і повторіть той самий запит.",
        "Wait for the end of the work that the text names, then repeat the very same request.",
        "Зачекайте, доки завершиться попередня дія, і спробуйте ще раз.",
        "Wait until the work under way has ended, then try again.",
    )
    MARK_REFUSED = _register(
        2101,
        Action.CORRECT,
        "Позиція %d: акцизну марку %s продати не можна: %s",
        "Position %d: the excise mark %s cannot be sold: %s",
        "Приберіть цю марку з чека або проведіть повернення чека, який названо: повернення звільняє марку.",
        "Take this mark off the receipt, or return the receipt that is named: a return frees the mark.",
        "Зчитайте марку ще раз; якщо відмова повторюється, відкладіть товар і покажіть його старшому.",
        "Scan the mark again; if it is refused again, put the item aside and show it to your superior.",
    )
    MARKS_MISSING = _register(
        2102,
        Action.CORRECT,
        "Позиція %d: акцизних марок %d, а одиниць товару %d",
        "Position %d: %d excise marks for %d units",
        "Надішліть у code_aa стільки марок, скільки одиниць у рядку, або дозвольте це через marks_count.",
        "Send as many marks in code_aa as the row has units, or allow it by marks_count.",
        "Зчитайте марку кожної пляшки чи пачки.",
        "Scan the mark of every bottle or pack.",
    )
    MARKS_UNCHECKED = _register(
        2103,
        Action.REPEAT,
        "Акцизні марки не перевірено: %s",
        "The excise marks are not checked: %s",
        "Повторіть той самий запит із тим самим tag, коли буде зв’язок, або дозвольте продаж через marks_offline.",
        "Repeat the request with the same tag when the link is back, or allow the sale by marks_offline.",
        "Спробуйте ще раз за хвилину або продайте без цього товару.",
        "Try again in a minute, or sell without this item.",
        "Акцизні марки не перевірено",
        "The excise marks are not checked",
    )
    REGISTER_ELSEWHERE = _register(
        2104,
        Action.CORRECT,
        "За даними податкової ця каса працює на іншому пристрої",
        "To the tax service this register works on another device",
        "З’ясуйте, де ще вона працює; щоб працювати тут, поставте device_register take_over.",
        "Find out where else it is used; to use it here, set device_register to take_over.",
        *_CALL_ADMINISTRATOR,
    )

    # Cash registers: tasks, the day and its reports.

    UNKNOWN_FISCAL_TASK = _register(
        307,
        Action.CORRECT,
        "Завдання fiscal.task %d не підтримується",
        "The task fiscal.task %d is not supported",
        "Надішліть у fiscal.task номер з опису інтерфейсу.",
        "Send a number from the interface description in fiscal.task.",
        "Каса не вміє цієї дії, покличте адміністратора облікової програми.",
        "The register cannot do this, call the administrator of the accounting program.",
    )
    SHIFT_ALREADY_CLOSED = _register(
        1006,
        Action.CORRECT,
        "Робочий день каси вже завершено Z-звітом",
        "The business day has already been ended by a Z-report",
        "Вважайте завдання 11 виконаним, а перед наступним чеком надішліть fiscal.task 0.",
        "Take task 11 as done and send fiscal.task 0 before the next receipt.",
        "Z-звіт уже зроблено, другий не потрібен.",
        "The Z-report has been made, a second one is not needed.",
    )
    TAG_KNOWN = _register(
        1051,
        Action.CORRECT,
        "Чек із таким tag уже є в базі, а цей запит інший",
        "A receipt with this tag is stored already, and this request is another one",
        "Якщо це новий чек, надішліть його з новим tag, а якщо повтор, візьміть повернуту відповідь.",
        "Give a new receipt a tag of its own, and take the returned answer if this was a repeat.",
        "Показано чек, пробитий раніше, тож перевірте суму, перш ніж віддати його покупцеві.",
        "You see a receipt that was registered earlier, so check its sum before you hand it over.",
        "Чек із таким tag уже є в базі, повернуто попередню відповідь",
        "A receipt with this tag is stored already, its earlier answer is returned",
    )
    TAG_NOT_FOUND = _register(
        1058,
        Action.REPEAT,
        "Чека з таким tag або номером не знайдено",
        "There is no receipt with this tag or number",
        "За цим tag нічого не зареєстровано, тож надішліть саме завдання з тим самим tag.",
        "Nothing is registered under this tag, so send the task itself with the same tag.",
        "Такого чека немає, його можна пробити.",
        "There is no such receipt yet, you may register it.",
    )
    NO_Z_IN_RANGE = _register(
        1059,
        Action.CORRECT,
        "У вказаних межах немає жодного Z-звіту",
        "There is no Z-report within the given range",
        "Перевірте n_from і n_to для завдання 12 або dt_from і dt_to для завдання 13.",
        "Check n_from and n_to of task 12, or dt_from and dt_to of task 13.",
        "За вибраний період Z-звітів не було, виберіть інший період.",
        "No Z-report was made in the chosen period, choose another one.",
    )
    Z_CORRUPTED = _register(
        1060,
        Action.CORRECT,
        "Зведений звіт неможливий, бо один із Z-звітів у вказаних межах пошкоджено",
        "No summary is possible because a Z-report within the range is damaged",
        "Звузьте межі завдань 12 і 13, щоб обійти пошкоджений звіт, і повідомте службу підтримки.",
        "Narrow the range of tasks 12 and 13 to leave the damaged report out, and tell support.",
        "Виберіть коротший період і повідомте службу підтримки.",
        "Choose a shorter period and tell support.",
    )
    X_REPORT_FAILED = _register(
        1081,
        Action.CORRECT,
        "Не вдалося скласти X-звіт",
        "The X-report could not be made",
        "Перевірте завданням 18, чи відкрито касу, і якщо відкрито, передайте журнал службі підтримки.",
        "Check with task 18 whether the register is open, and if it is, give the log to support.",
        "X-звіт ще не з чого скласти, а якщо чеки вже були, зверніться до служби підтримки.",
        "There is nothing to report on yet, and if there were receipts, call support.",
    )
    Z_REPORT_FAILED = _register(
        1086,
        Action.CORRECT,
        "Не вдалося скласти Z-звіт",
        "The Z-report could not be made",
        *_SEND_LOG,
        "Z-звіт не зроблено, зверніться до служби підтримки ще сьогодні.",
        "The Z-report was not made, call support before the day is over.",
    )
    SHIFT_CLOSED = _register(
        1092,
        Action.CORRECT,
        "Зміну закрито, відкрийте зміну, щоб реєструвати чеки",
        "The shift is closed, open a shift to register receipts",
        "Відкрийте зміну завданням fiscal.task 0, потім повторіть запит із тим самим tag.",
        "Open a shift with fiscal.task 0, then repeat the request with the same tag.",
        "Відкрийте зміну і пробийте чек ще раз.",
        "Open a shift and register the receipt again.",
    )
    SHIFT_ALREADY_OPEN = _register(
        1096,
        Action.CORRECT,
        "Касу вже відкрито",
        "The register is open already",
        "Вважайте завдання 0 виконаним і надсилайте чеки.",
        "Take task 0 as done and send receipts.",
        "Касу вже відкрито, пробивайте чеки.",
        "The register is open already, go on with receipts.",
    )
    Z_ALREADY_SENT = _register(
        1099,
        Action.CORRECT,
        "Z-звіт уже надіслано",
        "The Z-report has already been sent",
        "Не надсилайте звіт удруге, а прочитайте його завданням 12 або за його tag.",
        "Do not send the report a second time, read it with task 12 or by its tag.",
        "Z-звіт уже зроблено, другий не потрібен.",
        "The Z-report has been made, a second one is not needed.",
    )
    SHIFT_MUST_BE_CLOSED = _register(
        1100,
        Action.CORRECT,
        "Робочий день каси має бути завершено Z-звітом",
        "The business day must be ended by a Z-report",
        "Надішліть fiscal.task 11, потім fiscal.task 0, і повторіть запит.",
        "Send fiscal.task 11, then fiscal.task 0, and repeat the request.",
        "Зробіть Z-звіт, відкрийте касу знову і повторіть.",
        "Make a Z-report, open the register again and retry.",
    )

    # Cash registers: what the tax service refused.

    TAX_SERVICE_REJECTED_SIGNATURE = _register(
        1032,
        Action.REPEAT,
        "ДПС: підпис чека не пройшов перевірку",
        "Tax service: the receipt's signature was not verified",
        "Повторіть запит із тим самим tag, а якщо відмова лишається, перевірте чинність ключа підпису.",
        "Repeat the request with the same tag, and if it is refused again, check the signing key.",
        *_WAIT_A_MINUTE,
    )
    TAX_SERVICE_REJECTED_REGISTER = _register(
        1033,
        Action.CORRECT,
        "ДПС: перевірка каси не пройшла (ключ не той, яким касу відкрито, або її вже відкрито)",
        "Tax service: register check failed (not the key that opened it, or it is open already)",
        "Зробіть Z-звіт ключем, яким касу відкрито, а якщо не допоможе, зверніться до служби підтримки.",
        "Make the Z-report with the key that opened the register, and ask support if that does not help.",
        *_CALL_SUPPORT,
    )
    TAX_SERVICE_NOT_SAVED = _register(
        1034,
        Action.REPEAT,
        "ДПС: не вдалося зберегти чек",
        "Tax service: the receipt could not be recorded",
        *_SAME_TAG,
        *_WAIT_A_MINUTE,
    )
    TAX_SERVICE_ERROR = _register(
        1035,
        Action.REPEAT,
        "ДПС: загальна помилка",
        "Tax service: general error",
        *_SAME_TAG,
        *_WAIT_A_MINUTE,
    )
    TAX_SERVICE_WRONG_SEND_TYPE = _register(
        1036,
        Action.CORRECT,
        "ДПС: недопустимий тип надсилання (касу заблоковано або потрібний режим уже діє)",
        "Tax service: wrong type of sending (the register is blocked, or the mode is already in force)",
        "Перевірте завданням 18, чи не заблоковано касу і чи вона онлайн, і дійте за цим станом.",
        "Check with task 18 whether the register is blocked or online, and act on that state.",
        *_CALL_ADMINISTRATOR,
    )
    TAX_SERVICE_PREVIOUS_Z_MISSING = _register(
        1037,
        Action.CORRECT,
        "ДПС: немає попереднього за номером Z-звіту",
        "Tax service: the preceding Z-report is missing",
        "Знайдіть ненадісланий Z-звіт серед операцій каси й дошліть його через службу підтримки.",
        "Find the Z-report that was never sent among the register's operations and have support send it.",
        *_CALL_SUPPORT,
    )
    TAX_SERVICE_WRONG_XML = _register(
        1038,
        Action.CORRECT,
        "ДПС: неправильний формат XML",
        "Tax service: wrong XML format",
        *_SEND_LOG,
        *_CALL_SUPPORT,
    )
    TAX_SERVICE_WRONG_DATE = _register(
        1039,
        Action.CORRECT,
        "ДПС: неправильна дата, дата в XML не збігається з датою чека",
        "Tax service: wrong date, the date in the XML differs from the date of the receipt",
        "Звірте годинник і часовий пояс комп’ютера (Europe/Kyiv), потім повторіть із тим самим tag.",
        "Check the computer's clock and time zone (Europe/Kyiv), then repeat with the same tag.",
        "Перевірте дату й час на комп’ютері.",
        "Check the date and time of the computer.",
    )
    TAX_SERVICE_WRONG_DATA = _register(
        1040,
        Action.CORRECT,
        "ДПС: неправильні дані в чеку",
        "Tax service: wrong data in the receipt",
        "Перевірте назви, коди УКТЗЕД, акцизні марки, суми й податкові групи та виправте чек.",
        "Check names, commodity codes, excise stamps, sums and tax groups, and correct the receipt.",
        *_FIX_PROGRAM,
    )
    TAX_SERVICE_WRONG_Z = _register(
        1041,
        Action.CORRECT,
        "ДПС: неправильний формат Z-звіту",
        "Tax service: wrong format of the Z-report",
        *_SEND_LOG,
        "Z-звіт не прийнято, зверніться до служби підтримки ще сьогодні.",
        "The Z-report was not accepted, call support before the day is over.",
    )
    TAX_SERVICE_BLOCKED = _register(
        1042,
        Action.CORRECT,
        "ДПС: касу заблоковано, офлайн тривав понад 168 годин за місяць",
        "Tax service: the register is blocked, it was offline for more than 168 hours this month",
        "Переведіть продажі на іншу касу: цю розблокують із початком наступного місяця.",
        "Move the sales to another register: this one is released when the next month begins.",
        "Ця каса заблокована до кінця місяця, працюйте на іншій.",
        "This register is blocked until the end of the month, work at another one.",
    )
    TAX_SERVICE_WRONG_HASH = _register(
        1043,
        Action.CORRECT,
        "ДПС: неправильний хеш останнього чека, порушено порядок надсилання",
        "Tax service: wrong hash of the last receipt, the order of sending is broken",
        "З’ясуйте, чи не працює ця каса ще з іншої програми чи комп’ютера, і зверніться до підтримки.",
        "Find out whether another program or computer uses this register too, and ask support.",
        *_CALL_SUPPORT,
    )
    TAX_SERVICE_UNKNOWN_REGISTER = _register(
        1044,
        Action.CORRECT,
        "ДПС: касу не зареєстровано",
        "Tax service: the register is not registered",
        "Звірте фіскальний номер із реєстрацією ПРРО, а якщо збігається, дочекайтеся відновлення ДПС.",
        "Compare the fiscal number with the registration, and if they agree, wait for the tax service.",
        *_CALL_ADMINISTRATOR,
    )
    TAX_SERVICE_UNKNOWN_KEY = _register(
        1045,
        Action.CORRECT,
        "ДПС: ключ підпису не зареєстровано",
        "Tax service: the signing key is not registered",
        "Подайте ключ за формою 5-ПРРО, а якщо його вже прийнято, дочекайтеся відновлення ДПС.",
        "File the key by form 5-PRRO, and if it is accepted already, wait for the tax service.",
        *_CALL_ADMINISTRATOR,
    )
    TAX_SERVICE_DAY_NOT_OPEN = _register(
        1046,
        Action.CORRECT,
        "ДПС: Z-звіт не прийнято, бо там касу не відкрито",
        "Tax service: the Z-report was not accepted because the register is not open there",
        "Звірте стан завданням 18 і, якщо сервіс вважає касу відкритою, зверніться до служби підтримки.",
        "Compare the state with task 18 and ask support if the service takes the register for open.",
        "Податкова не прийняла Z-звіт, зверніться до служби підтримки.",
        "The tax service did not accept the Z-report, call support.",
    )
    TAX_SERVICE_WRONG_OFFLINE_NUMBER = _register(
        1047,
        Action.CORRECT,
        "ДПС: неправильний номер офлайн-чека або онлайн-чек під час офлайну",
        "Tax service: wrong number of an offline receipt, or an online receipt sent while offline",
        *_SEND_LOG,
        *_CALL_SUPPORT,
    )
    TAX_SERVICE_UNREACHABLE = _register(
        1050,
        Action.REPEAT,
        "Немає доступу до сервера ДПС",
        "The tax server cannot be reached",
        "Перевірте інтернет, проксі й брандмауер, потім повторіть запит із тим самим tag.",
        "Check the internet, proxy and firewall, then repeat the request with the same tag.",
        "Перевірте інтернет і пробийте той самий чек ще раз.",
        "Check the internet and register the same receipt again.",
    )
    TAX_SERVICE_UNAVAILABLE = _register(
        1084,
        Action.REPEAT,
        "Сервіс ДПС недоступний",
        "The tax service is unavailable",
        *_SAME_TAG,
        "Податкова не відповідає, зачекайте кілька хвилин і пробийте той самий чек ще раз.",
        "The tax service does not answer, wait some minutes and register the same receipt again.",
    )

    # Cash registers: the cloud cabinet.

    CABINET_ERROR = _register(
        1048,
        Action.REPEAT,
        "Невідома помилка хмарного кабінету",
        "Unknown error of the cloud cabinet",
        "Повторіть запит із тим самим tag, а якщо помилка лишається, передайте журнал службі підтримки.",
        "Repeat the request with the same tag, and if the error stays, give the log to support.",
        *_WAIT_A_MINUTE,
    )
    CABINET_WRONG_HASH = _register(
        1049,
        Action.CORRECT,
        "Хмарний кабінет: неправильний хеш останнього чека",
        "Cloud cabinet: wrong hash of the last receipt",
        "З’ясуйте, чи не працює ця каса ще з іншої програми чи комп’ютера, і зверніться до підтримки.",
        "Find out whether another program or computer uses this register too, and ask support.",
        *_CALL_SUPPORT,
    )
    REGISTER_TOKEN_INVALID = _register(
        1083,
        Action.CORRECT,
        "Не вдалося отримати налаштування каси, її токен недійсний",
        "The register's settings cannot be obtained, its token is not valid",
        "Створіть у хмарному кабінеті новий токен каси й запишіть його в налаштування.",
        "Make a new token for the register in the cloud cabinet and put it into the settings.",
        *_CALL_ADMINISTRATOR,
    )
    CLOUD_BALANCE_LOW = _register(
        1123,
        Action.CORRECT,
        "Недостатньо коштів на рахунку хмарного кабінету",
        "The balance of the cloud cabinet is too low",
        "Поповніть рахунок у хмарному кабінеті й повторіть запит із тим самим tag.",
        "Top up the account in the cloud cabinet and repeat the request with the same tag.",
        "Повідомте власника, що рахунок каси треба поповнити.",
        "Tell the owner that the register's account must be topped up.",
    )
    CLOUD_TOKEN_INVALID = _register(
        2001,
        Action.CORRECT,
        "Недійсний токен хмарного кабінету",
        "The cloud cabinet token is not valid",
        "Скопіюйте токен цієї каси з хмарного кабінету повністю і створіть касу ще раз.",
        "Copy the whole token of this register from the cloud cabinet and create the register again.",
        *_CALL_ADMINISTRATOR,
    )
    CABINET_UNREACHABLE = _register(
        2005,
        Action.REPEAT,
        "Хмарний кабінет недоступний із цього комп’ютера",
        "The cloud cabinet cannot be reached from this host",
        "Перевірте інтернет, проксі й брандмауер цього комп’ютера і повторіть запит.",
        "Check the internet, proxy and firewall of this computer and repeat the request.",
        "Перевірте інтернет і повторіть.",
        "Check the internet and try again.",
    )

    # Cash registers: offline work.

    OFFLINE_FORBIDDEN = _register(
        1052,
        Action.CORRECT,
        "Перехід в офлайн заборонено в налаштуваннях каси",
        "The register's settings forbid going offline",
        "Увімкніть offline_allowed у налаштуваннях каси або повторіть запит, коли зв’язок відновиться.",
        "Turn offline_allowed on in the register's settings, or repeat when the connection is back.",
        "Зачекайте, доки відновиться інтернет, або покличте адміністратора.",
        "Wait until the internet is back, or call the administrator.",
    )
    ALREADY_OFFLINE = _register(
        1053,
        Action.CORRECT,
        "Каса вже офлайн",
        "The register is offline already",
        "Перехід не потрібен, надсилайте чеки як звичайно.",
        "There is no need to go offline, send receipts as usual.",
        "Каса вже працює офлайн, пробивайте чеки.",
        "The register works offline already, go on with receipts.",
    )
    ALREADY_ONLINE = _register(
        1054,
        Action.CORRECT,
        "Каса вже онлайн",
        "The register is online already",
        "Перехід не потрібен, надсилайте чеки як звичайно.",
        "There is no need to go online, send receipts as usual.",
        "Каса вже працює онлайн, пробивайте чеки.",
        "The register works online already, go on with receipts.",
    )
    NO_OFFLINE_NUMBERS = _register(
        1056,
        Action.CORRECT,
        "Немає офлайн-номерів, їх видають після відкриття каси онлайн",
        "There are no offline numbers, they are issued after the register is opened online",
        "Коли буде зв’язок, надішліть fiscal.task 11 і fiscal.task 0: номери надійдуть самі.",
        "Send fiscal.task 11 and fiscal.task 0 once there is a connection: the numbers come then.",
        "Дочекайтеся інтернету, зробіть Z-звіт і відкрийте касу знову.",
        "Wait for the internet, make a Z-report and open the register again.",
    )
    OFFLINE_TOO_LONG = _register(
        1062,
        Action.CORRECT,
        "Час роботи офлайн вичерпано, дозволено лише Z-звіт",
        "The time offline is used up, only a Z-report is allowed",
        "Надішліть fiscal.task 11, а чеки пробивайте після відновлення зв’язку й нового відкриття каси.",
        "Send fiscal.task 11, and receipts when the connection is back and the register opened anew.",
        "Зробіть Z-звіт: продавати далі можна, коли з’явиться зв’язок із податковою.",
        "Make a Z-report: you may sell again when the tax service can be reached.",
        "Каса офлайн, до обмеження лишилося",
        "The register is offline, time left until the limit",
    )
    ONLINE_REQUEST_IMPOSSIBLE = _register(
        1085,
        Action.CORRECT,
        "Запит на перехід в онлайн неможливий, пристрій онлайн",
        "The device is online, a request to go online is not possible",
        "Не надсилайте переходу, продовжуйте з чеками.",
        "Do not ask for it, go on with receipts.",
        "Каса вже працює онлайн, пробивайте чеки.",
        "The register works online already, go on with receipts.",
    )
    KEY_EXPIRES_SOON = _register(
        1117,
        Action.CORRECT,
        "Офлайн неможливий, бо строк ключа підпису спливає менш ніж за 3 дні",
        "Going offline is not possible, the signing key expires in less than 3 days",
        "Завантажте новий ключ підпису, зареєстрований у ДПС, а поки що працюйте лише онлайн.",
        "Load a new signing key that the tax service knows, and work online only until then.",
        "Попередьте адміністратора, що ключ підпису спливає, і дочекайтеся інтернету.",
        "Tell the administrator that the signing key expires, and wait for the internet.",
        "Строк ключа підпису спливає, лишилося днів",
        "The signing key expires soon, days left",
    )
    OFFLINE_NUMBERS_EXHAUSTED = _register(
        1122,
        Action.REPEAT,
        "Офлайн-номери вичерпано, вони поповняться після повернення в онлайн",
        "The offline numbers are used up, they are refilled once the register is online again",
        "Відновіть зв’язок і повторіть запит із тим самим tag, коли офлайн-чеки буде надіслано.",
        "Restore the connection and repeat with the same tag when the offline receipts are sent.",
        "Дочекайтеся інтернету, після цього пробийте той самий чек ще раз.",
        "Wait for the internet, then register the same receipt again.",
        "Каса офлайн, офлайн-номерів лишилося",
        "The register is offline, offline numbers left",
    )
    REGISTER_OFFLINE = _register(
        2013,
        Action.CORRECT,
        "Каса з id %s офлайн, ця дія потребує онлайну",
        "Register with id %s is offline, this needs it online",
        "Дочекайтеся, доки каса повернеться в онлайн, і надішліть запит знову.",
        "Wait until the register is online again and send the request anew.",
        "Зачекайте, доки відновиться інтернет, і повторіть.",
        "Wait until the internet is back and try again.",
    )

    # Cash registers: receipts whose outcome is in question.

    SHIFT_ID_EMPTY = _register(
        1067,
        Action.REPEAT,
        "Порожній ідентифікатор робочого дня каси, повторіть реєстрацію",
        "The identifier of the business day is empty, repeat the registration",
        *_SAME_TAG,
        *_WAIT_A_MINUTE,
    )
    PREVIOUS_NOT_PROCESSED = _register(
        1073,
        Action.CORRECT,
        "Попередній чек має стан «не оброблено», потрібне ручне втручання",
        "The previous receipt is not processed, a person must step in",
        "Зупиніть чеки на цій касі й передайте службі підтримки tag попереднього чека.",
        "Stop receipts on this register and give support the tag of the previous receipt.",
        "Не пробивайте попередній чек удруге, зверніться до служби підтримки.",
        "Do not register the previous receipt a second time, call support.",
    )
    COLLISION_UNSOLVABLE = _register(
        1074,
        Action.CORRECT,
        "Колізію неможливо усунути автоматично, потрібне ручне втручання",
        "The collision cannot be resolved automatically, a person must step in",
        "Зупиніть чеки на цій касі й передайте службі підтримки tag останнього чека та журнал.",
        "Stop receipts on this register and give support the tag of the last receipt and the log.",
        "Працюйте на іншій касі й зверніться до служби підтримки.",
        "Work at another register and call support.",
    )
    COLLISION_NOT_REPAIRED = _register(
        1075,
        Action.COLLISION,
        "Колізію не усунуто: останній чек міг бути зареєстрований, повторіть його запит із тим самим tag",
        "The collision is not repaired: the last receipt may exist, repeat its request with the same tag",
        "Повторіть останнє завдання з тим самим tag і тим самим вмістом: спершу сервіс з’ясує долю чека.",
        "Repeat the last task with the same tag and content: the service first learns its outcome.",
        "Не пробивайте новий чек замість цього, зачекайте хвилину й повторіть його ж.",
        "Do not register a new receipt in its place, wait a minute and repeat the same one.",
    )
    COLLISION_DIFFERS = _register(
        1080,
        Action.CORRECT,
        "Колізія в базі, вміст запиту відрізняється від надісланого раніше",
        "Collision in the database, the request differs from the one sent earlier",
        "Повторіть під цим tag точно той JSON, що був першим, а інший чек надішліть із новим tag.",
        "Repeat exactly the JSON first sent under this tag, and give another receipt a tag of its own.",
        "Спершу завершіть попередній чек без виправлень, потім пробийте наступний.",
        "First finish the previous receipt as it was, then register the next one.",
    )

    # Cash registers: the signing key and the set-up.

    SIGNING_FAILED = _register(
        1069,
        Action.REPEAT,
        "Помилка підпису: %s",
        "Signing error: %s",
        "Повторіть запит із тим самим tag, а якщо помилка лишається, перевірте ключ, пароль і строк дії.",
        "Repeat the request with the same tag, and if the error stays, check the key and its password.",
        "Пробийте той самий чек ще раз, а якщо не вийде, покличте адміністратора.",
        "Register the same receipt again, and call the administrator if it fails.",
    )
    TAX_GROUPS_MISSING = _register(
        1078,
        Action.CORRECT,
        "Для каси %s не заповнено податкові групи",
        "No tax groups are set for register %s",
        "Заповніть tax_groups у налаштуваннях каси, потім повторіть запит.",
        "Fill in tax_groups in the register's settings, then repeat the request.",
        *_CALL_ADMINISTRATOR,
    )
    FISCAL_NUMBER_EMPTY = _register(
        1093,
        Action.CORRECT,
        "Фіскальний номер пристрою не вказано",
        "The fiscal number of the device is empty",
        "Впишіть fiscal_number у налаштування каси.",
        "Enter fiscal_number in the register's settings.",
        *_CALL_ADMINISTRATOR,
    )
    KEY_NOT_LOADED = _register(
        1094,
        Action.CORRECT,
        "Ключ підпису не завантажено",
        "No private signing key is loaded",
        "Завантажте файл ключа з паролем на сторінці каси або через prro/sign і повторіть запит.",
        "Load the key file with its password on the register's page or through prro/sign and repeat.",
        *_CALL_ADMINISTRATOR,
    )
    SIGNING_NOT_SET_UP = _register(
        1095,
        Action.CORRECT,
        "Для пристрою не налаштовано підпис, завантажте ключ",
        "Signing is not set up for the device, load a key",
        "Завантажте файл ключа з паролем на сторінці каси або через prro/sign і повторіть запит.",
        "Load the key file with its password on the register's page or through prro/sign and repeat.",
        *_CALL_ADMINISTRATOR,
    )
    CLOCK_DIFFERS = _register(
        1121,
        Action.CORRECT,
        "Дата пристрою відрізняється від дати сервера на 30 хвилин або більше",
        "The device's date differs from the server's by 30 minutes or more",
        "Виправте годинник і часовий пояс комп’ютера, перезапустіть сервіс і повторіть із тим самим tag.",
        "Set the computer's clock and time zone right, restart the service and repeat with the same tag.",
        "Виправте дату й час на комп’ютері та перезапустіть сервіс.",
        "Set the date and time of the computer right and restart the service.",
    )
    KEY_REPLACED_IN_EMERGENCY = _register(
        1124,
        Action.CORRECT,
        "Для каси %s аварійно замінено ключ, дозволено лише Z-звіт",
        "The key of register %s was replaced in an emergency, only a Z-report is allowed",
        "Надішліть fiscal.task 11, потім fiscal.task 0, і повторіть чек.",
        "Send fiscal.task 11, then fiscal.task 0, and repeat the receipt.",
        "Зробіть Z-звіт і відкрийте касу знову.",
        "Make a Z-report and open the register again.",
    )
    VERSION_UNSUPPORTED = _register(
        1125,
        Action.CORRECT,
        "Ця версія програми більше не підтримується",
        "This version of the program is no longer supported",
        "Оновіть сервіс до чинної версії, потім повторіть запит із тим самим tag.",
        "Update the service to a current version, then repeat the request with the same tag.",
        "Попросіть адміністратора оновити сервіс каси.",
        "Ask the administrator to update the register service.",
    )
    DEVICE_NAME_TAKEN = _register(
        2002,
        Action.CORRECT,
        "Каса з такою назвою вже є",
        "A register with this name exists already",
        "Дайте касі іншу назву, бо назви всіх пристроїв різні.",
        "Give the register another name, for the names of all devices differ.",
        *_CALL_ADMINISTRATOR,
    )
    KEY_UNREADABLE = _register(
        2003,
        Action.CORRECT,
        "Не вдалося прочитати ключ підпису: %s",
        "The private signing key cannot be read: %s",
        "Перевірте, чи це файл особистого ключа, чи правильний пароль і чи додано сертифікат.",
        "Check that this is the private key file, that the password fits and a certificate is given.",
        *_CALL_ADMINISTRATOR,
    )
    REGISTER_ID_NOT_FOUND = _register(
        2007,
        Action.CORRECT,
        "Каси з id %s не знайдено",
        "There is no register with id %s",
        "Візьміть dev_id зі списку пристроїв сервісу.",
        "Take dev_id from the service's list of devices.",
        *_CALL_ADMINISTRATOR,
    )
    KEY_IN_USE = _register(
        2009,
        Action.CORRECT,
        "Ключ підпису не можна замінити, бо пристрій %s працює (касу відкрито або виконується завдання)",
        "The signing key cannot be replaced, device %s is in use (the register is open or a task runs)",
        "Надішліть fiscal.task 11, дочекайтеся кінця завдань і завантажте ключ знову.",
        "Send fiscal.task 11, wait until no task runs and load the key again.",
        "Зробіть Z-звіт, тоді ключ можна замінити.",
        "Make a Z-report, then the key can be replaced.",
    )
    REGISTER_NOT_IN_USE = _register(
        2011,
        Action.CORRECT,
        "Касу з id %s ще не введено в роботу, відкрийте її",
        "Register with id %s is not in use yet, open it",
        "Надішліть fiscal.task 0, потім повторіть запит.",
        "Send fiscal.task 0, then repeat the request.",
        "Відкрийте касу й повторіть.",
        "Open the register and try again.",
    )
    REGISTER_NOT_CONFIGURED = _register(
        2014,
        Action.CORRECT,
        "Касу не налаштовано, немає податкових груп або типів оплати",
        "The register is not set up, it has no tax groups or payment types",
        "Заповніть tax_groups і pay_types у налаштуваннях каси, потім повторіть запит.",
        "Fill in tax_groups and pay_types in the register's settings, then repeat the request.",
        *_CALL_ADMINISTRATOR,
    )

    # Cash registers: the content of a receipt.

    CASH_NEGATIVE = _register(
        1063,
        Action.CORRECT,
        "Сума внесення або вилучення готівки не може бути від’ємною",
        "The sum of a cash-in or cash-out cannot be negative",
        "Надішліть у fiscal.cash.sum додатну суму: напрям задає номер завдання, 3 або 4.",
        "Send a positive fiscal.cash.sum: the direction is given by the task number, 3 or 4.",
        "Введіть суму без мінуса.",
        "Enter the sum without a minus.",
    )
    INCOME_NEGATIVE = _register(
        1064,
        Action.CORRECT,
        "Сума чека надходження або витрати не може бути від’ємною",
        "The sum of an income or expense receipt cannot be negative",
        "Надішліть у fiscal.receipt.sum додатну суму: напрям задає номер завдання, 15 або 16.",
        "Send a positive fiscal.receipt.sum: the direction is given by the task number, 15 or 16.",
        "Введіть суму без мінуса.",
        "Enter the sum without a minus.",
    )
    INCOME_CHANGE_NEGATIVE = _register(
        1065,
        Action.CORRECT,
        "Решта в оплаті з індексом %d чека надходження або витрати не може бути від’ємною",
        "The change in payment with index %d of an income or expense receipt cannot be negative",
        "Надішліть у change цієї оплати нуль або додатну суму.",
        "Send zero or a positive amount as the change of this payment.",
        *_FIX_PROGRAM,
    )
    INCOME_CARD_DATA_MISSING = _register(
        1066,
        Action.CORRECT,
        "Оплата з індексом %d чека надходження або витрати потребує paysys, rrn і cardmask",
        "Payment with index %d of an income or expense receipt needs paysys, rrn and cardmask",
        "Перенесіть paysys, rrn і cardmask із відповіді термінала в цю оплату.",
        "Carry paysys, rrn and cardmask over from the terminal's answer into this payment.",
        *_FIX_PROGRAM,
    )
    TAX_BASE_DIFFERS = _register(
        1076,
        Action.CORRECT,
        "Сума баз оподаткування відрізняється від суми оплат",
        "The tax bases do not add up to the payments",
        "Перевірте суми й знижки рядків, знижку на чек і суму fiscal.receipt.pays.",
        "Check the rows' sums and discounts, the receipt discount and the sum of fiscal.receipt.pays.",
        *_FIX_PROGRAM,
    )
    NOT_ENOUGH_CASH = _register(
        1077,
        Action.CORRECT,
        "У касі недостатньо готівки",
        "There is not enough cash in the register",
        "Внесіть готівку завданням 3 або зменште готівкову суму, потім повторіть запит із тим самим tag.",
        "Put cash in with task 3 or lower the cash sum, then repeat the request with the same tag.",
        "Зробіть службове внесення готівки або видайте меншу суму.",
        "Register a cash-in first, or pay out less.",
    )
    TAX_ALGORITHM_UNSUPPORTED = _register(
        1079,
        Action.CORRECT,
        "Податкова група %s не підтримує алгоритм розрахунку %s",
        "Tax group %s does not support calculation algorithm %s",
        "Виправте алгоритм цієї групи в налаштуваннях каси або надішліть у taxgrp іншу групу.",
        "Correct this group's algorithm in the register's settings, or send another group in taxgrp.",
        *_CALL_ADMINISTRATOR,
    )
    WRONG_TAX_GROUP = _register(
        1087,
        Action.CORRECT,
        "Неправильний код податкової групи %s",
        "Wrong tax group %s",
        "Надішліть у taxgrp код групи зі списку prro/groups.",
        "Send in taxgrp the code of a group listed by prro/groups.",
        *_FIX_PROGRAM,
    )
    WRONG_PAYMENT_TYPE = _register(
        1088,
        Action.CORRECT,
        "Неправильний тип оплати %s",
        "Wrong payment type %s",
        "Надішліть у type оплати код з опису інтерфейсу, наприклад 0 для готівки або 2 для картки.",
        "Send a code of the interface description as the payment's type, say 0 for cash or 2 for a card.",
        *_FIX_PROGRAM,
    )
    FORBIDDEN_CHARACTER = _register(
        1089,
        Action.CORRECT,
        "Позиція %d: %s містить заборонений символ, вилучіть його",
        "Position %d: %s contains a forbidden character, remove it",
        "Вилучіть із цього поля керівні символи, зокрема залишки від сканера, і надішліть чек знову.",
        "Remove control characters, scanner leftovers among them, and send the receipt again.",
        "Зчитайте код товару ще раз або введіть його вручну.",
        "Scan the item's code again or type it in.",
    )
    NOT_CALCULABLE = _register(
        1090,
        Action.CORRECT,
        "Не вдалося обчислити %s",
        "%s cannot be calculated",
        "Перевірте ціни, кількості, знижки та оплати, з яких складається ця величина.",
        "Check the prices, quantities, discounts and payments that this value is made from.",
        *_FIX_PROGRAM,
    )
    EMPTY_ROWS = _register(
        1097,
        Action.CORRECT,
        "Список товарів порожній, а сума до сплати є",
        "The list of items is empty but there is a sum to pay",
        "Додайте товари у fiscal.receipt.rows або надішліть fiscal.receipt.sum 0.",
        "Add the items to fiscal.receipt.rows, or send fiscal.receipt.sum 0.",
        "Додайте в чек товари.",
        "Add items to the receipt.",
    )
    MISSING_OBJECT = _register(
        1098,
        Action.CORRECT,
        "Об’єкт %s у запиті відсутній або порожній",
        "The object %s of the request is missing or empty",
        "Додайте в запит названий об’єкт із полями, яких потребує це завдання.",
        "Add the named object to the request, with the members that this task needs.",
        *_FIX_PROGRAM,
    )
    RECEIPT_SUM_DIFFERS = _register(
        1101,
        Action.CORRECT,
        "Сума чека відрізняється від суми рядків",
        "The receipt sum differs from the sum of its rows",
        "Надішліть у fiscal.receipt.sum суму рядків після їхніх знижок, до знижки на чек і заокруглення.",
        "Send in fiscal.receipt.sum the rows after their discounts, before receipt disc and rounding.",
        *_FIX_PROGRAM,
    )
    PAYS_DIFFER = _register(
        1102,
        Action.CORRECT,
        "Сума чека зі знижкою на чек відрізняється від суми оплат",
        "The receipt sum after the receipt discount differs from the total of the payments",
        "Сума fiscal.receipt.pays має дорівнювати сумі чека sum мінус disc плюс round.",
        "Make fiscal.receipt.pays add up to the receipt's sum minus disc plus round.",
        "Перевірте, чи оплати разом дають суму чека, і повторіть.",
        "Check that the payments together make the sum of the receipt, and try again.",
    )
    NAME_EMPTY = _register(
        1103,
        Action.CORRECT,
        "Назва товару порожня",
        "The name of an item is empty",
        "Заповніть name у кожному рядку fiscal.receipt.rows.",
        "Fill in name in every row of fiscal.receipt.rows.",
        "У чеку є товар без назви, виправте його картку.",
        "There is an item without a name in the receipt, correct its record.",
    )
    ROW_SUM_DIFFERS = _register(
        1107,
        Action.CORRECT,
        "Ціна, помножена на кількість, дорівнює нулю або відрізняється від суми рядка більш ніж на 1",
        "Price times quantity is zero or differs from the sum of the row by more than 1",
        "Перевірте price, cnt і cost рядка або не надсилайте cost, тоді його обчислить сервіс.",
        "Check price, cnt and cost of the row, or leave cost out and the service calculates it.",
        "Перевірте ціну й кількість товарів у чеку.",
        "Check the price and quantity of the items in the receipt.",
    )
    DISCOUNT_TOO_LARGE = _register(
        1108,
        Action.CORRECT,
        "Знижка дорівнює сумі рядка, найменша ціна після знижки 0,01",
        "The discount equals the sum of the row, the lowest price after a discount is 0.01",
        "Зменште disc, щоб від рядка лишалося щонайменше 0.01.",
        "Lower disc so that at least 0.01 of the row remains.",
        "Зменште знижку: товар має коштувати щонайменше одну копійку.",
        "Lower the discount: an item must cost at least one kopeck.",
    )
    ZERO_PAYMENT = _register(
        1109,
        Action.CORRECT,
        "Сума для типу оплати %s дорівнює 0",
        "The sum for payment type %s is 0",
        "Вилучіть цю оплату з fiscal.receipt.pays або вкажіть її суму.",
        "Take this payment out of fiscal.receipt.pays or give it a sum.",
        "Введіть суму оплати або приберіть порожній спосіб оплати.",
        "Enter the sum of the payment or remove the empty one.",
    )
    CODE_NOT_ENABLED = _register(
        1110,
        Action.CORRECT,
        "Форму оплати з кодом %s не ввімкнено в налаштуваннях каси",
        "The payment form with code %s is not enabled in the register's settings",
        "Увімкніть цю форму оплати в налаштуваннях каси або надішліть інший код.",
        "Enable this payment form in the register's settings, or send another code.",
        "Виберіть інший спосіб оплати або покличте того, хто налаштовує касу.",
        "Choose another way of payment, or call the person who sets up the register.",
    )
    CODE_SOLD_IN_OTHER_GROUP = _register(
        1111,
        Action.CORRECT,
        "Код товару %s після останнього Z-звіту вже продано в іншій податковій групі %s (%s)",
        "Item code %s was sold after the last Z-report in another tax group, %s (%s)",
        "Надішліть інший code або ту саму taxgrp, чи зробіть завдання 11 і 0, після яких код вільний.",
        "Send another code or the same taxgrp, or run tasks 11 and 0, after which the code is free.",
        "Виправте податкову групу товару або зробіть Z-звіт і відкрийте касу знову.",
        "Correct the item's tax group, or make a Z-report and open the register again.",
    )
    ROUNDING_OUT_OF_RANGE = _register(
        1112,
        Action.CORRECT,
        "Заокруглення має бути від -0,99 до 0,99",
        "The rounding must be from -0.99 to 0.99",
        "Виправте fiscal.receipt.round або надішліть autoround, тоді заокруглення обчислить сервіс.",
        "Correct fiscal.receipt.round, or send autoround and let the service calculate the rounding.",
        *_FIX_PROGRAM,
    )
    ROUNDING_NOT_ENABLED = _register(
        1115,
        Action.CORRECT,
        "Заокруглення не ввімкнено в типах оплати каси",
        "Rounding is not enabled among the register's payment types",
        "Увімкніть заокруглення в налаштуваннях каси або надішліть чек без round.",
        "Enable rounding in the register's settings, or send the receipt without round.",
        *_CALL_ADMINISTRATOR,
    )
    CASH_WITHDRAWAL_NEEDS_CARD = _register(
        1119,
        Action.CORRECT,
        "Чек видачі готівки не можна оплатити готівкою, потрібна картка",
        "A cash withdrawal cannot be paid in cash, a card is needed",
        "Надішліть у fiscal.cash.type завдання 14 код картки, 2.",
        "Send the code of a card, 2, as fiscal.cash.type of task 14.",
        "Видавайте готівку лише з картки покупця.",
        "Pay cash out only against the customer's card.",
    )
    COMMISSION_NEGATIVE = _register(
        1120,
        Action.CORRECT,
        "Комісія в чеку видачі готівки не може бути меншою за 0",
        "The commission of a cash withdrawal cannot be below 0",
        "Надішліть у fiscal.cash.commission нуль або додатну суму.",
        "Send zero or a positive amount as fiscal.cash.commission.",
        *_FIX_PROGRAM,
    )
    ROUND_WITH_AUTOROUND = _register(
        1157,
        Action.CORRECT,
        "Разом з autoround не можна задавати round",
        "Do not give round together with autoround",
        "Приберіть fiscal.receipt.round або надішліть у ньому 0, коли autoround увімкнено.",
        "Leave fiscal.receipt.round out, or send 0 in it, while autoround is on.",
        *_FIX_PROGRAM,
    )

    STORNO_FORBIDDEN = _register(
        1158,
        Action.CORRECT,
        "Сторно вимкнено в налаштуваннях каси",
        "Storno is off in the register's settings",
        "Надішліть повернення (fiscal.task 2) або ввімкніть storno_allowed.",
        "Send a return (fiscal.task 2), or switch storno_allowed on.",
        "Зробіть повернення замість сторно.",
        "Make a return in place of the storno.",
    )

    # Terminals: tasks and the line.

    UNKNOWN_TERMINAL_PROTOCOL = _terminal(
        303,
        Action.CORRECT,
        "Не знайдено протокол термінала за назвою пристрою, перевірте dev_name",
        "No terminal protocol is found for this device name, check dev_name",
        "Надішліть у dev_name назву термінала з налаштувань сервісу.",
        "Send the name of a terminal from the service's settings as dev_name.",
        "У програмі вибрано термінал, якого немає, покличте адміністратора.",
        "The program names a terminal that does not exist, call the administrator.",
    )
    UNKNOWN_PAY_TASK = _terminal(
        317,
        Action.CORRECT,
        "Завдання pay.task %d не підтримується",
        "The task pay.task %d is not supported",
        "Надішліть у pay.task номер з опису інтерфейсу.",
        "Send a number from the interface description in pay.task.",
        "Сервіс не знає цієї дії, покличте адміністратора облікової програми.",
        "The service does not know this action, call the administrator of the accounting program.",
    )
    TERMINAL_SILENT = _terminal(
        411,
        Action.COLLISION,
        "Термінал отримав запит, але не відповів за %d мс",
        "The terminal took the request but gave no answer in %d ms",
        "З’ясуйте підсумок: той самий transaction_id із transaction_search 2 або pay.task 17.",
        "Learn the outcome: the same transaction_id with transaction_search 2, or pay.task 17.",
        "Подивіться на екран і сліп термінала, перш ніж брати гроші вдруге.",
        "Look at the terminal's screen and slip before you take the money again.",
    )
    COM_PORT_UNAVAILABLE = _terminal(
        1126,
        Action.REPEAT,
        "Не вдалося відкрити COM-порт, він відсутній або зайнятий",
        "The COM port cannot be opened, it is absent or busy",
        "Перевірте порт у налаштуваннях термінала і чи не тримає його інша програма, тоді повторіть.",
        "Check the port in the terminal's settings and that no other program holds it, then repeat.",
        *_TERMINAL_LINE,
    )
    COM_PORT_ERROR = _terminal(
        5010,
        Action.REPEAT,
        "Помилка відкриття COM-порту",
        "Error opening the COM port",
        *_LINE_SETTINGS,
        *_TERMINAL_LINE,
    )
    COM_PORT_NOT_OPEN = _terminal(
        5011,
        Action.REPEAT,
        "COM-порт не відкрито, спершу його треба відкрити",
        "The COM port is not open, it must be opened first",
        *_LINE_SETTINGS,
        *_TERMINAL_LINE,
    )
    TERMINAL_CONNECT = _terminal(
        5012,
        Action.REPEAT,
        "Помилка з’єднання з терміналом",
        "Error connecting with the terminal",
        "Коли res_action 2, з’ясуйте підсумок (той самий transaction_id із transaction_search 2), коли 1, перевірте "
        "адресу або COM-порт і повторіть із новим.",
        "With res_action 2 learn the outcome (the same transaction_id with transaction_search 2), with 1 check the "
        "address or COM port and repeat with a new one.",
        "Подивіться на екран і сліп термінала, чи не пройшла оплата, а як ні, перевірте його кабель або мережу.",
        "Look at the terminal's screen and slip whether the payment passed, and if not, check its cable or network.",
    )
    TRANSACTION_NOT_FOUND = _terminal(
        5013,
        Action.CORRECT,
        "Транзакцію з таким id не знайдено",
        "There is no transaction with this id",
        "Перевірте transaction_id, а щоб тоді виконати операцію, надішліть transaction_search 2.",
        "Check transaction_id, and send transaction_search 2 to have the operation run in that case.",
        "Такої операції на терміналі не було, оплату можна провести.",
        "There was no such operation on the terminal, you may take the payment.",
    )
    REQUEST_NOT_TAKEN = _terminal(
        5014,
        Action.REPEAT,
        "Помилка зв’язку, останній запит не пройшов, повторіть його",
        "Communication error, the last request did not pass, repeat it",
        *_NEW_ID,
        "Термінал запиту не прийняв, проведіть операцію ще раз.",
        "The terminal did not take the request, run the operation again.",
    )
    TERMINAL_UNREACHABLE = _terminal(
        5028,
        Action.REPEAT,
        "Немає з’єднання з терміналом через %s (%s)",
        "Cannot connect to the terminal over %s (%s)",
        *_LINE_SETTINGS,
        *_TERMINAL_LINE,
    )
    TASK_NOT_SUPPORTED = _terminal(
        5029,
        Action.CORRECT,
        "Термінал не підтримує завдання %s",
        "The terminal does not support task %s",
        "Не пропонуйте цього завдання для такого термінала: що вміє протокол, каже список драйверів.",
        "Do not offer this task for such a terminal: the list of drivers tells what its protocol can do.",
        "Цей термінал не вміє такої операції, виберіть іншу.",
        "This terminal cannot do that, choose another operation.",
    )
    TERMINAL_ADDRESS_UNREACHABLE = _terminal(
        5067,
        Action.REPEAT,
        "Помилка з’єднання з адресою, термінал недоступний",
        "Connection error, no terminal at this address",
        *_LINE_SETTINGS,
        *_TERMINAL_LINE,
    )
    HANDSHAKE_SILENT = _terminal(
        5068,
        Action.REPEAT,
        "З’єднання є, але термінал не відповів на перевірку зв’язку",
        "Connected, but the terminal did not answer the connection check",
        "Перевірте, чи не тримає термінал інша програма і чи той вибрано протокол, тоді повторіть.",
        "Check that no other program holds the terminal and that the protocol is right, then repeat.",
        "Зачекайте, доки термінал покаже головний екран, і проведіть оплату ще раз.",
        "Wait until the terminal shows its main screen and run the payment again.",
    )

    # Terminals: what the terminal answered.

    TERMINAL_ERROR = _terminal(
        5000,
        Action.CORRECT,
        "Помилка термінала: %s (або термінал зайнятий попереднім запитом)",
        "Terminal error: %s (or the terminal is busy with a previous request)",
        "Усуньте причину, названу в тексті, і надішліть операцію з новим transaction_id.",
        "Remove the cause that the text names and send the operation with a new transaction_id.",
        "Прочитайте текст на терміналі, дайте йому завершити попередню операцію і спробуйте ще раз.",
        "Read the terminal's text, let it finish any previous operation and try again.",
    )
    CANCELLED_BY_USER = _terminal(
        5001,
        Action.CORRECT,
        "Операцію скасовано користувачем на терміналі",
        "The operation was cancelled by the user on the terminal",
        *_NOT_PAID,
        "Покупець або касир скасував оплату, запитайте, чим платитимуть.",
        "The payment was cancelled on the terminal, ask how the customer wants to pay.",
    )
    EMV_DECLINED = _terminal(
        5002,
        Action.CORRECT,
        "Картку відхилено (EMV)",
        "The card was declined (EMV)",
        *_NOT_PAID,
        "Попросіть вставити картку чипом, а якщо не вийде, запропонуйте іншу картку або готівку.",
        "Ask to insert the card by its chip, and if that fails, offer another card or cash.",
    )
    TERMINAL_JOURNAL_FULL = _terminal(
        5003,
        Action.CORRECT,
        "Журнал транзакцій термінала заповнено, зробіть звірку підсумків",
        "The terminal's transaction log is full, make the general report",
        "Виконайте pay.task 11, потім надішліть операцію з новим transaction_id.",
        "Run pay.task 11, then send the operation with a new transaction_id.",
        "Зробіть на терміналі звірку підсумків і проведіть оплату ще раз.",
        "Make the general report on the terminal and run the payment again.",
    )
    NO_BANK_CONNECTION = _terminal(
        5004,
        Action.REPEAT,
        "Термінал не має зв’язку з банком",
        "The terminal has no connection to the bank",
        *_NEW_ID,
        "Перевірте мережу або SIM-картку термінала й проведіть оплату ще раз.",
        "Check the terminal's network or SIM card and run the payment again.",
    )
    NO_PAPER = _terminal(
        5005,
        Action.CORRECT,
        "У принтері термінала немає паперу",
        "There is no paper in the terminal's printer",
        "Коли папір вставлено, надішліть операцію з новим transaction_id.",
        "Send the operation with a new transaction_id once paper is in.",
        "Вставте папір у термінал і проведіть оплату ще раз.",
        "Put paper into the terminal and run the payment again.",
    )
    TERMINAL_KEYS_WRONG = _terminal(
        5006,
        Action.CORRECT,
        "Помилка криптографічних ключів термінала",
        "Error of the terminal's cryptographic keys",
        "Припиніть оплати на цьому терміналі, доки банк не завантажить у нього ключі.",
        "Stop payments on this terminal until the bank has loaded its keys.",
        *_CALL_BANK,
    )
    CARD_READER_MISSING = _terminal(
        5007,
        Action.CORRECT,
        "Зчитувач карток не під’єднано",
        "The card reader is not connected",
        "Коли зчитувач під’єднано, надішліть операцію з новим transaction_id.",
        "Send the operation with a new transaction_id once the reader is connected.",
        "Під’єднайте зчитувач або клавіатуру термінала й перезапустіть його.",
        "Connect the terminal's reader or PIN pad and restart it.",
    )
    TRANSACTION_COMPLETE = _terminal(
        5008,
        Action.CORRECT,
        "Транзакцію вже завершено",
        "The transaction is complete already",
        "Не надсилайте операцію знову, прочитайте її підсумок через pay.task 17.",
        "Do not send the operation again, read its outcome with pay.task 17.",
        "Операцію вже проведено, знайдіть її сліп і не беріть гроші вдруге.",
        "The operation has been run, find its slip and do not take the money again.",
    )
    UNHANDLED_CODE = _terminal(
        5009,
        Action.CORRECT,
        "Невідомий код відповіді %s від термінала або банку",
        "Unknown response code %s from terminal or bank",
        "Перевірте операцію через pay.task 17 і передайте код службі підтримки.",
        "Check the operation with pay.task 17 and give the code to support.",
        "Перевірте сліп термінала: якщо операцію не схвалено, запропонуйте іншу картку або готівку.",
        "Check the terminal's slip: if the operation was not approved, offer another card or cash.",
    )
    TERMINAL_BUSY = _terminal(
        5022,
        Action.REPEAT,
        "Термінал зайнятий попередньою операцією",
        "The terminal is busy with a previous operation",
        "Зачекайте кілька секунд і надішліть операцію з новим transaction_id, по одній за раз.",
        "Wait some seconds and send the operation with a new transaction_id, one at a time.",
        "Дайте терміналу завершити попередню операцію і проведіть оплату ще раз.",
        "Let the terminal finish its previous operation and run the payment again.",
    )
    OPERATION_CANCELLED = _terminal(
        5023,
        Action.CORRECT,
        "Операцію скасовано",
        "The operation was cancelled",
        *_NOT_PAID,
        "Операцію не проведено, запитайте покупця, чи пробувати ще раз.",
        "Nothing was carried out, ask the customer whether to try again.",
    )
    SETTLEMENT_REQUIRED = _terminal(
        5026,
        Action.CORRECT,
        "Потрібна звірка підсумків, від першої транзакції минуло забагато часу",
        "A general report is required, too much time has passed since the first transaction",
        "Виконайте pay.task 11, потім надішліть операцію з новим transaction_id.",
        "Run pay.task 11, then send the operation with a new transaction_id.",
        "Зробіть на терміналі звірку підсумків і проведіть оплату ще раз.",
        "Make the general report on the terminal and run the payment again.",
    )
    OPERATION_NOT_FOUND = _terminal(
        5027,
        Action.CORRECT,
        "Операцію не знайдено, cancelid неправильний або звірку підсумків уже зроблено",
        "The operation is not found, cancelid is wrong or the general report has been made",
        "Перевірте cancelid, а після звірки підсумків робіть повернення, pay.task 2 з refundid.",
        "Check cancelid, and after a general report make a refund instead, pay.task 2 with refundid.",
        "Скасувати вже не можна, зробіть повернення на картку.",
        "It can no longer be cancelled, make a refund to the card.",
    )
    CONFIRMATION_ACTIVE = _terminal(
        5073,
        Action.CORRECT,
        "Запит на підтвердження вже діє",
        "A request for confirmation is already active",
        "Спершу завершіть його через pay.task 7 з oper_action 1 або 0.",
        "First finish it with pay.task 7 and oper_action 1 or 0.",
        "Підтвердьте або скасуйте попередню оплату.",
        "Confirm or cancel the previous payment.",
    )
    NOTHING_TO_CONFIRM = _terminal(
        5074,
        Action.CORRECT,
        "Немає запиту, який можна завершити",
        "There is no request to finish",
        "Почніть спочатку з pay.task 6: час підтвердження сплив або його вже завершено.",
        "Begin anew with pay.task 6: the time to confirm has run out or it is finished already.",
        "Почніть оплату спочатку.",
        "Begin the payment anew.",
    )
    ANOTHER_SUM = _terminal(
        5075,
        Action.CORRECT,
        "Термінал схвалив %s замість %s",
        "The terminal approved %s instead of %s",
        "Гроші за info.sum взято: скасуйте операцію (pay.task 3 з cancelid) або візьміть решту іншою оплатою.",
        "The money of info.sum is taken: cancel the operation (pay.task 3 with cancelid) or take the rest otherwise.",
        "Звірте сліп і не пробивайте чек на всю суму: скасуйте оплату на терміналі або візьміть решту інакше.",
        "Read the slip and make no receipt over the whole sum: cancel the payment or take the rest otherwise.",
    )

    # Terminals: what the bank answered.

    BANK_REFUSED = _terminal(
        5015,
        Action.CORRECT,
        "Банк відмовив без пояснення",
        "The bank refused without a reason",
        *_NOT_PAID,
        *_ANOTHER_CARD,
    )
    BANK_AMOUNT_NOT_ALLOWED = _terminal(
        5016,
        Action.CORRECT,
        "Банк: сума операції недопустима",
        "Bank: this amount is not allowed",
        "Перевірте pay.sum: сума має бути додатною і в межах, дозволених терміналу.",
        "Check pay.sum: it must be positive and within what the terminal is allowed.",
        "Перевірте суму, а якщо вона правильна, запропонуйте іншу картку або готівку.",
        "Check the amount, and if it is right, offer another card or cash.",
    )
    BANK_WRONG_CARD = _terminal(
        5017,
        Action.CORRECT,
        "Банк: неправильний номер картки",
        "Bank: wrong card number",
        *_NOT_PAID,
        *_ANOTHER_CARD,
    )
    INSUFFICIENT_FUNDS = _terminal(
        5018,
        Action.CORRECT,
        "Банк: недостатньо коштів",
        "Bank: insufficient funds",
        *_NOT_PAID,
        *_ANOTHER_CARD,
    )
    WRONG_PIN = _terminal(
        5019,
        Action.CORRECT,
        "Банк: неправильний PIN-код",
        "Bank: wrong PIN",
        *_NOT_PAID,
        "Попросіть покупця ввести PIN-код уважно або взяти іншу картку.",
        "Ask the customer to enter the PIN with care or to take another card.",
    )
    BANK_LIMIT_EXCEEDED = _terminal(
        5020,
        Action.CORRECT,
        "Банк: перевищено ліміт операцій",
        "Bank: transaction limit exceeded",
        *_NOT_PAID,
        "Покупець може підняти ліміт у застосунку банку або взяти іншу картку чи готівку.",
        "The customer may raise the limit in the bank's app, or take another card or cash.",
    )
    BANK_DOWN = _terminal(
        5021,
        Action.REPEAT,
        "Банк: система не працює, повторіть пізніше",
        "Bank: the system is down, try again later",
        *_NEW_ID,
        "Зачекайте кілька хвилин і проведіть оплату ще раз або запропонуйте готівку.",
        "Wait some minutes and run the payment again, or offer cash.",
    )
    BANK_MESSAGE = _terminal(
        5024,
        Action.CORRECT,
        "Банк: %s (статус %s, код %s)",
        "Bank: %s (status %s, code %s)",
        *_NOT_PAID,
        "Прочитайте покупцеві відповідь банку й запропонуйте іншу картку або готівку.",
        "Read the bank's answer to the customer and offer another card or cash.",
    )
    WRONG_RRN = _terminal(
        5025,
        Action.CORRECT,
        "Банк: неправильний RRN для повернення",
        "Bank: wrong RRN for a refund",
        "Надішліть у refundid значення RRN з відповіді на первинну оплату.",
        "Send in refundid the RRN of the answer to the original payment.",
        "Знайдіть сліп первинної оплати та зробіть повернення за його RRN.",
        "Find the slip of the original payment and make the refund by its RRN.",
    )

    # Printers.

    PRINTER_CONNECT = _printer(
        100,
        Action.REPEAT,
        "Пристрій друку не відповів на спробу з’єднання",
        "No connection to the printer, it did not answer in time",
        "Перевірте адресу й порт у налаштуваннях принтера і повторіть той самий запит із тим самим tag.",
        "Check the address and port in the printer's settings and repeat the request with the same tag.",
        "Перевірте, чи принтер увімкнено і чи під’єднано його до мережі, та надрукуйте ще раз.",
        "Check that the printer is on and connected to the network, and print again.",
    )

    # Warnings: they come with a success, in the list of warnings.

    SHIFT_OLD = _warning(
        3003,
        Action.DONE,
        "Касу відкрито понад 24 години, зробіть Z-звіт",
        "The register has been open for more than 24 hours, make a Z-report",
        "Покажіть касирові нагадування і надішліть fiscal.task 11 за першої нагоди.",
        "Remind the cashier and send fiscal.task 11 at the next occasion.",
        "Зробіть Z-звіт і відкрийте касу знову.",
        "Make a Z-report and open the register again.",
    )
    MAY_BE_REPEAT = _warning(
        3004,
        Action.DONE,
        "Можливо, це повтор: %s",
        "This may be a repeat: %s",
        "Покажіть текст касирові, а щоб нічого не робилося двічі, надсилайте власні tag і transaction_id.",
        "Show the text to the cashier, and send a tag or transaction_id of your own so that nothing is done twice.",
        "Порівняйте суми й час і, якщо це той самий продаж, зробіть повернення.",
        "Compare sums and times, and if it is the same sale, make a return.",
    )
    ANSWERS_UNVERIFIED = _warning(
        3005,
        Action.DONE,
        "Відповіді податкової не перевіряються, чек міг підтвердити хтось інший",
        "The tax service's answers are not verified, somebody else may have confirmed the receipt",
        "Передайте адміністраторові сервісу, що треба виконати dmtwisted tax trust CACertificates.p7b.",
        "Tell the administrator of the service to run dmtwisted tax trust CACertificates.p7b.",
        "Продавайте далі й повідомте того, хто налаштовує касу.",
        "Sell on and tell the person who sets up the register.",
    )
    LEFT_OUT = _warning(
        3006,
        Action.DONE,
        "Чек прийнято, до податкової не пішло все з запиту: %s",
        "The receipt is accepted, but the tax service did not get all of the request: %s",
        "Виправте дані товару, податкову групу в налаштуваннях каси або надішліть purchase_receipt_dt.",
        "Correct the data of the item or the tax group in the register's settings, or send purchase_receipt_dt.",
        "Продавайте далі й повідомте того, хто налаштовує касу.",
        "Sell on and tell the person who sets up the register.",
    )
    SETTINGS_CHANGE = _warning(
        3007,
        Action.DONE,
        "Незабаром оновляться ставки, назви або реквізити каси",
        "Rates, names or requisites of the register change soon",
        "Покажіть текст тому, хто налаштовує касу й програму: нове діє для каси, відкритої від названого дня.",
        "Show the text to who sets up register and program: a register opened from that day on uses the new value.",
        "Перекажіть це адміністраторові й продавайте далі.",
        "Tell the administrator and sell on.",
    )
    SHIFT_PAST_MIDNIGHT = _warning(
        3008,
        Action.DONE,
        "Касу відкрито ще вчора, а Z-звіт роблять щодня, коли були операції",
        "The register is open since yesterday, and a Z-report is due on each day with operations",
        "Покажіть касирові нагадування і надішліть fiscal.task 11 за першої нагоди.",
        "Remind the cashier and send fiscal.task 11 at the next occasion.",
        "Зробіть Z-звіт і відкрийте касу знову.",
        "Make a Z-report and open the register again.",
    )
    EXCISE_UNCODED = _warning(
        3009,
        Action.DONE,
        "Підакцизний товар продано без повного коду УКТЗЕД, рядки",
        "An item with excise was sold without its whole UKTZED code, rows",
        "Надсилайте в code2 підакцизного товару код УКТЗЕД із 10 цифр.",
        "Send the UKTZED code of 10 digits as code2 of an item with excise.",
        "Продавайте далі й повідомте того, хто веде довідник товарів.",
        "Sell on and tell the person who keeps the list of goods.",
    )
    NOT_DELIVERED = _warning(
        3010,
        Action.DONE,
        "Чек пробито, але покупцеві не надіслано: %s",
        "The receipt is registered, but not sent to the customer: %s",
        "Налаштуйте пошту на сторінці сервісу або виправте userinfo; повтор із тим самим tag нічого не надішле.",
        "Set e-mail up on the service's page, or correct userinfo; a repeat with the same tag sends nothing.",
        "Віддайте покупцеві паперовий чек або покажіть його QR-код.",
        "Give the customer the paper receipt or show its QR code.",
    )
    MACHINE_DIFFERS = _warning(
        3011,
        Action.DONE,
        "Апарат і сервіс мають різні дані: %s",
        "The machine and the service differ: %s",
        "Покажіть текст касирові: апаратом, мабуть, користувалися без сервісу.",
        "Show the text to the cashier: somebody seems to have used the machine without the service.",
        "Звірте стрічку апарата з продажами й повідомте того, хто веде облік.",
        "Compare the machine's tape with the sales and tell the person who keeps the accounts.",
    )


_BY_CODE = {res.code: res for res in Res}


class Refused(Exception):
    """A task ended with a result other than `Res.OK`."""

    def __init__(
        self,
        res: Res,
        *details: object,
        action: Action | None = None,
        aq_errortxt: Words = "",
        note: Words = "",
    ) -> None:
        """Refuse with ``res``.

        ``details`` go into the places of the text. ``action`` is for a caller that knows the outcome better than the
        catalogue does, ``aq_errortxt`` for the text of the bank, ``note`` for what helps to find the mistake. Of
        each `Text` the answer has the language that is asked for, so own words are always one.
        """
        # In another process pickle calls this constructor with the arguments of `Exception`.
        super().__init__(res, *details)
        self.res = res
        self.details = details
        self.action = res.action if action is None else action
        self.aq_errortxt = aq_errortxt
        self.note = note

    def errortxt(self, language: str = "uk") -> str:
        """The whole text; never raises, because a second failure would hide the first one."""
        details = [one.for_language(language) if isinstance(one, Text) else one for one in self.details]
        text = _filled(self.res.text.for_language(language), details)
        return ": ".join(part for part in (text, in_language(self.note, language)) if part)

    def words(self) -> Text:
        """The whole text with the words of the bank behind it, for a log, a page or another operation."""
        return joined(Text(*map(self.errortxt, LANGUAGES)), self.aq_errortxt)

    def __str__(self) -> str:
        return self.errortxt("en")


_PLACE = re.compile("%[sd]")


def _filled(template: str, details: Sequence[object]) -> str:
    """``template`` with ``details`` in its places; further details follow, a place without one gets a dash."""
    waiting = iter(details)
    text = _PLACE.sub(lambda place: _shown(place[0], next(waiting, "-")), template)
    spare = ", ".join(_shown("%s", detail) for detail in waiting)
    return ": ".join(part for part in (text, spare) if part)


def _shown(place: str, detail: object) -> str:
    """``detail`` in the format of ``place``, else as text, else the name of its type."""
    for form in (place, "%s"):
        with suppress(Exception):
            # In a tuple, because a detail that is itself a tuple would count as several.
            return form % (detail,)
    return type(detail).__name__
