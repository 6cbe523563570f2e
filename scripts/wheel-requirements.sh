#!/bin/sh
# Installs kymo's dependencies in a container for building wheels (manylinux: AlmaLinux; musllinux: Alpine). auditwheel
# later adds the libraries that a wheel needs at run time.
set -eu

# One package per word; "a|b" is the first one that the system offers. What begins with ? may be missing: without
# cpp-httplib the wheel has no `kymo serve`, and without elfutils' headers `kymo record --stacks` knows the callers of code
# with frame pointers only. elfutils itself is loaded where the system has it.
if command -v apk >/dev/null 2>&1; then
  wanted="lz4-dev zstd-dev zlib-dev fmt-dev nlohmann-json cli11-dev|cli11 protozero-dev|protozero ?cpp-httplib-dev|cpp-httplib ?elfutils-dev"
  offers() { [ -n "$(apk search --exact --quiet "$1")" ]; }
  install() { apk add --no-cache "$@"; }
  apk update
elif command -v dnf >/dev/null 2>&1; then
  wanted="lz4-devel libzstd-devel zlib-devel fmt-devel json-devel cli11-devel protozero-devel ?cpp-httplib-devel ?elfutils-devel"
  offers() { dnf --quiet repoquery "$1" 2>/dev/null | grep -q .; }
  install() { dnf install -y "$@"; }
  # Header-only libraries are only in the community's repository, which depends on the distribution's (CRB).
  dnf install -y epel-release dnf-plugins-core
  dnf config-manager --set-enabled crb || dnf config-manager --set-enabled powertools
else
  echo "wheel-requirements: neither apk nor dnf is here: run it in a manylinux or musllinux container" >&2
  exit 1
fi

chosen=""
for entry in $wanted; do
  name=""
  for candidate in $(echo "${entry#\?}" | tr '|' ' '); do
    if offers "$candidate"; then
      name=$candidate
      break
    fi
  done
  if [ -z "$name" ]; then
    echo "wheel-requirements: this system offers no package named ${entry#\?}" >&2
    case $entry in \?*) continue ;; esac
    exit 1
  fi
  chosen="$chosen $name"
done
install $chosen
