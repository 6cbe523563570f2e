# The WebAssembly build: kymo::kymo, which records programs compiled with Emscripten (3.1.6 or newer), and kymo::panel,
# which shows their recordings in their own canvas. Static, one thread, and nothing that reads machines.
#
#   scripts/fetch-web-sources.sh
#   emcmake cmake -S . -B build/wasm && cmake --build build/wasm
#
# lz4 (and for the panel zstd and Dear ImGui) are compiled here because systems do not have them for WebAssembly.

set(BUILD_SHARED_LIBS OFF)
set(KYMO_BUILD_WASM_PAGE ${KYMO_BUILD_WEB})
set(KYMO_BUILD_WASM_EXAMPLES ${KYMO_BUILD_EXAMPLES})
set(KYMO_BUILD_WASM_TESTS ${KYMO_BUILD_TESTS})
foreach(part IN ITEMS BENCH COMMAND VIEWER WEB EXAMPLES TESTS BENCHMARKS FUZZERS PYTHON)
  set(KYMO_BUILD_${part} OFF)
endforeach()
set(KYMO_INSTALL OFF)
set(KYMO_WEB_SOURCES "${PROJECT_SOURCE_DIR}/build/web-sources" CACHE PATH
  "Sources of lz4, zstd and Dear ImGui in folders lz4, libzstd and imgui: what scripts/fetch-web-sources.sh fetched")
if(NOT EXISTS "${KYMO_WEB_SOURCES}/lz4/lib/lz4.c")
  message(FATAL_ERROR "${KYMO_WEB_SOURCES} is not there: run scripts/fetch-web-sources.sh, or set KYMO_WEB_SOURCES to a folder "
    "with the sources of lz4, zstd (as libzstd) and Dear ImGui (as imgui)")
endif()

# A program has one kind of exceptions: WebAssembly's own, unless its flags selected the JavaScript-based ones.
set(KYMO_WASM_OPTIONS -fwasm-exceptions)
if(CMAKE_CXX_FLAGS MATCHES "(^| )-fexceptions")
  set(KYMO_WASM_OPTIONS -fexceptions)
endif()

add_library(kymo_lz4 STATIC "${KYMO_WEB_SOURCES}/lz4/lib/lz4.c")
target_include_directories(kymo_lz4 SYSTEM PUBLIC "${KYMO_WEB_SOURCES}/lz4/lib")
add_library(PkgConfig::LZ4 ALIAS kymo_lz4)

# Only zstd's decompression: programs in a browser write captures with lz4.
set(zstd "${KYMO_WEB_SOURCES}/libzstd/lib")
add_library(kymo_zstd STATIC EXCLUDE_FROM_ALL
  "${zstd}/common/debug.c"
  "${zstd}/common/entropy_common.c"
  "${zstd}/common/error_private.c"
  "${zstd}/common/fse_decompress.c"
  "${zstd}/common/xxhash.c"
  "${zstd}/common/zstd_common.c"
  "${zstd}/decompress/huf_decompress.c"
  "${zstd}/decompress/zstd_ddict.c"
  "${zstd}/decompress/zstd_decompress.c"
  "${zstd}/decompress/zstd_decompress_block.c")
target_include_directories(kymo_zstd SYSTEM PUBLIC "${zstd}")
target_compile_definitions(kymo_zstd PRIVATE ZSTD_DISABLE_ASM)
add_library(PkgConfig::ZSTD ALIAS kymo_zstd)

# A program's own Dear ImGui is used if a target imgui::imgui exists before kymo is added.
set(imgui "${KYMO_WEB_SOURCES}/imgui")
if(KYMO_BUILD_PANEL AND NOT TARGET imgui::imgui AND EXISTS "${imgui}/imgui.cpp")
  add_library(kymo_wasm_imgui STATIC EXCLUDE_FROM_ALL
    "${imgui}/imgui.cpp"
    "${imgui}/imgui_draw.cpp"
    "${imgui}/imgui_tables.cpp"
    "${imgui}/imgui_widgets.cpp")
  target_include_directories(kymo_wasm_imgui SYSTEM PUBLIC "${imgui}" "${imgui}/backends")
  # 32-bit indices, because its backend does not split lists with more than 65536 vertices.
  target_compile_definitions(kymo_wasm_imgui PUBLIC "ImDrawIdx=unsigned int" IMGUI_DISABLE_DEMO_WINDOWS
    IMGUI_DISABLE_METRICS_WINDOW)
  target_compile_features(kymo_wasm_imgui PRIVATE cxx_std_11)
  add_library(imgui::imgui ALIAS kymo_wasm_imgui)
endif()
if(NOT TARGET imgui::imgui)
  set(KYMO_BUILD_PANEL OFF)
endif()

# Newer versions give programs a 64 KiB stack, which suffices for recording but not for the panel, and use another name.
set(KYMO_WASM_STACK TOTAL_STACK)
if(EMSCRIPTEN_VERSION VERSION_GREATER_EQUAL 3.1.25)
  set(KYMO_WASM_STACK STACK_SIZE)
endif()

# Debian's Emscripten does not search the folder of Debian's Node.js packages.
if(EXISTS /usr/share/nodejs/acorn AND NOT DEFINED ENV{NODE_PATH})
  set(CMAKE_CXX_LINKER_LAUNCHER "${CMAKE_COMMAND}" -E env NODE_PATH=/usr/share/nodejs)
endif()

# kymo_add_wasm_programs(): the page, and the examples and tests that run in browsers and Node.js.
function(kymo_add_wasm_programs)
  if(KYMO_BUILD_WASM_PAGE AND TARGET kymo::panel)
    add_subdirectory(apps/web)
  endif()
  if(KYMO_BUILD_WASM_EXAMPLES AND TARGET kymo::panel)
    add_subdirectory(examples/web)
  endif()
  if(KYMO_BUILD_WASM_TESTS)
    add_subdirectory(tests/wasm)
  endif()
endfunction()
