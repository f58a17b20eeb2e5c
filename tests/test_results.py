"""The catalogue is complete, its texts avoid the words that tills search for, and a refusal always has a text."""

from __future__ import annotations

import pickle
import re
from decimal import Decimal

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.results import Action, Refused, Res, Text
from tests.specification import promises

PUBLISHED = {
    "general": (0, 430, 1016, 1082, 1091, 1105, 2000, 2100),
    "cash_register": (
        *(307, 1006, 1032, 1033, 1034, 1035, 1036, 1037, 1038, 1039, 1040, 1041, 1042, 1043, 1044, 1045),
        *(1046, 1047, 1048, 1049, 1050, 1051, 1052, 1053, 1054, 1056, 1058, 1059, 1060, 1062, 1063, 1064),
        *(1065, 1066, 1067, 1069, 1073, 1074, 1075, 1076, 1077, 1078, 1079, 1080, 1081, 1083, 1084, 1085),
        *(1086, 1087, 1088, 1089, 1090, 1092, 1093, 1094, 1095, 1096, 1097, 1098, 1099, 1100, 1101, 1102),
        *(1103, 1107, 1108, 1109, 1110, 1111, 1112, 1115, 1117, 1119, 1120, 1121, 1122, 1123, 1124, 1125),
        *(1157, 1158, 2001, 2002, 2003, 2005, 2007, 2009, 2011, 2013, 2014, 2101, 2102, 2103),
        2104,
    ),
    "terminal": (
        *(303, 317, 411, 1126, 5000, 5001, 5002, 5003, 5004, 5005, 5006, 5007, 5008, 5009, 5010, 5011, 5012),
        *(5013, 5014, 5015, 5016, 5017, 5018, 5019, 5020, 5021, 5022, 5023, 5024, 5025, 5026, 5027, 5028),
        *(5029, 5067, 5068, 5073, 5074, 5075),
    ),
    "printer": (100,),
    "warning": (3003, 3004, 3005, 3006, 3007, 3008, 3009, 3010, 3011),
}

PLACES = {
    **dict.fromkeys((307, 317, 411, 1065, 1066), "%d"),
    **dict.fromkeys((430, 1016, 1069, 1078, 1087, 1088, 1090, 1098, 1109, 1110, 1124, 2000, 3004, 3006, 3010), "%s"),
    3011: "%s",
    **dict.fromkeys((2003, 2007, 2009, 2011, 2013, 5000, 5009, 5029, 2103), "%s"),
    **dict.fromkeys((1079, 5028, 5075), "%s %s"),
    **dict.fromkeys((1111, 5024), "%s %s %s"),
    1089: "%d %s",
    2101: "%d %s %s",
    2102: "%d %d %d",
}

REPEATABLE = (
    *(1032, 1034, 1035, 1048, 1050, 1058, 1067, 1069, 1082, 1084, 1105, 1122, 2005, 2100, 2103),
    *(100, 1126, 5004, 5010, 5011, 5012, 5014, 5021, 5022, 5028, 5067, 5068),
)

SHIFT_STEMS = ("змін", "закрит", "shift")
PAPER_STEMS = ("папір", "папер", "принтер", "paper")


def _codes_with(stems: tuple[str, ...]) -> list[int]:
    return [res.code for res in Res if any(stem in text.lower() for text in res.text for stem in stems)]


class CatalogueTests(SynchronousTestCase):
    """Published codes and their numbers."""

    @promises("7.codes.1")
    def test_complete(self) -> None:
        """The catalogue has every published code once, in its group, and no other."""
        self.assertEqual(
            sorted((res.code, res.group) for res in Res),
            sorted((code, group) for group, codes in PUBLISHED.items() for code in codes),
        )

    def test_by_code(self) -> None:
        """A number finds its entry."""
        for res in Res:
            self.assertIs(Res.by_code(res.code), res)

    def test_unknown_code(self) -> None:
        """An unknown number is a `KeyError`."""
        for code in (-1, 1, 1104, 9999):
            self.assertRaises(KeyError, Res.by_code, code)

    def test_travels_between_processes(self) -> None:
        """An entry that was pickled is read back as the same member."""
        for res in Res:
            self.assertIs(pickle.loads(pickle.dumps(res)), res)


