#!/bin/sh
# What Windows installs of packaging/wheels.sh: packaging/windows.sh [FOLDER]
#
# Fetches each pin as a wheel for Windows and checks its hash, then writes the bill of materials of our wheel, and the checksums.
# WINDOWS_PYTHON is the version that it looks at, 3.13 unless told.
set -eu
home=$(cd "$(dirname "$0")/.." && pwd)
out=$(cd "${1:-$home/dist}" && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$home"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y setup.cfg)}
export SOURCE_DATE_EPOCH
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' dmtwisted/__init__.py)
# pip would ask the markers of this system.
sed 's/ ; [^\\]*/ /' "$out/dmtwisted-$version-pins.txt" > "$work/pins"
"$python" -m pip install --quiet --disable-pip-version-check --root-user-action ignore --require-hashes --no-deps --no-compile \
  --only-binary :all: --platform win_amd64 --implementation cp --python-version "${WINDOWS_PYTHON:-3.13}" --find-links "$out" \
  --target "$work/site" --report "$work/site.json" -r "$work/pins"
"$python" tools/bom.py "$out/dmtwisted-$version-py3-none-any.whl" "$work/site"
