// kymo completions: what shells and man know of the command.
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/kymo/completions/completions.hpp"
#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/usage.hpp"

namespace kymo::command {

namespace {

namespace fs = std::filesystem;

struct Shell {
  const char* name;
  std::string (*completions)(const CLI::App& app);
  const char* file;  ///< below the directory of shared data
};
constexpr std::array<Shell, 3> shells{{{"bash", bash_completions, "bash-completion/completions/kymo"},
                                       {"zsh", zsh_completions, "zsh/site-functions/_kymo"},
                                       {"fish", fish_completions, "fish/vendor_completions.d/kymo.fish"}}};

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) {
    throw Failure(fmt::format("{}: cannot be written", path.string()));
  }
}

void write_all(const CLI::App& app, const fs::path& directory) {
  for (const Shell& shell : shells) {
    write(directory / shell.file, shell.completions(app));
  }
  for (const auto& [name, page] : man_pages(app, KYMO_VERSION)) {
    write(directory / "man" / "man1" / (name + ".1"), page);
  }
}

}  // namespace

void add_completions_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  struct Options {
    std::string shell;
    std::string directory;
  };
  auto options = std::make_shared<Options>();
  CLI::App* const command =
      app.add_subcommand("completions", "Prints what a shell needs to complete kymo's command lines");
  CLI::Option* const shell = command->add_option("SHELL", options->shell, "bash, zsh or fish")
                                 ->check(is_one_of({"bash", "zsh", "fish"}, "shell"));
  command
      ->add_option("--install", options->directory,
                   "Write those of all shells, and man pages, below this directory of shared data, as packages do")
      ->option_text("DIR")
      ->excludes(shell);
  command->footer(
      "Packages of kymo bring them along.\n\n"
      "Examples:\n"
      "  kymo completions bash > ~/.local/share/bash-completion/completions/kymo\n"
      "  kymo completions fish > ~/.config/fish/completions/kymo.fish\n"
      "  kymo completions --install ~/.local/share");
  command->callback([options, &app, &exit_code] {
    if (!options->directory.empty()) {
      write_all(app, options->directory);
    } else if (options->shell.empty()) {
      throw CLI::RequiredError("SHELL or --install");
    }
    for (const Shell& known : shells) {
      if (options->shell == known.name) {
        fmt::print("{}", known.completions(app));
      }
    }
    exit_code = to_int(ExitCode::ok);
  });
}

}  // namespace kymo::command
