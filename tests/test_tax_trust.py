"""The state's list of certificates: trusted by a person, and what it does to the tax service's answers."""

from __future__ import annotations

import builtins
import json
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase
from twisted.web.test.requesthelper import DummyRequest

from dmtwisted.access.roles import ANYONE
from dmtwisted.commands import tax
from dmtwisted.commands.tax import TaxOptions, run
from dmtwisted.diagnostics import gather
from dmtwisted.doctor import devices as device_checks
from dmtwisted.doctor import files
from dmtwisted.doctor.findings import Level
from dmtwisted.metrics import render
from dmtwisted.registers.channels import evidence
from dmtwisted.registers.channels.evidence import Evidence, kept_in
from dmtwisted.registers.prro import trust_list as module
from dmtwisted.registers.prro.trust_list import FILE, TAX_SERVICE, keep, kept_trust, offered, trust_list
from protocols.fiscal.crypto import der, oids
from protocols.fiscal.crypto.authority import Authority, Identity, make_certificate
from protocols.fiscal.crypto.certificates import Certificate, KeyUsage, read_certificate
from protocols.fiscal.crypto.curves import NAMED
from protocols.fiscal.crypto.dstu4145 import PrivateKey
from protocols.fiscal.crypto.errors import Malformed
from protocols.fiscal.crypto.signing import sign
from protocols.fiscal.crypto.trust import Trust
from protocols.fiscal.crypto.verdict import Reason
from tests.prro_shop import PrroShop, keys
from tests.shop import MORNING, hurry
from tests.test_prro import PrroCase
from web.pages.rendering import Pages

NOW = datetime.fromtimestamp(MORNING, UTC)
REAL = "https://fs.tax.gov.ua:8643/fs"


class World:
    """The state's authority with the tax service's key and others, and a stranger."""

    def __init__(self) -> None:
        self.state = Authority(NOW, NAMED[0])
        self.server = self.state.issue("Фіскальний сервер", tax_number=TAX_SERVICE)
        self.citizen = self.state.issue("Громадянин", person_tax_number="1234567890")
        self.company = self.state.issue("Інша установа", tax_number="34554363")
        self.ended = self.state.issue("Фіскальний сервер", days=-1, age=400, tax_number=TAX_SERVICE)
        self.encrypts = self.state.issue("Фіскальний сервер", usage=KeyUsage.KEY_AGREEMENT, tax_number=TAX_SERVICE)
        self.stranger = Authority(NOW, NAMED[0]).issue("Фіскальний сервер", tax_number=TAX_SERVICE)


world = cache(World)


def p7b(*certificates: bytes, signed_by: Identity | None = None) -> bytes:
    """A published list: certificates without a signature, or with one."""
    if signed_by is not None:
        return sign(b"list", signed_by.key, signed_by.certificate)
    return der.sequence(
        der.oid(oids.SIGNED_DATA),
        der.element(
            der.context(0),
            der.sequence(
                der.integer(1),
                der.set_of(),
                der.sequence(der.oid("1.2.840.113549.1.7.1")),
                der.element(der.context(0), *certificates),
                der.set_of(),
            ),
        ),
    )


def published() -> bytes:
    """The state's list, with certificates that nobody may take for an authority."""
    who = world()
    return p7b(who.state.root.certificate.raw, who.citizen.certificate.raw)


class ListTests(SynchronousTestCase):
    """What is taken of a published file."""

    def why(self, certificate: Certificate | bytes) -> str:
        """Why a certificate is not taken."""
        raw = certificate if isinstance(certificate, bytes) else certificate.raw
        [one] = offered(p7b(raw), NOW)
        return one.why

    def test_taken(self) -> None:
        """Authorities are taken; single keys, ended ones, and what cannot be read are not, each with the reason."""
        who = world()
        key = PrivateKey.generate(NAMED[0])
        no_use = make_certificate({oids.COMMON_NAME: "x"}, key.public(), key, NOW, NOW + timedelta(1), authority=True)
        ended = Authority(NOW - timedelta(days=800), NAMED[0], years=1).root.certificate
        self.assertEqual(self.why(who.state.root.certificate), "")
        self.assertIn("single key", self.why(who.server.certificate))
        self.assertIn("may not sign certificates", self.why(no_use))
        self.assertIn("ended on", self.why(ended))
        self.assertIn("cannot be read", self.why(der.sequence(der.integer(1))))

    def test_other_files(self) -> None:
        """A file without certificates, or without an authority, is refused."""
        for data in (b"", b"<html>", b"0", p7b(), der.sequence(der.oid(oids.COMMON_NAME))):
            self.assertRaises(Malformed, offered, data, NOW)
        data = p7b(world().citizen.certificate.raw)
        found = offered(data, NOW)
        self.assertRaises(Malformed, trust_list, Path("x"), data, found, [TAX_SERVICE])

    def test_signed_list(self) -> None:
        """A list that carries a signature is read as well."""
        [one] = offered(p7b(signed_by=world().server), NOW)
        self.assertEqual(one.certificate, world().server.certificate)

    def test_kept(self) -> None:
        """A list is kept once, and read again when it is another one; a damaged one trusts nothing."""
        folder, data = Path(self.mktemp()), published()
        folder.mkdir()
        self.assertIsNone(kept_trust(folder / FILE))
        kept = trust_list(Path("list.p7b"), data, offered(data, NOW), [TAX_SERVICE])
        self.assertEqual([keep(folder, kept), keep(folder, kept)], [True, False])
        trust = kept_trust(folder / FILE)
        assert trust is not None
        self.assertIs(kept_trust(folder / FILE), trust)
        self.assertEqual(trust.faults(world().server.certificate, NOW), [])
        self.assertEqual(
            [fault.reason for fault in trust.faults(world().stranger.certificate, NOW)], [Reason.NOT_TRUSTED]
        )
        (folder / FILE).write_text('{"owners": []}', "utf-8")
        self.assertRaises(Malformed, kept_trust, folder / FILE)


