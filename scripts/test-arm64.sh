#!/bin/sh
# Cross-compiles everything for arm64 Linux and runs the tests under qemu-user: scripts/test-arm64.sh [JOBS]
#
# Captures of both processors are compared, so the programs that take part are built for this machine as well, in the
# folder of `make test`: nothing to do where that has run.
set -eu
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}

if [ "$(uname -m)" = aarch64 ]; then
  echo "test-arm64: this is an arm64 machine, where \`make test\` tests that" >&2
  exit 0
fi
[ -e build/dev/CMakeCache.txt ] || cmake --preset dev -DKYMO_UNITY_BUILD=ON
cmake --build --preset dev --parallel "$jobs" --target kymo_command export_model recorded_program
scripts/test.sh arm64 "$jobs"
