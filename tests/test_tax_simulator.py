"""The simulated tax service as a command: its keys, its control port, what it records and plays again."""

from __future__ import annotations

import base64
import json
import os
import stat
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from twisted.internet.defer import Deferred
from twisted.python import usage
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.commands import simulate
from dmtwisted.commands.servers import NotStarted
from dmtwisted.commands.simulate import SimulateOptions
from protocols.fiscal import packages
from protocols.fiscal.client import FiscalServer as Client
from protocols.fiscal.crypto import der, oids
from protocols.fiscal.crypto.authority import Authority
from protocols.fiscal.crypto.certificates import read_certificate, read_certificates
from protocols.fiscal.crypto.errors import Malformed
from protocols.fiscal.crypto.signed_message import read
from protocols.fiscal.crypto.signer import BuiltInSigner, open_signer
from protocols.fiscal.crypto.signing import sign
from protocols.fiscal.crypto.trust import Trust
from protocols.fiscal.crypto.verifying import verify
from protocols.fiscal.document_xml import Document, decode, encode
from protocols.fiscal.error_codes import Code
from protocols.fiscal.https import HttpsExchange, ServerEndpoints, roots_in
from protocols.fiscal.signatures import Signed, WrongSignature
from protocols.fiscal.verdicts import Accepted, Answered, PackageTaken, Refused, Unknown
from protocols.simulators.fiscal_in_process import InProcessExchange
from protocols.simulators.fiscal_keys import (
    KINDS,
    PASSWORD,
    Cashier,
    fresh_keys,
    open_keys,
    write_cashier,
)
from protocols.simulators.fiscal_recording import Beginning, Granted, NoRecording, replay
from protocols.simulators.fiscal_register import Registration
from protocols.simulators.fiscal_site import FiscalSite
from tests.fiscal_papers import KYIV, REGISTER, TIN, Shop
from tests.rights import OWNER_ONLY
from tests.test_fiscal_https import Noting
from tests.test_simulate import NOON, Simulation, options
from tests.vectors.fiscal_crypto import COMMAND_MESSAGE, OFFLINE_PACKAGE

NOW = NOON.astimezone(UTC)


def identity_of(folder: Path, file: str = "cashier.p12", password: str = PASSWORD) -> Any:
    """The signer in a key file."""
    return open_signer((folder / file).read_bytes(), password)


@cache
def made() -> tuple[dict[str, bytes], BuiltInSigner]:
    """The files of a folder of keys, and the cashier's signer: made once for all tests that need no others."""
    with TemporaryDirectory() as folder:
        open_keys(Path(folder), NOW)
        return {file.name: file.read_bytes() for file in Path(folder).iterdir()}, identity_of(Path(folder))


