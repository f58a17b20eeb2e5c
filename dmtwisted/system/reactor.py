"""The reactor, loaded without the TLS library."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

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
