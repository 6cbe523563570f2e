# kymo_instrument_functions(target [PATCHABLE] [INCLUDE pattern...] [EXCLUDE pattern...])
#
# Records every function of a target's C and C++ sources as a scope, by the compiler's function hooks, and links
# kymo::kymo. Recording starts by itself, before main, where KYMO_RECORD and its like ask for it. With INCLUDE, only
# functions whose name matches a pattern are recorded. Functions that match an EXCLUDE pattern are not. Examples of
# patterns: "Renderer::*", "*::update", "parse?". `*` matches any characters, `?` matches one. A pattern is compared with
# the demangled name without return type and parameters; a pattern with a "(" is compared with the whole name.
#
# GCC hooks functions before inlining, except those in system headers and kymo's own. Clang hooks the functions that
# remain after inlining, so build with -O1 or more there.
#
# PATCHABLE: functions are patched when recording starts, those alone that are recorded. All others, and all while
# nothing is recorded, cost next to nothing. Needs Clang, Linux on x86-64, and an executable, or an archive that is linked
# into executables by Clang. Elsewhere functions are hooked as without it.
function(kymo_instrument_functions target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "PATCHABLE" "" "INCLUDE;EXCLUDE")
  if(NOT TARGET "${target}")
    message(FATAL_ERROR "kymo_instrument_functions: there is no target \"${target}\"")
  endif()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kymo_instrument_functions(${target}): what is \"${ARG_UNPARSED_ARGUMENTS}\"? "
      "It takes PATCHABLE, and patterns after INCLUDE or EXCLUDE")
  endif()
  get_target_property(type "${target}" TYPE)
  get_target_property(is_imported "${target}" IMPORTED)
  get_target_property(is_instrumented "${target}" KYMO_INSTRUMENTED)
  if(type MATCHES "INTERFACE|UTILITY" OR is_imported)
    message(FATAL_ERROR "kymo_instrument_functions(${target}): the target has no sources to compile")
  endif()
  if(is_instrumented)
    message(FATAL_ERROR "kymo_instrument_functions(${target}) was called twice: give all patterns at once")
  endif()
  set_target_properties("${target}" PROPERTIES KYMO_INSTRUMENTED ON)

  # GCC leaves out functions whose file name contains one of these. kymo's own headers are also listed by the end of
  # their folder's name, because ccache can be configured to make paths relative.
  set(excluded_files ${CMAKE_C_IMPLICIT_INCLUDE_DIRECTORIES} ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES}
    /usr/include /usr/local/include /usr/lib/gcc)
  list(REMOVE_DUPLICATES excluded_files)
  list(JOIN excluded_files "," excluded_files)
  set(kymo_headers "$<TARGET_PROPERTY:kymo::kymo,INTERFACE_INCLUDE_DIRECTORIES>")
  set(exclude_option
    "-finstrument-functions-exclude-file-list=${excluded_files},/include/kymo/,$<JOIN:${kymo_headers},/kymo/$<COMMA>>/kymo/")
  set(clang_options -finstrument-functions-after-inlining)
  set(patches 0)
  if(ARG_PATCHABLE AND type MATCHES "EXECUTABLE|STATIC_LIBRARY" AND CMAKE_SYSTEM_NAME STREQUAL "Linux"
      AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$"
      AND "${CMAKE_C_COMPILER_ID} ${CMAKE_CXX_COMPILER_ID}" MATCHES "Clang")
    # Without the second option, functions of fewer than 200 instructions are left out.
    set(clang_options -fxray-instrument -fxray-instruction-threshold=1)
    set(patches 1)
  elseif(ARG_PATCHABLE)
    message(STATUS "kymo_instrument_functions(${target}): PATCHABLE is for executables and archives of Clang for Linux "
      "on x86-64; functions are hooked instead")
  endif()
  foreach(language IN ITEMS C CXX)
    target_compile_options("${target}" PRIVATE
      "$<$<COMPILE_LANG_AND_ID:${language},GNU>:-finstrument-functions>"
      "$<$<COMPILE_LANG_AND_ID:${language},GNU>:${exclude_option}>"
      "$<$<COMPILE_LANG_AND_ID:${language},Clang,AppleClang>:${clang_options}>")
    if(patches)
      target_link_options("${target}" PUBLIC "$<$<LINK_LANG_AND_ID:${language},Clang>:-fxray-instrument>")
    endif()
  endforeach()
  # As properties: target_link_libraries would have to know whether the target's own calls of it have keywords.
  set_property(TARGET "${target}" APPEND PROPERTY LINK_LIBRARIES kymo::kymo)
  if(type STREQUAL "STATIC_LIBRARY")
    set_property(TARGET "${target}" APPEND PROPERTY INTERFACE_LINK_LIBRARIES "$<LINK_ONLY:kymo::kymo>")
  endif()

  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("C" IN_LIST languages)
    set(file "${CMAKE_CURRENT_BINARY_DIR}/kymo_functions_of_${target}.c")
  else()
    set(file "${CMAKE_CURRENT_BINARY_DIR}/kymo_functions_of_${target}.cpp")
  endif()
  # A plugin is loaded under the dynamic linker's lock, where no threads should be started, by a program that runs already.
  set(starts 1)
  if(type STREQUAL "MODULE_LIBRARY")
    set(starts 0)
  endif()
  # An archive without patterns leaves the choice to what it is linked with.
  set(filters 1)
  if(type STREQUAL "STATIC_LIBRARY" AND NOT ARG_INCLUDE AND NOT ARG_EXCLUDE)
    set(filters 0)
  endif()
  kymo_write_function_filter("${file}" "${target}" "${ARG_INCLUDE}" "${ARG_EXCLUDE}" ${starts} ${filters} ${patches})
  if(NOT type STREQUAL "STATIC_LIBRARY")
    target_sources("${target}" PRIVATE "${file}")
  else()
    # Nothing refers to it, so a linker would leave it in the archive. Programs that link the archive get the object instead.
    add_library("${target}_kymo_functions" OBJECT "${file}")
    set_target_properties("${target}_kymo_functions" PROPERTIES POSITION_INDEPENDENT_CODE ON)
    set_property(TARGET "${target}" APPEND PROPERTY INTERFACE_LINK_LIBRARIES "$<TARGET_OBJECTS:${target}_kymo_functions>")
  endif()
