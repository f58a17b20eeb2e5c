"""Receipts reach their customers by e-mail, once unless the power fails, and nothing tells who they are."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from typing import Any, ClassVar

from twisted.internet.defer import Deferred
from twisted.logger import ILogObserver, globalLogPublisher
from twisted.test.iosim import FakeTransport
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from dmtwisted.devices.driver import BadSettings
from dmtwisted.diagnostics import gather
from dmtwisted.mail.service import CustomerPost
from dmtwisted.registers.customers import mail_address, phone_number
from dmtwisted.store.values import CHANGE, OperationQuery
from protocols.smtp import PATIENCE_S
from tests.mail_desk import LOGIN, MAIL, PASSWORD, MailServerDouble, MailShop, certificate, start_tls
from tests.shop import sale
from tests.test_lost_online import GONE, LostCase

TO = "olena.koval@customer.example.com"


class MailCase(SynchronousTestCase):
    """A shop that has e-mail."""

    settings: ClassVar[dict[str, Any]] = MAIL

    def setUp(self) -> None:
        """An open shift."""
        self.shop = MailShop(self)
        self.server = self.shop.server
        self.shop.configure(**self.settings)
        self.shop.open_shift()

    def now(self, work: Any) -> Any:
        """What ``work`` returns at once."""
        return self.successResultOf(Deferred.fromCoroutine(work))

    def warned(self, answer: dict[str, Any]) -> list[str]:
        """The texts of the warnings 3010 of a success."""
        self.assertEqual(answer["res"], 0)
        return [one["wtxt"].partition(": ")[2] for one in answer["warnings"] if one["code"] == 3010]

    def stored(self) -> bytes:
        """Everything of all operations that the store has."""
        found = self.now(self.shop.store.find_operations(OperationQuery()))
        rows = [self.now(self.shop.store.find(row.device_n, row.kind, row.key)) or row for row in found.operations]
        return repr(rows).encode()


class ReceiptTests(MailCase):
    """What arrives."""

    def test_sale(self) -> None:
        """A sale with an address goes out over TLS with a login: text, PDF and link; the answer warns of nothing."""
        answer = self.shop.sell_to("a", email=f" {TO} ")
        self.assertEqual(self.warned(answer), [])
        self.shop.post()
        [(to, content)] = self.server.taken
        self.assertEqual((to, self.server.heard, max(map(len, content.split(b"\r\n"))) < 100), (TO, [LOGIN], True))
        self.assertTrue(content.isascii())
        [mail] = self.server.mails
        number = answer["info"]["doccode"]
        self.assertEqual(mail["To"], TO)
        self.assertEqual(mail["From"], "Навчальна каса <receipts@shop.example.com>")
        self.assertEqual(mail["Subject"], f"Чек № {number}, Навчальна каса")
        self.assertEqual(mail["Date"].datetime.isoformat(), "2026-09-21T09:00:00+03:00")
        self.assertRegex(mail["Message-ID"], r"^<receipt\.[0-9a-f]{24}@shop\.example\.com>$")
        self.assertIsNone(mail["Reply-To"])
        body, attached = mail.iter_parts()
        text = body.get_content()
        self.assertIn(f"Перевірити чек: {answer['info']['qr']}", text)
        self.assertIn("Кава", text)
        self.assertIn("ТОВ «Навчальна крамниця»", text)
        self.assertEqual(attached.get_content_type(), "application/pdf")
        self.assertTrue(attached.get_content().startswith(b"%PDF-"))
        self.assertEqual((self.shop.left(), self.shop.left(dead=True)), ([], []))

    def test_every_document_of_a_customer(self) -> None:
        """Returns, withdrawals, income, expenses and stornos go out; the shop's own documents do not."""
        info = {"userinfo": {"email": TO}}

        def do(task: int, **members: Any) -> None:
            body = {"device": "test", "type": 1, "tag": f"t{task}", "fiscal": {"task": task, **members}, **info}
            self.assertEqual(self.shop.ask(body, "en")["res"], 0, task)
            self.shop.post()

        do(1, receipt=sale(100))
        do(2, receipt=sale(10))
        do(3, cash={"type": 0, "sum": 5})
        do(4, cash={"type": 0, "sum": 5})
        do(14, cash={"type": 2, "sum": 5, "rrn": "1", "paysys": "VISA", "cardmask": "4***1"})
        do(10)
        do(17)
        do(11)
        self.assertEqual(
            [mail["Subject"].partition(" №")[0] for mail in self.server.mails],
            ["Чек", "Чек повернення", "Чек видачі готівки", "Сторно чека"],
        )

    def test_named_by_the_shop(self) -> None:
        """Name and address for answers are the shop's, in any script; line breaks in names stay out of headers."""
        self.shop.configure(mail_name="Кав’ярня «Їжак»", mail_reply_to="kasa@кавярня.укр")
        self.shop.settings(shopname="Каса\nBcc: everybody@example.com")
        self.shop.sell_to(email=TO)
        self.shop.post()
        [mail] = self.server.mails
        self.assertEqual(mail["From"].addresses[0].display_name, "Кав’ярня «Їжак»")
        self.assertEqual(mail["Reply-To"], "kasa@xn--80aewoo3gc.xn--j1amh")
        self.assertIsNone(mail["Bcc"])
        self.assertIn("Каса Bcc: everybody@example.com", mail["Subject"])

    def test_in_the_language_of_the_shop(self) -> None:
        """The e-mail is in the language of the service, whatever the till asked for."""
        shop = MailShop(self, language="en")
        shop.configure(**MAIL)
        shop.open_shift()
        shop.sell_to(email=TO)
        shop.post()
        [mail] = shop.server.mails
        self.assertTrue(mail["Subject"].startswith("Receipt № "))

    def test_repeat(self) -> None:
        """A repeat of the tag sends nothing, whatever address it has."""
        first = self.shop.sell_to("a", email=TO)
        self.shop.post()
        again = self.shop.sell_to("a", email="other@example.com")
        self.shop.post(3600)
        self.assertEqual((again["info"], len(self.server.taken)), (first["info"], 1))

    def test_in_doubt(self) -> None:
        """A receipt whose answer was lost is mailed when it is known to be registered, and not before."""
        self.shop.scenario({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "unreachable", "times": 99})
        self.assertEqual(self.shop.sell_to("a", email=TO)["res_action"], 2)
        self.shop.post(600)
        self.assertEqual(self.server.taken, [])
        self.shop.crash()
        self.shop.scenario()
        self.assertEqual(self.shop.look_up("a")["res"], 0)
        self.shop.post()
        self.assertEqual([to for to, _ in self.server.taken], [TO])
        self.assertNotIn(TO.encode(), self.stored())

    def test_refused(self) -> None:
        """A receipt that is refused is not mailed, and its address is not kept."""
        self.shop.scenario({"on": "sale", "then": "refuse", "code": "1038"})
        self.assertEqual(self.shop.sell_to("a", email=TO)["res"], 1038)
        self.shop.post(60)
        self.assertEqual(self.server.taken, [])
        self.assertNotIn(TO.encode(), self.stored())

    def test_batch(self) -> None:
        """A receipt of batch mode is mailed, and its address is not kept after it."""
        shop = MailShop(self, whole=True)
        shop.configure(**MAIL)
        shop.open_shift()
        body = {"device": "test", "type": 1, "tag": "a", "fiscal": {"task": 1, "receipt": sale(10)}}
        receipt: Any = body["fiscal"]
        receipt["receipt"]["pays"] = [{"type": 2, "sum": 10}]
        asked = shop.core.dispatcher.execute(
            json.dumps({**body, "userinfo": {"email": TO, "phone": "+380501234567"}}).encode(), "en", batch=True
        )
        due = Deferred.fromCoroutine(asked)
        shop.post(60)
        self.assertEqual(json.loads(self.successResultOf(due))["res"], 0)
        shop.post()
        self.assertEqual([to for to, _ in shop.server.taken], [TO])
        found = self.now(shop.store.find_operations(OperationQuery(kinds=["pkg"])))
        self.assertEqual(len(found.operations), 1)
        kept = repr(found.operations) + b64encode(b"").decode()
        for secret in (TO, "380501234567"):
            self.assertNotIn(secret, kept)
            self.assertNotIn(b64encode(secret.encode()).decode()[2:-4], kept)


