#!/bin/sh
# Compiles and links the libraries and the command for macOS's processors, and checks the resulting files. They are not
# run.
#
#   scripts/test-macos.sh [JOBS [PROCESSOR...]]      arm64, x86_64; both where none is named
set -eu
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
shift $(($# > 1 ? 1 : $#))
[ $# -gt 0 ] || set -- arm64 x86_64
scripts/fetch-web-sources.sh
scripts/macos-tools.sh
for processor in "$@"; do
  preset=macos-$processor
  # A compile and link check needs no optimisation. Files are joined as in the sanitizers' builds.
  cmake --preset $preset -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=64 -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_C_FLAGS_DEBUG=-O0 -DCMAKE_CXX_FLAGS_DEBUG=-O0 >build/$preset.log || {
    cat build/$preset.log >&2
    exit 1
  }
  cmake --build --preset $preset --parallel "$jobs"
  python3 scripts/check-macho.py "$processor" build/$preset
done
