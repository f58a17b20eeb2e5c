"""What has not reached its customer, for pages and programs; telephone numbers for an operator."""

from __future__ import annotations

from typing import Any

from tests.mail_desk import MAIL, MailShop
from tests.test_events import EVENTS, Stream
from tests.web_case import WebCase
from web.site import Door

LETTERS = "/dm/api/v3/mail"
PAGE = "/dm/main/settings/mail"
SETTINGS = "/dm/main/api/v1/settings"
TO, NUMBER = "olena.koval@customer.example.com", "+380501234567"
EN = [("Accept-Language", "en")]


class MailWebCase(WebCase):
    """A shop with e-mail, over HTTP."""

    def setUp(self) -> None:
        """An open shift."""
        self.shop: MailShop = MailShop(self)
        self.server = self.shop.server
        self.door = Door(self.shop.core)
        self.shop.configure(**MAIL)
        self.shop.open_shift()

    def letters(self) -> list[dict[str, Any]]:
        """The letters of the interface."""
        found: list[dict[str, Any]] = self.request("GET", LETTERS, headers=EN).json["letters"]
        return found


class LetterTests(MailWebCase):
    """``/dm/api/v3/mail``"""

    def test_dead(self) -> None:
        """A dead letter is listed with a masked address and the reason; it is tried again, or removed."""
        self.server.refused["RCPT"] = 550, f"{TO}: no such user"
        answers = [self.shop.sell_to(tag, email=TO) for tag in "ab"]
        self.shop.post()
        first, second = self.letters()
        self.assertEqual(
            {
                name: first[name]
                for name in ("kind", "device", "fiscal_number", "to", "dead", "attempts", "next", "why")
            },
            {
                "kind": "mail",
                "device": "test",
                "fiscal_number": answers[0]["info"]["doccode"],
                "to": "o***@customer.example.com",
                "dead": True,
                "attempts": 1,
                "next": "",
                "why": "550 ***: no such user",
            },
        )
        page = self.request("GET", PAGE).body.decode()
        for shown in ("o***@customer.example.com", "550 ***: no such user", f'data-retry="{first["id"]}"'):
            self.assertIn(shown, page)
        self.assertNotIn("olena", page)
        self.server.refused.clear()
        self.assertEqual(self.request("POST", f"{LETTERS}/{first['id']}/retry", {}).status, 200)
        self.shop.post()
        self.assertEqual(len(self.server.taken), 1)
        self.assertEqual(self.request("DELETE", f"{LETTERS}/{second['id']}").status, 204)
        self.assertEqual((self.letters(), len(self.server.taken)), ([], 1))
        for gone in (
            self.request("POST", f"{LETTERS}/{first['id']}/retry", {}),
            self.request("DELETE", f"{LETTERS}/{second['id']}"),
        ):
            self.assertEqual(gone.status, 404)

    def test_waiting(self) -> None:
        """A letter that waits says when it is tried next, and why it was not taken; it can be tried at once."""
        self.server.away = True
        self.shop.sell_to(email=TO)
        self.shop.post()
        [waiting] = self.letters()
        self.assertEqual((waiting["dead"], waiting["attempts"], len(waiting["next"])), (False, 1, 17))
        self.assertIn("the mail server is not reached", waiting["why"])
        uk = self.request("GET", LETTERS, headers=[("Accept-Language", "uk")]).json["letters"][0]["why"]
        self.assertIn("поштовий сервер недоступний", uk)
        self.server.away = False
        self.request("POST", f"{LETTERS}/{waiting['id']}/retry", {})
        self.shop.post()
        self.assertEqual((self.letters(), len(self.server.taken)), ([], 1))

    def test_try_out(self) -> None:
        """A test mail goes out with the settings as they are, and its failure is told in words."""

        def tried(to: object) -> Any:
            connection = self.connect()
            connection.ask("POST", f"{LETTERS}/test", f'{{"to": "{to}"}}'.encode(), EN)
            self.shop.post(2)
            [answer] = connection.answers()
            return answer.status, answer.json

        self.assertEqual(tried("me@shop.example.com"), (200, {"sent": True, "why": ""}))
        [mail] = self.server.mails
        self.assertEqual((mail["To"], mail["Subject"]), ("me@shop.example.com", "Пробний лист"))
        self.server.away = True
        status, answer = tried("me@shop.example.com")
        self.assertEqual((status, answer["sent"]), (200, False))
        self.assertIn("not reached", answer["why"])
        self.assertEqual(tried("nobody")[0], 422)
        self.shop.configure(smtp_host="")
        self.assertEqual(tried("me@shop.example.com")[1]["why"], "e-mail is not set up in the service")


