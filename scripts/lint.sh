#!/bin/sh
# What a reviewer need not look for: style, clang-tidy's findings, and C++ that the browser's library or a current Dear
# ImGui lacks. Changes nothing.
#
#   scripts/lint.sh [JOBS]
set -eu
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
failed=""

echo "lint: style"
scripts/format.sh --check || failed="$failed style"

# The compile commands say how each file is compiled; nothing is built for them. Files that are compiled together are
# looked at together, which takes a fifth of the time: most of it goes to what they all include.
cmake --preset dev -B build/lint -DKYMO_UNITY_BUILD=ON -DKYMO_BUILD_TESTS=OFF -DKYMO_BUILD_BENCHMARKS=OFF \
  -DKYMO_BUILD_EXAMPLES=OFF >/dev/null

echo "lint: clang-tidy"
tidy=$(command -v run-clang-tidy-14 || command -v run-clang-tidy)
findings=build/lint/clang-tidy.txt
# Some files are compiled for several targets; looking at each once is enough. What other people wrote is theirs.
mkdir -p build/lint/once
python3 -c 'import json, sys
commands = json.load(open("build/lint/compile_commands.json"))
once = {command["file"]: command for command in reversed(commands) if "/build/peers/" not in command["file"]}
json.dump(list(once.values()), sys.stdout)
' >build/lint/once/compile_commands.json
# The commands are the compiler's own, which may have warnings to switch off that Clang never heard of.
if ! "$tidy" -quiet -extra-arg=-Wno-unknown-warning-option -p build/lint/once -j "$jobs" >"$findings" 2>&1; then
  grep -E -A4 'error:|warning:' "$findings" || cat "$findings"
  failed="$failed clang-tidy"
fi

# Where Emscripten is there, the page's build has its compiler's word for it.
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
