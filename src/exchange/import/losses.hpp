// Counts what an import leaves out, by reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/import.hpp>

namespace kymo::exchange {

class ImportLosses {
 public:
  /// Counts something valid that a capture cannot represent.
  void ignore(std::string_view what, std::uint64_t count = 1) { add(ignored_, what, count); }
  /// Counts something that violates the format.
  void damage(std::string_view what, std::uint64_t count = 1) { add(damaged_, what, count); }

  [[nodiscard]] std::vector<ImportLoss> list() const {
    std::vector<ImportLoss> list;
    for (const auto& [what, count] : damaged_) {
      list.push_back({what, count, true});
    }
    for (const auto& [what, count] : ignored_) {
      list.push_back({what, count, false});
    }
    return list;
  }

 private:
  using Counts = std::map<std::string, std::uint64_t, std::less<>>;

  static void add(Counts& counts, std::string_view what, std::uint64_t count) {
    // Reasons may quote the file, so their number is limited.
    constexpr std::size_t most_reasons = 64;
    if (count == 0) {
      return;
    }
    const auto place = counts.find(what);
    if (place != counts.end()) {
      place->second += count;
    } else {
      counts[std::string(counts.size() < most_reasons ? what : "left out for yet other reasons")] += count;
    }
  }

  Counts ignored_;
  Counts damaged_;
};

}  // namespace kymo::exchange
