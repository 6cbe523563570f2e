#!/bin/sh
# Formats all sources according to .clang-format and, for Python, pyproject.toml. With --check it only reports files
# that differ, what no formatter mends, and ruff's other findings in Python, and fails if there are any.
set -eu
cd "$(dirname "$0")/.."
failed=0

# Another version of clang-format would format some lines differently, and users would undo each other's changes.
formatter=$(command -v clang-format-14 || command -v clang-format)
[ "${1-}" = "--check" ] && how="--dry-run --Werror" || how="-i"

sources() {
  find include src apps python examples benchmarks fuzz tests -type f \
    \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.c' \) -print0 | sort -z
}
sources | xargs -0 "$formatter" $how || failed=1
# clang-format leaves comments alone, since some are tables: those have wider gaps.
sources | xargs -0 awk 'length > 120 && /^ *\/\/+ [^ ]/ && !/[^ ]  +[^ ]/ {
  print FILENAME ":" FNR ": a comment of more than 120 columns"; is_long = 1 } END { exit is_long }' >&2 || failed=1
# From release 11 of fmt on, join() is in a header of its own, which older releases have too.
sources | xargs -0 awk 'FNR == 1 { has = 0 } /<fmt\/ranges.h>/ { has = 1 } /fmt::join\(/ && !has {
  print FILENAME ":" FNR ": fmt::join() needs <fmt/ranges.h>"; lacks = 1 } END { exit lacks }' >&2 || failed=1

# scripts/peers.sh installs the required version of ruff.
ruff=build/peers/bin/ruff
python="benchmarks examples packaging python scripts tests"
if [ ! -x $ruff ]; then
  echo "format: Python is left out: scripts/peers.sh installs what looks at it" >&2
elif [ "${1-}" = "--check" ]; then
  $ruff format --check --quiet $python || failed=1
  $ruff check --quiet --no-cache $python || failed=1
else
  $ruff format --quiet $python || failed=1
fi
exit $failed
