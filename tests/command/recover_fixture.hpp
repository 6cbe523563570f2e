// A recorded program that is killed, and what kymo recover and the next recordings make of what it left.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "capture/recover/spool_file.hpp"
#include "capture/write/block_ring.hpp"
#include "command_fixture.hpp"

namespace kymo::test {

namespace fs = std::filesystem;
using capture::SpoolFile;

class Recover : public CommandTest {
 protected:
  /// Leaves a capture whose process was killed, and its spool.
  void kill_program(const std::string& scopes = "3000") const {
    ASSERT_EQ(run_any({RECORDED_PROGRAM, "kill", scopes}, {{"KYMO_RECORD", "run.kymo"}}).status, -SIGKILL);
  }
  [[nodiscard]] std::string capture_path() const { return file_named("run.kymo"); }
  [[nodiscard]] std::string spool_path() const {
    return capture::find_spool_file(CaptureReader(capture_path()).header().spool_id).path;
  }
  [[nodiscard]] std::uint64_t work_count(const std::string& capture) const {
    const auto stats = nlohmann::json::parse(kymo({"stats", "--json", capture}).out);
    for (const auto& site : stats["sites"]) {
      if (site["name"] == "work") {
        return site["count"];
      }
    }
    return 0;
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_.path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  [[nodiscard]] bool has_partial() const {
    const std::vector<std::string> names = files();
    return std::any_of(names.begin(), names.end(),
                       [](const std::string& name) { return name.find(".recovering") != std::string::npos; });
  }
  /// Neither spool nor capture outlives a test.
  void TearDown() override {
    if (fs::exists(capture_path())) {
      const std::string id = CaptureReader(capture_path()).header().spool_id;
      const SpoolFile spool = capture::find_spool_file(id);
      if (spool.state == SpoolFile::State::dead) {
        fs::remove(spool.path);
        fs::remove(capture::block_ring_path(id));
      }
    }
  }
};

}  // namespace kymo::test