class FailureTests(MailCase):
    """What happens when it does not arrive."""

    def test_away(self) -> None:
        """While the mail server is away, sales go on, and their e-mails go out when it is back, also after a kill."""
        self.server.away = True
        self.shop.sell_to("a", email=TO)
        self.shop.post(60)
        [waiting] = self.shop.left()
        self.assertGreater(waiting.row.attempts, 2)
        self.shop.crash()
        self.server.away = False
        self.shop.post(300)
        self.assertEqual(([to for to, _ in self.server.taken], self.shop.left()), ([TO], []))

    def test_silent(self) -> None:
        """A mail server that says nothing is left after a minute."""
        self.shop.sell_to("a", email=TO)
        for _ in range(int(PATIENCE_S) + 1):
            self.shop.clock.advance(1)
        [waiting] = self.shop.left()
        self.assertEqual(waiting.row.why, "no answer in 60 s")

    def test_no_such_receiver(self) -> None:
        """A receiver that the server does not know is dead at once; others go on; a person may try again."""
        self.server.refused["RCPT"] = 550, f"<{TO}>: no such user"
        self.shop.sell_to("a", email=TO)
        self.shop.post()
        [dead] = self.shop.left(dead=True)
        self.assertEqual((dead.row.why, dead.to), ("550 <***>: no such user", "o***@customer.example.com"))
        del self.server.refused["RCPT"]
        self.shop.sell_to("b", email="b@example.com")
        self.shop.post()
        self.assertEqual([to for to, _ in self.server.taken], ["b@example.com"])
        self.assertTrue(self.now(self.shop.core.post.again(dead.row.n)))
        self.shop.core.outbox.posted()
        self.shop.post()
        self.assertEqual([to for to, _ in self.server.taken], ["b@example.com", TO])

    def test_who_is_at_fault(self) -> None:
        """A refused message is dead too; what concerns the server's login, sender or state is tried again."""
        for step, code, dies in (
            ("RCPT", 451, False),
            ("RCPT", 530, False),
            ("DATA", 554, True),
            ("DATA", 452, False),
            ("MAIL", 550, False),
        ):
            self.server.refused = {step: (code, "no")}
            self.shop.sell_to(email=TO)
            self.shop.post()
            [one] = self.shop.left(dead=dies)
            self.assertEqual((one.row.why, self.shop.left(dead=not dies)), (f"{code} no", []), step)
            self.now(self.shop.core.post.remove(one.row.n))
            self.assertEqual(self.shop.left(dead=dies), [], step)
        self.shop.configure(smtp_password="wrong")
        self.shop.sell_to(email=TO)
        self.shop.post()
        [one] = self.shop.left()
        self.assertTrue(one.row.why.startswith("535 "), one.row.why)
        self.assertEqual(self.server.taken, [])

    def test_cut_anywhere(self) -> None:
        """A dialogue that breaks off at any answer loses no e-mail, and repeats one only once it was sent."""
        broken = 0
        for answer in range(1, 10):
            for sent in (False, True):
                self.server.taken.clear()
                self.server.cut = answer, sent
                self.shop.sell_to(email=TO)
                self.shop.post(30)
                broken += self.server.cut is None
                ids = {mail["Message-ID"] for mail in self.server.mails}
                # The ninth answer is the one to the message.
                twice = answer == 9 and not sent
                self.assertEqual((len(ids), len(self.server.taken)), (1, 1 + twice), (answer, sent))
                self.assertEqual(self.server.taken[0], self.server.taken[-1])
        self.assertEqual(broken, 18)

    def test_stop(self) -> None:
        """A service that stops waits a few seconds for an e-mail under way; it goes out after the next start."""
        self.shop.sell_to(email=TO)
        stopped = Deferred.fromCoroutine(self.shop.core.close())
        self.assertNoResult(stopped)
        self.shop.clock.advance(5)
        self.successResultOf(stopped)
        self.shop.core = self.shop._open()
        self.shop.post(30)
        self.assertEqual(len(self.server.taken), 1)


