"""The plugin by which trial finds the reporter of the suite; ``tests/trial`` has to be on the path."""

from twisted.plugin import IPlugin
from twisted.trial.itrial import IReporter
from zope.interface import directlyProvides


class Suite:
    """What trial asks of a reporter's plugin."""

    name, longOpt, shortOpt = "suite", "suite", None
    description = "progress, what was skipped, the slowest modules, and the counts alone on the last line"
    module, klass = "tests.reporter", "SuiteReporter"


suite = Suite()
directlyProvides(suite, IPlugin, IReporter)
