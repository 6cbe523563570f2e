// The sampled stacks of a timeline as a tree of calls.
#pragma once

#include <cstdint>
#include <string>

#include <kymo/export.hpp>
#include <kymo/timeline.hpp>

namespace kymo::stats {

/// Stacks by their ids, whatever a damaged capture says of them: callers have smaller ids, so that no path is endless.
class KYMO_API StackTree {
 public:
  /// The timeline must outlive this and not be refreshed meanwhile.
  explicit StackTree(const Timeline& timeline) : StackTree(timeline.declarations()) {}
  /// Likewise.
  explicit StackTree(const Declarations& declared) : declared_(declared) {}

  /// Ids of declared stacks are below this. 0 stands for all others: they have no function and no caller.
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(declared_.stacks.size() + 1); }
  [[nodiscard]] std::uint32_t index_of(StackId stack) const { return stack.value() < size() ? stack.value() : 0; }
  [[nodiscard]] std::uint32_t caller_of(std::uint32_t stack) const;
  [[nodiscard]] FunctionId function_of(std::uint32_t stack) const;
  /// The line in the function's source that was found, or that called; 0: not known.
  [[nodiscard]] std::uint32_t line_of(std::uint32_t stack) const;

  /// "draw"; without a name "libm.so.6+0x1f40", "[vdso]", "[unknown]".
  [[nodiscard]] std::string name_of(FunctionId function) const;
  /// The function's address in its file; 0 if there is none.
  [[nodiscard]] std::uint64_t offset_of(FunctionId function) const;
  /// The path of the function's file; empty if there is none.
  [[nodiscard]] std::string module_of(FunctionId function) const;
  /// The path of the function's source; empty if it is not known.
  [[nodiscard]] std::string source_of(FunctionId function) const;
  /// "cart.cpp:31"; empty if the line is not known.
  [[nodiscard]] std::string place_of(std::uint32_t stack) const;

 private:
  [[nodiscard]] const FunctionDeclaration* find(FunctionId function) const;

  const Declarations& declared_;
};

/// Samples in a second of a thread's CPU time, as the observers' facts say; 0: unknown, or not the same everywhere.
[[nodiscard]] std::uint32_t samples_hz(const Timeline& timeline);

}  // namespace kymo::stats
