"""A key that an agent keeps: its protocol, the agent, and a register that signs by it."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from treq.testing import StubTreq
from twisted.internet.defer import Deferred, fail, succeed
from twisted.python import usage
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from dmtwisted.commands import signer as command
from dmtwisted.commands.servers import NotStarted
from dmtwisted.commands.signer import Agent, SignerOptions, signer_in, start, token_in
from dmtwisted.devices.driver import BadSettings
from dmtwisted.registers.agent_key import ASK_AGAIN_S, AgentKey
from dmtwisted.registers.keys import ISigningKey, SigningKey
from dmtwisted.registers.prro.register import to_agent
from dmtwisted.registers.prro.settings import PrroSettings
from dmtwisted.results import Refused, Res
from protocols.errors import NotReached, Silent
from protocols.fiscal import signing_agent
from protocols.fiscal.crypto.authority import Identity
from protocols.fiscal.crypto.certificates import KeyUsage
from protocols.fiscal.crypto.signer import BuiltInSigner
from protocols.fiscal.crypto.signing import sign
from protocols.fiscal.crypto.verifying import verify
from protocols.fiscal.signing_agent import AgentError, Failed, KeyTold, SignAsked, Signed
from protocols.fiscal.verdicts import Reply
from tests.prro_shop import TIN, PrroShop, container, keys
from tests.rights import OWNER_ONLY
from tests.shop import sale
from tests.test_simulate import Ports

TOKEN = "the token"


class MessageTests(SynchronousTestCase):
    """The words between register and agent."""

    def test_both_ways(self) -> None:
        """Each message is read as it was written; bytes travel in Base64."""
        for message in (KeyTold(protocol=1, certificate=b"\0"), SignAsked(b"x" * 9), Signed(b"\xff"), Failed("ні")):
            self.assertEqual(signing_agent.decode(signing_agent.encode(message), type(message)), message)
        self.assertEqual(signing_agent.encode(SignAsked(b"<?x")), b'{"content":"PD94"}')

    def test_wrong(self) -> None:
        """Any other answer is an error with a text, whatever its status."""
        for reply, said in (
            (Reply(200, {}, b"<html>"), "cannot be read"),
            (Reply(200, {}, b'{"message":5}'), "cannot be read"),
            (Reply(401, {}, b""), "token"),
            (Reply(500, {}, b'{"error":"the key was closed"}'), "the key was closed"),
            (Reply(502, {}, b"<html>"), "HTTP 502"),
        ):
            error = self.assertRaises(AgentError, signing_agent.read_answer, reply, Signed)
            self.assertIn(said, str(error))


class AgentTests(SynchronousTestCase):
    """``dmtwisted signer`` as it answers."""

    def setUp(self) -> None:
        """An agent with the cashier's key."""
        who = keys().cashier
        self.signer = BuiltInSigner(who.key, who.certificate)
        self.treq: Any = StubTreq(Agent(self.signer, TOKEN, self.aside))

    def aside(self, work: Any, *arguments: object) -> Deferred[bytes]:
        """Do it at once."""
        try:
            return succeed(work(*arguments))
        except Exception:
            return fail()

    def ask(self, method: str, path: str, body: bytes = b"", token: str = TOKEN) -> tuple[int, Any]:
        """Status and document of an answer."""
        headers = dict(signing_agent.headers(token))
        answer = self.successResultOf(self.treq.request(method, f"http://agent{path}", data=body, headers=headers))
        self.assertEqual(answer.headers.getRawHeaders(b"content-type"), [b"application/json"])
        return answer.code, json.loads(self.successResultOf(answer.content()))

    def test_key(self) -> None:
        """It says whose key it has, and never returns the key itself."""
        status, told = self.ask("GET", "/key")
        self.assertEqual((status, sorted(told)), (200, ["certificate", "protocol"]))
        raw = signing_agent.decode(json.dumps(told).encode(), KeyTold).certificate
        self.assertEqual(raw, self.signer.certificate.raw)

    def test_signs(self) -> None:
        """What it signs holds, around the very content."""
        status, told = self.ask("POST", "/sign", signing_agent.encode(SignAsked(b"a receipt")))
        message = signing_agent.decode(json.dumps(told).encode(), Signed).message
        verdict = verify(message, keys().authority._now, keys().authority.trust)
        self.assertEqual((status, verdict.content, verdict.faults), (200, b"a receipt", ()))

    def test_token(self) -> None:
        """Without the token a client gets nothing."""
        for token in ("", "other", TOKEN + "x"):
            for method, path in (("GET", "/key"), ("POST", "/sign")):
                self.assertEqual(self.ask(method, path, b"{}", token)[0], 401)

    def test_wrong_requests(self) -> None:
        """Other paths, other bodies and endless ones are errors with words."""
        for method, path, body, status in (
            ("GET", "/", b"", 404),
            ("GET", "/sign", b"", 404),
            ("POST", "/sign", b"<", 400),
            ("POST", "/sign", b'{"content":"?"}', 400),
            ("POST", "/sign", b" " * (signing_agent.MOST_BYTES + 1), 413),
        ):
            found, told = self.ask(method, path, body)
            self.assertEqual((found, list(told)), (status, ["error"]))

    def test_key_gone(self) -> None:
        """A signature that fails is 500 with the reason, and logged."""
        self.signer.close()
        status, told = self.ask("POST", "/sign", signing_agent.encode(SignAsked(b"x")))
        self.assertEqual((status, told["error"]), (500, "the key was closed"))
        self.assertEqual(len(self.flushLoggedErrors()), 1)


