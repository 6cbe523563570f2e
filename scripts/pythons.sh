#!/bin/sh
# Prints the path of one Python of each version kymo is for that is in the path or in ~/.pyenv, with its headers and venv.
set -eu
for version in 3.10 3.11 3.12 3.13; do
  for python in "$(command -v "python$version" || true)" "$HOME/.pyenv/versions/$version".*/bin/python; do
    # pyenv's commands of versions that are not chosen exist, but do not run.
    if [ -x "$python" ] && "$python" -c '
import ensurepip, os, sysconfig, venv
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
raise SystemExit(not os.path.exists(header))' 2>/dev/null; then
      echo "$python"
      break
    fi
  done
done
