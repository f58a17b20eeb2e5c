"""All classes of attacks, and the way to try one variant."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager

from tests.attacks.access import ACCESS
from tests.attacks.bodies import BODIES
from tests.attacks.browser import BROWSER
from tests.attacks.desk import Desk, make_desk
from tests.attacks.exhaustion import EXHAUSTION
from tests.attacks.files import FILES
from tests.attacks.framing import FRAMING
from tests.attacks.tls import TLS
from tests.attacks.uploads import UPLOADS
from tests.attacks.variants import Stage, Variant
from tests.attacks.wires import WIRES

FAMILIES = (BROWSER, FRAMING, BODIES, ACCESS, TLS, FILES, UPLOADS, WIRES, EXHAUSTION)

SHARED = (Stage.OPEN, Stage.LOGIN, Stage.HARDENED, Stage.PROCESS, Stage.BROWSER)
"""Stages that serve many variants: each leaves them as they were."""

_desks: dict[tuple[Stage, bool], Desk] = {}


def try_variant(variant: Variant, real: bool) -> None:
    """Try ``variant``, in memory or on a process where there may be either.

    :raises AssertionError: when its expectation is not met, or something was changed.
    """
    if variant.stage is Stage.ALONE:
        variant.attempt(None)
        return
    with _desk(variant.stage, real) as desk, desk.unharmed():
        variant.attempt(desk)


@contextmanager
def _desk(stage: Stage, real: bool) -> Iterator[Desk]:
    """A service; a shared one is used again unless something went wrong."""
    shared = stage in SHARED
    desk = _desks.pop((stage, real), None) or make_desk(stage, real)
    try:
        yield desk
    except BaseException:
        desk.close()
        raise
    if shared:
        _desks[stage, real] = desk
    else:
        desk.close()


@atexit.register
def close_desks() -> None:
    """The shared services end."""
    while _desks:
        _desks.popitem()[1].close()
