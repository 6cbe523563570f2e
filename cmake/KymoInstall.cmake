# What `cmake --install` puts where, and how other projects find it: a CMake package and pkg-config files.
include(CMakePackageConfigHelpers)

set(kymo_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/kymo")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/kymo" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# Each component has an export set of its own, so that kymo-config.cmake loads only what was asked for.
install(TARGETS kymo EXPORT kymo-targets)
install(EXPORT kymo-targets NAMESPACE kymo:: DESTINATION "${kymo_package_dir}")
install(TARGETS kymo_sense EXPORT kymo-sense-targets)
install(EXPORT kymo-sense-targets NAMESPACE kymo:: DESTINATION "${kymo_package_dir}")
if(TARGET kymo_analysis)
  install(TARGETS kymo_analysis EXPORT kymo-analysis-targets)
  install(EXPORT kymo-analysis-targets NAMESPACE kymo:: DESTINATION "${kymo_package_dir}")
  install(TARGETS kymo_nvmetrics EXPORT kymo-nvmetrics-targets)
  install(EXPORT kymo-nvmetrics-targets NAMESPACE kymo:: DESTINATION "${kymo_package_dir}")
endif()
if(TARGET kymo_bench)
  install(TARGETS kymo_bench EXPORT kymo-bench-targets)
  install(EXPORT kymo-bench-targets NAMESPACE kymo:: DESTINATION "${kymo_package_dir}")
endif()
if(TARGET kymo_command)
  file(RELATIVE_PATH kymo_bin_to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set_target_properties(kymo_command PROPERTIES INSTALL_RPATH "$ORIGIN/${kymo_bin_to_lib}")
  install(TARGETS kymo_command)
endif()

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/kymo-config.cmake.in"
  "${PROJECT_BINARY_DIR}/kymo-config.cmake" INSTALL_DESTINATION "${kymo_package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/kymo-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/kymo-config.cmake"
  "${PROJECT_BINARY_DIR}/kymo-config-version.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/KymoInstrumentFunctions.cmake"
  DESTINATION "${kymo_package_dir}")

# pkg-config: the prefix is taken from where the file lies, so that an installed tree can be moved.
set(kymo_pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
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
# A linker driven by a C compiler, or one given archives, must be told of the C++ library that kymo was built against.
set(kymo_pc_cxx_library "")
foreach(library IN ITEMS stdc++ c++)
  if(library IN_LIST CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
    set(kymo_pc_cxx_library "-l${library}")
  endif()
endforeach()
set(kymo_pc_names kymo kymo-sense)
set(kymo_pc_sense_libs "-lkymo_sense")
if(NOT BUILD_SHARED_LIBS)
  # libkymo calls it through a weak reference, which pulls nothing out of an archive.
  string(PREPEND kymo_pc_sense_libs "-Wl,-u,kymo_start_sampling_v1 ")
endif()
if(TARGET kymo_analysis)
  list(APPEND kymo_pc_names kymo-analysis kymo-nvmetrics)
endif()
if(TARGET kymo_bench)
  list(APPEND kymo_pc_names kymo-bench)
endif()
foreach(name IN LISTS kymo_pc_names)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${kymo_pc_dir}")
endforeach()
