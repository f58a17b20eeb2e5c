#!/bin/bash
# The package in an empty Debian tree: packaging/debian/try.sh PACKAGE.deb [SUITE]
#
# Needs root and debootstrap. In a tree that has nothing but the base system the package is installed by apt; the service is
# started, as its user, by the command that the unit names; a receipt is made by curl; a higher version is installed and
# finds the receipt; the package is removed and purged, which leaves the shop's data until somebody says otherwise, and
# nothing afterwards. The same a second time with systemd as the first process of the tree, in name spaces of its own, where
# the kernel lets us: started, hardened, restarted after a kill, drained at the upgrade. DEB_TRY_SYSTEMD=no leaves that out, only
# leaves out the rest; DEB_TRY_BASE is a tree that debootstrap made before.
set -euo pipefail
package=$(realpath "$1")
suite=${2:-bookworm}
here=$(realpath "$(dirname "$0")")
mirror=${DEB_TRY_MIRROR:-http://deb.debian.org/debian}
work=$(mktemp -d "${TMPDIR:-/tmp}/dmtwisted-try.XXXXXX")
cgroup=
outside=
export LC_ALL=C.UTF-8

# shellcheck disable=SC2317 # called by the trap
leave() {
  status=$?
  [ -z "$outside" ] || kill -KILL "$outside" 2> /dev/null || true
  wait "${outside:-}" 2> /dev/null || true
  # A daemon, or what a process that we ended has left: whoever lives in the tree.
  for root in /proc/[0-9]*/root; do
    [ "$(readlink "$root" 2> /dev/null)" != "$work/tree" ] || kill -KILL "${root//[!0-9]/}" 2> /dev/null || true
  done
  [ -z "$cgroup" ] || { sleep 0.5; find "$cgroup" -depth -type d -exec rmdir {} + 2> /dev/null || true; }
  umount --lazy "$work"/tree/proc 2> /dev/null || true
  rm -rf --one-file-system "$work"
  [ $status = 0 ] || echo "FAILED" >&2
  exit $status
}
trap leave EXIT

say() { printf '\n== %s\n' "$*"; }
fail() { echo "not so: $*" >&2; exit 1; }
inside() { chroot "$work/tree" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }

# Requests, from inside; the port is free on this machine, too, whose network the tree has at first.

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
task() { # tag, fiscal
  curl -sS "http://127.0.0.1:$port/dm/execute" -H 'Content-Type: application/json' \
    -d "{\"ver\": 6, \"device\": \"test\", \"tag\": \"$1\", \"type\": 1, \"fiscal\": $2}"
}
OPEN='{"task": 0, "cashier": "Olena"}'
SALE='{"task": 1, "cashier": "Olena", "receipt": {"sum": 125.50,
  "rows": [{"code": "1", "name": "Кава", "cnt": 1, "price": 125.50, "taxgrp": 1}], "pays": [{"type": 0, "sum": 125.50}]}}'
member() { sed -E "s/.*\"$1\": ?\"?([^,\"}]*).*/\1/" <<< "$2"; }
export port OPEN SALE
export -f task member fail

ready() {
  for _ in $(seq 150); do
    ! curl -sf "http://127.0.0.1:$port/health/ready" > /dev/null || return 0
    sleep 0.1
  done
  fail "the service is not ready after 15 s"
}
first_sale() {
  answer=$(task open-1 "$OPEN")
  [ "$(member res "$answer")" = 0 ] || fail "the shift was not opened: $answer"
  answer=$(task sale-1 "$SALE")
  [ "$(member res "$answer")" = 0 ] || fail "no receipt was made: $answer"
  number=$(member doccode "$answer")
  echo "receipt $number"
}
same_sale() { # number: the tag is asked for again, and no second receipt is made
  answer=$(task sale-1 "$SALE")
  [ "$(member task_status "$answer") $(member doccode "$answer")" = "2 $1" ] || fail "the receipt $1 is lost: $answer"
  echo "receipt $1 is still there, once"
}
export -f ready first_sale same_sale

# A higher version: the same files.
higher() {
  dpkg-deb -R "$package" "$work/higher"
  sed -i "s/^Version: .*/&+try1/" "$work/higher/DEBIAN/control"
  dpkg-deb --root-owner-group -Zgzip -z1 --build "$work/higher" "$1" > /dev/null
  rm -rf "$work/higher"
}

say "an empty tree of Debian $suite"
if [ -n "${DEB_TRY_BASE:-}" ]; then
  cp -a "$DEB_TRY_BASE" "$work/base"
else
  debootstrap --variant=minbase "$suite" "$work/base" "$mirror" > "$work/debootstrap.log" 2>&1 || { tail -5 "$work/debootstrap.log"; fail "no tree"; }
fi
for file in resolv.conf hosts; do cp -L "/etc/$file" "$work/base/etc/"; done
cp "$package" "$work/base/root/first.deb"
higher "$work/base/root/higher.deb"
fresh_tree() {
  cp -a "$work/base" "$work/tree"
  mount -t proc proc "$work/tree/proc"
}
configure_training() {
  sed -i "s/^port = .*/port = $port/; s/^# training = true.*/training = true/" "$work/tree/etc/dmtwisted/dmtwisted.toml"
}
listing() { # what there is of ours, or has changed because of us
  (cd "$work/tree" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./run -o -path ./tmp -o -path ./var/cache -o -path ./var/log \
    -o -path ./var/lib/apt -o -path ./var/lib/dpkg -o -path ./root \) -prune -o -print | grep -v -e __pycache__ -e '/etc/.*-$' | sort)
}

