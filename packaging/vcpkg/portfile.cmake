# An overlay port: vcpkg install kymo --overlay-ports=FOLDER, with the sources' archive in the folder above it.
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${CMAKE_CURRENT_LIST_DIR}/../kymo-@VERSION@.tar.gz")
vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES analysis KYMO_BUILD_ANALYSIS)
vcpkg_find_acquire_program(PKGCONFIG)
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "dynamic" shared)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${features} -DBUILD_SHARED_LIBS=${shared} -DKYMO_BUILD_BENCH=OFF -DKYMO_BUILD_PANEL=OFF -DKYMO_BUILD_WEB=OFF
    -DKYMO_BUILD_COMMAND=OFF -DKYMO_BUILD_VIEWER=OFF -DKYMO_BUILD_TESTS=OFF -DKYMO_BUILD_EXAMPLES=OFF
    -DKYMO_WARNINGS_AS_ERRORS=OFF "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/kymo)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