class LargeListTests(SynchronousTestCase):
    """The published list is long, and reading a certificate takes milliseconds."""

    def test_read_when_needed(self) -> None:
        """Of a long list only the signer's own issuer is read."""
        state, read = world().state, list[bytes]()
        others = [state.issue(f"Надавач {n}", authority=True, usage=KeyUsage.CERTIFICATE_SIGN) for n in range(5)]
        data = p7b(state.root.certificate.raw, *(one.certificate.raw for one in others))
        folder = Path(self.mktemp())
        folder.mkdir()
        keep(folder, trust_list(Path("list.p7b"), data, offered(data, NOW), [TAX_SERVICE]))

        def reading(raw: bytes) -> Certificate:
            read.append(raw)
            return read_certificate(raw)

        self.patch(module, "read_certificate", reading)
        trust = kept_trust(folder / FILE)
        assert trust is not None
        self.assertEqual(read, [])
        self.assertEqual(trust.faults(world().server.certificate, NOW), [])
        self.assertEqual(read, [state.root.certificate.raw])


class OwnerTests(SynchronousTestCase):
    """An authority gives certificates to everybody; the list says whose may sign answers."""

    def test_owners(self) -> None:
        """Only the named owners' certificates count, and those that are themselves in the list."""
        who = world()
        trust = Trust([who.state.root.certificate, who.company.certificate], owners=[TAX_SERVICE])
        for identity, wrong in (
            (who.server, []),
            (who.company, []),
            (who.citizen, [Reason.OTHER_OWNER]),
            (who.stranger, [Reason.NOT_TRUSTED]),
            (who.ended, [Reason.NOT_VALID]),
        ):
            found = [fault.reason for fault in trust.faults(identity.certificate, NOW)]
            self.assertEqual(found, wrong, identity.certificate.subject.common)

    def test_number_in_the_name(self) -> None:
        """The number is also read from the name of a company's seal."""
        key = PrivateKey.generate(NAMED[0])
        name = {oids.COMMON_NAME: "ДПС", oids.ORGANISATION_ID: f"NTRUA-{TAX_SERVICE}"}
        seal = make_certificate(name, key.public(), world().state.root, NOW, NOW + timedelta(1))
        self.assertEqual(seal.tax_number, TAX_SERVICE)


