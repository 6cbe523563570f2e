// Shell completions and man pages, from the table of commands and their options.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

namespace kymo::command {

/// Each names every command with its options.
[[nodiscard]] std::string bash_completions(const CLI::App& app);
[[nodiscard]] std::string zsh_completions(const CLI::App& app);
[[nodiscard]] std::string fish_completions(const CLI::App& app);

/// Pages by name: "kymo" and one for each command, "kymo-record".
[[nodiscard]] std::vector<std::pair<std::string, std::string>> man_pages(const CLI::App& app,
                                                                         const std::string& version);

/// In the order of the help.
[[nodiscard]] std::vector<const CLI::App*> subcommands_of(const CLI::App& app);

}  // namespace kymo::command