endfunction()

# Writes a source, valid as C and C++, that passes a module's patterns to the recorder (filters) when the module is loaded,
# before its other constructors run, and removes them after its other destructors. starts: it starts the recording too.
# patches: it passes on what patches functions.
function(kymo_write_function_filter file target include exclude starts filters patches)
  foreach(list IN ITEMS include exclude)
    set(patterns "${${list}}")
    list(LENGTH patterns count)
    math(EXPR size "${count} + 1")
    string(REPLACE "\\" "\\\\" patterns "${patterns}")
    string(REPLACE "\"" "\\\"" patterns "${patterns}")
    list(JOIN patterns "\", \"" patterns)
    # One element more than there are patterns, for the terminating null pointer.
    set(${list}_definition "static const char* ${list}_patterns[${size}]")
    if(count GREATER 0)
      string(APPEND ${list}_definition " = {\"${patterns}\"}")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT [[
/* The functions of @target@ that are recorded. Made by kymo_instrument_functions(). */
#include <stddef.h>
#include <stdint.h>

#define KYMO_STARTS @starts@
#define KYMO_FILTERS @filters@
#define KYMO_PATCHES @patches@

#ifdef __clang__
#define KYMO_NOT_RECORDED no_instrument_function, xray_never_instrument
#else
#define KYMO_NOT_RECORDED no_instrument_function
#endif

struct kymo_function_filter_v1 {
  const char* const* include;
  const char* const* exclude;
  struct kymo_function_filter_v1* next;
  uintptr_t begin;
  uintptr_t end;
};

struct kymo_function_patches_v1 {
  int (*set_handler)(void (*handler)(int32_t number, int kind));
  int (*patch_function)(int32_t number);
  uintptr_t (*address_of)(int32_t number);
  size_t (*largest_number)(void);
};

#ifdef __cplusplus
extern "C" {
#endif
void kymo_add_function_filter_v1(struct kymo_function_filter_v1* filter);
void kymo_remove_function_filter_v1(struct kymo_function_filter_v1* filter);
void kymo_add_function_patches_v1(const struct kymo_function_patches_v1* patches);
int kymo_enable(void);
#if KYMO_PATCHES
/* XRay's. Weak: an archive may be linked without -fxray-instrument, or into a shared library. */
__attribute__((weak)) int __xray_set_handler(void (*handler)(int32_t number, int kind));
__attribute__((weak)) int __xray_patch_function(int32_t number);
__attribute__((weak)) uintptr_t __xray_function_address(int32_t number);
__attribute__((weak)) size_t __xray_max_function_id(void);
#endif
#ifdef __cplusplus
}
#endif

#if KYMO_STARTS
/* Does nothing unless the environment asks for a recording. */
__attribute__((constructor, KYMO_NOT_RECORDED)) static void start_recording(void) {
  kymo_enable();
}
#endif

#if KYMO_PATCHES
static struct kymo_function_patches_v1 patches;

__attribute__((constructor(101), KYMO_NOT_RECORDED)) static void add_patches(void) {
  patches.set_handler = __xray_set_handler;
  patches.patch_function = __xray_patch_function;
  patches.address_of = __xray_function_address;
  patches.largest_number = __xray_max_function_id;
  kymo_add_function_patches_v1(&patches);
}
#endif

#if KYMO_FILTERS
@include_definition@;
@exclude_definition@;
static struct kymo_function_filter_v1 filter;

__attribute__((constructor(101), KYMO_NOT_RECORDED)) static void add_filter(void) {
  filter.include = include_patterns;
  filter.exclude = exclude_patterns;
  kymo_add_function_filter_v1(&filter);
}

__attribute__((destructor(101), KYMO_NOT_RECORDED)) static void remove_filter(void) {
  kymo_remove_function_filter_v1(&filter);
}
#endif
]])
  set_source_files_properties("${file}" PROPERTIES
    GENERATED ON
    SKIP_UNITY_BUILD_INCLUSION ON
    SKIP_PRECOMPILE_HEADERS ON)
endfunction()
