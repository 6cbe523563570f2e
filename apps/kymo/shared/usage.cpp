// What a command says of its own command line.
#include "apps/kymo/shared/usage.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/kymo/shared/nearest.hpp"
#include "apps/kymo/shared/say.hpp"

namespace kymo::command {

namespace {

/// The subcommand that the command line names, or the command itself.
const CLI::App& innermost(const CLI::App& app) {
  const std::vector<CLI::App*> used = app.get_subcommands();
  return used.empty() ? app : innermost(*used.front());
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

/// What is wrong, as a sentence. Empty: the error says it well enough.
std::string complaint_of(const CLI::App& app, const CLI::ParseError& error) {
  const std::string said = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    // "The following arguments were not expected: --one two", after the command's name in later releases. The library
    // has forgotten them by now.
    constexpr std::string_view before = "not expected: ";
    const std::size_t end = said.find(before);
    const std::string words = end == std::string::npos ? std::string() : said.substr(end + before.size());
    const std::string word = words.substr(0, words.find_first_of(" ="));
    if (word.size() > 1 && word.front() == '-') {
      return fmt::format("there is no option {}{}", word, did_you_mean(word, options_of(app)));
    }
    return word.empty() ? word : fmt::format("{} is one argument too many", word);
  }
  constexpr std::string_view conversion = "Could not convert: ";
  if (said.rfind(conversion, 0) == 0) {
    const std::size_t equals = said.find(" = ");
    if (equals != std::string::npos) {
      return fmt::format("{} takes a number, and {} is none",
                         said.substr(conversion.size(), equals - conversion.size()), said.substr(equals + 3));
    }
  }
  return {};
}

}  // namespace

bool print_usage(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream help;
  std::ostringstream complaint;
  if (app.exit(error, help, complaint) == 0) {
    fmt::print("{}", help.str());
    return true;
  }
  const CLI::App& used = innermost(app);
  std::string what = complaint_of(used, error);
  if (what.empty()) {
    what = error.what();
  }
  say("{}: {}\n`{} --help` lists what it takes.\n", full_name(used), what, full_name(used));
  return false;
}

bool check_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  if (std::find(names.begin(), names.end(), word) != names.end()) {
    return true;
  }
  say("kymo: there is no command {}{}\n`kymo --help` lists the commands.\n", word, did_you_mean(word, names));
  return false;
}

void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* const option : app.get_options()) {
    if (option->get_expected_min() > 0) {
      // A transform comes before the option's own checks, whose complaint would begin with the empty value.
      option->transform(CLI::Validator(
          [](const std::string& text) {
            return text.empty() ? std::string("needs a value, and the one that is given is empty") : std::string();
          },
          ""));
    }
  }
  for (CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    refuse_empty_values(*command);
  }
}

char** find_bare_option(char** begin, char** end) {
  return std::find_if(begin, end, [](const char* word) {
    const std::string_view text(word);
    return text.rfind("--", 0) == 0 && text.size() > 3 && text.find('=') == text.size() - 1;
  });
}

CLI::Validator is_one_of(std::vector<std::string> words, const std::string& noun) {
  return CLI::Validator(
      [words = std::move(words), noun](const std::string& text) {
        return std::find(words.begin(), words.end(), text) != words.end()
                   ? std::string()
                   : fmt::format("{} is no {}{} There are: {}", text, noun,
                                 did_you_mean(text, words).empty() ? "." : did_you_mean(text, words),
                                 fmt::join(words, ", "));
      },
      "");
}

CLI::Validator is_count() {
  return CLI::Validator(
      [](const std::string& text) {
        const auto count = parse_number<std::uint64_t>(text);
        return count && *count != 0 ? std::string() : text + " is no whole number from 1";
      },
      "");
}

CLI::Validator is_whole() {
  return CLI::Validator(
      [](const std::string& text) {
        return parse_number<std::uint64_t>(text) ? std::string() : text + " is no whole number from 0";
      },
      "");
}

CLI::Validator is_amount() {
  return CLI::Validator(
      [](const std::string& text) {
        const auto amount = parse_number<double>(text);
        return amount && *amount >= 0 && std::isfinite(*amount) ? std::string() : text + " is no number from 0";
      },
      "");
}

CLI::Validator is_no_stream() {
  return CLI::Validator(
      [](const std::string& text) {
        return text == "-" ? std::string("a capture is written to a file, and cannot go to standard output")
                           : std::string();
      },
      "");
}

}  // namespace kymo::command
