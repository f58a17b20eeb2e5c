"""Texts of the search for receipts, and of one receipt."""

from __future__ import annotations

RECEIPTS: dict[str, tuple[str, str]] = {
    "find_what": ("Що шукаємо", "Search"),
    "find_help": (
        "Номер, фіскальний номер, tag, сума, товар або його код, останні цифри картки, касир, RRN, код авторизації.",
        "Number, fiscal number, tag, sum, item or its code, last digits of a card, cashier, RRN, authorisation code.",
    ),
    "filters": ("Фільтри", "Filters"),
    "no_filters": ("Скинути", "Reset"),
    "dates": ("Дати", "Dates"),
    "all_dates": ("Усі дати", "All dates"),
    "yesterday": ("Учора", "Yesterday"),
    "this_week": ("Цей тиждень", "This week"),
    "this_month": ("Цей місяць", "This month"),
    "all_kinds": ("усі документи", "all documents"),
    "payment_kind": ("Вид оплати", "Payment kind"),
    "all_payments": ("усі види", "all kinds"),
    "all_states": ("будь-який", "any"),
    "is_doubt": ("результат невідомий", "outcome unknown"),
    "is_offline": ("створено офлайн", "issued offline"),
    "is_reversed": ("сторновано", "taken back"),
    "real_and_test": ("справжні й навчальні", "real and for training"),
    "test_short": ("навчальний", "training"),
    "found_goods": ("товар", "item"),
    "found_card": ("картка", "card"),
    "found_rrn": ("RRN або код авторизації", "RRN or authorisation"),
    "matched": ("збіг", "match"),
    "save_found": ("Зберегти знайдене (CSV)", "Save what was found (CSV)"),
    "totals_real": ("Справжні чеки", "Real receipts"),
    "totals_test": ("Навчальні чеки", "Training receipts"),
    "step_lost": ("Відповідь податкової не надійшла", "The tax service's answer did not come"),
    "step_interrupted": (
        "Сервіс перервався, перш ніж надійшла відповідь",
        "The service was interrupted before the answer came",
    ),
    "step_found": (
        "Сервіс запитав податкову: документ там є. Його завершено, удруге не надіслано",
        "The service asked the tax service, which has the document. It was completed, not sent twice",
    ),
    "step_answered": ("Після цього відповідь надіслано касовій програмі", "Then the answer was sent to the till"),
    "step_repeated": (
        "Касова програма повторила запит і отримала ту саму відповідь",
        "The till repeated the request and got the same answer",
    ),
    "step_waits_repeat": (
        "На повтор із тим самим tag касова програма отримує цей чек",
        "A till that repeats the same tag gets this receipt",
    ),
    "of_page": ("на цій сторінці", "on this page"),
    "sum_all": ("Порахувати всі знайдені", "Total of everything found"),
    "looked_since": ("від", "back to"),
    "look_further": ("Шукати далі в минулому", "Search further back"),
}
