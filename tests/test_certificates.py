"""Certificates: what is read of them, who issued them, whom we trust."""

from __future__ import annotations

import base64
import dataclasses
from datetime import UTC, datetime, timedelta

from cryptography import x509
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal.crypto import der, oids
from protocols.fiscal.crypto.authority import Authority, Identity, make_certificate
from protocols.fiscal.crypto.certificates import (
    Certificate,
    KeyUsage,
    read_certificate,
    read_certificates,
)
from protocols.fiscal.crypto.curves import NAMED
from protocols.fiscal.crypto.dstu4145 import PrivateKey
from protocols.fiscal.crypto.errors import CryptoError, Malformed
from protocols.fiscal.crypto.key_formats import key_identifier
from protocols.fiscal.crypto.signed_message import read
from protocols.fiscal.crypto.trust import Trust
from protocols.fiscal.crypto.verdict import Reason
from tests.vectors.fiscal_crypto import SALE_MESSAGE

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def official() -> Certificate:
    """The certificate in an official sample."""
    return read(SALE_MESSAGE).certificates[0]


class ReadTests(SynchronousTestCase):
    """What is read."""

    def test_official(self) -> None:
        """The certificate of an official sample has name, numbers, times, uses and addresses."""
        certificate = official()
        self.assertEqual(certificate.serial, 0x52DB1D0700000000000000000000000000000001)
        self.assertEqual(certificate.subject.common, "Симоненко Валентина Андреевна")
        self.assertEqual(certificate.issuer.get(oids.SERIAL_NUMBER), "UA-36865753-0117")
        self.assertEqual((certificate.tax_number, certificate.person_tax_number), ("10899999", "1089999992"))
        self.assertEqual(certificate.valid_from, datetime(2019, 12, 19, 10, 15, 55, tzinfo=UTC))
        self.assertEqual(certificate.valid_to, datetime(2021, 12, 18, 21, 59, 59, tzinfo=UTC))
        self.assertEqual(certificate.usage, KeyUsage.DIGITAL_SIGNATURE | KeyUsage.NON_REPUDIATION)
        self.assertEqual(certificate.stamp_url, "http://uakey.com.ua/services/tsp/")
        self.assertEqual(certificate.ocsp_url, "http://uakey.com.ua/services/ocsp/")
        self.assertFalse(certificate.is_authority)

    def test_key_identifier(self) -> None:
        """The key identifier in an official certificate is calculated from its key."""
        certificate = official()
        assert certificate.public_key is not None
        self.assertEqual(key_identifier(certificate.public_key), certificate.key_id)
        self.assertTrue(certificate.public_key.curve.is_public_key(certificate.public_key.point))

    def test_another_reader(self) -> None:
        """What we read of official and of our own certificates, the library cryptography reads too."""
        own = Authority(NOW).issue("Каса", tax_number="12345678").certificate
        for certificate in (official(), own):
            other = x509.load_der_x509_certificate(certificate.raw)
            self.assertEqual(other.serial_number, certificate.serial)
            self.assertEqual(other.not_valid_before_utc, certificate.valid_from)
            self.assertEqual(other.not_valid_after_utc, certificate.valid_to)
            self.assertEqual(other.tbs_certificate_bytes, certificate.signed)
            self.assertEqual(other.issuer.public_bytes(), certificate.issuer.raw)
            name = other.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value
            self.assertEqual(name, certificate.subject.common)
            identifier = other.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
            self.assertEqual(identifier.digest, certificate.key_id)
            usage = other.extensions.get_extension_for_class(x509.KeyUsage).value
            self.assertEqual((usage.digital_signature, usage.key_cert_sign), (True, False))
        # It remarks that names of Ukrainian providers are longer than the standard allows.
        self.flushWarnings()

    def test_days_left(self) -> None:
        """Days left are counted in whole days, downwards."""
        certificate = Authority(NOW).issue("x", days=3).certificate
        for later, days in ((timedelta(), 3), (timedelta(seconds=1), 2), (3 * DAY, 0), (3.5 * DAY, -1)):
            self.assertEqual(certificate.days_left(NOW + later), days)

    def test_other_algorithms(self) -> None:
        """A certificate of another algorithm is read, without a key."""
        raw = bytearray(official().raw)
        ours = der.oid(oids.DSTU_4145_LE)
        at = raw.index(ours, raw.index(ours) + len(ours))
        raw[at + len(ours) - 1] ^= 0x40
        certificate = read_certificate(bytes(raw))
        self.assertEqual((certificate.public_key, certificate.subject), (None, official().subject))

    def test_files(self) -> None:
        """A file may hold one certificate, several in PEM, or a bundle of a provider."""
        first, second = official(), Authority(NOW).root.certificate
        pem = b"".join(
            b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(each.raw) + b"-----END CERTIFICATE-----\n"
            for each in (first, second)
        )
        body = der.sequence(
            der.integer(1),
            der.set_of(),
            der.sequence(der.oid(oids.DATA)),
            der.element(der.context(0), first.raw, second.raw),
            der.set_of(),
        )
        bundle = der.sequence(der.oid(oids.SIGNED_DATA), der.element(der.context(0), body))
        self.assertEqual(read_certificates(first.raw), [first])
        self.assertEqual(read_certificates(pem), [first, second])
        self.assertEqual(read_certificates(bundle), [first, second])
        self.assertRaises(Malformed, read_certificates, b"")
        self.assertRaises(Malformed, read_certificates, b"-----BEGIN X-----\n!\n-----END X-----")
        self.assertRaises(Malformed, read_certificates, der.sequence(der.oid(oids.DATA)))

    @settings(deadline=None, max_examples=200)
    @given(st.data())
    def test_any_damage(self, data: st.DataObject) -> None:
        """A certificate with any byte changed, or cut anywhere, is read or refused with an error of ours."""
        raw = bytearray(official().raw)
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
        cut = data.draw(st.integers(0, len(raw)))
        for damaged in (bytes(raw), bytes(raw[:cut])):
            try:
                read_certificates(damaged)
            except CryptoError:
                continue

    @settings(deadline=None, max_examples=200)
    @given(st.binary(max_size=80))
    def test_any_bytes(self, data: bytes) -> None:
        """Any bytes are certificates or are refused with an error of ours."""
        for whole in (data, der.sequence(data), der.sequence(der.sequence(data), der.sequence(data), data)):
            try:
                read_certificates(whole)
            except CryptoError:
                continue


