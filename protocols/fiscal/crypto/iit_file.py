"""Key-6.dat and similar: the key file of IIT's programs (docs/reference/cryptography.md#key-files).

::

    SEQUENCE { SEQUENCE { OID 1.3.6.1.4.1.19398.1.1.1.2, SEQUENCE { OCTETS mac(4), OCTETS pad } }, OCTETS data }

``data || pad`` is GOST 28147 in ECB; its first bytes, as many as data has, are a PKCS#8 key. The MAC under the same
key covers the plain PKCS#8. Where it is wrong, the decrypted bytes distinguish a wrong password from a damaged file.
The file has no certificates.
"""

from __future__ import annotations

import hmac

from protocols.fiscal.crypto import der, oids
from protocols.fiscal.crypto.der import Element
from protocols.fiscal.crypto.errors import Malformed, not_opened
from protocols.fiscal.crypto.gost28147 import BLOCK, Gost28147
from protocols.fiscal.crypto.key_formats import shows_a_key
from protocols.fiscal.crypto.passwords import iit_key, spellings

ROUNDS = 10_000
"""Hashes of the password; the format has no field for another number."""


def open_iit(parameters: Element, data: bytes, password: str, rounds: int = ROUNDS) -> bytes:
    """The PKCS#8 key inside.

    :param parameters: MAC and padding, :param data: the encrypted key.
    :raises Malformed: when the file is damaged.
    :raises WrongPassword: when the password does not open it.
    """
    fields = parameters.fields(der.SEQUENCE)
    mac = fields.take().octets()
    pad = fields.take().octets() if fields.peek() == der.OCTET_STRING else b""
    if len(mac) != 4 or len(pad) >= BLOCK or not data or (len(data) + len(pad)) % BLOCK:
        raise Malformed("a key file of IIT has wrong lengths")
    looked_right = False
    for spelling in spellings(password):
        cipher = Gost28147(iit_key(spelling, rounds))
        plain = cipher.decrypt_ecb(data + pad)[: len(data)]
        if hmac.compare_digest(cipher.mac(plain), mac):
            return plain
        looked_right = looked_right or shows_a_key(plain)
    raise not_opened(looked_right)


def write_iit(pkcs8: bytes, password: str, rounds: int = ROUNDS) -> bytes:
    """A key file around a PKCS#8 key."""
    cipher = Gost28147(iit_key(password.encode(), rounds))
    encrypted = cipher.encrypt_ecb(pkcs8 + bytes(-len(pkcs8) % BLOCK))
    data, pad = encrypted[: len(pkcs8)], encrypted[len(pkcs8) :]
    parameters = der.sequence(der.octets(cipher.mac(pkcs8)), der.octets(pad))
    return der.sequence(der.sequence(der.oid(oids.IIT_KEY_FILE), parameters), der.octets(data))
