"""A key file opened for a register. It takes seconds, so it is done in another process (`dmtwisted.system.apart`)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dmtwisted.results import Text, Words
from dmtwisted.wording import wording
from protocols.fiscal.crypto.certificates import Certificate, read_certificates
from protocols.fiscal.crypto.errors import CryptoError, Malformed, SelfTestFailed
from protocols.fiscal.crypto.key_files import open_key_file
from protocols.fiscal.crypto.key_formats import write_private_key
from protocols.fiscal.crypto.signer import signer_of

WORK = "dmtwisted.registers.key_opening:work"

PATIENCE = 60.0
"""Seconds for one file; on a slow machine it takes five."""


class Upload(msgspec.Struct, frozen=True):
    """A key file, its password, and files of certificates for a key file without them."""

    file: bytes
    password: str
    certificates: list[bytes]

    def __repr__(self) -> str:
        return "Upload(…)"


class PlainKey(msgspec.Struct, frozen=True):
    """The part that is kept, sealed: PKCS#8 and certificate in DER."""

    key: bytes
    certificate: bytes

    def __repr__(self) -> str:
        return "PlainKey(…)"


class Opened(msgspec.Struct, frozen=True):
    """The key of a file, or why it cannot be read; ``broken`` when this machine cannot sign at all."""

    plain: PlainKey | None = None
    why: Words = ""
    broken: bool = False


def work(given: bytes) -> bytes:
    """Open an uploaded file: `Upload` to `Opened`, both in JSON."""
    upload = msgspec.json.decode(given, type=Upload)
    try:
        opened = Opened(plain=_plain(upload))
    except SelfTestFailed as error:
        opened = Opened(why=wording(error), broken=True)
    except CryptoError as error:
        opened = Opened(why=why_of(error))
    return msgspec.json.encode(opened)


def why_of(error: CryptoError) -> Text:
    """Why a file cannot be read; what exactly is wrong with its bytes is for who reads the log."""
    why = wording(error)
    return Text(_DAMAGED, why.en) if isinstance(error, Malformed) and why.uk == why.en else why


_DAMAGED = "файл пошкоджено, або це інший файл"


def certificates_in(files: Sequence[bytes]) -> list[Certificate]:
    """Every certificate of ``files``.

    :raises CryptoError: when one cannot be read.
    """
    return [certificate for file in files for certificate in read_certificates(file)]


def _plain(upload: Upload) -> PlainKey:
    opened = open_key_file(upload.file, upload.password)
    signer = signer_of(opened, certificates_in(upload.certificates))
    (key,) = [key for key in opened.keys if key.public() == signer.certificate.public_key][:1]
    return PlainKey(write_private_key(key), signer.certificate.raw)
