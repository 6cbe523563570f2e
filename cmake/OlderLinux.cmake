# Compiles Python's wheels with GCC for Linux with glibc 2.31 and GCC 10's C++ library, or later. scripts/older-linux.py makes
# what it links with. For scripts/check-wheels.sh; -DCMAKE_SYSTEM_PROCESSOR=aarch64 compiles for that processor.
set(KYMO_PORTABLE ON CACHE BOOL "Take nothing from a system but its C and C++ libraries")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CMAKE_SYSTEM_PROCESSOR)
if(CMAKE_SYSTEM_PROCESSOR AND NOT CMAKE_SYSTEM_PROCESSOR STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(CMAKE_SYSTEM_NAME Linux)
  set(CMAKE_C_COMPILER "${CMAKE_SYSTEM_PROCESSOR}-linux-gnu-gcc")
  set(CMAKE_CXX_COMPILER "${CMAKE_SYSTEM_PROCESSOR}-linux-gnu-g++")
else()
  set(CMAKE_SYSTEM_PROCESSOR "${CMAKE_HOST_SYSTEM_PROCESSOR}")
  set(CMAKE_C_COMPILER gcc)
  set(CMAKE_CXX_COMPILER g++)
endif()

get_filename_component(kymo_older "${CMAKE_CURRENT_LIST_DIR}/../build/older-linux/${CMAKE_SYSTEM_PROCESSOR}" ABSOLUTE)
if(NOT EXISTS "${kymo_older}/libstdc++.so")
  message(FATAL_ERROR "${kymo_older} has no libraries: run scripts/older-linux.py ${CMAKE_SYSTEM_PROCESSOR}")
endif()
foreach(kind IN ITEMS EXE SHARED MODULE)
  # GCC's libgcc_s asks for the C library of this system: a program takes the one of its own system.
  set(CMAKE_${kind}_LINKER_FLAGS_INIT
    "-B${kymo_older} -L${kymo_older} -Wl,--exclude-libs,ALL -Wl,--allow-shlib-undefined")
endforeach()
