// Imports whose capture does not fit on the disk.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <sys/resource.h>

#include <kymo/import.hpp>

#include "exchange/nvmt/format.hpp"
#include "nvmt_fixture.hpp"
#include "support/temporary_directory.hpp"
#include "vor_fixture.hpp"

namespace kymo::exchange {
namespace {

using kymo::test::TemporaryDirectory;

/// Lets no file grow beyond a size while it lives: to those who write it is a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t size) : former_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &former_);
    const rlimit limit{size, former_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &former_);
    std::signal(SIGXFSZ, former_handler_);
  }

 private:
  void (*former_handler_)(int);
  rlimit former_{};
};

std::string vor_stream() {
  std::string stream = test::header({{"frame_ms", "ms"}, {"x", "W"}});
  for (int i = 0; i < 100'000; ++i) {
    stream += test::frame({1, static_cast<double>(i * 7919 % 100'003)});
  }
  return stream;
}

std::string chrome_trace() {
  std::string trace = "[";
  for (int i = 0; i < 20'000; ++i) {
    trace += R"({"name":"a","ph":"X","dur":1,"ts":)" + std::to_string(i * 10 + i * 7919 % 9) + "},\n";
  }
  return trace + "]";
}

/// Imports with a disk that is full at once, after the first blocks, and not at all.
template <typename Import>
void expect_whole_or_nothing(const std::string& input, const Import& import) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "input", std::ios::binary) << input;
  std::string kept = directory / "kept.kymo";
  kept = import(directory / "input", kept).output;
  const auto size = static_cast<rlim_t>(std::filesystem::file_size(kept));
  for (const rlim_t limit : {rlim_t{0}, rlim_t{100}, size / 2, size - 1}) {
    std::string message;
    try {
      const FullDisk disk(limit);
      import(directory / "input", directory / "cut.kymo");
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    EXPECT_NE(message.find("cut.kymo: File too large; what was written of it is taken away"), std::string::npos)
        << limit << " of " << size << ": " << message;
    EXPECT_FALSE(std::filesystem::exists(directory / "cut.kymo")) << limit;
    // What was there before is another file.
    EXPECT_EQ(std::filesystem::file_size(kept), size);
  }
}

TEST(ImportToAFullDisk, LeavesNothingOfAVorStream) {
  expect_whole_or_nothing(vor_stream(),
                          [](const std::string& from, const std::string& to) { return import_vor(from, to); });
}

TEST(ImportToAFullDisk, LeavesNothingOfAChromeTrace) {
  expect_whole_or_nothing(chrome_trace(),
                          [](const std::string& from, const std::string& to) { return import_chrome_trace(from, to); });
}

TEST(ImportToAFullDisk, LeavesNothingOfAJetsonTrace) {
  const std::string trace = test::encode_nvmt(test::random_trace({.seed = 3, .fast = 9000}));
  expect_whole_or_nothing(trace, [](const std::string& from, const std::string& to) { return import_nvmt(from, to); });
}

}  // namespace
}  // namespace kymo::exchange
