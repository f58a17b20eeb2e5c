"""The encryption of local nexo messages, by keys from a passphrase (docs/reference/nexo.md#sealing).

Only the header of a sealed message can be read; the whole message, header included, is in the blob::

    key material = PBKDF2-HMAC-SHA1(passphrase, "AdyenNexoV1Salt", 4000 rounds, 80 bytes)
                 = HMAC key 32 | cipher key 32 | IV 16
    NexoBlob     = AES-256-CBC(cipher key, IV xor nonce, PKCS7(message))
    Hmac         = HMAC-SHA256(HMAC key, message)
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7

from protocols.errors import Garbled
from protocols.terminals.nexo.tree import Tree, as_tree, integer, read, text, write

SALT, ROUNDS = b"AdyenNexoV1Salt", 4000
VERSION = 1
"""Of the encryption (AdyenCryptoVersion)."""

_BLOCK = 16


@dataclass(frozen=True)
class Keys:
    """The three keys that a passphrase gives."""

    hmac_key: bytes = field(repr=False)
    cipher_key: bytes = field(repr=False)
    iv: bytes = field(repr=False)

    @classmethod
    def of(cls, passphrase: str) -> Keys:
        """Derive them; takes some milliseconds."""
        material = hashlib.pbkdf2_hmac("sha1", passphrase.encode(), SALT, ROUNDS, 80)
        return cls(material[:32], material[32:64], material[64:])


def _new_nonce() -> bytes:
    return secrets.token_bytes(_BLOCK)


class Seal:
    """Encrypts and decrypts messages by one shared key of till and terminal.

    :param identifier: name of the key, and its ``version``, as set on the terminal.
    :param new_nonce: 16 bytes, never the same twice.
    """

    def __init__(
        self, passphrase: str, identifier: str, version: int = 1, new_nonce: Callable[[], bytes] = _new_nonce
    ) -> None:
        self.keys = Keys.of(passphrase)
        self._identifier, self._version, self._new_nonce = identifier, version, new_nonce

    def seal(self, message: bytes) -> bytes:
        """``message``, a whole JSON document, encrypted; its header stays readable."""
        (envelope, content), *_ = read(message).items()
        nonce = self._new_nonce()
        padder = PKCS7(8 * _BLOCK).padder()
        encryptor = self._cipher(nonce).encryptor()
        blob = encryptor.update(padder.update(message) + padder.finalize()) + encryptor.finalize()
        trailer = {
            "AdyenCryptoVersion": VERSION,
            "Hmac": _base64(self._hmac(message)),
            "KeyIdentifier": self._identifier,
            "KeyVersion": self._version,
            "Nonce": _base64(nonce),
        }
        header = as_tree(as_tree(content).get("MessageHeader"))
        return write({envelope: {"MessageHeader": header, "NexoBlob": _base64(blob), "SecurityTrailer": trailer}})

    def open(self, sealed: bytes) -> bytes:
        """The message in ``sealed``.

        :raises Garbled: when it is not sealed, sealed with another key, or changed.
        """
        document = read(sealed)
        content: Tree = next((as_tree(value) for name, value in document.items() if name.startswith("SaleToPOI")), {})
        trailer = as_tree(content.get("SecurityTrailer"))
        if "NexoBlob" not in content or not trailer:
            raise Garbled("a message that is not sealed")
        named = text(trailer, "KeyIdentifier"), integer(trailer, "KeyVersion")
        if named != (self._identifier, self._version):
            raise Garbled(f"sealed with the key {named[0]!r}, version {named[1]}")
        nonce, wanted = _bytes(trailer, "Nonce"), _bytes(trailer, "Hmac")
        blob = _bytes(content, "NexoBlob")
        if len(nonce) != _BLOCK or not blob or len(blob) % _BLOCK:
            raise Garbled("a seal of the wrong length")
        decryptor, unpadder = self._cipher(nonce).decryptor(), PKCS7(8 * _BLOCK).unpadder()
        try:
            message = unpadder.update(decryptor.update(blob) + decryptor.finalize()) + unpadder.finalize()
        except ValueError:
            message = b""
        if not hmac.compare_digest(self._hmac(message), wanted):
            raise Garbled("a seal that does not match")
        return message

    def _cipher(self, nonce: bytes) -> Cipher[modes.CBC]:
        iv = bytes(mine ^ theirs for mine, theirs in zip(self.keys.iv, nonce, strict=True))
        return Cipher(algorithms.AES(self.keys.cipher_key), modes.CBC(iv))

    def _hmac(self, message: bytes) -> bytes:
        return hmac.digest(self.keys.hmac_key, message, "sha256")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(tree: Tree, name: str) -> bytes:
    try:
        return base64.b64decode(text(tree, name), validate=True)
    except (binascii.Error, ValueError):
        raise Garbled(f"{name} is not base64") from None
