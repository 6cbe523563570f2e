// What stands beside a capture.
#include "beside.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/output/replacing_file.hpp"

namespace kymo::viewer {

namespace {

void replace_all(std::string& text, const std::string& part, const std::string& by) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + by.size())) {
    text.replace(at, part.size(), by);
  }
}

/// Replaces a file that begins with a line that says what it is.
void write_marked(const std::string& path, std::string_view mark, const std::string& text) {
  base::replace_file(path, {mark, false, {}}, [&](base::OutputFile file) {
    file.buffer() = mark;
    file.buffer() += text;
    file.close();
  });
}

}  // namespace

std::string notes_path(const std::vector<std::string>& captures) {
  if (captures.empty()) {
    return {};
  }
  std::error_code error;
  const std::filesystem::path first(captures.front());
  return std::filesystem::is_directory(first, error) ? (first / "kymo.notes").string() : first.string() + ".notes";
}

std::string read_small_file(const std::string& path) {
  constexpr std::uintmax_t most_bytes = std::uintmax_t{4} << 20U;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) || std::filesystem::file_size(path, error) > most_bytes || error) {
    return {};
  }
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string arrangement_path(const std::string& folder, const std::string& command_line) {
  std::istringstream words(command_line);
  std::string word;
  words >> word;
  std::string name = std::filesystem::path(word).filename().string();
  if (name.compare(0, 6, "python") == 0 && words >> word) {
    name += '-' + std::filesystem::path(word).filename().string();
  }
  constexpr std::size_t most_bytes = 100;
  name.resize(std::min(name.size(), most_bytes));
  // The capture says what the program is called: nothing of it may be a folder, or hidden.
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char byte) { return std::isalnum(byte) == 0 && byte != '-' && byte != '.'; }, '_');
  return folder.empty() || name.empty() ? std::string() : folder + "/rows-" + name + ".txt";
}

void write_notes(const std::string& path, const std::string& notes) {
  write_marked(path, "# kymo notes: start and end in ns since the start of the recording\n", notes);
}

void write_arrangement(const std::string& path, const std::string& arrangement) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  write_marked(path, "# kymo rows: how kymo view arranges them\n", arrangement);
}

std::vector<std::string> editor_words(const std::string& command, const std::string& file, std::uint32_t line) {
  std::vector<std::string> words;
  std::istringstream in(command);
  for (std::string word; in >> word;) {
    words.push_back(word);
  }
  std::error_code error;
  if (words.empty() || !std::filesystem::is_regular_file(file, error)) {
    return {};
  }
  const std::string path = std::filesystem::absolute(file, error).string();
  const bool has_file = command.find("%f") != std::string::npos;
  for (std::string& word : words) {
    replace_all(word, "%l", std::to_string(line));
    replace_all(word, "%f", path);
  }
  if (!has_file) {
    words.push_back(path);
  }
  return words;
}

void start_program(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  while (waitpid(-1, nullptr, WNOHANG) > 0) {  // those started before that have ended
  }
  pid_t started = 0;
  const int error = arguments.front() == nullptr
                        ? EINVAL
                        : posix_spawnp(&started, arguments.front(), nullptr, nullptr, arguments.data(), environ);
  if (error != 0) {
    throw std::runtime_error("the editor could not be started: " + std::string(std::strerror(error)));
  }
}

}  // namespace kymo::viewer