class SettingsTests(MailWebCase):
    """The mail server in the settings of the service."""

    def test_no_secret(self) -> None:
        """Neither the settings nor the page show the password; an empty one keeps it."""
        settings = self.request("GET", SETTINGS).json
        self.assertEqual((settings["smtp_host"], settings["smtp_password"]), (MAIL["smtp_host"], ""))
        for path in (PAGE, SETTINGS, "/dm/main/settings/changes", "/dm/api/v3/changes"):
            body = self.request("GET", path).body.decode()
            self.assertNotIn(MAIL["smtp_password"], body, path)
            self.assertNotIn(self.shop.core.settings.now.smtp_password, body, path)
        self.assertEqual(self.request("POST", SETTINGS, {**settings, "mail_name": "Їжак"}).json["res"], 0)
        self.assertEqual(self.shop.core.settings.smtp_password, MAIL["smtp_password"])

    def test_another_server(self) -> None:
        """A changed server without the password is refused, and says which member is missing."""
        answer = self.request("POST", SETTINGS, {"smtp_host": "evil.example.com"}, headers=EN).json
        self.assertIn("smtp_password: the address is another one now", answer["errortxt"])
        self.assertEqual(self.shop.core.settings.now.smtp_host, MAIL["smtp_host"])


class PhoneTests(MailWebCase):
    """Telephone numbers."""

    def setUp(self) -> None:
        """A shop that gives numbers to an operator."""
        super().setUp()
        self.shop.configure(phone_events=True)

    def told(self, stream: Stream) -> list[Any]:
        """The numbers on a stream."""
        return [data for _, kind, data in stream.events() if kind == "receipt_phone"]

    def test_operator(self) -> None:
        """A number goes to the operator alone, with what is needed to tell the customer of the receipt."""
        operator, page = Stream(self, path=f"{EVENTS}?phones=1"), Stream(self)
        answer = self.shop.sell_to(phone="050 123-45-67")
        [told] = self.told(operator)
        self.assertEqual(
            told,
            {
                "device": "test",
                "phone": "0501234567",
                "kind": "sale",
                "fiscal_number": answer["info"]["doccode"],
                "sum": "100.00",
                "qr": answer["info"]["qr"],
            },
        )
        self.assertNotIn("0501234567", page.text())
        self.assertEqual((answer["warnings"], self.letters()), ([], []))

    def test_waits(self) -> None:
        """While no operator listens, the number waits; whoever comes gets it at once, and once."""
        self.shop.sell_to(phone=NUMBER)
        Stream(self)
        self.shop.post(100)
        [waiting] = self.letters()
        self.assertEqual((waiting["kind"], waiting["to"]), ("phone", "***67"))
        operator = Stream(self, path=f"{EVENTS}?phones=1")
        self.assertEqual([told["phone"] for told in self.told(operator)], [NUMBER])
        operator.hang_up()
        self.assertEqual(self.told(Stream(self, path=f"{EVENTS}?phones=1")), [])
        self.assertEqual(self.letters(), [])

    def test_slow_operator(self) -> None:
        """An operator that takes no bytes does not lose a number."""
        operator = Stream(self, path=f"{EVENTS}?phones=1")
        assert operator.transport.producer is not None
        operator.transport.producer.pauseProducing()
        self.shop.sell_to(phone=NUMBER)
        self.assertEqual(len(self.letters()), 1)
        operator.transport.producer.resumeProducing()
        self.shop.post(20)
        self.assertEqual([told["phone"] for told in self.told(operator)], [NUMBER])


class ReceiptMailTests(MailWebCase):
    """``POST /dm/api/v3/receipts/{dev_id}/{number}/mail``"""

    def send(self, number: int = 2, to: object = TO) -> Any:
        """The answer to an order to send a receipt."""
        path = f"/dm/api/v3/receipts/{self.dev_id}/{number}/mail"
        return self.request("POST", path, {"to": to}, headers=EN)

    def test_sent(self) -> None:
        """A stored receipt is sent to the address that is given, whole and once; the journal of changes names it."""
        code = self.sell("sale-1")["info"]["doccode"]
        answer = self.send()
        self.assertEqual(
            (answer.status, answer.json), (200, {"to": "o***@customer.example.com", "fiscal_number": code})
        )
        self.shop.post()
        [(to, message)] = self.server.taken
        self.assertIn(TO, to)
        self.assertIn(code.replace("_", "-").encode() + b".pdf", message)
        self.assertEqual(self.letters(), [])
        change = self.request("GET", "/dm/api/v3/changes").json["changes"][0]
        self.assertEqual((change["kind"], change["subject"]), ("mail", code))
        self.assertNotIn("olena", str(change))

    def test_kept(self) -> None:
        """While the mail server is away the letter waits, and a power cut does not lose it."""
        self.sell("sale-1")
        self.server.away = True
        self.send()
        self.shop.post()
        self.assertEqual([one["dead"] for one in self.letters()], [False])

    def test_refused(self) -> None:
        """A wrong address, a document that no customer gets, no document, and no mail server are refused."""
        self.sell("sale-1")
        self.assertEqual(self.send(to="nobody").status, 422)
        self.assertEqual(self.send(1).status, 404)
        self.assertEqual(self.send(77).status, 404)
        self.shop.configure(smtp_host="")
        answer = self.send()
        self.assertEqual(answer.status, 409)
        self.assertIn("e-mail is not set up", answer.body.decode())
        self.assertEqual((self.letters(), self.server.taken), ([], []))
