"""The reactor and the web server, loaded without libraries that they do not need here."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

LIBRARY = ("OpenSSL", "OpenSSL.SSL", "OpenSSL.crypto")
"""The modules by which Twisted finds the library."""


@contextmanager
def without_tls() -> Iterator[None]:
    """Let a reactor that is imported within this be the one for machines without the TLS library.

    Twisted's connections carry it for `startTLS`, `listenSSL` and `connectSSL` alone, which nobody here uses: what
    speaks TLS wraps its protocol (`twisted.protocols.tls`) and loads the library then. It takes 6 MB and 70 ms.
    """
    hidden = [name for name in LIBRARY if name not in sys.modules]
    # None is Python's mark for a module that cannot be imported.
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        with warnings.catch_warnings():
            # The reactor of Windows tells that it is missing.
            warnings.filterwarnings("ignore", "pyOpenSSL")
            yield
    finally:
        for name in hidden:
            del sys.modules[name]


def without_http2() -> None:
    """Let no web server of this process load HTTP/2: it would offer it unasked under TLS, and takes 2 MB.

    To be called before `twisted.web.http` is imported. Our calls to others find the library as before.
    """
    cast(dict[str, Any], sys.modules).setdefault("twisted.web._http2", None)
