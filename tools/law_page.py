"""The page of the law's rules, ``docs/law.md``: ``python -m tools.law_page`` prints it.

Numbers come from where the code takes them (`dmtwisted.documents.law`), so the page and the code cannot differ.
`tests/test_law.py` finds every module, test and setting that a rule names.
"""

from __future__ import annotations

from dataclasses import dataclass

from dmtwisted.documents import law

TEXT, DPS, VENDOR, PRESS, GUESS = "text", "explained", "vendor", "press", "guess"
"""How sure a rule is, the surest first."""

OUTSIDE, UNCLEAR, NOT_KEPT = "outside", "unclear", "not kept"
"""How a remark begins where nothing in the code keeps a rule."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule of the law, or of the tax service, and what becomes of it here.

    :param since: the first day on which it is valid, as exactly as it is known; empty is before 2024.
    :param kept: the module that keeps it. :param test: the test that fails when it is broken.
    :param setting: what the shop can set about it. :param remark: what else is to be known.
    """

    id: str
    rule: str
    source: str
    sure: str
    since: str = ""
    kept: str = ""
    test: str = ""
    setting: str = ""
    remark: str = ""


_MARKS = "dmtwisted/registers/marks.py"
_MARK_RULES = "dmtwisted/registers/mark_rules.py"
_DRAFTING = "dmtwisted/registers/drafting.py"
_ARITHMETIC = "dmtwisted/registers/arithmetic.py"
_TAX_DOCUMENTS = "dmtwisted/registers/channels/tax_documents.py"
_FORMS = "dmtwisted/documents/forms.py"
_API, _ORDER_13, _ORDER_317, _NBU = "API", "order 13", "order 317", "NBU 25"
"""Sources that many rules have; the head of the page says what they are."""
_STEPS = " and ".join(
    f"{row.value} kopecks" + (f" from {row.valid_from}" if row.valid_from else "") for row in law.CASH_STEPS
)

