// Completions for bash, zsh and fish. After "--" of `record` comes a command, whose words are files.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/kymo/completions/completions.hpp"

namespace kymo::command {

namespace {

/// "-o", "--output".
std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* const option : command.get_options()) {
    for (const std::string& name : option->get_snames()) {
      flags.push_back("-" + name);
    }
    for (const std::string& name : option->get_lnames()) {
      flags.push_back("--" + name);
    }
  }
  return flags;
}

/// For single quotes of a shell: in one line, quotes typographic.
std::string quotable(std::string text) {
  std::string result;
  for (const char character : text) {
    result += character == '\n' ? " " : character == '\'' ? "\xE2\x80\x99" : std::string(1, character);
  }
  return result;
}

std::string zsh_quotable(const std::string& text) {
  std::string result;
  for (const char character : quotable(text)) {
    result += std::string_view("[]:\\").find(character) != std::string_view::npos ? "\\" : "";
    result += character;
  }
  return result;
}

}  // namespace

std::vector<const CLI::App*> subcommands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string bash_completions(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* const command : subcommands_of(app)) {
    names += " " + command->get_name();
    cases += fmt::format("    {}) flags='{}' ;;\n", command->get_name(), fmt::join(flags_of(*command), " "));
  }
  return fmt::format(R"(# bash completion for kymo
_kymo() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} flags
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{} {}' -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _kymo kymo
)",
                     names.substr(1), fmt::join(flags_of(app), " "), cases);
}

std::string zsh_completions(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* const command : subcommands_of(app)) {
    names += fmt::format("    '{}:{}'\n", command->get_name(), zsh_quotable(command->get_description()));
    cases += fmt::format("    {})\n      _arguments \\\n", command->get_name());
    for (const CLI::Option* const option : command->get_options()) {
      const bool takes_value = option->get_type_size() != 0;
      std::vector<std::string> flags;
      for (const std::string& name : option->get_snames()) {
        flags.push_back("-" + name);
      }
      for (const std::string& name : option->get_lnames()) {
        flags.push_back("--" + name);
      }
      for (const std::string& flag : flags) {
        cases += fmt::format("        '*{}[{}]{}' \\\n", flag, zsh_quotable(option->get_description()),
                             takes_value ? ":value:_files" : "");
      }
    }
    cases += "        '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef kymo
_kymo() {{
  local -a commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_kymo "$@"
)",
                     names, cases);
}

std::string fish_completions(const CLI::App& app) {
  std::string result = "# fish completions for kymo\n";
  for (const CLI::App* const command : subcommands_of(app)) {
    const std::string& name = command->get_name();
    result += fmt::format("complete -c kymo -n __fish_use_subcommand -f -a {} -d '{}'\n", name,
                          quotable(command->get_description()));
    for (const CLI::Option* const option : command->get_options()) {
      std::string flags;
      for (const std::string& flag : option->get_snames()) {
        flags += " -s " + flag;
      }
      for (const std::string& flag : option->get_lnames()) {
        flags += " -l " + flag;
      }
      if (!flags.empty()) {
        result += fmt::format("complete -c kymo -n '__fish_seen_subcommand_from {}'{}{} -d '{}'\n", name, flags,
                              option->get_type_size() != 0 ? " -r" : "", quotable(option->get_description()));
      }
    }
  }
  return result;
}

}  // namespace kymo::command