class SecurityTests(MailCase):
    """Nothing leaves without TLS and the right certificate, unless the settings say so."""

    def test_certificate(self) -> None:
        """A server with the certificate of another name, or one that nobody trusts, gets neither login nor e-mail."""
        for other in (certificate("evil.example.com")[1], certificate.__wrapped__()[1]):
            self.server.certificate = other
            self.shop.sell_to(email=TO)
            self.shop.post()
        self.assertEqual((self.server.taken, self.server.heard, len(self.shop.left())), ([], [], 2))
        self.assertEqual(
            [one.row.why for one in self.shop.left()],
            ["the server has the certificate of another name", "TLS failed: certificate verify failed"],
        )

    def test_no_tls(self) -> None:
        """A server that offers no TLS gets nothing; with `plain` it does."""
        self.server.encrypts = False
        self.shop.sell_to(email=TO)
        self.shop.post()
        self.assertEqual((self.server.taken, self.server.heard), ([], []))
        self.assertIn("TLS", self.shop.left()[0].row.why)
        self.shop.configure(smtp_security="plain", smtp_password=PASSWORD)
        self.shop.post(30)
        self.assertEqual(([to for to, _ in self.server.taken], self.server.heard), ([TO], [LOGIN]))

    def test_tls_first(self) -> None:
        """With `tls` nothing is said before TLS."""
        self.shop.configure(smtp_security="tls", smtp_port=465, smtp_password=PASSWORD)
        self.server.tls_first = True
        self.shop.sell_to(email=TO)
        assert self.server.endpoint is not None
        self.server.endpoint.advance(5)
        self.assertEqual([to for to, _ in self.server.taken], [TO])
        self.assertEqual(self.server.endpoint.sent[0][:2], b"\x16\x03")

    def test_words_before_tls(self) -> None:
        """Words that somebody puts behind the answer to STARTTLS are not taken for the server's."""
        self.server.after_starttls = b"250 mail.example.com\r\n"
        self.shop.sell_to(email=TO)
        self.shop.post()
        self.assertIn("before TLS", self.shop.left()[0].row.why)

    def test_settings(self) -> None:
        """What cannot be right is refused, with the member's name; nothing is changed then."""
        for member, changes in (
            ("smtp_host", {"smtp_host": "a b"}),
            ("smtp_port", {"smtp_port": 0}),
            ("smtp_security", {"smtp_security": "none"}),
            ("smtp_security", {"smtp_security": "local"}),
            ("smtp_ca", {"smtp_ca": "ca.pem"}),
            ("mail_from", {"mail_from": "a@b@c.example"}),
            ("mail_from", {"mail_from": ""}),
            ("mail_reply_to", {"mail_reply_to": "x\r\nBcc: a@b.example"}),
            ("mail_days", {"mail_days": 0}),
            ("smtp_password", {"smtp_password": "x" * 1001}),
        ):
            before = self.shop.core.settings.now
            failure = self.failureResultOf(
                Deferred.fromCoroutine(self.shop.core.settings.change(changes)), BadSettings
            )
            self.assertEqual((failure.value.path, self.shop.core.settings.now), (member, before))
        self.shop.configure(smtp_host="127.0.0.1", smtp_security="local", smtp_password=PASSWORD)

    def test_password_stays_here(self) -> None:
        """The password follows its server: a changed address has to come with it, a removed one removes it."""
        for changes in (
            {"smtp_host": "evil.example.com"},
            {"smtp_port": 25},
            {"smtp_security": "plain"},
            {"smtp_ca": ""},
        ):
            failure = self.failureResultOf(
                Deferred.fromCoroutine(self.shop.core.settings.change(changes)), BadSettings
            )
            self.assertEqual(failure.value.path, "smtp_password")
        self.shop.configure(smtp_host="other.example.com", smtp_password="new")
        self.assertEqual(self.shop.core.settings.smtp_password, "new")
        self.shop.configure(mail_name="Крамниця", smtp_password="")
        self.assertEqual(self.shop.core.settings.smtp_password, "new")
        self.shop.configure(smtp_host="")
        self.assertEqual(self.shop.core.settings.smtp_password, "")


