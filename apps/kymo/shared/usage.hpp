// What a command says of its own command line.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace kymo::command {

/// Prints the help that was asked for, or what is wrong with the command line and which word was meant. Its words
/// cannot steer the terminal. Returns true for help.
bool print_usage(const CLI::App& app, const CLI::ParseError& error);

/// Whether there is such a subcommand; if not, says so and which one was meant.
[[nodiscard]] bool check_command(const CLI::App& app, const std::string& word);

/// Allows one of the words, and lists them otherwise. `noun` says what they are: "format".
[[nodiscard]] CLI::Validator is_one_of(std::vector<std::string> words, const std::string& noun);

/// Allows whole numbers from 1.
[[nodiscard]] CLI::Validator is_count();

/// Allows numbers from 0.
[[nodiscard]] CLI::Validator is_amount();

/// Allows any file but "-": a capture is not a stream.
[[nodiscard]] CLI::Validator is_no_stream();

}  // namespace kymo::command
