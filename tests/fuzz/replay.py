"""Run a target on files again, without the fuzzer: ``python -m tests.fuzz.replay TARGET FILE...``."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.target import Watch
from tests.fuzz.targets import named


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the files; 1 when one of them breaks a promise."""
    name, *files = sys.argv[1:] if arguments is None else arguments
    target, broken = named(name), 0
    with Watch() as watch:
        for file in files:
            data = Path(file).read_bytes()
            try:
                watch.hold(target, data)
            except Exception:
                broken += 1
                print(f"{file}: {data!r}")
                traceback.print_exc(file=sys.stdout)
            else:
                print(f"{file}: well")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