class KeysTests(SynchronousTestCase):
    """The folder of keys."""

    def setUp(self) -> None:
        """A folder that is not there yet."""
        self.folder = Path(self.mktemp())

    def test_made_once(self) -> None:
        """Missing keys are created, are closed to other users, and stay the same."""
        keys, made = open_keys(self.folder, NOW)
        self.assertTrue(made)
        for name in ("root.key", "server.key", "cashier.p12"):
            if os.name == "posix":
                self.assertEqual(stat.S_IMODE((self.folder / name).stat().st_mode), OWNER_ONLY)
        again, made = open_keys(self.folder, NOW)
        self.assertFalse(made)
        self.assertEqual(again.server, keys.server)
        self.assertEqual(again.authority.root, keys.authority.root)
        (anchor,) = read_certificates((self.folder / "root.cer").read_bytes())
        self.assertEqual(verify(again.seal(b"a ticket"), NOW, Trust([anchor])).faults, ())

    def test_cashier(self) -> None:
        """What a cashier signs with the file that was made the server opens, and knows whose it is."""
        keys, _ = open_keys(self.folder, NOW)
        signer = identity_of(self.folder)
        opened = keys.open(signer.sign(b"a receipt"), NOW)
        self.assertEqual(
            (opened.content, opened.key, opened.name), (b"a receipt", signer.facts.key_id, "Олена Коваль")
        )
        self.assertEqual(signer.facts.tax_number, TIN)
        self.assertEqual(read_certificate((self.folder / "cashier.cer").read_bytes()), signer.certificate)

    def test_unknown_signers(self) -> None:
        """An unknown signer, a changed text, two signatures, and one without a wanted stamp are refused."""
        keys, _ = open_keys(self.folder, NOW)
        unknown = Authority(NOW).cashier("Чужий", TIN)
        good = identity_of(self.folder).sign(b"a receipt")
        for message in (
            sign(b"x", unknown.key, unknown.certificate),
            good.replace(b"a receipt", b"a deceipt"),
            b"a receipt",
        ):
            self.assertRaises(WrongSignature, keys.open, message, NOW)
        self.assertIn("time stamp", str(self.assertRaises(WrongSignature, keys.open, good, NOW, True)))
        self.assertRaises(WrongSignature, keys.open, good, datetime(2040, 1, 1, tzinfo=UTC))

    def test_kinds(self) -> None:
        """Further cashiers get key files of every kind, also ones that are about to end, or have ended."""
        keys, _ = open_keys(self.folder, NOW)
        for kind in KINDS:
            cashier = Cashier("Тарас", days=2.5, kind=kind, password="пароль")
            place, who = write_cashier(self.folder, keys, f"second-{kind}", cashier, NOW)
            if kind == "dat":
                # Opening it takes seconds; that is tried where these files are.
                self.assertIn(der.oid(oids.IIT_KEY_FILE), place.read_bytes())
                continue
            certificates = read_certificates(place.with_suffix(".cer").read_bytes())
            signer = open_signer(place.read_bytes(), "пароль", certificates)
            self.assertEqual((signer.certificate, signer.facts.days_left(NOW)), (who.certificate, 2))
        _, ended = write_cashier(self.folder, keys, "ended", Cashier(days=-3), NOW)
        self.assertEqual(ended.certificate.days_left(NOW), -3)
        self.assertLess(ended.certificate.valid_from, ended.certificate.valid_to)

    def test_seed(self) -> None:
        """The same seed makes the same keys, another one others; without a seed they are fresh."""
        one, same, other, fresh = (fresh_keys(NOW, seed).authority.root.key for seed in (1, 1, 2, None))
        self.assertEqual(one, same)
        self.assertNotIn(other, (one, fresh))
        folders = [Path(self.mktemp()) for _ in range(2)]
        first, second = ([open_keys(folder, NOW, 7), identity_of(folder)][1].certificate for folder in folders)
        self.assertEqual(first.public_key, second.public_key)

    def test_earlier_version(self) -> None:
        """A folder without a key for time stamps gets one, once."""
        open_keys(self.folder, NOW)
        (self.folder / "stamps.key").unlink()
        keys, made = open_keys(self.folder, NOW)
        self.assertFalse(made)
        self.assertEqual(open_keys(self.folder, NOW)[0].stamps, keys.stamps)

    def test_damaged(self) -> None:
        """A folder with something else in it is reported, and not changed."""
        self.folder.mkdir()
        (self.folder / "root.key").write_bytes(b"something else")
        (self.folder / "root.cer").write_bytes(b"something else")
        self.assertRaises(Malformed, open_keys, self.folder, NOW)
        failed = self.assertRaises(NotStarted, Simulation, self, "tax-service", "--keys", str(self.folder))
        self.assertIn(str(self.folder), str(failed))
        self.assertEqual((self.folder / "root.key").read_bytes(), b"something else")


