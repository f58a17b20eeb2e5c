"""Uploads: key files and certificates that are bombs, lies, or something else; forms that have no end."""

from __future__ import annotations

import base64
import gzip
import io
import json
import struct
import time
import zipfile
from functools import cache
from typing import Any

from asn1crypto.keys import EncryptedPrivateKeyInfo  # type: ignore[import-untyped]
from asn1crypto.pem import armor  # type: ignore[import-untyped]
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from dmtwisted.requests import MAX_BODY
from protocols.fiscal.crypto import der, pbes2
from protocols.fiscal.crypto.gost28147 import DKE1
from tests.attacks.desk import Desk
from tests.attacks.variants import CRITICAL, HIGH, LOW, MEDIUM, Family, Stage
from tests.certificates import key_pem, make_certificate, make_key, pem
from tests.shop import MORNING
from tests.web_case import DEVICES, HttpAnswer, multipart

UPLOADS = Family("uploads", "Uploads")

PROMPT = 10.0
"""Seconds of processor time within which any file is refused; most take none."""

FORM = "multipart/form-data; boundary=b17"
TLS = "/dm/api/v3/tls"


def send(desk: Desk, path: str, body: bytes, kind: str = FORM) -> HttpAnswer:
    """The answer to the owner's upload, within the time for it."""
    begun = time.process_time()
    answer = desk.ask("POST", path, body, [("Content-Type", kind), desk.key])
    assert time.process_time() - begun < PROMPT, f"{time.process_time() - begun:.1f} s"
    return answer


def real_register(desk: Desk) -> str:
    """The address for the key of a register that takes one; it stays."""
    devices = desk.own("GET", DEVICES).json["devices"]
    found = [each["dev_id"] for each in devices if each["device"] == "real"]
    if not found:
        asked = {"device": "real", "prro_type": 1, "confirm_real": True}
        found = [desk.own("POST", "/dm/main/api/v1/prro", asked).json["dev_id"]]
    return f"/dm/main/api/v1/prro/sign?dev_id={found[0]}"


def remove_register(desk: Desk, path: str) -> None:
    """Everything is as before."""
    desk.own("DELETE", f"{DEVICES}/{path.rpartition('=')[2]}")


def refused(answer: HttpAnswer) -> None:
    """A reason in words, and nothing of the file."""
    assert answer.status in (200, 400, 413, 415, 422), answer
    told = answer.json
    assert told["res"] in (2000, 2003) and told["errortxt"], told
    assert len(answer.body) < 5000 and b"Traceback" not in answer.body, answer.body[:500]


# -- files ----------------------------------------------------------------------------------------------------------


def zipped(name: str, size: int) -> bytes:
    """A ZIP file whose one member is ``size`` zero bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, bytes(size))
    return packed.getvalue()


def rounds(number: int) -> bytes:
    """A key file that asks for so many rounds of GOST key derivation."""
    return der.sequence(pbes2.Scheme(bytes(32), number, bytes(8), DKE1).write(), der.octets(b"x" * 64))


@cache
def locked_rsa() -> bytes:
    """A key in PKCS#8 that asks for 2^31 - 1 rounds of PBKDF2."""
    locked = make_key().private_bytes(Encoding.DER, PrivateFormat.PKCS8, BestAvailableEncryption(b"sesame"))
    bomb = EncryptedPrivateKeyInfo.load(locked)
    bomb["encryption_algorithm"]["parameters"]["key_derivation_func"]["parameters"]["iteration_count"] = 2**31 - 1
    return bytes(bomb.dump(force=True))


def nested(depth: int) -> bytes:
    """Sequences in each other, each with its right length."""
    data = b""
    for _ in range(depth):
        data = der.sequence(data)
    return data


JKS = b"\xfe\xed\xfe\xed\0\0\0\x02"

