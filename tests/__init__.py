"""One test module for each module; every docstring of a test is a promise."""

from hypothesis import HealthCheck, settings

from tests import worker

# How quick the machine is at making inputs is no promise of ours.
settings.register_profile("suite", deadline=None, suppress_health_check=(HealthCheck.too_slow,))
settings.load_profile("suite")

worker.begin()
