#!/bin/sh
# Builds our wheel, and those of libraries that come as source only: packaging/wheels.sh [FOLDER]
#
# Takes Python and pip; git, or SOURCE_DATE_EPOCH, says the time. What builds is pinned in pins-build.txt. Beside the wheels lies
# dmtwisted-VERSION-pins.txt: the pins with the hashes of these wheels, so that pip checks every file that it installs,
#
#   pip install --require-hashes --only-binary :all: --find-links . -r dmtwisted-VERSION-pins.txt
#
# The same tree makes the same bytes, whatever the folder and the umask.
set -eu
home=$(cd "$(dirname "$0")/.." && pwd)
out=$(mkdir -p "${1:-$home/dist}" && cd "${1:-$home/dist}" && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
cd "$home"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y setup.cfg)}
export SOURCE_DATE_EPOCH PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1

# What builds, in an environment of its own
"$python" -m venv --without-pip "$work/venv"
pip() { "$python" -m pip --quiet --python "$work/venv/bin/python" "$@"; }
pip install --require-hashes --only-binary :all: -r packaging/pins-build.txt

# A copy: the tree may hold what an earlier build or another umask left
mkdir "$work/source" "$work/wheels"
cp -R dmtwisted protocols web twisted setup.cfg pyproject.toml README.md LICENSE "$work/source"
find "$work/source" \( -name __pycache__ -o -name dropin.cache \) -prune -exec rm -rf {} +
chmod -R u=rwX,go=rX "$work/source"
pip wheel --no-build-isolation --no-deps --wheel-dir "$work/wheels" "$work/source"
sed -n '/^txpostgres==/,/[^\\]$/p' packaging/pins.txt > "$work/source-only"
pip wheel --no-build-isolation --no-deps --require-hashes --no-binary :all: --no-cache-dir --wheel-dir "$work/wheels" -r "$work/source-only"

pinned() { # name: its wheel as a pin
  file=$(ls "$work/wheels/$1"-*.whl)
  version=${file##*/"$1"-}
  printf '%s==%s \\\n    --hash=sha256:%s\n' "$1" "${version%%-*}" "$(sha256sum < "$file" | cut -d' ' -f1)"
}
{
  sed '/^txpostgres==/,/[^\\]$/d' packaging/pins.txt
  pinned txpostgres
  pinned dmtwisted
} > "$work/pins"
wheel=$(ls "$work/wheels"/dmtwisted-*.whl)
version=${wheel##*/dmtwisted-}
install -m 644 "$work/wheels"/*.whl "$out"
install -m 644 "$work/pins" "$out/dmtwisted-${version%%-*}-pins.txt"