class AddressTests(MailCase):
    """One address of the right form, and nothing else."""

    def test_forms(self) -> None:
        """What a mail server takes is one address without a name; a domain may be in any script."""
        for good in ("a@b.example", "A.b+c'd@x-y.b.example", f"{'a' * 64}@b.example"):
            self.assertEqual(mail_address(good), good)
        self.assertEqual(mail_address("каса@магазин.укр"), "")
        self.assertEqual(mail_address("kasa@магазин.укр"), "kasa@xn--80aairftm.xn--j1amh")
        for bad in (
            *("", "a", "@b.example", "a@", "a@b", "a@b..example", ".a@b.example", "a.@b.example", "a..b@c.example"),
            *(
                "a@b.example,c@d.example",
                "a@b.example c@d.example",
                "<a@b.example>",
                "A <a@b.example>",
                '"a b"@c.example',
            ),
            *("a@b.example\r\nBcc: c@d.example", "a@b.example\n", "a\x00@b.example", "a@-b.example", "a@b-.example"),
            *(f"{'a' * 65}@b.example", f"a@{'b' * 60}.{'c' * 60}.{'d' * 60}.{'e' * 60}.{'f' * 20}.example"),
            *("a@[127.0.0.1]", "a%b@c.example@d.example", "a@b.exam ple"),
        ):
            self.assertEqual(mail_address(bad), "", bad)

    def test_phones(self) -> None:
        """A number is digits with a plus, however it is spaced."""
        self.assertEqual(phone_number("+38 (050) 123-45-67"), "+380501234567")
        for bad in ("", "123", "+38050123456789012", "050123456x", "++380501234567", "0501234567\r\n"):
            self.assertEqual(phone_number(bad), "", bad)

    def test_warned(self) -> None:
        """What is no address is warned of; the receipt is made all the same."""
        wrong = ["userinfo.email is no e-mail address"]
        for given in ("nobody", "a@b.example, c@d.example", 12, {"a": 1}, "x" * 300):
            self.assertEqual(self.warned(self.shop.sell_to(email=given)), wrong, given)
        answer = self.shop.ask(
            {"device": "test", "type": 1, "fiscal": {"task": 1, "receipt": sale(1)}, "userinfo": TO}, "en"
        )
        self.assertEqual(self.warned(answer), wrong)
        self.shop.post()
        self.assertEqual((self.server.taken, self.shop.left()), ([], []))

    def test_every_answer_of_a_form_is_safe(self) -> None:
        """An address that is taken cannot become a second header or command."""
        for sign in map(chr, range(0x3000)):
            taken = mail_address(f"a{sign}b@c{sign}d.example")
            self.assertTrue(re.fullmatch(r"[!-~]*", taken) and taken.count("@") in (0, 1) and "<" not in taken)


