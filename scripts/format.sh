#!/bin/sh
# Puts all sources into the style of .clang-format; with --check only says which are not, and fails when there are any.
set -eu
cd "$(dirname "$0")/.."

# Another version of clang-format would format some lines otherwise, and two people would undo each other's work.
formatter=$(command -v clang-format-14 || command -v clang-format)
[ "${1-}" = "--check" ] && how="--dry-run --Werror" || how="-i"

find include src apps examples benchmarks fuzz tests -type f \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.c' \) \
  -print0 | sort -z | xargs -0 "$formatter" $how
