#!/bin/sh
# Builds the benchmarks and prints each figure beside its goal: scripts/bench.sh [JOBS]
set -eu
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}

cmake --preset release -DKYMO_BUILD_BENCHMARKS=ON >/dev/null
cmake --build --preset release --parallel "$jobs" --target benchmarks
exec benchmarks/run.py build/release
