#!/bin/sh
# Configures and builds a preset and runs its tests: scripts/test.sh PRESET [JOBS]
set -eu
cd "$(dirname "$0")/.."
preset=$1
jobs=${2:-$(nproc)}

cmake --preset "$preset"
cmake --build --preset "$preset" --parallel "$jobs"
ctest --preset "$preset" --parallel "$jobs"
