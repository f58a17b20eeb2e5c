#!/bin/sh
# Compiles the hash of signatures in a folder of libraries: packaging/compiled.sh SITE VERSION...
#
# SITE contains our modules; VERSION is a Python, such as 3.13, or win for CPython 3.11 on Windows. mypyc, pinned in
# pins-compile.txt, writes C, the same for each; gcc, or mingw for win, compiles it. The headers are those of pythonVERSION, else
# /usr/include/pythonVERSION; for win they are in the folder WINDOWS_HEADERS. Without compiler or headers the module stays
# interpreted, and a line says so. The same tree makes the same bytes with the same compiler.
set -eu
home=$(cd "$(dirname "$0")/.." && pwd)
site=$(cd "$1" && pwd)
shift
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
name=gost34311_words
module=$site/protocols/fiscal/crypto/$name
export PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1

"$python" -m venv --without-pip "$work/venv"
pip() { "$python" -m pip --quiet --python "$work/venv/bin/python" "$@"; }
pip install --require-hashes --only-binary :all: -r "$home/packaging/pins-compile.txt"
cp "$module.py" "$work"
cd "$work"
"$work/venv/bin/python" -c 'import sys
from mypyc.build import mypycify
mypycify(["--config-file=", "--strict", *sys.argv[1:]], target_dir="c")' $name.py > mypyc.log || { cat mypyc.log >&2; exit 1; }
runtime=$("$work/venv/bin/python" -c 'import mypyc, os; print(os.path.dirname(mypyc.__file__))')/lib-rt

headers() { # version
  own=$("python$1" -c 'import sysconfig; print(sysconfig.get_path("include"))' 2> /dev/null || true)
  for folder in "$own" "/usr/include/python$1"; do
    [ ! -e "$folder/Python.h" ] || { echo "$folder"; return; }
  done
}

made=
for version in "$@"; do
  if [ "$version" = win ]; then
    compiler=x86_64-w64-mingw32-gcc
    include=${WINDOWS_HEADERS:-}/include
    suffix=cp311-win_amd64.pyd
    options="-DMS_WIN64 -static-libgcc -L${WINDOWS_HEADERS:-}/libs -lpython311 -Wl,--no-insert-timestamp"
  else
    compiler=${CC:-gcc}
    include=$(headers "$version")
    suffix=cpython-3${version#3.}-$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("MULTIARCH"))').so
    options=-fPIC
  fi
  if command -v "$compiler" > /dev/null && [ -e "$include/Python.h" ]; then
    # shellcheck disable=SC2086 # several options
    "$compiler" -shared -O2 -s -DNDEBUG -fwrapv -I "$runtime" -I c -I "$include" c/__native.c -o "$name.$suffix" $options
    install -m 644 "$name.$suffix" "$module.$suffix"
    made=yes
  else
    echo "compiled.sh: the hash is not compiled for Python $version: no $compiler, or no headers" >&2
  fi
done
# The run-time code of mypyc is in it.
[ -z "$made" ] || install -m 644 "$work"/venv/lib/python*/site-packages/mypy-*.dist-info/licenses/LICENSE "$module.LICENSE"
