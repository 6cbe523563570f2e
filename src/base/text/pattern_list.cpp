#include "base/text/pattern_list.hpp"

#include "base/system/system.hpp"
#include "base/text/pattern.hpp"

namespace kymo::base {

namespace {

/// Removes the first pattern from a list and returns it without surrounding spaces.
std::string_view take_pattern(std::string_view& list) noexcept {
  std::string_view pattern = take_item(list);
  pattern.remove_prefix(std::min(pattern.find_first_not_of(' '), pattern.size()));
  return pattern.substr(0, pattern.find_last_not_of(' ') + 1);
}

}  // namespace

bool is_sound_list(std::string_view patterns) noexcept {
  if (patterns.empty() || patterns.back() == ',') {
    return false;
  }
  while (!patterns.empty()) {
    const std::string_view pattern = take_pattern(patterns);
    if (pattern.empty() || pattern == "-") {
      return false;
    }
  }
  return true;
}

bool list_takes(std::string_view patterns, std::string_view name, std::string_view signature) noexcept {
  bool has_include = false;
  bool is_included = false;
  while (!patterns.empty()) {
    std::string_view pattern = take_pattern(patterns);
    const bool is_exclude = pattern.front() == '-';
    pattern.remove_prefix(is_exclude ? 1 : 0);
    const bool is_of_signature = !signature.empty() && pattern.find('(') != std::string_view::npos;
    const bool is_match = fits_pattern(pattern, is_of_signature ? signature : name);
    if (is_exclude && is_match) {
      return false;
    }
    has_include = has_include || !is_exclude;
    is_included = is_included || is_match;
  }
  return is_included || !has_include;
}

bool wants_fact(std::string_view key) noexcept {
  const char* const chosen = trusted_variable("KYMO_FACTS");
  if (chosen == nullptr || *chosen == '\0') {
    return true;
  }
  return std::string_view(chosen) != "none" && is_sound_list(chosen) && list_takes(chosen, key);
}

}  // namespace kymo::base
