#!/bin/sh
# Automatic checks: style, clang-tidy's findings, and C++ that the browser's library or a current Dear ImGui lacks.
# Changes nothing.
#
#   scripts/lint.sh [JOBS]
set -eu
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
failed=""

echo "lint: style"
scripts/format.sh --check || failed="$failed style"

# The compile commands say how each file is compiled; nothing is built for them.
cmake --preset dev -B build/lint -DKYMO_BUILD_TESTS=OFF -DKYMO_BUILD_BENCHMARKS=OFF -DKYMO_BUILD_EXAMPLES=OFF \
  -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null

echo "lint: clang-tidy"
scripts/tidy.py "$(command -v clang-tidy-14 || command -v clang-tidy)" build/lint "$jobs" || failed="$failed clang-tidy"

# With Emscripten installed, the page's build checks this with the actual compiler.
if ! command -v emcmake >/dev/null; then
  echo "lint: the browser's C++ subset"
  scripts/check-browser-subset.py "$jobs" || failed="$failed browser-subset"
fi

echo "lint: the panel and Dear ImGui's current release"
scripts/check-imgui-release.py || failed="$failed imgui-release"

if [ -n "$failed" ]; then
  echo "lint: failed:$failed" >&2
  exit 1
fi
echo "lint: nothing to say"
