#!/bin/sh
# Configures and builds a preset and runs its tests: scripts/test.sh PRESET [JOBS [-DOPTION=VALUE...]]
set -eu
cd "$(dirname "$0")/.."
preset=$1
jobs=${2:-$(nproc)}
shift $(($# > 2 ? 2 : $#))

cmake --preset "$preset" "$@"
cmake --build --preset "$preset" --parallel "$jobs"
failed="build/$preset/Testing/Temporary/LastTestsFailed.log"
rm -f "$failed"
# Twice as many as can compute at once: tests wait half of their time.
status=0
ctest --preset "$preset" --parallel $((jobs * 2)) --output-junit "$PWD/build/$preset/tests.xml" || status=$?
# Where few fail, no more than ran at once, they run again without others beside them: a loaded machine may keep a test
# from its deadline. Both tries stand in the output, and which tests needed the second one.
if [ "$status" -ne 0 ] && [ -s "$failed" ] && [ "$(wc -l <"$failed")" -le $((jobs * 2)) ]; then
  names=$(sed 's/^[0-9]*://' "$failed")
  status=0
  ctest --preset "$preset" --rerun-failed || status=$?
  [ "$status" -ne 0 ] || printf '\nFailed beside others, passed alone:\n%s\n' "$names"
fi
python3 scripts/left_out.py "build/$preset"
exit "$status"
