// Extracts a function's qualified name from __PRETTY_FUNCTION__.
#pragma once

#include <cstddef>
#include <string_view>

namespace kymo::record {

namespace detail_of_function_name {

/// Removes the template arguments that GCC (" [with T = int]") and Clang (" [T = int]") append.
constexpr std::string_view without_template_notes(std::string_view text) noexcept {
  if (!text.empty() && text.back() == ']') {
    const std::size_t notes = text.rfind(" [");
    if (notes != std::string_view::npos) {
      return text.substr(0, notes);
    }
  }
  return text;
}

/// Index of the parenthesis that opens the one closed at `close`; npos if there is none.
constexpr std::size_t find_opening(std::string_view text, std::size_t close) noexcept {
  std::size_t depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    depth += text[i] == ')' ? 1U : 0U;
    if (text[i] == '(' && --depth == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

}  // namespace detail_of_function_name

/// "void ns::Renderer::cull(int) const [with T = int]" becomes "ns::Renderer::cull". Returns a text that it cannot
/// parse unchanged.
constexpr std::string_view short_function_name(std::string_view pretty) noexcept {
  using detail_of_function_name::find_opening;
  std::string_view text = detail_of_function_name::without_template_notes(pretty);
  // GCC's name of a lambda ends in ">": "main()::<lambda(int)>" has no parameter list of its own.
  if (!text.empty() && text.back() != '>') {
    const std::size_t close = text.rfind(')');
    const std::size_t open = close == std::string_view::npos ? close : find_opening(text, close);
    if (open != std::string_view::npos && open > 0) {
      text = text.substr(0, open);
    }
  }
  const std::size_t conversion = text.rfind("operator ");
  std::size_t begin = conversion == std::string_view::npos ? text.size() : conversion;
  // Goes back to the space before the name, skipping spaces inside brackets.
  std::size_t depth = 0;
  while (begin > 0) {
    const char before = text[begin - 1];
    depth += before == ')' || before == '>' || before == '}' ? 1U : 0U;
    if ((before == '(' || before == '<' || before == '{') && depth > 0) {
      --depth;
    } else if (before == ' ' && depth == 0) {
      break;
    }
    --begin;
  }
  text = text.substr(begin);
  return text.empty() ? pretty : text;
}

}  // namespace kymo::record
