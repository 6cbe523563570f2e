# Conveniences for those who build kymo itself; a project that includes kymo makes these choices on its own.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()

find_program(KYMO_CCACHE ccache)
mark_as_advanced(KYMO_CCACHE)
if(KYMO_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # Build folders share what they compile alike, wherever their generated files lie. The price: the folder that debug
  # information names may be another's.
  set(CMAKE_C_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env CCACHE_NOHASHDIR=1 "CCACHE_BASEDIR=${PROJECT_BINARY_DIR}" "${KYMO_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()
