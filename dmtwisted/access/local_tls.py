"""TLS for the servers of commands, by a local authority in a folder."""

from __future__ import annotations

from pathlib import Path

from dmtwisted.access.authority import issue, open_authority
from dmtwisted.access.certificates import BadCertificate
from dmtwisted.access.tls import OneContext


def local_context(folder: Path, host: str, now: float) -> OneContext:
    """TLS for this machine and ``host``; clients trust ``authority.pem`` in ``folder``, which is created if absent.

    :raises ValueError: when there can be no certificate.
    :raises OSError: when the folder cannot be written.
    """
    names = [name for name in ("localhost", "127.0.0.1", "::1", host) if name not in ("", "0.0.0.0", "::")]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        authority, _ = open_authority(folder, now, names)
        return OneContext(issue(authority, names, now))
    except BadCertificate as error:
        raise ValueError(str(error)) from None