BOMBS: dict[str, tuple[str, bytes]] = {
    "empty": ("an empty file", b""),
    "one-byte": ("one byte", b"\x30"),
    "zeros": ("a megabyte of zero bytes", bytes(1 << 20)),
    "text": ("a letter", "Шановний бухгалтере! ".encode() * 100),
    "der-length-endless": ("DER whose length is 4 GB", b"\x30\x84\xff\xff\xff\xff"),
    "der-length-64": ("DER whose length has 64 bits", b"\x30\x88" + b"\xff" * 8 + b"\x02\x01\x00"),
    "der-length-126": ("DER whose length has 126 bytes", b"\x30\xfe" + b"\xff" * 126),
    "der-indefinite": ("DER of 20,000 sequences without a length", b"\x30\x80" * 20_000),
    "der-deep": ("DER 3,000 deep, with right lengths", nested(3000)),
    "der-empty-sequences": (
        "300,000 empty sequences",
        b"\x30\x83" + (600_000).to_bytes(3, "big") + b"\x30\x00" * 300_000,
    ),
    "der-long-tag": ("a tag of 100,000 bytes", b"\x3f" + b"\xff" * 100_000),
    "der-long-oid": (
        "an object identifier of 100,000 bytes",
        der.sequence(der.element(6, b"\xff" * 100_000 + b"\x01")),
    ),
    "der-huge-integer": ("a number of 500,000 bytes as the version", der.sequence(der.element(2, b"\x7f" * 500_000))),
    "der-after": ("DER with other bytes behind it", der.sequence(der.integer(0)) + b"evil" * 1000),
    "pem-begins": ("10,000 beginnings of PEM", b"-----BEGIN CERTIFICATE-----\n" * 10_000),
    "pem-ends": ("10,000 ends of PEM", b"-----END CERTIFICATE-----\n" * 10_000),
    "pem-no-end": ("PEM without an end", b"-----BEGIN PRIVATE KEY-----\n" + b"A" * 1_000_000),
    "pem-no-base64": (
        "PEM of letters that are no base64",
        b"-----BEGIN CERTIFICATE-----\n" + b"~" * 1000 + b"\n-----END CERTIFICATE-----\n",
    ),
    "pem-many": (
        "3,000 empty certificates in PEM",
        b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n" * 3000,
    ),
    "pem-long-label": (
        "a PEM label of 500,000 letters",
        b"-----BEGIN " + b"A" * 500_000 + b"-----\nMAA=\n-----END A-----\n",
    ),
    "zip-bomb": ("a ZIP of 50 MB of zeros", zipped("key", 50_000_000)),
    "zip-climbing": ("a ZIP whose member climbs out", zipped("../../../../tmp/evil", 10)),
    "gzip-bomb": ("gzip of 50 MB of zeros", gzip.compress(bytes(50_000_000))),
    "png": ("a picture", b"\x89PNG\r\n\x1a\n" + b"\0" * 100),
    "png-and-pem": (
        "a picture that is PEM too",
        b"\x89PNG\r\n\x1a\n-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----",
    ),
    "svg": ("a picture with a script", b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
    "html": ("a page", b"<html><script>alert(document.cookie)</script></html>"),
    "pdf": ("a PDF with a script", b"%PDF-1.7\n1 0 obj<</OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj"),
    "exe": ("a program of Windows", b"MZ" + bytes(200) + b"PE\0\0"),
    "elf": ("a program of Linux", b"\x7fELF" + bytes(200)),
    "xml-entities": ("XML of a billion laughs", b'<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><l>&b;</l>'),
    "jks-count": ("a Java key store of 4 billion entries", JKS + b"\xff\xff\xff\xff" + bytes(1000)),
    "jks-length": (
        "a Java key store with an entry of 2 GB",
        JKS + struct.pack(">II", 1, 1) + b"\0\x01a" + bytes(8) + b"\x7f\xff\xff\xff",
    ),
    "jks-chain": (
        "a Java key store with 4 billion certificates",
        JKS + struct.pack(">II", 1, 1) + b"\0\x01a" + bytes(8) + struct.pack(">I", 4) + b"abcd" + b"\xff" * 4,
    ),
    "jks-rest": ("a Java key store of bytes", b"\xfe\xed\xfe\xed" + b"\xff" * 5000),
    "rounds-billion": ("a key file that asks for a billion rounds", rounds(10**9)),
    "rounds-negative": ("a key file that asks for -5 rounds", rounds(-5)),
    "rounds-8000-bits": ("a key file whose rounds have 8,000 bits", rounds(2**8000)),
    "rounds-50000-bits": ("a key file whose rounds have 50,000 bits", rounds(2**50_000)),
}


@UPLOADS.each(
    {f"key-{name}": (f"{what}, as a register's key", file) for name, (what, file) in BOMBS.items()},
    "It is refused with a reason, soon, and the register has no key.",
    HIGH,
    Stage.MEMORY,
)
def hostile_key(desk: Desk, file: bytes) -> None:
    """A key file."""
    path = real_register(desk)
    try:
        form, kind = multipart(file=file, password=b"sesame")
        refused(send(desk, path, form, kind))
    finally:
        remove_register(desk, path)


@UPLOADS.each(
    {f"tls-{name}": (f"{what}, as the certificate", file) for name, (what, file) in BOMBS.items()},
    "It is refused with a reason, soon, and the service keeps its certificate, or none.",
    HIGH,
    Stage.MEMORY,
)
def hostile_certificate(desk: Desk, file: bytes) -> None:
    """A certificate, and then also the file of its key."""
    form, kind = multipart(file=file, password=b"sesame")
    refused(send(desk, TLS, form, kind))
    assert not desk.own("GET", TLS).json["https"]


@UPLOADS.each(
    {
        "pair-other-key": ("a certificate with the key of another one", lambda: (make_key(), make_key())),
        "pair-swapped": ("key and certificate in each other's place", None),
        "pair-weak": ("a certificate with RSA of 1024 bits", "weak"),
        "pair-expired": ("a certificate that is over", "expired"),
        "pair-authority": ("an authority's certificate instead of ours", "authority"),
    },
    "It is refused by its name or served as it is: a certificate that does not fit its key is never installed.",
    MEDIUM,
    Stage.MEMORY,
)
def pair(desk: Desk, what: Any) -> None:
    """Certificates that are in order for a parser."""
    key = make_key()
    certificate, private = pem(make_certificate(MORNING, key)), key_pem(key)
    if what is None:
        certificate, private = private, certificate
    elif callable(what):
        private = key_pem(what()[1])
    else:
        return other_pair(desk, what)
    form, kind = multipart(file=certificate, key=private, password=b"")
    refused(send(desk, TLS, form, kind))
    return None


def other_pair(desk: Desk, what: str) -> None:
    """Weak, over, or somebody else's."""
    key: Any = rsa.generate_private_key(65537, 1024) if what == "weak" else make_key()
    begun = MORNING - (1000 * 86_400 if what == "expired" else 0)
    made = make_certificate(begun, key, is_authority=what == "authority")
    form, kind = multipart(file=pem(made), key=key_pem(make_key() if what == "authority" else key), password=b"")
    refused(send(desk, TLS, form, kind))


# -- forms and JSON -------------------------------------------------------------------------------------------------

PART = b'--b17\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n'


@UPLOADS.each(
    {
        "form-no-end": ("a form without its end", PART + b"\r\n" + b"x" * 1000, FORM),
        "form-parts": ("a form of 1,000 parts", (PART + b"\r\nx\r\n") * 1000 + b"--b17--\r\n", FORM),
        "form-none": ("text that says it is a form", b"no form at all", FORM),
        "form-no-boundary": ("a form without a boundary", PART + b"\r\nx\r\n--b17--\r\n", "multipart/form-data"),
        "form-empty-boundary": (
            "a form with an empty boundary",
            PART + b"\r\nx\r\n",
            'multipart/form-data; boundary=""',
        ),
        "form-long-boundary": (
            "a boundary of 10,000 letters",
            b"--" + b"x" * 10_000,
            "multipart/form-data; boundary=" + "x" * 10_000,
        ),
        "form-utf8-boundary": ("a boundary in Cyrillic", b"--x", "multipart/form-data; boundary=межа"),
        "form-headers": ("a part of 1,000 headers", PART + b"X-A: 1\r\n" * 1000 + b"\r\nx\r\n--b17--\r\n", FORM),
        "form-long-header": (
            "a part with a header of 1 MB",
            PART + b"X-A: " + b"x" * 1_000_000 + b"\r\n\r\nx\r\n--b17--\r\n",
            FORM,
        ),
        "form-no-name": (
            "a part without a name",
            b"--b17\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b17--\r\n",
            FORM,
        ),
        "form-nested": (
            "a form in a form",
            b"--b17\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\nx\r\n--c--\r\n--b17--\r\n",
            FORM,
        ),
        "form-boundaries": ("300,000 boundaries", b"--b17\r\n" * 300_000, FORM),
        "form-newlines": ("4 MB of line ends", b"\r\n" * (MAX_BODY // 2), FORM),
        "form-dashes": ("4 MB of dashes", b"-" * MAX_BODY, FORM),
        "form-encoded": (
            "a part that says it is base64",
            PART + b"Content-Transfer-Encoding: base64\r\n\r\n!!!\r\n--b17--\r\n",
            FORM,
        ),
        "form-charset": (
            "a part in a charset that nobody knows",
            PART + b"Content-Type: text/plain; charset=evil\r\n\r\nx\r\n--b17--\r\n",
            FORM,
        ),
        "form-mixed": ("`multipart/mixed`", PART + b"\r\nx\r\n--b17--\r\n", "multipart/mixed; boundary=b17"),
        "json-not-base64": (
            "letters that are no base64 in JSON",
            json.dumps({"key": "!!!", "certificate": "!!!"}).encode(),
            "application/json",
        ),
        "json-huge-base64": (
            "3 MB of base64 in JSON",
            json.dumps({"key": base64.b64encode(bytes(2_200_000)).decode(), "certificate": "AAAA"}).encode(),
            "application/json",
        ),
        "json-many": (
            "100,000 certificates in JSON",
            json.dumps({"key": "AAAA", "certificate": ["AA=="] * 100_000}).encode(),
            "application/json",
        ),
        "json-object": (
            "an object as the key in JSON",
            json.dumps({"key": {"$file": "/etc/passwd"}, "certificate": {}}).encode(),
            "application/json",
        ),
        "json-path": (
            "a path as the key in JSON",
            json.dumps({"key": "/etc/passwd", "certificate": "/etc/passwd"}).encode(),
            "application/json",
        ),
        "kind-none": ("a file without a type", b"\x30\x00", "application/octet-stream"),
        "kind-form": ("a form of fields", b"file=x&password=x", "application/x-www-form-urlencoded"),
        "too-long": ("a form of one byte more than 4 MB", b"\0" * (MAX_BODY + 1), FORM),
    },
    "2000 with a reason at both places that take files; nothing is kept.",
    MEDIUM,
    Stage.MEMORY,
)
def hostile_form(desk: Desk, body: bytes, kind: str) -> None:
    """A form or JSON with files, at both places."""
    path = real_register(desk)
    try:
        for place in (path, TLS):
            refused(send(desk, place, body, kind))
    finally:
        remove_register(desk, path)


@UPLOADS.each(
    {
        f"name-{name}": (f"a file called `{text}`", text)
        for name, text in (
            ("climbing", "../../../../tmp/evil.pem"),
            ("absolute", "/tmp/evil.pem"),
            ("windows", "C:\\\\evil.pem"),
            ("unc", "\\\\\\\\evil\\\\share\\\\x"),
            ("nul", "x.pem%00.exe"),
            ("newline", "x%0d%0aX-Evil: 1"),
            ("long", "x" * 5000),
            ("markup", "<img src=x onerror=alert(1)>"),
            ("secret", "secret.key"),
            ("device", "CON"),
        )
    },
    "The name means nothing: no file of that name is made, and no answer and no log repeats it raw.",
    CRITICAL,
    Stage.MEMORY,
)
def file_name(desk: Desk, name: str) -> None:
    """The name that a file brings along."""
    form, kind = multipart(file=b"x")
    answer = send(desk, TLS, form.replace(b'filename="x"', f'filename="{name}"'.encode()), kind)
    refused(answer)
    assert b"evil" not in answer.body and b"onerror" not in answer.body


@UPLOADS.one(
    "rsa-rounds",
    "a certificate whose key asks for 2^31 rounds of its password",
    "The reader is given up on in seconds, apart from the service; sales go on meanwhile.",
    HIGH,
    Stage.PROCESS,
    quick=False,
)
def rsa_rounds(desk: Any) -> None:
    """A bomb that no library counts."""
    key = make_key()
    text = armor("ENCRYPTED PRIVATE KEY", locked_rsa())
    form, kind = multipart(file=pem(make_certificate(time.time(), key)), key=text, password=b"sesame")
    with desk.connect() as line:
        head = (
            f"POST {TLS} HTTP/1.1\r\nHost: {desk.host}\r\nContent-Type: {kind}\r\nContent-Length: {len(form)}\r\n\r\n"
        )
        line.sendall(head.encode() + form)
        for _ in range(5):
            begun = time.monotonic()
            desk.sell()
            assert time.monotonic() - begun < 2, time.monotonic() - begun
        line.settimeout(60)
        assert b" 422 " in line.recv(4096)[:20]


@UPLOADS.one(
    "key-twice",
    "two key files at once for one register",
    "One is read after the other, and each is refused on its own.",
    LOW,
    Stage.MEMORY,
)
def two_keys(desk: Desk) -> None:
    """Two parts of one name."""
    path = real_register(desk)
    try:
        part = PART.replace(b'"file"', b'"key"') + b"\r\nx\r\n"
        refused(send(desk, path, PART + b"\r\nx\r\n" + part + b"--b17--\r\n"))
    finally:
        remove_register(desk, path)
