// kymo view: starts the viewer, a separate program, so that the kymo command needs neither GLFW nor OpenGL.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include "apps/kymo/shared/arguments.hpp"
#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/warnings.hpp"
#include "capture/read/capture_files.hpp"

namespace kymo::command {

namespace {

/// Next to this program.
std::filesystem::path find_viewer() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    throw Failure(fmt::format("the viewer cannot be looked for: /proc/self/exe: {}", error.message()));
  }
  return self.parent_path() / "kymo-viewer";
}

/// Says which of the captures among the words are damaged or left out, and returns whether any is damaged. The viewer
/// says what it cannot open.
bool say_damage(const std::vector<std::string>& words) {
  std::vector<std::string> paths;
  std::copy_if(words.begin(), words.end(), std::back_inserter(paths), [](const std::string& word) {
    std::error_code error;
    return std::filesystem::path(word).extension() == ".kymo" || std::filesystem::is_directory(word, error);
  });
  bool is_damaged = false;
  for (const std::string& path : paths) {
    if (paths.size() > 1 && capture::is_empty_file(path)) {
      say("warning: {}\n", describe_empty_file(path));
    }
    try {
      const Warnings unread = find_unread(Timeline(path));
      unread.print();
      is_damaged = is_damaged || unread.is_damaged;
    } catch (const std::exception&) {
      continue;
    }
  }
  return is_damaged;
}

[[noreturn]] void start_viewer(const std::vector<std::string>& words) {
  std::vector<std::string> copies = words;
  if (say_damage(words)) {
    // This program is replaced by the viewer, whose exit code tells.
    copies.insert(copies.begin(), "--of-damaged");
  }
  const std::filesystem::path viewer = find_viewer();
  std::string name = "kymo view";
  std::vector<char*> arguments{name.data()};
  for (std::string& word : copies) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  ::execv(viewer.c_str(), arguments.data());
  if (errno == ENOENT) {
    throw Failure(fmt::format(
        "there is no viewer: {} is not here. It is built with kymo where GLFW, OpenGL and Dear ImGui are found (Debian: "
        "libglfw3-dev libegl-dev libgl-dev libstb-dev libimgui-dev)",
        viewer.string()));
  }
  throw Failure(fmt::format("the viewer cannot be started: {}: {}", viewer.string(), std::strerror(errno)));
}

}  // namespace

void add_view_command(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = app.add_subcommand("view", "Show captures in a window: frames, metrics, flame chart");
  command->set_help_flag();
  command->callback([&words = invocation.passed_on] { start_viewer(words); });
}

}  // namespace kymo::command
