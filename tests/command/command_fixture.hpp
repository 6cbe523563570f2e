// Runs the kymo command as users do, and makes captures for it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "support/child_process.hpp"
#include "support/rounds.hpp"
#include "support/temporary_directory.hpp"
#include "timeline/recording_model.hpp"

namespace kymo::test {

struct CommandResult {
  int status = 0;  ///< minus the signal's number where one ended it
  std::string out;
  std::string err;
};

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// What keeps a shell busy while every tier of the sampler takes samples; an emulated one begins later.
inline std::string busy_loop() {
  return std::string("i=0; while [ $i -lt ") + (is_emulated ? "3000000" : "100000") + " ]; do i=$((i+1)); done";
}

/// The number of columns of the widest line, without escape sequences.
inline std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else {
      width = text[i] == '\n' ? 0 : width + ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U ? 1 : 0);
      widest = std::max(widest, width);
    }
  }
  return widest;
}

using Environment = std::vector<std::pair<std::string, std::string>>;

/// A directory, and the command run in it.
class CommandTest : public ::testing::Test {
 protected:
  /// The words of a shell command that runs `command` with its output in files of the directory.
  [[nodiscard]] std::vector<std::string> shell(const std::vector<std::string>& command,
                                               const std::string& redirection = {}) const {
    std::vector<std::string> words{
        "/bin/sh", "-c",
        "cd \"$0\" && unset KYMO_RECORD KYMO_TRACE KYMO_KEEP KYMO_BUFFER && . ./environment && exec \"$@\" " +
            (redirection.empty() ? std::string(">out 2>err") : redirection),
        directory_.path().string()};
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }

  [[nodiscard]] std::vector<std::string> kymo_words(const std::vector<std::string>& arguments) const {
    std::vector<std::string> command{KYMO_COMMAND};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
  }

  void set_environment(const Environment& environment) const {
    std::ofstream file(file_named("environment"));
    for (const auto& [name, value] : environment) {
      file << "export " << name << "='" << value << "'\n";
    }
  }

  CommandResult run_any(const std::vector<std::string>& command, const Environment& environment = {},
                        const std::string& redirection = {}) const {
    set_environment(environment);
    ChildProcess process(shell(command, redirection));
    CommandResult result;
    result.status = process.wait();
    result.out = read_text(file_named("out"));
    result.err = read_text(file_named("err"));
    return result;
  }

  CommandResult kymo(const std::vector<std::string>& arguments, const Environment& environment = {},
                     const std::string& redirection = {}) const {
    return run_any(kymo_words(arguments), environment, redirection);
  }

  /// What the command writes to a terminal of that many columns, with colours unless the environment forbids them.
  std::string on_terminal(const std::vector<std::string>& arguments, std::size_t columns,
                          Environment environment = {}) const {
    const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) {
      ADD_FAILURE() << "there are no pseudo-terminals";
      return {};
    }
    const std::string name = ::ptsname(terminal);
    int program_side = ::open(name.c_str(), O_RDWR | O_NOCTTY);
    termios mode{};
    ::tcgetattr(program_side, &mode);
    ::cfmakeraw(&mode);
    ::tcsetattr(program_side, TCSANOW, &mode);
    winsize size{};
    size.ws_row = 50;
    size.ws_col = static_cast<unsigned short>(columns);
    ::ioctl(program_side, TIOCSWINSZ, &size);
    std::string shown;
    std::thread reader([terminal, &shown] {
      char buffer[4096];
      for (ssize_t count = 0; (count = ::read(terminal, buffer, sizeof(buffer))) > 0;) {
        shown.append(buffer, static_cast<std::size_t>(count));
      }
    });
    environment.insert(environment.end(), {{"TERM", "xterm"}, {"LC_ALL", "C.UTF-8"}});
    const CommandResult result = kymo(arguments, environment, ">" + name + " 2>err");
    EXPECT_EQ(result.status, 0) << result.err;
    ::close(program_side);
    reader.join();
    ::close(terminal);
    return shown;
  }

  [[nodiscard]] std::string file_named(const std::string& name) const { return directory_ / name; }

  /// Waits for a file to have something in it, and returns that.
  [[nodiscard]] std::string wait_for(const std::string& name) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline) {
      if (const std::string text = read_text(file_named(name)); !text.empty()) {
        return text;
      }
      std::this_thread::yield();
    }
    throw std::runtime_error(name + " did not come");
  }

  /// A capture of a made-up recording.
  std::string make_capture(const std::string& name, ModelOptions options = {.seed = 1, .steps = 500},
                           bool finish = true) const {
    return RecordingModel(options).write_file(file_named(name), finish);
  }

  TemporaryDirectory directory_;
};

}  // namespace kymo::test