class NotSetUpTests(MailCase):
    """A service without e-mail."""

    settings: ClassVar[dict[str, Any]] = {}

    def test_warning(self) -> None:
        """What is asked for and not set up is warned of; the receipt is that of every sale, and nothing is stored."""
        answer = self.shop.sell_to("a", email=TO, phone="+380501234567")
        self.assertEqual(
            self.warned(answer),
            ["e-mail is not set up in the service", "no operator for telephone numbers is set up"],
        )
        self.shop.post()
        self.assertEqual((self.shop.left(), self.server.taken), ([], []))
        self.assertNotIn(TO.encode(), self.stored())

    def test_costs_nothing(self) -> None:
        """A sale without a customer asks the store exactly what it asked before."""
        asked: list[str] = []
        ask = self.shop.store._ask

        def recorded(verb: str, given: Any) -> Any:
            asked.append(verb)
            return ask(verb, given)

        self.patch(self.shop.store, "_ask", recorded)
        self.assertEqual(self.shop.sell()["res"], 0)
        self.assertEqual(asked, ["reserve", "conclude"])

    def test_set_up_later(self) -> None:
        """E-mail that is set up counts from the next receipt on, without a restart."""
        self.shop.configure(**MAIL)
        self.assertEqual(self.warned(self.shop.sell_to(email=TO)), [])
        self.shop.post()
        self.assertEqual(len(self.server.taken), 1)


