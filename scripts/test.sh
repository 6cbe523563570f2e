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
status=0
ctest --preset "$preset" --parallel $((jobs + 1)) --output-junit "$PWD/build/$preset/tests.xml" || status=$?
python3 scripts/left_out.py "build/$preset"
exit $status
