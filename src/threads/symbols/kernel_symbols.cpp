#include "threads/symbols/kernel_symbols.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <fstream>

namespace kymo::threads {

KernelSymbols::KernelSymbols(const std::string& path, const std::function<void()>& meanwhile) {
  constexpr std::size_t most_functions = std::size_t{1} << 21U;
  constexpr std::size_t lines_at_once = 4096;
  std::ifstream file(path);
  std::size_t lines = 0;
  for (std::string line; functions_.size() < most_functions && std::getline(file, line);) {
    if (++lines % lines_at_once == 0 && meanwhile) {
      meanwhile();
    }
    // "ffffffff81000000 T name", of a module "\t[module]" behind it.
    std::uint64_t address = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    const auto at = static_cast<std::size_t>(end - line.data());
    if (error != std::errc{} || address == 0 || at + 3 >= line.size() || line[at] != ' ' || line[at + 2] != ' ' ||
        (line[at + 1] != 'T' && line[at + 1] != 't')) {
      continue;
    }
    functions_.emplace_back(address, line.substr(at + 3, line.find('\t') - (at + 3)));
  }
  std::stable_sort(functions_.begin(), functions_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

const std::pair<std::uint64_t, std::string>* KernelSymbols::find(std::uint64_t address) const {
  const auto after =
      std::upper_bound(functions_.begin(), functions_.end(), address,
                       [](std::uint64_t wanted, const auto& function) { return wanted < function.first; });
  return after == functions_.begin() ? nullptr : &*std::prev(after);
}

}  // namespace kymo::threads