class CommandTests(SynchronousTestCase):
    """``dmtwisted tax trust``."""

    def setUp(self) -> None:
        self.folder = Path(self.mktemp())
        self.folder.mkdir()
        self.file = self.folder / "CACertificates.p7b"
        self.patch(tax, "datetime", _Morning)

    def trust(self, *words: str, says: str | None = None) -> tuple[int, str]:
        """Status and output; ``says`` is what the person types."""
        self.patch(builtins, "input", _typing(says))
        options = TaxOptions()
        options.parseOptions(["trust", *words, "--state", str(self.folder)])
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as complaints:
            return run(options), out.getvalue() + complaints.getvalue()

    def kept(self) -> bool:
        """Whether a list is trusted."""
        return (self.folder / FILE).exists()

    def test_asks(self) -> None:
        """It shows what the file holds, and trusts after a yes; nothing without."""
        self.file.write_bytes(published())
        for answer in ("", "no", None):
            status, said = self.trust(str(self.file), says=answer)
            self.assertEqual((status, self.kept()), (1, False))
        for part in ("Test authority", "an authority", "single key", "1 authorities of 2", TAX_SERVICE, "serial"):
            self.assertIn(part, said)
        self.assertEqual(self.trust(str(self.file), says="yes")[0], 0)
        self.assertTrue(self.kept())

    def test_again(self) -> None:
        """Twice is once; a removed list is gone."""
        self.file.write_bytes(published())
        self.assertIn("trusted\n", self.trust(str(self.file), "--yes")[1])
        self.assertIn("nothing to do", self.trust(str(self.file), "--yes")[1])
        self.assertEqual([self.trust("--remove")[0], self.kept()], [0, False])
        self.assertIn("no list", self.trust("--remove")[1])

    def test_owner(self) -> None:
        """Another owner than the tax service can be named."""
        self.file.write_bytes(published())
        self.trust(str(self.file), "--yes", "--owner", "34554363")
        trust = kept_trust(self.folder / FILE)
        assert trust is not None
        self.assertEqual(trust.faults(world().company.certificate, NOW), [])
        self.assertTrue(trust.faults(world().server.certificate, NOW))

    def test_other_file(self) -> None:
        """A file that is no list is refused in one line that names it, and the old list stays."""
        for content in (b"<html>no such page</html>", b"", p7b(world().citizen.certificate.raw)):
            self.file.write_bytes(content)
            status, said = self.trust(str(self.file), "--yes")
            self.assertEqual((status, said.count("\n"), self.kept()), (1, 1, False), said)
            self.assertIn(str(self.file), said)
        self.assertEqual(self.trust("/nowhere.p7b", "--yes")[0], 1)


class _Morning(datetime):
    """A clock that stands."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        """The time of the tests."""
        return NOW


def _typing(says: str | None) -> Any:
    def typed(prompt: str = "") -> str:
        if says is None:
            raise EOFError
        return says

    return typed


class AnswerTests(PrroCase):
    """Answers to a register that sends real documents."""

    def setUp(self) -> None:
        hurry(self)
        self.shop = PrroShop(self, "one", server_url=REAL, trusted_certificates=[" "])
        self.signed_by(world().server)

    def signed_by(self, who: Identity) -> None:
        """Let ``who`` sign what the tax service answers."""
        self.shop.far_end._seal = lambda content: sign(content, who.key, who.certificate)

    def trust(self) -> None:
        """Trust the state's list."""
        data = published()
        keep(self.shop.state, trust_list(Path("list.p7b"), data, offered(data, NOW), [TAX_SERVICE]))

    def figures(self) -> str:
        """The metrics."""
        made: bytes = self.shop.done(render(self.shop.core))
        return made.decode()

    def findings(self) -> list[Any]:
        """What the doctor finds about the registers, and about files."""
        core = self.shop.core
        looked = self.shop.done(device_checks.look(core.devices, core.clock))
        return [*looked, *files._evidence(self.shop.state)]

    def test_unverified(self) -> None:
        """While nothing is trusted, answers count and say so: in warnings, metrics, pages' state and the doctor."""
        opened = self.shop.fiscal(0, device="one")
        self.assertEqual((opened["res"], [one["code"] for one in opened["warnings"]]), (0, [3005]))
        self.assertIn('dmtwisted_register_unverified{device="one"} 1', self.figures())
        state = self.shop.done(self.shop.built().state())
        self.assertEqual((state["unverified"], state["refused_answers"]), (True, 0))
        self.assertIn("Фіскальний сервер", state["answers_signed_by"])
        [found] = [one for one in self.findings() if "not verified" in one.text.en and one.about == "one"]
        self.assertEqual(found.level, Level.WARN)
        self.assertIn("dmtwisted tax trust", found.advice.uk)
        self.assertIn(TAX_SERVICE, found.text.en)

    def test_every_page(self) -> None:
        """Each page names the registers whose answers are not verified, until a list is trusted."""
        needs = self.shop.core.needs
        self.shop.done(needs.look())
        pages = Pages("en", False, lambda: False, needs.seen)
        request: Any = DummyRequest([b"dm"])
        request.path, request.getCookie, request.permit = b"/dm/", lambda name: None, ANYONE
        shown = pages.page(request, "not_here.html").decode()
        self.assertEqual(shown.count("answers are not verified"), 2)
        self.assertIn('href="/dm/main/settings/doctor"', shown)
        self.trust()
        self.shop.done(needs.look())
        self.assertNotIn("not verified", pages.page(request, "not_here.html").decode())

    def test_trusted(self) -> None:
        """Once a list is trusted, the next answer is verified, without a restart and without a warning."""
        self.assertEqual(self.shop.fiscal(0, device="one")["res"], 0)
        self.trust()
        sold = self.sell()
        self.assertEqual((sold["res"], sold["warnings"]), (0, []))
        self.assertIn('dmtwisted_register_unverified{device="one"} 0', self.figures())

    def test_somebody_else(self) -> None:
        """An answer that somebody else signed leaves the outcome unknown; it is kept, and asked for again."""
        self.trust()
        self.assertEqual(self.shop.fiscal(0, device="one")["res"], 0)
        who = world()
        for n, other in enumerate((who.stranger, who.citizen, who.company, who.ended, who.encrypts)):
            self.signed_by(other)
            self.assertTold(self.sell(50, f"t{n}"), 1075, 2)
            self.assertIn(other.certificate.subject.common, kept_in(self.shop.state)[-1].signer)
            self.assertTold(self.sell(50, f"t{n}"), 1075, 2)
            self.signed_by(who.server)
            self.shop.clock.advance(60)
            self.assertTold(self.sell(50, f"t{n}"), 0)
        self.assertEqual(self.shop.kinds(), ["open", *["sale"] * 5])
        kept = kept_in(self.shop.state)
        self.assertGreaterEqual(len(kept), 5)
        self.assertEqual((kept[0].register, kept[0].server), (4_000_000_202, REAL))
        self.assertIn("does not lead to a trusted one", kept[0].why)
        self.assertIn("answers_refused_total", self.figures())
        [found] = [one for one in self.findings() if "Refused answers" in one.text.en]
        self.assertEqual(found.level, Level.BAD)
        self.assertIn("evidence", found.advice.en)

    def test_bundle(self) -> None:
        """The support bundle tells who signed a refused answer, and has not the answer itself."""
        self.trust()
        self.signed_by(world().citizen)
        self.shop.fiscal(0, device="one")
        told = json.loads(self.shop.done(gather(self.shop.core))["evidence.json"])
        self.assertIn("Громадянин", told[0]["signer"])
        self.assertEqual(told[0]["answer"], "")

    def test_damaged_list(self) -> None:
        """A list that cannot be read trusts nobody: answers stay unknown, and the register says why."""
        (self.shop.state / FILE).write_text("{", "utf-8")
        self.assertEqual(self.shop.fiscal(0, device="one")["res"], 1075)
        self.assertIn("list of trusted certificates", self.shop.done(self.shop.built().state())["error"])
        broken = [one for one in self.findings() if one.level is Level.BAD and one.about == "one"]
        self.assertTrue(any("перелік довірених" in one.text.uk for one in broken), broken)

    def test_own_certificates(self) -> None:
        """Certificates in the settings of a register go before the list."""
        self.trust()
        self.shop.settings("one", trusted_certificates=str(self.shop.state / "trusted.cer"))
        self.signed_by(keys().server)
        self.assertEqual(self.shop.fiscal(0, device="one")["res"], 0)

    def test_simulator(self) -> None:
        """A simulator on this machine needs no trust and no person, whatever list there is."""
        self.trust()
        self.shop.settings("one", server_url="http://127.0.0.1:8609/fs")
        self.signed_by(world().stranger)
        opened = self.shop.fiscal(0, device="one")
        self.assertEqual((opened["res"], opened["warnings"]), (0, []))
        self.assertFalse(self.shop.built().unverified)


