# Libraries for builds that take nothing from this system's /usr/lib: lz4 and zstd, compiled from the sources that
# scripts/fetch-web-sources.sh fetched into the folder kymo_sources, and header-only libraries, each taken from this system
# separately, because the system's other headers are of another platform.

# kymo_add_fetched(target folder sources...): an archive of C sources below kymo_sources. Its symbols stay within what links it.
function(kymo_add_fetched target folder)
  add_library(${target} STATIC EXCLUDE_FROM_ALL ${ARGN})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
  target_include_directories(${target} SYSTEM PUBLIC "${kymo_sources}/${folder}")
  target_compile_options(${target} PRIVATE -w)
endfunction()

if(NOT EXISTS "${kymo_sources}/lz4/lib/lz4.c")
  message(FATAL_ERROR "${kymo_sources} is not there: run scripts/fetch-web-sources.sh, or name a folder with the sources of lz4 "
    "and zstd (as libzstd)")
endif()
kymo_add_fetched(kymo_lz4 lz4/lib "${kymo_sources}/lz4/lib/lz4.c")
file(GLOB zstd_sources "${kymo_sources}/libzstd/lib/common/*.c" "${kymo_sources}/libzstd/lib/compress/*.c"
  "${kymo_sources}/libzstd/lib/decompress/*.c")
kymo_add_fetched(kymo_zstd libzstd/lib ${zstd_sources})
# Empty, so that kymo's libraries do not export the symbols of lz4 and zstd.
target_compile_definitions(kymo_lz4 PRIVATE LZ4LIB_VISIBILITY=)
target_compile_definitions(kymo_zstd PRIVATE ZSTD_DISABLE_ASM ZSTDLIB_VISIBLE= ZSTDLIB_VISIBILITY=)
add_library(PkgConfig::LZ4 ALIAS kymo_lz4)
add_library(PkgConfig::ZSTD ALIAS kymo_zstd)

# kymo_borrow(result name...): a folder with nothing but these files and folders of the system's /usr/include.
function(kymo_borrow result)
  list(GET ARGN 0 first)
  set(place "${PROJECT_BINARY_DIR}/headers/${first}")
  file(MAKE_DIRECTORY "${place}")
  foreach(name IN LISTS ARGN)
    if(NOT EXISTS "/usr/include/${name}")
      message(FATAL_ERROR "/usr/include/${name} is not there: run scripts/bootstrap.sh build")
    endif()
    file(CREATE_LINK "/usr/include/${name}" "${place}/${name}" SYMBOLIC)
  endforeach()
  set(${result} "${place}" PARENT_SCOPE)
endfunction()

# kymo_borrow_headers(target name): the same as a target.
function(kymo_borrow_headers target name)
  kymo_borrow(place ${name})
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE "${place}")
endfunction()
kymo_borrow_headers(CLI11::CLI11 CLI)
kymo_borrow_headers(fmt::fmt fmt)
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
kymo_borrow_headers(nlohmann_json::nlohmann_json nlohmann)
kymo_borrow(kymo_protozero protozero)
set(KYMO_PROTOZERO_INCLUDE "${kymo_protozero}" CACHE PATH "Protobuf, by headers alone")
