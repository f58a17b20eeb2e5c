"""Signed messages: official ones, our own, and all the ways in which one can be wrong."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal.crypto import der, oids
from protocols.fiscal.crypto.authority import Authority, Identity, stamp_answer
from protocols.fiscal.crypto.certificates import KeyUsage
from protocols.fiscal.crypto.curves import NAMED
from protocols.fiscal.crypto.der import Element
from protocols.fiscal.crypto.dstu4145 import PrivateKey
from protocols.fiscal.crypto.errors import CryptoError, Malformed, NoKey
from protocols.fiscal.crypto.gost34311 import digest
from protocols.fiscal.crypto.signed_message import read
from protocols.fiscal.crypto.signing import NamedBy, sign, signature_of, with_stamp
from protocols.fiscal.crypto.timestamps import NoStamp, ask_for_stamp, new_nonce, read_stamp, read_stamp_answer
from protocols.fiscal.crypto.trust import Trust
from protocols.fiscal.crypto.verdict import Fault, Reason
from protocols.fiscal.crypto.verifying import CheckedMessage, profile_faults, verify
from tests.vectors.fiscal_crypto import COMMAND_MESSAGE, OFFLINE_PACKAGE, SALE_MESSAGE, SHA256, Z_MESSAGE

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
THEN = datetime(2021, 3, 1, tzinfo=UTC)
"""When the certificates of the official samples were valid."""

TEXT = "<CHECK>Каса</CHECK>".encode("cp1251")

AUTHORITY = Authority(NOW)
CASHIER = AUTHORITY.cashier("Касир", "12345678")
STAMPER = AUTHORITY.issue("Stamps", stamps=True)


def reasons(verdict: CheckedMessage) -> list[Reason]:
    """Why a message is not accepted."""
    return [fault.reason for fault in verdict.faults]


def packaged() -> Iterator[bytes]:
    """The documents of the official offline package."""
    rest = OFFLINE_PACKAGE
    while rest:
        (length,) = struct.unpack("<I", rest[:4])
        yield rest[4 : 4 + length]
        rest = rest[4 + length :]


def signed(
    content: bytes = TEXT, identity: Identity = CASHIER, named_by: NamedBy = NamedBy.ISSUER_AND_SERIAL
) -> bytes:
    """A message that we sign."""
    return sign(content, identity.key, identity.certificate, named_by=named_by)


def rebuilt(message: bytes, change: Callable[[list[bytes]], list[bytes]]) -> bytes:
    """The message with the parts of its SignedData changed."""
    kind, wrapped = der.parse(message).children()
    parts = [part.raw for part in wrapped.children()[0].children()]
    body = der.sequence(*change(parts))
    return der.sequence(kind.raw, der.element(der.context(0), body))


def with_signer(message: bytes, change: Callable[[list[bytes]], list[bytes]]) -> bytes:
    """The message with the parts of its SignerInfo changed."""

    def signers(parts: list[bytes]) -> list[bytes]:
        signer = der.parse(parts[-1]).children()[0]
        changed = der.sequence(*change([part.raw for part in signer.children()]))
        return [*parts[:-1], der.element(der.SET, changed)]

    return rebuilt(message, signers)


def resigned(message: bytes, key: PrivateKey, change: Callable[[list[Element]], list[bytes]]) -> bytes:
    """The message with its signed attributes changed, and a right signature over the changed ones."""

    def change_signer(parts: list[bytes]) -> list[bytes]:
        attributes = b"".join(change(der.parse(parts[3]).children()))
        signature = key.sign(digest(der.element(der.SET, attributes)))
        return [*parts[:3], der.element(der.context(0), attributes), parts[4], der.octets(signature)]

    return with_signer(message, change_signer)


class OfficialTests(SynchronousTestCase):
    """The official samples, as they were published."""

    def test_carried_whole(self) -> None:
        """The samples here are the published bytes."""
        samples = {"command": COMMAND_MESSAGE, "sale": SALE_MESSAGE, "z": Z_MESSAGE, "package": OFFLINE_PACKAGE}
        self.assertEqual({name: hashlib.sha256(data).hexdigest() for name, data in samples.items()}, SHA256)

    def test_messages(self) -> None:
        """Every official message is valid, its content is the published one, and its form is as the server wants."""
        for message, sha256, stamped in (
            (COMMAND_MESSAGE, "7a5ab8ca38fd7acc82c97cede8509a084244fb331d5b2cb3cce16490fc73e137", None),
            (SALE_MESSAGE, "c03ded9d9f715488afbed81c99a37da0e10549bd096f0a1cdcd1aa8719c203cb", (7, 37, 28)),
            (Z_MESSAGE, "8213817760ec175feda1f656460fe3a3ed6041874481802aa0c4aa8c3bb4f695", (7, 44, 1)),
        ):
            verdict = verify(message, THEN, Trust(read(message).certificates))
            self.assertEqual(verdict.faults, ())
            self.assertEqual(hashlib.sha256(verdict.content).hexdigest(), sha256)
            moment = datetime(2020, 7, 21, *stamped, tzinfo=UTC) if stamped else None
            self.assertEqual(verdict.stamp.moment if verdict.stamp else None, moment)
            self.assertEqual(profile_faults(read(message), stamp_wanted=stamped is not None), [])

    def test_package(self) -> None:
        """All seven documents of the official package are valid; the first and the last one are stamped."""
        verdicts = [verify(message, THEN, None) for message in packaged()]
        self.assertEqual([verdict.faults for verdict in verdicts], [()] * 7)
        self.assertEqual([n for n, verdict in enumerate(verdicts, 1) if verdict.stamp], [1, 7])

    def test_order_is_kept(self) -> None:
        """Official attributes are not sorted, so hashing them sorted would refuse the message."""
        (signer,) = read(SALE_MESSAGE).signers
        attributes = [part.raw for part in der.parse(signer.signed_bytes).children()]
        self.assertNotEqual(attributes, sorted(attributes))

    def test_named_by_key(self) -> None:
        """Official messages name the signer by key identifier, in the form that is theirs alone."""
        (signer,) = read(SALE_MESSAGE).signers
        self.assertEqual((signer.issuer, len(signer.key_id)), (b"", 32))

    @settings(deadline=None, max_examples=150)
    @given(st.data())
    def test_any_damage(self, data: st.DataObject) -> None:
        """An official message with any byte changed, or cut anywhere, gives faults or a `CryptoError`."""
        raw = bytearray(SALE_MESSAGE)
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
        cut = data.draw(st.integers(0, len(raw)))
        for damaged in (bytes(raw), bytes(raw[:cut])):
            try:
                read(damaged)
            except CryptoError:
                continue

    def test_no_damage_is_valid(self) -> None:
        """A changed byte anywhere in what is signed, in the key or in the signature makes the message invalid."""
        at = [SALE_MESSAGE.index(part) for part in (b"CHECKHEAD", b"\x2a\x86\x48\x86\xf7\x0d\x01\x09\x04")]
        (signer,) = read(SALE_MESSAGE).signers
        at += [SALE_MESSAGE.index(signer.signature) + step for step in (0, 31, 32, 63)]
        for place in at:
            raw = bytearray(SALE_MESSAGE)
            raw[place] ^= 1
            self.assertFalse(verify(bytes(raw), THEN, None).valid, place)


class OwnTests(SynchronousTestCase):
    """Messages that we sign."""

    def test_round_trip(self) -> None:
        """Our messages are valid in both ways of naming the signer, and of the required form."""
        for named_by in NamedBy:
            message = signed(named_by=named_by)
            verdict = verify(message, NOW, AUTHORITY.trust)
            self.assertEqual((verdict.faults, verdict.content), ((), TEXT))
            self.assertEqual(verdict.signer, CASHIER.certificate)
            self.assertEqual(profile_faults(read(message)), [])

    def test_like_the_official_ones(self) -> None:
        """Named by key, our message has the elements of an official one, tag by tag, except their order."""

        def shape(message: bytes) -> list[object]:
            kind, wrapped = der.parse(message).children()
            version, digests, content, certificates, signers = wrapped.children()[0].children()
            parts = signers.children()[0].children()
            attributes = sorted(part.children()[0].oid() for part in parts[3].children())
            return [
                kind.oid(),
                version.integer(),
                digests.raw,
                [part.tag for part in content.children()],
                certificates.tag,
                len(certificates.children()),
                [part.tag for part in parts],
                parts[0].integer(),
                parts[1].children()[0].tag,
                parts[2].raw,
                attributes,
                parts[4].raw,
                len(parts[5].octets()),
            ]

        self.assertEqual(shape(signed(named_by=NamedBy.KEY_IDENTIFIER)), shape(COMMAND_MESSAGE))

    def test_sorted(self) -> None:
        """Our signed attributes are sorted, so readers that sort them agree."""
        for moment in (None, NOW):
            message = sign(TEXT, CASHIER.key, CASHIER.certificate, moment)
            (signer,) = read(message).signers
            attributes = [part.raw for part in der.parse(signer.signed_bytes).children()]
            self.assertEqual(attributes, sorted(attributes))
            self.assertEqual(verify(message, NOW, None).signed_at, moment)

    def test_any_content(self) -> None:
        """Empty and large contents are signed whole."""
        for content in (b"", b"x" * 70_000):
            self.assertEqual(verify(signed(content), NOW, AUTHORITY.trust).content, content)

    def test_wrong_certificate(self) -> None:
        """A certificate on another curve is refused before signing."""
        self.assertRaises(NoKey, sign, TEXT, PrivateKey.generate(NAMED[0]), CASHIER.certificate)


class WrongTests(SynchronousTestCase):
    """One thing wrong at a time."""

    def judged(self, message: bytes, at: datetime = NOW, trust: Trust | None = AUTHORITY.trust) -> list[Reason]:
        """Why the message is not accepted."""
        return reasons(verify(message, at, trust))

    def test_changed_content(self) -> None:
        """Another content under the same signature is seen."""
        self.assertEqual(self.judged(signed().replace(b"CHECK", b"CHUCK")), [Reason.CHANGED])

    def test_forged_signature(self) -> None:
        """A signature of another key under the right certificate is seen."""
        forged = sign(TEXT, PrivateKey.generate(), CASHIER.certificate)
        self.assertEqual(self.judged(forged), [Reason.SIGNATURE])

    def test_foreign(self) -> None:
        """A certificate of an unknown authority is a fault, unless no trusted ones are given."""
        message = signed(identity=Authority(NOW).cashier("Касир", "12345678"))
        self.assertEqual(self.judged(message), [Reason.NOT_TRUSTED])
        self.assertEqual(self.judged(message, trust=None), [])

    def test_expired(self) -> None:
        """A certificate before or after its validity is a fault."""
        message = signed()
        self.assertEqual(self.judged(message, CASHIER.certificate.valid_to), [])
        for at in (CASHIER.certificate.valid_to + timedelta(seconds=1), NOW - timedelta(days=2)):
            self.assertEqual(self.judged(message, at), [Reason.NOT_VALID])

    def test_key_usage(self) -> None:
        """A key that is for agreeing on secrets does not sign."""
        message = signed(identity=AUTHORITY.issue("x", usage=KeyUsage.KEY_AGREEMENT))
        self.assertEqual(self.judged(message), [Reason.KEY_USAGE])

    def test_no_certificate(self) -> None:
        """A message without the signer's certificate is valid only with the certificate at hand."""
        bare = rebuilt(signed(), lambda parts: parts[:3] + parts[4:])
        self.assertEqual(self.judged(bare), [Reason.NO_CERTIFICATE])
        verdict = verify(bare, NOW, AUTHORITY.trust, known=CASHIER.certificate)
        self.assertEqual(verdict.faults, ())
        other = AUTHORITY.cashier("Other", "1").certificate
        self.assertEqual(reasons(verify(bare, NOW, None, known=other)), [Reason.NO_CERTIFICATE])

    def test_swapped_certificate(self) -> None:
        """Another certificate for the same key, name and number is not the one that was signed with."""
        twin = AUTHORITY.issue("Касир", tax_number="12345678", key=CASHIER.key).certificate
        message = rebuilt(
            signed(named_by=NamedBy.KEY_IDENTIFIER),
            lambda parts: [*parts[:3], der.element(der.context(0), twin.raw), *parts[4:]],
        )
        self.assertEqual(self.judged(message), [Reason.OTHER_CERTIFICATE])

    def test_missing_attributes(self) -> None:
        """A signature that does not cover type and hash of the content is refused, though its arithmetic is right."""
        for kept in ((1, 2), (0, 2), ()):
            message = resigned(signed(), CASHIER.key, lambda found, kept=kept: [found[n].raw for n in kept])  # type: ignore[misc]
            self.assertEqual(self.judged(message), [Reason.ATTRIBUTES], kept)

    def test_other_type(self) -> None:
        """A signed type that is not the type of the content is refused."""

        def change(found: list[Element]) -> list[bytes]:
            kind = der.sequence(der.oid(oids.CONTENT_TYPE), der.set_of(der.oid(oids.SIGNED_DATA)))
            return [kind, *[part.raw for part in found[1:]]]

        self.assertEqual(self.judged(resigned(signed(), CASHIER.key, change)), [Reason.ATTRIBUTES])

    def test_twice(self) -> None:
        """An attribute that occurs twice makes the message malformed."""
        message = resigned(signed(), CASHIER.key, lambda found: [found[0].raw, *[part.raw for part in found]])
        self.assertRaises(Malformed, read, message)

    def test_no_attributes(self) -> None:
        """A signature straight over the content is not taken."""
        message = with_signer(signed(), lambda parts: parts[:3] + parts[4:])
        self.assertEqual(self.judged(message), [Reason.ATTRIBUTES, Reason.SIGNATURE])

    def test_other_algorithms(self) -> None:
        """A message of another hash or signature is named, not tried."""
        sha256, kupyna = "2.16.840.1.101.3.4.2.1", "1.2.804.2.1.1.1.1.3.6.1"
        for place, algorithm in ((2, sha256), (4, kupyna)):
            written = der.sequence(der.oid(algorithm))
            message = with_signer(
                signed(),
                lambda parts, at=place, new=written: [*parts[:at], new, *parts[at + 1 :]],  # type: ignore[misc]
            )
            verdict = verify(message, NOW, AUTHORITY.trust)
            self.assertEqual(verdict.faults, (Fault(Reason.ALGORITHM, oids.name_of(algorithm)),))

    def test_wrapped_signature(self) -> None:
        """A signature value that is wrapped once more is read; a wrapped half of one is not valid."""
        for length, wanted in ((64, []), (32, [Reason.SIGNATURE])):
            message = with_signer(
                signed(),
                lambda parts, length=length: [  # type: ignore[misc]
                    *parts[:5],
                    der.octets(der.octets(der.parse(parts[5]).octets()[:length])),
                ],
            )
            self.assertEqual(self.judged(message), wanted)

    def test_two_signatures(self) -> None:
        """A message with two signatures, or none, is not what the tax service takes."""
        signer = der.parse(rebuilt(signed(), lambda parts: parts)).children()[1].children()[0].children()[-1]
        for count in (0, 2):
            several = der.element(der.SET, signer.content * count)
            message = rebuilt(signed(), lambda parts, several=several: [*parts[:-1], several])  # type: ignore[misc]
            self.assertEqual(self.judged(message), [Reason.PROFILE])
            self.assertIn(Reason.PROFILE, [fault.reason for fault in profile_faults(read(message))])

    def test_profile(self) -> None:
        """Issuers' certificates, revocation lists, a stamped content and a missing stamp are reported."""
        root = AUTHORITY.root.certificate.raw
        more = rebuilt(
            signed(),
            lambda parts: [*parts[:3], der.element(der.context(0), CASHIER.certificate.raw, root), *parts[4:]],
        )
        lists = rebuilt(signed(), lambda parts: [*parts[:4], der.element(der.context(1)), *parts[4:]])
        stamp = der.sequence(der.oid(oids.CONTENT_TIME_STAMP), der.set_of(der.null()))
        stamped = resigned(signed(), CASHIER.key, lambda found: [stamp, *[part.raw for part in found]])
        apart = rebuilt(signed(), lambda parts: [*parts[:2], der.sequence(der.oid(oids.DATA)), *parts[3:]])
        unbound = resigned(signed(), CASHIER.key, lambda found: [found[0].raw, found[1].raw])
        self.assertEqual(self.judged(unbound), [])
        for message in (more, lists, stamped, apart, unbound):
            self.assertEqual(len(profile_faults(read(message))), 1)
        self.assertEqual(len(profile_faults(read(signed()), stamp_wanted=True)), 1)
        self.assertEqual(self.judged(apart), [Reason.CHANGED])

    def test_other_things(self) -> None:
        """Anything but a signed message is malformed."""
        for data in (b"", b"<CHECK/>", CASHIER.certificate.raw, der.sequence(der.oid(oids.DATA)), signed()[:-1]):
            self.assertRaises(Malformed, read, data)

    def test_words(self) -> None:
        """A fault reads as a sentence with its detail."""
        self.assertEqual(str(Fault(Reason.CHANGED)), Reason.CHANGED.value)
        self.assertTrue(str(Fault(Reason.ALGORITHM, "RSA")).endswith(": RSA"))

    @settings(deadline=None, max_examples=200)
    @given(st.binary(max_size=100))
    def test_any_bytes(self, data: bytes) -> None:
        """Any bytes are a message or raise a `CryptoError`."""
        body = der.sequence(der.integer(1), der.set_of(), der.sequence(der.oid(oids.DATA)), data)
        wrapped = der.sequence(der.oid(oids.SIGNED_DATA), der.element(der.context(0), body))
        for whole in (data, der.sequence(data), wrapped):
            try:
                verify(whole, NOW, AUTHORITY.trust)
            except CryptoError:
                continue

    @settings(deadline=None, max_examples=40)
    @given(st.data())
    def test_any_damage(self, data: st.DataObject) -> None:
        """Our message with any byte changed gives faults or a `CryptoError`."""
        raw = bytearray(STAMPED)
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
        try:
            verify(bytes(raw), NOW, AUTHORITY.trust, AUTHORITY.trust)
        except CryptoError:
            return


