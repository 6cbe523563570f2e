# Defaults for builds of kymo itself. A project that includes kymo makes these choices on its own.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()

find_program(KYMO_CCACHE ccache)
mark_as_advanced(KYMO_CCACHE)
if(KYMO_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # Build folders and clones share identical compilations: the compiler is given relative paths. The price: `__FILE__`
  # is relative to the build folder, and debug information may name another one. The sloppiness is what ccache asks for
  # to cache files with precompiled headers. Those hold checksums of the files that they include, so what is the same but
  # for comments must not be found: depend mode compares whole files, and the namespace keeps away what was cached
  # without it.
  set(kymo_cached_paths "${PROJECT_SOURCE_DIR}")
  cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${PROJECT_BINARY_DIR}" NORMALIZE is_inside)
  if(NOT is_inside)
    set(kymo_cached_paths "${PROJECT_BINARY_DIR}")
  endif()
  set(CMAKE_C_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env CCACHE_NAMESPACE=kymo CCACHE_DEPEND=1 CCACHE_NOHASHDIR=1
    "CCACHE_BASEDIR=${kymo_cached_paths}" CCACHE_SLOPPINESS=pch_defines,time_macros "${KYMO_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

if(KYMO_SANITIZER)
  # Sanitized programs are large, and GNU's linker takes several times as long with them.
  find_program(KYMO_LLD ld.lld)
  mark_as_advanced(KYMO_LLD)
  if(KYMO_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()