class CommandTests(SynchronousTestCase):
    """``dmtwisted signer`` as it starts."""

    def setUp(self) -> None:
        """A folder with a key file."""
        self.folder = Path(self.mktemp())
        self.folder.mkdir()
        self.file = self.folder / "key.p12"
        self.file.write_bytes(container(keys().cashier, "таємно"))
        self.patch(command, "datetime", _Then)
        self.patch(os, "environ", {**os.environ, command.PASSWORD: "таємно"})

    def options(self, *words: str) -> SignerOptions:
        """The options of these words, on a port that is free."""
        asked = SignerOptions()
        asked.parseOptions(["--key", str(self.file), "--token-file", str(self.folder / "token"), *words])
        return asked

    def test_refused_words(self) -> None:
        """A key is needed, and TLS beyond this machine."""
        self.assertRaises(usage.UsageError, SignerOptions().parseOptions, [])
        for place in ("0.0.0.0:3950", "192.168.1.5:1"):
            self.assertIn("--tls", str(self.assertRaises(usage.UsageError, self.options, "--listen", place)))

    def test_token(self) -> None:
        """The token is created once, readable only for its owner, and an empty one is refused."""
        file = self.folder / "token"
        token, made = token_in(file)
        self.assertTrue(made)
        self.assertGreaterEqual(len(token), 40)
        if os.name == "posix":
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), OWNER_ONLY)
        self.assertEqual(token_in(file), (token, False))
        file.write_text("\n", "utf-8")
        self.assertRaises(NotStarted, token_in, file)
        self.assertRaises(NotStarted, token_in, self.folder / "nowhere" / "token")

    def test_passwords(self) -> None:
        """The password comes from a file, the environment, or is asked for; a wrong one is reported."""
        password = self.folder / "password"
        password.write_text("таємно\nякась примітка\n", "utf-8")
        del os.environ[command.PASSWORD]
        asked: list[str] = []
        for options in (self.options("--password-file", str(password)), self.options()):
            signer = signer_in(options, lambda text: asked.append(text) or "таємно")  # type: ignore[func-returns-value]
            self.assertEqual(signer.facts.subject, "Олена Коваль")
        self.assertEqual(len(asked), 1)
        failed = self.assertRaises(NotStarted, signer_in, self.options(), lambda text: "інше")
        self.assertIn("password", str(failed))

    def test_certificates(self) -> None:
        """A file without certificates can use another one; a missing file and an expired key are reported."""
        self.file.write_bytes(keys().file(keys().cashier))
        self.assertRaises(NotStarted, signer_in, self.options())
        certificate = self.folder / "one.cer"
        certificate.write_bytes(keys().cashier.certificate.raw)
        self.assertEqual(signer_in(self.options("-c", str(certificate))).facts.subject, "Олена Коваль")
        ended = keys().authority.cashier("Касир", TIN, days=-0.5)
        self.file.write_bytes(container(ended, "таємно"))
        self.assertIn("ended", str(self.assertRaises(NotStarted, signer_in, self.options())))
        self.file.unlink()
        self.assertRaises(NotStarted, signer_in, self.options())

    def test_start(self) -> None:
        """It prints its address, the owner of the key and the file of the token; a port in use is reported."""
        reactor = Ports()
        line = start(self.options("--listen", "3950"), reactor)
        self.assertIn("Олена Коваль, until 2027-09-21, on http://127.0.0.1:3950, token created in", line)
        self.assertEqual(reactor.places, [("127.0.0.1", 3950)])
        reactor.advance(1_790_000_000)
        line = start(self.options("--listen", "0.0.0.0:3950", "--tls", str(self.folder / "tls")), reactor)
        self.assertIn("on https://0.0.0.0:3950", line)
        self.assertTrue((self.folder / "tls" / "authority.pem").exists())
        self.assertIn("9999", str(self.assertRaises(NotStarted, start, self.options("--listen", "9999"), reactor)))