class EvidenceTests(SynchronousTestCase):
    """Refused answers that are kept."""

    def setUp(self) -> None:
        self.state = Path(self.mktemp())
        self.state.mkdir()
        self.evidence = Evidence(self.state)

    def keep(self, message: bytes, at: int = 1) -> None:
        """Keep an answer."""
        self.evidence.keep(message, at, 4, REAL, "why", ("a", "b", "c"))

    def test_bounded(self) -> None:
        """Few are kept, the newest; the same one once; of a large one its beginning."""
        self.patch(evidence, "MOST_FILES", 3)
        for n in range(5):
            self.keep(b"%d" % n, n)
        self.keep(b"4", 9)
        self.assertEqual([one.at for one in kept_in(self.state)], [2, 3, 4])
        times = [file.stat().st_mtime_ns for file in (self.state / evidence.FOLDER).iterdir()]
        self.assertEqual(sorted(times), [2_000_000, 3_000_000, 4_000_000])
        self.assertEqual(self.evidence.count, 6)
        self.keep(bytes(evidence.MOST_BYTES + 1), 10)
        large = kept_in(self.state)[-1]
        self.assertEqual((large.size, len(large.answer) * 3 // 4), (evidence.MOST_BYTES + 1, evidence.MOST_BYTES + 2))

    def test_full_disk(self) -> None:
        """What cannot be written is logged, and nothing fails."""
        (self.state / evidence.FOLDER).write_text("in the way", "utf-8")
        self.keep(b"x")
        self.assertEqual((self.evidence.count, kept_in(self.state)), (1, []))
