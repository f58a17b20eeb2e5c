"""Secrets in the database, sealed with a key in a file beside it that only the service's user may read.

A copy of the database alone, from a backup or a discarded disk, shows no secret. AES-256-GCM with a nonce for each
text; the place of a text is authenticated with it, so that it cannot be moved.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from twisted.logger import Logger

from dmtwisted.system.files import replace

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_FILE = "secret.key"
"""The file of the key, in the state folder."""

KEY_BYTES, NONCE_BYTES = 32, 12
_VERSION = "s1"


class SecretsError(Exception):
    """A secret cannot be sealed or read; the text is one line for the operator."""


class Secrets:
    """Seals and reads secrets; the key is created for the first one.

    :param folder: the folder of the key file; `None` keeps the key in memory, like the store.
    """

    log = Logger()

    def __init__(self, folder: Path | None) -> None:
        self._file = None if folder is None else folder / KEY_FILE
        self._key: bytes | None = None

    def seal(self, text: str, place: str) -> str:
        """``text`` sealed for ``place``: ASCII, different each time.

        :raises SecretsError: when the key file cannot be read or created.
        """
        key = self._read_key() or self._make_key()
        nonce = secrets.token_bytes(NONCE_BYTES)
        cipher, _ = _cipher(key)
        sealed = nonce + cipher.encrypt(nonce, text.encode(), place.encode())
        return f"{_VERSION}.{_name_of(key)}.{base64.urlsafe_b64encode(sealed).decode()}"

    def read(self, sealed: str, place: str) -> str:
        """The text that was sealed for ``place``.

        :raises SecretsError: when the key is missing or is another one, or the text was changed or moved.
        """
        key = self._read_key()
        if key is None:
            raise SecretsError(f"the key of the secrets, {self._file or KEY_FILE}, is missing; restore it")
        version, _, rest = sealed.partition(".")
        name, _, body = rest.partition(".")
        if version != _VERSION:
            raise SecretsError(f"{place}: this is not a sealed secret, or one of a later version")
        if name != _name_of(key):
            raise SecretsError(f"{place}: sealed with another key than {self._file or KEY_FILE}")
        cipher, changed = _cipher(key)
        try:
            raw = base64.b64decode(body.encode(), b"-_", validate=True)
            if base64.urlsafe_b64encode(raw).decode() != body:
                raise ValueError("spelled as nothing that was sealed here")
            return cipher.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], place.encode()).decode()
        except (binascii.Error, ValueError, changed):
            raise SecretsError(f"{place}: this secret is damaged") from None

    def _read_key(self) -> bytes | None:
        """The key; `None` when there is none yet."""
        if self._key is None and self._file is not None:
            try:
                self._key = _key_in(self._file)
                self._close_to_others(self._file)
            except FileNotFoundError:
                return None
            except OSError as error:
                raise SecretsError(f"{self._file}: cannot be read ({error})") from None
        return self._key

    @staticmethod
    def check_file(file: Path) -> None:
        """Check that ``file`` has a key, without changing anything.

        :raises SecretsError: when it has none, or cannot be read.
        """
        try:
            _key_in(file)
        except OSError as error:
            raise SecretsError(f"{file}: cannot be read ({error})") from None

    def _close_to_others(self, file: Path) -> None:
        # A restored file is often readable for all; refusing it would keep the shop closed.
        if os.name == "posix" and stat.S_IMODE(file.stat().st_mode) & 0o077:
            self.log.warn("{file} could be read by others; now it cannot", file=str(file))
            file.chmod(0o600)

    def _make_key(self) -> bytes:
        key = secrets.token_bytes(KEY_BYTES)
        if self._file is not None:
            try:
                write_private(self._file, f"{key.hex()}\n".encode())
            except OSError as error:
                raise SecretsError(f"{self._file}: cannot be written ({error.strerror or error})") from None
        self._key = key
        return key


def _cipher(key: bytes) -> tuple[AESGCM, type[Exception]]:
    """The cipher, and its error for a text that was changed or moved."""
    # Lazy: the library takes several MB, and a service without secrets does without it.
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key), InvalidTag


def _key_in(file: Path) -> bytes:
    """The key in ``file``.

    :raises SecretsError: when it has none.
    :raises OSError: when it cannot be read.
    """
    try:
        key = bytes.fromhex(file.read_text("ascii"))
    except UnicodeDecodeError as error:
        raise SecretsError(f"{file}: cannot be read ({error})") from None
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise SecretsError(f"{file}: holds no key of {KEY_BYTES} bytes; restore it")
    return key


def write_private(file: Path, content: bytes) -> None:
    """Write ``file`` completely or not at all, readable by its owner only, and synced to the disk.

    :raises OSError: when that fails.
    """
    fresh = file.with_name(f"{file.name}.{secrets.token_hex(4)}.new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        replace(fresh, file)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    if os.name == "posix":
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _name_of(key: bytes) -> str:
    """Eight digits that differ between keys and reveal nothing about them."""
    return hashlib.sha256(b"name of the key" + key).hexdigest()[:8]
