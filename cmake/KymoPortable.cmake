# What runs on other Linux systems: the command, for cmake/PortableLinux.cmake, and Python's wheels, for cmake/OlderLinux.cmake.
# All libraries that a system may lack are in it, compiled from sources or headers. libdw is found at run time, as in other
# builds.

foreach(part IN ITEMS PANEL VIEWER EXAMPLES TESTS BENCHMARKS FUZZERS)
  set(KYMO_BUILD_${part} OFF)
endforeach()
if(NOT SKBUILD)
  set(KYMO_BUILD_PYTHON OFF)
  set(KYMO_BUILD_WEB OFF)
endif()
set(KYMO_INSTALL OFF)

set(KYMO_PORTABLE_SOURCES "${PROJECT_SOURCE_DIR}/build/portable-sources" CACHE PATH
  "Sources of lz4, zstd, zlib and cpp-httplib in folders lz4, libzstd, zlib and cpp-httplib: scripts/fetch-web-sources.sh fetches them")
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
