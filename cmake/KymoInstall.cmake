# Installation, and how other projects find kymo: a CMake package and pkg-config files.
include(CMakePackageConfigHelpers)

set(kymo_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/kymo")

# A build of some targets only, such as the demo's, cannot be installed: says so before it copies anything.
set(kymo_needed)
foreach(target IN ITEMS kymo kymo_sense kymo_gpu kymo_analysis kymo_nvmetrics kymo_bench kymo_panel kymo_command kymo_viewer)
  if(TARGET ${target})
    string(APPEND kymo_needed " \"$<TARGET_FILE:${target}>\"")
  endif()
endforeach()
install(CODE "
  foreach(file IN ITEMS${kymo_needed})
    if(NOT EXISTS \"\${file}\")
      message(FATAL_ERROR \"\${file} is not built yet. Run first: cmake --build ${PROJECT_BINARY_DIR}\")
    endif()
  endforeach()")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/kymo" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# Each component has its own export set, so that kymo-config.cmake loads only the requested ones.
foreach(library IN ITEMS kymo kymo_sense kymo_gpu kymo_analysis kymo_nvmetrics kymo_bench kymo_panel)
  if(TARGET ${library})
    string(REPLACE "_" "-" export "${library}-targets")
    install(TARGETS ${library} EXPORT ${export})
    install(EXPORT ${export} NAMESPACE kymo:: DESTINATION "${kymo_package_dir}")
  endif()
endforeach()
if(TARGET kymo_command)
  file(RELATIVE_PATH kymo_bin_to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set_target_properties(kymo_command PROPERTIES INSTALL_RPATH "$ORIGIN/${kymo_bin_to_lib}")
  install(TARGETS kymo_command)
endif()
if(TARGET kymo_viewer)
  install(TARGETS kymo_viewer)
endif()
if(KYMO_HAS_WEB)
  # `kymo serve` searches for it there, relative to its own folder.
  install(DIRECTORY "${KYMO_WEB_PAGE}/" DESTINATION "${CMAKE_INSTALL_DATADIR}/kymo/web" OPTIONAL)
endif()

# A program with another version is told when it is configured, rather than by its linker.
include("${CMAKE_CURRENT_LIST_DIR}/KymoImGuiVersion.cmake")
set(kymo_built_imgui_version "")
if(TARGET imgui::imgui)
  kymo_imgui_version(imgui::imgui kymo_built_imgui_version)
elseif(TARGET PkgConfig::IMGUI)
  kymo_imgui_version(PkgConfig::IMGUI kymo_built_imgui_version)
endif()
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/kymo-config.cmake.in"
  "${PROJECT_BINARY_DIR}/kymo-config.cmake" INSTALL_DESTINATION "${kymo_package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/kymo-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/kymo-config.cmake"
  "${PROJECT_BINARY_DIR}/kymo-config-version.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/KymoImGuiVersion.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/KymoInstrumentFunctions.cmake"
  DESTINATION "${kymo_package_dir}")

# pkg-config: the prefix is relative to the file, so that an installed tree can be moved.
set(kymo_pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
set(kymo_pc_zlib "")
if(TARGET PkgConfig::ZLIB)
  set(kymo_pc_zlib " zlib")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(kymo_pc_prefix "${CMAKE_INSTALL_PREFIX}")
  set(kymo_pc_libdir "${CMAKE_INSTALL_FULL_LIBDIR}")
  set(kymo_pc_includedir "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
else()
  file(RELATIVE_PATH kymo_pc_up "/prefix/${kymo_pc_dir}" "/prefix")
  set(kymo_pc_prefix "\${pcfiledir}/${kymo_pc_up}")
  string(REGEX REPLACE "/$" "" kymo_pc_prefix "${kymo_pc_prefix}")
  set(kymo_pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(kymo_pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
set(kymo_pc_cflags "")
if(NOT BUILD_SHARED_LIBS)
  set(kymo_pc_cflags " -DKYMO_STATIC")
endif()
# A C compiler as linker, or a link with archives, needs the name of the C++ library that kymo was built with.
set(kymo_pc_cxx_library "")
foreach(library IN ITEMS stdc++ c++)
  if(library IN_LIST CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
    set(kymo_pc_cxx_library "-l${library}")
  endif()
endforeach()
set(kymo_pc_names kymo kymo-gpu kymo-sense)
set(kymo_pc_sense_libs "-lkymo_sense")
if(NOT BUILD_SHARED_LIBS)
  # libkymo calls it through a weak reference, which does not pull it out of an archive.
  string(PREPEND kymo_pc_sense_libs "-Wl,-u,kymo_start_sampling_v1 ")
endif()
if(TARGET kymo_analysis)
  list(APPEND kymo_pc_names kymo-analysis kymo-nvmetrics)
endif()
if(TARGET kymo_bench)
  list(APPEND kymo_pc_names kymo-bench)
endif()
set(kymo_pc_imgui "")
if(TARGET kymo_panel)
  list(APPEND kymo_pc_names kymo-panel)
  if(TARGET PkgConfig::IMGUI)
    set(kymo_pc_imgui ", imgui = ${IMGUI_VERSION}")
  endif()
endif()
foreach(name IN LISTS kymo_pc_names)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${kymo_pc_dir}")
endforeach()
