#!/bin/sh
# Builds the benchmarks and prints each figure beside its goal: scripts/bench.sh [JOBS]
set -eu
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}

scripts/peers.sh || echo "peers: not installed; the Python package is not compared with them"
cmake --preset release -DKYMO_BUILD_BENCHMARKS=ON -DKYMO_BUILD_PYTHON=ON >/dev/null
cmake --build --preset release --parallel "$jobs" --target benchmarks
benchmarks/run.py build/release
if [ -x build/peers/bin/viztracer ]; then
  cmake --build --preset release --parallel "$jobs" --target kymo_python
  build/peers/bin/python3 benchmarks/python_benchmark.py build/release
  PYTHONPATH=build/release/python build/peers/bin/python3 benchmarks/python_read_benchmark.py build/release
fi