[ "${DEB_TRY_SYSTEMD:-}" != only ] || { . "$here/try-systemd.sh"; exit 0; }
say "without systemd: installed by apt"
fresh_tree
inside apt-get update -qq
# What it needs comes first, so that only our own part is compared afterwards.
inside apt-get install -o Dpkg::Use-Pty=0 -y -qq --no-install-recommends curl python3 adduser ca-certificates > /dev/null 2>&1
listing > "$work/before"
inside apt-get install -o Dpkg::Use-Pty=0 -y -qq --no-install-recommends /root/first.deb 2>&1 | grep -v -e '^Selecting' -e '^(Reading' -e '^Preparing' -e '^Unpacking' -e '^debconf:'
inside id dmtwisted
inside dmtwisted --version
inside /usr/lib/dmtwisted/bin/python -c '
from protocols.fiscal.crypto.gost34311 import chosen, mixed, words
file, used = words().__file__, chosen() is not mixed
print(file, "is used" if used else "is not used")
raise SystemExit(used == file.endswith(".py"))' || fail "the compiled hash is used"
configure_training
command=$(sed -n 's/^ExecStart=//p' "$work/tree/usr/lib/systemd/system/dmtwisted.service")
start() { # as the unit's user, with that user's groups
  # shellcheck disable=SC2086 # a command with options
  inside setpriv --reuid dmtwisted --regid dmtwisted --init-groups -- $command > "$work/service.log" 2>&1 &
  outside=$!
  ready
}
stop() {
  pkill -TERM -P "$outside"
  wait "$outside" || fail "the service ended with status $?: $(tail -3 "$work/service.log")"
  outside=
}
start
first_sale
inside setpriv --reuid dmtwisted --regid dmtwisted --init-groups dmtwisted doctor --config /etc/dmtwisted/dmtwisted.toml --language en > "$work/doctor.log" || [ $? = 1 ] || fail "$(cat "$work/doctor.log")"
stop
say "a higher version"
inside apt-get install -o Dpkg::Use-Pty=0 -y -qq --no-install-recommends /root/higher.deb > /dev/null 2>&1
inside dpkg-query -W dmtwisted
grep -q '^training = true' "$work/tree/etc/dmtwisted/dmtwisted.toml" || fail "the configuration was not kept"
start
same_sale "$number"
stop
say "twistd as root, that becomes the user"
mkdir "$work/tree/run/dmtwisted" && inside chown dmtwisted /run/dmtwisted
inside /usr/lib/dmtwisted/bin/twistd --pidfile /run/dmtwisted/pid --logfile /var/lib/dmtwisted/twistd.log --uid dmtwisted --gid dmtwisted \
  dmtwisted --config /etc/dmtwisted/dmtwisted.toml
ready
pid=$(cat "$work/tree/run/dmtwisted/pid")
inside sh -c "stat -c %U /proc/$pid /var/lib/dmtwisted/twistd.log" | sort -u | tee "$work/users"
[ "$(cat "$work/users")" = dmtwisted ] || fail "it is not that user's"
grep '^Groups:' "/proc/$pid/status"
same_sale "$number"
kill -TERM "$pid"
for _ in $(seq 100); do [ -e "$work/tree/run/dmtwisted/pid" ] || break; sleep 0.1; done
[ ! -e "$work/tree/run/dmtwisted/pid" ] || fail "its number is left behind"
rm -r "$work/tree/run/dmtwisted"
say "removed, then purged without an answer: data and user stay"
inside apt-get remove -y -qq dmtwisted > /dev/null 2>&1
[ ! -e "$work/tree/usr/lib/dmtwisted" ] || fail "left behind: $(find "$work/tree/usr/lib/dmtwisted" | head)"
[ -s "$work/tree/var/lib/dmtwisted/dmtwisted.db" ] || fail "the receipts went with the package"
inside apt-get purge -y -qq dmtwisted 2>&1 | grep kept
[ -s "$work/tree/var/lib/dmtwisted/dmtwisted.db" ] || fail "the receipts went without anybody's word"
say "installed again: it goes on with the receipts"
inside apt-get install -o Dpkg::Use-Pty=0 -y -qq --no-install-recommends /root/first.deb > /dev/null 2>&1
configure_training
start
same_sale "$number"
stop
say "purged with a yes: nothing is left"
echo 'dmtwisted dmtwisted/purge-data boolean true' | inside debconf-set-selections
inside apt-get purge -y -qq dmtwisted > /dev/null 2>&1
listing > "$work/after"
diff "$work/before" "$work/after" || fail "something is left behind, or gone"
! inside id dmtwisted 2> /dev/null || fail "the user is left behind"
umount "$work/tree/proc"
rm -rf --one-file-system "$work/tree"

[ "${DEB_TRY_SYSTEMD:-}" != no ] || exit 0
. "$here/try-systemd.sh"