class ServiceCase(SynchronousTestCase):
    """``dmtwisted simulate tax-service`` in memory, and a register that uses it."""

    def begin(self, *more: str) -> None:
        """Start it."""
        files, self.signer = made()
        self.folder = Path(self.mktemp())
        self.folder.mkdir()
        for name, content in files.items():
            (self.folder / name).write_bytes(content)
        self.simulation = Simulation(
            self, "tax-service", "--keys", str(self.folder), "--register", str(REGISTER), "--register", "17", *more
        )
        self.site: FiscalSite = self.simulation.factory
        self.clock = self.simulation.reactor
        (root,) = read_certificates((self.folder / "root.cer").read_bytes())
        self.trust = Trust([root])
        exchange = InProcessExchange(self.site._server, self.clock, 30)
        self.client = Client(exchange, self.sign, self.opened, "http://fs/fs")
        self.shop = Shop(self.clock.seconds)

    async def sign(self, content: bytes) -> bytes:
        """Sign as the cashier."""
        signed: bytes = self.signer.sign(content)
        return signed

    def opened(self, message: bytes) -> Signed:
        """What the server signed."""
        try:
            verdict = verify(message, NOW, self.trust)
        except Malformed as error:
            raise WrongSignature(str(error)) from None
        if not verdict.valid:
            raise WrongSignature("; ".join(map(str, verdict.faults)))
        return Signed(verdict.content)

    def result(self, asking: Any) -> Any:
        """What a call comes to."""
        return self.successResultOf(Deferred.fromCoroutine(asking))

    def hand_in(self, document: Document) -> Any:
        """What becomes of a document."""
        return self.result(self.client.register(self.signer.sign(encode(document)), document))

    def rules(self, *rules: dict[str, Any]) -> None:
        """What goes wrong next, by the control port."""
        self.simulation.json("PUT", "/scenario", {"rules": list(rules)})

    def register(self) -> Any:
        """The state of the first register, by the control port."""
        return self.simulation.json("GET", "/state")["registers"][0]


