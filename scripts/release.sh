#!/bin/bash
# Puts together everything that is given away of one version, from a finished build:
#
#   scripts/release.sh VERSION [BUILD [FOLDER]]      BUILD: build/release, FOLDER: build/kymo-VERSION if not given
#
#   kymo-VERSION.tar.gz             the sources, of the commit that is checked out
#   kymo-VERSION-SYSTEM.tar.gz      the command for any Linux with glibc 2.31 or later, by scripts/portable.sh
#   *.deb                           Debian packages
#   PKGBUILD, kymo.rb, ...          packaging/ with this version and the sources' checksum
#   *.whl                           what check-wheels.sh or cibuildwheel left in build/wheels
#   notes.md, SHA256SUMS            what changed, by CHANGELOG.md; the checksums of all
#
# JOBS=n sets how many jobs run at once; CONFIGURE=-DOPTION=VALUE configures the build of the command.
set -eu
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | head -n -1 >&2; exit 2; }
version=$1
build=$(realpath "${2:-build/release}")
folder=$(realpath -m "${3:-build/kymo-$version}")
fail() { echo "release: $*" >&2; exit 1; }

own=$(sed -n 's/^project(kymo VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ "$version" = "$own" ] || fail "CMakeLists.txt has version $own; set $version there first"
[ -x "$build/apps/kymo/kymo" ] || fail "$build has no command; build it first: cmake --preset release && cmake --build --preset release"
rm -rf "$folder"
mkdir -p "$folder"
awk -v version="$version" '/^## / { on = $2 == version; next } on' CHANGELOG.md >"$folder/notes.md"
grep -q . "$folder/notes.md" || fail "CHANGELOG.md has no entry for $version"

# sources: the commit's files; where no commit is at hand, such as in an unpacked archive, all but what was built.
sources() {
  if git -c safe.directory="$PWD" rev-parse --quiet --verify HEAD >/dev/null 2>&1; then
    git -c safe.directory="$PWD" archive --format=tar --prefix="kymo-$version/" HEAD
  else
    tar --exclude=./build --exclude=./.git --transform "s,^\.,kymo-$version," --sort=name --owner=0 --group=0 \
      --numeric-owner -cf - .
  fi
}
sources | gzip -n >"$folder/kymo-$version.tar.gz"
checksum=$(sha256sum "$folder/kymo-$version.tar.gz" | cut -d ' ' -f 1)
for file in $(cd packaging && find . -type f); do
  mkdir -p "$folder/$(dirname "$file")"
  sed "s/@VERSION@/$version/g; s/@SHA256@/$checksum/g" "packaging/$file" >"$folder/$file"
done

# The command, from a build of its own. Unquoted: options are words.
scripts/portable.sh "${JOBS:-$(nproc)}" ${CONFIGURE-}
portable=build/portable/apps/kymo/kymo
name=kymo-$version-$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
documents=$tree/$name/share/doc/kymo
mkdir -p "$tree/$name/bin" "$documents"
strip -o "$tree/$name/bin/kymo" "$portable"
# What is linked in may only be given away with its licence.
for library in lz4 libzstd zlib cpp-httplib; do
  cp "build/portable-sources/$library/debian/copyright" "$documents/$library.copyright"
done
for package in libfmt-dev libcli11-dev nlohmann-json3-dev libprotozero-dev; do
  cp "/usr/share/doc/$package/copyright" "$documents/${package%-dev}.copyright" ||
    fail "$package: no copyright file is found, without which the command may not be given away"
done
for library in libcxx libcxxabi libunwind; do
  cp "build/macos-tools/ziglang/lib/$library/LICENSE.TXT" "$documents/$library.copyright"
done
[ ! -d "$build/apps/kymo/share" ] || cp -r "$build/apps/kymo/share/." "$tree/$name/share/"
if [ -d "$build/web" ]; then
  mkdir -p "$tree/$name/share/kymo"
  cp -r "$build/web" "$tree/$name/share/kymo/web"
fi
cp LICENSE "$documents/"
echo "kymo $version for $(uname -m). It needs glibc 2.31 or later. Run bin/kymo where it is; see share/man for its pages." \
  >"$tree/$name/README"
tar -C "$tree" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -n >"$folder/$name.tar.gz"

rm -rf "$build/packages"
(cd "$build" && cpack -G DEB >"$tree/cpack.log" 2>&1) || { cat "$tree/cpack.log" >&2; exit 1; }
cp "$build"/packages/*.deb "$folder/"
cp build/wheels/*.whl "$folder/" 2>/dev/null || echo "release: without wheels: build/wheels has none" >&2

(cd "$folder" && find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >SHA256SUMS)
echo "$folder: $(wc -l <"$folder/SHA256SUMS") files"
