# Compiles for macOS on another system with PyPI's ziglang, which contains macOS's headers, the symbol names of its
# system library, and a linker. scripts/macos-tools.sh installs it in build/macos-tools. For the presets macos-arm64 and
# macos-x86_64; a Mac's own compiler does not need this file.
set(CMAKE_SYSTEM_NAME Darwin)
set(KYMO_MACOS_ARCHITECTURE aarch64 CACHE STRING "What to compile for: aarch64 or x86_64")
# try_compile() reads this file again.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES KYMO_MACOS_ARCHITECTURE)
if(KYMO_MACOS_ARCHITECTURE STREQUAL "aarch64")
  set(CMAKE_SYSTEM_PROCESSOR arm64)
else()
  set(CMAKE_SYSTEM_PROCESSOR "${KYMO_MACOS_ARCHITECTURE}")
endif()

get_filename_component(kymo_macos_tools "${CMAKE_CURRENT_LIST_DIR}/../build/macos-tools" ABSOLUTE)
if(NOT EXISTS "${kymo_macos_tools}/ziglang/zig")
  message(FATAL_ERROR "${kymo_macos_tools} has no compiler for macOS: run scripts/macos-tools.sh")
endif()
set(kymo_macos_bin "${kymo_macos_tools}/${KYMO_MACOS_ARCHITECTURE}")
set(CMAKE_C_COMPILER "${kymo_macos_bin}/clang")
set(CMAKE_CXX_COMPILER "${kymo_macos_bin}/clang++")
set(CMAKE_AR "${kymo_macos_tools}/bin/ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "${kymo_macos_tools}/bin/ranlib" CACHE FILEPATH "")
set(CMAKE_INSTALL_NAME_TOOL "${kymo_macos_tools}/bin/install_name_tool" CACHE FILEPATH "")
set(CMAKE_LINKER "${kymo_macos_bin}/clang++" CACHE FILEPATH "")

# Do not use packages installed for this system.
set(CMAKE_FIND_ROOT_PATH "${kymo_macos_tools}/none")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
