# The macOS cross-build, for cmake/MacosCross.cmake: compiles and links libkymo, kymo::sense, kymo::analysis,
# kymo::bench and the command. Compiles lz4 and zstd from the sources fetched by scripts/fetch-web-sources.sh. Takes
# each header-only library from this system separately, because the system's other headers are not macOS's.

foreach(part IN ITEMS PANEL VIEWER WEB EXAMPLES TESTS BENCHMARKS FUZZERS PYTHON)
  set(KYMO_BUILD_${part} OFF)
endforeach()
set(KYMO_INSTALL OFF)
# CMake sets these only with a Mac's own tools.
set(CMAKE_SHARED_LIBRARY_RUNTIME_C_FLAG "-Wl,-rpath,")
set(CMAKE_SHARED_LIBRARY_RUNTIME_CXX_FLAG "-Wl,-rpath,")
# Libraries find each other by relative paths and contain no paths of this system.
set(CMAKE_INSTALL_NAME_DIR "@rpath")
set(CMAKE_BUILD_WITH_INSTALL_NAME_DIR ON)
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)

set(KYMO_MACOS_SOURCES "${PROJECT_SOURCE_DIR}/build/web-sources" CACHE PATH
  "Sources of lz4 and zstd in folders lz4 and libzstd: what scripts/fetch-web-sources.sh fetched")
if(NOT EXISTS "${KYMO_MACOS_SOURCES}/lz4/lib/lz4.c")
  message(FATAL_ERROR "${KYMO_MACOS_SOURCES} is not there: run scripts/fetch-web-sources.sh, or set KYMO_MACOS_SOURCES to a "
    "folder with the sources of lz4 and zstd (as libzstd)")
endif()

add_library(kymo_lz4 STATIC EXCLUDE_FROM_ALL "${KYMO_MACOS_SOURCES}/lz4/lib/lz4.c")
set_target_properties(kymo_lz4 PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
target_include_directories(kymo_lz4 SYSTEM PUBLIC "${KYMO_MACOS_SOURCES}/lz4/lib")
add_library(PkgConfig::LZ4 ALIAS kymo_lz4)

set(zstd "${KYMO_MACOS_SOURCES}/libzstd/lib")
file(GLOB zstd_sources "${zstd}/common/*.c" "${zstd}/compress/*.c" "${zstd}/decompress/*.c")
add_library(kymo_zstd STATIC EXCLUDE_FROM_ALL ${zstd_sources})
set_target_properties(kymo_zstd PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
target_include_directories(kymo_zstd SYSTEM PUBLIC "${zstd}")
# Empty, so that kymo's libraries do not export the symbols of lz4 and zstd.
target_compile_definitions(kymo_lz4 PRIVATE LZ4LIB_VISIBILITY=)
target_compile_definitions(kymo_zstd PRIVATE ZSTD_DISABLE_ASM ZSTDLIB_VISIBLE= ZSTDLIB_VISIBILITY=)
target_compile_options(kymo_lz4 PRIVATE -w)
target_compile_options(kymo_zstd PRIVATE -w)
add_library(PkgConfig::ZSTD ALIAS kymo_zstd)

# kymo_borrow_headers(target name): creates a target for the headers in a folder of the system's /usr/include.
function(kymo_borrow_headers target name)
  set(place "${PROJECT_BINARY_DIR}/headers/${name}")
  if(NOT EXISTS "/usr/include/${name}")
    message(FATAL_ERROR "/usr/include/${name} is not there: run scripts/bootstrap.sh build")
  endif()
  file(MAKE_DIRECTORY "${place}")
  file(CREATE_LINK "/usr/include/${name}" "${place}/${name}" SYMBOLIC)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE "${place}")
endfunction()
kymo_borrow_headers(CLI11::CLI11 CLI)
kymo_borrow_headers(fmt::fmt fmt)
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
kymo_borrow_headers(nlohmann_json::nlohmann_json nlohmann)
kymo_borrow_headers(kymo_protozero protozero)
set(KYMO_PROTOZERO_INCLUDE "${PROJECT_BINARY_DIR}/headers/protozero" CACHE PATH "Protobuf, by headers alone")