def token_for(signature: bytes, provider: Identity = STAMPER, at: datetime = NOW) -> bytes:
    """A time-stamp token."""
    nonce = new_nonce()
    answer = stamp_answer(ask_for_stamp(signature, nonce), provider, lambda: at)
    return der.parse(answer).children()[1].raw


_PLAIN = signed()
STAMPED = with_stamp(_PLAIN, token_for(signature_of(_PLAIN)))
"""Our message with a time stamp."""


class StampTests(SynchronousTestCase):
    """Time stamps."""

    def test_round_trip(self) -> None:
        """A stamp is asked for, answered, put in, and found valid; what was signed stays as it was."""
        message = signed()
        signature, nonce = signature_of(message), new_nonce()
        answer = stamp_answer(ask_for_stamp(signature, nonce), STAMPER, lambda: NOW, serial=77)
        stamped = with_stamp(message, read_stamp_answer(answer, signature, nonce, AUTHORITY.trust))
        verdict = verify(stamped, NOW, AUTHORITY.trust, AUTHORITY.trust)
        self.assertEqual(verdict.faults, ())
        assert verdict.stamp is not None
        self.assertEqual((verdict.stamp.moment, verdict.stamp.serial), (NOW, 77))
        self.assertEqual(read(stamped).signers[0].signed_bytes, read(message).signers[0].signed_bytes)
        self.assertEqual(profile_faults(read(stamped), stamp_wanted=True), [])
        self.assertRaises(Malformed, with_stamp, stamped, b"")

    def test_keeps_valid(self) -> None:
        """A stamped message stays valid after the certificate ended, an unstamped one does not."""
        late = CASHIER.certificate.valid_to + timedelta(days=1)
        self.assertEqual(verify(STAMPED, late, AUTHORITY.trust, AUTHORITY.trust).faults, ())
        self.assertEqual(reasons(verify(_PLAIN, late, AUTHORITY.trust)), [Reason.NOT_VALID])

    def test_wrong_stamps(self) -> None:
        """A stamp for something else, by an unknown provider or another kind of key is a fault and moves no date."""
        signature = signature_of(_PLAIN)
        for token in (
            token_for(b"something else"),
            token_for(signature, Authority(NOW).issue("x", stamps=True)),
            token_for(signature, AUTHORITY.issue("x")),
            token_for(signature, at=NOW + timedelta(days=4000)),
            der.sequence(der.oid(oids.DATA)),
            _PLAIN,
        ):
            verdict = verify(with_stamp(_PLAIN, token), NOW, AUTHORITY.trust, AUTHORITY.trust)
            self.assertEqual(reasons(verdict), [Reason.TIME_STAMP])
            late = CASHIER.certificate.valid_to + timedelta(days=1)
            verdict = verify(with_stamp(_PLAIN, token), late, AUTHORITY.trust, AUTHORITY.trust)
            self.assertEqual(reasons(verdict), [Reason.TIME_STAMP, Reason.NOT_VALID])

    def test_unknown_provider(self) -> None:
        """Without a list of providers no stamp moves the date, else an ended key could have signed long ago."""
        late = CASHIER.certificate.valid_to + timedelta(days=1)
        backdated = with_stamp(_PLAIN, token_for(signature_of(_PLAIN), Authority(NOW).issue("x", stamps=True)))
        self.assertEqual(reasons(verify(backdated, late, AUTHORITY.trust)), [Reason.NOT_VALID])
        self.assertEqual(reasons(verify(backdated, NOW, AUTHORITY.trust)), [])

    def test_unasked(self) -> None:
        """Without a list of providers a stamp must still be whole and within its certificate's time."""
        signature = signature_of(_PLAIN)
        foreign = Authority(NOW).issue("x", stamps=True)
        self.assertEqual(read_stamp(token_for(signature, foreign), signature, None).faults, ())
        late = read_stamp(token_for(signature, at=NOW + timedelta(days=4000)), signature, None)
        self.assertEqual([fault.reason for fault in late.faults], [Reason.NOT_VALID])

    def test_answers(self) -> None:
        """A refusal, an answer to another request and a stamp for something else raise an error."""
        signature, nonce = b"r and s", 5
        good = stamp_answer(ask_for_stamp(signature, nonce), STAMPER, lambda: NOW)
        self.assertTrue(read_stamp_answer(good, signature, nonce, AUTHORITY.trust))
        refusal = der.sequence(der.sequence(der.integer(2)))
        for answer, about, number in ((refusal, signature, 5), (good, signature, 6), (good, b"other", 5)):
            self.assertRaises(NoStamp, read_stamp_answer, answer, about, number, AUTHORITY.trust)
        self.assertRaises(Malformed, read_stamp_answer, b"<html>", signature, nonce, AUTHORITY.trust)
        self.assertNotEqual(new_nonce(), new_nonce())
