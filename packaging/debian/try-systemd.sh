# The second half of try.sh: the same with systemd as the first process.
# shellcheck shell=bash disable=SC2154 # variables of try.sh

boot() {
  # A group of its own in the second kind of cgroups, where systemd keeps its books.
  root=$(findmnt -rno TARGET -t cgroup2 | head -1)
  [ -n "$root" ] || fail "there are no cgroups of version 2 here; DEB_TRY_SYSTEMD=no leaves this half out"
  cgroup=$root/dmtwisted-try-$$
  mkdir "$cgroup"
  bash -c 'echo $$ > '"$cgroup"'/cgroup.procs
    exec unshare --mount --pid --uts --ipc --cgroup --net --fork --kill-child --propagation private bash -eu "$@"' \
    boot "$here/boot.sh" "$work/tree" > "$work/boot.log" 2>&1 < /dev/null &
  outside=$!
  for _ in $(seq 300); do
    sleep 0.1
    first=$(pgrep -P "$outside" -x systemd | head -1) || continue
    state=$(within systemctl is-system-running 2> /dev/null) || true
    case "$state" in running | degraded) return 0 ;; esac
  done
  tail -5 "$work/boot.log"
  fail "systemd did not start"
}
within() { nsenter --target "$first" --mount --pid --uts --ipc --cgroup --net --root --wd env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 port="$port" OPEN="$OPEN" SALE="$SALE" "$@"; }
functions() { declare -f fail task member ready first_sale same_sale; }
ours() { within bash -euo pipefail -c "$(functions); $1"; }
# Whatever runs Python is ours: nothing else in the tree does.
processes() { within sh -c 'for one in /proc/[0-9]*; do case "$(readlink "$one/exe")" in */python3*) echo "${one#/proc/}" ;; esac; done'; }
main_pid() { within systemctl show -p MainPID --value dmtwisted; }

say "with systemd: the tree is booted"
fresh_tree
inside apt-get update -qq
inside apt-get install -y -qq --no-install-recommends systemd-sysv dbus curl python3 adduser ca-certificates > /dev/null 2>&1
umount "$work/tree/proc"
boot
within systemctl --version | head -1

say "installed: the service runs, hardened"
within dpkg -i /root/first.deb > "$work/install.log" 2>&1 || { cat "$work/install.log"; fail "not installed"; }
within systemctl is-active dmtwisted
within systemctl is-enabled dmtwisted
within systemctl stop dmtwisted
configure_training
within systemctl start dmtwisted
ours 'curl -sf http://127.0.0.1:$port/health/ready > /dev/null || fail "systemd calls it started, and it is not ready"'
within systemctl show -p StatusText -p NotifyAccess -p WatchdogUSec -p NRestarts dmtwisted
number=$(ours first_sale | tee /dev/stderr | cut -d' ' -f2)
for process in $(processes); do
  within sh -c 'echo "$(stat -c %U /proc/$1): $(grep -E "^(CapEff|NoNewPrivs|Seccomp):" /proc/$1/status | tr -s "\n\t" " ")"' sh "$process"
done
within systemd-analyze security --no-pager dmtwisted | tail -1

say "what it needs works in there"
cp "$here/try-day.sh" "$work/tree/root/day.sh"
ours '. /root/day.sh'
# Whatever the sandbox forbids would be told by somebody.
! within journalctl --no-pager -o cat -u dmtwisted -u try-signer | grep -i -E "operation not permitted|permission denied" ||
  fail "the sandbox is in the way"

say "a reload, a kill"
another_runs() { # before: until another process is ready
  for _ in $(seq 300); do
    sleep 0.1
    [ "$(main_pid)" = 0 ] || [ "$(main_pid)" = "$1" ] || break
  done
  ours ready
  ours "same_sale $number"
  within systemctl show -p NRestarts dmtwisted
}
before=$(main_pid)
within systemctl reload dmtwisted
[ "$(main_pid)" = "$before" ] || fail "a reload is no restart"
within sh -c "kill -KILL $before"
another_runs "$before"

say "a hang: nobody hears of it for three seconds, instead of sixty"
mkdir -p "$work/tree/etc/systemd/system/dmtwisted.service.d"
# Less time to stop than the receipt below takes, too: the service has to ask for more.
printf '[Service]\nWatchdogSec=3\nTimeoutStopSec=1\n' > "$work/tree/etc/systemd/system/dmtwisted.service.d/try.conf"
within systemctl daemon-reload
within systemctl restart dmtwisted
ours ready
before=$(main_pid)
within sh -c "kill -STOP $before"
another_runs "$before"

say "a log as JSON"
sed -i 's/^# format = "json".*/format = "json"/' "$work/tree/etc/dmtwisted/dmtwisted.toml"
within systemctl restart dmtwisted
ours ready
within journalctl -u dmtwisted -o cat --no-pager | grep '^{"time".*serving' | tail -1 | within python3 -c \
  'import json, sys; line = json.loads(sys.stdin.readline()); print(line["level"], line["message"])'

say "a higher version, while a receipt is under way"
ours '
id=$(curl -sS http://127.0.0.1:$port/dm/api/v3/devices | sed "s/.*\"dev_id\":\"\([^\"]*\)\",\"device\":\"test\".*/\1/")
curl -sSf -X PUT http://127.0.0.1:$port/dm/api/v3/devices/$id/scenario -d "{\"rules\": [{\"on\": \"sale\", \"then\": \"accept\", \"delay_ms\": 4000}]}" > /dev/null
task open-2 "$OPEN" > /dev/null
SALE=${SALE/Кава/Чай}
task slow "$SALE" > /root/slow.json & sleep 1
dpkg -i /root/higher.deb > /root/upgrade.log 2>&1
wait
[ "$(member res "$(cat /root/slow.json)")" = 0 ] || fail "the running receipt was not ended: $(cat /root/slow.json)"
ready'
echo "the running receipt was made and answered: $(member doccode "$(cat "$work/tree/root/slow.json")")"
ours "same_sale $number"
within dpkg-query -W dmtwisted

rm -r "$work/tree/etc/systemd/system/dmtwisted.service.d"

say "removed, and purged with a yes"
within apt-get remove -y -qq dmtwisted > /dev/null 2>&1
[ -z "$(processes)" ] || fail "it still runs"
[ -s "$work/tree/var/lib/dmtwisted/dmtwisted.db" ] || fail "the receipts went with the package"
echo 'dmtwisted dmtwisted/purge-data boolean true' | within debconf-set-selections
within apt-get purge -y -qq dmtwisted > /dev/null 2>&1
left=$(find "$work/tree/etc" "$work/tree/usr" "$work/tree/var/lib" "$work/tree/var/log" -name '*dmtwisted*')
[ -z "$left" ] || fail "left behind: $left"
say "all of it as promised"
