// Man pages.
#include <cctype>

#include <fmt/format.h>

#include "apps/kymo/completions/completions.hpp"

namespace kymo::command {

namespace {

/// Text for roff: hyphens as on a command line, and no line that begins like a request.
std::string roff(const std::string& text) {
  std::string result;
  bool is_first = true;
  for (const char character : text) {
    if (is_first && (character == '.' || character == '\'')) {
      result += "\\&";
    }
    if (character == '\\') {
      result += "\\e";
    } else if (character == '-') {
      result += "\\-";
    } else {
      result += character;
    }
    is_first = character == '\n';
  }
  return result;
}

std::string heading(const std::string& name, const std::string& version, const std::string& what) {
  std::string title = name;
  for (char& character : title) {
    character = static_cast<char>(std::toupper(static_cast<unsigned char>(character)));
  }
  return fmt::format(".TH {} 1 \"\" \"kymo {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n", roff(title), version,
                     roff(name), roff(what));
}

std::string words_of(const CLI::Option& option) {
  std::string words;
  for (const std::string& name : option.get_snames()) {
    words += (words.empty() ? "-" : ", -") + name;
  }
  for (const std::string& name : option.get_lnames()) {
    words += (words.empty() ? "--" : ", --") + name;
  }
  if (words.empty()) {
    return option.get_name();
  }
  return option.get_option_text().empty() ? words : words + " " + option.get_option_text();
}

/// Examples and explanations as they stand in the help.
std::string verbatim(const std::string& text) {
  return text.empty() ? text : ".SH NOTES\n.nf\n" + roff(text) + "\n.fi\n";
}

std::string page_of(const CLI::App& command, const std::string& version) {
  std::string page = heading("kymo-" + command.get_name(), version, command.get_description());
  std::string places;
  std::string options;
  for (const CLI::Option* const option : command.get_options()) {
    options += fmt::format(".TP\n.B {}\n{}\n", roff(words_of(*option)), roff(option->get_description()));
    if (option->get_positional()) {
      places += " " + option->get_name();
    }
  }
  page += fmt::format(".SH SYNOPSIS\n.B kymo {}\n[options]{}\n.SH OPTIONS\n{}", roff(command.get_name()), roff(places),
                      options);
  return page + verbatim(command.get_footer()) + ".SH SEE ALSO\n.BR kymo (1)\n";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> man_pages(const CLI::App& app, const std::string& version) {
  std::string page = heading("kymo", version, app.get_description());
  page += ".SH SYNOPSIS\n.B kymo\ncommand [options] ...\n.SH COMMANDS\n";
  std::vector<std::pair<std::string, std::string>> pages(1);
  for (const CLI::App* const command : subcommands_of(app)) {
    const std::string name = "kymo-" + command->get_name();
    page += fmt::format(".TP\n.BR {} (1)\n{}\n", roff(name), roff(command->get_description()));
    pages.emplace_back(name, page_of(*command, version));
  }
  pages.front() = {"kymo", page + verbatim(app.get_footer())};
  return pages;
}

}  // namespace kymo::command