PARTS: dict[str, tuple[Rule, ...]] = {
    "Offline work": (
        Rule(
            id="O1",
            rule=f"At most {law.OFFLINE_H} hours offline in a row and {law.OFFLINE_MONTH_H} hours in a calendar "
            f"month; sales stop after {law.OFFLINE_STOP_H} hours, as set; the shift can still be closed",
            since="2020",
            source=f"{_ORDER_317}, V.1; {_API}",
            sure=TEXT,
            kept=_DRAFTING,
            test="tests.test_offline_switch.LimitTests.test_35_hours",
            setting="offline_allowed, offline_limit_h",
        ),
        Rule(
            id="O2",
            rule="The link is checked before each offline document",
            since="2020",
            source=f"{_ORDER_317}, V.3, as regional offices quote it",
            sure=DPS,
            kept="dmtwisted/registers/engine.py",
            test="tests.test_link_check.AskedTests.test_every_document",
            setting="offline_probe_before_receipt, offline_probe_limit_s",
            remark="on in new registers; a storno is not asked before: it takes back the last document",
        ),
        Rule(
            id="O3",
            rule="Who sells is told the time left",
            since="2020",
            source=f"{_ORDER_317}, V.3; {_API} recommends it",
            sure=DPS,
            kept="dmtwisted/registers/offline_time.py",
            test="tests.test_link_check.LeftTests.test_every_answer",
            setting="warn_offline_h",
        ),
        Rule(
            id="O4",
            rule="When the link is back the register comes back online by itself and says so",
            since="2020",
            source=f"{_ORDER_317}, V.3; {_API}",
            sure=TEXT,
            kept="dmtwisted/homecoming.py",
            test="tests.test_link_check.ByHandTests.test_returns",
        ),
        Rule(
            id="O5",
            rule="No offline work while there is a link, nor without a range of numbers",
            since="2023-06-30",
            source="law 3219-IX; the tax service, 09.11.2023",
            sure=DPS,
            kept="dmtwisted/registers/offline_sessions.py",
            test="tests.test_link_check.ByHandTests.test_while_it_answers",
            setting="offline_by_hand",
            remark="of new registers; those of earlier versions go offline by hand as asked",
        ),
        Rule(
            id="O6",
            rule="What was made offline is handed in within an hour after the link is back; so the register tries at "
            f"least every {law.LONGEST_PROBE_S} seconds",
            source="law 128-IX, article 5, in an accounting magazine",
            sure=VENDOR,
            kept="dmtwisted/registers/settings.py",
            test="tests.test_devices.DriverTests.test_slow_probe",
            setting="offline_probe_s",
        ),
        Rule(
            id="O7",
            rule="Offline time is counted from the opening notice to the closing one, or to the last receipt or Z",
            source=f"{_ORDER_317}, V.6 and V.8, against {_API}",
            sure=TEXT,
            kept=_DRAFTING,
            test="tests.test_offline_switch.LimitTests.test_duration",
            remark="unclear: the longer way decides about a sale, the shorter counts into the month",
        ),
        Rule(
            id="O8",
            rule="More hours offline while martial law lasts",
            source="explanations of 2022 against those of 2024 and 2025",
            sure=DPS,
            remark="unclear: the hours of O1 are kept",
        ),
    ),
    "Payments": (
        Rule(
            id="P1",
            rule="`PAYFORMCD` in the tax document: 0 cash, 1 bank card, 2 prepayment, 3 credit, 100000 cashless",
            source="check01.xsd and official samples",
            sure=TEXT,
            kept="dmtwisted/documents/catalogue.py",
            test="tests.test_tax_documents.PaymentCodeTests.test_tax",
            setting="pay_codes, payformcd",
            remark="other codes are unclear; a register of an earlier version keeps its own until one accepts these",
        ),
        Rule(
            id="P2",
            rule="The receipt names the form of each payment (row 18) and its means (row 19)",
            since="2025-03-01",
            source=_ORDER_13,
            sure=DPS,
            kept=_FORMS,
            test="tests.test_print_forms.WholeFormTests.test_every_payment",
            setting="form, name",
        ),
        Rule(
            id="P3",
            rule="Means of payment are named as in the tax service's list",
            since="2025-03-01",
            source="accounting press 2025; lists of large vendors",
            sure=PRESS,
            kept="dmtwisted/doctor/devices.py",
            test="tests.test_doctor.DeviceFaultTests.test_means_of_payment",
            setting="pay_types",
            remark="`doctor` names those outside the list; the shop names them",
        ),
        Rule(
            id="P4",
            rule="Rows 12 to 17, the card's data, are there only when a joined terminal took the card",
            since="2025-03-01",
            source=_ORDER_13,
            sure=DPS,
            kept=_FORMS,
            test="tests.test_print_forms.PaymentTests.test_no_terminal",
        ),
        Rule(
            id="P5",
            rule="No signatures of cashier and card holder, no number of an identity card",
            since="2025-03-01",
            source=_ORDER_13,
            sure=DPS,
            kept=_FORMS,
            test="tests.test_print_forms.WholeFormTests.test_sale",
        ),
    ),
    "The form of documents": (
        Rule(
            id="F1",
            rule="The form of order 601 is used",
            since="2025-03-01",
            source="order 674 of 30.12.2024",
            sure=DPS,
            kept=_FORMS,
            test="tests.test_print_forms.OrderTests.test_order",
        ),
        Rule(
            id="F2",
            rule="The lines of a sale's receipt, form ФКЧ-1, in their order",
            since="2025-03-01",
            source=f"{_ORDER_13}, appendix 1, in copies; rows 11, 20 to 25, 27, 29 and 30 not read",
            sure=TEXT,
            kept=_FORMS,
            test="tests.test_paper_lines.PaperLineTests.test_every_row",
            remark="rows whose wording was not read stand as programs in use have them",
        ),
        Rule(
            id="F3",
            rule="Money paid out has the form ФКЧ-2",
            since="2025-03-01",
            source=f"{_ORDER_13}, appendix 2, title only",
            sure=TEXT,
            kept=_FORMS,
            test="tests.test_paper_lines.PaperLineTests.test_every_kind",
        ),
        Rule(
            id="F4",
            rule="The lines of service receipts, X and Z",
            source=f"{_ORDER_13}; no list of lines found",
            sure=GUESS,
            kept=_FORMS,
            test="tests.test_paper_lines.PaperLineTests.test_every_kind",
            remark="unclear: as the tax service's own samples have them",
        ),
        Rule(
            id="F5",
            rule="Requisites without content are left out",
            since="2025-03-01",
            source="the tax service, 05.03.2025",
            sure=DPS,
            kept=_FORMS,
            test="tests.test_paper_lines.PaperLineTests.test_left_out",
            setting="print_zero_change",
            remark="the line of the change is printed without any change too, as shops expect it",
        ),
        Rule(
            id="Q1",
            rule="The QR code is a link that finds the receipt: MAC, date, time, number, sum, register",
            since="2025-03-01",
            source="order 601; notice of the tax service of 18.01.2023, where the time has four digits",
            sure=DPS,
            kept="protocols/fiscal/qr_link.py",
            test="tests.test_register_more.SettingsTests.test_time_in_link",
            setting="qr_time",
        ),
        Rule(
            id="Q2",
            rule="A receipt may be electronic, if the buyer gets it",
            source="law 265, article 3, p. 2; digest of the tax service of 15.02.2026; 2021 against a QR alone",
            sure=DPS,
            kept="dmtwisted/print_forms.py",
            test="tests.test_paper_lines.SameElementsTests.test_one_form",
            remark="answers have the link, text, picture and PDF; the till shows or sends them",
        ),
    ),
    "Cash rounding": (
        Rule(
            id="C1",
            rule="The total that is paid in cash is rounded, prices never: to "
            f"{_STEPS}, where the till has no coins of 10; halves go up",
            since="2025-10-01",
            source=_NBU,
            sure=DPS,
            kept=_ARITHMETIC,
            test="tests.test_rounding.TableTests.test_every_ending",
            setting="rounding_step, dated",
        ),
        Rule(
            id="C2",
            rule="A refund in cash is rounded in the same way",
            since="2025-10-01",
            source=_NBU,
            sure=DPS,
            kept=_ARITHMETIC,
            test="tests.test_rounding.TableTests.test_mixed",
            setting="rounding_step",
        ),
        Rule(
            id="C3",
            rule="Taxes are calculated on the exact sum; both sums are shown; the Z holds rounded money",
            source="National Bank, 2019; accounting press 2025",
            sure=DPS,
            kept=_TAX_DOCUMENTS,
            test="tests.test_tax_documents.ReceiptTests.test_rounding",
        ),
    ),
    "Goods": (
        Rule(
            id="G1",
            rule=f"Excisable goods have their UKTZED code of {law.UKTZED_LENGTH} digits in the receipt",
            since="2020-08-01",
            source="law 265, article 3, p. 11; question 109.10 of the tax service",
            sure=DPS,
            kept=_DRAFTING,
            test="tests.test_law_settings.ExciseTests.test_refuse",
            setting="excise_needs_uktzed",
            remark="off by default: any code that the schema takes is sold",
        ),
        Rule(
            id="G2",
            rule="A row has a UKTZED or a DKPP code, never both",
            source="check01.xsd",
            sure=TEXT,
            kept=_TAX_DOCUMENTS,
            test="tests.test_tax_documents.ReceiptTests.test_two_codes",
            remark="of both UKTZED is sent, with warning 3006",
        ),
        Rule(
            id="G3",
            rule="The barcode is in the receipt where a law demands it",
            source="advice 2590/2021 of the tax service",
            sure=DPS,
            kept=_FORMS,
            test="tests.test_print_forms.GoodTests.test_barcode",
            remark="printed and sent when the till gives it",
        ),
        Rule(
            id="G4",
            rule="Some payers may name a group of goods in place of the item",
            source="law 3219-IX, in the press",
            sure=PRESS,
            remark="outside: the till names the row",
        ),
        Rule(
            id="G5",
            rule="Duty-free shops add passport, weight of tobacco, strength and volume of alcohol",
            since="2025-03-01",
            source=_ORDER_13,
            sure=DPS,
            remark="outside: the interface has no members for it",
        ),
    ),
    "Taxes": (
        Rule(
            id="T1",
            rule="The military levy of 5 % is a tax on income, not on sales",
            since="2024-12-01",
            source="law 4015-IX; nothing found that puts it on a receipt",
            sure=GUESS,
            kept=_TAX_DOCUMENTS,
            test="tests.test_tax_documents.ReceiptTests.test_tax_on_income",
            setting="tax_groups, type, ex_type",
            remark="group 10 is sold with warning 3006, its taxes are not sent",
        ),
        Rule(
            id="T2",
            rule="A receipt for excisable goods has the line of the excise of 5 %",
            source="press on a court case, 25.08.2025",
            sure=PRESS,
            kept=_FORMS,
            test="tests.test_print_forms.TotalTests.test_excise",
            setting="tax_groups, dated",
        ),
        Rule(
            id="T3",
            rule="`TYPE` of a tax: 0 VAT, 1 excise, 2 pension fund",
            source="check01.xsd",
            sure=TEXT,
            kept=_TAX_DOCUMENTS,
            test="tests.test_tax_documents.ReceiptTests.test_types",
            setting="type, ex_type",
        ),
    ),
    "Documents and registers": (
        Rule(
            id="D1",
            rule="A return names the receipt of the sale; at another register that register and the date too",
            source="the tax service, 05.03.2024; official samples",
            sure=TEXT,
            kept=_TAX_DOCUMENTS,
            test="tests.test_prro.DayTests.test_return_elsewhere",
            remark="the day is that of the stored receipt, else `purchase_receipt_dt`, else warning 3006",
        ),
        Rule(
            id="D2",
            rule="Only the last document is taken back by a storno, which has its own number and no sum",
            source=f"{_API}; the tax service, 28.08.2023; one press text of 2026 denies any storno",
            sure=TEXT,
            kept=_DRAFTING,
            test="tests.test_register_more.StornoTests.test_last_document_alone",
            setting="storno_allowed",
        ),
        Rule(
            id="D3",
            rule="Prepayment and the rest are receipts of their own, the second names the first",
            source="the tax service; official samples",
            sure=TEXT,
            kept=_TAX_DOCUMENTS,
            test="tests.test_tax_documents.PartPaymentTests.test_samples",
            remark="where the till sends `partpay_type`; what a Z counts of a part is unclear",
        ),
        Rule(
            id="D4",
            rule="Cash against a card is a document of its own type",
            since="2024-08-23",
            source="National Bank resolution 148, p. 9; official sample",
            sure=TEXT,
            kept=_TAX_DOCUMENTS,
            test="tests.test_tax_documents.KindTests.test_withdrawal",
        ),
        Rule(
            id="D5",
            rule="A Z on each day that has operations",
            source="law 265, article 3, p. 9",
            sure=DPS,
            kept="dmtwisted/registers/warnings.py",
            test="tests.test_law_settings.MidnightTests.test_warned",
            setting="warn_midnight, auto_close",
        ),
        Rule(
            id="D6",
            rule="A register works from one device, which is told to the tax service (`DeviceRegister`)",
            since="2025-08-08",
            source=_API,
            sure=TEXT,
            kept="dmtwisted/registers/channels/tax_service.py",
            test="tests.test_one_device.OpeningTests.test_another",
            setting="device_register",
            remark="off by default; the next number is compared before each document, too",
        ),
        Rule(
            id="D7",
            rule="Each cashier's certificate is reported (J/F1391802)",
            source=f"the tax service; {_API}",
            sure=DPS,
            remark="outside: the shop reports it. Signatures and time stamps: `time_stamps`",
        ),
        Rule(
            id="X1",
            rule="Schemas, addresses and sizes of the fiscal server",
            since="2025-08-08",
            source=f"{_API}, check01.xsd, zrep01.xsd",
            sure=TEXT,
            kept="protocols/fiscal/check_xml.py",
            test="tests.test_xsd.XsdTests.test_a_day",
        ),
    ),
    "Excise marks": (
        Rule(
            id="M1",
            rule=f"A mark is carried whole, at most {law.MARK_LENGTH} characters, or the sale is refused",
            since="2021-10-01",
            source=f"check01.xsd; {_ORDER_13}, row 9",
            sure=TEXT,
            kept=_MARKS,
            test="tests.test_marks.WholeTests.test_refused",
            setting="marks_gs",
            remark="a separator GS, which XML cannot hold, is refused, or written as the setting says",
        ),
        Rule(
            id="M2",
            rule="A mark is sold once; a return frees it",
            source="press notes of the tax service, 2024 and 2025",
            sure=DPS,
            kept=_MARK_RULES,
            test="tests.test_marks.OnceTests.test_twice",
            setting="marks_check",
            remark="off by default",
        ),
        Rule(
            id="M3",
            rule="As many marks as marked units",
            since="2021-10-01",
            source="law 265, article 3, p. 11; the XML of server B",
            sure=DPS,
            kept=_MARK_RULES,
            test="tests.test_marks.OnceTests.test_count",
            setting="marks_count",
            remark="off by default: damaged marks and drinks by the glass have fewer",
        ),
        Rule(
            id="M4",
            rule="By the glass a row may have several marks, and a mark may come again",
            source="advice 32/2022 of the tax service by its title; vendors",
            sure=VENDOR,
            kept=_MARK_RULES,
            test="tests.test_marks.OnceTests.test_by_the_glass",
            setting="marks_repeat",
            remark="unclear: how eExcise writes such a bottle off",
        ),
        Rule(
            id="M5",
            rule="The receipt itself writes marks off, and a return takes that back: both carry the marks",
            since="2026-11-01",
            source="a vendor's description of eExcise; the day by the press",
            sure=VENDOR,
            kept=_TAX_DOCUMENTS,
            test="tests.test_marks.WholeTests.test_carried",
        ),
        Rule(
            id="M6",
            rule="A mark that is written off already is refused",
            since="2026-11-01",
            source="a vendor's test description",
            sure=VENDOR,
            kept="dmtwisted/registers/marks_service.py",
            test="tests.test_marks_service.ServiceTests.test_refused",
            setting="marks_check, marks_url, marks_stale",
            remark="off by default: the shop names a service that knows",
        ),
        Rule(
            id="M7",
            rule="UKTZED of excisable goods",
            source="as G1",
            sure=DPS,
            kept=_DRAFTING,
            test="tests.test_law_settings.ExciseTests.test_refuse",
            setting="excise_needs_uktzed",
            remark="as G1",
        ),
        Rule(
            id="M8",
            rule="Marked goods may be sold offline",
            source="nothing found that forbids it",
            sure=GUESS,
            kept=_MARK_RULES,
            test="tests.test_marks.OnceTests.test_offline_refused",
            setting="marks_offline",
            remark="unclear: sold by default",
        ),
    ),
}
"""Every rule, in the order of the page."""