class ServiceTests(ServiceCase):
    """What a register meets, and what is steered."""

    def setUp(self) -> None:
        """A server."""
        self.begin()

    def test_registers(self) -> None:
        """It has the given registers, or two, each with its own local number."""
        told = self.simulation.json("GET", "/state")["registers"]
        self.assertEqual([(one["number"], one["local"]) for one in told], [(REGISTER, 1), (17, 2)])
        usual = Simulation(self, "tax-service", "--keys", str(self.folder), "--tin", "1234567890")
        told = usual.json("GET", "/state")["registers"]
        self.assertEqual([one["number"] for one in told], [4000000001, 4000000002])
        self.assertEqual({one["tin"] for one in told}, {"1234567890"})
        self.assertIn(f"http, keys in {self.folder}", usual.running.line)

    def test_objects(self) -> None:
        """The payer's registers can be asked for, as a set-up page asks."""
        asked = self.result(self.client.objects())
        (outlet,) = asked.value.tax_objects
        self.assertEqual([one.num_fiscal for one in outlet.transactions_registrars], [REGISTER, 17])

    def test_day(self) -> None:
        """Documents are taken with signed tickets, and are in ledger and state."""
        self.assertIsInstance(self.hand_in(self.shop.open()), Accepted)
        self.assertIsInstance(self.hand_in(self.shop.sale()), Accepted)
        self.assertEqual(self.simulation.entries, [("open", "accepted", 0), ("sale", "accepted", 5000)])
        told = self.register()
        self.assertEqual((told["shift_open"], told["next_local_number"], told["documents"]), (True, 3, 2))
        self.assertEqual(told["offline_session"], "202001")

    def test_answers_that_prove_nothing(self) -> None:
        """A ticket whose signature does not hold, half an answer and noise are unknown; the document is there."""
        self.hand_in(self.shop.open())
        for number, code in enumerate(("cms", "foreign", "expired", "", "200", "503"), 2):
            self.rules({"on": "sale", "then": "garbage", "code": code})
            self.assertIsInstance(self.hand_in(self.shop.sale()), Unknown, code)
            self.assertIsInstance(self.result(self.client.look_up(REGISTER, number)), Answered, code)

    def test_other_type(self) -> None:
        """A ticket that calls itself a web page is a ticket all the same."""
        self.rules({"on": "open", "then": "garbage", "code": "type"})
        self.assertIsInstance(self.hand_in(self.shop.open()), Accepted)

    def test_refused_as_text(self) -> None:
        """An error comes as text for one document, or for all when it was started so."""
        self.rules({"on": "open", "then": "refuse", "code": "text:3"})
        refused = self.hand_in(self.shop.open())
        self.assertEqual((type(refused), refused.code, refused.status), (Refused, Code.INVALID_TIN, 400))
        self.begin("--refusals-as-text")
        refused = self.hand_in(self.shop.sale())
        self.assertEqual((refused.code, refused.status), (Code.SHIFT_NOT_OPENED, 400))

    def test_stamps(self) -> None:
        """A server that wants time stamps refuses a signature without one."""
        self.begin("--stamps")
        self.assertEqual(self.hand_in(self.shop.open()).code, Code.CRYPTOGRAPHY_ERROR)

    def test_block(self) -> None:
        """A blocked register is refused until it is unblocked; an unknown one is reported."""
        told = self.simulation.json("POST", "/block", {"register": REGISTER})["registers"][0]
        self.assertEqual(told["blocked_until"], "2026-12-01T00:00:00")
        document = self.shop.open()
        self.assertIn("заблоковано", self.hand_in(document).text)
        self.simulation.json("POST", "/unblock", {"register": REGISTER})
        self.assertIsInstance(self.hand_in(document), Accepted)
        status, _, body = self.simulation.ask("POST", "/block", {"register": 5})
        self.assertEqual((status, json.loads(body)["errors"][0]["path"]), (422, "register"))

    def test_clock(self) -> None:
        """Its clock can be put wrong, or into next month; a document of now is then out of time."""
        document = self.shop.open()
        told = self.simulation.json("POST", "/clock", {"offset_s": 3600})
        self.assertEqual((told["offset_s"], told["now"]), (3600, "2026-11-21T13:00:00+02:00"))
        self.assertIn("часу сервера", self.hand_in(document).text)
        self.simulation.json("POST", "/block", {"register": REGISTER})
        self.simulation.json("POST", "/clock", {"offset_s": 30 * 86_400})
        self.assertEqual(self.register()["blocked_until"], "")
        self.simulation.json("POST", "/clock", {"offset_s": 0})
        for offset in (1e12, -1e12):
            self.assertEqual(self.simulation.ask("POST", "/clock", {"offset_s": offset})[0], 422)

    def test_operators(self) -> None:
        """Once operators are named, only their keys may sign."""
        self.simulation.json("POST", "/operators", {"register": REGISTER, "keys": ["ab"]})
        refused = self.hand_in(self.shop.open())
        self.assertEqual(refused.code, Code.OPERATOR_ACCESS_TO_TRANSACTIONS_REGISTRAR_NOT_GRANTED)
        self.shop.next = 1
        self.simulation.json("POST", "/operators", {"register": REGISTER, "keys": [self.signer.facts.key_id]})
        self.assertIsInstance(self.hand_in(self.shop.open()), Accepted)

    def test_registration(self) -> None:
        """A register's registration can be ended, and its offline right taken."""
        self.simulation.json("POST", "/registration", {"register": REGISTER, "closed": True})
        self.assertEqual(self.hand_in(self.shop.open()).code, Code.TRANSACTIONS_REGISTRAR_ABSENT)
        self.shop.next = 1
        self.simulation.json("POST", "/registration", {"register": REGISTER, "offline_allowed": False})
        self.assertIsNone(self.hand_in(self.shop.open()).session)

    def test_ledger_kept(self) -> None:
        """With a ledger the server knows its registers again after a restart, with the documents."""
        ledger = Path(self.mktemp())
        self.begin("--ledger", str(ledger))
        self.assertIsInstance(self.hand_in(self.shop.open()), Accepted)
        shop = self.shop
        self.simulation.running.peer.close()
        self.begin("--ledger", str(ledger))
        self.assertEqual(self.register()["next_local_number"], 2)
        self.assertIsInstance(self.hand_in(shop.sale()), Accepted)
        self.assertEqual([kind for kind, _, _ in self.simulation.entries], ["open", "sale"])

    def test_tls(self) -> None:
        """With TLS its port uses a certificate of the authority beside the keys."""
        simulation = Simulation(self, "tax-service", "--keys", str(self.folder), "--tls")
        self.assertIn("https", simulation.running.line)
        clock = simulation.reactor
        roots = roots_in((self.folder / "authority.pem").read_bytes())
        endpoints = ServerEndpoints(clock, roots, 10, lambda host, port: Noting(simulation.factory, clock, []))
        client = Client(HttpsExchange(clock, endpoints, 40), self.sign, self.opened, "https://localhost:8643/fs")
        waiting = Deferred.fromCoroutine(client.state_of_server())
        for _ in range(60):
            clock.advance(0)
        self.assertIsInstance(self.successResultOf(waiting), Answered)

    def test_refused_options(self) -> None:
        """What cannot be meant is refused by name."""
        for words, said in (
            ("--register x", "--register"),
            ("--register 5 --register 5", "twice"),
            ("--tin abc", "--tin"),
            ("--record a --ledger b", "--record"),
        ):
            error = self.assertRaises(usage.UsageError, options, f"tax-service {words}")
            self.assertIn(said, str(error))


