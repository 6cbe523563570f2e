#!/bin/sh
# Builds the consumer project one way and runs what it built: check.sh WAY LINKAGE WORK
#
# SOURCE is kymo's tree, BUILT where it was built; DRAWS (ON or OFF) says whether the project has the panel; BUILD_TYPE, C_FLAGS,
# CXX_FLAGS say how to compile; CC, CXX, CMAKE, PKG_CONFIG and LAUNCHER (of compilers:
# ccache, or empty) are programs. WORK is a folder that the ways
# of one linkage share; add_subdirectory, or install, comes first and leaves an installed kymo in it.
set -eu
way=$1
linkage=$2
work=$3
project=$SOURCE/tests/consumer/project
prefix=$work/prefix
build=$work/$way
export CC CXX
# What the tests' own environment asks of a recorder or a package search is not meant for these.
unset KYMO_RECORD KYMO_TRACE KYMO_SAMPLE DESTDIR CMAKE_PREFIX_PATH PKG_CONFIG_PATH || true

# That it works is the question here. With the flags of the build that the tests belong to, the compiler's cache has most
# of it; paths in debug information may then be those of that build.
export CCACHE_NAMESPACE=kymo CCACHE_DEPEND=1 CCACHE_NOHASHDIR=1
build_project() {
  "$CMAKE" -S "$project" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE="$BUILD_TYPE" \
    -DCMAKE_C_FLAGS_"$(echo "$BUILD_TYPE" | tr '[:lower:]' '[:upper:]')"="$C_FLAGS" \
    -DCMAKE_CXX_FLAGS_"$(echo "$BUILD_TYPE" | tr '[:lower:]' '[:upper:]')"="$CXX_FLAGS" \
    -DCMAKE_C_COMPILER_LAUNCHER="$LAUNCHER" -DCMAKE_CXX_COMPILER_LAUNCHER="$LAUNCHER" \
    -DCONSUMER_DRAWS="$DRAWS" --no-warn-unused-cli "$@"
  "$CMAKE" --build "$build"
}

# Runs the programs and looks at what they wrote.
run_programs() {
  rm -f "$build"/*.kymo "$build"/measured.*
  "$build/record_and_read" "$build/cpp.kymo"
  if [ -x "$build/record_hooked" ]; then
    "$build/record_hooked" "$build/hooked.kymo"
  fi
  if [ -x "$build/record_sampled" ]; then
    "$build/record_sampled" "$build/sampled.kymo"
  fi
  if [ "$DRAWS" = ON ]; then
    "$build/draw_panel"
  fi
  "$build/time_gpu" "$build/gpu.kymo"
  test -s "$build/gpu.kymo"
  "$build/measure" "$build/measured"
  "$build/record_from_c" "$build/c.kymo"
  test -s "$build/c.kymo"
}

# A program whose Dear ImGui has another version is told so when it is configured.
refuse_another_imgui() {
  [ -n "$(find "$prefix" -name kymo-panel-targets.cmake)" ] || return 0
  rm -rf "$work/other_imgui"
  mkdir -p "$work/other_imgui"
  echo '#define IMGUI_VERSION "0.1 of another"' >"$work/other_imgui/imgui.h"
  cat >"$work/other_imgui/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(other CXX)
add_library(imgui::imgui INTERFACE IMPORTED)
target_include_directories(imgui::imgui INTERFACE "${CMAKE_CURRENT_SOURCE_DIR}")
find_package(kymo REQUIRED COMPONENTS panel)
END
  if "$CMAKE" -S "$work/other_imgui" -B "$work/other_imgui/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    >"$work/other_imgui/said" 2>&1; then
    echo "another Dear ImGui was taken" >&2
    return 1
  fi
  if ! tr -s ' \n' ' ' <"$work/other_imgui/said" | grep -q "0.1 of another: their types differ"; then
    cat "$work/other_imgui/said" >&2
    return 1
  fi
}

# A component that is not there is told apart from one that never was.
refuse_unknown_components() {
  rm -rf "$work/unknown"
  mkdir -p "$work/unknown"
  cat >"$work/unknown/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(unknown CXX)
find_package(kymo ${VERSION} REQUIRED COMPONENTS ${COMPONENT})
END
  refused sensors 'kymo has no component "sensors". There are: sense, gpu, analysis'
  refused sense 'version: 0.1' 99.0
}

# refused COMPONENT TEXT [VERSION]
refused() {
  rm -rf "$work/unknown/build"
  if "$CMAKE" -S "$work/unknown" -B "$work/unknown/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENT="$1" \
    -DVERSION="${3-}" >"$work/unknown/said" 2>&1; then
    echo "component $1 ${3-} was found" >&2
    return 1
  fi
  if ! tr -s ' \n' ' ' <"$work/unknown/said" | grep -qF "$2"; then
    cat "$work/unknown/said" >&2
    return 1
  fi
}

# Installs a build in one place and moves it to another: nothing in it may remember the first.
install_from() {
  rm -rf "$prefix" "$prefix.first"
  "$CMAKE" --install "$1" --prefix "$prefix.first"
  mv "$prefix.first" "$prefix"
  for entry in "$prefix"/*; do
    case ${entry##*/} in
      bin | include | lib* | share) ;;
      *)
        echo "$entry is installed outside the usual folders" >&2
        return 1
        ;;
    esac
  done
}

case $way in
  install)
    install_from "$BUILT"
    ;;
  add_subdirectory)
    [ "$linkage" = shared ] && shared=ON || shared=OFF
    build_project -DCONSUMER_KYMO_SOURCE="$SOURCE" -DBUILD_SHARED_LIBS="$shared" -DKYMO_INSTALL=ON
    run_programs
    install_from "$build"
    ;;
  find_package)
    build_project -DCMAKE_PREFIX_PATH="$prefix"
    run_programs
    refuse_another_imgui
    refuse_unknown_components
    ;;
  pkg_config)
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name kymo.pc)")
    export PKG_CONFIG_PATH
    mkdir -p "$build"
    # Unquoted: flags are words.
    "$CXX" -std=c++17 $("$PKG_CONFIG" --cflags kymo-analysis) "$project/record_and_read.cpp" -o "$build/record_and_read" \
      $("$PKG_CONFIG" --libs kymo-analysis)
    "$CXX" -std=c++17 $("$PKG_CONFIG" --cflags kymo-gpu) "$project/time_gpu.cpp" -o "$build/time_gpu" \
      $("$PKG_CONFIG" --libs kymo-gpu)
    "$CXX" -std=c++17 $("$PKG_CONFIG" --cflags kymo-bench) "$project/measure.cpp" -o "$build/measure" \
      $("$PKG_CONFIG" --libs kymo-bench)
    "$CC" $("$PKG_CONFIG" --cflags kymo) "$project/record_from_c.c" -o "$build/record_from_c" \
      $("$PKG_CONFIG" --libs kymo)
    if [ "$DRAWS" = ON ]; then
      # The installed panel was built with another project's Dear ImGui: which one it takes is this one's to say.
      "$CXX" -std=c++17 $("$PKG_CONFIG" --cflags kymo-panel imgui) "$project/draw_panel.cpp" -o "$build/draw_panel" \
        $("$PKG_CONFIG" --libs kymo-panel imgui)
    fi
    LD_LIBRARY_PATH=$("$PKG_CONFIG" --variable=libdir kymo)
    export LD_LIBRARY_PATH
    run_programs
    ;;
esac
