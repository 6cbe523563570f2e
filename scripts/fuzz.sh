#!/bin/sh
# Fuzzes every target for a while: scripts/fuzz.sh [SECONDS] [JOBS]
#
# Each target starts from its corpus in fuzz/corpus/<target>. What it finds on the way goes to build/fuzz/corpus, and an
# input that breaks it to build/fuzz/artifacts.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
jobs=${2:-$(nproc)}

cmake --preset fuzz
cmake --build --preset fuzz --parallel "$jobs" --target fuzzers

targets=$(find build/fuzz/fuzz -maxdepth 1 -type f -name '*_fuzzer' | sort)
if [ -z "$targets" ]; then
  echo "fuzz: there is no fuzz target in build/fuzz/fuzz" >&2
  exit 1
fi
mkdir -p build/fuzz/artifacts
# One process a target, as many at once as there are jobs.
echo "$targets" | xargs -P "$jobs" -I{} sh -c '
  target=$1; seconds=$2; name=$(basename "$target")
  mkdir -p "build/fuzz/corpus/$name"
  log=build/fuzz/$name.log
  [ -d "fuzz/corpus/$name" ] && seeds="fuzz/corpus/$name" || seeds=""
  if "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=512 -print_final_stats=1 \
      -artifact_prefix="build/fuzz/artifacts/$name-" "build/fuzz/corpus/$name" $seeds >"$log" 2>&1; then
    echo "$name: $(sed -n "s/^stat::number_of_executed_units: *//p" "$log") inputs in $seconds s, nothing broke it"
  else
    tail -n 60 "$log"
    echo "$name: broken; see build/fuzz/artifacts"
    exit 1
  fi' fuzz {} "$seconds"
