#!/bin/sh
# Installs a compiler for macOS and for Linux with an old glibc in build/macos-tools: PyPI's ziglang, and commands with the
# names that CMake looks for.
#
#   scripts/macos-tools.sh
#
# Does nothing if it is installed.
set -eu
cd "$(dirname "$0")/.."
version=0.15.2
place=build/macos-tools

if [ "$(cat $place/complete 2>/dev/null)" != "$version" ]; then
  echo "macos-tools: installing ziglang $version into $place"
  rm -rf $place
  mkdir -p $place
  # A separate pip fetches it; nothing is built.
  /usr/bin/python3 -m venv $place/pip
  $place/pip/bin/pip install --quiet --disable-pip-version-check --no-deps --no-compile --only-binary :all: --target $place \
    "ziglang==$version"
  rm -rf $place/pip $place/ziglang/doc
fi

# command_of FILE ARGUMENTS...: creates a command that calls the compiler with these arguments before its own. One that is there
# stays: compilers' caches go by its age.
command_of() {
  file=$1
  shift
  [ ! -x "$file" ] || return 0
  mkdir -p "$(dirname "$file")"
  cat >"$file" <<END
#!/bin/sh
# Keeps the compiled C++ library in its cache.
tools=\$(cd "\$(dirname "\$0")/.." && pwd)
export ZIG_GLOBAL_CACHE_DIR="\$tools/cache" ZIG_LOCAL_CACHE_DIR="\$tools/cache"
exec "\$tools/ziglang/zig" $* "\$@"
END
  chmod +x "$file"
}
# Without what this compiler adds to unoptimised code.
plain=-fno-sanitize=undefined
for architecture in aarch64 x86_64; do
  command_of $place/$architecture/clang cc -target $architecture-macos $plain
  command_of $place/$architecture/clang++ c++ -target $architecture-macos $plain
  command_of $place/$architecture-linux/clang cc -target $architecture-linux-gnu.2.31 $plain
  command_of $place/$architecture-linux/clang++ c++ -target $architecture-linux-gnu.2.31 $plain
done
command_of $place/bin/ar ar
command_of $place/bin/ranlib ranlib
# Nothing is installed from here, so install names need no change.
printf '#!/bin/sh\nexit 0\n' >$place/bin/install_name_tool
chmod +x $place/bin/install_name_tool
echo "$version" >$place/complete
