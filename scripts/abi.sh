#!/bin/sh
# Compares what a built libkymo offers to programs with the dump kept of its SONAME, and says what broke.
#
#   scripts/abi.sh LIBRARY [FOLDER]       compares; FOLDER has the dumps, tests/abi if not given
#   scripts/abi.sh --write LIBRARY        writes the dump: for a new SONAME, or one that is not released yet
#
# Additions are fine. Exit status: 0 nothing broke, 1 something did, 2 it could not be compared.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
write=no
if [ "${1-}" = --write ]; then
  write=yes
  shift
fi
library=$1
dumps=${2:-$here/tests/abi}
soname=$(objdump -p "$library" | sed -n 's/^ *SONAME *//p')
dump=$dumps/$soname.abi

if [ $write = yes ]; then
  # Paths, lines and private types differ from build to build and are no promise.
  abidw --no-corpus-path --no-comp-dir-path --no-show-locs --drop-private-types --exported-interfaces-only \
    --headers-dir "$here/include/kymo" --headers-dir "$here/include/kymo/detail" --type-id-style hash \
    --suppressions "$here/tests/abi/internal.abignore" --out-file "$dump" "$library"
  exit
fi
if [ ! -f "$dump" ]; then
  echo "abi: there is no dump of $soname: if the version is new, write it with scripts/abi.sh --write $library" >&2
  exit 2
fi
status=0
said=$(abidiff --no-added-syms --suppressions "$here/tests/abi/internal.abignore" "$dump" "$library" 2>&1) || status=$?
# abidiff's status is a set of bits: 4 something changed, 1 and 2 it failed.
[ $status -ne 0 ] || exit 0
printf '%s\n' "$said" >&2
[ $((status & 3)) -eq 0 ] || exit 2
cat >&2 <<END
abi: programs built with $soname would break with this library. Undo what is listed above, or give kymo a new minor version
(CMakeLists.txt) and write its dump with scripts/abi.sh --write $library
END
exit 1
