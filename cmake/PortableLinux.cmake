# Compiles the command for any Linux with glibc 2.31 or later, with PyPI's ziglang, which knows what that glibc had and brings a
# C++ library that is linked in. scripts/macos-tools.sh installs it in build/macos-tools. For the preset portable.
set(CMAKE_SYSTEM_NAME Linux)
if(NOT CMAKE_SYSTEM_PROCESSOR)
  set(CMAKE_SYSTEM_PROCESSOR "${CMAKE_HOST_SYSTEM_PROCESSOR}")
endif()
set(KYMO_PORTABLE ON CACHE BOOL "Build nothing but a command that takes nothing from a system but its C library")

get_filename_component(kymo_tools "${CMAKE_CURRENT_LIST_DIR}/../build/macos-tools" ABSOLUTE)
set(kymo_bin "${kymo_tools}/${CMAKE_SYSTEM_PROCESSOR}-linux")
if(NOT EXISTS "${kymo_bin}/clang")
  message(FATAL_ERROR "${kymo_bin} has no compiler: run scripts/macos-tools.sh")
endif()
set(CMAKE_C_COMPILER "${kymo_bin}/clang")
set(CMAKE_CXX_COMPILER "${kymo_bin}/clang++")
set(CMAKE_AR "${kymo_tools}/bin/ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "${kymo_tools}/bin/ranlib" CACHE FILEPATH "")

# Do not use packages installed for this system.
set(CMAKE_FIND_ROOT_PATH "${kymo_tools}/none")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
