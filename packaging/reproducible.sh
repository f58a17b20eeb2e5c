#!/bin/sh
# Builds the wheel and the Debian package of the last commit twice, in folders and with umasks of their own: every byte is
# the same, or the difference is the exit status. Takes git and what the builds take.
set -eu
home=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$home"
# Somebody may commit meanwhile.
commit=$(git rev-parse HEAD)
for mask in 022 077; do
  (
    umask $mask
    git clone --quiet "file://$(git rev-parse --path-format=absolute --git-common-dir)" "$work/clone-of-$mask"
    cd "$work/clone-of-$mask"
    git checkout --quiet "$commit"
    started=$(date +%s)
    PYTHON="${PYTHON:-python3}" make --silent wheel deb
    echo "built in $(($(date +%s) - started)) s"
  )
done
diff -r "$work/clone-of-022/dist" "$work/clone-of-077/dist"
cat "$work/clone-of-022/dist/SHA256SUMS"
