# What every target of this project is compiled with.

# kymo_configure(target [17]): hidden symbols, warnings, sanitizers; C++20, or the C++ standard that is given.
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
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual>
    $<$<BOOL:${KYMO_WARNINGS_AS_ERRORS}>:-Werror>
    # Compiled together, names of one file stand before those of the next, and each file looks like a header.
    $<$<BOOL:${KYMO_UNITY_BUILD}>:-Wno-shadow>
    $<$<AND:$<BOOL:${KYMO_UNITY_BUILD}>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:-Wno-subobject-linkage>)
  if(KYMO_SANITIZER)
    # C libraries that are loaded at run time are called by types of our own, which Clang's `function` would reject.
    target_compile_options(${target} PRIVATE
      -fsanitize=${KYMO_SANITIZER} -fno-omit-frame-pointer -fno-sanitize-recover=all
      $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
    target_link_options(${target} PUBLIC -fsanitize=${KYMO_SANITIZER})
  endif()
endfunction()

# kymo_compile_quickly(target): with little optimisation and, where a sanitizer is built in or files are compiled together,
# without any: for code that takes longer to compile than it ever runs.
function(kymo_compile_quickly target)
  if(KYMO_SANITIZER)
    target_compile_options(${target} PRIVATE -O0)
  elseif(KYMO_UNITY_BUILD)
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0 -g1>)
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1 -g1>)
  endif()
endfunction()

# kymo_keep_apart(SOURCES...): files whose own names are also those of others in the folder, where such are compiled together.
function(kymo_keep_apart)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# How many files are compiled together: as many as leave every core something to do.
set(kymo_unity_batch 30)

# kymo_add_layer(name SOURCES...): one folder of src/ as an object library named kymo_<name>_objects,
# compiled only where something is made from it.
function(kymo_add_layer name)
  add_library(kymo_${name}_objects OBJECT EXCLUDE_FROM_ALL ${ARGN})
  kymo_configure(kymo_${name}_objects)
  # The recorder is to stay small: what a program does not use is left out when it links, and loops are not unrolled.
  target_compile_options(kymo_${name}_objects PRIVATE -ffunction-sections -fdata-sections $<$<CONFIG:Release>:-O2>)
  if(NOT BUILD_SHARED_LIBS)
    target_compile_definitions(kymo_${name}_objects PUBLIC KYMO_STATIC)
  endif()
  target_include_directories(kymo_${name}_objects
    PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
    PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(kymo_${name}_objects PUBLIC Threads::Threads)
  target_compile_options(kymo_${name}_objects PUBLIC ${KYMO_WASM_OPTIONS})
  set_target_properties(kymo_${name}_objects PROPERTIES UNITY_BUILD ${KYMO_UNITY_BUILD} UNITY_BUILD_BATCH_SIZE ${kymo_unity_batch})
  if(KYMO_BUILD_FUZZERS)
    # What inputs reach is measured in the layers.
    target_compile_options(kymo_${name}_objects PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# kymo_prefer_size(SOURCES...): code that runs once or seldom is compiled to be small, since the recorder goes into other
# people's programs.
function(kymo_prefer_size)
  if(KYMO_UNITY_BUILD)
    return()  # files with options of their own are not compiled together
  endif()
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-Os>")
endfunction()

# kymo_add_fuzzer(name SOURCES <files> LIBRARIES <targets>): one libFuzzer program; `fuzzers` builds them all. Its name ends
# in _fuzzer and its corpus lies in fuzz/corpus/<name>.
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
