"""Whose signature on tickets counts: the built-in list, and ``dmtwisted tax certificates``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python import usage
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.commands import tax
from dmtwisted.commands.tax import NotShown, TaxOptions, pem_of, run, signer_of_receipt
from dmtwisted.registers.prro.trust import trust_in
from protocols.errors import LineLost, NotReached
from protocols.fiscal import trusted
from protocols.fiscal.crypto.authority import Authority
from protocols.fiscal.crypto.certificates import read_certificates
from protocols.fiscal.crypto.errors import Malformed
from protocols.fiscal.crypto.signing import sign
from protocols.fiscal.crypto.trust import Trust
from protocols.fiscal.document_xml import encode
from protocols.fiscal.trusted import Entry, built_in, certificate_of, entries
from protocols.fiscal.verdicts import Reply
from protocols.simulators.fiscal_calls import Call
from protocols.simulators.fiscal_in_process import InProcessExchange
from protocols.simulators.fiscal_register import Registration
from protocols.simulators.fiscal_server import FiscalServer
from tests.fiscal_papers import REGISTER, TIN, Shop

NOW = datetime.now(UTC)
AUTHORITY = Authority(NOW)
SERVER = AUTHORITY.issue("Fiscal server", days=30.5)


def entry(**other: Any) -> Entry:
    """The server's certificate as an entry of the list."""
    certificate = SERVER.certificate
    members = {
        "source": "https://example.org, read on 2026-11-21",
        "valid_from": certificate.valid_from.date(),
        "valid_to": certificate.valid_to.date(),
        "sha256": hashlib.sha256(certificate.raw).hexdigest(),
        "pem": pem_of(certificate),
    }
    return Entry(**{**members, **other})


class ListTests(SynchronousTestCase):
    """The list in the package."""

    def test_as_it_is(self) -> None:
        """Every entry of the list is the certificate that it describes, and signs something."""
        for one in entries():
            certificate = certificate_of(one)
            self.assertTrue(certificate.is_authority or certificate.may_sign())
        self.assertEqual(len(built_in()), len(entries()))

    def test_entries(self) -> None:
        """An entry is taken when all that it says is so; anything else is refused."""
        self.assertEqual(certificate_of(entry()), SERVER.certificate)
        for wrong in (
            {"sha256": "00"},
            {"source": " "},
            {"valid_to": NOW.date()},
            {"pem": pem_of(AUTHORITY.root.certificate)},
            {"pem": pem_of(SERVER.certificate) * 2},
            {"pem": "nothing"},
        ):
            self.assertRaises(Malformed, certificate_of, entry(**wrong))

    def test_file(self) -> None:
        """The list is read from its file."""
        file = Path(self.mktemp())
        entry = {"source": "s", "valid_from": "2026-01-01", "valid_to": "2028-01-01", "sha256": "0", "pem": "p"}
        file.write_text(json.dumps({"certificates": [entry]}), "utf-8")
        self.assertEqual([one.source for one in entries(file)], ["s"])

    def test_used(self) -> None:
        """Settings without certificates mean the list; those that they name replace it; an empty list means none."""
        self.patch(trusted, "built_in", lambda: (SERVER.certificate,))
        trust = trust_in("")
        assert trust is not None
        self.assertEqual(trust.faults(SERVER.certificate, NOW), [])
        own = Authority(NOW)
        named = trust_in(pem_of(own.root.certificate))
        assert named is not None
        self.assertEqual(len(named.faults(SERVER.certificate, NOW)), 1)
        self.patch(trusted, "built_in", lambda: ())
        self.assertIsNone(trust_in(()))


