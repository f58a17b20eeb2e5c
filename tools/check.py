"""Check what changed since ``main``: lint, types, and the tests of the rooms: ``python -m tools.check``.

The tests of a changed module are the test modules that import it and those named after it or its folder.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
BASE = "main"
MOST_IMPORTERS = 12
"""Test modules that one changed module brings by being imported; what everything imports is left to the suite."""

_IMPORT = re.compile(r"^from ([\w.]+) import (\([^)]*\)|[^\n(]*)", re.MULTILINE)
_WORD = re.compile(r"\w+")


def changed() -> list[Path]:
    """Python files that differ from the branch point, committed or not; new ones too."""
    base = _git("merge-base", "HEAD", BASE) or ["HEAD"]
    names = [
        *_git("diff", "--name-only", "--diff-filter=d", base[0]),
        *_git("ls-files", "--others", "--exclude-standard"),
    ]
    return [Path(name) for name in dict.fromkeys(names) if name.endswith(".py")]


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def tests_of(files: Iterable[Path]) -> list[str]:
    """The test modules to run for these files."""
    tests = {path: _imported(path) for path in sorted((ROOT / "tests").rglob("test_*.py"))}
    wanted: dict[str, None] = {}
    for file in files:
        if file.name.startswith("test_"):
            wanted[_name(file)] = None
            continue
        importers = [path for path, names in tests.items() if _name(file) in names]
        wanted.update(dict.fromkeys(_name(path.relative_to(ROOT)) for path in importers[:MOST_IMPORTERS]))
        for word in {file.stem, file.parent.name} - {"tests"}:
            named = [path for path in tests if path.stem.startswith(f"test_{word}")]
            wanted.update(dict.fromkeys(_name(path.relative_to(ROOT)) for path in named))
    return list(wanted)


@cache
def _imported(path: Path) -> frozenset[str]:
    found: set[str] = set()
    for module, names in _IMPORT.findall(path.read_text("utf-8")):
        found |= {module, *(f"{module}.{name}" for name in _WORD.findall(names))}
    return frozenset(found)


def _name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts)


def _run(*command: str) -> bool:
    print("$", " ".join(command[2:]), flush=True)
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def main() -> int:
    """Run every check; the exit status is 0 when all passed."""
    files = changed()
    if not files:
        print(f"no Python file differs from {BASE}")
        return 0
    names: Sequence[str] = [str(file) for file in files]
    python = (sys.executable, "-m")
    good = _run(*python, "ruff", "check", *names)
    good &= _run(*python, "ruff", "format", "--check", *names)
    good &= _run(*python, "mypy")
    tests = tests_of(files)
    if tests:
        good &= _run(*python, "tests.suite", *tests)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