class _Then:
    """The clock of these keys."""

    @staticmethod
    def now(zone: object) -> Any:
        """When the authority was made."""
        return keys().authority._now


class Line:
    """The way to an agent in memory, which may go wrong."""

    def __init__(self, who: Identity) -> None:
        self.who = self.told = who
        self.error: Exception | None = None
        self.reply: Reply | None = None
        self.content: bytes | None = None
        self.asked: list[str] = []

    async def __call__(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Carry one request."""
        self.asked.append(f"{method} {url}")
        if self.error is not None:
            raise self.error
        if headers["Authorization"] != f"Bearer {TOKEN}":
            return Reply(401, {}, b"")
        if self.reply is not None and method == "POST":
            return self.reply
        if method == "GET":
            return _reply(KeyTold(protocol=1, certificate=self.told.certificate.raw))
        content = signing_agent.decode(body, SignAsked).content if self.content is None else self.content
        return _reply(Signed(sign(content, self.who.key, self.who.certificate)))


def _reply(value: Any) -> Reply:
    return Reply(200, {}, signing_agent.encode(value))


class RegisterTests(SynchronousTestCase):
    """A register whose key an agent keeps."""

    def setUp(self) -> None:
        """A shop, an agent, and a register that knows it."""
        self.shop = PrroShop(self)
        self.shop.agent = self.line = Line(keys().cashier)
        dev_id = self.shop.core.devices.by_name("one").row.dev_id
        change = self.shop.core.devices.change(
            dev_id, None, {"signer_url": "https://agent:3950/", "signer_token": TOKEN}
        )
        self.shop.done(change)

    def do(self, task: int, tag: str = "", **members: Any) -> tuple[int, int, str]:
        """The answer to a task."""
        answer = self.shop.fiscal(task, tag, "one", **members)
        return answer["res"], answer["res_action"], answer["errortxt"]

    def sell(self, tag: str = "") -> tuple[int, int, str]:
        """The answer to a sale."""
        return self.do(1, tag, receipt=sale(50))

    def assertFails(self, said: str) -> None:
        """A sale is 1069 with ``said``, may be repeated, and nothing of it left."""
        before = self.shop.kinds()
        res, action, text = self.sell("a")
        self.assertEqual((res, action), (1069, 1), text)
        self.assertIn(said, text)
        self.assertEqual(self.shop.kinds(), before)

    def test_interface(self) -> None:
        """Both kinds of key are what the interface says."""
        verifyObject(ISigningKey, self.shop.built()._key)
        self.assertIsInstance(self.shop.built()._key, AgentKey)
        verifyObject(ISigningKey, self.shop.built("two")._key)
        self.assertIsInstance(self.shop.built("two")._key, SigningKey)

    def test_day(self) -> None:
        """A day is signed by the agent's key, offline documents and packages too."""
        self.assertEqual(self.do(0)[0], 0)
        self.assertEqual(self.sell()[0], 0)
        self.shop.done(self.shop.built().go_offline("uk"))
        self.assertEqual(self.sell()[0], 0)
        self.shop.done(self.shop.built().go_online("uk"))
        self.assertEqual(self.do(11)[0], 0)
        self.assertEqual(self.shop.kinds().count("sale"), 2)
        self.assertEqual(self.shop.taken()[1].head.cashier, "Олена Коваль")
        self.assertEqual(set(self.line.asked), {"GET https://agent:3950/key", "POST https://agent:3950/sign"})

    def test_away(self) -> None:
        """An agent that is away is 1069 with the reason; nothing was sent, and a repeat goes through once."""
        self.assertEqual(self.do(0)[0], 0)
        for error, said in ((NotReached("connection refused"), "відмовлено"), (Silent(10.0), "немає відповіді")):
            self.line.error = error
            self.assertFails(said)
        self.line.error = None
        self.assertEqual(self.sell("a")[0], 0)
        self.assertEqual(self.shop.kinds(), ["open", "sale"])

    def test_wrong_signatures(self) -> None:
        """What is not the very content, well signed, never leaves."""
        self.assertEqual(self.do(0)[0], 0)
        good = sign(b"x", keys().cashier.key, keys().cashier.certificate)
        self.line.content = b"something else"
        self.assertFails("щось інше")
        self.line.content = None
        for reply, said in (
            (_reply(Signed(good[:-1] + bytes([good[-1] ^ 1]))), "підпис неправильний"),
            (_reply(Signed(b"nothing")), "не читається"),
            (Reply(200, {}, b"<html>"), "не читається"),
            (Reply(500, {}, b'{"error":"no key"}'), "no key"),
            (Reply(401, {}, b""), "токен"),
        ):
            self.line.reply = reply
            self.assertFails(said)
        self.line.reply = None
        self.line.who = keys().authority.cashier("Касир", TIN, days=-0.5)
        self.assertFails("до 2026-09-20")
        self.line.who = keys().authority.issue("Касир", usage=KeyUsage.KEY_AGREEMENT, tax_number=TIN)
        self.assertFails("не для цього")

    def test_key_replaced(self) -> None:
        """Another key at the agent signs from the next shift on; the open shift can only be ended with it."""
        self.assertEqual(self.do(0)[0], 0)
        self.line.who = self.line.told = keys().other
        self.assertEqual(self.sell()[0], 1124)
        self.assertEqual(self.do(11)[0], 0)
        self.assertEqual((self.do(0)[0], self.sell()[0]), (0, 0))
        self.assertEqual(self.shop.taken()[-1].head.cashier, "Інший касир")

    def test_state(self) -> None:
        """The certificate is shown with the agent; an agent that is away is not asked again at each look."""
        told = self.shop.done(self.shop.built().state())
        self.assertEqual(told["key"]["agent"], "https://agent:3950")
        self.assertEqual((told["key"]["owner"], told["key_days_left"]), ("Олена Коваль", 365))
        self.assertEqual(told["signinfo"], "Олена Коваль, 21.09.2027")
        self.line.error = NotReached("away")
        self.shop.crash()
        asked = len(self.line.asked)
        for _ in range(3):
            self.assertIsNone(self.shop.done(self.shop.built().state())["key"])
        self.assertEqual(len(self.line.asked), asked)
        self.line.error = None
        self.shop.clock.advance(ASK_AGAIN_S)
        self.assertIsNotNone(self.shop.done(self.shop.built().state())["key"])

    def test_not_a_key(self) -> None:
        """An agent without a key for signatures, or of another version, is 1069."""
        self.shop.crash()
        key = self.shop.built()._key
        key._certificate = None
        self.line.told = keys().authority.issue("x", usage=KeyUsage.KEY_AGREEMENT)
        self.assertIn("не підписує", self.do(0)[2])

        async def later(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
            return _reply(KeyTold(protocol=2, certificate=b""))

        key._exchange = later
        self.assertIn("версією 2", self.do(0)[2])

    def test_no_upload(self) -> None:
        """A key cannot be loaded into the service while the settings name an agent."""
        loading = Deferred.fromCoroutine(self.shop.built().load_key(keys().file(keys().cashier), "", []))
        failure = self.failureResultOf(loading, Refused)
        assert isinstance(failure.value, Refused)
        self.assertIs(failure.value.res, Res.KEY_UNREADABLE)
        self.assertIn("https://agent:3950", str(failure.value))

    def test_settings(self) -> None:
        """The token is never returned; a malformed address, or one in the clear to another machine, is refused."""
        kept = self.shop.done(self.shop.store.devices())
        self.assertNotIn(TOKEN.encode(), b"".join(row.settings for row in kept))
        devices = self.shop.core.devices
        dev_id = devices.by_name("one").row.dev_id
        for url in ("agent:3950", "ftp://agent", "http://agent:3950", "https://[x", "https://агент"):
            change = Deferred.fromCoroutine(devices.change(dev_id, None, {"signer_url": url, "signer_token": TOKEN}))
            self.failureResultOf(change, BadSettings)
        self.shop.settings("one", signer_url="http://127.0.0.1:3950", signer_token=TOKEN)

    def test_another_agent(self) -> None:
        """The token does not follow another address or other roots; without an agent it is forgotten."""
        devices = self.shop.core.devices
        dev_id = devices.by_name("one").row.dev_id
        for change in ({"signer_url": "https://203.0.113.5:3950/"}, {"signer_ca": "-----BEGIN"}):
            refused = self.failureResultOf(Deferred.fromCoroutine(devices.change(dev_id, None, change)), BadSettings)
            self.assertIn("settings.signer_token", str(refused.value))
        self.assertEqual(self.do(0)[0], 0)
        self.shop.settings("one", signer_url="")
        self.shop.settings("one", signer_url="https://203.0.113.5:3950/")
        now: Any = devices.by_name("one").settings
        self.assertEqual(now.signer_token, "")

    def test_network(self) -> None:
        """Without an agent there is no connection to one."""
        self.assertIsNone(to_agent(PrroSettings(), None))  # type: ignore[arg-type]
