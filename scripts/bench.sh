#!/bin/sh
# Builds the benchmarks and prints each result next to its goal: scripts/bench.sh [JOBS]
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
if command -v emcmake >/dev/null && command -v node >/dev/null && command -v chromium >/dev/null &&
  [ -e build/web-sources/complete ] && [ -d build/peers/npm/node_modules/playwright-core ]; then
  cmake --build --preset release --parallel "$jobs" --target kymo_command kymo_web write_python_load
  captures=$(mktemp -d)
  trap 'rm -rf "$captures"' EXIT
  build/release/benchmarks/write_python_load 100 "$captures/scopes.kymo" "$captures/samples.kymo"
  node benchmarks/page_benchmark.js build/release/apps/kymo/kymo "$(command -v chromium)" build/peers/npm/node_modules \
    build/release/web "$captures/scopes.kymo"
fi
