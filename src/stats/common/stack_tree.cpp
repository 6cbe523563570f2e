#include "stats/common/stack_tree.hpp"

#include <array>
#include <charconv>
#include <cstdio>

namespace kymo::stats {

std::uint32_t StackTree::caller_of(std::uint32_t stack) const {
  const std::uint32_t caller = stack != 0 ? declared_.stacks[stack - std::size_t{1}].caller.value() : 0;
  return caller < stack ? caller : 0;
}

FunctionId StackTree::function_of(std::uint32_t stack) const {
  return stack != 0 ? declared_.stacks[stack - std::size_t{1}].function : FunctionId{};
}

std::uint32_t StackTree::line_of(std::uint32_t stack) const {
  return stack != 0 ? declared_.stacks[stack - std::size_t{1}].line : 0;
}

const FunctionDeclaration* StackTree::find(FunctionId function) const {
  return function.index() < declared_.functions.size() ? &declared_.functions[function.index()] : nullptr;
}

std::string StackTree::module_of(FunctionId function) const {
  const FunctionDeclaration* const declaration = find(function);
  return declaration != nullptr && declaration->module.index() < declared_.modules.size()
             ? declared_.modules[declaration->module.index()].path
             : std::string();
}

std::string StackTree::source_of(FunctionId function) const {
  const FunctionDeclaration* const declaration = find(function);
  return declaration != nullptr ? declaration->file : std::string();
}

std::string StackTree::place_of(std::uint32_t stack) const {
  const std::uint32_t line = line_of(stack);
  const std::string path = source_of(function_of(stack));
  return line != 0 ? path.substr(path.rfind('/') + 1) + ':' + std::to_string(line) : std::string();
}

std::uint64_t StackTree::offset_of(FunctionId function) const {
  const FunctionDeclaration* const declaration = find(function);
  return declaration != nullptr ? declaration->module_offset : 0;
}

std::string StackTree::name_of(FunctionId function) const {
  const FunctionDeclaration* const declaration = find(function);
  if (declaration != nullptr && !declaration->name.empty()) {
    return declaration->name;
  }
  const std::string path = module_of(function);
  if (path.empty()) {
    return "[unknown]";
  }
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.rfind('[', 0) != 0) {
    std::array<char, 24> offset{};
    std::snprintf(offset.data(), offset.size(), "+0x%llx", static_cast<unsigned long long>(declaration->module_offset));
    name += offset.data();
  }
  return name;
}

std::uint32_t samples_hz(const Timeline& timeline) {
  std::uint32_t common = 0;
  for (const InfoDeclaration& info : timeline.declarations().infos) {
    if (info.key != "stacks.hz") {
      continue;
    }
    std::uint32_t hz = 0;
    const char* const end = info.value.data() + info.value.size();
    const auto [stop, error] = std::from_chars(info.value.data(), end, hz);
    if (error != std::errc{} || stop != end || (common != 0 && common != hz)) {
      return 0;
    }
    common = hz;
  }
  return common;
}

}  // namespace kymo::stats
