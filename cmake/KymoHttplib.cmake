# Finds cpp-httplib for `kymo serve` by pkg-config. Sets KYMO_HAS_HTTPLIB.
set(KYMO_HAS_HTTPLIB OFF)
pkg_check_modules(HTTPLIB IMPORTED_TARGET GLOBAL cpp-httplib)
if(HTTPLIB_FOUND)
  set(KYMO_HAS_HTTPLIB ON)
else()
  kymo_leave_out("kymo serve" "cpp-httplib (Debian: libcpp-httplib-dev) is not found")
endif()
