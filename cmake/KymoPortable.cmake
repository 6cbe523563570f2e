# The command that runs on other Linux systems, for cmake/PortableLinux.cmake: everything but the C library is in it, compiled
# from sources or headers. libdw is found at run time, as in other builds.

foreach(part IN ITEMS PANEL VIEWER WEB EXAMPLES TESTS BENCHMARKS FUZZERS PYTHON)
  set(KYMO_BUILD_${part} OFF)
endforeach()
set(KYMO_INSTALL OFF)

set(KYMO_PORTABLE_SOURCES "${PROJECT_SOURCE_DIR}/build/portable-sources" CACHE PATH
  "Sources of lz4, zstd, zlib and cpp-httplib in folders lz4, libzstd, zlib and cpp-httplib: scripts/portable.sh fetches them")
set(kymo_sources "${KYMO_PORTABLE_SOURCES}")
include(KymoFetchedLibraries)

file(GLOB zlib_sources "${kymo_sources}/zlib/*.c")
kymo_add_fetched(kymo_zlib zlib ${zlib_sources})
# Its files have equal names for different things.
set_target_properties(kymo_zlib PROPERTIES UNITY_BUILD OFF)
target_compile_definitions(kymo_zlib PRIVATE HAVE_UNISTD_H HAVE_HIDDEN)
add_library(PkgConfig::ZLIB ALIAS kymo_zlib)

add_library(PkgConfig::HTTPLIB INTERFACE IMPORTED GLOBAL)
target_include_directories(PkgConfig::HTTPLIB SYSTEM INTERFACE "${kymo_sources}/cpp-httplib")
set(KYMO_HAS_HTTPLIB ON)

kymo_borrow(kymo_libdw elfutils libelf.h gelf.h dwarf.h)
set(KYMO_LIBDW_INCLUDE "${kymo_libdw}" CACHE PATH "libdw, by headers alone")
