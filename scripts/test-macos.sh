#!/bin/sh
# Compiles and links the libraries and the command for both of macOS's processors, and checks the resulting files. They
# are not run.
#
#   scripts/test-macos.sh [JOBS]
set -eu
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
scripts/fetch-web-sources.sh
scripts/macos-tools.sh
for preset in macos-arm64 macos-x86_64; do
  # A compile and link check needs no optimisation, and none of this compiler's additions to unoptimised code.
  flags="-O0 -DNDEBUG -fno-sanitize=undefined -g0"
  cmake --preset $preset "-DCMAKE_C_FLAGS_RELEASE=$flags" "-DCMAKE_CXX_FLAGS_RELEASE=$flags" >build/$preset.log || {
    cat build/$preset.log >&2
    exit 1
  }
  cmake --build --preset $preset --parallel "$jobs"
done
python3 scripts/check-macho.py arm64 build/macos-arm64
python3 scripts/check-macho.py x86_64 build/macos-x86_64
