#!/bin/sh
# Fetches the sources of libraries that kymo compiles itself where Debian has none to link with: source packages of the
# distribution's own release.
#
#   scripts/fetch-web-sources.sh [FOLDER [PACKAGE...]]      FOLDER: build/web-sources, PACKAGE: imgui lz4 libzstd, for the browser
#
# Creates FOLDER/PACKAGE of each. apt verifies the downloads with the distribution's signatures. apt's sources and lists are
# separate ones in FOLDER, so the system's do not change and no privileges are needed. Does nothing if everything is present.
set -eu
cd "${0%/*}/.."
place=${1:-build/web-sources}
shift $(($# > 1 ? 1 : $#))
packages=${*:-imgui lz4 libzstd}

[ ! -e "$place/complete" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-source >/dev/null 2>&1; then
  echo "fetch-web-sources: this needs apt-get and dpkg-source (Debian: dpkg-dev). Elsewhere, unpack the sources of each" >&2
  echo "of these into a folder of its name in $place, and create the file $place/complete: $packages" >&2
  exit 1
fi

echo "fetch-web-sources: fetching $packages into $place"
# Assembled in a temporary folder and moved at the end. An interrupted run starts again, and of two concurrent runs one
# wins.
mkdir -p "$(dirname "$place")"
parts=$(mktemp -d "$place.XXXXXX")
trap 'rm -rf "$parts"' EXIT
trap 'exit 1' HUP INT TERM
parts=$(cd "$parts" && pwd)
mkdir -p "$parts/apt/sources" "$parts/apt/lists/partial" "$parts/apt/cache/archives/partial"

# Sources are on the same servers as the system's packages.
etc=${KYMO_APT_FOLDER:-/etc/apt}
for list in "$etc"/sources.list.d/*.sources; do
  [ ! -e "$list" ] || sed 's/^Types:.*/Types: deb-src/' "$list" >"$parts/apt/sources/$(basename "$list")"
done
for list in "$etc"/sources.list "$etc"/sources.list.d/*.list; do
  [ ! -e "$list" ] || sed -n 's/^[[:space:]]*deb[[:space:]]/deb-src /p' "$list" >"$parts/apt/sources/$(basename "$list" .list).list"
done
cat >"$parts/apt/apt.conf" <<END
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$parts/apt/sources";
Dir::State::Lists "$parts/apt/lists";
Dir::Cache "$parts/apt/cache";
APT::Sandbox::User "";
END
export APT_CONFIG="$parts/apt/apt.conf"
cd "$parts"
# Without root, apt cannot write its log and must not prompt.
apt-get update -q=2 </dev/null
for package in $packages; do
  # A mirror may list a version before or after it has its files: then the next older one is as good.
  versions=$(apt-cache showsrc --only-source "$package" | sed -n 's/^Version: //p' | sort -rVu)
  for version in $versions ""; do
    [ -n "$version" ] || { echo "fetch-web-sources: no version of $package can be fetched: $(echo $versions)" >&2; exit 1; }
    ! apt-get source -q=2 --download-only "$package=$version" </dev/null || break
    rm -f "${package}"_*
  done
  # apt has verified the package; the keys of its maintainers need not be installed.
  dpkg-source --no-check -x "${package}"_*.dsc "$package" >unpacking.log 2>&1 || {
    cat unpacking.log >&2
    exit 1
  }
done
rm -rf apt unpacking.log ./*.dsc ./*.tar.* ./*.diff.*
: >complete
cd - >/dev/null
if [ ! -e "$place/complete" ]; then
  rm -rf "$place"
  mv "$parts" "$place"
fi
