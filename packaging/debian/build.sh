#!/bin/sh
# Builds the package for Debian and Ubuntu out of this tree: packaging/debian/build.sh [FOLDER]
#
# Takes dpkg-deb, Python and pip; with gcc and the headers of a Python (python3-dev) the hash of signatures is compiled for it.
# The package brings its libraries along, as wheels for every Python that it may meet (DEB_PYTHONS), so it outlives an upgrade of the system. What is compiled has the version of its Python in its name,
# so all of them share one folder. The version is that of the tree, with the time of its last commit after a release
# (DEB_VERSION overrides it). pip checks the hash of every file that it takes. The same tree makes the same bytes; beside them
# lie the bill of materials and the checksums.
set -eu
home=$(cd "$(dirname "$0")/../.." && pwd)
out=$(mkdir -p "${1:-$home/dist}" && cd "${1:-$home/dist}" && pwd)
python=${PYTHON:-python3}
pythons=${DEB_PYTHONS:-3.11 3.12 3.13}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
cd "$home"
here=packaging/debian

# Version and time

version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' dmtwisted/__init__.py)
if SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null); then
  [ "$(git tag --points-at HEAD)" = "v$version" ] ||
    version=$version+git$(TZ=UTC git log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd.%h)
else
  SOURCE_DATE_EPOCH=$(stat -c %Y CHANGELOG.md)
fi
version=${DEB_VERSION:-$version}
export SOURCE_DATE_EPOCH

# Wheels: ours, and those that come as source only

PYTHON="$python" packaging/wheels.sh "$work/wheels"
pip() { PIP_ROOT_USER_ACTION=ignore "$python" -m pip --quiet --disable-pip-version-check "$@"; }

# One folder for all Pythons

machine=$(uname -m)
platforms=
for libc in manylinux2014 manylinux_2_17 manylinux_2_24 manylinux_2_26 manylinux_2_27 manylinux_2_28 manylinux_2_34; do
  platforms="$platforms --platform ${libc}_$machine"
done
libraries=$work/tree/usr/lib/dmtwisted/site-packages
mkdir -p "$libraries"
for version_of_python in $pythons; do
  site=$work/site-$version_of_python
  # shellcheck disable=SC2086 # several options
  pip install --require-hashes --no-deps --no-compile --only-binary :all: --implementation cp $platforms --find-links "$work/wheels" \
    --python-version "$version_of_python" --target "$site" --report "$site.json" -r "$work"/wheels/dmtwisted-*-pins.txt
  rm -rf "$site/bin" "$site/share"
  # What a wheel says of itself names its Python; anything else that differs could not share the folder.
  differs=$(diff -rq "$libraries" "$site" | grep '^Files ' | grep -v '\.dist-info/' || true)
  [ -z "$differs" ] || { echo "not the same for every Python: $differs" >&2; exit 1; }
  cp -an "$site/." "$libraries"
done
find "$libraries" -path '*.dist-info/*' \( -name RECORD -o -name INSTALLER -o -name REQUESTED -o -name direct_url.json \) -delete
# shellcheck disable=SC2086 # several versions
PYTHON="$python" packaging/compiled.sh "$libraries" $pythons
rm -rf "$libraries"/*/tests "$libraries"/twisted/*/test "$libraries"/twisted/test

# The tree

tree=$work/tree
prefix=$tree/usr/lib/dmtwisted
for version_of_python in $pythons; do
  mkdir -p "$prefix/lib/python$version_of_python"
  ln -s ../../site-packages "$prefix/lib/python$version_of_python/site-packages"
done
printf 'home = /usr/bin\ninclude-system-site-packages = false\n' > "$prefix/pyvenv.cfg"
mkdir "$prefix/bin"
ln -s /usr/bin/python3 "$prefix/bin/python"
command_of() {
  printf '#!/usr/lib/dmtwisted/bin/python\nfrom %s import %s\n\n%s()\n' "$2" "$3" "$3" > "$prefix/bin/$1"
  chmod 755 "$prefix/bin/$1"
}
command_of dmtwisted dmtwisted.commands.main main
command_of twistd twisted.scripts.twistd run
install -d "$tree/usr/bin" "$tree/usr/lib/systemd/system" "$tree/etc/dmtwisted" "$tree/usr/share/doc/dmtwisted"
ln -s ../lib/dmtwisted/bin/dmtwisted "$tree/usr/bin/dmtwisted"
install -m 644 $here/dmtwisted.service "$tree/usr/lib/systemd/system/"
install -m 640 $here/dmtwisted.toml "$tree/etc/dmtwisted/"
cp -r docs/* "$tree/usr/share/doc/dmtwisted/"
install -m 644 README.md "$tree/usr/share/doc/dmtwisted/"
gzip -9n < CHANGELOG.md > "$tree/usr/share/doc/dmtwisted/changelog.gz"
{
  cat LICENSE
  printf '\nThe libraries in /usr/lib/dmtwisted/site-packages have their own licences, each in its .dist-info folder.\n'
  printf 'The licence of the run-time code of mypyc is protocols/fiscal/crypto/gost34311_words.LICENSE there.\n'
} > "$tree/usr/share/doc/dmtwisted/copyright"

# What dpkg wants to know

# Of the files alone: what folders take is another thing on each file system.
size=$(find "$tree" -type f -printf '%s\n' | awk '{kib += int(($1 + 1023) / 1024)} END {print kib}')
mkdir "$tree/DEBIAN"
first=${pythons%% *}
last=${pythons##* }
beyond=3.$((${last#3.} + 1))
sed -e "s/@VERSION@/$version/; s/@ARCHITECTURE@/$(dpkg --print-architecture)/" \
  -e "s/@PYTHON@/python3 (>= $first), python3 (<< $beyond~)/" \
  -e "s/@SIZE@/$size/" $here/control.in > "$tree/DEBIAN/control"
install -m 755 $here/postinst $here/prerm $here/postrm "$tree/DEBIAN/"
install -m 644 $here/templates "$tree/DEBIAN/"
echo /etc/dmtwisted/dmtwisted.toml > "$tree/DEBIAN/conffiles"
for version_of_python in "" $pythons; do
  # The service runs with files of Python that are being replaced: see postinst.
  echo "interest-noawait /usr/bin/python3${version_of_python#3}"
done > "$tree/DEBIAN/triggers"
chmod -R u+rwX,go+rX,go-w "$tree"
chmod 640 "$tree/etc/dmtwisted/dmtwisted.toml"
(cd "$tree" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | sort -z | xargs -0 md5sum) > "$work/md5sums"
install -m 644 "$work/md5sums" "$tree/DEBIAN/md5sums"
find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

file=$out/dmtwisted_${version}_$(dpkg --print-architecture).deb
# Under its name only when it is whole.
# One thread: how many there are is seen in the bytes.
dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$tree" "$work/package.deb" > /dev/null
cp "$work/package.deb" "$file.new"
mv "$file.new" "$file"
# shellcheck disable=SC2046 # a folder each
"$python" tools/bom.py "$file" $(for one in $pythons; do echo "$work/site-$one"; done)
echo "$file"
