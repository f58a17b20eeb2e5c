"""Everything that must be hidden is hidden, and nothing else."""

from __future__ import annotations

import random

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.security import is_secret, luhn, mask_cards, mask_pan, mask_secrets

CARDS = {
    "4222222222222": "422222***2222",
    "378282246310005": "378282*****0005",
    "4111111111111111": "411111******1111",
    "5555555555554444": "555555******4444",
    "9804000000000009": "980400******0009",
    "6304000000000000000": "630400*********0000",
}
"""Test numbers of payment systems, or made-up numbers with a right check digit."""


class MaskPanTests(SynchronousTestCase):
    """A card number that a caller passes in."""

    def test_first_six_and_last_four(self) -> None:
        """A card number keeps its first six and last four digits, at any length."""
        for card, masked in CARDS.items():
            self.assertEqual(mask_pan(card), masked)

    def test_shortest(self) -> None:
        """Twelve digits are a card number too."""
        self.assertEqual(mask_pan("500000000611"), "500000**0611")

    def test_check_digit_does_not_matter(self) -> None:
        """A number in the place of a card number is masked even if its check digit is wrong."""
        self.assertEqual(mask_pan("4111111111111112"), "411111******1112")

    def test_separators(self) -> None:
        """Spaces and dashes are removed, so that the mask is the same however the number was written."""
        for spelled in (
            *("4111 1111 1111 1111", "4111-1111-1111-1111", " 41111111 11111111 ", "4111.1111/1111,1111"),
            *("４１１１１１１１１１１１１１１１", "4111\u200b1111\u200b1111\u200b1111"),
        ):
            self.assertEqual(mask_pan(spelled), "411111******1111")

    def test_masked_already(self) -> None:
        """A mask stays unchanged."""
        for mask in (
            "411111******1111",
            "4111 11** **** 1111",
            "411111XXXXXX1111",
            "41111111****1111",
            "*1111",
        ):
            self.assertEqual(mask_pan(mask), mask)

    def test_masked_too_little(self) -> None:
        """A mask that shows too many digits is completed."""
        self.assertEqual(mask_pan("411111111111*111"), "411111*******111")
        self.assertEqual(mask_pan("4111111111111X11"), "411111******1X11")

    def test_no_card_number(self) -> None:
        """A number of fewer than twelve digits stays unchanged."""
        for text in ("", "cash", "12345678901", "**** 1111"):
            self.assertEqual(mask_pan(text), text)

    def test_twice(self) -> None:
        """Masking a mask changes nothing."""
        for card in CARDS:
            self.assertEqual(mask_pan(mask_pan(card)), mask_pan(card))


