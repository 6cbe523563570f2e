# Cross-compiles for arm64 Linux with Debian's compiler and the arm64 libraries installed next to the machine's own
# (scripts/bootstrap.sh arm64). qemu-user runs the result.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
find_program(KYMO_QEMU_AARCH64 qemu-aarch64 REQUIRED)
mark_as_advanced(KYMO_QEMU_AARCH64)
set(CMAKE_CROSSCOMPILING_EMULATOR "${KYMO_QEMU_AARCH64}")

# pkg-config must not return the machine's own libraries.
set(ENV{PKG_CONFIG_LIBDIR} "/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig")
