#!/bin/sh
# Measures a real multi-threaded program and shows the recording: scripts/demo.sh [JOBS]
#
# The program, examples/tree_walk, reads and compresses every file under a directory (DEMO_TREE, default /usr/include).
set -eu
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
tree=${DEMO_TREE:-/usr/include}
out=build/demo

cmake --preset release >/dev/null
cmake --build --preset release --parallel "$jobs" --target kymo_command tree_walk
kymo=build/release/apps/kymo/kymo
rm -rf "$out"
mkdir -p "$out"

show() {
  printf '\n$ %s\n' "$*"
  "$@"
}
show $kymo record -o $out/tree_walk.kymo -- build/release/examples/tree_walk "$tree"
show $kymo info $out/tree_walk.kymo
show $kymo stats $out/tree_walk.kymo
show $kymo export --to chrome -o $out/tree_walk.json $out/tree_walk.kymo
printf '\nOpen %s/%s/tree_walk.json in https://ui.perfetto.dev or chrome://tracing.\n' "$PWD" "$out"
