"""A short run of schemathesis against the real service; `make contract` is the long one."""

from __future__ import annotations

import re
from importlib.util import find_spec
from unittest import SkipTest

from tests.contract_run import MOST_GROWTH, run
from tests.test_service_process import ProcessCase

ONLY = ("/login", "/dm/api/v3/devices", "/dm/api/v3/operations", "/dm/main/api/v1/settings", "/dm/execute")
"""Paths of each kind; the last one gets the time that is left."""


class ShortRunTests(ProcessCase):
    """Some seconds of generated requests."""

    def test_nothing_found(self) -> None:
        """No answer is other than the document says, none is a fault of the service, none hangs; memory stays."""
        if find_spec("schemathesis") is None:
            raise SkipTest("schemathesis is not installed: pip install schemathesis")
        # In 9 seconds there is time for a thousand and more; a machine that stood still meanwhile has another try.
        for seconds in (9, 60):
            folder = self.folder / str(seconds)
            folder.mkdir()
            status, grown, said = run(folder, seconds=seconds, examples=2, seed=7, phases="coverage", only=ONLY)
            self.assertEqual(status, 0, said)
            self.assertLess(grown, MOST_GROWTH)
            found = re.search(r"(\d+) generated", said)
            assert found is not None, said
            count = int(found[1])
            if count > 100:
                break
        self.assertGreater(count, 100)
