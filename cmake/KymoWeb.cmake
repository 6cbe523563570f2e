# What browsers run: the page that shows captures (apps/web), and the examples and tests of programs in WebAssembly, where
# Emscripten and the sources that it compiles are found. Another compiler means another build of this project, configured and
# built with this one in the folder KYMO_WEB_BUILD. Sets KYMO_HAS_WEB; the page lies in KYMO_WEB_PAGE.
set(KYMO_HAS_WEB OFF)
set(KYMO_WEB_PAGE "${PROJECT_BINARY_DIR}/web")
set(KYMO_WEB_BUILD "${PROJECT_BINARY_DIR}/web-build")
find_program(KYMO_EMCMAKE emcmake)
mark_as_advanced(KYMO_EMCMAKE)
set(web_sources "${PROJECT_SOURCE_DIR}/build/web-sources")
if(NOT KYMO_EMCMAKE)
  message(STATUS "The page for browsers is left out: Emscripten (Debian: emscripten) is not found")
elseif(NOT EXISTS "${web_sources}/complete")
  message(STATUS "The page for browsers is left out: scripts/fetch-web-sources.sh fetches what it needs")
else()
  set(KYMO_HAS_WEB ON)
endif()
if(NOT KYMO_HAS_WEB)
  return()
endif()

include(ExternalProject)
# Joined by something that is no separator of lists.
string(REPLACE ";" "|" web_launcher "${CMAKE_CXX_COMPILER_LAUNCHER}")
ExternalProject_Add(kymo_web
  SOURCE_DIR "${PROJECT_SOURCE_DIR}"
  BINARY_DIR "${KYMO_WEB_BUILD}"
  STAMP_DIR "${KYMO_WEB_BUILD}/stamps"
  TMP_DIR "${KYMO_WEB_BUILD}/tmp"
  LIST_SEPARATOR |
  CONFIGURE_COMMAND "${KYMO_EMCMAKE}" "${CMAKE_COMMAND}" -S <SOURCE_DIR> -B <BINARY_DIR> -G "${CMAKE_GENERATOR}"
    -DCMAKE_BUILD_TYPE=Release
    "-DCMAKE_C_COMPILER_LAUNCHER=${web_launcher}"
    "-DCMAKE_CXX_COMPILER_LAUNCHER=${web_launcher}"
    "-DKYMO_WEB_SOURCES=${web_sources}"
    "-DKYMO_WEB_PAGE=${KYMO_WEB_PAGE}"
    -DKYMO_UNITY_BUILD=ON
    "-DKYMO_BUILD_TESTS=${KYMO_BUILD_TESTS}"
    "-DKYMO_BUILD_EXAMPLES=${KYMO_BUILD_EXAMPLES}"
  BUILD_COMMAND "${CMAKE_COMMAND}" --build <BINARY_DIR> --parallel 2
  BUILD_ALWAYS ON  # its own build knows what is out of date
  INSTALL_COMMAND "")