class MaskCardsTests(SynchronousTestCase):
    """Card numbers in free text."""

    def test_in_a_sentence(self) -> None:
        """A card number of 13 to 19 digits is masked, and the words around it stay."""
        for card, masked in CARDS.items():
            self.assertEqual(mask_cards(f"card {card}, paid"), f"card {masked}, paid")

    def test_alone_and_next_to_letters(self) -> None:
        """Letters, punctuation and the ends of the text do not hide a card number: tracks, JSON, addresses."""
        for form in ("{}", ";{}=2512", "B{}^NAME", '{{"pan":"{}"}}', "/pay/{}/", "{}.", "\n{}\t", "я{}ї"):
            text = form.format("4111111111111111")
            self.assertEqual(mask_cards(text), form.format("411111******1111"))

    def test_groups(self) -> None:
        """A card number in groups, with single spaces or dashes, keeps them and loses its middle."""
        for spelled, masked in (
            ("4111 1111 1111 1111", "4111 11** **** 1111"),
            ("4111-1111-1111-1111", "4111-11**-****-1111"),
            ("3782 822463 10005", "3782 82**** *0005"),
            ("411111 1111111111", "411111 ******1111"),
        ):
            self.assertEqual(mask_cards(f"card {spelled} paid"), f"card {masked} paid")

    def test_neighbours(self) -> None:
        """Numbers before and after a card number do not hide it."""
        for text in ("till 12345 4111111111111111 12550", "123 4111 1111 1111 1111 4567 8901 2345 6789"):
            masked = mask_cards(text)
            self.assertNotIn("111111111", masked.replace(" ", ""))
            self.assertEqual(len(masked), len(text))

    def test_several(self) -> None:
        """Every card number of a text is masked."""
        self.assertEqual(mask_cards("4111111111111111, 5555555555554444"), "411111******1111, 555555******4444")

    def test_wrong_check_digit(self) -> None:
        """A number with a wrong check digit is not a card number."""
        self.assertEqual(mask_cards("4111111111111112"), "4111111111111112")

    def test_longer_run(self) -> None:
        """Digits within a longer number are not a card number."""
        for text in ("41111111111111110000", "00004111111111111111"):
            self.assertEqual(mask_cards(text), text)

    def test_other_numbers(self) -> None:
        """RRNs, amounts, dates, phone numbers and bytes in hex stay readable."""
        for text in (
            "rrn 123456789012 auth 123456 sum 12550",
            "2026-11-21 10:15:02.123",
            "21-11-2026 10-15-02 2026",
            "+380 67 123 45 67",
            "02 00 0d 50 30 30 30 30 30 30 30 31 32 33 34 35 5c",
            "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
            "192.168.100.202:3939",
            "2026/11/21, 10:15:02; 12 550,00 + 4 820,00 = 17 370,00",
            "3f2a9c01-4111-4111-8111-111111111111",
            "4820012345670",
            "100% of 4000000001, &amp; \\path\\4000000002",
        ):
            self.assertEqual(mask_cards(text), text)

    def test_digits_of_other_scripts(self) -> None:
        """Digits of any script make a card number: full-width, Arabic, raised, circled."""
        for zero in "０٠०𝟎":
            spelled = "".join(chr(ord(zero) + int(digit)) for digit in "4111111111111111")
            self.assertEqual(mask_cards(f"card {spelled}."), f"card {spelled[:6]}******{spelled[-4:]}.")
        self.assertEqual(mask_cards("⁴¹¹¹①①①①①①①①₁₁₁₁"), "⁴¹¹¹①①******₁₁₁₁")

    def test_signs_between(self) -> None:
        """Dots, slashes, commas, blanks and dashes of any kind hide no card number, up to three at a place."""
        for sign in (
            *("  ", ".", ",", ", ", "/", " / ", "_", ":", ";", "|", "\t", "\\", "+", " - ", "..."),
            *("\u00a0", "\u2009", "\u3000", "–", "—", "\u2212", "－", "．", "／", "·", "'", "’"),
        ):
            spelled = sign.join(("4111", "1111", "1111", "1111"))
            self.assertEqual(
                mask_cards(f"card {spelled} paid"), f"card {sign.join(('4111', '11**', '****', '1111'))} paid"
            )

    def test_unseen_signs(self) -> None:
        """Signs that nobody sees do not hide a card number, wherever and however many they are."""
        for sign in ("\u200b", "\u200d\u2060", "\ufeff", "\u00ad", "\u0301", "\u202e", "\U000e0030", "\u200b" * 9):
            for size in (1, 2, 4):
                card = "4111111111111111"
                spelled = sign.join(card[at : at + size] for at in range(0, 16, size))
                masked = mask_cards(f"card {spelled} paid").replace(sign, "")
                self.assertEqual(masked, "card 411111******1111 paid", (sign, size))

    def test_codes(self) -> None:
        """A card number in the codes of addresses, pages and programs is masked, and nothing unseen comes out."""
        for spelled in (
            "4111%201111%201111%201111",
            "%34%31%31%31%20%31111%201111%201111",
            "4111&nbsp;1111&#160;1111&#xA0;1111",
            "&#52;111 1111 1111 1111",
            "4111\\u200b1111\\u200b1111\\u200b1111",
            "4111\\xa01111\\xa01111\\xa01111",
            "4111%E2%80%8B1111%E2%80%8B1111%E2%80%8B1111",
        ):
            masked = mask_cards(f"card {spelled} %0A paid")
            self.assertIn("1111 ", masked)
            self.assertIn("****", masked, spelled)
            self.assertTrue(masked.isprintable())

    def test_every_grouping(self) -> None:
        """However a card number is cut into groups of three or more, its middle is never shown completely."""
        chance = random.Random(7)
        for _ in range(2000):
            body = "".join(chance.choices("0123456789", k=chance.randrange(12, 19)))
            card = next(body + digit for digit in "0123456789" if luhn(body + digit))
            cuts, at = [], 0
            while len(card) - at >= 6 and chance.random() < 0.8:
                size = chance.randrange(3, len(card) - at - 2)
                cuts.append(card[at : at + size])
                at += size
            spelled = chance.choice(" -").join([*cuts, card[at:]])
            masked = mask_cards(f"a {spelled} b")[2:-2]
            digits = masked.replace(" ", "").replace("-", "")
            self.assertEqual(digits, card[:6] + "*" * (len(card) - 10) + card[-4:], spelled)

    def test_long_texts(self) -> None:
        """A text of only digit groups is read once, not once for each pair of groups."""
        text = "1234 " * 20000
        self.assertEqual(len(mask_cards(text)), len(text))


