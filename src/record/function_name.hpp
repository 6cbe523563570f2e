// The qualified name of a function out of what __PRETTY_FUNCTION__ says of it.
#pragma once

#include <cstddef>
#include <string_view>

namespace kymo::record {

namespace detail_of_function_name {

/// Without what GCC (" [with T = int]") and Clang (" [T = int]") say of template arguments.
constexpr std::string_view without_template_notes(std::string_view text) noexcept {
  if (!text.empty() && text.back() == ']') {
    const std::size_t notes = text.rfind(" [");
    if (notes != std::string_view::npos) {
      return text.substr(0, notes);
    }
  }
  return text;
}

/// Where the parenthesis opens that the one at `close` closes; npos where there is none.
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

/// "void ns::Renderer::cull(int) const [with T = int]" is "ns::Renderer::cull". What it cannot make out it returns
/// whole.
constexpr std::string_view short_function_name(std::string_view pretty) noexcept {
  using detail_of_function_name::find_opening;
  std::string_view text = detail_of_function_name::without_template_notes(pretty);
  // A lambda of GCC ends in ">": "main()::<lambda(int)>" has no parameter list of its own.
  if (!text.empty() && text.back() != '>') {
    const std::size_t close = text.rfind(')');
    const std::size_t open = close == std::string_view::npos ? close : find_opening(text, close);
    if (open != std::string_view::npos && open > 0) {
      text = text.substr(0, open);
    }
  }
  const std::size_t conversion = text.rfind("operator ");
  std::size_t begin = conversion == std::string_view::npos ? text.size() : conversion;
  // Back to the space before the name, over those inside of brackets.
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
