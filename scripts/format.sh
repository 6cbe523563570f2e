#!/bin/sh
# Puts all sources into the style of .clang-format and, for Python, of pyproject.toml; with --check only says which are not,
# and what else ruff finds in Python, and fails when there is any.
set -eu
cd "$(dirname "$0")/.."
failed=0

# Another version of clang-format would format some lines otherwise, and two people would undo each other's work.
formatter=$(command -v clang-format-14 || command -v clang-format)
[ "${1-}" = "--check" ] && how="--dry-run --Werror" || how="-i"

find include src apps python examples benchmarks fuzz tests -type f \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.c' \) \
  -print0 | sort -z | xargs -0 "$formatter" $how || failed=1

# scripts/peers.sh installs the one version of ruff that is meant.
ruff=build/peers/bin/ruff
python="python tests/python examples"
if [ ! -x $ruff ]; then
  echo "format: Python is left out: scripts/peers.sh installs what looks at it" >&2
elif [ "${1-}" = "--check" ]; then
  $ruff format --check --quiet $python || failed=1
  $ruff check --quiet --no-cache $python || failed=1
else
  $ruff format --quiet $python || failed=1
fi
exit $failed
