#!/bin/sh
# Cross-compiles everything for arm64 Linux and runs the tests under qemu-user: scripts/test-arm64.sh [JOBS]
#
# Tests compare captures of both processors, so the programs involved are also built for this machine, in the folder of
# `make test`; this takes no time if that has run.
set -eu
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}

if [ "$(uname -m)" = aarch64 ]; then
  echo "test-arm64: this is an arm64 machine, where \`make test\` tests that" >&2
  exit 0
fi
[ -e build/dev/CMakeCache.txt ] || cmake --preset dev
cmake --build --preset dev --parallel "$jobs" --target kymo_command export_model recorded_program
scripts/test.sh arm64 "$jobs"
