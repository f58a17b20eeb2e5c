"""The signer of a register."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from protocols.fiscal.crypto import signer
from protocols.fiscal.crypto.authority import Authority, Identity
from protocols.fiscal.crypto.certificates import KeyUsage
from protocols.fiscal.crypto.errors import NoKey, SelfTestFailed, WrongPassword
from protocols.fiscal.crypto.key_files import KeyFile, Kind
from protocols.fiscal.crypto.key_formats import write_private_key
from protocols.fiscal.crypto.pkcs12_file import write_pkcs12
from protocols.fiscal.crypto.signed_message import read
from protocols.fiscal.crypto.signer import BuiltInSigner, Closed, ISigner, KeyFacts, open_signer, signer_of
from protocols.fiscal.crypto.signing import NamedBy
from protocols.fiscal.crypto.verifying import verify

NOW = datetime(2026, 6, 1, tzinfo=UTC)
AUTHORITY = Authority(NOW)
OWNER = AUTHORITY.issue("Каса 1", days=10, tax_number="12345678", person_tax_number="1234567890")


def key_file(*identities: Identity) -> KeyFile:
    """An opened file with keys and no certificates."""
    return KeyFile(Kind.IIT, tuple(identity.key for identity in identities), ())


class SignerTests(SynchronousTestCase):
    """The built-in signer."""

    def test_interface(self) -> None:
        """It is what the interface says."""
        verifyObject(ISigner, BuiltInSigner(OWNER.key, OWNER.certificate))

    def test_signs(self) -> None:
        """It signs messages that are valid, in the form that was chosen, with the time only when it is given."""
        for named_by in NamedBy:
            own = BuiltInSigner(OWNER.key, OWNER.certificate, named_by)
            message = own.sign(b"a receipt")
            verdict = verify(message, NOW, AUTHORITY.trust)
            self.assertEqual((verdict.faults, verdict.content, verdict.signed_at), ((), b"a receipt", None))
            self.assertEqual(bool(read(message).signers[0].key_id), named_by is NamedBy.KEY_IDENTIFIER)
            self.assertEqual(verify(own.sign(b"", NOW), NOW, None).signed_at, NOW)

    def test_facts(self) -> None:
        """It shows the owner, the validity and the use of the key."""
        facts = BuiltInSigner(OWNER.key, OWNER.certificate).facts
        self.assertEqual((facts.subject, facts.issuer), ("Каса 1", "Test authority"))
        self.assertEqual((facts.tax_number, facts.person_tax_number), ("12345678", "1234567890"))
        self.assertEqual(facts.key_id, OWNER.certificate.key_id.hex())
        self.assertEqual(int(facts.serial, 16), OWNER.certificate.serial)
        self.assertEqual(facts.valid_to, NOW + timedelta(days=10))
        for later, days in ((0, 10), (7.5, 2), (10, 0), (11, -1)):
            self.assertEqual(facts.days_left(NOW + timedelta(days=later)), days)

    def test_person(self) -> None:
        """A key of a person alone is for the person's tax number."""
        certificate = AUTHORITY.issue("ФОП", person_tax_number="1234567890").certificate
        self.assertEqual(KeyFacts.of(certificate).tax_number, "1234567890")

    def test_wrong_pair(self) -> None:
        """A certificate of another key, or one that does not allow signatures, is refused at once."""
        other = AUTHORITY.issue("x").certificate
        self.assertRaises(NoKey, BuiltInSigner, OWNER.key, other)
        agrees = AUTHORITY.issue("x", usage=KeyUsage.KEY_AGREEMENT)
        self.assertRaises(NoKey, BuiltInSigner, agrees.key, agrees.certificate)

    def test_self_test_first(self) -> None:
        """With wrong known answers there is no signer, however often; right ones are checked once."""

        def fails() -> None:
            asked.append(1)
            raise SelfTestFailed("GOST 34.311")

        asked: list[int] = []
        self.addCleanup(signer._tested.cache_clear)
        signer._tested.cache_clear()
        patched = self.patch(signer, "self_test", fails)
        for _ in range(2):
            self.assertRaises(SelfTestFailed, BuiltInSigner, OWNER.key, OWNER.certificate)
        patched.restore()
        self.patch(signer, "self_test", lambda: asked.append(2))
        for _ in range(2):
            BuiltInSigner(OWNER.key, OWNER.certificate)
        self.assertEqual(asked, [1, 1, 2])

    def test_closed(self) -> None:
        """A closed signer does not sign, but shows its facts; closing twice has no effect."""
        own = BuiltInSigner(OWNER.key, OWNER.certificate)
        own.close()
        own.close()
        self.assertRaises(Closed, own.sign, b"x")
        self.assertEqual(own.facts.subject, "Каса 1")

    def test_no_secret_in_texts(self) -> None:
        """Neither the signer nor an opened file shows the key when it is printed."""
        file = KeyFile(Kind.IIT, (OWNER.key,), ())
        shown = f"{file!r} {signer_of(file, [OWNER.certificate])!r} {OWNER!r}"
        for form in (str(OWNER.key.d), f"{OWNER.key.d:x}"):
            self.assertNotIn(form, shown.lower())


class ChoiceTests(SynchronousTestCase):
    """Which key of a file signs."""

    def test_the_one_that_signs(self) -> None:
        """Of several keys the one whose certificate allows signatures is used, at any position."""
        agrees = AUTHORITY.issue("x", usage=KeyUsage.KEY_AGREEMENT)
        known = [agrees.certificate, OWNER.certificate]
        for file in (key_file(agrees, OWNER), key_file(OWNER, agrees)):
            self.assertEqual(signer_of(file, known).certificate, OWNER.certificate)

    def test_the_last_to_end(self) -> None:
        """Of several certificates for one key the one that ends last is taken."""
        renewed = AUTHORITY.issue("Каса 1", days=500, key=OWNER.key).certificate
        for known in ([OWNER.certificate, renewed], [renewed, OWNER.certificate]):
            self.assertEqual(signer_of(key_file(OWNER), known).certificate, renewed)

    def test_none(self) -> None:
        """Without a certificate, or with those of others alone, it says which of both it is."""
        error = self.assertRaises(NoKey, signer_of, key_file(OWNER))
        self.assertIn("there is no certificate", str(error))
        error = self.assertRaises(NoKey, signer_of, key_file(OWNER), [AUTHORITY.root.certificate])
        self.assertIn("no certificate that allows", str(error))

    def test_whole_way(self) -> None:
        """From the bytes of a key file and its password to a valid message."""
        data = write_pkcs12([write_private_key(OWNER.key)], [OWNER.certificate], "12345", rounds=3)
        message = open_signer(data, "12345").sign(b"a receipt")
        self.assertTrue(verify(message, NOW, AUTHORITY.trust).valid)
        self.assertRaises(WrongPassword, open_signer, data, "123456")
