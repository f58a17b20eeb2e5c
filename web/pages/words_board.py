"""Texts of a register's board."""

from __future__ import annotations

BOARD: dict[str, tuple[str, str]] = {
    "next_step": ("Що далі", "What is next"),
    "next_trouble": (
        "Каса не працює. Перевірте її налаштування.",
        "The register does not work. Check its settings.",
    ),
    "next_key": (
        "Немає чинного ключа підпису, тому каса не може пробити жодного чека. Ключ завантажує адміністратор.",
        "There is no valid signing key, so the register cannot make any receipt. An administrator loads the key.",
    ),
    "next_doubt": (
        "Невідомо, чи податкова прийняла останній документ. Спершу з’ясуйте це: удруге його не буде надіслано.",
        "It is not known whether the tax service took the last document. Find out first: it is not sent twice.",
    ),
    "next_old": (
        "Зміна триває майже добу або довше. Закрийте її Z-звітом і відкрийте нову.",
        "The shift has lasted almost a day or more. Close it with a Z-report and open a new one.",
    ),
    "next_over": (
        "Час офлайн вичерпано: каса більше не пробиває чеків, доки не повернеться в онлайн. Z-звіт зробити можна.",
        "The offline time is used up: no receipts until the register is back online. A Z-report is still possible.",
    ),
    "next_open": (
        "Зміну закрито. Відкрийте її, щоб продавати.",
        "The shift is closed. Open it to sell.",
    ),
    "next_sell": ("Зміну відкрито, каса готова продавати.", "The shift is open, and the register is ready to sell."),
    "next_till": (
        "Зміну відкрито: касова програма може продавати. X-звіт показує підсумки без наслідків.",
        "The shift is open: the till can sell. An X-report shows the totals and changes nothing.",
    ),
    "board_key": ("Завантажити ключ", "Load the key"),
    "other_deeds": ("Інші дії", "Other actions"),
    "why_is_open": ("зміну вже відкрито", "the shift is open already"),
    "why_is_closed": ("спершу відкрийте зміну", "open the shift first"),
    "why_doubt": ("спершу з’ясуйте, чим закінчився останній документ", "find out first how the last document ended"),
    "why_key": ("немає чинного ключа підпису", "there is no valid signing key"),
    "why_over": ("час офлайн вичерпано", "the offline time is used up"),
    "why_no_receipt": ("чеків ще не було", "there are no receipts yet"),
    "why_is_offline": ("каса вже офлайн", "the register is offline already"),
    "why_is_online": ("каса вже онлайн", "the register is online already"),
    "why_offline_forbidden": ("налаштування каси цього не дозволяють", "the settings of the register forbid it"),
    "why_no_numbers": (
        "податкова ще не видала офлайн-номерів; вони надійдуть із першим документом",
        "the tax service has given no offline numbers yet; they come with the first document",
    ),
    "why_key_ends": ("ключ підпису от-от закінчиться", "the signing key is about to end"),
    "why_month_over": ("168 годин цього місяця вичерпано", "the 168 hours of this month are used up"),
    "way_home": ("Каса офлайн", "The register is offline"),
    "way_home_text": (
        "Чеки дійсні. Каса сама перевіряє зв’язок і повертається в онлайн, щойно податкова відповість.",
        "Receipts are valid. The register checks the connection itself and goes back online as soon as the tax "
        "service answers.",
    ),
    "way_home_end": (
        "Коли мине менший із двох строків, продавати не можна буде до повернення в онлайн: лише закрити зміну.",
        "When the shorter time is over, nothing can be sent until the register is online: only the shift can be "
        "closed.",
    ),
    "queued": ("Документів чекає на надсилання", "Documents waiting to be sent"),
    "go_online_now": ("Повернутися в онлайн зараз", "Go online now"),
    "who_where": ("Хто й де", "Who and where"),
    "drawer_now": ("У шухляді зараз", "In the drawer now"),
    "drawer_in": ("Після внесення", "After cash in"),
    "drawer_out": ("Після вилучення", "After cash out"),
    "drawer_less": ("у шухляді стільки немає", "the drawer has less"),
    "z_preview": ("Що буде в Z-звіті", "What the Z-report will say"),
    "z_no_preview": (
        "Ця каса не показує підсумків наперед.",
        "This register does not show its totals in advance.",
    ),
    "z_rounding": ("Заокруглення", "Rounding"),
    "z_by_kind": ("За видом оплати", "By payment kind"),
    "z_by_tax": ("За податками", "By tax"),
    "z_turnover": ("Обіг", "Turnover"),
    "z_tax": ("Податок", "Tax"),
    "z_moves": ("Рух готівки", "Cash moves"),
    "z_in": ("Внесено", "In"),
    "z_out": ("Видано", "Out"),
    "z_given": ("Видано готівки з карток", "Cash given out against cards"),
}
