// What a command says of its own command line.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/kymo/shared/ranges.hpp"

namespace kymo::command {

/// Prints the help that was asked for, or what is wrong with the command line and which word was meant. Its words
/// cannot steer the terminal. Returns true for help.
bool print_usage(const CLI::App& app, const CLI::ParseError& error);

/// Whether there is such a subcommand; if not, says so and which one was meant.
[[nodiscard]] bool check_command(const CLI::App& app, const std::string& word);

/// Refuses "" for all options of a command and of its subcommands. The parser would take an empty value, such as that
/// of a variable that a script did not set, for no value, and numbers for 0.
void refuse_empty_values(CLI::App& app);

/// The first word that is "--option=", which the parser takes for the option alone; `end` if there is none.
[[nodiscard]] char** find_bare_option(char** begin, char** end);

/// Allows one of the words, and lists them otherwise. `noun` says what they are: "format".
[[nodiscard]] CLI::Validator is_one_of(std::vector<std::string> words, const std::string& noun);

/// Allows whole numbers from 1. Without it the parser takes -1 for the greatest number there is.
[[nodiscard]] CLI::Validator is_count();

/// Allows whole numbers from 0.
[[nodiscard]] CLI::Validator is_whole();

/// Allows finite numbers from 0.
[[nodiscard]] CLI::Validator is_amount();

/// Allows numbers from `low` to `high`. Unlike CLI::Range it refuses "nan", which no comparison excludes.
template <typename Number>
[[nodiscard]] CLI::Validator is_between(Number low, Number high) {
  return CLI::Validator(
      [low, high](const std::string& text) {
        const auto number = parse_number<Number>(text);
        return number && *number >= low && *number <= high
                   ? std::string()
                   : fmt::format("{} is no {} from {} to {}", text,
                                 std::is_integral_v<Number> ? "whole number" : "number", low, high);
      },
      "");
}

/// Allows any file but "-": a capture is not a stream.
[[nodiscard]] CLI::Validator is_no_stream();

}  // namespace kymo::command
