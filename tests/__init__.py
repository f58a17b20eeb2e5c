"""One test module for each module; every docstring of a test is a promise."""

from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

from tests import worker

# One place, whatever the folder in which tests run; failing examples are found again there.
set_hypothesis_home_dir(Path(__file__).parent.parent / ".hypothesis")

# How quick the machine is at making inputs is no promise of ours.
settings.register_profile("suite", deadline=None, suppress_health_check=(HealthCheck.too_slow,))
settings.load_profile("suite")

worker.begin()
