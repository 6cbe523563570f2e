#!/bin/sh
# Installs the programs that tests compare kymo with in build/peers, separate from the system's: the Python packages of
# tests/peers/requirements.txt, the npm packages of tests/peers/package-lock.json and the files of those of
# tests/peers/headers.txt. Does nothing if they are installed.
set -eu
cd "$(dirname "$0")/.."
lists=tests/peers
place=build/peers

if cmp -s $lists/requirements.txt $place/requirements.txt && cmp -s $lists/package-lock.json $place/package-lock.json &&
  cmp -s $lists/headers.txt $place/headers.txt; then
  exit 0
fi
# The lists are copied last, so that an interrupted installation starts again.
if ! cmp -s $lists/requirements.txt $place/requirements.txt; then
  echo "peers: installing what is in $lists/requirements.txt into $place"
  rm -rf $place
  /usr/bin/python3 -m venv $place
  # Nothing is built: Spark, which is only available as source, consists of Python and code for a Java virtual machine.
  # Python compiles only the modules that it imports, a small part.
  $place/bin/pip install --quiet --disable-pip-version-check --no-compile --only-binary :all: --no-binary pyspark \
    --requirement $lists/requirements.txt
  cp $lists/requirements.txt $place/
fi
if ! cmp -s $lists/headers.txt $place/headers.txt; then
  echo "peers: unpacking what is in $lists/headers.txt into $place/headers"
  rm -rf $place/headers
  mkdir $place/headers
  $place/bin/pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --python-version 3.12 \
    --dest $place/headers --requirement $lists/headers.txt
  for wheel in $place/headers/*.whl; do
    $place/bin/python -m zipfile --extract "$wheel" $place/headers
    rm "$wheel"
  done
  cp $lists/headers.txt $place/
fi
if cmp -s $lists/package-lock.json $place/package-lock.json; then
  exit 0
fi
if ! command -v npm >/dev/null 2>&1; then
  echo "peers: there is no npm; the tests that open exports in a browser are left out" >&2
  exit 0
fi
echo "peers: installing what is in $lists/package-lock.json into $place/npm"
rm -rf $place/npm
mkdir $place/npm
cp $lists/package.json $lists/package-lock.json $place/npm/
npm ci --prefix $place/npm --ignore-scripts --no-audit --no-fund --loglevel=error
cp $lists/package-lock.json $place/
