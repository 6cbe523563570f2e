// kymo setup-jetson: lets users read the load of a Jetson board's memory controller, which kernels show only to root.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <kymo/board.hpp>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/units.hpp"
#include "base/system/file.hpp"

namespace kymo::command {

namespace {

namespace fs = std::filesystem;

/// The mount point of debugfs. All users may enter the directories above it.
constexpr std::string_view debugfs = "/sys/kernel/debug";
constexpr std::string_view unit_directory = "/etc/systemd/system";
constexpr std::string_view unit_name = "kymo-jetson.service";
/// Records the previous modes until the machine restarts, as long as the changes last: "0700 /sys/...".
constexpr std::string_view record_path = "/run/kymo-setup-jetson";

struct SetupOptions {
  std::string root = "/";
  bool persists = false;
  bool undoes = false;
};

/// A file or directory to be opened to users.
struct Target {
  std::string path;  // without the root
  bool is_directory = false;

  /// Passing through a directory does not require listing it.
  [[nodiscard]] mode_t bits() const { return is_directory ? S_IXUSR | S_IXGRP | S_IXOTH : S_IRUSR | S_IRGRP | S_IROTH; }
  [[nodiscard]] std::string_view right() const { return is_directory ? "pass through" : "read"; }
};

[[noreturn]] void fail(std::string_view what, const std::string& path, int error) {
  const std::string_view advice =
      error == EACCES || error == EPERM ? "; run it as root: sudo kymo setup-jetson" : std::string_view();
  throw Failure(fmt::format("{} {}: {}{}", what, printable(path), std::strerror(error), advice));
}

/// A target below a root, opened without following links, so nobody can redirect this command to another file.
class OpenTarget {
 public:
  OpenTarget(const std::string& root, const Target& target) : path_(root + target.path) {
    file_ = base::FileDescriptor(::open(root.empty() ? "/" : root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    std::string_view rest = target.path;
    while (file_ && !rest.empty()) {
      rest.remove_prefix(1);
      const std::string name(rest.substr(0, rest.find('/')));
      rest.remove_prefix(name.size());
      file_ = base::FileDescriptor(::openat(file_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    }
    if (!file_) {
      error_ = errno;
      return;
    }
    struct stat status {};
    const bool is_known = ::fstat(file_.get(), &status) == 0;
    if (!is_known || !(target.is_directory ? S_ISDIR(status.st_mode) : S_ISREG(status.st_mode))) {
      error_ = is_known ? ELOOP : errno;
      return;
    }
    mode_ = status.st_mode & 07777;
  }

  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] mode_t mode() const { return mode_; }
  void set_mode(mode_t mode) {
    if (::chmod(fmt::format("/proc/self/fd/{}", file_.get()).c_str(), mode) != 0) {
      fail("cannot change the mode of", path_, errno);
    }
    mode_ = mode;
  }

 private:
  std::string path_;
  base::FileDescriptor file_;
  mode_t mode_ = 0;
  int error_ = 0;
};

std::string without_root(const std::string& path, const std::string& root) {
  return path.substr(root.size());
}

/// The memory controller's files and the directories above them, outermost first.
std::vector<Target> find_targets(const std::string& root) {
  BoardConfig board;
  try {
    board = detect_board(root);
  } catch (const std::runtime_error& unknown) {
    throw Failure(unknown.what());
  }
  if (board.emc_actmon_path.empty()) {
    throw Failure(fmt::format("this is no Jetson board: there is no {}/proc/device-tree/compatible", printable(root)));
  }
  const std::string actmon = without_root(board.emc_actmon_path, root);
  const std::vector<std::string> files{actmon, actmon.substr(0, actmon.rfind('/') + 1) + "sample_period_usec",
                                       without_root(board.emc_clk_rate_path, root)};
  std::vector<Target> targets;
  const auto add = [&targets](Target target) {
    const bool is_known =
        std::any_of(targets.begin(), targets.end(), [&](const Target& other) { return other.path == target.path; });
    if (!is_known) {
      targets.push_back(std::move(target));
    }
  };
  for (const std::string& file : files) {
    for (std::size_t end = debugfs.size(); file.rfind(debugfs, 0) == 0 && end != std::string::npos;
         end = file.find('/', end + 1)) {
      add({file.substr(0, end), true});
    }
    add({file, false});
  }
  return targets;
}

/// The recorded mode of a path, if any.
std::optional<mode_t> recorded_mode(const std::string& record, const std::string& path) {
  std::size_t at = 0;
  while (at < record.size()) {
    const std::size_t end = std::min(record.find('\n', at), record.size());
    const std::string_view line = std::string_view(record).substr(at, end - at);
    at = end + 1;
    constexpr std::size_t mode_digits = 4;
    if (line.size() <= mode_digits || line[mode_digits] != ' ' || line.substr(mode_digits + 1) != path) {
      continue;
    }
    mode_t mode = 0;
    for (const char digit : line.substr(0, mode_digits)) {
      if (digit < '0' || digit > '7') {
        return std::nullopt;
      }
      mode = mode * 8 + static_cast<mode_t>(digit - '0');
    }
    return mode;
  }
  return std::nullopt;
}

void write_file(const std::string& path, std::string_view text, mode_t mode) {
  const base::FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!file || !base::write_fully(file.get(), std::as_bytes(std::span(text.data(), text.size())))) {
    fail("cannot write", path, errno);
  }
}

void make_directories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    fail("cannot create", path.string(), error.value());
  }
}

void open_targets(const std::string& root, const std::vector<Target>& targets) {
  const std::string record_file = root + std::string(record_path);
  std::string record = base::read_small_file(record_file);
  // Opens all before changing any, because only root can see behind closed directories.
  for (const Target& target : targets) {
    const OpenTarget opened(root, target);
    if (opened.error() == ENOENT) {
      throw Failure(
          fmt::format("there is no {}{}; debugfs is to be mounted (mount -t debugfs none {}), and the kernel "
                      "has to be NVIDIA's of JetPack 6",
                      printable(root), target.path, debugfs));
    }
    if (opened.error() != 0) {
      fail("cannot open", root + target.path, opened.error());
    }
  }
  for (const Target& target : targets) {
    OpenTarget opened(root, target);
    if (opened.error() != 0) {
      fail("cannot open", root + target.path, opened.error());
    }
    const mode_t before = opened.mode();
    const mode_t after = before | target.bits();
    if (before == after) {
      fmt::print("{}{}: {:04o} already lets every user {} it\n", printable(root), target.path, before, target.right());
      continue;
    }
    // Recorded before the change, so that it can be undone.
    if (!recorded_mode(record, target.path)) {
      make_directories(fs::path(record_file).parent_path());
      record += fmt::format("{:04o} {}\n", before, target.path);
      write_file(record_file, record, 0644);
    }
    opened.set_mode(after);
    fmt::print("{}{}: {:04o} -> {:04o}: every user may {} it\n", printable(root), target.path, before, after,
               target.right());
  }
}

/// A unit that repeats open_targets() at each start with the system's own chmod: root runs none of a user's files.
std::string unit_text(const std::vector<Target>& targets) {
  std::string directories;
  std::string files;
  for (const Target& target : targets) {
    (target.is_directory ? directories : files) += " " + target.path;
  }
  return fmt::format(
      "# Written by kymo setup-jetson --persist; kymo setup-jetson --undo removes it.\n"
      "[Unit]\n"
      "Description=Let users read the load of the memory controller\n"
      "RequiresMountsFor={}\n"
      "After=sys-kernel-debug.mount\n"
      "\n"
      "[Service]\n"
      "Type=oneshot\n"
      "RemainAfterExit=yes\n"
      "ExecStart=/bin/chmod a+x{}\n"
      "ExecStart=/bin/chmod a+r{}\n"
      "\n"
      "[Install]\n"
      "WantedBy=multi-user.target\n",
      debugfs, directories, files);
}

std::string unit_path(const std::string& root) {
  return fmt::format("{}{}/{}", root, unit_directory, unit_name);
}

std::string unit_link(const std::string& root) {
  return fmt::format("{}{}/multi-user.target.wants/{}", root, unit_directory, unit_name);
}

void persist(const std::string& root, const std::vector<Target>& targets) {
  const std::string unit = unit_path(root);
  const std::string link = unit_link(root);
  make_directories(fs::path(link).parent_path());
  write_file(unit, unit_text(targets), 0644);
  fmt::print("{}: written; it does the same at each start\n", printable(unit));
  std::error_code error;
  fs::remove(link, error);
  fs::create_symlink(fmt::format("../{}", unit_name), link, error);
  if (error) {
    fail("cannot link", link, error.value());
  }
  fmt::print("{}: linked, so that systemd starts it\n", printable(link));
}

/// Returns whether there was a file to delete.
bool remove_file(const std::string& path) {
  std::error_code error;
  const bool was_there = fs::remove(path, error);
  if (error) {
    fail("cannot remove", path, error.value());
  }
  if (was_there) {
    fmt::print("{}: removed\n", printable(path));
  }
  return was_there;
}

/// Restores the recorded modes. Without a record (a restart deleted it, and a unit opened the files again), closes only
/// debugfs itself, which is the kernel's default and blocks everything below it.
bool close_targets(const std::string& root, std::vector<Target> targets, bool had_unit) {
  const std::string record_file = root + std::string(record_path);
  const std::string record = base::read_small_file(record_file);
  bool did_something = false;
  std::reverse(targets.begin(), targets.end());
  for (const Target& target : targets) {
    std::optional<mode_t> before = recorded_mode(record, target.path);
    OpenTarget opened(root, target);
    if (opened.error() == ENOENT) {
      continue;
    }
    if (opened.error() != 0) {
      fail("cannot open", root + target.path, opened.error());
    }
    if (!before && record.empty() && had_unit && target.path == debugfs) {
      before = S_IRWXU;
    }
    if (before && *before != opened.mode()) {
      const mode_t opened_mode = opened.mode();
      opened.set_mode(*before);
      fmt::print("{}{}: {:04o} -> {:04o}\n", printable(root), target.path, opened_mode, *before);
      did_something = true;
    }
  }
  if (!record.empty()) {
    did_something = remove_file(record_file) || did_something;
  }
  return did_something;
}

int run(const SetupOptions& options) {
  std::string root = options.root;
  while (!root.empty() && root.back() == '/') {
    root.pop_back();
  }
  const std::vector<Target> targets = find_targets(root);
  if (root.empty() && ::geteuid() != 0) {
    throw Failure(fmt::format("only root can change who reads files below {}: sudo kymo setup-jetson", debugfs));
  }
  if (options.undoes) {
    const bool had_link = remove_file(unit_link(root));
    const bool had_unit = remove_file(unit_path(root)) || had_link;
    if (!close_targets(root, targets, had_unit) && !had_unit) {
      fmt::print("there is nothing to take back\n");
    }
    return to_int(ExitCode::ok);
  }
  open_targets(root, targets);
  if (options.persists) {
    persist(root, targets);
  } else {
    fmt::print("until the machine restarts; with --persist, after that too\n");
  }
  return to_int(ExitCode::ok);
}

}  // namespace

void add_setup_jetson_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  auto options = std::make_shared<SetupOptions>();
  CLI::App* const command = app.add_subcommand(
      "setup-jetson", "Lets every user of a Jetson board read the load of its memory controller (emc_util)");
  CLI::Option* const persist_option =
      command->add_flag("--persist", options->persists, "Do so at each start, by a unit of systemd");
  command->add_flag("--undo", options->undoes, "Take back what was done, the unit too")->excludes(persist_option);
  command->add_option("--root", options->root, "Where the machine's files lie (/)")->option_text("DIR");
  command->footer(
      "The load is in three files of debugfs, which kernels show to root only:\n"
      "  /sys/kernel/debug/cactmon/mc_all\n"
      "  /sys/kernel/debug/cactmon/sample_period_usec\n"
      "  /sys/kernel/debug/clk/emc/clk_rate\n"
      "This gives every user the right to read these (a+r) and to pass through the directories above them (a+x), not\n"
      "to list those and not to write. Mind that debugfs is one tree behind one door: whatever else lies in it and has\n"
      "a mode of its own that lets users read it can then be read by who knows its path. On a board that other people\n"
      "log in to, record as root instead. Each change is printed; --undo restores the modes as they were.\n\n"
      "Examples:\n"
      "  sudo kymo setup-jetson\n"
      "  sudo kymo setup-jetson --persist\n"
      "  sudo kymo setup-jetson --undo");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace kymo::command
