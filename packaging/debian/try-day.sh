# A day inside the sandbox, for try-systemd.sh: whatever starts a process, opens a device or asks the kernel for something rare.
# shellcheck shell=bash disable=SC2154,SC2086 # variables and functions of try.sh
api=http://127.0.0.1:$port/dm/api/v3
json='Content-Type: application/json'
good() { # what, answer
  [ "$(member res "$2")" = 0 ] || fail "$1: $2"
  echo "$1"
}
until_answers() {
  for _ in $(seq 200); do
    ! curl -sf "$1" > /dev/null || return 0
    sleep 0.1
  done
  fail "nobody answers: $1"
}

# Processes of their own: a check-up of every device, a backup, a certificate of the service's own authority; letters and pictures.
curl -sSf -X POST "$api/doctor" -d '{}' -H "$json" > /root/doctor.json
answer=$(curl -sS "http://127.0.0.1:$port/dm/execute-prn" -H "$json" \
  -d "{\"ver\": 6, \"device\": \"test\", \"tag\": \"printed\", \"type\": 1, \"need_pf_pdf\": 1, \"need_pf_img\": 1, \"fiscal\": $SALE}")
good "a receipt on paper, as PDF and as picture" "$answer"
grep -q '"isprint": *1' <<< "$answer" || fail "not printed: ${answer:0:300}"
curl -sSf -X POST "$api/backups" -H "$json" -d '{}' > /dev/null
for _ in $(seq 100); do
  ! curl -sS "$api/backups" | grep -q '"name"' || break
  sleep 0.1
done
ls /var/lib/dmtwisted/backups | grep -q . || fail "no backup was made"
echo "a backup"
curl -sSf -X POST "$api/tls/authority" -H "$json" -d '{"names": ["till.shop.local"]}' > /dev/null
[ -s /var/lib/dmtwisted/tls/desk.pem ] || fail "no certificate was made"
# The next start shall speak HTTP still.
curl -sSf -X DELETE "$api/tls" > /dev/null
echo "a certificate by the service's own authority"

# A register of the tax service: its key opened in a process of its own, signatures by the machine's OpenSSL.
mkdir -p /srv/tax
systemd-run --quiet --unit try-tax --working-directory=/srv/tax dmtwisted simulate tax-service --keys keys --listen 8609 --control 8610 --ledger tax.ledger
until_answers http://127.0.0.1:8610/ledger
chmod -R a+rX /srv/tax
cp /srv/tax/keys/root.cer /usr/local/share/ca-certificates/tax-test.cer
register() { # name, number, more settings
  curl -sS "$api/devices" -H "$json" -d "{\"device\": \"$1\", \"kind\": \"register\", \"driver\": \"prro\", \"settings\": {
    \"server_url\": \"http://127.0.0.1:8609/fs\", \"trusted_certificates\": \"/usr/local/share/ca-certificates/tax-test.cer\", \"fiscal_number\": \"400000000$2\",
    \"local_number\": $2, \"fis_code\": \"34554363\", \"name\": \"Shop\", \"shopname\": \"Shop\" $3}}" | sed 's/.*"dev_id":"\([^"]*\)".*/\1/'
}
sell() { # name
  for fiscal in "$OPEN" "$SALE" '{"task": 11, "cashier": "Olena"}'; do
    answer=$(curl -sS "http://127.0.0.1:$port/dm/execute" -H "$json" \
      -d "{\"ver\": 6, \"device\": \"$1\", \"tag\": \"$(md5sum <<< "$fiscal" | cut -c1-8)\", \"type\": 1, \"fiscal\": $fiscal}")
    [ "$(member res "$answer")" = 0 ] || fail "$1: $answer"
  done
}
id=$(register till 1 '')
good "a key, opened in a process of its own" "$(curl -sS "http://127.0.0.1:$port/dm/main/api/v1/prro/sign?dev_id=$id" \
  -F file=@/srv/tax/keys/cashier.p12 -F password=tax-test)"
sell till
echo "a shift with a sale and a Z-report at the tax service"

# The signing agent, in the same sandbox.
echo tax-test > /srv/tax/password
sed -e 's|^ExecStart=.*|ExecStart=/usr/bin/dmtwisted signer --key /srv/tax/keys/cashier.p12 --password-file /srv/tax/password --token-file /var/lib/dmtwisted/signer.token|' \
  -e 's/^Type=.*/Type=exec/' -e '/^WatchdogSec=/d' /usr/lib/systemd/system/dmtwisted.service > /run/systemd/system/try-signer.service
systemctl daemon-reload
systemctl start try-signer
for _ in $(seq 200); do
  [ ! -s /var/lib/dmtwisted/signer.token ] || ! curl -s http://127.0.0.1:3950/key > /dev/null || break
  sleep 0.1
done
register second 2 ", \"signer_url\": \"http://127.0.0.1:3950\", \"signer_token\": \"$(cat /var/lib/dmtwisted/signer.token)\"" > /dev/null
sell second
echo "the same with a signing agent"
systemctl stop try-signer try-tax

# Serial adapters and printers: the kernel is asked for the adapter (there is none), other devices may not even be asked for.
mkdir -p /dev/usb
while read -r name major minor group; do
  [ -e "/dev/$name" ] || mknod -m 660 "/dev/$name" c "$major" "$minor"
  chgrp "$group" "/dev/$name"
done << 'END'
ttyUSB0 188 0 dialout
ttyACM0 166 0 dialout
usb/lp0 180 0 lp
tun 10 200 dialout
END
cat > /srv/devices.py << 'END'
import ctypes, errno, os, sys

told = []
for name in ("ttyUSB0", "ttyACM0", "usb/lp0", "tun"):
    try:
        os.close(os.open(f"/dev/{name}", os.O_RDWR | os.O_NONBLOCK))
        told.append("open")
    except OSError as error:
        told.append(errno.errorcode[error.errno])
print("the kernel's words about ttyUSB0, ttyACM0, usb/lp0 and a device of another kind:", *told, flush=True)
forbidden = {"EPERM", "EACCES"}
sys.exit(forbidden.isdisjoint(told[:3]) is False or told[3] not in forbidden)
END
sed -e 's|^ExecStart=.*|ExecStart=/usr/lib/dmtwisted/bin/python /srv/devices.py|' -e 's/^Type=.*/Type=oneshot/' -e 's/^Restart=.*/Restart=no/' \
  -e '/^WatchdogSec=/d' /usr/lib/systemd/system/dmtwisted.service > /run/systemd/system/try-devices.service
systemctl daemon-reload
systemctl start try-devices || fail "devices: $(journalctl -u try-devices -o cat --no-pager | tail -5)"
journalctl -u try-devices -o cat --no-pager | grep 'the kernel'

good "a Z-report" "$(task z-1 '{"task": 11, "cashier": "Olena"}')"
