#!/bin/sh
# Builds the command for any Linux with glibc 2.31 or later, with everything else that it needs in it, and checks the
# result: what it asks of a system, and that it records and reads here.
#
#   scripts/portable.sh [JOBS [-DOPTION=VALUE...]]
#
# The command is build/portable/apps/kymo/kymo.
set -eu
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
shift $(($# > 1 ? 1 : $#))
newest=2.31
program=build/portable/apps/kymo/kymo
fail() { echo "portable: $*" >&2; exit 1; }

scripts/macos-tools.sh
scripts/fetch-web-sources.sh build/portable-sources lz4 libzstd zlib cpp-httplib
log=$(mktemp)
work=$(mktemp -d)
trap 'rm -rf "$log" "$work"' EXIT
cmake --preset portable "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
cmake --build --preset portable --parallel "$jobs"

others=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
  grep -vE '^(lib(c|m|dl|pthread|rt)|ld-linux.*)\.so\.[0-9]+$' || true)
[ -z "$others" ] || fail "it needs libraries that a system may not have: $others"
needed=$(objdump -T "$program" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1)
[ "$(printf '%s\n' "$newest" "$needed" | sort -V | tail -n 1)" = "$newest" ] || fail "it needs glibc $needed: $(
  objdump -T "$program" | grep "GLIBC_$needed" | sed 's/.* //' | tr '\n' ' ')"

"$program" record -q --stacks -o "$work/run.kymo" -- sh -c 'gzip -9 </bin/bash >/dev/null'
"$program" stats --functions "$work/run.kymo" >"$work/functions"
"$program" export --to perfetto -o "$work/run.pftrace" "$work/run.kymo"
gzip "$work/run.pftrace"
"$program" import -o "$work/again.kymo" "$work/run.pftrace.gz"
"$program" info "$work/again.kymo" >/dev/null
echo "portable: $program needs glibc $needed"