class TrustTests(SynchronousTestCase):
    """The way to a certificate that is trusted."""

    def setUp(self) -> None:
        """An authority, and a key of it."""
        self.authority = Authority(NOW)
        self.own = self.authority.issue("own").certificate

    def reasons(self, trust: Trust, certificate: Certificate, at: datetime = NOW) -> list[Reason]:
        """Why the certificate is not trusted."""
        return [fault.reason for fault in trust.faults(certificate, at)]

    def test_issued(self) -> None:
        """What the authority issued is trusted, and so is the authority's own certificate."""
        self.assertEqual(self.reasons(self.authority.trust, self.own), [])
        self.assertEqual(self.reasons(self.authority.trust, self.authority.root.certificate), [])

    def test_single_key(self) -> None:
        """A single certificate can be trusted by itself, and then no other one of its issuer."""
        trust = Trust([self.own])
        self.assertEqual(self.reasons(trust, self.own), [])
        self.assertEqual(self.reasons(trust, self.authority.issue("other").certificate), [Reason.NOT_TRUSTED])

    def test_stranger(self) -> None:
        """An authority with the same name is a different one."""
        stranger = Authority(NOW).issue("own").certificate
        self.assertEqual(self.reasons(self.authority.trust, stranger), [Reason.NOT_TRUSTED])
        self.assertEqual(self.reasons(Trust([]), self.own), [Reason.NOT_TRUSTED])

    def test_forged(self) -> None:
        """A certificate with a single changed byte is not trusted, though it names the right issuer and key."""
        raw = self.own.raw.replace(b"own", b"owl")
        forged = read_certificate(raw)
        self.assertEqual(forged.subject.common, "owl")
        self.assertEqual(self.reasons(self.authority.trust, forged), [Reason.NOT_TRUSTED])

    def test_time(self) -> None:
        """A certificate is trusted from its first to its last second."""
        trust, own = self.authority.trust, self.own
        for at, wanted in (
            (own.valid_from, []),
            (own.valid_to, []),
            (own.valid_from - timedelta(seconds=1), [Reason.NOT_VALID]),
            (own.valid_to + timedelta(seconds=1), [Reason.NOT_VALID]),
        ):
            self.assertEqual(self.reasons(trust, own, at), wanted)

    def test_issuer_ended(self) -> None:
        """Where the issuer's certificate ended, what it issued ends with it."""
        old = Authority(NOW, years=1)
        own = old.issue("own", days=800).certificate
        self.assertEqual(self.reasons(old.trust, own, NOW + 400 * DAY), [Reason.NOT_TRUSTED])

    def test_between(self) -> None:
        """An authority between is used when the trusted one signed it, and only if it may sign certificates."""
        signs = KeyUsage.CERTIFICATE_SIGN
        for authority, usage, wanted in (
            (True, signs, []),
            (False, signs, [Reason.NOT_TRUSTED]),
            (True, KeyUsage.DIGITAL_SIGNATURE, [Reason.NOT_TRUSTED]),
        ):
            between = self.authority.issue("between", usage=usage, authority=authority)
            leaf = issued_by(between, "leaf")
            root = self.authority.root.certificate
            self.assertEqual(self.reasons(Trust([root], [between.certificate]), leaf), wanted)
            self.assertEqual(self.reasons(Trust([root]), leaf), [Reason.NOT_TRUSTED])
            self.assertEqual(self.reasons(Trust([], [root, between.certificate]), leaf), [Reason.NOT_TRUSTED])

    def test_length(self) -> None:
        """A way of more than four certificates is not gone."""
        last, between = self.authority.root, []
        for step in range(3):
            key = PrivateKey.generate(NAMED[0])
            certificate = make_certificate(
                {oids.COMMON_NAME: f"step {step}"},
                key.public(),
                last,
                NOW - DAY,
                NOW + DAY,
                KeyUsage.CERTIFICATE_SIGN,
                authority=True,
            )
            last = Identity(key, certificate)
            between.append(certificate)
        trust = Trust([self.authority.root.certificate], between)
        self.assertEqual(self.reasons(trust, last.certificate), [])
        self.assertEqual(self.reasons(trust, issued_by(last, "leaf")), [Reason.NOT_TRUSTED])

    def test_circle(self) -> None:
        """Certificates that signed each other lead nowhere and end."""
        first, second = PrivateKey.generate(NAMED[0]), PrivateKey.generate(NAMED[0])
        start = make_certificate(
            {oids.COMMON_NAME: "first"}, first.public(), first, NOW - DAY, NOW + DAY, authority=True
        )
        other = issued_by(Identity(first, start), "second", second, authority=True)
        back = issued_by(Identity(second, other), "first", first, authority=True)
        self.assertEqual(self.reasons(Trust([], [start, other, back]), other), [Reason.NOT_TRUSTED])

    def test_equal(self) -> None:
        """Certificates are equal when their bytes are."""
        self.assertEqual(self.own, read_certificate(self.own.raw))
        self.assertNotEqual(self.own, dataclasses.replace(self.own, raw=b""))


def issued_by(issuer: Identity, name: str, key: PrivateKey | None = None, authority: bool = False) -> Certificate:
    """A certificate that ``issuer`` signed."""
    key = key or PrivateKey.generate(NAMED[0])
    usage = KeyUsage.CERTIFICATE_SIGN if authority else KeyUsage.DIGITAL_SIGNATURE
    names = {oids.COMMON_NAME: name}
    return make_certificate(names, key.public(), issuer, NOW - DAY, NOW + DAY, usage, authority=authority)
