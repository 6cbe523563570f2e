#!/bin/sh
# Builds the test program with a compiler of its own against a built libkymo, and runs it: check.sh WORK
#
# SOURCE is kymo's tree, LIBRARY the libkymo to use, KYMO the command or empty; CC, CXX, CMAKE and LAUNCHER (of compilers; may be empty) are programs.
set -eu
work=$1
export CC CXX
"$CMAKE" -S "$SOURCE/tests/hooks/program" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_C_COMPILER_LAUNCHER="$LAUNCHER" -DCMAKE_CXX_COMPILER_LAUNCHER="$LAUNCHER" \
  -DKYMO_SOURCE="$SOURCE" -DKYMO_LIBRARY="$LIBRARY"
"$CMAKE" --build "$work"
"$work/hooks_test" --gtest_brief=1
"$work/patched_test" --gtest_brief=1
"$work/lone_plugin_host" "$work/liblone_plugin.so"
if [ -n "$KYMO" ]; then
  KYMO_SAMPLE=0 KYMO_RECORD="$work/whole.kymo" "$work/whole_programPATCHABLE"
  # main and a hundred calls.
  "$KYMO" stats "$work/whole.kymo" | grep ' 101 scopes '
  rm "$work/whole.kymo"
fi
case $CXX in
  *clang*)
    # It misses what other plugins have, but was loaded.
    KYMO_RECORD="$work/none.kymo" "$work/lone_plugin_host" "$work/libpatchable_in_library.so" 2>"$work/said" || true
    grep -q "PATCHABLE functions are not recorded" "$work/said" || { cat "$work/said" >&2; exit 1; }
    ;;
esac
