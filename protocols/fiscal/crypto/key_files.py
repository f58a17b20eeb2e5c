"""Opens a key file of any kind (docs/reference/cryptography.md#key-files).

The first bytes decide the kind, not the name: providers rename files freely.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from protocols.fiscal.crypto import der, oids, pbes2
from protocols.fiscal.crypto.certificates import Certificate, unwrap_pem
from protocols.fiscal.crypto.dstu4145 import PrivateKey
from protocols.fiscal.crypto.errors import Malformed, Unsupported, not_opened
from protocols.fiscal.crypto.iit_file import open_iit
from protocols.fiscal.crypto.jks_file import JCEKS_MAGIC, MAGIC, open_jks
from protocols.fiscal.crypto.key_formats import read_private_keys, shows_a_key
from protocols.fiscal.crypto.pkcs12_file import mac_fits, open_pkcs12


class Kind(Enum):
    """The kinds of key file."""

    IIT = "Key-6.dat"
    PKCS8 = "PKCS#8"
    PKCS12 = "PKCS#12"
    JKS = "JKS"


@dataclass(frozen=True)
class KeyFile:
    """An opened key file; the keys are secret.

    :param keys: in the order of the file; IIT's files have a second one that does not sign.
    """

    kind: Kind
    keys: tuple[PrivateKey, ...] = field(repr=False)
    certificates: tuple[Certificate, ...]


def open_key_file(data: bytes, password: str) -> KeyFile:
    """The keys and certificates of a key file; takes seconds.

    :raises WrongPassword: when the file is whole and the password does not open it.
    :raises Malformed: when it is damaged or not a key file.
    :raises Unsupported: when it is a key file of another kind.
    """
    if data.startswith(MAGIC):
        found, certificates = open_jks(data, password)
        return KeyFile(Kind.JKS, _keys(found), tuple(certificates))
    if data.startswith(JCEKS_MAGIC):
        raise Unsupported("a Java key store of the kind JCEKS")
    # Files copied from tokens may be longer than their content.
    outer = der.parse_first(unwrap_pem(data)[0])
    fields = outer.fields(der.SEQUENCE)
    if fields.peek() == der.INTEGER:
        if fields.take().integer() == 0:
            return KeyFile(Kind.PKCS8, tuple(read_private_keys(outer.raw)), ())
        return _pkcs12(outer.raw, password)
    algorithm, encrypted = fields.take().fields(der.SEQUENCE), fields.take().octets()
    kind = algorithm.take().oid()
    if kind == oids.IIT_KEY_FILE:
        return KeyFile(Kind.IIT, _keys([open_iit(algorithm.take(), encrypted, password)]), ())
    oids.expect(kind, oids.PBES2)
    for plain in pbes2.candidates(algorithm.take(), encrypted, password):
        if pbes2.is_whole(plain):
            return KeyFile(Kind.PKCS8, _keys([plain]), ())
        if shows_a_key(plain):
            raise not_opened(True)
    raise not_opened(False)


def _pkcs12(data: bytes, password: str) -> KeyFile:
    fields = der.parse(data).fields(der.SEQUENCE)
    fields.take(der.INTEGER)
    found = open_pkcs12(fields, password)
    damaged = Malformed("the key file is damaged: its check value is wrong")
    try:
        keys = _keys(found.keys)
    except Unsupported as named:
        # A damaged byte may look like another algorithm.
        if mac_fits(data, password) is False:
            raise damaged from named
        raise
    points = {certificate.public_key for certificate in found.certificates}
    # A certificate that fits proves the key whole and saves the MAC's 1.5 seconds.
    if not any(key.public() in points for key in keys) and mac_fits(data, password) is False:
        raise damaged
    return KeyFile(Kind.PKCS12, keys, tuple(found.certificates))


def _keys(found: list[bytes]) -> tuple[PrivateKey, ...]:
    return tuple(key for raw in found for key in read_private_keys(raw))
