#!/bin/sh
# Fuzzes every target for some time: scripts/fuzz.sh [SECONDS] [JOBS] [PRESET]
#
# PRESET is fuzz, or asan if that is built anyway. Each target starts from its corpus in fuzz/corpus/<target>. New
# inputs go to build/PRESET/corpus, failing inputs to build/PRESET/artifacts.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
jobs=${2:-$(nproc)}
preset=${3:-fuzz}
build=build/$preset

cmake --preset "$preset"
cmake --build --preset "$preset" --parallel "$jobs" --target fuzzers

targets=$(find "$build/fuzz" -maxdepth 1 -type f -name '*_fuzzer' | sort)
if [ -z "$targets" ]; then
  echo "fuzz: there is no fuzz target in $build/fuzz" >&2
  exit 1
fi
mkdir -p "$build/artifacts"
# One process per target, with JOBS processes at a time.
echo "$targets" | xargs -P "$jobs" -I{} sh -c '
  target=$1; seconds=$2; build=$3; name=$(basename "$target")
  mkdir -p "$build/corpus/$name"
  log=$build/$name.log
  [ -d "fuzz/corpus/$name" ] && seeds="fuzz/corpus/$name" || seeds=""
  if "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=512 -print_final_stats=1 \
      -artifact_prefix="$build/artifacts/$name-" "$build/corpus/$name" $seeds >"$log" 2>&1; then
    echo "$name: $(sed -n "s/^stat::number_of_executed_units: *//p" "$log") inputs in $seconds s, nothing broke it"
  else
    tail -n 60 "$log"
    echo "$name: broken; see $build/artifacts"
    exit 1
  fi' fuzz {} "$seconds" "$build"
