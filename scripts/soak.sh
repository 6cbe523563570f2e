#!/bin/sh
# Builds the parts of make test that the storm test needs and runs it: scripts/soak.sh SECONDS [JOBS
# [-DOPTION=VALUE...]]
set -eu
cd "$(dirname "$0")/.."
seconds=$1
jobs=${2:-$(nproc)}
shift $(($# > 2 ? 2 : $#))

cmake --preset dev "$@"
cmake --build --preset dev --parallel "$jobs" --target storm_test
KYMO_STORM_SECONDS=$seconds build/dev/tests/control/storm_test
