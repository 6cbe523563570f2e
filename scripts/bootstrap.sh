#!/bin/sh
# Installs the missing Debian packages that kymo needs.
#
#   scripts/bootstrap.sh [GROUP...]      GROUP: build, web, test, bench, lint, all (these, the default), or arm64
#
# `build` is for the library, the command and the examples. `web` adds packages for the web page, and fetches sources
# with scripts/fetch-web-sources.sh. The others add packages for the tests (of the page as well), the benchmarks and the
# style checks. `arm64` adds packages that compile for arm64 Linux and run the result; it registers the architecture
# with dpkg --add-architecture. Does nothing if everything is installed. On systems without apt it lists the packages
# and exits with 1.
set -eu

# One package per word. "a|b" is satisfied by either; the first one that the system offers is installed.
build="g++ cmake ninja-build make pkg-config liblz4-dev libzstd-dev zlib1g-dev libimgui-dev libstb-dev libglfw3-dev libegl-dev libgl-dev libcli11-dev libfmt-dev libprotozero-dev nlohmann-json3-dev libcpp-httplib-dev libdw-dev libiberty-dev"
web="emscripten dpkg-dev"
bench="libbenchmark-dev python3 binutils"
test="$bench $web libgtest-dev libegl1 libgl1-mesa-dri libvulkan-dev mesa-vulkan-drivers xvfb xauth libcairo2 fonts-dejavu-core python3-dev python3-lz4 python3-venv python3-zstandard ruby ccache clang lld nodejs npm systemtap-sdt-dev abigail-tools doxygen elfutils makepkg mmdebstrap libclang-rt-14-dev|libclang-rt-dev openjdk-17-jre-headless|default-jre-headless"
# Ubuntu has Chromium only as a snap, which containers and services cannot run, so tests that need a browser are skipped
# there.
browser="chromium"
lint="clang-format-14|clang-format clang-tidy-14|clang-tidy libc++-13-dev|libc++-dev libc++abi-13-dev|libc++abi-dev"

# A compiler for arm64, an emulator for its programs, and the arm64 libraries that kymo and its tests link.
arm64="g++-aarch64-linux-gnu qemu-user liblz4-dev:arm64 libzstd-dev:arm64 zlib1g-dev:arm64 libdw1:arm64 libimgui-dev:arm64 libstb-dev:arm64 libglfw3-dev:arm64 libegl-dev:arm64 libgl-dev:arm64 libfmt-dev:arm64 libcpp-httplib-dev:arm64 libgtest-dev:arm64 systemtap-sdt-dev:arm64"

native=$(dpkg --print-architecture 2>/dev/null || echo unknown)
[ "$native" != arm64 ] || arm64=""  # `make test` covers it there

wanted=""
[ $# -gt 0 ] || set -- all
groups=$*
for group in "$@"; do
  case $group in
    build) wanted="$wanted $build" ;;
    web) wanted="$wanted $build $web" ;;
    test) wanted="$wanted $build $test" ;;
    bench) wanted="$wanted $build $bench" ;;
    lint) wanted="$wanted $build $lint" ;;
    arm64) wanted="$wanted $build $arm64" ;;
    all) wanted="$wanted $build $test $lint" ;;
    *)
      echo "bootstrap: there is no group '$group'; the groups are build, web, test, bench, lint, arm64 and all" >&2
      exit 2
      ;;
  esac
done

os_release=${KYMO_OS_RELEASE:-/etc/os-release}
# Whether the system is this one or declares itself similar to it.
system_is_like() {
  [ -r "$os_release" ] || return 1
  # In a subshell, because the file sets variables.
  (
    ID="" ID_LIKE=""
    . "$os_release"
    case " $ID $ID_LIKE " in *" $1 "*) exit 0 ;; esac
    exit 1
  )
}

case " $* " in
  *" test "* | *" all "*) system_is_like ubuntu || wanted="$wanted $browser" ;;
esac

knows_arm64() {
  case " $(dpkg --print-foreign-architectures 2>/dev/null | tr '\n' ' ') " in *" arm64 "*) return 0 ;; esac
  return 1
}

if ! system_is_like debian || ! command -v dpkg-query >/dev/null 2>&1; then
  {
    echo "bootstrap: this system is not Debian or one that is like it, so nothing was installed."
    echo "kymo needs these, by their Debian names (a|b: either one):"
    printf '%s\n' $wanted | sort -u | sed 's/^/  /'
    echo "GCC 11 or Clang 14, CMake 3.22, lz4 1.9 and zstd 1.4 or later are enough."
  } >&2
  exit 1
fi

# One query for all names: dpkg-query prints the known ones and fails for the others, which is not an error here. Reads
# Provides as well, because one package may provide another ("pkg-config" is provided by pkgconf on newer systems).
# Names of packages for another architecture include it.
foreign=arm64
[ "$native" != arm64 ] || foreign=none
installed=" $(dpkg-query -W -f '${db:Status-Status} ${Architecture} ${Package} ${Provides}\n' \
  $(printf '%s' "$wanted" | tr '|' ' ') pkgconf 2>/dev/null |
  sed -n "s/^installed $foreign \([^ ]*\).*/\1:$foreign/p; s/^installed [^ ]* //p" | tr -d ',' | tr '\n' ' ') "

missing=""
for entry in $wanted; do
  found=no
  for name in $(echo "$entry" | tr '|' ' '); do
    case $installed in *" $name "*) found=yes ;; esac
  done
  [ $found = yes ] || case " $missing " in *" $entry "*) ;; *) missing="$missing $entry" ;; esac
done

# The page is skipped if its sources are not available.
fetch_sources() {
  case " $groups " in
    *" web "* | *" test "* | *" all "*)
      "${0%/*}/fetch-web-sources.sh" || echo "bootstrap: the page for browsers is left out: its sources are not there" >&2
      ;;
  esac
}

if [ -z "$missing" ]; then
  fetch_sources
  exit 0
fi

as_root=""
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null 2>&1; then
    echo "bootstrap: these packages are missing and there is no sudo; install them as root:$missing" >&2
    exit 1
  fi
  as_root="sudo"
fi

echo "bootstrap: installing$missing${as_root:+ (with sudo)}"
case $missing in
  *:arm64*)
    if ! knows_arm64; then
      if system_is_like ubuntu; then
        echo "bootstrap: add the archive of arm64's packages (ports.ubuntu.com) and 'dpkg --add-architecture arm64' first" >&2
        exit 1
      fi
      $as_root dpkg --add-architecture arm64
    fi
    ;;
esac
$as_root apt-get update -q </dev/null

chosen=""
for entry in $missing; do
  name=""
  for candidate in $(echo "$entry" | tr '|' ' '); do
    if apt-cache show "$candidate" >/dev/null 2>&1; then
      name=$candidate
      break
    fi
  done
  if [ -z "$name" ]; then
    echo "bootstrap: this system offers no package named ${entry}; enable the repository that has it" >&2
    exit 1
  fi
  chosen="$chosen $name"
done
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $chosen </dev/null
fetch_sources