class PrivacyTests(MailCase):
    """Who the customer is stays between the till, the mail server and the customer."""

    def test_not_kept(self) -> None:
        """When the e-mail is told, the address is nowhere in the store."""
        self.shop.sell_to("a", email=TO)
        self.shop.post()
        self.assertEqual(self.left_in_store(), [])

    def left_in_store(self) -> list[str]:
        """The tables that have the address."""
        db: Any = self.shop.store._db
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return [table for table in tables if TO in "".join(map(repr, db.execute(f"SELECT * FROM {table}")))]

    def test_never_told(self) -> None:
        """Neither log nor bundle nor journal of changes nor answer has the address, whatever fails."""
        lines: list[str] = []

        @implementer(ILogObserver)
        def keep(event: Any) -> None:
            lines.append(repr(event))

        globalLogPublisher.addObserver(keep)
        self.addCleanup(globalLogPublisher.removeObserver, keep)
        self.server.refused["RCPT"] = 550, f"<{TO.upper()}> unknown"
        answers = [self.shop.sell_to("a", email=TO)]
        self.shop.post()
        self.server.refused["RCPT"] = 451, f"{TO} later"
        answers.append(self.shop.sell_to("b", email=TO, phone="+380501234567"))
        self.shop.post(100)
        self.server.away = True
        answers.append(self.shop.sell_to("c", email=TO))
        self.shop.post(100)
        changes = self.now(self.shop.store.find_operations(OperationQuery(kinds=[CHANGE])))
        bundle = self.now(gather(self.shop.core))
        shown = [*self.shop.left(), *self.shop.left(dead=True)]
        told = repr([lines, answers, changes, bundle, [(one.to, one.row.why) for one in shown]]).lower()
        self.assertEqual(len(shown), 3)
        for secret in ("olena.koval", "380501234567", PASSWORD):
            self.assertNotIn(secret, told)

    def test_old(self) -> None:
        """What cannot be told is removed after `mail_days`, or with the receipts if that is earlier."""
        self.server.away = True
        self.shop.configure(mail_days=3)
        self.shop.sell_to("a", email=TO)
        self.shop.clock.advance(2 * 86400)
        self.now(self.shop.core.post.forget_old())
        self.assertEqual(len(self.shop.left()), 1)
        self.shop.clock.advance(1.1 * 86400)
        self.now(self.shop.core.post.forget_old())
        self.assertEqual(self.shop.left(), [])


class OfflineTests(LostCase):
    """Receipts of a register at the tax service that goes offline."""

    def setUp(self) -> None:
        """With e-mail."""
        super().setUp()
        self.server = MailServerDouble()
        self.patch(FakeTransport, "startTLS", start_tls)
        self.patch(CustomerPost, "line", staticmethod(self.server.line(self.shop.clock)))
        self.shop.done(self.shop.core.settings.change(MAIL))

    def sell(self, amount: float, tag: str) -> dict[str, Any]:
        """The answer to a sale with a customer."""
        fiscal = {"task": 1, "receipt": sale(amount)}
        body = {"device": "one", "type": 1, "tag": tag, "fiscal": fiscal, "userinfo": {"email": f"{tag}@c.example"}}
        return self.shop.ask(body)

    def came(self) -> list[tuple[str, str]]:
        """Receiver and subject of every e-mail."""
        self.server.flush()
        return [(mail["To"], mail["Subject"].split(",")[0]) for mail in self.server.mails]

    def test_offline(self) -> None:
        """A receipt that is made offline is mailed at once, with its offline number and link, and not again later."""
        self.shop.rules(*GONE)
        answer = self.told(self.sell(50, "a"))
        self.assertTrue(answer["info"]["isoffline"])
        sent = [("a@c.example", f"Чек № {answer['info']['doccode']}")]
        self.assertEqual(self.came(), sent)
        self.assertIn(answer["info"]["qr"], next(self.server.mails[0].iter_parts()).get_content())
        self.assertEqual(self.home(), 0)
        self.shop.clock.advance(600)
        self.assertEqual(self.came(), sent)

    def test_made_again(self) -> None:
        """A lost receipt that is made again offline is mailed once, with the number that counts."""
        for arrived in (True, False):
            self.setUp()
            self.lose(arrived)
            self.assertEqual(self.came(), [])
            second = self.told(self.sell(20, "b"))
            first = self.told(self.shop.look_up("a", "one"))
            numbers = [answer["info"]["doccode"] for answer in (first, second)]
            self.assertTrue(first["info"]["isoffline"])
            self.assertEqual(
                self.came(), [("a@c.example", f"Чек № {numbers[0]}"), ("b@c.example", f"Чек № {numbers[1]}")]
            )
            found = self.shop.done(self.shop.store.find_operations(OperationQuery()))
            self.assertNotIn("c.example", repr(found))
            states = self.shop.done(self.shop.store.register_state(self.shop.core.devices.by_name("one").row.n))
            self.assertNotIn(b"c.example", states)
