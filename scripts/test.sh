#!/bin/sh
# Configures and builds a preset and runs its tests: scripts/test.sh PRESET [JOBS [-DOPTION=VALUE...]]
set -eu
cd "$(dirname "$0")/.."
preset=$1
jobs=${2:-$(nproc)}
shift $(($# > 2 ? 2 : $#))

cmake --preset "$preset" "$@"
cmake --build --preset "$preset" --parallel "$jobs"
# One more than can compute at once: tests often wait for a moment.
ctest --preset "$preset" --parallel $((jobs + 1))
