# Compile options of this project's targets.
include(CheckIPOSupported)

# Which releases a program may exchange without a new build: before 1.0 those of one minor version, later those of one
# major version. The SONAME, the versions of symbols and kymo-config-version.cmake say the same.
set(kymo_abi_version "${PROJECT_VERSION_MAJOR}")
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(kymo_abi_version "0.${PROJECT_VERSION_MINOR}")
endif()

# kymo_configure(target [17]): hidden symbols, warnings, sanitizers; C++20, or the given C++ standard.
function(kymo_configure target)
  set(standard ${ARGN})
  if(NOT standard)
    set(standard 20)
  endif()
  target_compile_features(${target} PRIVATE cxx_std_${standard})
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    C_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  if(CMAKE_UNITY_BUILD)
    # With a fifth more memory before it collects garbage, GCC takes a tenth less time.
    target_compile_options(${target} PRIVATE
      $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-expand=200> $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=400000>)
  endif()
  if(NOT PROJECT_IS_TOP_LEVEL AND NOT KYMO_WARNINGS_AS_ERRORS)
    # What a user's compiler and options warn of here is nothing that the user can mend, unless they ask for it.
    target_compile_options(${target} PRIVATE -w)
  else()
    target_compile_options(${target} PRIVATE
      # Joined files see each other's constants, whose names may be anybody's.
      -Wall -Wextra -Wpedantic $<$<NOT:$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wshadow>
      -Wconversion -Wsign-conversion
      $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual>
      $<$<BOOL:${KYMO_WARNINGS_AS_ERRORS}>:-Werror>
      # GCC 12 warns of "literal" + std::string in optimised code: https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105651
      $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
  endif()
  if(KYMO_SANITIZER)
    # C libraries loaded at run time are called through kymo's own types, which Clang's `function` check would reject.
    target_compile_options(${target} PRIVATE
      -fsanitize=${KYMO_SANITIZER} -fno-omit-frame-pointer -fno-sanitize-recover=all
      $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
    target_link_options(${target} PUBLIC -fsanitize=${KYMO_SANITIZER})
  endif()
endfunction()

# kymo_leave_out(what why): says that something is not built or tested here, now and at the end of a run of the tests.
function(kymo_leave_out what why)
  message(STATUS "Left out: ${what}: ${why}")
  set_property(GLOBAL APPEND_STRING PROPERTY kymo_left_out "${what}: ${why}\n")
endfunction()

# kymo_find_library(prefix module): a library that this build needs, by pkg-config.
# kymo_find_headers(name file) and kymo_find_package(name): the same for what has no pkg-config file.
# kymo_check_needs(): names everything that was not found, and how it is installed.
macro(kymo_find_library prefix module)
  pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL ${module})
  if(NOT ${prefix}_FOUND)
    list(APPEND kymo_missing ${module})
  endif()
endmacro()
macro(kymo_find_headers name file)
  string(TOUPPER "KYMO_${name}_INCLUDE" kymo_folder)
  find_path(${kymo_folder} ${file})
  mark_as_advanced(${kymo_folder})
  if(NOT ${kymo_folder})
    list(APPEND kymo_missing ${name})
  endif()
endmacro()
macro(kymo_find_package name)
  find_package(${name} QUIET)
  if(NOT ${name}_FOUND)
    list(APPEND kymo_missing ${name})
  endif()
endmacro()
function(kymo_check_needs)
  if(kymo_missing)
    list(JOIN kymo_missing ", " names)
    message(FATAL_ERROR "kymo needs what is not found here: ${names}. On Debian and its relatives this installs it:\n"
      "  ${PROJECT_SOURCE_DIR}/scripts/bootstrap.sh build\n"
      "Elsewhere it lists what to install.")
  endif()
endfunction()

# kymo_compile_quickly(target): without optimisation, and small in a release: for code that takes longer to compile than
# it ever runs.
function(kymo_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0> $<$<CONFIG:Release>:-Os>)
endfunction()

# kymo_can_optimize_links(result): whether a release may be optimized as a whole when it is linked, which makes libkymo an
# eighth smaller. Not archives: their users may have another compiler.
function(kymo_can_optimize_links result)
  if(NOT BUILD_SHARED_LIBS OR CMAKE_CROSSCOMPILING)
    set(${result} OFF PARENT_SCOPE)
    return()
  endif()
  if(NOT DEFINED CACHE{KYMO_CAN_OPTIMIZE_LINKS})
    check_ipo_supported(RESULT is_supported LANGUAGES CXX)
    set(KYMO_CAN_OPTIMIZE_LINKS ${is_supported} CACHE INTERNAL "Whether the compiler optimizes links")
  endif()
  set(${result} ${KYMO_CAN_OPTIMIZE_LINKS} PARENT_SCOPE)
endfunction()

# What almost every file includes.
set(KYMO_COMMON_HEADERS
  <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <functional> <map> <memory> <optional> <span> <string>
  <string_view> <unordered_map> <utility> <vector>)

# kymo_precompile(target HEADERS...): compiles the common headers, and these, once for all files of a target: they take half
# of the compiler's time. Joined files include them once anyway.
function(kymo_precompile target)
  if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_UNITY_BUILD)
    target_precompile_headers(${target} PRIVATE ${KYMO_COMMON_HEADERS} ${ARGN})
  endif()
