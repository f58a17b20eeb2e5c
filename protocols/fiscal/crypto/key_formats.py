"""The form of DSTU 4145 keys: parameters, public and private keys (docs/reference/cryptography.md#key-formats).

Parameters are the object identifier of a named curve, or the curve written out, with an optional S-box after either::

    SEQUENCE { OID 1.2.804.2.1.1.1.1.3.1.1.2.6 }                          or
    SEQUENCE { SEQUENCE { SEQUENCE { m, k | SEQUENCE { k1, k2, k3 } }, A, OCTETS B, n, OCTETS P }, OCTETS S-box }

B and the compressed P are little-endian. The public key is an OCTET STRING with the compressed point, inside a BIT
STRING. The private key is PKCS#8 around the little-endian number; IIT's files have a second key, for key agreement,
in its attributes.
"""

from __future__ import annotations

from protocols.fiscal.crypto import der, oids
from protocols.fiscal.crypto.curves import Curve, by_oid, with_base
from protocols.fiscal.crypto.der import Element
from protocols.fiscal.crypto.dstu4145 import PrivateKey, PublicKey
from protocols.fiscal.crypto.errors import Malformed, Unsupported
from protocols.fiscal.crypto.gost28147 import DKE1
from protocols.fiscal.crypto.gost34311 import digest


def _explicit_curve(element: Element, turned: bool) -> Curve:
    """A curve written out. ``turned``: IIT reverses the bytes of a second key's curve."""
    fields = element.fields(der.SEQUENCE)
    fields.maybe(der.context(0))
    binary = fields.take().fields(der.SEQUENCE)
    m = binary.take().integer()
    middle = binary.take()
    ks = [middle] if middle.tag == der.INTEGER else middle.expect(der.SEQUENCE).children()
    a = fields.take().integer()
    b, n, base = fields.take().octets(), fields.take().integer(), fields.take().octets()
    if turned:
        b, base = b[::-1], base[::-1]
    return with_base(m, tuple(sorted(k.integer() for k in ks)), a, int.from_bytes(b, "little"), n, base)


def _read_curve(parameters: Element, turned: bool = False) -> Curve:
    fields = parameters.fields(der.SEQUENCE)
    if fields.peek() == der.OID:
        named = fields.take().oid()
        curve = by_oid(named)
        if curve is None:
            raise Unsupported(f"the curve {named} is not known")
    else:
        curve = _explicit_curve(fields.take(), turned)
    sbox = fields.maybe(der.OCTET_STRING)
    if sbox is not None and sbox.content != DKE1.packed:
        raise Unsupported("the key uses an S-box other than DKE-1")
    return curve


def _algorithm_curve(algorithm: Element) -> Curve:
    fields = algorithm.fields(der.SEQUENCE)
    oid = fields.take().oid()
    if oid != oids.DSTU_4145_LE:
        raise Unsupported(f"a key of {oids.name_of(oid)}")
    return _read_curve(fields.take())


def read_public_key(info: Element) -> PublicKey:
    """The key of a SubjectPublicKeyInfo.

    :raises Malformed: when it is not one, or its point is not on the curve.
    :raises Unsupported: when it is of another algorithm.
    """
    fields = info.fields(der.SEQUENCE)
    curve = _algorithm_curve(fields.take())
    point = curve.expand(der.parse(fields.take().bits()).octets())
    if not point[0]:
        raise Malformed("the public key is a point of order two")
    return PublicKey(curve, point)


def write_parameters(curve: Curve, explicit: bool = False) -> bytes:
    """The parameters of keys on ``curve``.

    :param explicit: write a named curve out, as IIT's key files do.
    """
    if curve.oid and not explicit:
        return der.sequence(der.oid(curve.oid))
    ks = [der.integer(k) for k in curve.ks]
    middle = ks[0] if len(ks) == 1 else der.sequence(*ks)
    written = der.sequence(
        der.sequence(der.integer(curve.m), middle),
        der.integer(curve.a),
        der.octets(curve.b.to_bytes(curve.size, "little")),
        der.integer(curve.n),
        der.octets(curve.compress(curve.base)),
    )
    return der.sequence(written, der.octets(DKE1.packed))


def write_algorithm(curve: Curve, explicit: bool = False) -> bytes:
    """The AlgorithmIdentifier of keys on ``curve``."""
    return der.sequence(der.oid(oids.DSTU_4145_LE), write_parameters(curve, explicit))


def write_public_key(key: PublicKey) -> bytes:
    """The SubjectPublicKeyInfo."""
    return der.sequence(write_algorithm(key.curve), der.bits(der.octets(key.packed)))


def key_identifier(key: PublicKey) -> bytes:
    """The identifier by which providers and the tax service name a key: the hash of its OCTET STRING, 32 bytes."""
    return digest(der.octets(key.packed))


def read_private_keys(data: bytes) -> list[PrivateKey]:
    """The key of a PKCS#8 PrivateKeyInfo, and IIT's second one, if any.

    :raises Malformed: when it is not one.
    :raises Unsupported: when the first key is of another algorithm.
    """
    fields = der.parse_first(data).fields(der.SEQUENCE)
    fields.take(der.INTEGER)
    curve = _algorithm_curve(fields.take())
    keys = [PrivateKey(curve, int.from_bytes(fields.take().octets(), "little"))]
    attributes = fields.maybe(der.context(0))
    return keys if attributes is None else keys + _second_keys(attributes)


def _second_keys(attributes: Element) -> list[PrivateKey]:
    """IIT's second key, if any. It never signs, so one that cannot be read is ignored."""
    try:
        found = {}
        for attribute in attributes.children():
            fields = attribute.fields(der.SEQUENCE)
            kind = fields.take().oid()
            found[kind] = fields.take(der.SET)
        if oids.IIT_SECOND_KEY not in found or oids.IIT_SECOND_CURVE not in found:
            return []
        curve = _read_curve(found[oids.IIT_SECOND_CURVE].fields().take(), turned=True)
        turned = found[oids.IIT_SECOND_KEY].fields().take().bits()
        number = bytes(int(f"{byte:08b}"[::-1], 2) for byte in turned)
        return [PrivateKey(curve, int.from_bytes(number, "little"))]
    except (Malformed, Unsupported):
        return []


_MARKS = (der.oid(oids.DSTU_4145_LE)[2:], der.oid(oids.CERTIFICATE_BAG)[2:], DKE1.packed[16:48])
"""Bytes that every key or row of certificates contains, and random bytes do not."""


def shows_a_key(plain: bytes) -> bool:
    """Whether decrypted bytes, even if damaged, show that the password was right."""
    return any(mark in plain for mark in _MARKS)


def write_private_key(key: PrivateKey, explicit: bool = False) -> bytes:
    """The PKCS#8 PrivateKeyInfo, not encrypted."""
    number = key.d.to_bytes(key.curve.scalar_size, "little")
    return der.sequence(der.integer(0), write_algorithm(key.curve, explicit), der.octets(number))
