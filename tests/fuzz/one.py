"""One target in a process of its own, driven by atheris: started by `tests.fuzz.run`, never by hand.

``python -m tests.fuzz.one MODULE/NAME libFuzzer's-options corpus-folder...``
"""

from __future__ import annotations

import sys

import atheris

PACKAGES = ["protocols", "dmtwisted", "web"]
"""What is watched for new ways through it: not the libraries, not the targets."""

OF_THE_FUZZER = 64.0
"""Megabytes that its own tables and inputs may take beside what the target may."""


def main() -> None:
    """Fuzz until the time is over or something is found."""
    name = sys.argv.pop(1)
    with atheris.instrument_imports(include=PACKAGES):
        from tests.fuzz.targets import named

        target = named(name)
    from twisted.logger import globalLogBeginner

    from tests.fuzz.target import MOST_GROWTH, Watch, peak

    # Failures in the log are findings, and have a watcher; the rest of it is nobody's business here.
    globalLogBeginner.beginLoggingTo([], redirectStandardIO=False)
    most = int(peak() + MOST_GROWTH + OF_THE_FUZZER)
    with Watch() as watch:
        atheris.Setup([*sys.argv, f"-rss_limit_mb={most}"], lambda data: watch.hold(target, data))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