endfunction()

# kymo_add_layer(name [SMALL] SOURCES...): one folder of src/ as an object library named kymo_<name>_objects, compiled
# only if a target uses it. SMALL: it is linked into users' programs and is compiled for size.
function(kymo_add_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "SMALL" "" "")
  add_library(kymo_${name}_objects OBJECT EXCLUDE_FROM_ALL ${ARG_UNPARSED_ARGUMENTS})
  kymo_configure(kymo_${name}_objects)
  if(NOT PROJECT_IS_TOP_LEVEL)
    # In the tree of another project it is compile time that counts.
    set(optimization $<$<CONFIG:Release,RelWithDebInfo>:-Og>)
  elseif(ARG_SMALL AND NOT KYMO_SANITIZER)
    set(optimization $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-Os>)
    kymo_can_optimize_links(can_optimize_links)
    set_target_properties(kymo_${name}_objects PROPERTIES INTERPROCEDURAL_OPTIMIZATION_RELEASE ${can_optimize_links})
  else()
    # Loops are not unrolled.
    set(optimization $<$<CONFIG:Release>:-O2>)
  endif()
  # The linker removes unused functions.
  target_compile_options(kymo_${name}_objects PRIVATE -ffunction-sections -fdata-sections ${optimization})
  if(NOT BUILD_SHARED_LIBS)
    target_compile_definitions(kymo_${name}_objects PUBLIC KYMO_STATIC)
  endif()
  target_include_directories(kymo_${name}_objects
    PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
    PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(kymo_${name}_objects PUBLIC Threads::Threads)
  target_compile_options(kymo_${name}_objects PUBLIC ${KYMO_WASM_OPTIONS})
  kymo_precompile(kymo_${name}_objects)
  if(KYMO_SANITIZER MATCHES "address" AND NOT name MATCHES "^(stats|panel|exchange)")
    # What the tests and the fuzzing run most; the other layers, as the tests themselves, compile longer than they run.
    target_compile_options(kymo_${name}_objects PRIVATE -O1)
  endif()
  if(KYMO_BUILD_FUZZERS)
    # Coverage for fuzzing is measured in the layers.
    target_compile_options(kymo_${name}_objects PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# kymo_prefer_speed(target SOURCES...): sources of a target that run for every event.
function(kymo_prefer_speed target)
  if(KYMO_SANITIZER)
    return()
  endif()
  set(sources ${ARGN})
  if(CMAKE_UNITY_BUILD)
    # CMake does not join sources with options of their own.
    list(TRANSFORM sources REPLACE "(.+)" "#include \"${CMAKE_CURRENT_SOURCE_DIR}/\\1\"\n" OUTPUT_VARIABLE lines)
    string(JOIN "" lines ${lines})
    set(joined "${CMAKE_CURRENT_BINARY_DIR}/${target}_for_speed.cpp")
    file(CONFIGURE OUTPUT "${joined}" CONTENT "${lines}")
    set_source_files_properties(${sources} PROPERTIES HEADER_FILE_ONLY ON)
    target_sources(${target} PRIVATE "${joined}")
    set(sources "${joined}")
  endif()
  set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-O2>")
  set_property(SOURCE ${sources} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# kymo_add_fuzzer(name SOURCES <files> LIBRARIES <targets>): one libFuzzer program; `fuzzers` builds them all. Its name
# ends in _fuzzer and its corpus is fuzz/corpus/<name>.
function(kymo_add_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LIBRARIES")
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "The fuzz targets need Clang: configure with -DCMAKE_CXX_COMPILER=clang++ or the preset `fuzz`.")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  kymo_configure(${name})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  if(NOT TARGET fuzzers)
    add_custom_target(fuzzers)
  endif()
  add_dependencies(fuzzers ${name})
endfunction()
