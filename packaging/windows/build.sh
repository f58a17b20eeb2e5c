#!/bin/sh
# Builds the installer for Windows: packaging/windows/build.sh [FOLDER]
#
# Takes makensis, Python 3.11 and pip; with gcc-mingw-w64-x86-64 the hash is compiled. The installer brings CPython 3.11 and our
# libraries along, as packaging/pins.txt has them; pip checks the hash of each. Variables, mostly for packaging/windows/try.py:
#
#   SIGN            a command that signs the file behind it: osslsigncode, or anything that asks the owner of the certificate
#   WINDOWS_TREE    a folder that `build.sh tree` filled, in place of a new one
#   WINDOWS_OLDER   set: with the versions for Wine of tools/windows.py, for no shop
#   WINDOWS_QUICK   set: do not compress
#
#   packaging/windows/build.sh tree FOLDER: only what is installed
set -eu
home=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-python3}
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$home"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y setup.cfg)}
export SOURCE_DATE_EPOCH

fill() { # folder
  # The service cannot write to Program Files: its modules have to be compiled before.
  "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' ||
    { echo "build.sh: Python 3.11 is needed, by PYTHON=" >&2; exit 1; }
  PYTHON="$python" packaging/wheels.sh "$work/wheels"
  "$python" -m tools.windows "$1" "$work/wheels" ${WINDOWS_OLDER:+--older}
  libraries=$1/Lib/site-packages
  mv "$libraries.json" "$work/site-packages.json"
  PYTHON="$python" WINDOWS_HEADERS="$(cd "$1" && pwd)" packaging/compiled.sh "$libraries" win
  # What a service has no use for
  rm -rf "$libraries/bin" "$libraries/share" "$libraries/pythonwin" "$libraries/isapi" "$libraries/adodbapi" \
    "$libraries/PyWin32.chm" "$libraries"/win32/Demos "$libraries"/win32comext "$libraries"/win32/test "$libraries"/win32com/test \
    "$1/include" "$1/libs" \
    "$libraries"/twisted/*/test "$libraries"/twisted/test "$libraries"/*/tests "$libraries"/zope/interface/tests \
    "$1"/Lib/test "$1"/Lib/lib2to3 "$1"/Lib/pydoc_data "$1"/Lib/distutils "$1"/NEWS.txt \
    "$1"/DLLs/_tkinter.pyd "$1"/DLLs/tcl86t.dll "$1"/DLLs/tk86t.dll "$1"/DLLs/_msi.pyd "$1"/DLLs/*.ico "$1"/DLLs/*.cat
  # The service's program and what it loads have to lie beside python311.dll.
  mv "$libraries/win32/pythonservice.exe" "$1"
  cp "$libraries"/pywin32_system32/*.dll "$1"
  # Whatever PYTHONPATH or another Python's registry says on that computer.
  printf 'DLLs\r\nLib\r\nimport site\r\n' > "$1/python311._pth"
  find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
}

if [ "${1:-}" = tree ]; then
  fill "$2"
  exit
fi
out=$(mkdir -p "${1:-$home/dist}" && cd "${1:-$home/dist}" && pwd)
tree=${WINDOWS_TREE:-}
[ "$tree" ] || { tree=$work/tree; fill "$tree"; }
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$tree/Lib/site-packages/dmtwisted/__init__.py")
number=$(echo "$version.0.0.0" | sed 's/[^0-9.].*//' | cut -d. -f1-4)
file=$out/dmtwisted-setup-$version.exe
# Under its name only when it is whole.
makensis -V2 -WX -INPUTCHARSET UTF8 -DVERSION="$version" -DNUMBER="$number" -DTREE="$tree" -DOUT="$work/${file##*/}" \
  -DSIZE="$(du -sk --apparent-size "$tree" | cut -f1)" ${SIGN:+"-DSIGN=$SIGN"} ${WINDOWS_QUICK:+-DQUICK} packaging/windows/setup.nsi
cp "$work/${file##*/}" "$file.new"
mv "$file.new" "$file"
if [ -e "$work/site-packages.json" ]; then
  ln -s "$tree/Lib/site-packages" "$work/site-packages"
  "$python" tools/bom.py "$file" "$work/site-packages"
fi
echo "$file"
