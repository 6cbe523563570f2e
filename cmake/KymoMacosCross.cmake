# The macOS cross-build, for cmake/MacosCross.cmake: compiles and links libkymo, kymo::sense, kymo::analysis,
# kymo::bench and the command, with the libraries of KymoFetchedLibraries.cmake.

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
set(kymo_sources "${KYMO_MACOS_SOURCES}")
include(KymoFetchedLibraries)
