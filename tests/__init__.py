"""One test module for each module; every docstring of a test is a promise."""

import os
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.internal.conjecture import providers

from tests import worker

# One place, whatever the folder in which tests run; failing examples are found again there.
set_hypothesis_home_dir(Path(__file__).parent.parent / ".hypothesis")

# How quick the machine is at making inputs is no promise of ours.
settings.register_profile("suite", deadline=None, suppress_health_check=(HealthCheck.too_slow,))
settings.load_profile("suite")
if os.environ.get("CI") == "true":
    # Inputs are the same in each run; else they would depend on the modules that this process has loaded before.
    providers._get_local_constants = lambda: providers._local_constants

worker.begin()
