"""Signatures, certificates and key files: bytes that others upload, or that identify a signer."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

from protocols.fiscal.crypto import der, jks_file, oids, pbes2, pkcs12_file
from protocols.fiscal.crypto.certificates import read_certificates
from protocols.fiscal.crypto.errors import CryptoError, Malformed
from protocols.fiscal.crypto.gost28147 import DKE1
from protocols.fiscal.crypto.key_files import open_key_file
from protocols.fiscal.crypto.signed_message import read
from protocols.fiscal.crypto.timestamps import NoStamp, read_stamp_answer
from protocols.fiscal.crypto.trust import Trust
from protocols.fiscal.crypto.verifying import verify
from tests.fuzz.target import Broken, Target
from tests.vectors.fiscal_crypto import (
    COMMAND_MESSAGE,
    FILE_PASSWORD,
    IIT_FILE,
    JKS_FILE,
    PBES2_BODY,
    PBES2_SALT,
    PBES2_START,
    SALE_MESSAGE,
)

NOW = datetime(2021, 3, 1, tzinfo=UTC)
TRUST = Trust(read(COMMAND_MESSAGE).certificates)
DEEPEST = 40
"""How deep the target follows nested elements; the reader itself goes only as deep as its caller."""

READERS = ("integer", "octets", "bits", "oid", "text", "time", "fields")


def elements(data: bytes) -> None:
    """Any bytes are elements that cover all of them, or are malformed; so is each value."""

    def follow(element: der.Element, depth: int) -> None:
        for name in READERS:
            with suppress(Malformed):
                getattr(element, name)()
        with suppress(Malformed):
            children = element.children()
            if b"".join(child.raw for child in children) != element.content:
                raise Broken("the children are not all of it")
            for child in children if depth else ():
                follow(child, depth - 1)

    with suppress(Malformed):
        follow(der.parse(data), DEEPEST)
    with suppress(Malformed):
        element = der.parse_first(data)
        if not data.startswith(element.raw):
            raise Broken("what was read is not what was there")


def certificates(data: bytes) -> None:
    """Any bytes are certificates, as DER or PEM, or are refused."""
    with suppress(CryptoError):
        for certificate in read_certificates(data):
            repr((certificate, certificate.subject, certificate.valid_at(NOW), TRUST.faults(certificate, NOW)))


def messages(data: bytes) -> None:
    """Any bytes are a signed message that gets a verdict, or are refused."""
    with suppress(CryptoError):
        repr(verify(data, NOW, TRUST, TRUST))


def stamps(data: bytes) -> None:
    """Any bytes are a time stamp that gets a verdict, or are refused."""
    with suppress(CryptoError, NoStamp):
        read_stamp_answer(data, b"signature", 7, TRUST)


def keys(data: bytes) -> None:
    """Any bytes are a key file, or are refused; the slow derivation of passwords is left out."""
    costs = (pbes2, "pbkdf2"), (pkcs12_file, "pkcs12_mac_key")
    before = [getattr(module, name) for module, name in costs]
    for module, name in costs:
        setattr(module, name, lambda *_: bytes(32))
    try:
        # A key file of IIT derives its key by ten thousand rounds: only its frame is read here.
        if IIT_KIND not in data:
            with suppress(CryptoError):
                open_key_file(data, FILE_PASSWORD)
    finally:
        for (module, name), own in zip(costs, before, strict=True):
            setattr(module, name, own)


IIT_KIND = der.oid(oids.IIT_KEY_FILE)
SCHEME = pbes2.Scheme(PBES2_SALT, 3, PBES2_START, DKE1)
PBES2_FILE = der.sequence(SCHEME.write(), der.octets(PBES2_BODY))
PEM = b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
CERTIFICATES = tuple(certificate.raw for certificate in read(SALE_MESSAGE).certificates)
DER_WORDS = (
    b"\x30\x80",
    b"\x30\x82",
    b"\x06\x09",
    b"\xa0",
    b"\x17\x0d",
    b"\x04\x20",
    b"\x30\x00",
    der.oid("1.2.840"),
)

TARGETS = (
    Target("der", elements, (PBES2_FILE, CERTIFICATES[0][:200], der.sequence(der.null())), DER_WORDS),
    Target("certificates", certificates, (*CERTIFICATES, PEM), (*DER_WORDS, b"-----BEGIN ", b"-----END "), 4096),
    Target("signed-messages", messages, (COMMAND_MESSAGE, SALE_MESSAGE), DER_WORDS, 8192),
    Target("time-stamps", stamps, (der.sequence(der.sequence(der.integer(0)), COMMAND_MESSAGE),), DER_WORDS, 8192),
    Target("key-files", keys, (PBES2_FILE, JKS_FILE, IIT_FILE), (*DER_WORDS, jks_file.MAGIC), 4096),
)
