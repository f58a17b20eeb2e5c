"""Install, create or remove a certificate, for `dmtwisted tls` and for the page.

The page's orders (`dmtwisted.access.tls_orders`) are done here in a child process.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from dmtwisted.access.authority import AUTHORITY_FILE, issue, names_of_this_machine, open_authority, permits
from dmtwisted.access.certificates import BadCertificate, Identity, check, facts, read_content, read_pem
from dmtwisted.access.tls_orders import Order, Result
from dmtwisted.config import INSTALLED, TLS_FOLDER, TlsConfig
from dmtwisted.secrets import write_private
from dmtwisted.system.files import describe_error


def install_at(identity: Identity, tls: TlsConfig, state: Path) -> Path:
    """Write ``identity`` to the files of ``tls``, or into the state folder; returns the file of the certificate.

    :raises OSError: when it cannot be written.
    """
    chain, key = identity.certificates_pem(), identity.key_pem(tls.passphrase)
    if not tls.given:
        folder = state / TLS_FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = Path(os.path.abspath(folder / INSTALLED))
        write_private(file, chain + identity.key_pem())
        return file
    file, key_file = Path(tls.certificate), Path(tls.key)
    if file == key_file:
        write_private(file, chain + key)
    else:
        write_private(key_file, key)
        write_private(file, chain)
    return file


def remove_from(state: Path) -> bool:
    """Remove the certificate from the state folder; whether there was one.

    :raises OSError: when it cannot be deleted.
    """
    file = state / TLS_FOLDER / INSTALLED
    if not file.exists():
        return False
    file.unlink()
    return True


class Certified(NamedTuple):
    """A certificate of the local authority.

    :param made: whether the authority was created now.
    :param left_out: names of this machine for which it may not sign.
    """

    authority: Identity
    made: bool
    identity: Identity
    left_out: tuple[str, ...]


def certify(state: Path, names: Iterable[str], now: float, new: bool = False) -> Certified:
    """A new certificate for this machine by the local authority, which is created when absent.

    :param names: other names of this machine. :param new: create a new authority, which every client has to trust.
    :raises BadCertificate: when the authority exists and can no longer be used.
    :raises ValueError: when one of ``names`` is invalid, or the authority may not sign for it.
    :raises OSError: when it cannot be written.
    """
    folder = state / TLS_FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    names, machine = list(names), names_of_this_machine()
    own, made = open_authority(folder, now, names, new)
    check(own, now, folder / AUTHORITY_FILE)
    # Names of the machine come and go; a renewal must not fail for one.
    fit = [name for name in machine if permits(own.leaf, name)]
    return Certified(own, made, issue(own, [*fit, *names], now), tuple(name for name in machine if name not in fit))


def perform(order: Order) -> Result:
    """Do what is ordered; never raises."""
    try:
        return Result(facts=_perform(order))
    except (BadCertificate, ValueError) as error:
        return Result(str(error))
    except OSError as error:
        return Result(describe_error(error))


def _perform(order: Order) -> dict[str, Any]:
    state, tls = Path(order.state), TlsConfig(order.certificate, order.key, order.passphrase)
    if order.do == "status":
        file = state / TLS_FOLDER / INSTALLED
        return facts(read_pem(file, file), order.now, file)
    if order.do == "authority":
        identity = certify(state, order.names, order.now, order.new).identity
    else:
        # People see these names in messages.
        name = Path("certificate")
        key = (Path("key"), order.key_file) if order.key_file else None
        identity = read_content(name, order.file, order.password, key)
        check(identity, order.now, name)
    install_at(identity, tls, state)
    return facts(identity, order.now)


def work(given: bytes) -> bytes:
    """Do an order; both it and the result as JSON."""
    return msgspec.json.encode(perform(msgspec.json.decode(given, type=Order)))
