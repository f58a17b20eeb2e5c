"""Pins what packages, the container and Windows are made of: the newest that `setup.cfg` allows, with the hashes.

``python -m tools.pins`` writes `packaging/pins.txt`, for every Python and system at once, with what builds wheels
`packaging/pins-build.txt`, and with what compiles `packaging/pins-compile.txt`. `packaging/pins-test.txt` are the
versions with which CI runs the suite, without hashes. Look at the difference, run the suite with it, and commit all.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from configparser import RawConfigParser
from pathlib import Path

ROOT = Path(__file__).parent.parent
PINS = ROOT / "packaging" / "pins.txt"
BUILD_PINS = ROOT / "packaging" / "pins-build.txt"
COMPILE_PINS = ROOT / "packaging" / "pins-compile.txt"
TEST_PINS = ROOT / "packaging" / "pins-test.txt"

SOURCE_ONLY = "txpostgres"
"""It has no wheel, and its source is a .tar.bz2 file, which uv does not take; it requires nothing."""


def wanted(*extras: str) -> list[str]:
    """The requirements of the service, and those of ``extras``."""
    setup = RawConfigParser(interpolation=None)
    setup.read(ROOT / "setup.cfg", "utf-8")
    extra = setup["options.extras_require"]
    lines = [setup["options"]["install_requires"], *(extra[name] for name in extras)]
    found = (line.strip() for line in "\n".join(lines).splitlines())
    return [line for line in found if line and not line.startswith("dmtwisted[")]


def resolved(requirements: Iterable[str], *options: str) -> str:
    """The pins of what they need, for every system."""
    uv = str(Path(sys.executable).parent / "uv")
    command = [
        uv,
        "pip",
        "compile",
        "--quiet",
        "--no-header",
        "--no-annotate",
        "--universal",
        "--python-version",
        "3.11",
    ]
    text = "\n".join(requirements)
    done = subprocess.run(
        [*command, *(options or ["--generate-hashes"]), "-"],
        input=text,
        text=True,
        check=True,
        stdout=subprocess.PIPE,
    )
    return done.stdout


def from_source(requirement: str) -> str:
    """The pin of a library without a wheel, by pip."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory() as folder:
        fetch = [*pip, "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", folder, requirement]
        subprocess.run(fetch, check=True)
        [file] = Path(folder).iterdir()
        told = subprocess.run([*pip, "hash", str(file)], check=True, capture_output=True, text=True).stdout
    name, version = re.findall(r"^(\w+)-([\d.]+)\.(?:zip|tar\.\w+)$", file.name)[0]
    return f"{name}=={version} \\\n    {told.split()[-1]}\n"


def main() -> None:
    """Write the files."""
    head = "# Made by tools/pins.py; do not edit.\n"
    # MS SQL, as nobody can add it to a package later.
    packaged = wanted("mssql")
    by_pip = [one for one in packaged if one.startswith(SOURCE_ONLY)]
    pins = resolved(one for one in packaged if one not in by_pip)
    PINS.write_text(head + pins + "".join(map(from_source, by_pip)), "utf-8")
    BUILD_PINS.write_text(head + resolved(["setuptools>=68"]), "utf-8")
    tested = (one for one in wanted("docs", "test") if one not in by_pip)
    TEST_PINS.write_text(head + resolved(tested, "--constraints", str(PINS)), "utf-8")
    COMPILE_PINS.write_text(head + resolved(["mypy>=2.0", "setuptools>=68"]), "utf-8")


if __name__ == "__main__":
    main()
