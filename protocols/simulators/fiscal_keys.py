"""The keys of the simulated fiscal server, its authority and cashiers (docs/reference/tax-service.md#simulator).

A folder keeps them, so a shop's service gets what it needs and finds the same server after a restart::

    root.cer       the certificate that the shop's register trusts (`trusted_certificates`)
    root.key       of the authority; server.key, server.cer, stamps.key, stamps.cer: for the simulator alone
    cashier.p12    a cashier's key with its certificate, to be uploaded to the register, and cashier.cer
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from random import Random

from protocols.fiscal.crypto.authority import Authority, Identity, stamp_answer
from protocols.fiscal.crypto.certificates import read_certificate
from protocols.fiscal.crypto.dstu4145 import Randomness
from protocols.fiscal.crypto.errors import CryptoError, Malformed
from protocols.fiscal.crypto.iit_file import write_iit
from protocols.fiscal.crypto.jks_file import write_jks
from protocols.fiscal.crypto.key_formats import read_private_keys, write_private_key
from protocols.fiscal.crypto.pkcs12_file import write_pkcs12
from protocols.fiscal.crypto.self_test import choose
from protocols.fiscal.crypto.signed_message import read
from protocols.fiscal.crypto.signing import sign
from protocols.fiscal.crypto.verifying import profile_faults, verify
from protocols.fiscal.signatures import Seal, Signed, WrongSignature

PASSWORD = "tax-test"
"""Of key files made here, by default."""

ROUNDS = 100
"""Rounds of key derivation in these files: few, since they protect nothing."""

KINDS = ("p12", "dat", "jks")
"""Kinds of key files by their file name extensions: PKCS#12, IIT's Key-6.dat, Java key store."""

STAMPS, YEARS = "Simulated time stamps", 3_650
"""The name of the time-stamp provider; validity of the simulator's own certificates in days."""

TIN = "34554363"
"""The payer of the official samples, who owns the simulated server's registers by default."""


@dataclass(frozen=True)
class FiscalKeys:
    """The authority, the server's own key, and that of its time-stamp provider."""

    authority: Authority
    server: Identity
    stamps: Identity

    def open(self, message: bytes, at: datetime, stamps: bool = False) -> Signed:
        """Verify a message signed by a key of the authority.

        :param stamps: whether each signature needs a time stamp.
        :raises WrongSignature: when the message, its form or its signature is wrong.
        """
        try:
            faults = profile_faults(read(message), stamps)
            verdict = verify(message, at, self.authority.trust, self.authority.trust)
        except CryptoError as error:
            raise WrongSignature(str(error)) from None
        faults += verdict.faults
        if faults or verdict.signer is None:
            raise WrongSignature("; ".join(map(str, faults)))
        stamped = verdict.stamp.moment if verdict.stamp is not None else None
        return Signed(verdict.content, verdict.signer.key_id.hex(), verdict.signer.subject.common, stamped)

    def seal(self, content: bytes) -> bytes:
        """``content``, signed by the server."""
        return sign(content, self.server.key, self.server.certificate)

    def seals(self, now: datetime) -> Mapping[str, Seal]:
        """Seals that a client has to refuse: by an unknown authority, and by an expired certificate."""
        foreign = Authority(now).issue(self.server.certificate.subject.common)
        ended = Authority(now, root=self.authority.root).issue(
            self.server.certificate.subject.common, days=-1, age=400
        )

        def sealed(who: Identity) -> Seal:
            return lambda content: sign(content, who.key, who.certificate)

        return {"foreign": sealed(foreign), "expired": sealed(ended)}

    def stamp(self, question: bytes, at: datetime) -> bytes:
        """The provider's answer to a time-stamp request.

        :raises Malformed: when ``question`` is not one.
        """
        return stamp_answer(question, self.stamps, lambda: at, secrets.randbits(63))


def fresh_keys(now: datetime, seed: int | None = None) -> FiscalKeys:
    """New keys; equal for the same ``seed``."""
    authority = Authority(now, random=_randomness(seed, "authority"))
    server = authority.issue("Simulated fiscal server", days=YEARS)
    return FiscalKeys(authority, server, authority.issue(STAMPS, days=YEARS, stamps=True))


def open_keys(folder: Path, now: datetime, seed: int | None = None) -> tuple[FiscalKeys, bool]:
    """The keys in ``folder``, and whether they were made now, with a cashier's.

    :raises OSError: when the folder cannot be read or written.
    :raises Malformed: when a file in it is not a key.
    """
    choose()
    if (folder / "root.key").exists():
        authority = Authority(now, root=_read(folder, "root"))
        if not (folder / "stamps.key").exists():
            # An earlier version had no time stamps.
            _write(folder, "stamps", authority.issue(STAMPS, days=YEARS, stamps=True))
        return FiscalKeys(authority, _read(folder, "server"), _read(folder, "stamps")), False
    keys = fresh_keys(now, seed)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder, "server", keys.server)
    _write(folder, "stamps", keys.stamps)
    write_cashier(folder, keys, "cashier", Cashier(), now, seed)
    # The last file: it marks the folder complete.
    _write(folder, "root", keys.authority.root)
    return keys, True


@dataclass(frozen=True)
class Cashier:
    """The owner of a key and its validity in days.

    :param tin: of the payer, :param person: the person's own tax number, may be empty.
    """

    name: str = "Олена Коваль"
    tin: str = TIN
    person: str = ""
    days: float = 365
    password: str = PASSWORD
    kind: str = KINDS[0]


def write_cashier(
    folder: Path, keys: FiscalKeys, file: str, cashier: Cashier, now: datetime, seed: int | None = None
) -> tuple[Path, Identity]:
    """Make a cashier's key file and its certificate beside it; returns the file and the key.

    :raises OSError: when they cannot be written.
    """
    issuer = Authority(now, root=keys.authority.root, random=_randomness(seed, file))
    age = 1.0 if cashier.days > 0 else 1 - cashier.days
    who = issuer.issue(cashier.name, cashier.days, age, tax_number=cashier.tin, person_tax_number=cashier.person)
    raw, certificate = write_private_key(who.key), who.certificate
    if cashier.kind == "dat":
        content = write_iit(raw, cashier.password)
    elif cashier.kind == "jks":
        content = write_jks([("cashier", raw, [certificate])], cashier.password)
    else:
        content = write_pkcs12([raw], [certificate], cashier.password, ROUNDS)
    place = folder / f"{file}.{cashier.kind}"
    _keep(place, content)
    (folder / f"{file}.cer").write_bytes(certificate.raw)
    return place, who


def _randomness(seed: int | None, what: str) -> Randomness:
    if seed is None:
        return secrets.token_bytes
    make: Callable[[int], bytes] = Random(f"{seed} {what}").randbytes
    return make


def _read(folder: Path, name: str) -> Identity:
    keys = read_private_keys((folder / f"{name}.key").read_bytes())
    if not keys:
        raise Malformed(f"{folder / name}.key holds no key")
    return Identity(keys[0], read_certificate((folder / f"{name}.cer").read_bytes()))


def _write(folder: Path, name: str, identity: Identity) -> None:
    (folder / f"{name}.cer").write_bytes(identity.certificate.raw)
    _keep(folder / f"{name}.key", write_private_key(identity.key))


def _keep(file: Path, content: bytes) -> None:
    """Write a secret file, readable by its owner alone."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
        stream.write(content)
