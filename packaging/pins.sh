#!/bin/sh
# The exact versions that packages and containers are made of, written to packaging/pins.txt: the newest that setup.cfg
# allows. Run it, look at the difference, run the suite with them, and commit both.
set -eu
cd "$(dirname "$0")/.."
report=$(mktemp)
trap 'rm -f "$report"' EXIT
${PYTHON:-python3} -m pip install --quiet --dry-run --ignore-installed --report "$report" '.[mssql]'
${PYTHON:-python3} - "$report" > packaging/pins.txt <<'END'
import json, re, sys

found = json.load(open(sys.argv[1]))["install"]
names = {re.sub(r"[-_.]+", "-", one["metadata"]["name"]).lower(): one["metadata"]["version"] for one in found}
print("# Made by packaging/pins.sh; what the packages and the container are made of.")
for name in sorted(names.keys() - {"dmtwisted"}):
    print(f"{name}=={names[name]}")
END
