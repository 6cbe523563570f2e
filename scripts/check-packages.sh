#!/bin/bash
# Makes the packages of a finished build. Has Conan make its package of the sources, and run a program that was built with it.
# Plays the first hour with Debian's packages in a clean root of this release: installs them, records programs in C and C++ that
# were built with them, reads what was recorded, and removes them without a trace. The same in Python, with the wheel that
# the build's tests have made.
#
#   scripts/check-packages.sh [BUILD]      BUILD: build/dev if not given
#
# Needs root, mounts, mmdebstrap and the archive's packages; where one of the first three is missing it says so and does nothing.
set -eu
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build/dev}")
[ "$(id -u)" -eq 0 ] && command -v mmdebstrap >/dev/null && unshare --mount true 2>/dev/null || {
  echo "check-packages: left out: it needs root, mmdebstrap and mounts of its own" >&2
  exit 0
}
say() { printf 'check-packages: %s\n' "$*"; }

work=$(mktemp -d)
# Everything that is mounted goes with this namespace.
if [ "${KYMO_OWN_MOUNTS-}" != yes ]; then
  rmdir "$work"
  KYMO_OWN_MOUNTS=yes exec unshare --mount --propagation private "$0" "$build"
fi
trap 'umount -R "$work/root/proc" "$work/root/dev" 2>/dev/null; rm -rf "$work"' EXIT

