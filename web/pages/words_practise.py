"""Texts of the exercises with failures."""

from __future__ import annotations

PRACTISE: dict[str, tuple[str, str]] = {
    "practise": ("Навчання: несправності", "Practise failures"),
    "practise_text": (
        "П’ять вправ, хвилин на п’ять: щось ламається, ви продаєте, бачите відповідь і виправляєте становище. Усе "
        "лише на навчальних пристроях: ні справжніх чеків, ні справжніх грошей.",
        "Five exercises, about five minutes: something fails, you sell, you see the answer and put it right. All of "
        "it on training devices: no real receipts, no real money.",
    ),
    "practise_invite": (
        "Що робити, коли податкова не відповідає чи закінчився папір? Спробуйте тут, доки нема черги.",
        "What to do when the tax service is away or the paper is out? Try it here, before there is a queue.",
    ),
    "practise_missing": ("Для вправ бракує навчальних пристроїв", "Training devices for the exercises are missing"),
    "practise_add": ("Додати навчальні пристрої", "Add training devices"),
    "practise_begin": ("До вправи", "Do this one"),
    "practise_fault": ("Влаштувати несправність", "Let it fail"),
    "practise_sell": ("Продати каву", "Sell a coffee"),
    "practise_wait": (
        "Каса перепитує, і це може тривати до 20 секунд. Так само буде за справжньою касою.",
        "The register keeps asking, for up to 20 seconds. A real one does the same.",
    ),
    "practise_step": ("Ваш крок", "Your step"),
    "practise_books": ("Що записано", "What the books say"),
    "practise_tax": ("Чеків у податковій", "Receipts at the tax service"),
    "practise_till": ("Чеків у касі", "Receipts in the till"),
    "practise_bank": ("Оплат у терміналі", "Payments in the terminal"),
    "practise_strip": ("Надруковано чеків", "Receipts on paper"),
    "practise_same": ("Збігається: усюди рівно один.", "They agree: exactly one everywhere."),
    "practise_differ": ("Поки не збігається.", "They do not agree yet."),
    "practise_next": ("Наступна вправа", "Next exercise"),
    "practise_again": ("Спочатку", "Start over"),
    "practise_done": ("пройдено", "done"),
    "practise_all": ("Усі вправи пройдено", "All exercises are done"),
    "practise_leave": ("Усе полагодити й вийти", "Repair everything and leave"),
    "practise_offline": (
        "Каса ще офлайн. Вона повернеться сама протягом хвилини, тоді спробуйте знову.",
        "The register is still offline. It comes back by itself within a minute; then try again.",
    ),
    "practise_not_ready": (
        "Навчальних пристроїв уже немає або їх замінено: оновіть сторінку.",
        "The training devices are gone or were replaced: reload the page.",
    ),
    "practise_way_online": ("Повернути касу в онлайн", "Bring the register online"),
    "practise_way_reprint": ("Надрукувати ще раз", "Print again"),
    "practise_way_sell": ("Продати ще раз", "Sell again"),
    "practise_away": ("Податкова не відповідає", "The tax service is away"),
    "practise_away_what": (
        "Зв’язок із податковою зникне, а ви продасте каву за 50 грн.",
        "The line to the tax service goes dead, and you sell a coffee for 50 UAH.",
    ),
    "practise_away_do": (
        "Продавайте далі. Каса перейшла в офлайн, чек дійсний. Коли зв’язок відновиться, каса протягом хвилини сама "
        "надішле все податковій.",
        "Go on selling. The register went offline, and the receipt is valid. When the line is back, the register "
        "sends everything to the tax service by itself within a minute.",
    ),
    "practise_away_repair": ("Відновити зв’язок із податковою", "Bring the tax service back"),
    "practise_unheard": ("Відповідь податкової загубилася", "The tax service's answer is lost"),
    "practise_unheard_what": (
        "Податкова прийме чек на 60 грн, але її відповідь до каси не дійде.",
        "The tax service takes a receipt for 60 UAH, but its answer never reaches the register.",
    ),
    "practise_unheard_do": (
        "Не пробивайте новий чек: цей міг бути зареєстрований. Відновіть зв’язок і натисніть «Повторити»: каса "
        "спитає податкову й нічого не подвоїть.",
        "Do not make a new receipt: this one may be registered. Bring the line back and press “Repeat”: the "
        "register asks the tax service, and nothing is done twice.",
    ),
    "practise_unheard_repair": ("Відновити зв’язок із податковою", "Bring the tax service back"),
    "practise_paper": ("Закінчився папір", "The paper is out"),
    "practise_paper_what": (
        "Чек на 70 грн буде зареєстровано, а надрукувати його буде ні на чому.",
        "A receipt for 70 UAH is registered, but there is no paper to print it on.",
    ),
    "practise_paper_do": (
        "Не пробивайте його вдруге: чек уже в податковій. Вставте папір і надрукуйте той самий чек ще раз.",
        "Do not sell it again: the tax service has the receipt. Put paper in, and print the same receipt again.",
    ),
    "practise_paper_repair": ("Вставити папір", "Put paper in"),
    "practise_declined": ("Банк відхилив картку", "The card is declined"),
    "practise_declined_what": (
        "Покупець платить карткою 80 грн, але на ній бракує коштів.",
        "The customer pays 80 UAH by card, but there is not enough money on it.",
    ),
    "practise_declined_do": (
        "Грошей не списано, чека немає. Попросіть іншу картку або готівку й продайте ще раз.",
        "No money was taken, and there is no receipt. Ask for another card or cash, and sell again.",
    ),
    "practise_declined_repair": ("Узяти іншу картку", "Take another card"),
    "practise_cut": ("Обірвався кабель термінала", "The terminal's cable is cut"),
    "practise_cut_what": (
        "Покупець заплатить карткою 90 грн, і саме тоді обірветься кабель термінала.",
        "The customer pays 90 UAH by card, and just then the terminal's cable is cut.",
    ),
    "practise_cut_do": (
        "Не беріть оплату вдруге: гроші могли бути списані. Під’єднайте кабель і натисніть «Повторити»: сервіс "
        "дізнається в термінала, чим скінчилося.",
        "Do not take the money again: it may have been paid. Plug the cable in and press “Repeat”: the service "
        "asks the terminal how it ended.",
    ),
    "practise_cut_repair": ("Під’єднати кабель", "Plug the cable in"),
}
"""Ukrainian and English text by key."""

PRACTISE_FOR_SCRIPTS = (
    *("practise_sell", "practise_tax", "practise_till", "practise_bank", "practise_strip", "practise_same"),
    *("practise_differ", "practise_offline", "practise_not_ready", "practise_books", "open_shift"),
)
"""The keys that scripts need."""
