#!/bin/sh
# Installs the Python packages that tests compare kymo with (tests/peers/requirements.txt) into build/peers, apart from
# those of the system. Does nothing where they are there.
set -eu
cd "$(dirname "$0")/.."
wanted=tests/peers/requirements.txt
place=build/peers
installed=$place/requirements.txt

if cmp -s "$wanted" "$installed"; then
  exit 0
fi
echo "peers: installing what is in $wanted into $place"
rm -rf "$place"
/usr/bin/python3 -m venv "$place"
"$place/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --requirement "$wanted"
# Last, so that an installation that broke off is begun anew.
cp "$wanted" "$installed"
