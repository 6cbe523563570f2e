// Tables of proc with a line per device.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "sense/common/parse.hpp"
#include "sense/common/sensor.hpp"

namespace kymo::sense {

/// A device in a table: its counters and their rates.
template <std::size_t N>
struct CountedDevice {
  std::string name;
  bool has_metrics = false;
  bool is_listed = false;
  std::size_t first_metric = 0;
  std::array<double, N> counts{};
  std::array<CounterRate, N> rates{};
};

/// Reads the next numbers of a line; false if there are not enough.
template <std::size_t N>
[[nodiscard]] bool take_numbers(TextCursor& line, std::array<double, N>& values) {
  for (double& value : values) {
    const auto number = line.number();
    if (!number) {
      return false;
    }
    value = static_cast<double>(*number);
  }
  return true;
}

/// The entry with a value of a member, such as its name, or nullptr. Tables list their devices in the same order at
/// each read, so the search begins after the entry found before: `next`, 0 at the start of a table.
template <typename Entry, typename Member, typename Value>
[[nodiscard]] Entry* find_entry(std::vector<Entry>& entries, Member member, const Value& value, std::size_t& next) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t at = next + i < entries.size() ? next + i : next + i - entries.size();
    if (entries[at].*member == value) {
      next = at + 1;
      return &entries[at];
    }
  }
  return nullptr;
}

}  // namespace kymo::sense