class RecordingTests(ServiceCase):
    """Exchanges in a file, played again."""

    def setUp(self) -> None:
        """A server that records."""
        self.file = Path(self.mktemp())
        self.begin("--record", str(self.file))

    def recorded(self) -> list[bytes]:
        """The lines of the recording of a day with faults, deeds and an offline session."""
        opened = self.hand_in(self.shop.open())
        self.rules({"on": "sale", "then": "garbage", "code": "cms"})
        self.hand_in(self.shop.sale())
        self.rules({"on": "sale", "then": "refuse", "code": "9"}, {"on": "any", "then": "lost_after"})
        refused = self.shop.sale()
        self.hand_in(refused)
        self.shop.next -= 1
        self.hand_in(self.shop.sale())
        self.result(self.client.look_up(REGISTER, 3))
        self.clock.advance(600)
        self.shop.seal = self.signer.sign
        sent = (
            self.shop.begin(opened.session.id, opened.session.seed),
            self.shop.made(self.shop.sale()),
            self.shop.end(),
        )
        package = self.signer.sign(packages.join(sent))
        self.assertIsInstance(self.result(self.client.hand_in(package)), PackageTaken)
        self.simulation.json("POST", "/block", {"register": REGISTER})
        self.hand_in(self.shop.sale())
        self.simulation.json("POST", "/unblock", {"register": REGISTER})
        self.simulation.json("POST", "/clock", {"offset_s": -7200})
        self.result(self.client.state(REGISTER))
        self.result(self.client.objects())
        self.assertEqual(self.simulation.json("GET", "/state")["recorded"], 9)
        self.simulation.running.peer.close()
        return self.file.read_bytes().splitlines(keepends=True)

    def test_all_as_recorded(self) -> None:
        """A day goes again as it went: the same endings, statuses and contents, at the same times."""
        count, found = replay(self.recorded())
        self.assertEqual((count, list(map(str, found))), (9, []))

    def test_differences(self) -> None:
        """A different answer is reported with its line, both ways."""
        lines = self.recorded()
        told = json.loads(lines[1])
        told["status"] = 500
        lines[1] = json.dumps(told).encode()
        _, (difference,) = replay(lines)
        self.assertEqual(difference.line, 2)
        self.assertIn(", 500: ", difference.recorded)
        self.assertIn(", 200: ", difference.played)

    def test_no_recording(self) -> None:
        """An invalid recording is reported with its line."""
        lines = self.recorded()
        block = next(line for line in lines if b'"deed"' in line)
        for bad, said in (
            ([], "line 0"),
            ([b"{}"], "line 1"),
            ([b"\xff"], "line 1"),
            ([lines[0], b'{"at":1}'], "line 2"),
            ([lines[0], block.replace(b"block", b"bless")], "line 2"),
            ([lines[0], block.replace(str(REGISTER).encode(), b"5")], "line 2"),
            ([lines[0].replace(b'"root":"MI', b'"root":"AA')], "line 1"),
        ):
            self.assertIn(said, str(self.assertRaises(NoRecording, replay, bad)))

    def test_command(self) -> None:
        """The command plays a recording and ends: 0 when all went so, else 1 with what went otherwise."""
        lines = self.recorded()
        for content, status, said in (
            (b"".join(lines), 0, "9 exchanges, 0 different"),
            (b"".join(lines).replace(b'"status":200', b'"status":201', 1), 1, "9 exchanges, 1 different"),
            (b"nothing", 1, "line 1"),
        ):
            self.file.write_bytes(content)
            asked = SimulateOptions()
            asked.parseOptions(["tax-service", "--replay", str(self.file)])
            with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as complaints:
                self.assertEqual(simulate.run(asked), status)
            self.assertIn(said, out.getvalue() + complaints.getvalue())

    def test_cannot_be_written(self) -> None:
        """A recording that cannot be written is reported before the server starts."""
        failed = self.assertRaises(
            NotStarted, Simulation, self, "tax-service", "--keys", str(self.folder), "--record", "/nowhere/file"
        )
        self.assertIn(str(Path("/nowhere/file")), str(failed))