class CommandTests(SynchronousTestCase):
    """``dmtwisted tax certificates``."""

    def run_with(self, *words: str, fetch: Any = None) -> tuple[int, str]:
        """Status, and what is said."""
        options = TaxOptions()
        options.parseOptions(["certificates", *words])
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as complaints:
            return run(options, fetch), out.getvalue() + complaints.getvalue()

    def test_list(self) -> None:
        """The list is shown with its sources; an empty one says what to do."""
        self.patch(tax, "entries", lambda: (entry(),))
        self.patch(tax, "built_in", lambda: (SERVER.certificate,))
        status, said = self.run_with()
        self.assertEqual(status, 0)
        for part in ("Fiscal server", "Test authority", "30 days left", "https://example.org", "a single key"):
            self.assertIn(part, said)
        self.patch(tax, "entries", lambda: ())
        self.assertIn("--receipt", self.run_with()[1])

    def test_file(self) -> None:
        """The certificates of a file are shown; a missing or other file is reported."""
        file = Path(self.mktemp())
        file.write_text(pem_of(SERVER.certificate) + pem_of(AUTHORITY.root.certificate), "utf-8")
        status, said = self.run_with("--file", str(file))
        self.assertEqual((status, said.count("SHA-256")), (0, 2))
        self.assertIn("an authority", said)
        file.write_text("nothing", "utf-8")
        self.assertEqual(self.run_with("--file", str(file))[0], 1)
        self.assertEqual(self.run_with("--file", "/nowhere")[0], 1)

    def test_saved(self) -> None:
        """The certificate that signs a receipt is shown, and saved so that settings take it."""
        file = Path(self.mktemp())
        status, said = self.run_with(
            "--register", "5", "--receipt", "7", "--save", str(file), fetch=lambda options: SERVER.certificate
        )
        self.assertEqual((status, "Fiscal server" in said), (0, True))
        self.assertEqual(read_certificates(file.read_bytes()), [SERVER.certificate])
        trust = trust_in(file.read_text("utf-8"))
        assert trust is not None
        self.assertEqual(trust.faults(SERVER.certificate, NOW), [])

    def test_refused_words(self) -> None:
        """Half a question is refused."""
        for words in ("--register 5", "--receipt 7", "--save x", "--register x --receipt 7"):
            self.assertRaises(usage.UsageError, TaxOptions().parseOptions, ["certificates", *words.split()])
        self.assertRaises(usage.UsageError, TaxOptions().parseOptions, [])


class FetchTests(SynchronousTestCase):
    """Asking the server for a receipt."""

    def setUp(self) -> None:
        """A server that signs, with one document."""
        self.clock = Clock()
        self.clock.advance(NOW.timestamp())
        self.server = FiscalServer(
            self.clock,
            (Registration(REGISTER, tin=TIN),),
            seal=lambda content: sign(content, SERVER.key, SERVER.certificate),
        )
        body = encode(Shop(self.clock.seconds).open())
        headers = {"content-type": "application/octet-stream"}
        self.server.receive(Call("POST", "/fs/doc", "", headers, body))
        self.exchange: Any = InProcessExchange(self.server, self.clock, 30)

    def ask(self, receipt: str = "3000000001", register: int = REGISTER) -> Any:
        """What comes of it."""
        return Deferred.fromCoroutine(signer_of_receipt(self.exchange, "http://fs/fs/", register, receipt))

    def failure(self, *asked: Any) -> str:
        """Why nothing can be shown."""
        return str(self.failureResultOf(self.ask(*asked), NotShown).value)

    def test_found(self) -> None:
        """A registered receipt shows whose key signs; the command needs no key."""
        self.assertEqual(self.successResultOf(self.ask()), SERVER.certificate)
        self.assertEqual(Trust([SERVER.certificate]).faults(self.successResultOf(self.ask()), NOW), [])

    def test_not_found(self) -> None:
        """No such receipt, no signature, no answer and no connection are reported separately."""
        self.assertIn("no receipt 5", self.failure("5"))
        seal, self.server._seal = self.server._seal, bytes
        self.assertIn("signature", self.failure())
        self.server._seal = seal

        def fails(error: Exception) -> Any:
            async def carry(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
                raise error

            return carry

        for error, said in ((NotReached("refused"), "cannot be reached"), (LineLost("cut"), "cut")):
            self.exchange = fails(error)
            self.assertIn(said, self.failure())