class ActionTests(SynchronousTestCase):
    """What the caller may do after each result."""

    def test_done(self) -> None:
        """Success and its warnings need no action; a failure always needs one."""
        self.assertEqual(
            {res for res in Res if res.action is Action.DONE},
            {Res.OK, *(res for res in Res if res.group == "warning")},
        )

    def test_collision(self) -> None:
        """A silent terminal and a collision that is not settled leave the outcome unknown."""
        self.assertEqual(
            {res for res in Res if res.action is Action.COLLISION},
            {Res.TERMINAL_SILENT, Res.COLLISION_NOT_REPAIRED},
        )

    def test_repeat(self) -> None:
        """Where nothing has to be corrected first, the same request may be sent again."""
        self.assertEqual(sorted(res.code for res in Res if res.action is Action.REPEAT), sorted(REPEATABLE))


class ErrorTextTests(SynchronousTestCase):
    """The texts that tills show, and that some tills search."""

    def test_places(self) -> None:
        """Both languages have the placeholders of the specification, in its order, and no other per cent sign."""
        for res in Res:
            for text in res.text:
                self.assertEqual(" ".join(re.findall("%[sd]?", text)), PLACES.get(res.code, ""), text)

    def test_only_success_is_silent(self) -> None:
        """Only success has an empty text."""
        for res in Res:
            self.assertEqual([bool(text) for text in res.text], [res is not Res.OK] * 2, res)

    def test_open_end(self) -> None:
        """A text ends without a full stop, so that a note can follow it."""
        for res in Res:
            for text in res.text:
                self.assertNotRegex(text, r"[\s.,:;!]$")

    def test_different_texts(self) -> None:
        """No two codes have the same text: a text that is read aloud identifies its code."""
        for texts in ([res.text.uk for res in Res], [res.text.en for res in Res]):
            self.assertEqual(len(set(texts)), len(texts))

    def test_closed_shift_is_recognised(self) -> None:
        """A till that searches the text of 1092 for a word stem finds it, in either language."""
        self.assertIn("закрит", Res.SHIFT_CLOSED.text.uk)
        self.assertIn("shift", Res.SHIFT_CLOSED.text.en)

    def test_nothing_else_opens_a_shift(self) -> None:
        """The word stems that make tills open a shift are only in the text of 1092."""
        self.assertEqual(_codes_with(SHIFT_STEMS), [1092])

    def test_nothing_else_asks_for_paper(self) -> None:
        """The words that make tills ask for paper are only in the text of 5005."""
        self.assertEqual(_codes_with(PAPER_STEMS), [5005])


class WordingTests(SynchronousTestCase):
    """All texts, including the advice, are well written."""

    def test_advice(self) -> None:
        """Every code has one full sentence for the program and one for the cashier, in both languages."""
        for res in Res:
            for advice in (*res.caller, *res.cashier):
                self.assertRegex(advice, r"^[^\W\d_].*[^.]\.$")
                self.assertNotRegex(advice, r"[.!?] ")
                self.assertNotIn("%", advice)

    def test_languages(self) -> None:
        """Ukrainian texts use Cyrillic letters, English texts plain ASCII."""
        for res in Res:
            for text in (res.text, res.caller, res.cashier):
                self.assertTrue(text.en.isascii(), text.en)
                if text.uk:
                    self.assertRegex(text.uk, "[а-щьюяґєії]{2}")

    def test_no_look_alikes(self) -> None:
        """No Ukrainian word contains a Latin letter or a letter of another language."""
        for res in Res:
            for text in (res.text.uk, res.caller.uk, res.cashier.uk):
                self.assertNotRegex(text, "(?i)[a-z][а-яґєії]|[а-яґєії][a-z]|[ыэъё]")

    def test_apostrophes(self) -> None:
        """The Ukrainian apostrophe is the typographic one."""
        for res in Res:
            for text in (res.text.uk, res.caller.uk, res.cashier.uk):
                self.assertNotIn("'", text)


class TextTests(SynchronousTestCase):
    """A text in two languages."""

    def test_english(self) -> None:
        """English is for clients that ask for it."""
        self.assertEqual(Text("так", "yes").for_language("en"), "yes")

    def test_everything_else(self) -> None:
        """Every other language, and none, gets Ukrainian."""
        for language in ("uk", "", "de", "EN-unknown"):
            self.assertEqual(Text("так", "yes").for_language(language), "так")


class Unprintable:
    """An object that cannot become text."""

    def __str__(self) -> str:
        raise ValueError("no words for it")


