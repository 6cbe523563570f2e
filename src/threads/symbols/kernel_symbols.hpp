// The kernel's functions, from /proc/kallsyms.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace kymo::threads {

/// Empty where the kernel hides its addresses (kernel.kptr_restrict). About 10 MB and 100 ms for 200,000 symbols.
class KernelSymbols {
 public:
  /// `meanwhile`, if any, is called every few milliseconds.
  explicit KernelSymbols(const std::string& path = "/proc/kallsyms", const std::function<void()>& meanwhile = {});

  /// The function at an address, with its first byte; null if there is none.
  [[nodiscard]] const std::pair<std::uint64_t, std::string>* find(std::uint64_t address) const;

 private:
  std::vector<std::pair<std::uint64_t, std::string>> functions_;  // by ascending address
};

}  // namespace kymo::threads
