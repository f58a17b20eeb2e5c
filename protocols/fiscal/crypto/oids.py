"""Object identifiers of Ukrainian keys, certificates and messages (docs/reference/cryptography.md#key-formats)."""

from __future__ import annotations

from protocols.fiscal.crypto.errors import Unsupported

GOST_34311 = "1.2.804.2.1.1.1.1.2.1"
HMAC_GOST_34311 = "1.2.804.2.1.1.1.1.1.2"
GOST_28147_CFB = "1.2.804.2.1.1.1.1.1.1.3"
DSTU_4145_LE = "1.2.804.2.1.1.1.1.3.1.1"
"""DSTU 4145 in polynomial basis, bytes little-endian: the algorithm of keys and of signatures."""

DSTU_7564_256, DSTU_7624_256_CBC, HMAC_DSTU_7564_256 = (
    "1.2.804.2.1.1.1.1.2.2.1",
    "1.2.804.2.1.1.1.1.1.3.5.2",
    "1.2.804.2.1.1.1.1.2.2.4",
)
"""Kupyna and Kalyna, the newer hash and cipher: named in errors, not supported."""

AES_CBC = {
    "2.16.840.1.101.3.4.1.2": 16,
    "2.16.840.1.101.3.4.1.22": 24,
    "2.16.840.1.101.3.4.1.42": 32,
}
"""AES in CBC mode, with the bytes of its key."""

HMAC_SHA = {
    "1.2.840.113549.2.7": "sha1",
    "1.2.840.113549.2.8": "sha224",
    "1.2.840.113549.2.9": "sha256",
    "1.2.840.113549.2.10": "sha384",
    "1.2.840.113549.2.11": "sha512",
}
SHA = {
    "1.3.14.3.2.26": "sha1",
    "2.16.840.1.101.3.4.2.4": "sha224",
    "2.16.840.1.101.3.4.2.1": "sha256",
    "2.16.840.1.101.3.4.2.2": "sha384",
    "2.16.840.1.101.3.4.2.3": "sha512",
}
"""Hashes of other countries by their names in `hashlib`: containers of Ukrainian keys that other programs made."""

HMAC_SHA1 = "1.2.840.113549.2.7"

DATA, SIGNED_DATA, ENCRYPTED_DATA = "1.2.840.113549.1.7.1", "1.2.840.113549.1.7.2", "1.2.840.113549.1.7.6"
CONTENT_TYPE, MESSAGE_DIGEST, SIGNING_TIME = "1.2.840.113549.1.9.3", "1.2.840.113549.1.9.4", "1.2.840.113549.1.9.5"
SIGNING_CERTIFICATE_V2 = "1.2.840.113549.1.9.16.2.47"
CONTENT_TIME_STAMP = "1.2.840.113549.1.9.16.2.20"
SIGNATURE_TIME_STAMP = "1.2.840.113549.1.9.16.2.14"
TIME_STAMP_INFO = "1.2.840.113549.1.9.16.1.4"

COMMON_NAME, SERIAL_NUMBER, COUNTRY, ORGANISATION = "2.5.4.3", "2.5.4.5", "2.5.4.6", "2.5.4.10"
ORGANISATION_ID = "2.5.4.97"
"""A number of the company behind its kind and country, like ``NTRUA-43005393``."""
DIRECTORY_ATTRIBUTES, KEY_IDENTIFIER, KEY_USAGE = "2.5.29.9", "2.5.29.14", "2.5.29.15"
BASIC_CONSTRAINTS, ISSUER_KEY_IDENTIFIER, EXTENDED_KEY_USAGE = "2.5.29.19", "2.5.29.35", "2.5.29.37"
ISSUER_ACCESS, SUBJECT_ACCESS = "1.3.6.1.5.5.7.1.1", "1.3.6.1.5.5.7.1.11"
OCSP_ACCESS, TIME_STAMP_ACCESS = "1.3.6.1.5.5.7.48.1", "1.3.6.1.5.5.7.48.3"
TIME_STAMPING = "1.3.6.1.5.5.7.3.8"

TAX_NUMBER_PERSON = "1.2.804.2.1.1.1.11.1.4.1.1"
"""The tax card number (RNOKPP) of the person."""

TAX_NUMBER_COMPANY = "1.2.804.2.1.1.1.11.1.4.2.1"
"""The EDRPOU code of the company."""

PBES2, PBKDF2 = "1.2.840.113549.1.5.13", "1.2.840.113549.1.5.12"
IIT_KEY_FILE = "1.3.6.1.4.1.19398.1.1.1.2"
IIT_SECOND_CURVE, IIT_SECOND_KEY = "1.3.6.1.4.1.19398.1.1.2.2", "1.3.6.1.4.1.19398.1.1.2.3"
JKS_KEY_PROTECTOR = "1.3.6.1.4.1.42.2.17.1.1"
KEY_BAG, SHROUDED_KEY_BAG, CERTIFICATE_BAG = (
    "1.2.840.113549.1.12.10.1.1",
    "1.2.840.113549.1.12.10.1.2",
    "1.2.840.113549.1.12.10.1.3",
)
X509_CERTIFICATE = "1.2.840.113549.1.9.22.1"

NAMES = {
    GOST_34311: "GOST 34.311",
    DSTU_4145_LE: "DSTU 4145",
    DSTU_7564_256: "Kupyna (DSTU 7564)",
    DSTU_7624_256_CBC: "Kalyna (DSTU 7624)",
    HMAC_DSTU_7564_256: "Kupyna (DSTU 7564)",
    "1.2.804.2.1.1.1.1.3.1.1.1.1": "DSTU 4145, big-endian",
    "1.2.804.2.1.1.1.1.3.6.1": "DSTU 4145 with Kupyna",
    "1.2.804.2.1.1.1.1.3.1.2": "DSTU 4145 in normal basis",
    "1.2.840.113549.1.1.1": "RSA",
    "1.2.840.113549.1.1.11": "RSA with SHA-256",
    "1.2.840.10045.2.1": "ECDSA",
    "1.2.840.10045.4.3.2": "ECDSA with SHA-256",
    "2.16.840.1.101.3.4.2.1": "SHA-256",
}
"""Names for error texts."""


def name_of(oid: str) -> str:
    """The algorithm's name, or the identifier itself."""
    return NAMES.get(oid, oid)


def expect(oid: str, wanted: str) -> None:
    """Check an identifier in a key file.

    :raises Unsupported: when it is not ``wanted``.
    """
    if oid != wanted:
        raise Unsupported(f"a key file with {name_of(oid)}")