RULES = tuple(rule for rules in PARTS.values() for rule in rules)

_REGISTERS = "registers.md"
_HEAD = f"""\
# The law, rule by rule

`python -m tools.law_page` writes this page; do not edit it.

What Ukrainian law and the tax service ask of a software register in November 2026, as far as it could be read. It is
no legal advice: where a rule matters to the shop, read its source.

*Sure*: **{TEXT}** an official text, or a file of the tax service; **{DPS}** an explanation by the tax service or
the National Bank; **{VENDOR}** another program's document; **{PRESS}**; **{GUESS}** our own reasoning. Nothing less
sure than an explanation refuses a sale unless a setting says so.

*Kept in* is the module that does it; the test fails without it. Where there is none, the remark says why:
**{OUTSIDE}**, not the service's part; **{UNCLEAR}**, the sources differ or are silent; **{NOT_KEPT}**, not done yet.
Rates, names of payments, rounding and requisites can [change on a day]({_REGISTERS}#changes-on-a-day).

|Source|Document|
|---|---|
|{_API}|the tax service's text about its fiscal server, 08.08.2025|
|{_ORDER_13}|z0220-16 of 21.01.2016, as changed by order 601 of 22.11.2024|
|{_ORDER_317}|z0635-20 of 23.06.2020|
|{_NBU}|National Bank, resolution 25 of 15.03.2018, as changed by 115 of September 2025|
|law 265|265/95-ВР|
"""


def page() -> str:
    """The page: a table for each part."""
    parts = [_HEAD]
    for title, rules in PARTS.items():
        lines = [
            f"## {title}\n",
            "|rule|since|source|sure|kept in|test|setting|remark|",
            "|---" * 8 + "|",
        ]
        lines += [
            f"|**{rule.id}** {rule.rule}|{rule.since}|{rule.source}|{rule.sure}"
            f"|{_code(rule.kept)}|{_code(rule.test)}|{_code(rule.setting)}|{rule.remark}|"
            for rule in rules
        ]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _code(name: str) -> str:
    return f"`{name}`" if name else ""


if __name__ == "__main__":
    print(page(), end="")
