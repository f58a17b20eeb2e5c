"""One target in its own process, driven by atheris; `tests.fuzz.run` starts it.

``python -m tests.fuzz.one MODULE/NAME libFuzzer's-options corpus-folder...``
"""

from __future__ import annotations

import sys

import atheris

PACKAGES = ["protocols", "dmtwisted", "web"]
"""The packages whose branches count as coverage: not the libraries, not the targets."""

OF_THE_FUZZER = 64.0
"""Megabytes for the fuzzer's tables and inputs, in addition to the limit of the target."""


def main() -> None:
    """Fuzz until the time is over or there is a finding."""
    name = sys.argv.pop(1)
    with atheris.instrument_imports(include=PACKAGES):
        from tests.fuzz.targets import named

        target = named(name)
    from twisted.logger import globalLogBeginner

    from tests.fuzz.target import MOST_GROWTH, Watch, peak

    # Logged failures are findings, and have an observer; other lines of the log are not needed here.
    globalLogBeginner.beginLoggingTo([], redirectStandardIO=False)
    most = int(peak() + MOST_GROWTH + OF_THE_FUZZER)
    with Watch() as watch:
        atheris.Setup([*sys.argv, f"-rss_limit_mb={most}"], lambda data: watch.hold(target, data))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
