# Programs for browsers: the page that shows captures (apps/web), and the examples and tests in WebAssembly, if
# Emscripten and its sources are found. Another compiler needs another build of this project, which is configured and
# built together with this one in the folder KYMO_WEB_BUILD. Sets KYMO_HAS_WEB; KYMO_WEB_PAGE is the folder of the page.
set(KYMO_PAGE "" CACHE PATH "The page, built before (it is the same for every processor); empty: it is built here")
set(KYMO_HAS_WEB OFF)
# Containers for wheels have no Emscripten.
if(SKBUILD AND NOT KYMO_PAGE AND EXISTS "${PROJECT_SOURCE_DIR}/build/page/index.html")
  set(KYMO_PAGE "${PROJECT_SOURCE_DIR}/build/page")
endif()
if(KYMO_PAGE)
  if(NOT EXISTS "${KYMO_PAGE}/kymo_web.wasm" OR NOT EXISTS "${KYMO_PAGE}/index.html")
    message(FATAL_ERROR "KYMO_PAGE is ${KYMO_PAGE}, which holds no page: name the folder web of a finished build")
  endif()
  set(KYMO_HAS_WEB ON)
  set(KYMO_WEB_PAGE "${KYMO_PAGE}")
  add_custom_target(kymo_web)
  return()
endif()
set(KYMO_WEB_PAGE "${PROJECT_BINARY_DIR}/web")
set(KYMO_WEB_BUILD "${PROJECT_BINARY_DIR}/web-build")
find_program(KYMO_EMCMAKE emcmake)
mark_as_advanced(KYMO_EMCMAKE)
set(web_sources "${PROJECT_SOURCE_DIR}/build/web-sources")
if(NOT KYMO_EMCMAKE)
  kymo_leave_out("the page for browsers" "Emscripten (Debian: emscripten) is not found")
elseif(NOT EXISTS "${web_sources}/complete")
  kymo_leave_out("the page for browsers" "scripts/fetch-web-sources.sh fetches what it needs")
else()
  set(KYMO_HAS_WEB ON)
endif()
if(NOT KYMO_HAS_WEB)
  return()
endif()

# With more than -O1 the links take as long as all compilations, which themselves take twice as long, and the page is no
# quicker: what it waits for is the capture.
set(web_build -DCMAKE_BUILD_TYPE=RelWithDebInfo
  "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -DNDEBUG" "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -DNDEBUG")
include(ExternalProject)
# Joined with a character that does not separate lists.
string(REPLACE ";" "|" web_launcher "${CMAKE_CXX_COMPILER_LAUNCHER}")
ExternalProject_Add(kymo_web
  SOURCE_DIR "${PROJECT_SOURCE_DIR}"
  BINARY_DIR "${KYMO_WEB_BUILD}"
  STAMP_DIR "${KYMO_WEB_BUILD}/stamps"
  TMP_DIR "${KYMO_WEB_BUILD}/tmp"
  LIST_SEPARATOR |
  CONFIGURE_COMMAND "${KYMO_EMCMAKE}" "${CMAKE_COMMAND}" -S <SOURCE_DIR> -B <BINARY_DIR> -G "${CMAKE_GENERATOR}"
    ${web_build}
    "-DCMAKE_C_COMPILER_LAUNCHER=${web_launcher}"
    "-DCMAKE_CXX_COMPILER_LAUNCHER=${web_launcher}"
    "-DKYMO_WEB_SOURCES=${web_sources}"
    "-DKYMO_WEB_PAGE=${KYMO_WEB_PAGE}"
    -DCMAKE_UNITY_BUILD=ON  # a fifth of the time; warnings of single files are the library's builds' to give
    -DCMAKE_UNITY_BUILD_BATCH_SIZE=64
    "-DKYMO_WARNINGS_AS_ERRORS=${KYMO_WARNINGS_AS_ERRORS}"
    "-DKYMO_BUILD_TESTS=${KYMO_BUILD_TESTS}"
    "-DKYMO_BUILD_EXAMPLES=${KYMO_BUILD_EXAMPLES}"
  BUILD_COMMAND "${CMAKE_COMMAND}" --build <BINARY_DIR> --parallel 1  # beside the jobs of the outer build
  BUILD_ALWAYS ON  # the inner build tracks its dependencies itself
  INSTALL_COMMAND "")