class OfficialCases(SynchronousTestCase):
    """The official samples as the first recorded cases."""

    def test_package(self) -> None:
        """The official offline package is taken whole by a server that had granted its session: signatures, chain,
        control numbers, Z and totals; with one document changed nothing of it is."""
        documents = packages.split(OFFLINE_PACKAGE)
        papers = [decode(read(document).content or b"") for document in documents]
        head = papers[0].head
        at = datetime.combine(papers[-1].head.orderdate, papers[-1].head.ordertime, KYIV).timestamp() + 60
        registration = Registration(head.cashregisternum, local=head.cashdesknum, tin=head.tin)
        beginning = Beginning(
            registers=(registration,),
            sessions={str(head.cashregisternum): Granted(next_local=1836, session="21182", seed="179620581609376")},
        )
        who = Authority(datetime.fromtimestamp(at, UTC)).issue("Каса")
        for sent, said in (
            (documents, "OfflineSessionId"),
            ((*documents[:2], documents[3]), "Помилка обробки документа за № 3"),
        ):
            body = sign(packages.join(sent), who.key, who.certificate)
            self.assertIn(said, _played(beginning, at, "/fs/pck", body))

    def test_command(self) -> None:
        """The official signed command is read and verified: the register that it asks for is not there."""
        at = datetime(2021, 3, 12, tzinfo=UTC).timestamp()
        beginning = Beginning(registers=(Registration(17),))
        self.assertIn("4000000001", _played(beginning, at, "/fs/cmd", COMMAND_MESSAGE))
        damaged = COMMAND_MESSAGE[:-1] + bytes([COMMAND_MESSAGE[-1] ^ 1])
        self.assertIn("CryptographyError", _played(beginning, at, "/fs/cmd", damaged))


def _played(beginning: Beginning, at: float, path: str, body: bytes) -> str:
    """What a new server answers to one request, by playing a recording that expects nothing."""
    line = {
        "at": at,
        "method": "POST",
        "path": path,
        "headers": {"content-type": "application/octet-stream"},
        "body": base64.b64encode(body).decode(),
    }
    _, (difference,) = replay([msgspec.json.encode(beginning), json.dumps(line).encode()])
    return difference.played


class KeyCommandTests(SynchronousTestCase):
    """``dmtwisted simulate tax-key``"""

    def make(self, *words: str) -> tuple[int, str]:
        """Run the command; its status and what it says."""
        asked = SimulateOptions()
        asked.parseOptions(["tax-key", *words])
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as complaints:
            return simulate.run(asked), out.getvalue() + complaints.getvalue()

    def test_made(self) -> None:
        """A key with the name, numbers and days that were asked for, which the server of that folder accepts."""
        folder = Path(self.mktemp())
        status, said = self.make("--keys", str(folder), "--file", "senior", "--days", "2.5", "--name", "Старший")
        self.assertEqual(status, 0, said)
        signer = identity_of(folder, "senior.p12")
        self.assertIn(signer.facts.key_id, said)
        self.assertEqual((signer.facts.subject, signer.facts.days_left(datetime.now(UTC))), ("Старший", 2))
        keys, _ = open_keys(folder, datetime.now(UTC))
        self.assertEqual(keys.open(signer.sign(b"x"), datetime.now(UTC)).name, "Старший")

    def test_refused(self) -> None:
        """Invalid options, and a folder that cannot be used, are reported in one line."""
        for words in ("--kind pem", "--file root", "--file a/b", "--days x", "--days 1e9", "--tin 1"):
            self.assertRaises(usage.UsageError, SimulateOptions().parseOptions, ["tax-key", *words.split()])
        folder = Path(self.mktemp())
        folder.write_bytes(b"a file")
        self.assertEqual(self.make("--keys", str(folder))[0], 1)