class RefusedTests(SynchronousTestCase):
    """The exception that carries a result."""

    def test_as_published(self) -> None:
        """A refusal takes its action from the catalogue, without codes of a bank."""
        refused = Refused(Res.DEVICE_BUSY)
        self.assertEqual(
            (refused.res, refused.details, refused.action, refused.aq_errortxt, refused.note),
            (Res.DEVICE_BUSY, (), Action.REPEAT, "", ""),
        )

    def test_own_action(self) -> None:
        """A caller that knows the outcome better than the catalogue gives the action."""
        refused = Refused(Res.INTERNAL, "the line is gone", action=Action.COLLISION)
        self.assertIs(refused.action, Action.COLLISION)

    def test_action_zero(self) -> None:
        """A given action counts even when its number is 0."""
        self.assertIs(Refused(Res.TAG_KNOWN, action=Action.DONE).action, Action.DONE)

    def test_details(self) -> None:
        """The details fill the placeholders of the text, in both languages."""
        refused = Refused(Res.CODE_SOLD_IN_OTHER_GROUP, "104", 2, "Б")
        for language in ("uk", "en"):
            self.assertRegex(refused.errortxt(language), r" 104 .* 2 \(Б\)$")

    def test_default_language(self) -> None:
        """Without a language the text is Ukrainian."""
        refused = Refused(Res.SHIFT_CLOSED)
        self.assertEqual(refused.errortxt(), refused.errortxt("uk"))
        self.assertIn("Зміну закрито", refused.errortxt())

    def test_as_string(self) -> None:
        """In a log a refusal has its English text."""
        refused = Refused(Res.MALFORMED, "pay.sum: a number is expected")
        self.assertEqual(str(refused), "Malformed request: pay.sum: a number is expected")

    def test_note(self) -> None:
        """A note follows the text after a colon."""
        refused = Refused(Res.RECEIPT_SUM_DIFFERS, note="10.00, 9.99")
        self.assertEqual(str(refused), "The receipt sum differs from the sum of its rows: 10.00, 9.99")

    def test_own_words(self) -> None:
        """Own words are in the language of the answer wherever they stand; a bank's words stay as they came."""
        refused = Refused(
            Res.DEVICE_ERROR, Text("немає зв’язку", "no line"), note=Text("каса 2", "till 2"), aq_errortxt="NO HOST"
        )
        self.assertEqual(refused.errortxt("uk"), "Помилка пристрою: немає зв’язку: каса 2")
        self.assertEqual(refused.errortxt("en"), "Device error: no line: till 2")
        self.assertEqual(
            refused.words(),
            ("Помилка пристрою: немає зв’язку: каса 2: NO HOST", "Device error: no line: till 2: NO HOST"),
        )

    def test_numbers(self) -> None:
        """A placeholder for a whole number takes any number."""
        for waited in (300000, 300000.4, Decimal(300000)):
            self.assertIn(" 300000 ms", str(Refused(Res.TERMINAL_SILENT, waited)))

    def test_not_a_number(self) -> None:
        """Anything else is shown as text in a placeholder for a number."""
        for waited in ("ages", float("nan"), float("inf"), None, (1, 2), "%s"):
            self.assertIn(f" {waited} ms", str(Refused(Res.TERMINAL_SILENT, waited)))

    def test_too_few(self) -> None:
        """A placeholder without a detail shows a dash."""
        self.assertEqual(str(Refused(Res.BANK_MESSAGE, "ask")), "Bank: ask (status -, code -)")
        self.assertEqual(str(Refused(Res.UNKNOWN_PAY_TASK)), "The task pay.task - is not supported")

    def test_too_many(self) -> None:
        """Details without a placeholder follow the text, before the note."""
        refused = Refused(Res.PRINTER_CONNECT, "10.0.0.7", 9100, note="refused")
        self.assertTrue(str(refused).endswith("in time: 10.0.0.7, 9100: refused"), str(refused))

    def test_unprintable(self) -> None:
        """A detail that cannot become text is named by its type."""
        self.assertEqual(str(Refused(Res.DEVICE_ERROR, Unprintable())), "Device error: Unprintable")

    def test_any_details(self) -> None:
        """With any details, every code has a text in both languages."""
        for res in Res:
            for details in ((), (None,), ("100 %", b"\xff"), (Unprintable(),) * 4, (1, 2, 3, 4)):
                for language in ("uk", "en"):
                    text = Refused(res, *details).errortxt(language)
                    self.assertTrue(text or res is Res.OK, res)

    def test_travels_between_processes(self) -> None:
        """A refusal that was pickled is read back with all its data."""
        refused = Refused(
            Res.BANK_MESSAGE, "ask", 1, "07", action=Action.REPEAT, aq_errortxt="ask the issuer", note="twice"
        )
        back = pickle.loads(pickle.dumps(refused))
        self.assertEqual(vars(back), vars(refused))
        self.assertEqual(str(back), str(refused))
