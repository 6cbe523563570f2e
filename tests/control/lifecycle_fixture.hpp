// A program that records in a directory of its own, and what its captures hold afterwards.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <kymo/capture.hpp>

#include "capture/recover/recovery.hpp"
#include "capture/summary/scope_matcher.hpp"
#include "support/child_process.hpp"
#include "support/rounds.hpp"
#include "support/temporary_directory.hpp"

namespace kymo {

namespace fs = std::filesystem;
using test::ChildProcess;

/// How often each name was recorded in a set of captures, scopes still open left out.
using Counts = std::map<std::string, std::uint64_t>;

inline void count_batch(const CaptureReader& capture, const EventBatch& batch,
                        std::map<TrackId, capture::ScopeStack>& stacks, std::map<SiteId, std::string>& names,
                        Counts& counts) {
  for (const SiteDeclaration& site : batch.declarations.sites) {
    names[site.id] = site.name;
  }
  for (const SiteDeclaration& site : capture.declarations().sites) {
    names[site.id] = site.name;
  }
  for (const ScopeRun& run : batch.runs) {
    capture::match(run, stacks[run.track], [&](const capture::ScopeSpan& span) { ++counts[names[span.site]]; });
  }
}

/// Counts what a capture and, where its process is dead, its spool hold.
inline void count_capture(const std::string& path, Counts& counts) {
  CaptureReader capture(path);
  std::map<TrackId, capture::ScopeStack> stacks;
  std::map<SiteId, std::string> names;
  EventBatch batch;
  for (const BlockInfo& block : capture.blocks()) {
    if (block.kind == BlockKind::events && capture.read(block, batch)) {
      count_batch(capture, batch, stacks, names, counts);
    }
  }
  const std::vector<std::string> notes = capture::read_unwritten(
      capture, [&](const EventBatch& unwritten) { count_batch(capture, unwritten, stacks, names, counts); });
  EXPECT_TRUE(notes.empty());
}

/// The options that a sanitizer was given, and one more.
inline std::pair<std::string, std::string> with_option(const char* variable, const std::string& option) {
  const char* const options = std::getenv(variable);
  return {variable, (options != nullptr ? std::string(options) + ":" : std::string()) + option};
}

/// A forked child lacks the threads of its parent, so that LeakSanitizer takes what their stacks held for lost.
inline std::pair<std::string, std::string> without_leak_detection() {
  return with_option("ASAN_OPTIONS", "detect_leaks=0");
}

/// For programs that ThreadSanitizer cannot judge: it takes the parent's threads for those of a child that no fork
/// handler told of, and descriptors that a program closes under others for a mistake.
inline std::pair<std::string, std::string> without_race_detection() {
  return with_option("TSAN_OPTIONS", "report_bugs=0");
}

class LifecycleTest : public ::testing::Test {
 protected:
  /// Runs the program in a mode; its captures go to the directory.
  int run(const std::vector<std::string>& arguments,
          std::vector<std::pair<std::string, std::string>> environment = {}) {
    std::vector<std::string> command{program_};
    command.insert(command.end(), arguments.begin(), arguments.end());
    environment.emplace_back("KYMO_RECORD", captures_ + "/");
    // An emulator may hang where a program ends beside threads of its own that run.
    if (test::has_sanitizer || test::is_emulated) {
      environment.emplace_back("KYMO_SAMPLE", "0");
    }
    ChildProcess program(command, environment, output_);
    return program.wait();
  }

  [[nodiscard]] std::vector<std::string> captures() const {
    std::vector<std::string> paths;
    for (const auto& entry : fs::directory_iterator(captures_)) {
      paths.push_back(entry.path().string());
    }
    return paths;
  }

  [[nodiscard]] Counts counts() const {
    Counts all;
    for (const std::string& path : captures()) {
      count_capture(path, all);
    }
    return all;
  }

  [[nodiscard]] std::string output() const {
    std::ifstream file(output_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  void TearDown() override {
    // The spools of programs that were killed or left by _exit.
    for (const std::string& path : captures()) {
      static_cast<void>(capture::recover(path));
    }
  }

  std::string program_ = LIFECYCLE_PROGRAM;
  test::TemporaryDirectory directory_;
  std::string captures_ = (fs::create_directory(directory_ / "captures"), directory_ / "captures");
  std::string output_ = directory_ / "output";
};

}  // namespace kymo