say "packages, and all that is given away"
version=$(sed -n 's/^project(kymo VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
# Whether the command works is asked here, not how quickly.
CONFIGURE="-DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DCMAKE_CXX_FLAGS_DEBUG=-O0" \
  scripts/release.sh "$version" "$build" "$work/release"
(cd "$work/release" && sha256sum --quiet -c SHA256SUMS)
# Not a file more or less: each by its package.
names=$(cd "$build/packages" && ls ./*.deb | sed 's,^./,,; s,_.*,,' | sort | tr '\n' ' ')
say "$names"
for package in kymo libkymo-dev; do
  case " $names" in *" $package "*) ;; *) say "$package is missing"; exit 1 ;; esac
done

if [ -x build/peers/bin/conan ]; then
  say "the package of Conan, with the system's lz4"
  export CONAN_HOME=$work/conan
  build/peers/bin/conan profile detect >"$work/conan.log" 2>&1
  printf 'include(default)\n[platform_requires]\nlz4/%s\n' "$(pkg-config --modversion liblz4)" >"$work/profile"
  build/peers/bin/conan create "$work/release/conan" --profile:all "$work/profile" --conf \
    "tools.cmake.cmaketoolchain:extra_variables={'CMAKE_UNITY_BUILD': 'ON', 'CMAKE_UNITY_BUILD_BATCH_SIZE': '64'}" \
    >>"$work/conan.log" 2>&1 && grep -q "^recorded by kymo $version" "$work/conan.log" || { cat "$work/conan.log"; exit 1; }
else
  say "without Conan: scripts/peers.sh installs it"
fi

say "a clean root"
. /etc/os-release
mmdebstrap --quiet --variant=essential --include=apt "$VERSION_CODENAME" "$work/root"
root=$work/root
mount -t proc proc "$root/proc"
mkdir -p "$root/dev/shm"
mount -t tmpfs tmpfs "$root/dev"
mkdir "$root/dev/shm" "$root/packages"
mount -t tmpfs tmpfs "$root/dev/shm"
mknod -m 666 "$root/dev/null" c 1 3
mknod -m 666 "$root/dev/urandom" c 1 9
within() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }
files() { (cd "$root" && find usr etc opt srv lib -xdev ! -name '*.pyc' | grep -v '^etc/ld.so.cache$' | sort); }

say "the command alone, where nothing is installed"
tar -C "$root/packages" --strip-components 1 -xf "$work/release/kymo-$version-linux-$(uname -m).tar.gz"
within /packages/bin/kymo record -q -o /packages/alone.kymo -- /bin/true
within /packages/bin/kymo info /packages/alone.kymo | grep -q 'record.exit_status *0'
rm -r "${root:?}"/packages/*

cp "$build"/packages/*.deb "$root/packages/"
cp /etc/resolv.conf "$root/etc/resolv.conf"
# What they depend on comes first, so that it is not in the way when traces are looked for.
within apt-get update -q >/dev/null
simulated=$(within sh -c 'apt-get install --simulate --no-install-recommends -q /packages/kymo_*.deb /packages/libkymo*.deb' |
  sed -n 's/^Inst \([^ ]*\) .*/\1/p' | grep -v '^\(lib\)\?kymo')
within apt-get install -y -q --no-install-recommends $simulated >/dev/null 2>&1
files >"$work/before"
say "install"
within sh -c 'apt-get install -y -q --no-install-recommends /packages/kymo_*.deb /packages/libkymo*.deb' >"$work/apt.log" 2>&1 ||
  { cat "$work/apt.log"; exit 1; }

say "build programs with what is installed"
libraries=$root/usr/$(sed -n 's/^libdir=.*prefix}\/\(.*\)/\1/p' "$(find "$root/usr" -name kymo.pc)")
cat >"$work/program.cpp" <<'END'
#include <kymo/kymo.hpp>
int main() {
  kymo::enable();
  for (int i = 0; i < 10; ++i) {
    KYMO_SCOPE("round", {"number", i});
    kymo::frame_mark();
  }
}
END
cat >"$work/program.c" <<'END'
#include <kymo/scope.h>
int main(void) {
  kymo_enable();
  for (int i = 0; i < 10; ++i) {
    KYMO_C_SCOPE("round in C");
  }
  return 0;
}
END
# A pkg-config file is relative to itself, so it gives the paths in the root.
flags=$(PKG_CONFIG_LIBDIR=$libraries/pkgconfig PKG_CONFIG_SYSROOT_DIR='' pkg-config --cflags --libs kymo)
c++ -std=c++17 "$work/program.cpp" -o "$root/packages/program" $flags
cc "$work/program.c" -o "$root/packages/program_in_c" $flags
mkdir "$work/consumer"
cat >"$work/consumer/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.22)
project(consumer CXX)
find_package(kymo 0.1 REQUIRED COMPONENTS analysis)
END
cmake -S "$work/consumer" -B "$work/consumer/build" -G Ninja -DCMAKE_PREFIX_PATH="$root/usr" >"$work/cmake.log" 2>&1 ||
  { cat "$work/cmake.log"; exit 1; }

say "the first hour"
expect() { # expect TEXT COMMAND...
  local text=$1 said
  shift
  said=$(within "$@" 2>&1) || { printf '%s\n' "$said"; say "failed: $*"; exit 1; }
  case $said in *"$text"*) ;; *) printf '%s\n' "$said"; say "no '$text' from: $*"; exit 1 ;; esac
}
expect "Examples:" kymo
expect "kymo $version" kymo --version
expect "10 scopes" kymo record -o /packages/run.kymo -- /packages/program
expect "round" kymo stats /packages/run.kymo
expect "10 scopes" kymo record -o /packages/c.kymo -- /packages/program_in_c
expect "round in C" kymo stats /packages/c.kymo
expect "traceEvents" kymo export --to chrome -o - /packages/run.kymo
expect "stats" bash -c '. /usr/share/bash-completion/completions/kymo; COMP_WORDS=(kymo sta); COMP_CWORD=1; _kymo; echo "$COMPREPLY"'
expect "kymo\\-stats" cat /usr/share/man/man1/kymo.1

say "remove"
within dpkg --purge kymo libkymo-dev $(cd "$root/packages" && ls | sed -n 's/^\(libkymo[0-9.]*\)_.*/\1/p') >/dev/null
files >"$work/after"
diff "$work/before" "$work/after" || { say "that is what is left"; exit 1; }
[ -z "$(ls -A "$root/dev/shm")" ] || { ls "$root/dev/shm"; say "left in shared memory"; exit 1; }
say "nothing is left"

wheel=$(find "$build-wheel/wheel" -name '*.whl' 2>/dev/null || true)
if [ -n "$wheel" ]; then
  say "the first hour in Python"
  within apt-get install -y -q --no-install-recommends python3-numpy python3-pip >/dev/null 2>&1
  rm -rf "${root:?}"/packages/*
  cp "$wheel" tests/python/wheel_smoke.py "$root/packages/"
  expect "" pip install --quiet --no-index --no-deps --target /packages/site "/packages/${wheel##*/}"
  expect "kymograph $version" env PYTHONPATH=/packages/site python3 /packages/wheel_smoke.py
else
  say "without Python: no test has made $build-wheel/wheel"
fi