class LuhnTests(SynchronousTestCase):
    """The check digit."""

    def test_right_and_wrong(self) -> None:
        """Of the ten possible last digits exactly one is right."""
        for card in CARDS:
            self.assertEqual([digit for digit in "0123456789" if luhn(card[:-1] + digit)], [card[-1]])


class MaskSecretsTests(SynchronousTestCase):
    """Members whose names say that they are secret."""

    def test_names(self) -> None:
        """Passwords, keys, tokens and cookies are secret, in any case of letters."""
        for name in (
            *("password", "pass", "usr_pass", "usr_confpass", "passphrase", "key", "token", "secret"),
            *("x-api-key", "X-API-Key", "cookie", "Set-Cookie", "DMUIToken", "Authorization", "PASSWORD"),
            *("api_key", "apiKey", "private_key", "key_password", "client_secret", "access_token", "cvv2"),
        ):
            self.assertTrue(is_secret(name), name)

    def test_other_names(self) -> None:
        """Names that only contain such a word are not secret."""
        for name in (
            *("keyboard", "monkey", "compass", "passed", "tag", "device", "sum", "login", "", "rrn"),
            *("cardmask", "auth_code", "spin", "pay"),
        ):
            self.assertFalse(is_secret(name), name)

    def test_every_depth(self) -> None:
        """Secrets are hidden in objects and arrays at every depth, and the rest is equal."""
        value = {
            "name": "a",
            "list": [{"usr_pass": "x"}, ({"KEY": [1]},)],
            "tls": {"passphrase": ""},
            "n": None,
        }
        self.assertEqual(
            mask_secrets(value),
            {
                "name": "a",
                "list": [{"usr_pass": "***"}, ({"KEY": "***"},)],
                "tls": {"passphrase": "***"},
                "n": None,
            },
        )

    def test_copy(self) -> None:
        """The given value is not changed."""
        value = {"deep": [{"pass": "x"}]}
        mask_secrets(value)
        self.assertEqual(value, {"deep": [{"pass": "x"}]})

    def test_headers(self) -> None:
        """Names may be bytes, as in HTTP headers, or other objects."""
        self.assertEqual(mask_secrets({b"Cookie": [b"a"], 7: "b"}), {b"Cookie": "***", 7: "b"})

    def test_plain_values(self) -> None:
        """A value without members is returned unchanged."""
        for value in ("password", 5, None, 1.5, True):
            self.assertIs(mask_secrets(value), value)
