# A Homebrew formula for Linux; on macOS, kymo compiles but is not tested. Put the sources beside it, or name where they are.
class Kymo < Formula
  desc "Profiler of scopes, metrics and energy, on one time axis"
  homepage "file://#{__dir__}"
  url "file://#{__dir__}/kymo-@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "nlohmann-json" => :build
  depends_on "pkgconf" => :build
  depends_on "protozero" => :build
  depends_on "cpp-httplib"
  depends_on "fmt"
  depends_on "lz4"
  depends_on "zstd"

  # Without the window and the page, which would be built or not by what the machine has.
  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DKYMO_BUILD_PANEL=OFF", "-DKYMO_BUILD_VIEWER=OFF",
           "-DKYMO_BUILD_WEB=OFF", "-DKYMO_BUILD_TESTS=OFF", "-DKYMO_BUILD_EXAMPLES=OFF",
           "-DKYMO_WARNINGS_AS_ERRORS=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/kymo --version")
  end
end
